"""The page of NumPy's functions on our objects, made by calling them: docs/numpy.md."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from staticgraph import dynamic
from staticgraph.compilation import compile
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.op import Operand
from staticgraph.leaves import placeholder
from staticgraph.listing.numpy_calls import CALLS, FFT, LINALG, Call, Given, arrays, of_ufunc

OURS, PLAIN, REFUSED, WRONG = "ours", "no gradient", "refused", "WRONG"


class Outcome(NamedTuple):
    """What a call of one of NumPy's functions gave.

    Attributes:
        verdict: `ours`: NumPy's values, and their gradient is kept; `no gradient`: NumPy's values,
            of which there is none; `refused`; or `WRONG`.
        said: what the refusal says, or what is wrong.
    """

    verdict: str
    said: str = ""


def calls() -> Iterator[tuple[str, Call]]:
    """The name and a call of each ufunc, of each function of arrays, of linalg's and of fft's."""
    for name in dir(np):
        function = getattr(np, name)
        if isinstance(function, np.ufunc) and name != "isnat":
            yield name, of_ufunc(function)
        elif name in CALLS and not isinstance(function, np.ufunc):
            yield name, CALLS[name]
    for module, table in (("linalg", LINALG), ("fft", FFT)):
        for name, call in table.items():
            yield f"{module}.{name}", call


def outcomes() -> dict[str, tuple[Outcome, Outcome]]:
    """By the name of a function: on tensors that require grad, and on expressions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        listed = dict(calls())
        made = {name: _called(call, _expressions()) for name, call in listed.items()}
        computed = _computed([one for results in made.values() for one in _handles(results)])
        return {
            name: (_of_tensors(call), _judged(call, made[name], computed))
            for name, call in listed.items()
        }


def _called(call: Call, given: Given) -> list[Any] | Outcome:
    """The results of a call, or its refusal."""
    try:
        return _flat(call(given))
    except (TypeError, StaticGraphError) as error:
        return Outcome(REFUSED, str(error).splitlines()[0])


def _handles(results: list[Any] | Outcome) -> list[Any]:
    return [one for one in results if isinstance(one, Operand)]


def _judged(call: Call, results: list[Any] | Outcome, computed: dict[int, Any]) -> Outcome:
    """The verdict on results, of which the handles have the values `computed` by their ids."""
    if isinstance(results, Outcome):
        return results
    given = arrays()
    expected = _flat(call(given))
    if not all(map(np.array_equal, given, arrays())):
        return Outcome(WRONG, "NumPy's writes into its operand")
    values = [computed.get(id(one), one) for one in results]
    if len(values) != len(expected) or not all(map(_agree, values, expected)):
        return Outcome(WRONG, f"{values} is not {expected}")
    lost = [
        one
        for one, result in zip(expected, results, strict=True)
        if isinstance(one, np.ndarray | np.inexact) and is_inexact(one.dtype)
        and not (isinstance(result, Operand) and getattr(result, "requires_grad", True))
    ]  # fmt: skip
    if not lost:
        return Outcome(OURS)
    if all(map(_agree, _nearby(call), expected)) or len(lost) < len(expected):
        return Outcome(PLAIN)
    return Outcome(WRONG, "the gradient is lost")


def _nearby(call: Call) -> list[Any]:
    """The results at a point close by: equal where there is no gradient."""
    given = arrays()
    moved = [one + 1e-4 if is_inexact(one.dtype) else one for one in given]
    return _flat(call(Given(*moved)))


def _of_tensors(call: Call) -> Outcome:
    leaves = [dynamic.tensor(one, requires_grad=is_inexact(one.dtype)) for one in arrays()]
    results = _called(call, Given(*(one * 1 if one.requires_grad else one for one in leaves)))
    return _judged(call, results, {id(one): one.detach().numpy() for one in _handles(results)})


def _expressions() -> Given:
    return Given(*_LEAVES)


_LEAVES = [placeholder(name, one.shape, one.dtype) for name, one in arrays()._asdict().items()]
_AT_ONCE = 40
"""How many expressions are compiled together: fewer kernels, each of a size that compiles well."""


def _computed(nodes: list[Any]) -> dict[int, Any]:
    """The values of expressions, by their ids."""
    found: dict[int, Any] = {}
    for start in range(0, len(nodes), _AT_ONCE):
        group = nodes[start : start + _AT_ONCE]
        values = compile(_LEAVES, group, on_unused_input="ignore")(*arrays())
        found |= {id(one): value for one, value in zip(group, values, strict=True)}
    return found


def _flat(result: Any) -> list[Any]:
    if isinstance(result, tuple | list):
        return [one for part in result for one in _flat(part)]
    return [result]


def _agree(found: Any, expected: Any) -> bool:
    if isinstance(expected, str | np.dtype | type | None):
        return bool(found == expected)
    a, b = np.asarray(found), np.asarray(expected)
    return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, 1e-9, equal_nan=True)


def markdown() -> str:
    """The page."""
    rows = outcomes()
    counts = [
        f"{title}: " + ", ".join(
            f"{sum(pair[which].verdict == verdict for pair in rows.values())} {verdict}"
            for verdict in (OURS, PLAIN, REFUSED, WRONG)
        )
        for which, title in enumerate(("tensors that require grad", "expressions"))
    ]  # fmt: skip
    said = {
        name: " ".join(dict.fromkeys(_of_both(one.said) for one in pair if one.said))
        for name, pair in rows.items()
    }
    lines = [
        f"| `np.{name}` | {tensors.verdict} | {expressions.verdict} | {_cell(said[name])} |"
        for name, (tensors, expressions) in rows.items()
    ]
    return _HEAD.format(of=len(rows), counts="; ".join(counts)) + "\n".join(lines) + "\n"


def _of_both(said: str) -> str:
    """A refusal without the class, where it has one text for both."""
    return re.sub(r" of (Tensor|Expression): there is", ": there is", said)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_HEAD = """# NumPy's functions on tensors and expressions

Written by `staticgraph numpy --markdown docs/numpy.md` by calling them; a test compares it.

`np.sin(x)`, `np.add.reduce(x)`, `np.concatenate([x, y])` and `array + x` of a tensor or an
expression are what the operator or our function of that name gives: with its gradient, and to be
compiled. What has no counterpart is a TypeError. As in PyTorch, a tensor that records no gradient
is an array to NumPy's functions but for its ufuncs and for those that call methods of arrays, such
as `np.sum`: `np.concatenate` of such gives an array. `out=` may be a tensor; an array in its place
is refused where a gradient would be lost. Tensors share their memory by DLPack both ways
(`np.from_dlpack(x)`, `dynamic.from_dlpack(a)`).

Of {of} functions: {counts}. *ours*: NumPy's values, and gradients; *no gradient*: NumPy's values,
which have none.

| function | tensors | expressions | what a refusal says |
|---|---|---|---|
"""
