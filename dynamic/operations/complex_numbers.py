"""Complex tensors: their parts, and what makes them (PyTorch's functions)."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.functions import complex_numbers as shared
from staticgraph.dynamic.core.dtypes import DTYPES, get_default_dtype, itself
from staticgraph.dynamic.core.errors import AutogradError, SizeError
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.narrowing import widening
from staticgraph.dynamic.tensors.tensor import Tensor

__all__ = [
    "adjoint", "angle", "complex", "conj", "conj_physical", "conjugate", "imag", "is_complex",
    "is_conj", "is_neg", "isreal", "polar", "real", "resolve_conj", "resolve_neg", "sgn",
    "view_as_complex", "view_as_real",
]  # fmt: skip


def _is_complex(input: Any) -> bool:
    return np.dtype(input.dtype).kind == "c"


def is_complex(input: Any) -> bool:
    """Whether the dtype of the tensor is complex.

    Example:
        >>> dynamic.is_complex(dynamic.tensor([1j]))
        True
    """
    return _is_complex(input)


def real(input: Any) -> Any:
    """The real part, on the memory of a complex tensor; a real tensor itself.

    Example:
        >>> dynamic.real(dynamic.tensor([1 + 2j]))
        tensor([1.])
    """
    return ops.real_part(input) if _is_complex(input) else input


def imag(input: Any) -> Any:
    """The imaginary part, on the memory of the tensor; RuntimeError for a real one.

    Example:
        >>> dynamic.imag(dynamic.tensor([1 + 2j]))
        tensor([2.])
    """
    if not _is_complex(input):
        raise AutogradError("imag is not implemented for tensors with non-complex dtypes.")
    return ops.imaginary_part(input)


def conj(input: Any) -> Any:
    """The complex conjugate, computed at once; a real tensor itself.

    Example:
        >>> dynamic.conj(dynamic.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    return ops.conjugate(input) if _is_complex(input) else input


def conj_physical(input: Any) -> Any:
    """The complex conjugate, as of `conj`.

    Example:
        >>> dynamic.conj_physical(dynamic.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    return conj(input)


def conjugate(input: Any) -> Any:
    """The complex conjugate, as of `conj`: NumPy's name.

    Example:
        >>> dynamic.conjugate(dynamic.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    return conj(input)


def resolve_conj(input: object) -> Any:
    """The tensor itself: conjugates are computed at once.

    Example:
        >>> dynamic.resolve_conj(dynamic.tensor([1j]).conj()).is_conj()
        False
    """
    return itself("resolve_conj", input)


def resolve_neg(input: object) -> Any:
    """The tensor itself: negatives are computed at once.

    Example:
        >>> dynamic.resolve_neg(dynamic.tensor([1.0]))
        tensor([1.])
    """
    return itself("resolve_neg", input)


def is_conj(input: object) -> bool:
    """Whether the tensor is a conjugate that is still to be computed: never.

    Example:
        >>> dynamic.is_conj(dynamic.tensor([1j]).conj())
        False
    """
    itself("is_conj", input)
    return False


def is_neg(input: object) -> bool:
    """Whether the tensor is negated numbers that are still to be computed: never.

    Example:
        >>> dynamic.is_neg(-dynamic.tensor([1.0]))
        False
    """
    return False


def adjoint(input: Any) -> Any:
    """The matrices of the last two axes, transposed and conjugated.

    Example:
        >>> dynamic.adjoint(dynamic.tensor([[1 + 1j, 2.0]]))
        tensor([[1.-1.j],
                [2.-0.j]])
    """
    return conj(input.mT)


@called("Angle")
def angle(input: Any) -> Any:
    """The angle in the complex plane, in (-pi, pi]; the gradient at 0 is 0.

    Example:
        >>> dynamic.angle(dynamic.tensor([1.0, -1.0]))
        tensor([0.0000, 3.1416])
    """
    whole = not (_is_complex(input) or is_float(input.dtype))
    return shared.angle(input.to(get_default_dtype()) if whole else input)


def sgn(input: Any) -> Any:
    """The sign; of a complex number z, z / |z|, and 0 of 0."""
    return ops.sign(input)


def isreal(input: Any) -> Any:
    """Whether an element has no imaginary part."""
    return shared.isreal(input)


def complex(real: Any, imag: Any) -> Any:
    """Complex numbers of their real and imaginary parts, of one floating dtype.

    Example:
        >>> dynamic.complex(dynamic.tensor([1.0, 2.0]), dynamic.tensor([0.0, -1.0]))
        tensor([1.+0.j, 2.-1.j])
    """
    _require_floats(real, imag)
    return ops.make_complex(real, imag)


def _require_floats(real: Any, imag: Any) -> None:
    """RuntimeError unless two tensors have one floating dtype."""
    if isinstance(real, Operand) and isinstance(imag, Operand):
        first, second = (DTYPES.get(np.dtype(one.dtype)) for one in (real, imag))
        if first is None or second is None or {first.kind, second.kind} != {"f"}:
            names = " and ".join("?" if one is None else one.legacy for one in (first, second))
            raise AutogradError(
                f"Expected both inputs to be Half, Float or Double tensors but got {names}"
            )
        if first is not second:
            raise AutogradError(
                f"Expected object of scalar type {first.legacy} but got scalar type "
                f"{second.legacy} for second argument"
            )


@called("Polar")
@widening
def polar(abs: Any, angle: Any) -> Any:
    """Complex numbers of their absolute values and angles, of one floating dtype.

    Example:
        >>> dynamic.real(dynamic.polar(dynamic.tensor([2.0]), dynamic.tensor([0.0])))
        tensor([2.])
    """
    _require_floats(abs, angle)
    return complex(abs * ops.cos(angle), abs * ops.sin(angle))


def view_as_real(input: Any) -> Any:
    """A complex tensor as a real one on the same memory, with a last axis of two.

    Example:
        >>> dynamic.view_as_real(dynamic.tensor([1 + 2j]))
        tensor([[1., 2.]])
    """
    if not _is_complex(input):
        raise AutogradError("view_as_real is only supported for complex tensors")
    return ops.view_as_real(input)


@widening
def view_as_complex(input: Any) -> Any:
    """A real tensor whose last axis has size two as a complex one on the same memory.

    Example:
        >>> dynamic.view_as_complex(dynamic.tensor([[1.0, 2.0]]))
        tensor([1.+2.j])
    """
    tensor: Any = input if isinstance(input, Operand) else as_tensor(input)
    if not tensor.ndim or tensor.shape[-1] != 2:
        raise SizeError("Tensor must have a last dimension of size 2")
    if isinstance(tensor, Tensor) and tensor._array.strides[-1] != tensor._array.itemsize:
        raise SizeError("Tensor must have a last dimension with stride 1")
    return ops.view_as_complex(tensor)


def _matrix_adjoint(self: Any) -> Any:
    """The last two axes exchanged, and conjugated: see `adjoint`."""
    return adjoint(self)


def _adjoint(self: Any) -> Any:
    """The matrix transposed and conjugated; RuntimeError for batches of them: see `mH`."""
    if self.ndim not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""
        raise AutogradError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.{hint}"
        )
    return adjoint(self) if self.ndim else conj(self)


def _set_real(self: Any, values: object) -> None:
    real(self).copy_(as_tensor(values))


def _set_imag(self: Any, values: object) -> None:
    imag(self).copy_(as_tensor(values))


PROPERTIES = {
    "real": property(real, _set_real), "imag": property(imag, _set_imag), "H": property(_adjoint),
    "mH": property(_matrix_adjoint),
}  # fmt: skip
"""What tensors have as properties; the functions of these names are no methods."""
