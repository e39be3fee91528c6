"""What `--inputs` and `--sweep` say: arrays by dtype and sizes, and values of the sizes.

    x=f32[n,64], w=f32[64], y=i64[0..9][n], p=f64[0.5..2][n], mask=bool[n], lr=f32, k=3

is, by name: standard normal numbers of a shape; whole numbers from 0 to 9, both included; uniform
numbers between 0.5 and 2; truth values; an array without axes; a plain Python number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core.errors import OptionError

DTYPES = {
    "f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "bool": "bool",
}  # fmt: skip
POINTS = 7
"""How many sizes a range is measured at."""

Sizes: TypeAlias = "dict[str, int]"
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Input:
    """An argument of the function that is an array.

    Attributes:
        shape: sizes, by name or as numbers.
        low, high: the range of its values; None: standard normal numbers, and 0 or 1.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    low: float | None = None
    high: float | None = None

    @property
    def floating(self) -> bool:
        """Whether it can be differentiated by."""
        return self.dtype.startswith("float")

    def array(self, rng: np.random.Generator, sizes: Mapping[str, int]) -> Any:
        """An array of these sizes."""
        shape = tuple(size if isinstance(size, int) else sizes[size] for size in self.shape)
        if self.dtype == "bool":
            return np.asarray(rng.integers(0, 2, shape), "bool")
        if not self.floating:
            low, high = int(self.low or 0), int(1 if self.high is None else self.high)
            return np.asarray(rng.integers(low, high, shape, endpoint=True), self.dtype)
        if self.low is None or self.high is None:
            return np.asarray(rng.standard_normal(shape), self.dtype)
        return np.asarray(rng.uniform(self.low, self.high, shape), self.dtype)


@dataclass(frozen=True, slots=True)
class Inputs:
    """All arguments: arrays in their order, and Python numbers."""

    arrays: tuple[Input, ...]
    constants: Mapping[str, int | float]

    @property
    def size_names(self) -> tuple[str, ...]:
        """The names of sizes, in the order in which they are met."""
        found = (size for one in self.arrays for size in one.shape if isinstance(size, str))
        return tuple(dict.fromkeys(found))

    def make(self, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Any]:
        """The arrays by name; the same for the same sizes and seed."""
        rng = np.random.default_rng(seed)
        return {one.name: one.array(rng, sizes) for one in self.arrays}


class _Reader:
    """Reads a spec from left to right; errors say where."""

    def __init__(self, option: str, text: str) -> None:
        self.option, self.text, self.at = option, text, 0

    def error(self, what: str, at: int | None = None) -> OptionError:
        place = self.at if at is None else at
        return OptionError(
            f"compare: {self.option}, character {place + 1}: {what}\n"
            f"    {self.text}\n    {' ' * place}^"
        )

    def spaces(self) -> None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def taken(self, sign: str) -> bool:
        self.spaces()
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        return True

    def expect(self, sign: str, after: str) -> None:
        if not self.taken(sign):
            raise self.error(f"{sign!r} expected after {after}, {self.next()} found")

    def next(self) -> str:
        self.spaces()
        return repr(self.text[self.at]) if self.at < len(self.text) else "the end"

    def name(self, what: str) -> str:
        self.spaces()
        found = _NAME.match(self.text, self.at)
        if found is None:
            raise self.error(f"{what} expected, {self.next()} found")
        self.at = found.end()
        return found.group()

    def number(self) -> float | int | None:
        self.spaces()
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            return None
        word = found.group()
        if word.endswith(".") and self.text.startswith(".", found.end()):
            word = word[:-1]  # of `0..9`
        self.at += len(word)
        return int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word)

    @property
    def ended(self) -> bool:
        self.spaces()
        return self.at == len(self.text)


def read_inputs(text: str) -> Inputs:
    """The arguments that a spec describes.

    Raises:
        OptionError: it is none; the message points at the place.
    """
    reader = _Reader("--inputs", text)
    arrays: list[Input] = []
    constants: dict[str, int | float] = {}
    while True:
        start = reader.at
        name = reader.name("a name of an argument")
        if name in constants or any(one.name == name for one in arrays):
            raise reader.error(f"{name!r} is given twice", start)
        reader.expect("=", repr(name))
        number = reader.number()
        if number is not None:
            constants[name] = number
        else:
            arrays.append(_read_array(reader, name))
        if reader.ended:
            break
        reader.expect(",", repr(name))
    if not arrays:
        raise reader.error("no argument is an array, such as x=f32[n,64]", 0)
    return Inputs(tuple(arrays), constants)


def _read_array(reader: _Reader, name: str) -> Input:
    reader.spaces()
    start = reader.at
    dtype = reader.name("a dtype or a number")
    if dtype not in DTYPES:
        raise reader.error(f"{dtype!r} is no dtype: known are {', '.join(DTYPES)}", start)
    low = high = None
    shape: tuple[int | str, ...] = ()
    if reader.taken("["):
        limits = _read_range(reader, dtype)
        if limits is not None:
            low, high = limits
        if limits is None or reader.taken("["):
            shape = _read_shape(reader, dtype)
    return Input(name, DTYPES[dtype], shape, low, high)


def _read_range(reader: _Reader, dtype: str) -> tuple[float, float] | None:
    """`0..9]`, if it is that; nothing is read otherwise."""
    start = reader.at
    low = reader.number()
    if low is None or not reader.taken(".."):
        reader.at = start
        return None
    high = reader.number()
    if high is None:
        raise reader.error(f"a number expected, {reader.next()} found")
    if dtype == "bool":
        raise reader.error("truth values have no range", start)
    if dtype.startswith("i") and not (isinstance(low, int) and isinstance(high, int)):
        raise reader.error(f"the range of {dtype} is of whole numbers", start)
    if low > high:
        raise reader.error(f"the range is empty: {low} > {high}", start)
    reader.expect("]", "the range")
    return low, high


def _read_shape(reader: _Reader, dtype: str) -> tuple[int | str, ...]:
    if reader.taken("]"):
        return ()
    shape: list[int | str] = []
    while True:
        reader.spaces()
        start = reader.at
        size = reader.number()
        if size is None:
            shape.append(reader.name("a size"))
        elif isinstance(size, int) and size > 0:
            shape.append(size)
        else:
            raise reader.error(f"{size} is no size", start)
        if reader.taken("]"):
            return tuple(shape)
        reader.expect(",", f"a size of {dtype}[...]")


def read_sweep(texts: Iterable[str], inputs: Inputs) -> list[Sizes]:
    """The sizes to measure at: `n=1..4096` (about seven, growing by a factor) or `n=1,10,100`.

    Raises:
        OptionError: a spec is none, a size of the inputs has no value, or two have several.
    """
    values: dict[str, list[int]] = {}
    for text in texts:
        reader = _Reader("--sweep", text)
        name = reader.name("a name of a size")
        if name not in inputs.size_names:
            known = ", ".join(inputs.size_names) or "none"
            raise reader.error(f"no input has a size {name!r}: there are {known}", 0)
        if name in values:
            raise OptionError(f"compare: --sweep gives {name!r} twice")
        reader.expect("=", repr(name))
        values[name] = _read_values(reader)
    for name in inputs.size_names:
        if name not in values:
            raise OptionError(
                f"compare: the size {name!r} of the inputs has no value: --sweep {name}=1..4096, "
                f"or {name}=256"
            )
    several = [name for name, given in values.items() if len(given) > 1]
    if len(several) > 1:
        raise OptionError(
            f"compare: --sweep gives several values to {' and '.join(map(repr, several))}: one of "
            "them can be swept"
        )
    count = max(map(len, values.values()), default=1)
    return [
        {name: given[i if len(given) > 1 else 0] for name, given in values.items()}
        for i in range(count)
    ]


def _read_values(reader: _Reader) -> list[int]:
    first = _read_size(reader)
    if reader.taken(".."):
        start = reader.at
        last = _read_size(reader)
        if last < first:
            raise reader.error(f"the range is empty: {first} > {last}", start)
        found = geometric(first, last)
    else:
        found = [first]
        while reader.taken(","):
            found.append(_read_size(reader))
    if not reader.ended:
        raise reader.error(f"{reader.next()} is not understood")
    return list(dict.fromkeys(found))


def _read_size(reader: _Reader) -> int:
    reader.spaces()
    start = reader.at
    size = reader.number()
    if not isinstance(size, int) or size < 1:
        raise reader.error("a size expected: a whole number from 1 on", start)
    return size


def geometric(first: int, last: int, count: int = POINTS) -> list[int]:
    """Whole numbers from `first` to `last`, each about the same factor larger than the one before.

    >>> geometric(1, 4096)
    [1, 4, 16, 64, 256, 1024, 4096]
    """
    steps = max(1, count - 1)
    found = [round(first * (last / first) ** (i / steps)) for i in range(count)]
    return list(dict.fromkeys([*found[:-1], last]))


def shown(sizes: Mapping[str, int]) -> str:
    """Sizes as text: `n = 64`."""
    return ", ".join(f"{name} = {size:,}" for name, size in sizes.items())


def of_arrays(arrays: Mapping[str, Any]) -> Inputs:
    """The inputs that given arrays are examples of.

    Raises:
        OptionError: one has another dtype.
    """
    names = {full: short for short, full in DTYPES.items()}
    for name, array in arrays.items():
        if array.dtype.name not in names:
            raise OptionError(
                f"compare: {name!r} is {array.dtype.name}: known are {', '.join(names)}"
            )
    return Inputs(
        tuple(Input(name, x.dtype.name, tuple(x.shape)) for name, x in arrays.items()), {}
    )


def as_text(inputs: Inputs) -> str:
    """The spec that `read_inputs` would read."""
    short = {full: name for name, full in DTYPES.items()}
    parts = []
    for one in inputs.arrays:
        limits = "" if one.low is None else f"[{one.low}..{one.high}]"
        shape = f"[{','.join(map(str, one.shape))}]" if one.shape else ""
        parts.append(f"{one.name}={short[one.dtype]}{limits}{shape}")
    return ",".join(parts + [f"{name}={value}" for name, value in inputs.constants.items()])


def check_names(names: Sequence[str], inputs: Inputs) -> tuple[str, ...]:
    """The names of the inputs to differentiate by; OptionError unless they are floating arrays."""
    floating = [one.name for one in inputs.arrays if one.floating]
    for name in names:
        if name not in floating:
            raise OptionError(
                f"compare: --gradient {name!r}: floating-point inputs are "
                f"{', '.join(floating) or 'none'}"
            )
    return tuple(dict.fromkeys(names))
