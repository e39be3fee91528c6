"""PyTorch's trees, as PyTorch 2.13 has them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

from staticgraph import dynamic as torch
from staticgraph.dynamic.utils import _pytree as trees

Pair = namedtuple("Pair", "x y")
TREE: Any = {
    "b": [1, (2, None)], "a": OrderedDict(c=Pair(3, deque([4], 2))),
    "d": defaultdict(list, {"e": 5}),
}  # fmt: skip


def test_a_tree_is_its_leaves_and_its_structure() -> None:
    leaves, spec = trees.tree_flatten(TREE)
    assert leaves == [1, 2, None, 3, 4, 5] and spec.num_leaves == 6
    again = trees.tree_unflatten(leaves, spec)
    assert again == TREE and type(again["a"]["c"]) is Pair
    assert again["d"].default_factory is list and again["a"]["c"].y.maxlen == 2
    assert trees.tree_structure(again) == spec
    shown = trees.tree_structure({"b": [1, (2,)], "a": None})
    assert repr(shown) == (
        "TreeSpec(dict, ['b', 'a'], [TreeSpec(list, None, [*,\n    TreeSpec(tuple, None, [*])]),\n"
        "  *])"
    )


def test_functions_are_mapped_over_leaves() -> None:
    x = torch.ones(2)
    found = trees.tree_map_only(torch.Tensor, lambda one: one * 2, [x, {"a": 3}])
    assert found[0].tolist() == [2.0, 2.0] and found[1] == {"a": 3}
    assert trees.tree_map(lambda a, b: a + b, {"a": 1, "b": 2}, {"b": 3, "a": 4}) == {
        "a": 5,
        "b": 5,
    }
    assert trees.tree_map(len, [(1, 2), (3,)], is_leaf=lambda one: isinstance(one, tuple)) == [2, 1]
    assert trees.tree_all(bool, [1, (2,)]) and not trees.tree_any(bool, [0, (None,)])
    assert trees.tree_map_only(lambda one: one > 1, str, [1, 2]) == [1, "2"]


def test_a_class_is_registered_once() -> None:
    class Box:
        def __init__(self, held: Any) -> None:
            self.held = held

    def register() -> None:
        trees.register_pytree_node(Box, lambda box: ([box.held], None), lambda one, _: Box(*one))

    register()
    assert torch.utils._pytree.tree_leaves([Box((1, 2)), 3]) == [1, 2, 3]
    assert trees.tree_map(lambda one: -one, Box(4)).held == -4
    with pytest.raises(ValueError, match=r"Box'> is already registered as pytree node"):
        register()


@pytest.mark.parametrize(
    ("tree", "other", "text"),
    [
        ([1, 2], [1], "Node arity mismatch; expected 2, but got 1"),
        ([1], (1,), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>"),
        ({"a": 1}, {"b": 1}, "Node keys mismatch; expected"),
        (deque([1], 2), deque([1], 3), "Node context mismatch; expected 2, but got 3"),
    ],
)
def test_trees_that_differ_are_refused(tree: Any, other: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        trees.tree_map(lambda *each: each, tree, other)


def test_as_many_leaves_are_taken_as_the_structure_has() -> None:
    with pytest.raises(ValueError, match=r"`leaves` has length 1 but .* holds 2 items"):
        trees.tree_unflatten([1], trees.tree_structure([1, 2]))


def test_ways_to_join_are_named_without_a_group_of_processes() -> None:
    assert [one.name for one in torch.distributed.ReduceOp][:2] == ["SUM", "AVG"]


def test_there_are_no_states_of_gpus() -> None:
    states = torch.utils.checkpoint.get_device_states(torch.ones(2))
    torch.utils.checkpoint.set_device_states(*states)
    with pytest.raises(RuntimeError, match=r"all tensors are on the CPU, not on \[0\]"):
        torch.utils.checkpoint.set_device_states([0], [None])


def test_einsum_promotes_where_it_sums_nothing() -> None:
    counts, x = torch.arange(3), torch.ones(3, 2, dtype=torch.float64)
    assert torch.einsum("i,ij->ij", counts, x)[2].tolist() == [2.0, 2.0]
    assert torch.einsum("i,j->ij", counts, x[0]).dtype == torch.float64
    with pytest.raises(RuntimeError, match="expected scalar type Long but found Double"):
        torch.einsum("i,ij->j", counts, x)
