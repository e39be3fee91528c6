"""PyTorch's files (`.pt`): tensors, parameters and plain containers, read and written.

Such a file is a zip archive: `data.pkl`, a pickle of the containers, in which a tensor is a call
of a function of PyTorch's, and beside it the bytes of each storage. A pickle can call whatever it
names; this one is read by an unpickler that knows the few names that tensors and containers need,
each as a function of ours, and refuses all others. Nothing of PyTorch is imported.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from staticgraph.dynamic.core.dtypes import DType, dtype_named
from staticgraph.dynamic.core.errors import ArgumentError, LoadError
from staticgraph.dynamic.core.results import Size
from staticgraph.dynamic.files.pytorch_containers import (
    DEEPEST,
    FACTORIES,
    Named,
    bytes_of,
    check_depth,
    counter,
    defaults,
    device_of,
    key_of,
    ordered,
    refuse_call,
    set_of,
    size_of,
)
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tensors.tensor import Tensor, wrap

LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""What a file of PyTorch's before 1.6 begins with."""

MAGIC = b"PK\x03\x04"
"""What a zip archive begins with."""

_STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16", "LongStorage": "int64", "IntStorage": "int32",
    "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128",
}  # fmt: skip
_STORAGE_OF = {dtype: name for name, dtype in _STORAGES.items()}
_UNTYPED = ("uint16", "uint32", "uint64")
"""The dtypes without a storage of their own: such tensors say theirs, on storages of bytes."""
_MOST = 2**31
"""Elements of a tensor that may be read: one of fewer bytes than elements is expanded."""


class _Storage:
    """The bytes of a storage as an array, and the dtype of its elements."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array


class _Unpickler(pickle._Unpickler):
    """Reads containers and tensors, and nothing else.

    The one in Python: that in C takes as much memory as a file asks for.
    """

    stack: list[Any]
    pop_mark: Callable[[], list[Any]]
    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {**pickle._Unpickler.dispatch}

    def __init__(self, content: bytes, storage: Callable[[str, str, int], _Storage]) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8")
        self._storage = storage

    def find_class(self, module: str, name: str) -> Any:
        found = _known(module, name)
        if found is None:
            raise LoadError(
                f"load: the file asks for {module}.{name}: only tensors, parameters and plain "
                "containers are read, since anything else may run code; save a state_dict()"
            )
        return found

    def _build(self) -> None:
        """Set attributes: only those of an ordered dict, where a state_dict has its versions."""
        state = self.stack.pop()
        if type(self.stack[-1]) is not OrderedDict or not isinstance(state, dict):
            raise LoadError(f"load: the file sets attributes of a {type(self.stack[-1]).__name__}")
        self.stack[-1].__dict__.update(state)

    dispatch[pickle.BUILD[0]] = _build

    def _set_items(self) -> None:
        """Add to a dict, of which the keys are looked at before they are hashed."""
        self._add(self.pop_mark())

    def _set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._add([key, value])

    def _add(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], dict):
            raise LoadError(f"load: the file sets items of a {type(self.stack[-1]).__name__}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack[-1][key_of(key)] = value

    def _refuse_sets(self) -> None:
        raise LoadError("load: the file builds a set or a dict as PyTorch's do not")

    dispatch[pickle.SETITEM[0]] = _set_item
    dispatch[pickle.SETITEMS[0]] = _set_items
    for _opcode in (pickle.DICT, pickle.ADDITEMS, pickle.FROZENSET):
        dispatch[_opcode[0]] = _refuse_sets

    def persistent_load(self, pid: Any) -> _Storage:
        if not (isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage"):
            raise LoadError(f"load: the file refers to {pid!r:.80}, which is no storage")
        _, kind, key, _, count = pid
        if not (isinstance(kind, Named) and isinstance(key, str) and type(count) is int):
            raise LoadError(f"load: the file refers to {pid!r:.80}, which is no storage")
        return self._storage(kind._name, key, count)


def _known(module: str, name: str) -> Any:
    """What a file may name, as ours."""
    if module == "torch" and name in _STORAGES:
        return Named(_STORAGES[name], refuse_call)
    if module == "torch" and (name in _STORAGE_OF or name in _UNTYPED):
        return dtype_named(name)
    functions: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): Named("OrderedDict", ordered),
        ("collections", "Counter"): Named("Counter", counter),
        ("collections", "defaultdict"): Named("defaultdict", defaults),
        ("_codecs", "encode"): Named("bytes", bytes_of),
        ("torch", "Size"): Named("Size", size_of),
        ("torch", "device"): Named("device", device_of),
        ("builtins", "set"): Named("set", set_of),
        ("__builtin__", "set"): Named("set", set_of),
        ("torch.storage", "UntypedStorage"): Named("uint8", refuse_call),
        ("torch._utils", "_rebuild_tensor_v2"): Named("tensor", _tensor),
        ("torch._utils", "_rebuild_tensor_v3"): Named("tensor", _untyped_tensor),
        ("torch._utils", "_rebuild_parameter"): Named("parameter", _parameter),
    }
    if module in ("builtins", "__builtin__") and name in FACTORIES and name != "set":
        return Named(name, refuse_call)
    return functions.get((module, name))


def _tensor(
    storage: _Storage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool = False,
    hooks: object = None,
    metadata: object = None,
) -> Tensor:
    """The tensor of a part of a storage; those of one storage share its memory."""
    numbers = (offset, *size, *stride)
    if not isinstance(storage, _Storage) or not all(type(n) is int and n >= 0 for n in numbers):
        raise LoadError(f"load: no tensor lies at {offset!r}, {size!r}, {stride!r} of a storage")
    array = storage.array
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    count = int(np.prod(size, dtype=object))
    if (count and last >= array.size) or count > max(_MOST, array.size):
        raise LoadError(
            f"load: a tensor of {size} with the strides {stride} from {offset} on does not lie in "
            f"its storage of {array.size} elements"
        )
    steps = tuple(step * array.itemsize for step in stride)
    begin = array[offset:] if count else array
    made = wrap(np.lib.stride_tricks.as_strided(begin, size, steps) if count
                else np.empty(size, array.dtype))  # fmt: skip
    made = _unmarked(made, metadata)
    if requires_grad:
        made.requires_grad = True
    return made


def _unmarked(made: Tensor, metadata: object) -> Tensor:
    """The values of a tensor whose memory is to be negated or conjugated when it is read."""
    marks = metadata if isinstance(metadata, dict) else {}
    unknown = [one for one in marks if one not in ("conj", "neg")]
    if unknown:
        raise LoadError(f"load: the file marks a tensor with {unknown[0]!r:.80}, which is not read")
    array = made._array
    if marks.get("conj"):
        array = array.conj()
    return wrap(-array if marks.get("neg") else array) if any(marks.values()) else made


def _untyped_tensor(
    storage: _Storage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    hooks: object,
    dtype: DType,
    metadata: object = None,
) -> Tensor:
    """The tensor of a part of a storage of bytes."""
    if not isinstance(dtype, DType) or storage.array.size % dtype.itemsize:
        raise LoadError(f"load: a storage of {storage.array.size} bytes holds no {dtype!r}")
    viewed = _Storage(storage.array.view(dtype.dtype))
    return _tensor(viewed, offset, size, stride, requires_grad, hooks, metadata)


def _parameter(data: Tensor, requires_grad: bool = True, hooks: object = None) -> Parameter:
    return Parameter(data.detach(), bool(requires_grad))


def read(content: bytes) -> Any:
    """What a file of PyTorch's holds.

    Raises:
        LoadError: it is damaged, or holds more than tensors and plain containers.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _read(archive)
    except LoadError:
        raise
    except Exception as error:  # whatever an unpickler, or an archive, makes of damaged bytes
        raise LoadError(f"load: no file of PyTorch's, or a damaged one: {error!r:.200}") from None


def _read(archive: zipfile.ZipFile) -> Any:
    names = archive.namelist()
    pickled = [name for name in names if name.rpartition("/")[2] == "data.pkl"]
    if len(pickled) != 1:
        raise LoadError("load: an archive without a data.pkl: no file of PyTorch's")
    folder = pickled[0].removesuffix("data.pkl")
    if any(one.compress_type != zipfile.ZIP_STORED for one in archive.infolist()):
        raise LoadError("load: the archive is compressed, which PyTorch's are not")
    order = archive.read(f"{folder}byteorder") if f"{folder}byteorder" in names else b"little"
    storages: dict[str, _Storage] = {}

    def storage(dtype: str, key: str, count: int) -> _Storage:
        kind = dtype_named(dtype).dtype
        if key not in storages:
            raw = bytearray(archive.read(f"{folder}data/{key}"))
            array = np.frombuffer(raw, kind)
            storages[key] = _Storage(array.byteswap() if order.strip() == b"big" else array)
        found = storages[key]
        if found.array.dtype != kind or found.array.size < count:
            raise LoadError(
                f"load: storage {key!r} has {found.array.size} elements of {found.array.dtype}, "
                f"not {count} of {dtype}"
            )
        return found

    found = _Unpickler(archive.read(pickled[0]), storage).load()
    check_depth(found)
    return found


class _Writer:
    """Writes the pickle of tensors and plain containers, in the opcodes of protocol 2.

    `pickle` itself cannot: it looks for what it names, and PyTorch need not be installed.
    """

    def __init__(self) -> None:
        self.content = bytearray(b"\x80\x02")
        self.storages: list[np.ndarray[Any, Any]] = []
        self._places: dict[int, int] = {}
        self._kept: list[object] = []  # so that no id is used twice

    def write(self, value: Any, path: tuple[str, ...] = ()) -> None:
        """Append a value.

        Raises:
            ArgumentError: it is no tensor, no number, no string and no plain container.
        """
        if len(path) > DEEPEST:
            raise ArgumentError(f"save: more than {DEEPEST} containers inside each other")
        if id(value) in self._places:
            self.content += b"j" + struct.pack("<I", self._places[id(value)])
        elif isinstance(value, Tensor):
            self._write_tensor(value, path)
        elif isinstance(value, dict):
            self._write_dict(value, path)
        elif type(value) is list:
            self.content += b"]"
            self._keep(value)
            self._write_all(value, path, b"e")
        elif isinstance(value, tuple):
            if isinstance(value, Size):
                self._name("torch", "Size")
            self._write_all(value, path, b"t")
            self.content += b"\x85R" if isinstance(value, Size) else b""
        elif isinstance(value, DType):
            self._name("torch", value.name)
        else:
            self._write_plain(value, path)

    def _write_plain(self, value: Any, path: tuple[str, ...]) -> None:
        value = value.item() if isinstance(value, np.generic) else value
        if value is None:
            self.content += b"N"
        elif isinstance(value, bool):
            self.content += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            self._write_int(value, path)
        elif isinstance(value, float):
            self.content += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            encoded = value.encode("utf-8", "surrogatepass")
            self.content += b"X" + struct.pack("<I", len(encoded)) + encoded
        else:
            where = ".".join(path) or "the top"
            raise ArgumentError(
                "save: a file of PyTorch's has tensors, numbers, strings, lists, tuples and dicts, "
                f"and no {type(value).__name__}, as at {where}"
            )

    def _write_int(self, value: int, path: tuple[str, ...]) -> None:
        if -(2**31) <= value < 2**31:
            self.content += b"J" + struct.pack("<i", value)
            return
        digits = pickle.encode_long(value)
        if len(digits) > 255:
            raise ArgumentError(f"save: an integer of {len(digits)} bytes at {'.'.join(path)}")
        self.content += b"\x8a" + bytes([len(digits)]) + digits

    def _keep(self, value: object) -> None:
        """Let what is on the stack be what `value` is from now on."""
        place = self._places[id(value)] = len(self._places)
        self._kept.append(value)
        self.content += b"r" + struct.pack("<I", place)

    def _name(self, module: str, name: str) -> None:
        self.content += b"c" + f"{module}\n{name}\n".encode()

    def _write_all(self, values: Iterable[object], path: tuple[str, ...], end: bytes) -> None:
        self.content += b"("
        for place, value in enumerate(values):
            self.write(value, (*path, str(place)))
        self.content += end

    def _write_dict(self, values: dict[Any, Any], path: tuple[str, ...]) -> None:
        if isinstance(values, OrderedDict):
            self._name("collections", "OrderedDict")
            self.content += b")R"
        else:
            self.content += b"}"
        self._keep(values)
        self.content += b"("
        for key, value in values.items():
            self.write(key, (*path, "key"))
            self.write(value, (*path, str(key)))
        self.content += b"u"

    def _write_tensor(self, tensor: Tensor, path: tuple[str, ...]) -> None:
        if isinstance(tensor, Parameter):
            self._name("torch._utils", "_rebuild_parameter")
            self.content += b"("
            self._write_data(tensor, False)
            self.write(tensor.requires_grad)
            self._no_hooks()
            self.content += b"tR"
        else:
            self._write_data(tensor, tensor.requires_grad)
        self._keep(tensor)

    def _write_data(self, tensor: Tensor, requires_grad: bool) -> None:
        array = np.ascontiguousarray(tensor._array).reshape(tensor._array.shape)
        untyped = array.dtype.name in _UNTYPED
        self._name("torch._utils", f"_rebuild_tensor_v{3 if untyped else 2}")
        self.content += b"(("
        self.write("storage")
        if untyped:
            self._name("torch.storage", "UntypedStorage")
        else:
            self._name("torch", _STORAGE_OF[array.dtype.name])
        for part in (str(len(self.storages)), "cpu", array.nbytes if untyped else array.size):
            self.write(part)
        self.content += b"tQ"  # the storage, which the archive has
        self.storages.append(array)
        steps = tuple(step // array.itemsize for step in array.strides)
        for one in (0, tuple(array.shape), steps, requires_grad):
            self.write(one)
        self._no_hooks()
        if untyped:
            self.write(tensor.dtype)
        self.content += b"tR"

    def _no_hooks(self) -> None:
        self._name("collections", "OrderedDict")
        self.content += b")R"


def written(value: object) -> bytes:
    """The content of a file that PyTorch reads, with `weights_only` too.

    Raises:
        ArgumentError: the value has something else than tensors and plain containers.
    """
    writer = _Writer()
    writer.write(value)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", bytes(writer.content) + b".")
        archive.writestr("archive/byteorder", "little")
        for key, array in enumerate(writer.storages):
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            archive.writestr(f"archive/data/{key}", little.tobytes())
        archive.writestr("archive/version", "3\n")
    return stream.getvalue()
