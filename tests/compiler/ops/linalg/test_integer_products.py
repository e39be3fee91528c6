"""Integers beside floats in products: cast in expressions and arrays; eager tensors refuse them."""

from __future__ import annotations

import numpy as np

import staticgraph as sg


@sg.function
def products(a, b):
    return a @ b, sg.dot(a[0], b)


def test_integers_are_cast_in_compiled_products() -> None:
    whole = np.arange(6, dtype=np.int32).reshape(2, 3)
    rows = np.linspace(-1.0, 1.0, 3)
    product, inner = products(whole, rows)
    np.testing.assert_allclose(product, whole @ rows, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(inner, whole[0] @ rows, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(sg.matmul(whole, rows), whole @ rows, rtol=1e-14, atol=1e-14)
