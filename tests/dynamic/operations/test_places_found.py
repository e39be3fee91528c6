"""Places that are looked for in another way than NumPy does: the same ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic as torch
from staticgraph.compiler import ops
from staticgraph.compiler.reference.copies import LARGE

DRAWN = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["?", "i8", "u1", "f4", "c8"])
def test_elements_other_than_zero(dtype: str) -> None:
    for shape in ((), (0,), (5,), (3, 4), (0, 4), (4, 0), (2, 3, 4), (7, 2, 1, 3)):
        x = (DRAWN.integers(0, 2, shape) * 3).astype(dtype)
        if dtype == "f4" and x.size > 1:
            x.flat[:2] = np.nan, -0.0
        for one in (x, np.asfortranarray(x), x[::-1] if x.ndim else x):
            places = torch.nonzero(torch.tensor(one))
            assert places.dtype == torch.int64
            assert_array_equal(places.numpy(), np.argwhere(one), strict=True)
            along = torch.nonzero(torch.tensor(one), as_tuple=True)
            expected = np.nonzero(np.atleast_1d(one))
            for found, other in zip(along, expected, strict=True):
                assert_array_equal(found.numpy(), other, strict=True)


def test_so_many_elements_other_than_zero() -> None:
    x = torch.tensor([[0.0, 5.0], [7.0, 0.0]])
    assert torch.nonzero_static(x, size=3).tolist() == [[0, 1], [1, 0], [-1, -1]]
    assert torch.nonzero_static(x, size=1, fill_value=9).tolist() == [[0, 1]]
    assert torch.nonzero_static(torch.tensor(3.0), size=2).shape == (2, 0)
    captured = torch.compile(lambda x: torch.nonzero_static(x, size=3))
    assert captured(x).tolist() == torch.nonzero_static(x, size=3).tolist()
    with pytest.raises(RuntimeError, match="'size' must be an non-negative integer"):
        torch.nonzero_static(x, size=-1)


@pytest.mark.parametrize("op", [ops.argmax, ops.argmin])
def test_extrema_of_large_arrays_along_any_axis(op) -> None:
    x = DRAWN.standard_normal((9, 130, 131)).astype("f4").round(1)
    assert x.size >= LARGE
    x.flat[::997] = np.nan
    for one in (x, x.T, x[:, ::-1], np.asfortranarray(x)):
        for axis in range(3):
            for kept in (False, True):
                expected = getattr(np, op.name)(one, axis, keepdims=kept)
                found = op.evaluate(one, axes=(axis,), keepdims=kept)
                assert_array_equal(found, expected, strict=True)


def test_ones_at_places_of_a_class() -> None:
    for shape in ((), (0,), (3,), (2, 3), (2, 0)):
        for least in (0, -2):  # a place outside gives zeros
            index = DRAWN.integers(least, 5, shape)
            attrs = {"classes": 4 if least else 5, "dtype": np.dtype("i8")}
            expected = ops.one_hot.expand(index, **attrs)
            assert_array_equal(ops.one_hot.evaluate(index, **attrs), expected, strict=True)
    found = torch.nn.functional.one_hot(torch.tensor([[2, 0]]), 3)
    assert (found.dtype, found.tolist()) == (torch.int64, [[[0, 0, 1], [1, 0, 0]]])


@pytest.mark.parametrize("shape", [(3, 4, 5), (400, 500)])
def test_elements_that_an_index_per_axis_names(shape: tuple[int, ...]) -> None:
    x = torch.from_numpy(DRAWN.standard_normal(shape)).requires_grad_()
    for sizes in (((3,), (2, 1)), ((0,), (1,)), ((20_000,), (20_000,)), ((), (2, 2))):
        drawn = [
            DRAWN.integers(-size, size, sizes[min(axis, 1)]) for axis, size in enumerate(shape)
        ]
        found = x[tuple([torch.tensor(one) for one in drawn])]
        assert_array_equal(found.detach().numpy(), x.detach().numpy()[tuple(drawn)], strict=True)
        (slope,) = torch.autograd.grad(found.sum(), x)
        expected = np.zeros(shape)
        np.add.at(expected, tuple(drawn), 1.0)
        assert_array_equal(slope.numpy(), expected)
    outside = (torch.tensor([shape[0]]), *[torch.tensor([0])] * (len(shape) - 1))
    with pytest.raises(IndexError, match=f"index {shape[0]} is out of bounds for dimension 0"):
        x[outside]
    with pytest.raises(IndexError, match="could not be broadcast together"):
        x[(torch.tensor([0, 1]), *[torch.tensor([0, 1, 2])] * (len(shape) - 1))]


def test_few_rows_of_a_large_tensor_do_not_copy_it() -> None:
    x = torch.from_numpy(DRAWN.standard_normal((600, 500)))
    rows = torch.tensor([3, -1, 3])
    for one in (x, x.t()):
        assert_array_equal(one[rows].numpy(), one.numpy()[[3, -1, 3]])
    with pytest.raises(IndexError):
        x[torch.tensor([600])]
