"""Short ways of small tensors say what the long ones do: values, nodes, gradients and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name

GENERATOR = np.random.default_rng(0)
ROWS = torch.tensor([1, 0, 3])
COLUMNS = torch.tensor([2, -1, 0])
LABELS = torch.tensor([2, 0, 1, 2])
PLACES = torch.tensor([[1, 0], [2, 2], [0, 1], [1, 1]])


def drawn(*shape: int) -> Any:
    return torch.tensor(GENERATOR.standard_normal(shape), requires_grad=True)


X = drawn(4, 3)
MASK = X.detach() > 0

CALLS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], str]] = {
    "embedding": (
        lambda x: F.embedding(ROWS, x), lambda x: x.index_select(0, ROWS), "EmbeddingBackward0",
    ),
    "nll_loss": (
        lambda x: F.nll_loss(x, LABELS),
        lambda x: -x.gather(1, LABELS.view(-1, 1).int()).mean(), "NllLossBackward0",
    ),
    "nll_loss, sum": (
        lambda x: F.nll_loss(x, LABELS, reduction="sum"),
        lambda x: -x.gather(1, LABELS.view(-1, 1).int()).sum(), "NllLossBackward0",
    ),
    "nll_loss, none": (
        lambda x: F.nll_loss(x, LABELS, reduction="none"),
        lambda x: -x.gather(1, LABELS.view(-1, 1).int()).view(-1), "NllLossBackward0",
    ),
    "gather": (
        lambda x: x.gather(-1, PLACES[:, :1]),
        lambda x: torch.stack([x[i, int(PLACES[i, 0])] for i in range(4)]).view(-1, 1),
        "GatherBackward0",
    ),
    "gather of several": (
        lambda x: x.gather(1, PLACES),
        lambda x: torch.stack([x[i, j] for i in range(4) for j in PLACES[i].tolist()]).view(4, 2),
        "GatherBackward0",
    ),
    "elements": (
        lambda x: x[ROWS, COLUMNS],
        lambda x: torch.stack([x[1, 2], x[0, 2], x[3, 0]]), "IndexBackward0",
    ),
    "mask": (
        lambda x: x[MASK],
        lambda x: torch.stack([x[i, j] for i, j in MASK.nonzero().tolist()]), "IndexBackward0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_values_and_gradients_are_those_of_the_long_way(call: Any) -> None:
    short, long, name = call
    found, expected = short(X), long(X)
    assert found.grad_fn.name() == name
    np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())
    weights = torch.tensor(GENERATOR.standard_normal(expected.shape))
    slopes = [torch.autograd.grad((one * weights).sum(), X)[0] for one in (found, expected)]
    np.testing.assert_allclose(slopes[0].numpy(), slopes[1].numpy(), rtol=1e-15)
    assert torch.autograd.gradcheck(short, (X,))
    assert torch.autograd.gradgradcheck(lambda x: short(x * x), (X,))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: F.embedding(torch.tensor([4]), X), "index out of range in self"),
        (lambda: F.embedding(torch.tensor([-1]), X), "index out of range in self"),
        (lambda: F.nll_loss(X, torch.tensor([0, 1, 3, 0])), "Target 3 is out of bounds"),
        (lambda: X.gather(1, torch.tensor([[3]] * 4)), "index 3 is out of bounds for dimension 1"),
        (lambda: X.gather(1, torch.tensor([[-1]] * 4)), "index -1 is out of bounds"),
        (lambda: X[torch.tensor([4]), torch.tensor([0])], "index 4 is out of bounds for dimension"),
        (lambda: X[torch.tensor([0]), torch.tensor([-4])], "index -4 is out of bounds"),
    ],
)
def test_places_that_are_none_are_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises((IndexError, RuntimeError), match=text):
        call()


def test_an_index_that_is_changed_later_is_noticed() -> None:
    rows = torch.tensor([1, 0])
    value = X[rows, rows]
    rows.fill_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(value.sum(), X)
    labels = torch.tensor([0, 1, 2, 0])
    loss = F.nll_loss(X, labels)
    labels.fill_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_copies_count_as_changes() -> None:
    w, x = drawn(3), torch.zeros(3, dtype=torch.float64)
    value = (w * x).sum()
    x.copy_(torch.ones(3, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        w.copy_(x)
    np.testing.assert_array_equal(x.copy_(w.detach()[:1]).numpy(), w.detach().numpy()[[0, 0, 0]])
    assert x.copy_(w).grad_fn.name() == "torch::autograd::CopyBackwards"


def test_whole_numbers_change_in_place() -> None:
    count = torch.tensor(3)
    assert count.add_(1) is count
    count *= 5
    count -= 2
    assert (count.item(), count.dtype, count._version) == (18, torch.int64, 3)
    with pytest.raises(RuntimeError, match="can't be cast"):
        count.div_(2)
    with pytest.raises(OverflowError, match="too large"):
        count.add_(2**70)
