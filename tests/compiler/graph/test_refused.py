"""What has no lowering is refused at the user's line; nothing is returned that nothing wrote."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg
from staticgraph import compiler
from staticgraph.compiler.codegen.kernel import emit
from staticgraph.compiler.codegen.region import place_region, region_of
from staticgraph.compiler.core.errors import CaptureError, GraphError
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.graph.expression import Expression
from tests.strange import strange

LEAVES = {"placeholder", "variable", "constant"}
FLOAT64 = np.dtype(np.float64)
X = np.array([0.5, 0.25, 0.75])


def declared() -> Iterator[tuple[str, Op]]:
    """Every op that a module of the packages holds, once, with the module's name."""
    found: dict[int, tuple[str, Op]] = {}
    for package in (compiler, dynamic):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for value in vars(importlib.import_module(info.name)).values():
                if isinstance(value, Op):
                    found.setdefault(id(value), (info.name, value))
    yield from found.values()


REFUSED = [
    pytest.param(op, id=f"{module}.{op.name}")
    for module, op in declared()
    if op.lowering is None and op.expand is None and op.name not in LEAVES
]


def line() -> str:
    """`file:line` of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno}"


def test_every_op_has_a_lowering_or_is_refused() -> None:
    names = {op.name for _, op in declared()}
    assert {"add", "matmul", "softmax", "cumsum", "argsort"} <= names
    assert not LEAVES - names


@pytest.mark.parametrize("op", REFUSED)
def test_an_op_without_a_lowering_is_refused_with_its_line(op: Op) -> None:
    x = sg.placeholder("x", ("n",), "float64")
    result, where = Expression(op, (x,), {}, type=TensorType(x.shape, FLOAT64)), line()
    message = rf"compile: {op.name} has no lowering.* float64\[n\] \({where}\)"
    with pytest.raises(GraphError, match=message):
        sg.compile([x], result + 1)
    with pytest.raises(GraphError, match=message):
        emit(define([x], [result + 1]))


def in_a_scan(x: Any) -> Any:
    return sg.scan(lambda carry, one: (carry + one, strange(one)), sg.sum(x), x)[1]


def in_a_while_loop(x: Any) -> Any:
    return sg.while_loop(lambda c: sg.sum(c) < 0, strange, x)


def in_a_branch(x: Any) -> Any:
    return sg.cond(sg.sum(x) > 0, lambda: x, lambda: strange(x))


def in_a_gradient(x: Any) -> Any:
    return sg.grad(sg.sum(strange(x)), x)


def in_a_region(x: Any) -> Any:
    return sg.grad(sg.sum(sg.checkpoint(strange, x)), x)


@pytest.mark.parametrize(
    "function",
    [strange, in_a_scan, in_a_while_loop, in_a_branch, in_a_gradient, in_a_region],
)
@pytest.mark.parametrize(
    "options", [{}, {"fuse": False}, {"backend": "numba"}, {"background": True}], ids=str
)
def test_it_is_refused_wherever_it_stands(
    function: Callable[..., Any], options: dict[str, Any]
) -> None:
    x = sg.placeholder("x", ("n",), "float64")
    result = function(x)
    with pytest.raises(GraphError, match=rf"compile: strange has no .*{__file__}:\d+"):
        sg.compile([x], result, **options)


def test_run_and_captured_functions_refuse_it_too() -> None:
    x = sg.placeholder("x", ("n",), "float64")
    result, where = strange(x), line()
    with pytest.raises(GraphError, match=f"strange has no lowering.*{where}"):
        sg.run(result, {x: X})
    with pytest.raises(CaptureError, match=f"{__file__}.*strange has no form that can be compiled"):
        sg.function(strange)(dynamic.tensor([0.5, 0.25, 0.75]))


@pytest.mark.parametrize("function", [strange, in_a_scan])
def test_debug_evaluates_it(function: Callable[..., Any]) -> None:
    x = sg.placeholder("x", ("n",), "float64")
    assert_allclose(sg.compile([x], function(x), debug=True)(X), np.log2(X), rtol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.T,
        lambda x: dynamic.squeeze(x[:, :1], 1),
        lambda x: dynamic.sum(x, 1),
        lambda x: dynamic.mean(x, 0),
        lambda x: dynamic.prod(x, 1),
        lambda x: dynamic.nn.functional.binary_cross_entropy(dynamic.sigmoid(x), x * 0 + 1),
    ],
    ids=["T", "squeeze_dim", "sum_dim", "mean_dim", "prod_dim", "binary_cross_entropy"],
)
def test_what_dynamic_writes_in_other_ops_gives_the_eager_values(
    function: Callable[..., Any],
) -> None:
    x = dynamic.from_numpy(np.random.default_rng(0).normal(size=(3, 4)))
    assert_allclose(sg.function(function)(x).numpy(), function(x).numpy(), rtol=1e-14)


def test_a_composite_that_no_pass_has_expanded_is_refused() -> None:
    x = sg.placeholder("x", (2, 3))
    with pytest.raises(GraphError, match=r"compile: softmax has no lowering"):
        emit(define([x], [sg.softmax(x)]))


def test_a_value_that_no_group_computes_is_never_planned() -> None:
    x = sg.placeholder("x", (3,))
    product, where = sg.exp(x), line()
    region = region_of(define([x], [sg.sum(product) * product]), separate=True)
    first = region.fusion.groups[0]
    lost = replace(region.fusion, groups=region.fusion.groups[1:])
    region.fusion = lost
    assert first not in lost.groups
    message = rf"compile: no step computes exp, float32\[3\] \({where}\)"
    with pytest.raises(GraphError, match=message):
        place_region(region, str, separate=True)


def test_an_output_that_no_group_computes_is_never_planned() -> None:
    x = sg.placeholder("x", (3,))
    region = region_of(define([x], [sg.exp(x), sg.sin(x)]), separate=True)
    region.fusion = replace(region.fusion, groups=region.fusion.groups[:1])
    with pytest.raises(GraphError, match=r"compile: no step computes sin, float32\[3\]"):
        place_region(region, str, separate=True)
