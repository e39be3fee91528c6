"""PyTorch's documented keywords: accepted, or refused for a reason that is listed."""

from __future__ import annotations

import pytest

import dynamic as torch
from tests.dynamic.signatures import DOCUMENT, REFUSED, compared, page


@pytest.mark.filterwarnings("ignore")
def test_every_documented_keyword_is_accepted_or_refused_for_a_reason() -> None:
    refused, _, accepted = compared()
    assert {one: names for one, names in refused.items() if one not in REFUSED} == {}
    assert accepted > 2380
    assert DOCUMENT.read_text() == page()


def test_operands_by_name() -> None:
    x = torch.tensor([1.0, 4.0])
    assert torch.sqrt(input=x).tolist() == [1.0, 2.0]
    assert torch.mul(input=x, other=x).tolist() == x.mul(other=x).tolist() == [1.0, 16.0]
    assert torch.pow(x, exponent=2).tolist() == [1.0, 16.0]
    assert torch.div(input=x, other=3, rounding_mode="floor").tolist() == [0.0, 1.0]
    assert torch.softmax(x.long(), dim=0, dtype=torch.float64).dtype == torch.float64
    assert torch.fft.fft(input=x).real.tolist() == [5.0, -3.0]
    assert [one.tolist() for one in x.split(split_size=1)] == [[1.0], [4.0]]
    assert x.reshape(1, 2).permute(dims=(1, 0)).shape == (2, 1)
    assert x.expand(size=(3, 2)).shape == (3, 2) and x.flip(dims=(0,)).tolist() == [4.0, 1.0]
    with pytest.raises(TypeError, match=r"^exp\(\) got an unexpected keyword argument 'inputs'$"):
        torch.exp(inputs=x)
    with pytest.raises(TypeError, match=r"^exp\(\) got an unexpected keyword argument 'other'$"):
        torch.exp(x, other=x)


def test_results_are_put_into_out() -> None:
    x = torch.tensor([3.0, 1.0, 2.0])
    whole, values, places = torch.empty(6), torch.empty(3), torch.empty(3, dtype=torch.int64)
    assert torch.cat([x, x], out=whole) is whole and whole.tolist() == [3.0, 1.0, 2.0] * 2
    found = torch.sort(x, out=(values, places))
    assert found.values is values and found.indices is places
    assert values.tolist() == [1.0, 2.0, 3.0] and places.tolist() == [1, 2, 0]
    for name, largest in (("max", [3.0, 2.0]), ("min", [1.0, 2.0])):
        two = torch.tensor([[3.0, 2.0], [1.0, 2.0]])
        extremes = [torch.empty(2), torch.empty(2, dtype=torch.int64)]
        found = getattr(torch, name)(two, dim=0, out=extremes)
        assert found.values is extremes[0] and found.indices is extremes[1]
        assert [one.tolist() for one in extremes] == [largest, [int(name == "min"), 0]]
    assert torch.cumsum(x, 0, out=values) is values and values.tolist() == [3.0, 4.0, 6.0]
    assert torch.special.expit(torch.zeros(3), out=values).tolist() == [0.5] * 3
    spectrum = torch.empty(3, dtype=torch.complex64)
    assert torch.fft.fft(x, out=spectrum) is spectrum and spectrum[0].real.item() == 6.0
    assert torch.lerp(x, x + 1, 0.5, out=None).tolist() == [3.5, 1.5, 2.5]
    with pytest.raises(TypeError, match=r"^tril\(\): argument 'out' must be Tensor, not list"):
        torch.tril(torch.ones(2, 2), out=[1])
    with pytest.raises(TypeError, match=r"^sort\(\): argument 'out' must be tuple of Tensors"):
        torch.sort(x, out=3)
    with pytest.raises(TypeError, match=r"^sort\(\): argument 'out' has 1 tensors for 2 results"):
        torch.sort(x, out=values)
    with pytest.raises(RuntimeError, match=r"^addmm\(\): functions with out=... arguments don't"):
        w = torch.ones(2, 2, requires_grad=True)
        torch.addmm(w, w, w, out=torch.empty(2, 2))


def test_operands_of_methods_by_name() -> None:
    x = torch.arange(6.0)
    assert x.narrow(dimension=0, start=1, length=2).tolist() == [1.0, 2.0]
    assert x.narrow(0, start=4, length=1).tolist() == [4.0]
    assert x.remainder(divisor=4).tolist() == x.remainder(other=4).tolist() == [0, 1, 2, 3, 0, 1]
    assert torch.fmod(x, other=4).tolist() == torch.remainder(input=x, other=4).tolist()
    assert x.clone().eq_(other=2).tolist() == [0, 0, 1, 0, 0, 0]
    assert set(torch.zeros(9).random_(**{"from": 3, "to": 4}).tolist()) == {3.0}
    assert x.where(x > 4, y=x * 0).tolist() == [0, 0, 0, 0, 0, 5]
    assert x.reshape(2, 3).swapaxes(axis0=0, axis1=1).shape == (3, 2)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'begin'"):
        x.narrow(0, begin=1, length=2)
