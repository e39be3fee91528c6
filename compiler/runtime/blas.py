"""What multiplies matrices in compiled kernels: code of our own, or else the BLAS that NumPy or
SciPy brings, or NumPy through a callback.

Ours (`compiler.llvm.products`) takes the place of gemm; products with a vector are the BLAS's.

A kernel is handed one integer per dtype, `Blas.gemm[dtype]`: the address of a descriptor of four
int64, (convention, gemm, gemv, wide_gemm). `compiler.llvm.gemm` reads it at run time, so compiled
code holds no absolute address and works with any backend. The matrices of a descriptor's functions
are column-major. Reference: Dongarra et al., "A set of level 3 basic linear algebra subprograms",
ACM TOMS 16(1), 1990; the C binding is Appendix B of the BLAS Technical Forum standard, 2001.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.once import Once
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.settings import BLAS
from staticgraph.compiler.llvm.conventions import (
    CBLAS32,
    CBLAS64,
    CBLAS_COLUMN_MAJOR,
    CBLAS_NO_TRANS,
    FORTRAN32,
    GEMM,
    GEMV,
)
from staticgraph.compiler.reference.blas_library import (
    EXTENSION,
    LETTERS,
    SCALARS,
    address_of,
    find_symbol,
    numpy_routines,
)
from staticgraph.compiler.runtime.own_products import own_gemm

if TYPE_CHECKING:
    from staticgraph.compiler.runtime.launch_plan import LaunchPlan

BACKENDS = ("own", "numpy", "scipy", "python")

_THREAD_SYMBOLS = (
    ("scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_"),
    ("openblas_set_num_threads64_", "openblas_get_num_threads64_"),
    ("scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"),
    ("openblas_set_num_threads", "openblas_get_num_threads"),
    ("MKL_Set_Num_Threads", "MKL_Get_Max_Threads"),
)


@frozen
class Blas:
    """One backend: `gemm[dtype]` is the descriptor address that `gemm_f32`/`gemm_f64` take.

    `control` are the addresses of the functions `void (int)` and `int ()` that set and get how many
    threads it uses, 0 where it has none: `get_threads` then returns 0, `set_threads` does nothing.
    """

    name: str
    integer_bits: int
    gemm: Mapping[str, int]
    control: tuple[int, int]
    descriptors: tuple[Any, ...] = field(repr=False)

    def set_threads(self, count: int) -> None:
        """Have it use so many threads."""
        if self.control[0]:
            ctypes.CFUNCTYPE(None, ctypes.c_int)(self.control[0])(count)

    def get_threads(self) -> int:
        """How many it uses."""
        return ctypes.CFUNCTYPE(ctypes.c_int)(self.control[1])() if self.control[1] else 0

    @property
    def is_native(self) -> bool:
        """Whether any thread may call it, for any sizes, without the interpreter's lock."""
        return self.integer_bits == 64 and self.name != "python"


def find_blas(backend: str | None = None) -> Blas:
    """What to use: `backend`, else the environment's STATICGRAPH_BLAS, else the best there is.

    Raises OptionError if the backend that was asked for is unknown, missing or computes wrongly.
    """
    wanted = backend or BLAS.given
    if wanted and wanted not in BACKENDS:
        raise OptionError(f"blas: backend {wanted!r} is not one of {', '.join(BACKENDS)}")
    for name in (wanted,) if wanted else BACKENDS:
        found = _load(name)
        if found is not None:
            return found
    raise OptionError(f"blas: backend {wanted!r} is missing here or fails its self-test")


def find_products(launch_plan: LaunchPlan) -> dict[int, int]:
    """The descriptors of products that a program calls, by their entries; compiled if need be."""
    return {at: find_blas().gemm[dtype] for dtype, at in launch_plan.gemm}


def set_threads(count: int) -> None:
    """Set how many threads the BLAS uses; process-wide, and NumPy's own products share it.

    Raises OptionError if `count` is less than 1.
    """
    if count < 1:
        raise OptionError(f"blas: {count} threads, expected at least 1")
    find_blas().set_threads(count)


def get_threads() -> int:
    """How many threads the BLAS uses; 0 if the library does not tell."""
    return find_blas().get_threads()


@contextmanager
def limit_threads(count: int) -> Iterator[None]:
    """Within the block the BLAS uses at most `count` threads; process-wide, like `set_threads`."""
    before = get_threads()
    set_threads(min(count, before) if before else count)
    try:
        yield
    finally:
        if before:
            set_threads(before)


class _Own(Mapping[str, int]):
    """The descriptors of products of our own, each compiled, or loaded, when it is asked for.

    Where one computes wrongly, it is that of the BLAS, which has the products with vectors, too.
    """

    def __init__(self, rest: Blas) -> None:
        self.rest = rest
        self.find = Once(self._find)

    def __getitem__(self, dtype: str) -> int:
        return ctypes.addressof(self.find(dtype))

    def __iter__(self) -> Iterator[str]:
        return iter(SCALARS)

    def __len__(self) -> int:
        return len(SCALARS)

    def _find(self, dtype: str) -> Any:
        given = (ctypes.c_int64 * 4).from_address(self.rest.gemm[dtype])
        found = own_gemm(np.dtype(dtype).itemsize)
        if not _gemm_is_right(CBLAS64, found, dtype):
            return given
        vector = given[2] if given[0] == CBLAS64 else 0
        return (ctypes.c_int64 * 4)(CBLAS64, found, vector, given[3])


@Once
def _load(name: str) -> Blas | None:
    match name:
        case "own":
            rest = next(filter(None, map(_load, BACKENDS[1:])))
            return Blas("own", 64, _Own(rest), rest.control, ())
        case "numpy":
            return _load_numpy()
        case "scipy":
            return _load_scipy()
        case _:
            callbacks = {dtype: address_of(_matmul_callback(dtype)) for dtype in SCALARS}
            library = ctypes.CDLL(str(EXTENSION))
            return _accept("python", CBLAS64, callbacks, {}, _thread_control(library))


def _load_numpy() -> Blas | None:
    for routines in numpy_routines():
        convention = CBLAS64 if routines.integer_bits == 64 else CBLAS32
        threads = _thread_control(routines.library)
        found = _accept(
            "numpy", convention, routines.named("gemm"), routines.named("gemv"), threads
        )
        if found is not None:
            return found
    return None


def _load_scipy() -> Blas | None:
    try:
        module = importlib.import_module("scipy.linalg.cython_blas")
    except ImportError:
        return None
    capsules = module.__pyx_capi__
    gemm = {d: _capsule_address(capsules[LETTERS[d] + "gemm"]) for d in SCALARS}
    gemv = {d: _capsule_address(capsules[LETTERS[d] + "gemv"]) for d in SCALARS}
    threads = _thread_control(ctypes.CDLL(str(module.__file__)))
    return _accept("scipy", FORTRAN32, gemm, gemv, threads)


def _capsule_address(capsule: object) -> int:
    api = ctypes.pythonapi
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    return int(pointer_of(capsule, name_of(capsule)))


def _thread_control(library: ctypes.CDLL) -> tuple[int, int]:
    """The addresses of the functions that set and get the number of threads; 0 for none."""
    for setter, getter in _THREAD_SYMBOLS:
        if find_symbol(library, setter) and find_symbol(library, getter):
            return find_symbol(library, setter), find_symbol(library, getter)
    return 0, 0


def _accept(
    name: str,
    convention: int,
    gemm: Mapping[str, int],
    gemv: Mapping[str, int],
    control: tuple[int, int],
) -> Blas | None:
    """The record of these functions; None if a gemm is missing or wrong. A gemv may be either."""
    if not all(gemm[dtype] and _gemm_is_right(convention, gemm[dtype], dtype) for dtype in gemm):
        return None
    descriptors = {}
    for dtype in gemm:
        vector = gemv.get(dtype, 0)
        if vector and not _gemv_is_right(convention, vector, dtype):
            vector = 0
        wide = address_of(_matmul_callback(dtype))
        descriptors[dtype] = (ctypes.c_int64 * 4)(convention, gemm[dtype], vector, wide)
    return Blas(
        name=name,
        integer_bits=64 if convention == CBLAS64 else 32,
        gemm={dtype: ctypes.addressof(record) for dtype, record in descriptors.items()},
        control=control,
        descriptors=tuple(descriptors.values()),
    )


def _call(convention: int, address: int, signature: str, dtype: str, values: list[Any]) -> None:
    """Call a gemm or gemv at `address` the slow way, as the self-test needs it."""
    if convention == FORTRAN32:
        slots = {
            "t": lambda flag: ctypes.c_char(b"NT"[flag]),
            "i": ctypes.c_int32,
            "s": SCALARS[dtype],
        }
        arguments = [
            value if kind == "p" else ctypes.byref(slots[kind](value))
            for kind, value in zip(signature, values, strict=True)
        ]
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))(address)(*arguments)
    else:
        arguments = [
            value + CBLAS_NO_TRANS if kind == "t" else value
            for kind, value in zip(signature, values, strict=True)
        ]
        _cblas_type(convention, signature, dtype)(address)(CBLAS_COLUMN_MAJOR, *arguments)


def _cblas_type(convention: int, signature: str, dtype: str) -> Any:
    integer = ctypes.c_int64 if convention == CBLAS64 else ctypes.c_int32
    kinds = {"t": ctypes.c_int, "i": integer, "s": SCALARS[dtype], "p": ctypes.c_size_t}
    return ctypes.CFUNCTYPE(None, ctypes.c_int, *(kinds[letter] for letter in signature))


def _gemm_is_right(convention: int, address: int, dtype: str) -> bool:
    m, n, k = 3, 4, 5
    for transa in (0, 1):
        for transb in (0, 1):
            a = np.arange(15, dtype=dtype).reshape((k, m) if transa else (m, k), order="F")
            b = np.arange(20, dtype=dtype).reshape((n, k) if transb else (k, n), order="F")
            expected = (a.T if transa else a) @ (b.T if transb else b)
            for beta, start in ((0, np.nan), (1, 7)):
                c = np.full((m, n), start, dtype, order="F")
                values = [transa, transb, m, n, k, 2, a.ctypes.data, len(a)]
                values += [b.ctypes.data, len(b), beta, c.ctypes.data, m]
                _call(convention, address, GEMM, dtype, values)
                if not np.array_equal(c, 2 * expected + (start if beta else 0)):
                    return False
    return True


def _gemv_is_right(convention: int, address: int, dtype: str) -> bool:
    m, n, stride = 3, 5, 2
    a = np.arange(m * n, dtype=dtype).reshape((m, n), order="F")
    for trans in (0, 1):
        expected = 2 * (a.T if trans else a) @ np.arange(m if trans else n, dtype=dtype)
        x = np.repeat(np.arange(m if trans else n, dtype=dtype), stride)
        for beta, start in ((0, np.nan), (1, 7)):
            y = np.full(stride * len(expected), start, dtype)
            values = [trans, m, n, 2, a.ctypes.data, m, x.ctypes.data, stride]
            _call(convention, address, GEMV, dtype, [*values, beta, y.ctypes.data, stride])
            if not np.array_equal(y[::stride], expected + (start if beta else 0)):
                return False
    return True


@frozen
class _Memory:
    """Memory that this process does not own, in the form that `numpy.asarray` reads."""

    __array_interface__: dict[str, Any]


def _operand(address: int, rows: int, columns: int, leading: int, dtype: str, trans: int) -> Any:
    """op(matrix) of shape (rows, columns), an array over column-major memory."""
    size = np.dtype(dtype).itemsize
    interface = {
        "version": 3,
        "data": (address, False),
        "shape": (columns, rows) if trans != CBLAS_NO_TRANS else (rows, columns),
        "strides": (size, leading * size),
        "typestr": np.dtype(dtype).str,
    }
    matrix = np.asarray(_Memory(interface))
    return matrix.T if trans != CBLAS_NO_TRANS else matrix


@Once
def _matmul_callback(dtype: str) -> Any:
    """`numpy.matmul` as a cblas gemm with 64-bit integers, for column-major matrices."""

    def gemm(
        _order: int, transa: int, transb: int, m: int, n: int, k: int, alpha: float,
        a: int, lda: int, b: int, ldb: int, beta: float, c: int, ldc: int,
    ) -> None:  # fmt: skip
        out = _operand(c, m, n, ldc, dtype, CBLAS_NO_TRANS)
        left = _operand(a, m, k, lda, dtype, transa)
        right = _operand(b, k, n, ldb, dtype, transb)
        if alpha == 1 and beta == 0:
            np.matmul(left, right, out=out)
            return
        product = alpha * np.matmul(left, right)
        out[...] = product + beta * out if beta else product

    return _cblas_type(CBLAS64, GEMM, dtype)(gemm)
