"""Options: how to compile."""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import Record, record

BACKENDS = ("llvm", "numba")
ON_NONFINITE = ("raise", "warn", "report")


@record
class Options(Record):
    """How to compile.

    Attributes:
        numerics: "strict" (every rewrite exact or more stable), "fast" (may round differently), or
            "exact" (the bits of evaluation op by op).
        disabled: names of rewrites to leave out.
        fuse: False gives every node a loop and memory of its own.
        threads: how many threads a call may use; None for as many as are set.
        on_nonfinite: what is done where an output or update is inf or nan, one of `ON_NONFINITE`;
            None checks nothing.
        memory: what a call may take: bytes if it is an int, a part of what it takes without a
            budget if it is a float; None for any.
        memory_at: the unknown sizes for which that is, by their names.
        backend: what lowers the emitted source to LLVM's IR: "llvm" (our own way) or "numba".
    """

    numerics: str = "strict"
    disabled: frozenset[str] = frozenset()
    fuse: bool = True
    backend: str = "llvm"
    threads: int | None = None
    on_nonfinite: str | None = None
    memory: float | None = None
    memory_at: tuple[tuple[str, int], ...] = ()


def check_switches(name: object, **switches: object) -> None:
    """OptionError for a name that is no text, and for a switch that is neither True nor False."""
    if name is not None and not isinstance(name, str):
        raise OptionError(f"compile: the name is a string, not {name!r}")
    for option, value in switches.items():
        if not isinstance(value, bool):
            raise OptionError(f"compile: {option} is True or False, not {value!r}")


def budget_of(memory: object, at: object) -> tuple[float | None, tuple[tuple[str, int], ...]]:
    """The fields `memory` and `memory_at` of options, from what a user gives.

    Raises:
        OptionError: they are no budget, or no sizes.
    """
    if memory is None:
        if at is not None:
            raise OptionError(f"compile: memory_at={at!r:.80} is given without memory")
        return None, ()
    is_part = isinstance(memory, float) and 0 < memory <= 1
    if not isinstance(memory, int | float) or not (is_part or _is_count(memory)):
        raise OptionError(
            f"compile: memory is a number of bytes, or a part as a float up to 1, not {memory!r}"
        )
    sizes = {} if at is None else at
    if not isinstance(sizes, Mapping):
        raise OptionError(f"compile: memory_at is a dict of sizes by names, not {at!r:.80}")
    for name, size in sizes.items():
        if not isinstance(name, str) or not _is_count(size):
            raise OptionError(f"compile: memory_at has names with ints from 0, not {at!r:.80}")
    return memory, tuple(sorted(sizes.items()))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
