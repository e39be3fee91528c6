"""Both paradigms over one op library: eager values and gradients are the symbolic ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.transforms.autodiff import gradients
from tests.sampled.sample import Sample
from tests.trace import cotangents, each_sample, outputs, replace, traced

# both evaluate the same rules with NumPy; only the order of additions differs
CLOSE = {"rtol": 1e-12, "atol": 1e-13}
REFUSED_OF_INTEGERS = {
    "elu", "frac", "gelu", "leaky_relu", "log_softmax", "silu", "softmax", "softplus", "std", "var",
}  # fmt: skip
"""What tensors refuse, as PyTorch's do; arrays and expressions are cast first, as NumPy's."""


def eager(name: str, sample: Sample) -> tuple[list[Any], list[Any]]:
    """The results of the public function on tensors, and the tensors that require gradients."""
    leaves: list[Any] = []

    def lift(array: np.ndarray) -> Any:
        tensor = dynamic.tensor(array)
        if array.dtype == np.float64:
            leaves.append(tensor.requires_grad_())
        return tensor

    return outputs(name, replace(sample.args, lift), sample.options), leaves


def weighted(results: list[Any]) -> Any:
    weights = cotangents([result.detach().numpy() for result in results])
    return sum(
        (result * dynamic.tensor(w)).sum() for result, w in zip(results, weights, strict=True)
    )


def symbolic_weighted(results: list[Expression], values: list[np.ndarray]) -> Expression:
    total: Any = sum((r * w).sum() for r, w in zip(results, cotangents(values), strict=True))
    assert isinstance(total, Expression)
    return total


@each_sample()
def test_values_are_the_same(name: str, sample: Sample) -> None:
    expressions, feeds = traced(name, sample)
    if name in REFUSED_OF_INTEGERS and all(array.dtype.kind in "iu" for array in feeds.values()):
        with pytest.raises(NotImplementedError, match=r"not implemented for|only support floating"):
            eager(name, sample)
        return
    if name == "astype" or any(array.dtype.kind != "f" for array in feeds.values()):
        compare: Any = _up_to_promotion  # PyTorch's integer promotion differs from NumPy's
    else:
        compare = _exactly
    results, _ = eager(name, sample)
    for tensor, value in zip(results, interpret(expressions, feeds), strict=True):
        compare(tensor.detach().numpy(), value)


def _exactly(eager_value: np.ndarray, value: np.ndarray) -> None:
    assert eager_value.dtype == value.dtype
    assert_allclose(eager_value, value, rtol=4e-16)


def _up_to_promotion(eager_value: np.ndarray, value: np.ndarray) -> None:
    assert eager_value.shape == value.shape
    single = eager_value.dtype == np.float32 and value.dtype == np.float64
    rounding = {"rtol": 1e-6, "atol": 1e-6} if single else {"rtol": 1e-15}
    assert_allclose(eager_value, value, **rounding)


@each_sample(lambda sample: sample.order > 0)
def test_gradients_are_the_same(name: str, sample: Sample) -> None:
    expressions, feeds = traced(name, sample)
    wrt = [leaf for leaf in feeds if leaf.dtype == np.float64]
    loss = symbolic_weighted(expressions, interpret(expressions, feeds))
    expected = interpret(gradients(loss, wrt), feeds)
    results, leaves = eager(name, sample)
    total = weighted(results)
    if not total.requires_grad:  # PyTorch has no gradient where it is 0 everywhere
        assert not any(np.any(gradient) for gradient in expected)
        return
    total.backward()
    for leaf, gradient in zip(leaves, expected, strict=True):
        assert_allclose(leaf.grad.numpy(), gradient, **CLOSE)


@each_sample(lambda sample: sample.order > 0)
def test_gradients_do_not_depend_on_the_order_of_memory(name: str, sample: Sample) -> None:
    found = []
    for order in ("C", "F"):
        leaves: list[Any] = []

        def lift(array: np.ndarray, order: Any = order, leaves: list[Any] = leaves) -> Any:
            tensor = dynamic.from_numpy(np.array(array, order=order))
            if array.dtype == np.float64:
                leaves.append(tensor.requires_grad_())
            return tensor

        results = outputs(name, replace(sample.args, lift), sample.options)
        total = weighted(results)
        if total.requires_grad:
            total.backward()
        found.append([one.detach().numpy() for one in results])
        found[-1] += [leaf.grad.numpy() for leaf in leaves if leaf.grad is not None]
    for one, other in zip(*found, strict=True):
        assert_allclose(one, other, **CLOSE)


@pytest.mark.slow
@each_sample(lambda sample: sample.order > 1, most=2)
def test_second_gradients_are_the_same(name: str, sample: Sample) -> None:
    expressions, feeds = traced(name, sample)
    wrt = [leaf for leaf in feeds if leaf.dtype == np.float64]
    first = gradients(symbolic_weighted(expressions, interpret(expressions, feeds)), wrt)
    mixed = symbolic_weighted(first, interpret(first, feeds))
    results, leaves = eager(name, sample)
    loss = weighted(results)
    if not loss.requires_grad:
        assert not any(np.any(slope) for slope in interpret(first, feeds))
        return
    slopes = dynamic.autograd.grad(loss, leaves, create_graph=True)
    total = weighted(list(slopes))
    reached = {node.serial for node in ancestors([mixed])}
    if not total.requires_grad:  # linear: the gradient is a constant
        assert not any(
            np.any(second)
            for second in interpret(
                gradients(mixed, [leaf for leaf in wrt if leaf.serial in reached]), feeds
            )
        )
        return
    seconds = dynamic.autograd.grad(total, leaves, allow_unused=True)
    for leaf, second in zip(wrt, seconds, strict=True):
        value = np.zeros(feeds[leaf].shape) if second is None else second.numpy()
        if leaf.serial in reached:
            (expected,) = interpret(gradients(mixed, [leaf]), feeds)
            assert_allclose(value, expected, **CLOSE)
        else:
            assert not value.any()
