"""What a call of a traced function is made of: arrays, static values and modules in a structure.

Arrays are ndarrays, NumPy scalars, eager tensors, and Python numbers by position; they are the
leaves that a trace replaces. What else is no tuple, list or dict is static, Python numbers by
keyword too: part of the key under which a trace is kept.
"""

from __future__ import annotations

import datetime
import functools
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.pytree import (
    equal_values,
    fixed_of,
    is_object,
    leaves,
    parts_of,
    structure as structure_of,
    with_parts,
)
from staticgraph.compiler.core.record import frozen, mutable
from staticgraph.compiler.core.refusals import user_place
from staticgraph.tracing.given_dicts import kind_of_dict, require_plain
from staticgraph.tracing.modules import is_module

LEAF = "*"
"""An array in a structure."""

Structure = Any
"""LEAF, None, a Static, a ModuleAt, a Same, or (type or Made, keys, structures) of a container;
hashable."""

_NUMBERS = (bool, int, float)
_ARRAYS = (np.ndarray, np.generic, Operand)


def is_array(value: object) -> bool:
    """Whether a value is an array, an expression, a tensor or a number."""
    return isinstance(value, _ARRAYS) or type(value) in _NUMBERS


@frozen
class Static:
    """A value that is part of the key; equal only to values of its own type."""

    type: type
    key: Any
    value: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.type is other.type and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.type, self.key))


@frozen
class ModuleAt:
    """The module at a place of the list of modules; whose places are in the key, not they."""

    place: int


@frozen(eq=False)
class Same:
    """What a function returns that is no new container, but one that is there already.

    Or an array of the surroundings, or a view of one.

    Attributes:
        place: of that among the containers of the arguments; None: it is of the surroundings.
        value: that of the surroundings.
    """

    place: int | None
    value: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.place == other.place and self.value is other.value

    def __hash__(self) -> int:
        return hash((self.place, id(self.value)))

    def __repr__(self) -> str:
        return "what is given" if self.place is not None else f"the {_of(self.value)} from outside"


def containers(value: object) -> Iterator[object]:
    """The lists, dicts and objects that a value is made of, in order."""
    if not isinstance(value, tuple | list | dict) and not is_object(value):
        return
    if not isinstance(value, tuple):
        yield value
    for one in parts_of(value):
        yield from containers(one)


def with_same(value: Any, known: Mapping[int, Same], around: Mapping[int, object]) -> Any:
    """What a function returned, with a `Same` for each container or array that is there already.

    Args:
        value: what it returned.
        known: those of the arguments, by identity.
        around: what is in the surroundings, by identity.
    """
    if type(value) is np.ndarray:
        return Same(None, value) if _is_of(value, around) else value
    if not isinstance(value, tuple | list | dict) and not is_object(value):
        return value
    if id(value) in known:
        return known[id(value)]
    if not isinstance(value, tuple) and around.get(id(value)) is value:
        return Same(None, value)
    parts = parts_of(value)
    found = [with_same(one, known, around) for one in parts]
    unchanged = all(one is part for one, part in zip(found, parts, strict=True))
    return value if unchanged else with_parts(value, found)


def _of(value: object) -> str:
    return "array" if isinstance(value, np.ndarray) else type(value).__name__


def _is_of(array: np.ndarray, around: Mapping[int, object]) -> bool:
    """Whether an array is one of the surroundings, or on the memory of one."""
    if around.get(id(array)) is array:
        return True
    owner = _owner(array)
    return any(isinstance(one, np.ndarray) and _owner(one) is owner for one in around.values())


def _owner(array: np.ndarray) -> np.ndarray:
    """The array that a view was made of, by whatever steps."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Made:
    """What makes an object, of a dataclass or a registered class, of its parts.

    It is equal to what makes an object of the same class with the same other fields.
    """

    __slots__ = ("_fixed", "_key", "_like")

    def __init__(self, value: object) -> None:
        self._like = with_parts(value, [None] * len(parts_of(value)))
        self._key = type(value), structure_of(self._like)  # as it is now: it may be changed later
        self._fixed = fixed_of(value)

    def __call__(self, parts: Sequence[object]) -> Any:
        """The object of some parts."""
        return with_parts(self._like, parts)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Made)
            and self._key == other._key
            and all(map(equal_values, self._fixed, other._fixed))
        )

    def __hash__(self) -> int:
        return hash(self._key)


@mutable
class Arguments:
    """The arguments of a call taken apart.

    Attributes:
        structure: of `(args, kwargs)`, hashable.
        arrays: its leaves, in order.
        modules: the modules among the arguments, each once.
        containers: by identity which of the lists and dicts each is, and itself: those that a
            registered class makes for this would be gone, and others have their identities.
    """

    structure: Structure
    arrays: list[Any]
    modules: list[Any]
    containers: dict[int, tuple[int, object]]


def take_apart(
    name: str, args: tuple[object, ...], kwargs: dict[str, Any], ordered: bool
) -> Arguments:
    """The arguments of a call of the function `name`; OptionError if a static one has no hash.

    `ordered`: whether the function can tell in which order keywords are given, by `**kwargs`.
    """
    found = Arguments(None, [], [], {})
    by_position = tuple(_flatten(name, value, found, True) for value in args)
    names = tuple(kwargs if ordered else sorted(kwargs))
    by_name = tuple(_flatten(name, kwargs[key], found, False) for key in names)
    found.structure = (tuple, None, by_position), (dict, names, by_name)
    return found


def _flatten(
    name: str, value: object, found: Arguments, numbers: bool, by_value: bool = False
) -> Structure:
    """A value taken apart; with `by_value` dataclasses without arrays are, too."""
    kind: Any = type(value)
    if isinstance(value, _ARRAYS) or (numbers and kind in _NUMBERS) or (by_value and kind is Dim):
        if changed := _changed_methods(kind):
            raise OptionError(
                f"{name}: an argument is of {kind.__name__}, a class of arrays with {changed} of "
                f"its own, which a graph does not call: pass np.asarray(x) ({user_place()})"
            )
        found.arrays.append(value)
        return LEAF
    if value is None or kind is Same:
        return value
    if isinstance(value, tuple | list):
        require_plain(name, value, tuple if isinstance(value, tuple) else list)
        parts = tuple(_flatten(name, one, found, numbers, by_value) for one in value)
        return kind if isinstance(value, tuple) else _met(value, kind, found), None, parts
    if isinstance(value, dict):
        parts = tuple(_flatten(name, one, found, numbers, by_value) for one in value.values())
        return _met(value, kind_of_dict(name, value), found), _keys_of(value), parts
    if is_object(value) and (by_value or any(isinstance(x, _ARRAYS) for x in leaves(value))):
        kept = [_flatten(name, one, found, numbers, by_value) for one in parts_of(value)]
        return Made(value), None, tuple(kept)
    if is_module(value):
        for place, module in enumerate(found.modules):
            if module is value:
                return ModuleAt(place)
        found.modules.append(value)
        return ModuleAt(len(found.modules) - 1)
    return _static(name, value)


@frozen
class Again:
    """Of a list or dict that is given a second time: a function may ask whether they are one.

    Attributes:
        kind: what makes one of its parts.
        place: which of the lists and dicts it is.
    """

    kind: Any
    place: int

    def __call__(self, parts: object) -> Any:
        """Another one of some parts."""
        return self.kind(parts)


def _met(value: object, kind: Any, found: Arguments) -> Any:
    """What makes a list or dict of its parts, which says if it was there before."""
    if id(value) in found.containers:
        return Again(kind, found.containers[id(value)][0])
    found.containers[id(value)] = len(found.containers), value
    return kind


class Keys(tuple[Any, ...]):
    """Keys of a dict of which some are no texts: 1, 1.0 and True are equal, and not the same."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keys) and [*map(_part, self)] == [*map(_part, other)]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def _keys_of(value: dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(value) if all(type(key) is str for key in value) else Keys(value)


_KEPT = frozenset(
    ("__doc__", "__module__", "__new__", "__array_finalize__", "__array_wrap__", "__repr__")
) | {"__str__", "__reduce__", "__setstate__", "__array_priority__", "__dict__", "__init__"}
"""What a class of arrays may have of its own, and still be computed with as others are."""


@functools.lru_cache(256)
def _changed_methods(kind: Hashable) -> str:
    """What a class of arrays does in its own way, as far as a graph would not; "" if nothing."""
    if kind is np.ndarray or not (isinstance(kind, type) and issubclass(kind, np.ndarray)):
        return ""
    if issubclass(kind, np.memmap | np.recarray | np.ma.MaskedArray):  # the last is no feed
        return ""
    own = kind.__mro__[: kind.__mro__.index(np.ndarray)]
    names = {key for one in own for key in vars(one)} & {*dir(np.ndarray), "__array_ufunc__"}
    return min(names - _KEPT, default="")


def _static(name: str, value: object) -> Static:
    if type(value) is slice:
        ends = value.start, value.stop, value.step
        if all(one is None or type(one) is int for one in ends):
            return Static(slice, ends, value)
    try:
        hash(value)
    except TypeError:
        instead = ": pass its to_numpy()" if hasattr(value, "to_numpy") else ""
        raise OptionError(
            f"{name}: the argument {value!r:.80} is of type {type(value).__name__}: neither an "
            f"array nor hashable, which static arguments have to be{instead} ({user_place()})"
        ) from None
    return Static(type(value), _told_apart(value), value)


def _told_apart(value: Any) -> Any:
    """What is equal for values that equal each other and that no function can tell apart.

    0.0 and -0.0, 1 and True, 12 o'clock in London and 13 in Paris are equal, and not the same.
    """
    kind: Any = type(value)
    if kind is float:
        return value.hex()
    if kind is complex:
        return value.real.hex(), value.imag.hex()
    if kind is range:
        return value.start, value.stop, value.step
    if kind is frozenset:
        return frozenset(map(_part, value))
    if isinstance(value, tuple):
        return tuple(map(_part, value))
    if isinstance(value, datetime.datetime | datetime.time) or kind.__module__ == "decimal":
        return value, repr(value)
    if is_dataclass(value) and not isinstance(value, type):
        return tuple([_part(getattr(value, one.name, None)) for one in fields(value)])
    return value


def _part(value: object) -> tuple[object, ...]:
    """The same of a part of a value: by identity, where it has no hash."""
    try:
        hash(value)
    except TypeError:
        return type(value), id(value)
    return type(value), _told_apart(value)


def flatten_outputs(name: str, value: object) -> tuple[Structure, list[Any]]:
    """The structure and the arrays of what a traced function returned.

    Raises:
        OptionError: something in it is neither an array nor a tuple, list, dict or dataclass.
    """
    found = Arguments(None, [], [], {})
    structure = _flatten(name, value, found, True, by_value=True)
    for part in parts(structure):
        if isinstance(part, Static | ModuleAt) and not _is_text(part):
            label = part.type.__name__ if isinstance(part, Static) else "module"
            raise OptionError(
                f"{name}: returned a value of type {label}: a compiled function returns arrays "
                "in tuples, lists and dicts"
            )
    return structure, found.arrays


def _is_text(part: Structure) -> bool:
    return isinstance(part, Static) and part.type is str


def parts(structure: Structure) -> Iterator[Structure]:
    """The leaves of a structure: arrays, None, static values and modules."""
    if isinstance(structure, tuple):
        for part in structure[2]:
            yield from parts(part)
    else:
        yield structure


def put_together(
    structure: Structure,
    leaves: Iterator[object],
    modules: Sequence[object] = (),
    made: list[Any] | None = None,
) -> Any:
    """A value of the structure with these leaves; `made`: the lists and dicts made before."""
    made = [] if made is None else made
    if structure is LEAF:
        return next(leaves)
    if isinstance(structure, Static):
        return structure.value
    if isinstance(structure, ModuleAt):
        return modules[structure.place]
    if structure is None or isinstance(structure, Same):
        return structure
    kind, keys, parts = structure
    values = [put_together(part, leaves, modules, made) for part in parts]
    if isinstance(kind, Again):
        return made[kind.place]
    if hasattr(kind, "_fields"):
        return kind(*values)
    value = kind(values) if keys is None else kind(zip(keys, values, strict=True))
    if isinstance(value, list | dict):
        made.append(value)
    return value


def assembler(structure: Structure) -> Callable[[Sequence[Any]], Any]:
    """The function from a list of leaves to the value of the structure that they make."""
    return _assembler(structure, 0)[0]


def _assembler(structure: Structure, start: int) -> tuple[Callable[[Sequence[Any]], Any], int]:
    """The function for the leaves from `start` on, and where those that it takes end."""
    if structure is LEAF:
        return operator.itemgetter(start), start + 1
    if isinstance(structure, Same) and structure.place is not None:
        return (lambda leaves: structure), start  # who knows the arguments puts theirs there
    if structure is None or isinstance(structure, Static | Same):
        value = None if structure is None else structure.value
        return (lambda leaves: value), start
    kind, keys, parts = structure
    end, makers = start, []
    for part in parts:
        maker, end = _assembler(part, end)
        makers.append(maker)
    if keys is not None:
        return (lambda leaves: kind(zip(keys, [make(leaves) for make in makers]))), end  # noqa: B905
    if hasattr(kind, "_fields"):
        return (lambda leaves: kind(*[make(leaves) for make in makers])), end
    if all(part is LEAF for part in parts):
        return (lambda leaves: kind(leaves[start:end])), end
    return (lambda leaves: kind([make(leaves) for make in makers])), end


def arguments_of(structure: Structure, leaves: Iterator[object], modules: Sequence[object]) -> Any:
    """`(args, kwargs)` of a structure that `take_apart` made."""
    args, kwargs = structure
    made: list[Any] = []
    return put_together(args, leaves, modules, made), put_together(kwargs, leaves, modules, made)


def leaf_names(structure: Structure, parameters: Sequence[str]) -> list[str]:
    """The name of each array: that of the parameter, and where in it the array is."""
    args, kwargs = structure
    found: list[str] = []
    for place, part in enumerate(args[2]):
        name = parameters[place] if place < len(parameters) else f"argument {place}"
        _name_leaves(part, name, found)
    for key, part in zip(kwargs[1], kwargs[2], strict=True):
        _name_leaves(part, key, found)
    return found


def _name_leaves(structure: Structure, name: str, found: list[str]) -> None:
    if structure is LEAF:
        found.append(name)
    elif isinstance(structure, tuple):
        _, keys, parts = structure
        for key, part in zip(keys or range(len(parts)), parts, strict=True):
            _name_leaves(part, f"{name}[{key!r}]", found)
