"""The executable as this frontend hands it out: it can also be drawn, traced and saved."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from compiler import executable
from compiler.graph.definition import Definition
from compiler.graph.state import State, holding
from staticgraph.leaves import Variable

if TYPE_CHECKING:
    from compiler.inspect.debug import Trace
    from staticgraph.draw import Drawing


class Executable(executable.Executable):
    """A compiled graph: a function of arrays that cannot be modified; made by `compile`.

    A copy (`copy.copy`, `copy.deepcopy`, `pickle`) has variables of its own, with the values that
    they have now; a deep copy, or a pickle, of executables and variables together keeps what they
    share. What is unpickled is compiled again, or comes from the kernel cache.

    Example:
        >>> x = sg.placeholder("x", (None,), "float64")
        >>> f = sg.compile([x], {"square": x * x}, name="f")
        >>> f(np.array([3.0]))
        {'square': array([9.])}
    """

    __slots__ = ()

    remake: ClassVar[Callable[..., Executable]]
    """What a pickle calls: `executable_of`, which `staticgraph.compilation` sets as it makes
    executables of every kind."""

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
        made = Executable(
            definition, self.image, self.native, self.feeds, self.restructure, self.name,
            self.options, self.compile,
        )  # fmt: skip
        made.waits = self.waits
        return made

    def __reduce__(self) -> Any:
        return self.remake, (*self._made_of(), not self.waits, False)

    def _made_of(self) -> tuple[Any, ...]:
        return self.definition, self.restructure, self.name, self.options

    @property
    def variables(self) -> dict[str, Variable]:
        """The variables that it reads or updates by their names, in the order of the graph.

        Those without a name are called `variable 0`, ...; a number is put behind a name that came
        before.

        Example:
            >>> count = sg.variable(np.array([0.0]), "count")
            >>> sg.compile([], count, updates={count: count + 1}).variables
            {'count': <variable 'count': float64[1]>}
        """
        found: dict[str, Variable] = {}
        for node in self.definition.nodes:
            if node.op.name == "variable":
                name = node.name or f"variable {len(found)}"
                while name in found:
                    name = f"{name} ({len(found)})"
                found[name] = Variable(node.op, (), node.attrs, node.name, node.source)
        return found

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

    def export(self, path: str | os.PathLike[str], /, *inputs: Any) -> None:
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
        from compiler.export.kernel_file import export

        self.wait()
        export(self, path, inputs, copy.copy(self))

    @property
    def ready(self) -> bool:
        """Whether calls run compiled code: False only while it is compiled in the background.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> f = sg.compile([x], x * x, background=True)
            >>> f(np.array([3.0])), f.wait(), f.ready
            (array([9.]), True, True)
        """
        return True

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
        return True

    def trace(self, /, *args: Any, **kwargs: Any) -> Trace:
        """Every intermediate value for some inputs, op by op with NumPy as in debug mode.

        Nothing is updated. `print(executable.trace(...))` lists each op of the graph as it was
        defined, with the type and range of its value and the line that it comes from.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> print(sg.compile([x], sg.sin(x * x)).trace(np.array([3.0])))
            multiply(float64[1], float64[1]) = float64[1] [9.]  (...)
            sin(float64[1]) = float64[1] [0.412118]  (...)
        """
        from compiler.inspect.debug import trace

        return trace(self.definition, self.feeds, self.name, args, kwargs)

    def draw(self, path: Any = None, **options: Any) -> Drawing:
        """Draw the graph as it was defined, to an SVG, PNG or PDF file if a path is given.

        Args:
            path: where to save; the suffix decides the format.
            options: `values`, `gradients` and `title`, as `staticgraph.draw.draw` takes them.

        Raises:
            MissingExtraError: matplotlib is not installed (the extra `draw`).

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> drawing = sg.compile([x], x * x).draw("square.svg", title="a square")
        """
        from staticgraph.draw import draw  # matplotlib is an extra, and slow to import

        return draw(self.graph, path, **options)

    def _repr_svg_(self) -> str:
        return self.draw()._repr_svg_()
