"""Programs that are viewed, each compiled once, and their models read back from the page."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.view import View

HOSTILE = "</script><img src=x onerror=alert(1)>&\"'\u2028\u202e{model}"


@cache
def step() -> tuple[sg.Executable, tuple[Any, ...]]:
    """A training step of two blocks in scopes, with Adam, and what it is called on."""
    rng = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> sg.Variable:
        return sg.variable((0.1 * rng.standard_normal(shape)).astype("float32"), name=name)

    def attention(x: sg.Expression) -> sg.Expression:
        q, k = sg.layer_norm(x, 8) @ weight("q", 8, 8), x @ weight("k", 8, 8)
        return sg.softmax(q @ sg.swapaxes(k, -1, -2), -1) @ x

    x, y = sg.placeholder("x", (None, 6, 8)), sg.placeholder("y", (None,), "int64")
    h: Any = x
    for number in range(2):
        with sg.scope(f"layer{number}"):
            with sg.scope("attention"):
                h = h + attention(h)
            with sg.scope("network"):
                h = h + sg.gelu(h @ weight("up", 8, 16)) @ weight("down", 16, 8)
    with sg.scope("head"):
        loss = sg.cross_entropy(h.mean(axis=1) @ weight("head", 8, 5), y)
    updates = sg.optim.Adam(lr=0.1).minimize(loss)
    inputs = rng.standard_normal((3, 6, 8)).astype("float32"), np.array([0, 4, 2])
    return sg.compile([x, y], loss, updates=updates, name="step"), inputs


@cache
def loops() -> tuple[sg.Executable, tuple[Any, ...]]:
    """Loops and a branch, a nan, and hostile names."""
    xs = sg.placeholder(HOSTILE, (None, 3), "float64")
    w = sg.variable(np.full((3, 3), 0.5), HOSTILE)

    def cell(h: Any, x: Any) -> tuple[Any, Any]:
        with sg.scope("cell"):
            h = sg.tanh(x + h @ w)
        return h, h

    with sg.scope(HOSTILE):
        last, hs = sg.scan(cell, sg.zeros((3,), "float64"), xs)
        wrong = sg.log(hs.sum() - 1000.0)
    chosen = sg.cond(last.sum() > 0, lambda h: sg.exp(h).sum(), lambda h: h.sum(), last)
    count = sg.while_loop(lambda i: i < 5, lambda i: i + 1, sg.constant(np.int64(0)))
    loss = (hs * hs).mean()
    updates = sg.optim.SGD(lr=0.1).minimize(loss)
    executable = sg.compile([xs], [loss, wrong, chosen, count], updates=updates, name=HOSTILE)
    return executable, (np.ones((4, 3)),)


@cache
def page(name: str, with_inputs: bool = True) -> View:
    """The page of one of the programs above."""
    executable, inputs = {"step": step, "loops": loops}[name]()
    return executable.view(inputs=inputs if with_inputs else None)


class Elements(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open][-1] += data


def model_in(view: View) -> dict[str, Any]:
    """The model that a page holds."""
    data, _ = Elements(view.html).texts["script"]
    made: dict[str, Any] = json.loads(data)
    return made


def urls_in(text: str) -> list[str]:
    """What a page names that could be loaded; the name of SVG's elements is no address."""
    found = re.findall(r"(?:https?:)?//[a-z][\w.]+", text)
    return [one for one in found if one != "http://www.w3.org"]
