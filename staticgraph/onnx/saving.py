"""Executables and functions written as ONNX models."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from staticgraph.compiler.core.drafts import draft_of
from staticgraph.compiler.core.errors import GraphError, OptionError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.transforms.custom_rules import without_rules
from staticgraph.executables.executable import Executable
from staticgraph.onnx.forms import FORMS
from staticgraph.onnx.nested import value_info
from staticgraph.onnx.package import NEWEST, OLDEST, onnx
from staticgraph.onnx.writer import Writer
from staticgraph.tracing.functions import Function, function

IR_VERSION = 10
"""The version of the format: the one in which runtimes of 2024 read models."""


class Traced(NamedTuple):
    """A function as expressions.

    Attributes:
        name: of the function.
        inputs: what a caller of the model gives.
        held: what the model holds: placeholders, each with its array.
        outputs: the results, by the names that they have in the model.
    """

    name: str
    inputs: Sequence[Expression]
    held: Sequence[tuple[Expression, Any]]
    outputs: Mapping[str, Expression]


def save(
    function: Executable | Callable[..., object],
    path: str | os.PathLike[str] | BinaryIO,
    inputs: Sequence[object] = (),
    *,
    opset: int = OLDEST,
) -> None:
    """Write an executable, a function or a module as an ONNX model.

    Unknown sizes are symbolic dimensions of the model; variables, and the tensors of modules, are
    its initializers, with the values that they have now. An op is the operator of ONNX, or what it
    is written in; loops are Scan and Loop, branches are If. docs/onnx.md lists them.

    Args:
        function: what `compile` or `function` made, a module, or any function that `function`
            captures.
        path: where to write: a name (`.onnx` is usual), or a file that is open for bytes.
        inputs: of a function or a module the arguments of a call, arrays or tensors: they say the
            dtypes and ranks. An executable needs none.
        opset: the version of ONNX's operators, 18 to 28. What runs the model has to know it.

    Raises:
        GraphError: an op has no form in ONNX, an executable updates variables, or a size is no
            axis of an input; the message names the op and your line.
        DTypeError: there are complex numbers.
        OptionError: there is no such opset, or `inputs` do not fit.
        MissingExtraError: onnx is not installed.

    Example:
        >>> x = sg.placeholder("x", (None,), "float32")
        >>> sg.onnx.save(sg.compile([x], sg.exp(x)), "exp.onnx")
        >>> sg.onnx.load("exp.onnx")(np.array([0.0], np.float32))
        array([1.], dtype=float32)
    """
    data = model_of(function, inputs, opset).SerializeToString()
    if isinstance(path, str | os.PathLike):
        with draft_of(path) as draft:
            draft.write_bytes(data)
    elif isinstance(path, io.IOBase) or hasattr(path, "write"):
        path.write(data)
    else:
        raise OptionError(f"onnx.save: {path!r} is no path and no file")


def model_of(function: Any, inputs: Sequence[object], opset: int) -> Any:
    """The model of a function, as onnx has it: see `save`."""
    package = onnx("onnx.save")
    newest = min(NEWEST, package.defs.onnx_opset_version())
    if type(opset) is not int or not OLDEST <= opset <= newest:
        raise OptionError(f"onnx.save: the opset is one of {OLDEST} to {newest}, not {opset!r}")
    traced = _traced(function, inputs)
    writer = Writer(opset, FORMS)
    described = [_input(writer, one) for one in traced.inputs]
    for one, array in traced.held:
        writer.know(one, writer.initializer(one.name or "weight", np.array(array)))
    results = _results(writer, traced.outputs)
    helper = package.helper
    arrays = [_tensor(name, array) for name, array in writer.initializers.items()]
    graph = helper.make_graph(writer.nodes, traced.name, described, results, arrays)
    versions = [helper.make_opsetid("", opset)]
    ir_version = max(IR_VERSION, helper.find_min_ir_version_for(versions))
    return helper.make_model(
        graph, opset_imports=versions, producer_name="staticgraph", ir_version=ir_version
    )


def _tensor(name: str, array: Any) -> Any:
    from staticgraph.onnx.package import number_of

    data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    helper = onnx("onnx.save").helper
    return helper.make_tensor(name, number_of(array.dtype), array.shape, data, raw=True)


def _input(writer: Writer, one: Expression) -> Any:
    name = writer.fresh(one.name or "input")
    writer.know(one, name)
    writer.know_sizes(name, one.type)
    return value_info(name, one.type)


def _results(writer: Writer, outputs: Mapping[str, Expression]) -> list[Any]:
    names = writer.values(list(outputs.values()))
    made = []
    for (wanted, one), name in zip(outputs.items(), names, strict=True):
        result = writer.fresh(wanted)
        writer.nodes.append(onnx("onnx.save").helper.make_node("Identity", [str(name)], [result]))
        made.append(value_info(result, one.type))
    return made


def _traced(given: Any, inputs: Sequence[object]) -> Traced:
    if isinstance(given, Executable):
        if len(inputs):
            raise OptionError("onnx.save: an executable knows its inputs: give none")
        return _of_executable(given)
    if not callable(given):
        raise OptionError(f"onnx.save: {given!r:.80} is no executable, and cannot be called")
    if not isinstance(inputs, list | tuple):
        raise OptionError(
            f"onnx.save: the inputs are a list or tuple of arguments, not {inputs!r:.80}"
        )
    return _of_function(given if isinstance(given, Function) else function(given), inputs)


def _of_executable(executable: Executable) -> Traced:
    definition = executable.definition
    if definition.updates:
        nodes = definition.nodes
        names = ", ".join(repr(nodes[node].name) for node, _ in definition.updates)
        raise GraphError(
            f"onnx.save: {executable.name} updates {names}: a model has no state; "
            "compile its outputs alone"
        )
    made = definition.expressions()
    inputs, outputs = (
        [made[node] for node in roots] for roots in (definition.inputs, definition.outputs)
    )
    structure = executable.restructure(list(range(len(outputs))))
    return Traced(executable.name, inputs, (), _named(structure, outputs))


def _of_function(captured: Function, inputs: Sequence[object]) -> Traced:
    compiled, operands = captured.captured(*inputs)
    trace = compiled.trace
    count = len(trace.outputs) if trace.effects is None else trace.effects.results
    arrays = [
        one._arrays([one])[0] if isinstance(one, Operand) else np.asarray(one) for one in operands
    ]
    roots = without_rules(trace.outputs[:count])
    held = list(zip(trace.inputs, arrays, strict=True))[trace.arguments :]
    return Traced(captured.name, trace.inputs[: trace.arguments], held, _named(None, roots))


def _named(structure: object, outputs: Sequence[Expression]) -> dict[str, Expression]:
    """The results by the keys of a dict, or numbered."""
    flat = isinstance(structure, dict) and list(structure.values()) == list(range(len(outputs)))
    if isinstance(structure, dict) and flat and all(isinstance(key, str) for key in structure):
        return dict(zip(structure, outputs, strict=True))
    if len(outputs) == 1:
        return {"output": outputs[0]}
    return {f"output_{i}": one for i, one in enumerate(outputs)}
