"""What there is to see of a captured function: its traces, and what its calls run."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.notebook import preformatted
from staticgraph.compiler.core.op import Operand
from staticgraph.executables.executable import Executable
from staticgraph.tracing.calls import Call, Signature
from staticgraph.tracing.compiled import Compiled
from staticgraph.tracing.followed import following
from staticgraph.tracing.lookups import OfFunction, of_globals
from staticgraph.tracing.signature import Arguments, take_apart
from staticgraph.tracing.tracing import Trace

if TYPE_CHECKING:
    import staticgraph.compiler.inspect.debug
    from staticgraph.compiler.inspect.origins import Replay
    from staticgraph.compiler.inspect.profile_table import Profile
    from staticgraph.view import View

_OF_STEP = frozenset({"break_at", "commands", "stdin", "stdout"})
_OF_TRACE = frozenset({"rewrites", "iterations"})


class InspectedFunction:
    """A captured function for those who look into it; `Function` is what can be called as well.

    Attributes:
        name: what messages call it.
    """

    name: str
    _f: Callable[..., Any]
    _ordered: bool
    _signatures: dict[Any, Signature]

    def _find(self, found: Arguments) -> tuple[Call, list[Any]]:
        """What serves a call, and its operands: arrays, then tensors of modules."""
        raise NotImplementedError

    def _arrays(
        self, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[Call, Any, list[Any]]:
        """What serves a call, one of its tensors or None, and the inputs of its executable."""
        call, tensor, arrays = self._operands(args, kwargs)
        return call, tensor, list(call.compiled.part.needed(arrays))

    def _operands(
        self, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[Call, Any, list[Any]]:
        """What serves a call, one of its tensors or None, and an array per input of its trace."""
        call, operands = self._find(take_apart(self.name, args, dict(kwargs), self._ordered))
        operands = call.compiled.complete(operands)
        tensor = next((x for x in operands if isinstance(x, Operand)), None)
        return call, tensor, operands if tensor is None else list(tensor._arrays(operands))

    def executable(self, /, *args: object, **kwargs: object) -> Executable:
        """The executable that a call with these arguments runs: its graph, source and plan.

        Example:
            >>> f = sg.function(lambda x: x / sg.sum(x), name="share")
            >>> f.executable(np.array([1.0, 3.0]))
            <executable share(x: float64[x.0])>
        """
        return self.captured(*args, **kwargs)[0].part.executable

    def _repr_html_(self) -> str:
        traces = "".join(f"\n  {trace}" for trace in self.traces) or "\n  not called yet"
        return preformatted(repr(self) + traces)

    @property
    def plain(self) -> Callable[..., Any]:
        """The function that was given.

        Example:
            >>> f = sg.function(abs)
            >>> f.plain is abs
            True
        """
        return self._f

    def captured(self, /, *args: object, **kwargs: object) -> tuple[Compiled, list[Any]]:
        """What serves a call with these arguments, and its operands, one per input of the trace:
        arrays and tensors, then the tensors of modules, of the surroundings, and random numbers.

        Example:
            >>> f = sg.function(lambda x: x / sg.sum(x), name="share")
            >>> compiled, operands = f.captured(np.array([1.0, 3.0]))
            >>> print(compiled.trace, len(operands))
            share(float64[x.0]) -> float64[x.0] 1
        """
        call, operands = self._call_of(args, kwargs)
        return call.compiled, call.compiled.complete(operands)

    def _call_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Call, list[Any]]:
        """What serves a call, and the operands that it begins with."""
        return self._find(take_apart(self.name, args, kwargs, self._ordered))

    def view(self, path: str | os.PathLike[str] | None = None, *, inputs: Sequence[object]) -> View:
        """A page about what a call with these arguments runs: see `Executable.view`.

        Example:
            >>> f = sg.function(lambda x: x / sg.sum(x), name="share")
            >>> page = f.view("share.html", inputs=(np.array([1.0, 3.0]),))
        """
        call, _, arrays = self._arrays(tuple(inputs), {})
        return call.compiled.part.executable.view(path, inputs=tuple(arrays))

    def step(self, /, *args: object, **kwargs: Any) -> Any:
        """Run the kernel of a call as plain Python under pdb: see `Executable.step`.

        Args:
            args, kwargs: those of a call; and `break_at`, `commands`, `stdin` and `stdout`, which
                are not the function's here.

        Returns:
            What the call returns, but for rounding, tensors without a history; None if it was left.

        Example:
            >>> f = sg.function(lambda x: x / sg.sum(x), name="share")
            >>> f.step(np.array([1.0, 3.0]), commands=["continue"])
            > <kernel share>(...)run()
            -> n0, = sizes("x", x, 1)
            (Pdb) continue
            array([0.25, 0.75])
        """
        from staticgraph.compiler.export.stepping import Session

        session = Session(**{name: kwargs.pop(name) for name in _OF_STEP & kwargs.keys()})
        with following():
            call, tensor, every = copy.copy(self)._operands(args, kwargs)
        part, trace = call.compiled.part, call.compiled.trace
        names = OfFunction(trace, every), of_globals(self._f)
        found = part.executable._stepped(part.needed(every), {}, session, names)
        if found is None:
            return None
        results = [found] if call.compiled.single else found
        return call.assemble(results if tensor is None else list(map(tensor._constant, results)))

    def replay(self, /, *args: object, **kwargs: object) -> Replay:
        """Where inf and nan come from: see `Executable.replay`.

        Without arguments, in the last call that `on_nonfinite` was told of, whatever it was given,
        or in its reverse pass; with "report" in the last call. With arguments, in such a call, with
        what the function reads beside them as it is now.

        Raises:
            OptionError: there are no arguments, and it was not called, or no call was found to be
                inf or nan.

        Example:
            >>> f = sg.function(lambda x: sg.sum(sg.log(x)), name="f", on_nonfinite="report")
            >>> f(np.array([1.0, 0.0]))
            array(-inf)
            >>> f.replay().first.op, f.replay(np.array([1.0, 2.0])).causes
            ('log', ())
        """
        if args or kwargs:
            call, _, arrays = self._arrays(args, kwargs)
            return call.compiled.part.executable.replay(*arrays)
        executables = [one for found in self._signatures.values() for one in found.executables()]
        if not executables:
            raise OptionError(
                f"{self.name}: it has not been called: give replay the inputs of a call"
            )
        told = [one for one in executables if _told(one)]
        if not told:
            raise OptionError(
                f"{self.name}: no call was inf or nan that function(..., on_nonfinite=...) was "
                "told of: give replay the inputs of a call"
            )
        return max(told, key=_told).replay()

    def trace(self, /, *args: object, **kwargs: Any) -> staticgraph.compiler.inspect.debug.Trace:
        """Every intermediate value of a call, op by op: see `Executable.trace`.

        Args:
            args, kwargs: those of a call; and `rewrites` and `iterations`, which are not the
                function's here.

        Example:
            >>> f = sg.function(lambda x: sg.sin(x * x))
            >>> print(f.trace(np.array([3.0])))
            multiply(float64[1], float64[1]) = float64[1] [9.]  (...)
            sin(float64[1]) = float64[1] [0.412118]  (...)
        """
        options = {name: kwargs.pop(name) for name in _OF_TRACE & kwargs.keys()}
        call, _, arrays = self._arrays(args, kwargs)
        return call.compiled.part.executable.trace(*arrays, **options)

    def profile(self, /, *args: object, **kwargs: object) -> Profile:
        """How long each step of what a call runs takes: see `Executable.profile`.

        What is done after the compiled part, such as the step of an optimizer, is none of them.

        Example:
            >>> f = sg.function(lambda x: x * x)
            >>> [step.ops for step in f.profile(np.ones(8)).steps]
            [('multiply',)]
        """
        call, _, arrays = self._arrays(args, kwargs)
        return call.compiled.part.executable.profile(*arrays)

    @property
    def traces(self) -> list[Trace]:
        """What was traced so far: more than one of a kind where sizes have to be known.

        Example:
            >>> f = sg.function(lambda x: x / sg.sum(x))
            >>> f(np.array([1.0, 3.0])), f(np.array([1.0, 1.0, 2.0]))
            (array([0.25, 0.75]), array([0.25, 0.25, 0.5 ]))
            >>> len(f.traces)
            1
        """
        return [trace for one in self._signatures.values() for trace in one.traces()]


def _told(executable: Executable) -> int:
    """When it was told of inf or nan, or keeps the inputs of a call; 0 if never."""
    lost = executable.runner.lost
    return 0 if lost is None else lost.when
