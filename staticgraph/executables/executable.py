"""The executable: a compiled graph that is run many times and cannot be modified."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NoReturn, final

from staticgraph.compiler.compile import compile_graph, is_cached
from staticgraph.compiler.core import fork, provided
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.graph.state import State, holding
from staticgraph.compiler.runners.compiled import CompiledRunner
from staticgraph.compiler.runners.runner import Runner
from staticgraph.compiler.runtime.workspace import Workspace
from staticgraph.executables.inspected import Inspected

if TYPE_CHECKING:
    from staticgraph.compiler.inspect.debug import Step
    from staticgraph.compiler.inspect.lost import Keeper
    from staticgraph.executables.scipy_functions import ForScipy
else:  # what hints say: its class is imported when it is asked for
    ForScipy = object

_set = object.__setattr__  # what nobody else can


def executable_of(
    definition: Definition,
    restructure: Callable[[list[Any]], object],
    name: str,
    options: Options,
    background: bool,
    debug: bool | Callable[[Step], None],
) -> Executable:
    """An executable for a definition, with a runner for what `background` and `debug` say.

    Raises:
        OptionError: an option has a value that it cannot have.
    """
    runner: Runner
    if debug is not False or (background and not is_cached(definition, options)):
        with fork.importing():
            from staticgraph.executables.interpreted import run_op_by_op

        runner = run_op_by_op(definition, restructure, name, options, background, debug)
    else:
        runner = compile_graph(definition, restructure, name, options, waits=not background)
    return Executable(definition, restructure, name, options, runner)


def do_before_first_call(executable: Executable, tell: Callable[[], None] | None) -> None:
    """Have the first call begin with `tell`."""
    _set(executable, "before_first_call", tell)


def look_at_losses(executable: Executable, places: Collection[int], tells: bool) -> None:
    """Have calls looked at of which one of the outputs at `places`, numbers, is inf or nan.

    `tells`: whether to warn of the first one.
    """
    runner = executable.runner
    if places and isinstance(runner, CompiledRunner) and runner.lost is None:
        from staticgraph.compiler.inspect.loss import Loss

        runner.loss = Loss(places, tells)


def lost_loss(executable: Executable) -> tuple[str, str] | None:
    """Where the last call of which a loss was inf or nan made it so, if that is known."""
    runner = executable.runner
    if not isinstance(runner, CompiledRunner) or runner.loss is None:
        return None
    return runner.loss.explained(lambda args: runner.replay(args, {}))


@final
class Executable(Inspected):
    """A compiled graph: a function of arrays that cannot be modified; made by `compile`.

    A copy (`copy.copy`, `copy.deepcopy`, `pickle`) has variables of its own, with the values that
    they have now; a deep copy, or a pickle, of executables and variables together keeps what they
    share. What is unpickled is compiled again, or comes from the kernel cache.

    Attributes:
        definition: what it computes.
        restructure: what puts a list of results into the structure that was compiled.
        name: what messages call it.
        options: how it was compiled.
        runner: what runs calls; of a `CompiledRunner` the direct path has also `_kernel`, itself,
            and `_idle`, its workspaces; `_is_plain`: whether a call gives a list.
        before_first_call: what the lint does then, or None.

    Example:
        >>> x = sg.placeholder("x", (None,), "float64")
        >>> f = sg.compile([x], {"square": x * x}, name="f")
        >>> f(np.array([3.0]))
        {'square': array([9.])}
    """

    __slots__ = (
        "_idle", "_is_plain", "_kernel", "before_first_call", "definition", "name", "options",
        "restructure", "runner",
    )  # fmt: skip

    before_first_call: Callable[[], None] | None
    _idle: list[Workspace]
    _is_plain: bool
    _kernel: CompiledRunner

    def __init__(
        self,
        definition: Definition,
        restructure: Callable[[list[Any]], object],
        name: str,
        options: Options,
        runner: Runner,
    ) -> None:
        _set(self, "definition", definition)
        _set(self, "restructure", restructure)
        _set(self, "name", name)
        _set(self, "options", options)
        _set(self, "runner", runner)
        _set(self, "before_first_call", None)
        _set(self, "_idle", [])
        _set(self, "_is_plain", restructure is list)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self.name}: an executable cannot be modified: no {name!r} is set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self.name}: an executable cannot be modified: {name!r} stays")

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        """Run on arrays, by position or by the placeholders' names.

        Args:
            out: unless a placeholder has this name: where the results go, an array or a list or
                tuple of arrays in the order of the outputs; None for new arrays. Each is row-major,
                writable, of the shape and dtype of its output, and shares no memory with another,
                with an input, a variable or a constant.

        Returns:
            New arrays, or those of `out`, in the structure that was compiled. Variables are updated
            in place.

        Raises:
            FeedError, DTypeError, ShapeError: the inputs or `out` do not fit; nothing was updated.
            OutOfRangeError: an index operand points outside its axis; no variable was updated, but
                arrays of `out` may have been written to.
            CompileError: once, if it could not be compiled in the background; later calls run op by
                op.
            KeyboardInterrupt, or what else the handler of a signal raises: the same.

        A call that takes long lets other threads go on. Calls that use a variable follow one
        another.
        """
        if kwargs:
            runner = self._kernel if self._idle else self._caller()
            return runner.run(args, kwargs)
        try:
            workspace = self._idle.pop()
        except IndexError:  # all are in use, or there was no call yet, or there is no kernel
            pass  # what is raised from here on does not come of this
        else:
            # as `CompiledRunner.run`, without that call: a tenth of the time of a small kernel
            try:
                results = workspace.call(*args)
                if results.__class__ is not list:
                    results = self._kernel.run_checked(workspace, args, results)
            finally:
                self._idle.append(workspace)
            return results if self._is_plain else self.restructure(results)
        return self._caller().run(args, kwargs)

    def _caller(self) -> Runner | Keeper:
        """What runs a call that does not take the direct path."""
        runner = self._settled()
        if self.options.on_nonfinite != "report" or isinstance(runner, CompiledRunner):
            return runner
        from staticgraph.compiler.inspect.lost import Keeper

        return Keeper(runner)

    def _settled(self) -> Runner:
        """What runs calls from now on."""
        if self.before_first_call is not None:
            tell = self.before_first_call
            _set(self, "before_first_call", None)
            tell()
        _set(self, "runner", self.runner.settled)
        if isinstance(self.runner, CompiledRunner):
            _set(self, "_kernel", self.runner)
            _set(self, "_idle", self.runner.idle)
        return self.runner

    def __repr__(self) -> str:
        feeds = ", ".join(f"{feed.name}: {feed.type}" for feed in self.feeds)
        return f"<executable {self.name}({feeds})>"

    def __copy__(self) -> Executable:
        return self._over(self._copied(copy.copy))

    def __deepcopy__(self, memo: dict[int, Any]) -> Executable:
        return self._over(self._copied(lambda state: copy.deepcopy(state, memo)))

    def _copied(self, copied: Callable[[State], State]) -> Definition:
        """The definition over copies of the variables, which nobody changes meanwhile."""
        with holding([one.state for one in self.variables.values()], changes=False):
            return self.definition.with_states(copied)

    def _over(self, definition: Definition) -> Executable:
        """The same over other variables."""
        runner = self._settled().over(definition)
        return Executable(definition, self.restructure, self.name, self.options, runner)

    def __reduce__(self) -> Any:
        made_of = (self.definition, self.restructure, self.name, self.options)
        return executable_of, (*made_of, *self.runner.mode)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph, its variables and its options to a file: see `staticgraph.save`.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> sg.compile([x], x * x).save("square.sg")
            >>> sg.load("square.sg")(np.array([3.0]))
            array([9.])
        """
        from staticgraph.executables.saving import save

        save(self, path)

    def export(self, path: str | os.PathLike[str], /, *inputs: object) -> None:
        """Write the kernel as one file of readable Python that needs NumPy and Numba only.

        The file has the kernel functions of `source`, what they call, and a function `run` that
        calls them on arrays of any size that the executable takes. `python kernel.py` runs it on
        the inputs, prints the results and compares them with the executable's;
        `NUMBA_DISABLE_JIT=1 python kernel.py` does so in plain Python, for a debugger. Nothing is
        updated. Results are the executable's but for rounding, and one thread computes them.

        Args:
            path: of the file, a module's name and `.py`. Inputs, variables and large constants go
                to a file of arrays beside it, `kernel_inputs.npz`.
            inputs: arrays, as a call takes them; without them the file does not run by itself.

        Raises:
            OptionError: the path is not that of a module, or a step is no Python that stands by
                itself: its op and your line are named.
            FeedError, DTypeError, ShapeError: the inputs do not fit.
            AttributeError: it runs op by op (`debug`), without a kernel.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> sg.compile([x], x * x).export("square.py", np.array([3.0]))
        """
        from staticgraph.compiler.export.kernel_file import export

        runner = self.runner.compiled("export").unchecked()
        export(runner, path, inputs, runner.over(self._copied(copy.copy), list))

    def scipy(self, start: object = None, /, **data: object) -> ForScipy:
        """It as SciPy's solvers call functions: of one vector, with its derivatives.

        The output is a number, to be minimised or integrated, or a vector, such as residuals or
        constraints.

        Args:
            start: where the parameters start: an array, where there is one; a dict of arrays by the
                inputs' names; or Variables of the graph, a list of them, or as keys of the dict.
            data: the values of all other inputs.

        Returns:
            Its `x0` is the vector to start from, `fun`, `jac`, `value_and_grad`, `hess`, `hessp`
            and `operator` are for SciPy, `unpack(result.x)` gives the parameters again, and
            `assign(result.x)` those that are Variables.

        Raises:
            OptionError: it updates variables, or the parameters are not those of floats.
            OutputError: there is more than one output, or it is no number and no vector.
            FeedError: an input has no value, or there is no such input.
            ShapeError: a parameter starts with another shape.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> f = sg.compile([x], sg.sum((x - 1.0) ** 4)).scipy(np.zeros(3))
            >>> f.value_and_grad(f.x0)
            (3.0, array([-4., -4., -4.]))
            >>> from scipy.optimize import minimize
            >>> found = minimize(f.value_and_grad, f.x0, (), "trust-ncg", True, hessp=f.hessp)
            >>> bool(found.fun < 1e-6)
            True
        """
        found: ForScipy = provided.for_scipy(self, start, data)
        return found

    @property
    def ready(self) -> bool:
        """Whether calls run compiled code: False only while it is compiled in the background.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> f = sg.compile([x], x * x, background=True)
            >>> f(np.array([3.0])), f.wait(), f.ready
            (array([9.]), True, True)
        """
        return self.runner.ready

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until calls run compiled code, or for some seconds; whether they do.

        Raises:
            CompileError: they never will; the cause is what was raised in the background.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> f = sg.compile([x], x * x, background=True)
            >>> f.wait()
            True
        """
        return self.runner.wait(timeout)
