"""Where the BLAS is that NumPy brings: its library, its names, how wide its integers are."""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

EXTENSION = Path(str(importlib.import_module("numpy._core._multiarray_umath").__file__))
"""NumPy's extension module, which is linked to the library."""

SCALARS: dict[str, Any] = {"float32": ctypes.c_float, "float64": ctypes.c_double}
LETTERS = {"float32": "s", "float64": "d"}

_SYMBOLS = (
    ("scipy_cblas_{}64_", 64),
    ("cblas_{}64_", 64),
    ("cblas_{}$NEWLAPACK$ILP64", 64),
    ("scipy_cblas_{}", 32),
    ("cblas_{}$NEWLAPACK", 32),
    ("cblas_{}", 32),
)


class Routines(NamedTuple):
    """Routines of a library that are named and called in one way, as cblas has them.

    Attributes:
        library: where they are.
        pattern: their names, with {} for the routine's.
        integer_bits: 64 or 32.
    """

    library: ctypes.CDLL
    pattern: str
    integer_bits: int

    def of_lapack(self, name: str) -> int:
        """The address of a routine of LAPACK, such as "sgetrf", as Fortran has it; 0 for none."""
        suffix = self.pattern.partition("{}")[2]
        prefix = "scipy_" if self.pattern.startswith("scipy_") else ""
        end = suffix if "$" in suffix else f"_{suffix}"
        return find_symbol(self.library, f"{prefix}{name}{end}")

    def named(self, name: str) -> dict[str, int]:
        """Per dtype the address of a routine, such as "gemm"; 0 where there is none."""
        return {
            dtype: find_symbol(self.library, self.pattern.format(letter + name))
            for dtype, letter in LETTERS.items()
        }


def numpy_routines() -> Iterator[Routines]:
    """Every way in which NumPy's library may name its routines; most have none of that name."""
    for library in _numpy_libraries():
        for pattern, declared in _SYMBOLS:
            bits = 64 if has_64_bit_integers(library, pattern) else declared
            yield Routines(library, pattern, bits)


def find_symbol(library: ctypes.CDLL, name: str) -> int:
    """The address of a function; 0 if the library has none of this name."""
    function = getattr(library, name, None)
    return 0 if function is None else address_of(function)


def address_of(function: Any) -> int:
    """Where a function of ctypes is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def has_64_bit_integers(library: ctypes.CDLL, pattern: str) -> bool:
    """Whether plain names take 64-bit integers: they do not tell, but OpenBLAS does."""
    get_config = getattr(library, "openblas_get_config", None)
    if pattern != "cblas_{}" or get_config is None:
        return False
    get_config.restype = ctypes.c_char_p
    return b"USE64BITINT" in get_config()


def _numpy_libraries() -> Iterator[ctypes.CDLL]:
    # Looking a symbol up in an extension module also searches what it links to, except on Windows.
    yield ctypes.CDLL(str(EXTENSION))
    if sys.platform == "win32":
        site_packages = EXTENSION.parents[2]
        for path in sorted((site_packages / "numpy.libs").glob("*.dll")):
            yield ctypes.CDLL(str(path))
