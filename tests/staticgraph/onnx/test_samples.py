"""Every op written as ONNX, and run by onnxruntime or onnx's reference: the values of NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from staticgraph.compiler.core.errors import DTypeError, GraphError
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops import all_ops
from staticgraph.onnx.forms import FORMS
from staticgraph.onnx.names import REFUSED
from staticgraph.onnx.nested import value_info
from staticgraph.onnx.saving import _input, _results, _tensor
from staticgraph.onnx.writer import Writer
from tests.samples import OF_COMPLEX, SAMPLES
from tests.trace import traced

onnxruntime.set_default_logger_severity(4)
WRONG_ELSEWHERE = {
    ("softsign", 0): "the reference evaluator fails for a scalar",
    ("conv_transpose2d", 1): "the reference evaluator reshapes groups wrongly",
}
APPROXIMATE = {"erf", "erfc", "gelu"}
"""Of which the reference evaluator has eight digits."""


def model(name: str, outputs: list[Any], inputs: Any, opset: int = 18) -> Any:
    writer = Writer(opset, FORMS)
    described = [_input(writer, one) for one in inputs]
    results = _results(writer, {f"output_{i}": one for i, one in enumerate(outputs)})
    arrays = [_tensor(*pair) for pair in writer.initializers.items()]
    graph = onnx.helper.make_graph(writer.nodes, name, described, results, arrays)
    versions = [onnx.helper.make_opsetid("", opset)]
    return onnx.helper.make_model(graph, opset_imports=versions, ir_version=10)


def compared(name: str, number: int, sizes: bool) -> bool:
    """Whether onnxruntime has the kernels of a sample, whose values are then compared."""
    sample = SAMPLES[name][number]
    outputs, feeds = traced(name, sample, sizes=sizes)
    expected = interpret(outputs, feeds)
    made = model(name, outputs, feeds)
    onnx.checker.check_model(made, full_check=True)
    values = {str(leaf.name): np.asarray(value) for leaf, value in feeds.items()}
    runs = True
    try:
        session = onnxruntime.InferenceSession(
            made.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        found = session.run(None, values)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        runs = False
        if (name, number) in WRONG_ELSEWHERE:
            return runs
        found = ReferenceEvaluator(made).run(None, values)
    accuracy = 1e-6 if runs or name not in APPROXIMATE else 1e-3
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=accuracy, atol=1e-9 if runs else 1e-7)
    return runs


def _compare(most: int | None) -> None:
    count = 0
    for name, samples in SAMPLES.items():
        for number, sample in enumerate(samples[:most]):
            try:
                with np.errstate(all="ignore"):
                    count += compared(name, number, sample.sizes and number % 2 == 0)
            except (GraphError, DTypeError) as error:
                reason = next((one for one in REFUSED.values() if one in str(error)), None)
                assert reason is not None, (name, str(error))
            except Exception as error:
                error.add_note(f"sample {number} of {name}")
                raise
    assert count > 150


@pytest.mark.slow
def test_the_first_sample_of_every_op_has_our_values(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        _compare(1)


@pytest.mark.long
def test_every_sample_has_our_values(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        _compare(None)


def test_every_op_is_written_or_refused_with_a_reason() -> None:
    leaves = {"placeholder"}
    for op in all_ops():
        assert op.name in FORMS or op.expand is not None or op.name in leaves, op.name
    assert REFUSED.keys() <= {op.name for op in all_ops()}
    assert all(REFUSED.values())
    assert {op for op in OF_COMPLEX if op in FORMS} <= REFUSED.keys()


def test_unknown_sizes_have_names() -> None:
    outputs, feeds = traced("matmul", SAMPLES["matmul"][1], sizes=True)
    (leaf, *_) = feeds
    shape = value_info("x", leaf.type).type.tensor_type.shape
    assert [axis.dim_param for axis in shape.dim] == [str(size) for size in leaf.shape]
    assert outputs
