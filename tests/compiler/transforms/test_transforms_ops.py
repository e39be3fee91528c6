"""vmap and jvp of expressions on every op of the samples: against loops and reverse mode."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.pytree import leaves, rebuilt
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops.programs.effects import EFFECTS
from tests.sampled.sample import Sample
from tests.trace import each_sample

BATCH = 3


def _function(name: str, sample: Sample, floating: bool) -> tuple[Any, list[Any]]:
    """The op as a function of its arrays (those of float64 if `floating`), and these."""
    op, values = getattr(ops, name), leaves(sample.args)
    places = [
        i
        for i, one in enumerate(values)
        if isinstance(one, np.ndarray) and (not floating or one.dtype == np.float64)
    ]

    def function(*arrays: Any) -> Any:
        every = list(values)
        for place, array in zip(places, arrays, strict=True):
            every[place] = array
        found = op(*rebuilt(sample.args, every), **sample.options)
        if not isinstance(found, list | tuple):
            return found
        return tuple(one for one in found if not floating or one.dtype.kind == "f")

    return function, [values[i] for i in places]


def _placeholders(arrays: list[Any], name: str, batch: bool = False) -> list[Any]:
    """A placeholder per array; the size of the first axis is unknown in a batch."""
    return [
        sg.placeholder(
            f"{name}{i}", (None, *array.shape[1:]) if batch else array.shape, array.dtype
        )
        for i, array in enumerate(arrays)
    ]


def _moved(array: Any, i: int) -> Any:
    """The elements in another order for each example: all stay in the op's domain."""
    return np.roll(array.reshape(-1), i).reshape(array.shape)


@pytest.mark.slow
@each_sample(most=3)
def test_vmap_is_a_loop(name: str, sample: Sample) -> None:
    function, arrays = _function(name, sample, floating=False)
    batches = [np.stack([_moved(array, i) for i in range(BATCH)]) for array in arrays]
    if getattr(ops, name) in EFFECTS:  # of each example it would be another effect
        with pytest.raises(sg.GraphError, match=f"vmap: {name} inside"):
            sg.vmap(function)(*batches)
        return
    for which in itertools.product((0, None), repeat=len(arrays)):
        if 0 not in which:
            continue
        given = [b if axis == 0 else b[0] for b, axis in zip(batches, which, strict=True)]
        inputs = [
            _placeholders([one], f"x{i}", axis == 0)[0]
            for i, (one, axis) in enumerate(zip(given, which, strict=True))
        ]
        outputs = leaves(sg.vmap(function, in_axes=which)(*inputs))
        found = interpret(outputs, dict(zip(inputs, given, strict=True)))
        expected = []
        for i in range(BATCH):
            own = [one[i] if axis == 0 else one for one, axis in zip(given, which, strict=True)]
            examples = _placeholders(own, "e")
            results = leaves(function(*examples))
            expected.append(interpret(results, dict(zip(examples, own, strict=True))))
        for one, parts in zip(found, zip(*expected, strict=True), strict=True):
            wanted = np.stack(parts)
            assert one.dtype == wanted.dtype
            assert one.shape == wanted.shape
            np.testing.assert_allclose(one, wanted, rtol=1e-12, atol=1e-13)


def _normal(expressions: list[Any], rng: Any) -> list[Any]:
    return [rng.normal(size=one.shape) for one in expressions]


@pytest.mark.slow
@each_sample(lambda sample: sample.order >= 1, most=3)
def test_forward_mode_is_adjoint_to_reverse_mode(name: str, sample: Sample) -> None:
    function, arrays = _function(name, sample, floating=True)
    inputs, along = (_placeholders(arrays, label) for label in "xt")
    value, pushed = (leaves(one) for one in sg.jvp(function, inputs, along))
    again, pull = sg.vjp(function, *inputs)
    seeds = [sg.placeholder(f"u{i}", one.shape, one.dtype) for i, one in enumerate(value)]
    pulled = list(pull(rebuilt(again, seeds)))
    rng = np.random.default_rng(0)
    tangents, cotangents = _normal(inputs, rng), _normal(seeds, rng)
    feeds = dict(zip([*inputs, *along, *seeds], [*arrays, *tangents, *cotangents], strict=True))
    results = interpret([*value, *leaves(again), *pushed, *pulled], feeds)
    count = len(value)
    for one, other in zip(results[:count], results[count : 2 * count], strict=True):
        np.testing.assert_array_equal(one, other)
    forward = _inner(results[2 * count : 3 * count], cotangents)
    assert forward == pytest.approx(_inner(results[3 * count :], tangents), rel=1e-10, abs=1e-12)


def _inner(left: list[Any], right: list[Any]) -> float:
    return float(sum((one * other).sum() for one, other in zip(left, right, strict=True)))
