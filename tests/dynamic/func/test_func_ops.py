"""vmap, jvp and their nesting on every op of the samples: against loops and reverse mode."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dynamic as torch
from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.pytree import leaves, rebuilt
from staticgraph.compiler.ops.programs.effects import EFFECTS
from staticgraph.dynamic.func import grad, jvp, vjp, vmap
from tests.trace import each_sample

BATCH = 3


def flat(args):
    """The arguments with arrays as tensors: the positions of these among the leaves, and all."""
    listed = leaves(args)
    places = [i for i, one in enumerate(listed) if isinstance(one, np.ndarray)]
    return places, [torch.tensor(one) if i in places else one for i, one in enumerate(listed)]


def function_of(name, sample, places, values):
    """The op as a function of its arrays; all outputs of ops with several."""
    op = getattr(ops, name)

    def function(*arrays):
        every = list(values)
        for place, array in zip(places, arrays, strict=True):
            every[place] = array
        found = op(*rebuilt(sample.args, every), **sample.options)
        return tuple(found) if isinstance(found, list | tuple) else found

    return function


def moved(array, i):
    """The elements in another order for each example: all stay in the op's domain."""
    return np.roll(np.asarray(array).reshape(-1), i).reshape(np.shape(array))


@pytest.mark.slow
@each_sample(most=3)
def test_vmap_is_a_loop(name, sample):
    places, values = flat(sample.args)
    function = function_of(name, sample, places, values)
    batches = [
        torch.tensor(np.stack([moved(values[p].numpy(), i) for i in range(BATCH)])) for p in places
    ]
    if getattr(ops, name) in EFFECTS:  # of each example it would be another effect
        with pytest.raises(GraphError, match=f"vmap: {name} inside"):
            vmap(function)(*batches)
        return
    try:
        function(*(one[0] for one in batches))
    except NotImplementedError:  # of integers, as PyTorch
        with pytest.raises(NotImplementedError):
            vmap(function)(*batches)
        return
    for which in itertools.product((0, None), repeat=len(places)):
        if not any(dim == 0 for dim in which):
            continue
        args = [b if dim == 0 else b[0] for b, dim in zip(batches, which, strict=True)]
        found = vmap(function, in_dims=tuple(which))(*args)
        expected = [
            function(*(a[i] if dim == 0 else a for a, dim in zip(args, which, strict=True)))
            for i in range(BATCH)
        ]
        for k, one in enumerate(leaves(found)):
            wanted = np.stack([leaves(each)[k].numpy() for each in expected])
            assert one.dtype == wanted.dtype and one.shape == wanted.shape
            # of integers, results are float32, and those of one need not round as those of many
            rtol = 1e-6 if wanted.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(one.numpy(), wanted, rtol=rtol, atol=rtol / 10)


def smooth(name, sample):
    """A function of the sample's float64 arrays, and those."""
    places, values = flat(sample.args)
    places = [p for p in places if values[p].dtype == torch.float64]
    function = function_of(name, sample, places, values)
    return function, tuple(values[p] for p in places)


def random_like(tree, rng):
    return rebuilt(tree, [torch.tensor(rng.normal(size=one.shape)) for one in leaves(tree)])


def inner(left, right):
    pairs = zip(leaves(left), leaves(right), strict=True)
    return sum((a.detach().numpy() * b.detach().numpy()).sum() for a, b in pairs)


@pytest.mark.slow
@each_sample(lambda sample: sample.order >= 1)
def test_forward_mode_is_adjoint_to_reverse_mode(name, sample):
    function, primals = smooth(name, sample)
    rng = np.random.default_rng(0)
    tangents = random_like(primals, rng)
    value, pullback = vjp(function, *primals)
    again, pushed = jvp(function, primals, tangents)
    for one, other in zip(leaves(value), leaves(again), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    cotangents = random_like(value, rng)
    assert inner(pushed, cotangents) == pytest.approx(
        inner(tangents, pullback(cotangents)), rel=1e-10, abs=1e-12
    )


def scalar(function):
    def total(*arrays):
        return sum((torch.sin(one) * one).sum() for one in leaves(function(*arrays)))

    return total


@pytest.mark.slow
@each_sample(lambda sample: sample.order >= 2, most=2)
def test_second_order_agrees_in_all_modes(name, sample):
    """Forward over reverse, reverse over reverse and reverse over forward, batched as well."""
    function, primals = smooth(name, sample)
    loss = scalar(function)
    count = tuple(range(len(primals)))
    tangents = random_like(primals, np.random.default_rng(1))

    def slope(*arrays):
        return grad(loss, count)(*arrays)

    def along(*arrays):
        return jvp(loss, arrays, tangents)[1]

    expected = vjp(slope, *primals)[1](tangents)  # the Hessian is symmetric
    for found in (jvp(slope, primals, tangents)[1], grad(along, count)(*primals)):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-9)
    batches = [torch.stack([one, one]) for one in primals]
    both = vmap(lambda *arrays: jvp(slope, arrays, tangents)[1])(*batches)
    for one, other in zip(both, expected, strict=True):
        np.testing.assert_allclose(one[1].numpy(), other.numpy(), rtol=1e-8, atol=1e-9)
