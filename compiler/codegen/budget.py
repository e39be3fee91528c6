"""A budget of memory: which groups run again so that a call takes no more than so many bytes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from staticgraph.compiler.codegen.accesses import accesses_of, by_node, fits, replaces, storage
from staticgraph.compiler.codegen.attention import attention_of
from staticgraph.compiler.codegen.matmul import product_of
from staticgraph.compiler.codegen.memory import MemoryPlan
from staticgraph.compiler.codegen.region import Region, place_region, region_of
from staticgraph.compiler.codegen.statements import Access
from staticgraph.compiler.core.dims import Unknown, atoms, evaluate
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.reports import Report, collector, on_trial
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.ir.records import ZERO
from staticgraph.compiler.schedule.arena import ALIGNMENT, arrange
from staticgraph.compiler.schedule.budget import Search, Step
from staticgraph.compiler.schedule.groups import (
    AttentionGroup,
    Fusion,
    Group,
    LoopGroup,
    MatmulGroup,
    computed,
)
from staticgraph.compiler.schedule.reruns import rerun

ROUNDS = 8  # of searching again, for what is laid out may take more than what is in use at once
LANES = 8  # multiplications of a product that take as long as one statement of a loop
WEIGHTS = {"cheap": 1, "moderate": 4, "expensive": 16}  # statements that an op is counted as


@frozen(eq=False)
class Fitted:
    """A graph and its groups, and the bytes that they take."""

    graph: Definition
    fusion: Fusion
    bytes: int


def recompute_groups(
    graph: Definition,
    memory: float,
    at: Mapping[str, int],
    *,
    separate: bool = False,
    keeps: bool = False,
    again: bool = True,
) -> Fitted:
    """The graph in which groups run again so that a call takes no more memory than a budget.

    Args:
        graph: of primitive ops.
        memory: bytes if it is an int, else the part of what it takes without a budget.
        at: the unknown sizes for which the budget is, by their names.
        separate, keeps: see `emit`.
        again: whether groups may run again.

    Raises:
        OptionError: it cannot be met, or the sizes are not those that are unknown.
    """
    with on_trial():
        region = _placed(region_of(graph, separate), separate, keeps)
    sizes = _sizes(region.memory, at)
    held, arena = _bytes(region.memory, sizes)
    plain = Fitted(graph, region.fusion, held + arena)
    limit = int(memory * plain.bytes) if isinstance(memory, float) else memory
    if plain.bytes <= limit:
        return plain
    best = _fit(region, sizes, limit, (separate, keeps), plain) if again else plain
    if best.bytes > limit:
        taken = "".join(f", {name} = {size}" for name, size in sorted(at.items()))
        raise OptionError(
            f"compile: memory={memory!r} is {limit} bytes{taken}: the least that was found is "
            f"{best.bytes}, of which outputs, variables and constants take {held}; "
            f"without a budget it is {plain.bytes}"
        )
    return best


def _fit(
    region: Region, sizes: Mapping[Unknown, int], limit: int, how: tuple[bool, bool], best: Fitted
) -> Fitted:
    """The first schedule that takes no more than a limit, or the one that takes least.

    `how`: what `separate` and `keeps` are.
    """
    held, _ = _bytes(region.memory, sizes)
    search = Search(*_steps(region, sizes))
    target = limit - held
    for _ in range(ROUNDS):
        is_reached = search.reach(target)
        found = _fitted(region, sizes, search, how)
        best = min(best, found, key=lambda one: one.bytes)
        if best.bytes <= limit:
            _report(region, search.schedule)
            return best
        if not is_reached:
            break
        target -= max(found.bytes - limit, ALIGNMENT)
    return best


def _fitted(
    region: Region, sizes: Mapping[Unknown, int], search: Search, how: tuple[bool, bool]
) -> Fitted:
    end = len(region.fusion.groups)
    schedule = [group for group in search.schedule if group != end]
    graph, fusion = rerun(region.graph, region.fusion, schedule)
    with on_trial():
        made = _placed(region_of(graph, how[0], fusion=fusion), *how)
    return Fitted(graph, fusion, sum(_bytes(made.memory, sizes)))


def _placed(region: Region, separate: bool, keeps: bool) -> Region:
    place_region(region, lambda _: ZERO, separate, keeps)
    return region


def _sizes(memory: MemoryPlan, at: Mapping[str, int]) -> dict[Unknown, int]:
    """The unknown sizes by what they are, of those by name."""
    found = atoms([size for slot in memory.slots for size in slot.shape])
    known = {str(atom): atom for atom in found}
    if at.keys() != known.keys():
        raise OptionError(
            f"compile: memory: the sizes {sorted(at)} are given by memory_at, "
            f"{sorted(known)} are unknown"
        )
    return {known[name]: size for name, size in at.items()}


def _bytes(memory: MemoryPlan, sizes: Mapping[Unknown, int]) -> tuple[int, int]:
    """What a call takes beside its inputs: outputs, variables and constants, and the arena."""
    held = (one.bytes(sizes) for one in memory.slots if one.kind not in ("arena", "input"))
    return sum(held), memory.layout(sizes)[1]


def _report(region: Region, schedule: list[int]) -> None:
    reports = collector()
    if reports is None:
        return
    nodes, groups = region.fusion.nodes, region.fusion.groups
    for index in dict.fromkeys(one for one in schedule if one < len(groups)):
        further = schedule.count(index) - 1
        for node in computed(groups[index]) if further else ():
            times = "once more" if further == 1 else f"{further} times more"
            text = f"its group runs {times}, within the budget of memory"
            reports.append(
                Report(
                    "recomputed", nodes[node].source, nodes[node].op.name,
                    recompute_groups.__name__, text,
                )
            )  # fmt: skip


def _steps(region: Region, sizes: Mapping[Unknown, int]) -> tuple[list[Step], dict[int, int]]:
    """What each group does to memory, and the bytes of each value; at last what commits do."""
    fusion, memory = region.fusion, region.memory
    nodes = fusion.nodes
    accesses = [by_node(one) for one in accesses_of(fusion, region.bodies)]
    writers: dict[int, list[int]] = {}
    for index, one in enumerate(accesses):
        for node in _written(one):
            writers.setdefault(node, []).append(index)
    over = {new: variable for variable, new in region.graph.updates}
    changed = {}
    for new, variable in over.items():
        if memory.slots[memory.place[new]].kind == "variable" and new in writers:
            changed[variable] = writers[new][-1]
    roots = {storage(nodes, one) for one in fusion.roots}
    lies = {storage(nodes, one) for one in region.graph.outputs}
    lies |= {new for new, variable in over.items() if variable in changed}
    size = {node: 0 if node in lies else _rounded(node, region, sizes) for node in writers}
    end = len(accesses)
    own = _scratch(memory, sizes)
    steps = []
    for index, (group, one) in enumerate(zip(fusion.groups, accesses, strict=True)):
        written = _written(one)
        shared = any(len(writers[node]) > 1 for node in written)
        may = not shared and roots.isdisjoint(written) and _may_run_again(region, index)
        until = [changed[node] for node in one if node in changed]
        steps.append(
            Step(
                tuple(node for node in one if node in writers and _is_read(one[node])),
                tuple(written),
                _replaced(region, one, over, changed),
                own.get(index, 0),
                _cost(region, group, sizes),
                may,
                min(until, default=end + 1),
            )
        )
    commits = tuple(storage(nodes, new) for _, new in memory.commits)
    steps.append(Step(commits, (), (), 0, 0, False, end + 1))
    return steps, size


def _written(accesses: Mapping[int, list[Access]]) -> list[int]:
    return [node for node, those in accesses.items() if any(one.write for one in those)]


def _is_read(accesses: list[Access]) -> bool:
    return not all(one.write for one in accesses)


def _rounded(node: int, region: Region, sizes: Mapping[Unknown, int]) -> int:
    """The bytes that a value takes in the arena."""
    type = region.fusion.nodes[node].type
    length = evaluate(type.size, sizes) * type.dtype.itemsize
    return -(-max(length, 1) // ALIGNMENT) * ALIGNMENT


def _scratch(memory: MemoryPlan, sizes: Mapping[Unknown, int]) -> dict[int, int]:
    """The bytes that groups use inside."""
    found: dict[int, int] = {}
    for (index, _), slot in memory.own.items():
        found[index] = found.get(index, 0) + memory.slots[slot].bytes(sizes)
    for index, inside in memory.nested.items():
        slots = [memory.slots[one] for one in inside if memory.slots[one].kind == "arena"]
        _, length = arrange([(one.bytes(sizes), one.begin, one.end) for one in slots])
        found[index] = found.get(index, 0) + length
    return found


def _may_run_again(region: Region, index: int) -> bool:
    """Whether a group does nothing but compute: what may fail, or call anything, has one run."""
    group = region.fusion.groups[index]
    if isinstance(group, LoopGroup):
        return not region.loops[index].body.checks
    return isinstance(group, MatmulGroup | AttentionGroup)


def _replaced(
    region: Region,
    accesses: Mapping[int, list[Access]],
    over: Mapping[int, int],
    changed: Mapping[int, int],
) -> tuple[tuple[int, int], ...]:
    """What may be written over what, as the plan of memory does it."""
    nodes, home = region.fusion.nodes, region.fusion.home
    return tuple(
        (new, old)
        for new in _written(accesses)
        if over.get(new) not in changed
        for old, those in accesses.items()
        if old in home and _is_read(those) and fits(nodes, old, new)
        if replaces(accesses, new, old)
    )


def _cost(region: Region, group: Group, sizes: Mapping[Unknown, int]) -> int:
    """How long a group takes, in statements of a loop."""
    nodes = region.fusion.nodes
    if isinstance(group, MatmulGroup):
        one = product_of(nodes, group)
        return prod(evaluate(size, sizes) for size in (*one.sizes, *one.batch)) // LANES
    if isinstance(group, AttentionGroup):
        of = attention_of(nodes, group)
        queries, keys, inner, outer = (evaluate(size, sizes) for size in of.sizes)
        return evaluate(of.heads, sizes) * queries * keys * (inner + outer) // LANES
    if not isinstance(group, LoopGroup):
        return 0
    ops = [nodes[node].op for node in group.members]
    each = sum(WEIGHTS[op.cost] for op in ops) + len(group.reads) + len(group.stores)
    return prod(evaluate(size, sizes) for size in group.domain) * max(1, each)


__all__ = ["Fitted", "recompute_groups"]
