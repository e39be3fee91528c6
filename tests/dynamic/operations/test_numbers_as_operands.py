"""Tensors without axes where functions of tensors, indices and weights are usual."""

from __future__ import annotations

import pytest

import dynamic

F = dynamic.nn.functional


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_takes_numbers_among_its_indices(accumulate: bool) -> None:
    one, places = dynamic.tensor(1), dynamic.tensor([0, 2, 2])
    across = dynamic.zeros(2, 3).index_put_((one, places), dynamic.ones(3), accumulate)
    assert across.tolist() == [[0, 0, 0], [1, 0, 2 if accumulate else 1]]
    down = dynamic.zeros(3, 2).index_put_((places, one), dynamic.ones(3), accumulate)
    assert down.tolist() == [[0, 1], [0, 0], [0, 2 if accumulate else 1]]
    single = dynamic.ones(2, 3).index_put_((one,), dynamic.ones(3), accumulate)
    assert single[1].tolist() == [2 if accumulate else 1] * 3


def test_what_index_put_adds_takes_the_gradient_of_its_place() -> None:
    x, value = dynamic.zeros(2, 3, requires_grad=True), dynamic.ones(2, requires_grad=True)
    indices = dynamic.tensor(1), dynamic.tensor([2, 2])
    put = x.clone().index_put_(indices, value, accumulate=True)
    (put * dynamic.arange(6.0).reshape(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert value.grad.tolist() == [5, 5]


def test_a_selected_slice_keeps_its_axis() -> None:
    assert dynamic.arange(3).index_select(0, dynamic.tensor(1)).tolist() == [1]


def test_masked_scatter_refuses_too_few_elements() -> None:
    mask = dynamic.tensor([True, False, True])
    with pytest.raises(RuntimeError, match="elements of source < number of ones in mask: 1 < 2"):
        dynamic.zeros(3).masked_scatter_(mask, dynamic.tensor([5.0]))


def test_activations_of_numbers() -> None:
    assert F.prelu(dynamic.tensor(-1.0), dynamic.tensor([0.5])).shape == ()
    with pytest.raises(RuntimeError, match="glu does not support scalars"):
        F.glu(dynamic.tensor(1.0))
