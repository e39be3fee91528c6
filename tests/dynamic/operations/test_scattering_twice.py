"""Second derivatives of products that fall on one place, of which some are 0."""

from __future__ import annotations

import pytest

import dynamic as torch
from staticgraph.dynamic.autograd import gradcheck, gradgradcheck

INDEX = torch.tensor([0, 0, 1, 1, 1, 2, 3])


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 0.0, 0.0, 2.0, 3.0, 0.0, 4.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0],
        [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0],
    ],
)
@pytest.mark.parametrize("include_self", [True, False])
def test_products_are_differentiated_twice_at_zeros(values, include_self):
    source = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    x = torch.tensor([1.0, 2.0, 0.0, -1.0], dtype=torch.float64, requires_grad=True)

    def product(x, source):
        return x.scatter_reduce(0, INDEX, source, "prod", include_self=include_self)

    assert gradcheck(product, (x, source))
    assert gradgradcheck(product, (x, source))
