"""What scripts print and catch, as PyTorch 2.13 has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import staticgraph as sg
from staticgraph import dynamic as torch
from staticgraph.dynamic import nn

X = torch.arange(12.0).view(3, 4)
ZEROS = torch.zeros(3)


def _places(*places: int) -> Any:
    return torch.tensor(places)


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (lambda: X.index_select(0, _places(-1)), IndexError, "index out of range in self"),
        (lambda: X.index_select(0, _places(3)), IndexError, "index out of range in self"),
        (lambda: X.index_select(0, torch.tensor([[0]])), IndexError, "supposed to be a vector"),
        (lambda: ZEROS.index_add(0, _places(-1), torch.ones(1)), IndexError, "out of range in se"),
        (
            lambda: ZEROS.index_add(0, torch.tensor([[0]]), torch.ones(1)),
            IndexError, "supposed to be a vector",
        ),
        (lambda: ZEROS.index_copy(0, _places(4), torch.ones(1)), IndexError, "index_copy: index 4"),
        (lambda: X["a"], TypeError, "indices are numbers, slices, .* not 'a'"),
        (
            lambda: X[[0, 1], [0, 1, 2]], IndexError,
            r"indexing tensors could not be broadcast together with shapes \[2\], \[3\]",
        ),
        (lambda: setattr(ZEROS, "requires_grad", "a"), RuntimeError, "requires_grad must be a bo"),
        (lambda: X.flatten(1, 0), RuntimeError, "start_dim cannot come after end_dim"),
        (lambda: torch.meshgrid(X, X), RuntimeError, "Expected 0D or 1D tensor in the tensor list"),
    ],
)  # fmt: skip
def test_mistakes_have_pytorchs_classes_and_words(
    function: Callable[[], object], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        function()


def test_an_index_to_fill_counts_from_the_end() -> None:
    assert ZEROS.index_fill(0, _places(-1), 1.0).tolist() == [0.0, 0.0, 1.0]


def test_a_second_ellipsis_at_the_end_is_of_no_axis() -> None:
    assert X[..., ...].shape == X.shape
    assert X[0, ..., ...].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_what_is_made_of_sizes_is_one() -> None:
    size = torch.zeros(2, 3, 4).shape
    assert repr(size[1:]) == "torch.Size([3, 4])"
    assert repr(size + size[:0]) == repr(size)
    assert repr(size.__add__((5,))) == "torch.Size([2, 3, 4, 5])"
    assert repr(size[:1] * 2) == repr(2 * size[:1]) == "torch.Size([2, 2])"
    assert (size[0], type(size[0])) == (2, int)
    with pytest.raises(TypeError, match="can only concatenate tuple"):
        size.__add__([1])  # type: ignore[arg-type]


def test_backward_hooks_are_around_the_hooks_of_the_forward_pass() -> None:
    layer, seen = nn.Linear(2, 1), []
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    layer.register_full_backward_hook(lambda module, into, out: seen.append(into[0].tolist()))

    def note(module: Any, args: Any, out: Any) -> Any:
        seen.extend([args[0].grad_fn.name(), out.grad_fn.name()])
        return out * 1

    layer.register_forward_hook(note)
    x = torch.ones(1, 2, requires_grad=True)
    out = layer(x)
    assert out.grad_fn.name() == "BackwardHookFunctionBackward"
    out.sum().backward()
    assert seen == ["BackwardHookFunctionBackward", "AddmmBackward0", layer.weight.tolist()]
    assert x.grad.tolist() == (2 * layer.weight).tolist()


def test_the_state_of_a_scheduler_is_in_pytorchs_order() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    state = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer).state_dict()
    assert list(state)[8:12] == ["mode_worse", "mode", "threshold", "threshold_mode"]


def test_relu_takes_numbers() -> None:
    assert sg.relu(-1.5) == 0.0
    assert sg.relu(2) == 2
