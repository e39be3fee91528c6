"""The loop IR: its text, how text is read, and what is asked of it."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, strategies as st

from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.ir.parse import SIGNS, TYPES, parsed_function, parsed_template
from staticgraph.compiler.ir.records import (
    ONE,
    ZERO,
    Assign,
    Binary,
    Call,
    Cast,
    CastLike,
    Const,
    Evaluate,
    Expr,
    For,
    Function,
    Hole,
    If,
    Load,
    Name,
    Parameter,
    Return,
    Select,
    Store,
    Unary,
    While,
)
from staticgraph.compiler.ir.sizes import times, total_of
from staticgraph.compiler.ir.text import expression, function
from staticgraph.compiler.ir.verify import verify
from staticgraph.compiler.ir.walk import block_names, calls, filled, names, parts, statements
from staticgraph.compiler.llvm.native import compile_native
from tests.graphs import DEFINITIONS, kernel

NAMES = st.sampled_from(["a", "b2", "i0", "n1"])
NUMBERS = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False), st.just(float("-inf"))
)
SIGNED = st.sampled_from(sorted(SIGNS.values()))


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(Binary, SIGNED, inner, inner),
        st.builds(Unary, st.just("not"), inner),
        st.builds(Unary, st.just("-"), inner.filter(lambda one: not isinstance(one, Const))),
        st.builds(Cast, st.sampled_from(sorted(TYPES)), inner),
        st.builds(CastLike, NAMES.map(Name), inner),
        st.builds(Select, inner, inner, inner),
        st.builds(Call, st.just("exp"), st.tuples(inner)),
        st.builds(Call, st.just("maximum"), st.tuples(inner, inner)),
        st.builds(Load, NAMES.map(Name), inner),
    )


EXPRESSIONS = st.recursive(st.one_of(NAMES.map(Name), NUMBERS.map(Const)), _larger, max_leaves=12)
BOUNDS = st.one_of(st.integers().map(Const), _larger(NAMES.map(Name)))
SIMPLE = st.one_of(
    st.builds(Assign, NAMES, EXPRESSIONS),
    st.builds(Store, NAMES.map(Name), EXPRESSIONS, EXPRESSIONS),
    st.builds(Evaluate, st.builds(Call, st.just("gemm_f32"), st.tuples(EXPRESSIONS))),
    st.builds(Return, EXPRESSIONS),
)


def _around(inner: st.SearchStrategy) -> st.SearchStrategy:
    block = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(For, NAMES, BOUNDS, BOUNDS, block, st.sampled_from([ONE, Const(8)])),
        st.builds(While, EXPRESSIONS, block),
        st.builds(If, EXPRESSIONS, block, st.one_of(st.just(()), block)),
    )


FUNCTIONS = st.builds(
    Function,
    st.just("unit_0"),
    st.just((Parameter("b0", "p_f32"), Parameter("n0", "i64"))),
    st.lists(st.recursive(SIMPLE, _around, max_leaves=4), min_size=1, max_size=3).map(tuple),
)


@pytest.mark.slow
@given(FUNCTIONS)
def test_text_reads_back_as_what_was_printed(one: Function) -> None:
    # by their text: -0.0, 0 and False are equal numbers, and other constants
    assert repr(parsed_function(function(one))) == repr(one)


@given(EXPRESSIONS)
def test_there_is_no_parenthesis_more_than_python_needs(one: Expr) -> None:
    assert len(expression(one)) <= len(ast.unparse(ast.parse(expression(one))))


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_units_of_kernels_are_their_text(name: str) -> None:
    made = kernel(DEFINITIONS[name]())
    for unit, text in zip(made.units, made.texts, strict=True):
        assert function(unit) == text
        assert repr(parsed_function(text)) == repr(unit)


def test_what_is_not_of_the_language_is_refused() -> None:
    for line in (
        "a, b = 1, 2",
        "import os",
        "a = [1]",
        "a = b if c else d",
        "a = x.y",
        "a = 1 < b < 2",
    ):
        with pytest.raises(NotImplementedError):
            parsed_function(f"def unit():\n    {line}\n")


def test_templates_have_holes() -> None:
    found = parsed_template("select({0} > {t}(0), {0}, {1})", t="f32")
    whole = filled(found, {"0": Name("v1"), "1": Name("v2") + ONE})
    assert expression(whole) == "select(v1 > f32(0), v1, v2 + 1)"
    assert Hole("1") in parts(found)
    with pytest.raises(KeyError):
        filled(found, {"0": Name("v1")})


def test_what_is_asked_of_records() -> None:
    loop = For("i", ZERO, Name("n"), (Assign("a", Call("exp", (Load(Name("b"), Name("i")),))),))
    unit = (loop, If(Name("c"), (Return(ZERO),), (Assign("d", ONE),)))
    assert block_names(unit) == {"n", "b", "i", "c"}
    assert [type(one).__name__ for one in statements(unit)] == [
        "For", "Assign", "If", "Return", "Assign",
    ]  # fmt: skip
    inner = Cast("f32", Call("exp", (Call("exp", (Name("x"),)),)))
    assert calls(inner) == ["exp", "exp"]
    assert names(inner) == {"x"}


def test_places_have_no_terms_of_0_nor_factors_of_1() -> None:
    i, n = Name("i"), Name("n")
    assert expression(total_of([times(i, n), ZERO, times(i, ONE), times(n, ZERO)])) == "i * n + i"
    assert total_of([]) == ZERO


def _looping(*inside: Any, behind: Any = ()) -> Function:
    loop = For("i", ZERO, Name("n"), inside)
    return Function("unit_0", (Parameter("p", "p_f64"), Parameter("n", "i64")), (loop, *behind))


STORE = Store(Name("p"), Name("i"), Const(1.0))
KEPT = [
    _looping(STORE, behind=[For("i", ZERO, ONE, (STORE,))]),
    _looping(STORE, behind=[Assign("i", ONE), STORE]),
    _looping(Assign("j", Name("i")), Store(Name("p"), Name("j"), Const(1.0))),
]
BROKEN = [
    ("assigned inside its loop", _looping(STORE, Assign("i", Name("i") + ONE))),
    ("assigned inside its loop", _looping(If(Name("n"), (Assign("i", ONE),)), STORE)),
    ("the variable of another loop", _looping(For("i", ZERO, ONE, (STORE,)))),
    ("read behind its loop", _looping(STORE, behind=[STORE])),
    ("read behind its loop", _looping(STORE, behind=[While(Binary("<", Name("i"), ONE), ())])),
]


def test_loop_variables_are_only_that() -> None:
    for unit in KEPT:
        verify(unit)
        assert compile_native([unit])
    for what, unit in BROKEN:
        with pytest.raises(GraphError, match=f"unit_0: internal error: .*'i' is {what}"):
            compile_native([unit])
