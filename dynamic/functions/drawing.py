"""`make_dot`: the recorded graph of tensors as DOT text and as an SVG picture (as torchviz's)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.tensors.tensor import Tensor

FILLS = {
    "op": "lightgrey", "leaf": "lightblue", "output": "darkolivegreen1", "base": "darkolivegreen3",
    "saved": "orange",
}  # fmt: skip


@frozen
class Box:
    """A node of the picture: its lines of text, and what it is: a key of `FILLS`."""

    lines: tuple[str, ...]
    kind: str


@frozen
class Line:
    """An edge between boxes, in the direction of the forward pass; a saved tensor has no arrow."""

    tail: int
    head: int
    arrow: bool = True
    dashed: bool = False


@frozen
class Dot:
    """A drawn graph; notebooks show it.

    Attributes:
        boxes: the ops, the leaves, the outputs and, on request, the saved tensors.
        lines: the edges between them, which name boxes by their number.
    """

    boxes: list[Box] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    @property
    def source(self) -> str:
        """The graph in Graphviz's DOT language."""
        style = "align=left fontname=monospace fontsize=10 height=0.2 ranksep=0.1 shape=box"
        rows = ["digraph {", '\tgraph [size="12,12"]', f"\tnode [{style} style=filled]"]
        for i, box in enumerate(self.boxes):
            label = "\\n".join(map(_escaped, box.lines))
            rows.append(f'\tn{i} [label="{label}" fillcolor={FILLS[box.kind]}]')
        for line in self.lines:
            options = ["style=dotted"] * line.dashed + ["dir=none"] * (not line.arrow)
            suffix = f" [{' '.join(options)}]" if options else ""
            rows.append(f"\tn{line.tail} -> n{line.head}{suffix}")
        return "\n".join([*rows, "}", ""])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a picture (.svg) or DOT text (.dot, .gv), by the suffix; else OptionError."""
        suffix = Path(path).suffix.lower()
        if suffix not in (".svg", ".dot", ".gv"):
            raise OptionError(f"make_dot: {os.fspath(path)!r} ends in none of .svg, .dot, .gv")
        text = self._repr_svg_() if suffix == ".svg" else self.source
        Path(path).write_text(text, encoding="utf-8")

    def render(self, path: str | os.PathLike[str], format: str = "svg") -> str:
        """Write the picture to `path`, or to `path` with .svg added, and return its name."""
        if format != "svg":
            raise OptionError(f"make_dot: the format is 'svg', not {format!r}")
        name = os.fspath(path)
        if not name.lower().endswith(".svg"):
            name += ".svg"
        self.save(name)
        return name

    def _repr_svg_(self) -> str:
        from staticgraph.compiler.viz.svg import svg

        return svg(self.boxes, self.lines)


def make_dot(
    var: Any,
    params: Mapping[str, Any] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> Dot:
    """The graph that `backward` would run through: leaves on top, what was computed at the bottom.

    Only tensors that require grad are in it. Ops are grey, leaves light blue, `var` green, the
    tensor of which it is a view dark green, saved tensors orange.

    Args:
        var: a tensor, or a sequence of them.
        params: names of tensors, such as `dict(model.named_parameters())`.
        show_attrs: whether to list the attributes of the ops.
        show_saved: whether to show the tensors that the ops saved for the backward pass.
        max_attr_chars: the longest text of an attribute.

    Raises:
        ArgumentError: `var` or a value of `params` is not a tensor.

    Example:
        >>> x = dynamic.ones(2, requires_grad=True)
        >>> "SumBackward0" in dynamic.make_dot((x * x).sum()).source
        True
    """
    outputs = list(var) if isinstance(var, list | tuple) else [var]
    names = dict(params or {})
    for one in (*outputs, *names.values()):
        if not isinstance(one, Tensor):
            raise ArgumentError(f"make_dot: {type(one).__name__} is not a Tensor")
    sketch = _Sketch(names, max_attr_chars if show_attrs else 0, show_saved)
    for one in outputs:
        sketch.add_output(one)
    return sketch.dot


class _Sketch:
    """A graph being drawn: the boxes of the nodes and outputs that were met."""

    def __init__(self, names: Mapping[str, Tensor], attr_chars: int, show_saved: bool) -> None:
        self.names = {id(tensor): name for name, tensor in names.items()}
        # the engine knows a tensor by its array and, if it is a leaf, by its node
        self.array_names = {id(tensor._array): name for name, tensor in names.items()}
        self.attr_chars = attr_chars
        self.show_saved = show_saved
        self.dot = Dot()
        self.at: dict[Any, int] = {}

    def add_output(self, tensor: Tensor) -> None:
        """Add a tensor with all that leads to it."""
        self._add_tensor(tensor, "output")

    def _add_tensor(self, tensor: Tensor, kind: str) -> int:
        if id(tensor) in self.at:
            return self.at[id(tensor)]
        name = self.names.get(id(tensor), "")
        box = self.at[id(tensor)] = self._box((name, _size(tensor.shape)), kind)
        if tensor.grad_fn is not None:
            self._add_nodes(tensor.grad_fn)
            self.dot.lines.append(Line(self.at[tensor.grad_fn], box))
        if tensor._view is not None:
            base = self._add_tensor(tensor._view.base, "base")
            self.dot.lines.append(Line(base, box, dashed=True))
        return box

    def _box(self, lines: tuple[str, ...], kind: str) -> int:
        self.dot.boxes.append(Box(tuple(line for line in lines if line), kind))
        return len(self.dot.boxes) - 1

    def _add_nodes(self, root: Any) -> None:
        """Add a node and its ancestors, each once, without recursion: graphs may be deep."""
        stack, new = [root], []
        while stack:
            node = stack.pop()
            if node in self.at:
                continue
            new.append(node)
            self.at[node] = self._box(self._label(node), "op")
            self._add_leaf(node)
            if self.show_saved:
                self._add_saved(node)
            stack += [parent for parent, _ in reversed(node.next_functions) if parent is not None]
        for node in new:
            self.dot.lines.extend(
                Line(self.at[parent], self.at[node])
                for parent, _ in node.next_functions
                if parent is not None
            )

    def _label(self, node: Any) -> tuple[str, ...]:
        name = node.name().rpartition("::")[2]
        attrs = dict(getattr(node, "attrs", None) or {}) if self.attr_chars else {}
        if not attrs:
            return (name,)
        width = max(map(len, attrs))
        rows = [f"{key:{width}}: {_cut(value, self.attr_chars)}" for key, value in attrs.items()]
        return (name, "-" * max(map(len, (name, *rows))), *rows)

    def _add_leaf(self, node: Any) -> None:
        if not hasattr(node, "variable"):
            return
        leaf = node.variable
        name = "" if leaf is None else self.names.get(id(leaf), "")
        box = self._box((name, _size(node.shape)), "leaf")
        self.dot.lines.append(Line(box, self.at[node]))

    def _add_saved(self, node: object) -> None:
        for number, array in _saved_arrays(node):
            name = self.array_names.get(id(array), "")
            role = "result" if number is None else f"operand {number}"
            box = self._box((name, role, _size(array.shape)), "saved")
            self.dot.lines.append(Line(box, self.at[node], arrow=False))


def _saved_arrays(node: object) -> Iterator[tuple[int | None, Any]]:
    """The arrays that a node keeps, each with the number of its operand; None for the output."""
    saved = getattr(node, "saved", None) or ()
    for i, value in enumerate(saved):
        if isinstance(value, np.ndarray):
            yield (None if i == len(saved) - 1 else i), value


def _size(shape: Any) -> str:
    return f"({', '.join(map(str, shape))})"


def _cut(value: object, longest: int) -> str:
    text = str(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _escaped(text: str) -> str:
    """Text inside the double quotes of a DOT label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
