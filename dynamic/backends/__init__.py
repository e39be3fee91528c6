"""What scripts ask and set of PyTorch's libraries (torch.backends): there is NumPy's and our own.

Switches can be set and are read back; nothing depends on them.

Example:
    >>> dynamic.backends.mps.is_available(), dynamic.backends.cudnn.is_available()
    (False, False)
"""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.backends import cuda, cudnn, mps

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized"]


class _Absent:
    """A library that is not used."""

    def __init__(self, name: str, **switches: Any) -> None:
        self.__name__ = name
        self.__dict__.update(switches)

    def is_available(self) -> bool:
        """Whether it is used: no."""
        return False

    def is_built(self) -> bool:
        """Whether it is used: no."""
        return False

    def get_cpu_capability(self) -> str:
        """The instructions that PyTorch would have chosen: none in particular."""
        return "DEFAULT"

    def __repr__(self) -> str:
        return f"<backend {self.__name__!r}, which is not used>"


mkl, mkldnn = _Absent("mkl"), _Absent("mkldnn", enabled=False)
openmp, cpu = _Absent("openmp"), _Absent("cpu")
opt_einsum = _Absent("opt_einsum", enabled=False, strategy=None)
quantized = _Absent("quantized", engine="none", supported_engines=["none"])
