"""What a size that is unknown until run time is not for: errors, which end a trace."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

from staticgraph.compiler.core.errors import OptionError, StaticGraphError
from staticgraph.compiler.core.refusals import remembered

_NUMBER = (
    "as a number of a graph it is sg.constant(np.float32(1)) times it, of which {} can be taken"
)
_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "divmod": divmod,
    "divide": operator.truediv, "power": operator.pow, "negative": operator.neg,
    "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
    "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
}  # fmt: skip
"""What NumPy's integers ask of a size beside them."""

Refused = TypeVar("Refused", bound=StaticGraphError)


class Refusals:
    """A size of which only integer arithmetic is known.

    A trace that the error ends is made again with the size known, which it has in `needs`.
    """

    __slots__ = ()

    def _text(self) -> str:
        """The size as it is written."""
        raise NotImplementedError

    def atoms(self) -> set[Any]:
        """The unknowns that the size depends on."""
        raise NotImplementedError

    def __copy__(self) -> Self:  # what never changes is its own copy
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __bool__(self) -> bool:
        raise self._refusal("it has no truth value")

    def __index__(self) -> int:
        raise self._refusal("it cannot be used as an int")

    def __float__(self) -> float:
        raise self._refusal(f"it cannot be used as a float: {_NUMBER.format('any function')}")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: object) -> Any:
        """Arithmetic with NumPy's integers; what else NumPy would compute is refused."""
        name = ufunc.__name__
        arithmetic = _ARITHMETIC.get(name)
        if not all(isinstance(one, Number | Refusals) for one in inputs):
            if name in ("equal", "not_equal"):  # no array is a size
                return name == "not_equal"
            self._refuse(f"given to np.{name} with an array")
        if arithmetic is None or method != "__call__" or options:
            raise self._refusal(f"np.{name} cannot compute with it: {_NUMBER.format(f'sg.{name}')}")
        return arithmetic(*(one.item() if isinstance(one, np.generic) else one for one in inputs))

    def _compared(self, other: object) -> NoReturn:
        raise self._refusal("it cannot be ordered")

    def _refuse(self, what: str) -> NoReturn:
        raise self._refusal(f"it cannot be {what}: declare the size where it has to be known")

    def _refusal(self, why: str) -> OptionError:
        error = OptionError(f"the size {self._text()} is unknown until run time: {why}")
        return remembered(needing(error, [self]))

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def _unable(self, what: str, other: object) -> Any:
        """NotImplemented, for `other` may know; OptionError where the result would be no size."""
        if isinstance(other, Number | np.ndarray):
            self._refuse(f"{what} {other!r:.40}")
        return NotImplemented

    def __truediv__(self, other: object) -> Any:
        if isinstance(other, Refusals):
            self._refuse(f"divided but with // by {other._text()}")
        return self._unable("divided but with // by", other)

    def __rtruediv__(self, other: object) -> Any:
        return self._unable("what divides", other)

    def __pow__(self, other: object) -> Any:
        return self._unable("raised to the power", other)

    def __rpow__(self, other: object) -> Any:
        return self._unable("the power of", other)

    def __abs__(self) -> NoReturn:
        self._refuse("made positive")

    def __round__(self, digits: object = None) -> NoReturn:
        self._refuse("rounded")

    def __format__(self, form: str) -> str:
        if form:
            self._refuse(f"made a text by {form!r}")
        return str(self)


def needing(error: Refused, sizes: Iterable[object]) -> Refused:
    """The error, which says that the unknown ones of these sizes would have to be numbers."""
    error.needs = frozenset(
        atom for size in sizes if isinstance(size, Refusals) for atom in size.atoms()
    )
    return error
