"""Hyper-parameters of symbolic optimizers: what each of them may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.graph.expression import Expression

Rate: TypeAlias = float | Expression | Callable[[Any], Any]
"""A number, an expression of one, such as a variable that is set between calls, or a schedule: a
function of the number of steps so far that gives one of both."""

Options: TypeAlias = Mapping[str, Any]
Check: TypeAlias = Callable[[str, str, Any], None]
"""Raises OptionError, given the names of the optimizer and of the option, for what it refuses."""


def as_python(value: Any) -> Any:
    """A number of NumPy's as Python's, which is weak, and a list as a tuple."""
    if isinstance(value, tuple | list):
        return tuple(map(as_python, value))
    return value.item() if isinstance(value, np.generic) else value


def number(low: float = 0.0, high: float = math.inf) -> Check:
    """The check of a number within bounds."""

    def check(name: str, option: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, Real) or value != value:
            raise OptionError(f"{name}: {option} {value!r} is no number")
        if float(value) < low:
            short = "is negative" if low == 0 else f"is less than {low:g}"
            raise OptionError(f"{name}: {option} {value} {short}")
        if float(value) > high:
            raise OptionError(f"{name}: {option} {value} is more than {high:g}")

    return check


_NUMBER = number()


def _rate(name: str, option: str, value: Any) -> None:
    if isinstance(value, Expression):
        if value.shape != () or not is_float(value.dtype):
            place = f"{value} ({value.source})"
            raise OptionError(f"{name}: {option} is a floating-point scalar, not {place}")
    elif not callable(value):
        _NUMBER(name, option, value)


def _switch(name: str, option: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionError(f"{name}: {option} is True or False, not {value!r}")


def _pair(value: object) -> Any:
    """Both elements of a pair of numbers; None if it is none."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return None
    return value if all(isinstance(one, Real) for one in value) else None


def _betas(name: str, option: str, value: object) -> None:
    pair = _pair(value)
    if pair is None or not all(0 <= one < 1 for one in pair):
        raise OptionError(f"{name}: {option} {value} are not in [0, 1)")


def _etas(name: str, option: str, value: object) -> None:
    pair = _pair(value)
    if pair is None or not 0 < pair[0] < 1 < pair[1]:
        raise OptionError(f"{name}: {option} {value} are not a factor below 1 and one above")


def _bounds(name: str, option: str, value: object) -> None:
    pair = _pair(value)
    if pair is None or not 0 <= pair[0] <= pair[1]:
        raise OptionError(f"{name}: {option} {value} are not a lower and an upper bound")


def floors(name: str, option: str, value: Any) -> None:
    """The check of Adafactor's two epsilons, of which the first may be None."""
    filled = (0.0, value[1]) if isinstance(value, tuple) and value[:1] == (None,) else value
    pair = _pair(filled)
    if pair is None or not all(one >= 0 for one in pair):
        raise OptionError(f"{name}: {option} {value} are not two numbers from 0, or None and one")


def whole(low: int) -> Check:
    """The check of an int that is at least `low`."""

    def check(name: str, option: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise OptionError(f"{name}: {option} {value!r} is no int from {low}")

    return check


def _unless_none(check: Check) -> Check:
    def checked(name: str, option: str, value: object) -> None:
        if value is not None:
            check(name, option, value)

    return checked


def _search(name: str, option: str, value: object) -> None:
    if value not in (None, "strong_wolfe"):
        raise OptionError(f"{name}: {option} is None or 'strong_wolfe', not {value!r}")


CHECKS: dict[str, Check] = {
    "lr": _rate,
    "momentum": _NUMBER,
    "dampening": number(-math.inf),
    "weight_decay": _NUMBER,
    "nesterov": _switch,
    "maximize": _switch,
    "betas": _betas,
    "eps": _NUMBER,
    "amsgrad": _switch,
    "decoupled_weight_decay": _switch,
    "momentum_decay": _NUMBER,
    "alpha": _NUMBER,
    "centered": _switch,
    "rho": number(0, 1),
    "lr_decay": _NUMBER,
    "initial_accumulator_value": _NUMBER,
    "beta2_decay": number(-math.inf, 0),
    "d": number(1),
    "etas": _etas,
    "step_sizes": _bounds,
    "lambd": number(-math.inf),
    "t0": number(-math.inf),
    "max_iter": whole(0),
    "max_eval": _unless_none(whole(1)),
    "tolerance_grad": _NUMBER,
    "tolerance_change": _NUMBER,
    "history_size": whole(1),
    "line_search_fn": _search,
    "clip_value": _unless_none(_NUMBER),
    "clip_norm": _unless_none(_NUMBER),
    "accumulate": whole(1),
}
"""By the name of an option what it may be, in whichever optimizer."""
