"""Options: how to compile."""

from __future__ import annotations

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
        backend: what lowers the emitted source to LLVM's IR: "llvm" (our own way) or "numba".
    """

    numerics: str = "strict"
    disabled: frozenset[str] = frozenset()
    fuse: bool = True
    backend: str = "llvm"
    threads: int | None = None
    on_nonfinite: str | None = None
