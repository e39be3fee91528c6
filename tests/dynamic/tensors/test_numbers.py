"""Numbers that become elements, and `dim=()`: what PyTorch 2.13 does."""

from __future__ import annotations

from typing import Any

import pytest

import dynamic as torch

UINT8 = torch.tensor([1, 2, 3], dtype=torch.uint8)
ALL = torch.tensor([True, True, True])


def assigned(x: Any, key: Any, value: Any) -> Any:
    x = x.clone()
    x[key] = value
    return x


PLACED = {
    "fill_": lambda x, v: x.clone().fill_(v),
    "slice": lambda x, v: assigned(x, slice(None), v),
    "mask": lambda x, v: assigned(x, ALL, v),
    "list": lambda x, v: assigned(x, [0, 1, 2], v),
    "masked_fill": lambda x, v: x.masked_fill(ALL, v),
    "masked_fill_": lambda x, v: x.clone().masked_fill_(ALL, v),
    "index_fill": lambda x, v: x.index_fill(0, torch.tensor([0, 1, 2]), v),
    "scatter": lambda x, v: x.scatter(0, torch.tensor([0, 1, 2]), v),
    "full_like": lambda x, v: torch.full_like(x, v),
}
CHOSEN = {
    "where": lambda x, v: torch.where(ALL, v, x),
    "clamp": lambda x, v: x.clamp(v, v),
    "clamp_min": lambda x, v: x.clamp(min=v),
    "clamp_max": lambda x, v: x.clamp(max=v),
}


@pytest.mark.parametrize("name", [*PLACED, *CHOSEN])
@pytest.mark.parametrize(
    ("dtype", "value", "scalar"),
    [
        ("uint8", 300, "uint8_t"),
        ("uint8", -300, "uint8_t"),
        ("int8", 200, "int8_t"),
        ("int32", 2**31, "int"),
        ("float32", 1e300, "float"),
        ("float32", -1e300, "float"),
    ],
)
def test_a_number_that_the_dtype_has_no_place_for(
    name: str, dtype: str, value: Any, scalar: str
) -> None:
    x = torch.tensor([1, 2, 3], dtype=getattr(torch, dtype))
    text = f"^value cannot be converted to type {scalar} without overflow$"
    with pytest.raises(RuntimeError, match=text):
        (PLACED | CHOSEN)[name](x, value)
    assert x.tolist() == [1, 2, 3]


@pytest.mark.parametrize("name", PLACED)
def test_elements_keep_their_dtype(name: str) -> None:
    assert PLACED[name](UINT8, -1).tolist() == [255, 255, 255]
    whole = PLACED[name](torch.tensor([1, 2, 3]), 2.75)
    assert (whole.dtype, whole.tolist()) == (torch.int64, [2, 2, 2])
    for value in (float("inf"), 3e38):
        found = PLACED[name](torch.zeros(3), value)
        assert found.dtype == torch.float32
        assert found.tolist() == torch.full((3,), value).tolist()


def test_bounds_that_are_floats_make_floats() -> None:
    assert str(UINT8.clamp(min=float("inf"))) == "tensor([inf, inf, inf])"
    assert str(UINT8.clamp(min=1e5)) == "tensor([100000., 100000., 100000.])"
    assert str(torch.tensor([True, False]).clamp(min=3)) == "tensor([3, 3])"


def test_a_tensor_of_uint8_counts_back_from_256() -> None:
    assert torch.tensor([-1, -129, 7], dtype=torch.uint8).tolist() == [255, 127, 7]
    with pytest.raises(RuntimeError, match="converted to type int8 without overflow"):
        torch.tensor([128], dtype=torch.int8)


def test_a_mask_with_a_number_is_written_at_once_and_counted() -> None:
    x = torch.arange(4.0)
    x[x > 1] = 7
    assert (x.tolist(), x._version) == ([0.0, 1.0, 7.0, 7.0], 1)
    leaf = torch.arange(4.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf[leaf > 1] = 7.0
    y = leaf * 1
    y[leaf > 1] = 7.0
    assert y.grad_fn.name() == "IndexPutBackward0"
    row = torch.zeros(1, 2).expand(3, 2)
    row[torch.ones(3, 2) > 0] = 2.0
    assert row.tolist() == [[2.0, 2.0]] * 3


X = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", 15.0),
        ("mean", 2.5),
        ("amax", 5.0),
        ("amin", 0.0),
        ("var", 3.5),
        ("std", 3.5**0.5),
        ("norm", 55**0.5),
        ("nansum", 15.0),
        ("nanmean", 2.5),
    ],
)
@pytest.mark.parametrize("dim", [(), []])
def test_no_axis_is_every_axis(name: str, expected: float, dim: Any) -> None:
    found = getattr(torch, name)(X, dim=dim)
    assert found.shape == ()
    assert found.item() == pytest.approx(expected)
    kept = getattr(torch, name)(X, dim=dim, keepdim=True)
    assert kept.shape == (1, 1)
    assert getattr(torch, name)(torch.tensor([2.0])[0].double(), dim=dim).shape == ()


def test_no_axis_of_other_functions() -> None:
    assert torch.count_nonzero(X, dim=()).item() == 5
    assert [one.item() for one in torch.var_mean(X, dim=())] == [3.5, 2.5]
    assert torch.linalg.vector_norm(X, dim=()).item() == pytest.approx(55**0.5)
    assert torch.all(X, dim=()).tolist() == [[False, True, True], [True, True, True]]
    assert torch.any(X > 4, dim=()).tolist() == [[False] * 3, [False, False, True]]
    with pytest.raises(TypeError, match=r"^prod\(\): argument 'dim' must be int, not tuple$"):
        torch.prod(X, dim=(), keepdim=True)
    with pytest.raises(TypeError, match=r"^randperm\(\): argument 'n' \(position 1\) must be int"):
        torch.randperm((2, 3))
    x = X.clone().requires_grad_()
    x.mean(()).backward()
    assert x.grad.tolist() == [[pytest.approx(1 / 6)] * 3] * 2


def test_a_copy_may_not_have_more_axes() -> None:
    for source, shape in ((X[None], "[1, 2, 3]"), (X[None, None], "[1, 1, 2, 3]")):
        text = f"output with shape [2, 3] doesn't match the broadcast shape {shape}"
        with pytest.raises(RuntimeError) as caught:
            torch.zeros(2, 3).copy_(source)
        assert str(caught.value) == text
    with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match"):
        torch.zeros(()).copy_(torch.ones(1))
    y = torch.zeros(2, 3)
    y[0] = torch.ones(1, 1, 3)
    y[[1]] = torch.ones(1, 1, 3) * 2
    assert y.tolist() == [[1.0] * 3, [2.0] * 3]
    with pytest.raises(RuntimeError, match=r"^expand\(torch.FloatTensor\{\[2, 1, 3\]\}, size="):
        y[:] = torch.ones(2, 1, 3)
    with pytest.raises(RuntimeError, match="value tensor of shape"):
        y.index_put_((torch.tensor([0, 1]),), torch.ones(1, 2, 3))
