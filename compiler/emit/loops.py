"""Print a group's statements as nested loops, with neighbouring loops merged into one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from compiler.affine import Affine
from compiler.dims import Dim, Size
from compiler.emit.body import Body, Memory, Statement
from compiler.emit.scalar import CONSTRUCTORS, literal

INDENT = "    "
COPIES = 8  # iterations that are written out one after the other
BLOCK = 1024  # elements whose sum is rounded to the dtype before it is added to the total


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the kernel: the axes of the domain that it runs over as one, and its extent."""

    axes: tuple[int, ...]
    extent: Size

    @property
    def variable(self) -> str:
        """The name of the loop variable."""
        return f"i{self.axes[-1]}"


def print_body(
    body: Body,
    size: Callable[[Size], str],
    slot: Callable[[Memory], int],
    pointer: Callable[[int, int], str],
) -> Iterator[str]:
    """The lines of a group: loops over rows, passes over columns.

    `pointer(slot, first)` names the address of element `first` of a piece of memory.
    """
    yield from _Printer(body, size, slot, pointer).lines()


def merge_loops(statements: Sequence[Statement], domain: Sequence[tuple[int, Size]]) -> list[Loop]:
    """The loops over `domain` (axis, extent), outermost first.

    Two neighbours become one loop where every place in memory moves by one step of the outer loop
    exactly as by a whole run of the inner one.
    """
    forms = [form for one in statements for form in (one.place, one.index) if form.terms]
    loops: list[Loop] = []
    for axis, extent in reversed(domain):
        if extent == 1:
            continue
        if loops:
            inner = loops[-1]
            if all(
                form.coefficient(axis) == form.coefficient(inner.axes[-1]) * inner.extent
                for form in forms
            ):
                loops[-1] = Loop((axis, *inner.axes), extent * inner.extent)
                continue
        loops.append(Loop((axis,), extent))
    return loops[::-1]


def written_out(loops: Sequence[Loop]) -> int:
    """From which of the loops on they are written out: innermost ones of few iterations in all.

    The native compiler vectorises innermost loops only, and unrolls none before it does.
    """
    copies = 1
    for level in reversed(range(len(loops))):
        extent = loops[level].extent
        if not isinstance(extent, int) or copies * extent > COPIES:
            return level + 1
        copies *= extent
    return 0


def order_loops(
    statements: Sequence[Statement], domain: Sequence[tuple[int, Size]]
) -> list[tuple[int, Size]]:
    """The loops with the one innermost along which memory is read and written most evenly.

    Only for groups without rows, whose iterations may run in any order.
    """
    forms = [(one.place, one.code.count("{m}")) for one in statements if one.memory is not None]

    def cost(entry: tuple[int, Size]) -> int:
        axis, extent = entry
        strides = sum(_stride_cost(form.coefficient(axis)) * uses for form, uses in forms)
        return strides + (_SHORT_LOOP if isinstance(extent, int) and extent <= _UNROLLED else 0)

    loops = [entry for entry in domain if entry[1] != 1]
    if not loops:
        return list(domain)
    best = min(reversed(loops), key=cost)
    return [entry for entry in domain if entry is not best] + [best]


_UNROLLED = 4  # the native compiler unrolls loops up to about this extent: nothing to vectorise
_SHORT_LOOP = 4
_CACHE_LINE = 16  # float32 elements: from here on every access is a line of its own


def _stride_cost(stride: Size) -> int:
    if isinstance(stride, Dim):
        return _CACHE_LINE
    if abs(stride) <= 1:
        return abs(stride)
    return 3 if abs(stride) < _CACHE_LINE else _CACHE_LINE


class _Printer:
    def __init__(
        self,
        body: Body,
        size: Callable[[Size], str],
        slot: Callable[[Memory], int],
        pointer: Callable[[int, int], str],
    ) -> None:
        self.body = body
        self.size = size
        self.slot = slot
        self.pointer = pointer
        statements = [
            *body.before,
            *body.after,
            *(line for lines in (*body.rows, *body.passes) for line in lines),
        ]
        domain = list(enumerate(body.group.domain))
        if body.group.split is None:
            domain = order_loops(statements, domain)
        self.rows = merge_loops(statements, domain[: body.split])
        self.columns = merge_loops(statements, domain[body.split :])
        self.written_out = written_out(self.columns)
        self.fixed: dict[int, int] = {}
        self.first = self._first_elements(statements)

    def _first_elements(self, statements: Sequence[Statement]) -> dict[int, int]:
        """Per slot the constant part of all its places, if it is one: the pointer has it then.

        So the loops over different slices of one array are the same code.
        """
        found: dict[int, set[Size]] = {self.slot(("node", n)): {0} for n, _ in self.body.fills}
        for one in statements:
            if one.memory is not None:
                found.setdefault(self.slot(one.memory), set()).add(one.place.constant)
        alike = {slot: next(iter(places)) for slot, places in found.items() if len(places) == 1}
        return {slot: place for slot, place in alike.items() if isinstance(place, int)}

    def lines(self) -> Iterator[str]:
        for line in self.body.before:
            yield self._text(line)
        depth = 0
        for loop in self.rows:
            yield f"{INDENT * depth}{self._header(loop)}"
            depth += 1
        for stage, row in enumerate(self.body.rows):
            for line in row:
                yield INDENT * depth + self._text(line)
            if stage < len(self.body.passes):
                yield from self._pass(self.body.passes[stage], depth)
        for line in self.body.after:
            yield self._text(line)

    def _pass(self, statements: list[Statement], depth: int) -> Iterator[str]:
        """A pass over the columns, each statement in the outermost loop where it can stand."""
        if not statements:
            return
        places = {axis: i for i, loop in enumerate(self.columns) for axis in loop.axes}
        by_depth: list[list[Statement]] = [[] for _ in range(len(self.columns) + 1)]
        for one in statements:
            inside = max((places[axis] + 1 for axis in one.axes if axis in places), default=0)
            by_depth[inside].append(one)
        sums = [one for one in statements if one.accumulator]
        if sums and not self.rows and len(self.columns) == 1 and self._is_long(self.columns[0]):
            yield from self._blocks(by_depth, sums, depth)
            return
        for line in by_depth[0]:
            yield INDENT * depth + self._text(line)
        if all(loop.extent != 0 for loop in self.columns):
            yield from self._nest(by_depth, 0, depth)

    def _nest(self, by_depth: list[list[Statement]], level: int, depth: int) -> Iterator[str]:
        """The loops from `level` on: headers and bodies, or copies where a loop is written out."""
        if level == len(self.columns):
            return
        loop = self.columns[level]
        if level < self.written_out:
            yield INDENT * depth + self._header(loop)
            for line in by_depth[level + 1]:
                yield INDENT * (depth + 1) + self._text(line)
            yield from self._nest(by_depth, level + 1, depth + 1)
            return
        assert isinstance(loop.extent, int)
        for value in range(loop.extent):
            self.fixed[loop.axes[-1]] = value
            for line in by_depth[level + 1]:
                yield INDENT * depth + self._text(line)
            yield from self._nest(by_depth, level + 1, depth)
        del self.fixed[loop.axes[-1]]

    def _is_long(self, loop: Loop) -> bool:
        return isinstance(loop.extent, Dim) or loop.extent > BLOCK

    def _blocks(
        self, by_depth: list[list[Statement]], sums: list[Statement], depth: int
    ) -> Iterator[str]:
        """One long loop in blocks, whose sums are added in float64: rounding does not pile up."""
        (loop,) = self.columns
        end = self.size(loop.extent)
        pad, inner = INDENT * depth, INDENT * (depth + 1)
        for line in by_depth[0]:
            yield pad + self._text(line)
        for one in sums:
            yield f"{pad}wide_{one.accumulator} = f64(0.0)"
        yield f"{pad}for block in range(0, {end}, {BLOCK}):"
        for one in sums:
            assert one.dtype is not None
            yield f"{inner}part_{one.accumulator} = {literal(0, one.dtype)}"
        yield f"{inner}for {loop.variable} in range(block, min(block + {BLOCK}, {end})):"
        for line in by_depth[1]:
            yield inner + INDENT + self._text(line, "part_")
        for one in sums:
            name = one.accumulator
            yield f"{inner}wide_{name} = wide_{name} + f64(part_{name})"
        for one in sums:
            assert one.dtype is not None
            constructor = CONSTRUCTORS[one.dtype.name]
            yield f"{pad}{one.accumulator} = {constructor}(wide_{one.accumulator})"

    def _header(self, loop: Loop) -> str:
        return f"for {loop.variable} in range({self.size(loop.extent)}):"

    def _text(self, line: Statement, prefix: str = "") -> str:
        memory = ""
        if line.memory is not None:
            slot = self.slot(line.memory)
            first = self.first.get(slot, 0)
            memory = f"{self.pointer(slot, first)}[{self._affine(line.place + -first)}]"
        code = line.code.replace("{m}", memory).replace("{i}", self._affine(line.index))
        return code.replace("{a}", prefix + line.accumulator)

    def _affine(self, form: Affine) -> str:
        merged = {axis for loop in (*self.rows, *self.columns) for axis in loop.axes[:-1]}
        for axis, value in self.fixed.items():
            form = form + form.coefficient(axis) * value
        parts = [
            self._term(f"i{axis}", coefficient)
            for axis, coefficient in form.terms
            if axis not in merged and axis not in self.fixed
        ]
        parts += [self._term(name, coefficient) for name, coefficient in form.dynamic]
        if form.constant != 0 or not parts:
            parts.append(self.size(form.constant))
        return " + ".join(parts)

    def _term(self, name: str, coefficient: Size) -> str:
        if coefficient == 1:
            return name
        text = self.size(coefficient)
        return f"{name} * {f'({text})' if isinstance(coefficient, Dim) else text}"
