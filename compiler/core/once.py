"""Values that are made once in a process, although several threads may ask for them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """A function whose values are kept: every call with the same arguments gets the same object.

    For what addresses are taken of. `functools.cache` may give two threads an object each if both
    ask first, and forgets one of them, whose memory is then freed while its address is in use. Here
    both may make one too, but the one that is kept is given to both.

    Attributes:
        make: makes the value for some positional arguments.
        values: those that were made, by their arguments.
    """

    def __init__(self, make: Callable[..., T]) -> None:
        self.make = make
        self.values: dict[tuple[Any, ...], T] = {}
        self.__doc__ = make.__doc__

    def __call__(self, *args: object) -> T:
        """The value for these arguments."""
        if args not in self.values:
            self.values.setdefault(args, self.make(*args))
        return self.values[args]
