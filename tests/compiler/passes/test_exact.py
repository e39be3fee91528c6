"""`numerics="exact"`: kernels have the bits of evaluation op by op, and of the eager engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.op import all_ops
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.passes.exact import is_rounded_once
from staticgraph.compiler.transforms.autodiff import gradients
from tests.sampled.sample import Sample
from tests.samples import SAMPLES
from tests.trace import cotangents, outputs, replace, traced

pytestmark = pytest.mark.slow

ROUNDED_OTHERWISE = {
    "conv2d": "its cotangents are computed together on arrays (vjp_arrays)",
    "conv_transpose2d": "the cotangent of its weight is a convolution's",
    "matmul": "products of views: the BLAS adds in another order if an operand is transposed",
    "lstsq": "products of views",
    "attention_gradients": "products of views, in its own gradients",
}
"""Ops of which `backward` rounds otherwise than their rules op by op on row-major arrays."""
TOGETHER = [list(SAMPLES)[i : i + 32] for i in range(0, len(SAMPLES), 32)]
"""The ops whose samples share a kernel."""


@dataclass
class Group:
    """Some expressions, what to feed, and the values that the eager engine has for them."""

    names: list[str] = field(default_factory=list)
    results: list[Expression] = field(default_factory=list)
    eager: list[np.ndarray | None] = field(default_factory=list)
    backward: list[bool] = field(default_factory=list)
    feeds: dict[Expression, np.ndarray] = field(default_factory=dict)

    def add(self, name: str, sample: Sample) -> None:
        expressions, feeds = traced(name, sample)
        leaves: list[Any] = []

        def lift(array: np.ndarray) -> Any:
            tensor = dynamic.tensor(array)
            if array.dtype == np.float64:
                leaves.append(tensor.requires_grad_())
            return tensor

        self.feeds |= feeds
        try:
            results = outputs(name, replace(sample.args, lift), sample.options)
        except NotImplementedError:  # of integers, which tensors refuse and expressions cast
            assert all(array.dtype.kind in "iub" for array in feeds.values()), name
            self._extend(name, expressions, [None] * len(expressions), False)
            return
        self._extend(name, expressions, [one.detach().numpy() for one in results], False)
        if sample.order:
            self._differentiate(name, expressions, feeds, results, leaves)

    def _differentiate(
        self, name: str, expressions: Any, feeds: Any, results: Any, leaves: Any
    ) -> None:
        weights = cotangents([one.detach().numpy() for one in results])
        total: Any = sum((r * w).sum() for r, w in zip(expressions, weights, strict=True))
        read = {node.serial for node in ancestors([total])}
        wrt = [one for one in feeds if one.dtype == np.float64]
        pairs = [pair for pair in zip(wrt, leaves, strict=True) if pair[0].serial in read]
        slopes = gradients(total, [one for one, _ in pairs])
        weighted = [r * dynamic.tensor(w) for r, w in zip(results, weights, strict=True)]
        loss = sum(one.sum() for one in weighted)
        taken: Any = [None] * len(pairs)
        if loss.requires_grad:
            taken = dynamic.autograd.grad(loss, [leaf for _, leaf in pairs], allow_unused=True)
        found = [None if one is None else one.numpy() for one in taken]
        self._extend(name, slopes, found, True)

    def _extend(self, name: str, results: Any, eager: Any, backward: bool) -> None:
        self.names += [name] * len(results)
        self.results += results
        self.eager += eager
        self.backward += [backward] * len(results)

    def check(self) -> set[str]:
        """AssertionError unless all bits are equal; the ops whose backward rounds otherwise."""
        read = {node.serial for node in ancestors(self.results)}
        feeds = {leaf: array for leaf, array in self.feeds.items() if leaf.serial in read}
        f = sg.compile(list(feeds), self.results, numerics="exact", lint=None)
        compiled = f(*feeds.values())
        expected = interpret(self.results, feeds, ordered=True)
        otherwise: set[str] = set()
        rows = zip(self.names, compiled, expected, self.eager, self.backward, strict=True)
        for name, found, value, eager, backward in rows:
            assert have_equal_bits(found, value), name
            if eager is None or eager.dtype != value.dtype:  # PyTorch's promotion of integers
                continue
            if not have_equal_bits(found, eager):
                assert backward, name
                otherwise.add(name)
        return otherwise


def have_equal_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are the same; one nan is as good as another."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    return np.array_equal(one, other, equal_nan=True) and np.array_equal(
        np.signbit(one) & ~np.isnan(one), np.signbit(other) & ~np.isnan(other)
    )


@pytest.mark.parametrize("names", TOGETHER, ids=lambda names: names[0])
def test_every_op_and_its_gradient_have_the_bits_of_the_eager_engine(names: Any) -> None:
    group = Group()
    for name in names:
        for sample in SAMPLES[name][:1]:
            group.add(name, sample)
    assert group.check() <= ROUNDED_OTHERWISE.keys()


@pytest.mark.long
def test_every_sample_has_the_bits_of_the_eager_engine() -> None:
    otherwise: set[str] = set()
    for names in TOGETHER:
        group = Group()
        for name in names:
            for sample in SAMPLES[name]:
                group.add(name, sample)
        otherwise |= group.check()
    # in which order products of views are added is the BLAS's, and another processor's another one
    assert {"conv2d", "matmul"} <= otherwise <= ROUNDED_OTHERWISE.keys()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("size", "stride", "padding"), [(3, 1, 1), ((4, 2), (1, 2), (2, 1))])
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_windows_that_overlap_give_the_bits_of_the_eager_engine(
    name: str, size: Any, stride: Any, padding: Any, dtype: str
) -> None:
    rng = np.random.default_rng(4)
    image = rng.normal(size=(2, 3, 9, 8)).astype(dtype)
    tensor = dynamic.tensor(image, requires_grad=True)
    eager = getattr(dynamic.nn.functional, name)(tensor, size, stride, padding)
    weights = rng.normal(size=eager.shape).astype(dtype)
    (eager * dynamic.tensor(weights)).sum().backward()

    x = sg.placeholder("x", image.shape, dtype)
    pooled = getattr(sg, name)(x, size, stride, padding)
    slope = sg.grad((pooled * weights).sum(), x)
    value, gradient = sg.compile([x], [pooled, slope], numerics="exact")(image)
    assert have_equal_bits(value, eager.detach().numpy())
    assert have_equal_bits(gradient, tensor.grad.numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arithmetic_is_compiled_and_neither_contracted_nor_reordered(dtype: str) -> None:
    x, y, z = (sg.placeholder(name, (None,), dtype) for name in "xyz")
    value = sg.sqrt(sg.abs(x * y + z)) / (x - y * y) + sg.where(x > y, x * x, -y)
    f = sg.compile([x, y, z], value, numerics="exact")
    assert not f.kernel.hosts
    assert len(f.kernel.units) == 1
    given = list(np.random.default_rng(0).normal(size=(3, 100_000)).astype(dtype))
    (expected,) = interpret([value], dict(zip((x, y, z), given, strict=True)))
    assert have_equal_bits(f(*given), expected)


def test_loops_branches_and_updates_are_exact_too() -> None:
    rng = np.random.default_rng(1)
    x, w = sg.placeholder("x", (None, 5), "float64"), sg.variable(rng.normal(size=(5, 5)), "w")
    start = sg.zeros((5,), "float64")
    turned = sg.swapaxes(w, 0, 1)  # a view, in the body too
    last, states = sg.scan(lambda h, row: (sg.tanh(h @ turned + row), h.sum()), start, x)
    either = sg.cond(states[0] > 0, lambda v: sg.exp(v), lambda v: sg.log(sg.abs(v)), states[1])
    loss = (last * states[2]).sum() + either + sg.logsumexp(x)
    new = w - 0.1 * sg.grad(loss, w)
    given = rng.normal(size=(7, 5))
    feeds = {x: given, w: w.value.copy()}
    expected = interpret([loss, new], feeds, ordered=True)
    f = sg.compile([x], loss, updates={w: new}, numerics="exact")
    assert have_equal_bits(np.asarray(f(given)), expected[0])
    assert have_equal_bits(w.value, expected[1])


def test_sizes_threads_and_files_change_no_bit(tmp_path: Any) -> None:
    x = sg.placeholder("x", (None, None), "float32")
    value = [sg.softmax(x @ sg.swapaxes(x, 0, 1)), sg.mean(x * x), sg.sum(x, axis=0)]
    f = sg.compile([x], value, numerics="exact", threads=2)
    f.save(tmp_path / "f.sg")
    again = sg.load(tmp_path / "f.sg")
    assert again.options.numerics == "exact"
    for shape in ((3, 4), (1, 7), (64, 200)):
        given = np.random.default_rng(2).normal(size=shape).astype("f4")
        for one, other, expected in zip(
            f(given), again(given), interpret(value, {x: given}, ordered=True), strict=True
        ):
            assert have_equal_bits(np.asarray(one), np.asarray(expected))
            assert have_equal_bits(np.asarray(one), np.asarray(other))


def test_large_products_have_the_threads_of_the_blas_that_eager_ones_have() -> None:
    rng = np.random.default_rng(3)
    x, y = sg.placeholder("x", (None, None)), sg.placeholder("y", (None, None))
    f = sg.compile([x, y], x @ y, numerics="exact")
    for shape in ((256, 784, 512), (50, 100_000, 2), (333, 777, 111)):
        m, k, n = shape
        given = rng.normal(size=(m, k)).astype("f4"), rng.normal(size=(k, n)).astype("f4")
        assert have_equal_bits(f(*given), np.matmul(*given))


def test_what_rounds_otherwise_is_no_loop() -> None:
    kept = {op.name for op in all_ops() if is_rounded_once(op) and not op.exact}
    assert kept == {
        "add", "subtract", "multiply", "divide", "square", "reciprocal", "frac", "sqrt", "softsign",
    }  # fmt: skip
