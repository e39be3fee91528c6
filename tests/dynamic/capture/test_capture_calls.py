"""Every function and method of `dynamic` eagerly and captured: the same, or refused with a line."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic import nn
from staticgraph.fuzz.capture.compare import REFUSED, SAME, SKIPPED, verdict
from tests import expressions
from tests.combinations import some
from tests.data import linalg_cases, more_nn_cases, more_tensor_cases, tensor_cases
from tests.data.nn_cases import CASES, Case, draw, has_gradient
from tests.samples import SAMPLES

FINE = (SAME, REFUSED)
EXPRESSIONS = [
    one
    for table in (tensor_cases, more_tensor_cases, linalg_cases, more_nn_cases)
    for one in table.VALUES
    if "fixed(" not in one and re.search(r"\b[wxyzkpijnbc]\d", one)
]
ALONG = (
    "amax", "argmax", "argsort", "chunk", "cummax", "cumsum", "index_select", "logsumexp", "max",
    "mean", "prod", "select", "softmax", "sort", "squeeze", "std", "sum", "unbind", "unsqueeze",
)  # fmt: skip
"""Methods that PyTorch gives NumPy's `axis` too, of all kinds by which they are made."""
NAMES = {"torch": torch, "nn": nn, "F": nn.functional, "np": np, "float": float}


def _code(expression: str) -> Any:
    """The code of an expression, which stands in a file that is not the project's."""
    return compile(expression, "user.py", "eval")


@pytest.mark.slow
@pytest.mark.parametrize("expression", some(EXPRESSIONS, len(EXPRESSIONS) // 2))
def test_expressions(expression: str) -> None:
    names, code = expressions.Names(torch, expression), _code(expression)
    inputs = [name for name in names if re.fullmatch(r"[wxyzkpijnbc]\d*", name)]

    def call(*args: Any) -> Any:
        return eval(code, {**NAMES, **dict(zip(inputs, args, strict=True))})

    assert verdict(call, [names[name] for name in inputs], debug=True) in FINE


@pytest.mark.slow
@pytest.mark.parametrize("case", some(CASES, len(CASES) // 2), ids=lambda case: case.name)
def test_layers_and_functions_of_nn(case: Case) -> None:
    made = eval(case.make, dict(NAMES))
    rng = np.random.default_rng(0)
    inputs = [torch.tensor(draw(spec, rng)) for spec in case.inputs]
    for one, spec in zip(inputs, case.inputs, strict=True):
        one.requires_grad_(has_gradient(spec))
    is_module = isinstance(made, nn.Module)
    code = _code(case.call)

    def call(*args: Any) -> Any:
        m, x = (args[0], args[1:]) if is_module else (made, args)
        return eval(code, {**NAMES, "m": m, "x": x})

    args = [made.double(), *inputs] if is_module else inputs
    assert verdict(call, args, debug=True) in FINE


def _tensors(*args: Any) -> list[Any]:
    made = [torch.tensor(one) for one in args if isinstance(one, np.ndarray)]
    return [one.requires_grad_() if one.is_floating_point() else one for one in made]


def _filled(args: Any, tensors: Iterator[Any]) -> list[Any]:
    return [next(tensors) if isinstance(one, np.ndarray) else one for one in args]


def _functions(name: str) -> Iterator[Callable[..., Any]]:
    """What has the name of an op: functions of the package and of nn, and methods."""
    for owner in (torch, nn.functional, torch.Tensor):
        if callable(getattr(owner, name, None)):
            yield functools.partial(_called, owner, name)


def _called(owner: Any, name: str, x: Any, *args: Any, **options: Any) -> Any:
    if owner is torch.Tensor:
        return getattr(x, name)(*args, **options)
    return getattr(owner, name)(x, *args, **options)


@pytest.mark.parametrize("name", some(SAMPLES, 40))
@pytest.mark.slow
def test_samples_of_the_shared_ops(name: str) -> None:
    for sample in SAMPLES[name]:
        for function in _functions(name):

            def call(*tensors: Any, function: Any = function, sample: Any = sample) -> Any:
                return function(*_filled(sample.args, iter(tensors)), **sample.options)

            tensors = _tensors(*sample.args)
            if tensors:
                assert verdict(call, tensors, debug=True) in (*FINE, SKIPPED), sample


def _first(kind: str) -> Any:
    made = torch.tensor(ARRAYS[kind].copy())
    return made.requires_grad_() if made.is_floating_point() else made


RNG = np.random.default_rng(0)
ARRAYS = {
    "float64": RNG.uniform(0.2, 0.9, (3, 4)),
    "float32": RNG.uniform(0.2, 0.9, (3, 3)).astype("float32"),
    "int64": RNG.integers(0, 3, (3, 4)),
    "bool": RNG.random((3, 4)) > 0.5,
    "number": np.array(0.5),
}
REST: list[tuple[Any, ...]] = [
    (), (1,), (2.0,), (0, 1), ((4, 3),), ("float64",), ("int64",), ("bool",), ("bool", "float64"),
    (0, "int64"), (0, "int64", "float64"), ("float64", "float64"), (0.25, 0.5),
]  # fmt: skip
"""What else is given; a dtype stands for a tensor of it."""
APART = {
    "apply", "arrays", "call", "captured", "constant", "perform", "settings", "traced",
    "backward", "cuda", "load", "make_dot", "manual_seed", "save", "set_default_dtype",
    "set_num_threads", "set_printoptions", "set_grad_enabled", "no_grad", "enable_grad",
    "searchsorted", "bucketize",  # undefined for what is not in order
    "inference_mode", "cond", "scan", "while_loop", "vmap", "empty", "empty_like", "new",
    "new_empty",
}  # fmt: skip
"""What takes no tensor first, changes the process, has any values, or is no name of PyTorch's."""
FAMILIES: dict[str, Any] = {
    "method": torch.Tensor, "function": torch, "nn": nn.functional, "linalg": torch.linalg,
}  # fmt: skip


def _public(family: str) -> list[str]:
    owner = FAMILIES[family]
    return [
        name
        for name in dir(owner)
        if not name.startswith("_")
        and name not in APART
        and not inspect.ismodule(getattr(owner, name))
        and not inspect.isclass(getattr(owner, name))
    ]


CALLS = [(family, name) for family in FAMILIES for name in _public(family)]


@pytest.mark.long  # test_every_name.py has every name with arguments that fit it
@pytest.mark.parametrize(("family", "name"), CALLS, ids=lambda one: str(one))
def test_every_public_name_is_the_same_or_refused(family: str, name: str) -> None:
    wrong = []
    for kind in ARRAYS:
        for rest in REST:
            places = [i for i, one in enumerate(rest) if isinstance(one, str)]

            def call(x: Any, *tensors: Any, rest: Any = rest, places: Any = places) -> Any:
                full = list(rest)
                for i, tensor in zip(places, tensors, strict=True):
                    full[i] = tensor
                if family != "method":
                    return getattr(FAMILIES[family], name)(x, *full)
                value = getattr(x, name)
                return value(*full) if callable(value) else value

            found = verdict(call, [_first(kind), *(_first(rest[i]) for i in places)], debug=True)
            if found not in (SAME, REFUSED, SKIPPED):
                wrong.append((kind, rest, found))
    assert not wrong


@pytest.mark.slow
def test_methods_take_numpys_names_of_axes_where_they_do_eagerly() -> None:
    x = torch.arange(6.0).reshape(2, 3, 1)
    taken = []
    for name in ALONG:
        needed = {"select": {"index": 1}, "index_select": {"index": torch.tensor([0])}}
        given = needed.get(name, {"chunks": 2} if name == "chunk" else {})

        def call(x: Any, name: str = name, given: dict[str, Any] = given) -> Any:
            return getattr(x, name)(axis=0, **given)

        taken.append((name, verdict(call, [x])))
    assert taken == [(name, SAME) for name in ALONG]
