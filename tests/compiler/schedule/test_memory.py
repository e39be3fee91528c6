"""The memory plan: what shares memory, what never does, and that no two live slots overlap."""

from __future__ import annotations

import inspect
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import staticgraph as sg
from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.codegen.listing import listing
from staticgraph.compiler.codegen.memory import MemoryPlan, Slot
from staticgraph.compiler.core.dims import atoms
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.schedule.arena import ALIGNMENT
from staticgraph.compiler.schedule.groups import computed
from tests.graphs import DEFINITIONS, kernel, lowered, random_graph

BYTE = np.dtype(np.uint8)


def padded(count: int) -> int:
    return -(-max(count, 1) // ALIGNMENT) * ALIGNMENT


def check_layout(plan: MemoryPlan, sizes: dict[Any, int]) -> None:
    """Aligned, inside the arena, disjoint while alive, and not larger than without sharing."""
    offsets, end = plan.layout(sizes)
    arena = {i: slot for i, slot in enumerate(plan.slots) if slot.kind == "arena"}
    assert offsets.keys() == arena.keys()
    spans = {i: (at, at + arena[i].bytes(sizes)) for i, at in offsets.items()}
    for i, (start, stop) in spans.items():
        assert start % ALIGNMENT == 0
        assert 0 <= start <= stop <= end
        for j, (other, until) in spans.items():
            together = arena[i].begin <= arena[j].end and arena[j].begin <= arena[i].end
            if i < j and together:
                assert stop <= other or until <= start
                assert start != other
    times = range(max((slot.end for slot in arena.values()), default=0) + 1)
    live = [
        sum(slot.bytes(sizes) for slot in arena.values() if slot.begin <= time <= slot.end)
        for time in times
    ]
    assert max(live) <= end <= sum(padded(slot.bytes(sizes)) for slot in arena.values())


lifetimes = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 4), st.sampled_from([0, 1, 63, 64, 65, 500])),
    max_size=12,
)


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(lifetimes)
def test_layout_of_random_lifetimes(spans: list[tuple[int, int, int]]) -> None:
    slots = [Slot("arena", i, (n,), BYTE, begin=first, end=first + length)
             for i, (first, length, n) in enumerate(spans)]  # fmt: skip
    slots.insert(len(slots) // 2, Slot("variable", 99, (7,), BYTE))
    check_layout(MemoryPlan(tuple(slots), {}, {}, (), ()), {})


def test_memory_is_used_again_when_its_value_is_dead() -> None:
    slots = tuple(Slot("arena", i, (1000,), BYTE, begin=i, end=i + 1) for i in range(10))
    assert MemoryPlan(slots, {}, {}, (), ()).layout({})[1] == 2 * padded(1000)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_layout_of_graphs(name: str) -> None:
    for separate in (False, True):
        plan = kernel(DEFINITIONS[name](), separate=separate).memory
        unknown = sorted(atoms([size for slot in plan.slots for size in slot.shape]), key=str)
        for first in (0, 1, 7):
            check_layout(plan, {atom: first + i for i, atom in enumerate(unknown)})


@pytest.mark.slow
def test_layout_of_random_graphs() -> None:
    for seed in range(40):
        graph = random_graph(seed)
        plan = kernel((graph.inputs, graph.outputs, dict(graph.updates))).memory
        unknown = atoms([size for slot in plan.slots for size in slot.shape])
        check_layout(plan, dict.fromkeys(unknown, 3))
        roots = [slot for slot in plan.slots if slot.kind == "output"]
        assert len(roots) == len(graph.outputs)


# -- sharing within a group ------------------------------------------------------------------------

A, B = sg.placeholder("a", ("n", "n")), sg.placeholder("b", ("n", "n"))
PRODUCT = A @ B


def shares(output: Any, *others: Any) -> bool:
    """Whether the output takes the memory of the product that it is made of."""
    made = kernel(([A, B], [output, *others], {}))
    return any(
        made.memory.place[group.node] == made.memory.place[node]
        for group in made.fusion.groups
        if hasattr(group, "node")
        for node in [build_root(output, *others)]
    )


def build_root(*outputs: Any) -> int:
    root: int = lowered(define([A, B], list(outputs))).outputs[0]
    return root


@pytest.mark.parametrize(
    "output",
    [
        lambda: sg.relu(PRODUCT), lambda: PRODUCT * A + B, lambda: sg.softmax(PRODUCT),
        lambda: PRODUCT - sg.mean(PRODUCT, 1, keepdims=True), lambda: sg.exp(PRODUCT * PRODUCT),
        lambda: sg.reshape(PRODUCT, (-1,)) * 2, lambda: PRODUCT * sg.sum(A),
    ],
)  # fmt: skip
def test_the_last_reader_writes_over_what_it_reads(output: Any) -> None:
    assert shares(output())


@pytest.mark.parametrize(
    "output",
    [
        lambda: PRODUCT + PRODUCT.T, lambda: sg.exp(PRODUCT[::-1]), lambda: sg.exp(PRODUCT.T),
        lambda: PRODUCT[:, :1] * PRODUCT, lambda: sg.sum(PRODUCT, 1), lambda: PRODUCT[1:] * 2,
        lambda: PRODUCT.astype("float64"), lambda: PRODUCT > 0, lambda: PRODUCT * PRODUCT[0],
        lambda: sg.cross_entropy(PRODUCT, sg.argmax(PRODUCT, 1), reduction="none"),
        lambda: sg.take(PRODUCT, sg.argmax(PRODUCT, 1), axis=0) * PRODUCT,
        lambda: sg.broadcast_to(PRODUCT, (2, *PRODUCT.shape)) * 2, lambda: sg.pad(PRODUCT, 1),
    ],
)  # fmt: skip
def test_nothing_is_written_over_what_is_read_elsewhere(output: Any) -> None:
    assert not shares(output())


def test_a_value_is_not_copied_to_where_it_lies_already() -> None:
    a, b = sg.placeholder("a", (4,)), sg.placeholder("b", (4,))
    joined = sg.concatenate([a * 2, b])
    outputs = [sg.reshape(joined, (2, 4))]
    assert len(kernel(([a, b], [joined], {})).program) == len(kernel(([a, b], outputs, {})).program)
    arrays = np.arange(4, dtype="f4"), np.ones(4, "f4")
    for checks in (None, "raise"):
        f = sg.compile([a, b], outputs, on_nonfinite=checks)
        np.testing.assert_array_equal(f(*arrays)[0], [[0, 2, 4, 6], [1, 1, 1, 1]])
    with pytest.raises(FloatingPointError):
        f(np.full(4, np.inf, "f4"), arrays[1])


def test_nothing_is_written_over_what_is_read_later() -> None:
    y = sg.relu(PRODUCT)
    assert shares(y)
    assert not shares(y, sg.exp(y @ A) @ PRODUCT)
    assert not shares(y, PRODUCT)


def test_without_fusion_nothing_is_shared() -> None:
    made = kernel(([A, B], [sg.relu(PRODUCT) * 2], {}), separate=True)
    placed = [made.memory.place[group.node if hasattr(group, "node") else group.members[0]]
              for group in made.fusion.groups]  # fmt: skip
    assert len(set(placed)) == len(placed)


# -- updates ---------------------------------------------------------------------------------------


def updated(inputs: list[Any], updates: dict[Any, Any], outputs: Any = ()) -> Kernel:
    return kernel((inputs, list(outputs), updates))


def variables(count: int) -> list[sg.Variable]:
    return [sg.variable(np.ones((3, 3)), f"v{i}") for i in range(count)]


def test_updates_are_written_in_place_where_the_old_value_is_done() -> None:
    v, w = variables(2)
    g = sg.placeholder("g", (3, 3), "float64")
    for updates in (
        {w: w - 0.1 * g},
        {v: 0.9 * v + g, w: w - (0.9 * v + g)},
        {w: (w @ w) * 2},
        {w: w - sg.mean(w, 1, keepdims=True)},
        {w: v * 2, v: v + 1},
    ):
        made = updated([g] if any(g is leaf for leaf in leaves(updates)) else [], updates)
        assert not made.memory.commits, listing(made)
        kinds = [slot.kind for slot in made.memory.slots]
        assert kinds.count("variable") == len(updates) + (len(updates) == 1 and v in updates)


def leaves(updates: dict[Any, Any]) -> list[Any]:
    return ancestors(list(updates.values()))


def test_updates_wait_where_the_old_value_is_still_read() -> None:
    v, w = variables(2)
    i = sg.placeholder("i", (2,), "int64")
    cases: list[tuple[list[Any], dict[Any, Any], list[Any], int]] = [
        ([], {w: w[::-1]}, [], 1),
        ([], {w: w.T}, [], 1),
        ([], {v: w, w: v}, [], 1),
        ([], {w: w * 2}, [(w * 2) @ w], 1),
        ([], {w: w - sg.mean(w, 0, keepdims=True)}, [], 0),
        ([i], {w: w * 2}, [sg.take(v, i, axis=0)], 0),
        ([i], {w: w * 2}, [sg.take(v @ (w * 2), i, axis=0)], 1),
        ([i], {w: sg.take(w, sg.take(i, i), axis=0)[:1] * w}, [], 0),
    ]
    for inputs, updates, outputs, commits in cases:
        made = updated(inputs, updates, outputs)
        assert len(made.memory.commits) == commits, listing(made)


def test_an_update_in_place_comes_after_every_check_of_an_index() -> None:
    u, v, w = variables(3)
    i = sg.placeholder("i", (3,), "int64")
    made = updated([i], {u: u * 2, w: w + sg.exp(sg.take(v, i, axis=0)) @ v})
    fallible = max(index for index, body in made.root.bodies.items() if body.checks)
    assert not made.memory.commits
    writes = [
        index
        for index, group in enumerate(made.fusion.groups)
        for node in computed(group)
        if made.memory.slots[made.memory.place.get(node, 0)].kind == "variable"
    ]
    assert len(writes) == 2
    assert min(writes) > fallible


@pytest.mark.slow
def test_random_updates_see_the_old_values() -> None:
    # every way in which three variables may be made of each other by few kinds of reads
    choose = random.Random(5)
    reads = (
        lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x * 2,
        lambda x: x - sg.sum(x, 1, keepdims=True), lambda x: sg.sum(x, 0) * x, lambda x: x @ x,
    )  # fmt: skip
    for _ in range(12):
        state = [sg.variable(np.random.default_rng(i).normal(size=(3, 3))) for i in range(3)]
        old = [v.value for v in state]
        new = []
        for _ in state:
            first, second = (choose.choice(reads)(choose.choice(state)) for _ in range(2))
            new.append(first + second if choose.random() < 0.6 else first)
        feeds = dict(zip(state, old, strict=True))
        expected = interpret(new, feeds)
        sg.compile([], [], updates=list(zip(state, new, strict=True)))()
        for v, value in zip(state, expected, strict=True):
            np.testing.assert_allclose(v.value, value, rtol=1e-13, atol=1e-13)


# -- the plan that users see -----------------------------------------------------------------------


def test_plan_counts_bytes() -> None:
    x = sg.placeholder("x", ("batch", 4), "float64")
    w = sg.variable(np.ones((4, 4)))
    f = sg.compile([x], sg.relu(x @ w) @ w)
    assert f.plan.sizes == ("batch",)
    for batch in (0, 1, 10):
        arena = f.plan.arena_bytes(batch=batch)
        assert arena == padded(batch * 4 * 8)
        assert f.plan.peak_bytes({"batch": batch}) == arena + batch * 4 * 8 + 16 * 8


def test_plan_names_the_group_that_needs_most_and_what_is_live_there() -> None:
    x = sg.placeholder("x", ("n", 64), "float64")
    w = sg.variable(np.ones((64, 64)))
    line = f"{__file__}:{line_number() + 1}"
    wide = sg.concatenate([x, x, x], axis=1) @ sg.constant(np.ones((192, 128)))
    y = wide[:, :64] @ w
    plan = sg.compile([x], sg.tanh(y) @ w).plan
    for n in (1, 100):
        peak = plan.peak(n=n)
        assert peak is not None
        assert (peak.ops, peak.source) == (("matmul",), line)
        assert [one.bytes for one in peak.buffers] == [n * 192 * 8, n * 128 * 8]
        assert [one.op for one in peak.buffers] == ["concatenate", "matmul"]
        assert {one.source for one in peak.buffers} == {line}
        assert peak.bytes == sum(one.bytes for one in peak.buffers) <= plan.arena_bytes(n=n)
    text = str(plan).splitlines()
    assert text[0].split() == ["slot", "kind", "holds", "lives"]
    last = next(i for i, one in enumerate(text) if "groups of loops" in one)
    inside, held = 1024 * 320 * 8, 8 * (1024 * 64 + 64 * 64 + 192 * 128)
    assert text[last + 1 :] == [
        f"arena {inside} bytes, in all {inside + held} bytes, n = 1024",
        f"most is in use in group {peak.group} (matmul, {line}): {inside}",
        "slot         bytes value",
        f"b{peak.buffers[0].slot:<4} {1024 * 192 * 8:>12} concatenate ({line})",
        f"b{peak.buffers[1].slot:<4} {1024 * 128 * 8:>12} matmul ({line})",
    ]


def line_number() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_plan_of_a_graph_without_intermediate_values_has_no_peak_in_its_arena() -> None:
    x = sg.placeholder("x", ("n",))
    plan = sg.compile([x], x + 1).plan
    peak = plan.peak(n=5)
    assert peak is not None
    assert (peak.bytes, peak.buffers) == (0, ())
    assert "most is in use" not in str(plan)
    none = sg.compile([], []).plan
    assert none.peak() is None
    assert str(none).endswith("arena 0 bytes, in all 0 bytes")


def test_the_arena_is_as_large_as_what_lives_at_once_where_sizes_differ() -> None:
    # by first fit, the second piece would lie where the third does not fit
    sizes = ((3, 0, 2), (1, 1, 3), (4, 3, 4))
    slots = tuple(
        Slot("arena", i, (1000 * n,), BYTE, begin=a, end=b) for i, (n, a, b) in enumerate(sizes)
    )
    assert MemoryPlan(slots, {}, {}, (), ()).layout({})[1] == padded(4000) + padded(1000)
