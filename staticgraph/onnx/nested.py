"""Loops and branches as ONNX's Scan, Loop and If, whose bodies read what is around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.expression import Expression
from staticgraph.onnx.package import number_of, onnx
from staticgraph.onnx.writer import Names, Writer


def value_info(name: str, type: TensorType) -> Any:
    """What ONNX says of an input or output: its dtype and sizes, the unknown ones by name."""
    shape = [size if isinstance(size, int) else str(size) for size in type.shape]
    return onnx("save").helper.make_tensor_value_info(name, number_of(type.dtype), shape)


def _given(writer: Writer, body: Body, names: Sequence[str]) -> list[str]:
    """The names of a body's outputs, given those of its inputs."""
    inputs, outputs = body.expressions()
    for one, name in zip(inputs, names, strict=True):
        writer.know(one, name)
    # an output of its own each: one may be what was handed in, or equal another
    return [writer.node("Identity", str(name)) for name in writer.values(outputs)]


def _graph(
    nodes: list[Any],
    name: str,
    inputs: Sequence[tuple[str, TensorType]],
    outputs: Sequence[tuple[str, TensorType]],
) -> Any:
    made = [[value_info(*one) for one in pairs] for pairs in (inputs, outputs)]
    return onnx("save").helper.make_graph(nodes, name, *made)


def cond(writer: Writer, one: Expression, names: tuple[str, ...]) -> Names:
    """A branch."""
    graphs = {}
    for attribute, body in (("then", one.attrs["on_true"]), ("else", one.attrs["on_false"])):
        with writer.body() as nodes:
            found = _given(writer, body, names[1:])
        results = list(zip(found, body.outputs, strict=True))
        graphs[f"{attribute}_branch"] = _graph(nodes, attribute, [], results)
    count = len(one.attrs["on_true"].outputs)
    made: Names = writer.node("If", names[0], count=count, **graphs)
    return made


def scan(writer: Writer, one: Expression, names: tuple[str, ...]) -> Names:
    """A loop over slices."""
    body, consts, carries = (one.attrs[key] for key in ("body", "consts", "carries"))
    reverse, stop = int(one.attrs["reverse"]), consts + carries
    xs = list(names[stop:])
    taken = [writer.fresh("carried" if i < stop else "slice") for i in range(consts, len(names))]
    inputs = list(zip(taken, body.inputs[consts:], strict=True))
    if not xs:  # ONNX has no Scan over nothing
        xs = [_steps(writer, one.attrs["length"])]
        inputs.append((writer.fresh("step"), TensorType((), np.dtype(np.int64))))
    with writer.body() as nodes:
        found = _given(writer, body, [*names[:consts], *taken])
    graph = _graph(nodes, "scan", inputs, list(zip(found, body.outputs, strict=True)))
    ys = len(found) - carries
    made: Names = writer.node(
        "Scan", *names[consts:stop], *xs, count=len(found), body=graph, num_scan_inputs=len(xs),
        scan_input_directions=[reverse] * len(xs), scan_output_directions=[reverse] * ys or None,
    )  # fmt: skip
    return made


def _steps(writer: Writer, length: Any) -> str:
    """The numbers of a loop's steps."""
    zero, one = (writer.array(np.array(i, np.int64)) for i in (0, 1))
    count = writer.node("Squeeze", writer.sizes([length]))
    made: str = writer.node("Range", zero, count, one)
    return made


def while_loop(writer: Writer, one: Expression, names: tuple[str, ...]) -> Names:
    """A loop as long as a test holds."""
    test, body, consts = (one.attrs[key] for key in ("test", "body", "consts"))
    fixed, first = names[:consts], names[consts:]
    (holds,) = _given(writer, test, names)
    truth, number = (TensorType((), np.dtype(kind)) for kind in (np.bool_, np.int64))
    taken = [writer.fresh("carried") for _ in first]
    inputs = [(writer.fresh("step"), number), (writer.fresh("holds"), truth)]
    inputs += zip(taken, body.inputs[consts:], strict=True)
    with writer.body() as nodes:
        found = _given(writer, body, [*fixed, *taken])
        (again,) = _given(writer, test, [*fixed, *found])
    outputs = [(again, truth), *zip(found, body.outputs, strict=True)]
    graph = _graph(nodes, "loop", inputs, outputs)
    made: Names = writer.node("Loop", "", holds, *first, count=len(first), body=graph)
    return made
