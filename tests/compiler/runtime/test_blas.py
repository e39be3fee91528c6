"""Every backend's gemm, through the intrinsics, against numpy.matmul. Small integers: exact."""

import ctypes
import dataclasses
import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.llvm.with_numba import names
from staticgraph.compiler.reference import blas_library
from staticgraph.compiler.runtime import blas
from staticgraph.compiler.runtime.blas import (
    BACKENDS,
    find_blas,
    get_threads,
    limit_threads,
    set_threads,
)

DTYPES = ("float32", "float64")
FLAGS = list(itertools.product((0, 1), (0, 1)))
SIZES = [(1, 1, 1), (3, 4, 5), (8, 8, 8), (1, 7, 5), (7, 1, 5), (1, 1, 9), (6, 5, 1), (33, 65, 130)]
ZERO_SIZES = [
    (0, 4, 5),
    (4, 0, 5),
    (4, 5, 0),
    (1, 5, 0),
    (5, 1, 0),
    (0, 0, 0),
    (0, 1, 3),
    (1, 0, 3),
]


gemm_f32, gemm_f64 = names()["gemm_f32"], names()["gemm_f64"]


@njit(nogil=True)
def run_f32(address, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    gemm_f32(address, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)


@njit(nogil=True)
def run_f64(address, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    gemm_f64(address, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)


RUN = {"float32": run_f32, "float64": run_f64}


def matrix(rng, rows, columns, padding, dtype):
    """A matrix of small integers in memory whose rows are `padding` elements further apart."""
    memory = rng.integers(-8, 9, (rows, columns + padding)).astype(dtype)
    return memory, memory[:, :columns]


def cblas32_with_python():
    """A BLAS that is called as cblas with 32-bit integers, made from the callback."""
    gemms, gemvs = {}, {}
    for dtype in DTYPES:
        wide = blas._matmul_callback(dtype)

        def gemm(*arguments, wide=wide):
            wide(*arguments)

        def gemv(order, trans, rows, columns, alpha, a, lda, x, incx, beta, y, incy, wide=wide):
            plain = blas.CBLAS_NO_TRANS
            length, k = (rows, columns) if trans == plain else (columns, rows)
            flag = plain + 1 if trans == plain else plain
            wide(order, plain, flag, 1, length, k, alpha, x, incx, a, lda, beta, y, incy)

        gemms[dtype] = blas._cblas_type(blas.CBLAS32, blas.GEMM, dtype)(gemm)
        gemvs[dtype] = blas._cblas_type(blas.CBLAS32, blas.GEMV, dtype)(gemv)
    found = blas._accept(
        "cblas32",
        blas.CBLAS32,
        {dtype: blas.address_of(function) for dtype, function in gemms.items()},
        {dtype: blas.address_of(function) for dtype, function in gemvs.items()},
        (lambda _count: None, lambda: 0),
    )
    return found, (gemms, gemvs)


@pytest.fixture(scope="module", params=[*BACKENDS, "cblas32"])
def backend(request):
    if request.param != "cblas32":
        yield find_blas(request.param)
        return
    found, callbacks = cblas32_with_python()
    yield found
    del callbacks


def check(backend, dtype, flags, sizes, alpha, beta, padding=0, start=None):
    """Compare with numpy.matmul, and see that the padding of c stays as it was."""
    rng = np.random.default_rng(sum(sizes))
    (transa, transb), (m, n, k) = flags, sizes
    a_memory, a = matrix(rng, *((k, m) if transa else (m, k)), padding, dtype)
    b_memory, b = matrix(rng, *((n, k) if transb else (k, n)), 2 * padding, dtype)
    c_memory, c = matrix(rng, m, n, 3 * padding, dtype)
    if start is not None:
        c[...] = start
    product = np.matmul(a.T if transa else a, b.T if transb else b)
    expected = c_memory.copy()
    expected[:, :n] = alpha * product + (beta * c if beta else 0)
    RUN[dtype](
        backend.gemm[dtype], transa, transb, m, n, k, alpha,
        a_memory.ctypes.data, a_memory.shape[1], b_memory.ctypes.data, b_memory.shape[1],
        beta, c_memory.ctypes.data, c_memory.shape[1],
    )  # fmt: skip
    np.testing.assert_array_equal(c_memory, expected)


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gemm_with_each_transposition_and_leading_dimension(backend, dtype, flags):
    factors = [(1.0, 0.0), (2.0, -0.5), (-1.0, 1.0)]
    for sizes, padding, (alpha, beta) in itertools.product(SIZES, (0, 3), factors):
        check(backend, dtype, flags, sizes, alpha, beta, padding)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gemm_of_zero_sizes(backend, dtype):
    every = itertools.product(ZERO_SIZES, FLAGS, (0.0, 1.0, -0.5), (0, 3))
    for sizes, flags, beta, padding in every:
        check(backend, dtype, flags, sizes, 1.0, beta, padding)


@pytest.mark.parametrize("dtype", DTYPES)
def test_beta_zero_overwrites_nan(backend, dtype):
    for sizes in [*SIZES, (4, 5, 0), (1, 5, 0), (5, 1, 0)]:
        for flags in FLAGS:
            check(backend, dtype, flags, sizes, 1.0, 0.0, start=np.nan)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gemm_rounds_as_the_dtype_allows(backend, dtype):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(20, 300)).astype(dtype), rng.normal(size=(300, 30)).astype(dtype)
    c = np.empty((20, 30), dtype)
    addresses = a.ctypes.data, b.ctypes.data, c.ctypes.data
    RUN[dtype](
        backend.gemm[dtype], 0, 0, 20, 30, 300, 1.0,
        addresses[0], 300, addresses[1], 30, 0.0, addresses[2], 30,
    )  # fmt: skip
    exact = a.astype("longdouble") @ b.astype("longdouble")
    # Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., (3.13): k u |a| |b|.
    bound = 300 * np.finfo(dtype).eps / 2 * (np.abs(a).astype(float) @ np.abs(b).astype(float))
    assert np.all(np.abs(c - exact) <= bound)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_of_more_than_32_bits(backend, dtype, m):
    a, b = np.arange(1, 1 + m, dtype=dtype).reshape(1, m), np.array([[3, 4, 5]], dtype)
    c = np.full((m, 3), np.nan, dtype)
    far = 2**40 + 1  # the distance between the rows of a, which has only one
    RUN[dtype](
        backend.gemm[dtype], 1, 0, m, 3, 1, 1.0,
        a.ctypes.data, far, b.ctypes.data, 3, 0.0, c.ctypes.data, 3,
    )  # fmt: skip
    np.testing.assert_array_equal(c, a.T @ b)


def test_leading_dimensions_reach_the_blas_as_at_least_one():
    seen = []
    record = blas._cblas_type(blas.CBLAS64, blas.GEMM, "float64")(lambda *args: seen.append(args))
    descriptor = np.array([blas.CBLAS64, blas.address_of(record), 0, 0])
    run_f64(descriptor.ctypes.data, 0, 1, 2, 3, 0, 1.5, 16, 0, 32, 0, 0.5, 64, 0)
    no_trans, trans = blas.CBLAS_NO_TRANS, blas.CBLAS_NO_TRANS + 1
    column_major = blas.CBLAS_COLUMN_MAJOR
    assert seen == [(column_major, trans, no_trans, 3, 2, 0, 1.5, 32, 1, 16, 1, 0.5, 64, 1)]


def test_threads_may_call_at_once(backend):
    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(check, backend, "float64", flags, (9, 8, 7), 1.0, 0.0)
            for flags in FLAGS * 5
        ]
        for call in calls:
            call.result()


def test_the_widths_of_the_integers():
    assert [find_blas(name).integer_bits for name in ("own", "scipy", "python")] == [64, 32, 64]
    assert find_blas("numpy").name == "numpy"


def test_environment_chooses_and_argument_overrides(monkeypatch):
    monkeypatch.setenv("STATICGRAPH_BLAS", "python")
    assert find_blas().name == "python"
    assert find_blas("scipy").name == "scipy"
    monkeypatch.delenv("STATICGRAPH_BLAS")
    assert find_blas().name == "own"


def test_unknown_backend(monkeypatch):
    monkeypatch.setenv("STATICGRAPH_BLAS", "mkl")
    with pytest.raises(OptionError, match="blas: backend 'mkl' is not one of own, numpy, scipy"):
        find_blas()


@pytest.fixture
def fresh_search():
    blas._load.values.clear()
    yield
    blas._load.values.clear()


@pytest.mark.usefixtures("fresh_search")
def test_fallbacks_are_tried_in_order(monkeypatch):
    monkeypatch.delenv("STATICGRAPH_BLAS", raising=False)
    monkeypatch.setattr(blas, "numpy_routines", lambda: iter(()))
    assert find_blas().gemm.rest.name == "scipy"
    blas._load.values.clear()
    monkeypatch.setitem(sys.modules, "scipy.linalg.cython_blas", None)
    assert find_blas().gemm.rest.name == "python"
    check(find_blas(), "float64", (0, 0), (1, 7, 5), 1.0, 0.0)  # without a gemv
    with pytest.raises(OptionError, match="blas: backend 'scipy' is missing here or fails"):
        find_blas("scipy")


@pytest.mark.usefixtures("fresh_search")
def test_products_of_our_own_that_are_wrong_are_those_of_the_blas(monkeypatch):
    kind = blas._cblas_type(blas.CBLAS64, blas.GEMM, "float32")
    idle = kind(lambda *_arguments: None)
    monkeypatch.setattr(blas, "own_gemm", lambda _itemsize: blas.address_of(idle))
    own, rest = find_blas("own"), find_blas("numpy")
    assert own.gemm["float32"] == rest.gemm["float32"]


def test_functions_that_compute_wrongly_are_refused():
    right = {dtype: blas.address_of(blas._matmul_callback(dtype)) for dtype in DTYPES}
    idle = {}
    for name, signature in (("gemm", blas.GEMM), ("gemv", blas.GEMV)):
        kind = blas._cblas_type(blas.CBLAS64, signature, "float32")
        idle[name] = kind(lambda *_arguments: None)
    wrong = right | {"float32": blas.address_of(idle["gemm"])}
    threads = (lambda _count: None, lambda: 0)
    assert blas._accept("idle", blas.CBLAS64, wrong, {}, threads) is None
    assert blas._accept("none", blas.CBLAS64, right | {"float64": 0}, {}, threads) is None
    gemv = {"float32": blas.address_of(idle["gemv"])}
    found = blas._accept("idle", blas.CBLAS64, right, gemv, threads)
    check(found, "float32", (0, 0), (7, 1, 5), 1.0, 0.0)


def test_plain_names_with_64_bit_integers_are_told_by_openblas():
    class Library:
        def __init__(self, config):
            self.openblas_get_config = ctypes.CFUNCTYPE(ctypes.c_void_p)(
                lambda: ctypes.cast(config, ctypes.c_void_p).value
            )

    wide = ctypes.c_char_p(b"OpenBLAS 0.3.31 USE64BITINT")
    narrow = ctypes.c_char_p(b"OpenBLAS 0.3.31")
    assert blas_library.has_64_bit_integers(Library(wide), "cblas_{}")
    assert not blas_library.has_64_bit_integers(Library(narrow), "cblas_{}")
    assert not blas_library.has_64_bit_integers(object(), "cblas_{}")


@pytest.mark.parametrize("name", BACKENDS)
def test_set_and_limit_threads(monkeypatch, name):
    monkeypatch.setenv("STATICGRAPH_BLAS", name)
    before = get_threads()
    assert before >= 1
    with limit_threads(1):
        assert get_threads() == 1
        with limit_threads(7):
            assert get_threads() == 1
    assert get_threads() == before
    set_threads(2)
    assert get_threads() == 2
    with pytest.raises(RuntimeError, match="inside"), limit_threads(1):
        raise RuntimeError("inside")
    assert get_threads() == 2
    set_threads(before)


def test_thread_control_where_there_is_none():
    assert blas._thread_control(object()) == (0, 0)
    without = dataclasses.replace(find_blas(), control=(0, 0))
    without.set_threads(3)
    assert without.get_threads() == 0


def test_a_count_below_one_is_refused():
    with pytest.raises(OptionError, match="blas: 0 threads, expected at least 1"):
        set_threads(0)


def test_finding_the_blas_imports_neither_numba_nor_scipy():
    code = (
        "import sys; from staticgraph.compiler.runtime.blas import find_blas; find_blas('numpy');"
        "print([name for name in ('numba', 'llvmlite', 'scipy') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
