"""How far values and derivatives of a case are from the exact ones, in both paradigms.

The direction in which each point is moved is drawn at random, as is the weight of each output:
one number then depends on every derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import dynamic
import staticgraph as sg
from tests.derivatives.case import Array, Case, M, number

STEP = M.mpf(10) ** -15
KINDS = ("value", "first", "second", "forward")
LIMITS = {"value": 1e-13, "first": 1e-9, "second": 1e-7, "forward": 1e-9}
"""Of errors, relative to values above 1."""


def listed(found: Any) -> list[Any]:
    """The outputs of a function, whether it gives one or several."""
    return list(found) if isinstance(found, list | tuple) else [found]


def exact(case: Case, x: Sequence[Array], v: Sequence[Array], w: Sequence[Array]) -> list[Array]:
    """The outputs and, weighted, their first and second derivative in a direction."""
    places, along = ([number(one) for one in given] for given in (x, v))

    def outputs(step: Any) -> list[Any]:
        moved = [np.asarray(a + step * b, object) for a, b in zip(places, along, strict=True)]
        return [np.asarray(one, object) for one in listed(case.exact(*moved))]

    def weighted(found: list[Any]) -> Any:
        return _total(case, [np.asarray(a * b) for a, b in zip(found, w, strict=True)])

    middle = outputs(0)
    above, here, below = (weighted(one) for one in (outputs(STEP), middle, outputs(-STEP)))
    first, second = (above - below) / (2 * STEP), (above - 2 * here + below) / STEP**2
    return [*middle, np.asarray(first), np.asarray(second)]


def _total(case: Case, parts: list[Any]) -> Any:
    """The sum over everything, or of single points over the parts."""
    sums = parts if case.single else [one.sum() for one in parts]
    total = sums[0]
    for one in sums[1:]:
        total = total + one
    return total


def compiled(case: Case, x: Sequence[Array], weights: Sequence[Array]) -> Callable[..., Any]:
    """A call of operands, directions and weights: the outputs, their derivative by reverse and by
    forward mode, and the second by reverse over reverse and forward over reverse mode.
    """
    xs, vs = (
        [sg.placeholder(f"{name}{i}", one.shape, "float64") for i, one in enumerate(x)]
        for name in "xv"
    )
    ws = [sg.placeholder(f"w{i}", one.shape, "float64") for i, one in enumerate(weights)]

    def slope(*operands: Any) -> Any:
        found = listed(case.ours(*operands))
        value = _total(case, [a * w for a, w in zip(found, ws, strict=True)])
        by = sg.grad(sg.sum(value), list(operands), on_disconnected="zero")
        return _total(case, [a * b for a, b in zip(by, vs, strict=True)])

    found = listed(case.ours(*xs))
    _, tangents = sg.jvp(lambda *given: listed(case.ours(*given)), tuple(xs), tuple(vs))
    first = slope(*xs)
    derived = [first, _total(case, [a * w for a, w in zip(tangents, ws, strict=True)])]
    if case.order > 1:
        again = sg.grad(sg.sum(first), xs, on_disconnected="zero")
        derived.append(_total(case, [a * b for a, b in zip(again, vs, strict=True)]))
        derived.append(sg.jvp(slope, tuple(xs), tuple(vs))[1])
    return sg.compile([*xs, *vs, *ws], [*found, *derived], lint="off", on_unused_input="ignore")


def eager(
    case: Case, x: Sequence[Array], v: Sequence[Array], w: Sequence[Array]
) -> tuple[Any, Any]:
    """The first and second derivatives by `backward`, on tensors."""
    xs = [dynamic.tensor(one, requires_grad=True) for one in x]
    vs, ws = ([dynamic.tensor(one) for one in given] for given in (v, w))
    found = listed(case.ours(*xs))
    value = _total(case, [a * b for a, b in zip(found, ws, strict=True)])
    twice = case.order > 1 and case.order_of_tensors > 1
    by = _grad(value.sum(), xs, create_graph=twice)
    first = _total(case, [a * b for a, b in zip(by, vs, strict=True)])
    if not twice:
        return first.detach().numpy(), None
    again = _grad(first.sum(), xs) if first.requires_grad else [one * 0 for one in xs]
    second = _total(case, [a * b for a, b in zip(again, vs, strict=True)])
    return first.detach().numpy(), second.detach().numpy()


def _grad(value: Any, xs: list[Any], create_graph: bool = False) -> list[Any]:
    found = dynamic.autograd.grad(value, xs, create_graph=create_graph, allow_unused=True)
    return [x * 0 if one is None else one for one, x in zip(found, xs, strict=True)]


def distance(found: Any, right: Array) -> float:
    """The largest difference, relative to values above 1."""
    apart = abs(number(np.asarray(found)) - right) / np.maximum(abs(right), M.mpf(1))
    worst = np.max(apart, initial=0.0)
    return float(worst)


def rounding(found: Any, right: Array, single: bool) -> float:
    """The largest difference of values; of whole arrays relative to the largest."""
    if single:
        return distance(found, right)
    error = np.max(abs(number(np.asarray(found)) - right), initial=0.0)
    largest = np.max(abs(np.asarray(right)), initial=0.0)
    return float(error / largest) if largest else 0.0


def measured(case: Case, count: int = 100, seed: int = 0) -> dict[str, float]:
    """The largest error of each kind at so many points, and at the edges: inf where one is nan."""
    rng = np.random.default_rng(seed)
    worst: dict[str, float] = {}
    call: Callable[..., Any] | None = None
    for x in case.points(rng, count):
        v = [np.asarray(rng.uniform(-1, 1, one.shape)) for one in x]
        shapes = [np.shape(one) for one in listed(case.exact(*map(number, x)))]
        w = [np.asarray(rng.uniform(0.5, 1.5, shape)) for shape in shapes]
        right = exact(case, x, v, w)
        call = call or compiled(case, x, w)
        for name, error in _errors(case, call(*x, *v, *w), eager(case, x, v, w), right):
            worst[name] = max(worst.get(name, 0.0), math.inf if math.isnan(error) else error)
    return worst


def _errors(
    case: Case, found: Any, tensors: tuple[Any, Any], right: list[Array]
) -> Iterator[tuple[str, float]]:
    *values, first, second = right
    outputs, derived = found[: len(values)], found[len(values) :]
    for a, b in zip(outputs, values, strict=True):
        yield "value", rounding(a, b, case.single)
    yield "forward", distance(derived[1], first)
    for one in (derived[0], tensors[0]):
        yield "first", distance(one, first)
    for one in (*derived[2:], tensors[1]) if case.order > 1 else ():
        if one is not None:
            yield "second", distance(one, second)
