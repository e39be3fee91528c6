"""Which tensors may not change in place before the reverse pass: those that PyTorch 2.13 keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dynamic as torch

F = torch.nn.functional


def _drawn(*shape: int) -> Any:
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float64).reshape(shape).sin()


def _x(*shape: int) -> Any:
    return _drawn(*shape).requires_grad_()


ROWS, COLUMNS = [0, 2], [1, 1]
ACROSS = [[0, 1], [2, 3], [1, 0]]
CLASSES = [0, 2, 1]
MASK = [[True, False, True, True], [False] * 4, [True] * 4]


def _set(x: Any, index: Any, value: Any) -> Any:
    copy = x * 1
    copy[index] = value
    return copy


def _along(name: str, *args: Any) -> tuple[list[Any], Callable[..., Any]]:
    return [_x(3, 4)], lambda x: getattr(x, name)(*args)


def _pooled(name: str, *shape: int) -> tuple[list[Any], Callable[..., Any]]:
    return [_x(*shape)], lambda x: getattr(F, name)(x, 2, return_indices=True)


def _lost(name: str) -> tuple[list[Any], Callable[..., Any]]:
    return [_x(3, 4), _drawn(3, 4)], getattr(F, name)


CALLS: dict[str, tuple[list[Any], Callable[..., Any], str]] = {
    **{f"{name} along": (*_along(name, 1), "2") for name in ("max", "min", "median", "mode")},
    "max of kept axes": (*_along("max", 1, True), "2"),
    "kthvalue": (*_along("kthvalue", 2, 1), "2"),
    "topk": (*_along("topk", 2, 1), "2"),
    "sort": (*_along("sort", 1), "2"),
    "cummax": (*_along("cummax", 1), "02"),
    "cummin": (*_along("cummin", 1), "02"),
    "median of all": (*_along("median"), "01"),
    "nanmedian of all": (*_along("nanmedian"), "01"),
    "logcumsumexp": (*_along("logcumsumexp", 1), "01"),
    "nansum": (*_along("nansum"), "0"),
    "max_pool1d": (*_pooled("max_pool1d", 1, 2, 8), "02"),
    "max_pool2d": (*_pooled("max_pool2d", 1, 2, 8, 8), "02"),
    "max_pool3d": (*_pooled("max_pool3d", 1, 1, 4, 4, 4), "02"),
    "adaptive_max_pool2d": (*_pooled("adaptive_max_pool2d", 1, 2, 8, 8), "02"),
    "gather": ([_x(3, 4), ACROSS], lambda x, i: x.gather(1, i), "01"),
    "index": ([_x(3, 4), ROWS], lambda x, i: x[i], "1"),
    "index of two": ([_x(3, 4), ROWS, COLUMNS], lambda x, i, j: x[i, j], "12"),
    "index behind a slice": ([_x(3, 4), ROWS], lambda x, i: x[:, i], "1"),
    "mask": ([_x(3, 4), MASK], lambda x, m: x[m], "1"),
    "masked_select": ([_x(3, 4), MASK], lambda x, m: x.masked_select(m), "01"),
    "assignment": ([_x(3, 4), ROWS, _x(2, 4)], _set, "1"),
    "index_put": (
        [_x(3, 4), ROWS, _x(2, 4)], lambda x, i, v: x.index_put((i,), v, accumulate=True), "1",
    ),
    "index_add": ([_x(3, 4), ROWS, _x(3, 2)], lambda x, i, s: x.index_add(1, i, s), "12"),
    "index_copy": ([_x(3, 4), ROWS, _x(3, 2)], lambda x, i, s: x.index_copy(1, i, s), "12"),
    "put": ([_x(3, 4), ROWS, _x(2)], lambda x, i, s: x.put(i, s), "12"),
    "embedding_bag": (
        [[0, 2, 1, 2], _x(4, 3), ROWS], lambda i, w, o: F.embedding_bag(i, w, o, mode="sum"), "02",
    ),
    "nll_loss": ([_x(3, 4), CLASSES], F.nll_loss, "01"),
    "nll_loss of weights": ([_x(3, 4), CLASSES, _drawn(4)], F.nll_loss, "012"),
    "nll_loss of images": ([_x(1, 4, 2, 1), [[[0], [3]]]], F.nll_loss, "01"),
    "smooth_l1_loss": (*_lost("smooth_l1_loss"), "01"),
    "huber_loss": (*_lost("huber_loss"), "01"),
    "soft_margin_loss": (*_lost("soft_margin_loss"), "01"),
    "multi_margin_loss": ([_x(3, 4), CLASSES], F.multi_margin_loss, "01"),
    "binary_cross_entropy_with_logits": (
        [_x(3, 4), _drawn(3, 4), _drawn(4)],
        lambda x, t, p: F.binary_cross_entropy_with_logits(x, t, pos_weight=p), "012",
    ),
    "logsigmoid": ([_x(3, 4)], F.logsigmoid, "0"),
    "celu": ([_x(3, 4)], F.celu, "0"),
    "bilinear": ([_x(3, 4), _x(3, 5), _x(2, 4, 5)], F.bilinear, "012"),
    "grid_sample": (
        [_x(1, 2, 4, 4), _x(1, 3, 3, 2)],
        lambda x, g: F.grid_sample(x, g, align_corners=True), "01",
    ),
    "lerp": ([_x(3, 3), _x(3, 3), _x(3, 3)], torch.lerp, "012"),
}  # fmt: skip
"""Operands, what is called with them, and the places of what PyTorch keeps: of the operands, and
behind them of the results."""


def _given(one: Any) -> Any:
    if isinstance(one, list):
        return torch.tensor(one)
    return one.detach().clone().requires_grad_(one.requires_grad)


@pytest.mark.parametrize("name", CALLS)
def test_changed_in_place(name: str) -> None:
    operands, call, kept = CALLS[name]
    count = 99
    place = 0
    while place < count:
        given = [_given(one) for one in operands]
        found = call(*given)
        results = list(found) if isinstance(found, tuple) else [found]
        count = len(given) + len(results)
        changed = [*given, *results][place]
        with torch.no_grad():
            changed.copy_(changed.clone())
        if str(place) in kept:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                results[0].sum().backward()
        else:
            results[0].sum().backward()
        place += 1


def test_the_message_names_the_node_and_the_tensor() -> None:
    target = _drawn(2)
    lost = F.smooth_l1_loss(_x(2), target)
    target += 1
    text = r"DoubleTensor \[2\]\] is at version 1.*SmoothL1LossBackward0 saved"
    with pytest.raises(RuntimeError, match=text):
        lost.backward()
    value, index = _x(2, 3).max(1)
    index += 0
    with pytest.raises(
        RuntimeError, match=r"LongTensor \[2\]\] is at version 1.*MaxBackward0 saved"
    ):
        value.sum().backward()


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(
    ("name", "expected"), [("max", [[0, 1, 0], [1, 0, 0]]), ("min", [[1, 0, 0], [0, 1, 0]])]
)
def test_an_extremum_along_an_axis_is_recorded_by_its_place(
    name: str, expected: list[list[int]], keepdim: bool
) -> None:
    x = torch.tensor([[1.0, 2.0, 2.0], [3.0, 1.0, 1.0]], requires_grad=True)
    value, index = getattr(x, name)(-1, keepdim)
    node = value.grad_fn
    assert (node.name(), node._saved_dim) == (f"{name.capitalize()}Backward0", 1)
    assert node._saved_indices.tolist() == index.tolist()
    (first,) = torch.autograd.grad((value**3).sum(), x, create_graph=True)
    assert first.tolist() == (3 * x**2 * torch.tensor(expected)).tolist()
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == (6 * x * torch.tensor(expected)).tolist()


@pytest.mark.parametrize(
    "change",
    [
        lambda y, i: y.__setitem__(i, 5.0),
        lambda y, i: y.index_fill_(0, i, 1.0),
        lambda y, i: y.index_copy_(0, i, torch.ones(1)),
        lambda y, i: y.index_put_((i,), torch.tensor(1.0), accumulate=True),
    ],
)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_what_is_not_recorded_keeps_nothing(change: Any, mode: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with mode():
        index = torch.tensor([0])
        change(y, index)
        index += 1
    y.sum().backward()  # y's node was made before: it does not know the index
    assert x.grad.tolist() == [2, 2, 2]
