"""`view`: a graph as a page of its own, for a browser or a notebook."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from staticgraph.compiler.core.errors import GraphError, OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.driver import lower
from staticgraph.compiler.graph.definition import Definition, define
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.explain import explain
from staticgraph.compiler.inspect.given import given_inputs
from staticgraph.compiler.inspect.profile import profile as profiled
from staticgraph.compiler.inspect.profile_table import Profile
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.programs.effects import quiet
from staticgraph.compiler.runners.compiled import CompiledRunner
from staticgraph.compiler.runners.runner import Runner
from staticgraph.view.model import Subject, model_of
from staticgraph.view.page import framed, page

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.kernel import Kernel
    from staticgraph.compiler.inspect.explanation import Explanation

Inputs = Sequence[object] | Mapping[str, object] | None


@frozen
class View:
    """A page about a graph; notebooks show it.

    Attributes:
        html: the page: one file with all that it needs, which loads nothing.
        title: what it is about.

    Example:
        >>> x = sg.placeholder("x", (3,))
        >>> page = sg.view.view(sg.sum(x * x), title="squares")
        >>> page.title
        'squares'
    """

    html: str
    title: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Raises:
            OptionError: the name does not end in .html or .htm.

        Example:
            >>> x = sg.placeholder("x", (3,))
            >>> sg.view.view(sg.sum(x * x)).save("graph.html")
        """
        _check_path(path)
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return framed(self.html, self.title)

    def __repr__(self) -> str:
        return f"<view of {self.title}: {len(self.html) / 1e6:.1f} MB of HTML>"


def view(
    graph: Expression | Sequence[Expression],
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "expressions",
) -> View:
    """A page about expressions as they are defined: your lines beside the graph.

    Args:
        graph: an expression, or several.
        path: of the file to write, `.html`; None for none.
        title: written above.

    Raises:
        GraphError: what is given is no expression.
        OptionError: the path has another suffix.

    Example:
        >>> x = sg.placeholder("x", (3,))
        >>> page = sg.view.view(sg.sum(x * x), "graph.html", title="squares")
        >>> page.html.startswith("<!DOCTYPE html>")
        True
    """
    outputs = [graph] if isinstance(graph, Expression) else list(graph)
    for one in outputs:
        if not isinstance(one, Expression):
            raise GraphError(f"view: {one!r:.80} is no expression")
    inputs = [one for one in ancestors(outputs) if one.op is leaves.placeholder]
    return _made(Subject(title, define(inputs, outputs)), path)


def view_of(
    name: str,
    definition: Definition,
    runner: Runner,
    path: str | os.PathLike[str] | None,
    inputs: Inputs,
) -> View:
    """A page about an executable: see `Executable.view`.

    Example:
        >>> x = sg.placeholder("x", (3,))
        >>> sg.compile([x], sg.sum(x * x), name="squares").view().title
        'squares'
    """
    _check_path(path)
    settled = runner.settled
    kernel: Kernel | None = None
    profile: Profile | None = None
    explanation: Explanation | None = None
    arrays = None if inputs is None else given_inputs(name, definition, inputs)
    if isinstance(settled, CompiledRunner):
        kernel = settled.kernel
        profile = None if arrays is None else profiled(settled, arrays, {})
        explanation = explain(definition, name, partial(lower, options=settled.options))
    return _made(Subject(name, definition, kernel, arrays, profile, explanation), path)


def _check_path(path: str | os.PathLike[str] | None) -> None:
    if path is not None and Path(path).suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"view: {os.fspath(path)!r} ends in none of .html, .htm")


def _made(subject: Subject, path: str | os.PathLike[str] | None) -> View:
    _check_path(path)
    with quiet():  # looking prints nothing
        made = View(page(model_of(subject)), subject.title)
    if path is not None:
        made.save(path)
    return made
