"""How an op reaches a kernel: the records that an op's declaration carries for the emitter.

They say what the emitted loop does, never how loops are made: that is `compiler.codegen`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import DType, TensorType

Index: TypeAlias = tuple[Affine, ...]


@record
class Pointwise(Record):
    """One scalar expression per element.

    `code` is a format string over the operands `{0}`, `{1}`, ..., the constructor of the result's
    dtype `{t}` and of the first operand's `{s}`, and the kind letter of that dtype `{k}` (f, i, u
    or b). The emitter wraps integer results to their width. `alone` says that the code has
    a loop of its own, so that the loop over elements is not vectorised, and computes nothing else.
    `of_dtype` gives the code where it depends on more than the constructors of the operands' dtype.
    """

    code: str
    alone: bool = False
    of_dtype: Callable[[DType], str] | None = None


@record
class IndexMap(Record):
    """The result at `index` is the operand at `map(index, operand type, result type, **attrs)`.

    `repeats` says that an element of the operand may be read for several elements of the result.
    """

    map: Callable[..., Index]
    repeats: bool = False


@record
class Gather(Record):
    """The result at an index is operand 0 at an index in which one axis comes from operand 1.

    `split(index, *types, **attrs)` gives the index into operand 1 and the index into operand 0
    with a hole at axis `attrs["axis"]`.
    """

    split: Callable[..., tuple[Index, Index]]


@record
class Scatter(Record):
    """The adjoint of a gather: operand 0 is added into zeros where operand 1 points.

    `split(index, result type, *types, **attrs)` as in `Gather`, over the axes of operand 0.
    `kind(**attrs)`, if it is given, names how elements that meet combine instead, as in `Reduce`;
    what none falls on is the value that changes nothing.
    """

    split: Callable[..., tuple[Index, Index]]
    kind: Callable[..., str] | None = None


@record
class Iota(Record):
    """The result at an index is its place in row-major order: at (i,) it is i."""


@record
class SizeValue(Record):
    """The result is a size that is known at run time: `attrs["size"]`."""


@record
class Reduce(Record):
    """A reduction over `attrs["axes"]`; `kind` names how two values combine."""

    kind: str


@record
class Window(Record):
    """Each operand is written into a window of the result; what no window covers is filled.

    `windows(types, result type, **attrs)` gives per operand the start and the step on each axis,
    `fill(**attrs)` the value of the rest, or None where the windows cover everything.
    """

    windows: Callable[..., list[tuple[tuple[Size, ...], tuple[int, ...]]]]
    fill: Callable[..., float | None]


@record
class Overlap(Record):
    """Operand 0 is added into zeros: its element at `index` at `place(index, type, **attrs)`.

    `meets(type, **attrs)` says whether two elements may meet in one place, and whether every place
    is met.
    """

    place: Callable[..., Index]
    meets: Callable[..., tuple[bool, bool]]


@record
class Alias(Record):
    """The first operand's elements in the same row-major order, maybe under another shape.

    What reads the result runs after whatever computes the other operands.
    """


@record
class Matmul(Record):
    """A product of matrices over the last two axes: a call of gemm."""


@record
class Gemm(Record):
    """`attrs["beta"]` times operand 0 plus `attrs["alpha"]` times the product of the others.

    A call of gemm, and an addition to the memory of operand 0 where nothing else needs it.
    """


@record
class Attention(Record):
    """Products with loops over rows between them, block by block of queries.

    The operands lie in row-major memory, queries, keys and values first. Of one result it is the
    value; of three, the gradients by them, of which those that nothing reads are not computed.
    """


@record
class Host(Record):
    """A step that calls the op's `evaluate` on arrays: what no loop computes, such as a sort.

    The operands lie in row-major memory; the result is copied to where the plan has it. If it is a
    tuple, so is each of its tensors that anything reads.

    `into(result, *arrays, **attrs)`, if it is given, writes the result where it belongs, or returns
    False.
    """

    into: Callable[..., bool] | None = None


@record
class Nested(Record):
    """Loops and branches: graphs of their own, which are attributes; the value is a tuple."""


@record
class Item(Record):
    """One of the tensors that a nested op, or a host step of several results, leaves in memory."""


Lowering: TypeAlias = (
    "Pointwise | IndexMap | Gather | Scatter | Iota | SizeValue | Reduce | Window | Overlap | Alias"
    " | Matmul | Gemm | Attention | Host | Nested | Item"
)

TypeRule: TypeAlias = Callable[..., TensorType]
