"""Batches of no image, and columns that are no windows of one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import dynamic as torch
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - as everybody calls it


def _unpooled(x: Any) -> Any:
    values, places = F.max_pool2d(x, 2, return_indices=True)
    return F.max_unpool2d(values, places, 2)


EMPTY: list[tuple[Callable[[Any], Any], tuple[int, ...], tuple[int, ...]]] = [
    (lambda x: F.unfold(x, 2, 2, 1), (0, 3, 4, 5), (0, 12, 20)),
    (lambda x: F.fold(x, (4, 5), 2), (0, 12, 12), (0, 3, 4, 5)),
    (lambda x: F.adaptive_max_pool2d(x, (2, None)), (0, 3, 4, 5), (0, 3, 2, 5)),
    (lambda x: F.max_pool2d(x, 2, dilation=2), (0, 3, 4, 5), (0, 3, 1, 2)),
    (lambda x: F.max_pool3d(x, 2), (0, 3, 4, 5, 6), (0, 3, 2, 2, 3)),
    (_unpooled, (0, 3, 4, 6), (0, 3, 4, 6)),
    (lambda x: F.local_response_norm(x, 2), (0, 3, 4, 5, 6), (0, 3, 4, 5, 6)),
    (lambda x: F.group_norm(x, 2), (0, 4, 5), (0, 4, 5)),
    (lambda x: F.conv_transpose3d(x, torch.ones(4, 2, 1, 2, 3)), (0, 4, 5, 6, 7), (0, 2, 5, 7, 9)),
    (lambda x: F.grid_sample(x, torch.zeros(0, 2, 3, 2)), (0, 4, 5, 6), (0, 4, 2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "shape", "expected"), EMPTY)
def test_a_batch_of_none(
    function: Callable[[Any], Any], shape: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    x = torch.zeros(*shape, requires_grad=True)
    found = function(x)
    assert tuple(found.shape) == expected
    found.sum().backward()
    assert tuple(x.grad.shape) == shape


def test_columns_that_are_no_windows() -> None:
    message = (
        "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
        "got input.size(1)=5 and kernel_size=(2, 2)"
    )
    with pytest.raises(RuntimeError, match=re.escape(message)):
        F.fold(torch.zeros(1, 5, 12), (4, 5), 2)
