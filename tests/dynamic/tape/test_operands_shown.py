"""The operands of nodes, which PyTorch's have too, in its order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from staticgraph import dynamic as torch
from staticgraph.dynamic import nn

ROWS = torch.tensor([0, 1])
PLACES = torch.tensor([[0, 1]])
LEAF = "torch::autograd::AccumulateGrad"


def _names(tensor: Any) -> tuple[str, list[str | None]]:
    """The name of the node, and those of the nodes of its operands."""
    node = tensor.grad_fn
    return node.name(), [None if one is None else one.name() for one, _ in node.next_functions]


@pytest.mark.parametrize(
    ("function", "name", "operands"),
    [
        (lambda x: x**2, "PowBackward0", [LEAF]),
        (lambda x: 2**x, "PowBackward2", [LEAF]),
        (lambda x: x**x, "PowBackward1", [LEAF, LEAF]),
        (lambda x: x.clamp(0, 1), "ClampBackward1", [LEAF]),
        (lambda x: torch.where(x > 0, x, x * 2), "WhereBackward0", [LEAF, "MulBackward0"]),
        (lambda x: x.masked_fill(x > 0, 1.0), "MaskedFillBackward0", [LEAF]),
        (lambda x: x.masked_fill(x > 0, x.sum()), "MaskedFillBackward1", [LEAF, "SumBackward0"]),
        (lambda x: x[ROWS], "IndexBackward0", [LEAF]),
        (lambda x: x.gather(0, PLACES), "GatherBackward0", [LEAF]),
        (lambda x: x.index_select(0, ROWS), "IndexSelectBackward0", [LEAF]),
        (lambda x: 1 - x, "RsubBackward1", [LEAF]),
        (lambda x: x - 1, "SubBackward0", [LEAF, None]),
        (lambda x: 2 * x, "MulBackward0", [LEAF, None]),
        (lambda x: 1 + x, "AddBackward0", [LEAF, None]),
        (lambda x: x % 2, "RemainderBackward0", [LEAF]),
        (lambda x: x.fmod(2), "FmodBackward0", [LEAF]),
        (lambda x: x * torch.ones(2), "MulBackward0", [LEAF, None]),
    ],
)
def test_indices_masks_and_numbers_are_no_operands(
    function: Callable[[Any], Any], name: str, operands: list[str | None]
) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert _names(function(x)) == (name, operands)


def test_the_bias_of_a_layer_is_one_node_with_the_product() -> None:
    layer = nn.Linear(3, 2)
    flat, batch = layer(torch.ones(4, 3)), layer(torch.ones(2, 4, 3))
    assert _names(flat) == ("AddmmBackward0", [LEAF, None, "TBackward0"])
    assert repr(flat).endswith("grad_fn=<AddmmBackward0>)")
    assert batch.grad_fn.name() == "ViewBackward0"
    layer.weight.requires_grad_(False)
    assert _names(layer(torch.ones(4, 3))) == ("AddmmBackward0", [LEAF, None, None])


def test_hooks_of_a_node_get_the_gradients_of_these_operands() -> None:
    x, seen = torch.ones(2, requires_grad=True), []
    y = x**3
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((len(inputs), len(outputs))))
    y.sum().backward()
    assert seen == [(1, 1)]


def test_a_node_that_is_given_a_number_runs_by_it() -> None:
    x, order = torch.ones(2, requires_grad=True), []
    a, b = x * 2, x * 3
    total = (a + b).sum()
    for node, number in ((a.grad_fn, 1), (b.grad_fn, 0)):
        node._set_sequence_nr(number)
        assert node._sequence_nr() == number
    a.register_hook(lambda g: order.append("a"))
    b.register_hook(lambda g: order.append("b"))
    total.backward()
    assert order == ["a", "b"]


def test_what_cannot_be_differentiated_shows_what_it_was_made_of() -> None:
    x = torch.tensor([3.0, 1.0, 3.0], requires_grad=True)
    assert [node.name() for node, _ in (x // 2).grad_fn.next_functions] == [LEAF]
    values, places = torch.unique(x, return_inverse=True)
    assert (values.grad_fn.name(), places.requires_grad) == (
        "torch::autograd::NotImplemented",
        False,
    )
    with pytest.raises(NotImplementedError, match="derivative for '_unique2' is not implemented"):
        values.sum().backward()


def test_nodes_print_as_pytorchs() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    x = torch.ones(2, requires_grad=True)
    copied = (x * 1).copy_(torch.zeros(2))
    assert repr(copied.grad_fn).startswith("<CopyBackwards object at 0x")
    assert repr(Twice.apply(x).grad_fn).startswith("<torch.autograd.function.TwiceBackward object")
