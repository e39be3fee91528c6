"""Graphs of thousands of ops: what is compiled and looked at is bounded, and values are right."""

from __future__ import annotations

import copy
import cProfile
import gc
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.graph.build import graph_of, verify
from staticgraph.compiler.graph.definition import define, to_text
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.ir.records import Function
from staticgraph.compiler.llvm import native, vecmath
from staticgraph.compiler.llvm.vecmath import LONG
from staticgraph.compiler.schedule.arena import MOST_COMPARED, arrange
from staticgraph.compiler.schedule.group_limits import MOST_ARRAYS, MOST_STATEMENTS, MOST_VIRTUAL
from tests.combinations import some
from tests.graphs import kernel
from tests.long_graphs import SHAPES, chain, sines, slope

pytestmark = pytest.mark.slow

Shape = Callable[[Any, int], list[Any]]


def vector(size: Any = 40, dtype: str = "float64") -> Any:
    return sg.placeholder("x", (size,), dtype)


def emitted(shape: Shape, ops: int) -> Kernel:
    x = vector()
    return kernel(([x], shape(x, ops), {}))


def values(size: int = 40) -> np.ndarray:
    return np.linspace(-0.9, 1.1, size)


# -- counts ----------------------------------------------------------------------------------


def calls_of(function: Callable[[], object]) -> int:
    """How many Python functions are called, and generators resumed, while one runs."""
    counter = cProfile.Profile(builtins=False)  # it counts in C
    counter.runcall(function)
    return sum(one.callcount for one in counter.getstats())


@pytest.mark.parametrize("shape", some(SHAPES, 1))
def test_units_are_small_and_their_number_and_the_work_grow_with_the_graph(shape: Shape) -> None:
    calls = []
    for ops in (700, 1400):
        made: list[Kernel] = []
        calls.append(calls_of(lambda n=ops, to=made: to.append(emitted(shape, n))))  # type: ignore[misc]
        assert len(made[0].program) <= ops / 50
        for unit in made[0].texts:
            head, *lines = unit.splitlines()
            assert len(lines) <= 2 * MOST_STATEMENTS
            assert head.count("p_f64") <= MOST_ARRAYS + MOST_VIRTUAL + 1
    assert calls[1] <= 2.4 * calls[0]


def test_a_small_group_is_not_cut() -> None:
    x = vector()
    assert len(kernel(([x], chain(x, MOST_STATEMENTS), {})).units) == 1


def test_equal_parts_of_a_chain_are_compiled_once() -> None:
    made = emitted(chain, 8 * MOST_STATEMENTS)
    assert len(made.program) in (8, 9)  # the last statements are computed where they are read
    assert len(made.units) <= 3


# -- values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", some(SHAPES, 1))
def test_a_large_graph_gives_what_its_ops_give_one_by_one(shape: Shape) -> None:
    x = vector()
    outputs = shape(x, 800)
    compiled = sg.compile([x], outputs)(values())
    single = sg.compile([x], outputs, debug=True)(values())
    for one, other in zip(compiled, single, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", some([slope, chain, sines], 1))
def test_the_bits_of_a_large_graph_do_not_depend_on_threads(shape: Shape) -> None:
    x = vector(None)
    outputs = shape(x, 700)
    results = [sg.compile([x], outputs, threads=count)(values(30_001)) for count in (1, 2, 5)]
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize(
    "end",
    some(
        [
            lambda y: sg.softmax(y, axis=-1),
            lambda y: sg.sum(y, axis=-1),
            lambda y: sg.argmax(y, axis=-1),
            lambda y: sg.layer_norm(y, (17,)),
        ],
        2,
    ),
)
def test_rows_that_take_more_than_one_group(end: Callable[[Any], Any]) -> None:
    x = sg.placeholder("x", (6, 17), "float64")
    y = end(chain(x, 700)[0])
    feed = np.linspace(-1, 1, 6 * 17).reshape(6, 17)
    expected = sg.compile([x], y, debug=True)(feed)
    np.testing.assert_allclose(sg.compile([x], y)(feed), expected, rtol=1e-9, atol=1e-12)


def test_a_variable_that_is_updated_by_a_large_graph() -> None:
    w = sg.variable(values(), name="w")
    x = vector()
    (y,) = chain(w + x, 700)
    step = sg.compile([x], sg.sum(w), updates={w: y})
    expected = sg.compile([x], chain(sg.constant(values()) + x, 700), debug=True)(values())[0]
    assert float(step(values())) == pytest.approx(values().sum())
    np.testing.assert_allclose(w.value, expected, rtol=1e-9)


def test_a_body_of_a_scan_that_takes_more_than_one_group() -> None:
    x = vector()
    last, _ = sg.scan(lambda carry, _: (chain(carry, 700)[0], None), x, None, length=3)
    expected = sg.compile([x], chain(x, 2100), debug=True)(values())[0]
    np.testing.assert_allclose(sg.compile([x], last)(values()), expected, rtol=1e-9)


# -- functions that are called, not inlined -----------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", some(sorted(LONG), 6))
def test_a_called_function_gives_the_bits_of_an_inlined_one(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In vectors, in what remains of them, and for scalars; for usual and for rare arguments."""
    monkeypatch.setenv("STATICGRAPH_CACHE", "0")
    kind = {"float32": "f32", "float64": "f64"}[dtype]
    operands = "a[i], b[i]" if name in ("atan2", "hypot", "pow") else "a[i]"
    called = "pow_f" if name == "pow" else name
    source = f"""def unit(a: p_{kind}, b: p_{kind}, c: p_{kind}, n: i64) -> i64:
    for i in range(n):
        c[i] = {called}({operands})
    c[n] = {called}({operands.replace("i", "0")})
    return 0
"""
    rng = np.random.default_rng(5)
    a = np.concatenate([rng.normal(0, 2, 43), rng.normal(0, 3e8, 40), [0, -0.0, np.inf, np.nan]])
    a, b = a.astype(dtype), np.resize([2.0, 0.5, -1.0, 3.0, np.nan], len(a)).astype(dtype)
    results = []
    for most in (0, 1000):
        monkeypatch.setattr(native, "MOST_INLINED", most)
        results.append(_run(source, a, b))
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_functions_of_one_operand_are_called_at_once(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever comes first, and with the bits that each gives alone."""
    kind = {"float32": "f32", "float64": "f64"}[dtype]
    source = f"""def unit(a: p_{kind}, b: p_{kind}, c: p_{kind}, n: i64) -> i64:
    for i in range(n):
        c[i] = sin(a[i]) + 2.0 * cos(a[i]) + tan(b[i])
    c[n] = cos(a[1]) - sin(a[1])
    return 0
"""
    rng = np.random.default_rng(6)
    a = np.concatenate([rng.normal(0, 2, 43), rng.normal(0, 3e8, 40), [0, -0.0, np.inf, np.nan]])
    a = a.astype(dtype)
    results = []
    for most in (0, 1000):
        monkeypatch.setattr(native, "MOST_INLINED", most)
        results.append(_run(source, a, a[::-1].copy()))
        called = b"joint.cos.sin" in native.compile_native([parsed_function(source)])
        assert called == (most == 0)
    assert b"joint.sin" not in native.compile_native([parsed_function(source)])
    np.testing.assert_array_equal(results[0], results[1])


def _run(source: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What a unit of two arrays, a third for its result and their length leaves."""
    import ctypes

    from staticgraph.compiler.runtime.cache.objects import load_object
    from staticgraph.compiler.runtime.cache.store import Code

    result = np.zeros(len(a) + 1, a.dtype)
    loaded = load_object(
        Code((native.step_symbol(0),), native.compile_native([parsed_function(source)]))
    )
    table = np.array([*(one.ctypes.data for one in (a, b, result)), len(a)], np.int64)
    operands = np.array([word for entry in range(4) for word in (entry, 0)], np.int64)
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)
    kind(loaded.addresses[0])(table.ctypes.data, operands.ctypes.data, 0, 0, 0)
    return result


def test_a_function_that_is_called_is_defined_once() -> None:
    line = "    for i in range(n):\n        a[i] = sin(a[i])\n"
    count = native.MOST_INLINED // vecmath.length("sin") + 1
    unit = parsed_function(f"def unit(a: p_f64, n: i64) -> i64:\n{line * count}    return 0\n")
    assert native.compile_native([unit]).count(b"\0outlined.sin.64\0") <= 1
    assert len(native.compile_native([unit])) < 200_000


def test_units_with_few_calls_inline_them_first() -> None:
    def unit(calls: int) -> Function:
        return parsed_function(
            "def f(a: f64) -> i64:\n" + "    b = exp(a)\n" * calls + "    return 0\n"
        )

    most = native.MOST_INLINED // vecmath.length("exp")
    units = [unit(most), unit(3), unit(0), unit(most - 3)]
    assert native.inlined(units) == {1, 2, 3}


# -- memory ------------------------------------------------------------------------------------


def test_many_pieces_that_live_at_the_same_time_are_apart() -> None:
    rng = np.random.default_rng(3)
    count = MOST_COMPARED + 500
    pieces = []
    for _ in range(count):
        first = int(rng.integers(count))
        pieces.append((int(rng.choice([8, 64, 1000, 5000])), first, first + int(rng.integers(60))))
    offsets, length = arrange(pieces)
    assert arrange(pieces) == (offsets, length)
    for time in range(0, count, 50):
        alive = sorted(
            (offset, offset + piece[0])
            for offset, piece in zip(offsets, pieces, strict=True)
            if piece[1] <= time <= piece[2]
        )
        assert all(one[1] <= other[0] for one, other in pairwise(alive))
    assert length <= 1.5 * arrange(pieces[:MOST_COMPARED])[1] + 5000 * 60


def test_what_lives_one_after_the_other_shares_memory() -> None:
    pieces = [(64, i, i) for i in range(MOST_COMPARED + 1)]
    assert arrange(pieces) == ([0] * len(pieces), 64)


# -- depth ---------------------------------------------------------------------------------------


def test_a_deep_expression_is_defined_differentiated_printed_and_freed() -> None:
    x = vector()
    (y,) = chain(x, 5_000)
    (gradient,) = sg.grad(sg.sum(y), [x])
    assert repr(gradient).startswith("<")
    assert hash(y) == hash(y)
    graph = define([x], [y])
    verify(graph_of(graph))
    assert to_text(graph).count("\n") == len(graph.nodes)
    del y, gradient, graph
    gc.collect()


def test_a_deep_expression_and_its_gradient_are_copied_and_pickled() -> None:
    x = sg.placeholder("x", (), "float64")
    value = x
    for i in range(8_000):
        value = sg.sin(value) if i % 2 else value + 0.001
    gradient = sg.grad(value, x)
    assert copy.deepcopy(value) is value
    again, slope = pickle.loads(pickle.dumps([value, gradient]))
    assert len(ancestors([again])) == len(ancestors([value]))
    assert len(ancestors([slope])) == len(ancestors([gradient]))


def test_a_deep_tape_runs_backward_and_is_freed() -> None:
    x = dynamic.ones(3, requires_grad=True)

    def deep() -> Any:
        y = x
        for i in range(20_000):
            y = y + 0.5 if i % 2 else y * 1.0
        return y

    deep().sum().backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.numpy(), np.ones(3))
    y = deep()
    y.sum().backward()
    del y
    deep()
    gc.collect()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(3, 2.0))
