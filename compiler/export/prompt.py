"""What names mean at the prompt of `step`: the kernel's in a frame, and beyond these the user's.

In a frame a name is what the kernel has there: an element, or an array as its elements in a row.
What the frame does not have is looked for around it, and has the shape that it has in the program.
"""

from __future__ import annotations

import builtins
import ctypes
import re
import sys
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from types import FrameType
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import frozen, mutable
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.export.assigned import Assigned
from staticgraph.compiler.graph.definition import LEAVES, Definition
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops import leaves

END = sys.maxsize
"""The mark of what is behind all statements."""


@frozen(eq=False)
class Known:
    """What a name of the user's stands for.

    Attributes:
        value: gives it, or says why there is none.
        by: the marks that statements may have which compute it.
        is_input: whether it is the input of that name.
        is_leaf: whether it is that, or what a loop or branch gives its body under that name.
        made: computes what the line at the mark gives the name, if it does.
    """

    value: Callable[[], object]
    by: Container[int] = ()
    is_input: bool = False
    is_leaf: bool = False
    made: Callable[[], object] | None = None


Lookup: TypeAlias = "Callable[[str, int | None], Known | None]"
"""What a name stands for at the statement with a mark; None for a name that it does not know."""

MOST = 12  # names that an error lists
_NUMBERED = re.compile(r"([^\W\d]\w*?)_(\d+)")


@frozen(eq=False)
class Place:
    """Where the kernel is.

    Attributes:
        mark: that of the statement which is next, by which the user's line is known.
        fresh: the variables that have been assigned in this turn of the loops around it, in order,
            each with the mark of the last statement that did, and whether it reads an input.
    """

    mark: int | None
    fresh: Mapping[str, tuple[int | None, bool]]


@mutable(eq=False)
class Around:
    """What names mean that a frame of the kernel does not have.

    Attributes:
        given: the arrays that the kernel reads, by the user's names.
        own: who knows the names of a function, or else of a graph: these come first.
        lookups: who is asked for other names, one after the other.
        users: the user's names for values of the kernel.
        kept: what was assigned at the prompt under a name of no value.
        is_changed: whether a value was set at the prompt: what follows from it is as it likes.
    """

    given: Mapping[str, Array]
    own: Lookup
    lookups: Sequence[Lookup]
    users: Collection[str] = ()
    kept: dict[str, object] = field(default_factory=dict)
    is_changed: bool = False

    def found(self, name: str, mark: int | None) -> Callable[[], object] | None:
        """What gives the value of a name, or None."""
        own = self.own(name, mark)
        if own is not None and not (own.is_input and name in self.given):
            return own.value
        if name in self.given:
            return lambda: self.given[name]
        known = next(filter(None, (lookup(name, mark) for lookup in self.lookups)), None)
        return None if known is None else known.value

    def is_own(self, name: str, mark: int | None, by: int | None, reads: bool) -> bool:
        """Whether the user's name stands for what a statement assigns to a variable of that name.

        Args:
            mark: that of where the kernel is.
            by: that of the statement.
            reads: whether it reads an input.
        """
        own = self.own(name, mark)
        if own is None:
            return True
        return own.is_leaf if reads else by is not None and by in own.by


class Locals(dict[str, Any]):
    """The names of a frame, for pdb: numbers behind them may be left out.

    The user's names come first. What a name stands for is an element if the frame has computed that
    for this place, and else looked up when it is asked for.
    """

    def __init__(self, frame: FrameType, around: Around, place: Place) -> None:
        super().__init__({**around.kept, **frame.f_locals})
        self._frame, self._around, self._place = frame, around, place
        self._numbered: dict[str, str] = {}
        for name, given in around.given.items():
            own = self.get(name)
            if isinstance(own, np.ndarray) and own.dtype != given.dtype:
                super().__setitem__(name, given.reshape(-1))  # not the bits that the kernel reads
        for name in frame.f_locals:
            known = around.own(name, place.mark)
            if known is not None and not (known.is_input and name in around.given):
                del self[name]
        for one, (by, reads) in place.fresh.items():
            found = _NUMBERED.fullmatch(one)
            if found is None or one not in frame.f_locals:
                continue
            name = found[1]
            is_hiding = hasattr(builtins, name) and name not in around.users
            if name in frame.f_locals or is_hiding:
                continue
            if around.is_own(name, place.mark, by, reads):
                self._numbered[name] = one
        for name, one in self._numbered.items():
            super().__setitem__(name, frame.f_locals[one])

    def __getitem__(self, name: str) -> Any:
        one = self._numbered.get(name)
        if one is None or self._around.is_changed:
            return super().__getitem__(name)
        known = self._around.own(name, self._place.mark)
        if known is None or known.is_leaf:
            return super().__getitem__(name)
        wholes = []
        for one_of in filter(None, (known.made, known.value)):
            with suppress(NameError):  # none yet; or that of one iteration, which the frame has
                wholes.append(one_of())
        if not wholes or any(_is_among(self._frame.f_locals[one], whole) for whole in wholes):
            return super().__getitem__(name)
        return known.value()

    def __missing__(self, name: str) -> Any:
        found = self._around.found(name, self._place.mark)
        if found is None:
            raise KeyError(name)
        return found()

    def __setitem__(self, name: str, value: Any) -> None:
        """Set a value of the frame, the elements of an array, or a name that means nothing yet.

        Raises:
            OptionError: nothing reads that value, or it has another number of elements.
        """
        self._around.is_changed = True
        own = self._numbered.get(name, name)
        if own in self and own in self._frame.f_locals:
            before = self[own]
            if isinstance(before, np.ndarray):
                _fill(name, before, value)
                return
            value = type(before)(value) if isinstance(before, np.generic) else value
            self._frame.f_locals[own] = value
            if sys.version_info < (3, 13):  # from then on they are the frame's own
                ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(self._frame), 0)
            super().__setitem__(own, value)
        elif name in self._around.given:
            _fill(name, self._around.given[name], value)
        elif self._around.found(name, self._place.mark) is not None:
            raise OptionError(
                f"step: nothing reads {name!r} here, so that setting it would change nothing; "
                f"what can be set is {self._settable()}"
            )
        else:
            self._around.kept[name] = value
        super().__setitem__(name, value)

    def _settable(self) -> str:
        hidden = {*self._numbered, *self._numbered.values()}
        own = (one for one in self if one in self._frame.f_locals and one not in hidden)
        names = [*self._numbered, *own]
        names += [one for one in self._around.given if one not in names]
        more = [f"{len(names) - MOST} more"] if len(names) > MOST else []
        return ", ".join([*names[:MOST], *more])


def _is_among(element: object, whole: object) -> bool:
    """Whether an element is one of a value, but for rounding.

    What a line computes last in the kernel is not what it assigns where the rest was rewritten, or
    taken out of a branch.
    """
    if not isinstance(element, np.floating | np.complexfloating):
        return bool(np.any(np.asarray(whole) == element))
    among = np.asarray(whole)
    rough = float(np.finfo(element.dtype).eps) ** 0.5
    with np.errstate(all="ignore"):
        size = np.max(np.abs(among), initial=0.0, where=np.isfinite(among))
        return bool(np.any(np.isclose(among, element, rough, rough * size, equal_nan=True)))


def _fill(name: str, array: Array, value: object) -> None:
    """Set the elements of an array that the kernel reads."""
    new = np.asarray(value)
    if new.size not in (1, array.size):
        raise OptionError(
            f"step: {name!r} has {array.size} elements, and {new.size} are given: "
            f"{name}[i] = ... sets one"
        )
    array[...] = new.reshape(() if new.size == 1 else array.shape)


def of_definition(
    definition: Definition,
    names: Assigned,
    inputs: Sequence[Array],
    variables: Mapping[int, Array],
) -> Lookup:
    """Who computes values of a graph as it was defined, op by op.

    Args:
        names: the names of its values.
        inputs: the arrays of its inputs.
        variables: those of its variables, by node.
    """
    made = definition.expressions()

    def value(number: int) -> Array:
        feeds = {one: one.attrs["key"].array for one in made if one.op is leaves.variable}
        feeds |= {made[node]: array for node, array in variables.items()}
        feeds |= dict(zip((made[node] for node in definition.inputs), inputs, strict=True))
        return computed(made[number], feeds)

    def refused(why: str) -> Array:
        raise NameError(why)

    def found(name: str, mark: int | None) -> Known | None:
        at = END if mark is None else mark
        given = names.before(name, at)
        if given is None:
            return None
        if isinstance(given, str):
            return Known(lambda: refused(given), {at}, is_leaf=names.is_in_body(name, at))
        op = made[given].op
        is_input = op in (leaves.placeholder, leaves.variable)
        return Known(lambda: value(given), {given, at}, is_input, op in LEAVES)

    return found


def computed(expression: Expression, feeds: Mapping[Expression, object]) -> Array:
    """The value of an expression, given those of its leaves; it is not to be changed."""
    with np.errstate(all="ignore"):
        (value,) = interpret([expression], feeds)
    value = np.array(value)
    value.setflags(write=False)
    return value
