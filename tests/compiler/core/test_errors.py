"""Messages: each names the op or the feed, what was wrong, both values, and the user's line."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.runtime.blas import set_threads
from tests.combinations import some

LINE = r"\((gradient of \w+ at )?\S*test_errors\.py:\d+\)"


def placeholder(name: str = "x", *shape: Any, dtype: str = "float32") -> sg.Expression:
    return sg.placeholder(name, shape, dtype)


def refuse(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    """The call raises this error, whose whole message matches."""
    with pytest.raises(error) as caught:
        call()
    assert re.fullmatch(message, str(caught.value), re.DOTALL), str(caught.value)
    assert isinstance(caught.value, sg.StaticGraphError)


# -- definition ------------------------------------------------------------------------------------

X = placeholder("x", None, 3)
Y = placeholder("y", None, 4)
N = placeholder("n", None, dtype="int64")
W = sg.variable(np.ones((3, 2), np.float32), "w")


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (sg.ShapeError, r"matmul: float32\[x.0, 3\] @ float32\[y.0, 4\]: last axis 3 != y.0",
         lambda: sg.placeholder("x", (2, 3)) @ sg.placeholder("y", (5, 4))),
        (sg.ShapeError, r"add: float32\[x.0, 3\], float32\[y.0, 4\] do not broadcast: "
         r"axis -1 is 3 and 4", lambda: X + Y),
        (sg.ShapeError, r"matmul: .*: a scalar has no axis to sum over: use multiply",
         lambda: X @ placeholder()),
        (sg.DTypeError, r"cross_entropy: target float32\[x.0\] is not an integer tensor .*",
         lambda: sg.cross_entropy(X, sg.sum(X, 1))),
        (sg.DTypeError, r"logical_and: float32\[x.0, 3\] is not bool: .*", lambda: X & X),
        (sg.GraphError, rf"<placeholder 'x': float32\[x.0, 3\]> {LINE} has no truth value before "
         r"it runs: use where, maximum, minimum, clip or sg.cond instead of if, or sg.function",
         lambda: bool(X)),
        (sg.GraphError, rf"<.*> {LINE} has no value before it runs: use run or compile",
         lambda: np.asarray(X)),
        (sg.GraphError, rf"<.*> {LINE} has no value before it runs: run or compile it, and take "
         "the number of what that returns", lambda: float(X)),
        (sg.DTypeError, r"add: 300 does not fit uint8: .*",
         lambda: placeholder("u", 2, dtype="uint8") + 300),
        (sg.OptionError, r"the size x.0 is unknown until run time: it cannot be used as an int",
         lambda: list(X)),
        (sg.OptionError, r"the size x.0 is unknown until run time: it cannot be ordered",
         lambda: X.shape[0] > 2),
        (sg.OutOfRangeError, r"getitem: index 3 is out of range for axis 1 of size 3",
         lambda: X[:, 3]),
        (sg.OptionError, "placeholder: the name is a string, not 7", lambda: sg.placeholder(7)),
        (sg.ShapeError, r"placeholder 'x': the shape is a sequence of sizes, not 3",
         lambda: sg.placeholder("x", 3)),
        (sg.ShapeError, r"placeholder 'x': axis 1: -2 is no size: an int, a string .*",
         lambda: placeholder("x", 1, -2)),
        (sg.DTypeError, r"placeholder 'x': no dtype 'complex256': known are bool, .*",
         lambda: placeholder(dtype="complex256")),
        (sg.DTypeError, r"variable: no dtype 'object': known are bool, .*",
         lambda: sg.variable([object()])),
    ],
)  # fmt: skip
def test_definition(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    if "@" in message:
        message = message.replace("x.0", "2").replace("y.0", "5")
    refuse(error, message, call)


def test_a_scalar_has_no_length() -> None:
    with pytest.raises(TypeError, match="a scalar has no length"):
        len(placeholder())


# -- gradients -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (rf"grad: <multiply: float32\[x.0, 3\]> {LINE} is not a scalar: reduce it with sum or "
         "mean, or give a seed", lambda: sg.grad(X * 2, X)),
        (rf"grad: <sum: int64\[\]> {LINE} is not floating point", lambda: sg.grad(sg.sum(N), N)),
        (rf"grad: <placeholder 'n': int64\[n.0\]> {LINE} is not floating point",
         lambda: sg.grad(sg.sum(N * 1.5), N)),
        (rf"grad: <sum: float32\[\]> does not depend on <placeholder 'y': .*> {LINE}",
         lambda: sg.grad(sg.sum(X), Y)),
        (r"grad: the seed is float32\[x.0, 3\], the output float32\[\]",
         lambda: sg.grad(sg.sum(X), X, X)),
        ("minimize: the loss depends on no floating-point variable",
         lambda: sg.optim.SGD().minimize(sg.sum(X))),
    ],
)  # fmt: skip
def test_gradient(message: str, call: Callable[[], Any]) -> None:
    refuse(sg.GraphError, message, call)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("SGD: lr -1 is negative", lambda: sg.optim.SGD(lr=-1)),
        ("SGD: momentum -0.5 is negative", lambda: sg.optim.SGD(momentum=-0.5)),
        ("SGD: weight_decay -1 is negative", lambda: sg.optim.SGD(weight_decay=-1)),
        ("SGD: nesterov needs a momentum and zero dampening", lambda: sg.optim.SGD(nesterov=True)),
        ("Adam: lr -1 is negative", lambda: sg.optim.Adam(lr=-1)),
        ("Adam: eps -1 is negative", lambda: sg.optim.Adam(eps=-1)),
        (r"Adam: betas \(1, 0\) are not in \[0, 1\)", lambda: sg.optim.Adam(betas=(1, 0))),
        ("Adam: weight_decay -1 is negative", lambda: sg.optim.Adam(weight_decay=-1)),
        ("blas: 0 threads, expected at least 1", lambda: set_threads(0)),
        (r"compile: numerics is one of \('strict', 'fast', 'exact'\), not 'wild'",
         lambda: sg.compile([X], X, numerics="wild")),
        (r"compile: no rewrite is named \['log_of_softmx'\]: is it log_of_softmax.*",
         lambda: sg.compile([X], X, disable=["log_of_softmx"])),
        (r"compile: no rewrite is named \[3, 'b'\]",
         lambda: sg.compile([X], X, disable=["b", 3])),
        (r"compile: disable is a list of names of rewrites, not 'log_of_softmax' alone",
         lambda: sg.compile([X], X, disable="log_of_softmax")),
        (r"compile: no rewrite is named \['nothing'\]",
         lambda: sg.compile([X], X, disable=["nothing"])),
        ("run: 3 is no expression", lambda: sg.run(3)),
    ],
)  # fmt: skip
def test_option(message: str, call: Callable[[], Any]) -> None:
    refuse(sg.OptionError, message, call)


# -- compile ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (r"compile: the inputs are a list of placeholders, not <placeholder 'x'.*> alone",
         lambda: sg.compile(X, X)),
        (rf"net: the output does not need the input 'y' {LINE}",
         lambda: sg.compile([X, Y], X * 2, name="net")),
        (rf"net: the output needs the placeholder 'y' {LINE}, which is not among the inputs",
         lambda: sg.compile([X], [X, Y], name="net")),
        (r"compiled function: the input <variable 'w': .*> is no placeholder",
         lambda: sg.compile([W], W * 2)),
        ("compiled function: the input 3 is no placeholder", lambda: sg.compile([3], W * 2)),
        ("compiled function: two inputs are named 'x'",
         lambda: sg.compile([X, placeholder("x")], X)),
        (rf"compiled function: the size y.0 of <size_of: int64\[\]> {LINE} is not the size of an "
         "axis of any input", lambda: sg.compile([], sg.constant(1) * Y.shape[0])),
        ("compile: the outputs 3 are no expressions", lambda: sg.compile([X], 3)),
        ("compile: the output 'y' is no expression", lambda: sg.compile([X], [X, "y"])),
        (rf"compile: the update of <placeholder 'x': .*> {LINE}: only variables are updated",
         lambda: sg.compile([X], [], updates={X: X})),
        ("compile: the update of 'w': only variables are updated",
         lambda: sg.compile([X], [], updates={"w": X})),
        (rf"compile: variable 'w' is updated twice {LINE}",
         lambda: sg.compile([], [], updates=[(W, W), (W, W * 2)])),
        (rf"compile: the update of variable 'w' is float32\[2, 3\] {LINE}, the variable "
         rf"float32\[3, 2\] {LINE}", lambda: sg.compile([], [], updates={W: W.T})),
        (rf"compile: the update of variable 'w' is int64\[3, 2\] {LINE}, the variable "
         rf"float32\[3, 2\] {LINE}", lambda: sg.compile([], [], updates={W: W.astype("int64")})),
        (rf"compile: 'text' for <variable 'w': float32\[3, 2\]> {LINE}: constant: no dtype .*",
         lambda: sg.compile([], [], updates={W: "text"})),
        (rf"compile: givens replace <placeholder 'x': .*> {LINE} by <placeholder 'n': .*> {LINE}: "
         "not the same type", lambda: sg.compile([N], sg.sum(X), givens={X: N})),
        (rf"compile: givens replace <placeholder 'x': .*> {LINE} by <placeholder 'y': .*> {LINE}: "
         "not the same type", lambda: sg.compile([Y], sg.sum(X), givens={X: Y})),
    ],
)  # fmt: skip
def test_compile(message: str, call: Callable[[], Any]) -> None:
    refuse(sg.GraphError, message, call)


# -- call ------------------------------------------------------------------------------------------

ROWS = np.ones((2, 3), np.float32)


@pytest.fixture(scope="module")
def net() -> sg.Executable:
    y = sg.placeholder("y", ("batch",), "int64")
    x = sg.placeholder("x", ("batch", 3))
    return sg.compile([x, y], [x * 2, y + 1], name="net")


@pytest.mark.parametrize(
    ("error", "message", "args", "feeds"),
    [
        (sg.FeedError, rf"net: missing feed 'y': int64\[batch\] {LINE}", (ROWS,), {}),
        (sg.FeedError, rf"net: missing feed 'x': float32\[batch, 3\] {LINE}", (), {"y": [1, 2]}),
        (sg.FeedError, r"net: 3 inputs given, 2 expected: \['x', 'y'\]", (ROWS, [1, 2], 3), {}),
        (sg.FeedError, r"net: unknown feed 'z': known are \['x', 'y'\]", (ROWS,), {"z": 1}),
        (sg.FeedError, "net: feed 'x' given by position and by name", (ROWS,), {"x": ROWS}),
        (sg.DTypeError, rf"feed 'x': float64\[2, 3\] given, float32\[batch, 3\] expected: "
         rf"cast it with astype {LINE}", (np.ones((2, 3)), [1, 2]), {}),
        (sg.DTypeError, r"feed 'y': float64\[2\] given, int64\[batch\] expected: .*",
         (ROWS, [1.5, 2]), {}),
        (sg.DTypeError, r"feed 'x': complex64\[2\] given, .*", (np.ones(2, "c8"), [1, 2]), {}),
        (sg.DTypeError, r"feed 'x': object\[\] given, .*", (None, [1, 2]), {}),
        (sg.FeedError, rf"feed 'x': float32\[batch, 3\] expected, no array of it: .*inhomogeneous"
         rf".* {LINE}", ([[1, 2, 3], [1]], [1, 2]), {}),
        (sg.FeedError, r"feed 'y': int64\[batch\] expected, no array of it: .*",
         (ROWS, [2**70, 1]), {}),
        (sg.ShapeError, rf"feed 'x': float32\[6\] has 1 axes, float32\[batch, 3\] has 2 {LINE}",
         (np.ones(6, "f4"), [1, 2]), {}),
        (sg.ShapeError, r"feed 'x': axis 1 of \[3, 2\] is 2, not 3: float32\[batch, 3\] expected "
         + LINE, (ROWS.T, [1, 2, 3]), {}),
        (sg.ShapeError, rf"feed 'y': axis 0 is 3, but axis 0 of 'x', also batch, is 2 {LINE}",
         (ROWS, [1, 2, 3]), {}),
    ],
)  # fmt: skip
def test_call(
    net: sg.Executable, error: type[Exception], message: str, args: Any, feeds: Any
) -> None:
    refuse(error, message, lambda: net(*args, **feeds))


def test_sizes_that_contradict_only_within_the_graph() -> None:
    x, y = placeholder("x", None), placeholder("y", None)
    f = sg.compile([x, y], sg.exp(x) + y)
    message = rf"add: float32\[2\], float32\[3\] do not broadcast: axis -1 is 2 and 3 {LINE}"
    refuse(sg.ShapeError, message, lambda: f([1, 2], [1, 2, 3]))
    refuse(sg.ShapeError, message, lambda: f([1, 2], [1, 2, 3]))
    g = sg.compile([x], sg.reshape(x, (-1, 2)))
    refuse(sg.ShapeError, rf"reshape: .*3.* {LINE}", lambda: g([1, 2, 3]))
    h = sg.compile([x], sg.max(x))
    refuse(sg.ShapeError, rf"max: float32\[0\] has no element .* {LINE}", lambda: h([]))
    assert h([1, 3]) == 3


@pytest.mark.parametrize("fuse", some([True, False], 1))
@pytest.mark.parametrize(
    ("make", "index", "message"),
    [
        (lambda x, i: sg.take(x, i, axis=0), [0, 7],
         r"take: index 7 is out of range for axis 0 of size 2, of float32\[x.0, 3\] "),
        (lambda x, i: sg.take(x, i, axis=1), [0, -4],
         r"take: index -4 is out of range for axis 1 of size 3, of float32\[x.0, 3\] "),
        (lambda x, i: sg.cross_entropy(x, i), [14, 0],
         r"cross_entropy: index 14 is out of range for axis 1 of size 3, of float32\[x.0, 3\] "),
        (lambda x, i: sg.grad(sg.cross_entropy(x, i), x) + sg.cross_entropy(x, i), [0, -1],
         r"cross_entropy: index -1 is out of range for axis 1 of size 3, of float32\[[xi].0, 3\] "),
        (lambda x, i: sg.take_along_axis(x, i[:, None], axis=1), [3, 0],
         r"take_along_axis: index 3 is out of range for axis 1 of size 3, of float32\[x.0, 3\] "),
        (lambda x, i: sg.exp(x[i]) * 2, [2, 0],
         r"take: index 2 is out of range for axis 0 of size 2, of float32\[x.0, 3\] "),
        (lambda x, i: sg.grad(sg.sum(sg.take(x, i, axis=0) * 3), x), [5, 5],
         r"take_add: index 5 is out of range for axis 0 of size 2, of float32\[x.0, 3\] "),
    ],
)  # fmt: skip
def test_index_out_of_range(fuse: bool, make: Any, index: list[int], message: str) -> None:
    x, i = placeholder("x", None, 3), placeholder("i", None, dtype="int64")
    f = sg.compile([x, i], make(x, i), fuse=fuse)
    refuse(sg.OutOfRangeError, message + LINE, lambda: f(ROWS, index))
    f(ROWS, [1, 0])


def test_an_index_into_an_empty_axis() -> None:
    x, i = placeholder("x", None, 3), placeholder("i", None, dtype="int64")
    f = sg.compile([x, i], sg.take(x, i, axis=0))
    message = r"take: index int64\[2\] points into axis 0 of float32\[0, 3\], which is empty "
    refuse(sg.OutOfRangeError, message + LINE, lambda: f(ROWS[:0], [0, 1]))


def test_a_constant_index_out_of_range_is_reported_with_its_line() -> None:
    f = sg.compile([], sg.take(sg.constant([1, 2]), sg.constant([0, 3])), lint="off")
    message = r"take: index 3 is out of range for axis 0 of size 2, of int64\[2\] "
    refuse(sg.OutOfRangeError, message + LINE, f)


def test_run() -> None:
    out = sg.sum(X)
    refuse(sg.FeedError, rf"run: missing feed 'x': float32\[x.0, 3\] {LINE}", lambda: sg.run(out))
    refuse(
        sg.FeedError,
        rf"run: unknown feed <placeholder 'y': .*> {LINE}: <sum: .*> does not need it",
        lambda: sg.run(out, {X: ROWS, Y: ROWS}),
    )  # fmt: skip
    refuse(sg.FeedError, "run: the feed 'x' is no placeholder", lambda: sg.run(out, {"x": ROWS}))


# -- variables -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message", "value"),
    [
        (sg.ShapeError, r"variable 'w': shape \(2, 3\) given, \(3, 2\) expected", ROWS),
        (sg.DTypeError, r"variable 'w': float64 given, float32 expected: cast it with astype",
         np.ones((3, 2))),
        (sg.FeedError, r"variable 'w': float32\[3, 2\] expected: .*inhomogeneous.*", [[1], [1, 2]]),
    ],
)  # fmt: skip
def test_assigning_a_variable(error: type[Exception], message: str, value: Any) -> None:
    before = W.value
    refuse(error, message, lambda: setattr(W, "value", value))
    np.testing.assert_array_equal(W.value, before)


def test_assigning_a_variable_without_a_name_or_of_integers() -> None:
    count = sg.variable(np.array([1, 2], np.uint8))
    refuse(
        sg.DTypeError,
        r"variable: float64 given, uint8 .*",
        lambda: setattr(count, "value", [1.5, 2]),
    )
    refuse(sg.FeedError, r"variable: uint8\[2\] expected: .*300.*",
           lambda: setattr(count, "value", [1, 300]))  # fmt: skip
    count.value = [7, 8]
    np.testing.assert_array_equal(count.value, [7, 8])


# -- what cannot be changed, and names that are code -----------------------------------------------


def test_the_graph_is_frozen() -> None:
    graph = sg.compile([X], X + 1).graph
    for change in (
        lambda: graph.add_node(99),
        lambda: graph.remove_node(0),
        lambda: graph.add_edge(0, 1, 5),
        lambda: graph.remove_edge(0, 1),
    ):
        with pytest.raises(nx.NetworkXError, match="Frozen graph can't be modified"):
            change()


@pytest.mark.parametrize(
    "name", ["x; import os", "x'\"\\\n    raise SystemExit\n#", "{m}", "", "def", "n0", "ünï\u2028"]
)
def test_no_name_reaches_the_source(name: str) -> None:
    x = sg.placeholder(name, (f"{name} size", 2))
    w = sg.variable(np.ones(2, np.float32), name)
    f = sg.compile([x], {name: x * w}, updates={w: w + 1}, name=name)
    np.testing.assert_array_equal(f(**{name: ROWS[:, :2]})[name], ROWS[:, :2])
    np.testing.assert_array_equal(w.value, [2, 2])
    if len(name) > 4:
        assert name not in f.source
    made = {type(node) for node in ast.walk(ast.parse(f.source))}
    assert not made & {ast.Import, ast.ImportFrom, ast.Raise, ast.Set, ast.Dict}
    refuse(sg.FeedError, r".*: missing feed .*", f)


def test_no_file_name_reaches_the_source_as_code() -> None:
    made: dict[str, Any] = {"sg": sg}
    code = "x = sg.placeholder('x', (2,))\ny = sg.exp(x)"
    exec(compile(code, "a\nraise SystemExit\n#'\".py", "exec"), made)
    f = sg.compile([made["x"]], made["y"])
    assert [line for line in f.source.splitlines() if line.strip().startswith("raise")] == []
    np.testing.assert_array_equal(f([0, 0]), [1, 1])


# -- the interpreter -------------------------------------------------------------------------------


def test_interpreter() -> None:
    x, y = placeholder("x", None), placeholder("y", None)
    out = sg.exp(x) + y
    one, two = np.ones(1, np.float32), np.ones(2, np.float32)
    refuse(
        sg.FeedError,
        rf"<placeholder 'y': .*> {LINE} is not fed",
        lambda: interpret([out], {x: one}),
    )
    refuse(sg.FeedError, rf"<placeholder 'x': .*> {LINE} is fed float64\[1\]",
           lambda: interpret([out], {x: np.ones(1), y: one}))  # fmt: skip
    refuse(sg.ShapeError, rf"<add: .*> {LINE} of .*: x.0 = 1 and y.0 = 2 differ",
           lambda: interpret([out], {x: one, y: two}))  # fmt: skip
    picked = sg.take(x, placeholder("i", None, dtype="int64"))
    index = picked.operands[1]
    refuse(sg.OutOfRangeError, rf"take: index 4 .* size 1, in <take: .*> {LINE}",
           lambda: interpret([picked], {x: one, index: np.array([4])}))  # fmt: skip
    refuse(sg.StaticGraphError, "3 is not a symbolic expression", lambda: ancestors([3]))
    same = sg.placeholder("a", ("k",)), sg.placeholder("b", ("k",))
    message = (
        rf"<placeholder 'b': .*> {LINE} is fed an array of shape \(2,\): axis 0 is 2, not k = 1"
    )
    refuse(sg.FeedError, message, lambda: interpret(same, dict(zip(same, (one, two), strict=True))))


@pytest.mark.parametrize(
    ("message", "sizes"),
    [
        (r"plan: sizes \[\] given, \['batch'\] expected, as a dict", {}),
        (r"plan: size 'batch' is an int from 0, not -1", {"batch": -1}),
    ],
)
def test_plan(net: sg.Executable, message: str, sizes: dict[str, int]) -> None:
    refuse(sg.OptionError, message, lambda: net.plan.arena_bytes(**sizes))
