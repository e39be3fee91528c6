"""Linear algebra on matrices, the last two axes of an array, in NumPy's names.

What is compiled calls the LAPACK that NumPy ships, as a step of the kernel.
"""

from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core import fork as _fork
from staticgraph.compiler.functions import LINALG as _COMPOSED, function_named as _function_named
from staticgraph.compiler.ops import LINALG as _LINALG
from staticgraph.compiler.ops.linalg.products import matmul as matmul, outer as outer
from staticgraph.compiler.ops.public_linalg import *

if TYPE_CHECKING:
    from staticgraph.compiler.functions.public_linalg import *

if not TYPE_CHECKING:
    __all__ = ["matmul", "outer", *_COMPOSED, *_LINALG]  # noqa: PLE0604 - see compiler.ops

    def __getattr__(name: str) -> Any:
        """Import what is not there yet."""
        if name not in _COMPOSED:
            raise AttributeError(f"module 'staticgraph.linalg' has no attribute {name!r}")
        with _fork.importing():
            found = _function_named(name, _COMPOSED)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
