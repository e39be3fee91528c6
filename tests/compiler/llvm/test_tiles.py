"""Products in tiles: every size around those of a tile, either memory order, added or not."""

from __future__ import annotations

import ctypes
import platform
from itertools import product
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from compiler.codegen.bytecode import TILES
from compiler.llvm.machine import Vectors
from compiler.llvm.tiles import tiles_object
from compiler.runtime.cache.loader import tiles_address
from compiler.runtime.cache.objects import load_object, symbols_of
from compiler.runtime.cache.store import Code
from tests.processors import machine_for

OTHERS = {"x86-64": Vectors(16, 16, False), "haswell": Vectors(32, 16, True)}
IS_X86 = platform.machine() in ("x86_64", "AMD64")
RUNNABLE = [
    cpu
    for cpu, feature in (("x86-64", "sse2"), ("haswell", "avx2"))
    if IS_X86 and llvm.get_host_cpu_features().get(feature)
]
SIZES = [
    (1, 1, 1), (8, 48, 5), (9, 47, 7), (4, 16, 3), (13, 17, 9), (17, 100, 64), (3, 33, 2),
    (5, 5, 0), (0, 3, 2), (2, 0, 4),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiles_are_the_product_and_write_nothing_else(dtype: str) -> None:
    check(tiles_address(TILES[dtype]), dtype)


@pytest.mark.parametrize("cpu", RUNNABLE)
def test_tiles_of_old_processors(cpu: str) -> None:
    code = tiles_object(TILES["float32"], machine_for("x86_64", cpu), OTHERS[cpu])
    loaded = load_object(Code((TILES["float32"],), code))
    check(loaded.addresses[0], "float32")


def test_tiles_of_another_kind_of_processor_need_nothing() -> None:
    machine = machine_for("aarch64", "generic")
    code = tiles_object(TILES["float64"], machine, Vectors(16, 32, True))
    assert symbols_of(code) == ({TILES["float64"]}, set())


def check(address: int, dtype: str) -> None:
    """All sizes."""
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 11)(address)
    rng = np.random.default_rng(0)
    beyond = 3  # elements between the rows of matrices
    for (m, n, k), turned, adds in product(SIZES, (0, 1), (0, 1)):
        a = rng.standard_normal((k, m) if turned else (m, k)).astype(dtype)
        b = rng.standard_normal((k, n + beyond)).astype(dtype)
        c: Any = np.full((m, n + beyond), 7.0 if adds else np.nan, dtype)
        expected = c.copy()
        exact = (a.T if turned else a).astype("float64") @ b[:, :n]
        expected[:, :n] = exact + 7 * adds
        addresses = (one.ctypes.data for one in (a, b, c))
        at_a, at_b, at_c = addresses
        call(turned, m, n, k, at_a, a.shape[1], at_b, n + beyond, adds, at_c, n + beyond)
        bound = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(c, expected, rtol=bound, atol=bound * np.sqrt(k + 1))
