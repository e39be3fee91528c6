"""Model files read and checked: all of it before anything is computed, and nothing is executed."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from staticgraph.compiler.core.errors import FormatError
from staticgraph.compiler.core.record import frozen
from staticgraph.onnx.package import OLDEST_READ, dtype_of, onnx


@frozen(eq=False)
class Step:
    """A node of a graph: an operator applied to named values.

    Attributes:
        operator: its name; of another domain than ONNX's own with that in front.
        name: what messages call the node.
        inputs, outputs: names of values, "" for what is left out.
        attributes: numbers, texts, arrays, graphs, or lists of them.
    """

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@frozen(eq=False)
class Input:
    """What a graph takes: its dtype, and its sizes, the unknown ones by name or None.

    Of what a graph within a node takes neither is read: it is what the node hands over.
    """

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int | str | None, ...] | None


@frozen(eq=False)
class Graph:
    """A graph, of which each step comes behind those whose values it takes."""

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    weights: Mapping[str, Any]
    steps: tuple[Step, ...]


@frozen(eq=False)
class File:
    """A model: its graph, and the version of the operators."""

    graph: Graph
    opset: int


def read(path: str | os.PathLike[str] | BinaryIO) -> File:
    """The model of a file.

    Raises:
        FormatError: it is damaged, or holds what is not read.
    """
    package = onnx("onnx.load")
    if isinstance(path, str | os.PathLike):
        file = Path(os.fspath(path))
        data, folder = file.read_bytes(), file.parent
    else:
        data, folder = path.read(), None
    proto = package.ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception as error:  # of protobuf, whose classes differ by version
        raise FormatError(f"onnx.load: no model, or a part of one: {error}") from None
    if not data or not proto.HasField("graph"):
        raise FormatError("onnx.load: the file has no graph")
    return model_of_proto(proto, folder)


def model_of_proto(proto: Any, folder: Path | None) -> File:
    """The model of a message; `folder` has the files that its arrays may be in."""
    versions = {one.version for one in proto.opset_import if one.domain in ("", "ai.onnx")}
    if len(versions) > 1:
        raise FormatError(f"onnx.load: the model is of several opsets: {sorted(versions)}")
    opset = max(versions, default=0)
    newest = onnx("onnx.load").defs.onnx_opset_version()
    if not OLDEST_READ <= opset <= newest:
        raise FormatError(
            f"onnx.load: the model is of opset {opset}; read are {OLDEST_READ} to {newest}"
        )
    if len(proto.functions):
        names = ", ".join(sorted(f"{one.domain}.{one.name}" for one in proto.functions)[:8])
        raise FormatError(f"onnx.load: the model has functions of its own, which are not: {names}")
    return File(_Reader(folder, opset).graph(proto.graph, frozenset(), False), opset)


class _Reader:
    """Reads the graphs of a model."""

    def __init__(self, folder: Path | None, opset: int) -> None:
        self.folder, self.opset = folder, opset
        self.package = onnx("onnx.load")

    def graph(self, proto: Any, outside: frozenset[str], inner: bool) -> Graph:
        """A graph, which may read the values outside of it."""
        if len(proto.sparse_initializer):
            raise FormatError("onnx.load: sparse initializers are not read")
        weights: dict[str, Any] = {}
        for tensor in proto.initializer:
            if tensor.name in weights:
                raise FormatError(f"onnx.load: there are two initializers {tensor.name!r:.80}")
            weights[tensor.name] = self.array(tensor, f"initializer {tensor.name!r:.80}")
        given = [one for one in proto.input if one.name not in weights]
        inputs = tuple(Input(one.name, None, None) if inner else self._input(one) for one in given)
        known = {*outside, *weights}
        for one in inputs:
            if one.name in known - outside:
                raise FormatError(f"onnx.load: there are two inputs {one.name!r:.80}")
            known.add(one.name)
        steps = []
        for position, node in enumerate(proto.node):
            step = self._step(node, position, known)
            for name in filter(None, step.outputs):
                if name in known:
                    raise FormatError(
                        f"onnx.load: {step.name} gives {name!r:.80}, which another one has given"
                    )
                known.add(name)
            steps.append(step)
        outputs = tuple(one.name for one in proto.output)
        for name in outputs:
            if name not in known:
                raise FormatError(f"onnx.load: the output {name!r:.80} is computed by no node")
        return Graph(proto.name, inputs, outputs, weights, tuple(steps))

    def _input(self, proto: Any) -> Input:
        kind = proto.type.WhichOneof("value")
        if kind != "tensor_type":
            raise FormatError(f"onnx.load: the input {proto.name!r:.80} is a {kind}, no tensor")
        tensor = proto.type.tensor_type
        dtype = self._dtype(tensor.elem_type, f"the input {proto.name!r:.80}")
        if not tensor.HasField("shape"):
            return Input(proto.name, dtype, None)
        shape: list[int | str | None] = []
        for axis in tensor.shape.dim:
            if axis.WhichOneof("value") == "dim_value":
                if axis.dim_value < 0:
                    raise FormatError(
                        f"onnx.load: the input {proto.name!r:.80} has the size {axis.dim_value}"
                    )
                shape.append(axis.dim_value)
            else:
                shape.append(axis.dim_param or None)
        return Input(proto.name, dtype, tuple(shape))

    def _dtype(self, number: int, what: str) -> np.dtype[Any]:
        dtype = dtype_of(number)
        if dtype is None:
            names = self.package.TensorProto.DataType
            shown = names.Name(number) if number in names.values() else number
            raise FormatError(f"onnx.load: {what} has the dtype {shown}, which is not read")
        return dtype

    def _step(self, proto: Any, position: int, known: set[str]) -> Step:
        if not isinstance(proto.op_type, str) or not isinstance(proto.domain, str):
            raise FormatError(f"onnx.load: node {position} has an operator whose name is no text")
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        operator = f"{domain}.{proto.op_type}" if domain else proto.op_type
        name = f"node {proto.name or position} ({operator})"[:120]
        for one in proto.input:
            if one and one not in known:
                raise FormatError(
                    f"onnx.load: {name} takes {one!r:.80}, which no node before it gives"
                )
        self._check(domain, proto, name)
        inside = frozenset(known)
        attributes = {one.name: self._attribute(one, name, inside) for one in proto.attribute}
        return Step(operator, name, tuple(proto.input), tuple(proto.output), attributes)

    def _check(self, domain: str, proto: Any, name: str) -> None:
        """FormatError unless a node has what the definition of its operator says."""
        defs = self.package.defs
        if not defs.has(proto.op_type, domain):
            return  # it is refused where operators are looked up
        try:
            schema = defs.get_schema(proto.op_type, self.opset, domain)
        except Exception:  # of onnx, whose classes differ by version
            return  # this opset has it not
        for what, given, least, most in (
            ("inputs", len(proto.input), schema.min_input, schema.max_input),
            ("outputs", len(proto.output), schema.min_output, schema.max_output),
        ):
            if not least <= given <= most:
                several = f"{least}" if least == most else f"{least} to {most}"
                raise FormatError(f"onnx.load: {name} has {given} {what}, and takes {several}")
        for one in proto.attribute:
            known = schema.attributes.get(one.name)
            if known is None or int(known.type.value) != one.type:
                raise FormatError(
                    f"onnx.load: {name}: the attribute {one.name!r:.80} is none of opset "
                    f"{self.opset}, or of another type there"
                )
        there = {one.name for one in proto.attribute}
        for wanted, known in schema.attributes.items():
            if known.required and wanted not in there:
                raise FormatError(f"onnx.load: {name} lacks the attribute {wanted!r}")

    def _attribute(self, proto: Any, name: str, known: frozenset[str]) -> Any:
        kinds = self.package.AttributeProto
        if proto.type == kinds.GRAPH:
            return self.graph(proto.g, known, True)
        if proto.type == kinds.TENSOR:
            return self.array(proto.t, name)
        read = {
            kinds.FLOAT: "f", kinds.INT: "i", kinds.STRING: "s",
            kinds.FLOATS: "floats", kinds.INTS: "ints", kinds.STRINGS: "strings",
        }.get(proto.type)  # fmt: skip
        if read is None:
            raise FormatError(f"onnx.load: {name}: the attribute {proto.name!r:.80} is not read")
        value = getattr(proto, read)
        if read == "s":
            return value.decode(errors="replace")
        if read == "strings":
            return [one.decode(errors="replace") for one in value]
        return list(value) if read.endswith("s") else value

    def array(self, proto: Any, what: str) -> Any:
        """The array of a tensor, whose size is compared with that of its data before it is made."""
        dtype = self._dtype(proto.data_type, what)
        shape = tuple(proto.dims)
        if min(shape, default=0) < 0:
            raise FormatError(f"onnx.load: {what} has the shape {list(shape)}")
        if proto.HasField("segment"):
            raise FormatError(f"onnx.load: {what} is a segment of a tensor, which is not read")
        count = math.prod(shape)
        if proto.data_location == proto.EXTERNAL:
            return self._raw(self._outside(proto, what), dtype, shape, what)
        if proto.HasField("raw_data"):
            return self._raw(proto.raw_data, dtype, shape, what)
        given = len(getattr(proto, self.package.helper.tensor_dtype_to_field(proto.data_type)))
        needed = count * 2 if dtype.kind == "c" else count
        if given != needed:
            raise FormatError(f"onnx.load: {what} is {dtype}{list(shape)}, and has {given} numbers")
        return np.array(self.package.numpy_helper.to_array(proto), dtype)

    def _raw(self, data: bytes, dtype: np.dtype[Any], shape: Sequence[int], what: str) -> Any:
        if len(data) != math.prod(shape) * dtype.itemsize:
            raise FormatError(f"onnx.load: {what} is {dtype}{list(shape)} in {len(data)} bytes")
        stored = np.frombuffer(data, dtype.newbyteorder("<"))
        return stored.astype(dtype).reshape(shape)

    def _outside(self, proto: Any, what: str) -> bytes:
        """The data of a tensor in a file of its own, which lies in the folder of the model."""
        if self.folder is None:
            raise FormatError(f"onnx.load: {what} is in another file: load the model by its path")
        told = {one.key: one.value for one in proto.external_data}
        folder = self.folder.resolve()
        location = told.get("location", "")
        is_name = bool(location) and "\0" not in location
        path = (folder / location).resolve() if is_name else folder
        if not path.is_relative_to(folder) or not path.is_file():
            raise FormatError(
                f"onnx.load: {what} is in {location!r:.80}, no file in the model's folder"
            )
        try:
            offset = int(told.get("offset", 0))
            length = int(told.get("length", path.stat().st_size - offset))
        except ValueError:
            raise FormatError(f"onnx.load: {what}: its place {told} is no number") from None
        if offset < 0 or length < 0 or offset + length > path.stat().st_size:
            raise FormatError(
                f"onnx.load: {what}: {length} bytes at {offset} are not in {location!r:.80}"
            )
        with path.open("rb") as stream:
            stream.seek(offset)
            return stream.read(length)


def operators_of(graph: Graph) -> Iterable[Step]:
    """The steps of a graph, and of the graphs in it."""
    for step in graph.steps:
        yield step
        for value in step.attributes.values():
            if isinstance(value, Graph):
                yield from operators_of(value)
