"""Compilation in a thread of its own, one at a time.

Compiling threads are no daemons: a process that ends waits for the one that compiles, because
native code must not run while the process is taken down; those that wait for their turn give up. A
fork waits likewise, since a child would inherit the compiler's locks from a thread that it does not
have; what was not begun is begun again in the child when it is asked for.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import CompileError

T = TypeVar("T")


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Do work in a thread of its own as long as the block runs, and wait for its end.

    For what is kept when it is made, such as code that all kernels share: an error is raised when
    it is asked for again. The block gets what waits for the end.
    """

    def run() -> None:
        with suppress(Exception):
            work()

    thread = threading.Thread(target=run, name="compile shared code")
    thread.start()
    try:
        yield thread.join
    finally:
        thread.join()


_compiling = threading.RLock()
_unfinished: weakref.WeakSet[Compilation[Any]] = weakref.WeakSet()


class Compilation(Generic[T]):
    """A value that a thread makes; `meanwhile` says what happens as long as it is not there."""

    def __init__(
        self, make: Callable[[], T], name: str, meanwhile: str = "calls run op by op"
    ) -> None:
        self._make: Callable[[], T] | None = make
        self._name = name
        self._meanwhile = meanwhile
        self._value: T | None = None
        self._error: BaseException | None = None
        self._told = False
        self._done = threading.Event()
        self._begun = False
        _unfinished.add(self)
        self._begin()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            threading.Thread(target=self._run, name=f"compile {self._name}").start()

    def forget_thread(self) -> None:
        """In a child: there is no thread, and whoever waited is not there either."""
        self._done = threading.Event()
        self._begun = False

    def _run(self) -> None:
        with _compiling:
            try:
                if not threading.main_thread().is_alive():
                    raise CompileError(f"{self._name}: the interpreter ends")
                assert self._make is not None
                self._value = self._make()
            except BaseException as error:
                self._error = error
            self._make = None
            _unfinished.discard(self)
            self._done.set()

    @property
    def ready(self) -> bool:
        """Whether the value is there."""
        return self._done.is_set() and self._error is None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the value is there, or for some seconds; whether it is.

        Raises:
            CompileError: it will never be there; the cause is what was raised.
        """
        self._begin()
        self._done.wait(timeout)
        if self._error is not None:
            raise self._failure() from self._error
        return self.ready

    def value(self) -> T:
        """The value, waited for."""
        self.wait()
        assert self._value is not None
        return self._value

    def tell(self) -> None:
        """CompileError if the value will never be there, the first time that this is called."""
        self._begin()
        if self._error is not None and not self._told:
            self._told = True
            raise self._failure() from self._error

    def _failure(self) -> CompileError:
        return CompileError(
            f"{self._name}: compiling in the background failed, so {self._meanwhile}: "
            f"{type(self._error).__name__}: {self._error}"
        )


def _forget_threads() -> None:
    for compilation in list(_unfinished):
        compilation.forget_thread()


fork.hold(fork.Rank.COMPILING, _compiling)
fork.after_in_child(_forget_threads)
