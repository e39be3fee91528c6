"""The operands of matrix products: views of memory for gemm, or packed piece by piece.

The windows of a convolution, written out as a matrix (im2col), take as many times the memory of the
image as a window has places. A product packs them for a few images at a time, and again where
another product needs them; so they stay in the cache, and are never kept.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.lowering import Alias, IndexMap, Matmul
from staticgraph.compiler.core.types import Shape
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.schedule.access import (
    canonical,
    contiguous_strides,
    is_free,
    offset_of,
    reach,
)
from staticgraph.compiler.schedule.groups import Pack, View, blas_layout

ADDED = 2
"""Products that take as long as adding one to a result: reading and writing that."""
MOST_TAPS = 16
"""Places of a line of a window between margins: each has loops of its own."""
BLAS_DTYPES = ("float32", "float64")
"""The dtypes that gemm has."""
TURNED = 24
"""Products that take as long as writing an element elsewhere, with others beside it."""


def matrix_view(nodes: Mapping[int, Node], stored: Container[int], node_id: int) -> View | None:
    """The operand of a product as a strided view of memory that gemm can read."""
    shape = nodes[node_id].type.shape
    if node_id in stored:
        return View(node_id, 0, contiguous_strides(shape))
    found = list(reach(nodes, (), node_id, canonical(shape)))
    if len(found) != 1:
        return None
    base, index = found[0]
    if is_free(nodes[base]):
        return None
    offset = offset_of(index, contiguous_strides(nodes[base].type.shape))
    if offset.dynamic:
        return None
    strides = tuple(offset.coefficient(axis) if size != 1 else 0 for axis, size in enumerate(shape))
    view = View(base, offset.constant, strides)
    return view if blas_layout(view.strides[-2:], shape[-2:]) is not None else None


def pack_of(
    nodes: Mapping[int, Node], consumers: Mapping[int, Sequence[int]], alias: Node
) -> Pack | None:
    """How a matrix of windows is packed piece by piece; None if it is something else.

    It is a reshape of windows, of which only products are made, as their right operand, maybe
    turned, or as their left one.
    """
    source = nodes[alias.operands[0]]
    if not _repeats(nodes, source) or not is_float(alias.type.dtype):
        return None
    if not _is_factor(nodes, consumers, alias):
        return None
    found = list(reach(nodes, (), source.id, canonical(source.type.shape)))
    if len(found) != 1 or is_free(nodes[found[0][0]]):
        return None
    base, index = found[0]
    rows, columns = alias.type.shape[-2:]
    shape = source.type.shape
    matrices = product(alias.type.shape[:-2])
    lead = 0 if matrices == 1 else 1
    if lead and shape[0] != matrices:
        return None
    for split in reversed(range(lead + 1, len(shape))):  # axes of size 1 belong to the rows
        if product(shape[lead:split]) == rows and product(shape[split:]) == columns:
            if not all(isinstance(size, int) for size in shape[:split]):
                return None
            return Pack(alias.id, source.id, base, index, split, lead)
    return None


def between_margins(nodes: Mapping[int, Node], pack: Pack) -> Pack | None:
    """The same of what an `embed` puts between zeros, which need not be written out: windows that
    slide along its last two axes; None if it is something else.
    """
    node, shape = nodes[pack.base], nodes[pack.source].type.shape
    if node.op.name != "embed" or node.attrs["value"] != 0 or set(node.attrs["steps"]) != {1}:
        return None
    starts, operand = node.attrs["starts"], node.operands[0]
    found = list(reach(nodes, (), operand, canonical(nodes[operand].type.shape)))
    if [base for base, _ in found] != [operand] or is_free(nodes[operand]):
        return None
    here = nodes[operand].type.shape
    if here[:-2] != node.type.shape[:-2] or len(shape) != pack.split + 3:
        return None
    if not all(isinstance(size, int) for size in (*here[-2:], *shape[-2:], *starts[-2:])):
        return None
    index = (
        *pack.index[:-2],
        *(form + -start for form, start in zip(pack.index[-2:], starts[-2:], strict=True)),
    )
    places = [_slides(form, pack, len(shape) - 2 + i) for i, form in enumerate(index[-2:])]
    if not all(places) or not _is_short(shape, _taps(index[-1], pack)):
        return None
    return replace(pack, base=operand, index=index, margins=True)


def unwritten_pack(
    nodes: Mapping[int, Node], consumers: Mapping[int, Sequence[int]], pack: Pack
) -> Pack | None:
    """The same of windows of what is between zeros, without these; None if they are needed."""
    return between_margins(nodes, pack) or side_by_side(nodes, consumers, pack, True)


def side_by_side(
    nodes: Mapping[int, Node], consumers: Mapping[int, Sequence[int]], pack: Pack, unwritten: bool
) -> Pack | None:
    """The same of images that lie side by side: channels, lines and columns come first, and windows
    slide along the last two of these; None if it is something else.

    The rows are the lines of a window, its columns and the channels, the columns are lines, columns
    and images, and the matrix is only a right operand. What puts the images between zeros is looked
    through if it is `unwritten`.
    """
    base, index = pack.base, pack.index
    *sizes, _ = shape = nodes[pack.source].type.shape
    form = (len(shape), pack.split, pack.lead, len(index))
    dtype = nodes[base].type.dtype.name
    if form != (6, 3, 0, 4) or dtype not in BLAS_DTYPES or not _all_known(sizes):
        return None
    if not _is_right(nodes, consumers, nodes[pack.value]):
        return None
    if unwritten:
        node = nodes[base]
        (base,) = node.operands
        starts, here = node.attrs["starts"], nodes[base].type.shape
        if node.attrs["value"] != 0 or set(node.attrs["steps"]) != {1} or len(here) != 4:
            return None
        if any(starts[axis] != 0 or here[axis] != node.type.shape[axis] for axis in (0, 3)):
            return None
        found = [one for one, _ in reach(nodes, (), base, canonical(here))]
        if found != [base] or is_free(nodes[base]):
            return None
        index = tuple(one + -start for one, start in zip(index, starts, strict=True))
    _, lines, columns, _ = nodes[base].type.shape
    if not _all_known((lines, columns)):
        return None
    channel, down, across, image = index
    whole = canonical(shape)
    if (channel, image) != (whole[2], whole[5]):
        return None
    if not _moves_along(down, 0, 3) or not _moves_along(across, 1, 4):
        return None
    return replace(pack, base=base, index=index, beside=True)


def _all_known(sizes: Sequence[Size]) -> bool:
    return all(isinstance(size, int) and size > 0 for size in sizes)


def _moves_along(form: Affine, tap: int, place: int) -> bool:
    """Whether an index is that of a place, with which it grows, and of one in the window."""
    steps = [form.constant, *(step for _, step in form.terms)]
    axes = {axis for axis, _ in form.terms}
    known = all(isinstance(one, int) for one in steps) and not form.dynamic
    return known and axes <= {tap, place} and form.coefficient(place) >= 0


def _is_right(
    nodes: Mapping[int, Node], consumers: Mapping[int, Sequence[int]], node: Node
) -> bool:
    """Whether a matrix, maybe turned, is only the right operand of products."""
    return all(
        reader.operands[1] == node.id
        if isinstance(reader.op.lowering, Matmul)
        else _is_right(nodes, consumers, reader)
        for reader in map(nodes.__getitem__, consumers[node.id])
    )


def _is_short(shape: Shape, taps: Sequence[int]) -> bool:
    """Whether a line of a window has few places."""
    size = product([shape[axis] for axis in taps])
    return isinstance(size, int) and size <= MOST_TAPS


def _taps(form: Affine, pack: Pack) -> list[int]:
    """The axes of the rows that move an index."""
    return [axis for axis in range(pack.lead, pack.split) if form.coefficient(axis)]


def _slides(form: Affine, pack: Pack, place: int) -> bool:
    """Whether an index is that of a place and of one in the window, and grows with both."""
    numbers = (form.constant, *(step for _, step in form.terms))
    axes = {axis for axis, _ in form.terms}
    return (
        all(isinstance(one, int) for one in numbers)
        and all(step > 0 for _, step in form.terms)
        and len(_taps(form, pack)) <= 1
        and axes <= {place, *_taps(form, pack)}
        and not form.dynamic
    )


def unwritten(
    nodes: Mapping[int, Node], consumers: Mapping[int, Sequence[int]], roots: Container[int]
) -> set[int]:
    """The nodes that put an image between zeros, of which only windows are read, and those packed:
    they are never written out.
    """
    return {
        node.id
        for node in nodes.values()
        if node.op.name == "embed" and _is_packed(nodes, consumers, roots, node, node)
    }


def _is_packed(
    nodes: Mapping[int, Node],
    consumers: Mapping[int, Sequence[int]],
    roots: Container[int],
    node: Node,
    read: Node,
) -> bool:
    if read.id in roots or not consumers[read.id]:
        return False
    for reader in map(nodes.__getitem__, consumers[read.id]):
        if isinstance(reader.op.lowering, IndexMap):
            if not _is_packed(nodes, consumers, roots, node, reader):
                return False
        elif not is_reshape(reader) or reader.id in roots:
            return False
        else:
            pack = pack_of(nodes, consumers, reader)
            if pack is None or unwritten_pack(nodes, consumers, pack) is None:
                return False
    return True


def by_piece(
    nodes: Mapping[int, Node], consumers: Mapping[int, Sequence[int]], roots: Container[int]
) -> dict[int, tuple[int, int]]:
    """The nodes that put the columns of a product with windows piece by piece, such as by image.

    Each is the transpose of a reshape of the product: (matrices, rows, pieces * others) as (all
    rows, pieces, ...) as (pieces, all rows, ...). Of each, the product and the reshape, which
    nothing else reads: it may be computed at once.
    """
    found = {}
    for node in nodes.values():
        if node.op.name != "transpose" or node.attrs["axes"] != (1, 0, 2, 3):
            continue
        split = nodes[node.operands[0]]
        if not is_reshape(split) or not isinstance(split.type.shape[0], int):
            continue
        whole = nodes[split.operands[0]]
        alone = consumers[split.id] == [node.id] and consumers[whole.id] == [split.id]
        if not alone or not isinstance(whole.op.lowering, Matmul):
            continue
        alias = nodes[whole.operands[1]]
        kept = any(one.id in roots for one in (split, whole, alias))
        if kept or not is_reshape(alias):
            continue
        pack = pack_of(nodes, consumers, alias)
        if pack is None:
            continue
        pieces, *others = nodes[pack.source].type.shape[pack.split :]
        _, count, *inside = split.type.shape
        if count == pieces and product(inside) == product(others):
            found[node.id] = whole.id, split.id
    return found


def pieces_view(
    nodes: Mapping[int, Node],
    consumers: Mapping[int, Sequence[int]],
    stored: Container[int],
    alias: Node,
) -> tuple[View, Size] | None:
    """A matrix that lies piece by piece in memory, and only meets windows on the left: the view of
    one piece, and how far they are apart; None if it is something else.

    Such is the cotangent of a result, image by image, whose places are the rows: each image is a
    matrix that is stored transposed. Products of pieces are added, so of few rows it is not.
    """
    source = nodes[alias.operands[0]]
    packs = _packs_met(nodes, consumers, stored, alias)
    found = list(reach(nodes, (), source.id, canonical(source.type.shape)))
    if not packs or len(found) != 1 or is_free(nodes[found[0][0]]):
        return None
    (base, index), lead, shape = found[0], packs[0].lead, source.type.shape
    if any(
        (pack.lead, nodes[pack.source].type.shape[pack.split :]) != (lead, shape[lead:-1])
        for pack in packs
    ):
        return None
    offset = offset_of(index, contiguous_strides(nodes[base].type.shape))
    rows = product(shape[lead + 1 : -1])
    depths = [nodes[pack.value].type.shape[-2] for pack in packs]
    deep = max(depth for depth in depths if isinstance(depth, int))
    if offset.dynamic or not isinstance(rows, int) or rows < 2 or deep * ADDED > TURNED * rows:
        return None
    steps = [offset.coefficient(axis) for axis in range(len(shape))]
    between = len(alias.type.shape) - 2 - lead
    inside = zip(shape[lead + 1 : -1], steps[lead + 1 :], strict=False)
    in_order = contiguous_strides(shape[lead + 1 : -1])
    if (lead and between) or any(
        size != 1 and step != one for (size, step), one in zip(inside, in_order, strict=True)
    ):
        return None
    strides = (*(0,) * between, *steps[:lead], 1, steps[-1])
    if blas_layout(strides[-2:], (rows, shape[-1])) != (True, steps[-1]):
        return None
    return View(base, offset.constant, strides), steps[lead]


def _packs_met(
    nodes: Mapping[int, Node],
    consumers: Mapping[int, Sequence[int]],
    stored: Container[int],
    alias: Node,
) -> list[Pack]:
    """The windows on the left that a matrix meets; none if it meets anything else."""
    packs = []
    for reader in map(nodes.__getitem__, consumers[alias.id]):
        if not isinstance(reader.op.lowering, Matmul) or reader.operands[-1] != alias.id:
            return []
        left = nodes[reader.operands[-2]]
        pack = pack_of(nodes, consumers, left) if is_reshape(left) else None
        if pack is None or left.id in stored:
            return []
        packs.append(pack)
    return packs


def is_turned(nodes: Mapping[int, Node], operand: int, pack: Pack) -> bool:
    """Whether the columns of a packed matrix are the rows of the operand that it is read as."""
    shape = nodes[operand].type.shape
    ((value, index),) = reach(nodes, (), operand, canonical(shape))
    assert value == pack.value
    rows, columns = index[-2:]
    across, down = canonical(shape)[-1], canonical(shape)[-2]
    # an axis of size 1 has no loop, by which it could be told
    return (columns == down != Affine()) or (rows == across != Affine())


def is_transposed(nodes: Mapping[int, Node], operand: int, view: View) -> bool:
    """Whether a view of an operand is one of a matrix that is stored transposed."""
    layout = blas_layout(view.strides[-2:], nodes[operand].type.shape[-2:])
    return layout is not None and layout[0]


def _repeats(nodes: Mapping[int, Node], node: Node) -> bool:
    """Whether elements are read several times on the way to what a node moves."""
    while isinstance(node.op.lowering, IndexMap):
        if node.op.lowering.repeats:
            return True
        node = nodes[node.operands[0]]
    return False


def _is_factor(
    nodes: Mapping[int, Node],
    consumers: Mapping[int, Sequence[int]],
    node: Node,
    turned: bool = False,
) -> bool:
    """Whether all that is done with a matrix is to multiply it, maybe turned, with another one.

    Several of them, such as those of groups, are multiplied with as many, and never turned.
    """
    several = tuple(size for size in node.type.shape[:-2] if size != 1)
    if not consumers[node.id] or len(several) > 1 or (several and turned):
        return False
    return all(
        _multiplies(nodes, consumers, nodes[reader], node, turned) for reader in consumers[node.id]
    )


def _multiplies(
    nodes: Mapping[int, Node],
    consumers: Mapping[int, Sequence[int]],
    reader: Node,
    node: Node,
    turned: bool,
) -> bool:
    if reader.op.name == "transpose":
        return _is_factor(nodes, consumers, reader, True)
    if not isinstance(reader.op.lowering, Matmul):
        return False
    left, right = reader.operands
    other = nodes[left if right == node.id else right]
    batches = (one.type.shape[:-2] for one in (other, node))
    if len({tuple(size for size in batch if size != 1) for batch in batches}) > 1:
        return False
    if left != node.id:
        return True
    return left != right and not turned and not _is_of_windows(nodes, nodes[right])


def _is_of_windows(nodes: Mapping[int, Node], node: Node) -> bool:
    """Whether a matrix may be packed itself."""
    while isinstance(node.op.lowering, IndexMap | Alias):
        if _repeats(nodes, node):
            return True
        node = nodes[node.operands[0]]
    return False


def is_reshape(node: Node) -> bool:
    """Whether a node only gives its operand another shape."""
    return isinstance(node.op.lowering, Alias) and len(node.operands) == 1
