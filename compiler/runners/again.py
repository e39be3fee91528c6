"""Calls of kernels once more, op by op, to find where inf and nan come from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.core.values import Tree
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.runtime.sizes import Feed

if TYPE_CHECKING:
    from staticgraph.compiler.inspect.origins import Replay


class Compiled(Protocol):
    """What ran a kernel, as far as it is looked at."""

    definition: Definition
    feeds: tuple[Feed, ...]
    name: str
    options: Options

    @property
    def lowered(self) -> Definition:
        """The definition after the passes."""


def look_again(runner: Compiled, args: Sequence[object], kwargs: Mapping[str, Tree]) -> Replay:
    """A call of a kernel once more, op by op: as it was defined, and as it was rewritten."""
    with fork.importing():
        from staticgraph.compiler.driver import lower
        from staticgraph.compiler.inspect.replay import replay
        from staticgraph.compiler.pipeline import rule_names

    options = runner.options

    def lowered(without: Collection[str]) -> Definition:
        if not without:
            return runner.lowered
        disabled = options.disabled.union(without)
        # in any memory: what runs again computes the same
        free = replace(options, disabled=disabled, memory=None)
        return lower(runner.definition, free)[0]

    rewrites = rule_names() - options.disabled
    parts = runner.definition, runner.feeds, runner.name
    return replay(*parts, args, kwargs, lowered, rewrites)


def line_of(definition: Definition, options: Options, number: int) -> str:
    """The user's line of a node of the kernel."""
    with fork.importing():
        from staticgraph.compiler.driver import lower

    return lower(definition, options)[1].located(number)[1].source
