"""What a replay found: the ops that made inf or nan, and what they made it of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from staticgraph.compiler.core.notebook import as_printed
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.source import gradient_of, place_of
from staticgraph.compiler.inspect.bodies import Iteration

SHOWN = 4  # causes, and operands, of which a report shows more than their number


@frozen
class Range:
    """What is known of an array: its type, its least and greatest finite value, how many are not.

    `low` and `high` are None if nothing is finite, and of complex numbers those of |z|.
    """

    type: str
    low: float | None
    high: float | None
    nan: int
    inf: int

    def __str__(self) -> str:
        lost = [f"{number} {kind}" for number, kind in ((self.nan, "nan"), (self.inf, "inf"))]
        ends = "" if self.low is None else f" from {self.low:.6g} to {self.high:.6g}"
        wrong = ", ".join(one for one in lost if not one.startswith("0 "))
        return f"{self.type}{ends}{', ' if ends and wrong else ' ' if wrong else ''}{wrong}"


@frozen
class Origin:
    """An op that made inf or nan, or a leaf that held it.

    Attributes:
        op, name, source: of the op; `source` is the user's `file:line`, and of what a gradient
            computes `gradient of OP at file:line`.
        value, operands: what came out, and what it was made of.
        place: the index of the first element that is not finite.
        first: that element, and the elements of the operands that it was made of, if the op works
            element by element.
        iterations: in which iterations of which loops, the outermost first.
    """

    op: str
    name: str | None
    source: str
    value: Range
    operands: tuple[Range, ...]
    place: tuple[int, ...]
    first: tuple[complex, ...]
    iterations: tuple[Iteration, ...]

    @property
    def line(self) -> str:
        """The user's `file:line`."""
        return place_of(self.source)

    @property
    def gradient_of(self) -> str:
        """The op whose gradient this is a part of; empty if it is of none."""
        return gradient_of(self.source)

    @property
    def is_leaf(self) -> bool:
        """Whether it was inf or nan before the call."""
        return not self.operands

    def __str__(self) -> str:
        label = f" {self.name!r}" if self.name else ""
        wrong = self.value.nan + self.value.inf
        first, *made_of = self.first
        at = f" at {list(self.place)}" if self.place else ""
        origin = f", of {' and '.join(f'{one:.6g}' for one in made_of)}" if made_of else ""
        what = f"{wrong} not finite, the first is {first:.6g}{at}{origin}"
        head = f"{self.op}{label} = {self.value.type}: {what}  ({self.source})"
        given = [f"  operand {i}: {one}" for i, one in enumerate(self.operands[:SHOWN])]
        return "\n".join([head, *(f"  {one}" for one in self.iterations), *given])


@frozen
class Replay:
    """Where the inf and nan of a call come from; `print` tells it.

    Attributes:
        name: of the executable.
        lost: the outputs and updates that are not finite: those of what ran, if it has any.
        causes: the ops of the graph as it was defined that made inf or nan in such, in their order.
        intermediate: other ops that made inf or nan, of which nothing came of in `lost`.
        ran: the causes in the graph that ran, after all rewrites; empty if nothing was compiled.
        rewrites: the rewrites without which what ran gives finite values, where the graph as it was
            defined does.
        compiled: whether a kernel ran.
        rounded: whether the kernel gave inf or nan, and op by op all is finite.
        saved: the other outputs and updates that are not finite as defined, and are in what ran.
    """

    name: str
    lost: tuple[str, ...]
    causes: tuple[Origin, ...]
    intermediate: tuple[Origin, ...]
    ran: tuple[Origin, ...]
    rewrites: tuple[str, ...]
    compiled: bool
    rounded: bool = False
    saved: tuple[str, ...] = ()

    @property
    def is_finite(self) -> bool:
        """Whether the outputs and updates of what ran are finite."""
        return not self.rounded and not (self.ran if self.compiled else self.lost)

    @property
    def first(self) -> Origin | None:
        """The first op that made inf or nan; None if none was found."""
        return next(iter((*self.causes, *self.ran)), None)

    _repr_html_ = as_printed

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.rounded:
            yield (
                f"{self.name}: an output or update is not finite, and op by op with NumPy all is: "
                "a kernel adds and rounds in another order, and something is near the largest "
                "number"
            )
        elif not self.lost:
            yield f"{self.name}: all outputs and updates are finite"
        else:
            defined = "as it was defined, " if self.is_finite else ""
            yield f"{self.name}: {defined}not finite: {', '.join(self.lost)}"
        yield from _listed(self.causes or self.ran)
        if self.lost and self.compiled:
            yield from self._between()
        if self.intermediate:
            yield "not finite on the way, in nothing that came out:"
            yield from _listed(self.intermediate)

    def _between(self) -> Iterator[str]:
        """What stands between the user's graph and the one that ran."""
        if self.saved:
            yield f"finite after rewrites alone: {', '.join(self.saved)}"
        if self.causes and self.ran:
            if (self.causes[0].op, self.causes[0].source) != (self.ran[0].op, self.ran[0].source):
                one = self.ran[0]
                yield f"in what ran, after rewrites, the first was {one.op} ({one.source})"
        elif self.ran:
            named = ", ".join(self.rewrites) or "several together"
            yield f"the graph as it was defined gives finite values: a rewrite does not: {named}"
        elif self.causes:
            yield "the graph that ran, after rewrites, gives finite values op by op with NumPy"


def _listed(origins: Sequence[Origin]) -> Iterator[str]:
    for one in origins[:SHOWN]:
        yield from ("  " + line for line in str(one).splitlines())
    if len(origins) > SHOWN:
        yield f"  and {len(origins) - SHOWN} more"
