"""Executables whose calls run op by op with NumPy: while a kernel is compiled, or to debug."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from compiler.compile import compile_graph
from compiler.core.errors import OptionError
from compiler.core.options import Options
from compiler.graph.definition import Definition
from compiler.graph.expression import Expression
from compiler.inspect.debug import NonFinite, Step, step_of
from compiler.inspect.interpreted import Interpreted, interpreting
from compiler.pipeline import pipeline
from compiler.runtime.background import Compilation
from compiler.runtime.sizes import feeds_of
from staticgraph.executables.executable import Executable

_FIELDS = frozenset(field.name for field in dataclasses.fields(Executable))


def run_op_by_op(
    definition: Definition,
    restructure: Callable[[list[Any]], Any],
    name: str,
    options: Options,
    background: bool,
    debug: bool | Callable[[Step], None],
) -> Executable:
    """An executable that runs op by op: for ever in debug mode, or until a kernel is there."""
    if not isinstance(debug, bool) and not callable(debug):
        raise OptionError(f"compile: debug is True, False or a function of steps, not {debug!r}")
    if background and debug:
        raise OptionError("compile: debug compiles nothing that could be left to the background")
    pipeline(options.numerics, options.disabled)  # what it raises, it raises here
    interpreted = Interpreted(definition, feeds_of(definition), restructure, name)
    if debug:
        return DebugExecutable(interpreted, options, debug if callable(debug) else None)

    def make() -> Executable:
        executable = compile_graph(definition, restructure, name, options, Executable)
        executable.waits = False
        return executable

    return BackgroundExecutable(interpreted, options, make)


class BackgroundExecutable(Executable):
    """An executable whose calls run op by op until its kernel is compiled.

    What needs the kernel (`source`, `plan`, `lowered`, ...) waits for it.
    """

    __slots__ = ("_compilation", "_interpreted", "_switched")

    def __init__(
        self, interpreted: Interpreted, options: Options, make: Callable[[], Executable]
    ) -> None:
        self._switched = False
        self._interpreted = interpreted
        _describe(self, interpreted, options)
        self._compilation = Compilation(make, self.name)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run on arrays, by the kernel if it is there.

        Raises:
            CompileError: once, if it cannot be compiled; later calls run op by op.
        """
        if not self._switched:
            self._compilation.tell()
            with interpreting:
                if not self._switch():
                    return self._interpreted.run(args, kwargs)
        return super().__call__(*args, **kwargs)

    @property
    def ready(self) -> bool:
        """Whether calls run compiled code."""
        return self._compilation.ready

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until calls run compiled code, or for some seconds; whether they do.

        Raises:
            CompileError: they never will; the cause is what was raised in the background.
        """
        return self._compilation.wait(timeout)

    def _over(self, definition: Definition) -> Executable:
        with interpreting:
            if self._switch():
                return super()._over(definition)
        return run_op_by_op(
            definition, self.restructure, self.name, self.options, background=True, debug=False
        )

    def __reduce__(self) -> Any:
        return self.remake, (*self._made_of(), True, False)

    def _switch(self) -> bool:
        """Become what was compiled, if it is there; under the lock, so that no call is running."""
        if not self._switched and self._compilation.ready:
            compiled = self._compilation.value()
            for name in _FIELDS:
                setattr(self, name, getattr(compiled, name))
            self._switched = True
        return self._switched

    def __getattr__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise AttributeError(f"{self.name}: no attribute {name!r}")
        self._compilation.wait()
        with interpreting:
            self._switch()
        return getattr(self, name)


class DebugExecutable(Executable):
    """An executable that runs op by op with NumPy and shows what it does; it has no kernel."""

    __slots__ = ("_interpreted", "_not_finite", "_show")

    def __init__(
        self, interpreted: Interpreted, options: Options, show: Callable[[Step], None] | None
    ) -> None:
        self._interpreted = interpreted
        self._not_finite = NonFinite()
        self._show = show
        _describe(self, interpreted, options)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run on arrays. What an op raises names the op and the user's line.

        Raises:
            NonFiniteWarning (a warning): inf or nan came out of finite operands.
        """
        return self._interpreted.run(args, kwargs, self._observe)

    def _over(self, definition: Definition) -> Executable:
        debug = self._show or True
        return run_op_by_op(
            definition, self.restructure, self.name, self.options, background=False, debug=debug
        )

    def __reduce__(self) -> Any:
        return self.remake, (*self._made_of(), False, self._show or True)

    def _observe(self, node: Expression, operands: Sequence[Any], value: Any) -> None:
        if self._show is not None:
            self._show(step_of(node, operands, value))
        self._not_finite(node, operands, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{self.name} runs op by op (debug), without a kernel: no attribute {name!r}"
        )


def _describe(executable: Executable, interpreted: Interpreted, options: Options) -> None:
    executable.definition = interpreted.definition
    executable.options = options
    executable._graph = None
    executable.feeds = interpreted.feeds
    executable.restructure = interpreted.restructure
    executable.name = interpreted.name
