"""What is known of the array of a traced tensor: its type."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.types import DType, Shape, TensorType

_NUMBER = (
    "write x.item() for float(x) and int(x) (losses.append(loss.item()) is done at each call), "
    "compute with tensors rather than with math (x.sqrt(), x.isfinite()), or return it, and take "
    "its number of what the function returned"
)
_ARRAY = (
    "compute with tensors, put into tensors (torch.zeros(n), torch.stack) rather than arrays, or "
    "compute it outside"
)
_TEXT = (
    "write sg.print('loss {:.3f}', loss) for print(f'loss {loss:.3f}'), and sg.check(condition, "
    "'the loss is {}', loss) for an error, or return the value and make the text outside"
)
_PLAIN = "use where, clamp, sg.cond or sg.while_loop, or compute it outside and pass it by keyword"


def _instead(asked: str) -> str:
    """What to write instead of what asks for values."""
    match asked:
        case "item" | "tolist" | "__float__" | "__int__" | "__index__":
            return _NUMBER
        case "__array__" | "__array_ufunc__" | "__setitem__" | "copy":
            return _ARRAY
        case "a text":
            return _TEXT
    return _PLAIN


def refuse_values(asked: str = "") -> NoReturn:
    """Refuse to tell the values of a traced tensor, which something asks for."""
    refuse(
        "needs the values of a tensor before the captured function runs",
        _instead(asked),
    )


def _refusing(name: str) -> Any:
    def method(self: object, *args: object, **options: object) -> NoReturn:
        refuse_values(name)

    return method


_OF_VALUES = ("__array_interface__", "__array_struct__")


class Unknown:
    """The shape and dtype of an array; everything else of it is refused at the user's line."""

    __slots__ = ("dtype", "shape")

    def __init__(self, type: TensorType) -> None:
        self.shape: Shape = type.shape
        self.dtype: DType = type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Size:
        """The number of elements."""
        return product(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> Size:
        """The bytes of all elements."""
        return self.size * self.itemsize

    def __len__(self) -> int:
        return operator.index(self.shape[0])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_") and name not in _OF_VALUES:
            raise AttributeError(name)  # what NumPy looks for, and does without
        if name in ("flags", "strides", "base", "data", "ctypes"):
            refuse(
                "depends on how a tensor lies in memory, which differs from call to call",
                "use reshape instead of view, and contiguous() or clone() where it matters",
            )
        refuse_values(name)

    def values(self, *args: object, **options: object) -> NoReturn:
        """Refuse to tell the values."""
        refuse_values()

    __array__ = __array_function__ = _refusing("__array__")
    __array_ufunc__ = _refusing("__array_ufunc__")
    __int__, __float__ = _refusing("__int__"), _refusing("__float__")
    __index__ = _refusing("__index__")
    __setitem__ = _refusing("__setitem__")
    __bool__ = __iter__ = __getitem__ = values
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = values
    __neg__ = __abs__ = __invert__ = __contains__ = values
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __pow__ = __rpow__ = values
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = values
    __matmul__ = __rmatmul__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = values
    __hash__ = None  # type: ignore[assignment]
