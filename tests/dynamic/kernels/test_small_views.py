"""Views and products of small tensors by machine code: nothing but their time changes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.core import activity, provided
from staticgraph.dynamic.fast_paths import loops, pairs, views
from staticgraph.dynamic.tensors import tensor


@pytest.fixture(autouse=True)
def _by_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "ENOUGH", 0)
    provided.many_views()
    loops._states[pairs._operators[pairs.ops.matmul]].blanks = iter(())
    _ = torch.ones(2, 2) @ torch.ones(2, 2)


def made(function: Callable[..., Any], x: Any, *args: object) -> object:
    """All that there is to say of a view, or of the error."""
    try:
        view = function(x, *args)
    except Exception as error:
        return type(error), str(error)
    array, node = view._array, view.grad_fn
    of_node = None if node is None else (node.name(), node.attrs, node.edges, node.saved)
    laid = array.shape, array.strides, array.flags.num, array.dtype, array.tobytes()
    shares = array.base is not None and (array.base is x._array or array.base is x._array.base)
    return *laid, shares, view._note, view._cell is x._cell, of_node, view.requires_grad


SIZES: Sequence[tuple[Any, ...]] = (
    (24,), (-1,), (4, 6), (6, -1), (-1, 2, 1, 3), (2, 3, 4), ((4, 6),), ((-1, 8),), ([4, 6],),
    (torch.Size([8, 3]),), (torch.Size([]),), (1, 24, 1), (5, 5), (5, -1), (-2, 12), (-1, -1), (0,),
    (-1, 0), (True, 24), (np.int64(4), 6), (2.0, 12), ("4", 6), (2**62, 4), (2**63, 1),
    (-(10**30),), (2**32, 2**32), (1,) * 7 + (24,), (1,) * 8 + (24,), (None,), ((4, 6), 1), ((),),
)  # fmt: skip


def operands() -> list[Any]:
    values = torch.arange(24.0).view(2, 3, 4)
    recorded = torch.arange(24.0, dtype=torch.float64).view(2, 12).requires_grad_() * 1
    overwritten = recorded.view(4, 6) * 1
    overwritten[0].mul_(2)
    return [
        values, values.transpose(0, 2), values[0], values[:, :1].expand(2, 3, 4),
        torch.zeros(2, 0, 3), torch.tensor(3), torch.ones(24, dtype=torch.bool), recorded,
        recorded.T, recorded.view(24), overwritten, overwritten.view(24),
        torch.nn.Parameter(values), torch.from_numpy(np.arange(24)[::-1].copy()),
        torch.arange(24).to(torch.complex64),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["reshape", "view"])
def test_other_shapes_are_what_they_were(name: str) -> None:
    function = getattr(torch.Tensor, name)
    assert inspect.isbuiltin(function.__wrapped__)
    assert function.__name__ == name
    assert function.__doc__ == views.METHODS[name].__doc__
    assert list(inspect.signature(function).parameters)[:2] == ["input", "given"]
    for x in operands():
        for sizes in SIZES:
            assert made(function, x, *sizes) == made(views.METHODS[name], x, *sizes), (x, sizes)


def test_a_view_notes_and_records_what_it_did() -> None:
    assert inspect.isbuiltin(views.new_view)  # type: ignore[attr-defined]
    attrs = {"key": (slice(None), Ellipsis)}
    for x in operands():
        if x.ndim:
            rest = x, x._array[:], attrs
            ways = (views.new_view, tensor.new_view)  # type: ignore[attr-defined]
            found = [
                made(lambda _, way=way, rest=rest: way(views._select, *rest), x) for way in ways
            ]
            assert found[0] == found[1]


def test_views_of_what_is_overwritten_follow_it() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 2
    rows, flat = y[0], y.view(-1)
    y.mul_(3)
    assert flat[1:3].grad_fn.next_functions[0][0].name() == "AsStridedBackward0"
    (rows.sum() + flat.reshape(3, 2)[0].sum()).backward()
    assert x.grad.tolist() == [[12, 12, 6], [0, 0, 0]]
    flat.add_(1)
    assert y._version == rows._version == flat._version == 2


def test_views_without_recording_say_why_they_cannot_be_overwritten() -> None:
    x = torch.ones(4, requires_grad=True) * 1
    with torch.no_grad():
        views_made = [x[0], x.view(2, 2), x.reshape(2, -1)]
    for view in views_made:
        assert view.grad_fn is None
        with pytest.raises(RuntimeError, match="created in no_grad mode and is being modified"):
            view.mul_(torch.ones(1, requires_grad=True))
    with torch.inference_mode():
        assert torch.ones(4).view(2, 2).is_inference()
    kept = torch.inference_mode()(lambda: torch.ones(4))()
    assert kept.view(2, 2).is_inference()
    assert kept[0].grad_fn is None


def test_nobody_holds_more_than_before() -> None:
    x, leaf = torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)
    y = leaf * 1

    def run() -> None:
        for _ in range(50):
            for one in (x, leaf, y):
                one[0], one.view(2, 8)[1], one.reshape((16,)), one.T, one @ one, one @ one[0]
                for sizes in ((3, -1), (4, 4), (2.5, 1)):
                    made(torch.Tensor.reshape, one, *sizes)

    def held() -> list[int]:
        found = [
            x,
            leaf,
            y,
            x._array,
            y._array,
            x._cell,
            y._cell,
            y._maker,
            leaf._maker,
            views._reshape,
        ]
        return [sys.getrefcount(one) for one in found]

    run()
    before = held()
    run()
    assert held() == before


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_are_the_bits_of_numpy(dtype: str) -> None:
    assert inspect.isbuiltin(torch.Tensor.__matmul__.__wrapped__)
    generator = np.random.default_rng(0)
    for m in (1, 2, 3, 5, 17):
        for k in (1, 2, 4, 9):
            for n in (1, 2, 3, 8, 33):
                a = generator.normal(size=(m, k)).astype(dtype)
                b = generator.normal(size=(k, n)).astype(dtype)
                for right in (b, b[:, 0].copy(), b.T.copy().T):
                    x, y = torch.from_numpy(a).requires_grad_(), torch.from_numpy(right)
                    expected = np.dot(a, right) if a.size > 1 < right.size else np.matmul(a, right)
                    product = x @ y
                    assert product.shape == expected.shape
                    assert product.detach().numpy().tobytes() == expected.tobytes()
                    assert product.grad_fn.name() == (
                        "MmBackward0" if right.ndim == 2 else "MvBackward0"
                    )
    with pytest.raises(RuntimeError, match="matmul"):
        torch.ones(2, 3) @ torch.ones(2, 3)
    with pytest.raises(TypeError, match="unsupported operand"):
        torch.ones(2, 2) @ "x"


def test_it_begins_after_many_views(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[None] = []
    monkeypatch.setattr(tensor.provided, "many_views", lambda: begun.append(None))
    monkeypatch.setattr(tensor, "few_views", tensor.blanks(2))
    x = torch.ones(3)
    for expected in (0, 0, 1):
        tensor.new_view(views._select, x, x._array[:1], {"key": 0})
        assert len(begun) == expected


def test_a_method_of_the_users_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "view", lambda x, *sizes: sizes)
    provided.many_views()
    assert torch.ones(4).view(2, 2) == (2, 2)
