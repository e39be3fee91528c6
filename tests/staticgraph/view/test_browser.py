"""The page in a headless browser: what is clicked, typed and touched does what it should.

Where no browser is found these tests are skipped, with that reason; `make browser` fails instead.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.browser import Browser, Page, find_browser, running
from tests.staticgraph.view.pages import model_in, page

pytestmark = pytest.mark.slow
REQUIRED = "STATICGRAPH_TEST_BROWSER"  # set by `make browser`
TITLES = """
  [...document.querySelectorAll("SCOPE g.box")].map(
    (box) => [...box.children].find((one) => one.tagName === "text").textContent)
"""
BOX = """
  [...document.querySelectorAll("SCOPE g.box")].find((box) =>
    [...box.children].some((one) => one.tagName === "text" && one.textContent === NAME))
"""
CHOSEN = 'document.querySelectorAll("#picture .chosen").length'
ROWS = "[...document.querySelectorAll('#PANE .row.KIND')].map((row) => row.textContent)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        assert REQUIRED not in os.environ, "no browser was found"
        pytest.skip("no browser was found")
    with running(path) as started:
        yield started


Opener = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens pages, on which nothing may have gone wrong in the end."""
    pages: list[Page] = []

    def open_page(name: str, **options: Any) -> Page:
        path = tmp_path / f"{name}.html"
        page(name).save(path)
        pages.append(browser.open(path, **options))
        return pages[-1]

    yield open_page
    for one in pages:
        one.js("1")
        assert one.errors == []


def titles(page: Page, scope: str = "") -> list[str]:
    return list(page.js(TITLES.replace("SCOPE", scope)))


def box(name: str, scope: str = "") -> str:
    return BOX.replace("SCOPE", scope).replace("NAME", repr(name)).strip()


def rows(page: Page, pane: str, kind: str = "chosen") -> list[str]:
    return list(page.js(ROWS.replace("PANE", pane).replace("KIND", kind)))


def click(page: Page, name: str, scope: str = "", part: str = ".frame") -> None:
    page.click(*page.centre(f"{box(name, scope)}.querySelector({part!r})"))


def wait_for(page: Page, expression: str) -> None:
    end = time.monotonic() + 10
    while not page.js(expression):
        assert time.monotonic() < end, expression


def test_a_folded_step_is_read_at_one_glance_and_opened_step_by_step(opened: Opener) -> None:
    shown = opened("step")
    assert shown.js("document.querySelectorAll('.lane-name').length") == 3
    for lane in (".lane0", ".lane1"):
        assert {"layer0", "layer1", "head"} <= set(titles(shown, lane))
    shown.press("[")
    shown.press("[")
    folded = titles(shown)
    assert 8 <= len(folded) <= 20
    assert "attention" not in folded
    click(shown, "layer0", ".lane0", ".sign")
    assert {"attention", "network"} <= set(titles(shown, ".lane0"))
    click(shown, "network", ".lane0", ".sign")
    assert "up" in titles(shown, ".lane0") or any("gelu" in one for one in titles(shown, ".lane0"))
    click(shown, "layer0", ".lane0", ".sign")
    assert titles(shown) == folded


def test_lanes_are_apart_and_boxes_do_not_overlap(opened: Opener) -> None:
    for name in ("step", "loops"):
        shown = opened(name)
        for _ in range(3):
            found = shown.js(
                """(() => {
                  const boxes = [...document.querySelectorAll("g.box")];
                  const at = new Map(boxes.map((box) =>
                    [box, box.querySelector(":scope > .frame").getBoundingClientRect()]));
                  const inside = (one, other) => {
                    let box = one.item;
                    while (box && box !== other.item) box = box.parent;
                    return Boolean(box);
                  };
                  const wrong = [];
                  for (const one of boxes) for (const other of boxes) {
                    if (inside(one, other) || inside(other, one)) continue;
                    const [a, b] = [at.get(one), at.get(other)];
                    const apart = a.right <= b.left + 0.5 || b.right <= a.left + 0.5
                      || a.bottom <= b.top + 0.5 || b.bottom <= a.top + 0.5;
                    if (!apart) wrong.push([one.textContent, other.textContent]);
                  }
                  const outside = boxes.filter((box) => {
                    const around = boxes.find((one) => one.item === box.item.parent);
                    if (!around) return false;
                    const [a, b] = [at.get(box), at.get(around)];
                    return a.left < b.left || a.right > b.right
                      || a.top < b.top || a.bottom > b.bottom;
                  });
                  return [wrong, outside.length, boxes.length];
                })()"""
            )
            assert found[:2] == [[], 0]
            shown.press("]")


def test_a_node_its_line_and_its_statements_light_up_together(opened: Opener) -> None:
    shown = opened("step")
    shown.press("b")
    assert shown.js("document.querySelector('#graphs button[aria-pressed=true]').value") == "after"
    for _ in range(6):
        shown.press("]")
    shown.press("f")
    click(shown, "erf", ".lane0") if "erf" in titles(shown) else click(shown, "exp", ".lane0")
    (line,) = rows(shown, "source")
    assert "softmax" in line or "gelu" in line
    statements = rows(shown, "kernel")
    assert any(re.search(r"= (exp|erf)\(", one) for one in statements)
    assert shown.js("document.querySelector('#details').hidden") is False
    assert shown.js(CHOSEN) == 1
    shown.press("Escape")
    assert rows(shown, "source") == rows(shown, "kernel") == []
    assert shown.js(CHOSEN) == 0


def test_a_line_lights_up_its_nodes_and_statements_and_so_does_a_statement(opened: Opener) -> None:
    shown = opened("step")
    row = "[...document.querySelectorAll('#PANE .linked')].find((x) => WHAT.test(x.textContent))"
    line = row.replace("PANE", "source").replace("WHAT", "/sg.gelu\\(/")
    shown.js(f"{line}.scrollIntoView()")
    number = f"{line}.querySelector('.number')"
    shown.hover(*shown.centre(number))
    near = shown.js("document.querySelectorAll('#picture .on').length")
    assert near >= 2
    assert any(
        "gelu" in one or "erf" in one
        for one in rows(shown, "kernel", "on") + rows(shown, "kernel", "near")
    )
    shown.click(*shown.centre(number))
    assert len(rows(shown, "source")) == 1
    statement = row.replace("PANE", "kernel").replace("WHAT", "/= exp\\(/")
    shown.js(f"{statement}.scrollIntoView()")
    shown.click(*shown.centre(f"{statement}.querySelector('span')"))
    assert any("softmax" in one for one in rows(shown, "source"))
    assert shown.js(CHOSEN) >= 1


def test_the_switch_keeps_what_is_chosen_and_what_is_open(opened: Opener) -> None:
    shown = opened("step")
    if "attention" not in titles(shown, ".lane0"):
        click(shown, "layer0", ".lane0", ".sign")
    click(shown, "attention", ".lane0")
    lines = rows(shown, "source")
    assert lines
    shown.press("b")
    assert "attention" in titles(shown, ".lane0")
    assert set(rows(shown, "source")) & set(lines)


def test_search_finds_opens_and_goes_on(opened: Opener) -> None:
    shown = opened("step")
    shown.press("/")
    for key in "softmax":
        shown.press(key)
    wait_for(shown, "document.querySelector('#found').textContent.endsWith('found')")
    count = int(shown.js("document.querySelector('#found').textContent").split()[0])
    assert count >= 2
    shown.press("Enter")
    assert shown.js("document.querySelector('#found').textContent") == f"1 of {count}"
    first = shown.js("document.querySelector('#details h3').textContent")
    assert shown.js(CHOSEN) == 1
    shown.press("Enter")
    assert shown.js("document.querySelector('#found').textContent") == f"2 of {count}"
    assert first
    shown.press("Escape")
    assert shown.js("document.querySelectorAll('#picture .match').length") == 0


def test_the_keyboard_reaches_everything(opened: Opener) -> None:
    shown = opened("step")
    shown.press("ArrowDown")
    before = shown.js("document.querySelector('#picture .chosen').textContent")
    shown.press("ArrowDown")
    assert shown.js("document.querySelector('#picture .chosen').textContent") != before
    for _ in range(8):
        if shown.js("document.querySelector('#picture .chosen').classList.contains('block')"):
            break
        shown.press("ArrowDown")
    was = shown.js("document.querySelector('#picture .chosen').classList.contains('open')")
    shown.press("Enter")
    assert (
        shown.js("document.querySelector('#picture .chosen').classList.contains('open')") is not was
    )
    theme = shown.js("document.documentElement.dataset.theme")
    shown.press("d")
    assert shown.js("document.documentElement.dataset.theme") != theme
    shown.press("?")
    assert shown.js("document.querySelector('dialog').open") is True
    shown.click(*shown.centre("document.querySelector('dialog button')"))
    assert shown.js("document.querySelector('dialog').open") is False


def test_it_zooms_and_moves(opened: Opener) -> None:
    shown = opened("step")
    scale = "document.querySelector('#picture > g').transform.baseVal.consolidate().matrix.a"
    before = shown.js(scale)
    shown.wheel(640, 400, -300)
    wait_for(shown, f"{scale} > {before * 1.2}")
    shown.press("f")
    assert shown.js(scale) == pytest.approx(before)


def test_values_are_shown(opened: Opener) -> None:
    shown = opened("step")
    click(shown, "y", ".lane0")
    cells = shown.js("[...document.querySelectorAll('#details td')].map((one) => one.textContent)")
    assert cells == ["0", "4", "2"]
    click(shown, "x", ".lane0")
    assert shown.js("document.querySelectorAll('#details .bins rect').length") == 24
    assert "3 × 6 × 8" in shown.js("document.querySelector('#details').textContent")


def test_time_and_memory_are_colours(opened: Opener) -> None:
    shown = opened("step")
    fills = "[...document.querySelectorAll('g.box > .frame')].map((one) => one.style.fill)"
    assert set(shown.js(fills)) == {""}
    for colour in ("time", "memory", "size"):
        shown.js(
            f"document.querySelector('#colour').value = '{colour}';"
            "document.querySelector('#colour').dispatchEvent(new Event('change'))"
        )
        assert len(set(shown.js(fills))) > 3
        assert shown.js("document.querySelectorAll('#legend .ramp').length") == 1


def test_loops_open_and_what_is_not_finite_is_marked_where_it_begins(opened: Opener) -> None:
    shown = opened("loops")
    for _ in range(4):
        shown.press("]")
    assert {"tanh", "on true", "on false", "test"} <= set(titles(shown))
    marked = shown.js(
        "[...document.querySelectorAll('#picture .bad:not(.old)')]"
        ".map((one) => one.parentElement.querySelector('text').textContent)"
    )
    assert "log" in marked


def test_hostile_names_are_texts(opened: Opener) -> None:
    shown = opened("loops")
    assert shown.js("document.title") == model_in(page("loops"))["title"]
    assert shown.js("document.images.length") == 0
    assert any(one.startswith("</script><img") for one in titles(shown))


def test_a_phone_shows_one_pane_at_a_time(opened: Opener) -> None:
    shown = opened("step", width=390, height=844, phone=True)
    visible = (
        "['source', 'graph', 'kernel'].filter((id) =>"
        " getComputedStyle(document.getElementById(id)).visibility === 'visible')"
    )
    assert shown.js(visible) == ["graph"]
    assert shown.js("document.documentElement.scrollWidth") <= 390
    shown.tap(*shown.centre(f"{box('head', '.lane0')}.querySelector('.frame')"))
    wait_for(shown, f"{CHOSEN} === 1")
    shown.tap(*shown.centre("document.querySelector('#tabs button[value=source]')"))
    wait_for(shown, f"{visible}[0] === 'source'")
    assert rows(shown, "source")


def test_a_notebook_shows_it_in_a_frame(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html><h1>cell</h1>{page('step')._repr_html_()}")
    shown = browser.open(path)
    wait_for(shown, "document.querySelector('iframe').clientHeight > 400")
    shown.click(700, 500)  # the keys go to the frame
    shown.press("?")
    shown.screenshot(tmp_path / "before.png")
    shown.press("b")
    assert shown.errors == []
    assert shown.js("document.querySelector('iframe').contentDocument") is None  # it is apart


def test_dark_is_what_the_system_says(opened: Opener) -> None:
    shown = opened("step", dark=True)
    assert shown.js("document.documentElement.dataset.theme") == "dark"
    ground = shown.js("getComputedStyle(document.body).backgroundColor")
    assert max(int(one) for one in re.findall(r"\d+", ground)) < 64


@pytest.mark.parametrize("layers", [30, pytest.param(100, marks=pytest.mark.long)])
def test_thousands_of_nodes_open_within_seconds(
    layers: int, browser: Browser, tmp_path: Path
) -> None:
    x = sg.placeholder("x", (None, 8), "float32")
    h: Any = x
    for layer in range(layers):
        with sg.scope(f"layer{layer}"):
            w = sg.variable(np.eye(8, dtype="float32"), name="w")
            for _ in range(2):
                h = sg.tanh(h @ w) * 0.5 + h
    loss = (h * h).mean()
    executable = sg.compile([x], loss, updates=sg.optim.Adam().minimize(loss))
    assert len(executable.graph) > 35 * layers
    made = executable.view(tmp_path / "large.html", inputs=(np.ones((2, 8), "float32"),))
    assert len(made.html) < 8e6
    shown = browser.open(tmp_path / "large.html")
    assert 0 < len(titles(shown)) < 400
    assert shown.errors == []
