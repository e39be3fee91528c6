"""The model of a page: all that it shows, as what JSON has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.codegen.listing import listed
from staticgraph.compiler.core.types import TensorType, is_static
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.inspect.explanation import Explanation
from staticgraph.compiler.inspect.profile import Profile
from staticgraph.compiler.viz.blocks import Block, Item
from staticgraph.compiler.viz.levels import Level, as_compiled, as_defined, is_number
from staticgraph.compiler.viz.tree import tree_of
from staticgraph.draw.labels import numbers, roles_of
from staticgraph.view.sources import Sources, visible
from staticgraph.view.values import Summary, values_of

Form = dict[str, Any]
PLACES = frozenset({"group", "memory", "threads"})
"""What explanations say of places, which the picture shows."""


class Subject(NamedTuple):
    """What a page is about.

    Attributes:
        title: its name.
        definition: the graph as it was defined.
        kernel: what it was compiled to, or None.
        arrays: inputs to show values for, or None.
        profile: the times of the kernel's steps, or None.
        explanation: what the passes did, or None.
    """

    title: str
    definition: Definition
    kernel: Kernel | None = None
    arrays: Sequence[Any] | None = None
    profile: Profile | None = None
    explanation: Explanation | None = None


def model_of(subject: Subject) -> Form:
    """The model."""
    sources = Sources()
    before = as_defined(subject.definition)
    arrays = subject.arrays
    values = {} if arrays is None else values_of(subject.definition, arrays, inside=True)
    graphs = {"before": _graph(before, sources, values)}
    lines: list[list[Any]] = []
    if subject.kernel is not None:
        after = as_compiled(subject.kernel.root)
        lowered = subject.kernel.root.graph
        values = {} if arrays is None else values_of(lowered, arrays, inside=False)
        graphs["after"] = _graph(after, sources, values)
        _add_places(graphs["after"], subject.kernel)
        if subject.explanation is not None:
            _explain(graphs["before"], graphs["after"], subject.explanation)
        if subject.profile is not None:
            graphs["after"]["steps"] = _steps(subject.kernel, subject.profile)
        lines = [[visible(text, 1000), list(nodes)] for text, nodes in listed(subject.kernel)]
    return {
        "title": visible(subject.title),
        "graphs": graphs,
        "kernel": lines,
        "sources": sources.records,
        "files": sources.files(),
    }


def _graph(level: Level, sources: Sources, values: Mapping[int, Summary]) -> Form:
    """A graph: its nodes by number, and what is in which box."""
    lanes, of_lane = tree_of(level)
    nodes: list[Form] = [{} for _ in range(level.end)]
    for one in level.all():
        roles = {}
        if one is level:
            roles = roles_of({"outputs": one.outputs, "updates": one.updates}, one.nodes)
        for place, node in one.nodes.items():
            made = _node(one, node, sources)
            nodes[one.first + place] = made
            if place in roles:
                made["roles"] = [visible(role) for role in roles[place]]
            if one is level:
                made["lane"] = of_lane[place]
            if one.first + place in values:
                made["value"] = values[one.first + place]
    for one in level.all():
        for place, bodies in one.below.items():
            for name, body in bodies:
                _join(nodes, one.first + place, name, body)
    return {
        "nodes": nodes,
        "lanes": [[_item(item) for item in items] for items in lanes],
        "outputs": list(level.outputs),
        "updates": [list(pair) for pair in level.updates],
    }


def _join(nodes: list[Form], loop: int, name: str, body: Level) -> None:
    """Say of the nodes of a body where they are, and which of them its loop reads."""
    for place in body.nodes:
        made = nodes[body.first + place]
        made.update({"body": loop, "lane": nodes[loop].get("lane", 0)})
    for position, place in enumerate(body.outputs):
        label = f"{name} output {position}" if len(body.outputs) > 1 else f"{name} output"
        nodes[body.first + place].setdefault("roles", []).append(label)


def _node(level: Level, node: Node, sources: Sources) -> Form:
    made: Form = {"op": node.op.name, "type": visible(str(node.type))}
    if node.name:
        made["name"] = visible(node.name)
    made["source"] = sources.number(node.source)
    if node.operands:
        made["operands"] = [level.first + operand for operand in node.operands]
    if is_number(node):
        made["number"] = numbers(node.attrs["value"].array)
    attrs = ", ".join(
        f"{key}={value}"
        for key, value in node.attrs.items()
        if key not in ("key", "value") and not hasattr(value, "definition")
    )
    if attrs and node.op.name not in ("placeholder", "variable", "constant"):
        made["attrs"] = visible(attrs)
    if isinstance(node.type, TensorType) and is_static(node.type.shape):
        made["bytes"] = _bytes(node.type)
    return made


def _bytes(type: TensorType) -> int:
    count = type.dtype.itemsize
    for size in type.shape:
        count *= int(size)
    return int(count)


def _item(item: Item) -> Any:
    """A node's number, or a box: its kind, label and items."""
    if not isinstance(item, Block):
        return item
    kind, label = item.key
    made: Form = {"kind": kind, "items": [_item(one) for one in item.items]}
    if label:
        made["label"] = visible(label)
    if item.node is not None:
        made["node"] = item.node
    return made


def _add_places(graph: Form, kernel: Kernel) -> None:
    """Say of each node where its value lies: in memory, or nowhere if only its group has it."""
    for region in kernel.root.all():
        for place in region.fusion.nodes:
            slot = region.memory.place.get(place)
            made = graph["nodes"][region.first + place]
            made["memory"] = "" if slot is None else region.memory.slots[slot].kind


def _explain(before: Form, after: Form, explanation: Explanation) -> None:
    """Say of each node what it was before the passes, and of those before what was done to them."""
    for number, origin in explanation.origins.items():
        after["nodes"][number]["origin"] = origin
    for one in explanation:
        facts = [f"{fact.kind}: {fact}" for fact in one.facts if fact.kind not in PLACES]
        if facts:
            known = before["nodes"][one.number].setdefault("facts", [])
            known += [visible(fact, 200) for fact in dict.fromkeys(facts) if fact not in known]


def _steps(kernel: Kernel, profile: Profile) -> list[list[Any]]:
    """Per step of the kernel its nodes and seconds."""
    merged = [list(nodes) for nodes, _ in groupby(one.nodes for one in kernel.program)]
    return [[nodes, step.seconds] for nodes, step in zip(merged, profile.steps, strict=True)]
