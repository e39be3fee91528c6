"""Small ops that are called often become machine code: nothing but their time changes."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch

F = torch.nn.functional


pytestmark = pytest.mark.usefixtures("soon")


def often(function: Callable[[], Any]) -> Any:
    for _ in range(300):
        result = function()
    return result


def draw(*shape: int, seed: int = 0, dtype: str = "float32") -> Any:
    values = np.random.default_rng(seed).uniform(0.2, 0.9, shape).astype(dtype)
    return torch.from_numpy(values).requires_grad_(True)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x, y: (x + y) * x / (1 - y) - 2 * x + (-y),
    "powers": lambda x, y: x**2 + y**3 - x**0.5,
    "functions": lambda x, y: x.exp() * y.tanh() + torch.sin(x) * torch.sigmoid(y) + x.log(),
    "activations": lambda x, y: F.relu(x - y) + F.gelu(x) + F.silu(y) + F.softplus(x),
    "choices": lambda x, y: torch.where(x > y, x, y * y) + x.clamp(0.3, 0.6) + (x - y).abs(),
    "reductions": lambda x, y: x.sum() * y.max() + x.amin() * y,
    "rows": lambda x, y: F.softmax(x, -1) * F.log_softmax(y, 1),
    "rows of a layer": lambda x, y: F.layer_norm(x, (4,), y[0], y[1]),
    "a row and a number": lambda x, y: x * y[0] + y[:1, :1] * x,
    "of one number": lambda x, y: (x[0, 0] * y[1, 1] + torch.sin(2 * x[0, 1])).exp() + 0 * x,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_stay_the_same_bits(name: str, dtype: str) -> None:
    def run() -> list[bytes]:
        x, y = draw(3, 4, dtype=dtype), draw(3, 4, seed=1, dtype=dtype)
        value = FUNCTIONS[name](x, y)
        (value * value).sum().backward()
        return [one.numpy().tobytes() for one in (value.detach(), x.grad, y.grad)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DYNAMIC_COMPILE_SMALL_OPS", "0")
        expected = run()
    assert often(run) == expected


def test_functions_become_builtin_ones_that_say_what_they_are() -> None:
    x = draw(5).detach()
    often(lambda: x.cosh() + x.hypot(x))
    method: Any = torch.Tensor.cosh
    assert inspect.isbuiltin(method.__wrapped__)
    assert method.__name__ == "cosh"
    assert str(inspect.signature(method)) == "(a, /)"
    assert method.__doc__.startswith(torch.cosh.doc)
    with pytest.raises(TypeError, match="cosh"):
        x.cosh(1, 2)
    with pytest.raises(RuntimeError, match="size of tensor a"):
        x + draw(4)
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "1"
    assert torch.cosh(input=x).shape == (5,)


def test_what_is_recorded_stays_what_it_was() -> None:
    x, y = draw(3, 4), draw(3, 4, seed=1)
    often(lambda: (x * y + x.exp() - x / y).sum())
    product = x * y
    assert product.grad_fn.name() == "MulBackward0"
    assert [node.name() for node, _ in product.grad_fn.next_functions] == [
        "torch::autograd::AccumulateGrad"
    ] * 2
    assert torch.equal(product.grad_fn._saved_self, x)
    with torch.no_grad():
        assert (x * y).grad_fn is None
        assert (x * y).requires_grad is False
    with torch.inference_mode():
        assert x.exp().is_inference()
    (gradient,) = torch.autograd.grad(x.exp().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((gradient * y).sum(), x)
    assert torch.equal(second, (x.exp() * y).detach())


def test_what_was_overwritten_is_still_refused() -> None:
    x = draw(3)
    often(lambda: x.exp().sum().backward())
    y = x.exp()
    y.add_(1)
    text = r"\[torch.FloatTensor \[3\]\], which is output 0 of Exp, is at version 1"
    with pytest.raises(RuntimeError, match=text):
        y.sum().backward()
    z = x * 1
    w = z * z
    z.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        w.sum().backward()
    w = x.tanh().sum()
    w.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        w.backward()


def test_hooks_are_called_with_what_they_were_called_with() -> None:
    x = draw(3)
    often(lambda: (x.exp() * 2).sum().backward())
    x.grad = None
    seen: list[Any] = []
    y = x.exp()
    y.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    y.grad_fn.register_hook(lambda given, made: seen.append((given[0].shape, made[0].tolist())))
    (y * 3).sum().backward()
    assert seen == [[3, 3, 3], ((3,), [6, 6, 6])]
    assert torch.equal(x.grad, 6 * x.detach().exp())
    packed: list[Any] = []
    pair = (lambda t: packed.append(t.shape) or t.numpy(force=True), torch.from_numpy)
    with torch.autograd.graph.saved_tensors_hooks(*pair):
        y = x.tanh()
    x.grad = None
    y.sum().backward()
    assert packed == [(3,)]
    assert torch.allclose(x.grad, 1 - x.detach().tanh() ** 2)


def test_anomaly_mode_names_the_op() -> None:
    x = torch.zeros(2, requires_grad=True)
    often(lambda: (x + 1).sqrt().sum().backward())
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        anomaly = torch.autograd.detect_anomaly(check_nan=True)
    with anomaly:
        y = x.sqrt() * 0
        with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values"):
            y.sum().backward()


def test_infinite_values_are_those_of_numpy() -> None:
    x = torch.tensor([0.0, 100.0, -1.0, float("nan")])
    often(lambda: x.clamp(0.1, 2).log() + torch.relu(x))
    expected = np.array([-np.inf, np.log(np.float32(100)), np.nan, np.nan], np.float32)
    np.testing.assert_array_equal(x.log().numpy(), expected)
    np.testing.assert_array_equal((1 / x).numpy()[:2], np.array([np.inf, 0.01], np.float32))
    assert torch.exp(x)[1].item() == np.inf


def test_parameters_and_other_classes() -> None:
    class Marked(torch.Tensor):
        """A class of a user's."""

    parameter = torch.nn.Parameter(torch.ones(3))
    marked = Marked([1.0, 1.0, 1.0])
    x = draw(3)
    for one in (parameter, marked):
        result = often(lambda one=one: (one * x).exp())  # type: ignore[misc]
        assert torch.allclose(result, x.exp())
        assert result.requires_grad
    assert type(parameter.detach() * 2) is torch.Tensor
    empty = torch.Tensor.__new__(torch.Tensor)
    with pytest.raises(AttributeError):
        empty.exp()


def test_dtypes_and_layouts_that_are_left_to_numpy() -> None:
    x = draw(4, 6)
    often(lambda: x * x + 1)
    for other in (
        x.t(), x[::2], x[:, 1:], x[:0], x.double(), x.detach().int(), x.to(torch.bfloat16),
        x.detach().to(torch.complex64), x.expand(2, 4, 6),
    ):  # fmt: skip
        product = other * other
        assert product.dtype == other.dtype
        assert product.shape == other.shape
        assert product.tolist() == (other.clone().mul(other.clone())).tolist()
    assert (x.detach() * x.double()).dtype == torch.float64


def test_several_threads_replace_the_same_functions() -> None:
    expected = np.log1p(np.arcsinh(np.linspace(0.1, 0.9, 50)))
    failures: list[Any] = []

    def work() -> None:
        x = torch.linspace(0.1, 0.9, 50, dtype=torch.float64)
        for _ in range(300):
            if not np.array_equal(x.asinh().log1p().numpy(), expected):
                failures.append(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_method_that_a_user_has_replaced_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    before = torch.Tensor.atanh

    def own(self: Any) -> Any:
        calls.append(self)
        return before(self)

    monkeypatch.setattr(torch.Tensor, "atanh", own)
    x = draw(3).detach()
    often(x.atanh)
    often(lambda: x.atanh())
    assert torch.Tensor.atanh is own
    assert len(calls) == 600


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sum_of_one_negative_zero_is_zero(shape: tuple[int, ...], dtype: str) -> None:
    x = torch.from_numpy(np.full(shape, -0.0, dtype))
    for value in (x.sum(), x.mean()):
        assert not np.signbit(value.numpy())
