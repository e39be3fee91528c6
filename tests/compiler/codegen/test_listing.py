"""What is printed of kernels: the user's names and lines, of each statement, and nothing else."""

from __future__ import annotations

import ast
import inspect
import io
import keyword
import re
import tokenize
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import staticgraph as sg
from staticgraph.compiler.codegen.comments import escaped
from staticgraph.compiler.codegen.listing import listed, listing
from staticgraph.compiler.codegen.naming import LONGEST, Names
from staticgraph.compiler.core.source import gradient_of, of_gradient, place_of
from staticgraph.compiler.graph.expression import at_line
from staticgraph.compiler.runtime.cache.loader import counts
from tests.graphs import DEFINITIONS, kernel

FILE = Path(__file__).name
COMPUTES = re.compile(r"(\S+ = |gemm_f\d\d\().*")


def line_here() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def comments_of(source: str) -> dict[str, str]:
    """By each statement of a listing's units what is said of it, beside it or above."""
    found = {}
    above = ""
    for line in source.partition("def kernel(")[0].splitlines():
        statement, _, beside = line.strip().partition("  # ")
        if COMPUTES.match(statement):
            found[statement.strip()] = beside or above
        above = statement.removeprefix("# ") if statement.startswith("# ") else ""
    return found


def test_an_elementwise_group_has_names_lines_and_ops() -> None:
    speed, mass = sg.placeholder("speed", ("n",)), sg.variable(np.ones((), "f4"), "mass")
    first = line_here() + 1
    energy = speed * speed
    energy = mass * energy
    source = sg.compile([speed], energy).source
    assert f"# {__file__}:{first}  energy = speed * speed\n" in source
    assert f"# {__file__}:{first + 1}  energy = mass * energy\n" in source
    found = comments_of(source)
    assert found["speed_2 = speed[i0]"] == f"speed  <- {FILE}:{first - 2}"
    assert found["mass_1 = mass[0]"] == f"mass  <- {FILE}:{first - 2}"
    assert found["energy_3 = speed_2 * speed_2"] == f"multiply  <- {FILE}:{first}"
    assert found["energy_4 = mass_1 * energy_3"] == f"multiply  <- {FILE}:{first + 1}"
    assert found["output_0[i0] = energy_4"] == f"multiply  <- {FILE}:{first + 1}"


def test_a_row_pass_and_its_gradient_have_lines() -> None:
    x = sg.placeholder("x", ("n", "m"))
    p = sg.softmax(x)
    of_softmax = line_here() - 1
    loss = sg.sum(sg.log(p))
    of_log = line_here() - 1
    source = sg.compile([x], [p, sg.grad(loss, x)]).source
    told = set(comments_of(source).values())
    assert {
        f"exp  <- {FILE}:{of_softmax}",
        f"max  <- {FILE}:{of_softmax}",
        f"subtract, gradient of softmax  <- {FILE}:{of_softmax}",
        f"divide, gradient of log  <- {FILE}:{of_log}",
    } <= told


def test_reductions_products_and_windows_have_lines() -> None:
    x = sg.placeholder("x", ("n", 32, 32))
    images = sg.reshape(x, (x.shape[0], 1, 32, 32))
    kernels = sg.variable(np.ones((16, 1, 3, 3), "f4"), "kernels")
    maps = sg.conv2d(images, kernels)
    of_windows = line_here() - 1
    matrix = sg.variable(np.ones((32, 8), "f4"), "matrix")
    product = x @ matrix
    of_product = line_here() - 1
    total = sg.sum(x)
    of_total = line_here() - 1
    found = comments_of(sg.compile([x], [maps, product, total]).source)
    lines = {f":{of_windows}", f":{of_product}", f":{of_total}"}
    assert all(any(one.endswith(line) for one in found.values()) for line in lines)
    (gemm,) = {told for text, told in found.items() if "matrix" in text and "gemm_f32" in text}
    assert gemm == f"matmul  <- {FILE}:{of_product}"


def test_loops_have_lines_in_their_bodies_and_gradients() -> None:
    x = sg.placeholder("x", (None, 4))
    h, _ = sg.scan(lambda h, row: (sg.tanh(h + row), h), sg.constant(np.zeros(4, "f4")), x)
    of_scan = line_here() - 1
    doubled = sg.while_loop(lambda v: v < 100.0, lambda v: v * 2.0, sg.abs(x[0, 0]) + 1.0)
    of_while = line_here() - 1
    source = sg.compile([x], [h, doubled, sg.grad(h.sum(), x)]).source
    told = set(comments_of(source).values())
    assert f"tanh  <- {FILE}:{of_scan}" in told
    assert f"multiply  <- {FILE}:{of_while}" in told
    assert any(re.fullmatch(rf"\w+, gradient of tanh  <- {FILE}:{of_scan}", one) for one in told), (
        told
    )
    assert f"    # scan  <- {FILE}:{of_scan}\n" in source


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_statement_says_where_it_comes_from(name: str) -> None:
    made = kernel(DEFINITIONS[name]())
    found = comments_of(listing(made))
    assert found
    for text, told in found.items():
        assert re.fullmatch(r"[\w, ]+  <- graphs\.py:\d+", told), (text, told)
    ast.parse(listing(made))


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_code_is_that_of_the_units_under_other_names(name: str) -> None:
    made = kernel(DEFINITIONS[name]())
    *printed, _ = [one for one in ast.parse(listing(made)).body if isinstance(one, ast.FunctionDef)]
    for text, one in zip(made.texts, printed, strict=True):
        (canonical,) = ast.parse(text).body
        assert _anonymous(one) == _anonymous(canonical)


def _anonymous(tree: ast.AST) -> str:
    """A function whose names are numbered in the order in which they come."""
    numbers: dict[str, int] = {}
    for node in ast.walk(tree):
        for field in ("id", "arg"):
            if isinstance(name := getattr(node, field, None), str):
                setattr(node, field, f"_{numbers.setdefault(name, len(numbers))}")
    return ast.dump(tree)


def test_names_and_lines_are_not_in_the_key_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path))
    sources = []
    for x, w in (("x", "w"), ("a longer name", "weight\n")):
        input = sg.placeholder(x, (None, 3))
        variable = sg.variable(np.ones(3, "f4"), w)
        counts.clear()
        made = sg.compile([input], sg.exp(input * variable).sum())
        sources.append((made.kernel.texts, made.source))
        first = len(sources) == 1
        assert (counts["compiled"], counts["loaded"]) == ((1, 0) if first else (0, 1))
    (texts, source), (again, other) = sources
    assert texts == again
    assert source != other
    assert "a_longer_name_1 = a_longer_name[" in other


def test_a_unit_that_is_called_on_several_arrays_has_none_of_their_names() -> None:
    x, y = sg.placeholder("x", (None, 5)), sg.placeholder("y", (None, 5))
    made = sg.compile([x, y], [sg.softmax(x), sg.softmax(y)], fuse=False)
    shared = [unit for unit in made.source.split("\n\n\n") if "(b0: p_f32" in unit]
    assert shared
    for unit in shared:
        assert not re.search(r"\b[xy]\b", ast.unparse(ast.parse(unit)))


def test_values_have_the_names_that_the_line_assigns() -> None:
    x = sg.placeholder("x", (None,), "float64")
    speed = sg.exp(x) * 2.0
    h = speed
    for _ in range(2):
        h = sg.tanh(h)
    total = sg.while_loop(lambda v: v < 100.0, lambda v: v * 2.0, h[0])
    named = sg.sin(h)
    named.name = "other"
    source = sg.compile([x], [h, total, named]).source
    assert re.search(r"\bspeed_\d+ = (v\d+ \* f64|f64\(2.0\) \*)", source), source
    assert len(re.findall(r"\bh_\d+ = tanh", source)) == 1  # the last one has the name
    assert re.search(r"\bother_\d+ = sin\(h_\d+\)", source)
    assert not re.search(r"\b(total|named)_\d+ =", source)


def test_values_of_loops_have_the_names_of_their_functions() -> None:
    x = sg.placeholder("x", (None, 3), "float64")
    w = sg.variable(np.ones(3), "w")

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        inner = sg.tanh(state * w + row)
        return inner, sg.sum(inner)

    last, _ = sg.scan(step, sg.constant(np.zeros(3)), x)
    grown = sg.while_loop(lambda v: v[0] < 9.0, lambda much: much * 2.0, last + 2.0)
    source = sg.compile([x], [sg.sum(grown), sg.grad(sg.sum(last), w)]).source
    for name in ("state", "row", "inner", "much"):
        assert re.search(rf"\b{name}_\d+ = ", source), source
    assert re.search(r"\binner_\d+ = tanh\(", source)  # not what hands it on


HOSTILE = [
    "x\nimport os", "x\r# ", "x\u2028y", "x\x85y", "x\x0cy", "\x00", '"""', "'; raise Error #",
    "coding: utf-7 +AAo-", "class", "def", "print", "v1", "acc2", "b0", "i0", "n0", "chunk",
    "exp", "fsum", "t", "kernel", "unit_0", "p_f32", "f32", "range", "__import__", "match",
    "\\", "é" * 99, "1x", "", "_", "x" * 500, "name with spaces", "\ud800", "\u202e", "inf", "nan",
    "type", "p_f64", "gemm", "from", "soft_keyword",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_files_of_any_text_stay_in_their_place(name: str) -> None:
    with at_line(f"{name}:3"):
        x = sg.placeholder(name or "x", (None, 3))
        w = sg.variable(np.ones(3, "f4"), name or "w")
        y = sg.exp(x * w).sum()
    source = listing(kernel(([x], [y, sg.grad(y, w)], {})))
    assert source.isascii()
    plain = sg.placeholder("plain", (None, 3))
    other = sg.variable(np.ones(3, "f4"), "other")
    y = sg.exp(plain * other).sum()
    wanted = listing(kernel(([plain], [y, sg.grad(y, other)], {})))
    units = [
        [
            _anonymous(one)
            for one in ast.parse(text.encode()).body
            if isinstance(one, ast.FunctionDef)
        ]
        for text in (source, wanted)
    ]
    assert units[0] == units[1]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            assert len(token.string) <= LONGEST + 10


@pytest.mark.slow
@given(st.lists(st.text()))
@settings(deadline=None)
def test_names_are_identifiers_of_their_own(wanted: list[str]) -> None:
    names = Names(["taken", "x"])
    found = [names.new(one, "otherwise") for one in [*wanted, "taken", "x", "taken", "print"]]
    assert len(set(found)) == len(found)
    for one in found:
        assert one.isascii()
        assert one.isidentifier()
        assert not keyword.iskeyword(one)
        assert one not in ("taken", "x", "print")


@given(st.text())
def test_an_escaped_text_is_one_line_of_ascii(text: str) -> None:
    found = escaped(text)
    assert found.isascii()
    assert found.isprintable()


def test_no_file_is_read_that_is_not_the_programs(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a secret\n")
    with at_line(f"{secret}:1"):
        x = sg.placeholder("x", (3,))
        y = x + 1
    source = listing(kernel(([x], [y], {})))
    assert f"# {secret}:1\n" in source
    assert "a secret" not in source


def test_the_source_of_a_gradient_ends_with_its_place() -> None:
    source = of_gradient("multiply", of_gradient("exp", "a file: b.py:3"))
    assert source == "gradient of multiply at a file: b.py:3"
    assert (gradient_of(source), place_of(source)) == ("multiply", "a file: b.py:3")
    assert (gradient_of("b.py:3"), place_of("b.py:3")) == ("", "b.py:3")


def test_the_interpreter_names_the_gradient() -> None:
    x: Any = sg.placeholder("x", (), "float64")
    slope = sg.compile([x], sg.grad(sg.log(x), x), debug=True)
    with pytest.warns(sg.NonFiniteWarning, match=r"gradient of log at .*test_listing.py:\d+"):
        slope(np.float64(0.0))


def test_lines_name_the_nodes_of_all_groups_that_share_a_unit() -> None:
    x, y = sg.placeholder("x", (800,)), sg.placeholder("y", (800,))
    executable = sg.compile([x, y], [sg.sin(x), sg.sin(y)], fuse=False)
    lines = listed(executable.kernel)
    assert "".join(f"{line.text}\n" for line in lines) == executable.source
    sines = {i for i, node in executable.kernel.nodes().items() if node.op.name == "sin"}
    assert len(sines) == 2
    (statement,) = (line for line in lines if " = sin(" in line.text)
    (head,) = (line for line in lines if line.text.startswith("def unit_0"))
    assert set(statement.nodes) == set(head.nodes) == sines
    calls = [line.nodes for line in lines if line.text.lstrip().startswith("unit_0(")]
    assert sorted(calls) == sorted((node,) for node in sines)


def test_lines_inside_a_loop_name_its_nodes() -> None:
    xs = sg.placeholder("xs", (None, 3), "float64")
    _, ys = sg.scan(lambda c, x: (sg.tanh(c + x), c), sg.zeros((3,), "float64"), xs)
    kernel_ = sg.compile([xs], ys).kernel
    tanh = next(i for i, node in kernel_.nodes().items() if node.op.name == "tanh")
    found = [line.text for line in listed(kernel_) if tanh in line.nodes]
    assert any("= tanh(" in text for text in found)
    assert any(text.startswith("        unit_") for text in found)
