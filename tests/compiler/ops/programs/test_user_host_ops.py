"""Ops of users around functions of arrays: steps of the program, checked before anything reads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import DTypeError, GraphError, OptionError, ShapeError

ROWS = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, -1.0]])


@sg.op(result=lambda x: ((x.shape[0],), x.dtype))
def row_medians(x: Any) -> Any:
    return np.median(x, axis=1).astype(x.dtype)


@row_medians.vjp
def _(g: Any, out: Any, x: Any) -> Any:
    return sg.where(sg.equal(x, sg.expand_dims(out, 1)), sg.expand_dims(g, 1), 0.0)


@sg.op(results=lambda x: [x, (x.shape, "int64")])
def ordered(x: Any) -> Any:
    order = np.argsort(x)
    return x[order], order


@ordered.vjp
def _(g: Any, out: Any, x: Any) -> Any:
    return sg.take(g[0], sg.argsort(out[1]))


@sg.op(kind="array", like=0)
def filtered(x: Any) -> Any:
    """y[i] = x[i] + y[i - 1] / 2."""
    found = np.empty_like(x)
    last = 0.0
    for i in range(x.size):
        last = 0.5 * last + x[i]
        found[i] = last
    return found


@filtered.vjp
def _(g: Any, out: Any, x: Any) -> Any:
    return sg.flip(filtered(sg.flip(g)))


@sg.op(result=lambda x, count, mode: ((x.shape[0] * count,), x.dtype))
def tiled(x: Any, *, count: int = 2, mode: str = "tile") -> Any:
    return np.tile(x, count) if mode == "tile" else np.repeat(x, count)


def test_both_paradigms_and_vmap() -> None:
    x = sg.placeholder("x", (None, None), "float64")
    medians = row_medians(x)
    found, slopes = sg.compile([x], [medians, sg.grad(sg.sum(medians * medians), x)])(ROWS)
    assert found.tolist() == [2, 0.5]
    assert slopes.tolist() == [[0, 0, 4], [1, 0, 0]]
    tensor = dynamic.tensor(ROWS, requires_grad=True)
    (row_medians(tensor) ** 2).sum().backward()
    assert tensor.grad.tolist() == slopes.tolist()
    many = np.stack([ROWS, ROWS + 1])
    assert sg.vmap(row_medians)(many).tolist() == [[2, 0.5], [3, 1.5]]
    assert dynamic.func.vmap(row_medians)(dynamic.tensor(many)).tolist() == [[2, 0.5], [3, 1.5]]
    moved = dynamic.func.jvp(row_medians, (tensor.detach(),), (tensor.detach(),))[1]
    assert moved.tolist() == [2, 0.5]


def test_several_results() -> None:
    x = sg.placeholder("x", (None,), "float64")
    values, order = ordered(x)
    slope = sg.grad(sg.sum(values * np.array([1.0, 10.0, 100.0])), x)
    found = sg.compile([x], [values, order, slope])(ROWS[0])
    assert [one.tolist() for one in found] == [[1, 2, 3], [1, 2, 0], [100, 1, 10]]
    tensor = dynamic.tensor(ROWS[0], requires_grad=True)
    values, order = ordered(tensor)
    assert order.grad_fn is None
    (values * dynamic.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert tensor.grad.tolist() == [100, 1, 10]
    assert sg.vmap(lambda row: ordered(row)[1])(ROWS).tolist() == [[1, 2, 0], [2, 0, 1]]
    both = sg.jvp(lambda row: ordered(row)[0], (ROWS[0],), (np.array([1.0, 2.0, 3.0]),))
    assert both[1].tolist() == [2, 3, 1]
    given = dynamic.tensor([1.0, 2.0, 3.0], dtype=dynamic.float64)
    moved = dynamic.func.jvp(lambda row: ordered(row)[0], (tensor.detach(),), (given,))[1]
    assert moved.tolist() == [2, 3, 1]


@pytest.mark.slow
def test_functions_that_numba_compiles() -> None:
    x = sg.placeholder("x", (None, None), "float64")
    rows = sg.vmap(filtered)(x)
    found, slopes = sg.compile([x], [rows, sg.grad(sg.sum(rows), x)])(ROWS)
    np.testing.assert_allclose(found, [[3, 2.5, 3.25], [0.5, 4.25, 1.125]], 1e-15)
    np.testing.assert_allclose(slopes, [[1.75, 1.5, 1]] * 2, 1e-15)
    assert filtered(np.ones(0)).shape == (0,)
    beyond = sg.op(lambda x: x[:1] + x[3], kind="array", result=lambda x: ((1,), x.dtype),
                   name="compiled.beyond")  # fmt: skip
    with pytest.raises(IndexError, match="out of bounds"):
        beyond(ROWS[0])
    own = sg.op(numba.njit(lambda x: x + 1), kind="array", like=0, name="compiled.own")
    assert own(ROWS[0]).tolist() == [4, 2, 3]


def test_attributes() -> None:
    x = sg.placeholder("x", (None,), "float64")
    found = sg.compile([x], [tiled(x), tiled(x, count=3), tiled(x, mode="repeat")])(ROWS[0, :2])
    assert [one.tolist() for one in found] == [[3, 1] * 2, [3, 1] * 3, [3, 3, 1, 1]]
    with pytest.raises(OptionError, match=r"argument 'count' is an attribute: .*not Expression"):
        tiled(x, count=x)
    with pytest.raises(TypeError, match=r"tiled\(\): got an unexpected keyword argument 'n'"):
        tiled(x, n=3)


def test_many_threads_call_one_executable() -> None:
    x = sg.placeholder("x", (None, None), "float64")
    executable = sg.compile([x], row_medians(sg.exp(x)))
    wrong = []

    def work(shift: float) -> None:
        for _ in range(50):
            found = executable(ROWS + shift)
            if not np.allclose(found, np.median(np.exp(ROWS + shift), axis=1)):
                wrong.append(shift)

    threads = [threading.Thread(target=work, args=(shift,)) for shift in (0.0, 1.0, 2.0)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []


def _narrow(x: Any) -> Any:
    return x.astype("float32")


def _short(x: Any) -> Any:
    return x[:1]


def _writes(x: Any) -> Any:
    x[0] = 1.0
    return x


def _fails(x: Any) -> Any:
    raise RuntimeError("of the user's")


def _tensor(x: Any) -> Any:
    return dynamic.tensor(x)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (_narrow, DTypeError, r"_narrow: it returns float32\[2\], declared float64\[2\]"),
        (_short, ShapeError, r"_short: it returns float64\[1\], declared float64\[2\]"),
        (_writes, ValueError, "read-only"),
        (_fails, RuntimeError, "of the user's"),
        (_tensor, GraphError, "_tensor: it returns Tensor, not an array of NumPy's"),
    ],
)
def test_what_a_function_does_wrong_is_an_error(
    function: Callable[..., Any], error: type[Exception], message: str
) -> None:
    made = sg.op(function, like=0, name=f"wrong.{function.__name__}")
    x = sg.placeholder("x", (None,), "float64")
    executable = sg.compile([x], made(x))
    with pytest.raises(error, match=message) as raised:
        executable(np.zeros(2))
    told = str(raised.value) + "".join(getattr(raised.value, "__notes__", []))
    assert "test_user_host_ops.py:" in told
    assert f"wrong.{function.__name__}" in told
    for given in (np.zeros(2), dynamic.zeros(2, dtype=dynamic.float64)):
        with pytest.raises(error, match=message):
            made(given)


def test_a_result_is_memory_of_its_own() -> None:
    same = sg.op(lambda x: x, like=0, name="wrong.same")
    tensor = dynamic.zeros(2)
    same(tensor).add_(1)
    assert tensor.tolist() == [0, 0]
    array = np.zeros(2)
    same(array)[0] = 1
    assert array.tolist() == [0, 0]


def test_a_function_may_reuse_the_array_that_it_returns() -> None:
    buffer = np.zeros(2)
    twice = sg.op(lambda x: np.multiply(x, 2, out=buffer), like=0, name="test_host.reuses")
    first = twice(np.ones(2))
    x = dynamic.tensor([1.0, 2.0], dtype=dynamic.float64)
    second = twice(x)
    twice(10 * x)
    np.testing.assert_array_equal(first, [2, 2])
    assert second.tolist() == [2, 4]


def test_an_operand_that_a_function_keeps_stays_as_it_was() -> None:
    seen: list[Any] = []

    @sg.op(like=0, name="test_host.keeps")
    def keeps(x: Any) -> Any:
        seen.append(x)
        return 2 * x

    f: Any = sg.function(lambda x: keeps(x + 1) + 1)
    f(np.zeros(100_000))  # so many that the memory of the program goes back to the system
    f(np.ones(100_000))
    del f
    np.testing.assert_array_equal(seen[0], np.ones(100_000))
    np.testing.assert_array_equal(seen[1], np.full(100_000, 2.0))


def test_what_numba_cannot_compile_is_refused() -> None:
    made = sg.op(_writes, kind="array", like=0, name="wrong.compiled")
    with pytest.raises(GraphError, match=r"wrong\.compiled: Numba cannot compile it: .*readonly"):
        made(np.zeros(2))


@pytest.mark.parametrize(
    ("declared", "error", "message"),
    [
        ({"result": (("n",), "float64")}, ShapeError, "'n' in the shape of the result is no size"),
        ({"result": 3}, OptionError, r"a result is \(shape, dtype\), not 3"),
        ({"result": (3, "float64")}, OptionError, r"a result is \(shape, dtype\), not \(3, 'fl"),
        ({"result": ((-1,), "float64")}, ShapeError, "-1 in the shape of the result is no size"),
        ({"result": ((1,), "float65")}, DTypeError, "no dtype 'float65'"),
        ({"results": 3}, OptionError, "results is a list of types, not 3"),
        ({"results": [((1,), "float64")]}, GraphError, r"it returns float64\[1\], not 1 results"),
        ({"like": 1}, OptionError, "like=1 is no operand of 1"),
    ],
)
def test_declared_types_are_checked(
    declared: dict[str, Any], error: type[Exception], message: str
) -> None:
    made = sg.op(lambda x: x, name=f"declared.n{abs(hash(message))}", **declared)
    with pytest.raises(error, match=message):
        made(np.zeros(1))


def test_the_number_of_operands_is_checked() -> None:
    with pytest.raises(OptionError, match="row_medians: takes 1 operands, got 2"):
        row_medians.record.infer_type(*[sg.placeholder("x", (2, 2)).type] * 2)
