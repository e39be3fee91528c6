"""The entries of launch plans: what their keys tell apart, and entries that cannot be used."""

from __future__ import annotations

import hashlib
import json
import operator
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.compile import compile_graph
from staticgraph.compiler.core.dims import unknown
from staticgraph.compiler.core.errors import FormatError
from staticgraph.compiler.core.op import Op, op_named
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.canonical import Canonical, canonical
from staticgraph.compiler.graph.definition import Definition, define
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.runtime.cache import common, key, loader
from staticgraph.compiler.runtime.cache.launch_plans import read_launch_plan
from staticgraph.compiler.runtime.cache.loader import counts
from staticgraph.compiler.runtime.cache.store import HEADER, MAGIC, SUFFIX, Store

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test alone."""
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def p(name: str = "x", shape: Any = (None, 3), dtype: str = "float32") -> Expression:
    return sg.placeholder(name, shape, dtype)


def one(make: Callable[..., Expression], *leaves: Expression) -> Definition:
    return define(leaves, [make(*leaves)])


def form(definition: Definition) -> str:
    found = canonical(definition)
    assert found is not None
    return found.text


def both(a: Expression, b: Expression) -> Definition:
    return define([a, b], [a * 2.0 + b])


def shared(name: Any, other: Any) -> Definition:
    return both(p("a", (name,)), p("b", (other,)))


def update(of: int, new: float = 2.0) -> Definition:
    variables = [sg.variable(np.ones(3, "float32")) for _ in range(2)]
    return define([], [variables[0] + variables[1]], [(variables[of], variables[0] * new)])


def looped(factor: float, length: int = 4, *, reverse: bool = False) -> Definition:
    x = p("x", (length, 3))
    h, _ = sg.scan(lambda h, x: (h * factor + x, None), sg.zeros(3), x, reverse=reverse)
    return define([x], [h])


DIFFERENT: dict[str, tuple[Callable[[], Definition], Callable[[], Definition]]] = {
    "op": (lambda: one(sg.exp, p()), lambda: one(sg.log, p())),
    "dtype": (lambda: one(sg.exp, p()), lambda: one(sg.exp, p(dtype="float64"))),
    "rank": (lambda: one(sg.exp, p()), lambda: one(sg.exp, p(shape=(None, 3, 1)))),
    "size": (lambda: one(sg.exp, p()), lambda: one(sg.exp, p(shape=(None, 4)))),
    "known size": (lambda: one(sg.exp, p()), lambda: one(sg.exp, p(shape=(3, 3)))),
    "attribute": (
        lambda: one(lambda x: sg.sum(x, axis=0), p(shape=(3, 3))),
        lambda: one(lambda x: sg.sum(x, axis=1), p(shape=(3, 3))),
    ),
    "kind of attribute": (
        lambda: one(lambda x: sg.sum(x, axis=1, keepdims=False), p(shape=(3, 1))),
        lambda: one(lambda x: sg.sum(x, axis=1, keepdims=True), p(shape=(3, 1))),
    ),
    "float attribute": (
        lambda: one(lambda x: sg.leaky_relu(x, 0.0), p()),
        lambda: one(lambda x: sg.leaky_relu(x, -0.0), p()),
    ),
    "constant": (lambda: one(lambda x: x * 2.0, p()), lambda: one(lambda x: x * 3.0, p())),
    "sign of zero": (lambda: one(lambda x: x + 0.0, p()), lambda: one(lambda x: x + -0.0, p())),
    "shape of constant": (
        lambda: one(lambda x: x + sg.constant([1.0]), p()),
        lambda: one(lambda x: x + sg.constant([[1.0]]), p()),
    ),
    "dtype of constant": (
        lambda: one(lambda i: i + sg.constant(0, "int32"), p(dtype="int64")),
        lambda: one(lambda i: i + sg.constant(0, "uint8"), p(dtype="int64")),
    ),
    "order of operands": (
        lambda: define([a := p("a"), b := p("b")], [a - b]),
        lambda: define([a := p("a"), b := p("b")], [b - a]),
    ),
    "order of inputs": (
        lambda: define([a := p("a"), b := p("b")], [a - b]),
        lambda: define([b := p("b"), a := p("a")][::-1], [a - b]),
    ),
    "order of outputs": (
        lambda: define([a := p()], [b := sg.exp(a), b * a]),
        lambda: define([a := p()], [b := sg.exp(a), b * a][::-1]),
    ),
    "an output more": (
        lambda: define([a := p()], [sg.exp(a)]),
        lambda: define([a := p()], [b := sg.exp(a), b]),
    ),
    "same size twice": (lambda: shared("n", "n"), lambda: shared(None, None)),
    "order of sizes": (lambda: shared("n", "m"), lambda: shared("m", "n")),
    "a size beside an unnamed one": (lambda: shared("n", None), lambda: shared(None, "n")),
    "which variable": (lambda: update(0), lambda: update(1)),
    "what is updated to": (lambda: update(0), lambda: update(0, 3.0)),
    "a variable twice": (
        lambda: define([], [(v := sg.variable(1.0)) + v]),
        lambda: define([], [sg.variable(1.0) + sg.variable(1.0)]),
    ),
    "variable or input": (
        lambda: define([], [sg.exp(sg.variable(1.0))]),
        lambda: define([a := p("a", ())], [sg.exp(a)]),
    ),
    "inside a loop": (lambda: looped(0.5), lambda: looped(0.25)),
    "length of a loop": (lambda: looped(0.5), lambda: looped(0.5, 5)),
    "direction of a loop": (lambda: looped(0.5), lambda: looped(0.5, reverse=True)),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_what_compiles_differently_has_another_form(pair: Any) -> None:
    left, right = (form(make()) for make in pair)
    assert left != right
    assert [form(make()) for make in pair] == [left, right]


def test_names_and_lines_and_numbers_do_not_matter() -> None:
    def made(name: str, size: str) -> Definition:
        x = sg.placeholder(name, (size, None), "float64")
        w = sg.variable(np.ones(3), f"w {name}")
        return define([x], [sg.exp(x).sum() * w], [(w, w * sg.constant(2.0, "float64"))])

    first = form(made("x", "n"))
    for _ in range(120):  # so that serial numbers get a digit more
        p()
        unknown()
    second = form(
        made("another name", "'\"\\ m")
    )  # fmt: skip
    assert first == second


def test_the_order_of_sizes_is_that_of_their_names_in_any_text() -> None:
    names = ["a", "a b", "a'", 'a"', "a\\", "ab", "", "é", "\ud800", *map(str, range(12))]
    sizes = [unknown(name) for name in names] + [unknown() for _ in range(12)]
    keys = [next(iter(size.atoms())).order() for size in sizes]  # type: ignore[union-attr]
    random.Random(0).shuffle(keys)
    wrapped = sorted(keys, key=lambda one: str([("x", str([one]), "\"'")]))
    assert wrapped == sorted(keys)
    assert len(set(keys)) == len(keys)


OPTIONS = [
    Options(), Options(numerics="fast"), Options(fuse=False), Options(backend="numba"),
    Options(disabled=frozenset(("fold_constants",))),
    Options(disabled=frozenset(("fold_constants", "hoist_products"))),
]  # fmt: skip


def test_options_are_in_the_key_and_the_number_of_threads_is_not() -> None:
    keys = [key.launch_plan_key("definition", options) for options in OPTIONS]
    assert len(set(keys)) == len(keys)
    assert key.launch_plan_key("definition", Options(threads=1)) == keys[0]
    assert key.launch_plan_key("another", Options()) != keys[0]
    assert key.kernel_key("definition") not in keys


def test_a_setting_of_the_environment_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = key.launch_plan_key("definition", Options())
    monkeypatch.setenv("NUMBA_OPT", "1")
    assert key.launch_plan_key("definition", Options()) != mine


def test_an_op_that_only_has_a_name_of_the_library_is_compiled_each_time() -> None:
    own = Op("exp", lambda x: x, np.exp, elementwise=True, lowering=op_named("exp").lowering)
    x = p(shape=(3,))
    definition = define([x], [Expression(own, (x,), {})])
    assert canonical(definition) is None
    before = counts["launch_plans"]
    for _ in range(2):
        run = compile_graph(definition, operator.itemgetter(0), "own", Options())
        np.testing.assert_allclose(run.run([np.zeros(3, "float32")], {}), 1)
    assert counts["launch_plans"] == before


def test_an_attribute_of_another_kind_is_compiled_each_time() -> None:
    x = p(shape=(3,))
    node = Expression(op_named("exp"), (x,), {"note": object()}, type=x.type)
    assert canonical(define([x], [node])) is None


# -- entries that cannot be used -----------------------------------------------------------------


def graph() -> Definition:
    x, w = p("x", (None, 3)), sg.variable(np.ones((3, 2), "float32"))
    scale = sg.constant(np.arange(1, 3, dtype="float32"))
    folded = sg.constant(np.ones(2, "float32")) + sg.constant(np.array([1, 2], "float32"))
    value = sg.softmax(x @ w * scale + folded)
    return define([x], [value, (x[: x.shape[0] // 2] * 2).sum()], [(w, w * 2.0)])


def run() -> Any:
    return compile_graph(graph(), list, "run", Options()).run([np.ones((4, 3), "float32")], {})


def launch_plan_file(place: Path) -> Path:
    (found,) = (path for path in place.iterdir() if b'"words"' in path.read_bytes())
    return found


def sealed(path: Path, text: bytes, data: bytes) -> None:
    """Another content in an entry that is whole."""
    old = HEADER.unpack_from(path.read_bytes())
    digest = hashlib.blake2b(text + data, digest_size=32).digest()
    head = HEADER.pack(MAGIC, old[1], old[2], digest, len(text), len(data))
    path.write_bytes(head + text + data)


def content(path: Path) -> tuple[Any, bytes]:
    whole = path.read_bytes()
    length = HEADER.unpack_from(whole)[4]
    start = HEADER.size + length
    return json.loads(whole[HEADER.size : start]), whole[start:]


def check_is_replaced(place: Path, damage: Callable[[Path], None]) -> None:
    expected, before = run(), counts.copy()
    path = launch_plan_file(place)
    whole = path.read_bytes()
    damage(path)
    for launch_plan in (0, 1):
        for value, other in zip(run(), expected, strict=True):
            np.testing.assert_array_equal(value, other)
        assert counts["launch_plans"] - before["launch_plans"] == launch_plan
    assert path.read_bytes() == whole


WRONG: list[Any] = [None, True, -1, 1 << 70, 1.5, "", "text", {}]
WRONG_LISTS: list[Any] = [
    [None], [True], ["text"], [1 << 70], [{}], [[]], [[None, None]], [[-1, -1]], [[0, 1 << 70]],
    [[1 << 70, 0]], [[0, [[1, 99]]]], [[0, [[1, ["rm", 1, 1]]]]], [[0, [["text"]]]],
    [[0, [], "complex256"]], [[0, [1], None, 0, -1]], [[0, [1], [1, 1, 0, 1, 1], 0, 0]],
    [[0, [1, 1, 1, 0, 1]]], [[0, [1, 1, 1, 1]]], [[0, ["cells", 1, 1]]],
    [[0, ["rows", 1, 1, 1]]], [[0, ["down", 1, 1, None]]],
]  # fmt: skip
NUMBERS = ("units", "length", "own", "failed", "pool", "unlocks")
FIELDS = [
    "code", "units", "length", "own", "failed", "pool", "unlocks", "words", "links", "gemm",
    "unknowns", "computed", "chunks", "inputs", "outputs", "variables", "constants", "folded",
    "arena", "hosts", "lost",
]  # fmt: skip


def test_every_field_of_an_launch_plan_is_read(place: Path) -> None:
    run()
    assert sorted(content(launch_plan_file(place))[0]) == sorted(FIELDS)


def test_a_field_that_is_missing_or_wrong_makes_no_launch_plan(place: Path) -> None:
    run()
    found, data = content(launch_plan_file(place))
    described = canonical(graph())
    assert described is not None
    read_launch_plan(json.dumps(found).encode(), data, graph(), described)
    for field in FIELDS:
        missing = {name: value for name, value in found.items() if name != field}
        number = field in NUMBERS or field == "code"
        wrong = [*WRONG, *([] if number else [7, *WRONG_LISTS])]
        for value in (missing, *({**found, field: one} for one in wrong)):
            if (field, value.get(field)) != ("units", 1 << 70):  # compared with the code's
                with pytest.raises(FormatError, match="damaged launch plan"):
                    read_launch_plan(json.dumps(value).encode(), data, graph(), described)


def test_entries_beyond_the_table_and_products_of_integers_are_refused(place: Path) -> None:
    run()
    found, data = content(launch_plan_file(place))
    described = canonical(graph())
    assert described is not None
    last = found["length"] - 1
    for field, value in (
        ("own", last + 1), ("pool", last), ("gemm", [["int64", 0]]),
        ("links", [len(found["words"])]), ("inputs", [[last, *found["inputs"][0][1:]]]),
        ("variables", [[0, 0]]),
    ):  # fmt: skip
        with pytest.raises(FormatError, match="damaged launch plan"):
            read_launch_plan(json.dumps({**found, field: value}).encode(), data, graph(), described)


HOST = [0, 3, "cumsum", {"axis": 0}, [[0, 0, [2], "float32"]]]
RESULT = [[0, 1, [2], "float32"]]
SQUARE = [[0, 0, [2, 2], "float32"]]
WRONG_HOSTS: dict[str, Any] = {
    "short": HOST,
    "no step": [*HOST[:2], "exp", {}, *HOST[4:], RESULT],
    "unknown op": [*HOST[:2], "nothing", *HOST[3:], RESULT],
    "a step of kernels": [
        *HOST[:2],
        "sparsemax",
        {"axis": 0, "descending": False},
        HOST[4],
        RESULT,
    ],
    "no attributes": [*HOST[:3], [], HOST[4], RESULT],
    "kind of attribute": [*HOST[:3], {"axis": ["word", 1]}, HOST[4], RESULT],
    "no operands": [*HOST[:4], [], RESULT],
    "another type": [*HOST, [[0, 1, [2], "float64"]]],
    "another size": [*HOST, [[0, 1, [3], "float32"]]],
    "two results": [*HOST, RESULT * 2],
    "no result": [*HOST, []],
    "no list of results": [*HOST, RESULT[0]],
    "one of three results": [*HOST[:2], "svd", {"full": False}, SQUARE, [None, None]],
    "a result of another type": [
        *HOST[:2],
        "svd",
        {"full": False},
        SQUARE,
        [None, [0, 1, [3], "float32"], None],
    ],
    "beyond the table": [1 << 20, *HOST[1:], RESULT],
    "operand beyond it": [*HOST[:4], [[0, 1 << 20, [2], "float32"]], RESULT],
}


def test_a_host_step_that_does_not_fit_makes_no_launch_plan(place: Path) -> None:
    run()
    found, data = content(launch_plan_file(place))
    described = canonical(graph())
    assert described is not None
    several = [*HOST[:2], "svd", {"full": False}, SQUARE, [None, [0, 1, [2], "float32"], None]]
    text = json.dumps({**found, "hosts": [several]}).encode()
    (call,) = read_launch_plan(text, data, graph(), described)[0].hosts
    assert [one is None for one in call.results] == [True, False, True]
    text = json.dumps({**found, "hosts": [[*HOST, RESULT]]}).encode()
    (call,) = read_launch_plan(text, data, graph(), described)[0].hosts
    assert (call.op, call.attrs) == ("cumsum", (("axis", 0),))
    for step in WRONG_HOSTS.values():
        text = json.dumps({**found, "hosts": [step]}).encode()
        with pytest.raises(FormatError, match="damaged launch plan"):
            read_launch_plan(text, data, graph(), described)


def test_attributes_of_a_host_step_come_back(place: Path) -> None:
    x = p(shape=(None, 3, 3), dtype="float64")
    definition = define([x], [sg.linalg.pinv(x, rtol=0.1), sg.linalg.pinv(x)])
    given = np.random.default_rng(0).normal(size=(2, 3, 3))
    for _ in range(2):
        f = compile_graph(definition, tuple, "f", Options())
        attrs = [dict(call.attrs) for call in f.launch_plan.hosts]
        assert attrs == [{"hermitian": False, "rtol": rtol} for rtol in (0.1, None)]
        np.testing.assert_array_equal(f.run([given], {})[1], np.linalg.pinv(given, 3 * 2**-52))


def damaged(change: Callable[[Any, bytes], tuple[bytes, bytes]]) -> Callable[[Path], None]:
    return lambda path: sealed(path, *change(*content(path)))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "no JSON": damaged(lambda form, data: (b"\xff{", data)),
    "another value": damaged(lambda form, data: (b"[1]", data)),
    "deep": damaged(lambda form, data: (b"[" * 100_000, data)),
    "no constants": damaged(lambda form, data: (json.dumps(form).encode(), b"")),
    "more constants": damaged(lambda form, data: (json.dumps(form).encode(), data + b"\0")),
    "code that is not there": damaged(
        lambda form, data: (json.dumps({**form, "code": "00" * 32}).encode(), data)
    ),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-10]) and None,
    "a bit": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\x17") and None,
    "gone": Path.unlink,
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_compiled_again_and_replaced(
    place: Path, damage: Callable[[Path], None]
) -> None:
    check_is_replaced(place, damage)


def test_an_launch_plan_without_its_code_is_made_again(place: Path) -> None:
    expected = run()
    code, _ = content(launch_plan_file(place))
    (place / (code["code"] + SUFFIX)).unlink()
    before = counts.copy()
    for value, other in zip(run(), expected, strict=True):
        np.testing.assert_array_equal(value, other)
    assert counts["compiled"] - before["compiled"] == 1
    assert counts["launch_plans"] == before["launch_plans"]
    run()
    assert counts["launch_plans"] == before["launch_plans"] + 1


def test_code_with_another_number_of_units_is_not_run(place: Path) -> None:
    def change(form: Any, data: bytes) -> tuple[bytes, bytes]:
        return json.dumps({**form, "units": form["units"] + 1}).encode(), data

    check_is_replaced(place, damaged(change))


def test_the_launch_plan_of_another_definition_is_refused(place: Path) -> None:
    run()
    found, data = content(launch_plan_file(place))
    x = p("x", (None, 3))
    other = define([x], [x * 2.0, sg.exp(x)])
    described = canonical(other)
    assert described is not None
    with pytest.raises(FormatError, match="damaged launch plan"):
        read_launch_plan(json.dumps(found).encode(), data, other, described)


def test_constants_of_the_user_are_not_written(place: Path) -> None:
    run()
    found, data = content(launch_plan_file(place))
    assert len(found["constants"]) == 1
    assert [np.prod(shape) for _, shape, _ in found["folded"]] == [2]
    assert data == np.array([2, 3], "float32").tobytes()


def test_nothing_of_the_user_is_in_an_entry(place: Path) -> None:
    x = sg.placeholder("secret", ("private",))
    executable = sg.compile([x], sg.exp(x) * sg.variable(1.0, "hidden"), name="mine")
    executable(np.ones(3, "float32"))
    entries = list(place.iterdir())
    assert len(entries) >= 2  # a launch plan and its code
    for path in entries:
        assert not re.search(b"secret|private|hidden|mine|test_launch_plan", path.read_bytes())


def test_an_unknown_that_a_pass_made_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    common.work_address()  # the code that calls kernels is written once in a process
    monkeypatch.setattr(loader, "canonical", lambda definition: Canonical("text", ()))
    writes: list[Any] = []
    monkeypatch.setattr(Store, "write", lambda *args: writes.append(args))
    x = p("x", (None,))
    compile_graph(define([x], [x * 2.0]), list, "run", Options())
    assert [args[2][:5] for args in writes] in ([], [b"step_"])


def test_a_tensor_type_is_part_of_the_form() -> None:
    x = p("x", (3,))
    first, second = (
        Expression(op_named("exp"), (x,), {}, type=TensorType((size,), x.dtype)) for size in (3, 4)
    )
    assert form(define([x], [first])) != form(define([x], [second]))
