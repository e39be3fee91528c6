"""What is shown in which box: lanes, scopes, lines or fused groups, loops, and then nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

from staticgraph.compiler.core.source import Scope, place_of, scope_of
from staticgraph.compiler.graph.definition import LEAVES, Node
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.viz.blocks import Block, Item, Key, fold
from staticgraph.compiler.viz.lanes import FORWARD, GRADIENT, NAMES, UPDATE, lanes_of
from staticgraph.compiler.viz.levels import Level, is_number

MOST_INPUTS = 8
"""Inputs that are shown outside of boxes."""


def tree_of(level: Level) -> tuple[list[list[Item]], dict[int, int]]:
    """Per lane what is in it, and the lane of each node of the level itself; all by number."""
    operands = {place: node.operands for place, node in level.nodes.items()}
    sources = {place: node.source for place, node in level.nodes.items()}
    lanes = lanes_of(operands, sources, level.outputs, level.updates)
    updated = _update_paths(level, lanes)
    shown: list[list[Item]] = []
    for lane in range(len(NAMES)):
        own = [place for place in level.nodes if lanes[place] == lane]
        paths = {place: updated.get(place, scope_of(sources[place])) for place in own}
        shown.append(_lane(level, own, paths, operands, lane == GRADIENT))
    numbered = {level.first + place: lane for place, lane in lanes.items()}
    return [[_numbered(item, level) for item in items] for items in shown], numbered


def _lane(
    level: Level,
    own: Sequence[int],
    scopes: Mapping[int, Scope],
    operands: Mapping[int, Sequence[int]],
    upwards: bool,
) -> list[Item]:
    """What is shown of some places of a level."""
    inside = set(own)
    computes = [place for place in own if level.nodes[place].op not in LEAVES]
    group_of: dict[int, int] = {}
    number_of: dict[int, int] = {}
    for number, group in enumerate(level.groups):
        members = [place for place in group if place in inside]
        if len(members) > 1:
            group_of.update(dict.fromkeys(members, members[0]))
            number_of[members[0]] = number
    members_of: dict[int, list[int]] = {}
    for place in computes:
        members_of.setdefault(group_of.get(place, place), []).append(place)
    needs = {
        first: [
            group_of.get(operand, operand)
            for place in members
            for operand in operands[place]
            if group_of.get(operand, operand) != first
        ]
        for first, members in members_of.items()
    }

    def path(first: int) -> list[Key]:
        counts = Counter(scopes[place] for place in members_of[first])
        most = max(counts, key=lambda scope: counts[scope])  # a group may reach into others
        keys = [Key("scope", name) for name in most]
        if not level.groups:
            keys.append(Key("line", place_of(level.nodes[first].source)))
        return keys

    groups = {
        first: Block(Key("group", str(number)), list(members_of[first]))
        for first, number in number_of.items()
    }
    items = [_unfolded(item, groups) for item in fold(_sorted(needs), needs, path, upwards)]
    _put_leaves(level, [place for place in own if level.nodes[place].op in LEAVES], items)
    return items


def _sorted(needs: Mapping[int, Sequence[int]]) -> list[int]:
    """Groups in an order in which what they need comes first, else as their first nodes."""
    waiting = {one: {need for need in given if need in needs} for one, given in needs.items()}
    readers: dict[int, list[int]] = {}
    for one, given in waiting.items():
        for need in given:
            readers.setdefault(need, []).append(one)
    ready = [one for one, given in waiting.items() if not given]
    heapify(ready)
    found = []
    while ready:
        one = heappop(ready)
        found.append(one)
        for reader in readers.get(one, ()):
            waiting[reader].discard(one)
            if not waiting[reader]:
                heappush(ready, reader)
    return found


def _unfolded(item: Item, groups: Mapping[int, Block]) -> Item:
    """An item with its groups as blocks, and no line where it is the only one, or around one."""
    if isinstance(item, int):
        return groups.get(item, item)
    items = [_unfolded(one, groups) for one in item.items]
    if len(items) == 1:
        (only,) = items
        if item.key.kind == "line":
            return only
        if isinstance(only, Block) and only.key.kind == "line":
            items = only.items
    return Block(item.key, items)


def _common(scopes: Sequence[Scope]) -> Scope:
    """What scopes begin with, all of them."""
    first, last = min(scopes), max(scopes)
    count = 0
    while count < min(len(first), len(last)) and first[count] == last[count]:
        count += 1
    return first[:count]


def _put_leaves(level: Level, found: Sequence[int], items: list[Item]) -> None:
    """Put leaves where they are read: in the innermost box around all their readers."""
    around: dict[int, tuple[Block, ...]] = {}

    def walk(inside: list[Item], path: tuple[Block, ...]) -> None:
        for item in inside:
            if isinstance(item, Block):
                walk(item.items, (*path, item))
            else:
                around[item] = path

    walk(items, ())
    readers: dict[int, list[int]] = {}
    for place, node in level.nodes.items():
        for operand in node.operands:
            readers.setdefault(operand, []).append(place)
    inputs: list[Item] = []
    first: dict[int, list[Item]] = {}
    boxes: dict[int, Block] = {}
    for place in found:
        node = level.nodes[place]
        if is_number(node) and readers.get(place) and place not in level.outputs:
            continue
        paths = [around[one] for one in readers.get(place, ()) if one in around]
        if node.op is leaves.placeholder and "." not in (node.name or ""):
            inputs.append(place)
            continue
        box = _innermost(paths)
        if box is None:
            inputs.append(place)
        else:
            boxes[id(box)] = box
            first.setdefault(id(box), []).append(place)
    for key, box in boxes.items():
        box.items[:0] = first[key]
    if len(inputs) > MOST_INPUTS:
        inputs = [Block(Key("part", f"{len(inputs)} inputs"), inputs)]
    items[:0] = inputs


def _innermost(paths: Sequence[tuple[Block, ...]]) -> Block | None:
    """The innermost box that is on all paths and is no group: leaves are computed by none."""
    if not paths:
        return None
    found = None
    for boxes in zip(*paths, strict=False):
        if any(box is not boxes[0] for box in boxes) or boxes[0].key.kind == "group":
            break
        found = boxes[0]
    return found


def _update_paths(level: Level, lanes: Mapping[int, int]) -> dict[int, Scope]:
    """The boxes of what updates compute: the scopes where the variable is read, and its name.

    What several variables share is in the boxes that these have in common.
    """
    if not level.updates:
        return {}
    reached: dict[int, set[int]] = {}
    for variable, new in level.updates:
        reached.setdefault(new, set()).add(variable)
    for place in reversed(list(level.nodes)):
        for operand in level.nodes[place].operands if lanes[place] == UPDATE else ():
            if lanes[operand] == UPDATE:
                reached.setdefault(operand, set()).update(reached.get(place, ()))
    read: dict[int, list[Scope]] = {}
    for place, node in level.nodes.items():
        for operand in node.operands if lanes[place] == FORWARD else ():
            read.setdefault(operand, []).append(scope_of(node.source))
    path_of: dict[int, Scope] = {}
    for variable, new in level.updates:
        parameters = [one for one in {variable, *reached[new]} if one in read]
        if len(parameters) == 1:
            (parameter,) = parameters
            name = level.nodes[parameter].name or f"variable {parameter}"
            path_of[variable] = (*_common(read[parameter]), name)
    return {
        place: _common([path_of.get(one, ()) for one in found])
        for place, found in reached.items()
        if lanes[place] == UPDATE
    }


def _numbered(item: Item, level: Level) -> Item:
    """An item with numbers for places, and loops and branches opened."""
    if isinstance(item, Block):
        return Block(item.key, [_numbered(one, level) for one in item.items])
    if item not in level.below:
        return level.first + item
    node = level.nodes[item]
    bodies = [
        Block(Key("body", name), [one for lane in tree_of(body)[0] for one in lane])
        for name, body in level.below[item]
    ]
    inside: list[Item] = list(bodies[0].items) if len(bodies) == 1 else list(bodies)
    return Block(Key("loop", _title(node)), inside, level.first + item)


def _title(node: Node) -> str:
    return f"{node.op.name} {node.name}" if node.name else node.op.name
