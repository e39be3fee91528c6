"""A program as what it does to memory: NumPy arrays that share it as the tensors should.

Independent of both engines. It knows no gradients: what reads one is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.eager import numpy_ops as ops
from staticgraph.fuzz.eager.program import Step


class UnknownError(Exception):
    """A value that depends on a gradient, or on a name that is not bound."""


class Cell:
    """A tensor: names may share it, and its shape may change in place."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array


class Memory:
    """The arrays of one program.

    Attributes:
        cells: per name that is bound; those of unknown values are not.
    """

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}

    def do(self, step: Step) -> None:
        """What one step does.

        Raises:
            UnknownError: it reads what is not known; the same if it would overwrite something.
            Exception: any of NumPy's; then nothing is written.
        """
        with np.errstate(all="ignore"):
            self._do(step)

    def reads_what_it_writes(self, step: Step) -> bool:
        """Whether a step overwrites a tensor by what it reads at other places of its memory.

        That may be in the tensor itself, of which two elements are at one place.
        """
        if step["do"] not in ("set", "augment") and not str(step.get("of", "")).endswith("_"):
            return False
        try:
            cell, args = self._operands(step)
            target = cell.array
            chosen = None
            if step["do"] == "set":
                basic, chosen = _parts(target, args[0])
                target = target[basic]
                args = args[1:]
        except (UnknownError, IndexError):
            return False
        return (chosen is None and overlaps(target)) or any(
            isinstance(one, np.ndarray)
            and np.shares_memory(target, one)
            and _layout(target) != _layout(one)
            for one in args
        )

    def _do(self, step: Step) -> None:
        match step["do"]:
            case "leaf":
                array = np.array(step["values"], step["dtype"]).reshape(step["shape"])
                self.cells[step["name"]] = Cell(array)
            case "method" | "augment":
                self._method(step)
            case "function":
                self._function(step)
            case "get":
                cell, (key,) = self._operands(step)
                self._bind(step, cell, got(cell.array, key))
            case "set":
                cell, (key, value) = self._operands(step)
                put(cell.array, key, value)
            case "attribute":
                self._attribute(step)
            case "assign":
                cell, (value,) = self._operands(step)
                if step["of"] == "data":
                    cell.array = value
                elif step["of"] == "grad" and value is not None:
                    raise UnknownError  # what accumulates there may be the memory of others
            case "delete":
                self.cells.pop(step["args"][0][1:], None)

    def _operands(self, step: Step) -> tuple[Cell, Sequence[Any]]:
        name = step["args"][0][1:]
        if name not in self.cells:
            raise UnknownError
        return self.cells[name], [self.decoded(one) for one in step["args"][1:]]

    def _method(self, step: Step) -> None:
        cell, args = self._operands(step)
        options = {name: self.decoded(one) for name, one in step.get("options", {}).items()}
        name = AUGMENTED[step["of"]] if step["do"] == "augment" else step["of"]
        if name in ops.IN_PLACE:
            written(cell.array, ops.IN_PLACE[name](cell.array, *args, **options))
            self._bind(step, cell, cell.array)
        elif name[:-1] in ops.SHAPES_IN_PLACE and name.endswith("_"):
            cell.array = ops.VIEWS[name[:-1]](cell.array, *args, **options)
            self._bind(step, cell, cell.array)
        elif name in ops.VIEWS or name in ops.COMPUTED:
            function = ops.VIEWS.get(name) or ops.COMPUTED[name]
            self._bind(step, cell, function(cell.array, *args, **options))
        elif name in ITSELF:
            self._bind(step, cell, cell.array)
        elif "name" in step:
            raise UnknownError

    def _function(self, step: Step) -> None:
        if step["of"] not in ops.FUNCTIONS:
            raise UnknownError
        args = [self.decoded(one) for one in step["args"]]
        options = {name: self.decoded(one) for name, one in step.get("options", {}).items()}
        self._bind(step, None, ops.FUNCTIONS[step["of"]](*args, **options))

    def _attribute(self, step: Step) -> None:
        cell, _ = self._operands(step)
        if step["of"] not in ops.ATTRIBUTES:
            raise UnknownError
        self._bind(step, cell, ops.ATTRIBUTES[step["of"]](cell.array))

    def _bind(self, step: Step, cell: Cell | None, result: Any) -> None:
        if "item" in step:
            result = result[step["item"]]
        if "name" not in step:
            return
        if cell is not None and result is cell.array:
            self.cells[step["name"]] = cell
        else:
            self.cells[step["name"]] = Cell(np.asarray(result))

    def decoded(self, given: object) -> Any:
        """An argument with arrays in place of what stands for them."""
        if isinstance(given, str) and given.startswith("$"):
            if given[1:] not in self.cells:
                raise UnknownError
            return self.cells[given[1:]].array
        if isinstance(given, list):
            return [self.decoded(one) for one in given]
        if not isinstance(given, dict):
            return given
        ((form, parts),) = given.items()
        match form:
            case "slice":
                return slice(*parts)
            case "tuple":
                return tuple(self.decoded(one) for one in parts)
            case "ellipsis":
                return Ellipsis
            case "dtype":
                return np.dtype(parts)
            case "tensor":
                return np.array(parts[0], parts[1])
        raise ValueError(f"no argument: {given}")


AUGMENTED = {"+=": "add_", "-=": "sub_", "*=": "mul_", "/=": "div_"}
ITSELF = ("requires_grad_", "detach_")


def overlaps(array: Array) -> bool:
    """Whether two elements of an array are at one place in memory."""
    places = np.zeros(array.shape, np.int64)
    for axis, (size, step) in enumerate(zip(array.shape, array.strides, strict=True)):
        places += (np.arange(size) * step).reshape((-1,) + (1,) * (array.ndim - axis - 1))
    return bool(np.unique(places).size < array.size)


def written(target: Array, value: object) -> None:
    """Write to every element; ValueError if elements share memory, or would be rounded."""
    if overlaps(target):
        raise ValueError("elements share memory")
    value = np.asarray(value)
    if np.broadcast_shapes(target.shape, value.shape) != target.shape:
        raise ValueError("the value has more elements")
    target[...] = value.astype(target.dtype, casting="same_kind", copy=True)


def _parts(array: Array, key: object) -> tuple[Any, Any]:
    """A key as one without arrays, and another for what that gives: integers select first."""
    parts = list(key) if isinstance(key, tuple) else [key]
    parts = [np.asarray(one) if isinstance(one, list) else one for one in parts]
    parts = [_scalar(one) for one in parts]
    if any(one is True or one is False for one in parts):
        return (...,), tuple(parts)
    if not any(isinstance(one, np.ndarray) for one in parts):
        return tuple(parts) if any(one is Ellipsis for one in parts) else (*parts, ...), None
    if not any(one is Ellipsis for one in parts):
        parts.append(Ellipsis)
    used = sum(
        one.ndim if isinstance(one, np.ndarray) and one.dtype == bool
        else one is not None and one is not Ellipsis
        for one in parts
    )  # fmt: skip
    first: list[Any] = []
    second: list[Any] = []
    for one in parts:
        if one is Ellipsis:
            first += [slice(None)] * (array.ndim - used)
            second += [slice(None)] * (array.ndim - used)
        elif isinstance(one, np.ndarray):
            first += [slice(None)] * (one.ndim if one.dtype == bool else 1)
            second.append(one)
        else:
            first.append(one)
            if not isinstance(one, int):
                second.append(slice(None))
    return (*first, ...), tuple(second)


def _scalar(one: Any) -> Any:
    """An array of one integer without axes as the integer: it selects, as that does."""
    integer = isinstance(one, np.ndarray) and one.ndim == 0 and one.dtype != bool
    return int(one) if integer else one


def _layout(array: Array) -> Any:
    return array.__array_interface__["data"], array.shape, array.strides


def got(array: Array, key: object) -> Array:
    """What an index gives: a view, unless arrays are among the index."""
    basic, advanced = _parts(array, key)
    found = array[basic]
    return found if advanced is None else np.array(found[advanced], order="C")


def put(array: Array, key: object, value: Any) -> None:
    """Assign to what an index names."""
    basic, advanced = _parts(array, key)
    place = array[basic]
    value = np.array(value)
    if advanced is None:
        while value.ndim > place.ndim and value.shape[0] == 1:
            value = value[0]
        written(place, value)
    else:
        place[advanced] = value
