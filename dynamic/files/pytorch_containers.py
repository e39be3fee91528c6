"""The containers of PyTorch's files: what their pickles may call, each as a function of ours."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NoReturn

from staticgraph.dynamic.core.errors import LoadError
from staticgraph.dynamic.core.results import Size
from staticgraph.dynamic.tensors.devices import device

DEEPEST = 200
"""The number of containers inside each other that are saved and read; cyclic ones have no end."""
_DEEPEST_KEY = 1000
FACTORIES: dict[str, Callable[[], object]] = {
    "bool": bool, "dict": dict, "float": float, "int": int, "list": list, "long": int, "set": set,
    "str": str, "tuple": tuple, "unicode": str,
}  # fmt: skip
"""What a `defaultdict` of a file may make."""


class Named:
    """What stands for something that a file names: it can be called or compared, not changed."""

    __slots__ = ("_call", "_name")

    _call: Callable[..., Any]
    _name: str

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_call", call)

    def __call__(self, *args: Any) -> Any:
        """What the function of ours returns."""
        return self._call(*args)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise LoadError(f"load: the file sets {name!r} of {self._name}")


def key_of(value: Any) -> Any:
    """A key that is hashed in no time: tuples that hold each other twice would take years."""
    rest, seen = [value], 0
    while rest:
        one = rest.pop()
        seen += 1
        if seen > _DEEPEST_KEY or not isinstance(one, str | int | float | tuple | None):
            raise LoadError(f"load: the file has a key of {type(value).__name__}, which is no key")
        rest += one if isinstance(one, tuple) else ()
    return value


def ordered(pairs: Any = ()) -> OrderedDict[Any, Any]:
    """An ordered dict of pairs."""
    return OrderedDict((key_of(key), value) for key, value in pairs)


def set_of(values: Any = ()) -> set[Any]:
    """A set."""
    return {key_of(one) for one in values}


def counter(counts: Any = ()) -> Counter[Any]:
    """A counter of what is counted by integers."""
    if type(counts) is not dict or not all(type(one) is int for one in counts.values()):
        raise LoadError("load: the file counts otherwise than by integers")
    return Counter(counts)


def defaults(factory: Any = None) -> defaultdict[Any, Any]:
    """An empty dict of a plain type's values."""
    name = factory._name if isinstance(factory, Named) else ""
    if factory is not None and name not in FACTORIES:
        raise LoadError(f"load: a defaultdict of {name or repr(factory):.80} is not read")
    return defaultdict(None if factory is None else FACTORIES[name])


def bytes_of(text: Any = "", encoding: Any = None) -> bytes:
    """What bytes are in the opcodes of protocol 2, which has none for them."""
    if not isinstance(text, str) or encoding != "latin1":
        raise LoadError("load: the file encodes a text as PyTorch's do not")
    return text.encode("latin1")


def device_of(kind: Any = None, index: Any = None) -> device:
    """A device by its name and number."""
    if not isinstance(kind, str) or not isinstance(index, int | None):
        raise LoadError(f"load: no device is called {kind!r:.80}")
    return device(kind, index)


def size_of(values: Any = ()) -> Size:
    """A size of integers."""
    if not isinstance(values, tuple | list) or not all(type(one) is int for one in values):
        raise LoadError(f"load: a size is of integers, not {values!r:.80}")
    return Size(values)


def refuse_call(*args: object) -> NoReturn:
    """LoadError: what files only name is called."""
    raise LoadError("load: the file makes a storage or a type by itself")


def check_depth(found: object) -> None:
    """LoadError for more containers inside each other than are saved: code that walks them ends."""
    level, seen = [found], {id(found)}
    for _ in range(DEEPEST + 1):
        inside: list[object] = []
        for one in level:
            if isinstance(one, dict):
                inside += one.values()
            elif isinstance(one, list | tuple | set):
                inside += one
        level = [one for key, one in {id(one): one for one in inside}.items() if key not in seen]
        seen |= {*map(id, level)}
        if not level:
            return
    raise LoadError(f"load: the file has more than {DEEPEST} containers inside each other")
