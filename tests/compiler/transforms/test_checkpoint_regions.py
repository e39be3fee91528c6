"""Checkpointed regions: the same values and gradients from less memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.inspect.plan import Plan
from staticgraph.compiler.transforms.autodiff import gradients
from tests.combinations import some
from tests.graphs import kernel

LAYERS, WIDTH = 32, 16


def plain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def weights(count: int, width: int = WIDTH) -> list[sg.Variable]:
    rng = np.random.default_rng(0)
    scale = (2 / width) ** 0.5
    return [
        sg.variable((scale * rng.normal(size=(width, width))).astype("f4"), f"w{i}")
        for i in range(count)
    ]


def in_segments(length: int) -> Callable[..., Any]:
    """A deep network of which `length` layers at a time are a region; 0: none."""

    def forward(h: Any, ws: list[Any]) -> Any:
        for i in range(0, len(ws), length or len(ws)):
            part = ws[i : i + (length or len(ws))]
            h = (sg.checkpoint if length else plain)(layers, h, part)
        return h

    return forward


def layers(h: Any, ws: list[Any], activation: Callable[..., Any] = sg.relu) -> Any:
    for w in ws:
        h = activation(h @ w)
    return h


def thirds(h: Any, ws: list[Any]) -> Any:
    """A region of three regions of three regions ..."""
    if len(ws) == 1:
        return sg.tanh(h @ ws[0])
    third = len(ws) // 3
    for i in range(0, len(ws), third):
        h = sg.checkpoint(thirds, h, ws[i : i + third])
    return h


def compiled(forward: Callable[..., Any], ws: list[sg.Variable]) -> sg.Executable:
    x = sg.placeholder("x", ("n", WIDTH))
    loss = sg.mean(sg.square(forward(x, ws)))
    return sg.compile([x], [loss, *sg.grad(loss, [x, *ws])])


def planned(inputs: list[Any], outputs: list[Any]) -> int:
    """The bytes of the arena, of what is not compiled."""
    made = kernel((inputs, outputs, {}))
    return Plan(made.memory, made.fusion).arena_bytes(n=64)


def arena(executable: sg.Executable) -> int:
    return executable.plan.arena_bytes(n=64)


X = np.random.default_rng(1).normal(size=(64, WIDTH)).astype("f4")


@pytest.mark.slow
def test_memory_of_a_deep_network_falls_to_the_square_root() -> None:
    ws = weights(LAYERS)
    kept, segments = compiled(in_segments(0), ws), compiled(in_segments(6), ws)
    for one, other in zip(kept(X), segments(X), strict=True):
        assert_array_equal(one, other)
    layer = X.nbytes
    assert arena(kept) >= LAYERS * layer
    # 6 inputs of segments, 6 layers of one segment, and what one layer's gradient takes
    assert arena(segments) <= 15 * layer
    assert segments.plan.peak_bytes(n=64) < kept.plan.peak_bytes(n=64)


@pytest.mark.slow
def test_regions_inside_regions_take_less_again() -> None:
    ws = weights(27)

    def flat(h: Any, ws: list[Any]) -> Any:
        return layers(h, ws, sg.tanh)

    kept, nested = compiled(flat, ws), compiled(thirds, ws)
    for one, other in zip(kept(X), nested(X), strict=True):
        assert_array_equal(one, other)
    # 2 inputs of regions on each of 3 levels, and what one layer's gradient takes
    assert arena(nested) <= 10 * X.nbytes < 27 * X.nbytes <= arena(kept)


def test_training_is_the_same_step_by_step() -> None:
    results = []
    for length in (0, 4):
        ws = weights(8)
        x, y = sg.placeholder("x", ("n", WIDTH)), sg.placeholder("y", ("n",), "int64")
        loss = sg.cross_entropy(in_segments(length)(x, ws), y)
        updates = sg.optim.SGD(lr=0.05, momentum=0.9).minimize(loss)
        step = sg.compile([x, y], loss, updates)
        losses = [step(X, np.arange(64) % WIDTH) for _ in range(5)]
        results.append([*losses, *(w.value for w in ws)])
    for one, other in zip(*results, strict=True):
        assert_array_equal(one, other)


def branching(region: Callable[..., Any], x: Any, w: Any) -> Any:
    """Closures, keywords, several and nested results, a result that is an argument."""
    outer = sg.exp(x)

    def first(a: Any, *, scale: float) -> Any:
        h = sg.sin(a @ w) * scale + outer
        return {"h": h, "more": [sg.cos(h), (a, None, 3)]}

    made = region(first, x, scale=0.5)
    cosine, (same, nothing, three) = made["more"]
    assert (nothing, three) == (None, 3)
    second = region(lambda a, b: (a * b * sg.transpose(w)[0], sg.sum(a)), made["h"], cosine)
    return sg.sum(second[0] * same) + sg.square(second[1]) + sg.sum(made["h"])


def all_orders(region: Callable[..., Any]) -> list[Any]:
    x, w = sg.placeholder("x", ("n", 3), "float64"), sg.placeholder("w", (3, 3), "float64")
    loss = branching(region, x, w)
    first = sg.grad(loss, [x, w])
    norm = sum(sg.sum(sg.square(g)) for g in first)
    second = sg.grad(norm, [x, w])
    third = sg.grad(sg.sum(second[0] * second[0]), [x, w])
    outputs = [loss, *first, *second, *third]
    rng = np.random.default_rng(2)
    given = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    if region is plain:
        return interpret(outputs, dict(zip((x, w), given, strict=True)))
    found: list[Any] = sg.compile([x, w], outputs)(*given)
    return found


@pytest.mark.slow
def test_closures_keywords_nested_results_and_three_orders_of_gradients() -> None:
    # paths to one value meet in another order where derivatives are differentiated
    for one, other in zip(all_orders(plain), all_orders(sg.checkpoint), strict=True):
        assert_allclose(other, one, rtol=1e-11, atol=1e-11)


@pytest.mark.slow
def test_the_gradient_of_a_gradient_recomputes_too() -> None:
    sizes = []
    for region in (plain, sg.checkpoint):
        x = h = sg.placeholder("x", ("n", WIDTH))
        ws = weights(16)
        for i in range(0, 16, 4):
            h = region(layers, h, ws[i : i + 4], sg.tanh)
        (slope,) = gradients(sg.sum(h), [x])
        sizes.append(planned([x], [sg.grad(sg.sum(sg.square(slope)), x)]))
    assert sizes[1] < 0.7 * sizes[0]


def test_nothing_inside_is_read_from_outside() -> None:
    x = sg.placeholder("x", ("n",), "float64")
    inside: list[Any] = []

    def region(a: Any) -> Any:
        inside.append(sg.exp(a))
        inside.append(sg.sin(inside[0]))
        return inside[1] * inside[0]

    y = sg.checkpoint(region, x)
    (slope,) = gradients(sg.sum(y), [x])
    assert not {node.serial for node in inside} & {node.serial for node in ancestors([slope])}
    at = np.array([0.1, 0.7])
    e = np.exp(at)
    assert_allclose(interpret([slope], {x: at})[0], e * np.sin(e) + e * e * np.cos(e), rtol=1e-14)


def test_an_expression_inside_may_be_used_and_differentiated_by_outside() -> None:
    x = sg.placeholder("x", ("n",), "float64")
    inside: list[Any] = []

    def region(a: Any) -> Any:
        inside.append(sg.exp(a))
        return inside[0] * inside[0]

    loss = sg.sum(sg.checkpoint(region, x)) + sg.sum(sg.sin(inside[0]))
    at = np.array([0.1, 0.7])
    e = np.exp(at)
    by_x, by_inside = gradients(loss, [x, inside[0]])
    values = interpret([by_x, by_inside], {x: at})
    assert_allclose(values[0], (2 * e + np.cos(e)) * e, rtol=1e-14)
    assert_allclose(values[1], 2 * e + np.cos(e), rtol=1e-14)


def test_the_copy_has_the_lines_of_the_original() -> None:
    x = sg.placeholder("x", ("n",))
    frame = inspect.currentframe()
    assert frame is not None
    y = sg.checkpoint(lambda a: sg.exp(sg.sin(a)), x)
    line = f"{__file__}:{frame.f_lineno - 1}"
    (slope,) = gradients(sg.sum(y), [x])
    copies = [node for node in ancestors([slope]) if node.op.name in ("exp", "sin", "recompute")]
    assert {node.op.name for node in copies} == {"exp", "sin", "recompute"}
    assert {node.source for node in copies if node.op.name != "recompute"} == {line}


@pytest.mark.slow
@pytest.mark.parametrize("fuse", some([True, False], 1))
def test_composites_views_gathers_and_convolutions_in_a_region(fuse: bool) -> None:
    rng = np.random.default_rng(3)
    kernel = sg.variable(rng.normal(size=(2, 2, 3, 3)), "kernel")
    table = sg.variable(rng.normal(size=(5, 6)), "table")

    def body(image: Any, indices: Any) -> Any:
        h = sg.relu(sg.conv2d(image, kernel, padding=1)) + image
        h = sg.layer_norm(sg.transpose(h, (0, 2, 3, 1)).reshape(-1, 6), 6)
        return sg.softmax(h) * sg.take(table, indices, axis=0), sg.max(h, axis=1)

    found = []
    for region in (plain, sg.checkpoint):
        image = sg.placeholder("image", ("n", 2, 3, 4), "float64")
        indices = sg.placeholder("indices", (None,), "int64")
        h, top = region(body, sg.flip(image, -1), indices)
        loss = sg.sum(sg.square(h)) + sg.sum(top)
        run = sg.compile(
            [image, indices], [loss, *sg.grad(loss, [image, kernel, table])], fuse=fuse
        )
        inputs = np.random.default_rng(4).normal(size=(2, 2, 3, 4)), np.arange(8) % 5
        found.append(run(*inputs))
    for one, other in zip(*found, strict=True):
        # sums in loops beside other work may be added in another order
        assert_allclose(other, one, rtol=1e-12, atol=1e-14)


def test_a_region_of_arrays_or_of_nothing_is_a_call() -> None:
    assert sg.checkpoint(lambda: None) is None
    assert sg.checkpoint(lambda a, b: {"sum": a + b}, 1, b=2) == {"sum": 3}
    x = sg.placeholder("x", ("n",), "float64")
    y = sg.checkpoint(lambda a: a, x)
    run = sg.compile([x], [y, sg.grad(sg.sum(y * y), x)])
    values = run([1.0, 2.0])
    assert_array_equal(values[0], [1, 2])
    assert_array_equal(values[1], [2, 4])


def test_no_region_is_left_in_what_is_compiled() -> None:
    x = sg.placeholder("x", ("n",))
    y = sg.checkpoint(lambda a: sg.log(sg.softmax(a)), x)
    run = sg.compile([x], [y, sg.grad(sg.sum(y), x)])
    assert "checkpoint" in {data["op"].name for _, data in run.graph.nodes(data=True)}
    assert "checkpoint" not in {data["op"].name for _, data in run.lowered.nodes(data=True)}
    # rewrites reach through its border: log(softmax(x)) does not overflow
    assert np.isfinite(run([1000.0, -1000.0])[0]).all()
