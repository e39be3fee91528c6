"""`draw`: a graph as a picture, by matplotlib alone."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from staticgraph.compiler.core.errors import GraphError, MissingExtraError, OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.build import build, nodes_of, operands_of
from staticgraph.compiler.graph.definition import intern_key
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.viz.layout import Edge
from staticgraph.draw.labels import Line, is_number, label, one_line, roles_of
from staticgraph.draw.picture import Picture, Vertex, paint

if TYPE_CHECKING:
    from staticgraph.draw.folding import Box

FORMATS = ("svg", "png", "pdf")
DOTS_PER_INCH = 144.0
MOST_PIXELS = 40e6


@frozen
class Drawing:
    """A drawn graph; notebooks show it.

    Attributes:
        figure: the matplotlib figure, which belongs to no window.
        title: what the file says that it is.

    Example:
        >>> x = sg.placeholder("x", (3,))
        >>> sg.draw.draw(sg.sum(x * x)).save("graph.svg")
    """

    figure: Any
    title: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file.

        Raises:
            OptionError: the name does not end in .svg, .png or .pdf.

        Example:
            >>> x = sg.placeholder("x", (3,))
            >>> sg.draw.draw(sg.sum(x * x)).save("graph.pdf")
        """
        kind = _format_of(path)
        Path(path).write_bytes(self._render(kind))

    def _repr_svg_(self) -> str:
        return self._render("svg").decode()

    def _render(self, kind: str) -> bytes:
        stream = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
        inches = float(np.prod(self.figure.get_size_inches()))
        dpi = min(DOTS_PER_INCH, (MOST_PIXELS / inches) ** 0.5)
        with _settings():
            self.figure.savefig(
                stream, format=kind, dpi=dpi, metadata={**metadata, "Title": self.title}
            )
        return stream.getvalue()


def draw(
    graph: object,
    path: str | os.PathLike[str] | None = None,
    *,
    values: Mapping[Any, object] | None = None,
    gradients: Mapping[Any, object] | None = None,
    title: str | None = None,
    fold: int | None = None,
) -> Drawing:
    """Draw a graph: leaves at the bottom, every node above its operands, these from left to right.

    A constant scalar is drawn beside each node that uses it.

    Args:
        graph: a networkx DAG of the project, an executable (its graph as defined is drawn), an
            expression or a sequence of expressions.
        path: where to save the picture, as SVG, PNG or PDF by its suffix; None for nowhere.
        values: arrays to print on the nodes, in green; keys are nodes or expressions.
        gradients: arrays to print on the nodes, in blue.
        title: written above.
        fold: how many levels of scopes (`sg.scope`) are opened; what is in a scope below is one
            box, with its gradient and its updates as boxes of their own. 0: each outermost scope
            is a box; None: all are opened.

    Raises:
        OptionError: the path has another suffix, or `fold` is no such number.
        GraphError: `graph` is no graph, or a key of values or gradients is not in it.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> x = sg.placeholder("x", (3,))
        >>> drawing = sg.draw.draw(sg.sum(x * x), title="squares")
        >>> drawing.save("graph.svg")
    """
    if path is not None:
        _format_of(path)
    _require_matplotlib()
    if fold is not None and (isinstance(fold, bool) or not isinstance(fold, int) or fold < 0):
        raise OptionError(f"draw: fold is a number of levels from 0, or None, not {fold!r:.80}")
    dag = _graph_of(graph)
    shown = [_by_node(dag, given or {}) for given in (values, gradients)]
    with _settings():
        figure = paint(
            _picture(dag, shown[0], shown[1], fold),
            title,
            [values is not None, gradients is not None],
        )
    drawing = Drawing(figure, one_line(title or "computation graph"))
    if path is not None:
        drawing.save(path)
    return drawing


def _format_of(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise OptionError(f"draw: {os.fspath(path)!r} ends in none of .svg, .png, .pdf")
    return suffix


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "draw: matplotlib is not installed: pip install 'staticgraph[draw]'"
        ) from None


@contextmanager
def _settings() -> Iterator[None]:
    """Whatever the user's matplotlib is set to, the same picture."""
    import matplotlib

    fixed: Any = {
        "font.family": ["sans-serif"],
        "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib
        "text.usetex": False,
        "svg.fonttype": "none",  # text stays text: it can be searched and read aloud
        "svg.hashsalt": "staticgraph",
        "pdf.fonttype": 42,
        "path.sketch": None,
        "path.effects": [],
        "savefig.bbox": None,
        "savefig.transparent": False,
    }
    with matplotlib.rc_context(fixed), warnings.catch_warnings():
        for scarce in ("Glyph .* missing from", "Matplotlib currently does not support"):
            warnings.filterwarnings("ignore", message=scarce)
        yield


def _graph_of(graph: object) -> nx.MultiDiGraph[int]:
    if isinstance(graph, nx.MultiDiGraph):
        return graph
    if isinstance(graph, Expression):
        return build([], [graph])
    if isinstance(graph, Sequence) and all(isinstance(one, Expression) for one in graph):
        return build([], list(graph))
    dag = getattr(graph, "graph", None)
    if isinstance(dag, nx.MultiDiGraph):
        return dag
    raise GraphError(f"draw: {graph!r} is no graph, executable or expression")


def _by_node(graph: nx.MultiDiGraph[int], given: Mapping[Any, object]) -> dict[int, Any]:
    """What is given for nodes or expressions, by node."""
    expressions = [key for key in given if isinstance(key, Expression)]
    known = {}
    if expressions:
        known = {
            intern_key(data["op"], operands_of(graph, node), data["attrs"]): node
            for node, data in graph.nodes.items()
        }
    ids: dict[int, int] = {}
    for one in ancestors(expressions):
        operands = tuple(ids.get(operand.serial, -1) for operand in one.operands)
        ids[one.serial] = known.get(intern_key(one.op, operands, one.attrs), -1)
    by_node = {}
    for key, value in given.items():
        node = ids[key.serial] if isinstance(key, Expression) else key
        if node not in graph:
            raise GraphError(f"draw: {key!r} is not in the graph")
        by_node[node] = value
    return by_node


def _picture(
    graph: nx.MultiDiGraph[int],
    values: Mapping[int, object],
    gradients: Mapping[int, object],
    fold: int | None,
) -> Picture:
    nodes = nodes_of(graph)
    roles = roles_of(graph.graph, nodes)
    boxes: dict[int, Box] = {}
    if fold is not None:
        from staticgraph.draw.folding import folded  # which needs what fuses graphs

        boxes = folded(graph, fold)
    vertices: list[Vertex] = []
    tails: list[list[int]] = []  # per vertex those that it is made of
    at: dict[int, int] = {}

    def add(lines: tuple[Line, ...], kind: str, is_output: bool) -> int:
        vertices.append(Vertex(lines, kind, is_output))
        tails.append([])
        return len(vertices) - 1

    def add_node(id: int) -> int:
        lines = label(nodes[id], roles.get(id, []), values.get(id), gradients.get(id))
        return add(lines, nodes[id].op.name, id in roles)

    for box in dict.fromkeys(boxes.values()):
        head = add(box.lines(roles), "scope", any(id in roles for id in box.nodes))
        at |= dict.fromkeys(box.nodes, head)
    for id, node in nodes.items():
        if is_number(node) and id not in roles and graph.out_degree(id):
            continue
        if id in boxes:
            head = at[id]
            outside = dict.fromkeys(at[one] for one in node.operands if at.get(one, head) != head)
            tails[head] += [one for one in outside if one not in tails[head]]
        else:
            operands = [at[one] if one in at else add_node(one) for one in node.operands]
            at[id] = head = add_node(id)
            tails[head] += operands
    edges = [
        Edge(tail, head, place, len(found))
        for head, found in enumerate(tails)
        for place, tail in enumerate(found)
    ]
    return Picture(tuple(vertices), tuple(edges))
