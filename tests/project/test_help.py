"""What `help` says first: what a user wants, before bases and files."""

from __future__ import annotations

import inspect
import pydoc
import re
from operator import attrgetter
from typing import Any

import pytest

import dynamic
import staticgraph as sg

SUBJECT = re.compile(r"([A-Z][A-Za-z, ]*[a-z])  +(.*)|  {16,}(.*)")
OVERVIEWS = {"sg": sg, "dynamic": dynamic, "Tensor": dynamic.Tensor, "Expression": sg.Expression}
PROSE = {"Look inside", "Mathematics", "The other side"}


def _shown(value: object) -> str:
    return pydoc.plain(pydoc.render_doc(value))


def _named(value: Any) -> list[str]:
    """The names that the list by subject has, but for what stands in prose, brackets and signs."""
    found, listed = [], True
    for line in (inspect.getdoc(value) or "").splitlines():
        match = SUBJECT.fullmatch(line)
        if match is None:
            continue
        listed = match[1] not in PROSE if match[1] else listed
        text = re.sub(r"\(.*?\)|\(.*|;.*|:.*|`.*?`|.*\)$", "", match[2] or match[3])
        if listed:
            found += [one for one in text.split(", ") if re.fullmatch(r"[A-Za-z_][\w.]*", one)]
    return found


@pytest.mark.parametrize("name", OVERVIEWS)
def test_the_names_by_subject_are_there(name: str) -> None:
    value = OVERVIEWS[name]
    named = _named(value)
    assert len(named) > 20
    assert [one for one in named if not _is_there(value, one)] == []


def _is_there(value: object, name: str) -> bool:
    try:
        attrgetter(name)(value)
    except AttributeError:
        return name in ("distributed", "onnx", "sklearn")  # imported when they are first wanted
    return True


@pytest.mark.parametrize("name", OVERVIEWS)
def test_the_overview_comes_first(name: str) -> None:
    shown = _shown(OVERVIEWS[name])
    first = min(
        shown.find(one) for one in ("Method resolution", "PACKAGE CONTENTS") if one in shown
    )
    head = shown[:first]
    assert head.count("\n") < 40
    assert all(one in head for one in _named(OVERVIEWS[name]))


def test_fields_of_an_expression_are_explained() -> None:
    fields = set(sg.Expression.__slots__) - {"__weakref__"}
    shown = _shown(sg.Expression)
    assert fields > {"op", "operands", "source"}
    for one in fields:
        (line,) = re.findall(rf"^ \|  {one}\n \|      (.*)$", shown, re.M)
        assert line.endswith((".", ":"))


@pytest.mark.parametrize("function", [sg.compile, sg.function, sg.grad, sg.softmax, sg.op])
def test_functions_show_arguments_and_an_example(function: Any) -> None:
    shown = _shown(function)
    assert f"{function.__name__}(" in shown
    assert ">>>" in shown
    assert "*args, **kwargs)" not in shown.split("\n\n")[1]
