"""Attention, recurrent layers and Resize: as onnxruntime has them, eagerly and compiled."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import staticgraph as sg

FLOAT = TensorProto.FLOAT
RNG = np.random.default_rng(0)
STEPS, BATCH, WIDTH, HIDDEN = 4, 3, 2, 5


def _normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def _model(node: Any, shape: list[Any], weights: dict[str, Any], opset: int) -> bytes:
    inputs = [helper.make_tensor_value_info("x", FLOAT, shape)]
    outputs = [helper.make_tensor_value_info(one, FLOAT, None) for one in node.output]
    given = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph([node], "graph", inputs, outputs, given)
    opsets = [helper.make_opsetid("", opset)]
    made: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return made


def _agree(content: bytes, x: Any) -> None:
    """Arrays, a compiled graph, whose batch is unknown, and onnxruntime give the same."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": x})
    model = sg.onnx.load(io.BytesIO(content))
    leaves = model.placeholders()
    found = model(*leaves)
    results = found if isinstance(found, tuple) else (found,)
    compiled = sg.compile(leaves, list(results))
    again = model(x)
    for wanted, *others in zip(
        expected, compiled(x), again if isinstance(again, tuple) else (again,), strict=True
    ):
        for one in others:
            np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-5)


RECURRENT: list[tuple[str, int, dict[str, Any]]] = [
    ("RNN", 1, {"direction": "reverse", "activations": ["Relu"], "clip": 0.5}),
    ("RNN", 1, {"direction": "bidirectional", "activations": ["ScaledTanh", "LeakyRelu"],
                "activation_alpha": [0.5, 0.1], "activation_beta": [2.0]}),
    ("GRU", 3, {"direction": "bidirectional"}),
    ("GRU", 3, {"linear_before_reset": 1}),
    ("GRU", 3, {"activations": ["HardSigmoid", "Softsign"]}),
    ("LSTM", 4, {"direction": "bidirectional"}),
    ("LSTM", 4, {"input_forget": 1}),
    ("LSTM", 4, {"direction": "reverse"}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("operator", "gates", "options"), RECURRENT)
def test_recurrent_layers(operator: str, gates: int, options: dict[str, Any]) -> None:
    ways = 2 if options.get("direction") == "bidirectional" else 1
    weights = {
        "w": _normal(ways, gates * HIDDEN, WIDTH),
        "r": _normal(ways, gates * HIDDEN, HIDDEN),
        "b": _normal(ways, 2 * gates * HIDDEN),
    }
    names, outputs = ["x", "w", "r", "b"], ["y", "h"]
    if operator == "LSTM":
        weights |= {"p": _normal(ways, 3 * HIDDEN)}
        names, outputs = [*names, "", "", "", "p"], ["y", "h", "c"]
    node = helper.make_node(operator, names, outputs, hidden_size=HIDDEN, **options)
    _agree(_model(node, [STEPS, "batch", WIDTH], weights, 14), _normal(STEPS, BATCH, WIDTH))


def test_sequences_end_where_their_lengths_say() -> None:
    weights = {
        "w": _normal(1, 3 * HIDDEN, WIDTH), "r": _normal(1, 3 * HIDDEN, HIDDEN),
        "lengths": np.array([4, 1, 2], np.int32), "h": _normal(1, BATCH, HIDDEN),
    }  # fmt: skip
    names = ["x", "w", "r", "", "lengths", "h"]
    node = helper.make_node("GRU", names, ["y", "last"], hidden_size=HIDDEN)
    _agree(_model(node, [STEPS, BATCH, WIDTH], weights, 14), _normal(STEPS, BATCH, WIDTH))


def test_attention_with_a_mask_and_unknown_sizes() -> None:
    mask = np.tril(np.ones((6, 6), bool))
    mask[2] = False  # sees nothing
    node = helper.make_node(
        "Attention", ["x", "x", "x", "mask"], ["y"], q_num_heads=4, kv_num_heads=4, softcap=2.0
    )
    content = _model(node, ["batch", 6, 8], {"mask": mask}, 23)
    model = sg.onnx.load(io.BytesIO(content))
    x = _normal(2, 6, 8)
    (leaf,) = model.placeholders()
    found = sg.compile([leaf], model(leaf))(x)
    heads = x.astype(np.float64).reshape(2, 6, 4, 2).transpose(0, 2, 1, 3)
    scores = 2 * np.tanh(heads @ heads.transpose(0, 1, 3, 2) / np.sqrt(2) / 2)
    weights = np.exp(np.where(mask, scores, -np.inf))
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    expected = (weights @ heads).transpose(0, 2, 1, 3).reshape(x.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert not found[:, 2].any()
    node = helper.make_node(
        "Attention", ["x", "x", "x"], ["y"], q_num_heads=2, kv_num_heads=1, is_causal=1
    )
    with pytest.raises(sg.FormatError, match=r"\(Attention\), opset 23"):  # 3 is not 2 heads
        sg.onnx.load(io.BytesIO(_model(node, [1, "n", 3], {}, 23)))(_normal(1, 4, 3))
    causal = helper.make_node(
        "Attention", ["x", "x", "x"], ["y"], q_num_heads=2, kv_num_heads=2, is_causal=1
    )
    model = sg.onnx.load(io.BytesIO(_model(causal, [1, "n", 4], {}, 23)))
    (leaf,) = model.placeholders()
    f, x = sg.compile([leaf], model(leaf)), _normal(1, 5, 4)
    np.testing.assert_allclose(f(x)[:, :3], f(x[:, :3]), rtol=1e-5)  # what comes later is not seen
    np.testing.assert_allclose(f(x)[:, 0], x[:, 0], rtol=1e-6)


RESIZED: list[tuple[dict[str, Any], list[float]]] = [
    ({"mode": "cubic", "antialias": 1}, [1, 1, 0.6, 0.5]),
    ({"mode": "linear", "antialias": 1, "exclude_outside": 1}, [1, 1, 0.4, 2.5]),
    ({"mode": "cubic", "coordinate_transformation_mode": "align_corners"}, [1, 1, 1.5, 3]),
    ({"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}, [1, 1, 2.3, 1]),
    ({"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "ceil"},
     [1, 1, 1.6, 0.7]),
]  # fmt: skip


@pytest.mark.parametrize(("options", "scales"), RESIZED)
def test_resize(options: dict[str, Any], scales: list[float]) -> None:
    weights = {"scales": np.array(scales, np.float32)}
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **options)
    _agree(_model(node, ["batch", 1, 6, 5], weights, 19), _normal(2, 1, 6, 5))


REFUSED: list[tuple[str, list[str], dict[str, Any], str]] = [
    ("RNN", ["x", "w", "r"], {"direction": "up"}, "the direction is 'up'"),
    ("RNN", ["x", "w", "r"], {"activations": ["Sine"]}, "the activation 'Sine' is not known"),
    ("RNN", ["x", "w", "r"], {"activations": ["Relu", "Relu"]}, r"has the activations \['Relu"),
    ("RNN", ["x", "w", "r", "", "n"], {"direction": "reverse"}, "are not read backwards"),
    ("Attention", ["x", "x", "x"], {}, "the number of heads is not given"),
    ("Resize", ["x", "", "s"], {"mode": "sinc"}, "the mode 'sinc' is not known"),
    ("Resize", ["x", "", "s"], {"nearest_mode": "far"}, "the nearest element by 'far'"),
    ("Resize", ["x", "", "s"], {"coordinate_transformation_mode": "polar"}, "'polar' are not"),
    ("Resize", ["x", "", "x"], {}, "the scales are computed by the model"),
    ("Resize", ["n", "", "one"], {"mode": "linear"}, "int64 is resized by the nearest"),
]


@pytest.mark.parametrize(("operator", "names", "options", "text"), REFUSED)
def test_what_is_not_read(
    operator: str, names: list[str], options: dict[str, Any], text: str
) -> None:
    weights = {
        "w": _normal(1, 2, 2), "r": _normal(1, 2, 2), "n": np.array([1, 2]),
        "s": np.array([1, 1, 2], np.float32), "one": np.array([2], np.float32),
    }  # fmt: skip
    node = helper.make_node(operator, names, ["y"], **options)
    model = sg.onnx.load(io.BytesIO(_model(node, [2, 2, 2], weights, 23)))
    (leaf,) = model.placeholders()
    with pytest.raises(sg.FormatError, match=text):
        model(leaf)


def test_an_unknown_size_is_not_resized() -> None:
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"])
    content = _model(node, ["n"], {"sizes": np.array([4])}, 19)
    model = sg.onnx.load(io.BytesIO(content))
    with pytest.raises(sg.FormatError, match=r"\(Resize\), opset 19: the size n is unknown"):
        model(*model.placeholders())
