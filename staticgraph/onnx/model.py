"""Models of ONNX as functions of arrays, expressions and tensors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from staticgraph.compiler.core.errors import FeedError, FormatError, StaticGraphError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.graph.expression import Expression
from staticgraph.leaves import placeholder
from staticgraph.onnx import operators  # noqa: F401 - registers them
from staticgraph.onnx.call import OPERATORS, Call, computed
from staticgraph.onnx.reading import File, Graph, Input, operators_of, read


def load(path: str | os.PathLike[str] | BinaryIO) -> Model:
    """Read an ONNX model, as a function for both paradigms.

    All of the file is checked before anything is made: sizes against data, names against the nodes
    that give them, operators and dtypes against those that are read. Nothing in it is executed, and
    no file outside of its folder is opened.

    Args:
        path: of the model, or a file that is open for bytes.

    Raises:
        FormatError: the file is damaged, or has what is not read; the message names the node, the
            operator and the opset.
        OSError: it cannot be read.
        MissingExtraError: onnx is not installed.

    Example:
        >>> x = sg.placeholder("x", (None,), "float32")
        >>> sg.onnx.save(sg.compile([x], x * x), "square.onnx")
        >>> sg.onnx.load("square.onnx")(np.array([3.0], np.float32))
        array([9.], dtype=float32)
    """
    return Model(read(path))


class Model:
    """A function that was read from an ONNX model: of arrays, expressions or eager tensors.

    It applies the ops of the library, so that its results are of the kind of what it is given, with
    gradients: `sg.compile` it with its `placeholders()`, or call it on tensors.

    Attributes:
        name, opset: of the model.
        inputs: the names of what it takes, in order.
        outputs: the names of what it gives.
        weights: its arrays by their names. A call may give others in their place.

    Example:
        >>> x = sg.placeholder("x", (2,))
        >>> sg.onnx.save(sg.compile([x], sg.exp(x), name="growth"), "growth.onnx")
        >>> model = sg.onnx.load("growth.onnx")
        >>> model.name, model.inputs
        ('growth', ('x',))
        >>> model(np.zeros(2, "float32"))
        array([1., 1.], dtype=float32)
    """

    def __init__(self, file: File) -> None:
        self._graph = file.graph
        self.opset = file.opset
        for step in operators_of(file.graph):
            if step.operator not in OPERATORS:
                raise FormatError(
                    f"onnx.load: {step.name}: the operator {step.operator} of opset {self.opset} "
                    "is not read"
                )
        self.name = file.graph.name
        self.inputs = tuple(one.name for one in file.graph.inputs)
        self.outputs = file.graph.outputs
        self.weights: Mapping[str, Any] = dict(file.graph.weights)

    def __repr__(self) -> str:
        taken, given = ", ".join(self.inputs), ", ".join(self.outputs)
        return f"<onnx model {self.name}({taken}) -> {given}>"

    def placeholders(self) -> list[Expression]:
        """Placeholders of the types of the inputs; sizes that the model does not know are unknown.

        Raises:
            FormatError: the model does not say how many axes an input has.

        Example:
            >>> x = sg.placeholder("x", (None,), "float32")
            >>> sg.onnx.save(sg.compile([x], x * x), "square.onnx")
            >>> model = sg.onnx.load("square.onnx")
            >>> inputs = model.placeholders()
            >>> sg.compile(inputs, model(*inputs), name="square")
            <executable square(x: float32[x.0])>
        """
        return [_placeholder(one) for one in self._graph.inputs]

    def __call__(
        self, *inputs: object, weights: Mapping[str, Any] | None = None, **named: object
    ) -> Any:
        """The outputs: the only one, or a tuple of them.

        Args:
            inputs: arrays, expressions or tensors, by position or by name.
            weights: what stands for some of the model's, such as variables or parameters.

        Raises:
            FeedError: inputs are missing, too many, or of another dtype or rank than the model's.
            FormatError: an operator does what the library does not.
        """
        values = {**self.weights, **_weights(self.weights, weights or {})}
        values |= _fed(self._graph, inputs, named)
        found = [computed(one) for one in _run(self._graph, values, self.opset)]
        return found[0] if len(found) == 1 else tuple(found)


def _placeholder(one: Input) -> Expression:
    if one.shape is None or one.dtype is None:
        raise FormatError(f"onnx: the model does not say how many axes {one.name!r} has")
    return placeholder(one.name, one.shape, one.dtype)


def _weights(known: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, value in given.items():
        if name not in known:
            raise FeedError(f"onnx: the model has no weight {name!r}")
        if tuple(value.shape) != known[name].shape:
            raise FeedError(
                f"onnx: the weight {name!r} has the shape {list(known[name].shape)}, "
                f"not {list(value.shape)}"
            )
    return given


def _fed(graph: Graph, inputs: Sequence[object], named: Mapping[str, object]) -> dict[str, Any]:
    names = [one.name for one in graph.inputs]
    given = {**dict(zip(names, inputs, strict=False)), **named}
    if len(inputs) > len(names) or given.keys() != set(names) or len(given) < len(inputs):
        raise FeedError(
            f"onnx: {graph.name} takes {names}, not {len(inputs)} inputs and {sorted(named)}"
        )
    return {one.name: _checked(one, given[one.name]) for one in graph.inputs}


def _checked(one: Input, value: Any) -> Any:
    found = value if isinstance(value, Operand) else np.asarray(value)
    dtype = _dtype_of(found)
    if dtype != one.dtype or (one.shape is not None and len(found.shape) != len(one.shape)):
        rank = "" if one.shape is None else f" of {len(one.shape)} axes"
        raise FeedError(
            f"onnx: the input {one.name!r} is {one.dtype}{rank}, not {dtype}{list(found.shape)}"
        )
    return found


def _dtype_of(value: Any) -> np.dtype[Any]:
    return np.dtype(value.dtype)


def _run(graph: Graph, values: dict[str, Any], opset: int) -> list[Any]:
    """The values of a graph's outputs, given those of its inputs and of what it reads."""

    def inside(inner: Graph, given: Sequence[Any]) -> list[Any]:
        names = [one.name for one in inner.inputs]
        own = dict(zip(names, given, strict=True))
        return _run(inner, {**values, **inner.weights, **own}, opset)

    for step in graph.steps:
        taken = [values[name] if name else None for name in step.inputs]
        call = Call(step, opset, taken, inside)
        try:
            found = OPERATORS[step.operator](call)
        except FormatError:
            raise
        except StaticGraphError as error:
            raise FormatError(f"onnx: {step.name}, opset {opset}: {error}") from error
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, MemoryError) as error:
            raise FormatError(f"onnx: {step.name}, opset {opset}: {error!r}") from error
        results = found if isinstance(found, tuple) else (found,)
        if len(results) < len([name for name in step.outputs if name]):
            raise call.refuse(f"it has {len(step.outputs)} outputs, of which not all are read")
        values.update((name, one) for name, one in zip(step.outputs, results) if name)  # noqa: B905
    return [values[name] for name in graph.outputs]
