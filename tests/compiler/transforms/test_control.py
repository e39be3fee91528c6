"""scan, while_loop and cond in both paradigms: structures, lengths, numbers, and refusals."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.types import TensorType, TupleType, collecting_assumptions
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.build import graph_of, verify
from staticgraph.compiler.graph.definition import define, to_text
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.transforms.control_checks import line_of
from staticgraph.draw import draw
from tests.trace import placeholder

HERE = r"\S*test_control\.py:\d+"
SCAN, WHILE, COND = control.scan, control.while_loop, control.cond


def lifted(kind: str, array: Any) -> Any:
    """An array as what a paradigm computes with; the first axis of an expression is unknown."""
    array = np.asarray(array)
    if kind == "tensors":
        return dynamic.tensor(array)
    if kind == "arrays":
        return array
    shape = (None, *array.shape[1:]) if array.ndim else ()
    leaf = sg.placeholder("x", shape, array.dtype)
    FEEDS[leaf] = array
    return leaf


FEEDS: dict[Expression, Any] = {}


def value(result: Any) -> Any:
    if isinstance(result, Expression):
        needed = {leaf: FEEDS[leaf] for leaf in FEEDS if leaf.serial <= result.serial}
        return interpret([result], needed)[0]
    return result.numpy() if isinstance(result, dynamic.Tensor) else result


kinds = pytest.mark.parametrize("kind", ["expressions", "tensors", "arrays"])


def test_both_packages_have_the_same_functions() -> None:
    assert dynamic.scan is sg.scan
    assert dynamic.while_loop is sg.while_loop
    assert dynamic.cond is sg.cond


# -- scan ------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("reverse", [False, True])
def test_any_nesting_of_carry_xs_and_ys(kind: str, reverse: bool) -> None:
    xs = {"a": lifted(kind, [1.0, 2.0, 3.0]), "b": (lifted(kind, [[1], [2], [3]]), None)}

    def step(carry: Any, x: Any) -> Any:
        (total,), nothing = carry
        assert nothing is None and x["b"][1] is None
        total = total * 2 + x["a"]
        # a dict in another order is the same
        return [(total,), None], {"t": total, "more": [x["b"][0], None, ()]}

    ((total,), nothing), ys = sg.scan(step, [(lifted(kind, 0.5),), None], xs, reverse=reverse)
    expected, seen = 0.5, []
    for x in (3, 2, 1) if reverse else (1, 2, 3):
        expected = expected * 2 + x
        seen.append(expected)
    assert nothing is None
    assert value(total) == expected
    assert_array_equal(value(ys["t"]), seen[::-1] if reverse else seen)
    assert_array_equal(value(ys["more"][0]), [[1], [2], [3]])
    assert ys["more"][1:] == [None, ()]


@kinds
def test_dicts_may_change_their_order(kind: str) -> None:
    def step(carry: Any, x: Any) -> Any:
        return {"b": carry["a"], "a": carry["b"] + x}, None

    init = {"a": lifted(kind, 1.0), "b": lifted(kind, 10.0)}
    carry, _ = sg.scan(step, init, lifted(kind, [1.0, 2.0, 3.0]))
    assert list(carry) == ["a", "b"]
    assert (value(carry["a"]), value(carry["b"])) == (14.0, 3.0)


@kinds
def test_no_steps(kind: str) -> None:
    def step(carry: Any, x: Any) -> Any:
        return carry + x.sum(), (1 / x, x.sum() > 0)

    carry, (inverse, positive) = sg.scan(step, lifted(kind, 3.0), lifted(kind, np.ones((0, 2))))
    assert value(carry) == 3.0
    assert value(inverse).shape == (0, 2) and value(inverse).dtype == np.float64
    assert value(positive).shape == (0,) and value(positive).dtype == np.bool_


@kinds
def test_a_length_without_xs(kind: str) -> None:
    one = lifted(kind, 2.0)
    carry, ys = sg.scan(lambda c, x: (c * 2, [x, c]), one, length=4)
    assert value(carry) == 32.0
    assert ys[0] is None
    assert_array_equal(value(ys[1]), [2, 4, 8, 16])
    carry, ys = sg.scan(lambda c, x: (c, None), one, length=0)
    assert value(carry) == 2.0 and ys is None


def test_a_length_that_is_unknown() -> None:
    x = sg.placeholder("x", (None,), "float64")
    carry, _ = sg.scan(lambda c, _: (c * 2, None), sg.constant(np.float64(1)), length=x.shape[0])
    assert isinstance(x.shape[0], Dim)
    assert interpret([carry + x.sum()], {x: np.zeros(5)}) == [32.0]


@kinds
def test_numbers_take_the_dtype_that_the_step_gives_them(kind: str) -> None:
    x = lifted(kind, np.arange(3, dtype="float32"))
    double = lifted(kind, np.float64(1.5))

    def step(carry: Any, x: Any) -> Any:
        single, wide, count, _ = carry
        return (single + x, double * (wide + 1), count + 1, True), (count, 2.5)

    (single, wide, count, flag), (counts, constant) = sg.scan(step, (0.0, 0, 0, False), x)
    assert value(single).dtype == np.float32 and value(single) == 3.0
    assert value(wide).dtype == np.float64 and value(wide) == 1.5 + 1.5 * (1.5 + 1.5 * 1.5)
    assert value(count).dtype == np.int64 and value(count) == 3
    assert value(flag).dtype == np.bool_ and value(flag)
    assert_array_equal(value(counts), [0, 1, 2])
    assert_array_equal(value(constant), [2.5] * 3)


def test_arrays_meet_expressions_that_the_step_reads() -> None:
    w = placeholder((2,), "float64", "w")
    carry, ys = sg.scan(lambda c, x: (c + x * w, c.sum()), np.zeros(2), np.ones((3, 2)))
    assert isinstance(carry, Expression) and isinstance(ys, Expression)
    assert_array_equal(interpret([carry], {w: np.array([1.0, 2.0])})[0], [3, 6])
    looped = sg.while_loop(lambda c: c.sum() < 5, lambda c: c + w, np.zeros(2))
    assert_array_equal(interpret([looped], {w: np.array([1.0, 2.0])})[0], [2, 4])
    looped = sg.while_loop(lambda c: (c + w).sum() < 5, lambda c: c + 1, np.zeros(2))
    assert_array_equal(interpret([looped], {w: np.array([1.0, 2.0])})[0], [1, 1])


def test_the_step_is_called_once() -> None:
    calls = []

    def step(carry: Any, x: Any) -> Any:
        calls.append(carry)
        return carry + x, None

    sg.scan(step, placeholder((), "float64"), placeholder((5,), "float64"))
    assert len(calls) == 1
    assert repr(calls[0]) == "<placeholder 'carry': float64[]>"


def test_tensors_record_the_loop() -> None:
    x = dynamic.tensor([1.0, 2.0, 3.0], requires_grad=True)
    carry, ys = dynamic.scan(lambda c, x: (c * x, c + x), dynamic.tensor(1.0), x)
    (carry + ys.sum()).backward()
    # x0 x1 x2 + (1 + x0) + (x0 + x1) + (x0 x1 + x2)
    assert x.grad.tolist() == [6 + 2 + 2, 3 + 1 + 1, 2 + 1]
    assert ys.grad_fn is not None


def test_tensors_and_expressions_do_not_mix() -> None:
    with pytest.raises(sg.GraphError, match=r"scan: an eager tensor of shape .* meets a symbolic"):
        sg.scan(lambda c, x: (c, x), dynamic.tensor(1.0), placeholder((3,), "float64"))


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (sg.OptionError, "scan: needs xs or a length", lambda: sg.scan(lambda c, x: (c, x), 1.0)),
        (sg.OptionError, "scan: the length -1 is negative",
         lambda: sg.scan(lambda c, x: (c, x), 1.0, length=-1)),
        (sg.OptionError, "scan: the length is an int or a size, not 2.0",
         lambda: sg.scan(lambda c, x: (c, x), 1.0, length=2.0)),
        (sg.ShapeError, r"scan: xs\['a'\] has no axis to take slices of",
         lambda: sg.scan(lambda c, x: (c, x), 1.0, {"a": np.float32(1)})),
        (sg.ShapeError, r"scan: xs\[1\] has 3 slices, not 2",
         lambda: sg.scan(lambda c, x: (c, x), 1.0, (np.ones(2), np.ones(3)))),
        (sg.ShapeError, "scan: xs has 3 slices, not 2",
         lambda: sg.scan(lambda c, x: (c, x), 1.0, np.ones(3), length=2)),
        (sg.DTypeError, r"while_loop: the condition is float64\[\], not bool\[\]",
         lambda: sg.while_loop(lambda c: c, lambda c: c, np.float64(1))),
        (sg.DTypeError, r"cond: the predicate is bool\[2\], not bool\[\]",
         lambda: sg.cond(np.array([True, False]), lambda: 1, lambda: 2)),
        (sg.DTypeError, r"cond: the predicate is float64\[\], not bool\[\]",
         lambda: sg.cond(placeholder((), "float64"), lambda: 1, lambda: 2)),
        (sg.DTypeError, rf"while_loop: the condition is <multiply: float64\[\]>, not bool\[\], by "
         rf"the function in {HERE}",
         lambda: sg.while_loop(lambda c: c * 2, lambda c: c, placeholder((), "float64"))),
        (sg.DTypeError, rf"while_loop: the condition is \(<less: .*>,\), not bool\[\], .* {HERE}",
         lambda: sg.while_loop(lambda c: (c < 2,), lambda c: c, placeholder((), "float64"))),
    ],
)  # fmt: skip
def test_refusals(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert re.fullmatch(message, str(caught.value)), str(caught.value)


@kinds
@pytest.mark.parametrize(
    ("error", "message", "step"),
    [
        (sg.ShapeError, r"scan: carry\['h'\]: float64\[2\] becomes float64\[\] by the function in ",
         lambda c, x: ({"h": c["h"].sum()}, None)),
        (sg.DTypeError, r"scan: carry\['h'\]: float64\[2\] becomes bool\[2\] by the function in ",
         lambda c, x: ({"h": c["h"] > 0}, None)),
        (sg.OptionError, r"scan: carry: the structure \{'h': \*\} becomes \* by the function in ",
         lambda c, x: (c["h"], None)),
        (sg.OptionError, r"scan: the step function in \S*test_control\.py:\d+ returns no pair "
         r"\(carry, y\): \{'h': ", lambda c, x: c),
    ],
)  # fmt: skip
def test_a_carry_that_changes_is_named_with_the_step(
    kind: str, error: type[Exception], message: str, step: Callable[..., Any]
) -> None:
    init = {"h": np.zeros(2)}
    if kind != "arrays":
        make = dynamic.tensor if kind == "tensors" else sg.constant
        init = {"h": make(init["h"])}
    with pytest.raises(error, match=f"^{message}") as caught:
        sg.scan(step, init, lifted(kind, np.ones((2, 3))))
    assert f"test_control.py:{step.__code__.co_firstlineno}" in str(caught.value)


@pytest.mark.parametrize("kind", ["tensors", "arrays"])
def test_ys_that_change_are_named(kind: str) -> None:
    sizes = iter((1, 2))
    with pytest.raises(sg.ShapeError, match=rf"^scan: y: float64\[1\] becomes .*\[2\] .* {HERE}$"):
        sg.scan(lambda c, x: (c, lifted(kind, np.ones(next(sizes)))), 1.0, lifted(kind, np.ones(2)))


def test_the_line_of_a_function_of_any_kind() -> None:
    class Step:
        def __call__(self, x: Any) -> Any:
            return x

    def plain(x: Any) -> Any:
        return x

    @functools.wraps(plain)
    def wrapped(x: Any) -> Any:
        return plain(x)

    line = f"{__file__}:{plain.__code__.co_firstlineno}"
    assert line_of(plain) == line_of(functools.partial(plain, 1)) == line_of(wrapped) == line
    assert line_of(Step()) == f"{__file__}:{Step.__call__.__code__.co_firstlineno}"
    assert line_of(len) == "<built-in function len>"


# -- while_loop and cond ---------------------------------------------------------------------------


@kinds
def test_while_loop(kind: str) -> None:
    limit = lifted(kind, 100.0)
    carry = sg.while_loop(
        lambda c: c["x"].sum() < limit,
        lambda c: {"n": c["n"] + 1, "x": c["x"] * 2},
        {"x": lifted(kind, [1.0, 2.0]), "n": 0},
    )
    assert (value(carry["n"]), list(value(carry["x"]))) == (6, [64.0, 128.0])
    same = sg.while_loop(lambda c: c > limit, lambda c: c + 1, lifted(kind, 7.0))
    assert value(same) == 7.0


@kinds
def test_a_while_loop_whose_carry_changes(kind: str) -> None:
    with pytest.raises(
        sg.ShapeError, match=rf"^while_loop: carry: .* becomes float64\[\] .*{HERE}"
    ):
        sg.while_loop(lambda c: c.sum() < 9, lambda c: c.sum(), lifted(kind, [1.0, 2.0]))


def test_a_while_loop_has_no_gradient() -> None:
    x = placeholder((), "float64", "x")
    y = sg.while_loop(lambda c: c < 10, lambda c: c * 2, x)
    with pytest.raises(sg.GraphError, match=rf"grad: while_loop \({HERE}\) has no reverse-mode gr"):
        sg.grad(y * x, x)
    (slope,) = interpret([sg.grad(sg.stop_gradient(y) * x, x)], {x: np.float64(3)})
    assert slope == 12.0
    tensor = dynamic.tensor(3.0, requires_grad=True)
    dynamic.while_loop(lambda c: c < 10, lambda c: c * 2, tensor).backward()
    assert tensor.grad.item() == 4.0


@kinds
@pytest.mark.parametrize("flag", [True, False])
def test_cond(kind: str, flag: bool) -> None:
    pred, x = lifted(kind, flag), lifted(kind, [1.0, 2.0])
    result = sg.cond(
        pred,
        lambda x, more: {"y": x * 2, "z": (more["k"], 1.0)},
        lambda x, more: {"z": (more["k"] * 3, 2.0), "y": sg.exp(x) * 0},
        x,
        {"k": lifted(kind, 5.0)},
    )
    assert_array_equal(value(result["y"]), [2.0, 4.0] if flag else [0.0, 0.0])
    assert [value(one) for one in result["z"]] == ([5.0, 1.0] if flag else [15.0, 2.0])


def test_a_predicate_with_a_value_chooses_at_once() -> None:
    x = placeholder((), "float64")
    assert sg.cond(True, lambda x: x, lambda x: x.nonsense, x) is x
    assert sg.cond(np.bool_(False), lambda x: x.nonsense, lambda x: x, x) is x


@pytest.mark.parametrize(
    ("error", "message", "branch"),
    [
        (sg.ShapeError, r"cond: result: float64\[2\] becomes float64\[\] by the function in ",
         lambda x: x.sum()),
        (sg.DTypeError, r"cond: result: float64\[2\] becomes bool\[2\] by the function in ",
         lambda x: x > 1),
        (sg.OptionError, r"cond: result: the structure \* becomes \(\*, \*\) by the function in ",
         lambda x: (x, x)),
    ],
)  # fmt: skip
def test_branches_that_differ(error: type[Exception], message: str, branch: Any) -> None:
    x, p = placeholder((2,), "float64"), placeholder((), "bool")
    with pytest.raises(error, match=f"^{message}{HERE}$"):
        sg.cond(p, lambda x: x, branch, x)


# -- the graph -------------------------------------------------------------------------------------


def test_the_text_of_a_scan() -> None:
    x, w = sg.placeholder("x", (None, 2), "float64"), sg.placeholder("w", (2,), "float64")
    last, _ = sg.scan(lambda c, x: (c * w + x, None), sg.zeros(2, "float64"), x)
    graph = define([x, w], [last])
    verify(graph_of(graph))
    assert to_text(graph).splitlines() == [
        "%0 = placeholder(shape=(x.0, 2)) : float64[x.0, 2]  # 'x'",
        "%1 = placeholder(shape=(2,)) : float64[2]  # 'w'",
        "%2 = constant(value=0.) : float64[]",
        "%3 = broadcast_to(%2, shape=(2,)) : float64[2]",
        "%4 = scan(%1, %3, %0, carries=1, consts=1, length=x.0, reverse=False) : (float64[2])",
        "  body:",
        "    %0 = placeholder(shape=(2,)) : float64[2]  # 'w'",
        "    %1 = placeholder(shape=(2,)) : float64[2]  # 'c'",
        "    %2 = placeholder(shape=(2,)) : float64[2]  # 'x'",
        "    %3 = multiply(%1, %0) : float64[2]",
        "    %4 = add(%3, %2) : float64[2]",
        "    return %4",
        "%5 = item(%4, index=0) : float64[2]",
        "return %5",
    ]


def test_equal_loops_are_one_node() -> None:
    x, w = placeholder((3, 2), "float64"), placeholder((2,), "float64")

    def last(factor: float, leaf: Expression = w) -> Expression:
        return sg.scan(lambda c, x: (c * leaf * factor + x, None), leaf, x)[0]

    for other, same in ((last(2.0), True), (last(-2.0), False), (last(2.0, x[0]), False)):
        outputs = define([], [last(2.0), other]).outputs
        assert (outputs[0] == outputs[1]) is same


def test_bodies_are_compared_and_drawn() -> None:
    x, y = placeholder((2,), "float64"), placeholder((2,), "float64")
    one, other = Body.of([x, y], [x * y]), Body.of([y, x], [y * x])
    assert one == other and hash(one) == hash(other)
    assert one != Body.of([x, y], [x + y]) and one != "body"
    assert str(one) == "<(float64[2], float64[2]) -> (float64[2])>"
    assert str(TupleType((x.type, TensorType((), x.dtype)))) == "(float64[2], float64[])"
    last, _ = sg.scan(lambda c, x: (c + x, None), x, placeholder((4, 2), "float64"))
    assert "scan" in draw(last)._repr_svg_()


X32, X64 = (TensorType((4, 2), np.dtype(name)) for name in ("float32", "float64"))
ROW = TensorType((2,), np.dtype("float64"))


def body(function: Callable[..., Any], *types: TensorType) -> Body:
    inputs = [placeholder(type.shape, type.dtype) for type in types]
    return Body.of(inputs, function(*inputs))


def scan_type(made: Body, *types: TensorType, length: Any = 4) -> Any:
    return SCAN.infer_type(*types, body=made, consts=0, carries=1, length=length, reverse=False)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (sg.ShapeError, r"scan: float64\[2\] is no stack of 4 slices",
         lambda: scan_type(body(lambda c, x: [c], ROW, ROW), ROW, ROW)),
        (sg.ShapeError, r"scan: float64\[4, 2\] is no stack of 3 slices",
         lambda: scan_type(body(lambda c, x: [c], ROW, ROW), ROW, X64, length=3)),
        (sg.ShapeError, r"scan: float32\[2\] given to a body that takes float64\[2\]",
         lambda: scan_type(body(lambda c, x: [c], ROW, ROW), ROW, X32)),
        (sg.ShapeError, r"scan: 1 operands for a body that takes <\(float64\[2\], .*",
         lambda: scan_type(body(lambda c, x: [c], ROW, ROW), ROW)),
        (sg.DTypeError, r"scan: the carry changes from float64\[2\] to bool\[2\]",
         lambda: scan_type(body(lambda c: [c > 0], ROW), ROW)),
        (sg.ShapeError, r"scan: the carry changes from float64\[2\] to float64\[\]",
         lambda: scan_type(body(lambda c: [c.sum()], ROW), ROW)),
        (sg.DTypeError, r"while_loop: the condition is float64\[2\], not bool\[\]",
         lambda: WHILE.infer_type(ROW, test=body(lambda c: [c], ROW), body=body(
             lambda c: [c], ROW), consts=0)),
        (sg.DTypeError, r"cond: the predicate is float64\[2\], not bool\[\]",
         lambda: COND.infer_type(ROW, on_true=body(lambda: []), on_false=body(lambda: []))),
        (sg.DTypeError, r"cond: the branches give float64\[2\] and bool\[2\]",
         lambda: COND.infer_type(TensorType((), np.dtype(bool)), ROW, on_true=body(
             lambda x: [x], ROW), on_false=body(lambda x: [x > 0], ROW))),
        (sg.ShapeError, r"cond: the branches give float64\[2\] and float64\[\]",
         lambda: COND.infer_type(TensorType((), np.dtype(bool)), ROW, on_true=body(
             lambda x: [x], ROW), on_false=body(lambda x: [x.sum()], ROW))),
    ],
)  # fmt: skip
def test_type_rules(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert re.fullmatch(message, str(caught.value)), str(caught.value)


def test_sizes_inside_a_body_are_checked_with_those_outside() -> None:
    x, y = sg.placeholder("x", ("t", "n"), "float64"), sg.placeholder("y", ("m",), "float64")
    last, _ = sg.scan(lambda c, x: (c + x * y, None), sg.zeros((x.shape[1],), "float64"), x)
    scan = last.operands[0]
    with collecting_assumptions() as pairs:
        scan.op.infer_type(*(one.type for one in scan.operands), **scan.attrs)
    assert (x.shape[1], y.shape[0]) in pairs or (y.shape[0], x.shape[1]) in pairs
    assert_array_equal(interpret([last], {x: np.ones((3, 2)), y: np.ones(2)})[0], [3, 3])
    with pytest.raises(sg.ShapeError, match=r"<scan: .*> \(.*\) of .*: n = 2 and m = 5 differ"):
        interpret([last], {x: np.ones((3, 2)), y: np.ones(5)})


def test_a_size_that_no_input_has_is_found_in_bodies() -> None:
    x, z = sg.placeholder("x", (3,)), sg.placeholder("z", (None,))
    last, _ = sg.scan(lambda c, x: (c + x * sg.ones(z.shape).sum(), None), 0.0, x)
    with pytest.raises(
        sg.GraphError, match=r"net: the size z.0 of <scan: .*> \(.*\) is not the si"
    ):
        sg.compile([x], last, name="net")


def test_errors_in_a_step_name_its_line() -> None:
    table, i = placeholder((3,), "float64"), placeholder((2,), "int64")
    last, _ = sg.scan(lambda c, i: (c + table[i], None), sg.constant(np.float64(0)), i)
    with pytest.raises(
        sg.OutOfRangeError, match=rf"take: index 3 .* \({HERE}\), in <scan: .*{HERE}"
    ):
        interpret([last], {table: np.ones(3), i: np.array([0, 3])})
