"""Arguments by PyTorch's names: the values are those of PyTorch 2.13."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dynamic as torch
import staticgraph as sg

RECORDED: dict[str, Any] = {
    "torch.histogram(X, bins=4, range=(0., 3.))": [
        [0.0, 2.0, 1.0, 1.0],
        [0.0, 0.75, 1.5, 2.25, 3.0],
    ],
    "torch.histogram(X, torch.tensor([0., 1.5, 3.]), weight=torch.tensor([1., 2., 3., 4.]))": [
        [4.0, 6.0],
        [0.0, 1.5, 3.0],
    ],
    "torch.histogram(X, bins=2, density=True)": [[0.666667, 0.666667], [1.0, 1.75, 2.5]],
    "torch.histogramdd(P, bins=[2, 2])": [[0.0, 1.0, 1.0, 2.0], [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]],
    "torch.histogramdd(P, bins=(X.new_tensor([0., 1., 3.]), X.new_tensor([0., 1., 3.])), "
    "weight=torch.tensor([1., 2., 3., 4.]))": [
        [0.0, 1.0, 2.0, 7.0],
        [[0.0, 1.0, 3.0], [0.0, 1.0, 3.0]],
    ],
    "torch.histogramdd(P, bins=[2, 2], range=[0., 1., 0., 1.], density=True)": [
        [0.0, 2.0, 2.0, 0.0],
        [[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]],
    ],
    "torch.gradient(input=X)": [[1.0, 0.0, 0.25, 1.5]],
    "torch.gradient(X, spacing=2.0, edge_order=2)": [[1.0, 0.0, 0.125, 1.375]],
    "torch.gradient(P, spacing=[2.0, 3.0])": [
        [0.5, -0.5, 0.5, 0.0, 0.25, 0.5, 0.0, 0.5],
        [0.333333, 0.333333, -0.333333, -0.333333, -0.333333, -0.333333, 0.0, 0.0],
    ],
    "torch.gradient(P, dim=1)": [[1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 0.0, 0.0]],
    "torch.gradient(X, spacing=(torch.tensor([0., 1., 3., 4.]),))": [[1.0, 0.5, 0.833333, 1.5]],
    "torch.frexp(input=X)": [[0.5, 0.5, 0.5, 0.625], [1, 2, 1, 2]],
    "torch.zeros(4).scatter_(0, torch.tensor([1, 1]), value=2.0)": [0.0, 2.0, 0.0, 0.0],
    "torch.ones(4).scatter_(0, torch.tensor([1, 2]), torch.tensor([3., 4.]), reduce='multiply')": [
        1.0,
        3.0,
        4.0,
        1.0,
    ],
    "torch.ones(4).scatter_(0, torch.tensor([1, 2]), 5.0, reduce='add')": [1.0, 6.0, 6.0, 1.0],
    "X.subtract(X, alpha=2)": [-1.0, -2.0, -1.0, -2.5],
    "torch.subtract(X, X, alpha=3)": [-2.0, -4.0, -2.0, -5.0],
    "torch.special.softmax(X.int(), dim=0, dtype=torch.float64)": [
        0.134471,
        0.365529,
        0.134471,
        0.365529,
    ],
    "torch.special.zeta(input=X, other=X)": [math.inf, 0.644934, math.inf, 0.227369],
    "torch.special.xlog1py(input=X, other=X)": [0.693147, 2.197225, 0.693147, 3.131907],
    "torch.special.multigammaln(input=X + 2, p=2)": [1.550195, 3.565098, 1.550195, 4.817861],
    "torch.tile(X, dims=(2,))": [1.0, 2.0, 1.0, 2.5, 1.0, 2.0, 1.0, 2.5],
    "X.repeat(repeats=(2,))": [1.0, 2.0, 1.0, 2.5, 1.0, 2.0, 1.0, 2.5],
    "torch.tensor_split(X, sections=2)": [[1.0, 2.0], [1.0, 2.5]],
    "torch.tensor_split(X, indices=(1, 3))": [[1.0], [2.0, 1.0], [2.5]],
    "torch.max(X, other=X.flip(0))": [2.5, 2.0, 2.0, 2.5],
    "torch.reshape(X, (2, 2)).reshape(shape=(4,))": [1.0, 2.0, 1.0, 2.5],
    "X.view(size=(2, 2))": [1.0, 2.0, 1.0, 2.5],
    "torch.fft.fftfreq(4, device='cpu', out=torch.empty(0))": [0.0, 0.25, -0.5, -0.25],
    "torch.zeros(2, out=torch.ones(2).int())": [0, 0],
    "torch.eye(2, out=torch.empty(2, 2))": [1.0, 0.0, 0.0, 1.0],
    "torch.full((2,), 3.0, out=torch.empty(2))": [3.0, 3.0],
    "torch.arange(3, out=torch.empty(3))": [0.0, 1.0, 2.0],
    "torch.linspace(0, 1, 3, out=torch.empty(3))": [0.0, 0.5, 1.0],
    "torch.range(0, 2, out=torch.empty(3))": [0.0, 1.0, 2.0],
    "torch.cross(P.new_ones(3), P.new_tensor([1., 2., 3.]), dim=0, out=torch.empty(3))": [
        1.0,
        -2.0,
        1.0,
    ],
    "torch.tril_indices(2, 2, device='cpu')": [0, 1, 1, 0, 0, 1],
    "torch.inverse(input=torch.tensor([[2.]]), out=torch.empty(1, 1))": [0.5],
    "torch.linalg.matrix_power(torch.tensor([[2.]]), 3, out=torch.empty(1, 1))": [8.0],
    "torch.nn.functional.normalize(X, dim=0, out=torch.empty(4))": [
        0.285714,
        0.571429,
        0.285714,
        0.714286,
    ],
    "torch.clip(input=X, min=1.5)": [1.5, 2.0, 1.5, 2.5],
    "torch.permute(input=P, dims=(1, 0))": [0.0, 1.0, 2.0, 2.0, 1.0, 0.0, 1.0, 2.0],
    "torch.broadcast_to(input=X, size=(2, 4))": [1.0, 2.0, 1.0, 2.5, 1.0, 2.0, 1.0, 2.5],
    "X.resize_(2, memory_format=torch.contiguous_format)": [1.0, 2.0],
}


def _listed(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_listed(one) for one in value]
    return value.reshape(-1).tolist()


def _close(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        pairs = zip(found, expected, strict=True)
        return all(_close(one, other) for one, other in pairs)
    return math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", RECORDED)
def test_values_are_pytorchs(call: str) -> None:
    names = {
        "torch": torch,
        "X": torch.tensor([1.0, 2.0, 1.0, 2.5]),
        "P": torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [2.0, 2.0]]),
    }
    found = _listed(eval(call, names))
    assert _close(found, RECORDED[call]), found


def test_what_is_given_as_out_is_returned() -> None:
    out = torch.ones(2)
    assert torch.zeros(2, out=out) is out
    assert out.tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match=r"zeros\(\): argument 'out' must be Tensor, not list"):
        torch.zeros(2, out=[1.0])


def test_what_there_is_not_is_refused(tmp_path: Any) -> None:
    with pytest.raises(RuntimeError, match=r"histogram: .*bins"):
        torch.histogram(torch.ones(2), bins=0)
    with pytest.raises(RuntimeError, match="histogramdd: The dimension of bins"):
        torch.histogramdd(torch.ones(2, 2), bins=[1, 2, 3])
    with pytest.raises(RuntimeError, match=r"torch\.dsplit requires a tensor with at least 3"):
        torch.dsplit(torch.ones(2, 2), 2)
    with pytest.raises(ValueError, match="scatter: reduce is 'add', 'multiply' or None"):
        torch.ones(2).scatter(0, torch.tensor([0]), 1.0, reduce="amax")
    with pytest.raises(TypeError, match="a profile is one of default, short, full, not 'long'"):
        torch.set_printoptions(profile="long")
    with pytest.raises(TypeError, match="load: files are read without pickle"):
        torch.load(tmp_path / "none", pickle_module=math)
    with pytest.raises(TypeError, match="save: files are written without pickle"):
        torch.save({}, tmp_path / "none", _use_new_zipfile_serialization=False)


def test_a_profile_sets_four_options() -> None:
    torch.set_printoptions(profile="short", precision=3)
    try:
        assert str(torch.tensor([1 / 3])) == "tensor([0.333])"
    finally:
        torch.set_printoptions(profile="default")
    assert str(torch.tensor([1 / 3])) == "tensor([0.3333])"


@pytest.mark.parametrize("name", ["histc", "histogram", "histogramdd"])
@pytest.mark.parametrize("captured", [False, True])
def test_histograms_refuse_the_same_eagerly_and_captured(name: str, captured: bool) -> None:
    def call(x: Any, bins: Any) -> Any:
        def counted(x: Any) -> Any:
            return getattr(torch, name)(x, bins)

        return sg.function(counted)(x) if captured else counted(x)

    x = torch.tensor([[0.0, 1.0], [2.0, 3.0]])
    for bins in (2.0, True):
        with pytest.raises(TypeError, match=rf"{name}\(\).*'bins'.*{bins}"):
            call(x, bins)
    with pytest.raises(RuntimeError, match=f"{name}: bins must be > 0, but got -1"):
        call(x, -1)
    for other, kind in ((x.long(), "Long"), (x.bool(), "Bool"), (x + 0j, "ComplexFloat")):
        with pytest.raises(NotImplementedError, match=f"{name}_cpu.* for '{kind}'"):
            call(other, 2)


def test_histc_of_limits_the_wrong_way_round() -> None:
    with pytest.raises(RuntimeError, match="max must be larger than min, but got 1 and 5"):
        torch.histc(torch.ones(2), 2, 5, 1)


@pytest.mark.parametrize("n", [2.9, -0.5, math.nan, torch.tensor([2.9, 2.0])])
def test_degrees_of_polynomials_are_cut_off(n: Any) -> None:
    x = torch.tensor([0.5, 2.0])
    whole = 2 if not isinstance(n, float) or n > 0 else 0 if n == n else -1
    for name in ("chebyshev_polynomial_t", "laguerre_polynomial_l"):
        polynomial = getattr(torch.special, name)
        assert polynomial(x, n).tolist() == polynomial(x, n=whole).tolist()
    assert torch.special.legendre_polynomial_p(x, torch.tensor(2.0).double()).dtype == (
        torch.float32
    )
    wide = torch.tensor([2.0, 3.0], dtype=torch.float64)
    assert torch.special.legendre_polynomial_p(x, wide).dtype == torch.float64


def test_windows_with_an_empty_stride_do_not_overlap() -> None:
    x = torch.arange(16.0).reshape(1, 4, 4)
    functional = torch.nn.functional
    assert torch.equal(functional.max_pool2d(x, 2, []), functional.max_pool2d(x, 2))
    assert torch.equal(functional.avg_pool2d(x, 2, ()), functional.avg_pool2d(x, 2))
