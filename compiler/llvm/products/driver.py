"""Products of matrices in machine code of our own, which takes the place of a BLAS's gemm.

    void gemm_4(int order, int transa, int transb, int64 m, int64 n, int64 k, float alpha,
                float *a, int64 lda, float *b, int64 ldb, float beta, float *c, int64 ldc)

and `gemm_8` for doubles: `cblas_sgemm` and `cblas_dgemm` of column-major matrices. The loops around
the tiles (`compiler.llvm.products.tiles`) are those of Goto and van de Geijn: a block of the right
operand is packed, to be read from one end to the other, and a few rows of the left one, which stay
in the first cache. The rows after them are fetched meanwhile, some with each tile: they would be
waited for if they were fetched at once. Products of few columns, or of little depth, go by strips
(`compiler.llvm.products.strips`), and up to three tiles, one above the other, without these loops,
whose divisions take longer than their sums. An element is a sum in the order of the depth, in parts
whose number depends on the depth alone: it has the same bits whatever part of the result is
computed at a time, and by how many threads.
"""

from __future__ import annotations

import ast
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from staticgraph.compiler.ir.parse import function_of
from staticgraph.compiler.llvm.conventions import CBLAS_NO_TRANS
from staticgraph.compiler.llvm.lower.translate import Translator
from staticgraph.compiler.llvm.lower.values import FLOAT32, FLOAT64, INT64, POINTERS
from staticgraph.compiler.llvm.machine import emit_object
from staticgraph.compiler.llvm.parsed import link, parse
from staticgraph.compiler.llvm.products.packing import Emitter
from staticgraph.compiler.llvm.products.strips import (
    TURN,
    strip_symbol,
    strip_widths,
    strips_text,
)
from staticgraph.compiler.llvm.products.tiles import Shape, tile_symbol, tiles_text
from staticgraph.compiler.llvm.products.workspaces import (
    BLOCK,
    DEPTH_BYTES,
    FLAG,
    GROUP,
    MOST_ROWS,
    WIDE,
    WORKSPACES,
    slot_bytes,
)

EFFORT = 1  # of LLVM: the tiles' loops are what they are to be, and more takes a tenth longer
PLACE = "places"  # the symbol of the word that has the address of the workspaces
STEP = 16  # rows of the right operand that are copied at a time, or columns of the left one
FEW = 2  # tiles one above the other, for which the right operand is not packed
LYING = 6  # the same where its rows lie side by side and it fits the second cache, as windows do
RESIDENT = 1 << 17  # bytes of a right operand, up to which it is not packed either
LARGE = 3 << 19  # bytes, above which it is packed even for one tile, but for a small one, which
# fetches what it reads: lines of memory that are far apart come one by one
SHALLOW = 32  # steps, up to which a product of many columns is computed by strips
CHUNK = 1 << 14  # bytes of the result that strips side by side go down
SIMPLE = 3  # tiles one above the other, for which nothing is cut
NARROW = 2  # tiles side by side, for which the left operand is not packed

_I32, _I64 = ir.IntType(32), ir.IntType(64)


def symbol(itemsize: int) -> str:
    """The name of the function for elements of so many bytes."""
    return f"gemm_{itemsize}"


def shape_of(itemsize: int) -> Shape:
    """What a tile is on this machine: three quarters of its registers of vectors."""
    features = llvm.get_host_cpu_features()
    wide = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    many = wide == 64 or not llvm.get_process_triple().startswith("x86")
    return shape(itemsize, wide, many)


def shape(itemsize: int, wide: int, many: bool) -> Shape:
    """The tile where vectors have `wide` bytes; `many`: in 32 registers, else in 16."""
    return Shape(MOST_ROWS if many else MOST_ROWS // 2, 2, wide // itemsize, itemsize)


SOURCE = """
def claim(places):
    while 1 == 1:
        for i in range({WORKSPACES}):
            if atomic_load(places, {FLAG} * (i + 1)) == 0:
                if exchange(places, {FLAG} * (i + 1), 0, 1):
                    return i
        paused = pause()


def share(number, whole, parts):
    return number * whole // parts


def parts_of(whole, most):
    return (whole + most - 1) // most


def go_down(rows, width, k, a, down, along, b, step, c, following, alpha):
    if width == {HALF}:
        return strip_half(rows // {TURN}, k, a, down, along, b, step, c, following, alpha)
    if width == {LANES}:
        return strip_one(rows // {TURN}, k, a, down, along, b, step, c, following, alpha)
    return strip_two(rows // {TURN}, k, a, down, along, b, step, c, following, alpha)


def strips(
    m, n, k, a, down, along, b, under, packed, packs, c, following, alpha, edge, left, right
):
    tiles = parts_of(right - left, {COLUMNS})
    rest = right - left - (tiles - 1) * {COLUMNS}
    width = select(rest <= {HALF}, {HALF}, select(rest <= {LANES}, {LANES}, {COLUMNS}))
    several = n > {COLUMNS}
    apart = (width > rest) & select(several, packs, select(following != n * {S}, 1, 0))
    if apart != 0:
        width = i64({COLUMNS})
    safe = max(0, m - select(several | (apart != 0), 0, parts_of(width - rest, n)))
    safe = safe // {TURN} * {TURN}
    most = max(1, {CHUNK} // ((right - left) * {S} * {TURN})) * {TURN}
    for top in range(0, safe, most):
        rows = min(most, safe - top)
        lefts = a + top * down
        for tile in range(tiles):
            j = left + tile * {COLUMNS}
            wide = i64({COLUMNS})
            if tile == tiles - 1:
                wide = width
                j = j - select(several & (packs == 0), width - rest, 0)
            rights = b + j * {S}
            step = under
            if packs != 0:
                rights = packed + tile * k * {LINE}
                step = i64({LINE})
            elif (n <= {COLUMNS}) & (rest & {REST} != 0):
                rights = packed
                step = i64({LINE})
            to = c + top * following + j * {S}
            if (apart != 0) & (tile == tiles - 1):
                for i in range(0, rows, {TURN}):
                    summed = strip_two(
                        1, k, lefts + i * down, down, along, rights, step, edge, i64({LINE}), alpha
                    )
                    placed = unpack(rest, {TURN}, edge, to + i * following, following)
            else:
                summed = go_down(
                    rows, wide, k, lefts, down, along, rights, step, to, following, alpha
                )
    return safe


def multiply(
    transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, places, panel, edge
):
    across = lda * {S}
    under = ldb * {S}
    following = ldc * {S}
    parts = max(1, parts_of(k, {DEPTH}))
    deepest = parts_of(k, parts)
    lies = (under <= 2 * n * {S}) & (k * under <= {BLOCK})
    few = select(lies, {LYING}, {FEW})
    large = ((m > few) & (k * under > {RESIDENT})) | ((m > {SMALL}) & (k * under > {LARGE}))
    packs = (transb != 0) | large
    copies = (n > {NARROW}) & (m > 1)
    number = i64(0 - 1)
    work = i64(0)
    turns = copies & (transa != 0)
    group = select(turns, {GROUP}, 1)
    if packs | turns | (n & {REST} != 0):
        number = claim(places)
        work = places[0] + number * {SLOT}
    tiles = parts_of(n, {COLUMNS})
    most = max(1, {ELEMENTS} // max(1, deepest + {LANES}) // {COLUMNS})
    shallow = (beta == 0) & (parts == 1) & (k > 0) & ((n <= {COLUMNS}) | (k <= {SHALLOW}))
    blocks = parts_of(tiles, most)
    panels = parts_of(m, {ROWS})
    done = i64(0)
    each = parts_of({ROWS}, parts_of(tiles, blocks))
    for block in range(blocks):
        left = share(block, tiles, blocks) * {COLUMNS}
        right = min(n, share(block + 1, tiles, blocks) * {COLUMNS})
        for part in range(parts):
            start = share(part, k, parts)
            depth = share(part + 1, k, parts) - start
            weight = select(part == 0, beta, type(beta)(1))
            size = depth * {LINE}
            if transb != 0:
                at = work
                for j in range(left, right, {COLUMNS}):
                    columns = min({COLUMNS}, right - j)
                    packed = pack_transposed(columns, depth, b + start * {S} + j * under, under, at)
                    at = at + size
            elif packs | (n & {REST} != 0):
                for p in range(0, depth, {STEP}):
                    at = work + p * {LINE}
                    for j in range(left, right, {COLUMNS}):
                        columns = min({COLUMNS}, right - j)
                        if packs | (columns & {REST} != 0):
                            packed = pack(
                                columns, min({STEP}, depth - p),
                                b + (start + p) * under + j * {S}, under, at,
                            )
                            at = at + size
            if shallow:
                down = select(transa != 0, i64({S}), across)
                along = select(transa != 0, across, i64({S}))
                done = strips(
                    m, n, k, a, down, along, b, under, work, select(packs, 1, 0),
                    c, following, alpha, edge, left, right,
                )
                panels = parts_of(m - done, {ROWS})
            for first in range(0, panels, group):
                last = min(panels, first + group)
                if turns:
                    for p in range(0, depth, {STEP}):
                        for i in range(first, last):
                            top = done + share(i, m - done, panels)
                            copied = copy_columns(
                                done + share(i + 1, m - done, panels) - top, min({STEP}, depth - p),
                                a + top * {S} + (start + p) * across, across,
                                work + {WORKSPACE} + (i - first) * {PANEL} + p * {ROWS} * {S},
                            )
                ahead = i64(0)
                next = i64(0)
                long = i64(0)
                pace = each
                if turns & (last < panels):
                    ahead = depth
                    beside = done + share(last, m - done, panels)
                    next = a + beside * {S} + start * across
                    long = done + share(min(panels, last + group), m - done, panels) - beside
                    pace = parts_of(depth, (last - first) * parts_of(right - left, {COLUMNS}))
                for i in range(first, last):
                    top = done + share(i, m - done, panels)
                    rows = done + share(i + 1, m - done, panels) - top
                    down = across
                    along = i64({S})
                    lefts = a + top * across + start * {S}
                    if turns:
                        down = i64({S})
                        along = i64({ROWS} * {S})
                        lefts = work + {WORKSPACE} + (i - first) * {PANEL}
                    elif transa != 0:
                        down = i64({S})
                        along = across
                        lefts = a + top * {S} + start * across
                    elif copies:
                        if across > {ROW}:
                            copied = copy_rows(rows, depth, lefts, across, panel, {ROW})
                            down = i64({ROW})
                        if i + 1 < panels:
                            ahead = rows
                            long = depth
                            next = a + (top + rows) * across + start * {S}
                        lefts = select(across > {ROW}, panel, lefts)
                    at = work
                    for j in range(left, right, {COLUMNS}):
                        if ahead > 0:
                            fetched = fetch_rows(min(ahead, pace), long, next, across)
                            ahead = ahead - pace
                            next = next + pace * across
                        columns = min({COLUMNS}, right - j)
                        rights = b + start * under + j * {S}
                        step = under
                        if packs | (columns & {REST} != 0):
                            rights = at
                            step = i64({LINE})
                            at = at + size
                        to = c + top * following + j * {S}
                        if columns & {REST} == 0:
                            summed = tile(
                                rows, columns, depth, lefts, down, along, rights, step,
                                to, following, alpha, weight,
                            )
                        else:
                            if weight != 0:
                                packed = pack(columns, rows, to, following, edge)
                            summed = tile(
                                rows, (columns + {REST}) // {LANES} * {LANES}, depth,
                                lefts, down, along, rights, step, edge, i64({LINE}), alpha, weight,
                            )
                            placed = unpack(columns, rows, edge, to, following)
    if number >= 0:
        stored = atomic_store(places, {FLAG} * (number + 1), 0)
    return 0


def few_tiles(transa, transb, m, n, k, alpha, a, across, b, under, beta, c, following, panel, edge):
    down = select(transa != 0, i64({S}), across)
    along = select(transa != 0, across, i64({S}))
    whole = n & {REST} == 0
    rights = b
    step = under
    if transb != 0:
        packed = pack_transposed(n, k, b, under, panel)
        rights = panel
        step = i64({LINE})
    elif whole == 0:
        packed = pack(n, k, b, under, panel)
        rights = panel
        step = i64({LINE})
    for top in range(0, m, {ROWS}):
        rows = min({ROWS}, m - top)
        lefts = a + top * down
        to = c + top * following
        if whole != 0:
            summed = tile(
                rows, n, k, lefts, down, along, rights, step, to, following, alpha, beta
            )
        else:
            if beta != 0:
                packed = pack(n, rows, to, following, edge)
            summed = tile(
                rows, (n + {REST}) // {LANES} * {LANES}, k,
                lefts, down, along, rights, step, edge, i64({LINE}), alpha, beta,
            )
            placed = unpack(n, rows, edge, to, following)
    return 0


def product(
    transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, places, panel, edge
):
    if (m <= 0) | (n <= 0):
        return 0
    if (m <= {COLUMN}) & (n <= {COLUMNS}) & (k <= {FLAT}) & (k * ldb * {S} <= {LARGE}):
        return few_tiles(
            transa, transb, m, n, k, alpha, a, lda * {S}, b, ldb * {S}, beta, c, ldc * {S},
            panel, edge,
        )
    return multiply(
        transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, places, panel, edge
    )
"""


def products_object(shape: Shape, workspace: int, machine: Any) -> bytes:
    """The object code for tiles of a shape.

    `workspace`: the bytes of the block that is packed, which no result depends on.
    """
    itemsize = shape.bytes
    module = ir.Module("products")
    module.triple = machine.triple
    place = ir.GlobalVariable(module, _I64, PLACE)
    place.initializer = _I64(0)
    functions = Emitter(module, shape).functions
    row = DEPTH_BYTES + WIDE
    flat = min(DEPTH_BYTES // itemsize, MOST_ROWS * row // (shape.columns * itemsize) - shape.lanes)
    constants = {
        "WORKSPACES": WORKSPACES, "WORKSPACE": workspace, "SLOT": slot_bytes(workspace),
        "FLAG": FLAG, "S": itemsize, "ROWS": shape.rows, "COLUMNS": shape.columns,
        "LANES": shape.lanes, "REST": shape.lanes - 1,
        "LINE": shape.columns * itemsize, "DEPTH": DEPTH_BYTES // itemsize,
        "ELEMENTS": workspace // itemsize, "ROW": row, "PANEL": MOST_ROWS * row, "GROUP": GROUP,
        "STEP": STEP, "FEW": FEW * shape.rows, "LYING": LYING * shape.rows, "BLOCK": BLOCK,
        "NARROW": NARROW * shape.columns,
        "RESIDENT": RESIDENT, "HALF": shape.lanes // 2,
        "SHALLOW": SHALLOW, "SMALL": shape.rows - 2, "LARGE": LARGE,
        "TURN": TURN, "CHUNK": CHUNK, "FLAT": flat,
        "COLUMN": SIMPLE * shape.rows,
    }  # fmt: skip
    scalar = FLOAT32 if itemsize == 4 else FLOAT64
    tile = ir.FunctionType(_I64, [*[_I64] * 10, scalar.ir, scalar.ir])
    functions["tile"] = ir.Function(module, tile, tile_symbol(shape))
    strip = ir.FunctionType(_I64, [*[_I64] * 9, scalar.ir])
    for name, width in zip(("half", "one", "two"), strip_widths(shape), strict=True):
        functions[f"strip_{name}"] = ir.Function(module, strip, strip_symbol(shape, width))
    types: dict[str, Any] = {"alpha": scalar, "beta": scalar, "places": POINTERS["p_i64"]}
    for one in map(function_of, ast.parse(SOURCE.format(**constants)).body):
        names = [parameter.name for parameter in one.parameters]
        given = [types.get(name, INT64) for name in names]
        kind = ir.FunctionType(_I64, [type.ir for type in given])
        function = functions[one.name] = ir.Function(module, kind, one.name)
        function.linkage = "internal"
        translator = Translator(function, names, given, INT64)
        translator.functions |= functions
        translator.run(one.body)
    _entry(module, shape, scalar, place, functions["product"])
    parsed = parse(str(module))
    _optimise(parsed, machine)
    link(parsed, "\n".join((tiles_text(shape), strips_text(shape))))
    return emit_object(machine, parsed)


def _entry(module: Any, shape: Shape, scalar: Any, place: Any, multiply: Any) -> None:
    """The function that is called from outside: column-major matrices are transposed ones."""
    real = scalar.ir
    kinds = [_I32] * 3 + [_I64] * 3 + [real] + [_I64] * 4 + [real] + [_I64] * 2
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), symbol(shape.bytes))
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    _, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc = function.args
    flags = [
        builder.zext(builder.icmp_signed("!=", flag, _I32(CBLAS_NO_TRANS)), _I64)
        for flag in (transb, transa)
    ]
    places = builder.inttoptr(builder.load(place), _I64.as_pointer())
    given = [*flags, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc, places]
    for length in (MOST_ROWS * (DEPTH_BYTES + WIDE), shape.rows * shape.columns * shape.bytes):
        memory = builder.alloca(ir.ArrayType(ir.IntType(8), length))
        memory.align = WIDE
        given.append(builder.ptrtoint(memory, _I64))
    builder.call(multiply, given)
    builder.ret_void()


def _optimise(module: object, machine: Any) -> None:
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
