"""`diff`: both paradigms on the same inputs, value by value."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.differences.records import Diff, Row
from staticgraph.differences.rows import numbered
from staticgraph.dynamic.kernels import native

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(3)
X, W = RNG.normal(size=(16, 8)).astype("f4"), RNG.normal(size=(8, 5)).astype("f4")


def energy(x: Any, w: Any) -> Any:
    h = sg.tanh(x @ w)
    return {"loss": -sg.mean(sg.log(sg.softmax(h))), "h": h}


@pytest.fixture(scope="module")
def found() -> Diff:
    return sg.diff(energy, X, W)


def test_every_value_has_a_row_with_its_line(found: Diff) -> None:
    assert [row.op for row in found.values] == [
        "matmul", "tanh", "softmax", "log", "mean", "negative",
    ]  # fmt: skip
    first = energy.__code__.co_firstlineno
    lines = [row.line for row in found.values]
    assert lines == [f"{__file__}:{first + i}" for i in (1, 1, 2, 2, 2, 2)]
    assert [row.op for row in found.results] == ["output 0", "output 1"]
    assert found.values[0].types == ("float32[16, 5]", "float32[16, 5]")


def test_rounding_is_no_divergence(found: Diff) -> None:
    assert found.agrees
    assert found.divergence is None
    assert not all(row.equal for row in found.values)  # exp and tanh are not NumPy's
    for row in found.rows():
        assert row.equal == (row.ulp == 0 and row.where is None)
        assert row.share < 1
    assert "nothing is farther apart than rounding explains; equal bits in " in found.verdict
    tight = dataclasses.replace(found, bound=0.0)
    assert tight.divergence is not None
    assert tight.divergence.op == next(row.op for row in found.values if not row.equal)


def test_the_table_has_a_row_per_value_and_the_verdict(found: Diff) -> None:
    lines = str(found).splitlines()
    assert lines[0].split()[:2] == ["value", "line"]
    assert len(lines) == 1 + len(found.values) + len(found.results) + 1
    assert lines[1].startswith("matmul ")
    assert lines[-1] == found.verdict


def test_exact_has_equal_bits_in_everything_that_is_computed() -> None:
    for f in (energy, sg.function(energy)):
        found = sg.diff(f, X, W, exact=True, gradient=True)
        assert all(row.equal for row in found.rows())
        assert found.agrees
        assert found.verdict == f"energy: equal bits in {len(found.values)} values, 4 results"
        assert {row.op for row in found.results} == {
            "output 0", "output 1", "gradient by x", "gradient by w",
        }  # fmt: skip
    assert native.state.enabled


def test_gradients_are_compared_with_those_of_backward() -> None:
    layer = dynamic.nn.Sequential(dynamic.nn.Linear(8, 4), dynamic.nn.LayerNorm(4))
    found = sg.diff(layer, X, gradient=True)
    assert found.agrees, str(found)
    assert [row.op for row in found.results] == [
        "output 0", "gradient by input", "gradient by 0.weight", "gradient by 0.bias",
        "gradient by 1.weight", "gradient by 1.bias",
    ]  # fmt: skip
    assert any(row.title.startswith("sum, gradient of") for row in found.values)
    assert all(one.grad is None for one in layer.parameters())


def test_what_cancels_is_not_far_apart() -> None:
    # the sum of deviations is 0 but for rounding: in units of itself it is anything
    found = sg.diff(lambda x: (x - x.mean()).sum(), X)
    assert max(row.ulp for row in found.values) > 1000
    assert found.agrees, str(found)


def test_an_executable_is_compared_with_its_graph() -> None:
    x = sg.placeholder("x", (None, 8))
    w = sg.variable(W.copy(), "w")
    loss = sg.mean(sg.square(sg.tanh(x @ w)))
    train = sg.compile([x], loss, updates=sg.optim.SGD(lr=0.1).minimize(loss), name="train")
    for options in ({}, {"exact": True}):
        found = sg.diff(train, X, **options)
        assert found.agrees, str(found)
        assert [row.op for row in found.results] == ["output 0", "update of w"]
        np.testing.assert_array_equal(w.value, W)
        assert found.captured == ()
    named = sg.diff(train, x=X)
    assert named.name == "train"
    with pytest.raises(sg.OptionError, match="train is compiled: its gradients are compared if"):
        sg.diff(train, X, gradient=True)
    with pytest.raises(sg.DTypeError):
        sg.diff(train, X.astype("f8"))


def test_a_wrong_kernel_diverges_first_where_it_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = sg.compile

    def wrong(inputs: Any, outputs: Any, **options: Any) -> Any:
        if isinstance(outputs, list):
            place = next((i for i, one in enumerate(outputs) if one.op.name == "softmax"), None)
            if place is not None:
                outputs[place] = outputs[place] * (1 + 1e-4)
        return compiled(inputs, outputs, **options)

    monkeypatch.setattr("staticgraph.tracing.parts.compile", wrong)
    found = sg.diff(energy, X, W)
    assert found.divergence is not None
    assert found.divergence.op == "softmax"
    line = f"{Path(__file__).name}:{energy.__code__.co_firstlineno + 2}"
    assert "energy: the first value that is far apart is softmax (" in found.verdict
    assert line in found.verdict
    assert not found.agrees
    exact = sg.diff(energy, X, W, exact=True)
    assert exact.divergence is not None
    assert exact.divergence.op == "softmax"


def test_a_graph_that_is_not_the_function_is_told() -> None:
    calls = [0]

    def counts(x: Any) -> Any:
        calls[0] += 1
        return x * float(calls[0])

    try:
        found = sg.diff(counts, X)
    except sg.StaticGraphError as error:  # capture may refuse what is no function of its arguments
        assert "test_diff.py" in str(error)
        return
    assert not found.agrees
    assert found.misses is not None
    assert "counts: the graph that was captured is not the function: output 0" in found.verdict


def test_loops_branches_and_numbers() -> None:
    def f(xs: Any, scale: float, power: int = 2) -> Any:
        last, ys = sg.scan(lambda h, x: (sg.tanh(h + x), h * scale), xs[0] * 0, xs)
        return sg.cond(last.sum() > 0, lambda v: sg.exp(v), lambda v: v, last), ys**power

    for exact in (False, True):
        found = sg.diff(f, X, 0.5, power=3, exact=exact, gradient=True)
        assert found.agrees, str(found)
    assert {"item", "power"} <= {row.op for row in found.values}
    assert [row.op for row in found.results][-1] == "gradient by xs"


def test_a_branch_on_a_value_of_which_one_side_is_the_argument() -> None:
    def clipped(x: Any) -> Any:
        return x / x.norm() if x.norm() > 1 else x

    for scale in (0.1, 10.0):
        found = sg.diff(clipped, np.full(3, scale))
        assert found.agrees, str(found)
        assert [row.op for row in found.results] == ["output 0"]


def test_integers_and_values_of_other_types_differ_whole() -> None:
    found = sg.diff(lambda x: (sg.argmax(x, axis=1), x > 0), X)
    assert found.verdict.endswith("equal bits in 3 values, 2 results") or all(
        row.equal for row in found.rows()
    )
    row = Row(
        "add", "total", "a.py:3", ("float32[2]", "float64[2]"), False, np.inf, np.inf, None, None
    )
    assert str(row) == "add (a.py:3): float32[2] eagerly, float64[2] compiled"
    assert row.cells()[-1] == "compiled: float64[2]"
    assert row.title == "add 'total'"


def test_prints_and_checks_happen_in_the_eager_run_alone(capsys: Any) -> None:
    def f(x: Any) -> Any:
        total = sg.sum(x * 0.1)
        sg.print("the sum is", total)
        sg.check((x * 1.0)[0, 0] == X[0, 0], "the same", total)  # but for rounding
        return x - total

    found = sg.diff(f, X)
    assert capsys.readouterr().out.count("the sum is") <= 2  # and when it is captured
    assert found.agrees
    assert not {"print", "check", "after"} & {row.op for row in found.values}


def test_tensors_that_are_no_arguments() -> None:
    layer = dynamic.nn.BatchNorm1d(8).eval()
    found = sg.diff(lambda x: (layer(x), x.T), X, gradient=True)  # tensors that are no arguments
    assert found.agrees, str(found)
    assert len(found.results) == 5
    assert sg.diff(layer, X).agrees


def test_inputs_are_left_alone() -> None:
    given = dynamic.tensor(X, requires_grad=True)

    def doubles(x: Any) -> Any:
        y = x.clone()
        y *= 2
        return y

    found = sg.diff(doubles, given, gradient=True)
    assert found.agrees
    assert given.grad is None
    np.testing.assert_array_equal(given.detach().numpy(), X)


def test_functions_that_cannot_be_captured_are_refused_with_their_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reads(x: Any) -> Any:
        return x * float(x.sum())

    with pytest.raises(sg.CaptureError, match=r"test_diff.py:\d+"):
        sg.diff(reads, X)

    def fails(*args: Any, **kwargs: Any) -> Any:
        raise KeyError("no tensor")

    monkeypatch.setattr("staticgraph.tracing.functions.Function._call_of", fails)
    with pytest.raises(sg.CaptureError, match=r"diff: energy runs eagerly, but no graph.*KeyError"):
        sg.diff(energy, X, W)


def test_what_it_cannot_do_is_said() -> None:
    with pytest.raises(sg.OptionError, match="diff: 3 is neither a function nor an executable"):
        sg.diff(3)
    with pytest.raises(sg.OptionError, match=r"executable: np.diff has differences along an axis"):
        sg.diff(X)
    with pytest.raises(sg.OptionError, match="diff: the bound is a number of units, not -1"):
        sg.diff(energy, X, W, bound=-1)
    with pytest.raises(sg.OptionError, match="no output is a floating-point array"):
        sg.diff(lambda x: sg.argmax(x), X, gradient=True)
    with pytest.raises(sg.OptionError, match="no output depends on a floating-point input"):
        sg.diff(lambda x: x.astype("float32"), np.arange(3), gradient=True)
    with pytest.raises(sg.ShapeError):  # as the function itself raises
        sg.diff(energy, X, W[1:])


def test_wrong_options_and_sizes_are_told_as_a_call_tells_them() -> None:
    x = sg.placeholder("x", (None, 3), "float64")
    f = sg.compile([x], x * np.ones(3))
    with pytest.raises(sg.ShapeError, match=r"feed 'x': axis 1 of \[0, 2\] is 2, not 3"):
        sg.diff(f, np.ones((0, 2)))
    for option in ("exact", "gradient"):
        with pytest.raises(sg.OptionError, match=f"diff: {option} is True or False, not 'yes'"):
            sg.diff(f, np.ones((1, 3)), **{option: "yes"})  # type: ignore[arg-type]


def test_sums_that_cancel_move_by_what_their_terms_may() -> None:
    # both sums round, each in its own order, and five draws may all be small
    v = np.random.default_rng(1).normal(size=3000).astype("float32")
    for scale in (1, 1000):
        found = sg.diff(
            lambda x: x.sum() - sg.flip(x, 0).sum() + (x - sg.flip(x, 0)).sum(), v * scale
        )
        assert found.agrees, str(found)


def test_values_of_an_unrolled_loop_are_told_apart() -> None:
    def unrolled(x: Any) -> Any:
        for _ in range(3):
            x = sg.tanh(x @ W[:, :1])[:, :1] * np.ones((1, 8), "f4")
        return x.sum()

    found = sg.diff(unrolled, X)
    titles = [row.title for row in found.values]
    products = [one for one in titles if one.startswith("matmul")]
    assert products == ["matmul, 1st of 3", "matmul, 2nd of 3", "matmul, 3rd of 3"]
    assert titles[-1] == "sum"
    assert "most apart, as a share of what rounding explains, is " in found.verdict
    some = found.values[0]
    many = [row.nth for row in numbered(112 * [dataclasses.replace(some, nth="")])]
    assert [many[i] for i in (0, 10, 20, 111)] == [
        f"{one} of 112" for one in ("1st", "11th", "21st", "112th")
    ]
