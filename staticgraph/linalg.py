"""Linear algebra on matrices, the last two axes of an array, in NumPy's names.

What is compiled calls the LAPACK that NumPy ships, as a step of the program.
"""

from typing import TYPE_CHECKING

from compiler.ops import LINALG as _LINALG
from compiler.ops.linalg import matmul as matmul, outer as outer
from compiler.ops.public_linalg import *

if not TYPE_CHECKING:
    __all__ = ["matmul", "outer", *_LINALG]  # noqa: PLE0604 - see compiler.ops
