"""Generic tests: every op and public function on every sample of the table."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import type_of
from staticgraph.compiler.graph.expression import Expression, abstract, constant
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.elementwise.incomplete import NoDerivative
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.transforms.autodiff import gradients
from tests.sampled.sample import Sample
from tests.samples import OF_COMPLEX, SAMPLES
from tests.trace import (
    arrays,
    cotangents,
    difference_quotient,
    each_sample,
    outputs,
    replace,
    symbolic,
    traced,
)

# leaves are fed, and loops and branches have bodies: test_control.py
SPECIAL = {
    op.name for kind in (leaves, control) for op in vars(kind).values() if isinstance(op, Op)
}
OPS = [op for op in ops.all_ops() if op.name not in SPECIAL | OF_COMPLEX]
# the difference quotient's error: step**4 times the fifth derivative, and rounding / step
QUOTIENT = {"rtol": 2e-7, "atol": 2e-9}

each = each_sample()
each_resizable = each_sample(lambda s: s.sizes)
each_differentiable = each_sample(lambda s: s.order > 0)
each_twice = each_sample(lambda s: s.order > 1, most=1)


def test_every_op_and_public_function_is_sampled() -> None:
    named = {*ops.PUBLIC, *ops.LINALG, *(op.name for op in OPS), "getitem"}
    assert set(SAMPLES) == named - OF_COMPLEX
    assert all(len(samples) > 1 for samples in SAMPLES.values())


def test_only_what_has_no_gradient_is_declared_so() -> None:
    # whatever maps floats to floats through a rule has samples that the gradient tests run over
    for name, samples in SAMPLES.items():
        if any(sample.order for sample in samples):
            continue
        for sample in samples:
            results, feeds = traced(name, sample)
            floats = [leaf for leaf in feeds if leaf.dtype.kind == "f"]
            # PyTorch has none of the first three either; those of random numbers are in
            # tests/staticgraph/random: a kernel's steps do not have the slope of a quantile
            steps = ("stop_gradient", "signdet", "heaviside")
            drawn = any(word in name for word in ("gamma", "truncated", "_attempt"))
            assert drawn or name in steps or not floats or results[0].dtype.kind != "f"


@each
def test_expression_evaluates_to_the_inferred_type_and_numpys_value(
    name: str, sample: Sample
) -> None:
    results, feeds = traced(name, sample)
    args = sample.args
    if any(node.op.floating and not node.op.keeps_whole for node in ancestors(results)):
        # the frontends cast integers before they call an op that is floating
        args = replace(args, _floating) if feeds and _all_integers(feeds) else args
    with np.errstate(all="ignore"):
        expected = outputs(name, args, sample.options)
    # interpret checks each node's value against its inferred type
    for value, other in zip(interpret(results, feeds), expected, strict=True):
        assert value.dtype == other.dtype
        assert_array_equal(value, other)


def _all_integers(feeds: dict[Expression, np.ndarray]) -> bool:
    return all(leaf.dtype.kind in "iu" for leaf in feeds)


def _floating(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


@each
def test_operands_are_not_modified(name: str, sample: Sample) -> None:
    before = [array.copy() for array in arrays(sample)]
    with np.errstate(all="ignore"):
        outputs(name, sample.args, sample.options)
    for array, copy in zip(arrays(sample), before, strict=True):
        assert_array_equal(array, copy)


@pytest.mark.slow
@each_resizable
def test_unknown_sizes_give_the_same_values(name: str, sample: Sample) -> None:
    results, feeds = traced(name, sample, sizes=True)
    known, known_feeds = traced(name, sample)
    values, expected = interpret(results, feeds), interpret(known, known_feeds)
    for value, other in zip(values, expected, strict=True):
        assert value.dtype == other.dtype
        assert_array_equal(value, other)


@each
def test_exact_ops_do_not_round(name: str, sample: Sample) -> None:
    single, feeds = traced(name, sample, dtype="float32")
    if all(node.op.exact for node in ancestors(single) if node.operands):
        double, wide = traced(name, sample)
        rounded = {
            leaf: array.astype(np.float32).astype(array.dtype) if array.dtype.kind == "f" else array
            for leaf, array in wide.items()
        }
        for value, other in zip(interpret(single, feeds), interpret(double, rounded), strict=True):
            assert_array_equal(value, other.astype(value.dtype))


@pytest.mark.slow
@each_sample(most=3)
def test_float32_stays_float32(name: str, sample: Sample) -> None:
    double, _ = traced(name, sample)
    single, feeds = traced(name, sample, dtype="float32")
    floats = [leaf for leaf in feeds if leaf.dtype.kind == "f"]
    mixed = any(leaf.dtype.kind in "iu" for leaf in feeds) and name != "where"
    for before, after in zip(double, single, strict=True):
        if before.dtype == np.float64 and floats and not isinstance(sample.args[-1], str):
            wide = mixed and after.dtype == np.float64  # NumPy: int32 with float32 is float64
            assert after.dtype == np.float32 or wide
    values = interpret(single, feeds)
    if sample.order and not mixed:
        for leaf, gradient in zip(floats, _gradients(single, floats, values), strict=True):
            assert gradient.type == leaf.type
            (value,) = interpret([gradient], feeds)
            assert np.all(np.isfinite(value))


@pytest.mark.slow
@pytest.mark.parametrize("op", [op for op in OPS if op.expand], ids=lambda op: op.name)
def test_composite_is_its_expansion(op: Op) -> None:
    seen = 0
    for sample in SAMPLES[op.name]:
        results, feeds = traced(op.name, sample)
        for node in ancestors(results):
            if node.op is op:
                seen += 1
                expanded = op.expand(*node.operands, **node.attrs)
                assert expanded.type == node.type
                value, other = interpret([node, expanded], feeds)
                assert_allclose(value, other, rtol=1e-14, atol=1e-15)
    assert seen > 1


def _gradients(
    results: list[Expression], wrt: list[Expression], values: list[np.ndarray]
) -> list[Expression]:
    """The gradient of the sum of all results, each weighted by fixed weights."""
    total = None
    for result, weight in zip(results, cotangents(values), strict=True):
        part = (result * weight).sum()
        total = part if total is None else total + part
    return gradients(total, wrt)


def _weighted(values: list[np.ndarray]) -> float:
    weights = cotangents(values)
    return float(sum((v * w).sum() for v, w in zip(values, weights, strict=True)))


def _differentiable(feeds: dict[Expression, np.ndarray]) -> list[Expression]:
    return [leaf for leaf in feeds if leaf.dtype == np.float64]


@each_differentiable
def test_gradient_is_the_difference_quotient(name: str, sample: Sample) -> None:
    results, feeds = traced(name, sample)
    wrt = _differentiable(feeds)
    values = interpret(results, feeds)
    for leaf, gradient in zip(wrt, interpret(_gradients(results, wrt, values), feeds), strict=True):

        def total(point: np.ndarray, leaf: Expression = leaf) -> float:
            return _weighted(interpret(results, {**feeds, leaf: point}))

        assert_allclose(gradient, difference_quotient(total, feeds[leaf]), **QUOTIENT)


@pytest.mark.slow
@each_twice
def test_second_gradient_is_the_difference_quotient(name: str, sample: Sample) -> None:
    results, feeds = traced(name, sample)
    wrt = _differentiable(feeds)
    first = _gradients(results, wrt, interpret(results, feeds))
    slopes = interpret(first, feeds)
    mixed = sum((g * w).sum() for g, w in zip(first, cotangents(slopes), strict=True))
    reachable = {node.serial for node in ancestors([mixed])}
    for leaf in wrt:

        def total(point: np.ndarray, leaf: Expression = leaf) -> float:
            return _weighted(interpret(first, {**feeds, leaf: point}))

        quotient = difference_quotient(total, feeds[leaf])
        if leaf.serial in reachable:
            (second,) = interpret(gradients(mixed, [leaf]), feeds)
            assert_allclose(second, quotient, **QUOTIENT)
        else:
            assert_allclose(quotient, np.zeros_like(quotient), **QUOTIENT)


@pytest.mark.slow
@each_sample(lambda s: s.order > 0 and s.sizes, most=2)
def test_gradient_with_unknown_sizes(name: str, sample: Sample) -> None:
    known, known_feeds = traced(name, sample)
    values = interpret(known, known_feeds)
    expected = interpret(_gradients(known, _differentiable(known_feeds), values), known_feeds)
    results, feeds = traced(name, sample, sizes=True)
    wrt = _differentiable(feeds)
    weights = [symbolic(weight) for weight in cotangents(values)]
    total = sum((r * w).sum() for r, w in zip(results, weights, strict=True))
    feeds |= dict(zip(weights, cotangents(values), strict=True))
    for leaf, gradient, other in zip(wrt, gradients(total, wrt), expected, strict=True):
        assert gradient.dtype == leaf.dtype
        (value,) = interpret([gradient], feeds)
        assert_allclose(value, other, rtol=1e-13, atol=1e-14)


def _applications(op_or_none: Op | None = None) -> Any:
    """Every node of an op with a rule that the samples make: (node, values of operands, value)."""
    for name, samples in SAMPLES.items():
        if op_or_none is not None and name != op_or_none.name:
            continue
        for sample in samples:
            results, feeds = traced(name, sample)
            nodes = [node for node in ancestors(results) if node.op.vjp]
            values = interpret(nodes, feeds)
            for node, value in zip(nodes, values, strict=True):
                if node.dtype.kind == "f":
                    yield node, interpret(node.operands, feeds), value


def _has(op: Op, position: int) -> bool:
    """Whether there is a derivative by an operand."""
    rule = op.rule(position)
    return rule is not None and not isinstance(rule, NoDerivative)


def _reads(node: Expression, position: int) -> set[str]:
    """The letters of the values that a rule's result depends on, found by tracing it."""
    operands = [abstract(operand.type) for operand in node.operands]
    out, g = abstract(node.type), abstract(node.type)
    result = node.op.rule(position)(g, out, *operands, **node.attrs)
    reached = {one.serial for one in ancestors([result])}
    letters = zip("abcdefgh", operands, strict=False)
    named = [*letters, ("o", out)]
    return {letter for letter, value in named if value.serial in reached}


REFUSING = (ops.gamma_curve,)
"""Whose rules are errors: there is no third derivative of gamma numbers."""
WITH_RULES = [op for op in OPS if op.vjp and op not in REFUSING]


@pytest.mark.parametrize("op", WITH_RULES, ids=lambda op: op.name)
def test_saves_names_exactly_what_the_rules_read(op: Op) -> None:
    read: dict[int, set[str]] = {}
    for node, _, _ in _applications(op):
        if node.op is op:
            for position in range(len(node.operands)):
                if _has(op, position) and node.operands[position].dtype.kind == "f":
                    read.setdefault(position, set()).update(_reads(node, position))
    for position, letters in read.items():
        assert letters == set(op.saved(position))
    assert read or callable(op.vjp) or all(rule is None for rule in op.vjp)


RULED = [op for op in WITH_RULES if callable(op.vjp) or any(op.vjp)]


@pytest.mark.parametrize("op", RULED, ids=lambda op: op.name)
def test_rules_give_the_same_on_arrays_as_on_expressions(op: Op) -> None:
    seen = 0
    for node, operands, value in _applications(op):
        (weight,) = cotangents([value])
        leaves_ = [symbolic(array) for array in operands]
        out, g = symbolic(value), symbolic(weight)
        feeds = dict(zip([*leaves_, out, g], [*operands, value, weight], strict=True))
        for position, operand in enumerate(operands):
            rule = node.op.rule(position)
            if not _has(node.op, position) or operand.dtype.kind != "f":
                continue
            with np.errstate(all="ignore"):
                plain = rule(weight, value, *operands, **node.attrs)
            (through,) = interpret([rule(g, out, *leaves_, **node.attrs)], feeds)
            assert plain.dtype == operand.dtype
            assert plain.shape == operand.shape
            assert_array_equal(plain, through)
            seen += 1
    assert seen > 1


@pytest.mark.parametrize("op", [op for op in OPS if op.vjp_arrays], ids=lambda op: op.name)
def test_cotangents_on_arrays_are_those_of_the_rules(op: Op) -> None:
    seen = 0
    for node, operands, value in _applications(op):
        (weight,) = cotangents([value])
        if node.op is not op:
            continue
        for count in range(1, len(operands) + 1):
            for positions in itertools.combinations(range(len(operands)), count):
                if any(op.rule(i) is None or operands[i].dtype.kind != "f" for i in positions):
                    continue
                seen += 1
                saved = "".join(op.saved(i) for i in positions)
                letters = zip("abcdefgh", operands, strict=False)
                given = [a if letter in saved else type_of(a) for letter, a in letters]
                out = value if "o" in saved else type_of(value)
                found = op.cotangents(positions, weight, out, *given, **node.attrs)
                for i, cotangent in zip(positions, found, strict=True):
                    expected = op.rule(i)(weight, value, *operands, **node.attrs)
                    assert cotangent.dtype == expected.dtype
                    assert_allclose(cotangent, expected, rtol=1e-13, atol=1e-14, strict=True)
    assert seen > 1


def test_ops_describe_themselves() -> None:
    for op in OPS:
        assert op.doc.partition("\n\n")[0].endswith("."), op.name
        assert re.fullmatch(r"<op [a-z0-9_]+>", repr(op))
    assert interpret([constant(2.0)], {}) == [2.0]
    assert replace([1], lambda array: array) == [1]
