"""`make_dot`: which boxes and edges it draws, the DOT text, and that the SVG holds all of them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import dynamic as torch
from staticgraph.dynamic import make_dot, ones, tensor
from staticgraph.dynamic.core.errors import ArgumentError

SVG = "{http://www.w3.org/2000/svg}"


def edges_of(dot):
    """Every edge as the texts of its two boxes."""
    text = [" ".join(box.lines) for box in dot.boxes]
    return sorted((text[line.tail], text[line.head]) for line in dot.lines)


def kinds_of(dot):
    return {" ".join(box.lines): box.kind for box in dot.boxes}


def seed():
    w, b = ones(5, requires_grad=True), tensor(0.0, requires_grad=True)
    x = ones(5)
    z = x.dot(w) + b
    return z, {"x": x, "w": w, "b": b}


def test_the_graph_of_the_tutorial():
    z, params = seed()
    dot = make_dot(z, params=params)
    assert edges_of(dot) == [
        ("AccumulateGrad", "AddBackward0"),
        ("AccumulateGrad", "DotBackward0"),
        ("AddBackward0", "()"),
        ("DotBackward0", "AddBackward0"),
        ("b ()", "AccumulateGrad"),
        ("w (5)", "AccumulateGrad"),
    ]
    assert kinds_of(dot) == {
        "()": "output", "AddBackward0": "op", "DotBackward0": "op", "AccumulateGrad": "op",
        "w (5)": "leaf", "b ()": "leaf",
    }  # fmt: skip


def test_the_dot_text_names_every_box_and_edge():
    z, params = seed()
    dot = make_dot(z, params=params)
    source = dot.source
    assert source.startswith("digraph {") and source.endswith("}\n")
    assert len(re.findall(r"\[label=", source)) == len(dot.boxes) == 7
    assert len(re.findall(r"n\d+ -> n\d+", source)) == len(dot.lines) == 6
    assert 'label="w\\n(5)" fillcolor=lightblue' in source
    assert "fillcolor=darkolivegreen1" in source


def test_the_svg_shows_every_box_within_the_picture():
    z, params = seed()
    dot = make_dot(z, params=params)
    root = ElementTree.fromstring(dot._repr_svg_())
    shown = [one.text for one in root.iter(f"{SVG}text")]
    assert sorted(shown) == sorted(line for box in dot.boxes for line in box.lines)
    width, height = float(root.get("width")), float(root.get("height"))
    boxes = [one for one in root.iter(f"{SVG}rect") if one.get("x")]
    assert len(boxes) == len(dot.boxes)
    for one in boxes:
        x, y, w, h = (float(one.get(key)) for key in ("x", "y", "width", "height"))
        assert x >= 0 and x + w <= width and y >= 0 and y + h <= height


def test_leaves_are_above_what_is_computed():
    z, params = seed()
    root = ElementTree.fromstring(make_dot(z, params={**params, "z": z})._repr_svg_())
    y = {one.text: float(one.get("y")) for one in root.iter(f"{SVG}text")}
    assert y["w"] < y["DotBackward0"] < y["AddBackward0"] < y["z"]


def test_saved_tensors_on_request():
    z, params = seed()
    assert "saved" not in kinds_of(make_dot(z, params)).values()
    dot = make_dot(z, params, show_saved=True)
    assert kinds_of(dot)["x operand 0 (5)"] == "saved"
    assert [line.arrow for line in dot.lines].count(False) == 1
    assert "dir=none" in dot.source
    z.backward()
    assert "saved" not in kinds_of(make_dot(z, params, show_saved=True)).values()


def test_attributes_on_request():
    x = ones(2, 3, requires_grad=True)
    label = make_dot(x.sum(1), show_attrs=True).boxes[1].lines
    assert label[0] == "SumBackward1" and set(label[1]) == {"-"}
    assert label[2:] == ("axes    : (1,)", "keepdims: False")
    (long,) = (
        line
        for line in make_dot(x.sum(1), show_attrs=True, max_attr_chars=4).boxes[1].lines
        if line.startswith("keepdims")
    )
    assert long == "keepdims: F..."


def test_views_name_their_base():
    base = ones(4, requires_grad=True) * 2
    dot = make_dot(base[1:], {"base": base})
    assert kinds_of(dot)["base (4)"] == "base"
    assert ("base (4)", "(3)") in edges_of(dot)
    assert "style=dotted" in dot.source


def test_two_outputs_share_what_they_have_in_common():
    x = ones(3, requires_grad=True)
    y = x.exp()
    dot = make_dot((y.sum(), y.mean()), {"x": x})
    names = [box.lines[0] for box in dot.boxes]
    assert names.count("ExpBackward0") == 1 and len(dot.lines) == 6


def test_an_operand_used_twice_has_two_edges():
    x = ones(3, requires_grad=True)
    assert edges_of(make_dot(x * x)).count(("AccumulateGrad", "MulBackward0")) == 2


def test_leaves_and_constants_stand_alone():
    assert kinds_of(make_dot(ones(2))) == {"(2)": "output"}
    assert make_dot(ones(2, requires_grad=True)).lines == []
    assert "<svg" in make_dot([])._repr_svg_()


def test_a_deep_graph():
    x = y = ones(1, requires_grad=True)
    for _ in range(3000):
        y = -y
    assert len(make_dot(y).boxes) == 3003
    assert make_dot(y, {"x": x}).source.count("->") == 3002


def test_names_are_escaped():
    x = ones(1, requires_grad=True)
    name = '<b> & "q" \\ \x00 ∂日'
    dot = make_dot(x.exp(), {name: x})
    root = ElementTree.fromstring(dot._repr_svg_())
    assert '<b> & "q" \\ \\x00 ∂日' in [one.text for one in root.iter(f"{SVG}text")]
    assert '<b> & \\"q\\" \\\\ ' in dot.source


def test_files(tmp_path):
    dot = make_dot(ones(1, requires_grad=True).exp())
    dot.save(tmp_path / "graph.svg")
    dot.save(tmp_path / "graph.gv")
    name = dot.render(tmp_path / "other")
    assert name.endswith("other.svg")
    assert (tmp_path / "graph.svg").read_text("utf-8") == (tmp_path / "other.svg").read_text(
        "utf-8"
    )
    assert (tmp_path / "graph.gv").read_text("utf-8") == dot.source
    with pytest.raises(ValueError, match=r"'graph\.png' ends in none of \.svg, \.dot, \.gv"):
        dot.save("graph.png")
    with pytest.raises(ValueError, match=r"the format is 'svg', not 'png'"):
        dot.render("graph", format="png")


def test_what_is_no_tensor():
    with pytest.raises(ArgumentError, match=r"make_dot: int is not a Tensor"):
        make_dot(3)
    with pytest.raises(ArgumentError, match=r"make_dot: list is not a Tensor"):
        make_dot(torch.ones(1), {"x": [1]})


def test_modules_give_their_names():
    layer = torch.nn.Linear(2, 3)
    dot = make_dot(layer(torch.ones(4, 2)), dict(layer.named_parameters()))
    assert {"weight (3, 2)", "bias (3)"} <= set(kinds_of(dot))
