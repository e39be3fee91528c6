"""Executables, functions and modules as models: the values of onnxruntime are ours."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import dynamic as dy
import staticgraph as sg
from staticgraph.dynamic import nn
from staticgraph.onnx.writer import Writer

onnxruntime.set_default_logger_severity(4)


def written(function: Any, inputs: Any = (), **options: Any) -> bytes:
    stream = io.BytesIO()
    sg.onnx.save(function, stream, inputs, **options)
    onnx.checker.check_model(stream.getvalue(), full_check=True)
    return stream.getvalue()


def run(data: bytes, *arrays: Any) -> list[Any]:
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    return list(session.run(None, dict(zip(names, arrays, strict=True))))


def executable(inputs: Any, outputs: Any, **options: Any) -> Any:
    return sg.compile(inputs, outputs, debug=True, lint=None, **options)


def _models() -> list[tuple[Any, tuple[int, ...]]]:
    dy.manual_seed(3)
    cnn = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16), nn.GELU(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip
    cnn(dy.randn(4, 3, 12, 12))  # the running statistics
    return [
        (nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 10)), (8, 20)),
        (cnn, (4, 3, 12, 12)),
        (nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (2, 7, 32)),
    ]


@pytest.mark.slow
def test_modules_go_out_and_come_back() -> None:
    for module, shape in _models():
        module.eval()
        x = np.random.default_rng(5).normal(size=shape).astype(np.float32)
        data = written(module, [dy.tensor(x)])
        expected = module(dy.tensor(x)).detach().numpy()
        np.testing.assert_allclose(run(data, x)[0], expected, rtol=1e-5, atol=1e-5)
        model = sg.onnx.load(io.BytesIO(data))
        np.testing.assert_allclose(model(x), expected, rtol=1e-5, atol=1e-5)
        leaf = dy.tensor(x, requires_grad=True)
        again = dy.tensor(x, requires_grad=True)
        model(leaf).sum().backward()
        module(again).sum().backward()
        np.testing.assert_allclose(leaf.grad.numpy(), again.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_sizes_variables_and_names() -> None:
    x = sg.placeholder("x", ("rows", 3), "float32")
    w = sg.variable(np.arange(6, dtype=np.float32).reshape(3, 2), "w")
    count = sg.sum(x, 1).shape[0]
    outputs = {"y": x @ w, "mean": sg.sum(x) / count, "flat": sg.reshape(x, (3 * count,)), "x": x}
    f = executable([x], outputs)
    data = written(f)
    w.value = np.zeros((3, 2), np.float32)
    graph = onnx.load_from_string(data).graph
    assert graph.input[0].type.tensor_type.shape.dim[0].dim_param == "rows"
    assert [one.name for one in graph.output][:3] == ["y", "mean", "flat"]
    assert "w" in [one.name for one in graph.initializer]
    for rows in (1, 4):
        given = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        y, mean, flat, same = run(data, given)
        np.testing.assert_array_equal(y, given @ np.arange(6, dtype=np.float32).reshape(3, 2))
        np.testing.assert_allclose(mean, given.sum() / rows)
        np.testing.assert_array_equal(flat, given.ravel())
        np.testing.assert_array_equal(same, given)


def test_loops_and_branches() -> None:
    x = sg.placeholder("x", ("n", 2), "float64")
    last, sums = sg.scan(lambda c, v: (c * 0.5 + v, c), sg.zeros(2, "float64"), x, reverse=True)
    doubled = sg.while_loop(lambda c: sg.sum(c * c) < 100, lambda c: c * 2 + x[0], x[0])
    chosen = sg.cond(sg.sum(x) > 0, lambda v: v + last, lambda v: v * 2, x[1])
    _, counted = sg.scan(lambda c, _: (c + 1, c * last[0]), sg.zeros((), "float64"), length=3)
    f = executable([x], [last, sums, doubled, chosen, counted])
    data = written(f)
    model = sg.onnx.load(io.BytesIO(data))
    y = sg.placeholder("y", ("n", 2), "float64")
    symbolic = executable([y], list(model(y)))
    for sign in (1, -1):
        given = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 1.0]]) * [1, sign]
        expected = f(given)
        for found in (run(data, given), model(given), symbolic(given)):
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)


def test_dtypes() -> None:
    for dtype in ("bool", "int8", "uint16", "int32", "float16", "bfloat16", "float64"):
        x = sg.placeholder("x", (4,), dtype)
        outputs = [sg.maximum(x, sg.flip(x)), sg.astype(x, "float32") + 1, sg.equal(x, x)]
        if dtype != "bool":
            outputs.append(x * x + 1)
        f = executable([x], outputs)
        given = np.array([0, 1, 3, 2]).astype(x.dtype)
        expected, found = f(given), sg.onnx.load(io.BytesIO(written(f)))(given)
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_integers_divided_by_zero_are_zero() -> None:
    x, y = (sg.placeholder(name, (5,), "int64") for name in "xy")
    f = executable([x, y], [x // y, x % y, sg.fmod(x, y), sg.right_shift(x, 1)])
    a, b = np.array([7, -7, 7, -7, 3]), np.array([2, 2, -2, 0, 0])
    with np.errstate(all="ignore"):
        expected = f(a, b)
    for one, other in zip(run(written(f), a, b), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_sums_of_segments_are_exported() -> None:
    x, index = sg.placeholder("x", (4, 2), "float64"), sg.placeholder("index", (4,), "int64")
    f = executable([x, index], sg.segment_sum(x, index, 3))
    given, places = np.arange(8.0).reshape(4, 2), np.array([2, 0, 2, 0])
    (found,) = run(written(f), given, places)
    np.testing.assert_array_equal(found, f(given, places))


def test_gradients_are_exported() -> None:
    x = sg.placeholder("x", (2, 2, 5, 5), "float32")
    w = sg.variable(np.random.default_rng(1).normal(size=(3, 2, 3, 3)).astype("f4"), "w")
    loss = sg.sum(sg.tanh(sg.max_pool2d(sg.conv2d(x, w, padding=1), 2)))
    f = executable([x], sg.grad(loss, [w, x]))
    given = np.random.default_rng(2).normal(size=x.shape).astype(np.float32)
    for one, other in zip(run(written(f), given), f(given), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-5)


def test_a_newer_opset_has_newer_operators(tmp_path: Path) -> None:
    x = sg.placeholder("x", (3,), "float32")
    f = executable([x], sg.gelu(x))
    sg.onnx.save(f, tmp_path / "gelu.onnx", opset=20)
    graph = onnx.load(tmp_path / "gelu.onnx").graph
    assert "Gelu" in [node.op_type for node in graph.node]
    assert [one.name for one in tmp_path.iterdir()] == ["gelu.onnx"]


def test_refusals() -> None:
    x = sg.placeholder("x", (3, 3), "float64")
    v = sg.variable(np.zeros((3, 3)), "v")
    z = sg.placeholder("z", (2,), "complex128")
    n = sg.placeholder("n", (None,), "float64")
    c = sg.constant(np.array([1j, 2]))
    cases: list[tuple[Any, str]] = [
        (executable([x], sg.linalg.inv(x)), "inv cannot be exported: ONNX has no operator"),
        (executable([x], sg.lgamma(x)), r"lgamma cannot be exported.*test_saving.py"),
        (executable([x], x + v, updates={v: x}), "updates 'v': a model has no state"),
        (executable([z], sg.real(z)), "complex"),
        (executable([x], sg.abs(c) + sg.sum(x)), "complex"),
        (executable([n], sg.random.normal(sg.random.key(3), n.shape) + n), "Threefry"),
    ]
    for function, message in cases:
        with pytest.raises((sg.GraphError, sg.DTypeError), match=f"(?s){message}"):
            written(function)
    f = executable([x], x)
    for given, options, message in (
        (f, {"opset": 17}, "the opset is one of 18 to"),
        (f, {"inputs": [x]}, "an executable knows its inputs"),
        (3, {}, "3 is no executable, and cannot be called"),
        (abs, {"inputs": np.ones(3)}, "are a list or tuple"),
    ):
        with pytest.raises(sg.OptionError, match=message):
            sg.onnx.save(given, io.BytesIO(), **options)
    with pytest.raises(sg.OptionError, match="no path and no file"):
        sg.onnx.save(f, 3)
    with pytest.raises(sg.GraphError, match="is no axis of an input"):
        Writer(18, {}).sizes([n.shape[0]])
    twice = sg.op(lambda a: a * 2, name="twice")
    with pytest.raises(sg.GraphError, match="it is an op of yours"):
        written(executable([x], twice(x)))


def test_onnx_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx.checker", None)
    with pytest.raises(ImportError, match=r"pip install 'staticgraph\[onnx\]'"):
        sg.onnx.save(abs, io.BytesIO(), [np.ones(2)])
