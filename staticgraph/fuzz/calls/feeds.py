"""What a call is fed: objects that mean an array, and objects that mean none."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
Form = Callable[[Array], Any]
FAR = 1000  # an element that is no index


class Holder:
    """What holds an array, as a column of a table does."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __array__(self, dtype: object = None, copy: object = None) -> Array:
        return self.values


class Subclass(np.ndarray):
    """An array of another class."""


@dataclass(slots=True)
class Fed:
    """A feed.

    Attributes:
        value: what the call gets.
        meaning: the array that it means; None if it has to be refused.
        before: the elements of an array before the call.
    """

    value: Any
    meaning: Array | None
    before: bytes | None = None

    def __post_init__(self) -> None:
        self.before = self._elements()

    def changed(self) -> bool:
        """Whether the elements are others than before."""
        return self._elements() != self.before

    def _elements(self) -> bytes | None:
        return self.value.tobytes() if isinstance(self.value, np.ndarray) else None


def values(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Small whole numbers; those of integers are from 0 to 4."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(random.random(shape) < 0.5)
    first, last = (0, 4) if dtype.startswith("int") else (-4, 4)
    return random.integers(first, last, shape, endpoint=True).astype(dtype)


def fed(form: str, array: Array) -> Fed:
    """The array in a form."""
    if form in UNFIT:
        return Fed(UNFIT[form](array) if array.size else None, None)
    value = FITTING[form](array)
    return Fed(value, np.array(np.asarray(value, array.dtype)))


def unaligned(array: Array) -> Array:
    """The same at an odd address."""
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    memory[...] = array
    return memory


def locked(array: Array) -> Array:
    """The same, read-only."""
    array = array.copy()
    array.flags.writeable = False
    return array


def mapped_file(array: Array, mode: Any = "r") -> Array:
    """The same in a file."""
    if not array.size:
        return array
    with tempfile.NamedTemporaryFile() as file:
        array.tofile(file.name)
        return np.memmap(file.name, array.dtype, mode, shape=array.shape)


def steps(array: Array) -> Array:
    """The same as every other element along the last axis."""
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array


def rows(array: Array) -> Array:
    """The same as every other row."""
    return np.repeat(array, 2, axis=0)[::2] if array.ndim else array


def backwards(array: Array) -> Array:
    """The same with negative strides."""
    return np.flip(np.flip(array).copy())


def _broadcast(array: Array) -> Array:
    return np.broadcast_to(array[:1], array.shape) if array.ndim else array


def _columns(array: Array) -> Array:
    if not array.ndim:
        return array
    wide = np.zeros((*array.shape[:-1], array.shape[-1] + 3), array.dtype)
    wide[..., 2:-1] = array
    return wide[..., 2:-1]


def _tuples(array: Array) -> Any:
    return tuple(map(_tuples, array)) if array.ndim else array.item()


def _with_mask(masked: bool) -> Form:
    def made(array: Array) -> Array:
        mask = np.zeros(array.shape, bool)
        if masked:
            mask.flat[0] = True
        return np.ma.array(array, mask=mask)

    return made


FITTING: dict[str, Form] = {
    "plain": np.array,
    "transposed": lambda array: array.T.copy().T,
    "backwards": backwards,
    "steps": steps,
    "rows": rows,
    "columns": _columns,
    "broadcast": _broadcast,
    "read-only": locked,
    "mapped": mapped_file,
    "swapped": lambda array: array.astype(array.dtype.newbyteorder()),
    "unaligned": unaligned,
    "subclass": lambda array: array.copy().view(Subclass),
    "nothing masked": _with_mask(False),
    "holder": Holder,
    "list": lambda array: array.tolist(),
    "tuples": _tuples,
    "rows in a list": lambda array: list(array) if array.ndim > 1 else array,
    "memory": lambda array: memoryview(array.copy()),
    "scalar": lambda array: array[()],
    "narrower": lambda array: array.astype(_NARROWER[array.dtype.name]),
}

ARRAYS = ("plain", "kept", "transposed", "backwards", "steps", "rows", "columns", "broadcast",
          "read-only", "mapped", "unaligned", "subclass", "nothing masked", "masked")  # fmt: skip
"""Forms that are arrays of the right dtype, or masked."""

_OTHER = {"float32": "float64", "float64": "complex128", "int64": "uint64", "int8": "int64",
          "bool": "int8"}  # fmt: skip
_NARROWER: dict[str, str] = {
    "float32": "float16", "float64": "float32", "int64": "int32", "int8": "int8", "bool": "bool",
}  # fmt: skip
_TOO_LARGE = {"float32": 1e300, "float64": 10**400, "int64": 2**70, "int8": 300, "bool": 2}


def _too_large(array: Array) -> Any:
    made = array.astype(object)
    made.flat[0] = _TOO_LARGE[array.dtype.name]
    return made.tolist()


def _higher(array: Array) -> Any:
    """Numbers of a kind that falls: complex for floats, floats for ints, ints for bools."""
    return array.astype({"f": complex, "i": float, "b": int}[array.dtype.kind]).tolist()


UNFIT: dict[str, Form] = {
    "other dtype": lambda array: array.astype(_OTHER[array.dtype.name]),
    "too large": _too_large,
    "higher kind": _higher,
    "masked": _with_mask(True),
    "objects": lambda array: array.astype(object),
    "strings": lambda array: array.astype(str),
    "a string": lambda array: "12",
    "none": lambda array: None,
    "dict": lambda array: {"x": array},
    "ragged": lambda array: [[1], [2, 3]],
    "type": lambda array: np.ndarray,
    "times": lambda array: array.astype("int64").astype("m8[s]"),
    "fields": lambda array: np.zeros(array.shape, [("a", array.dtype)]),
    "one axis more": lambda array: array[None],
    "one axis less": lambda array: array[0] if array.ndim else array[None],
}
"""What has to be refused wherever there is an element."""
