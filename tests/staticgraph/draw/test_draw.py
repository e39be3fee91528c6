"""Drawings: every label is there as text, nothing overlaps, names are text and nothing else."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog

import staticgraph as sg
from staticgraph.compiler.core.errors import GraphError, OptionError
from staticgraph.compiler.viz.layout import Edge, Layout, layered
from staticgraph.compiler.viz.positions import Link, positions
from staticgraph.draw import MissingExtraError, draw, drawing as page
from staticgraph.draw.labels import numbers, one_line
from tests.combinations import some

GREEN, BLUE = "#116329", "#0550ae"


def training_step() -> Any:
    x = sg.placeholder("x", (None, 6))
    y = sg.placeholder("y", (None,), "int64")
    w1, b1 = sg.variable(np.ones((6, 5), "float32"), "w1"), sg.variable(np.zeros(5, "f4"), "b1")
    w2 = sg.variable(np.ones((5, 3), "float32"), "w2")
    loss = sg.cross_entropy(sg.relu(x @ w1 + b1) @ w2, y)
    return sg.compile([x, y], loss, sg.optim.SGD(lr=0.1, momentum=0.9).minimize(loss))


WEIGHTS = ("w1", "b1", "w2")


def texts(svg: Path) -> list[tuple[str, str]]:
    """The texts of an SVG file, each with its colour."""
    found = []
    for element in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text"):
        colour = re.search("fill: (#[0-9a-f]{6})", element.attrib["style"])
        assert colour is not None
        found.append((element.text or "", colour[1]))
    return found


def words(graph: Any, path: Path, **options: Any) -> Counter[str]:
    draw(graph, path / "graph.svg", **options)
    return Counter(text for text, _ in texts(path / "graph.svg"))


@pytest.mark.slow
def test_every_node_of_a_training_step_is_labelled(tmp_path: Path) -> None:
    train = training_step()
    found = words(train, tmp_path, title="A training step")
    assert found["A training step"] == 1
    for _, data in train.graph.nodes.items():
        if data["op"].name == "constant":
            continue
        assert data["name"] in found or data["op"].name in found
        assert str(data["type"]) in found
    ops = Counter(data["op"].name for _, data in train.graph.nodes.items() if data["name"] is None)
    del ops["constant"]
    assert {op: found[op] for op in ops} == ops
    assert found["output"] == 2  # on the node, and in the key
    for name in (*WEIGHTS, *(f"{one}.momentum_buffer" for one in WEIGHTS)):
        assert found[name] == 1
        assert found[f"next value of {name}"] == 1


@pytest.mark.slow
def test_the_graph_after_the_passes_is_drawn_when_asked_for(tmp_path: Path) -> None:
    train = training_step()
    assert "cross_entropy" in words(train, tmp_path)
    lowered = words(train.lowered, tmp_path)
    assert "cross_entropy" not in lowered
    assert "exp" in lowered


def test_constant_scalars_are_drawn_beside_each_use(tmp_path: Path) -> None:
    x = sg.placeholder("x")
    found = words((x + 2.5) * sg.exp(x * 2.5), tmp_path)
    assert found["2.5"] == 2
    assert found["x"] == 1


def test_values_and_gradients_are_printed_in_their_colours(tmp_path: Path) -> None:
    x, w = sg.placeholder("x", (3,)), sg.variable(np.zeros((2, 3), "float32"), "w")
    z = (w * x).sum()
    values = {x: np.array([1.5, -2, np.nan]), w: np.arange(6.0).reshape(2, 3), z: 0.123456789}
    picture = tmp_path / "graph.svg"
    draw(z, picture, values=values, gradients={x: np.array([7, 8, 9]), w: -np.ones((2, 3))})
    found = texts(picture)
    green = [text for text, colour in found if colour == GREEN]
    blue = [text for text, colour in found if colour == BLUE]
    assert sorted(green) == sorted(["value", "[1.5, -2, nan]", "0 … 5", "0.123457"])
    assert sorted(blue) == sorted(["gradient", "[7, 8, 9]", "-1 … -1"])


def test_values_may_be_given_by_node_of_an_executable(tmp_path: Path) -> None:
    train = training_step()
    node = train.graph.graph["outputs"][0]
    draw(train, tmp_path / "graph.svg", values={node: np.float32(0.25)})
    assert ("0.25", GREEN) in texts(tmp_path / "graph.svg")


def test_an_expression_is_found_in_the_graph_by_what_it_computes(tmp_path: Path) -> None:
    x, y = sg.placeholder("x"), sg.placeholder("y")
    train = sg.compile([x, y], sg.sin(x + y))
    draw(train, tmp_path / "graph.svg", values={y + x: 42.0})
    assert ("42", GREEN) in texts(tmp_path / "graph.svg")


STARTS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
HOSTILE = [
    "$\\frac{1}{", "$x_1$", "$\\nothing$",
    "a\nb\tc", "<b>&amp;\"'", "x" * 5000, "\x00\x07\x1b[31m", "权重 😀", "\u202eabc",
    "\ud800", "%s{0}", " ", "", "שלום",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("suffix", some(STARTS, 1))
def test_names_are_text_and_nothing_else(tmp_path: Path, name: str, suffix: str) -> None:
    x = sg.placeholder(name, (None,))
    picture = tmp_path / f"graph.{suffix}"
    draw(sg.sin(x), picture, title=name)
    assert picture.read_bytes().startswith(STARTS[suffix])
    if suffix == "svg":
        shown = [text for text, _ in texts(picture)]
        assert one_line(name or "placeholder") in shown


def test_one_line_escapes_what_cannot_be_seen() -> None:
    assert one_line("a\nb\x00\u202e\ud800é$") == "a\\nb\\x00\\u202e\\ud800é$"
    assert one_line("0123456789", 7) == "012…789"
    assert one_line("0123456789", 8) == "0123…789"
    assert len(one_line("n" * 1000)) == 36


def test_numbers_says_all_of_few_and_the_range_of_many() -> None:
    assert numbers(16.0) == "16"
    assert numbers(np.array([[True, False]])) == "[[True, False]]"
    assert numbers(np.int64(-3)) == "-3"
    assert numbers(np.array([1e-7, 1 / 3, -0.0])) == "[1e-07, 0.333333, -0]"
    assert numbers(np.array([3, 1, 2, 5, 4])) == "1 … 5"
    assert numbers(np.array([3, np.nan, 2, 5, 4])) == "nan … nan"
    assert numbers(np.zeros((0, 3))) == "no elements: [0, 3]"


@pytest.mark.slow
def test_files_have_the_format_of_their_suffix(tmp_path: Path) -> None:
    z = sg.sin(sg.placeholder("x"))
    for name in ("a.PNG", "b.pdf", "c.svg"):
        draw(z, str(tmp_path / name))
        start = STARTS[name[2:].lower()]
        assert (tmp_path / name).read_bytes().startswith(start)
    drawing = draw(z)
    drawing.save(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "c.svg").read_bytes()
    assert drawing._repr_svg_() == (tmp_path / "c.svg").read_text()


def test_the_settings_of_matplotlib_do_not_change_the_picture(tmp_path: Path) -> None:
    z = sg.sin(sg.placeholder("a_b$c$"))
    expected = draw(z)._repr_svg_()
    other: Any = {"svg.fonttype": "path", "font.family": ["monospace"], "savefig.bbox": "tight"}
    with matplotlib.rc_context({**other, "text.usetex": True}):
        assert draw(z)._repr_svg_() == expected
        assert matplotlib.rcParams["svg.fonttype"] == "path"


@pytest.mark.parametrize("path", ["graph.jpg", "graph", "svg"])
def test_another_suffix_is_refused(path: str) -> None:
    with pytest.raises(OptionError, match=rf"draw: '{path}' ends in none of .svg, .png, .pdf"):
        draw(sg.placeholder("x"), path)
    with pytest.raises(OptionError, match=rf"draw: '{path}' ends in none of"):
        draw(sg.placeholder("x")).save(path)


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(GraphError, match=r"draw: 7 is no graph, executable or expression"):
        draw(7)


def test_a_value_of_no_node_is_refused() -> None:
    x, y = sg.placeholder("x"), sg.placeholder("y")
    with pytest.raises(GraphError, match=r"draw: <placeholder 'y': float32\[\]> is not in"):
        draw(sg.sin(x), values={y: 1.0})
    with pytest.raises(GraphError, match=r"draw: <cos: float32\[\]> is not in the graph"):
        draw(sg.sin(x), gradients={sg.cos(x): 1.0})
    with pytest.raises(GraphError, match="draw: 99 is not in the graph"):
        draw(sg.sin(x), values={99: 1.0})


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'staticgraph\[draw\]'"):
        draw(sg.placeholder("x"))


@pytest.mark.slow
def test_matplotlib_is_imported_by_the_first_drawing_and_pyplot_never() -> None:
    code = (
        "import sys, staticgraph as sg; from staticgraph.draw import draw\n"
        "assert 'matplotlib' not in sys.modules\n"
        "draw(sg.placeholder('x'))._repr_svg_()\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_an_empty_graph_says_so(tmp_path: Path) -> None:
    assert words([], tmp_path) == {"empty graph": 1}


def test_a_single_node_is_drawn(tmp_path: Path) -> None:
    assert words(sg.placeholder("only"), tmp_path)["only"] == 1


@pytest.mark.slow
def test_a_large_graph_is_drawn_with_a_bounded_number_of_pixels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert page.MOST_PIXELS == 40e6
    monkeypatch.setattr(page, "MOST_PIXELS", 4e6)  # which are sooner written
    h = x = sg.placeholder("x", (None, 4))
    for _ in range(80):
        h = sg.tanh(h * 2 + x)
    made = draw(h, tmp_path / "graph.png")
    header = (tmp_path / "graph.png").read_bytes()[16:24]
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:], "big")
    assert 3e6 < width * height <= 4.1e6
    assert sum(text.get_text() == "tanh" for text in made.figure.axes[0].texts) == 80


def test_texts_are_inside_their_boxes_and_the_page() -> None:
    train = training_step()
    drawing = draw(train, title="t" * 200, values={0: np.arange(4.0) / 3})
    figure = drawing.figure
    renderer = figure.canvas.get_renderer()
    boxes = [patch.get_window_extent(renderer) for patch in figure.axes[0].patches]
    boxes = [box for box in boxes if box.width > 30]
    for text in figure.axes[0].texts:
        extent = text.get_window_extent(renderer)
        assert figure.bbox.x0 <= extent.x0
        assert extent.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= extent.y0
        assert extent.y1 <= figure.bbox.y1
        if text.get_ha() == "center":
            around = [b for b in boxes if b.x0 <= extent.x0 and extent.x1 <= b.x1]
            assert any(b.y0 <= extent.y0 and extent.y1 <= b.y1 for b in around)
    for first, second in itertools.combinations(boxes, 2):
        assert not first.overlaps(second)


@st.composite
def dags(draw: st.DrawFn) -> tuple[dict[int, tuple[float, float]], list[Edge]]:
    """Boxes of random sizes, each with up to three operands among the earlier ones."""
    count = draw(st.integers(1, 25))
    sizes = {i: (draw(st.floats(10, 200)), draw(st.floats(10, 60))) for i in range(count)}
    edges = []
    for head in range(1, count):
        tails = draw(st.lists(st.integers(0, head - 1), max_size=3))
        edges += [Edge(tail, head, i, len(tails)) for i, tail in enumerate(tails)]
    return sizes, edges


@pytest.mark.slow
@given(dags())
def test_boxes_are_apart_and_edges_go_around_them(
    dag: tuple[dict[int, tuple[float, float]], list[Edge]],
) -> None:
    sizes, edges = dag
    layout = layered(sizes, edges)
    frames = {node: frame(layout, sizes, node) for node in sizes}
    for x0, y0, x1, y1 in frames.values():
        assert x0 > -1e-6
        assert y0 > -1e-6
        assert x1 < layout.width + 1e-6
        assert y1 < layout.height + 1e-6
    for a, b in itertools.combinations(frames.values(), 2):
        assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]
    for edge, route in zip(edges, layout.routes, strict=True):
        heights = [y for _, y in route]
        assert all(above - below > -1e-6 for below, above in itertools.pairwise(heights))
        assert layout.centres[edge.tail][1] < layout.centres[edge.head][1]
        start, end = frames[edge.tail], frames[edge.head]
        assert route[0] == pytest.approx(((start[0] + start[2]) / 2, start[3]))
        assert route[-1] == pytest.approx(((end[0] + end[2]) / 2 + edge.port, end[1]))
        for i, ((xa, ya), (xb, yb)) in enumerate(itertools.pairwise(route)):
            for node, (x0, y0, x1, y1) in frames.items():
                if node in (edge.tail, edge.head):
                    continue
                if i % 2:  # a curve: it stays between the layers
                    assert yb <= y0 + 1e-6 or y1 <= ya + 1e-6
                else:
                    assert xa == xb
                    assert yb <= y0 or y1 <= ya or not x0 < xa < x1


def frame(
    layout: Layout, sizes: dict[int, tuple[float, float]], node: int
) -> tuple[float, float, float, float]:
    (x, y), (width, height) = layout.centres[node], sizes[node]
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


@pytest.mark.slow
@given(dags(), st.randoms(use_true_random=False))
def test_positions_solve_the_linear_program(
    dag: tuple[dict[int, tuple[float, float]], list[Edge]], random: Any
) -> None:
    sizes, edges = dag
    links = [Link(e.tail, e.head, random.randint(0, 9), None) for e in edges]
    links += [Link(e.tail, e.head, random.randint(-9, 9), random.randint(1, 5)) for e in edges]
    ends = positions(list(sizes), links)
    for pick in (min, max, lambda pair: sum(pair) / 2):
        place = {item: pick(pair) for item, pair in ends.items()}
        assert all(place[k.high] - place[k.low] >= k.length for k in links if k.weight is None)
        cost = sum(
            k.weight * abs(place[k.high] - place[k.low] - k.length) for k in links if k.weight
        )
        assert cost == pytest.approx(least_cost(len(sizes), links), abs=1e-6)
    assert min(low for low, _ in ends.values()) == 0


def least_cost(count: int, links: list[Link]) -> float:
    """The cost of the best positions, found by SciPy."""
    wishes = [link for link in links if link.weight is not None]
    rows, bounds = [], []
    slack = itertools.count(count)
    for link in links:
        row = np.zeros(count + len(wishes))
        row[link.low] += 1
        row[link.high] -= 1
        if link.weight is None:
            rows.append(row)
            bounds.append(-link.length)
            continue
        column = next(slack)
        for sign in (1, -1):
            both = sign * row
            both[column] = -1
            rows.append(both)
            bounds.append(-sign * link.length)
    cost = np.concatenate([np.zeros(count), [link.weight for link in wishes]])
    if not rows:
        return 0.0
    free = [(None, None)] * (count + len(wishes))
    return float(linprog(cost, np.array(rows), np.array(bounds), bounds=free).fun)


def test_an_executable_draws_its_graph(tmp_path: Path) -> None:
    x = sg.placeholder("x", (None, 3))
    run = sg.compile([x], sg.softmax(x))
    run.draw(tmp_path / "run.svg")
    assert "softmax" in (tmp_path / "run.svg").read_text()
    assert "softmax" in run._repr_svg_()


def scoped_step() -> Any:
    x, h = sg.placeholder("x", (None, 4)), sg.placeholder("h", (None, 4))
    out: Any = x
    for name in ("first", "second"):
        with sg.scope(name):
            w = sg.variable(np.ones((4, 4), "float32"), "w")
            with sg.scope("inner"):
                out = sg.tanh(out @ w)
    loss = (out * h).sum()
    return sg.compile([x, h], loss, sg.optim.Adam(lr=0.1).minimize(loss))


@pytest.mark.slow
def test_scopes_are_folded_to_boxes_as_deep_as_asked(tmp_path: Path) -> None:
    step = scoped_step()
    found = words(step, tmp_path, fold=0)
    for name in ("first", "gradient of first", "update of first", "second", "x", "h", "sum"):
        assert found[name] == 1, name
    assert not {"tanh", "matmul", "w"} & set(found)
    inner = words(step, tmp_path, fold=1)
    assert inner["first / inner"] == inner["gradient of first / inner"] == 1
    assert "first" not in inner
    everything = words(step, tmp_path)
    assert everything["tanh"] == 2
    assert sum(words(step, tmp_path, fold=9).values()) == sum(everything.values())


def test_boxes_that_would_lead_in_a_circle_are_opened(tmp_path: Path) -> None:
    x = sg.placeholder("x", (3,), "float64")
    with sg.scope("net"):
        y = sg.tanh(x)
        (gradient,) = sg.grad(y.sum(), [x])
        penalty = sg.exp(gradient).sum()
    (again,) = sg.grad(penalty, [x])
    found = words(sg.compile([x], [penalty, again]), tmp_path, fold=0)
    assert found["exp"] + found["net"] >= 1


@pytest.mark.parametrize("fold", [-1, True, 1.5, "all"])
def test_what_is_no_depth_is_refused(fold: Any) -> None:
    with pytest.raises(OptionError, match="draw: fold is a number of levels from 0"):
        draw(scoped_step(), fold=fold)
