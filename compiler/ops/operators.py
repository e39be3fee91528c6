"""The operators and methods that every handle has: symbolic expressions and eager tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.op import Op, Operand
from staticgraph.compiler.core.op_shown import shown_example
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import zeros_like

if TYPE_CHECKING:
    from staticgraph.compiler.ops.indexing.at import At


def _op(name: str) -> Any:
    return getattr(ops, name)


def _forward(name: str, find: Callable[[str], Any] = _op) -> Any:
    def method(self: object, other: object) -> Any:
        return find(name)(self, other) if _known(other) else NotImplemented

    return method


def _backward(name: str, find: Callable[[str], Any] = _op) -> Any:
    def method(self: object, other: object) -> Any:
        return find(name)(other, self) if _known(other) else NotImplemented

    return method


def _of_bits(name: str) -> Any:
    """What Python's signs for bits are: of integers the bits', of masks the logical op."""

    def op(*operands: Any) -> Any:
        kinds = {np.result_type(getattr(one, "dtype", one)).kind for one in operands}
        of_integers = kinds & set("iu") and kinds <= set("biu")
        return getattr(ops, f"{'bitwise' if of_integers else 'logical'}_{name}")(*operands)

    return op


def _known(other: object) -> bool:
    return isinstance(other, _KNOWN) or hasattr(other, "terms")


_KNOWN = (Operand, np.ndarray, np.generic, bool, int, float, complex)


def _method(op: Any) -> Any:
    def method(self: object, *args: object, **kwargs: object) -> Any:
        return op(self, *args, **kwargs)

    method.__doc__ = f"{op.doc}{shown_example(op)}" if isinstance(op, Op) else op.__doc__
    method.__wrapped__ = op  # type: ignore[attr-defined]  # the signature that `help` shows
    method.__annotations__ = {"return": Any}  # texts would be looked up where the op is from
    return method


class Operators(Operand):
    """Python's operators and the usual methods, in terms of the ops."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = object.__hash__

    __add__, __radd__ = _forward("add"), _backward("add")
    __sub__, __rsub__ = _forward("subtract"), _backward("subtract")
    __mul__, __rmul__ = _forward("multiply"), _backward("multiply")
    __truediv__, __rtruediv__ = _forward("divide"), _backward("divide")
    __floordiv__, __rfloordiv__ = _forward("floor_divide"), _backward("floor_divide")
    __mod__, __rmod__ = _forward("remainder"), _backward("remainder")
    __pow__, __rpow__ = _forward("power"), _backward("power")
    __matmul__, __rmatmul__ = _forward("matmul"), _backward("matmul")
    __lt__, __le__ = _forward("less"), _forward("less_equal")
    __gt__, __ge__ = _forward("greater"), _forward("greater_equal")
    __eq__ = _forward("equal")
    __ne__ = _forward("not_equal")
    __and__, __rand__ = _forward("and", _of_bits), _backward("and", _of_bits)
    __or__, __ror__ = _forward("or", _of_bits), _backward("or", _of_bits)
    __xor__, __rxor__ = _forward("xor", _of_bits), _backward("xor", _of_bits)
    __lshift__, __rlshift__ = _forward("left_shift"), _backward("left_shift")
    __rshift__, __rrshift__ = _forward("right_shift"), _backward("right_shift")

    def __neg__(self) -> Any:
        return ops.negative(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return ops.absolute(self)

    def __invert__(self) -> Any:
        return _of_bits("not")(self)

    def __getitem__(self, key: object) -> Any:
        from staticgraph.compiler.ops.indexing.getting import getitem

        return getitem(self, key)

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
        from staticgraph.compiler.ops.indexing.at import At

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


_NAMED = frozenset((
    "argmax", "argmin", "astype", "broadcast_to", "clip", "dot", "expand_dims", "flip", "matmul",
    "outer", "permute", "pow", "reshape", "squeeze", "swapaxes", "take", "transpose",
))  # fmt: skip


def method_named(name: str) -> Callable[..., Value] | None:
    """The method of this name, which every handle has then; None if no op is one.

    Methods are the differentiable functions of one operand, element by element or along its axes,
    and those that are named above.
    """
    op = None if name.startswith("_") else ops.public_named(name)
    if op is None or not (name in _NAMED or _is_of_elements(op) or _is_of_rows(op)):
        return None
    method: Callable[..., Value] = _method(op)
    setattr(Operators, name, method)
    return method


def add_methods() -> None:
    """Give the class all methods: who looks at it, and does not call one, must find them."""
    for name in ops.PUBLIC:
        if name not in vars(Operators):
            method_named(name)


def _is_of_elements(op: Any) -> bool:
    return isinstance(op, Op) and op.elementwise and len(op.saves) == 1


def _is_of_rows(op: Any) -> bool:
    if not isinstance(op, Op) or op.sweep not in ("rows", "reduction"):
        return False
    return isinstance(op.vjp, tuple) and len(op.vjp) == 1
