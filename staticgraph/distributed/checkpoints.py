"""What ranks have in common: variables that are the same on all, and files that one writes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping

from staticgraph.compiler.core.errors import DistributedError, OptionError
from staticgraph.compiler.ops.programs.collectives import broadcast
from staticgraph.compiler.reference.ranks import current
from staticgraph.executables.executable import Executable
from staticgraph.executables.saving import save as save_to
from staticgraph.leaves import Variable


def save(executables: Executable | Mapping[str, Executable], path: str | os.PathLike[str]) -> None:
    """Write executables with their variables to a file, on rank 0 alone: see `sg.save`.

    The file is replaced when its new content is complete, so that whatever ends, it is whole. All
    ranks go on when it is written.

    Raises:
        DistributedError: rank 0 could not write it, on the others.
        What `sg.save` raises, on rank 0.

    Example:
        >>> x = sg.placeholder("x", (None,), "float64")
        >>> sg.distributed.save(sg.compile([x], x * x), "square.sg")
    """
    failed: Exception | None = None
    if current().rank == 0:
        try:
            save_to(executables, path)
        except Exception as error:
            failed = error
    said = current().texts("" if failed is None else f"{type(failed).__name__}: {failed}")
    if failed is not None:
        raise failed
    if said[0]:
        raise DistributedError(f"save: rank 0 could not write {os.fspath(path)!r}: {said[0]}")


def synchronise(*owners: Executable | Variable, root: int = 0) -> None:
    """Give variables on all ranks the values that they have on one.

    Args:
        owners: variables, or executables for all of theirs.
        root: the rank whose values are taken.

    Raises:
        OptionError: something is neither.
        DistributedError: the ranks differ in what they do.

    Example:
        >>> w = sg.variable([1.0, 2.0])
        >>> sg.distributed.synchronise(w)
    """
    for one in _variables("synchronise", owners):
        one.state.assign(broadcast(one.state.copy(), root))


def check_same(*owners: Executable | Variable) -> None:
    """Compare variables with those of all ranks, bit by bit.

    Args:
        owners: variables, or executables for all of theirs.

    Raises:
        OptionError: something is neither.
        DistributedError: a variable has other values on another rank.

    Example:
        >>> w = sg.variable([1.0, 2.0])
        >>> sg.distributed.check_same(w)
    """
    named = list(_variables("check_same", owners))
    lines = [
        f"{one.state.label} {hashlib.sha256(one.state.copy().tobytes()).hexdigest()}"
        for one in named
    ]
    texts = [text.splitlines() for text in current().texts("\n".join(lines))]
    counts = [len(text) for text in texts]
    if len(set(counts)) > 1:
        raise DistributedError(f"check_same: the ranks have {counts} variables, not as many each")
    for found in zip(*texts, strict=True):
        for rank, line in enumerate(found):
            if line != found[0]:
                raise DistributedError(
                    f"check_same: {line.rpartition(' ')[0]} has other values on rank {rank} than "
                    "on rank 0: synchronise takes those of one rank"
                )


def _variables(name: str, owners: tuple[object, ...]) -> Iterator[Variable]:
    for one in owners:
        if isinstance(one, Variable):
            yield one
        elif isinstance(one, Executable):
            yield from one.variables.values()
        else:
            raise OptionError(f"{name}: {one!r:.80} is no variable and no executable")
