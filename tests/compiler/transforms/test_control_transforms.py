"""Loops and branches under vmap, and what is made of it: second derivatives as matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgraph as sg
from staticgraph.compiler.graph.build import build, verify
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.transforms.vectorize import batched
from tests.combinations import some
from tests.compiler.transforms.test_control_values import CLOSE, RECORDED
from tests.loops import PROGRAMS, values
from tests.trace import placeholder

FACTORS = (1.0, 0.5, -1.0)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("which", ["all", "first", "last"])
def test_batches_of_any_arguments(name: str, which: str) -> None:
    program = PROGRAMS[name]
    last = len(program.args) - 1
    chosen = {"all": range(last + 1), "first": [0], "last": [last]}[which]
    leaves = [placeholder(array.shape, "float64") for array in program.args]
    output = program.function(sg, *leaves)
    batches = {leaves[i]: placeholder((3, *program.args[i].shape), "float64") for i in chosen}
    (batch,) = batched([output], batches, 3)
    inputs = [batches.get(leaf, leaf) for leaf in leaves]
    verify(build(inputs, [batch]))
    args = [
        np.stack([array * factor for factor in FACTORS]) if i in chosen else array
        for i, array in enumerate(program.args)
    ]
    (found,) = interpret([batch], dict(zip(inputs, args, strict=True)))
    expected = [
        program.function(sg, *(array[k] if i in chosen else array for i, array in enumerate(args)))
        for k in range(3)
    ]
    assert_allclose(found, expected, **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(["vectors", "branches"], 1))
def test_hessians(name: str) -> None:
    program = PROGRAMS[name]
    places = tuple(range(len(program.args)))
    blocks = sg.hessian(lambda *args: program.function(sg, *args), argnums=places)(*program.args)
    for i, array in enumerate(program.args):
        along = np.zeros(array.shape)
        for j, other in enumerate(program.args):
            direction = np.cos(np.arange(other.size)).reshape(other.shape)
            along += np.tensordot(blocks[i][j], direction, other.ndim)
        assert_allclose(along, RECORDED[f"{name} second {i}"], **CLOSE)


def test_a_result_that_is_the_same_for_all_examples() -> None:
    x, w = values(1, 4, 3), values(2, 2, 3, 3)

    def f(w: np.ndarray) -> list[np.ndarray]:
        (h, count), ys = sg.scan(
            lambda carry, x: ((sg.tanh(carry[0] @ w + x), carry[1] + 1.0), x), (x[0], 0.0), x
        )
        chosen = sg.cond(count > 3, lambda h: (h * 2, ys.sum()), lambda h: (h, ys.sum()), h)
        return [h, count, ys, *chosen]

    found = sg.vmap(f)(w)
    for k in range(2):
        for one, other in zip(found, f(w[k]), strict=True):
            assert_allclose(one[k], other, rtol=1e-13)
