"""What functions ask of values that a capture does not know: classes, indices, lengths, sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import nn
from staticgraph.dynamic.nn import functional
from staticgraph.dynamic.utils.checkpoint import checkpoint
from staticgraph.fuzz.capture.compare import SAME, SKIPPED, compared

WEIGHT = torch.tensor([0.2, 0.5, 1.3]).double()
LOSSES: dict[str, Callable[..., Any]] = {
    "plain": functional.cross_entropy,
    "sum": lambda x, y: functional.cross_entropy(x, y, reduction="sum"),
    "none": lambda x, y: functional.cross_entropy(x, y, reduction="none"),
    "weights": lambda x, y: functional.cross_entropy(x, y, WEIGHT),
    "smoothed": lambda x, y: functional.cross_entropy(x, y, label_smoothing=0.1),
    "both": nn.CrossEntropyLoss(WEIGHT, label_smoothing=0.2, reduction="sum"),
    "nll": functional.nll_loss,
    "nll of weights": nn.NLLLoss(WEIGHT, reduction="none"),
}


def _of(*shape: int) -> Any:
    return torch.tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)


def _ints(*values: int) -> Any:
    return torch.tensor(np.array(values))


@pytest.mark.parametrize("name", LOSSES)
def test_a_target_of_minus_100_counts_for_nothing(name: str) -> None:
    captured = sg.function(LOSSES[name], debug=True)
    for targets in ((0, 1, 2), (-100, 1, -100), (-100, -100, -100), (2, 0)):
        args = [_of(len(targets), 3), _ints(*targets)]
        assert compared(LOSSES[name], captured, args).verdict == SAME
    with pytest.raises(IndexError):
        captured(_of(2, 3), _ints(1, 3))


def test_the_compiled_loss_ignores_too() -> None:
    captured = sg.function(functional.cross_entropy)
    for targets in ((0, 1, 2), (-100, 1, -100)):
        args = [_of(3, 3), _ints(*targets)]
        assert compared(functional.cross_entropy, captured, args).verdict == SAME


def _ctc(x: Any, labels: Any, ends: Any, lengths: Any) -> Any:
    return functional.ctc_loss(x.log_softmax(2), labels, ends, lengths)


TABLE = torch.tensor(np.arange(12.0).reshape(4, 3))
REFUSED: list[tuple[Callable[..., Any], list[Any], list[Any], type[Exception]]] = [
    (lambda i: functional.embedding(i, TABLE), [_ints(0, 3)], [_ints(0, -1)], IndexError),
    (
        lambda i: functional.embedding_bag(i[None], TABLE), [_ints(0, 3)], [_ints(-4, 1)],
        IndexError,
    ),
    (lambda i: TABLE.gather(0, i[:, None]), [_ints(0, 3)], [_ints(0, 4)], RuntimeError),
    (lambda i: TABLE.scatter(0, i[:, None], 5.0), [_ints(0, 3)], [_ints(0, -1)], RuntimeError),
    (lambda i: functional.one_hot(i, 4), [_ints(0, 3)], [_ints(0, 4)], RuntimeError),
    (lambda i: functional.one_hot(i, 4), [_ints(0, 3)], [_ints(0, -1)], RuntimeError),
    (
        lambda v: functional.gaussian_nll_loss(TABLE, TABLE + 1, v), [torch.ones(4, 1).double()],
        [-torch.ones(4, 1).double()], ValueError,
    ),
    *(
        (_ctc, [_of(4, 1, 3), *good], [_of(4, 1, 3), *bad], RuntimeError)
        for good, bad in (
            ((_ints(1, 2)[None], _ints(4), _ints(2)), (_ints(1, 2)[None], _ints(5), _ints(2))),
            ((_ints(1, 2)[None], _ints(4), _ints(2)), (_ints(1, 2)[None], _ints(-1), _ints(2))),
            ((_ints(1, 2)[None], _ints(4), _ints(2)), (_ints(1, 2)[None], _ints(4), _ints(3))),
            ((_ints(1, 2)[None], _ints(4), _ints(2)), (_ints(1, 2)[None], _ints(4), _ints(-1))),
            ((_ints(1, 2), _ints(4), _ints(2)), (_ints(1, 2), _ints(4), _ints(1))),
            ((_ints(1, 2), _ints(4), _ints(2)), (_ints(1, 2), _ints(4), _ints(3))),
        )
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_values_that_eager_calls_refuse_are_refused_at_each_call(number: int) -> None:
    function, good, bad, error = REFUSED[number]
    captured = sg.function(function, debug=True)
    assert compared(function, captured, good).verdict == SAME
    with pytest.raises(error) as eager:
        function(*bad)
    with pytest.raises(error) as found:
        captured(*bad)
    assert isinstance(found.value, sg.StaticGraphError)
    assert isinstance(eager.value, sg.StaticGraphError)


@pytest.mark.parametrize(
    ("labels", "lengths", "message"),
    [
        (_ints(1, 2)[None], _ints(-1), "at least 0, but got value -1"),
        (_ints(1, 2)[None], _ints(3), "at least 3 at dimension 1, but got size 2"),
        (_ints(1, 2), _ints(3), "size 3 at dimension 0, but got size 2"),
    ],
)
def test_ctc_loss_refuses_lengths_that_its_targets_do_not_have(
    labels: Any, lengths: Any, message: str
) -> None:
    with pytest.raises(RuntimeError, match=message):
        functional.ctc_loss(_of(4, 1, 3), labels, _ints(4), lengths)


def test_targets_of_another_dtype_are_refused() -> None:
    captured = sg.function(functional.cross_entropy)
    with pytest.raises(RuntimeError, match="expected target dtype to be Long or Byte, but got Int"):
        captured(_of(2, 3), _ints(0, 1).int())


VIEWS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: x.reshape(-1),
    "halves": lambda x: x.view(x.shape[0] * 2, -1),
    "flatten": lambda x: x.flatten(),
    "slice": lambda x: x[1:],
    "narrow": lambda x: x.narrow(0, 1, x.shape[0] - 1),
    "expand": lambda x: x.expand(2, *x.shape),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_any_size_is_returned_by_one_trace(name: str) -> None:
    captured = sg.function(VIEWS[name], debug=True)
    for rows in (3, 5, 4):
        x = _of(rows, 4)
        found, expected = captured(x), VIEWS[name](x)
        assert found._base is x
        assert found.stride() == expected.stride()
        assert compared(VIEWS[name], captured, [x]).verdict == SAME
    assert str(captured.explain()).splitlines()[0].endswith("1 trace")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.zeros(4).double().expand_as(x) + x,
        lambda x: torch.tensor([1.0, 2.0, 3.0, 4.0]).expand(x.shape[0], -1) * x,
        lambda x: torch.zeros(1, 1).long().expand(x.shape[0], 1) + x.long(),
    ],
)
def test_a_constant_is_broadcast_to_any_size_by_one_trace(function: Callable[[Any], Any]) -> None:
    captured = sg.function(function, debug=True)
    for rows in (3, 5, 4):
        assert compared(function, captured, [_of(rows, 4)]).verdict == SAME
    assert str(captured.explain()).splitlines()[0].endswith("1 trace")


class Counter(nn.Module):
    """A module that counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.mean.mul_(0.9).add_(x.detach().float().mean(0), alpha=0.1)
        return x * self.count


def test_a_buffer_that_is_written_in_place_stays_the_same_tensor() -> None:
    eager, module = Counter(), Counter()
    captured = sg.function(lambda x: module(x), debug=True)
    count = module.count
    for _ in range(3):
        np.testing.assert_array_equal(captured(_of(2, 4)).detach(), eager(_of(2, 4)).detach())
    assert module.count is count
    assert count.item() == 3
    assert (count._version, module.mean._version) == (eager.count._version, eager.mean._version)
    assert str(captured.explain()).splitlines()[0].endswith("1 trace")


def test_what_moves_a_tensor_or_needs_known_places_is_refused() -> None:
    moved = sg.function(lambda x, y: x.set_(y))
    with pytest.raises(sg.CaptureError, match=r"test_captured_values\.py:\d+.*memory of another"):
        moved(_ints(1, 2), _ints(3, 4))
    without = sg.function(lambda x, i: torch.delete(x, i))
    with pytest.raises(sg.CaptureError, match=r"test_captured_values\.py:\d+.*needs the values"):
        without(_ints(1, 2), _ints(0))
    for bins in (2.0, [3.0, 1.0]):
        wrong = compared(
            lambda x, bins=bins: torch.histogram(x, bins),
            sg.function(lambda x, bins=bins: torch.histogram(x, bins)),
            [_of(3).detach()],
        )
        assert wrong.verdict == SKIPPED


def test_a_checkpoint_that_changes_what_is_outside_is_refused() -> None:
    part = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).double()
    captured = sg.function(lambda x: checkpoint(part, x, use_reentrant=False).sum())
    with pytest.raises(sg.CaptureError, match=r"test_captured_values\.py:\d+.*would do again"):
        captured(_of(5, 4))
    with torch.no_grad():
        captured(_of(5, 4))
    part.eval()
    assert captured(_of(5, 4)).requires_grad
