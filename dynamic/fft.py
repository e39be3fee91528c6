"""Discrete Fourier transforms of tensors in PyTorch's names: `torch.fft`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.published import published
from staticgraph.compiler.functions import fft as _shared
from staticgraph.dynamic.core.dtypes import as_numpy_dtype, get_default_dtype
from staticgraph.dynamic.core.named_operands import taking_input
from staticgraph.dynamic.core.no_tensors import of_kinds
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.factory_options import check_options
from staticgraph.dynamic.tensors.narrowing import widening
from staticgraph.dynamic.tensors.outputs import taking_out

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


def _transform(shared: Callable[..., Any]) -> Any:
    return taking_out(widening(taking_input(shared)))


fft = _transform(_shared.fft)
fft2 = _transform(_shared.fft2)
fftn = _transform(_shared.fftn)
fftshift = taking_input(_shared.fftshift)
hfft = _transform(_shared.hfft)
ifft = _transform(_shared.ifft)
ifft2 = _transform(_shared.ifft2)
ifftn = _transform(_shared.ifftn)
ifftshift = taking_input(_shared.ifftshift)
ihfft = _transform(_shared.ihfft)
irfft = _transform(_shared.irfft)
irfft2 = _transform(_shared.irfft2)
irfftn = _transform(_shared.irfftn)
rfft = _transform(_shared.rfft)
rfft2 = _transform(_shared.rfft2)
rfftn = _transform(_shared.rfftn)


def _frequencies(name: str, shared: Any, shown: str) -> Any:
    def function(
        n: int, d: float = 1.0, *, dtype: object = None, requires_grad: bool = False, **options: Any
    ) -> Any:
        check_options(name, options)
        wanted = get_default_dtype().dtype if dtype is None else as_numpy_dtype(dtype)
        require_int(name, "n", 1, n, 0)
        return as_tensor(shared(n, d).astype(wanted)).requires_grad_(requires_grad)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The frequencies of `{name[:-4]}` of n numbers that are d apart.\n\n"
        f"    Example:\n        >>> dynamic.fft.{name}(4)\n        {shown}\n"
    )
    return taking_out(function)


fftfreq = _frequencies("fftfreq", _shared.fftfreq, "tensor([ 0.0000,  0.2500, -0.5000, -0.2500])")
rfftfreq = _frequencies("rfftfreq", _shared.rfftfreq, "tensor([0.0000, 0.2500, 0.5000])")

for _name in __all__:
    globals()[_name] = of_kinds(globals()[_name], _name)

published(__name__, globals())
