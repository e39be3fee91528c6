"""Ops that users declare around functions of numbers: one meaning on every way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import DTypeError, GraphError, OptionError, ShapeError
from staticgraph.compiler.core.op import all_ops, is_own
from staticgraph.compiler.core.scalars import scalar_functions

SCALE = 3.0


@sg.op
def softplus(x: float, beta: float) -> float:
    """log(1 + exp(beta x)) / beta."""
    return math.log1p(math.exp(-abs(beta * x))) / beta + max(x, 0.0)


@softplus.vjp
def _(g: Any, out: Any, x: Any, beta: Any) -> Any:
    share = sg.sigmoid(beta * x)
    return g * share, g * (x * share - out) / beta


@sg.op
def root(x: float) -> float:
    y = x
    for _ in range(30):
        y = y - (y * y * y + y - x) / (3 * y * y + 1)
    return y


@root.jvp
def _(tangents: Any, out: Any, x: Any) -> Any:
    return tangents[0] / (3 * out * out + 1)


@sg.op
def is_large(x: float) -> bool:
    return x > SCALE


@sg.op
def cut(x: float) -> int:
    return int(x)


@sg.op(dtype="float32")
def chosen(x: bool) -> float:
    return 1.5 if x else -0.25


X = np.linspace(-3.0, 7.0, 1003)


def _outputs(x: Any) -> list[Any]:
    return [softplus(x, 2.0), root(x), is_large(x), cut(x), chosen(is_large(x))]


def test_every_way_computes_the_same_bits() -> None:
    dtype = "float32"
    x = sg.placeholder("x", (None,), dtype)
    array = X.astype(dtype)
    found = sg.compile([x], _outputs(x))(array)
    given = array.astype("float64")
    tolerance = 8 * np.finfo(dtype).eps
    expected = [math.log1p(math.exp(-abs(2 * v))) / 2 + max(v, 0.0) for v in given]
    np.testing.assert_allclose(found[0], expected, tolerance)
    np.testing.assert_allclose(found[1] ** 3 + found[1], array, tolerance, tolerance)
    np.testing.assert_array_equal(found[2], array > 3)
    np.testing.assert_array_equal(found[3], np.trunc(array))
    np.testing.assert_array_equal(found[4], np.where(array > 3, 1.5, -0.25))
    dtypes = [dtype, dtype, "bool", "int64", "float32"]
    assert [one.dtype.name for one in found] == dtypes
    others = {
        "tensors": [one.numpy() for one in _outputs(dynamic.tensor(array))],
        "arrays": _outputs(array),
        "numba": sg.compile([x], _outputs(x), backend="numba")(array),
        "exact": sg.compile([x], _outputs(x), numerics="exact")(array),
        "debug": sg.compile([x], _outputs(x), debug=True)(array),
    }
    for way, results in others.items():
        for one, wanted in zip(results, found, strict=True):
            assert np.array_equal(one, wanted), way
            assert one.dtype == wanted.dtype, way


def test_loops_call_the_code_by_its_digest_alone() -> None:
    x = sg.placeholder("x", (None,), "float64")
    executable = sg.compile([x], sg.sum(softplus(x, 1.0)))
    code = "\n".join(line.partition("#")[0] for line in executable.source.split("\n"))
    assert "softplus" not in code
    symbols = [name for name in scalar_functions() if name in code]
    assert len(symbols) == 1
    assert code.count("def unit_") == 2  # fused with the sum: of chunks, and of these


def test_gradients_to_second_order() -> None:
    x = dynamic.tensor([0.3, -0.5], dtype=dynamic.float64, requires_grad=True)
    beta = dynamic.tensor(2.0, dtype=dynamic.float64, requires_grad=True)
    assert dynamic.autograd.gradcheck(softplus, (x, beta))
    assert dynamic.autograd.gradgradcheck(softplus, (x, beta))
    assert dynamic.autograd.gradcheck(root, (x,))
    assert dynamic.autograd.gradgradcheck(root, (x,))
    array = np.array([0.3, -0.5])
    at = root(array)
    slope = 1 / (3 * at * at + 1)
    np.testing.assert_allclose(sg.vmap(sg.grad(root))(array), slope, 1e-14)
    moved = sg.jvp(root, (array,), (np.array([1.0, 10.0]),))[1]
    np.testing.assert_allclose(moved, slope * [1.0, 10.0], 1e-14)
    moved = dynamic.func.jvp(root, (x.detach(),), (dynamic.ones(2, dtype=dynamic.float64),))[1]
    np.testing.assert_allclose(moved.numpy(), slope, 1e-14)


def test_operands_broadcast_and_are_promoted() -> None:
    rows, column = np.arange(6.0).reshape(2, 3), np.array([[1], [2]])
    x, b = sg.placeholder("x", (None, 3), "float64"), sg.placeholder("b", (None, 1), "int64")
    value = softplus(x, b)
    found, slopes = sg.compile([x, b], [value, sg.grad(sg.sum(value), x)])(rows, column)
    np.testing.assert_allclose(found, np.logaddexp(0, rows * column) / column, 1e-14)
    np.testing.assert_allclose(slopes, 1 / (1 + np.exp(-rows * column)), 1e-14)
    assert softplus(np.float32(1), 2).dtype == np.float32
    assert softplus(np.ones(3, "int32"), 2).dtype == np.float64
    assert softplus(np.ones((0, 3)), 1.0).shape == (0, 3)

    @sg.op
    def added(x: int, y: int) -> int:
        return x + y

    wrapped = added(np.array([250], "uint8"), np.array([10], "uint8"))
    assert (wrapped.dtype.name, wrapped.tolist()) == ("uint8", [4])
    assert added(np.array([2**31 - 1], "int32"), 1).tolist() == [-(2**31)]
    batched = sg.vmap(softplus, in_axes=(0, None))(rows, column)
    assert batched.shape == (2, 2, 3)
    beta = dynamic.tensor([[1.0], [2.0]], requires_grad=True)
    softplus(dynamic.ones(2, 3), beta).sum().backward()
    assert beta.grad.shape == (2, 1)


def test_inside_loops_branches_and_captured_functions() -> None:
    array = np.array([0.5, 1.5])

    def repeated(x: Any) -> Any:
        return sg.scan(lambda carry, _: (softplus(carry, 1.0), carry), x, None, 3)[0]

    expected = array
    for _ in range(3):
        expected = np.logaddexp(0, expected)
    x = sg.placeholder("x", (None,), "float64")
    looped, branched = sg.compile(
        [x], [repeated(x), sg.cond(sg.sum(x) > 0, root, lambda one: one, x)]
    )(array)
    np.testing.assert_allclose(looped, expected, 1e-14)
    np.testing.assert_array_equal(branched, root(array))
    tensor = dynamic.tensor(array, requires_grad=True)
    sg.function(lambda one: repeated(one).sum())(tensor).backward()
    captured = tensor.grad.numpy().copy()
    tensor.grad = None
    repeated(tensor).sum().backward()
    np.testing.assert_allclose(captured, tensor.grad.numpy(), 1e-14)


def test_maths_is_that_of_kernels() -> None:
    @sg.op
    def wave(x: float) -> float:
        return math.sin(x) + math.gamma(2.0)

    array = np.array([0.0, -0.0, 1.0, -3.0, 1e5, 1e22, np.inf, np.nan, 5e-324])
    x = sg.placeholder("x", (None,), "float64")
    own, known = sg.compile([x], [wave(x), sg.sin(x) + 1])(array)
    np.testing.assert_array_equal(own, known)


def test_what_gives_no_derivative_is_refused_where_a_gradient_is_asked_for() -> None:
    @sg.op
    def ruleless(x: float) -> float:
        return float(int(x))

    x = sg.placeholder("x", (), "float64")
    with pytest.raises(
        GraphError, match=r"ruleless has no gradient: declare one with @ruleless\.vjp.*has no value"
    ):
        sg.grad(ruleless(x), x)
    tensor = dynamic.tensor(1.0, requires_grad=True)
    with pytest.raises(GraphError, match="ruleless has no gradient"):
        ruleless(tensor).backward()
    assert sg.grad(lambda one: sg.stop_gradient(ruleless(one)) * one)(2.0) == 2.0

    @sg.op
    def halved(x: float) -> float:
        while x > 1.0:
            x = x / 2.0
        return x

    with pytest.raises(GraphError, match=r"halved has no gradient.*more than 8 truth values"):
        sg.grad(halved)(3.0)


def test_rules_are_checked() -> None:
    @sg.op
    def joined(x: float, y: float) -> float:
        return x + y

    x = sg.placeholder("x", (3,), "float64")
    value = sg.sum(joined(x, 1.0))
    joined.vjp(lambda g, out, x, y: g)
    with pytest.raises(GraphError, match="its vjp gives 1 cotangents for 2 operands"):
        sg.grad(value, x)
    with pytest.raises(
        GraphError, match="its rule for gradient was used already: declare the op a"
    ):
        joined.vjp(lambda g, out, x, y: (g, g))

    @sg.op
    def turned(x: float, y: float) -> float:
        return x + y

    turned.vjp(lambda g, out, x, y: (sg.reshape(g, (3, 1)), None))
    with pytest.raises(ShapeError, match="3"):
        sg.grad(sg.sum(turned(x, 1.0)), x)

    @sg.op
    def summed(x: float, y: float) -> float:
        return x + y

    summed.vjp(lambda g, out, x, y: (1.0, None))  # which is broadcast
    value = sg.sum(summed(x, 1.0))
    np.testing.assert_array_equal(sg.compile([], [sg.grad(value, x)])(), [[1, 1, 1]])
    tensor = dynamic.ones(3, requires_grad=True)
    other = dynamic.ones(3, requires_grad=True)
    summed(tensor, other).sum().backward()
    assert tensor.grad.tolist() == [1, 1, 1]
    assert other.grad.tolist() == [0, 0, 0]


def test_a_batching_rule_is_what_vmap_calls() -> None:
    @sg.op
    def plus(x: float, y: float) -> float:
        return x + y

    @plus.batching
    def _(size: Any, batched: Any, x: Any, y: Any) -> Any:
        return plus(x, y) * size if batched == (True, False) else None

    found = sg.vmap(lambda one: plus(one, 1.0))(np.arange(3.0))
    assert found.tolist() == [3, 6, 9]


def test_tables_are_read_at_places_that_they_have() -> None:
    clipped = sg.op(lambda x: TABLE[min(max(int(x), 0), 2)], name="tables.clipped")
    x = np.array([-7.0, -1.0, 0.0, 1.0, 2.0, 9.0])
    assert clipped(x).tolist() == [1, 1, 1, 2, 4, 4]


def test_an_op_of_a_closure_is_one_of_its_own() -> None:
    def scaled(factor: float) -> Any:
        @sg.op
        def times(x: float) -> float:
            return factor * x

        return times

    double, triple = scaled(2.0), scaled(3.0)
    x = sg.placeholder("x", (None,), "float64")
    found = sg.compile([x], [double(x), triple(x)])(np.ones(2))
    assert [one.tolist() for one in found] == [[2, 2], [3, 3]]
    assert double(1.0) == 2
    assert triple(1.0) == 3
    assert not {double.record, triple.record} & set(all_ops())
    assert is_own(double.record)


def test_a_rule_of_an_op_of_arrays_is_a_vjp() -> None:
    @sg.op(like=0)
    def same(x: Any) -> Any:
        return x

    with pytest.raises(OptionError, match="jvp is of elementwise ops; declare a vjp"):
        same.jvp(lambda tangents, out, x: tangents[0])


def test_arguments_are_checked() -> None:
    x = sg.placeholder("x", (2,), "float64")
    with pytest.raises(TypeError, match=r"softplus\(\): missing a required argument: 'beta'"):
        softplus(x)
    with pytest.raises(TypeError, match=r"softplus\(\): too many positional arguments"):
        softplus(x, x, x)
    with pytest.raises(ShapeError, match=r"softplus: float64\[2\], float64\[3\] do not broadcast"):
        softplus(x, np.ones(3))
    with pytest.raises(ShapeError, match=r"softplus: float64\[2\], float64\[3\] do not broadcast"):
        softplus(np.ones(2), np.ones(3))
    with pytest.raises(DTypeError, match=r"softplus\(\): argument 1 must be a tensor .* not str"):
        softplus("a", 1.0)
    with pytest.raises(OptionError, match="takes 2 operands, got 1"):
        softplus.record.infer_type(x.type)


def _tuple(x: float) -> Any:
    return x, x


def _raises(x: float) -> float:
    if x < 0:
        raise ValueError
    return x


def _draws(x: float) -> Any:
    return np.random.rand() + x


def _unknown(x: float) -> Any:
    return nothing(x)  # type: ignore[name-defined] # noqa: F821


def _helps(x: float) -> float:
    return x


def _calls(x: float) -> float:
    return _helps(x)


TABLE = np.array([1.0, 2.0, 4.0])


def _places(x: float) -> Any:
    return TABLE[int(x)]


LARGE = np.arange(2_000_000.0)


def _large(x: float) -> Any:
    return LARGE[5] + x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_tuple, r"it gives UniTuple\(float64 x 2\), not one number"),
        (_raises, "it may raise an exception, which a loop over many elements cannot"),
        (_draws, "it needs numba_get_np_random_state, so that it is no function of numbers alone"),
        (_calls, r"Untyped global name .*\(what it calls is decorated with numba\.njit\)"),
        (_unknown, "Numba cannot compile it for numbers of float64: .*nothing"),
        (_places, "it may raise an exception, which a loop over many elements cannot"),
        (_large, "it reads memory of this process"),
    ],
)
def test_what_is_no_pure_function_of_numbers_is_refused(
    function: Callable[..., Any], message: str
) -> None:
    made = sg.op(function, name=f"refused.{function.__name__}")
    with pytest.raises(GraphError, match=message):
        made(np.ones(2))
