"""How many threads share large computations: those of the compiled kernels.

What they compute does not depend on their number.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.runtime import threads


def get_num_threads() -> int:
    """The number of threads that a large computation is shared among.

    Example:
        >>> dynamic.set_num_threads(1)
        >>> dynamic.get_num_threads()
        1
    """
    return threads.get_num_threads()


def set_num_threads(count: Any) -> None:
    """Share large computations among this many threads; 1 switches sharing off.

    The default is STATICGRAPH_NUM_THREADS, or else OMP_NUM_THREADS, or else the number of
    processors that the process may use. It is that of `staticgraph.set_num_threads`, which sets
    the threads of the BLAS as well.

    Raises:
        TypeError: it is no int.
        OptionError: it is less than 1.

    Example:
        >>> dynamic.set_num_threads(2)
        >>> dynamic.get_num_threads()
        2
    """
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    count = count.__index__()
    if count < 1:
        raise OptionError(f"set_num_threads expects a positive integer, got {count}")
    threads.share_among(count)
