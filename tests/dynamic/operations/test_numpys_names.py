"""`axis` and `keepdims` for `dim` and `keepdim`, wherever PyTorch takes them."""

from __future__ import annotations

from typing import Any

import pytest

import dynamic as torch

X = torch.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
PLACES = torch.tensor([[0, 1, 0]])

CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    **dict.fromkeys(
        (
            "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "median", "nanmedian", "mode",
            "sort", "argsort", "unsqueeze", "squeeze", "nansum", "nanmean", "unbind",
            "count_nonzero", "diff", "aminmax", "sum", "softmax", "amax", "argmax",
        ),
        ((), {}),
    ),
    "quantile": ((0.5,), {}), "nanquantile": ((0.5,), {}), "kthvalue": ((1,), {}),
    "topk": ((1,), {}), "chunk": ((2,), {}), "tensor_split": ((2,), {}),
    "repeat_interleave": ((2,), {}), "select": ((), {"index": 0}),
    "narrow": ((), {"start": 0, "length": 1}), "gather": ((), {"index": PLACES}),
    "index_select": ((), {"index": PLACES[0]}), "take_along_dim": ((), {"indices": PLACES}),
    "scatter": ((), {"index": PLACES, "src": X}), "scatter_add": ((), {"index": PLACES, "src": X}),
    "index_add": ((), {"index": PLACES[0, :2], "source": X}),
    "index_copy": ((), {"index": PLACES[0, :2], "source": X}),
    "index_fill": ((), {"index": PLACES[0, :1], "value": 7.0}),
    "renorm": ((), {"p": 2, "maxnorm": 1.0}),
}  # fmt: skip
ONLY_FUNCTIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    **dict.fromkeys(
        ("std_mean", "var_mean", "trapezoid", "trapz", "cumulative_trapezoid"), ((), {})
    ),
    "unflatten": ((), {"sizes": (1, 2)}),
}  # fmt: skip


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple):
        return all(_same(*both) for both in zip(found, wanted, strict=True))
    return found.shape == wanted.shape and bool((found == wanted).all())


@pytest.mark.parametrize("name", [*CALLS, *ONLY_FUNCTIONS])
def test_axis_is_another_name_of_dim(name: str) -> None:
    args, options = (CALLS | ONLY_FUNCTIONS)[name]
    function = getattr(torch, name)
    wanted = function(X, *args, dim=0, **options)
    assert _same(function(X, *args, axis=0, **options), wanted)
    if name in CALLS:
        assert _same(getattr(X, name)(*args, axis=0, **options), wanted)


@pytest.mark.parametrize("name", ["median", "mode", "nansum", "quantile", "kthvalue", "var_mean"])
def test_keepdims_is_another_name_of_keepdim(name: str) -> None:
    args = (CALLS | ONLY_FUNCTIONS)[name][0]
    found = getattr(torch, name)(X, *args, axis=1, keepdims=True)
    assert _same(found, getattr(torch, name)(X, *args, dim=1, keepdim=True))
    first = found[0] if isinstance(found, tuple) else found
    assert first.shape == (2, 1)


@pytest.mark.parametrize("name", ["cat", "stack", "concatenate"])
def test_tensors_are_joined_along_an_axis_by_numpys_name(name: str) -> None:
    function = getattr(torch, name)
    assert _same(function([X, X], axis=1), function([X, X], dim=1))


def test_norms_take_numpys_names() -> None:
    for name in ("norm", "vector_norm"):
        found = getattr(torch.linalg, name)(X, axis=1, keepdims=True)
        assert _same(found, getattr(torch.linalg, name)(X, dim=1, keepdim=True))


def test_an_unknown_name_is_refused_in_the_functions_own() -> None:
    with pytest.raises(TypeError, match=r"cumsum\(\) got an unexpected keyword argument 'axes'"):
        torch.cumsum(X, axes=0)
