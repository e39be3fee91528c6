"""Integers and booleans where PyTorch's ops are of floating numbers, against what PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from staticgraph import dynamic as torch
from staticgraph.dynamic.nn import functional


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "trunc"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int64])
def test_integers_are_whole_already(name: str, dtype: Any) -> None:
    x = torch.tensor([1, 7], dtype=dtype)
    found = getattr(x, name)()
    assert (found.dtype, found.tolist()) == (dtype, [1, 7])
    assert found.data_ptr() != x.data_ptr()
    assert getattr(torch, name)(x).dtype == dtype
    with pytest.raises(NotImplementedError, match=f"\"{name}_vml_cpu\" not implemented for 'Bool'"):
        getattr(torch.tensor([True]), name)()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x.softmax(0), "\"softmax_lastdim_kernel_impl\" not implemented for 'Long'"),
        (
            lambda x: functional.log_softmax(x, 0),
            '"log_softmax_lastdim_kernel_impl',
        ),
        (functional.gelu, "\"GeluKernelImpl\" not implemented for 'Long'"),
        (functional.silu, "\"silu_cpu\" not implemented for 'Long'"),
        (lambda x: x.frac(), "\"frac_cpu\" not implemented for 'Long'"),
        (lambda x: x.std(), "std and var only support floating point and complex dtypes"),
        (lambda x: x.var(0), "std and var only support floating point and complex dtypes"),
        (lambda x: x.norm(), "Expected a floating point or complex tensor as input. Got Long"),
    ],
)
def test_functions_of_floating_numbers_refuse_integers(
    function: Callable[[Any], Any], text: str
) -> None:
    with pytest.raises(RuntimeError, match=text):
        function(torch.tensor([1, 2]))


def test_a_difference_takes_no_booleans() -> None:
    x, mask = torch.ones(2), torch.tensor([True, False])
    for function in (lambda: x - True, lambda: 1 - mask, lambda: x - mask, lambda: mask - 1.5):
        with pytest.raises(RuntimeError, match=r"operator, with a bool tensor is not supported"):
            function()
    with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
        mask - mask


def test_what_an_op_has_no_rule_for_is_pytorchs_error() -> None:
    for function in (lambda: -torch.tensor([True]), lambda: torch.ones(2) << 1):
        with pytest.raises(RuntimeError, match="cast it with astype"):
            function()


def test_a_square_counts_booleans() -> None:
    found = torch.tensor([True, False]).square()
    assert (found.dtype, found.tolist()) == (torch.int64, [1, 0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.complex64, torch.int8, torch.float32])
def test_any_number_is_true_or_not(dtype: Any) -> None:
    x = torch.tensor([0, 2]).to(dtype)
    assert x.logical_not().tolist() == torch.logical_not(x).tolist() == [True, False]
