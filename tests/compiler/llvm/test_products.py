"""The machine code that multiplies matrices, for this and other processors, against NumPy."""

from __future__ import annotations

import ctypes
import itertools
import platform
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from staticgraph.compiler.llvm.c_library import C_LIBRARY
from staticgraph.compiler.llvm.machine import target_machine
from staticgraph.compiler.llvm.products import driver, workspaces
from staticgraph.compiler.runtime.cache import objects
from staticgraph.compiler.runtime.cache.store import Code
from tests.fences import fenced, placed
from tests.processors import machine_for

RNG = np.random.default_rng(0)
REALS: dict[str, Any] = {"float32": ctypes.c_float, "float64": ctypes.c_double}
WORKSPACE = 1 << 16  # bytes: several blocks, even of small products
# the processor, a feature that it must have, bytes of its vectors, whether it has 32 registers
PROCESSORS = {
    "x86-64": ("sse2", 16, False),
    "haswell": ("avx2", 32, False),
}
HERE = [cpu for cpu, (one, *_) in PROCESSORS.items() if llvm.get_host_cpu_features().get(one)]
SIZES = [
    (2, 2, 1), (3, 17, 5), (11, 16, 7), (12, 32, 33), (13, 33, 2), (25, 31, 300), (40, 70, 16),
    (97, 15, 600), (61, 97, 350), (130, 300, 33), (200, 65, 40), (210, 1, 7), (1, 210, 7),
    (60, 3, 4), (26, 7, 40), (33, 12, 2), (14, 50, 9), (50, 36, 3), (20, 90, 31), (9, 3000, 5),
    (12, 31, 134), (12, 15, 142), (35, 30, 292), (36, 32, 134), (37, 16, 20),
]  # fmt: skip


class Gemm:
    """The code for a dtype and a processor; `here`: for this one."""

    def __init__(self, dtype: str, cpu: str = "here") -> None:
        itemsize = np.dtype(dtype).itemsize
        machine, shape = target_machine(), driver.shape_of(itemsize)
        if cpu != "here":
            machine = llvm.Target.from_default_triple().create_target_machine(
                cpu=cpu, opt=2, codemodel="jitdefault", jit=True
            )
            shape = driver.shape(itemsize, *PROCESSORS[cpu][1:])
        symbols = driver.symbol(itemsize), driver.PLACE
        code = driver.products_object(shape, WORKSPACE, machine)
        self.loaded = objects.load_object(Code(symbols, code))
        address, place = self.loaded.addresses
        self.memory = np.empty(
            workspaces.WORKSPACES * workspaces.slot_bytes(WORKSPACE) + 64, np.uint8
        )
        self.words = np.zeros((workspaces.WORKSPACES + 1) * workspaces.FLAG, np.int64)
        self.words[0] = self.memory.ctypes.data + -self.memory.ctypes.data % 64
        ctypes.c_int64.from_address(place).value = self.words.ctypes.data
        real, flag, size = REALS[dtype], ctypes.c_int, ctypes.c_int64
        kinds = [flag] * 3 + [size] * 3 + [real, size, size, size, size, real, size, size]
        self.call = ctypes.CFUNCTYPE(None, *kinds)(address)

    def __call__(self, a: Any, b: Any, c: Any, beta: float = 0) -> None:
        """c = a @ b + beta * c; a and b are row-major, or transposed such arrays."""
        (m, k), n = a.shape, b.shape[1]
        turned = [not one.flags.c_contiguous for one in (b, a)]
        leading = [max(one.shape[1 - turn], 1) for one, turn in zip((b, a), turned, strict=True)]
        self.call(
            102, *(111 + flag for flag in turned), n, m, k, 1, b.ctypes.data, leading[0],
            a.ctypes.data, leading[1], beta, c.ctypes.data, c.strides[0] // c.itemsize,
        )  # fmt: skip


@pytest.fixture(scope="module", params=REALS)
def gemm(request: pytest.FixtureRequest) -> tuple[str, Gemm]:
    """The code of this machine."""
    return request.param, Gemm(request.param)


def whole_numbers(shape: tuple[int, int], dtype: str, transposed: bool) -> Any:
    """Integers, with which products are exact."""
    if transposed:
        return whole_numbers(shape[::-1], dtype, False).T
    return RNG.integers(-8, 9, shape).astype(dtype)


def check(gemm: Gemm, dtype: str) -> None:
    """All transpositions and sizes; what is beside the result stays as it was."""
    for (m, n, k), *turned in itertools.product(SIZES, (False, True), (False, True)):
        a = whole_numbers((m, k), dtype, turned[0])
        b = whole_numbers((k, n), dtype, turned[1])
        for beta in (0, 1):
            memory = np.full((m, n + 3), 7, dtype)
            c = memory[:, :n]
            if beta == 0:
                c[...] = np.nan
            gemm(a, b, c, beta)
            assert_array_equal(c, a @ b + 7 * beta)
            assert np.all(memory[:, n:] == 7)


@pytest.mark.slow
def test_each_transposition_and_sizes_that_are_no_whole_tiles(gemm: tuple[str, Gemm]) -> None:
    dtype, multiply = gemm
    check(multiply, dtype)
    assert not multiply.words[workspaces.FLAG :].any()  # no workspace is left taken


@pytest.mark.slow
@pytest.mark.parametrize("cpu", HERE)
def test_other_processors(cpu: str) -> None:
    check(Gemm("float32", cpu), "float32")


@pytest.mark.slow
def test_code_for_other_machines_needs_nothing_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    shape = driver.shape(4, 16, many=True)
    code = driver.products_object(shape, WORKSPACE, machine_for("aarch64", "generic"))
    defined, needed = objects.symbols_of(code)
    assert {driver.symbol(4), driver.PLACE} <= defined
    assert needed <= C_LIBRARY


def test_nan_and_inf_are_where_ieee_754_says(gemm: tuple[str, Gemm]) -> None:
    """Also beside the edges, where tiles are padded with zeros."""
    dtype, multiply = gemm
    for turned in itertools.product((False, True), repeat=2):
        a = whole_numbers((37, 50), dtype, turned[0])
        b = whole_numbers((50, 41), dtype, turned[1])
        a[36, 49], a[3, 7], b[49, 40], b[0, 5] = np.nan, np.inf, -np.inf, np.nan
        b[7, :9] = 0
        c = np.empty((37, 41), dtype)
        multiply(a, b, c)
        with np.errstate(invalid="ignore"):
            assert_array_equal(c, (a[:, :, None] * b[None]).sum(1))


@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_is_touched_beside_an_operand_or_the_result(
    gemm: tuple[str, Gemm], at_end: bool
) -> None:
    """Each lies where memory ends or begins, whole or as columns of a wider matrix."""
    dtype, multiply = gemm
    itemsize = np.dtype(dtype).itemsize
    with fenced(1 << 20) as one, fenced(1 << 20) as other, fenced(1 << 20) as result:
        for (m, n, k), *turned in itertools.product(SIZES, (False, True), (False, True)):
            a, b = np.empty((m, k), dtype), np.empty((k, n), dtype)
            a, b = (np.asfortranarray(x) if t else x for x, t in zip((a, b), turned, strict=True))
            a, b, c = (
                placed(memory, array, at_end)
                for memory, array in ((one, a), (other, b), (result, np.empty((m, n), dtype)))
            )
            a[...], b[...] = (RNG.integers(-8, 9, x.shape) for x in (a, b))
            assert c.strides == (n * itemsize, itemsize)
            multiply(a, b, c)
            assert_array_equal(c, a @ b)


@pytest.mark.parametrize(
    "k", [1, 3, 383, 384, 385, 768, 5000, pytest.param(30_003, marks=pytest.mark.long)]
)
def test_each_element_is_within_the_bound_of_its_sum(gemm: tuple[str, Gemm], k: int) -> None:
    """|found - exact| <= gamma_k |a| |b| (Higham, "Accuracy and Stability", 3.5)."""
    dtype, multiply = gemm
    m, n = 13, 33
    wider = "float64" if dtype == "float32" else "longdouble"
    unit = np.finfo(dtype).eps / 2
    for turned in itertools.product((False, True), repeat=2):
        a, b = (
            RNG.standard_normal(s[::-1] if t else s).astype(dtype)
            for s, t in zip(((m, k), (k, n)), turned, strict=True)
        )
        a, b = (x.T if t else x for x, t in zip((a, b), turned, strict=True))
        c = np.empty((m, n), dtype)
        multiply(a, b, c)
        a, b = a.astype(wider), b.astype(wider)
        bound = k * unit / (1 - k * unit) * (abs(a) @ abs(b))
        assert np.all(abs(c - a @ b) <= bound)


def test_an_element_has_the_same_bits_in_every_part_of_a_product(gemm: tuple[str, Gemm]) -> None:
    """The operands are packed or not, and tiles whole or not, by the sizes of the part."""
    dtype, multiply = gemm
    parts = (
        ((0, 2), (0, 140)), ((5, 150), (3, 20)), ((11, 42), (50, 139)),
        ((3, 12), (50, 66)), ((20, 50), (7, 12)),  # few tiles
    )  # fmt: skip
    for k in (900, 90, 20):
        a, b = (RNG.standard_normal(size).astype(dtype) for size in ((150, k), (k, 140)))
        whole = np.empty((150, 140), dtype)
        multiply(a, b, whole)
        for rows, columns in parts:
            part = np.empty((rows[1] - rows[0], columns[1] - columns[0]), dtype)
            one, other = a[slice(*rows)], np.ascontiguousarray(b[:, slice(*columns)])
            for left in (one, np.asfortranarray(one)):
                for right in (other, np.asfortranarray(other)):
                    multiply(left, right, part)
                    assert_array_equal(part, whole[slice(*rows), slice(*columns)])


def test_threads_wait_for_a_workspace(gemm: tuple[str, Gemm]) -> None:
    dtype, multiply = gemm
    flags = multiply.words[workspaces.FLAG :: workspaces.FLAG]
    flags[1:] = 1  # all but one are taken
    try:
        a, b = (whole_numbers((130, 130), dtype, False) for _ in range(2))
        results = [np.empty((130, 130), dtype) for _ in range(8)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda c: multiply(a, b, c), results))
    finally:
        flags[:] = 0
    for one in results:
        assert_array_equal(one, a @ b)


def test_a_product_of_few_tiles_needs_no_workspace(gemm: tuple[str, Gemm]) -> None:
    dtype, multiply = gemm
    flags = multiply.words[workspaces.FLAG :: workspaces.FLAG]
    a, b, c = (whole_numbers(size, dtype, False) for size in ((14, 8), (8, 3), (14, 3)))
    with ThreadPoolExecutor(1) as pool:
        flags[:] = 1  # all are taken
        try:
            pool.submit(multiply, a, b, c).result(timeout=60)
        finally:
            flags[:] = 0
    assert_array_equal(c, a @ b)
