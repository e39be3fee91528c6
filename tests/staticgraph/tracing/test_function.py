"""`sg.function` on arrays: structures, static values, numbers, and sizes that a trace serves."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.tracing import tracing
from tests.paths import ROOT

Pair = namedtuple("Pair", ["first", "second"])


def _array(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


_traced: list[str] = []
"""The names of the functions that were traced, since a function cannot count that itself."""


@pytest.fixture(autouse=True)
def _counting(monkeypatch: Any) -> None:
    trace = tracing.trace

    def counted(name: str, *args: Any) -> Any:
        _traced.append(name)
        return trace(name, *args)

    monkeypatch.setattr(tracing, "trace", counted)


class Counted:
    """A function of which is known how often it was traced."""

    def __init__(self, f: Any) -> None:
        self.f = f
        self.before = len(_traced)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)

    @property
    def traces(self) -> int:
        """How often functions were traced since this one was made."""
        return len(_traced) - self.before


def test_arrays_come_out_in_the_structure_that_the_function_returns() -> None:
    def f(x: Any, rest: Any, *, scale: Any) -> Any:
        return {
            "sum": x + rest["a"][0],
            "pair": Pair(x * scale, [None, rest["a"][1]]),
            "constant": np.arange(3),
        }

    x, a, b = _array(2, 3), _array(2, 3, seed=1), _array(4, seed=2)
    result = sg.function(f)(x, {"a": (a, b)}, scale=2)
    assert list(result) == ["sum", "pair", "constant"]
    np.testing.assert_array_equal(result["sum"], x + a)
    assert isinstance(result["pair"], Pair)
    np.testing.assert_array_equal(result["pair"].first, x * 2)
    assert result["pair"].second[0] is None
    np.testing.assert_array_equal(result["pair"].second[1], b)
    np.testing.assert_array_equal(result["constant"], np.arange(3))
    assert all(type(part) is np.ndarray for part in (result["sum"], result["constant"]))


VIEWS = {
    "itself": lambda x: x,
    "transposed": lambda x: x.T,
    "sliced": lambda x: x[1:, ::-1],
    "reshaped": lambda x: x.reshape(-1),
    "broadcast": lambda x: sg.broadcast_to(x, (2, *x.shape)),
    "one of two": lambda x: (x + 1, x[None])[1],
    "on one side": lambda x: x[::-1] if x[0, 0] > 0 else x * 2,
    "on the other": lambda x: x * 2 if x[0, 0] > 0 else x,
    "copied": lambda x: +x,
    "cast": lambda x: x.astype(x.dtype),
    "a sum": lambda x: x + 0,
}


@pytest.mark.parametrize("f", VIEWS.values(), ids=VIEWS)
def test_what_comes_out_is_a_view_where_it_is_one_eagerly(f: Callable[..., Any]) -> None:
    fast = sg.function(f, debug=True)
    for x in (_array(3, 4), -_array(3, 4), _array(4, 3).T, _array(2, 5)):
        expected, found = f(x), fast(x)
        assert (found is x) is (expected is x)
        assert np.shares_memory(found, x) is np.shares_memory(expected, x)
        np.testing.assert_array_equal(found, expected)


def test_nothing_may_come_out() -> None:
    assert sg.function(lambda x: None)(_array(3)) is None
    assert sg.function(lambda x: ({}, []))(_array(3)) == ({}, [])


def test_a_function_without_arguments() -> None:
    assert sg.function(lambda: sg.constant(3.0) * 2)() == 6


def test_one_trace_serves_all_sizes() -> None:
    f = Counted(lambda x, w: sg.tanh(x @ w).sum(axis=0))
    compiled = sg.function(f)
    for rows, inner, columns in ((2, 3, 4), (7, 5, 2), (1, 3, 4), (0, 3, 2), (4, 4, 4)):
        x, w = _array(rows, inner, dtype="float64"), _array(inner, columns, dtype="float64")
        np.testing.assert_allclose(compiled(x, w), np.tanh(x @ w).sum(0), rtol=1e-12)
    assert f.traces == 1


def test_dtypes_and_ranks_are_traced_apart() -> None:
    f = Counted(lambda x: x * 2)
    compiled = sg.function(f)
    for x in (_array(2), _array(2, dtype="float64"), _array(2, 2), np.arange(3)):
        assert compiled(x).dtype == x.dtype
        np.testing.assert_array_equal(compiled(x), x * 2)
    assert f.traces == 4


def test_sizes_that_broadcast_are_traced_with_1_known() -> None:
    f = Counted(lambda x, b: x + b)
    compiled = sg.function(f)
    for x, b in ((4, 4), (4, 1), (1, 4), (5, 1), (1, 1), (6, 6)):
        left, right = _array(x, 3), _array(b, 3, seed=1)
        np.testing.assert_array_equal(compiled(left, right), left + right)
    assert f.traces == 3  # none known, b's known to be 1, x's known to be 1


def test_a_size_that_the_function_compares_is_known_where_it_matters() -> None:
    f = Counted(lambda x: x.sum() if x.shape[0] == 3 else x * 2)
    compiled = sg.function(f)
    for size in (2, 4, 3, 5, 3):
        x = _array(size)
        np.testing.assert_allclose(compiled(x), x.sum() if size == 3 else x * 2, rtol=1e-6)
    assert f.traces == 2


def test_equal_sizes_are_known_to_be_equal_where_the_function_asserts_it() -> None:
    def f(x: Any, y: Any) -> Any:
        assert x.shape[0] == y.shape[0], "rows"
        return x.sum(axis=0) + y.sum(axis=0)

    counted = Counted(f)
    compiled = sg.function(counted)
    for size in (3, 5, 7):
        x = _array(size, 2)
        np.testing.assert_allclose(compiled(x, x), 2 * x.sum(0), rtol=1e-5)
    assert counted.traces == 2  # without knowledge it fails, then one trace for all
    with pytest.raises(AssertionError, match="rows"):
        compiled(_array(3, 2), _array(4, 2))


def test_a_function_that_orders_sizes_is_traced_for_each() -> None:
    f = Counted(lambda x: x * 2 if x.shape[0] > 3 else x)
    compiled = sg.function(f)
    for size in (2, 5, 2, 5):
        x = _array(size)
        np.testing.assert_array_equal(compiled(x), x * 2 if size > 3 else x)
    assert f.traces == 3  # once in vain, then once per size


def test_no_more_traces_are_kept_than_kept(monkeypatch: Any) -> None:
    monkeypatch.setattr(tracing, "KEPT", 4)
    module = importlib.import_module(
        "staticgraph.tracing.functions"
    )  # the name is that of the function
    monkeypatch.setattr(module, "REMEMBERED", 2)
    f = Counted(lambda x: x * 2 if x.shape[0] > 3 else x)
    compiled = sg.function(f)
    for size in (2, 3, 4, 5, 6, 7, 2):
        assert compiled(_array(size)).shape == (size,)
    (signature,) = compiled._signatures.values()
    assert len(signature._traces._made) <= 4
    assert len(compiled._calls) <= 2


def test_declared_sizes() -> None:
    def f(x: Any, y: Any) -> Any:
        return (x * 2).reshape(-1, 6) + y

    compiled = sg.function(f, shapes={"x": ("n", 3), "y": (None, 6)})
    x, y = _array(4, 3), _array(2, 6)
    np.testing.assert_array_equal(compiled(x, y), (x * 2).reshape(-1, 6) + y)
    assert str(compiled.executable(x, y).feeds[0].type) == "float32[n, 3]"
    with pytest.raises(sg.ShapeError, match=r"feed 'x': axis 1 of .* is 4, not 3"):
        compiled(_array(3, 4), y)
    with pytest.raises(sg.OptionError, match="'y' has 1 axes, declared are"):
        compiled(x, _array(6))
    with pytest.raises(sg.OptionError, match=r"f: no array is named 'z', which is declared: \['x'"):
        sg.function(f, shapes={"z": (3,)}, name="f")(x, y)


def test_a_declared_size_does_not_fit_what_the_function_took_for_granted() -> None:
    def f(x: Any) -> Any:
        return x.sum() if x.shape[0] == 3 else x * 2

    compiled = sg.function(f, shapes={"x": ("n",)})
    np.testing.assert_array_equal(compiled(np.ones(2)), np.full(2, 2.0))
    with pytest.raises(sg.ShapeError, match="f: n and 3 are not different"):
        compiled(np.ones(3))


def test_sizes_come_out_as_numbers() -> None:
    rows, both = sg.function(lambda x: (x.shape[0], x.shape[0] * x.shape[1] + 1))(_array(2, 3))
    assert (rows, both) == (2, 7)
    assert type(rows) is type(both) is int


def test_a_callable_without_a_signature() -> None:
    x = _array(2)
    assert list(sg.function(dict)(a=x, b=x)) == ["a", "b"]


def test_python_numbers_take_the_dtype_of_what_they_meet() -> None:
    f = Counted(lambda x, rate, n=1: x * (2 * rate) + n)
    compiled = sg.function(f)
    x = _array(3)
    for rate in (0.5, 0.25, 1.5):
        result = compiled(x, rate, 3)
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, x * (2 * rate) + 3, rtol=1e-6)
    assert f.traces == 1
    assert compiled(x.astype("float64"), 0.5).dtype == np.float64
    assert compiled(np.arange(3), 2).dtype == np.int64
    assert compiled(np.arange(3), 0.5).dtype == np.float64
    assert compiled(x, np.float64(0.5)).dtype == np.float64  # NumPy's scalars are not weak


def test_static_values_are_part_of_the_key() -> None:
    before = len(_traced)
    compiled = sg.function(lambda x, *, axis, mode="a": x.sum(axis=axis) if mode == "a" else x)
    x = _array(2, 3)
    np.testing.assert_allclose(compiled(x, axis=0), x.sum(0), rtol=1e-6)
    np.testing.assert_allclose(compiled(x, axis=1), x.sum(1), rtol=1e-6)
    np.testing.assert_allclose(compiled(x, mode="b", axis=1), x)
    np.testing.assert_allclose(compiled(x, axis=1, mode="b"), x)
    assert len(_traced) - before == 3


def test_static_values_of_different_types_differ() -> None:
    f = Counted(lambda x, *, k: x * k)
    compiled = sg.function(f)
    x = np.arange(3)
    for k in (1, True, 1.0, 0.0, -0.0):
        result = compiled(x, k=k)
        assert result.dtype == (x * k).dtype
        np.testing.assert_array_equal(np.signbit(result), np.signbit(x * k))
    assert f.traces == 5


def test_positional_arguments_that_are_no_arrays_are_static() -> None:
    compiled = sg.function(lambda x, name, f: f(x) if name == "f" else x)
    x = _array(3)
    np.testing.assert_allclose(compiled(x, "f", sg.exp), np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(compiled(x, "g", sg.exp), x)


def test_a_static_value_without_a_hash_is_refused() -> None:
    with pytest.raises(sg.OptionError, match=r"scale: the argument \{1\} is of type set: neither"):
        sg.function(lambda x, *, k: x, name="scale")(_array(3), k={1})


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(sg.OptionError, match="function: 3 cannot be called"):
        sg.function(3)  # type: ignore[arg-type]


def test_what_is_no_array_cannot_come_out() -> None:
    with pytest.raises(sg.OptionError, match="f: returned a value of type bytes: a compiled"):
        sg.function(lambda x: (x, b"bytes"), name="f")(_array(3))
    layer = dynamic.nn.Linear(3, 3)
    with pytest.raises(sg.OptionError, match="f: returned a value of type module"):
        sg.function(lambda x: layer, name="f")(_array(3))
    tensor = dynamic.ones(3)
    with pytest.raises(sg.OptionError, match="f: returned an eager tensor, but no argument is one"):
        sg.function(lambda x: (x, tensor), name="f")(_array(3))


def test_tensors_of_the_surroundings_are_refused() -> None:
    tensor = dynamic.ones(3)
    with pytest.raises(sg.GraphError, match=r"an eager tensor of shape .* meets a symbolic"):
        sg.function(lambda x: x * tensor)(_array(3))


def test_a_dtype_that_no_op_has_is_refused() -> None:
    with pytest.raises(sg.DTypeError, match=r"x: an array of .S1, which no graph"):
        sg.function(lambda x: x)(_array(3, dtype="S1"))


def test_byte_order_and_layout_do_not_matter() -> None:
    compiled = sg.function(lambda x: x * 2)
    x = _array(4, 6)
    for one in (x, x.astype(">f4"), np.asfortranarray(x), x[::2, 1::2], x.T):
        np.testing.assert_array_equal(compiled(one), one * 2)


def test_errors_of_the_function_are_its_own() -> None:
    with pytest.raises(sg.ShapeError, match=r"matmul: float32\[2, 3\] @ float32\[2, 3\]: last"):
        sg.function(lambda x: x @ x)(_array(2, 3))


def test_a_compiled_function_calls_another_one() -> None:
    inner = sg.function(lambda x: sg.exp(x).sum())
    outer = Counted(lambda x: inner(x * 2) + 1)
    x = _array(3, dtype="float64")
    np.testing.assert_allclose(sg.function(outer)(x), np.exp(x * 2).sum() + 1, rtol=1e-12)


def test_on_expressions_it_is_the_function_itself() -> None:
    x = sg.placeholder("x", (None,))
    result = sg.function(lambda x: x * 2)(x)
    assert isinstance(result, sg.Expression)
    assert sg.run(result, {x: np.ones(2, "float32")}).tolist() == [2, 2]


def test_variables_are_read_at_each_call() -> None:
    w = sg.variable(np.ones(2, "float32"))
    compiled = sg.function(lambda x: x * w)
    x = _array(2)
    np.testing.assert_array_equal(compiled(x), x)
    w.value = np.full(2, 3, "float32")
    np.testing.assert_array_equal(compiled(x), x * np.float32(3))


def test_threads_share_a_function() -> None:
    compiled = sg.function(lambda x, w: sg.tanh(x @ w).sum(axis=0))

    def work(seed: int) -> bool:
        for step in range(20):
            x = _array(seed % 3 + step % 4 + 1, 3, dtype="float64", seed=seed)
            w = _array(3, seed % 2 + 1, dtype="float64", seed=step)
            np.testing.assert_allclose(compiled(x, w), np.tanh(x @ w).sum(0), rtol=1e-12)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_a_method_is_compiled_by_a_decorator() -> None:
    class Scale:
        factor = 3

        @sg.function
        def apply(self, x: Any) -> Any:
            """x, scaled."""
            return x * self.factor

    x = _array(2)
    np.testing.assert_array_equal(Scale().apply(x), x * np.float32(3))
    assert Scale.apply.__doc__ == "x, scaled."
    assert repr(Scale.apply) == "<function apply, compiled>"


def test_its_executable_can_be_read() -> None:
    def energy(x: Any, w: Any) -> Any:
        return (sg.tanh(x @ w) ** 2).sum()

    compiled = sg.function(energy)
    executable = compiled.executable(_array(2, 3), _array(3, 1))
    assert [feed.name for feed in executable.feeds] == ["x", "w"]
    assert executable.name == "energy"
    assert "tanh" in executable.source
    assert executable(_array(2, 3), _array(3, 1)) == compiled(_array(2, 3), _array(3, 1))


def test_its_traces_say_what_had_to_be_known() -> None:
    compiled = sg.function(lambda x, b: x + b, name="add")
    compiled(_array(4, 3), _array(4, 3))
    compiled(_array(4, 3), _array(1, 3))
    compiled(_array(5, 3), _array(1, 3))
    assert [str(trace) for trace in compiled.traces] == [
        "add(float32[x.0, x.1], float32[b.0, b.1]) -> float32[x.0, x.1]",
        "add(float32[x.0, x.1], float32[1, b.1]) -> float32[x.0, x.1]",
    ]


def test_names_of_arrays_in_structures() -> None:
    compiled = sg.function(lambda data, *rest, last: data["a"][1] + rest[0] * last)
    x = _array(2)
    executable = compiled.executable({"a": [x, x]}, x, last=x)
    assert [feed.name for feed in executable.feeds] == ["data['a'][1]", "argument 1", "last"]


def test_options_are_passed_on() -> None:
    compiled = sg.function(lambda x: sg.exp(x) * 2, fuse=False, name="unfused")
    executable = compiled.executable(_array(3))
    assert executable.options.fuse is False
    assert executable.name == "unfused"


@pytest.mark.parametrize("function", [sg.exp, sg.softmax, sg.sum])
def test_ops_themselves_are_compiled(function: Any) -> None:
    x = _array(3, 4, dtype="float64")
    np.testing.assert_allclose(sg.function(function)(x), function(x), rtol=1e-12)


def test_a_table_as_an_argument_is_refused_with_what_to_pass() -> None:
    class Table:
        __hash__ = None  # type: ignore[assignment]

        def to_numpy(self) -> np.ndarray:
            return np.ones(2)

    f = sg.function(lambda x: x)
    with pytest.raises(sg.OptionError, match=r"of type Table: .* to be: pass its to_numpy\(\)"):
        f(Table())
    with pytest.raises(sg.OptionError, match=r"of type set: .* to be \("):
        f({1, 2})


@pytest.mark.slow
def test_a_kernel_that_is_loaded_first_in_a_trace_is_no_effect(tmp_path: Path) -> None:
    script = """
import numpy as np
import staticgraph as sg

@sg.function
def f(x):
    y = sg.placeholder("y", (3,))
    return x * float(sg.run(sg.sum(y * 2), {y: np.ones(3, "float32")}))

print(f(np.ones(2)).tolist())
"""
    for _ in range(2):  # compiled, then placed by what knows no LLVM
        done = subprocess.run(
            [sys.executable, "-c", script],
            check=False, capture_output=True, text=True, cwd=ROOT,
            env=os.environ | {"STATICGRAPH_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        assert done.stdout == "[6.0, 6.0]\n", done.stderr


def test_methods_that_nothing_has_used_before_are_found() -> None:
    script = """
import numpy as np
import staticgraph as sg

@sg.function
def f(x):
    return (x * 2).sum(0), (x * x).max(), (x + 1).log_softmax(-1)

total, largest, _ = f(np.arange(4.0).reshape(2, 2))
print(total.tolist(), float(largest))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=False, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.stdout == "[4.0, 8.0] 9.0\n", done.stderr


class _Doubling(np.ndarray):
    def __mul__(self, other: object) -> Any:
        return 2 * np.asarray(self) * other


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_arrays_that_compute_in_their_own_way_are_refused() -> None:
    x = np.arange(4.0).reshape(2, 2)
    doubled = sg.function(lambda x: x * 2)
    with pytest.raises(sg.OptionError, match=r"of _Doubling, a class of arrays with __mul__ of"):
        doubled(x.view(_Doubling))
    m = np.asmatrix(x)
    with pytest.raises(
        sg.DTypeError, match=r"multiply: a matrix of NumPy, of which \* is a product"
    ):
        sg.function(lambda x: x * m)(x)


def test_keywords_come_in_the_order_of_the_call() -> None:
    first = sg.function(lambda **named: next(iter(named.values())))
    a, b = np.ones(2), np.zeros(2)
    assert first(a=a, b=b)[0] == first(b=a, a=b)[0] == 1.0
