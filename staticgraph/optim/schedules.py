"""Schedules: learning rates as functions of the number of steps that were taken before.

Of a number they are a number, as an eager `LambdaLR` wants it; of an expression, such as the count
of steps that an optimizer keeps, an expression: so a compiled step is never compiled again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, TypeAlias

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops import cos, floor, log, maximum, minimum, where
from staticgraph.optim.checks import number, whole

Rates: TypeAlias = float | Callable[[Any], Any]
"""A number, or a schedule."""


@frozen(eq=False)
class Schedule:
    """A rate as a function of the number of steps; made by the functions of this module.

    Any function of that number is one too: `SGD(lr=lambda n: 0.1 / (1 + n))`.

    Attributes:
        formula: a function of the steps and of the arguments.
        arguments: by name.

    Example:
        >>> rate = sg.optim.linear(1.0, 0.0, steps=4)
        >>> rate(1), rate
        (0.75, linear(start=1.0, end=0.0, steps=4))
    """

    formula: Callable[..., Any]
    arguments: Mapping[str, Any]

    def __call__(self, steps: Value) -> Value:
        """The rate of the step before which `steps` were taken.

        Example:
            >>> sg.optim.exponential(0.5, 0.5)(2)
            0.125
        """
        if isinstance(steps, Expression):
            return self.formula(steps, **self.arguments)
        found = self.formula(float(steps), **self.arguments)
        return found if isinstance(found, Expression) else float(found)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.formula.__name__.strip('_')}({given})"


def constant(lr: float) -> Schedule:
    """The same rate at each step.

    Example:
        >>> sg.optim.constant(0.1)(100)
        0.1
    """
    _check("constant", lr=lr)
    return Schedule(_constant, {"lr": lr})


def _constant(n: Any, lr: float) -> Any:
    return n * 0.0 + lr


def step(lr: float, size: int, gamma: float = 0.1) -> Schedule:
    """The rate times gamma after every `size` steps, as StepLR.

    Example:
        >>> schedule = sg.optim.step(1.0, 10, gamma=0.5)
        >>> schedule(9), schedule(10), schedule(20)
        (1.0, 0.5, 0.25)
    """
    _check("step", lr=lr, gamma=gamma)
    whole(1)("step", "size", size)
    return Schedule(_step, {"lr": lr, "size": size, "gamma": gamma})


def _step(n: Any, lr: float, size: int, gamma: float) -> Any:
    return lr * gamma ** floor(n / size)


def multi_step(lr: float, milestones: Sequence[int], gamma: float = 0.1) -> Schedule:
    """The rate times gamma from each of the milestones on, numbers of steps, as MultiStepLR.

    Example:
        >>> schedule = sg.optim.multi_step(1.0, [10, 15], gamma=0.5)
        >>> schedule(9), schedule(10), schedule(15)
        (1.0, 0.5, 0.25)
    """
    _check("multi_step", lr=lr, gamma=gamma)
    found = tuple(sorted(milestones))
    for one in found:
        whole(0)("multi_step", "milestone", one)
    return Schedule(_multi_step, {"lr": lr, "milestones": found, "gamma": gamma})


def _multi_step(n: Any, lr: float, milestones: Sequence[int], gamma: float) -> Any:
    rate = n * 0.0 + lr
    for one in milestones:
        rate = rate * where(n >= one, gamma, 1.0)
    return rate


def exponential(lr: float, gamma: float) -> Schedule:
    """lr * gamma**steps, as ExponentialLR.

    Example:
        >>> sg.optim.exponential(1.0, 0.5)(3)
        0.125
    """
    _check("exponential", lr=lr, gamma=gamma)
    return Schedule(_exponential, {"lr": lr, "gamma": gamma})


def _exponential(n: Any, lr: float, gamma: float) -> Any:
    return lr * gamma**n


def polynomial(lr: float, steps: int, power: float = 1.0, end: float = 0.0) -> Schedule:
    """From lr to `end` in `steps` steps: (1 - n / steps)**power of the way is left; PolynomialLR.

    Example:
        >>> schedule = sg.optim.polynomial(1.0, 10, power=2.0)
        >>> schedule(5), schedule(20)
        (0.25, 0.0)
    """
    _check("polynomial", lr=lr, power=power, end=end)
    whole(1)("polynomial", "steps", steps)
    return Schedule(_polynomial, {"lr": lr, "steps": steps, "power": power, "end": end})


def _polynomial(n: Any, lr: float, steps: int, power: float, end: float) -> Any:
    return end + (lr - end) * (1.0 - minimum(n / steps, 1.0)) ** power


def linear(start: float, end: float, steps: int) -> Schedule:
    """From `start` to `end` in `steps` steps, and `end` from there on, as LinearLR.

    Example:
        >>> schedule = sg.optim.linear(1.0, 0.5, 10)
        >>> schedule(0), schedule(5), schedule(20)
        (1.0, 0.75, 0.5)
    """
    _check("linear", start=start, end=end)
    whole(1)("linear", "steps", steps)
    return Schedule(_linear, {"start": start, "end": end, "steps": steps})


def _linear(n: Any, start: float, end: float, steps: int) -> Any:
    return start + (end - start) * minimum(n / steps, 1.0)


def cosine(lr: float, steps: int, warmup: int = 0, end: float = 0.0) -> Schedule:
    """Half a cosine from lr down to `end`, at step `steps`, where it stays (CosineAnnealingLR).

    With `warmup`, the first steps rise linearly to lr, and the cosine has what is left of `steps`
    (Loshchilov, Hutter 2017).

    Example:
        >>> schedule = sg.optim.cosine(1.0, steps=100, warmup=19)
        >>> round(schedule(0), 3), schedule(19), schedule(100)
        (0.05, 1.0, 0.0)
    """
    _check("cosine", lr=lr, end=end)
    whole(0)("cosine", "warmup", warmup)
    whole(1 + warmup)("cosine", "steps", steps)
    return Schedule(_cosine, {"lr": lr, "steps": steps, "warmup": warmup, "end": end})


def _cosine(n: Any, lr: float, steps: int, warmup: int, end: float) -> Any:
    done = minimum(maximum(n - warmup, 0.0) / (steps - warmup), 1.0)
    rate = _between(lr, end, done)
    return rate * minimum((n + 1.0) / (warmup + 1), 1.0) if warmup else rate


def _between(first: Any, last: Any, part: Any) -> Any:
    """Along half a cosine."""
    return last + (first - last) * ((1.0 + cos(math.pi * part)) / 2)


def cosine_restarts(lr: float, first: int, growth: int = 1, end: float = 0.0) -> Schedule:
    """Cosines from lr to `end`, the first of `first` steps, each `growth` times the one before.

    As CosineAnnealingWarmRestarts (Loshchilov, Hutter 2017).

    Example:
        >>> schedule = sg.optim.cosine_restarts(1.0, 10, growth=2)
        >>> schedule(0), round(schedule(5), 3), schedule(10), round(schedule(20), 3)
        (1.0, 0.5, 1.0, 0.5)
    """
    _check("cosine_restarts", lr=lr, end=end)
    whole(1)("cosine_restarts", "first", first)
    whole(1)("cosine_restarts", "growth", growth)
    arguments = {"lr": lr, "first": first, "growth": growth, "end": end}
    return Schedule(_cosine_restarts, arguments)


def _cosine_restarts(n: Any, lr: float, first: int, growth: int, end: float) -> Any:
    if growth == 1:
        part = n / first
        return _between(lr, end, part - floor(part))
    # the number of whole periods before n; one off where the logarithm rounds to the wrong side
    guess = floor(log(n / first * (growth - 1) + 1.0) / math.log(growth))
    begin = first * (growth ** (guess + 1.0) - 1.0) / (growth - 1)
    periods = where(n >= begin, guess + 1.0, guess)
    length = first * growth**periods
    begin = (length - first) / (growth - 1)
    return _between(lr, end, (n - begin) / length)


def one_cycle(
    peak: float, steps: int, rise: float = 0.3, start_div: float = 25.0, final_div: float = 1e4,
    linear: bool = False, three_phase: bool = False,
) -> Schedule:  # fmt: skip
    """Up from peak / start_div in the part `rise` of the steps, then far down, as OneCycleLR.

    The last rate is the first over `final_div`. With `three_phase` it goes back to the first rate
    as slowly as up, and only then further down (Smith, Topin 2018).

    Example:
        >>> schedule = sg.optim.one_cycle(1.0, 101)
        >>> round(schedule(0), 3), round(schedule(29), 2), schedule(100)
        (0.04, 1.0, 4e-06)
    """
    _check("one_cycle", peak=peak, start_div=start_div, final_div=final_div)
    number(0, 1)("one_cycle", "rise", rise)
    whole(2)("one_cycle", "steps", steps)
    for option, value in {"linear": linear, "three_phase": three_phase}.items():
        if not isinstance(value, bool):
            raise OptionError(f"one_cycle: {option} is True or False, not {value!r}")
    start = peak / start_div
    top = rise * steps - 1.0
    ends = [(0.0, start), (top, peak), (steps - 1.0, start / final_div)]
    if three_phase:
        ends.insert(2, (2 * top, start))
    return Schedule(_one_cycle, {"ends": tuple(ends), "linear": linear})


def _one_cycle(n: Any, ends: Sequence[tuple[float, float]], linear: bool) -> Any:
    rate = n * 0.0 + ends[0][1]
    for (begin, first), (end, last) in pairwise(ends):
        part = minimum(maximum(n - begin, 0.0) / max(end - begin, 1e-9), 1.0)
        curve = first + (last - first) * part if linear else _between(first, last, part)
        rate = where(n >= begin, curve, rate)
    return rate


def warmup(schedule: Rates, steps: int) -> Schedule:
    """A schedule, or a number, whose first steps rise linearly: times (n + 1) / (steps + 1).

    Example:
        >>> schedule = sg.optim.warmup(sg.optim.step(1.0, 10), 4)
        >>> schedule(0), schedule(4), schedule(10)
        (0.2, 1.0, 0.1)
    """
    whole(0)("warmup", "steps", steps)
    return Schedule(_warmup, {"schedule": _as_schedule("warmup", schedule), "steps": steps})


def _warmup(n: Any, schedule: Callable[[Any], Any], steps: int) -> Any:
    return schedule(n) * minimum((n + 1.0) / (steps + 1), 1.0)


def sequential(schedules: Sequence[Rates], milestones: Sequence[int]) -> Schedule:
    """Each schedule in turn: the next begins, with its step 0, at each milestone (SequentialLR).

    Example:
        >>> schedule = sg.optim.sequential([sg.optim.linear(0.0, 1.0, 10), 0.5], [10])
        >>> schedule(5), schedule(10)
        (0.5, 0.5)
    """
    made = tuple(_as_schedule("sequential", one) for one in schedules)
    starts = tuple(milestones)
    for one in starts:
        whole(1)("sequential", "milestone", one)
    if len(made) != len(starts) + 1 or any(a >= b for a, b in pairwise(starts)):
        raise OptionError(
            f"sequential: {len(made)} schedules take {len(made) - 1} milestones that increase, not "
            f"{list(starts)}"
        )
    return Schedule(_sequential, {"schedules": made, "milestones": starts})


def _sequential(
    n: Any, schedules: Sequence[Callable[[Any], Any]], milestones: Sequence[int]
) -> Any:
    rate = schedules[0](n)
    for start, schedule in zip(milestones, schedules[1:], strict=True):
        rate = where(n >= start, schedule(maximum(n - start, 0.0)), rate)
    return rate


def chained(*schedules: Rates) -> Schedule:
    """The product of schedules: a rate, and factors of it, as ChainedScheduler makes it.

    Example:
        >>> sg.optim.chained(sg.optim.linear(0.1, 0.0, 10), sg.optim.exponential(1.0, 0.5))(2)
        0.02
    """
    if not schedules:
        raise OptionError("chained: no schedules are given")
    made = tuple(_as_schedule("chained", one) for one in schedules)
    return Schedule(_chained, {"schedules": made})


def _chained(n: Any, schedules: Sequence[Callable[[Any], Any]]) -> Any:
    rate = schedules[0](n)
    for schedule in schedules[1:]:
        rate = rate * schedule(n)
    return rate


def _check(name: str, **numbers: object) -> None:
    for option, value in numbers.items():
        number()(name, option, value)


def _as_schedule(name: str, given: object) -> Any:
    if isinstance(given, Real) and not isinstance(given, bool):
        _check(name, rate=given)
        return constant(float(given))
    if isinstance(given, Expression) or not callable(given):
        raise OptionError(f"{name}: {given!r} is neither a number nor a schedule")
    return given
