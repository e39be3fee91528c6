"""`executable.explain(...)`: what is said of programs of which it is known what must be said."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.inspect.explanation import KINDS, ExplainedOp


def texts(found: Any, op: str, kind: str) -> list[str]:
    """What is said of one kind of the ops of a name."""
    return [fact.text for one in found if one.op == op for fact in one.of(kind)]


def rules(found: Any, op: str, kind: str = "rewritten") -> list[str]:
    return [fact.by for one in found if one.op == op for fact in one.of(kind)]


def vector(name: str = "x", *shape: int) -> Any:
    return sg.placeholder(name, shape or (None,), "float64")


def test_a_rule_is_named_with_what_it_made() -> None:
    x = vector()
    found = sg.compile([x], sg.log1p(sg.exp(x))).explain()
    assert rules(found, "log1p") == ["log1p_of_exp"]
    assert texts(found, "log1p", "rewritten") == ["log1p(exp(x)) -> softplus(x)"]
    (log1p,) = (one for one in found if one.op == "log1p")
    assert log1p.becomes == ("softplus",)


def test_what_is_read_no_more_is_dropped_and_its_reader_is_named() -> None:
    x = vector()
    found = sg.compile([x], sg.log1p(sg.exp(x))).explain("exp")
    (text,) = texts(found, "exp", "dropped")
    assert text.startswith("nothing reads it any more: log1p (test_explain.py:")
    assert next(iter(found)).becomes == ()


def test_a_rule_that_is_switched_off_says_nothing() -> None:
    x = vector()
    found = sg.compile([x], sg.log1p(sg.exp(x)), disable=["log1p_of_exp"]).explain()
    assert rules(found, "log1p") == []
    assert texts(found, "exp", "dropped") == []


def test_constants_are_folded() -> None:
    x = vector()
    found = sg.compile([x], x * sg.exp(sg.constant(np.float64(0.0)))).explain("exp")
    assert texts(found, "exp", "folded") == ["exp(0) -> 1"]
    assert texts(found, "exp", "memory") == []
    assert rules(found, "exp", "folded") == ["fold_constants"]


def test_composites_are_expanded() -> None:
    x = vector("x", 4, 5)
    (one,) = sg.compile([x], sg.softmax(x)).explain("softmax")
    assert one.becomes == ("max", "subtract", "exp", "sum", "divide")
    assert {fact.kind for fact in one.facts} >= {"expanded", "group", "memory"}
    assert {fact.text for fact in one.of("group")} == {"0"}


def test_equal_ops_of_two_lines_are_merged_and_each_line_says_so() -> None:
    x = vector()
    first = sg.exp(x)
    second = sg.exp(x) * 2.0
    f = sg.compile([x], first + second)
    line = second.source
    (there,) = (one for one in f.explain(line) if one.op == "exp")
    (text,) = (fact.text for fact in there.of("merged"))
    assert text == f"computed once, with exp ({first.source.rpartition('/')[2]})"
    assert there.number == next(iter(f.explain(first.source))).number


def test_what_becomes_equal_is_merged() -> None:
    x = vector()
    found = sg.compile([x], (sg.exp(x * 1.0), sg.exp(x) + 1.0)).explain()
    assert rules(found, "multiply") == ["multiply_by_one"]
    (text,) = texts(found, "exp", "merged")
    assert text.startswith("computed once, with exp (test_explain.py:")


def test_what_is_fused_and_where_it_lies() -> None:
    x = vector("x", 1000)
    found = sg.compile([x], sg.sum(sg.exp(x) * 2.0)).explain()
    assert texts(found, "exp", "group") == texts(found, "sum", "group") == ["0"]
    assert "exp (test_explain.py:" in found.groups["0"]
    assert "sum (test_explain.py:" in found.groups["0"]
    assert texts(found, "placeholder", "memory") == ["input 0"]
    assert texts(found, "sum", "memory") == ["output 0"]
    assert texts(found, "exp", "memory") == ["none: computed where it is read"]


def test_why_a_product_and_what_follows_are_apart() -> None:
    x, w = vector("x", 64, 32), vector("w", 32, 16)
    found = sg.compile([x, w], sg.tanh(x @ w)).explain()
    (text,) = texts(found, "tanh", "apart")
    assert text.startswith("not with matmul (test_explain.py:")
    assert text.endswith(": computed as one product, as a whole")
    (memory,) = texts(found, "matmul", "memory")
    assert memory == "output 0"  # whose memory tanh takes
    (memory,) = texts(found, "tanh", "memory")
    assert memory.startswith("output 0, in place of matmul (")


def test_a_product_reads_from_memory() -> None:
    x, w = vector("x", 64, 32), vector("w", 32, 16)
    found = sg.compile([x, w], sg.exp(x) @ w).explain()
    (text,) = texts(found, "matmul", "apart")
    assert text.endswith(": a product reads its operands from memory, as a whole")
    assert texts(found, "exp", "memory") == ["arena: 16384 bytes at 0"]


def test_what_is_needed_whole_is_apart() -> None:
    x = vector("x", 30)
    found = sg.compile([x], sg.sum(x) + sg.flip(sg.cumsum(sg.exp(x)), 0)).explain("add")
    assert any("whole" in text for text in texts(found, "add", "apart"))


def test_fusion_that_is_switched_off_is_the_reason() -> None:
    x = vector()
    found = sg.compile([x], sg.exp(sg.sin(x)), fuse=False).explain("exp")
    (text,) = texts(found, "exp", "apart")
    assert text.endswith(": fusion is switched off")


def test_a_full_group_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from staticgraph.compiler.schedule import group_limits

    monkeypatch.setattr(group_limits, "MOST_STATEMENTS", 2)
    x = vector()
    one = sg.sin(x)
    other = sg.exp(one)
    found = sg.compile([x], (one, other, sg.tanh(other))).explain("tanh")
    (text,) = texts(found, "tanh", "apart")
    assert text.endswith(": the group is full: it would have more than 2 statements")


def test_other_loops_and_other_places_are_reasons() -> None:
    x = vector("x", 6, 5)
    y = sg.exp(x)
    found = sg.compile([x], (y, sg.transpose(y) + 1.0)).explain("add")
    (text,) = texts(found, "add", "apart")
    assert text.endswith(": other loops: its shape is not that of the group")
    x = vector("x", 5, 5)
    y = sg.exp(x)
    found = sg.compile([x], (y, sg.transpose(y) + 1.0)).explain("add")
    (text,) = texts(found, "add", "apart")
    assert text.endswith(": read at other places than those where it is computed")


def test_scratch_rows() -> None:
    x = vector("x", 40, 50)
    found = sg.compile([x], sg.softmax(sg.tanh(x))).explain()
    rows = [fact for one in found for fact in one.of("memory") if "row of scratch" in fact.text]
    assert rows
    assert all("arena: 400 bytes at " in fact.text for fact in rows)


def test_updates_are_written_over_their_variables() -> None:
    w = sg.variable(np.ones(5), name="w")
    x = vector("x", 5)
    found = sg.compile([x], [], updates={w: w - 0.1 * x}).explain()
    (memory,) = texts(found, "subtract", "memory")
    assert memory.startswith("written over variable 'w' (test_explain.py:")
    assert texts(found, "variable", "memory") == ["the array of the variable"]


def test_sums_of_a_product_and_a_variable_are_one_step() -> None:
    w = sg.variable(np.ones((8, 9)), name="w")
    x, g = vector("x", 7, 8), vector("g", 7, 9)
    found = sg.compile([x, g], [], updates={w: w - 0.1 * (x.T @ g)}).explain()
    for op in ("subtract", "matmul"):
        assert rules(found, op) == ["accumulate_products"]
    (one,) = (one for one in found if one.op == "subtract")
    assert one.becomes == ("gemm",)


def test_values_of_the_forward_pass_that_are_computed_again() -> None:
    x, w = vector("x", 300, 40), sg.variable(np.ones((40, 50)), name="w")
    b = sg.variable(np.ones(50), name="b")
    v = sg.variable(np.ones((50, 3)), name="v")
    h = x @ w + b
    y = sg.silu(h) @ v
    loss = sg.mean(y * y)
    grads = {one: one - 0.1 * sg.grad(loss, one) for one in (w, b, v)}
    found = sg.compile([x], loss, updates=grads).explain()
    again = [fact for one in found for fact in one.of("recomputed")]
    assert again
    assert {fact.by for fact in again} == {"recompute_values"}
    assert all("computed again where it is read, not kept" in fact.text for fact in again)


def scanned() -> tuple[Any, Any]:
    xs, w = vector("xs", 50, 8, 16), sg.variable(np.ones((16, 16)), name="w")

    def step(h: Any, x: Any) -> Any:
        scale = sg.exp(w)
        h = sg.tanh(h @ w + x @ scale)
        return h, h * 2.0

    last, ys = sg.scan(step, sg.zeros((8, 16), "float64"), xs)
    loss = last.sum() + ys.sum()
    return sg.compile([xs], loss), sg.compile([xs], sg.grad(loss, w))


def test_what_leaves_a_loop_says_so() -> None:
    forward, backward = scanned()
    found = forward.explain()
    assert rules(found, "exp", "hoisted") == ["hoist_invariants"]
    assert "hoist_products" in rules(found, "matmul", "hoisted")
    (one,) = (one for one in found if one.op == "exp")
    assert one.inside.startswith("scan (test_explain.py:")
    assert one.inside.endswith(", body")
    (group,) = one.of("group")
    assert "." not in group.text  # outside of the loop
    (tanh,) = (one for one in found if one.op == "tanh")
    assert {"." in fact.text for fact in tanh.of("group")} == {True}
    gradients = backward.explain()
    assert "sink_sums" in rules(gradients, "matmul", "sunk")
    assert any("loop or branch" in fact.text for one in gradients for fact in one.of("memory"))


def test_branches_and_their_unused_results() -> None:
    x = vector("x", 4)
    yes, _ = sg.cond(sg.sum(x) > 0, lambda a: (sg.exp(a), sg.sin(a)), lambda a: (a, a + 1.0), x)
    found = sg.compile([x], yes).explain()
    assert rules(found, "sin", "dropped") == ["prune_loops"]
    (one,) = (one for one in found if one.op == "exp")
    assert one.inside.endswith(", on_true")


def test_gradients_belong_to_the_line_of_what_they_are_of() -> None:
    x = vector()
    y = sg.exp(sg.sin(x))
    f = sg.compile([x], sg.grad(sg.sum(y), x))
    found = f.explain(y.source)
    assert {one.gradient_of for one in found} >= {"exp", "sin"}
    assert {one.line for one in found} == {y.source}
    assert "gradient of exp" in str(found)


def test_it_is_asked_by_line_name_node_and_expression() -> None:
    x = vector()
    y = sg.exp(x)
    f = sg.compile([x], sg.sin(y), name="f")
    short = y.source.rpartition("/")[2]
    for what in (short, y.source, "exp", 1, y):
        assert "exp" in [one.op for one in f.explain(what)]
    assert [one.op for one in f.explain("x")] == ["placeholder"]
    assert {one.op for one in f.explain("y")} >= {"exp"}  # `y` is what the line assigns
    assert {one.line for one in f.explain("y")} == {y.source}
    assert len(f.explain(1)) == 1
    assert f.explain()


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("a.py:7", r"explain: f has nothing of 'a.py:7': its ops are of test_explain.py:"),
        ("cos", r"explain: f has nothing of 'cos': there are x, exp, sin$"),
        (9, r"explain: f has nothing of 9: nodes are 0 to 2$"),
        (1.5, r"explain: a line 'file.py:3', a name, a node or an expression, not 1.5"),
        (True, r"explain: a line 'file.py:3', a name, a node or an expression, not True"),
    ],
)
def test_what_is_not_there_is_said(what: Any, message: str) -> None:
    x = vector()
    f = sg.compile([x], sg.sin(sg.exp(x)), name="f")
    with pytest.raises(OptionError, match=message):
        f.explain(what)
    with pytest.raises(OptionError, match="has nothing of <cos: "):
        f.explain(sg.cos(x))


def test_memory_depends_on_sizes() -> None:
    x, w = vector("x"), vector("w", 3, 2)
    y = sg.placeholder("y", (None, 3), "float64")
    f = sg.compile([x, y, w], sg.sum(sg.tanh(sg.exp(y) @ w)) + sg.sum(x))
    assert "arena: 24576 bytes" in str(f.explain("exp"))
    assert "arena: 240 bytes" in str(f.explain("exp", sizes={"x.0": 4, "y.0": 10}))
    with pytest.raises(OptionError, match="sizes"):
        f.explain(sizes={"z": 4})


def test_threads_share_chunks() -> None:
    x = vector("x", 2_000_000)
    (one,) = sg.compile([x], sg.exp(x)).explain("exp")
    (fact,) = one.of("threads")
    assert fact.text.endswith(" chunks, which threads share")
    x = vector("x", 20)
    (one,) = sg.compile([x], sg.exp(x)).explain("exp")
    assert one.of("threads")[0].text == "one thread: too little work"
    (one,) = sg.compile([x], sg.sum(x + sg.constant(np.float64(1.0)))).explain("add")
    assert one.of("threads") == ()  # it is computed where it is read
    x = vector("x", 3000)
    index = sg.placeholder("index", (3000,), "int64")
    found = sg.compile([x, index], sg.grad(sg.sum(sg.square(sg.take(x, index, 0))), x)).explain()
    assert "one thread: iterations may write to one place" in {
        fact.text for one in found for fact in one.of("threads")
    }


def test_the_text_has_the_users_lines_and_the_groups() -> None:
    x = vector()
    f = sg.compile([x], sg.softplus(x * 3.0) + 1.0, name="f")
    text = str(f.explain())
    assert text.startswith("f: 6 ops as defined, ")
    assert 'f = sg.compile([x], sg.softplus(x * 3.0) + 1.0, name="f")' in text
    assert "groups, in the order in which they run\n  0 " in text
    assert " constant " not in text
    assert repr(f.explain()) == text


def test_equal_entries_of_a_line_are_counted() -> None:
    x = vector()
    y = x
    for _ in range(5):
        y = sg.sin(y)
    assert "times)" in str(sg.compile([x], y).explain())


def test_every_op_has_facts_of_known_kinds_and_nothing_is_computed_or_changed() -> None:
    _, backward = scanned()
    before = backward.source
    found = backward.explain()
    assert all(one.facts for one in found)
    assert {fact.kind for one in found for fact in one.facts} <= KINDS.keys()
    assert backward.source == before
    again = backward.explain()
    assert list(again) == list(found)
    assert str(again) == str(found)


def test_records_are_frozen() -> None:
    x = vector()
    (one,) = sg.compile([x], sg.exp(x)).explain("exp")
    assert isinstance(one, ExplainedOp)
    assert copy.copy(one) == one
    with pytest.raises(AttributeError):
        one.op = "sin"  # type: ignore[misc]


def test_copies_of_checkpointed_regions_are_told_once() -> None:
    x, w = vector("x", 50, 20), sg.variable(np.ones((20, 20)), name="w")
    y = sg.checkpoint(lambda a: sg.tanh(sg.tanh(a @ w) @ w), x)
    found = sg.compile([x], sg.grad(sg.sum(y * y), w)).explain()
    facts = [fact for one in found for fact in one.facts if fact.kind == "expanded"]
    assert len(facts) == len(set(facts))


def test_a_kernel_from_the_cache_is_explained() -> None:
    x = vector()
    first, second = (sg.compile([x], sg.log1p(sg.exp(x))) for _ in range(2))
    assert list(first.explain()) == list(second.explain())


def test_an_executable_that_runs_op_by_op_has_none() -> None:
    x = vector()
    with pytest.raises(AttributeError, match="explain"):
        sg.compile([x], sg.exp(x), debug=True).explain()


@pytest.mark.slow
def test_a_thousand_nodes() -> None:
    x = vector("x", 100)
    y = x
    for _ in range(500):
        y = sg.sin(y) * x
    found = sg.compile([x], y).explain()
    assert len(found) == 1001
    assert any("the group is full" in text for text in texts(found, "sin", "apart"))


def test_sizes_are_a_dict() -> None:
    x = sg.placeholder("x", (None,), "float64")
    with pytest.raises(sg.OptionError, match="sizes is a dict by names, not 5"):
        sg.compile([x], x * x).explain(sizes=5)  # type: ignore[arg-type]


def test_what_has_no_operand_is_computed_where_it_is_read() -> None:
    x = sg.placeholder("x", (None,), "float64")
    found = sg.compile([x], x * sg.arange(x.shape[0])).explain("iota")
    assert "none: computed where it is read" in str(found)
    assert "from its operand" not in str(found)
