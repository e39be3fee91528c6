"""`executable.explain()`: the passes once more, with a collector of what they report.

Calls may come from the kernel cache, without passes, so nothing is recorded when a graph is
compiled. Here every node of the definition gets a mark in its source, which all passes hand on with
what they make of the node: so what a pass reports, and what runs in the end, is told to belong to
it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from staticgraph.compiler.codegen.comments import Comments, escaped
from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.core.dims import Unknown
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import mutable
from staticgraph.compiler.core.reports import Report, collecting
from staticgraph.compiler.core.source import gradient_of, is_line, mark_of, marked, place_of
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import Definition, Node, intern_key
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.explanation import KINDS, ExplainedOp, Explanation, Fact
from staticgraph.compiler.inspect.placed import Placed, group_texts, placed_nodes
from staticgraph.compiler.inspect.plan import NOMINAL, Plan
from staticgraph.compiler.ops.programs import control

Lower: TypeAlias = "Callable[[Definition], tuple[Definition, Kernel]]"
"""The passes and the emitter, with the options of an executable."""

Asked: TypeAlias = "str | int | Expression | None"
"""What is to be explained: a `file:line`, a name, an op, a node, an expression, or everything.

A name is that of a placeholder or variable, or of a variable of the code that a line assigns.
"""

_LINE = re.compile(r".*:\d+")


@mutable(eq=False)
class Marks:
    """The nodes of a definition and of the bodies in it, by their marks.

    Attributes:
        nodes: a mark is the node's place here; those of the definition itself come first.
        inside: by mark the loop or branch that a node is in, and which part of it.
    """

    nodes: list[Node] = field(default_factory=list)
    inside: dict[int, str] = field(default_factory=dict)

    def definition(self, one: Definition, inside: str = "") -> Definition:
        """The same definition with marks in all sources."""
        first = len(self.nodes)
        self.nodes.extend(one.nodes)
        if inside:
            self.inside |= dict.fromkeys(range(first, len(self.nodes)), inside)
        nodes = []
        for node in one.nodes:
            where = f"{node.op.name} ({_short(node.source)})"
            attrs = {
                key: Body(self.definition(value.definition, f"{where}, {key}"))
                if isinstance(value, Body)
                else value
                for key, value in node.attrs.items()
            }
            source = marked(node.source, first + node.id)
            nodes.append(replace(node, attrs=attrs, source=source))
        return replace(one, nodes=tuple(nodes))


def explain(
    definition: Definition,
    name: str,
    lower: Lower,
    asked: Asked = None,
    sizes: Mapping[str, int] | None = None,
) -> Explanation:
    """What became of the ops of a definition.

    Args:
        name: of the executable.
        lower: the passes and the emitter.
        asked: see `Asked`.
        sizes: unknown sizes, of which memory and chunks depend; without, `NOMINAL` stands for each.

    Raises:
        OptionError: there is nothing that was asked for, or a size is wrong.
    """
    marks = Marks()
    marked = marks.definition(definition)
    with collecting() as reports:
        _, kernel = lower(marked)
    known = dict.fromkeys(kernel.labels, NOMINAL)
    if sizes is not None:
        known |= Plan(kernel.memory, kernel.fusion).values(sizes, {})
    ops = list(_explained(marks, definition, reports, kernel, known))
    comments = Comments(kernel)
    chosen = _asked(ops, asked, name, definition, comments)
    numbers = {fact.text for one in chosen for fact in one.of("group")}
    groups = {at: text for at, text in group_texts(kernel, known).items() if at in numbers}
    text = {line: escaped(comments.text(line)) for line in {one.line for one in chosen}}
    marked_nodes = {number: mark_of(node.source) for number, node in kernel.nodes().items()}
    origins = {number: mark for number, mark in marked_nodes.items() if mark is not None}
    return Explanation(_title(name, ops, kernel, known), tuple(chosen), groups, text, origins)


def _title(name: str, ops: list[ExplainedOp], kernel: Kernel, sizes: Mapping[Unknown, int]) -> str:
    groups = sum(len(region.fusion.groups) for region in kernel.root.all())
    taken = ", ".join(f"{atom} = {size}" for atom, size in sizes.items())
    runs = sum(len(one.becomes) for one in ops)
    said = f"{len(ops)} ops as defined, {runs} that run, in {groups} group{'s' * (groups != 1)}"
    return f"{name}: {said}" + (f"; memory and threads as with {taken}" if taken else "")


def _explained(
    marks: Marks,
    definition: Definition,
    reports: list[Report],
    kernel: Kernel,
    sizes: Mapping[Unknown, int],
) -> Iterator[ExplainedOp]:
    told: dict[int, list[Report]] = {}
    for report in reports:
        mark = mark_of(report.source)
        if mark is not None:
            told.setdefault(mark, []).append(report)
    placed: dict[int, list[Placed]] = {}
    for one in placed_nodes(kernel, sizes):
        mark = mark_of(one.source)
        if mark is not None:
            placed.setdefault(mark, []).append(one)
    elsewhere: dict[int, list[str]] = {}
    for number, source in definition.merged:
        elsewhere.setdefault(number, []).append(source)
    for mark, node in enumerate(marks.nodes):
        facts = _facts(node, told.get(mark, []), placed.get(mark, []))
        becomes = tuple([one.op for one in placed.get(mark, []) if one.runs])
        inside = marks.inside.get(mark, "")
        made = _op(mark, node, node.source, inside, becomes, facts)
        yield made
        for source in elsewhere.get(mark, ()):
            text = f"computed once, with {node.op.name} ({_short(node.source)})"
            yield _op(mark, node, source, inside, (), [Fact("merged", text)])


def _op(
    number: int, node: Node, source: str, inside: str, becomes: tuple[str, ...], facts: list[Fact]
) -> ExplainedOp:
    order = list(KINDS)
    return ExplainedOp(
        number,
        node.op.name,
        node.name,
        str(node.type),
        place_of(source),
        gradient_of(source),
        inside,
        becomes,
        tuple(sorted(facts, key=lambda fact: order.index(fact.kind))),
    )


def _facts(node: Node, reports: list[Report], placed: list[Placed]) -> list[Fact]:
    facts: dict[Fact, None] = {}
    runs = {one.op for one in placed}
    for report in reports:
        if report.kind == "dropped":
            continue
        if report.kind == "apart" and report.op not in runs:
            continue  # of an op that a later pass has taken apart
        facts[Fact(report.kind, _said(report), report.by, report.op)] = None
    moving = not any(one.runs for one in placed)  # beside what runs, there is nothing to say
    for one in placed:
        if not one.runs and not moving:
            continue
        facts |= dict.fromkeys(one.facts())
    if not placed and not any(fact.op == node.op.name for fact in facts):
        facts[_dropped(node, reports)] = None
    return list(facts)


def _said(report: Report) -> str:
    match report.kind:
        case "merged":
            preposition = ":" if report.by else ", with"
            return f"{report.text}{preposition} {_named(report)}"
        case "apart":
            return f"not with {_named(report)}: {report.text}"
        case "recomputed":
            return f"{report.text}: by {_named(report)}"
    return report.text


def _named(report: Report) -> str:
    return ", ".join(f"{op} ({_short(source)})" for op, source in report.others)


def _dropped(node: Node, reports: list[Report]) -> Fact:
    """Why nothing is left of a node that nothing else is told of."""
    if node.op is control.item:
        return Fact("memory", "a result of the loop or branch, whose ops have its place")
    for report in reports:
        if report.kind == "dropped" and report.op == node.op.name:
            readers = f" any more: {_named(report)} did" if report.others else ""
            return Fact("dropped", f"{report.text}{readers}", report.by, report.op)
    return Fact("dropped", "nothing is left of it after the passes on loops", "", node.op.name)


def _short(source: str) -> str:
    return escaped(os.path.basename(place_of(source)))


def _asked(
    ops: list[ExplainedOp], asked: Asked, name: str, definition: Definition, comments: Comments
) -> list[ExplainedOp]:
    """The ops that are asked for.

    Raises:
        OptionError: there are none.
    """
    if asked is None:
        return ops
    if isinstance(asked, Expression):
        number = _number_of(asked, definition)
        found = [] if number is None else [one for one in ops if one.number == number]
        hint = "an expression that it was compiled from is asked for by its name or line too"
    elif isinstance(asked, bool) or not isinstance(asked, str | int):
        raise OptionError(
            f"explain: a line 'file.py:3', a name, a node or an expression, not {asked!r:.80}"
        )
    elif isinstance(asked, int):
        found = [one for one in ops if one.number == asked]
        hint = f"nodes are 0 to {max((one.number for one in ops), default=-1)}"
    elif _LINE.fullmatch(asked):
        found = [one for one in ops if is_line(one.line, asked)]
        lines = sorted({os.path.basename(one.line) for one in ops}, key=_by_number)
        hint = f"its ops are of {_few(lines)}"
    else:
        found = (
            [one for one in ops if one.name == asked]
            or [one for one in ops if comments.assigned(one.line) == asked]
            or [one for one in ops if one.op == asked]
        )
        names = dict.fromkeys(one.name or one.op for one in ops)
        hint = f"there are {_few(list(names))}"
    if not found:
        raise OptionError(f"explain: {name} has nothing of {asked!r}: {hint}")
    return found


def _number_of(asked: Expression, definition: Definition) -> int | None:
    """The node that an expression is in a definition; None if it is not there."""
    known = {intern_key(one.op, one.operands, one.attrs): one.id for one in definition.nodes}
    ids: dict[int, int] = {}
    for one in ancestors([asked]):
        operands = tuple([ids[operand.serial] for operand in one.operands])
        number = known.get(intern_key(one.op, operands, one.attrs))
        if number is None:
            return None
        ids[one.serial] = number
    return ids[asked.serial]


def _by_number(line: str) -> tuple[str, int]:
    file, _, number = line.rpartition(":")
    return file, int(number) if number.isdecimal() else 0


def _few(words: list[str], most: int = 8) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
