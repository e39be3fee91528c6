"""Pruned parameters, against masks written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from staticgraph import dynamic as torch
from staticgraph.dynamic import nn
from staticgraph.dynamic.nn.utils import prune

WEIGHT = [[1.0, -4.0, 2.0], [0.5, 3.0, -0.25]]


def _layer() -> Any:
    layer = nn.Linear(3, 2, bias=False)
    layer.weight.data.copy_(torch.tensor(WEIGHT))
    return layer


def test_the_elements_closest_to_zero_go_first_and_stay_zero() -> None:
    layer = prune.l1_unstructured(_layer(), "weight", 2)
    assert layer.weight.tolist() == [[1.0, -4.0, 2.0], [0.0, 3.0, 0.0]]
    assert [name for name, _ in layer.named_parameters()] == ["weight_orig"]
    assert list(layer.state_dict()) == ["weight_orig", "weight_mask"]
    prune.l1_unstructured(layer, "weight", 0.25)  # of the four that are left
    assert layer.weight.tolist() == [[0.0, -4.0, 2.0], [0.0, 3.0, 0.0]]
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    assert layer(torch.eye(3)).t().tolist() == [[0.0, -5.0, 1.0], [0.0, 2.0, 0.0]]
    assert prune.is_pruned(nn.Sequential(layer))
    prune.remove(layer, "weight")
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    assert layer.weight.tolist() == [[0.0, -5.0, 1.0], [0.0, 2.0, 0.0]]
    assert not prune.is_pruned(layer)


def test_whole_slices_go_by_their_norms() -> None:
    layer = prune.ln_structured(_layer(), "weight", 1, 2, 1)
    assert layer.weight.tolist() == [[0.0, -4.0, 2.0], [0.0, 3.0, -0.25]]
    layer = prune.ln_structured(_layer(), "weight", 0.5, 1, 0)
    assert layer.weight.tolist() == [WEIGHT[0], [0.0] * 3]


def test_random_elements_and_slices_are_as_many_as_asked_for() -> None:
    torch.manual_seed(0)
    layer = prune.random_unstructured(_layer(), "weight", 0.5)
    assert layer.weight_mask.sum() == 3
    layer = prune.random_structured(_layer(), "weight", 2, 1)
    assert sorted(layer.weight_mask.numpy().sum(0)) == [0, 0, 2]


def test_several_layers_are_pruned_as_one() -> None:
    layers = _layer(), _layer()
    layers[1].weight.data.mul_(10)
    pairs = [(layer, "weight") for layer in layers]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=5)
    assert layers[0].weight.tolist() == [[0.0, -4.0, 0.0], [0.0, 3.0, 0.0]]
    assert layers[1].weight.tolist() == [[10.0, -40.0, 20.0], [5.0, 30.0, 0.0]]
    torch.manual_seed(0)
    prune.global_unstructured(pairs, prune.RandomUnstructured, amount=1.0)
    assert not layers[0].weight.any()


def test_masks_and_scores_may_be_given() -> None:
    layer = prune.identity(_layer(), "weight")
    assert_array_equal(layer.weight_mask.numpy(), np.ones((2, 3)))
    scores = torch.tensor([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    prune.l1_unstructured(layer, "weight", 1, importance_scores=scores)
    assert layer.weight[0, 0] == 0


def test_amounts_and_names_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TypeError, match="Invalid type for amount: a"):
        prune.l1_unstructured(_layer(), "weight", "a")
    with pytest.raises(ValueError, match=r"amount=1.5 should either be a float in the range"):
        prune.l1_unstructured(_layer(), "weight", 1.5)
    with pytest.raises(ValueError, match="amount=7 should be smaller than the number"):
        prune.l1_unstructured(_layer(), "weight", 7)
    with pytest.raises(ValueError, match=r"'weight' of module .* has to be pruned before"):
        prune.remove(_layer(), "weight")
