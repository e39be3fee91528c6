"""The executable as this frontend hands it out: it can also be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compiler.runtime import executable

if TYPE_CHECKING:
    from staticgraph.draw import Drawing


class Executable(executable.Executable):
    """A compiled graph: a function of arrays that cannot be modified; made by `compile`."""

    __slots__ = ()

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
