"""Descent along gradients, their averages or their signs: SGD, ASGD, Rprop, Lion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.ops import astype, clip, maximum, sign, where
from staticgraph.leaves import Variable
from staticgraph.optim.checks import Options, Rate
from staticgraph.optim.first_order import Common, FirstOrder, Moment, descent, like, zeros


class SGD(FirstOrder):
    """Stochastic gradient descent with momentum (Sutskever et al. 2013), as torch.optim.SGD.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.SGD(lr=0.25).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 1.5)
    """

    _counts = False

    def __init__(
        self, lr: Rate = 1e-3, momentum: float = 0.0, dampening: float = 0.0,
        weight_decay: float = 0.0, nesterov: bool = False, maximize: bool = False,
        **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize,
        }  # fmt: skip
        super().__init__(options, **common)

    def _check(self, options: Options) -> None:
        super()._check(options)
        if options["nesterov"] and (options["momentum"] == 0 or options["dampening"] != 0):
            raise OptionError("SGD: nesterov needs a momentum and zero dampening")

    def _needs_count(self, options: Options) -> bool:
        # the first step takes the gradient undamped, as PyTorch's does
        damped = bool(options["momentum"] and options["dampening"])
        return damped or super()._needs_count(options)

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        return {"momentum_buffer": zeros(parameter)} if options["momentum"] else {}

    def _shared(self, options: Options, now: Moment) -> tuple[Any, Any]:
        added: Any = 1.0 - options["dampening"]
        if options["momentum"] and options["dampening"]:
            added = where(now.step == 1.0, 1.0, added)
        return now.lr, added

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        (lr, added), momentum = shared, options["momentum"]
        g = descent(options, p, g)
        if not momentum:
            return p - like(p, lr) * g, {}
        moved = momentum * state["momentum_buffer"] + like(p, added) * g
        along = g + momentum * moved if options["nesterov"] else moved
        return p - like(p, lr) * along, {"momentum_buffer": moved}


class ASGD(FirstOrder):
    """Averaged stochastic gradient descent (Polyak, Juditsky 1992), as torch.optim.ASGD.

    p = (1 - lambd * eta) * p - eta * g, eta = lr / (1 + lambd * lr * steps)**alpha. The average of
    p, from step t0 on, is "ax" of the state.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.ASGD(lr=0.25, lambd=0.0).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 1.5)
    """

    def __init__(
        self, lr: Rate = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0.0, maximize: bool = False, **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(options, **common)

    def _numbers(self, options: Options) -> dict[str, Any]:
        rate = self._first_rate(options["lr"])
        return {"eta": np.array(rate, np.float32), "mu": np.ones((), np.float32)}

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        return {"ax": zeros(parameter)}

    def _advance(
        self, options: Options, lr: Any, step: Any, before: Mapping[str, Any]
    ) -> dict[str, Any]:
        eta = lr / (1.0 + options["lambd"] * lr * step) ** options["alpha"]
        mu = 1.0 / maximum(1.0, step - options["t0"])
        return {"eta": astype(eta, np.float32), "mu": astype(mu, np.float32)}

    def _shared(self, options: Options, now: Moment) -> tuple[Any, Any, Any]:
        eta, mu = (astype(now.before[kind], np.float64) for kind in ("eta", "mu"))
        return eta, mu, 1.0 - options["lambd"] * eta

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        eta, mu, shrink = shared
        new = p * like(p, shrink) - like(p, eta) * descent(options, p, g)
        mean = state["ax"] + like(p, mu) * (new - state["ax"])
        return new, {"ax": where(mu == 1.0, new, mean)}


class Rprop(FirstOrder):
    """Steps by the signs of the gradient (Riedmiller, Braun 1993), as torch.optim.Rprop.

    Each element's step, lr at first, grows by etas[1] while the sign of its gradient lasts, and
    shrinks by etas[0] where that has turned, within `step_sizes`. For gradients of all data.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.Rprop(lr=0.25).minimize(w * w))
        >>> float(step()), float(w.value), float(step()), round(float(w.value), 2)
        (9.0, 2.75, 7.5625, 2.45)
    """

    def __init__(
        self, lr: Rate = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0), maximize: bool = False,
        **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        super().__init__(options, **common)

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        rate = self._first_rate(options["lr"])
        return {
            "prev": zeros(parameter),
            "step_size": zeros(parameter) + parameter.dtype.type(rate),
        }

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        shrink, grow = options["etas"]
        g = descent(options, p, g, decay=0.0)
        agrees = g * state["prev"]
        factor = where(agrees > 0, grow, where(agrees < 0, shrink, 1.0))
        size = clip(state["step_size"] * like(p, factor), *options["step_sizes"])
        kept = where(agrees < 0, 0.0, g)
        return p - sign(kept) * size, {"prev": kept, "step_size": size}


class Lion(FirstOrder):
    """Steps by the signs of an average (Chen et al. 2023, "Symbolic discovery", algorithm 2).

    p -= lr * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * p), then m averages g with beta2.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.Lion(lr=0.25).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 2.75)
    """

    _counts = False

    def __init__(
        self, lr: Rate = 1e-4, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0,
        maximize: bool = False, **common: Unpack[Common],
    ) -> None:  # fmt: skip
        options = {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(options, **common)

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        return {"exp_avg": zeros(parameter)}

    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        (first, second), mean = options["betas"], state["exp_avg"]
        g = descent(options, p, g, decay=0.0)
        along = sign(mean + (1 - first) * (g - mean))
        kept = p * like(p, 1.0 - shared * options["weight_decay"]) if options["weight_decay"] else p
        return kept - like(p, shared) * along, {"exp_avg": mean + (1 - second) * (g - mean)}
