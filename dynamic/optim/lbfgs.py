"""L-BFGS: a quasi-Newton method that keeps the last few changes of the gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.places import user_place
from staticgraph.dynamic.optim.errors import GroupCountError
from staticgraph.dynamic.optim.hyperparameters import LR, checked, number
from staticgraph.dynamic.optim.line_search import Point, StrongWolfe
from staticgraph.dynamic.optim.optimizer import Optimizer, pairs
from staticgraph.dynamic.tape.grad_mode import enable_grad
from staticgraph.dynamic.tape.noted import allowing_lost
from staticgraph.dynamic.tensors.tensor import wrap


class LBFGS(Optimizer):
    """Minimises the loss of a closure (Nocedal and Wright 2006, algorithms 7.4 and 7.5).

    A step makes up to max_iter iterations with up to max_eval (5/4 of max_iter) evaluations, and
    ends early where the largest element of the gradient is at most tolerance_grad, or that of the
    change of the parameters, or the change of the loss, at most tolerance_change. The length of
    an iteration is lr, or found by `line_search_fn` "strong_wolfe" from there. One parameter
    group only. The state, of the first parameter, has PyTorch's keys: "func_evals", "n_iter",
    "d", "t", "old_dirs", "old_stps", "ro", "al", "H_diag", "prev_flat_grad" and "prev_loss".

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.LBFGS([x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((x - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)
        tensor(1., grad_fn=<SumBackward0>)
        >>> x
        tensor([1.], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[object],
        lr: object = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        options = {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, checked(self, options, LR))
        if len(self.param_groups) != 1:
            raise OptionError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any]) -> Any:
        """Iterate; `closure` clears the gradients, computes the loss and its gradients.

        Returns the loss before the step. RuntimeError for an unknown line search, AssertionError
        for a second parameter group.
        """
        if len(self.param_groups) != 1:
            raise GroupCountError(
                f"Expected exactly one param_group, but got {len(self.param_groups)}"
            )
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        with enable_grad():
            loss = closure()
        g = self._gradient()
        state["func_evals"] = state.get("func_evals", 0) + 1
        state.setdefault("n_iter", 0)
        if group["max_iter"] > 0 and not np.abs(g).max() <= group["tolerance_grad"]:
            self._iterate(closure, Point(0, float(loss), g, 0), group, state)
        return loss

    def _iterate(
        self,
        closure: Callable[[], object],
        point: Point,
        group: dict[str, Any],
        state: dict[str, Any],
    ) -> None:
        memory, lr, tolerance = _Memory(state), number(group["lr"]), group["tolerance_change"]
        limit, evaluations = group["max_eval"], 1
        d, step, before = _array(state, "d"), state.get("t"), _array(state, "prev_flat_grad")
        for iteration in range(group["max_iter"]):
            g, value = point.gradient, point.value
            first = state["n_iter"] == 0
            state["n_iter"] += 1
            if first:
                d = -g
            else:
                memory.add(g - before, d * step, group["history_size"])
                d = memory.direction(g)
            before = g
            step = lr * min(1.0, 1 / float(np.abs(g).sum())) if first else lr
            point = Point(0, value, g, float(g @ d))
            if point.slope > -tolerance:
                break
            last = iteration == group["max_iter"] - 1
            point, used = self._advance(closure, point, d, step, last, limit - evaluations)
            step = point.step
            evaluations += used
            state["func_evals"] += used
            if last or evaluations >= limit or np.abs(d * step).max() <= tolerance:
                break
            if np.abs(point.gradient).max() <= group["tolerance_grad"]:
                break
            if abs(point.value - value) < tolerance:
                break
        state.update(d=wrap(d), t=step, prev_flat_grad=wrap(before), prev_loss=value)
        memory.save(state, group["history_size"])

    def _advance(
        self,
        closure: Callable[[], object],
        start: Point,
        d: Any,
        step: float,
        last: bool,
        limit: int,
    ) -> tuple[Point, int]:
        """Move along `d`: where that leads, and how often the closure ran."""
        group = self.param_groups[0]
        if group["line_search_fn"] is None:
            self._move(d, step)
            if last:
                return Point(step, start.value, start.gradient, start.slope), 0
            return self._evaluate(closure, d, step), 1
        if group["line_search_fn"] != "strong_wolfe":
            raise AutogradError("only 'strong_wolfe' is supported")
        origin = [param._array.copy() for param in group["params"]]

        def evaluate(step: float) -> Point:
            self._move(d, step)
            point = self._evaluate(closure, d, step)
            for param, values in zip(group["params"], origin, strict=True):
                np.copyto(param._array, values)
            return point

        length, tolerance = float(np.abs(d).max()), group["tolerance_change"]
        point, used = StrongWolfe(evaluate, start, length, tolerance, limit).search(step)
        self._move(d, point.step)
        return point, used

    def _evaluate(self, closure: Callable[[], Any], d: object, step: float) -> Point:
        with enable_grad(), allowing_lost:
            value = float(closure())
        g = self._gradient()
        return Point(step, value, g, float(g @ d))

    def _gradient(self) -> Any:
        """The gradients of all parameters as one vector, zeros where there is none."""
        parts = []
        for param in self.param_groups[0]["params"]:
            grad = param.grad
            parts.append(_parts(np.zeros_like(param._array) if grad is None else grad._array))
        return np.concatenate([part.reshape(-1) for part in parts])

    def _move(self, d: Any, step: float) -> None:
        """Add step * d, a vector of all parameters, to these."""
        place, start = user_place(), 0
        for param in self.param_groups[0]["params"]:
            values = _parts(param._array)
            np.add(values, step * d[start : start + values.size].reshape(values.shape), values)
            start += values.size
            param._counter[0] += 1
            param._counter[1] = place


def _parts(array: Any) -> Any:
    """An array as real numbers."""
    return pairs(array) if array.dtype.kind == "c" else array


class _Memory:
    """The last changes y of the gradient and s of the parameters, and 1 / (y @ s) of each."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.y = [one._array for one in state.get("old_dirs", ())]
        self.s = [one._array for one in state.get("old_stps", ())]
        self.inverse = [float(one) for one in state.get("ro", ())]
        self.scale = float(state.get("H_diag", 1))
        self.weights = list(state.get("al", ()))

    def add(self, y: Any, s: object, size: int) -> None:
        """Keep a pair, in place of the oldest of `size`, if the curvature is positive."""
        curvature = float(y @ s)
        if curvature <= 1e-10:
            return
        if len(self.y) == size:
            for kept in (self.y, self.s, self.inverse):
                kept.pop(0)
        self.y.append(y)
        self.s.append(s)
        self.inverse.append(1 / curvature)
        self.scale = curvature / float(y @ y)

    def direction(self, g: Any) -> Any:
        """The inverse Hessian of the memory applied to -g, by the two-loop recursion."""
        pairs = list(zip(self.y, self.s, self.inverse, strict=True))
        d, weights = -g, []
        for y, s, inverse in reversed(pairs):
            weights.append(float(s @ d) * inverse)
            d -= weights[-1] * y
        d *= self.scale
        self.weights = weights[::-1]
        for (y, s, inverse), weight in zip(pairs, self.weights, strict=True):
            d += (weight - float(y @ d) * inverse) * s
        return d

    def save(self, state: dict[str, Any], size: int) -> None:
        """Put the memory into the state, the numbers as 0-d tensors."""
        dtype = state["d"]._array.dtype
        state["old_dirs"] = [wrap(y) for y in self.y]
        state["old_stps"] = [wrap(s) for s in self.s]
        state["ro"] = [wrap(np.array(one, dtype)) for one in self.inverse]
        state["H_diag"] = wrap(np.array(self.scale, dtype)) if self.y else 1
        if state["n_iter"] == 1:
            return
        weights = [None if one is None else float(one) for one in self.weights[:size]]
        weights += [None] * (size - len(weights))
        state["al"] = [None if one is None else wrap(np.array(one, dtype)) for one in weights]


def _array(state: dict[str, Any], key: str) -> Any:
    tensor = state.get(key)
    return None if tensor is None else tensor._array
