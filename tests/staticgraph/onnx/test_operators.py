"""Operators of signals, samples and integers, compiled: against ONNX's reference evaluator."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import dynamic
import staticgraph as sg

RNG = np.random.default_rng(0)
FLOATS = {
    name: RNG.normal(size=shape).astype(np.float32)
    for name, shape in {
        "image": (2, 3, 4, 5), "grid": (2, 3, 3, 2), "theta": (2, 2, 3), "signal": (2, 32, 1),
        "cache": (2, 1, 6, 3), "update": (2, 1, 2, 3), "rows": (2, 4), "columns": (1, 5, 5),
        "volume": (2, 3, 4, 4, 4), "filters": (3, 2, 2, 2, 2),
    }.items()
}  # fmt: skip
BYTES = {
    "bytes": RNG.integers(0, 255, (2, 4)).astype(np.uint8),
    "starts": np.int64([5, 2]),
    "others": RNG.integers(0, 255, (4, 3)).astype(np.uint8),
}
SCALE, ZERO = np.float32([0.02]), np.uint8([128])
Case = tuple[str, list[Any], dict[str, Any], int]
CASES: list[Case] = [
    ("GridSample", ["image", "grid"], {"mode": "linear", "padding_mode": "border"}, 22),
    ("GridSample", ["image", "grid"], {"mode": "cubic"}, 20),
    ("AffineGrid", ["theta", np.int64([2, 3, 4, 5])], {"align_corners": 1}, 22),
    ("DFT", ["signal", None, np.int64(1)], {}, 22),
    ("DFT", ["signal"], {"axis": 1, "onesided": 1}, 19),
    ("STFT", ["signal", np.int64(8), np.ones(16, np.float32)], {}, 22),
    ("HannWindow", [np.int64(7)], {"periodic": 0}, 22),
    ("CenterCropPad", ["image", np.int64([6, 3])], {"axes": [2, 3]}, 22),
    ("Col2Im", ["columns", np.int64([5, 5]), np.int64([1, 5])], {}, 22),
    ("TensorScatter", ["cache", "update", "starts"], {"mode": "circular"}, 24),
    ("QuantizeLinear", ["rows", SCALE[0], ZERO[0]], {}, 22),
    ("QuantizeLinear", ["rows", np.float32([0.01, 0.1, 1, 2])], {"axis": 1}, 22),
    ("DequantizeLinear", ["bytes", SCALE[0], ZERO[0]], {}, 22),
    ("QLinearMatMul", ["bytes", SCALE, ZERO, "others", SCALE, ZERO, SCALE, ZERO], {}, 22),
    (
        "ConvTranspose",
        ["volume", "filters"],
        {"strides": [2, 1, 2], "pads": [1, 0, 1, 0, 1, 0]},
        22,
    ),
]


def _model(case: Case) -> tuple[Any, dict[str, Any]]:
    """A model of one node, whose arrays are constants, and what it is fed with."""
    operator, operands, attributes, opset = case
    data = {name: (FLOATS | BYTES)[name] for name in operands if isinstance(name, str)}
    names, constants = [], []
    for place, one in enumerate(operands):
        names.append(one if isinstance(one, str) else "" if one is None else f"c{place}")
        if isinstance(one, np.ndarray | np.generic):
            constants.append(numpy_helper.from_array(np.asarray(one), names[-1]))
    inputs = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(value.dtype),
            value.shape if name in ("others", "filters") else ["n", *value.shape[1:]],
        )
        for name, value in data.items()
    ]
    node = helper.make_node(operator, names, ["y"], **attributes)
    output = helper.make_tensor_value_info("y", onnx.TensorProto.UNDEFINED, None)
    graph = helper.make_graph([node], "graph", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return model, data


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[3]}")
def test_compiled_it_gives_what_the_reference_gives(case: Case) -> None:
    proto, data = _model(case)
    (expected,) = ReferenceEvaluator(proto).run(None, data)
    model = sg.onnx.load(io.BytesIO(proto.SerializeToString()))
    leaves = model.placeholders()
    found = sg.compile(leaves, model(*leaves))(**data) if leaves else model()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_what_max_pooling_took_is_put_back_with_gradients() -> None:
    x = np.float32([[[[1, 2], [3, 4]]]])
    node = helper.make_node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    places = numpy_helper.from_array(np.int64([[[[5, 7], [13, 15]]]]), "i")
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "graph", [given], [output], [places])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    model = sg.onnx.load(io.BytesIO(proto.SerializeToString()))
    expected = np.zeros(16, np.float32)
    expected[[5, 7, 13, 15]] = [1, 2, 3, 4]
    np.testing.assert_array_equal(model(x), expected.reshape(1, 1, 4, 4))
    tensor = dynamic.tensor(x, requires_grad=True)
    (model(tensor) * dynamic.arange(16.0).reshape(1, 1, 4, 4)).sum().backward()
    np.testing.assert_array_equal(tensor.grad.numpy().ravel(), [5, 7, 13, 15])


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (("DFT", ["signal"], {"axis": 2}, 19), "has the parts of a number, and is not transformed"),
        (("DFT", ["grid"], {"axis": 1, "onesided": 1}, 19), "half of a transform is of real"),
        (("STFT", ["signal", np.int64(0)], {}, 22), "frames of 32 by 0 of a signal of 32"),
        (("HannWindow", [np.int64(-1)], {}, 22), "a window of -1 elements of float32"),
        (("HannWindow", [np.int64(4)], {"output_datatype": 7}, 22), "a window of 4 elements"),
        (("CenterCropPad", ["image", np.int64([3])], {"axes": [0]}, 22), "axis 0 of .* become"),
        (("Col2Im", ["columns", np.int64([5, 5]), np.int64([1, 5])], {"pads": [0, 0, 1, 0]}, 22),
         "blocks of other than two axes, or with pads of two sizes"),
        (("TensorScatter", ["cache", "update"], {"axis": 0}, 24), "along axis 0 of n are not"),
        (("QuantizeLinear", ["rows", SCALE[0]], {"output_dtype": 17}, 22), "no integers of 8 bits"),
        (("QLinearMatMul",
          ["bytes", np.float32([1, 2]), ZERO, "others", SCALE, ZERO, SCALE, ZERO], {}, 22),
         "scales by rows and columns are not read"),
        (("MaxUnpool", ["image", np.int64([[[[0]]]])], {"kernel_shape": [2, 2]}, 22),
         "count through all axes, of which not all sizes are known"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_refused(case: Case, text: str) -> None:
    model = sg.onnx.load(io.BytesIO(_model(case)[0].SerializeToString()))
    with pytest.raises(sg.FormatError, match=text):
        model(*model.placeholders())
