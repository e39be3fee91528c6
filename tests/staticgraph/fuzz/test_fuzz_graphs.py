"""The campaign `graphs`: every op is in it, and planted defects are noticed."""

from __future__ import annotations

import collections
import json
from typing import Any

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op, op_named
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.ops.programs.effects import EFFECTS
from staticgraph.fuzz import server
from staticgraph.fuzz.graphs import CAMPAIGN, reference, rounding, special
from staticgraph.fuzz.graphs.arguments import GENERATORS, OF_COMPLEX, OF_RANDOM_NUMBERS
from staticgraph.fuzz.graphs.generate import generate
from staticgraph.fuzz.graphs.nesting import NESTING
from staticgraph.fuzz.graphs.program import bodies, mend
from staticgraph.fuzz.graphs.reference import REFERENCE
from staticgraph.fuzz.graphs.script import script
from staticgraph.fuzz.graphs.simplify import simplify
from staticgraph.fuzz.graphs.undefined import UndefinedError
from staticgraph.fuzz.graphs.user import USER
from staticgraph.fuzz.graphs.values import array, laid_out

LEAVES = {op.name for op in vars(leaves).values() if isinstance(op, Op)}
LOOPS = {op.name for op in vars(control).values() if isinstance(op, Op)}


def test_every_op_has_a_generator_and_a_meaning_in_numpy() -> None:
    names = {op_named(name).name for name in ops.LIBRARY} | {*ops.PUBLIC, *ops.LINALG}
    names -= {"pow", *LEAVES, *LOOPS, "checkpoint"}
    names -= {op.name for op in EFFECTS}  # which do something: tests/compiler/transforms has them
    names -= OF_RANDOM_NUMBERS | OF_COMPLEX
    assert names - GENERATORS.keys() == set()
    assert names - REFERENCE.keys() == set()
    assert (LOOPS - {"item"}) | {"checkpoint"} <= NESTING.keys()


def test_ops_of_users_are_in_programs_too() -> None:
    assert USER.keys() <= GENERATORS.keys() & REFERENCE.keys()
    x = np.array([[0.5, -3.0, 1.0, np.nan], [-0.25, np.inf, 0.0, -1.0]])
    for name, op in USER.items():
        np.testing.assert_array_equal(op(x), REFERENCE[name](x), strict=True)
    program = {"seed": 0, "cases": [], "steps": [
        {"name": "x", "leaf": "input", "shape": [2], "dtype": "float32"},
        {"name": "y", "op": "softened", "args": ["$x"], "options": {}}, {"output": "$y"},
    ]}  # fmt: skip
    text = script(program)
    assert "from staticgraph.fuzz.graphs.user import USER" in text
    assert "y = USER['softened'](x)" in text


def _ops(given: Any) -> collections.Counter[str]:
    steps = [*given["steps"], *(step for body in bodies(given["steps"]) for step in body["steps"])]
    return collections.Counter(step["op"] for step in steps if "op" in step)


def test_programs_are_of_many_kinds() -> None:
    programs = [generate(seed) for seed in range(60)]
    made = sum(map(_ops, programs), collections.Counter())
    assert len(made) > 60
    steps = [step for program in programs for step in program["steps"]]
    assert {step["leaf"] for step in steps if "leaf" in step} == {"input", "variable", "constant"}
    assert any("gradients" in step for step in steps)
    assert any("update" in step for step in steps)
    assert {program["mixed"] for program in programs} == {True, False}
    assert json.loads(json.dumps(programs)) == programs


@pytest.mark.parametrize("layout", range(1, 60))
def test_an_input_may_lie_in_any_way(layout: int) -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    view = laid_out(values, layout)
    assert (view.shape, view.dtype) == (values.shape, values.dtype)
    shared = any(stride == 0 for stride in view.strides) or len(set(view.strides)) == 1
    assert shared or np.array_equal(view, values)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64"])
@pytest.mark.parametrize("values", ["plain", "extreme", "ones", "count"])
def test_values_are_those_of_the_step_and_the_case(dtype: str, values: str) -> None:
    step = {"name": "x", "shape": ["n", 2], "dtype": dtype, "values": values}
    one, other = (array(step, {"n": n}, 3) for n in (4, 5))
    assert one.shape == (4, 2)
    assert other.shape == (5, 2)
    assert one.dtype == dtype
    np.testing.assert_array_equal(one, array(step, {"n": 4}, 3))


def leaf(name: str, kind: str = "input", shape: Any = ("n",), dtype: str = "float64") -> Any:
    shape = [size if kind == "input" else 3 for size in shape]
    return {"name": name, "leaf": kind, "shape": shape, "dtype": dtype, "values": "plain"}


def program(*steps: Any, mode: str = "compiled", **more: Any) -> Any:
    cases = [{"sizes": {"n": n, "m": 2}, "layout": 0} for n in (3, 70)]
    return {"steps": list(steps), "seed": 0, "cases": cases, "mixed": False, "mode": mode, **more}


def op(name: str, function: str, *args: Any, **options: Any) -> Any:
    return {"name": name, "op": function, "args": list(args), "options": options}


SINE = program(leaf("x"), op("a", "sin", "$x"), op("b", "multiply", "$a", "$x"), {"output": "$b"})


def test_what_is_right_is_right() -> None:
    assert server.run(CAMPAIGN, {"program": SINE}) is None


@pytest.mark.parametrize("error", [1e-5, 3e-14])
def test_a_wrong_evaluation_is_noticed(error: float) -> None:
    right = ops.sin.evaluate
    object.__setattr__(ops.sin, "evaluate", lambda x: right(x) * (1 + error))
    try:
        found = server.run(CAMPAIGN, {"program": SINE})
    finally:
        object.__setattr__(ops.sin, "evaluate", right)
    assert found is not None
    assert found.startswith("NumPy differs from the interpreter\nroot 0")


SINE_OF = {"body": {"params": ["p"], "steps": [op("q", "sin", "$p"), op("r", "sum", "$q")],
                    "returns": "$r"}}  # fmt: skip


@pytest.mark.parametrize(
    "steps",
    [
        [*SINE["steps"][1:3], op("s", "sum", "$b"),
         {"name": ["g"], "gradients": "$s", "wrt": ["$x"]}, {"output": "$g"}],
        [op("g", "grad", SINE_OF, "$x"), {"output": "$g"}],
        [op("g", "jacobian", SINE_OF, "$x"), {"output": "$g"}],
        [{**op("", "jvp", SINE_OF, "$x", "$x"), "name": ["o", "t"]}, {"output": "$t"}],
    ],
    ids=["gradients", "grad", "jacobian", "jvp"],
)  # fmt: skip
def test_a_wrong_rule_is_noticed(steps: Any) -> None:
    rule = ops.sin.vjp
    object.__setattr__(ops.sin, "vjp", (lambda g, o, a: g * ops.sin(a),))
    try:
        found = server.run(CAMPAIGN, {"program": program(leaf("x"), *steps)})
    finally:
        object.__setattr__(ops.sin, "vjp", rule)
    assert found is not None
    # eager tensors may have a rule of their own, which is right
    assert found.startswith(("a derivative differs from difference quotients", "eager differs"))


def test_a_wrong_kernel_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE", "0")  # it may have the right one
    lowering = ops.sin.lowering
    wrong = type(lowering)("({0} + {0} * {0} * 1e-13)")
    object.__setattr__(ops.sin, "lowering", wrong)
    try:
        found = server.run(CAMPAIGN, {"program": SINE})
    finally:
        object.__setattr__(ops.sin, "lowering", lowering)
    assert found is not None
    assert found.startswith("compiled differs from the interpreter")


def test_rounding_allows_what_cancels_and_no_more() -> None:
    steps = [leaf("x"), op("a", "add", "$x", 1e8), op("b", "subtract", "$a", 1e8)]
    assert server.run(CAMPAIGN, {"program": program(*steps, {"output": "$b"})}) is None
    one = np.array([1.0, np.inf, np.nan, -np.inf])
    np.testing.assert_array_equal(rounding.distance(one, one), 0)
    other = np.array([1.5, -np.inf, 1.0, np.nan])
    np.testing.assert_array_equal(rounding.distance(one, other), [0.5, np.inf, np.inf, np.inf])


def test_what_depends_on_the_order_of_a_sum_is_not_defined() -> None:
    big = np.finfo(np.float64).max
    with pytest.raises(reference.UndefinedError):
        reference.apply("sum", np.array([big, big, -big]))


def test_a_step_left_out_takes_what_reads_it_along() -> None:
    assert mend(program(*SINE["steps"][1:])) is None
    steps = [*SINE["steps"], leaf("y"), {"output": "$x"}]
    mended = mend(program(*(steps[:1] + steps[2:])))
    assert mended is not None
    assert mended["steps"] == [leaf("x"), {"output": "$x"}]


@pytest.mark.slow
def test_simplifications_are_programs_that_run() -> None:
    for seed in range(12):
        for number, simpler in enumerate(simplify({**generate(seed), "mode": "interpreted"})):
            if number % 9 == 0 and (mended := mend(simpler)) is not None:
                compile(script(mended), "script", "exec")
                text = server.run(CAMPAIGN, {"program": mended}) or ""
                assert not text.startswith(("KeyError", "AttributeError", "AssertionError"))


def test_a_script_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    text = script(SINE)
    exec(compile(text, "script", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[1]
    assert text.count("print(f(*arrays))") == 2


def test_series_of_references_are_left_where_they_have_not_converged() -> None:
    with pytest.raises(UndefinedError):
        special.gammainc(np.array([0.5]), np.array([256.0]))
    with pytest.raises(UndefinedError):
        special.bessel(0, False)(np.array([-np.inf]))
    assert special.gammainc(np.array([0.5]), np.array([np.inf])) == 1
    assert special.bessel(0, True)(np.array([-np.inf])) == 0
