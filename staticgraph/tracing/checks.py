"""The reads of a trace as one generated Python function of comparisons by identity.

The source has numbers for names, and the names of Python's own attributes: never a text of the
user's. A comparison takes 7 to 35 ns, those of containers some 75.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from itertools import chain
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from staticgraph.tracing.guards import Read

_TESTS = {
    "item": "o{i}[k{i}] is v{i}",
    "absent": "k{i} not in o{i}",
    "cell": "o{i}.cell_contents is v{i}",
    "attribute": "getattr(o{i}, k{i}) is v{i}",
    "table": "o{i}.__dict__ is v{i}",
    "defaults": "o{i}.__defaults__ is v{i}",
    "disjoint": "o{i}.keys().isdisjoint(v{i})",
    "unset": "not hasattr(o{i}, k{i})",
    "misses": "o{i}.cache_info().misses >= v{i}",
    "class": "type(o{i}) is v{i}",
    "order": "o{i}.__mro__ is v{i}",
    "code": "o{i}.__code__ is v{i}",
    "length": "len(o{i}) == v{i}",
    "empty": "not o{i}",
    "keys": "len(o{i}) == len(v{i}) and all(map(is_, o{i}, v{i}))",
    "members": "len(o{i}) == len(v{i}) and all(map(is_, o{i}, v{i}))",
    "each": "len(o{i}) == len(v{i}) and all(map(is_, o{i}, v{i}))",
    "values": "all(map(is_, o{i}.values(), v{i}))",
    "bytes": "o{i}.tobytes() == v{i}",
    "pairs": "2 * len(o{i}) == len(v{i}) and all(map(is_, chain(o{i}.items()), v{i}))",
    "text": "bytes(memoryview(o{i})) == v{i}",
    "state": "k{i}(o{i}) == v{i}",
    "asked": "k{i}() == v{i}",
    "alive": "(o{i}() is not None) is v{i}",
    "memory": "same(o{i}, v{i})",
    "shape": "o{i}.shape == v{i}",
    "dtype": "o{i}.dtype == v{i}",
    "context": "o{i}.get(None) is v{i}",
    "unbound": "unbound(o{i})",
    "words": "v{i}()",
    "copied": "not v{i}()",
}
"""Per way to compare, whether `o`, read by the key `k`, still is `v`."""

_EMPTY = (list, dict, OrderedDict, set, deque)
"""The containers whose truth is that they hold something."""
_NAMED = {"__dict__": "table", "__defaults__": "defaults"}
_FAILING = (AttributeError, LookupError, TypeError, ValueError)
_TOGETHER = 64
"""The comparisons of one function: the next ones are another's."""


def check_of(reads: Sequence[Read]) -> Callable[[], bool]:
    """`check()`: whether everything is what it was, as fast as it can be told."""
    if len(reads) > _TOGETHER:
        first, rest = _checks(reads)
        return lambda: first() and rest()
    made: Callable[[], bool] = _made(reads, _checker)
    return made


def guarded(
    reads: Sequence[Read],
    count: int,
    run: Callable[..., object],
    otherwise: Callable[..., object],
    more: Sequence[object] = (),
) -> Callable[..., Any]:
    """The function of `count` arguments that is `run` of them and `more` if all is what it was.

    Else it is `otherwise`.
    """
    if len(reads) > _TOGETHER:
        first, rest = _checks(reads)

        def chosen(*args: object) -> object:
            return run(*args, *more) if first() and rest() else otherwise(*args)

        return chosen
    made: Callable[..., Any] = _made(reads, _chooser, count, len(more))(run, otherwise, more)
    return made


def _checks(reads: Sequence[Read]) -> tuple[Callable[[], bool], Callable[[], bool]]:
    return check_of(reads[:_TOGETHER]), check_of(reads[_TOGETHER:])


def _made(reads: Sequence[Read], make: Callable[..., Callable[..., Any]], *more: object) -> Any:
    parts = [part for one in reads for part in (one.owner, one.key, one.value)]
    maker = make(tuple(map(_way, reads)), *more)
    return maker(is_, chain.from_iterable, same_memory, is_unbound, _FAILING, parts)


def _way(read: Read) -> str:
    """How a read is compared."""
    if read.kind == "attribute":
        return _NAMED.get(read.key, "attribute")
    if read.kind == "length" and not read.value and type(read.owner) in _EMPTY:
        return "empty"
    return read.kind


@functools.lru_cache(1024)
def _checker(ways: tuple[str, ...]) -> Callable[..., Any]:
    """The function from owners, keys and values to what checks them."""
    return _compiled(ways, (
        "    def check():",
        "        try:",
        f"            return {_test(ways)}",
        "        except failing:",
        "            return False",
        "    return check",
    ))  # fmt: skip


@functools.lru_cache(1024)
def _chooser(ways: tuple[str, ...], count: int, more: int) -> Callable[..., Any]:
    """The same to the function that makes what `guarded` returns."""
    given = ", ".join([f"a{i}" for i in range(count)])
    others = ", ".join([f"b{i}" for i in range(more)])
    both = ", ".join([one for one in (given, others) if one])
    return _compiled(ways, (
        "    def chooser(run, otherwise, more):",
        f"        [{others}] = more",
        f"        def chosen({given}):",
        "            try:",
        f"                same_as_before = {_test(ways)}",
        "            except failing:",
        "                same_as_before = False",
        f"            return run({both}) if same_as_before else otherwise({given})",
        "        return chosen",
        "    return chooser",
    ))  # fmt: skip


def _test(ways: Sequence[str]) -> str:
    tests = [f"({_TESTS[way].format(i=i)})" for i, way in enumerate(ways)]
    return " and ".join(tests) or "True"


def _compiled(ways: Sequence[str], lines: Sequence[str]) -> Callable[..., Any]:
    names = [f"{letter}{i}" for i in range(len(ways)) for letter in "okv"]
    head = (
        "def make(is_, chain, same, unbound, failing, parts):",
        f"    [{', '.join(names)}] = parts",
    )
    namespace: dict[str, Any] = {}
    exec("\n".join([*head, *lines]), namespace)
    made: Callable[..., Any] = namespace["make"]
    return made


def same_memory(now: Any, before: Any) -> bool:
    """Whether the bytes of two arrays are equal, so that nan equals itself."""
    if now.shape != before.shape or now.dtype != before.dtype:
        return False
    if now.dtype.hasobject:
        return all(map(is_, now.flat, before.flat))
    if now.dtype.kind in "fc" and now.flags.c_contiguous:
        words = f"u{min(now.itemsize, 8)}"
        return bool(np.array_equal(now.view(words), before.view(words)))
    return bool(np.array_equal(now, before, equal_nan=now.dtype.kind in "fc"))


def is_unbound(cell: Any) -> bool:
    """Whether a cell has nothing."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False
