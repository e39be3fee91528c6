"""Random orders: one loop over memory, in which every step depends on those before it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.runtime.cache.loader import load_unit

SOURCE = """
def shuffle(order: p_i64, words: p_i64, rows: i64, count: i64) -> i64:
    for row in range(rows):
        start = row * count
        for i in range(count):
            word = words[start + i]
            span = i + 1
            low = ((word & 4294967295) * span) >> 32
            other = (((word >> 32) & 4294967295) * span + low) >> 32
            order[start + i] = order[start + other]
            order[start + other] = i
    return 0
"""
"""Durstenfeld's shuffle, of the numbers as they come (ACM Algorithm 235, 1964); `other` is the high
part of the product of 64 random bits and the count so far, at most 2**31."""


def shuffle(words: Array) -> Array:
    """The positions along the last axis in an order that the words decide, all orders as likely."""
    words = np.ascontiguousarray(words)
    count = words.shape[-1]
    found = np.empty(words.shape, np.int64)
    if words.size:
        _kernel()(found, words, words.size // count, count)
    return found


@cache
def _kernel() -> Callable[[Array, Array, int, int], None]:
    loaded = load_unit(parsed_function(SOURCE), SOURCE)
    step = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)(
        loaded.addresses[0]
    )
    operands = np.array([0, 0, 1, 0, 2, 0, 3, 0], np.int64)

    def run(order: Array, words: Array, rows: int, count: int) -> None:
        table = np.array([order.ctypes.data, words.ctypes.data, rows, count], np.int64)
        step(table.ctypes.data, operands.ctypes.data, 0, 0, 0)

    run.__dict__["owner"] = loaded.owner
    return run
