"""Products of few columns or of little depth: columns of the result, from its top to its end.

Most of what a tile takes there is not its sums: a product of (200000, 4) and (4, 4) has four steps
in each. So a *strip* goes down the rows, a few in a turn, and stores whole vectors. What a store
of a narrow result puts behind a row's end is in the next rows, which are stored later; the last
rows are not done by a strip, so that nothing is stored behind the result. The last strip of a wide
one begins further left, where columns were computed before. An element is the sum that it is in a
tile.
"""

from __future__ import annotations

from staticgraph.compiler.llvm.products.tiles import AHEAD, Shape, fused

_TOGETHER = 3  # rows that one register addresses: at 0, 1 and 2 times their distance
TURN = 6  # rows that are computed at a time


def strip_widths(shape: Shape) -> tuple[int, ...]:
    """The columns that there are strips of."""
    return shape.lanes // 2, shape.lanes, shape.columns


def strip_symbol(shape: Shape, width: int) -> str:
    """The name of the function that computes a strip of so many columns.

    strip(turns, k, a, down, along, b, step, c, next, alpha) -> 0

    puts `alpha` times the product at `c`, in so many turns; the rest is as for a tile, but that k
    is not 0.
    """
    return f"strip_{width}_{shape.bytes}"


def strips_text(shape: Shape) -> str:
    """Their definitions, beside those of the tiles."""
    widths = strip_widths(shape)
    kind, name = fused(widths[0], shape)  # the others are those of tiles
    declared = f"declare {kind} {name}({kind}, {kind}, {kind})"
    return "\n".join([declared, *(_strip(shape, width) for width in widths)])


def _strip(shape: Shape, width: int) -> str:
    rows = range(TURN)
    kind, multiply = fused(width, shape)
    scalar, size = shape.scalar, shape.bytes
    every = f"<{width} x i32> zeroinitializer"
    near = [i for i in rows if i % _TOGETHER == 0]

    def filled(name: str, value: str) -> list[str]:
        return [
            f"{name}.first = insertelement {kind} poison, {scalar} {value}, i32 0",
            f"{name} = shufflevector {kind} {name}.first, {kind} poison, {every}",
        ]

    def moved(name: str, start: str, distance: object) -> str:
        return f"{name} = getelementptr i8, ptr {start}, i64 {distance}"

    lines = [
        f"define i64 @{strip_symbol(shape, width)}(i64 %turns, i64 %k, i64 %a, i64 %down,"
        " i64 %along, i64 %b, i64 %step, i64 %c, i64 %next,"
        f" {scalar} %alpha) noinline nounwind {{",
        "%left = inttoptr i64 %a to ptr",
        "%right = inttoptr i64 %b to ptr",
        "%to = inttoptr i64 %c to ptr",
        *filled("%scale", "%alpha"),
        "%down2.shown = mul i64 %down, 2",
        "%down2 = freeze i64 %down2.shown",
        f"%below = mul i64 %down, {TURN}",
        "br label %turn",
        "turn:",
        "%left.turns = phi i64 [%turns, %0], [%less.turns, %stored]",
        "%top = phi ptr [%left, %0], [%top.next, %stored]",
        "%place = phi ptr [%to, %0], [%place.next, %stored]",
    ]
    for i in near:
        lines += [f"%away{i} = mul i64 %down, {i}", moved(f"%start{i}.shown", "%top", f"%away{i}")]
        lines.append(f"%start{i} = freeze ptr %start{i}.shown")
    lines += ["br label %depth", "depth:", "%left.k = phi i64 [%k, %turn], [%less.k, %depth]"]
    lines.append("%row = phi ptr [%right, %turn], [%row.next, %depth]")
    lines += [f"%from{i} = phi ptr [%start{i}, %turn], [%from{i}.next, %depth]" for i in near]
    lines += [f"%sum{i} = phi {kind} [zeroinitializer, %turn], [%more{i}, %depth]" for i in rows]
    if width == shape.columns:
        lines.append(moved("%ahead", "%row", AHEAD))
        lines.append("call void @llvm.prefetch.p0(ptr %ahead, i32 0, i32 3, i32 1)")
    lines.append(f"%across = load {kind}, ptr %row, align {size}")
    for i in rows:
        apart = ("0", "%down", "%down2")[i % _TOGETHER]
        lines += [
            moved(f"%at{i}", f"%from{i - i % _TOGETHER}", apart),
            f"%one{i} = load {scalar}, ptr %at{i}, align {size}",
            *filled(f"%each{i}", f"%one{i}"),
            f"%more{i} = call {kind} {multiply}({kind} %each{i}, {kind} %across, {kind} %sum{i})",
        ]
    lines += [moved("%row.next", "%row", "%step"), "%less.k = sub i64 %left.k, 1"]
    lines += [moved(f"%from{i}.next", f"%from{i}", "%along") for i in near]
    lines.append("%deeper = icmp ne i64 %less.k, 0")
    lines += ["br i1 %deeper, label %depth, label %stored", "stored:"]
    place = "%place"
    for i in rows:
        lines.append(f"%result{i} = fmul {kind} %more{i}, %scale")
        lines.append(f"store {kind} %result{i}, ptr {place}, align {size}")
        following = "%place.next" if i + 1 == TURN else f"%place{i + 1}"
        lines.append(moved(following, place, "%next"))
        place = following
    return "\n".join(
        [
            *lines,
            moved("%top.next", "%top", "%below"),
            "%less.turns = sub i64 %left.turns, 1",
            "%again = icmp ne i64 %less.turns, 0",
            "br i1 %again, label %turn, label %end",
            "end:",
            "ret i64 0",
            "}",
        ]
    )


__all__ = ["TURN", "strip_symbol", "strip_widths", "strips_text"]
