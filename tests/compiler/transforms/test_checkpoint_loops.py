"""Checkpointed regions in loops, branches and batches, and derivatives through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgraph as sg
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.driver import lower
from staticgraph.compiler.graph.canonical import canonical
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.inspect.plan import Plan
from tests.combinations import some
from tests.compiler.transforms.test_checkpoint_regions import WIDTH, layers, plain, weights

pytestmark = pytest.mark.slow

Region = Callable[..., Any]
Program = Callable[[Region], tuple[list[Any], list[Any]]]
AT = 0.3


def arena(program: Program, region: Region) -> int:
    """The bytes of the arena, of what is not compiled."""
    inputs, outputs = program(region)
    _, made = lower(define(inputs, outputs), Options())
    plan = Plan(made.memory, made.fusion)
    return plan.arena_bytes(dict.fromkeys(plan.sizes, 64))


def values(program: Program, region: Region) -> list[np.ndarray]:
    inputs, outputs = program(region)
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=one.shape).astype(one.dtype) for one in inputs]
    found: list[np.ndarray] = sg.compile(inputs, outputs)(*arrays)
    return found


# -- functions of functions ------------------------------------------------------------------------


def sine(v: Any) -> Any:
    return sg.checkpoint(sg.sin, v)


def nested(v: Any) -> Any:
    return sg.checkpoint(lambda a: sg.checkpoint(sg.sin, a * 1.0), v)


def closing(v: Any) -> Any:
    return sg.checkpoint(lambda: sg.sin(v))


def scanned(v: Any) -> Any:
    return sg.scan(lambda c, _: (sg.checkpoint(sg.sin, c), None), v, length=1)[0]


def around_a_scan(v: Any) -> Any:
    return sg.checkpoint(lambda a: sg.scan(lambda c, _: (sg.sin(c), None), a, length=1)[0], v)


def branched(v: Any) -> Any:
    return sg.cond(v > 0, sine, lambda a: a, v)


def in_pieces(v: Any) -> Any:
    y, z = sg.checkpoint(lambda a, b: (sg.sin(a), b * 2), v, sg.cos(v))
    return y + 0 * z


FORMS = [sine, nested, closing, scanned, around_a_scan, branched, in_pieces]


@pytest.mark.parametrize("f", some(FORMS, 4))
def test_three_orders_of_gradients(f: Any) -> None:
    at = np.float64(AT)
    first, second = sg.grad(f), sg.grad(sg.grad(f))
    assert_allclose(first(at), np.cos(AT), rtol=1e-14)
    assert_allclose(second(at), -np.sin(AT), rtol=1e-14)
    assert_allclose(sg.grad(second)(at), -np.cos(AT), rtol=1e-14)


@pytest.mark.parametrize("f", some(FORMS, 2))
def test_other_transforms_of_second_order(f: Any) -> None:
    at = np.float64(AT)
    assert_allclose(sg.hessian(f)(at), -np.sin(AT), rtol=1e-14)
    assert_allclose(sg.jvp(sg.grad(f), (at,), (np.float64(2),))[1], -2 * np.sin(AT), rtol=1e-14)
    several = np.array([0.1, 0.3, 0.9])
    assert_allclose(sg.vmap(sg.grad(sg.grad(f)))(several), -np.sin(several), rtol=1e-14)
    assert_allclose(sg.grad(lambda v: sg.sum(sg.vmap(f)(v)))(several), np.cos(several), rtol=1e-14)


def test_a_hessian_of_a_vector() -> None:
    at = np.array([0.3, 0.4])
    found = sg.hessian(lambda v: sg.sum(sg.checkpoint(lambda a: sg.sin(a) * a, v)))(at)
    assert_allclose(found, np.diag(2 * np.cos(at) - at * np.sin(at)), rtol=1e-14)


# -- memory ----------------------------------------------------------------------------------------


def deep_scan(region: Region) -> tuple[list[Any], list[Any]]:
    x, h = sg.placeholder("x", (20, 64, WIDTH)), sg.placeholder("h", (64, WIDTH))
    ws = weights(6)

    def step(carry: Any, one: Any) -> tuple[Any, None]:
        return region(lambda a: layers(a + one, ws, sg.tanh), carry), None

    loss = sg.sum(sg.square(sg.scan(step, h, x)[0]))
    return [x, h], [loss, *sg.grad(loss, [h, *ws])]


def deep_branch(region: Region) -> tuple[list[Any], list[Any]]:
    x, ws = sg.placeholder("x", (64, WIDTH)), weights(16)

    def branch(h: Any) -> Any:
        for i in range(0, 16, 4):
            h = region(layers, h, ws[i : i + 4], sg.tanh)
        return h

    loss = sg.sum(sg.square(sg.cond(sg.sum(x) == sg.sum(x), branch, lambda h: h, x)))
    return [x], [loss, *sg.grad(loss, [x, *ws])]


def deep_batch(region: Region) -> tuple[list[Any], list[Any]]:
    x, ws = sg.placeholder("x", (64, WIDTH)), weights(16)

    def example(h: Any) -> Any:
        for i in range(0, 16, 4):
            h = region(layers, h, ws[i : i + 4], sg.tanh)
        return h

    loss = sg.sum(sg.square(sg.vmap(example)(x)))
    return [x], [loss, *sg.grad(loss, [x, *ws])]


def scans(region: Region) -> tuple[list[Any], list[Any]]:
    x, h = sg.placeholder("x", (20, 64, WIDTH)), sg.placeholder("h", (64, WIDTH))
    ws = weights(4)
    carry = h
    for w in ws:
        carry = region(lambda a, w: sg.scan(lambda c, t: (sg.tanh(c @ w + t), None), a, x)[0],
                       carry, w)  # fmt: skip
    loss = sg.sum(sg.square(carry))
    return [x, h], [loss, *sg.grad(loss, [h, *ws])]


@pytest.mark.parametrize(
    ("program", "share"),
    [
        (deep_scan, 0.25),
        (scans, 0.5),
        pytest.param(deep_batch, 0.6, marks=pytest.mark.long),
        pytest.param(deep_branch, 0.6, marks=pytest.mark.long),
    ],
)
def test_regions_in_loops_branches_and_batches_take_less(program: Program, share: float) -> None:
    assert arena(program, sg.checkpoint) < share * arena(program, plain)
    for one, other in zip(values(program, plain), values(program, sg.checkpoint), strict=True):
        # sums over steps are taken in another order
        assert_allclose(other, one, rtol=2e-4, atol=2e-5)


def long_chain(region: Region) -> tuple[list[Any], list[Any]]:
    x = h = sg.placeholder("x", ("n", WIDTH))
    for _ in range(36):
        h = region(lambda a: sg.sin(a) * 1.1, h)
    return [x], [sg.sum(h), sg.grad(sg.sum(h), x)]


def chain_in_a_scan(region: Region) -> tuple[list[Any], list[Any]]:
    x = sg.placeholder("x", (64, WIDTH))

    def step(carry: Any, _: Any) -> tuple[Any, None]:
        for _i in range(6):
            carry = region(lambda a: sg.sin(a) * 1.1, carry)
        return carry, None

    loss = sg.sum(sg.scan(step, x, length=10)[0])
    return [x], [loss, sg.grad(loss, x)]


def several_enter(region: Region) -> tuple[list[Any], list[Any]]:
    x, h = sg.placeholder("x", (10, 64, WIDTH)), sg.placeholder("h", (64, WIDTH))

    def step(carry: Any, one: Any) -> tuple[Any, None]:
        a, b, c = carry @ carry.T @ one, one * 2 + carry, carry.T @ carry
        return sg.tanh(region(lambda a, b, c: sg.tanh(a @ c + b), a, b, c)), None

    loss = sg.sum(sg.scan(step, h, x)[0])
    return [x, h], [loss, sg.grad(loss, h)]


@pytest.mark.parametrize("program", [long_chain, chain_in_a_scan, several_enter])
def test_regions_never_cost_memory(program: Program) -> None:
    assert arena(program, sg.checkpoint) <= arena(program, plain)


def test_bodies_use_their_memory_again() -> None:
    x, ws = sg.placeholder("x", (64, WIDTH)), weights(12)

    def branch(h: Any) -> Any:
        return layers(h, ws, sg.tanh)

    result = sg.cond(sg.sum(x) > 0, branch, branch, x)
    _, made = lower(define([x], [result]), Options())
    assert Plan(made.memory, made.fusion).arena_bytes() <= 3 * 64 * WIDTH * 4


# -- what a region is ------------------------------------------------------------------------------


def test_a_result_needs_only_what_it_is_computed_from() -> None:
    x, z = sg.placeholder("x", (), "float64"), sg.placeholder("z", (), "float64")
    y, _ = sg.checkpoint(lambda a, b: (a * 2, b * 3), x, z)
    assert sg.compile([x], y)(1.5) == 3
    with pytest.raises(GraphError, match="does not depend on"):
        sg.grad(y, z)


def test_equal_definitions_with_regions_have_one_form() -> None:
    def text() -> str:
        x = sg.placeholder("x", ("n",), "float64")
        found = canonical(define([x], [sg.checkpoint(sg.sin, sg.checkpoint(sg.exp, x))]))
        assert found is not None
        return found.text

    assert text() == text()
