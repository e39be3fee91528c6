"""What a product with windows of images that lie side by side is: see `codegen.tap_products`."""

from __future__ import annotations

from staticgraph.compiler.codegen.chunks import ChunkPlan, padded
from staticgraph.compiler.codegen.margins import Axis
from staticgraph.compiler.codegen.packing import Pieces
from staticgraph.compiler.codegen.statements import Memory
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Size, floor_divide, minimum, product
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.schedule.chunks import (
    PROCESSORS,
    PRODUCT_GRAIN,
    SPARE,
    TILE,
    VECTOR,
    Chunks,
)

MOST_IMAGES = 64  # for which it is worthwhile to pack them
STEPS = 12  # of the depth, which take as long as adding a tile to the result
CALL = 24_000  # products that take as long as a call of gemm
FEW = 4  # images, of which few columns are whole vectors
PARTS = 3 * PROCESSORS  # of a sum over places, if there are channels enough: threads share them


@record
class Taps(Record):
    """The windows of images side by side: (channels, lines, columns, images) in memory.

    Attributes:
        value, base: the matrix, and what is in memory.
        down, across: where windows slide; there are `taps` and `places` of them.
        taps, places: along both axes.
        channels, images: how many there are.
        is_summed: whether the product sums over the places, and its columns are taps and channels.
        rows: those of the result.
        dtype: that of the elements.
    """

    value: int
    base: int
    down: Axis
    across: Axis
    taps: tuple[int, int]
    places: tuple[int, int]
    channels: int
    images: Size
    is_summed: bool
    rows: Size
    dtype: DType

    @property
    def slab(self) -> int:
        """How many channels are computed at a time, where places are summed over: whole tiles."""
        parts = -(-PARTS // self.taps[0])
        each = self.channels // parts // TILE[1] * TILE[1]
        return min(self.channels, max(TILE[1], each))

    @property
    def slabs(self) -> int:
        """How many times."""
        return -(-self.channels // self.slab)

    @property
    def met(self) -> list[tuple[int, int]]:
        """For each tap of a line the places that meet the image: from the first to the second."""
        return [self.across.inside(tap, self.places[1]) for tap in range(self.taps[1])]

    @property
    def joins(self) -> bool:
        """Whether places of lines one below the other meet what lies one behind the other."""
        is_dense = self.down.step == self.across.step == 1
        return is_dense and self.across.size == self.places[1]

    @property
    def least(self) -> int:
        """The images from which on no window is packed: what their products take is less."""
        lines = [self.down.inside(tap, self.places[0]) for tap in range(self.taps[0])]
        count = sum(max(0, high - low) for low, high in lines)
        each = [high - low for low, high in self.met]
        if self.across.step > 1:
            each = [1] * sum(each)
        taps, places = (one * other for one, other in (self.taps, self.places))
        rows = self.rows if isinstance(self.rows, int) else TILE[1]

        def cost(columns: int) -> float:
            """Of a product of a tap, for each row of the result."""
            if self.is_summed:
                return self.channels * (columns + STEPS) + CALL / rows
            whole = -(-columns // VECTOR) * VECTOR
            return whole * (self.channels + STEPS) + CALL / rows

        for images in range(FEW, MOST_IMAGES):
            apart = count * sum(cost(one * images) for one in each)
            if apart <= taps * cost(places * images):
                return images
        return MOST_IMAGES

    @property
    def is_few(self) -> Size:
        """1 if windows are packed, else 0."""
        return 1 - minimum(1, floor_divide(self.images, self.least))

    @property
    def extent(self) -> Size:
        """What threads share: lines of the result, or of few images rows, for all of which windows
        are packed again; where places are summed over, lines of the window and channels.
        """
        if self.is_summed:
            return self.slabs * self.taps[0]
        lines = self.places[0]
        return lines - self.is_few * max(0, lines - PROCESSORS)

    def plan(self, products: Size) -> ChunkPlan:
        """The chunks of a product of so many multiplications, and their memory."""
        chunks = Chunks(self.extent, products, 1, PRODUCT_GRAIN, SPARE * PROCESSORS)
        rows = self.slab if self.is_summed else self.channels
        room = padded(product((rows, *self.places, self.images, self.is_few)))
        memory: dict[Memory, Size] = {("packed", self.value): room}
        return ChunkPlan(chunks, (), memory, ())


def taps_of(pieces: Pieces, is_summed: bool, rows: Size) -> Taps:
    """What is known of a matrix of windows of images side by side."""
    pack, shape, (channels, lines, columns, images) = pieces.pack, pieces.shape, pieces.base
    assert isinstance(channels, int)
    down, across = (
        _axis(pack.index[1 + axis], (axis, 3 + axis), size)
        for axis, size in enumerate((lines, columns))
    )
    (high, wide), (tall, long) = (map(_known, shape[start : start + 2]) for start in (0, 3))
    taps, places = (high, wide), (tall, long)
    known = pack.value, pack.base, down, across, taps, places, channels
    return Taps(*known, images, is_summed, rows, pieces.dtype)


def _axis(form: Affine, axes: tuple[int, int], size: Size) -> Axis:
    tap, place = axes
    first, step, apart = form.constant, form.coefficient(place), form.coefficient(tap)
    return Axis(_known(first), _known(step) or 1, _known(apart), None, _known(size))


def _known(size: Size) -> int:
    assert isinstance(size, int)
    return size
