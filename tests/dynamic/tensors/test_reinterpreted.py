"""`x.view(dtype)`, against NumPy's views, and PyTorch's errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from staticgraph import dynamic as torch

X = np.arange(8.0, dtype="float32")


@pytest.mark.parametrize("name", ["int32", "uint8", "int16", "float64", "complex64"])
def test_a_view_reads_the_same_bits(name: str) -> None:
    found = torch.tensor(X).view(2, 4).view(getattr(torch, name))
    assert_array_equal(found.numpy(), X.reshape(2, 4).view(name))


def test_a_view_shares_memory_and_version() -> None:
    x = torch.tensor(X)
    bits = x.view(torch.int32)
    bits[0] = 1065353216
    assert (x[0].item(), x._version, bits.requires_grad) == (1.0, 1, False)
    y = torch.ones(2, requires_grad=True)
    assert not y.view(torch.int32).requires_grad
    assert y.view(torch.float32).requires_grad
    assert torch.tensor(1.0).view(torch.int32).item() == 1065353216
    across = torch.tensor(X).view(2, 4).t().view(torch.int32)
    assert_array_equal(across.numpy(), X.reshape(2, 4).view("int32").T)


def test_sizes_and_steps_that_do_not_fit_are_refused() -> None:
    x = torch.tensor(X)
    cases = (
        (torch.tensor(1.0), torch.uint8, r"self.dim\(\) cannot be 0 to view Float as Byte"),
        (x[:3], torch.float64, r"self.size\(-1\) must be divisible by 2 .*, but got 3"),
        (x.view(2, 4).t(), torch.float64, r"self.stride\(-1\) must be 1 .*, but got 4"),
        (x[1:3], torch.float64, r"self.storage_offset\(\) must be divisible by 2 .* got 1"),
        (x.as_strided((2, 2), (3, 1)), torch.float64, r"self.stride\(0\) must be divisible .* 3"),
    )
    for tensor, dtype, text in cases:
        with pytest.raises(RuntimeError, match=text):
            tensor.view(dtype)
