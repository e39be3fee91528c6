"""Python's signs for bits, and the parts of complex numbers, of expressions."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg

MASK, BITS = np.array([True, False, True]), np.array([5, -2, 9])


def test_signs_for_bits_are_numpys() -> None:
    b, i = sg.placeholder("b", (3,), "bool"), sg.placeholder("i", (3,), "int64")

    def signs(b, i):  # type: ignore[no-untyped-def]
        return [
            b & b, i & 3, 6 | i, i ^ b, ~i, ~b, i << 2, 1 << abs(i), i >> 1, MASK | b, b ^ True,
        ]  # fmt: skip

    for found, expected in zip(
        sg.compile([b, i], signs(b, i))(MASK, BITS), signs(MASK, BITS), strict=True
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_floats_have_no_bits() -> None:
    x = sg.placeholder("x", (3,))
    for call in (lambda: x & x, lambda: x << 1, lambda: ~x, lambda: BITS | x):
        with pytest.raises(sg.DTypeError, match=r"is not bool|is not an integer|has no bits"):
            call()


def test_parts_of_complex_numbers_are_members() -> None:
    z, x = sg.placeholder("z", (2,), "complex128"), sg.placeholder("x", (2,), "float64")
    run = sg.compile([z, x], [z.real, z.imag, z.conj(), z.conjugate(), x.real, x.imag, x.conj()])
    at, real = np.array([1 + 2j, -3j]), np.array([1.5, -2.0])
    expected = [at.real, at.imag, at.conj(), at.conj(), real, real.imag, real]
    for found, value in zip(run(at, real), expected, strict=True):
        assert found.dtype == value.dtype
        np.testing.assert_array_equal(found, value)
