"""Tensors of inference mode as the data of others."""

from __future__ import annotations

import pytest

import dynamic as torch


def test_data_of_an_inference_tensor_makes_one() -> None:
    x = torch.ones(2)
    with torch.inference_mode():
        x.data = torch.zeros(2)
    assert x.is_inference()
    x += 1
    assert x._version == 1
    assert not x[0]._is_view()


def test_a_leaf_transposed_in_inference_mode_is_the_leaf_that_it_was() -> None:
    x = torch.ones(2, 3).requires_grad_()
    with torch.inference_mode():
        x.transpose_(0, 1)
    assert not x.is_inference()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        x[None] = 1.0
