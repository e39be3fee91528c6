"""Random orders: one loop over memory, in which every step depends on those before it."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.runtime.cache.loader import load_unit
from staticgraph.compiler.runtime.trampoline import address_of

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


REACH = """
def reach(offsets: p_i64, rows: i64, count: i64) -> i64:
    most = 0
    for row in range(rows):
        start = row * count
        for i in range(count):
            most = maximum(most, i + offsets[start + i])
    return most + 1
"""
"""How many numbers there are up to the last one that is taken."""

PLACES = """
def places(order: p_i64, offsets: p_i64, table: p_i64, rows: i64, count: i64, most: i64) -> i64:
    for row in range(rows):
        start = row * count
        for i in range(most):
            table[i] = i
        for i in range(count):
            other = i + maximum(offsets[start + i], 0)
            order[start + i] = table[other]
            table[other] = table[i]
    return 0
"""
"""The beginning of Durstenfeld's shuffle of `most` numbers: each step takes one of those left."""

FEW_PLACES = """
def few_places(order: p_i64, offsets: p_i64, table: p_i64, rows: i64, count: i64, size: i64) -> i64:
    for row in range(rows):
        start = row * count
        for i in range(size):
            table[2 * i] = -1
        for i in range(count):
            other = i + maximum(offsets[start + i], 0)
            here = ((i * -7046029254386353131) >> 20) & (size - 1)
            while (table[2 * here] != i) & (table[2 * here] != -1):
                here = (here + 1) & (size - 1)
            moved = i
            if table[2 * here] == i:
                moved = table[2 * here + 1]
            there = ((other * -7046029254386353131) >> 20) & (size - 1)
            while (table[2 * there] != other) & (table[2 * there] != -1):
                there = (there + 1) & (size - 1)
            found = other
            if table[2 * there] == other:
                found = table[2 * there + 1]
            order[start + i] = found
            table[2 * there] = other
            table[2 * there + 1] = moved
    return 0
"""
"""The same of any number of numbers: a table of hashes has those that were moved, and where to."""
_DENSE = 8
"""How many times as many numbers as are taken lie in a table that has them all."""


def shuffle(words: Array) -> Array:
    """The positions along the last axis in an order that the words decide, all orders as likely."""
    words = np.ascontiguousarray(words)
    count = words.shape[-1]
    found = np.empty(words.shape, np.int64)
    if words.size:
        _kernel(SOURCE, 2)(found, words, words.size // count, count)
    return found


def places(offsets: Array) -> Array:
    """What is taken along the last axis of all numbers from 0 on, each so far behind the first.

    The first of those that are left takes the place of the one that is taken.
    """
    offsets = np.ascontiguousarray(offsets)
    count = offsets.shape[-1]
    found = np.empty(offsets.shape, np.int64)
    if offsets.size:
        rows = offsets.size // count
        most = max(_kernel(REACH, 1)(offsets, rows, count), count)
        if most <= _DENSE * count:
            _kernel(PLACES, 3)(found, offsets, np.empty(most, np.int64), rows, count, most)
        else:
            size = 1 << (2 * count).bit_length()
            table = np.empty(2 * size, np.int64)
            _kernel(FEW_PLACES, 3)(found, offsets, table, rows, count, size)
    return found


@cache
def _kernel(source: str, arrays: int) -> Callable[..., int]:
    """What runs a function of so many arrays, and numbers behind them, and gives its result."""
    parsed = parsed_function(source)
    loaded, numbers = load_unit(parsed, source), len(parsed.parameters) - arrays
    step = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)(
        loaded.addresses[0]
    )
    operands = array("q", [word for i in range(arrays + numbers) for word in (i, 0)])
    at = operands.buffer_info()[0]

    def run(*given: Any) -> int:
        words = array("q", [*map(address_of, given[:arrays]), *given[arrays:]])
        found: int = step(words.buffer_info()[0], at, 0, 0, 0)
        return found

    run.__dict__["keeps"] = loaded.owner, operands
    return run
