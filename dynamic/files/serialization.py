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
from types import FunctionType
from typing import Any

import numpy as np

from staticgraph.compiler.core.drafts import draft_of
from staticgraph.compiler.core.errors import MissingExtraError
from staticgraph.dynamic.core.dtypes import DTYPES, DType, dtype_named
from staticgraph.dynamic.core.errors import ArgumentError, LoadError
from staticgraph.dynamic.core.results import Size
from staticgraph.dynamic.files import module_files, pytorch_files
from staticgraph.dynamic.files.module_files import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from staticgraph.dynamic.files.pytorch_containers import DEEPEST
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tensors.devices import check_device, device
from staticgraph.dynamic.tensors.tensor import Tensor, wrap

__all__ = [
    "LoadError", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "load",
    "safe_globals", "save",
]  # fmt: skip

FORMAT = "staticgraph.dynamic 1"


def save(
    obj: object,
    f: Any,
    pickle_module: object = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    *,
    format: str = "safetensors",
) -> None:
    """Write tensors, arrays, numbers, strings, None, modules, and lists, tuples and dicts of these.

    What occurs twice is one object after loading, too; views become tensors of their own, and
    the graph is not saved. A file is replaced once its new content is complete.

    Args:
        obj: what to save, such as a state dict.
        f: the path of a file, or something with a `write` method for bytes.
        pickle_module, pickle_protocol: nothing is pickled: the protocol is ignored, and another
            module refused.
        _use_new_zipfile_serialization: False, PyTorch's format before 1.6, is refused.
        format: "safetensors", or "torch" for a file that PyTorch's `torch.load` reads.

    Raises:
        ArgumentError: `obj` contains something else; the message says where. There is no such
            format.
        MissingExtraError: safetensors is not installed.

    Example:
        >>> dynamic.save({"w": dynamic.ones(2)}, "w.safetensors")
        >>> dynamic.load("w.safetensors")["w"]
        tensor([1., 1.])
    """
    if pickle_module is not None or not _use_new_zipfile_serialization:
        raise ArgumentError(
            "save: files are written without pickle, as safetensors or in PyTorch's format since "
            "1.6: leave pickle_module and _use_new_zipfile_serialization out"
        )
    if format not in ("safetensors", "torch"):
        raise ArgumentError(f"save: the format is 'safetensors' or 'torch', not {format!r}")
    content = pytorch_files.written(obj) if format == "torch" else _written(obj)
    if hasattr(f, "write"):
        f.write(content)
        return
    with draft_of(f) as draft:
        draft.write_bytes(content)


def _written(obj: object) -> bytes:
    npy = _safetensors("save")
    writer = _Writer()
    structure = writer.encoded(obj, ())
    metadata = {"format": FORMAT, "structure": json.dumps(structure)}
    content: bytes = npy.save(writer.arrays, metadata)
    return content


def load(
    f: Any,
    map_location: object = None,
    pickle_module: object = None,
    *,
    weights_only: bool = True,
    mmap: bool | None = None,
) -> Any:
    """What `save` wrote; of another safetensors file its tensors as a dict by their names.

    A file of PyTorch's (`torch.save(model.state_dict(), "model.pt")`) is read without PyTorch:
    tensors, parameters and plain containers, and nothing that could run code.

    Args:
        f: the path of a file, or something with a `read` method that returns bytes.
        map_location: the CPU, where everything is; RuntimeError for the name of another device.
        pickle_module: nothing is unpickled: any other than None is refused.
        mmap: accepted: files are read whole.
        weights_only: refuse modules, whose classes run code when they are used, but for those of
            `torch.serialization.safe_globals`; nothing else that runs can be in such a file.

    Raises:
        LoadError: the file is damaged.
        MissingExtraError: safetensors is not installed.

    Example:
        >>> dynamic.save({"w": dynamic.ones(2)}, "w.safetensors")
        >>> dynamic.load("w.safetensors")
        {'w': tensor([1., 1.])}
    """
    if pickle_module is not None:
        raise ArgumentError("load: files are read without pickle: leave pickle_module out")
    if isinstance(map_location, str | device):
        check_device(map_location)
    content = f.read() if hasattr(f, "read") else Path(os.fspath(f)).read_bytes()
    if content.startswith(pytorch_files.MAGIC):
        return pytorch_files.read(content)
    if content.startswith(pytorch_files.LEGACY):
        raise LoadError(
            "load: a file as PyTorch wrote them before 1.6: save it again with a newer one, or "
            "torch.save(..., _use_new_zipfile_serialization=True)"
        )
    _safetensors("load")
    try:
        arrays = _arrays(content)
        size = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + size]).get("__metadata__", {})
    except Exception as error:  # safetensors has an error of its own, and passes on others
        if isinstance(error, LoadError):
            raise
        raise LoadError(f"load: not a safetensors file, or a damaged one: {error}") from None
    if metadata.get("format") != FORMAT:
        return {name: _tensor(name, array) for name, array in arrays.items()}
    try:
        return _Reader(arrays, weights_only).decoded(json.loads(metadata["structure"]))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise LoadError(f"load: the structure of the file is damaged: {error!r}") from None


def _safetensors(caller: str) -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise MissingExtraError(
            f"{caller}: safetensors is not installed: pip install 'staticgraph[save]'"
        ) from None
    return safetensors.numpy


_KINDS = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32",
    "I32": "int32", "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16",
    "F32": "float32", "F64": "float64", "C64": "complex64",
}  # fmt: skip
"""The dtypes of the format, by its names."""


def _arrays(content: bytes) -> dict[str, Any]:
    """The arrays of a file; safetensors' own reader has no bfloat16 for NumPy."""
    import safetensors

    found = {}
    deserialize: Callable[[bytes], list[tuple[str, Any]]] = safetensors.deserialize
    for name, one in deserialize(content):
        if one["dtype"] not in _KINDS:
            raise LoadError(f"load: tensor {name!r} is {one['dtype']}, which no tensor here can be")
        array = np.frombuffer(bytearray(one["data"]), dtype_named(_KINDS[one["dtype"]]).dtype)
        found[name] = array.reshape(one["shape"])
    return found


def _tensor(name: str, array: Any) -> Tensor:
    if array.dtype not in DTYPES:
        raise LoadError(f"load: tensor {name!r} is {array.dtype}, which no tensor here can be")
    return wrap(array)


def _complexity(value: Any) -> dict[str, bool]:
    return {"complex": True} if value.dtype == np.dtype(np.complex128) else {}


class _Writer:
    """Turns containers into JSON, and collects the arrays in them under their paths.

    JSON holds None, bools, strings, integers and lists as they are; all else is an object whose
    first key says what it is.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.modules: dict[int, int] = {}
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
            return {kind: name, "requires_grad": value.requires_grad, **_complexity(value)}
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
        if self.arrays[name].dtype == np.complex128:  # which the format has not: its parts
            self.arrays[name] = self.arrays[name][..., None].view(np.float64)
        self.names[id(owner)] = name
        self.kept.append(owner)
        return name

    def array(self, value: Any, path: tuple[str, ...]) -> Any:
        """An array that is no tensor."""
        if value.dtype not in DTYPES:
            raise ArgumentError(f"save: cannot save the {value.dtype} array at {'.'.join(path)}")
        return {"array": self._name(value, value, path), **_complexity(value)}

    def module(self, value: Module, path: tuple[str, ...]) -> Any:
        """The class of a module and what it holds; where it occurs again, its number."""
        number = self.modules.get(id(value))
        if number is not None:
            return {"again": number}
        number = self.modules[id(value)] = len(self.modules)
        where = ".".join(path) or "the top"
        state = module_files.state_of(value, where)
        kind = module_files.name_of(type(value), where)
        return {"module": number, "class": kind, "state": self.pairs(state, path)}

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
    Module: lambda writer, value, path: writer.module(value, path),
    type: lambda writer, value, path: {"global": module_files.name_of(value, ".".join(path))},
    FunctionType: lambda writer, value, path: {
        "global": module_files.name_of(value, ".".join(path))
    },
    OrderedDict: lambda writer, value, path: {"ordered": writer.pairs(value, path)},
    dict: lambda writer, value, path: {"dict": writer.pairs(value, path)},
    list: lambda writer, value, path: writer.items(value, path),
    tuple: lambda writer, value, path: {"tuple": writer.items(value, path)},
}
"""Per class how it is written, subclasses before their bases."""


class _Reader:
    """Turns what a `_Writer` made back into objects."""

    def __init__(self, arrays: Mapping[str, object], weights_only: bool = True) -> None:
        self.arrays, self.weights_only = arrays, weights_only
        self.modules: dict[int, Module] = {}
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
        if kind == "global":
            return module_files.allowed(content, self.weights_only)
        if kind == "again":
            return self.modules[content]
        if kind == "module":
            return self._module(code)
        raise ValueError(f"unknown kind {kind!r}")

    def _module(self, code: Mapping[str, Any]) -> Module:
        found = module_files.allowed(code["class"], self.weights_only)
        made = self.modules[code["module"]] = module_files.blank_of(found)
        pairs = {self.decoded(key): self.decoded(value) for key, value in code["state"]}
        module_files.fill(made, pairs)
        return made

    def _array(self, kind: str, code: Mapping[str, Any]) -> Any:
        name = code[kind]
        if (kind, name) not in self.made:
            array: Any = self.arrays[name]
            if code.get("complex"):
                array = array.view(np.complex128)[..., 0]
            self.made[kind, name] = self._made(kind, array, code)
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
