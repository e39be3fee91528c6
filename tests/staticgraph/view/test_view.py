"""The page of a graph: its model is whole and linked, and nothing of the user's is code in it."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.view import View, view
from staticgraph.view.page import SCRIPTS, as_script
from staticgraph.view.values import BINS, TABLE, summary
from tests.paths import ROOT
from tests.staticgraph.view.pages import HOSTILE, Elements, loops, model_in, page, step, urls_in

NAMES = ("step", "loops")


def walk(items: list[Any], path: tuple[str, ...] = ()) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The nodes in boxes, each with the labels of those around it."""
    for item in items:
        if isinstance(item, int):
            yield item, path
        else:
            inside = (*path, f"{item['kind']}:{item.get('label', '')}")
            if "node" in item:
                yield item["node"], path
            yield from walk(item["items"], inside)


def paths(graph: dict[str, Any]) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Per node that is shown its lane and the boxes around it."""
    return {
        node: (lane, path)
        for lane, items in enumerate(graph["lanes"])
        for node, path in walk(items)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["before", "after"])
def test_every_node_is_in_one_box_and_its_links_lead_somewhere(name: str, which: str) -> None:
    model = model_in(page(name))
    graph = model["graphs"][which]
    nodes = graph["nodes"]
    found = [node for items in graph["lanes"] for node, _ in walk(items)]
    hidden = {i for i, node in enumerate(nodes) if "number" in node}
    assert sorted(found) == sorted(set(found))
    assert set(found) | hidden == set(range(len(nodes)))
    for i, node in enumerate(nodes):
        assert all(0 <= operand < i or node.get("body") for operand in node.get("operands", []))
        source = model["sources"][node["source"]]
        lines = model["files"][source["file"]]["lines"]
        assert source["line"] in [line for line, _ in lines]
    for variable, new in graph["updates"]:
        assert nodes[variable]["op"] == "variable"
        assert any(role.startswith("next value of") for role in nodes[new]["roles"])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_is_the_listing_and_its_lines_name_nodes(name: str) -> None:
    executable, _ = {"step": step, "loops": loops}[name]()
    model = model_in(page(name))
    lines = executable.source.splitlines()
    assert len(model["kernel"]) == len(lines)
    nodes = model["graphs"]["after"]["nodes"]
    assert [node["op"] for node in nodes] == [
        node.op.name for _, node in sorted(executable.kernel.nodes().items())
    ]
    linked = {node for _, found in model["kernel"] for node in found}
    computed = {node for step in executable.kernel.program for node in step.nodes}
    assert computed <= linked <= set(range(len(nodes)))
    for text, found in model["kernel"]:
        said = re.search(r"# (\w+)(?:, gradient of \w+)?  <- ", text)
        if said and len(found) == 1 and "(" not in said[1]:
            node = nodes[found[0]]
            assert said[1] in (node["op"], node.get("name"), text.split()[0]) or node.get("name")


@pytest.mark.slow
def test_scopes_lanes_and_updates_are_boxes() -> None:
    model = model_in(page("step"))
    graph = model["graphs"]["before"]
    found = paths(graph)
    by_op: dict[str, set[tuple[int, tuple[str, ...]]]] = {}
    for node, (lane, path) in found.items():
        scopes = tuple(one.removeprefix("scope:") for one in path if one.startswith("scope:"))
        record = graph["nodes"][node]
        by_op.setdefault(record.get("name") or record["op"], set()).add((lane, scopes))
    both = {("layer0", "network"), ("layer1", "network")}
    assert by_op["gelu"] == {(0, one) for one in both}
    assert by_op["up"] == {(0, one) for one in both}
    assert by_op["up.exp_avg"] == {(2, (*one, "up")) for one in both}
    assert by_op["x"] == {(0, ())}
    assert (1, ("layer0", "attention")) in by_op["matmul"]
    top = [
        [item.get("label") for item in items if isinstance(item, dict)] for items in graph["lanes"]
    ]
    assert top[0][-3:] == ["layer0", "layer1", "head"]
    assert top[1] == ["head", "layer1", "layer0"]


def test_fused_groups_are_boxes_of_the_nodes_that_one_nest_of_loops_computes() -> None:
    executable, _ = step()
    model = model_in(page("step"))
    groups: dict[str, set[int]] = {}
    for node, (_, path) in paths(model["graphs"]["after"]).items():
        if path and path[-1].startswith("group:"):
            groups.setdefault(path[-1], set()).add(node)
    assert len(groups) > 5
    home = executable.kernel.fusion.home
    order = {id(group): str(i) for i, group in enumerate(executable.kernel.fusion.groups)}
    for label, members in groups.items():
        own = {order[id(home[node])] for node in members if node in home}
        assert own == {label.removeprefix("group:")}


@pytest.mark.slow
def test_loops_are_opened_in_place() -> None:
    graph = model_in(page("loops"))["graphs"]["before"]
    inside = {
        (graph["nodes"][node]["op"], tuple(one for one in path if one[:5] in ("loop:", "body:")))
        for node, (lane, path) in paths(graph).items()
        if lane == 0
    }
    assert ("tanh", ("loop:scan",)) in inside
    assert ("exp", ("loop:cond", "body:on_true")) in inside
    assert ("less", ("loop:while_loop", "body:test")) in inside
    assert ("scan", ()) in inside


def test_values_times_and_places_are_those_of_the_run() -> None:
    executable, inputs = step()
    graphs = model_in(page("step"))["graphs"]
    nodes = graphs["before"]["nodes"]
    x = next(node for node in nodes if node.get("name") == "x")
    assert x["value"]["shape"] == [3, 6, 8]
    assert float(x["value"]["low"]) == pytest.approx(inputs[0].min(), rel=1e-5)
    assert sum(x["value"]["bins"]) == inputs[0].size
    loss = nodes[graphs["before"]["outputs"][0]]
    expected = float(copy.copy(executable)(*inputs))
    assert float(loss["value"]["low"]) == pytest.approx(expected, rel=1e-4)
    after = graphs["after"]["nodes"][graphs["after"]["outputs"][0]]
    assert float(after["value"]["low"]) == pytest.approx(expected, rel=1e-4)
    taken = [seconds for _, seconds in graphs["after"]["steps"]]
    assert min(taken) >= 0 < sum(taken)  # what timing takes is subtracted
    assert after["memory"] == "output"
    assert {node["memory"] for node in graphs["after"]["nodes"]} >= {
        "",
        "arena",
        "input",
        "variable",
    }
    plain = model_in(page("step", with_inputs=False))["graphs"]
    assert "steps" not in plain["after"]
    assert not any("value" in node for node in plain["before"]["nodes"])


@pytest.mark.parametrize("name", NAMES)
def test_nodes_after_the_passes_know_what_they_were(name: str) -> None:
    graphs = model_in(page(name))["graphs"]
    before, after = graphs["before"]["nodes"], graphs["after"]["nodes"]
    pairs = [(before[node["origin"]], node) for node in after if "origin" in node]
    assert len(pairs) > 0.9 * len(after)
    assert all(old["source"] == new["source"] for old, new in pairs)
    for op in ("tanh", "variable", "while_loop", "cond"):
        found = {old["op"] for old, new in pairs if new["op"] == op}
        assert found <= {op}
    facts = [fact for node in before for fact in node.get("facts", [])]
    assert any(fact.startswith("expanded: ") for fact in facts) or name == "loops"
    assert not any(fact.startswith(("group", "memory")) for fact in facts)


def test_what_is_not_finite_is_marked() -> None:
    nodes = model_in(page("loops"))["graphs"]["before"]["nodes"]
    (log,) = (node for node in nodes if node["op"] == "log")
    assert log["value"]["nan"] == 1
    assert log["value"]["rows"] == [["nan"]]


def test_values_inside_loops_are_those_of_an_iteration() -> None:
    graph = model_in(page("loops"))["graphs"]["before"]
    inside = [node for node in graph["nodes"] if "body" in node]
    tanh = next(node for node in inside if node["op"] == "tanh" and node["lane"] == 0)
    assert tanh["value"]["at"].startswith("in iteration 3 of scan (")
    (h, w), x = (np.zeros(3), np.full((3, 3), 0.5)), np.ones(3)
    for _ in range(4):
        h = np.tanh(x + h @ w)
    assert tanh["value"]["rows"] == [[f"{one:.6g}" for one in h]]
    taken = ["value" in node for node in inside if node["op"] == "sum" and node["lane"] == 0]
    assert sorted(taken) == [False, True]  # of the branch that was not taken there is none


def test_nothing_of_the_users_can_leave_its_place() -> None:
    text = page("loops").html
    elements = Elements(text)
    tags = [tag for tag, _ in elements.tags]
    assert tags.count("script") == 2
    assert "img" not in tags
    assert not any(key.startswith("on") for _, attrs in elements.tags for key in attrs)
    assert "</script><img" not in text
    assert "\u202e" not in text
    assert "\u2028" not in text
    (title,) = elements.texts["title"]
    assert title == model_in(page("loops"))["title"]
    assert title.startswith("</script><img src=x")
    assert title.endswith("{model}")
    framed = page("loops")._repr_html_()
    ((tag, attrs),) = Elements(framed).tags
    assert (tag, attrs["sandbox"]) == ("iframe", "allow-scripts")
    assert attrs["srcdoc"] == text


def test_the_page_loads_nothing_and_runs_nothing_but_its_own_script() -> None:
    text = page("step").html
    elements = Elements(text)
    _, script = elements.texts["script"]
    (style,) = elements.texts["style"]
    policy = next(attrs["content"] for tag, attrs in elements.tags if attrs.get("http-equiv"))
    hashes = [
        base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (style, script)
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    )
    assert [tag for tag, attrs in elements.tags if "src" in attrs or "href" in attrs] == []
    assert urls_in(style + script) == []
    assert "innerHTML" not in script


def test_data_is_json_that_no_element_ends() -> None:
    model = {"a": [HOSTILE, "<!--", "]]>", "\x00", 1.5, None]}
    text = as_script(model)
    assert json.loads(text) == model
    assert text.isascii()
    assert not set("<>&") & set(text)
    with pytest.raises(ValueError, match="JSON"):
        as_script([float("nan")])


def test_the_same_graph_gives_the_same_page() -> None:
    executable, _ = step()
    assert executable.view().html == executable.view().html == page("step", with_inputs=False).html


def test_a_source_that_this_process_has_not_run_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(f"{tmp_path} is a secret\n" * 30)
    x = sg.placeholder("x", (3,))
    made = sg.Expression(sg.exp, (x,), {}, source=f"{secret}:3")
    text = sg.compile([x], made).view().html
    assert f"{tmp_path} is" not in text
    assert "secret.txt" in text


def test_files_are_written_and_other_names_refused(tmp_path: Path) -> None:
    executable, inputs = step()
    made = executable.view(tmp_path / "net.html")
    assert (tmp_path / "net.html").read_text(encoding="utf-8") == made.html
    assert repr(made).startswith("<view of step: 0.")
    with pytest.raises(sg.OptionError, match=r"'net.svg' ends in none of .html, .htm"):
        executable.view("net.svg", inputs=inputs)


@pytest.mark.slow
def test_inputs_are_checked_as_those_of_a_call() -> None:
    executable, (x, y) = step()
    with pytest.raises(sg.FeedError, match="missing feed 'y'"):
        executable.view(inputs=(x,))
    with pytest.raises(sg.OptionError, match="inputs is a tuple or a dict by names"):
        executable.view(inputs=x)
    with pytest.raises(sg.ShapeError):
        executable.view(inputs=(x[:, :5], y))
    named = model_in(executable.view(inputs={"y": y, "x": x}))
    assert "steps" in named["graphs"]["after"]


@pytest.mark.slow
def test_nothing_is_updated() -> None:
    executable, inputs = step()
    before = [one.value.copy() for one in executable.variables.values()]
    executable.view(inputs=inputs)
    for old, one in zip(before, executable.variables.values(), strict=True):
        np.testing.assert_array_equal(old, one.value)


def test_without_a_kernel_there_is_the_graph() -> None:
    x = sg.placeholder("x", (3,))
    debug = sg.compile([x], sg.exp(x), debug=True, name="debug")
    for made in (debug.view(inputs=(np.zeros(3, "float32"),)), view([sg.exp(x), sg.sin(x)])):
        model = model_in(made)
        assert list(model["graphs"]) == ["before"]
        assert model["kernel"] == []
    assert isinstance(view(sg.exp(x)), View)
    with pytest.raises(sg.GraphError, match="3 is no expression"):
        view([3])  # type: ignore[list-item]


@pytest.mark.slow
def test_functions_and_modules_have_pages() -> None:
    model = dynamic.nn.Sequential(dynamic.nn.Linear(2, 3), dynamic.nn.Tanh())
    made = sg.function(model).view(inputs=(dynamic.ones(4, 2),))
    graph = model_in(made)["graphs"]["before"]
    found = {graph["nodes"][node]["op"]: path for node, (_, path) in paths(graph).items()}
    assert found["tanh"][:2] == ("scope:Sequential", "scope:1 Tanh")
    weight = next(i for i, node in enumerate(graph["nodes"]) if node.get("name") == "0.weight")
    assert paths(graph)[weight][1][:2] == ("scope:Sequential", "scope:0 Linear")


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3)), np.array(1.5, "f4"), np.array([True, False]), np.arange(200),
        np.array([np.nan, np.inf, -np.inf, 1.0]), np.full(100, np.nan), np.full(100, 3.0),
        np.array([-1.7e308, 1.7e308] * 50), np.full((2, 2, 2, 2), 7, "i8"),
        np.full(99, 3e38, "f4"),
    ],
)  # fmt: skip
def test_summaries_have_what_json_has(array: Any) -> None:
    made = summary(np.asarray(array))
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert made["bytes"] == array.nbytes
    finite = array[np.isfinite(array)] if array.size else array
    if array.dtype == bool:
        assert (made["low"], made["high"]) == ("False", "True")
    elif finite.size:
        assert float(made["low"]) == pytest.approx(float(finite.min()), rel=1e-5)
        assert float(made["high"]) == pytest.approx(float(finite.max()), rel=1e-5)
    if array.size <= TABLE:
        assert sum(map(len, made.get("rows", []))) == array.size
    elif "bins" in made:
        assert (len(made["bins"]), sum(made["bins"])) == (BINS, finite.size)


def test_the_files_of_the_page_are_the_packages() -> None:
    folder = ROOT / "staticgraph" / "view" / "page"
    scripts = {path.stem for path in folder.glob("*.js")}
    assert scripts == set(SCRIPTS)
    for path in (*folder.glob("*.js"), folder / "page.css", folder / "page.html"):
        assert len(path.read_text().splitlines()) < 500
