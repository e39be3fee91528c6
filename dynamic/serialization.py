"""Save and load tensors in containers as one safetensors file: no pickle, so loading runs no code.

The arrays are the file's tensors, and the containers around them are JSON in its metadata, so
that any reader of the format finds the arrays of a state dict under their names.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from compiler.core.errors import MissingExtraError, StaticGraphError
from dynamic.core.dtypes import DTYPES, DType, bfloat16, dtype_named
from dynamic.core.errors import ArgumentError
from dynamic.core.results import Size
from dynamic.nn.parameter import Parameter
from dynamic.tensors.devices import check_device
from dynamic.tensors.tensor import Tensor, wrap

FORMAT = "staticgraph.dynamic 1"
DEEPEST = 200
"""The number of containers inside each other that are saved; cyclic ones have no end."""


class LoadError(StaticGraphError, RuntimeError):
    """A file is damaged, or holds something else than what `save` writes."""


def save(obj: object, f: Any) -> None:
    """Write tensors, arrays, numbers, strings, None, and lists, tuples and dicts of these.

    What occurs twice is one object after loading, too; views become tensors of their own, and
    the graph is not saved. A file is replaced once its new content is complete.

    Args:
        obj: what to save, such as a state dict.
        f: the path of a file, or something with a `write` method for bytes.

    Raises:
        ArgumentError: `obj` contains something else; the message says where.
        MissingExtraError: safetensors is not installed.
    """
    npy = _safetensors("save")
    writer = _Writer()
    structure = writer.encoded(obj, ())
    metadata = {"format": FORMAT, "structure": json.dumps(structure)}
    content = npy.save(writer.arrays, metadata)
    if hasattr(f, "write"):
        f.write(content)
        return
    path = Path(os.fspath(f))
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def load(f: Any, map_location: object = None, *, weights_only: bool = True) -> Any:
    """What `save` wrote; of another safetensors file its tensors as a dict by their names.

    Args:
        f: the path of a file, or something with a `read` method that returns bytes.
        map_location: the CPU, where everything is; RuntimeError for the name of another device.
        weights_only: ignored, as nothing else can be in such a file.

    Raises:
        LoadError: the file is damaged.
        MissingExtraError: safetensors is not installed.
    """
    if isinstance(map_location, str):
        check_device(map_location)
    npy = _safetensors("load")
    content = f.read() if hasattr(f, "read") else Path(os.fspath(f)).read_bytes()
    try:
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        arrays = _arrays(npy, header, content, 8 + size)
        metadata = header.get("__metadata__", {})
    except Exception as error:  # safetensors has an error of its own, and passes on others
        raise LoadError(f"load: not a safetensors file, or a damaged one: {error}") from None
    if metadata.get("format") != FORMAT:
        return {name: _tensor(name, array) for name, array in arrays.items()}
    try:
        return _Reader(arrays).decoded(json.loads(metadata["structure"]))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise LoadError(f"load: the structure of the file is damaged: {error!r}") from None


def _arrays(npy: Any, header: dict[str, Any], content: bytes, start: int) -> dict[str, Any]:
    """The arrays of a file; its reader for NumPy has no bfloat16, of which it is given the bits."""
    brains = [name for name, one in header.items() if one.get("dtype") == "BF16"]
    if brains:
        for name in brains:
            header[name]["dtype"] = "U16"
        text = json.dumps(header).encode()
        content = len(text).to_bytes(8, "little") + text + content[start:]
    arrays: dict[str, Any] = npy.load(content)
    return arrays | {name: arrays[name].view(bfloat16.dtype) for name in brains}


def _safetensors(caller: str) -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise MissingExtraError(
            f"{caller}: safetensors is not installed: pip install 'staticgraph[save]'"
        ) from None
    return safetensors.numpy


def _tensor(name: str, array: Any) -> Tensor:
    if array.dtype not in DTYPES:
        raise LoadError(f"load: tensor {name!r} is {array.dtype}, which no tensor here can be")
    return wrap(array)


class _Writer:
    """Turns containers into JSON, and collects the arrays in them under their paths.

    JSON holds None, bools, strings, integers and lists as they are; all else is an object whose
    first key says what it is.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.kept: list[Any] = []  # so that no id is used twice

    def encoded(self, value: object, path: tuple[str, ...]) -> Any:
        """The JSON for a value at a path."""
        if len(path) > DEEPEST:
            raise ArgumentError(f"save: more than {DEEPEST} containers inside each other")
        if value is None or type(value) in (bool, str, int):
            return value
        if isinstance(value, Tensor):
            kind = "parameter" if isinstance(value, Parameter) else "tensor"
            name = self._name(value, value._array, path)
            return {kind: name, "requires_grad": value.requires_grad}
        encode = next((one for kind, one in _ENCODERS.items() if isinstance(value, kind)), None)
        if encode is None:
            where = ".".join(path) or "the top"
            hint = ": save its state_dict()" if hasattr(value, "state_dict") else ""
            raise ArgumentError(f"save: cannot save the {type(value).__name__} at {where}{hint}")
        return encode(self, value, path)

    def _name(self, owner: object, array: object, path: tuple[str, ...]) -> str:
        """The name under which an array is stored: its path, made unique."""
        if id(owner) in self.names:
            return self.names[id(owner)]
        name = plain = ".".join(path) or "tensor"
        number = 1
        while name in self.arrays or name == "__metadata__":
            number += 1
            name = f"{plain} {number}"
        self.arrays[name] = np.array(array, order="C")
        self.names[id(owner)] = name
        self.kept.append(owner)
        return name

    def array(self, value: Any, path: tuple[str, ...]) -> Any:
        """An array that is no tensor."""
        if value.dtype not in DTYPES:
            raise ArgumentError(f"save: cannot save the {value.dtype} array at {'.'.join(path)}")
        return {"array": self._name(value, value, path)}

    def items(self, values: Any, path: tuple[str, ...]) -> list[Any]:
        """The JSON of each element."""
        return [self.encoded(value, (*path, str(i))) for i, value in enumerate(values)]

    def pairs(self, values: Mapping[Any, object], path: tuple[str, ...]) -> list[list[Any]]:
        """The JSON of each key and value."""
        return [
            [self.encoded(key, (*path, "key")), self.encoded(value, (*path, str(key)))]
            for key, value in values.items()
        ]


_ENCODERS: dict[type, Callable[[_Writer, Any, tuple[str, ...]], Any]] = {
    np.ndarray: _Writer.array,
    float: lambda writer, value, path: {"float": float(value).hex()},
    np.generic: lambda writer, value, path: writer.encoded(value.item(), path),
    Size: lambda writer, value, path: {"size": list(value)},
    DType: lambda writer, value, path: {"dtype": value.name},
    OrderedDict: lambda writer, value, path: {"ordered": writer.pairs(value, path)},
    dict: lambda writer, value, path: {"dict": writer.pairs(value, path)},
    list: lambda writer, value, path: writer.items(value, path),
    tuple: lambda writer, value, path: {"tuple": writer.items(value, path)},
}
"""Per class how it is written, subclasses before their bases."""


class _Reader:
    """Turns what a `_Writer` made back into objects."""

    def __init__(self, arrays: Mapping[str, object]) -> None:
        self.arrays = arrays
        self.made: dict[tuple[str, str], Any] = {}

    def decoded(self, code: object) -> Any:
        """The value that the JSON stands for."""
        if isinstance(code, list):
            return [self.decoded(one) for one in code]
        if not isinstance(code, dict):
            return code
        kind = next(iter(code), None)
        if kind in ("tensor", "parameter", "array"):
            return self._array(kind, code)
        content = code[kind]
        if kind == "tuple":
            return tuple(self.decoded(one) for one in content)
        if kind in ("dict", "ordered"):
            pairs = ((self.decoded(key), self.decoded(value)) for key, value in content)
            return dict(pairs) if kind == "dict" else OrderedDict(pairs)
        if kind == "float":
            return float.fromhex(content)
        if kind == "size":
            return Size(content)
        if kind == "dtype":
            return dtype_named(content)
        raise ValueError(f"unknown kind {kind!r}")

    def _array(self, kind: str, code: Mapping[str, Any]) -> Any:
        name = code[kind]
        if (kind, name) not in self.made:
            self.made[kind, name] = self._made(kind, self.arrays[name], code)
        return self.made[kind, name]

    def _made(self, kind: str, array: object, code: Mapping[str, Any]) -> Any:
        if kind == "array":
            return array
        if kind == "parameter":
            return Parameter(_tensor(code[kind], array), bool(code["requires_grad"]))
        tensor = _tensor(code[kind], array)
        if code["requires_grad"]:
            tensor.requires_grad = True
        return tensor
