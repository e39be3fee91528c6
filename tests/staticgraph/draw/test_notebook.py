"""What notebooks show: pictures of small graphs, and the text of what prints a table."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.draw.notebook import MOST

HOSTILE = "<script>alert('&')</script>"


def _chain(length: int) -> tuple[Any, Any]:
    x = y = sg.placeholder("x", (3,))
    for _ in range(length - 1):
        y = sg.tanh(y)
    return x, y


def test_small_expressions_and_executables_are_drawn() -> None:
    x = sg.placeholder(HOSTILE, (3,))
    y = sg.tanh(x)
    for shown in (y, sg.compile([x], y, name=HOSTILE)):
        svg = shown._repr_svg_()
        root = ElementTree.fromstring(svg)
        assert root.tag.endswith("svg")
        assert not any(one.tag.endswith("script") for one in root.iter())
        text = "".join(root.itertext())
        assert "tanh" in text and "<script>" in text


def test_large_graphs_are_left_to_their_text() -> None:
    x, y = _chain(MOST + 1)
    assert y._repr_svg_() is None
    assert sg.compile([x], y)._repr_svg_() is None
    assert y.operands[0]._repr_svg_() is not None


def test_without_matplotlib_notebooks_show_the_text() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import staticgraph as sg\n"
        "print(sg.tanh(sg.placeholder('x'))._repr_svg_())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "None\n"


def _executable() -> Any:
    x = sg.placeholder("x", (3,))
    return sg.compile([x], sg.log(x), name=HOSTILE, debug=False)


X = np.array([-1.0, 1.0, 2.0], "float32")
PRINTED: dict[str, Callable[[], Any]] = {
    "profile": lambda: _executable().profile(X),
    "plan": lambda: _executable().plan,
    "explanation": lambda: _executable().explain(),
    "replay": lambda: _executable().replay(X),
    "trace": lambda: _executable().trace(X),
    "diff": lambda: sg.diff(_executable(), X + 2),
    "traces": lambda: _called(sg.function(lambda x: x * 2, name=HOSTILE)).explain(),
}


def _called(function: Any) -> Any:
    function(X)
    return function


@pytest.mark.parametrize("kind", PRINTED)
def test_what_prints_a_table_is_shown_as_its_text(kind: str) -> None:
    value = PRINTED[kind]()
    shown = value._repr_html_()
    assert _text(shown) == str(value)
    assert "<script" not in shown


def _text(shown: str) -> str:
    match = re.fullmatch(r"<pre style='[\w:;.-]*'>([^<>]*)</pre>", shown)
    assert match is not None
    return unescape(match[1])


def test_a_captured_function_shows_what_it_was_called_with() -> None:
    f = sg.function(lambda x: x * 2, name=HOSTILE)
    assert _text(f._repr_html_()) == f"<function {HOSTILE}, compiled>\n  not called yet"
    f(X)
    expected = f"<function {HOSTILE}, compiled>\n  {HOSTILE}(float32[x.0]) -> float32[x.0]"
    assert _text(f._repr_html_()) == expected


class Odd(dynamic.nn.Module):
    """A module whose texts are hostile."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = dynamic.nn.Linear(2, 3)
        self.register_module("none", None)
        self.add_module(HOSTILE, dynamic.nn.ModuleList())

    def extra_repr(self) -> str:
        return HOSTILE


class Own(dynamic.nn.Module):
    """A module that shows itself otherwise."""

    def __repr__(self) -> str:
        return HOSTILE


def test_a_module_is_a_tree_with_numbers_of_parameters() -> None:
    model = dynamic.nn.Sequential(dynamic.nn.Sequential(Odd(), Own()), dynamic.nn.Linear(1, 1))
    shown = model._repr_html_()
    root = ElementTree.fromstring(shown)  # every element is closed
    assert {one.tag for one in root.iter()} == {"details", "summary", "b", "small", "div"}
    assert [one.get("open") for one in root.iter("details")] == ["", "", None]
    text = "".join(root.itertext())
    assert "Sequential() 11 parameters" in text
    assert f"(0): Odd({HOSTILE}) 9 parameters" in text
    assert "(inner): Linear(in_features=2, out_features=3, bias=True) 9 parameters" in text
    assert f"({HOSTILE}): ModuleList() 0 parameters" in text
    assert f"(1): {HOSTILE}" in text
    assert "none" not in text


def test_one_parameter_is_one() -> None:
    layer = dynamic.nn.Linear(1, 1, bias=False)
    text = "Linear(in_features=1, out_features=1, bias=False) 1 parameter"
    assert "".join(ElementTree.fromstring(layer._repr_html_()).itertext()) == text
