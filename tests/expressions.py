"""Expressions that run in PyTorch, which records what they give, and in `dynamic`, which is tested.

The names of their inputs are a letter and the sizes of the axes, one digit each: `x34` is a tensor
of shape (3, 4). Every input has the same values wherever it is used, all different:

    w x y z float64 that requires grad   k float64   p float64 above 0 that requires grad
    i j int64 from 0 to 1   n int64   b c bool

`fixed(module)` gives a module known parameters in float64.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

_INPUT = re.compile(r"\b([wxyzkpijnbc])(\d*)\b(?!\s*[=(])")


def _numbers(letter: str, count: int) -> Any:
    """Different numbers between -1 and 1, in no order."""
    k = np.arange(count)
    return ((k * 7919 + ord(letter) * 104729 + 13) % 1009) / 504.5 - 0.999


def _input(torch: Any, letter: str, digits: str) -> Any:
    shape = tuple(map(int, digits))
    values = _numbers(letter, int(np.prod(shape, dtype=int))).reshape(shape)
    if letter in "wxyz":
        return torch.tensor(values.tolist(), dtype=torch.float64, requires_grad=True)
    if letter == "p":
        return torch.tensor((values + 1.25).tolist(), dtype=torch.float64, requires_grad=True)
    if letter == "k":
        return torch.tensor(values.tolist(), dtype=torch.float64)
    if letter in "bc":
        return torch.tensor((values > 0).tolist(), dtype=torch.bool)
    scaled = values * 500 if letter == "n" else values > 0
    return torch.tensor(scaled.astype(np.int64).tolist(), dtype=torch.int64)


class Names(dict[str, Any]):
    """The names in an expression: the package, its parts, and the inputs, as they are used."""

    def __init__(self, torch: Any, expression: str) -> None:
        super().__init__(torch=torch, nn=torch.nn, F=torch.nn.functional, np=np, fixed=self.fixed)
        self.leaves: dict[str, Any] = {}
        for letter, digits in sorted(set(_INPUT.findall(expression))):
            name = letter + digits
            if name not in self:
                self[name] = made = _input(torch, letter, digits)
                if made.requires_grad:
                    self.leaves[name] = made
        self.torch = torch

    def fixed(self, module: Any) -> Any:
        module = module.double()
        for number, (name, parameter) in enumerate(module.named_parameters()):
            values = _numbers(chr(ord("a") + number), parameter.numel())
            with self.torch.no_grad():
                shape = tuple(parameter.shape)
                parameter.copy_(self.torch.tensor(values.reshape(shape).tolist()))
            self.leaves[name] = parameter
        return module


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list) and not hasattr(value, "numel"):
        return [one for part in value for one in _flat(part)]
    return [value]


def run(torch: Any, expression: str) -> dict[str, Any]:
    """The results of an expression, and the gradients of a weighted sum of those that have any."""
    names = Names(torch, expression)
    results = _flat(eval(expression, names))
    found: dict[str, Any] = {}
    total: Any = None
    for number, result in enumerate(results):
        if not hasattr(result, "detach"):
            found[f"result {number}"] = np.asarray(result)
            continue
        found[f"result {number}"] = np.array(result.detach().numpy())
        if result.requires_grad:
            weights = _numbers(chr(ord("A") + number), result.numel())
            weights = torch.tensor(weights.tolist(), dtype=result.dtype)
            part = (result * weights.reshape(tuple(result.shape))).sum()
            total = part if total is None else total + part
    if total is not None:
        silent = torch.set_lint("off") if hasattr(torch, "set_lint") else nullcontext()
        with silent:
            total.backward()
        for name, leaf in names.leaves.items():
            if leaf.grad is not None:
                found[f"gradient {name}"] = np.array(leaf.grad.numpy())
    return found


def evaluate(torch: Any, expression: str) -> Any:
    """The value of an expression."""
    return eval(expression, Names(torch, expression))


def error(torch: Any, expression: str) -> list[str]:
    """The class and the text of the error that an expression raises."""
    try:
        evaluate(torch, expression)
    except Exception as raised:
        return [type(raised).__name__, str(raised)]
    return ["no error", ""]


def text(torch: Any, expression: str) -> str:
    """What an expression prints as."""
    return repr(evaluate(torch, expression))


def record(torch: Any, expressions: Iterable[str], path: Path) -> None:
    """Write what the expressions give to a .npz file."""
    flat, index = [], {}
    for expression in expressions:
        arrays = run(torch, expression)
        index[expression] = [[key, str(a.dtype), a.shape] for key, a in arrays.items()]
        flat += [np.asarray(a, np.float64).reshape(-1) for a in arrays.values()]
    encoded = np.frombuffer(json.dumps(index).encode(), np.uint8)
    np.savez_compressed(path, values=np.concatenate(flat), index=encoded)


def recorded(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """What was recorded, by expression."""
    with np.load(path) as file:
        values, index = file["values"], json.loads(file["index"].tobytes())
    found: dict[str, dict[str, Any]] = {}
    start = 0
    for expression, entries in index.items():
        found[expression] = {}
        for key, dtype, shape in entries:
            stop = start + int(np.prod(shape, dtype=int))
            found[expression][key] = values[start:stop].reshape(shape).astype(dtype)
            start = stop
    return found


def check(torch: Any, expression: str, expected: Mapping[str, Any]) -> None:
    """Assert that an expression gives what was recorded: the shapes, dtypes and values."""
    found = run(torch, expression)
    assert list(found) == list(expected)
    for key, array in expected.items():
        assert found[key].shape == array.shape, key
        assert found[key].dtype == array.dtype, key
        exact = array.dtype.kind != "f"
        tolerance = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-11, "atol": 1e-13}
        np.testing.assert_allclose(found[key], array, err_msg=key, **tolerance)
