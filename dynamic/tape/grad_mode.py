"""Whether ops are recorded: per thread, switched by contexts that are also decorators."""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Generator
from typing import Any


class _Mode(threading.local):
    enabled = True
    inference = False
    depth = 0
    partial = 0
    packing: tuple[Any, ...] = ()
    no_packing: str | None = None
    mutation: Any = None
    task: Any = None
    number: int = -1
    callbacks: Any = None
    capture: Any = None
    autocast: Any = None


mode = _Mode()
"""The state of this thread.

Attributes:
    enabled: whether it records.
    inference: whether it is in inference mode.
    depth: how many reverse passes are running within each other.
    partial: the depth of the innermost one that was asked for certain `inputs`, or 0.
    packing: the pairs of functions that pack and unpack saved tensors, the last one in force.
    no_packing: why such functions are forbidden, or None.
    mutation: what may be mutated although it was saved (`dynamic.tape.mutation`), or None.
    task: the reverse pass that is running, if a hook over several tensors asks for it.
    number: that of the reverse pass that is running, or -1.
    callbacks: what is to be called when it has ended, or None.
    capture: the function that is being captured, a `dynamic.capture.Capture`, or None.
    autocast: the NumPy dtype that products are computed in, or None.
"""

paused: list[None] = []
"""Not empty while a thread does not record, is in inference mode, captures or casts: read before
`mode`, which takes ten times as long, so that what is empty costs nothing."""


copying: list[None] = []
"""Not empty while a thread may mutate saved tensors: read before `mode`, as `paused`."""


def record_if(enabled: bool) -> bool:
    """Set whether this thread records; whether it did before."""
    before = mode.enabled
    if enabled != before:
        mode.enabled = enabled
        if enabled:
            paused.pop()
        else:
            paused.append(None)
    return before


def recording() -> bool:
    """Whether this thread records: always if nothing is `paused`."""
    return mode.enabled and not mode.inference


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require grad are recorded in this thread.

    Example:
        >>> with dynamic.no_grad():
        ...     print(dynamic.is_grad_enabled())
        False
    """
    if mode.capture is not None and mode.enabled:
        return bool(mode.capture.records())
    return mode.enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread makes inference tensors: see `inference_mode`.

    Example:
        >>> with dynamic.inference_mode():
        ...     print(dynamic.is_inference_mode_enabled())
        True
    """
    if mode.capture is not None and not mode.inference:
        mode.capture.refuse_mode("is_inference_mode_enabled()")
    return mode.inference


def decorated(function: Callable[..., object], make: Callable[[], Any]) -> Callable[..., Any]:
    """`function` run in a context of its own; a generator only while it runs, not between."""
    if isinstance(function, type):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should "
            "only decorate functions or methods. To preserve the current behavior of class "
            "decoration, you can directly decorate the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: object, **kwargs: object) -> Generator[Any, Any, Any]:
            return (yield from _steps(function(*args, **kwargs), make))

        return generate

    @functools.wraps(function)
    def switched(*args: object, **kwargs: object) -> Any:
        with make():
            return function(*args, **kwargs)

    return switched


def _steps(
    generator: Generator[Any, Any, Any], make: Callable[[], Any]
) -> Generator[Any, Any, Any]:
    advance: Callable[[], Any] = functools.partial(next, generator)
    while True:
        try:
            with make():
                value = advance()
        except StopIteration as stop:
            return stop.value
        try:
            sent = yield value
            advance = functools.partial(generator.send, sent)
        except GeneratorExit:
            with make():
                generator.close()
            raise
        except BaseException as error:
            advance = functools.partial(generator.throw, error)


class _Switch:
    """A context that sets the mode on entry and puts the old one back on exit; a decorator too."""

    enabled = True

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(record_if(self.enabled))
        self._tell()

    def _tell(self) -> None:
        """Tell a capture that recording was switched on."""
        if self.enabled and paused and mode.capture is not None:
            mode.capture.switched_on()

    def __exit__(self, *exception: object) -> None:
        record_if(self._before.pop())

    def clone(self) -> _Switch:
        """Another context of the kind."""
        return type(self)()

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        """`function`, run in such a context."""
        return decorated(function, self.clone)


class no_grad(_Switch):  # noqa: N801 - PyTorch's name
    """Inside, results do not require grad; `@no_grad` and `@no_grad()` decorate.

    Example:
        >>> x = dynamic.ones(2, requires_grad=True)
        >>> with dynamic.no_grad():
        ...     print((2 * x).requires_grad)
        False
    """

    enabled = False

    def __new__(cls, function: Callable[..., object] | None = None) -> Any:
        """The context, or `function` decorated with it."""
        return super().__new__(cls) if function is None else cls()(function)


class enable_grad(no_grad):  # noqa: N801 - PyTorch's name
    """Inside, ops are recorded again, within `no_grad`; `@enable_grad` decorates too.

    Example:
        >>> x = dynamic.ones(2, requires_grad=True)
        >>> with dynamic.no_grad(), dynamic.enable_grad():
        ...     print((2 * x).requires_grad)
        True
    """

    enabled = True


class set_grad_enabled(_Switch):  # noqa: N801 - PyTorch's name
    """Switch recording on or off: at once, and back when a `with` block ends.

    Example:
        >>> with dynamic.set_grad_enabled(False):
        ...     print(dynamic.is_grad_enabled())
        False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.enabled = bool(mode)
        self._outside = record_if(self.enabled)

    def __enter__(self) -> None:
        self._before.append(self._outside)
        record_if(self.enabled)
        self._tell()

    def clone(self) -> _Switch:
        """A context that sets the same mode."""
        switch = _Switch()
        switch.enabled = self.enabled
        return switch

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        """`function`, run in this mode; the mode outside stays as it was."""
        record_if(self._outside)
        return super().__call__(function)


class inference_mode:  # noqa: N801 - PyTorch's name
    """Inside, nothing is recorded and new tensors are inference tensors, which never can be.

    `inference_mode(False)` leaves the mode. A context, and a decorator with or without a call.

    Example:
        >>> x = dynamic.ones(2, requires_grad=True)
        >>> with dynamic.inference_mode():
        ...     print((2 * x).is_inference())
        True
    """

    def __new__(cls, mode: bool | Callable[..., object] = True) -> Any:
        """The context, or a function decorated with it."""
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        paused.append(None)  # whatever is switched inside
        self._before.append((record_if(not self.mode), mode.inference))
        mode.inference = self.mode

    def __exit__(self, *exception: object) -> None:
        enabled, mode.inference = self._before.pop()
        record_if(enabled)
        paused.pop()

    def clone(self) -> Any:
        """Another context of the kind."""
        return type(self)(self.mode)

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        """`function`, run in such a context."""
        return decorated(function, self.clone)
