"""Running a call eagerly and captured, and what tells them apart."""

from __future__ import annotations

import copy
import os
import re
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.fuzz.server import SHOWN

PLACE = re.compile(r"(\S+\.py):(\d+)[^\n]*?: (.*)|^\w+: (returned .*)", re.DOTALL)
"""What a refusal says, after the line of the user's or the function that it is about."""
NOTE = re.compile(r"(\S+\.py):(\d+)()()")
"""The line in a note on an error."""
OF_VALUES = re.compile("Class values must be|should be between 0 and 1")
"""What eager calls refuse for the values of a tensor, which nothing asks for in a capture."""
OWN = os.path.dirname(str(sg.__file__)) + os.sep
"""Where the project's own files are, whose lines tell a user nothing."""

SKIPPED, SAME, REFUSED = "raises as eagerly", "same", "refused"


class Compared(NamedTuple):
    """How a function and its captured form compare.

    Attributes:
        verdict: SAME, REFUSED, SKIPPED if both raise, or in which way the two differ.
        line: that of a refusal, 0 if it is about what the function returns.
        reason: what a refusal says.
    """

    verdict: str
    line: int = 0
    reason: str = ""


def verdict(function: Callable[..., object], args: Sequence[object], **options: Any) -> str:
    """How a function and its captured form compare; `options` are those of `sg.function`.

    With `debug=True` nothing is compiled.
    """
    return compared(function, sg.function(function, **options), args).verdict


def compared(
    eager: Callable[..., object], captured: Callable[..., object], args: Sequence[object]
) -> Compared:
    """Call both.

    What the eager call does, the captured one does, or it raises an error of the project's that
    names the line. Where the eager call raises, the captured one does.
    """
    expected: Any
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        given = copy.deepcopy(args)
        try:
            expected = _results(eager, given)
        except Exception as error:
            expected = error
        else:
            try:
                expected |= _effects(expected, given)
            except Exception:  # what is differentiated was changed in place
                return Compared(SKIPPED)
        given = copy.deepcopy(args)
        try:
            found = _results(captured, given)
            found |= _effects(found, given)
        except sg.StaticGraphError as error:
            return _refusal(error, expected)
        except Exception as error:
            return _other_error(error, expected)
    if isinstance(expected, Exception) and OF_VALUES.search(str(expected)):
        return Compared(SKIPPED)
    if isinstance(expected, Exception):
        return Compared(f"no error: eagerly {type(expected).__name__}: {expected}")
    return Compared(_difference(*map(_as_arrays, (found, expected))))


def _refusal(error: Exception, expected: object) -> Compared:
    if isinstance(expected, Exception):
        return Compared(SKIPPED)
    place = PLACE.search(str(error)) or NOTE.search("\n".join(getattr(error, "__notes__", ())))
    if place is None or (place[1] or "").startswith(OWN):
        return Compared(f"no line: {error!r}")
    return Compared(REFUSED, int(place[2] or 0), place[3] or place[4] or str(error))


def _other_error(error: Exception, expected: object) -> Compared:
    """An error that is none of the project's; the eager call may raise the very same."""
    if isinstance(expected, Exception) and isinstance(error, TypeError | type(expected)):
        return Compared(SKIPPED)
    trace = "".join(traceback.format_exception(error, limit=-SHOWN))
    return Compared(f"no refusal: {type(error).__name__}: {error}\n{trace}")


def _results(function: Callable[..., object], args: Sequence[object]) -> dict[str, Any]:
    dynamic.manual_seed(0)
    return {f"result {i}": one for i, one in enumerate(_flat(function(*args)))}


def _effects(results: dict[str, Any], args: Sequence[object]) -> dict[str, Any]:
    """The gradients of a weighted sum of the results, and the arguments afterwards."""
    found: dict[str, Any] = {}
    total: Any = None
    for i, result in enumerate(results.values()):
        if isinstance(result, dynamic.Tensor) and result.requires_grad:
            weights = np.cos(1.0 + i + np.arange(result.numel())).reshape(tuple(result.shape))
            part = (result * dynamic.tensor(np.asarray(weights, result.dtype.dtype))).sum()
            total = part if total is None else total + part
    if total is not None and total.requires_grad:
        total.backward()
    for i, one in enumerate(_leaves(args)):
        found[f"argument {i}"] = one
        if one.requires_grad:
            zeros = np.zeros(tuple(one.shape), one.dtype.dtype)
            found[f"gradient {i}"] = zeros if one.grad is None else one.grad
    return found


def _as_arrays(found: dict[str, Any]) -> dict[str, Any]:
    return {
        name: np.array(one.detach().numpy() if isinstance(one, dynamic.Tensor) else one)
        for name, one in found.items()
    }


def _flat(value: object) -> list[Any]:
    if isinstance(value, tuple | list):
        return [one for part in value for one in _flat(part)]
    if isinstance(value, dict):
        return [one for part in value.values() for one in _flat(part)]
    return [] if value is None else [value]


def _leaves(args: object) -> list[Any]:
    found = []
    for one in _flat(args):
        if isinstance(one, dynamic.Tensor):
            found.append(one)
        elif isinstance(one, dynamic.nn.Module):
            found += [*one.parameters(), *one.buffers()]
    return found


def _difference(found: dict[str, Any], expected: dict[str, Any]) -> str:
    if found.keys() != expected.keys():
        return f"differs: {sorted(found)} instead of {sorted(expected)}"
    # a float64 result may be made of float32 ones, and is then no more exact
    single = any(array.dtype == np.float32 for array in expected.values())
    of_double = 2e-5 if single else 1e-9
    for name, array in expected.items():
        other = found[name]
        if other.shape != array.shape:
            return f"differs: {name} in its shape\n{other.shape} instead of {array.shape}"
        if other.dtype != array.dtype:
            return f"differs: {name} is {other.dtype} instead of {array.dtype}"
        if array.dtype.kind == "U":
            if not np.array_equal(other, array):
                return f"differs: {name}\n{other.tolist()} instead of {array.tolist()}"
            continue
        tolerance = {"float32": 2e-5, "float64": of_double}.get(array.dtype.name, 0)
        scale = 1 + (np.abs(array[np.isfinite(array)]).max(initial=0) if tolerance else 0)
        if not np.allclose(other, array, tolerance, tolerance * scale, equal_nan=True):
            return f"differs: {name}\n{other.tolist()} instead of {array.tolist()}"
    return SAME
