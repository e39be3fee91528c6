"""Averages of weights, against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg

X = np.array([0.5, -1.0, 2.0])


def run(average: Any, calls: int, **options: Any) -> tuple[list[Any], Any, Any]:
    w, x = sg.variable(np.array([1.0, -2.0, 0.5]), "w"), sg.placeholder("x", (3,), "float64")
    loss = ((w * x - 1) ** 2).sum()
    updates = sg.optim.Adam(lr=0.1, **options).minimize(loss)
    step = sg.compile([x], loss, updates=average.update(updates, [w]))
    path = []
    for _ in range(calls):
        step(X)
        path.append(w.value)
    return path, average.variables[w].value, sg.compile([x], average.of([w * x]))(X)[0]


def test_the_mean_of_all_steps() -> None:
    average = sg.optim.Average()
    path, found, predicted = run(average, 5)
    np.testing.assert_allclose(found, np.mean(path, axis=0), rtol=1e-13)
    np.testing.assert_array_equal(predicted, found * X)
    assert int(average.n_averaged.value) == 5


def test_an_exponential_average_begins_with_the_first_step() -> None:
    path, found, _ = run(sg.optim.Average(decay=0.9), 5)
    expected = path[0]
    for one in path[1:]:
        expected = 0.9 * expected + 0.1 * one
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_calls_that_are_accumulated_are_averaged_once() -> None:
    average = sg.optim.Average(every=2)
    path, found, _ = run(average, 6, accumulate=2)
    np.testing.assert_allclose(found, np.mean(path[1::2], axis=0), rtol=1e-13)
    assert int(average.n_averaged.value) == 3


def test_what_cannot_be_averaged_is_refused() -> None:
    w, v = sg.variable(np.ones(2), "w"), sg.variable(np.ones(2), "v")
    with pytest.raises(sg.OptionError, match=r"Average: decay 1.5 is more than 1"):
        sg.optim.Average(decay=1.5)
    with pytest.raises(sg.OptionError, match="Average: every 0 is no int from 1"):
        sg.optim.Average(every=0)
    average = sg.optim.Average()
    with pytest.raises(sg.GraphError, match="update: variable 'v' is not among the updates"):
        average.update({w: w * 2}, [v])
    with pytest.raises(sg.GraphError, match="minimize: the parameter 3 is no variable"):
        average.update({w: w * 2}, [3])  # type: ignore[list-item]
    with pytest.raises(sg.GraphError, match="of: the output 3 is no expression"):
        average.of([w, 3])
    with pytest.raises(sg.GraphError, match="of: no parameter is averaged yet: call update before"):
        average.of(w)
