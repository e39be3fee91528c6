"""Samples of ops that are alike: of one operand, of two, reductions, matrices."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.sampled.sample import Sample, call
from tests.values import (
    bools,
    byte,
    integers,
    positive,
    spread,
)


def unary(domain: Any = spread, *, integer: bool = True) -> list[Sample]:
    samples = [call(domain()), call(domain(5)), call(domain(2, 1, 3)), call(domain(2, 0))]
    return [*samples, call(integers(2, 3, low=1, dtype="int32"), order=0)] if integer else samples


def binary(left: Any = spread, right: Any = spread, *, integer: bool = True) -> list[Sample]:
    samples = [
        call(left(), right()),
        call(left(4), right(4)),
        call(left(2, 1, 3), right(4, 1)),
        call(left(3), right(2, 1)),
        call(left(2, 3), 1.5),
        call(2, right(3)),
        call(left(1), right(2, 0)),
    ]
    if integer:
        samples += [
            call(integers(2, 3), integers(3, low=1), order=0),
            call(byte(4), integers(4, low=1, dtype="int32"), order=0),
            call(integers(2, 2, dtype="int32"), right(2)),
            call(byte(3), 3, order=0),
        ]
    return samples


def quotients() -> list[Sample]:
    """No quotient is near an integer, where the floor jumps."""
    signs = np.array([7.3, -7.3, 7.3, -7.3]), np.array([2.0, 2.0, -2.0, -2.0])
    divisor = functools.partial(spread, low=3.1, high=4.9)
    return [*binary(positive, divisor), call(*signs), call(integers(6), -3, order=0)]


def comparison() -> list[Sample]:
    tied = np.array([1.0, np.nan, -np.inf, np.inf, -0.0]), np.array([1.0, np.nan, 0.0, np.inf, 0.0])
    samples = [*binary(), call(*tied), call(bools(2, 3), bools(3)), call(bools(3), integers(3))]
    return [Sample(sample.args, order=0) for sample in samples]


def logical() -> list[Sample]:
    return [
        call(bools(), bools(), order=0),
        call(bools(2, 3), bools(3), order=0),
        call(bools(2, 1), bools(1, 4), order=0),
        call(bools(3), True, order=0),
    ]


def classification() -> list[Sample]:
    values = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.0])
    return [call(values, order=0), call(spread(2, 1, 2), order=0), call(spread(), order=0)]


def reductions(domain: Any = spread, *, integer: bool = True) -> list[Sample]:
    samples = [
        call(domain()),
        call(domain(4)),
        call(domain(4), 0),
        call(domain(2, 3), axis=-1),
        call(domain(2, 3), dim=0, keepdim=True),
        call(domain(2, 3, 2), axis=(0, -1)),
        call(domain(2, 3, 2), axis=(2, 1), keepdims=True),
        call(domain(2, 1, 3), axis=1),
        call(domain(2, 2, 1, 3), axis=(1, 2)),
        call(domain(2, 3), axis=(), keepdims=True),
        call(domain(2, 3), keepdims=True),
    ]
    if integer:
        samples += [
            call(integers(2, 3, dtype="int32"), axis=0, order=0),
            call(byte(3), order=0),
        ]
    return samples


def empty_reductions() -> list[Sample]:
    return [call(spread(0)), call(spread(0, 3), axis=0), call(spread(2, 0, 3), axis=(0, 1))]


def deviations() -> list[Sample]:
    return [
        *reductions()[1:],
        call(spread(5), correction=1),
        call(spread(2, 4), axis=-1, keepdims=True, correction=1),
        call(spread(), order=0),
    ]


def truths() -> list[Sample]:
    return [
        call(bools(), order=0),
        call(bools(4), order=0),
        call(bools(2, 3), axis=-1, order=0),
        call(bools(2, 3, 2), axis=(0, 2), keepdims=True, order=0),
        call(bools(2, 0), axis=1, order=0),
    ]


def positions() -> list[Sample]:
    return [
        call(spread(5), order=0),
        call(spread(2, 3), order=0),
        call(spread(2, 3), axis=-1, order=0),
        call(spread(2, 3, 4), dim=1, keepdim=True, order=0),
        call(spread(2, 1), axis=1, order=0),
        call(integers(2, 3, dtype="int32"), axis=0, order=0),
        call(np.array([[1.0, 3.0, 3.0], [np.nan, 7.0, np.nan]]), axis=1, order=0),
    ]


def along_one_axis() -> list[Sample]:
    return [
        call(spread(4)),
        call(spread(2, 3)),
        call(spread(2, 3, 2), axis=1),
        call(spread(2, 1), dim=-1),
        call(integers(2, 3), axis=0, order=0),
    ]


def running(domain: Any = spread, *, integer: bool = True) -> list[Sample]:
    samples = [
        call(domain(4)),
        call(domain(2, 3)),
        call(domain(2, 3), 0),
        call(domain(2, 3, 2), axis=1),
        call(domain(2, 1), dim=-1),
        call(domain(1)),
        call(domain()),
    ]
    if integer:
        samples += [
            call(integers(2, 3, dtype="int32"), axis=1, order=0),
            call(byte(3), axis=0, order=0),
        ]
    return samples


def ordered() -> list[Sample]:
    tied = np.array([[2.0, 1.0, 2.0, 1.0], [np.nan, 1.0, -np.inf, np.nan]])
    return [
        call(spread(5)),
        call(spread(2, 3)),
        call(spread(2, 3), axis=0),
        call(spread(2, 3, 2), dim=1, descending=True),
        call(spread(2, 3), None),
        call(spread(2, 0), stable=True),
        call(spread(), None),
        call(tied, order=0),
        call(tied, axis=1, descending=True, order=0),
        call(integers(2, 4, dtype="int32"), axis=0, order=0),
        call(bools(5), order=0),
    ]


def regular(*shape: int) -> np.ndarray:
    """Square matrices that are far from singular."""
    matrices = spread(*shape)
    return np.asarray(matrices + np.copysign(3.0, matrices) * np.eye(shape[-1]))


def symmetric(*shape: int) -> np.ndarray:
    """Symmetric matrices with distinct eigenvalues."""
    matrices = regular(*shape)
    return np.asarray(matrices + matrices.swapaxes(-1, -2) + np.diag(np.arange(shape[-1]) * 3.0))


def tall(*shape: int) -> np.ndarray:
    """Matrices of independent columns."""
    *lead, rows, columns = shape
    below = spread(*lead, rows - columns, columns, low=-1.0, high=1.0)
    return np.concatenate([regular(*lead, columns, columns), below], -2)


def squares(order: int = 2) -> list[Sample]:
    return [
        call(regular(3, 3), order=order),
        call(regular(2, 3, 3), order=order),
        call(regular(2, 1, 2, 2), order=order),
        call(regular(1, 1), order=order),
        call(regular(0, 2, 2), order=order),
        call(regular(0, 0), order=order),
        call(integers(1, 1, low=1), order=0),
    ]


def positive_definite() -> list[Sample]:
    """Of one element: the gradient is that of symmetric matrices, but a quotient changes one half,
    and elements in another order are of no such matrix. The others are in test_matrices.py.
    """
    return [call(positive(1, 1)), call(positive(3, 1, 1)), call(np.zeros((0, 2, 2)))]


def losses(domain: Any, target: Any) -> list[Sample]:
    return [
        call(domain(3, 2), target(3, 2)),
        call(domain(4), target(4), reduction="sum"),
        call(domain(2, 3), target(2, 3), reduction="none"),
        call(domain(2, 3), target(3)),
        call(domain(1, 3), target(2, 1), reduction="none"),
        call(domain(), target()),
    ]


def matrices() -> list[Sample]:
    return [
        call(spread(3), spread(3)),
        call(spread(2, 3), spread(3)),
        call(spread(3), spread(3, 2)),
        call(spread(2, 3), spread(3, 4)),
        call(spread(1, 3), spread(3, 1)),
        call(spread(2, 2, 3), spread(3, 2)),
        call(spread(2, 2, 3), spread(3)),
        call(spread(3), spread(2, 3, 2)),
        call(spread(2, 3), spread(2, 3, 2)),
        call(spread(2, 1, 2, 3), spread(3, 3, 2)),
        call(spread(1, 2, 3), spread(2, 3, 2)),
        call(spread(2, 0), spread(0, 3)),
        call(integers(2, 3), integers(3, 2), order=0),
        call(integers(2, 3, dtype="int32").astype(np.float64), spread(3)),
    ]
