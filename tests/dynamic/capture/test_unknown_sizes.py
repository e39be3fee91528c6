"""Tensors that a captured function makes of sizes that it does not know: one trace serves all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg


def _written(x: Any) -> Any:
    made = dynamic.zeros_like(x)
    made += x.sum()
    return made * x


def _with_gradient(x: Any) -> Any:
    weight = dynamic.ones(x.shape[1], requires_grad=True)
    (x * weight).sum().backward()
    return weight.grad


def _assigned(*keys: Any) -> Callable[[Any], Any]:
    """What assigns to a copy at each of some keys, and reads it in between."""

    def assigned(x: Any) -> Any:
        y = x * 1
        for i, key in enumerate(keys):
            y[key] = y[key] * 2 + i
            y[key] += x[0].sum()
        return y

    return assigned


MAKERS: dict[str, Callable[[Any], Any]] = {
    "eye": lambda x: x @ dynamic.eye(x.shape[1]),
    "eye of two sizes": lambda x: x.T @ dynamic.eye(x.shape[0], x.shape[1]),
    "eye of integers": lambda x: dynamic.eye(x.shape[0], 3, dtype=dynamic.int64),
    "zeros": lambda x: x + dynamic.zeros(x.shape[0], 1),
    "ones": lambda x: x + dynamic.ones(x.shape),
    "full": lambda x: dynamic.full((x.shape[0], 2), 7),
    "new_zeros": lambda x: x.new_zeros(x.shape[0]) + x.sum(1),
    "arange": lambda x: x + dynamic.arange(x.shape[1]),
    "arange of floats": lambda x: dynamic.arange(x.shape[1], dtype=dynamic.float32) * x,
    "written": _written,
    "an element": _assigned(0, -1, (1, 2)),
    "slices": _assigned(slice(1, None), slice(-2, None), slice(None, None, 2)),
    "slices of both": _assigned((slice(1, 2), slice(None, None, 2)), (..., 1), (0, slice(1, None))),
    "new axes": _assigned((None, 1)),
    "differentiated by": _with_gradient,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_one_trace_serves_all_sizes(make: Callable[[Any], Any]) -> None:
    f = sg.function(make, debug=True)
    for shape in ((4, 3), (5, 5), (6, 3)):
        x = dynamic.tensor(np.random.default_rng(0).normal(size=shape).astype("float32"))
        expected, found = make(x), f(x)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)
    assert len(f.traces) == 1


def test_a_function_of_arrays_knows_its_sizes_where_it_makes_tensors() -> None:
    f = sg.function(lambda x: sg.sum(x) + dynamic.arange(x.shape[0]).sum().item(), debug=True)
    for count in (2, 5):
        assert f(np.ones(count)) == count + sum(range(count))


def test_an_error_about_unknown_sizes_names_the_line_in_the_function() -> None:
    def product(x: Any, w: Any) -> Any:
        return x @ w  # here

    f = sg.function(product, shapes={"x": ("n", 3), "w": (4,)})
    with pytest.raises(sg.ShapeError, match=r"size mismatch.*mat \(nx3\), vec \(4\)") as caught:
        f(dynamic.ones(2, 3), dynamic.ones(4))
    line = product.__code__.co_firstlineno + 1
    assert caught.value.__notes__ == [
        f"in a captured function, at {__file__}:{line}: `return x @ w  # here`"
    ]
