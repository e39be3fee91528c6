"""The executable as this frontend hands it out: it can also be drawn and traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compiler.runtime import executable

if TYPE_CHECKING:
    from compiler.runtime.debug import Trace
    from staticgraph.draw import Drawing


class Executable(executable.Executable):
    """A compiled graph: a function of arrays that cannot be modified; made by `compile`."""

    __slots__ = ()

    @property
    def ready(self) -> bool:
        """Whether calls run compiled code: False only while it is compiled in the background."""
        return True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until calls run compiled code, or for some seconds; whether they do.

        Raises:
            CompileError: they never will; the cause is what was raised in the background.
        """
        return True

    def trace(self, *args: Any, **kwargs: Any) -> Trace:
        """Every intermediate value for some inputs, op by op with NumPy as in debug mode.

        Nothing is updated. `print(executable.trace(...))` lists each op of the graph as it was
        defined, with the type and range of its value and the line that it comes from.
        """
        from compiler.runtime.debug import trace

        return trace(self.graph, self.feeds, self.name, args, kwargs)

    def draw(self, path: Any = None, **options: Any) -> Drawing:
        """Draw the graph as it was defined, to an SVG, PNG or PDF file if a path is given.

        Args:
            path: where to save; the suffix decides the format.
            options: `values`, `gradients` and `title`, as `staticgraph.draw.draw` takes them.

        Raises:
            MissingExtraError: matplotlib is not installed (the extra `draw`).
        """
        from staticgraph.draw import draw  # matplotlib is an extra, and slow to import

        return draw(self.graph, path, **options)

    def _repr_svg_(self) -> str:
        return self.draw()._repr_svg_()
