"""What steps of optimizers and schedulers change, which a captured function may not read later.

The steps are taken at each call, when the results are there. So that nobody takes what was there
before for what is there after a step, something that refuses to be used stands in its place until
the function has returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from staticgraph.compiler.core.refusals import refuse, user_place
from staticgraph.compiler.core.watching import at_end
from staticgraph.compiler.core.whose_code import is_own

_OF_SCHEDULES = ("lr", "momentum", "betas")
"""The options of groups that schedulers set."""


class Stale:
    """Stands for what a step changes."""

    __slots__ = ("_name", "_place")

    def __init__(self, name: str, place: str) -> None:
        self._name, self._place = name, place

    def _refuse(self, *args: object, **options: object) -> NoReturn:
        refuse(
            f"reads {self._name} after a step that changes it, which each call makes when its "
            "results are there",
            "read it before the step, or outside",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_") or name == "__torch_function__":
            raise AttributeError(name)
        self._refuse()

    def _hand_on(self) -> NoReturn:
        refuse(
            f"hands on {self._name} after a step that changes it, which each call makes when its "
            "results are there",
            "ask for it outside",
            self._place,
        )

    __hash__ = _hand_on
    __bool__ = __int__ = __float__ = __index__ = __len__ = __iter__ = __getitem__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _refuse
    __neg__ = __pos__ = __abs__ = __round__ = __str__ = __repr__ = __format__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __pow__ = __rpow__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __setitem__ = __delitem__ = __call__ = __array__ = _refuse


def hide_schedule(schedule: Any) -> None:
    """Hide what a step of a scheduler changes: its counts, and options of its groups."""
    name = type(schedule).__name__
    for one in _schedules(schedule):
        _hide(vars(one), [key for key, value in vars(one).items() if _counts(value)], name)
        for group in one.optimizer.param_groups:
            _hide(group, [key for key in _OF_SCHEDULES if key in group], f"a group of {name}")


def hide_optimizer(optimizer: Any) -> None:
    """Hide what a step of an optimizer changes: its state, and what code of the user's may set."""
    kind = type(optimizer)
    _hide(vars(optimizer), ["state"], kind.__name__)
    is_users = not is_own(_file_of(kind))
    if is_users:
        own = [key for key, value in vars(optimizer).items() if type(value) in (int, float)]
        _hide(vars(optimizer), own, kind.__name__)
    if is_users or optimizer._step_pre_hooks or optimizer._step_post_hooks:
        for group in optimizer.param_groups:
            numbers = [key for key, value in group.items() if type(value) in (int, float)]
            _hide(group, numbers, f"a group of {kind.__name__}")


def _file_of(kind: type) -> str:
    step: Any = kind.step  # type: ignore[attr-defined]
    return str(getattr(step, "__wrapped__", step).__code__.co_filename)


def _schedules(schedule: Any) -> Iterator[Any]:
    """A scheduler, and those that it steps."""
    yield schedule
    for one in getattr(schedule, "_schedulers", ()):
        yield from _schedules(one)


def _counts(value: object) -> bool:
    """Whether it is a number, or a list of such."""
    if isinstance(value, list):
        return all(map(_counts, value))
    return type(value) in (int, float)


def _hide(table: dict[str, Any], keys: list[str], owner: str) -> None:
    hidden = {}
    for key in keys:
        if not isinstance(table[key], Stale):
            hidden[key] = table[key], Stale(f"{key!r} of {owner}", user_place())

    def show() -> None:
        for key, (value, stale) in hidden.items():
            if table.get(key) is stale:
                table[key] = value

    if hidden and at_end(show):
        table.update({key: stale for key, (_, stale) in hidden.items()})
