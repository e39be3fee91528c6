"""Models of others: read into both paradigms, or refused before anything is computed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import dynamic as dy
import staticgraph as sg
from staticgraph.onnx import checking

FLOAT = TensorProto.FLOAT


def proto(nodes: Any, inputs: Any, outputs: Any, weights: Any = (), opset: int = 21) -> Any:
    given = [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()]
    results = [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "graph", given, results, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def load(model: Any) -> Any:
    return sg.onnx.load(io.BytesIO(model.SerializeToString()))


def _dense() -> Any:
    weight = helper.make_tensor("w", FLOAT, [2, 2], [1.0, 2.0, 3.0, 4.0])
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Relu", ["product"], ["y"]),
    ]
    return proto(nodes, {"x": (FLOAT, ["rows", 2])}, ["y"], [weight])


def test_a_model_serves_both_paradigms() -> None:
    model = load(_dense())
    x = np.array([[1.0, -1.0], [0.5, 2.0]], np.float32)
    expected = np.maximum(x @ np.array([[1, 2], [3, 4]], np.float32), 0)
    np.testing.assert_array_equal(model(x), expected)
    np.testing.assert_array_equal(model(x=x), expected)
    (leaf,) = model.placeholders()
    assert str(leaf.type) == "float32[rows, 2]"
    w = sg.variable(model.weights["w"], "w")
    y = model(leaf, weights={"w": w})
    f = sg.compile([leaf], [y, sg.grad(sg.sum(y), w)], debug=True)
    np.testing.assert_allclose(f(x)[0], expected)
    np.testing.assert_allclose(f(x)[1], x.T @ (expected > 0))
    tensor = dy.tensor(x, requires_grad=True)
    model(tensor).sum().backward()
    np.testing.assert_allclose(
        tensor.grad.numpy(), (expected > 0) @ np.array([[1, 3], [2, 4]], np.float32)
    )
    assert repr(model) == "<onnx model graph(x) -> y>"


def test_shapes_that_are_computed_stay_sizes() -> None:
    two = helper.make_tensor("two", TensorProto.INT64, [1], [2])
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["rows"]),
        helper.make_node("Mul", ["rows", "two"], ["twice"]),
        helper.make_node("Concat", ["two", "rows"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
        helper.make_node("Cast", ["twice"], ["z"], to=FLOAT),
    ]
    zero = helper.make_tensor("zero", TensorProto.INT64, [1], [0])
    model = load(proto(nodes, {"x": (FLOAT, ["n", 2])}, ["y", "z"], [two, zero]))
    (leaf,) = model.placeholders()
    y, z = model(leaf)
    assert str(y.type) == "float32[2, n]"
    f = sg.compile([leaf], [y, z], debug=True)
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for one, other, expected in zip(f(x), model(x), (x.reshape(2, 3), [6.0]), strict=True):
        np.testing.assert_array_equal(one, expected)
        np.testing.assert_array_equal(other, expected)


def _node(*arguments: Any, **attributes: Any) -> Any:
    return proto([helper.make_node(*arguments, **attributes)], {"x": (FLOAT, [2])}, arguments[2])


def _with_tensor(change: Any) -> Any:
    model = _dense()
    change(model.graph.initializer[0])
    return model


def _cases() -> list[tuple[Any, str]]:
    cycle = [helper.make_node("Relu", ["b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    functions = _dense()
    functions.functions.add().name = "mine"
    twice = _dense()
    twice.graph.initializer.append(twice.graph.initializer[0])
    inputs = _dense()
    inputs.graph.input.append(inputs.graph.input[0])
    sparse = _dense()
    sparse.graph.sparse_initializer.add()
    sequence = _dense()
    sequence.graph.input[0].CopyFrom(helper.make_tensor_sequence_value_info("x", FLOAT, [2]))
    opsets = _dense()
    opsets.opset_import.append(helper.make_opsetid("ai.onnx", 18))
    negative = _dense()
    negative.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -3
    return [
        (_node("Nonsense", ["x"], ["y"]), r"node 0 \(Nonsense\).*operator Nonsense of opset 21"),
        (_node("Relu", ["x"], ["y"], domain="evil"), "operator evil.Relu"),
        (proto(cycle, {"x": (FLOAT, [2])}, ["b"]), "takes 'b', which no node before it gives"),
        (_node("Add", ["x", "gone"], ["y"]), "takes 'gone', which no node"),
        (_node("Relu", ["x"], ["x"]), "gives 'x', which another one has given"),
        (proto([], {"x": (FLOAT, [2])}, ["y"]), "the output 'y' is computed by no node"),
        (proto([], {}, [], opset=12), "of opset 12; read are 13 to"),
        (functions, r"functions of its own, which are not: \.mine"),
        (twice, "two initializers 'w'"),
        (inputs, "two inputs 'x'"),
        (sparse, "sparse initializers"),
        (sequence, "'x' is a sequence_type, no tensor"),
        (negative, "has the size -3"),
        (proto([], {"x": (TensorProto.STRING, [2])}, []), "dtype STRING, which is not read"),
        (_with_tensor(lambda one: one.dims.append(1 << 60)), "and has 4 numbers"),
        (_with_tensor(lambda one: one.dims.insert(0, -1)), r"has the shape \[-1, 2, 2\]"),
        (_with_tensor(lambda one: setattr(one, "raw_data", b"123")), "in 3 bytes"),
        (_with_tensor(lambda one: one.segment.SetInParent()), "a segment of a tensor"),
        (_with_tensor(lambda one: setattr(one, "data_type", 99)), "dtype 99"),
        (_node("Relu", ["x"], ["y"], spare=[helper.make_tensor("t", FLOAT, [], [1.0])]),
         "the attribute 'spare' is none of opset 21"),
        (_node("Softmax", ["x"], ["y"], axis="1"), "the attribute 'axis' is .* of another type"),
        (_node("Concat", ["x", "x"], ["y"]), r"node 0 \(Concat\) lacks the attribute 'axis'"),
        (_node("Relu", ["x", "x"], ["y"]), r"node 0 \(Relu\) has 2 inputs, and takes 1"),
        (_node("Relu", ["x"], ["y", "z"]), r"node 0 \(Relu\) has 2 outputs, and takes 1"),
        (_node("Clip", [], ["y"]), r"node 0 \(Clip\) has 0 inputs, and takes 1 to 3"),
        (opsets, r"of several opsets: \[18, 21\]"),
        (_with_tensor(lambda one: setattr(one, "data_type", 7)), r"int64\[2, 2\], and has 0 num"),
    ]  # fmt: skip


def test_hostile_files_are_refused() -> None:
    for model, message in _cases():
        with pytest.raises(sg.FormatError, match=message):
            load(model)
    data = _dense().SerializeToString()
    for part in (b"", data[: len(data) // 2], b"\xff" * 40, b"PK\x03\x04"):
        with pytest.raises(sg.FormatError, match=r"no model, or a part of one|has no graph"):
            sg.onnx.load(io.BytesIO(part))


def test_a_name_of_an_operator_that_is_no_text() -> None:
    data = _dense().SerializeToString()
    assert data.count(b"MatMul") == 1
    with pytest.raises(sg.FormatError, match=r"whose name is no text|no model, or a part of one"):
        sg.onnx.load(io.BytesIO(data.replace(b"MatMul", b"Mat\xfful")))


def test_arrays_outside_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    values = np.array([[1, 2], [3, 4]], np.float32)
    (folder / "weights.bin").write_bytes(b"1234" + values.tobytes())
    (tmp_path / "secret").write_bytes(values.tobytes())
    (folder / "link").symlink_to(tmp_path / "secret")

    def told(**places: object) -> Path:
        model = _dense()
        tensor = model.graph.initializer[0]
        tensor.ClearField("float_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in places.items():
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(value)
        path = folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    found = sg.onnx.load(told(location="weights.bin", offset=4)).weights["w"]
    np.testing.assert_array_equal(found, values)
    for places, message in (
        ({"location": "../secret"}, "no file in the model's folder"),
        ({"location": str(tmp_path / "secret")}, "no file in the model's folder"),
        ({"location": "link"}, "no file in the model's folder"),
        ({}, "no file in the model's folder"),
        ({"location": "weights.bin\0"}, "no file in the model's folder"),
        ({"location": "weights.bin", "offset": "x"}, "is no number"),
        ({"location": "weights.bin", "offset": 8}, "in 12 bytes"),
        ({"location": "weights.bin", "offset": 4, "length": 99}, "99 bytes at 4 are not in"),
        ({"location": "weights.bin", "offset": -1}, "at -1 are not in"),
    ):
        with pytest.raises(sg.FormatError, match=message):
            sg.onnx.load(told(**places))
    data = told(location="weights.bin", offset=4).read_bytes()
    with pytest.raises(sg.FormatError, match="load the model by its path"):
        sg.onnx.load(io.BytesIO(data))


def test_calls_that_do_not_fit() -> None:
    model = load(_dense())
    x = np.ones((1, 2), np.float32)
    for given, named, message in (
        ((), {}, r"takes \['x'\], not 0 inputs"),
        ((x, x), {}, "not 2 inputs"),
        ((x,), {"y": x}, r"and \['y'\]"),
        ((x.astype("f8"),), {}, "'x' is float32 of 2 axes, not float64"),
        ((x[0],), {}, r"not float32\[2\]"),
        ((x,), {"weights": {"v": x}}, "no weight 'v'"),
        ((x,), {"weights": {"w": x}}, r"the shape \[2, 2\], not \[1, 2\]"),
    ):
        with pytest.raises(sg.FeedError, match=message):
            model(*given, **named)
    with pytest.raises(sg.FormatError, match=r"node 0 \(MatMul\), opset 21: matmul"):
        model(np.ones((1, 3), np.float32))
    unranked = load(proto([], {"x": (FLOAT, None)}, ["x"]))
    with pytest.raises(sg.FormatError, match="does not say how many axes 'x' has"):
        unranked.placeholders()


def test_what_an_operator_does_not_do_is_refused_with_its_name() -> None:
    huge = helper.make_tensor("huge", TensorProto.INT64, [2], [1 << 40, 1 << 20])
    image = (FLOAT, [1, 1, 4, 4])
    made = proto([helper.make_node("ConstantOfShape", ["huge"], ["y"])], {}, ["y"], [huge])
    with pytest.raises(sg.FormatError, match=r"\(ConstantOfShape\), opset 21: .*too large"):
        load(made)()
    made = proto([helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2])],
                 {"x": image}, ["y", "i"])  # fmt: skip
    with pytest.raises(sg.FormatError, match="2 outputs, of which not all are read"):
        load(made)(np.ones((1, 1, 4, 4), np.float32))
    cast = load(_node("Cast", ["x"], ["y"], to=TensorProto.STRING))
    parts = helper.make_tensor("parts", TensorProto.INT64, [2], [1, 5])
    split = helper.make_node("Split", ["x", "parts"], ["y", "z"], axis=1)
    with pytest.raises(sg.FormatError, match=r"parts of \[1, 5\] do not make an axis of 3"):
        load(proto([split], {"x": (FLOAT, [2, 3])}, ["y"], [parts]))(np.zeros((2, 3), np.float32))
    with pytest.raises(sg.FormatError, match="the dtype 8 is not one of the library"):
        cast(np.ones(2, np.float32))
    lacking = load(_node("Add", ["x", ""], ["y"]))
    with pytest.raises(sg.FormatError, match=r"\(Add\), opset 21: it lacks input 1"):
        lacking(np.ones(2, np.float32))


@pytest.mark.long
def test_the_node_tests_of_onnx() -> None:
    outcome = checking.check(checking.cases())
    assert outcome.failed == {}
    assert len(outcome.passed) >= 1480
    assert "failed: 0" in outcome.lines()


def test_a_case_that_is_wrong_is_found() -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    x = np.array([-1.0, 2.0], np.float32)

    class Case:
        name, rtol, atol = "relu", 1e-3, 1e-7
        model = proto([node], {"x": (FLOAT, [2])}, ["y"])
        data_sets = (([x], [x]),)

    class Strings(Case):
        name = "strings"
        model = proto([], {"x": (TensorProto.STRING, [2])}, [])

    outcome = checking.check([Case, Strings])
    assert list(outcome.failed) == ["relu"]
    assert outcome.lines()[:3] == ["ONNX node tests: 2", "passed: 0", "failed: 1"]
    assert list(outcome.out_of_scope.values()) == [["strings"]]
    assert onnx.__version__


def test_counts_are_put_into_a_page(tmp_path: Path) -> None:
    page = tmp_path / "onnx.md"
    page.write_text("# ONNX\n\n## Counts\n\nold\n")
    checking.put_counts(page, checking.Outcome(passed=["relu"], out_of_scope={"new": ["fft"]}))
    text = page.read_text()
    assert text.startswith("# ONNX\n\n## Counts\n") and "old" not in text
    assert text.endswith(
        "ONNX node tests: 2\npassed: 1\nfailed: 0\nout of scope: 1\n  1  new\n```\n"
    )
    page.write_text("# ONNX\n")
    with pytest.raises(sg.OptionError, match="has no heading '## Counts'"):
        checking.put_counts(page, checking.Outcome())
