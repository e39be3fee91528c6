"""One step of L-BFGS as expressions: a loop over its iterations, and the memory that they keep."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.evaluate import replaced
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops import (
    absolute,
    astype,
    concatenate,
    logical_not,
    max as largest_of,
    minimum,
    reshape,
    sum as total_of,
    view_as_complex,
    view_as_real,
    where,
)
from staticgraph.compiler.transforms.control_flow import cond, scan, while_loop
from staticgraph.leaves import Variable
from staticgraph.optim.checks import Options
from staticgraph.optim.first_order import like
from staticgraph.optim.lbfgs_state import Kept
from staticgraph.optim.line_search import Point, StrongWolfe
from staticgraph.optim.optimizer import Updates

_LEAST_CURVATURE = 1e-10
"""A change of the gradient along a step below which the pair says nothing of the Hessian."""


@frozen
class Problem:
    """A loss as a function of all its parameters in one vector.

    Attributes:
        loss: the scalar.
        gradients: of each parameter.
        parameters: the variables.
    """

    loss: Expression
    gradients: tuple[Expression, ...]
    parameters: tuple[Variable, ...]

    def start(self) -> tuple[Any, Any, Any]:
        """The parameters, the value there in float64, and the gradient."""
        value = astype(self.loss, np.float64)
        return _flat(self.parameters), value, _flat(self.gradients)

    def at(self, x: Any) -> tuple[Any, Any]:
        """The value in float64, and the gradient, at other parameters."""
        pairs = zip(self.parameters, self.parts(x), strict=True)
        value, *found = replaced([self.loss, *self.gradients], dict(pairs))
        return astype(value, np.float64), _flat(found)

    def parts(self, x: Any) -> list[Any]:
        """The parameters in a vector."""
        found, begin = [], 0
        for parameter in self.parameters:
            is_complex = parameter.dtype.kind == "c"
            shape = (*parameter.shape, 2) if is_complex else parameter.shape
            size = math.prod(parameter.state.array.shape) * (1 + is_complex)
            part = reshape(x[begin : begin + size], shape)
            found.append(view_as_complex(part) if is_complex else part)
            begin += size
        return found


class Memory(NamedTuple):
    """The last changes y of the gradient and s of the parameters; see `Kept`."""

    y: Any
    s: Any
    inverse: Any
    scale: Any
    rows: Any

    def added(self, y: Any, s: Any) -> Memory:
        """With another pair in place of the oldest, if the curvature is positive."""
        curvature = _dot(y, s)
        keeps = logical_not(curvature <= _LEAST_CURVATURE)
        safe, square = where(keeps, curvature, 1.0), where(keeps, _dot(y, y), 1.0)
        rows = minimum(self.rows + 1, self.inverse.shape[0])
        return Memory(
            where(keeps, _shifted(self.y, y), self.y),
            where(keeps, _shifted(self.s, s), self.s),
            where(keeps, _shifted(self.inverse, 1.0 / safe), self.inverse),
            where(keeps, safe / square, self.scale),
            where(keeps, rows, self.rows),
        )

    def direction(self, g: Any) -> tuple[Any, Any]:
        """The inverse Hessian applied to -g, by the two-loop recursion, and the rows' weights."""

        def back(d: Any, row: Any) -> tuple[Any, Any]:
            y, s, inverse = row
            weight = _dot(s, d) * inverse
            return d - like(y, weight) * y, weight

        def forth(d: Any, row: Any) -> tuple[Any, Any]:
            y, s, inverse, weight = row
            return d + like(y, weight - _dot(y, d) * inverse) * s, None

        rows = self.y, self.s, self.inverse
        d, weights = scan(back, -g, rows, reverse=True)
        d, _ = scan(forth, d * like(g, self.scale), (*rows, weights))
        return d, weights


class Run(NamedTuple):
    """Where a step is after some iterations; see `Kept` for what they leave."""

    x: Any
    value: Any
    gradient: Any
    d: Any
    t: Any
    before: Any
    value_before: Any
    memory: Memory
    weights: Any
    n_iter: Any
    iteration: Any
    evaluations: Any
    done: Any


def updates_of(problem: Problem, kept: Kept, options: Options, lr: Any) -> Updates:
    """The updates of the parameters and of what is kept, of one step."""
    x, value, gradient = problem.start()
    wide = [astype(one, np.float64) for one in (kept.ro, kept.H_diag, kept.al)]
    memory = Memory(kept.old_dirs, kept.old_stps, wide[0], wide[1], kept.rows)
    zero = np.zeros((), np.int64)
    done = _largest(gradient) <= options["tolerance_grad"]
    begun = Run(
        x, value, gradient, kept.d, kept.t, kept.prev_flat_grad, kept.prev_loss, memory, wide[2],
        kept.n_iter, zero, zero + 1, done,
    )  # fmt: skip
    run: Run = while_loop(
        lambda run: logical_not(run.done) & (run.iteration < options["max_iter"]),
        lambda run: _iterated(run, problem, options, lr),
        begun,
    )
    updates = dict(zip(problem.parameters, problem.parts(run.x), strict=True))
    new = {
        kept.n_iter: run.n_iter, kept.func_evals: kept.func_evals + run.evaluations,
        kept.d: run.d, kept.t: run.t, kept.prev_flat_grad: run.before,
        kept.prev_loss: run.value_before, kept.old_dirs: run.memory.y,
        kept.old_stps: run.memory.s, kept.ro: astype(run.memory.inverse, kept.ro.dtype),
        kept.al: astype(run.weights, kept.al.dtype),
        kept.H_diag: astype(run.memory.scale, kept.H_diag.dtype), kept.rows: run.memory.rows,
        kept.step: kept.step + 1.0,
    }  # fmt: skip
    return {**updates, **new}


def _iterated(run: Run, problem: Problem, options: Options, lr: Any) -> Run:
    """One iteration: a direction, and the way along it."""
    g, tolerance = run.gradient, options["tolerance_change"]
    first = run.n_iter == 0
    memory = run.memory.added(g - run.before, run.d * like(g, run.t))
    d, weights = memory.direction(g)
    total = astype(total_of(absolute(g)), np.float64)
    step = where(first, lr * minimum(1.0, 1.0 / total), lr)
    start = Point(np.zeros(()), run.value, g, _dot(g, d))
    is_last = run.iteration == options["max_iter"] - 1
    stops = start.slope > -tolerance
    way = _Way(problem, run.x, d, options, is_last, options["max_eval"] - run.evaluations)
    point, used = cond(
        stops,
        lambda start, step: (start._replace(step=step), run.evaluations * 0),
        lambda start, step: way.gone(start, step),
        start,
        astype(step, np.float64) + np.zeros(()),
    )
    x = where(stops, run.x, run.x + like(g, point.step) * d)
    evaluations = run.evaluations + used
    ends = stops | is_last | (evaluations >= options["max_eval"])
    ends = ends | (_largest(d * like(g, point.step)) <= tolerance)
    ends = ends | (_largest(point.gradient) <= options["tolerance_grad"])
    ends = ends | (absolute(point.value - run.value) < tolerance)
    return Run(
        x, point.value, point.gradient, d, point.step, g, run.value, memory, weights,
        run.n_iter + 1, run.iteration + 1, evaluations, ends,
    )  # fmt: skip


@frozen
class _Way:
    """A direction from a point, and how far to go."""

    problem: Problem
    x: Any
    d: Any
    options: Options
    is_last: Any
    limit: Any

    def gone(self, start: Point, step: Any) -> tuple[Point, Any]:
        """The point where it leads, and how often the loss was evaluated."""
        used = self.limit * 0
        if self.options["line_search_fn"] is None:
            # where the last iteration leads nobody looks
            stays = self.is_last
            point = cond(stays, lambda: start._replace(step=step), lambda: self.evaluate(step))
            return point, where(stays, used, used + 1)
        length = astype(_largest(self.d), np.float64)
        tolerance = self.options["tolerance_change"]
        return StrongWolfe(self.evaluate, start, length, tolerance, self.limit).search(step)

    def evaluate(self, step: Any) -> Point:
        """The point at a step."""
        value, gradient = self.problem.at(self.x + like(self.d, step) * self.d)
        return Point(step, value, gradient, _dot(gradient, self.d))


def _flat(parts: Any) -> Any:
    """Several arrays as one vector of real numbers."""
    real = [view_as_real(part) if part.dtype.kind == "c" else part for part in parts]
    return concatenate([reshape(part, (-1,)) for part in real])


def _dot(a: Any, b: Any) -> Any:
    return astype(total_of(a * b), np.float64)


def _largest(x: Any) -> Any:
    return largest_of(absolute(x))


def _shifted(rows: Any, last: Any) -> Any:
    """The rows but for the first, and another one after them."""
    return concatenate([rows[1:], reshape(last, (1, *rows.shape[1:]))])
