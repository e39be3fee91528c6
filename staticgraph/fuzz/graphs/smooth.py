"""Derivatives against difference quotients, where a program is smooth.

What is differentiated is evaluated by the interpreter, whose values are compared with NumPy: so
first derivatives are as right as the values, and second ones as the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops import all_ops
from staticgraph.fuzz.graphs import rounding
from staticgraph.fuzz.graphs.case import MORE_RUNS, ROOM, Case, DifferenceError, Graph
from staticgraph.fuzz.graphs.program import bodies, decoded, names
from staticgraph.fuzz.graphs.worlds import Symbolic

KINKED = {op.name for op in all_ops() if not op.smooth} | {"clip", "matrix_norm", "matrix_rank"}
"""The ops that are not smooth, and the functions that consist of them."""
STEP = 1e-3
AWAY = 0.0137  # from where the program's values tie
UNRESOLVED = 1e-3  # by how much two quotients differ, at least, that have not converged
FINER = 0.01
NEAR = 1e-6
"""Of the sizes of what is added up: far above the error of the quotients, far below a wrong one."""


@dataclass(frozen=True, slots=True)
class Derivative:
    """A value, by what it is differentiated and where, and what the derivative was found to be.

    Attributes:
        along: the direction; None for a random one.
        found: the derivative in the direction if `along` is given, else by every element of
            `wrt`, which are its last axes.
    """

    value: Expression
    wrt: Expression
    at: Expression
    found: Expression
    along: Expression | None = None


def check_derivatives(graph: Graph, case: Case) -> None:
    """DifferenceError if a derivative is not what quotients say."""
    if any(step.get("values") == "extreme" for step in graph.program["steps"]):
        return
    inside = {step.get("op") for body in bodies(graph.program["steps"]) for step in body["steps"]}
    for one in _derivatives(graph):
        used = {node.op.name for node in ancestors([one.value])}
        if used & {"scan", "cond", "while_loop"}:
            used |= inside
        if used & KINKED or {one.value.dtype, one.wrt.dtype} != {np.dtype(np.float64)}:
            continue
        try:
            _check(one, case)
        except GraphError:
            raise
        except (ValueError, IndexError):
            continue  # an error that the values have too


def _derivatives(graph: Graph) -> Iterator[Derivative]:
    values = graph.values
    world = Symbolic(graph.program["seed"])
    for step in graph.program["steps"]:
        found = [values[name] for name in names(step)]
        if "gradients" in step:
            for wrt, gradient in zip(step["wrt"], found, strict=True):
                x = values[wrt[1:]]
                yield Derivative(values[step["gradients"][1:]], x, x, gradient)
        elif step.get("op") in ("grad", "jacobian", "hessian", "jvp"):
            function, x, *more = decoded(step["args"], world, values)
            # the function may read x itself too, which its derivative takes for a constant
            own = sg.placeholder("own", x.shape, x.dtype)
            value = (sg.jacobian(function) if step["op"] == "hessian" else function)(own)
            yield Derivative(value, own, x, found[-1], *more)


def _check(one: Derivative, case: Case) -> None:
    (at,) = interpret([one.at], case.feeds)
    rng = np.random.default_rng(at.size)
    at = at + AWAY * rng.normal(size=at.shape)
    feeds = {**case.feeds, one.at: at}
    found, *along = interpret([one.found] + ([one.along] if one.along is not None else []), feeds)
    direction = along[0] if along else rng.normal(size=at.shape)
    axes = range(found.ndim - at.ndim, found.ndim), range(at.ndim)
    expected, size = found, abs(found)
    if not along:
        expected = np.tensordot(found, direction, axes)
        size = np.tensordot(abs(found), abs(direction), axes)
    scale = 1 / (1 + abs(direction).max(initial=0))
    first, second = (_quotient(one, feeds, at, direction, STEP * scale * k) for k in (1.0, 0.5))
    change = abs(first - second)
    doubt = 30 * change
    with np.errstate(all="ignore"):
        wrong = abs(second - expected) > doubt + NEAR * (size + 1e-2 * abs(second) + 1e-3)
        wrong = wrong & np.isfinite(second) & np.isfinite(first)
        # a sine of 1e13, say, of which no step says anything
        wrong = wrong & ((change < 0.1 * abs(second)) | (change < UNRESOLVED))
        if np.any(wrong):
            (noise,) = rounding.spread([one.value], {**feeds, one.wrt: at}, MORE_RUNS)
            wrong = wrong & (abs(second - expected) > doubt + ROOM * noise / (STEP * scale))
        if np.any(wrong):
            # two quotients across a jump, or many waves, may agree; a far finer one does not
            finer = _quotient(one, feeds, at, direction, STEP * scale * FINER)
            wrong = wrong & ~(abs(finer - expected) < 0.1 * abs(second - expected))
    if np.any(wrong):
        raise DifferenceError(
            f"a derivative differs from difference quotients\nof {one.value} by {one.wrt}, "
            f"{dict(case.case)}: {np.asarray(expected)[wrong][:4]} is not "
            f"{np.asarray(second)[wrong][:4]}"
        )


def _quotient(one: Derivative, feeds: Any, at: Array, direction: Array, step: float) -> Array:
    """The central difference of fourth order."""
    values = []
    for factor in (-2, -1, 1, 2):
        moved = {**feeds, one.wrt: at + factor * step * direction}
        values.append(interpret([one.value], moved)[0])
    with np.errstate(all="ignore"):
        return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
