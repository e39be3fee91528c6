"""A second reverse pass raises only where a node has saved tensors, as PyTorch 2.13's nodes do."""

from __future__ import annotations

from typing import Any

import pytest

import dynamic as torch

INDEX = torch.tensor([[0, 1, 0]])


def ones(*shape: int) -> Any:
    return torch.ones(*(shape or (2, 3)))


AGAIN = {
    "triu": lambda x: x.triu(),
    "tril": lambda x: x.tril(1),
    "diag": lambda x: x.diag(),
    "diag of a vector": lambda x: x[0].diag(1),
    "diag_embed": lambda x: x.diag_embed(),
    "trace": lambda x: x.trace(),
    "deg2rad": lambda x: x.deg2rad(),
    "addcmul": lambda x: x.addcmul(ones(), ones()),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "select_scatter": lambda x: torch.select_scatter(x, ones(3), 0, 0),
    "slice_scatter": lambda x: torch.slice_scatter(x, ones(1, 3), 0, 1),
    "diagonal_scatter": lambda x: torch.diagonal_scatter(x, ones(2)),
    "scatter_add": lambda x: x.scatter_add(0, INDEX, ones()),
}
FREED = {
    "addcdiv": lambda x: x.addcdiv(ones(), ones()),
    "addcdiv by the divisor": lambda x: torch.addcdiv(ones(), ones(), x + 1),
    "scatter of a number": lambda x: x.scatter(0, INDEX, 2.0),
    "scatter of a tensor": lambda x: x.scatter(0, INDEX, ones()),
    "index_put": lambda x: x.index_put((torch.tensor([0]),), ones(3)),
    "repeat_interleave by a tensor": lambda x: x.repeat_interleave(torch.tensor([1, 2, 3]), 1),
}


@pytest.mark.parametrize("name", [*AGAIN, *FREED])
def test_a_second_pass(name: str) -> None:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = (AGAIN | FREED)[name](x)
    seed = torch.ones_like(y)
    y.backward(seed)
    once = x.grad.clone()
    if name in FREED:
        with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second"):
            y.backward(seed)
    else:
        y.backward(seed)
        assert x.grad.tolist() == (2 * once).tolist()


def test_what_scatters_into_a_part_gives_to_both() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    s = torch.zeros(2, requires_grad=True)
    weights = torch.arange(6.0).reshape(2, 3)
    cases = (
        (torch.diagonal_scatter(x, s), [[0.0, 2, 4], [6, 0, 10]], [0.0, 8]),
        (torch.select_scatter(x, s, 1, 1), [[0.0, 0, 4], [6, 0, 10]], [2.0, 8]),
        (torch.slice_scatter(x, s[:, None], 1, 1, 2), [[0.0, 0, 4], [6, 0, 10]], [2.0, 8]),
    )
    for y, of_x, of_s in cases:
        g = torch.autograd.grad((y**2 * weights).sum(), [x, s], create_graph=True)
        second = torch.autograd.grad(g[0].sum() + g[1].sum(), [x, s])
        assert [one.tolist() for one in second] == [of_x, of_s]


def test_a_source_of_another_shape_is_refused() -> None:
    text = r"^expected src to have a size equal to the slice of self. src size = \[1, 3\], "
    with pytest.raises(RuntimeError, match=text + r"slice size = \[2, 3\]$"):
        torch.slice_scatter(ones(), ones(1, 3))
    with pytest.raises(RuntimeError, match=text + r"slice size = \[3\]$"):
        torch.select_scatter(ones(), ones(1, 3), 0, 0)
    with pytest.raises(RuntimeError, match=text + r"slice size = \[2\]$"):
        torch.diagonal_scatter(ones(), ones(1, 3))


def test_the_gradients_of_addcdiv() -> None:
    x, a, b = (torch.tensor([2.0, 4.0], dtype=torch.float64, requires_grad=True) for _ in range(3))
    y = torch.addcdiv(x, a, b, value=3)
    assert y.tolist() == [5.0, 7.0]
    y.sum().backward()
    found = [one.grad.tolist() for one in (x, a, b)]
    assert found == [[1.0, 1.0], [1.5, 0.75], [-1.5, -0.75]]
    half = torch.ones(2, dtype=torch.float32, requires_grad=True)
    with torch.set_lint("off"):
        torch.addcdiv(half[:, None], a.detach(), b.detach()).sum().backward()
    assert half.grad.tolist() == [2.0, 2.0]
    assert half.grad.dtype == torch.float32


def test_a_batch_of_gradients_frees_the_graph() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    rows = torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True, retain_graph=True)
    assert rows[0].tolist() == [[2.0, 0.0], [0.0, 4.0]]
    torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        torch.autograd.grad(y, x, torch.ones(2))
