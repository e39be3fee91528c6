"""The loops of a group: neighbours merged into one, the innermost chosen by strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from staticgraph.compiler.codegen.scalar import expensive_calls
from staticgraph.compiler.codegen.short_rows import WIDEST, moves_short_rows
from staticgraph.compiler.codegen.statements import Body, Statement
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Dim, Size, evaluate
from staticgraph.compiler.core.record import Record, record

_WAY, _WAYS = 1 << 10, 8  # elements of a page, as far apart as lines of one set are; its lines
STRIP = 16  # iterations: as many as a line of the cache has float32; twice as many meet in too few
# sets of the first cache where lines are a power of two apart. Measured on transposing 4608 x 512:
# 1.5 times as fast as with 32, 4096 x 4096 1.3 times
COPIES = 8  # iterations that are written out one after the other
EXPENSIVE_COPIES = 15  # of expensive ones, less than a vector: softmax of 10 classes 2.6 times
EXPENSIVE_LINES = 130  # that these have in all: more take longer to compile than they save
WINDOW_COPIES = 64  # of those over a window: max pooling 3 x 3 is 5 times as fast
WINDOW_LINES = 640


@record
class NestedLoop(Record):
    """A loop of the kernel: the axes of the domain that it runs over as one, and its extent."""

    axes: tuple[int, ...]
    extent: Size

    @property
    def variable(self) -> str:
        """The name of the loop variable."""
        return f"i{self.axes[-1]}"


def merge_loops(
    statements: Sequence[Statement], domain: Sequence[tuple[int, Size]]
) -> list[NestedLoop]:
    """The loops over `domain` (axis, extent), outermost first.

    Two neighbours become one loop where every place in memory moves by one step of the outer loop
    exactly as by a whole run of the inner one.
    """
    forms = [form for one in statements for form in (one.place, one.index) if form.terms]
    loops: list[NestedLoop] = []
    for axis, extent in reversed(domain):
        if extent == 1:
            continue
        if loops:
            inner = loops[-1]
            if all(
                form.coefficient(axis) == form.coefficient(inner.axes[-1]) * inner.extent
                for form in forms
            ):
                loops[-1] = NestedLoop((axis, *inner.axes), extent * inner.extent)
                continue
        loops.append(NestedLoop((axis,), extent))
    return loops[::-1]


def written_out(loops: Sequence[NestedLoop], most: int = COPIES) -> int:
    """From which of the loops on they are written out: innermost ones of few iterations in all.

    The native compiler vectorises innermost loops only, and unrolls none before it does.
    """
    copies = 1
    for level in reversed(range(len(loops))):
        extent = loops[level].extent
        if not isinstance(extent, int) or copies * extent > most:
            return level + 1
        copies *= extent
    return 0


def most_copies(body: Body) -> int:
    """How many iterations over columns may be written out, so that rows are vectorised instead.

    More than a few where neighbouring rows are neighbours in memory, as windows are; and of
    expensive ones.
    """
    lines = [line for part in body.passes for line in part]
    if not body.split or not lines:
        return COPIES
    most = COPIES
    if any(expensive_calls(line.value) for line in lines):
        most = min(EXPENSIVE_COPIES, EXPENSIVE_LINES // len(lines))
    across = [line.place for line in lines if line.memory and _moves(line.place, body.split)]
    last = max((axis for axis in range(body.split) if body.group.domain[axis] != 1), default=0)
    if all(_is_near(place.coefficient(last)) for place in across):
        most = min(WINDOW_COPIES, WINDOW_LINES // len(lines))
    return max(COPIES, most)


def _moves(place: Affine, split: int) -> bool:
    """Whether a place in memory changes with the column."""
    return any(axis >= split for axis, _ in place.terms)


def _is_near(stride: Size) -> bool:
    return isinstance(stride, int) and abs(stride) <= NEAR


def order_loops(
    statements: Sequence[Statement], domain: Sequence[tuple[int, Size]], placed: bool = False
) -> list[tuple[int, Size]]:
    """The loops with the one innermost along which memory is read and written most evenly.

    Only for loops over columns, whose iterations may run in any order. `placed`: elements are
    added to what lies in memory, maybe many times; see `_apart`.
    """
    moving = [one for one in statements if one.memory is not None]
    # a short axis may be the end of a long loop
    whole = {loop.axes[-1]: loop.extent for loop in merge_loops(statements, domain)}

    def cost(entry: tuple[int, Size]) -> int:
        axis, extent = entry[0], whole.get(*entry)
        strides = sum(_stride_cost(_stride(one, axis)) * one.accesses for one in moving)
        return strides + (_SHORT_LOOP if isinstance(extent, int) and extent <= _UNROLLED else 0)

    loops = [entry for entry in domain if entry[1] != 1]
    if not loops:
        return list(domain)
    best = min(reversed(loops), key=cost)
    others = [entry for entry in domain if entry is not best]
    return [*(_apart(statements, others) if placed else others), best]


def _stride(statement: Statement, axis: int) -> Size:
    """How far a step along an axis goes in memory; where an index from memory does, very far."""
    stride = statement.place.coefficient(axis)
    jumps = stride == 0 and statement.place.dynamic and axis in statement.axes
    return _CACHE_LINE if jumps else stride


def _apart(
    statements: Sequence[Statement], domain: Sequence[tuple[int, Size]]
) -> list[tuple[int, Size]]:
    """Loops around one that adds to memory, such that additions to the same place lie far apart.

    A load waits until a store to its cache line has left the processor's queue, if it cannot be
    given the stored value as it is. So the loop that goes farthest in what is written becomes the
    inner one, the first aside, which threads share; the others, such as those over a window, are
    sorted by how far they go in what is read. Measured on the gradient of a convolution 3x3: 3.5
    times as fast as place by place.
    """
    if len(domain) < 2:
        return list(domain)
    first, *others = sorted(domain, key=lambda entry: entry[1] == 1)
    written = [one.place for one in statements if one.writes]
    read = [one.place for one in statements if one.memory and not one.writes]

    def length(forms: Sequence[Affine], entry: tuple[int, Size]) -> int:
        return sum(_length(form.coefficient(entry[0])) for form in forms)

    others.sort(key=lambda entry: -length(read, entry))
    farthest = max(others, key=lambda entry: length(written, entry))
    others.remove(farthest)
    return [first, *others, farthest]


_TYPICAL = 64  # stands for a size that is not known when strides are compared


def _length(stride: Size) -> int:
    if isinstance(stride, int):
        return abs(stride)
    return abs(evaluate(stride, dict.fromkeys(stride.atoms(), _TYPICAL)))


_UNROLLED = 4  # the native compiler unrolls loops up to about this extent: nothing to vectorise
_SHORT_LOOP = 4
NEAR = 4  # elements: vectors of every fourth are still loaded and shuffled fast
_CACHE_LINE = 16  # float32 elements: from here on every access is a line of its own


def _stride_cost(stride: Size) -> int:
    if isinstance(stride, Dim):
        return _CACHE_LINE
    if abs(stride) <= 1:
        return abs(stride)
    return 3 if abs(stride) < _CACHE_LINE else _CACHE_LINE


@record
class Nest(Record):
    """The loops of a group: over rows, and inside over columns, of which those from `written_out`
    on are printed as copies of their bodies.

    `strips`: the innermost loop that is printed does `STRIP` iterations for all of those around it,
    then the next ones. `overlaps`: the innermost loop may be two, which repeat some elements.
    """

    rows: tuple[NestedLoop, ...]
    columns: tuple[NestedLoop, ...]
    written_out: int
    strips: bool
    overlaps: bool

    @property
    def outermost(self) -> NestedLoop | None:
        """The first loop that is printed as one."""
        loops = self.rows or self.columns[: self.written_out]
        return loops[0] if loops else None


def nest_of(body: Body) -> Nest:
    """The loops of a group's statements."""
    statements = statements_of(body)
    domain = list(enumerate(body.group.domain))
    rows, columns = domain[: body.split], domain[body.split :]
    columns = order_loops(statements, columns, bool(body.placed))
    loops = merge_loops(statements, columns)
    most = _PAIR if loops and _moves_rows(statements, loops[-1]) else most_copies(body)
    overlaps = moves_short_rows(body, loops)
    whole = overlaps or (most == COPIES and _is_vector(statements, loops))
    printed = len(loops) if whole else written_out(loops, most)
    strips = not rows and not overlaps and _reads_across(statements, loops[:printed])
    return Nest(tuple(merge_loops(statements, rows)), tuple(loops), printed, strips, overlaps)


_PAIR = 2  # elements: a loop over longer rows that indices point at is faster than gathering them


def _moves_rows(statements: Sequence[Statement], innermost: NestedLoop) -> bool:
    """Whether the loop goes along rows, of which an index says where they lie, and is cheap.

    Such a row is a vector or a few; the loop around it, vectorised, would gather its elements one
    by one. Measured on rows of 3, 4 and 8 float32: 1.1, 1.4 and 2.7 times as fast.
    """
    if any(expensive_calls(one.value) for one in statements):
        return False
    axis = innermost.axes[-1]
    return any(one.place.dynamic and one.place.coefficient(axis) == 1 for one in statements)


def _is_vector(statements: Sequence[Statement], loops: Sequence[NestedLoop]) -> bool:
    """Whether the innermost loop goes along neighbours that are whole vectors.

    It is vectorised as it is. Written out, the loop around it would be, whose elements lie apart:
    of 8 float64 that takes 4 times as long, of 8 float32 up to 3 times; not where functions such
    as exp take most of the time.
    """
    if not loops or loops[-1].extent != WIDEST:
        return False
    if any(expensive_calls(one.value) for one in statements):
        return False
    axis = loops[-1].axes[-1]
    strides = [one.place.coefficient(axis) for one in statements if one.memory is not None]
    return 1 in strides and all(stride in (0, 1) for stride in strides)


def _reads_across(statements: Sequence[Statement], loops: Sequence[NestedLoop]) -> bool:
    """Whether the last loop meets another cache line in each iteration, and the one around it the
    same lines again: there may be too many of them to be in the cache still.
    """
    if len(loops) < 2:
        return False
    outer, inner = loops[-2:]
    places = [one.place for one in statements if one.memory is not None]
    apart = [
        place.coefficient(inner.axes[-1])
        for place in places
        if _stride_cost(place.coefficient(inner.axes[-1])) == _CACHE_LINE
        and 0 < _stride_cost(place.coefficient(outer.axes[-1])) < _CACHE_LINE
    ]
    if isinstance(inner.extent, int) and inner.extent <= 2 * STRIP:
        return any(isinstance(one, int) and inner.extent > _room(one) for one in apart)
    return bool(apart)


def _room(apart: int) -> int:
    """How many lines so many elements apart the first cache has room for: where lines are apart by
    a multiple of a power of two, they meet in few of its sets.
    """
    return _WAYS * max(1, _WAY // gcd(apart, _WAY))


def statements_of(body: Body) -> list[Statement]:
    """All statements of a group."""
    lines = (line for part in (*body.rows, *body.passes) for line in part)
    return [*body.before, *body.after, *lines]
