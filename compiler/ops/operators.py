"""The operators and methods that every handle has: symbolic expressions and eager tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.op import Op, Operand
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.at import At
from staticgraph.compiler.ops.declare import zeros_like


def _forward(op: Any) -> Any:
    def method(self: object, other: object) -> Any:
        return op(self, other) if _known(other) else NotImplemented

    return method


def _backward(op: Any) -> Any:
    def method(self: object, other: object) -> Any:
        return op(other, self) if _known(other) else NotImplemented

    return method


def _both_ways(op: Any) -> tuple[Any, Any]:
    return _forward(op), _backward(op)


def _of_bits(logical: Any, bitwise: Any) -> Any:
    """What Python's signs for bits are: of integers the bits', of masks the logical op."""

    def op(*operands: Any) -> Any:
        kinds = {np.result_type(getattr(one, "dtype", one)).kind for one in operands}
        return (bitwise if kinds & set("iu") and kinds <= set("biu") else logical)(*operands)

    return op


def _known(other: object) -> bool:
    return isinstance(other, _KNOWN) or hasattr(other, "terms")


_KNOWN = (Operand, np.ndarray, np.generic, bool, int, float, complex)


def _method(op: Any) -> Any:
    def method(self: object, *args: object, **kwargs: object) -> Any:
        return op(self, *args, **kwargs)

    method.__doc__ = getattr(op, "doc", None) or op.__doc__
    method.__wrapped__ = op  # type: ignore[attr-defined]  # the signature that `help` shows
    return method


class Operators(Operand):
    """Python's operators and the usual methods, in terms of the ops."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = object.__hash__

    __add__, __radd__ = _forward(ops.add), _backward(ops.add)
    __sub__, __rsub__ = _forward(ops.subtract), _backward(ops.subtract)
    __mul__, __rmul__ = _forward(ops.multiply), _backward(ops.multiply)
    __truediv__, __rtruediv__ = _forward(ops.divide), _backward(ops.divide)
    __floordiv__, __rfloordiv__ = _forward(ops.floor_divide), _backward(ops.floor_divide)
    __mod__, __rmod__ = _forward(ops.remainder), _backward(ops.remainder)
    __pow__, __rpow__ = _forward(ops.power), _backward(ops.power)
    __matmul__, __rmatmul__ = _forward(ops.matmul), _backward(ops.matmul)
    __lt__, __le__ = _forward(ops.less), _forward(ops.less_equal)
    __gt__, __ge__ = _forward(ops.greater), _forward(ops.greater_equal)
    __eq__ = _forward(ops.equal)
    __ne__ = _forward(ops.not_equal)
    __and__, __rand__ = _both_ways(_of_bits(ops.logical_and, ops.bitwise_and))
    __or__, __ror__ = _both_ways(_of_bits(ops.logical_or, ops.bitwise_or))
    __xor__, __rxor__ = _both_ways(_of_bits(ops.logical_xor, ops.bitwise_xor))
    __lshift__, __rlshift__ = _both_ways(ops.left_shift)
    __rshift__, __rrshift__ = _both_ways(ops.right_shift)

    def __neg__(self) -> Any:
        return ops.negative(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return ops.absolute(self)

    def __invert__(self) -> Any:
        return _of_bits(ops.logical_not, ops.bitwise_not)(self)

    def __getitem__(self, key: object) -> Any:
        return ops.getitem(self, key)

    @property
    def at(self) -> At:
        """`x.at[key].set(values)`, `add`, `multiply` and others: x with the places that a key names
        changed, as a new value.

        Example:
            >>> x = sg.constant(np.zeros((2, 3)))
            >>> sg.run(x.at[:, np.array([0, 2])].add(1.0), {})
            array([[1., 0., 1.],
                   [1., 0., 1.]])
        """
        return At(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's elementwise functions, and operators with an array at the left, are ours."""
        return provided.numpy_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: object, args: Any, kwargs: Any) -> Any:
        """NumPy's other functions are ours of the same name."""
        return provided.numpy_function(function, args, kwargs)

    def _kept_from_numpy(self) -> bool:
        """Whether NumPy's own functions would lose a gradient, or find no values."""
        return True

    @property
    def T(self) -> Value:  # noqa: N802 - NumPy's name
        """The axes reversed."""
        return ops.transpose(self)

    @property
    def mT(self) -> Value:  # noqa: N802 - the array API's name
        """The last two axes exchanged."""
        return ops.swapaxes(self, -1, -2)

    @property
    def real(self) -> Value:
        """The real part; of real numbers x itself."""
        return ops.real_part(self) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Value:
        """The imaginary part; of real numbers 0."""
        return ops.imaginary_part(self) if self.dtype.kind == "c" else zeros_like(self)

    def conj(self) -> Value:
        """The complex conjugate; of real numbers x itself."""
        return ops.conjugate(self) if self.dtype.kind == "c" else self

    conjugate = conj


_OF_ELEMENTS = [
    name
    for name in ops.PUBLIC
    if isinstance(op := getattr(ops, name), Op) and op.elementwise and len(op.saves) == 1
]
"""The differentiable functions of one operand, element by element."""

_OF_ROWS = [
    name
    for name in ops.PUBLIC
    if isinstance(op := getattr(ops, name), Op)
    and op.sweep in ("rows", "reduction")
    and isinstance(op.vjp, tuple)
    and len(op.vjp) == 1
]
"""The functions of one operand along its axes."""

for _name in (
    *_OF_ELEMENTS, *_OF_ROWS, "argmax", "argmin", "astype", "broadcast_to", "clip", "dot",
    "expand_dims", "flip", "matmul", "outer", "permute", "pow", "reshape", "squeeze", "swapaxes",
    "take", "transpose",
):  # fmt: skip
    setattr(Operators, _name, _method(getattr(ops, _name)))
