"""float16, bfloat16, uint16, uint32 and uint64 as dtypes of tensors: what PyTorch 2.13 does."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import nn

HALF, BRAIN = torch.float16, torch.bfloat16
X = [1.0, 2.5, -3.0]


def test_printing_is_that_of_pytorch() -> None:
    for name in ("float16", "bfloat16"):
        x = torch.tensor(X, dtype=getattr(torch, name))
        assert repr(x) == f"tensor([ 1.0000,  2.5000, -3.0000], dtype=torch.{name})"
        assert x.tolist() == X
        assert x[1].item() == 2.5
    assert repr(torch.tensor([1e-5, 3e4, 1.0], dtype=HALF)) == (
        "tensor([1.0014e-05, 3.0000e+04, 1.0000e+00], dtype=torch.float16)"
    )
    assert torch.tensor(1.0).half().type() == "torch.HalfTensor"
    assert torch.tensor(1.0).bfloat16().type() == "torch.BFloat16Tensor"
    assert torch.tensor([1], dtype=torch.uint16).type() == "torch.UInt16Tensor"
    assert repr(torch.finfo(HALF)) == (
        "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, "
        "smallest_normal=6.10352e-05, tiny=6.10352e-05, dtype=float16)"
    )
    assert repr(torch.finfo(BRAIN)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)"
    )
    assert repr(torch.iinfo(torch.uint64)) == "iinfo(min=0, max=1.84467e+19, dtype=uint64)"


RECORDED: dict[str, tuple[Any, list[float], list[float]]] = {
    "exp": (
        lambda x: x.exp(), [2.71875, 12.1796875, 0.049774169921875],
        [2.71875, 12.1875, 0.0498046875],
    ),
    "times": (lambda x: x * 60000, [60000.0, np.inf, -np.inf], [59904.0, 149504.0, -180224.0]),
    "mean": (lambda x: x.mean(), [0.1666259765625], [0.1669921875]),
    "std": (lambda x: x.std(), [2.84375], [2.84375]),
    "product": (lambda x: x @ x, [16.25], [16.25]),
    "cumprod": (lambda x: x.cumprod(0), [1.0, 2.5, -7.5], [1.0, 2.5, -7.5]),
    "norm": (lambda x: x.norm(), [4.03125], [4.03125]),
    "sorted": (lambda x: x.sort()[0], [-3.0, 1.0, 2.5], [-3.0, 1.0, 2.5]),
    "layer norm": (
        lambda x: nn.functional.layer_norm(x, (3,)),
        [0.35888671875, 1.0048828125, -1.3642578125], [0.359375, 1.0078125, -1.3671875],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_values_are_rounded_once(name: str) -> None:
    function, half, brain = RECORDED[name]
    for dtype, expected in ((HALF, half), (BRAIN, brain)):
        found = function(torch.tensor(X, dtype=dtype))
        assert found.dtype is dtype
        assert np.atleast_1d(found.float().numpy()).tolist() == expected
    sums = torch.full((3000,), 0.1, dtype=HALF).cumsum(0)
    assert sums[-1].item() == 300.0


def test_sums_of_unsigned_integers_are_int64_and_others_are_not_promoted() -> None:
    for dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64):
        x = torch.tensor([1, 2, 3], dtype=dtype)
        sums = (x.sum(), x.sum(0), x.prod(), x.cumsum(0), torch.sum(x), x.sum(0, keepdim=True))
        assert {one.dtype for one in sums} == {torch.int64}
        assert sg.function(lambda x: x.sum(0))(x).dtype is torch.int64
        assert (x + 1).dtype is (x & x).dtype is torch.maximum(x, x).dtype is dtype
        assert (x / x).dtype is x.exp().dtype is (x + 1.5).dtype is torch.float32
    with pytest.raises(
        RuntimeError, match="is not supported, attempted to promote UInt16 and Long"
    ):
        torch.tensor([1], dtype=torch.uint16) + torch.tensor([1])
    assert torch.tensor([2**64 - 1], dtype=torch.uint64).tolist() == [2**64 - 1]
    assert torch.tensor(-1, dtype=torch.uint16).item() == 65535
    assert torch.zeros(1, dtype=torch.uint32).fill_(-1).item() == 2**32 - 1


def test_numbers_out_of_range_are_refused_where_pytorch_refuses_them() -> None:
    for call in (
        lambda: torch.full((2,), 1e6, dtype=HALF),
        lambda: torch.zeros(2).half().fill_(1e6),
    ):
        with pytest.raises(RuntimeError, match="to type c10::Half without overflow"):
            call()
    assert torch.tensor(1e6, dtype=HALF).item() == np.inf
    assert torch.full((1,), 1e6, dtype=BRAIN).item() == 999424.0


@pytest.mark.slow
def test_modules_train_eagerly_and_captured() -> None:
    dtype = BRAIN
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 2))
    model.to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 8, dtype=dtype)
    y = x[:, :2] * 0.5

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(x, y).item() for _ in range(10)]
    captured = sg.function(step)
    losses += [captured(x, y).item() for _ in range(10)]
    assert losses[-1] < 0.7 * losses[9] < 0.5 * losses[0]
    assert (
        {p.dtype for p in model.parameters()}
        == {p.grad.dtype for p in model.parameters()}
        == {dtype}
    )
    assert 0 <= torch.rand(5000, dtype=dtype).max().item() < 1


def test_tensors_are_kept_and_sent() -> None:
    for dtype in (HALF, BRAIN, torch.uint32):
        x = torch.tensor([1, 2], dtype=dtype)
        file = io.BytesIO()
        torch.save({"x": x}, file)
        file.seek(0)
        for other in (torch.load(file)["x"], pickle.loads(pickle.dumps(x)), x.to("cpu").clone()):
            assert other.dtype is dtype
            assert other.tolist() == [1, 2]
        assert pickle.loads(pickle.dumps(dtype)) is dtype
