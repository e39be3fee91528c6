"""PyTorch's documented keywords: accepted, or refused for a reason that is listed."""

from __future__ import annotations

import pytest

import dynamic as torch
from tests.dynamic.signatures import DOCUMENT, REFUSED, compared, page


@pytest.mark.filterwarnings("ignore")
def test_every_documented_keyword_is_accepted_or_refused_for_a_reason() -> None:
    refused, _, accepted = compared()
    assert {one: names for one, names in refused.items() if one not in REFUSED} == {}
    assert accepted > 2200
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
