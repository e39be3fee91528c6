"""Calls that PyTorch refuses, and that were taken here with another meaning than the user's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler.core.errors import DTypeError

F = torch.nn.functional
X = torch.tensor([[0.5, 0.25, 0.125], [0.25, 0.75, 0.5], [0.5, 0.125, 0.875]])
IMAGE = torch.ones(1, 3, 4, 4)
WEIGHT = torch.ones(3, 3, 2, 2)
WRONG: tuple[tuple[Callable[[Any], Any], type[Exception], str], ...] = (
    # floats that were cut off
    (lambda x: x.tril(2.5), TypeError, "'diagonal' (position 2) must be int, not float"),
    (lambda x: torch.rot90(x, 2.5), TypeError, "'k' (position 2) must be int, not float"),
    (lambda x: torch.matrix_power(x, 2.5), TypeError, "'n' (position 2) must be int, not float"),
    (lambda x: x.round(decimals=2.5), TypeError, "'decimals' (position 1) must be int, not float"),
    (lambda x: x.repeat_interleave(2.5), TypeError, "must be Tensor or int, not float"),
    (lambda x: F.pad(x, (1.5, 0)), TypeError, "'pad' (position 2) must be int, not float"),
    (lambda x: x.cumsum(x[0, 0]), TypeError, "only integer tensors of a single element"),
    (lambda x: x.tensor_split((1.5,)), TypeError, "must be int, not float"),
    (lambda x: x.take(2.5), TypeError, "'index' (position 1) must be Tensor, not float"),
    (lambda x: F.nll_loss(x, (1.5,)), TypeError, "'target' (position 2) must be Tensor, not tuple"),
    (lambda x: F.avg_pool2d(x.expand(1, 3, 3), (1.5,)), TypeError, "not tuple with float at 0"),
    (lambda x: F.adaptive_avg_pool2d(x.expand(1, 3, 3), (1.5, 1)), TypeError, "must be int"),
    (lambda x: F.max_pool2d(x.expand(1, 3, 3), 2, (1.5, 1)), TypeError, "not tuple with float"),
    (lambda x: F.interpolate(x.expand(1, 1, 3, 3), (1.5, 2)), TypeError, "must be int, not float"),
    # what is no operand
    (lambda x: torch.nextafter(x, None), TypeError, "must be Tensor, not NoneType"),
    (lambda x: x.copysign(None), TypeError, "not NoneType"),
    (lambda x: F.linear(x, x, {}), TypeError, "'bias' (position 3) must be Tensor, not dict"),
    (lambda x: torch.isin(x, "text"), TypeError, "must be Tensor, not str"),
    (lambda x: x.clone().copy_(None), TypeError, "must be Tensor, not NoneType"),
    # other axes and sizes
    (lambda x: x.sum(dim={}), TypeError, "sum(): argument 'dim'"),
    (lambda x: x.mean(dim={}), TypeError, "mean(): argument 'dim'"),
    (lambda x: x.new_zeros({}), TypeError, "must be tuple of ints, not dict"),
    (lambda x: torch.hsplit(x, 2), RuntimeError, "3 is not divisible by the split_size 2"),
    (lambda x: F.channel_shuffle(x, 3), RuntimeError, "expects input with > 2 dims, but got"),
    (lambda x: F.pixel_shuffle(x, 1), RuntimeError, "at least 3 dimensions, but got input with 2"),
    (lambda x: torch.vander(x), RuntimeError, "must be a one-dimensional tensor, not of 2 axes"),
    (lambda x: torch.bucketize(x, x), RuntimeError, "boundaries tensor must be 1 dimension"),
    (lambda x: x.cov(aweights=x), RuntimeError, "expected aweights to have one or fewer dim"),
    (lambda x: x.index_fill(0, torch.tensor([0]), x[0]), RuntimeError, "0-dimensional value"),
    # numbers beyond what a function is of
    (lambda x: x.add(x, alpha=2j), RuntimeError, "argument alpha must not be a complex number: 2j"),
    (lambda x: torch.addmm(x, x, x, beta=2j), RuntimeError, "argument beta must not be a complex"),
    (lambda x: x.diff(-1), RuntimeError, "diff(): n must be non-negative, but got -1"),
    (lambda x: x.isclose(x, rtol=-1.0), RuntimeError, "rtol must be greater than or equal to"),
    (lambda x: F.batch_norm(x, None, None, training=True, eps=-1.0), ValueError, "eps must be"),
    (lambda x: F.rrelu(x, 0.5, 0.25), RuntimeError, "rrelu of 0.5 and 0.25"),
    (lambda x: torch.tensordot(x, x, -1), RuntimeError, "expects dims >= 0, but got dims=-1"),
    # flags and texts that nothing read
    (lambda x: F.triplet_margin_loss(x, x, x, swap="no"), TypeError, "'swap' must be bool"),
    (lambda x: F.poisson_nll_loss(x, x, full=2), TypeError, "'full' must be bool, not int"),
    (lambda x: F.mse_loss(x, x, reduce=x), RuntimeError, "Tensor of shape [3, 3] is ambiguous"),
    (lambda x: F.triplet_margin_with_distance_loss(x, x, x, reduction="all"), ValueError, "all is "
     "not a valid value for reduction"),
    (lambda x: F.batch_norm(x, None, None, training=True, momentum="a"), TypeError, "'momentum' "
     "(position 7) must be float, not str"),
    # integers where floats are computed with
    (lambda x: F.dropout2d(IMAGE.long()), RuntimeError, "dropout takes floating-point elements"),
    (lambda x: F.cross_entropy(x.long(), torch.tensor([0, 1, 2])), NotImplementedError,
     "cross_entropy takes floating-point logits as input"),
)  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), WRONG)
def test_a_call_with_another_meaning_is_refused(
    call: Callable[[Any], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        call(X)


@pytest.mark.parametrize("place", range(0, len(WRONG), 4))
def test_a_captured_function_refuses_it_and_tells_the_line(place: int) -> None:
    call, kind, _ = WRONG[place]
    with pytest.raises(kind) as caught:
        sg.function(call)(X)
    assert any(f"{__name__.rpartition('.')[2]}.py:" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.conv2d(IMAGE, WEIGHT, stride=(1.5,)), "not tuple with float at 0"),
        (lambda: torch.argmax(object()), "argmax(): argument 'input' (position 1) must be Tensor"),
        (lambda: F.gelu(None), "must be a tensor or an array, not NoneType"),
        (lambda: torch.positive("a"), "positive(): an operand must be Tensor, not str"),
        (lambda: F.alpha_dropout(len), "must be Tensor, not builtin_function_or_method"),
        (lambda: torch.zeros({}), "must be tuple of ints, not dict"),
        (lambda: torch.tril_indices(2.5, 2), "'row' (position 1) must be int, not float"),
        (lambda: torch.linspace(0, 1, 2.5), "'steps' (position 3) must be int, not float"),
        (lambda: torch.randint(2.5, (1,)), "'high' (position 2) must be int, not float"),
        (lambda: torch.randperm(X), "randperm(): argument 'n' (position 1) must be int"),
        (lambda: torch.tensor([1.0, None], dtype=torch.float32), "must be a number, not NoneType"),
        (lambda: torch.tensor("1.5", dtype=torch.float32), "must be a number, not str"),
        (lambda: torch.promote_types(None, torch.int8), "'type1' (position 1) must be torch.dtype"),
        (lambda: torch.repeat_interleave(torch.tensor([1]), dim=0), "dim=0 is given without"),
        (lambda: torch.asarray([1.0], copy="no"), "asarray(): argument 'copy' must be bool"),
        (lambda: torch.special.softmax(X, 0, dtype="text"), "must be torch.dtype, not str"),
    ],
)  # fmt: skip
def test_what_is_made_of_nothing_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(TypeError, match=re.escape(text)):
        call()


def test_what_stands_for_a_number_is_taken_by_name() -> None:
    two = torch.tensor(2)
    assert torch.equal(X.add(X, alpha=two), X.add(X, alpha=2))
    assert torch.equal(X.tril(diagonal=np.int64(-1)), X.tril(diagonal=torch.tensor([-1])))
    assert torch.equal(X.sum(dim=[0, -1]), X.sum(dim=np.array([0, 1])))
    assert torch.equal(X.nan_to_num(nan=torch.tensor(0.0)), X)
    assert torch.equal(F.normalize(X, eps=torch.tensor(1e-12)), F.normalize(X))
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert F.mse_loss(X, X + 1.0, size_average=0) == F.mse_loss(X, X + 1.0, reduction="sum")


def test_numbers_and_lists_stand_for_tensors() -> None:
    """As in NumPy, where PyTorch takes tensors alone: docs/signatures.md tells."""
    assert torch.sin(0) == 0.0 and torch.maximum(X, 2.5).min() == 2.5
    ones = torch.ones(3, dtype=torch.float64)
    assert torch.equal(torch.atan2(X, [1.0, 1.0, 1.0]), torch.atan2(X.double(), ones))


def test_a_bound_of_uniform_numbers_is_given_alone() -> None:
    drawn = torch.zeros(100).uniform_(to=0.25)
    assert drawn.min() >= 0.0 and drawn.max() < 0.25
    drawn = torch.zeros(100).uniform_(**{"from": 2.0, "to": 2.5})
    assert drawn.min() >= 2.0 and drawn.max() < 2.5


def test_what_arrays_are_made_of_objects_is_no_operand() -> None:
    for value in (None, "a", {}, object(), np.array([1.0, None]), np.array(["1"])):
        with pytest.raises(
            DTypeError, match=r"^negative\(\): argument 1 must be a tensor or an array"
        ):
            sg.negative(value)
    assert sg.negative(np.array([2**70], object))[0] == -(2**70)
    with pytest.raises(DTypeError, match=r"^take: an index of float64 is not of integers$"):
        sg.take(np.ones(3), np.array([1.5]))
