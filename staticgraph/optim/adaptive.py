"""Steps divided by the size of past gradients: Adagrad, RMSprop, Adadelta, Adafactor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

import numpy as np

from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.ops import matmul, maximum, mean, minimum, sqrt, sum as total_of
from staticgraph.leaves import Variable
from staticgraph.optim.checks import Check, Options, Rate, floors
from staticgraph.optim.first_order import Common, FirstOrder, Moment, descent, like, zeros


class Adagrad(FirstOrder):
    """p -= lr * g / (sqrt(sum of g²) + eps) (Duchi, Hazan, Singer 2011), as torch.optim.Adagrad.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.Adagrad(lr=0.5).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 2.5)
    """

    def __init__(
        self, lr: Rate = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0, eps: float = 1e-10, maximize: bool = False,
        **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "eps": eps,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(options, **common)

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        initial = parameter.dtype.type(options["initial_accumulator_value"])
        return {"sum": zeros(parameter) + initial}

    def _shared(self, options: Options, now: Moment) -> Any:
        decay = options["lr_decay"]
        return now.lr / (1.0 + (now.step - 1.0) * decay) if decay else now.lr

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        g = descent(options, p, g)
        total = state["sum"] + g * g
        return p - like(p, shared) * (g / (sqrt(total) + options["eps"])), {"sum": total}


class RMSprop(FirstOrder):
    """p -= lr * g / (sqrt(average of g²) + eps) (Tieleman, Hinton 2012), as torch.optim.RMSprop.

    With `momentum`, the steps are summed up with that; if `centered`, the square of the average of
    g is taken off (Graves 2013).

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.RMSprop(lr=0.05).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 2.5)
    """

    def __init__(
        self, lr: Rate = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
        momentum: float = 0.0, centered: bool = False, maximize: bool = False,
        **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay,
            "momentum": momentum, "centered": centered, "maximize": maximize,
        }  # fmt: skip
        super().__init__(options, **common)

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        wanted = {
            "square_avg": True, "momentum_buffer": options["momentum"],
            "grad_avg": options["centered"],
        }  # fmt: skip
        return {kind: zeros(parameter) for kind, needed in wanted.items() if needed}

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        alpha, momentum = options["alpha"], options["momentum"]
        g = descent(options, p, g)
        square = alpha * state["square_avg"] + (1 - alpha) * (g * g)
        new, spread = {"square_avg": square}, square
        if options["centered"]:
            new["grad_avg"] = average = state["grad_avg"] + (1 - alpha) * (g - state["grad_avg"])
            spread = square - average * average
        along = g / (sqrt(spread) + options["eps"])
        if momentum:
            new["momentum_buffer"] = along = momentum * state["momentum_buffer"] + along
        return p - like(p, shared) * along, new


class Adadelta(FirstOrder):
    """Steps in the units of the parameters (Zeiler 2012), as torch.optim.Adadelta.

    p -= lr * d, d = g * sqrt(u + eps) / sqrt(v + eps): u averages d², v averages g².

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.Adadelta(eps=1.0).minimize(w * w))
        >>> float(step()), round(float(w.value), 3)
        (9.0, 0.202)
    """

    def __init__(
        self, lr: Rate = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0,
        maximize: bool = False, **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(options, **common)

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        return {"square_avg": zeros(parameter), "acc_delta": zeros(parameter)}

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        rho, eps, deltas = options["rho"], options["eps"], state["acc_delta"]
        g = descent(options, p, g)
        square = rho * state["square_avg"] + (1 - rho) * (g * g)
        along = sqrt(deltas + eps) / sqrt(square + eps) * g
        new = {"square_avg": square, "acc_delta": rho * deltas + (1 - rho) * (along * along)}
        return p - like(p, shared) * along, new


class Adafactor(FirstOrder):
    """Second moments by the means of rows and columns (Shazeer, Stern 2018), as PyTorch's.

    The update g / sqrt(v), clipped to a root mean square of d, is taken in steps of
    max(eps[1], rms(p)) * min(lr, 1 / sqrt(step)).

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.Adafactor(lr=0.5).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 1.5)
    """

    _checks: ClassVar[Mapping[str, Check]] = {"eps": floors}

    def __init__(
        self, lr: Rate = 1e-2, beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0,
        maximize: bool = False, **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
            "weight_decay": weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(options, **common)

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        if parameter.dtype.kind == "c":
            raise GraphError(
                f"minimize: Adafactor does not take complex parameters, and {parameter.state.label}"
                f" is {parameter.dtype} ({parameter.source})"
            )
        whole = zeros(parameter)
        if whole.ndim < 2:
            return {"variance": whole}
        return {"row_var": whole[..., :1], "col_var": whole[..., :1, :]}

    def _shared(self, options: Options, now: Moment) -> tuple[Any, Any, Any]:
        rate = minimum(now.lr, 1.0 / sqrt(now.step))
        return now.lr, rate, now.step ** options["beta2_decay"]

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        (lr, rate, weight), (first, second) = shared, options["eps"]
        first = float(limits(p.dtype).eps) if first is None else first
        size = float(np.prod(p.shape)) ** 0.5
        g = descent(options, p, g, decay=0.0)
        scaled = like(p, rate) * maximum(second, _norm(p) / size)
        decay = options["weight_decay"]
        kept = p * like(p, 1.0 - lr * decay) if decay else p
        estimate, new = _estimate(g, state, like(p, weight), first)
        along = g / sqrt(maximum(estimate, first * first))
        clipped = maximum(1.0, _norm(along) / (size * options["d"]))
        return kept - scaled / clipped * along, new


def _norm(x: Any) -> Any:
    return sqrt(total_of(x * x))


def _estimate(
    g: Any, state: Mapping[str, Any], weight: Any, eps: float
) -> tuple[Any, dict[str, Any]]:
    """The second moments after the step, as far as they are known, and what is kept of them."""
    squares = g * g
    if "variance" in state:
        variance = state["variance"] + (squares - state["variance"]) * weight
        return variance, {"variance": variance}
    before = state["row_var"], state["col_var"]
    means = (mean(squares, axis=axis, keepdims=True) for axis in (-1, -2))
    rows, columns = (old + (one - old) * weight for old, one in zip(before, means, strict=True))
    estimate = matmul(rows, columns) / maximum(mean(rows, axis=-2, keepdims=True), eps)
    return estimate, {"row_var": rows, "col_var": columns}
