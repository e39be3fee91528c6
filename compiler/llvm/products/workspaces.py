"""The memory in which products pack their operands: how much there is, and how it is taken."""

from __future__ import annotations

WORKSPACES = 64  # products that are computed at a time, at most: others wait
FLAG = 8  # words from the flag of one workspace to that of the next: a line of the cache
WIDE = 64  # bytes of the widest vectors, and of a line of the cache
BLOCK = 3 << 18  # bytes of the right operand, packed at a time, for which the left one is read once
DEPTH_BYTES = 1536  # of a row, summed at a time: a dozen rows stay in the first cache
MOST_ROWS = 12  # of a tile
GROUP = 8  # tiles whose rows are copied together from a transposed operand: whole lines of memory


def slot_bytes(workspace: int) -> int:
    """The memory of one product: the packed block, and a group of rows."""
    return workspace + GROUP * MOST_ROWS * (DEPTH_BYTES + WIDE)
