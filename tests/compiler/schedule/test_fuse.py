"""Fusion: what shares a loop, what is computed where, and in which order the groups run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.codegen.listing import listing
from staticgraph.compiler.core.lowering import Alias
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.schedule.group_limits import LONGEST_CHAIN, MOST_STATEMENTS
from staticgraph.compiler.schedule.groups import LoopGroup, MatmulGroup, WholeGroup
from staticgraph.compiler.schedule.placement import MOST_STREAMS
from tests import graphs
from tests.graphs import DEFINITIONS, kernel


def loops(made: Kernel) -> list[LoopGroup]:
    return [group for group in made.fusion.groups if isinstance(group, LoopGroup)]


def products(made: Kernel) -> list[MatmulGroup]:
    return [group for group in made.fusion.groups if isinstance(group, MatmulGroup)]


def emitted(inputs: list[Any], *outputs: Any, **options: Any) -> Kernel:
    return kernel((inputs, list(outputs), {}), **options)


def lines(made: Kernel, text: str) -> list[str]:
    """The statements of a kernel that hold a text."""
    return [line for line in statements(made) if text in line]


def statements(made: Kernel) -> list[str]:
    """The source of a kernel without comments."""
    bare = (line.partition("#")[0].rstrip() for line in listing(made).splitlines())
    return [line for line in bare if line]


def depth(line: str) -> int:
    """In how many loops a statement stands."""
    return (len(line) - len(line.lstrip())) // 4 - 1


# -- what shares a loop ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "passes"), [("softmax_gradient", 4), ("layer_norm_gradient", 4), ("seed", 1)]
)
def test_a_row_and_its_gradient_are_one_group(name: str, passes: int) -> None:
    made = kernel(DEFINITIONS[name]())
    large = [group for group in loops(made) if group.domain]
    assert len(large) == 1
    assert not products(made)
    (body,) = (
        made.root.bodies[i] for i, group in enumerate(made.fusion.groups) if group is large[0]
    )
    assert len(body.passes) == passes


def test_softmax_of_layer_norm_with_all_gradients_is_one_group() -> None:
    made = kernel(graphs.softmax_of_layer_norm())
    assert len(made.fusion.groups) == 1
    assert (loops(made)[0].split, len(loops(made)[0].domain)) == (1, 2)


def test_a_training_step_has_five_products_and_few_loops() -> None:
    made = kernel(graphs.mlp_step())
    assert len(products(made)) == 5
    # forward bias and relu, loss with gradient, backward relu, and one update per bias: those of
    # the matrices are part of the products
    assert len([group for group in loops(made) if group.domain]) == 3 + 2


def test_relatives_share_a_loop_and_strangers_do_not() -> None:
    x, y = (sg.placeholder(name, ("n",)) for name in "xy")
    assert len(emitted([x], sg.exp(x), sg.sin(x), sg.sum(x)).fusion.groups) == 1
    assert len(emitted([x, y], sg.exp(x), sg.sin(y)).fusion.groups) == 2


def test_no_loop_reads_too_many_arrays() -> None:
    x = sg.placeholder("x", ("n",))
    others = [sg.placeholder(f"y{i}", ("n",)) for i in range(40)]
    made = emitted([x, *others], *(x * y for y in others))
    assert len(made.fusion.groups) > 1
    assert all(len(group.reads) <= MOST_STREAMS + 1 for group in loops(made))


def test_separate_keeps_every_node_on_its_own() -> None:
    for name in ("seed", "softmax_gradient"):
        made = kernel(DEFINITIONS[name](), separate=True)
        assert all(len(group.members) <= 1 for group in loops(made))
        assert not made.fusion.virtual
        assert len(made.fusion.groups) > 3


def test_a_reduction_over_rows_and_one_over_columns_share_a_sweep() -> None:
    x = sg.placeholder("x", ("n", "m"))
    made = emitted([x], sg.sum(x, 0), sg.max(x, 1), sg.sum(x), x * 2)
    assert len(made.fusion.groups) == 1
    x = sg.placeholder("x", (2, "n", 3, "m"))
    assert len(emitted([x], sg.sum(x, (2, 3)), sg.sum(x, (0, 1))).fusion.groups) <= 2


# -- what is computed where ------------------------------------------------------------------------


def test_movement_costs_no_loop() -> None:
    x = sg.placeholder("x", (4, 6))
    moved = sg.flip(sg.broadcast_to(sg.expand_dims(x.T[1:, ::2], 0), (3, 5, 2)), 1)
    made = emitted([x], moved * 2)
    assert len(made.fusion.groups) == 1
    assert len([slot for slot in made.memory.slots if slot.kind == "arena"]) == 0


def test_a_product_reads_slices_and_transposes_in_place() -> None:
    x, w = sg.placeholder("x", ("n", 6, 40)), sg.placeholder("w", (30, 40))
    made = emitted([x, w], x[:, 1:3] @ w.T)
    assert len(made.fusion.groups) == len(products(made)) == 1
    reverse = emitted([x, w], x[:, ::-1, ::-1] @ w.T)
    assert (len(loops(reverse)), len(products(reverse))) == (1, 1)


def test_an_expensive_value_is_computed_once_and_outside_the_loop_that_repeats_it() -> None:
    x, y = sg.placeholder("x", ("n",)), sg.placeholder("y", ("n", "m"))
    made = emitted([x, y], sg.exp(x)[:, None] * y)
    assert [depth(line) for line in lines(made, "exp(")] == [1]
    made = emitted([x, y], sg.exp(x) + sg.zeros((5, x.shape[0])))
    assert [depth(line) for line in lines(made, "exp(")] == [1]
    made = emitted([x], sg.flip(sg.exp(x)) * sg.exp(x))
    assert len(lines(made, "exp(")) == 1
    i = sg.placeholder("i", ("k",), "int64")
    made = emitted([x], sg.concatenate([sg.exp(x), sg.exp(x)]))
    assert len(lines(made, "exp(")) == 1
    made = emitted([x, i], sg.take(sg.exp(x), i))
    assert len(loops(made)) == 2
    assert len(emitted([x, i], sg.take(x * 2, i)).fusion.groups) == 1


def test_what_feeds_both_a_maximum_and_a_shifted_exponential_is_computed_once() -> None:
    x = sg.placeholder("x", ("n", "m"))
    made = emitted([x], sg.softmax(sg.tanh(x) * 3), sg.log_softmax(sg.tanh(x) * 3))
    assert len(lines(made, "tanh(")) == 1
    assert len(lines(made, "exp(")) == 1
    assert len(made.fusion.groups) == 1


@pytest.mark.slow
def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    x = sg.placeholder("x", (3,), "float64")
    y = x
    for i in range(30 * LONGEST_CHAIN):
        y = y + 1e-3
        if i == 3 * LONGEST_CHAIN:
            f = sg.compile([x], y)
    groups = emitted([x], y).fusion.groups
    assert len(groups) == -(-30 * LONGEST_CHAIN // MOST_STATEMENTS)
    added = 1e-3 * (3 * LONGEST_CHAIN + 1)
    np.testing.assert_allclose(f([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3]) + added)


@pytest.mark.slow
@pytest.mark.parametrize(
    "step",
    [
        lambda y: sg.flip(y.T, 0),
        lambda y: (y + 1).T,
        lambda y: sg.reshape(sg.flip(y * 2), (16,)).reshape(4, 4)[::-1],
        lambda y: sg.where(y > 0, y, sg.take(y, sg.argmax(y, 0), axis=0)),
    ],
)
def test_a_long_chain_of_anything_does_not_exhaust_the_stack(step: Any) -> None:
    x = sg.placeholder("x", (4, 4), "float64")
    y = x
    for _ in range(400):
        y = step(y)
    check_order(emitted([x], y * 2))


def test_long_sums_are_added_in_blocks() -> None:
    x = sg.placeholder("x", ("n",))
    f = sg.compile([x], [sg.sum(x), sg.mean(x)])
    for count in (0, 1, 4095, 4096, 4097, 100_001):
        values = np.full(count, 0.1, np.float32)
        total, mean = f(values)
        # in one float32 accumulator the error of 100,000 terms would be 1e-3
        np.testing.assert_allclose(total, float(np.sum(values, dtype=np.float64)), rtol=1e-6)
        assert np.isnan(mean) if count == 0 else abs(mean - 0.1) < 1e-6


# -- the order of the groups -----------------------------------------------------------------------


def check_order(made: Kernel) -> None:
    """Every value is complete before a group, or a pass of the same group, reads it."""
    fusion = made.fusion
    complete: dict[int, int] = {}
    for i, group in enumerate(fusion.groups):
        if isinstance(group, MatmulGroup | WholeGroup):
            complete[group.node] = i
            if not isinstance(group, MatmulGroup):  # of several results, those that anything reads
                complete |= dict.fromkeys(group.items.values(), i)
        else:
            complete |= {a.node: i for a in made.root.bodies[i].accesses if a.write}
    for i, group in enumerate(fusion.groups):
        if isinstance(group, MatmulGroup):
            reads = [(storage(made, view.base), -1) for view in (group.left, group.right)]
        elif isinstance(group, WholeGroup):
            reads = [(storage(made, one), -1) for one in fusion.nodes[group.node].operands]
        else:
            reads = [
                (storage(made, a.node), a.row_pass)
                for a in made.root.bodies[i].accesses
                if not a.write
            ]
        for node, row_pass in reads:
            if node not in fusion.home:
                assert fusion.nodes[node].op.name in ("placeholder", "variable", "constant")
                continue
            assert complete[node] <= i
            if complete[node] == i:
                assert node not in fusion.deferred
                writes = [a for a in made.root.bodies[i].accesses if a.node == node and a.write]
                assert max(a.row_pass for a in writes) < row_pass
    stored = fusion.stored | set(fusion.roots)
    assert all(node in complete for node in stored if node in fusion.home)


# -- what is stored on the way ---------------------------------------------------------------------


def images(name: str = "x", size: int = 12) -> Any:
    return sg.placeholder(name, ("n", 4, size, size), "float64")


def compiled_is_numpy(inputs: list[Any], outputs: Any, *arrays: Any) -> None:
    found = sg.compile(inputs, outputs)(*arrays)
    expected = sg.compile(inputs, outputs, debug=True)(*arrays)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


@pytest.mark.parametrize(("size", "fills"), [(12, 0), (13, 1)])
def test_windows_that_do_not_overlap_are_stored_without_adding(size: int, fills: int) -> None:
    x = images(size=size)
    slope = sg.grad(sg.max_pool2d(x, 2).sum() * -0.0, x)
    made = emitted([x], slope)
    assert not lines(made, "fsum")
    assert sum(len(group.fills) for group in loops(made)) == fills
    given = np.random.default_rng(0).standard_normal((3, 4, size, size))
    compiled_is_numpy([x], [slope], given)


def test_a_permuted_copy_is_stored_where_its_source_is_computed() -> None:
    x, w = images(), sg.placeholder("w", (4, 7), "float64")
    rows = sg.reshape(sg.transpose(sg.exp(x), (1, 0, 2, 3)), (4, -1))
    product = w.T @ rows
    made = emitted([x, w], product)
    assert len(loops(made)) == len(products(made)) == 1
    given = np.random.default_rng(0).standard_normal((3, 4, 12, 12))
    compiled_is_numpy([x, w], [product], given, given[0, :, 0, :7])


def test_a_copy_that_would_be_written_across_has_a_loop_of_its_own() -> None:
    x = sg.placeholder("x", (3, None, 5), "float64")
    made = emitted([x], sg.reshape(sg.transpose(sg.exp(x), (2, 1, 0)), (-1,)))
    assert len(loops(made)) == 3  # an output that moves elements only is copied once more


def test_a_sum_per_channel_shares_the_loop_over_the_elements() -> None:
    x = images()
    value = sg.exp(x) * sg.tanh(x)
    outputs = [value, value.sum(axis=(0, 2, 3))]
    made = emitted([x], *outputs)
    (group,) = loops(made)
    assert group.split == 2
    compiled_is_numpy([x], outputs, np.random.default_rng(0).standard_normal((3, 4, 12, 12)))


def test_additions_to_one_cache_line_are_far_apart() -> None:
    x, w = images(), sg.placeholder("w", (5, 4, 3, 3), "float64")
    g = sg.placeholder("g", ("n", 5, 10, 10), "float64")
    slope = sg.grad(sg.conv2d(x, w), x, g)
    made = emitted([x, g, w], slope)
    (place,) = lines(made, "] + v1")
    source = statements(made)
    above = source[source.index(place) - 11 : source.index(place)]
    headers = [line.split()[1] for line in above if line.strip().startswith("for i")]
    headers = [name for name in headers if name != "i"]  # what fills an image
    # image; window; row of the image; channel; column
    assert headers == ["i0", "i4", "i5", "i2", "i1", "i3"]
    rng = np.random.default_rng(0)
    arrays = (
        rng.standard_normal(shape) for shape in ((3, 4, 12, 12), (3, 5, 10, 10), (5, 4, 3, 3))
    )
    compiled_is_numpy([x, g, w], [slope], *arrays)


def storage(made: Kernel, node: int) -> int:
    while isinstance(made.fusion.nodes[node].op.lowering, Alias):
        node = made.fusion.nodes[node].operands[0]
    return node


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("name", DEFINITIONS)
def test_order(name: str, separate: bool) -> None:
    check_order(kernel(DEFINITIONS[name](), separate=separate))


@pytest.mark.slow
def test_order_of_random_graphs() -> None:
    for graph in graphs.random_loop_groups(60):
        made = kernel((graph.inputs, graph.outputs, dict(graph.updates)))
        check_order(made)
        nodes = [node for group in loops(made) for node in group.members]
        assert len(set(nodes)) == len(nodes)
        assert not set(nodes) & made.fusion.virtual


def test_every_root_is_computed_once() -> None:
    x = sg.placeholder("x", ("n",))
    graph = graphs.lowered(define([x], [x, x, sg.exp(x), sg.exp(x), x[::-1]]))
    outputs = graph.outputs
    assert len(set(outputs)) == 5
    assert [graph.nodes[node].op.name for node in outputs].count("exp") == 1


# -- what is stored beside its source --------------------------------------------------------------

CORNERS: dict[str, tuple[Any, tuple[Any, ...], tuple[int, ...]]] = {
    "row": ((3, 4), (0,), (2, 2)),
    "last row": ((3, 4), (-1,), (2, 2)),
    "first rows": ((3, 4), (slice(2),), (4, 2)),
    "one row": ((3, 4), (slice(1),), (4,)),
    "last column": ((3, 4), (slice(None), -1), (3, 1)),
    "first columns": ((3, 4), (slice(None), slice(2)), (6,)),
    "reversed": ((3, 4), (slice(None, None, -1),), (12,)),
    "every other": ((4, 4), (slice(None, None, 2),), (8,)),
    "nothing": ((3, 4), (slice(0),), (2, 0)),
    "one element": ((3, 4), (1, 2), ()),
    "of one": ((1,), (0,), ()),
    "all": ((3, 4), (slice(None),), (2, 6)),
}


@pytest.mark.parametrize(("shape", "key", "new"), CORNERS.values(), ids=CORNERS)
def test_a_reshaped_part_of_a_computed_value_is_that_part(
    shape: tuple[int, ...], key: tuple[Any, ...], new: tuple[int, ...]
) -> None:
    x = sg.placeholder("x", shape, "float64")
    array = np.random.default_rng(0).normal(size=shape)
    run = sg.compile([x], sg.reshape((x * 2)[key], new))
    np.testing.assert_array_equal(run(array), (array * 2)[key].reshape(new))


@pytest.mark.parametrize(("shape", "key", "new"), CORNERS.values(), ids=CORNERS)
def test_a_part_of_a_computed_value_is_that_part_in_loops_and_branches(
    shape: tuple[int, ...], key: tuple[Any, ...], new: tuple[int, ...]
) -> None:
    x = sg.placeholder("x", shape, "float64")
    array = np.random.default_rng(0).normal(size=shape)
    part = (x * 2)[key]
    expected = (array * 2)[key]
    by_scan = sg.scan(lambda carry, one: (carry + 1, carry), part, length=2)
    by_while = sg.while_loop(
        lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + 1), (sg.constant(0), part)
    )
    by_cond = sg.cond(sg.sum(x) == sg.sum(x), lambda a: a + 1, lambda a: a, part)
    run = sg.compile([x], [*by_scan, by_while[1], by_cond, sg.reshape(x * 2, (-1,))])
    for one, other in zip(
        run(array),
        [expected + 2, np.stack([expected, expected + 1]), expected + 2, expected + 1,
         (array * 2).reshape(-1)],
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(one, other)


def test_only_whole_permutations_are_stored_beside_their_source() -> None:
    x, w = sg.placeholder("x", (3, 4, 5), "float64"), sg.placeholder("w", (3, 3), "float64")
    swapped = sg.reshape(sg.transpose(x * 2, (1, 0, 2)), (12, 5))
    assert len(loops(emitted([x], swapped * 1, x * 2))) == 2
    row = sg.reshape((x * 2)[:, 1], (5, 3))
    made = emitted([x, w], w @ sg.transpose(row, (1, 0)), x * 2)
    assert not any(store.value != store.target for group in loops(made) for store in group.stores)


def test_a_number_that_a_loop_starts_from_is_not_written() -> None:
    made = emitted([], sg.while_loop(lambda c: c < 3, lambda c: c + 1, sg.constant(0)))
    constants = {slot.position for slot in made.memory.slots if slot.kind == "constant"}
    written = {access.node for body in made.root.bodies.values() for access in body.accesses}
    assert constants
    assert not constants & written
