"""What `diff` finds: a row per value, and what it comes to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from staticgraph.compiler.core.notebook import as_printed
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.source import gradient_of, place_of

SHOWN = 40  # characters of a name or a line in a table
HEADS = ("value", "line", "type", "max ulp", "of rounding", "most apart at: eager, compiled")


@frozen
class At:
    """An iteration of a loop.

    Attributes:
        loop: the loop, and the user's line of it.
        index: which iteration, from 0; of a scan, which slice.
        step: how many ran before: another number than `index` in reverse.
    """

    loop: str
    index: int
    step: int

    def __str__(self) -> str:
        return f"in iteration {self.index} of {self.loop}"


@frozen
class Row:
    """A value in both paradigms.

    Attributes:
        op: what computes it; of a result, what it is, such as `output 0`.
        name: the user's name for it, or None.
        source: the user's `file:line`; of a gradient `gradient of OP at file:line`.
        types: its type, eagerly and compiled.
        equal: whether all bits are; one nan is as good as another.
        ulp: how many numbers of the dtype two elements are apart at most.
        share: the largest difference as a share of what rounding explains; inf where one alone is
            nan, or the types differ.
        where: the place of the elements that differ most, and `values` these two; None if all are
            equal, or the types differ.
        inside: of a value inside loops, the iteration of each, the outermost first, that the row
            is of: the first that is too far apart, else the one that is most apart.
        nth: which of how many values of the same op, name and line it is, as those of a loop that
            was unrolled: `1st of 3`; empty of one alone.
    """

    op: str
    name: str | None
    source: str
    types: tuple[str, str]
    equal: bool
    ulp: float
    share: float
    where: tuple[int, ...] | None
    values: tuple[complex, complex] | None
    inside: tuple[At, ...] = ()
    nth: str = ""

    @property
    def title(self) -> str:
        """The op, with what it is a gradient of, the name, which one, in which iterations."""
        gradient = gradient_of(self.source)
        of = f", gradient of {gradient}" if gradient else ""
        named = f" {self.name!r}" if self.name else ""
        which = ", ".join(str(at.index) for at in self.inside)
        at = "" if not which else ", each iteration" if self.equal else f", iteration {which}"
        nth = f", {self.nth}" if self.nth else ""
        return f"{self.op}{of}{named}{nth}{at}"

    @property
    def line(self) -> str:
        """The user's line."""
        return place_of(self.source)

    @property
    def place(self) -> str:
        """Where the elements that are farthest apart are, and they."""
        if self.types[0] != self.types[1]:
            return f"compiled: {self.types[1]}"
        if self.where is None or self.values is None:
            return "" if self.equal else "the sign of a zero"
        digits = 9 if self.types[0].startswith("float32") else 17
        eager, compiled = (f"{value:.{digits}g}" for value in self.values)
        return f"{list(self.where)}: {eager}, {compiled}"

    def cells(self) -> tuple[str, ...]:
        """Its cells in a table."""
        numbers = ("=", "") if self.equal else (f"{self.ulp:.4g}", f"{self.share:.2g}")
        line = os.path.basename(self.line)
        return (self.title, line, self.types[0], *numbers, self.place)

    def __str__(self) -> str:
        line = f" ({self.source})" if self.source else ""
        line += f", {self.nth}" if self.nth else ""
        line += "".join(f", {at}" for at in self.inside)
        if self.types[0] != self.types[1]:
            return f"{self.op}{line}: {self.types[0]} eagerly, {self.types[1]} compiled"
        far = f"{self.ulp:.4g} ulp, {self.share:.2g} of what rounding explains"
        return f"{self.op}{line}: {far}; {self.place}" if self.place else f"{self.op}{line}: {far}"


def is_far(row: Row, exact: bool, bound: float) -> bool:
    """Whether a value is farther apart than the bound allows; if `exact`, by a bit."""
    return not row.equal if exact else row.share > bound


@frozen
class Diff:
    """Both paradigms on the same inputs; `print` shows a table and what it comes to.

    Attributes:
        name: of the function.
        values: per op of the graph, in order, its value: computed by the eager engine op by op,
            and compiled, where all values are outputs of one graph.
        results: outputs, gradients and updates: of the function run eagerly (op by op if `exact`),
            and of the graph as it is compiled without all that.
        captured: the results of the eager run, and of the graph evaluated op by op: what is far
            apart here is no rounding, but a function that its graph does not describe.
        exact: whether it was compiled with `numerics="exact"`.
        bound: what `share` may be.
        closed: loops of which the values inside one iteration take too much memory to be compared,
            with their lines.
    """

    name: str
    values: tuple[Row, ...]
    results: tuple[Row, ...]
    captured: tuple[Row, ...]
    exact: bool
    bound: float
    closed: tuple[str, ...] = ()

    @property
    def divergence(self) -> Row | None:
        """The first value, or else result, that is farther apart than the bound allows.

        Inside a loop, that of the first iteration which has one.
        """
        far = [row for row in (*self.values, *self.results) if self.is_far(row)]
        if not far or not far[0].inside:
            return far[0] if far else None
        loop = far[0].inside[0].loop
        together = [row for row in far if row.inside and row.inside[0].loop == loop]
        return min(together, key=lambda row: [at.step for at in row.inside])

    @property
    def misses(self) -> Row | None:
        """The first result of which the graph evaluated op by op has another value."""
        return next((row for row in self.captured if row.share > self.bound), None)

    def is_far(self, row: Row) -> bool:
        """Whether a value is farther apart than the bound allows; if `exact`, by a bit."""
        return is_far(row, self.exact, self.bound)

    @property
    def agrees(self) -> bool:
        """Whether nothing is farther apart than the bound."""
        return self.divergence is None and self.misses is None

    @property
    def verdict(self) -> str:
        """What it comes to, in a sentence or two."""
        if self.misses is not None:
            return (
                f"{self.name}: the graph that was captured is not the function: {self.misses}. "
                "Something that it reads or does beside its arguments is not in the graph"
            )
        if self.divergence is not None:
            return f"{self.name}: the first value that is far apart is {self.divergence}"
        if self.exact:
            found = f"{self.name}: equal bits in {_counted(self.values)}, {_named(self.results)}"
            return found + self._of_eager_run
        if all(row.equal for row in self.rows()):
            return f"{self.name}: equal bits in {_counted(self.values)}, {_named(self.results)}"
        most = max(self.rows(), key=lambda row: row.share)
        return (
            f"{self.name}: nothing is farther apart than rounding explains; equal bits in "
            f"{sum(row.equal for row in self.values)} of {_counted(self.values)}, "
            f"{sum(row.equal for row in self.results)} of {_named(self.results)}; most apart, as "
            f"a share of what rounding explains, is {most}"
        )

    @property
    def _of_eager_run(self) -> str:
        """What the results of an eager run, which has views, are beside those of an exact one."""
        moved = [row for row in self.captured if not row.equal]
        if not moved:
            return ""
        most = max(moved, key=lambda row: row.share)
        return (
            f"; the eager run, with views and its own rules of backward, rounds otherwise in "
            f"{len(moved)}, most in {most}"
        )

    _repr_html_ = as_printed

    def __str__(self) -> str:
        closed = [f"not opened, for its values take too much memory: {one}" for one in self.closed]
        return "\n".join([*_table([row.cells() for row in self.rows()]), *closed, self.verdict])

    def rows(self) -> Iterator[Row]:
        """The values, then the results."""
        yield from self.values
        yield from self.results


def _counted(rows: Sequence[Row]) -> str:
    return f"{len(rows)} value{'s' * (len(rows) != 1)}"


def _named(rows: Sequence[Row]) -> str:
    return f"{len(rows)} result{'s' * (len(rows) != 1)}"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Rows below their heads, in columns."""
    cells = [HEADS, *(tuple([_cut(cell) for cell in row[:3]] + list(row[3:])) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEADS))]
    for row in cells:
        yield "  ".join(
            [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        ).rstrip()


def _cut(text: str) -> str:
    """The end of a text that is long."""
    return text if len(text) <= SHOWN else "..." + text[3 - SHOWN :]
