"""Every error of the op library: its class, and a message that names the op and both values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import unknown
from staticgraph.compiler.core.errors import (
    DTypeError,
    GraphError,
    OptionError,
    OutOfRangeError,
    ShapeError,
    StaticGraphError,
)
from staticgraph.compiler.core.op import Operand, all_ops, op_named, register
from staticgraph.compiler.core.types import TensorType, as_dtype
from staticgraph.compiler.graph.expression import Expression, constant
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops.declare import elementwise
from tests.trace import placeholder

X = placeholder((2, 3), "float32", "x")
V = placeholder((3,), "float32", "v")
N = placeholder((unknown("n"), 3), "float32", "n")
S = placeholder((), "float32", "s")
I = placeholder((2,), "int64", "i")  # noqa: E741
B = placeholder((2, 3), "bool", "b")

SHAPES: list[tuple[Callable[[], Any], str]] = [
    (lambda: X + X.T, r"add: .*\[2, 3\], float32\[3, 2\] do not broadcast: axis -2 is 2 and 3"),
    (lambda: ops.where(B, X, I), r"where: bool\[2, 3\], .* do not broadcast: axis -1 is 3 and 2"),
    (lambda: X @ X, r"matmul: float32\[2, 3\] @ float32\[2, 3\]: last axis 3 != 2"),
    (lambda: ops.gemm(X, X.T, X, 1, 1), r"gemm: .*\[2, 3\] and the product .*\[3, 3\] differ"),
    (lambda: ops.gemm(V, X, X.T, 1, 1), r"gemm: .*\[3\] and .*: all must be matrices"),
    (lambda: X @ placeholder((2,), "float32"), r"matmul: .* @ float32\[2\]: last axis 3 != 2"),
    (lambda: S @ V, r"matmul: float32\[\] @ float32\[3\]: a scalar has no axis to sum over"),
    (
        lambda: placeholder((2, 1, 3)) @ placeholder((4, 3, 1)),
        r"matmul: float64\[2, 1, 3\] @ float64\[4, 3, 1\]: leading axes: .* axis -1 is 2 and 4",
    ),
    (
        lambda: ops.sliding_windows(V, (2, 2), (1, 1), (1, 1)),
        r"sliding_windows: float32\[3\] has fewer axes than the window \(2, 2\)",
    ),
    (
        lambda: ops.sliding_windows(V, (2,), (1,), (3,)),
        r"sliding_windows: no window \(2,\) by \(3,\) fits into float32\[3\]",
    ),
    (
        lambda: ops.overlap_add(V, (4,), (1,), (1,)),
        r"overlap_add: .*\[3\] has no windows of 1 axes",
    ),
    (
        lambda: ops.overlap_add(X, (3,), (1,), (1,)),
        r"overlap_add: the windows of float32\[2, 3\] reach .*4.*, past \(3,\)",
    ),
    (lambda: ops.as_strided(X, (2,), (1,)), r"as_strided: .*\[2, 3\], .*: memory and a stride per"),
    (
        lambda: ops.as_strided(V, (2, 2), (2, 2)),
        r"as_strided: .* 3 elements, \(2, 2\) reaches over 5",
    ),
    (lambda: ops.dot(X, V), r"dot: float32\[2, 3\] and float32\[3\]: both must have one axis"),
    (lambda: ops.outer(V, S), r"outer: float32\[3\] and float32\[\]: both must have one axis"),
    (lambda: X.sum(axis=2), "sum: axis 2 is out of range for 2 axes"),
    (lambda: X.sum(axis=-3), "sum: axis -3 is out of range for 2 axes"),
    (lambda: X.max(axis=(0, -2)), r"max: an axis is repeated in \(0, -2\)"),
    (lambda: X.mean(axis=1.5), "mean: axis 1.5 is not an int"),
    (lambda: X.mean(axis=True), "mean: axis True is not an int"),
    (lambda: placeholder((0, 3)).max(), r"max: float64\[0, 3\] has no element along axes \(0, 1\)"),
    (lambda: placeholder((2, 0)).argmin(axis=1), r"argmin: .* has no element along axes \(1,\)"),
    (lambda: X.argmax(axis=(0, 1)), r"argmax: takes one axis, got \(0, 1\)"),
    (lambda: X.reshape(4, 2), r"reshape: float32\[2, 3\] has 6 elements, \(4, 2\) has 8"),
    (lambda: X.reshape(4, -1), r"reshape: float32\[2, 3\] has 6 elements, \(4, 1\) has 4"),
    (lambda: X.reshape(-1, -1), r"reshape: more than one -1 in \(-1, -1\)"),
    (lambda: X.reshape(0, -1), r"reshape: -1 in \(0, -1\) is ambiguous: another size is 0"),
    (lambda: X.reshape(-2, 3), r"reshape: negative size in \(-2, 3\)"),
    (lambda: X.reshape(1.5), "reshape: 1.5 is not a size"),
    (lambda: X.reshape(True, 6), "reshape: True is not a size"),
    (lambda: X.broadcast_to(3), r"broadcast_to: float32\[2, 3\] has more axes than \(3,\)"),
    (lambda: X.broadcast_to(4, 3), r"broadcast_to: .* does not broadcast to \(4, 3\): 2 != 4"),
    (lambda: V.broadcast_to(2, -1), r"broadcast_to: negative size in \(2, -1\)"),
    (lambda: X.transpose(0), r"transpose: \(0,\) is not an order of the 2 axes"),
    (lambda: X.transpose(0, 0), r"transpose: \(0, 0\) is not an order of the 2 axes"),
    (lambda: X.permute(()), r"transpose: \(\) is not an order of the 2 axes"),
    (lambda: X.swapaxes(0, 2), "swapaxes: axis 2 is out of range for 2 axes"),
    (lambda: X.expand_dims(4), "expand_dims: axis 4 is out of range for 3 axes"),
    (lambda: X.squeeze(0), r"squeeze: axis 0 of float32\[2, 3\] has size 2, not 1"),
    (lambda: N.squeeze(0), r"squeeze: axis 0 of float32\[n, 3\] has size n, not 1"),
    (lambda: X.flip(2), "flip: axis 2 is out of range for 2 axes"),
    (lambda: ops.concatenate([X, V]), r"concatenate: float32\[2, 3\] and .*\[3\] differ in rank"),
    (lambda: ops.concatenate([X, X.T]), r"concatenate: .* and float32\[3, 2\] differ at axis 1"),
    (lambda: ops.concatenate([S, S]), "concatenate: axis 0 is out of range for 0 axes"),
    (lambda: ops.split(X, 2, axis=1), "split: axis 1 has 3 elements, not 2 equal parts"),
    (lambda: ops.split(N, 0), "split: axis 0 has n elements, not 0 equal parts"),
    (
        lambda: ops.strided_slice(X, (0, 1), (2, 2), (1, 2)),
        r"strided_slice: axis 1 of float32\[2, 3\]: 2 elements from 1 by 2 go past 3",
    ),
    (
        lambda: ops.strided_slice(V, (2,), (3,), (1,)),
        "strided_slice: axis 0 of .*: 3 elements from 2 by 1 go past 3",
    ),
    (
        lambda: ops.embed(V, (3,), (5,), (1,)),
        r"embed: axis 0 of float32\[3\] from 3 by 1 goes past 5",
    ),
    (lambda: ops.pad(X, [(1, 1)] * 3), "pad: 3 pairs of widths for 2 axes"),
    (lambda: X[0, 1, 2], r"getitem: 3 indices for 2 axes of shape \(2, 3\)"),
    (lambda: X[..., 0, ...], "getitem: more than one ellipsis"),
    (lambda: X[::0], r"getitem: the step of slice\(None, None, 0\) is 0"),
    (lambda: X[B], r"getitem: how many elements a mask takes depends on its values: .*size=n"),
    (lambda: X[B[:, 0], I], "getitem: a mask whose values are not known stands beside"),
    (lambda: X.at[B[:, 0], B[0]].set(0.0), "getitem: a mask whose values are not known stands"),
    (lambda: X[: I[0]], r"getitem: how many elements the slice .* takes depends on values"),
    (lambda: X[I, np.arange(3)], "getitem: int64.* do not broadcast"),
    (lambda: X.at[0].set(np.ones(2, "f4")), r"at: values float32\[2\] do not broadcast to float32"),
    (
        lambda: X.at[B].set(np.ones(2, "f4")),
        r"at: values of shape \(2,\) for the elements that a m",
    ),
    (lambda: X.at[B].apply(ops.sum), "at: apply gives .*: element by element is meant"),
    (
        lambda: ops.take_along_axis(X, I, axis=0),
        r"take_along_axis: float32\[2, 3\] and index int64\[2\] differ in rank",
    ),
    (
        lambda: ops.take_along_axis(X, placeholder((3, 1), "int64")),
        r"take_along_axis: float32\[2, 3\] and index int64\[3, 1\] differ at axis 0",
    ),
    (lambda: X.softmax(axis=2), "softmax: axis 2 is out of range for 2 axes"),
    (lambda: S.log_softmax(), "log_softmax: axis -1 is out of range for 0 axes"),
    (lambda: ops.cross_entropy(X, I[0]), r"cross_entropy: .* needs a target of 1 axes, got int64"),
    (
        lambda: ops.cross_entropy(X, placeholder((3,), "int64")),
        r"cross_entropy: float32\[2, 3\] and target int64\[3\] differ: 2 != 3",
    ),
    (lambda: ops.mse_loss(X, I * 1.0), "mse_loss: .* do not broadcast: axis -1 is 3 and 2"),
    (lambda: ops.layer_norm(X, 2), r"layer_norm: the last axes of \(2, 3\) are not \(2,\)"),
    (lambda: ops.layer_norm(X, (1, 2, 3)), "layer_norm: the last axes of .* are not"),
    (lambda: ops.layer_norm(X, ()), r"layer_norm: the last axes of \(2, 3\) are not \(\)"),
    (
        lambda: ops.layer_norm(X, 3, placeholder((2,), "float32")),
        r"layer_norm: weight float32\[2\] has not the shape of the last axes of float32\[2, 3\]",
    ),
    (
        lambda: ops.layer_norm(X, 3, V, X),
        r"layer_norm: bias float32\[2, 3\] has not the shape of the last axes",
    ),
]

DTYPES: list[tuple[Callable[[], Any], str]] = [
    (lambda: B + B, r"add: bool\[2, 3\] is not a number: cast it with astype"),
    (lambda: -B, r"negative: bool\[2, 3\] is not a number"),
    (lambda: ops.relu(B), r"relu: bool\[2, 3\] is not a number"),
    (lambda: X & X, r"logical_and: float32\[2, 3\] is not bool: compare it with 0 or cast it"),
    (lambda: ~X, r"logical_not: float32\[2, 3\] is not bool"),
    (lambda: ops.where(X, X, X), r"where: float32\[2, 3\] is not bool"),
    (
        lambda: ops.any.bound((X,), {"axes": (0,), "keepdims": False}),
        r"any: float32\[2, 3\] is not bool",
    ),
    (lambda: ops.gemm(B, B, B.T, 1, 1), r"gemm: bool.*: floating point expected"),
    (lambda: B @ B.T, r"matmul: bool\[2, 3\] @ bool\[3, 2\]: bool has no product"),
    (lambda: ops.take(X, V), r"take: index float32\[3\] is not an integer tensor"),
    (lambda: X[V], r"getitem: an index of float32: indices are integers, and masks are bool"),
    (lambda: ops.take_along_axis(X, X), "take_along_axis: index float32.* is not an integer"),
    (lambda: ops.take_add(X, V, 0, 4), "take_add: index float32.* is not an integer"),
    (lambda: ops.along_add(X, X, 0, 4), "along_add: index float32.* is not an integer"),
    (lambda: ops.one_hot(X, 3), "one_hot: index float32.* is not an integer"),
    (lambda: X["a"], "getitem: 'a' is not an int, a slice, None or an ellipsis"),
    (lambda: X[0.5], "getitem: 0.5 is not an int"),
    (lambda: X[: V[0]], "getitem: a bound of a slice is an integer, not float32"),
    (lambda: X[:1.5], "getitem: 1.5, a bound or step of a slice, is no integer"),
    (lambda: I.at[0].set(0.5), "at: set of 0.5 in int64.*: cast it with astype"),
    (lambda: X.at[0].add(np.ones(3)), "at: add of float64 in float32.*: cast it with astype"),
    (lambda: I.at[0].divide(2), "at: divide of int64, whose quotients are no int64"),
    (lambda: B.at[0].add(True), "at: add of bool"),
    (lambda: ops.cross_entropy(X, V), r"cross_entropy: target float32\[3\] is not an integer"),
    (lambda: X.astype("complex256"), "astype: no dtype 'complex256': known are bool, uint8"),
    (lambda: X.astype("nonsense"), "astype: no dtype 'nonsense'"),
    (lambda: ops.one_hot(I, 3, "longdouble"), "one_hot: no dtype 'longdouble'"),
    (lambda: X + np.array([1j], "G"), "add: no dtype .*complex256"),
    (lambda: constant(np.zeros(2, "S1")), "constant: no dtype .*S1"),
    (lambda: placeholder((2,), "uint8") + 300, "add: 300 does not fit uint8"),
    (lambda: placeholder((2,), "uint8") - (-1), "subtract: -1 does not fit uint8"),
    (
        lambda: ops.add.infer_type(X.type, I.type),
        r"add: mixed dtypes float32\[2, 3\] and int64\[2\]: cast one with astype",
    ),
    (
        lambda: ops.exp.infer_type(I.type),
        r"exp: int64\[2\] is not floating point: cast it with astype",
    ),
    (lambda: ops.mean.infer_type(I.type, axes=(0,), keepdims=False), "mean: int64.* is not float"),
]

OPTIONS: list[tuple[Callable[[], Any], str]] = [
    (lambda: X.sum(axis=0, dim=1), "sum: axis=0 and dim=1 are two names of one argument"),
    (lambda: X.expand_dims(), "expand_dims: takes an axis"),
    (lambda: X.clip(), "clip: needs min, max or both"),
    (
        lambda: ops.sliding_windows(X, (2, 2), (1,), (1, 1)),
        "sliding_windows: .* do not name the same number of axes",
    ),
    (lambda: ops.concatenate([]), "concatenate: needs at least one tensor"),
    (lambda: ops.pad(X, -1), r"pad: negative width in \[\(-1, -1\), \(-1, -1\)\]"),
    (lambda: ops.pad(I, 1, value=0.5), "pad: value 0.5 does not fit int64"),
    (lambda: ops.pad(I, 1, value=float("inf")), "pad: value inf does not fit int64"),
    (lambda: ops.pad(B, 1, value=2), "pad: value 2.0 does not fit bool"),
    (lambda: ops.gelu(X, approximate="exact"), "gelu: approximate is .* not 'exact'"),
    (lambda: ops.cross_entropy(X, I, "avg"), "cross_entropy: reduction is one of .*, not 'avg'"),
    (lambda: ops.add(X), "add: takes 2 operands, got 1"),
    (lambda: ops.dot(V), "dot: takes 2 operands, got 1"),
    (lambda: N.reshape(3 * N.shape[0] + 1 if N.shape[0] else 1), "the size n .* no truth value"),
]

RANGES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: X[:, np.ones(2, bool)],
        r"getitem: a mask of shape \(2,\) does not fit axis 1 of size 3",
    ),
    (lambda: X[2], "getitem: index 2 is out of range for axis 0 of size 2"),
    (lambda: X[0, -4], "getitem: index -4 is out of range for axis 1 of size 3"),
    (
        lambda: ops.take(np.ones(3), [0, 3], axis=0),
        "take: index 3 is out of range for an axis of size 3",
    ),
    (
        lambda: ops.take_along_axis(np.ones(3), np.array([-4])),
        "take_along_axis: index -4 is out of range for an axis of size 3",
    ),
    (
        lambda: ops.cross_entropy(np.ones((1, 3)), np.array([-1])),
        "cross_entropy: index -1 is out of range for an axis of size 3",
    ),
    (
        lambda: ops.take_add(np.ones(2), np.array([0, 2]), 0, 2),
        "take_add: index 2 is out of range for an axis of size 2",
    ),
    (
        lambda: ops.along_add(np.ones(2), np.array([0, 2]), 0, 2),
        "along_add: index 2 is out of range for an axis of size 2",
    ),
]


class Eager(Operand):
    shape = (3,)
    dtype = np.dtype("float32")


GRAPHS: list[tuple[Callable[[], Any], str]] = [
    (lambda: bool(X > 0), r"<greater: bool\[2, 3\]> \(.*_errors.py:\d+\) has no truth value"),
    (
        lambda: 1 if X.sum() > 0 else 2,
        "has no truth value .*: use where, maximum, minimum, clip or sg.cond .*, or sg.function",
    ),
    (lambda: np.asarray(X), r"<placeholder 'x': .*> \(.*\) has no value before it runs"),
    (lambda: X + Eager(), r"add: an eager tensor of shape \(3,\) meets a symbolic expression"),
    (lambda: op_named("convolve"), "no op is named 'convolve'"),
    (lambda: register(op_named("add")), "an op named 'add' is already declared"),
    (lambda: ops.placeholder.evaluate(), "a leaf has no value of its own: it is fed"),
    (lambda: ancestors([X, 1.0]), r"1.0 is not a symbolic expression"),  # type: ignore[list-item]
]


def _cases(table: list[tuple[Callable[[], Any], str]]) -> Any:
    return pytest.mark.parametrize(("build", "message"), table, ids=[text for _, text in table])


@_cases(SHAPES)
def test_shape_error(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        build()


@_cases(DTYPES)
def test_dtype_error(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(DTypeError, match=message):
        build()


@_cases(OPTIONS)
def test_option_error(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        build()


@_cases(RANGES)
def test_range_error(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(OutOfRangeError, match=message):
        build()


@_cases(GRAPHS)
def test_graph_error(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(StaticGraphError, match=message):
        build()


def test_errors_are_also_the_builtin_that_numpy_raises() -> None:
    for error, builtin in (
        (ShapeError, ValueError),
        (DTypeError, TypeError),
        (OutOfRangeError, IndexError),
        (GraphError, ValueError),
        (OptionError, ValueError),
    ):
        assert issubclass(error, builtin)
        assert issubclass(error, StaticGraphError)


def test_scalars_have_no_length() -> None:
    with pytest.raises(TypeError, match=r"len\(\) of <placeholder 's': float32\[\]>: a scalar"):
        len(S)
    with pytest.raises(OptionError, match="the size n is unknown until run time"):
        len(N)
    assert len(X) == 2


def test_operators_refuse_what_is_no_operand() -> None:
    for other in ("a", None, [1.0], object()):
        with pytest.raises(TypeError, match="unsupported operand"):
            X + other
        with pytest.raises(TypeError, match="unsupported operand"):
            other - X


UFUNCS = [op for op in all_ops() if isinstance(op.evaluate, np.ufunc) and op.bind is None]


@pytest.mark.parametrize("as_operand", [np.array, dynamic.tensor, constant])
def test_one_operand_more_is_refused(as_operand: Any) -> None:
    """NumPy takes it for the array to write into."""
    for op in UFUNCS:
        operands = [as_operand(np.array([1, 2])) for _ in range(op.evaluate.nin + 1)]
        with pytest.raises(TypeError, match=rf"^{op.name}\(\) takes .* but \d were given"):
            op(*operands)
        if as_operand is not constant:
            assert all(one.tolist() == [1, 2] for one in operands), op.name


def test_the_traceback_of_an_error_shows_the_users_line() -> None:
    with pytest.raises(ShapeError) as caught:
        X @ X
    assert caught.traceback[0].path.name == "test_op_errors.py"


def test_a_declared_check_names_the_op() -> None:
    count = len(all_ops())
    with pytest.raises(GraphError, match="an op named 'exp' is already declared"):
        elementwise("exp", np.exp, "exp({0})", arity=1)
    assert len(all_ops()) == count


def test_dtypes_and_types() -> None:
    assert as_dtype(float) == np.float64
    assert str(TensorType((2, unknown("n")), np.dtype("int32"))) == "int32[2, n]"
    assert Expression(ops.exp, (X,), {}).type == X.type
    assert interpret([constant(3)], {})[0].dtype == np.int64
