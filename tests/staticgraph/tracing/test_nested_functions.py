"""Captured functions that captured functions call, or are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.pytree import leaves

X = np.arange(3.0)


class Names:
    """Any name of the package, as a namespace that a script puts together."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sg, name)


NAMES = Names()


def energy(x: Any) -> Any:
    return NAMES.sum(NAMES.sin(x))


OUTER = {
    "called": lambda inner: lambda x: inner(x) * 2,
    "itself": lambda inner: inner,
    "batched": lambda inner: lambda x: sg.vmap(inner)(sg.stack([x, x])),
    "handed over": lambda inner: lambda x: [*map(inner, [x, x])],
}


@pytest.mark.slow
@pytest.mark.parametrize("outer", OUTER.values(), ids=OUTER)
@pytest.mark.parametrize("make", [sg.function, sg.grad, sg.value_and_grad, sg.hessian])
def test_one_that_was_called_and_reads_by_reflection(make: Any, outer: Any) -> None:
    inner = make(energy)
    inner(X)
    again = sg.function(outer(inner))(X)
    fresh = sg.function(outer(make(energy)))(X)
    for one, other in zip(leaves(again), leaves(fresh), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_the_inner_one_reads_and_what_users_put_on_it_is_still_followed() -> None:
    table = {"scale": 2.0}

    def scaled(x: Any) -> Any:
        return NAMES.sum(x) * table["scale"]

    inner: Any = sg.function(scaled)
    inner.power = 3.0
    outer = sg.function(lambda x: inner(x) * getattr(inner, "power"))  # noqa: B009
    inner(X)
    assert outer(X) == 18
    table["scale"] = 4.0
    assert outer(X) == 36
    inner.power = 1.0
    assert outer(X) == 12
