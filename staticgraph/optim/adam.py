"""Adam and its kin, by the averages of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from staticgraph.compiler.ops import absolute, astype, maximum, sqrt, where
from staticgraph.leaves import Variable
from staticgraph.optim.checks import Options, Rate
from staticgraph.optim.first_order import Common, FirstOrder, Moment, descent, like, zeros


class _Moments(FirstOrder):
    """What keeps both averages; abstract."""

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        return {"exp_avg": zeros(parameter), "exp_avg_sq": zeros(parameter)}

    def _decayed(self, options: Options, lr: Any, p: Any, g: Any) -> tuple[Any, Any]:
        """What a step starts from, and the gradient, with the decay in one of them."""
        decay = options["weight_decay"]
        if decay and options["decoupled_weight_decay"]:
            return p * like(p, 1.0 - lr * decay), descent(options, p, g, decay=0.0)
        return p, descent(options, p, g)


def averages(options: Options, g: Any, state: Mapping[str, Any]) -> tuple[Any, Any]:
    """The averages of the gradient and of its square after a step."""
    (first, second), mean = options["betas"], state["exp_avg"]
    square = second * state["exp_avg_sq"] + (1 - second) * (g * g)
    return mean + (1 - first) * (g - mean), square


class Adam(_Moments):
    """Adam (Kingma, Ba 2015), as torch.optim.Adam.

    With `amsgrad`, the largest average of squares so far is used (Reddi, Kale, Kumar 2018); with
    `decoupled_weight_decay` the decay is no part of the gradient.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.Adam(lr=0.5).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 2.5)
    """

    def __init__(
        self, lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, amsgrad: bool = False, maximize: bool = False,
        decoupled_weight_decay: bool = False, **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(options, **common)

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        largest = {"max_exp_avg_sq": zeros(parameter)} if options["amsgrad"] else {}
        return {**super()._begin(options, parameter), **largest}

    def _shared(self, options: Options, now: Moment) -> tuple[Any, Any, Any]:
        # both corrections of the bias as factors of the rate and of eps: less to do per element
        first, second = options["betas"]
        root = sqrt(1.0 - second**now.step)
        return now.lr, now.lr * root / (1.0 - first**now.step), options["eps"] * root

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        lr, rate, eps = shared
        kept, g = self._decayed(options, lr, p, g)
        mean, square = averages(options, g, state)
        new = {"exp_avg": mean, "exp_avg_sq": square}
        if options["amsgrad"]:
            new["max_exp_avg_sq"] = square = maximum(state["max_exp_avg_sq"], square)
        return kept - like(p, rate) * (mean / (sqrt(square) + like(p, eps))), new


class AdamW(Adam):
    """Adam whose decay is no part of the gradient (Loshchilov, Hutter 2019), as torch.optim.AdamW.

    Example:
        >>> w = sg.variable(2.0)
        >>> updates = sg.optim.AdamW(lr=0.5, weight_decay=1.0).minimize(w * w)
        >>> step = sg.compile([], w * w, updates=updates)
        >>> float(step()), float(w.value)
        (4.0, 0.5)
    """

    def __init__(
        self, lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.01, amsgrad: bool = False, maximize: bool = False,
        **common: Unpack[Common],
    ) -> None:  # fmt: skip
        super().__init__(lr, betas, eps, weight_decay, amsgrad, maximize, True, **common)


class Adamax(FirstOrder):
    """Adam with the infinity norm (Kingma, Ba 2015, section 7.1), as torch.optim.Adamax.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.Adamax(lr=0.5).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 2.5)
    """

    def __init__(
        self, lr: Rate = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, maximize: bool = False, **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(options, **common)

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        return {"exp_avg": zeros(parameter), "exp_inf": zeros(parameter)}

    def _shared(self, options: Options, now: Moment) -> Any:
        return now.lr / (1.0 - options["betas"][0] ** now.step)

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        (first, second), mean = options["betas"], state["exp_avg"]
        g = descent(options, p, g)
        mean = mean + (1 - first) * (g - mean)
        largest = maximum(second * state["exp_inf"], absolute(g) + options["eps"])
        return p - like(p, shared) * (mean / largest), {"exp_avg": mean, "exp_inf": largest}


class NAdam(_Moments):
    """Adam that looks ahead along its first average (Dozat 2016), as torch.optim.NAdam.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.NAdam(lr=0.5).minimize(w * w))
        >>> float(step()), round(float(w.value), 3)
        (9.0, 2.472)
    """

    def __init__(
        self, lr: Rate = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False, maximize: bool = False, **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(options, **common)

    def _numbers(self, options: Options) -> dict[str, Any]:
        return {"mu_product": np.ones((), np.float32)}

    def _advance(
        self, options: Options, lr: Any, step: Any, before: Mapping[str, Any]
    ) -> dict[str, Any]:
        momentum = astype(_momentum(options, step), np.float32)
        return {"mu_product": before["mu_product"] * momentum}

    def _shared(self, options: Options, now: Moment) -> tuple[Any, ...]:
        product = astype(now.after["mu_product"], np.float64)
        momentum, following = (_momentum(options, now.step + later) for later in (0.0, 1.0))
        by_gradient = now.lr * (1.0 - momentum) / (1.0 - product)
        by_average = now.lr * following / (1.0 - product * following)
        return now.lr, by_gradient, by_average, sqrt(1.0 - options["betas"][1] ** now.step)

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        lr, by_gradient, by_average, unbias = shared
        kept, g = self._decayed(options, lr, p, g)
        mean, square = averages(options, g, state)
        scale = sqrt(square) / like(p, unbias) + options["eps"]
        moved = kept - like(p, by_gradient) * (g / scale) - like(p, by_average) * (mean / scale)
        return moved, {"exp_avg": mean, "exp_avg_sq": square}


def _momentum(options: Options, step: Any) -> Any:
    return options["betas"][0] * (1.0 - 0.5 * 0.96 ** (step * options["momentum_decay"]))


class RAdam(_Moments):
    """Adam with a rectified rate, momentum alone at first (Liu et al. 2020), as torch.optim.RAdam.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.RAdam(lr=0.25).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 1.5)
    """

    def __init__(
        self, lr: Rate = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, decoupled_weight_decay: bool = False, maximize: bool = False,
        **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
        }  # fmt: skip
        super().__init__(options, **common)

    def _shared(self, options: Options, now: Moment) -> tuple[Any, Any, Any]:
        (first, second), step = options["betas"], now.step
        limit = 2 / (1 - second) - 1
        power = second**step
        length = limit - 2.0 * step * power / (1.0 - power)
        is_known = length > 5.0
        # where the variance is unknown, a length for which all is finite
        length = where(is_known, length, 5.0)
        bottom = (limit - 4) * (limit - 2)
        ratio = (length - 4.0) * (length - 2.0) * limit / (bottom * length)
        rectified = sqrt(maximum(ratio, 0.0) * (1.0 - power))
        rate = now.lr / (1.0 - first**step)
        return now.lr, where(is_known, rate * rectified, rate), is_known

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        lr, rate, is_known = shared
        kept, g = self._decayed(options, lr, p, g)
        mean, square = averages(options, g, state)
        along = where(is_known, mean / (sqrt(square) + options["eps"]), mean)
        return kept - like(p, rate) * along, {"exp_avg": mean, "exp_avg_sq": square}
