"""`Function.explain`, and what is checked at each call."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import OptionError
from staticgraph.tracing.explained import OFTEN, PLAIN_OFTEN
from staticgraph.tracing.functions import KEPT

X = np.ones(2)


def test_why_it_was_traced_again_is_told_with_both_values_and_the_line() -> None:
    config = types.SimpleNamespace(rate=2.0)
    f = sg.function(lambda x: x * config.rate, name="scaled", debug=True)
    f(X)
    config.rate = 3.0
    np.testing.assert_array_equal(f(X), 3 * X)
    found = f.explain()
    (why,) = found.retraces
    assert "config.rate" in str(why)
    assert "test_explain.py:" in str(why)
    assert "2.0 became 3.0" in str(why)
    text = str(found)
    assert "scaled: 2 traces" in text
    assert "config.rate is 3.0, read at" in text
    assert "traced again 1 time" in text
    assert found.cost > 0


def test_what_was_not_there_is_called_nothing() -> None:
    f = sg.function(lambda x: x * abs(float(2)), name="scaled", debug=True)
    f(X)
    explanation = f.explain()  # one, which has measured what the guards cost
    assert "global abs is nothing, read at" in str(explanation)
    assert repr(explanation) == str(explanation)


def test_what_goes_back_and_forth_is_traced_twice() -> None:
    flag = False
    f = sg.function(lambda x: -x if flag else x, debug=True)
    for _ in range(6):
        flag = not flag
        np.testing.assert_array_equal(f(X), -X if flag else X)
    assert len(f.traces) == 2


def test_no_more_surroundings_are_kept_than_kept() -> None:
    k = 0
    f = sg.function(lambda x: x * k, lint="off", debug=True)
    for k in range(2 * KEPT):
        np.testing.assert_array_equal(f(X), k * X)
    assert len(f.traces) == KEPT


def test_equal_numbers_that_are_other_objects_trace_nothing() -> None:
    k = float("2.5")
    f = sg.function(lambda x: x * k, debug=True)
    f(X)
    k = float("2.5")
    f(X)
    assert len(f.traces) == 1
    assert not f.explain().retraces


def test_an_effect_is_refused_at_its_line_and_put_back() -> None:
    seen: list[int] = []

    def f(x: Any) -> Any:
        y = x * 2
        seen.append(1)
        return y

    with pytest.raises(sg.EffectError, match=r"test_explain\.py:\d+: changes .*seen.*: return the"):
        sg.function(f)(X)
    assert seen == []


def test_a_branch_names_the_argument_and_what_to_use() -> None:
    with pytest.raises(
        sg.CaptureError, match=r"test_explain.*depends on x: .*use sg\.where, or sg\.cond"
    ):
        sg.function(lambda x, y: y if x.sum() > 0 else x[0])(X, X)


def test_print_is_refused_before_it_prints(capsys: Any) -> None:
    with pytest.raises(sg.EffectError, match=r"test_explain\.py:\d+: prints when it is traced"):
        sg.function(lambda x: print("text") or x)(X)
    assert capsys.readouterr().out == ""


def test_what_python_and_the_engine_read_themselves_is_not_told_as_the_users() -> None:
    def total(x: Any) -> Any:
        return x.max(0).values.sum()  # a named tuple

    f = sg.function(total, debug=True)
    f(dynamic.tensor(X[None]))
    names = [one.name for one in f.explain().guards]
    assert names == ["the code of total", "sg's default dtype", "the default dtype"]
    text = str(f.explain())
    assert text.startswith("total: 1 trace\n")
    assert "read at ?" not in text
    assert "<code object" not in text


def test_why_sizes_are_known_is_told() -> None:
    f = sg.function(lambda x: x + dynamic.linspace(0, 1, x.shape[0]), debug=True)
    for size in (2, 3):
        f(dynamic.ones(size, size))
    assert len(f.traces) == 2
    lines = str(f.explain()).splitlines()
    why = [line for line in lines if line.startswith("    with sizes known: the size ")]
    assert len(why) == 2
    assert all("x + dynamic.linspace(0, 1, x.shape[0])" in line for line in why)
    assert "with sizes known" not in str(sg.function(lambda x: x + 1, debug=True).explain())


def test_where_a_size_is_needed_is_a_note_of_the_error() -> None:
    f = sg.function(lambda x: dynamic.linspace(0, 1, x.shape[0]), shapes={"x": ("n",)}, debug=True)
    with pytest.raises(OptionError, match="the size n is unknown until run time") as caught:
        f(X)
    assert "dynamic.linspace(0, 1, x.shape[0])" in caught.value.__notes__[0]


def _explained(read: Any, change: Any) -> tuple[str, str]:
    """What is said of what a function reads, and of why it is traced again."""
    f = sg.function(lambda x: x * float(read()), debug=True)
    f(X)
    before = str(f.explain())
    change()
    f(X)
    (why,) = f.explain().retraces
    return before, str(why)


def test_arrays_are_told_by_the_first_element_that_changed() -> None:
    table = np.arange(6.0).reshape(2, 3)
    guards, why = _explained(lambda: table.sum(), lambda: table.__setitem__((1, slice(1, 3)), 9.0))
    assert "what table holds is array([[0., 1., 2.], [3., 4., 5.]]), read" in guards
    assert "the shape of table is (2, 3), read at" in guards
    assert why.startswith("table[1, 1] (")
    assert why.endswith("4.0 became 9.0, and 1 more")
    flags = np.array([True, False])
    assert _explained(flags.any, lambda: flags.fill(False))[1].endswith("True became False")
    counts = np.array(3)
    assert _explained(lambda: counts + 1, lambda: counts.fill(4))[1].endswith("3 became 4")


@pytest.mark.slow
def test_tables_of_pandas_are_told_in_words() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "z", None]}, index=[*"pqrs"])
    guards, why = _explained(
        lambda: table["a"].sum(), lambda: table.__setitem__("a", [1.0, 5.0, 3.0, 4.0])
    )
    assert "is a DataFrame of 4 rows: a: float64 1.0, 2.0, 3.0, ...; b: " in guards
    assert "\\x" not in guards
    assert "['q', 'a'] (" in why
    assert why.endswith("2.0 became 5.0")
    series = pd.Series([1, 2], name="rates")
    guards, why = _explained(series.sum, lambda: series.__setitem__(slice(None), 7))
    assert "is a Series of 2: int64 1, 2, read" in guards
    assert why.endswith("1 became 7, and 1 more")
    _, why = _explained(series.max, lambda: series.__setitem__(2, 9))
    assert why.endswith("a Series of 2: int64 7, 7 became a Series of 3: int64 7, 7, 9")


def test_what_changes_in_each_call_is_told_of_once() -> None:
    weights, config = np.ones(5000), types.SimpleNamespace(rate=0.0)
    by_value = sg.function(lambda x: x * float(weights.max()), name="scaled", debug=True)
    by_number = sg.function(lambda x: x * config.rate, name="rated", debug=True)
    quiet = sg.function(lambda x: x * config.rate, lint="off", debug=True)
    by_value(X)
    text = "weights is compared at each call, 40,000 bytes: its elements are needed"
    assert text in str(by_value.explain())
    with pytest.warns(sg.LintWarning) as caught:
        for i in range(2 * OFTEN):
            weights[i], config.rate = 2 + i, float(i)
            np.testing.assert_array_equal(by_value(X), (2 + i) * X)
            np.testing.assert_array_equal(by_number(X), i * X)
            quiet(X)
    told = sorted(str(one.message) for one in caught)
    assert len(told) == 2
    because = f"rated: traced again {PLAIN_OFTEN} times because config.rate was another each time"
    assert f"{because} ({PLAIN_OFTEN - 1}.0, then {PLAIN_OFTEN}.0)" in told[0]
    assert "keep it in an sg.variable" in told[0]
    assert "what weights holds was another each time" in told[1]
    assert "leave out float()" in told[1]
    assert {one.filename for one in caught} == {__file__}


def test_each_guard_is_listed_once_as_the_newest_trace_has_it() -> None:
    table, scale = {"p": 0.5}, 0.0

    scaled = sg.function(lambda x: x * scale * table["p"], debug=True)
    for i in range(3):
        table["p"], scale = i + 0.5, float(i)
        scaled(X)
    checked = [line.strip() for line in str(scaled.explain()).splitlines()]
    for said in ("scale, which is closed over, is 2.0", "the keys of table are ['p']",
                 "table, which is closed over, is the same dict", "table['p'] is 2.5"):  # fmt: skip
        assert sum(line.startswith(said) for line in checked) == 1, said
    assert sum(" closed over, is " in line for line in checked) == 2


def test_of_many_guards_those_of_a_modules_parts_are_counted() -> None:
    model = dynamic.nn.Sequential(*[dynamic.nn.Linear(2, 2) for _ in range(5)])
    f = sg.function(lambda x: model(x), name="modelled", debug=True)
    f(dynamic.ones(1, 2))
    found = f.explain()
    lines = str(found).splitlines()
    (counted,) = [line for line in lines if " guards of its parts, " in line]
    assert 60 < int(counted.split(": ")[1].split()[0]) < len(found.guards)
    assert len(lines) < 40
