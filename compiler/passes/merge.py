"""Merge scans that repeat the same steps: a forward scan and the one that also stacks residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from staticgraph.compiler.core.reports import collector, report_all
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.evaluate import substitute
from staticgraph.compiler.graph.expression import Expression, named
from staticgraph.compiler.graph.loop import OpenLoop, open_loop
from staticgraph.compiler.graph.traversal import between
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.passes.loops import rewrite_loops


def merge_scans(graph: Definition) -> Definition:
    """The graph in which scans with the same carries are one, with the ys of all.

    The gradient of a scan needs values of the forward steps: it makes a second scan that stacks
    them (`compiler.transforms.control_gradients`), which takes the place of the first.
    """
    groups = _groups(graph.numbered())
    results: dict[int, list[Expression]] = {}

    def rewrite(node: Node, made: Mapping[int, Any]) -> Sequence[Expression] | None:
        members = groups.get(node.id)
        if members is not None:
            loops = [open_loop([made[i] for i in one.operands], one.attrs) for one in members]
            first, *others = members
            text = "one loop that computes what both give"
            names = [named(member) for member in others]
            report_all("merged", merge_scans.__name__, names, text, (named(first),))
            _report_steps(loops[1:], first)
            for member, items in zip(members, _merged(loops), strict=True):
                results[member.id] = items
        return results.get(node.id)

    return rewrite_loops(graph, rewrite)


def _groups(nodes: Mapping[int, Node]) -> dict[int, list[Node]]:
    """By the first of them, the scans of which all operands are there before the first."""
    leaders: dict[Any, int] = {}
    groups: dict[int, list[Node]] = {}
    for node in nodes.values():
        if node.op is not control.scan:
            continue
        key = _carried(node)
        leader = leaders.setdefault(key, node.id)
        if all(operand < leader for operand in node.operands):
            groups.setdefault(leader, []).append(node)
    return {leader: members for leader, members in groups.items() if len(members) > 1}


def _report_steps(loops: Sequence[OpenLoop], first: Node) -> None:
    """Report that the steps of loops are taken in another one."""
    if collector() is None:
        return
    for loop in loops:
        steps = between([one.next for one in loop.carries], loop.border)
        text = "computed once, in the loop that its own was merged with"
        report_all("merged", merge_scans.__name__, map(named, steps), text, (named(first),))


def _carried(node: Node) -> Any:
    """What scans that repeat the same steps have in common: what makes the next carries."""
    loop: Any = open_loop(node.operands, node.attrs)  # type: ignore[arg-type]
    alone = replace(loop, ys=[])
    consts, xs = alone.read()
    inner = [one for one, _ in consts] + [one.inner for one in loop.carries]
    body = Body.of([*inner, *(one for one, _ in xs)], alone.outputs)
    outer = [one for _, one in consts] + [one.first for one in loop.carries]
    return body, *outer, *(one for _, one in xs), loop.length, loop.reverse


def _merged(loops: Sequence[OpenLoop]) -> list[list[Expression]]:
    """The items of each loop, all of one loop."""
    first = loops[0]
    consts, xs, ys = list(first.consts), list(first.xs), list(first.ys)
    places = [list(range(len(ys)))]
    for loop in loops[1:]:
        made = {
            mine.inner.serial: its.inner
            for mine, its in zip(loop.carries, first.carries, strict=True)
        }
        _join(made, consts, loop.consts)
        _join(made, xs, loop.xs)
        places.append([len(ys) + i for i in range(len(loop.ys))])
        ys += substitute(loop.ys, made)
    items = replace(first, consts=consts, xs=xs, ys=ys).close()
    carries = len(first.carries)
    return [items[:carries] + [items[carries + i] for i in mine] for mine in places]


def _join(
    made: dict[int, Expression],
    pairs: list[tuple[Expression, Expression]],
    others: Sequence[tuple[Expression, Expression]],
) -> None:
    """Let what another loop reads be what this one reads, where it is the same outside."""
    known = {outer.serial: inner for inner, outer in pairs}
    for inner, outer in others:
        made[inner.serial] = known.get(outer.serial, inner)  # one that is not named is copied
        if outer.serial not in known:
            pairs.append((inner, outer))
