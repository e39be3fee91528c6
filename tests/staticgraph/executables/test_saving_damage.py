"""Damaged and hostile files: each is refused with what is wrong, and nothing is loaded."""

from __future__ import annotations

import hashlib
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.graph.expression import Expression
from staticgraph.loading import check_graph
from tests.combinations import some


def _small(path: Path) -> Path:
    x = sg.placeholder("x", (None, 2))
    w = sg.variable(np.ones(2, "float32"), name="w")
    y = (x * w + np.array([0.5, 1.5], "float32")).sum(axis=1)
    sg.compile([x], y, {w: w * 0.5}).save(path)
    return path


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _write(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    """A file with right hashes, as somebody who knows the format makes it."""
    hashes = [
        f"{hashlib.sha256(data).hexdigest()}  {name}\n"
        for name, data in members.items()
        if name != "sha256"
    ]
    members = {**members, "sha256": "".join(hashes).encode()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def _changed(path: Path, change: Callable[[Any], Any]) -> None:
    members = _members(path)
    content = json.loads(members["graph.json"])
    changed = change(content)
    members["graph.json"] = json.dumps(content if changed is None else changed).encode()
    _write(path, members)


def _refused(path: Path, message: str) -> None:
    with pytest.raises(sg.FormatError, match=message) as caught:
        sg.load(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.slow
@pytest.mark.parametrize("step", some([7, 1], 1))
def test_every_truncated_file_is_refused(step: int, tmp_path: Path) -> None:
    data = _small(tmp_path / "f.sg").read_bytes()
    for length in range(0, len(data), step):
        (tmp_path / "cut.sg").write_bytes(data[:length])
        _refused(tmp_path / "cut.sg", "not a file that save wrote, or a part of one")


@pytest.mark.slow
@pytest.mark.parametrize("step", some([5, 1], 1))
def test_every_flipped_byte_of_the_content_is_noticed(step: int, tmp_path: Path) -> None:
    path = _small(tmp_path / "f.sg")
    data = path.read_bytes()
    for content in _members(path).values():
        start = data.index(content)
        for offset in range(0, len(content), step):
            damaged = bytearray(data)
            damaged[start + offset] ^= 1 << offset % 8
            path.write_bytes(bytes(damaged))
            _refused(path, "not a file that save wrote, or a part of one: Bad CRC-32")


@pytest.mark.parametrize("name", ["graph.json", "arrays/0.npy"])
def test_a_wrong_hash(name: str, tmp_path: Path) -> None:
    path = _small(tmp_path / "f.sg")
    members = _members(path)
    members[name] += b" "
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    _refused(path, f"{name} is damaged: its hash is not the one in the file")


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = _small(tmp_path / "f.sg")
    members = _members(path)
    _write(path, members, zipfile.ZIP_DEFLATED)
    _refused(path, "'graph.json' is compressed, encrypted or too large")
    _write(path, {**members, "extra": b"x"})
    _refused(path, "it has the members")
    _write(path, {name: members[name] for name in list(members)[1:]})
    _refused(path, "it has the members")
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "w") as archive:
        for name in ("graph.json", "graph.json", "sha256"):
            archive.writestr(name, members[name])
    _refused(path, "it has two members 'graph.json'")
    np.save(tmp_path / "x.npy", np.zeros(3))
    _refused(tmp_path / "x.npy", "not a file that save wrote")


def test_a_member_that_claims_to_be_huge(tmp_path: Path) -> None:
    path = _small(tmp_path / "f.sg")
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")  # the first one of the directory
    data[entry + 20 : entry + 28] = (2**31).to_bytes(4, "little") * 2
    path.write_bytes(bytes(data))
    _refused(path, "'graph.json' is compressed, encrypted or too large")


def _npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (10000000000000,)}"), "in 0 byt"),
        (_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", b"12345678"), "in 8 by"),
        (_npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"12345678"), "no dtype"),
        (_npy("{'descr': '<c32', 'fortran_order': False, 'shape': (1,)}", bytes(32)), "no dtype"),
        (_npy("[1, 2"), "arrays/0.npy: "),
        (_npy("__import__('os').system('true')"), "arrays/0.npy: "),
        (b"\x93NUMPY\x02\x00", "version"),
        (b"", "arrays/0.npy: "),
    ],
)
def test_hostile_arrays(data: bytes, message: str, tmp_path: Path) -> None:
    path = _small(tmp_path / "f.sg")
    _write(path, {**_members(path), "arrays/0.npy": data})
    _refused(path, message)


def _node(content: Any, op: str) -> Any:
    nodes = content["executables"][""]["graph"]["nodes"]
    return next(one for one in nodes if one["op"] == op)


def _set(op: str, /, **values: Any) -> Callable[[Any], None]:
    return lambda content: _node(content, op).update(values)


def _set_attr(op: str, name: str, value: Any) -> Callable[[Any], None]:
    return lambda content: _node(content, op)["attrs"].update({name: value})


def _record(**values: Any) -> Callable[[Any], None]:
    return lambda content: content["executables"][""].update(values)


def _graph(**values: Any) -> Callable[[Any], None]:
    return lambda content: content["executables"][""]["graph"].update(values)


def _options(**values: Any) -> Callable[[Any], None]:
    return lambda content: content["executables"][""]["options"].update(values)


HUGE = {"tuple": [1 << 40, 1 << 40]}
HUGE_TYPE = {"tensor": {"dtype": "float32", "shape": [1 << 40, 1 << 40]}}
DEEP = json.loads('{"tuple":[' * 300 + "]}" * 300)
DAMAGE = [
    (lambda content: [], "the format is None, this version reads 'staticgraph exec"),
    (lambda content: content.update(format="staticgraph executables 2"), "the format is 'stat"),
    (lambda content: content.update(executables=[]), "there are no executables"),
    (lambda content: content.update(constants=9), "9 constants among 3 arrays"),
    (lambda content: content.update(variables=0), "2 constants among 3 arrays"),
    (_set("multiply", op="frobnicate"), "node 2 .*: no op is named 'frobnicate'"),
    (_set("multiply", op="os.system"), "no op is named 'os.system'"),
    (_set("multiply", op="a b"), "'a b' is no word"),
    (_set("multiply", operands=[0, 99]), "operands: there is no number 99"),
    (_set("multiply", operands=[-1, 0]), "operands: there is no number -1"),
    (_set("multiply", operands=[3, 0]), "operands: there is no number 3"),
    (_set("multiply", operands=[0]), "multiply: takes 2 operands, got 1"),
    (_set("multiply", operands="01"), "there is no list 'operands'"),
    (_set("multiply", attrs=[]), "the attributes are no object"),
    (_set("multiply", attrs={"speed": 3}), "unexpected keyword"),
    (_set("multiply", name=3), "the name 3 is no text"),
    (_set("multiply", source="x.py:1\nimport os"), "is no line of printable text"),
    (_set("multiply", source=None), "is no line of printable text"),
    (_set("multiply", scope="a"), "the scope 'a' is no list of names"),
    (_set("multiply", scope=["a", ""]), "is no list of names"),
    (_set("multiply", scope=["a", 3]), "is no list of names"),
    (_set("multiply", scope=["a\nb"]), "is no list of names"),
    (_set("multiply", type={"tensor": {"dtype": "float64", "shape": [2]}}), "the file says float"),
    (_set("multiply", type={"tensor": {"dtype": "float32"}}), "has not the entries"),
    (_set("multiply", extra=1), "has not the entries"),
    (_set_attr("sum", "axes", {"tuple": [7]}), "sum: the type is float32"),
    (_set_attr("sum", "axes", {"tuple": [1, 1]}), r"sum: axes is \(1, 1\) \(.*py:"),
    (_set_attr("sum", "axes", {"tuple": [1, 7]}), r"sum: axes is \(1, 7\)"),
    (_set_attr("sum", "keepdims", 0), "sum: keepdims is 0"),
    (_set_attr("sum", "axes", {"tuple": 7}), "7 is no list"),
    (_set_attr("sum", "axes", {"code": "1"}), "no value is of kind 'code'"),
    (_set_attr("sum", "axes", [1]), "is no value"),
    (_set_attr("sum", "axes", {"float": "zero"}), "ValueError"),
    (_set_attr("sum", "axes", {"dtype": "object"}), "no dtype 'object'"),
    (_set_attr("sum", "axes", DEEP), "nested too deep|RecursionError|node"),
    (_set_attr("constant", "value", {"array": 5}), "array: there is no number 5"),
    (_set_attr("variable", "key", {"variable": 5}), "variable: there is no number 5"),
    (_set_attr("variable", "key", 5), "variable: the key is no variable of the file"),
    (_set("variable", attrs={"shape": {"tuple": [3]}, "dtype": {"dtype": "float32"},
          "key": {"variable": 0}}, type={"tensor": {"dtype": "float32", "shape": [3]}}),
     r"variable 'w': the type is float32\[3\], the array float32\[2\]"),
    (_set_attr("placeholder", "shape", {"tuple": [{"size": 3.5}, 2]}), "is no list"),
    (_set_attr("placeholder", "shape", {"tuple": [{"size": [[1.5]]}, 2]}), "is no whole number"),
    (_set_attr("placeholder", "shape", {"tuple": [{"size": [[1, "n"]]}, 2]}), "is no size"),
    (_set_attr("placeholder", "shape", {"tuple": [{"size": [[1, {"name": 3}]]}, 2]}), "no text"),
    (_set_attr("placeholder", "shape", {"tuple": [{"size": [[1, {"n": 3}]]}, 2]}), "is no size"),
    (_set("placeholder", attrs={"shape": HUGE, "dtype": {"dtype": "float32"}, "key": 0},
          type=HUGE_TYPE), "cannot exist"),
    (_graph(inputs=[3]), "is no placeholder"),
    (_graph(inputs=[]), "needs the placeholder 'x'"),
    (_graph(outputs=[99]), "outputs: there is no number 99"),
    (_graph(outputs=[]), "0 outputs where there is one"),
    (_graph(updates=[[1]]), r"updates: \[1\] is no pair"),
    (_graph(updates=[[0, 0]]), "only variables are updated"),
    (_graph(nodes={}), "there is no list 'nodes'"),
    (_record(graph=3), "there is no list 'nodes'"),
    (_record(name=3), "is no executable"),
    (_record(structure="set"), "no outputs have the structure 'set'"),
    (_record(structure={"dict": ["a", "b"]}), "2 keys for 1 outputs"),
    (_record(options={}), "the options {} are not"),
    (_options(numerics="wild"), "numerics is one of"),
    (_options(disable="all"), "have not the types that they should"),
    (_options(disable=["none such"]), "no rewrite is named"),
    (_options(disable=[3]), r"no rewrite is named \[3\]"),
    (_options(backend="cc"), "backend is one of"),
    (_options(fuse=1), "have not the types that they should"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), DAMAGE)
def test_hostile_graphs(change: Callable[[Any], Any], message: str, tmp_path: Path) -> None:
    path = _small(tmp_path / "f.sg")
    _changed(path, change)
    _refused(path, message)


def test_a_graph_that_is_nested_too_deep_to_be_parsed(tmp_path: Path) -> None:
    path = _small(tmp_path / "f.sg")
    members = _members(path)
    members["graph.json"] = b"[" * 100_000 + b"]" * 100_000
    _write(path, members)
    _refused(path, "graph.json: nested too deep")


def _loop(path: Path) -> Path:
    h, xs = sg.placeholder("h", (3,)), sg.placeholder("xs", (None, 3))
    last, ys = sg.scan(lambda h, x: (h * x, h), h, xs)
    sg.compile([h, xs], [last, ys]).save(path)
    return path


def test_hostile_loops(tmp_path: Path) -> None:
    path = _loop(tmp_path / "f.sg")
    _changed(path, lambda c: _node(c, "scan")["attrs"]["body"]["graph"].update(updates=[[0, 0]]))
    _refused(path, "a body has no updates")
    path = _loop(tmp_path / "f.sg")
    _changed(path, _set_attr("scan", "consts", -1))
    _refused(path, "node")
    path = _loop(tmp_path / "f.sg")
    graph = json.loads(_members(path)["graph.json"])["executables"][""]["graph"]
    place = next(i for i, one in enumerate(graph["nodes"]) if one["op"] == "scan")
    _changed(path, _graph(outputs=[place, place]))
    _refused(path, "an output is <scan: .*>, no tensor")


def test_no_json_or_json_that_is_nested_too_deep(tmp_path: Path) -> None:
    path = _small(tmp_path / "f.sg")
    members = _members(path)
    for data in (b"{", b"\xff", b"[" * 100_000):
        _write(path, {**members, "graph.json": data})
        _refused(path, "graph.json: ")


@pytest.mark.slow
def test_whatever_is_changed_in_the_graph_is_refused_or_sound(tmp_path: Path) -> None:
    path = _small(tmp_path / "f.sg")
    members = _members(path)
    choose = random.Random(0)
    sound = 0
    for _ in range(150):
        content = json.loads(members["graph.json"])
        _mutate(content["executables"][""], choose)
        _write(path, {**members, "graph.json": json.dumps(content).encode()})
        try:
            loaded = sg.load(path)
        except sg.FormatError:
            continue
        sound += 1
        try:
            results = loaded(np.ones((3, 2), "float32"))
        except sg.StaticGraphError:
            continue
        assert all(isinstance(one, np.ndarray | np.generic) for one in np.atleast_1d(results))
    assert 0 < sound < 150


def _mutate(value: Any, choose: random.Random) -> None:
    """Replace, drop or repeat something anywhere in a JSON value."""
    while True:
        places = list(value) if isinstance(value, dict) else list(range(len(value)))
        place = choose.choice(places)
        inner = value[place]
        if isinstance(inner, list | dict) and inner and choose.random() < 0.9:
            value = inner
            continue
        new = choose.choice([None, 0, -1, 1, 2**63, "x", "", [], {}, 0.5, [inner], {"size": inner}])
        if choose.random() < 0.3:
            del value[place]
        else:
            value[place] = new
        return


X2 = sg.placeholder("x", (2, 3))
SLICED = ops.strided_slice.bound((X2,), {"starts": (0, 1), "sizes": (2, 2), "steps": (1, 1)})
UNSAFE = [
    (ops.transpose(X2), {"axes": (0, 0)}),
    (ops.transpose(X2), {"axes": (1,)}),
    (ops.flip(X2, 0), {"axes": (5,)}),
    (ops.expand_dims(X2, 0), {"axes": (2, 0)}),
    (ops.argmax(X2, 0), {"axes": ()}),
    (ops.concatenate([X2, X2], 0), {"axis": -1}),
    (SLICED, {"steps": (0, 1)}),
    (SLICED, {"steps": (1, -1)}),
    (SLICED, {"starts": (0,), "sizes": (2,), "steps": (1,)}),
    (ops.sliding_windows(X2, (2,), (1,), (1,)), {"dilations": (0,)}),
    (ops.embed(X2, (0, 0), (4, 4), (1, 1)), {"steps": (1, 0)}),
    (ops.sum(X2), {"axes": (True,)}),
    (ops.take(X2, np.array([0, 1]), 0), {"axis": -1}),
    (ops.avg_pool2d(sg.placeholder("i", (1, 1, 4, 4)), 2), {"stride": (0, 1)}),
]  # fmt: skip


@pytest.mark.parametrize(("node", "attrs"), UNSAFE)
def test_attributes_that_no_function_makes(node: Any, attrs: dict[str, Any]) -> None:
    wrong = Expression(node.op, node.operands, {**node.attrs, **attrs}, type=node.type)
    name = next(iter(attrs))
    with pytest.raises(sg.FormatError, match=rf"{node.op.name}: {name} is|cannot be expanded"):
        check_graph(define([], [wrong]))
    check_graph(define([], [node]))


def test_adjoints_of_gathers_need_an_index_of_their_shape() -> None:
    g, index = sg.placeholder("g", (4, 3)), np.array([0, 1])
    with pytest.raises(sg.ShapeError, match=r"take_add: .* has no axes like those of the index"):
        ops.take_add(g, index, 0, 5)
    with pytest.raises(sg.ShapeError, match=r"along_add: .* has no axes like those of the index"):
        ops.along_add(g, index, 0, 5)
