"""inf and nan come without a warning, as in PyTorch; others are of the user's line."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import dynamic as torch

SCRIPT = """
import warnings
warnings.simplefilter("error")
import numpy as np
import dynamic as torch
torch.set_lint("off")  # which tells of a loss that is inf
x = torch.tensor([0.0, -1.0], requires_grad=True)
print(torch.log(x).tolist(), (x / 0).tolist(), torch.sqrt(x).tolist())
(1 / x).sum().backward()
print(x.grad.tolist())
try:
    np.log(np.zeros(2))
except RuntimeWarning as warning:
    print("numpy:", warning)
"""


def test_only_values_of_ops_are_computed_silently() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "[-inf, nan] [nan, -inf] [0.0, nan]",
        "[-inf, -1.0]",
        "numpy: divide by zero encountered in log",
    ]


def test_values_are_silent_where_filters_were_set_after_the_import():
    with warnings.catch_warnings(), torch.set_lint("off"):
        warnings.simplefilter("error")
        x = torch.tensor([0.0, -1.0], requires_grad=True)
        (torch.log(x) / 0).sum().backward()
    x.grad = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.nn.Softplus()(x)
        x.sum().backward()


def _line_of_the_warning(function, match):
    with pytest.warns(UserWarning, match=match) as caught:
        try:
            function()
        except RuntimeError as error:
            assert "returned nan values" in str(error)
    return {(one.filename, one.lineno) for one in caught}


def test_warnings_point_to_the_line_of_the_user():
    def failing():
        x = torch.tensor([-1.0], requires_grad=True)
        with torch.autograd.set_detect_anomaly(True):
            torch.autograd.backward(x.sqrt())

    def failing_in_grad():
        x = torch.tensor([-1.0], requires_grad=True)
        with torch.autograd.set_detect_anomaly(True):
            torch.autograd.grad(x.sqrt(), x, create_graph=True)

    def failing_in_method():
        x = torch.tensor([-1.0], requires_grad=True)
        with torch.autograd.set_detect_anomaly(True):
            x.sqrt().backward()

    def cycle():
        x = torch.tensor([1.0], requires_grad=True)
        (x * x).backward(create_graph=True)

    def cycle_by_function():
        x = torch.tensor([1.0], requires_grad=True)
        torch.autograd.backward([x * x], create_graph=True)

    def resized():
        torch.add(torch.ones(2), torch.ones(2), out=torch.ones(3))

    for function, offset, match in (
        (failing, 3, "Error detected in SqrtBackward0"),
        (failing_in_grad, 3, "Error detected in SqrtBackward0"),
        (failing_in_method, 3, "Error detected in SqrtBackward0"),
        (cycle, 2, "will create a reference cycle"),
        (cycle_by_function, 2, "will create a reference cycle"),
        (resized, 1, "An output with one or more elements was resized"),
    ):
        line = function.__code__.co_firstlineno + offset
        assert _line_of_the_warning(function, match) == {(__file__, line)}


# the texts are those of PyTorch 2.13
@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (1.23456789, ["1.2345678806304932", "1.2346", "1.23e+00", "   1.235", "123.5%"]),
        (-2.0, ["-2.0", "-2.0000", "-2.00e+00", "  -2.000", "-200.0%"]),
    ],
)
def test_numbers_format_as_python_does(value, texts):
    leaf = torch.tensor(value, requires_grad=True)
    for number in (torch.tensor(value), leaf, leaf * 1, leaf.reshape(1).sum()):
        assert [format(number, spec) for spec in ("", ".4f", ".2e", "8.3f", ".1%")] == texts
        with pytest.raises(
            ValueError, match=r"^Unknown format code 'd' for object of type 'float'$"
        ):
            f"{number:d}"
    assert f"{torch.tensor(42):05d} {torch.tensor(True)}" == "00042 True"


def test_tensors_with_axes_format_as_objects():
    x = torch.tensor([1.5], requires_grad=True) * 1
    assert f"{x}" == "tensor([1.5000], grad_fn=<MulBackward0>)"
    with pytest.raises(TypeError, match=r"^unsupported format string passed to Tensor.__format__$"):
        f"{x:.4f}"


@pytest.mark.parametrize("make", [torch.from_numpy, torch.as_tensor, torch.tensor])
def test_what_numpy_says_of_values_is_silent_however_a_tensor_is_made(make: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as a test runner sets it before each test
        zeros = make(np.zeros(2, "float32"))
        assert torch.log(zeros).tolist() == [-np.inf, -np.inf]


def test_the_filter_is_taken_to_other_processes():
    torch.ones(1)
    action, message, category, module, _ = pickle.loads(pickle.dumps(warnings.filters[0]))
    assert (action, category) == ("ignore", RuntimeWarning)
    assert message.match("divide by zero encountered in log")
    assert not message.match("a warning of someone else")
    assert module.match("staticgraph.compiler.reference.pooling")
    assert not module.match("numpy")
    assert warnings.filters[0][1].pattern == message.pattern  # what scikit-learn reads
