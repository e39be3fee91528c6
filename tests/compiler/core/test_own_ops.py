"""Names of users' ops: duplicates are refused, a function declared anew is a version."""

from __future__ import annotations

import pytest

import staticgraph as sg
from staticgraph.compiler.core.errors import FormatError, GraphError, OptionError
from staticgraph.compiler.core.own_ops import op_saved_as, own_name, saved_name

PLACE = ("module", "function")


@pytest.mark.parametrize("name", ["", "a b", "a.", "1a", "f()", "é", "a\nb", "a" * 61, "f+2"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=r"is no name of an op: give name="):
        own_name(name, PLACE, False)


def test_names_that_are_taken_are_refused() -> None:
    with pytest.raises(GraphError, match="an op named 'exp' is already declared"):
        own_name("exp", PLACE, False)
    assert own_name("names.one", PLACE, False) == "names.one"
    with pytest.raises(GraphError, match="already declared, by function of module: give name="):
        own_name("names.one", ("module", "other"), False)
    assert own_name("names.one", PLACE, False) == "names.one+2"
    assert own_name("names.one", PLACE, False) == "names.one+3"


def _declared(factor: float) -> sg.UserOp:
    def times(x: float) -> float:
        return factor * x

    return sg.op(times, name="names.times")


def _plain() -> sg.UserOp:
    def plain(x: float) -> float:
        return x

    return sg.op(plain, name="names.plain")


def test_files_name_the_latest_version() -> None:
    first, second = _plain(), _plain()
    assert saved_name(second.record) == "names.plain"
    assert op_saved_as("names.plain") is second.record
    with pytest.raises(
        FormatError, match=r"names\.plain is saved by its name, and was declared anew"
    ):
        saved_name(first.record)


def test_one_of_several_closures_has_no_name_for_a_file() -> None:
    only = _declared(2.0)
    assert saved_name(only.record) == "names.times"
    latest = _declared(3.0)
    with pytest.raises(FormatError, match="which is that of 2 functions that close over values"):
        saved_name(latest.record)


def test_an_op_that_is_not_declared_is_refused_with_the_module_to_import() -> None:
    with pytest.raises(
        FormatError, match=r"no op is named 'my\.ops\.huber': import my\.ops before"
    ):
        op_saved_as("my.ops.huber")
    with pytest.raises(GraphError, match="no op is named 'nothing'"):
        op_saved_as("nothing")
