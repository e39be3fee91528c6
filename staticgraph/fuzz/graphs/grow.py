"""Growing a program by random choices.

Types are those of the expressions that the steps make while they are chosen; what the library
refuses (a StaticGraphError) is no step. Casts are explicit unless a program is to be mixed: then it
leaves promotion to the library, where eager tensors follow PyTorch, and expressions NumPy.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.op import Op
from staticgraph.fuzz.graphs.program import Step, run
from staticgraph.fuzz.graphs.worlds import Symbolic

SHAPES: tuple[tuple[Any, ...], ...] = (
    (), ("n",), ("m",), (1,), (3,), ("n", "m"), ("n", 3), (3, "m"), ("n", 1), (1, "m"), (2, 3),
    (3, 3), (1, 1), ("n", "m", 2), (2, "n", 3), ("n", 1, "m"), (2, 1, 3), ("n", "n"), (0,), (2, 0),
    (3, 4), (1, 2, "m", 3), (2, 2, 4, 4), (1, 2, 1, 3, 2), ("n", 2, 1, "m", 1), (4, 2, 5, 3),
)  # fmt: skip


Generator = Callable[["Grower", str], Any]
"""What adds a step that applies the op of a name; NoOperandError or StaticGraphError if not."""
MOST = 200  # steps
LARGE = {"n": 66, "m": 131}
"""The largest values of the unknown sizes."""
LARGEST = 100_000  # elements of a value then
LEAVES = ("input", "variable", "constant")


class NoOperandError(Exception):
    """There is no value that an op could take."""


@dataclass(slots=True)
class Value:
    """A name, and the expression that has its type."""

    name: str
    expression: Any

    @property
    def ref(self) -> str:
        """How arguments name it."""
        return "$" + self.name

    @property
    def shape(self) -> tuple[Any, ...]:
        """Ints and unknown sizes."""
        return tuple(self.expression.shape)

    @property
    def ndim(self) -> int:
        """The rank."""
        return len(self.shape)

    @property
    def kind(self) -> str:
        """That of NumPy's dtypes."""
        return str(self.expression.dtype.kind)


def size(x: Value, axis: int) -> Any:
    """The size of an axis as an argument."""
    known = x.shape[axis]
    return known if isinstance(known, int) else {"size": [x.ref, axis]}


def broadcast(left: Sequence[object], right: Sequence[object]) -> tuple[Any, ...] | None:
    """The shape that two shapes broadcast to whatever the unknown sizes are, or None."""
    result = []
    for axis in range(1, max(len(left), len(right)) + 1):
        sizes = [shape[-axis] for shape in (left, right) if axis <= len(shape)]
        long = [size for size in sizes if size != 1] or [1]
        if long[0] != long[-1]:
            return None
        result.append(long[0])
    return tuple(reversed(result))


@dataclass(slots=True)
class Grower:
    """Chooses steps; a body has a grower of its own, which may read what is around it."""

    choose: random.Random
    world: Symbolic
    dtype: str
    kinds: tuple[tuple[str, Generator], ...]
    values: str = "plain"
    mixed: bool = False
    youngest: float = 0.0
    prefix: str = "a"
    depth: int = 0
    steps: list[Step] = field(default_factory=list)
    pool: list[Value] = field(default_factory=list)
    around: dict[str, Any] = field(default_factory=dict)

    # -- choices -----------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        """True so often."""
        return self.choose.random() < probability

    def pick(self, kinds: str = "biuf", test: Callable[[Value], bool] = lambda x: True) -> Value:
        """A value of such a dtype, the younger the likelier."""
        found = [x for x in self.pool if x.kind in kinds and test(x)]
        if not found:
            raise NoOperandError
        if self.chance(self.youngest):
            return found[-1]
        return found[max(self.choose.randrange(len(found)), self.choose.randrange(len(found)))]

    def beside(self, x: Value, kinds: str) -> Value:
        """A value that broadcasts with x."""
        return self.pick(kinds, lambda y: broadcast(x.shape, y.shape) is not None)

    def axes(self, x: Value) -> Any:
        """An axis, several, or None for all."""
        if not x.ndim or self.chance(0.25):
            return None
        if self.chance(0.6):
            return self.choose.randrange(-x.ndim, x.ndim)
        chosen = self.choose.sample(range(x.ndim), self.choose.randint(0, x.ndim))
        return {"tuple": chosen}

    def axis(self, x: Value) -> int:
        """One axis of x."""
        if not x.ndim:
            raise NoOperandError
        return self.choose.randrange(-x.ndim, x.ndim)

    # -- steps -------------------------------------------------------------------------------

    def fresh(self) -> str:
        """A name that is not in use."""
        return f"{self.prefix}{len(self.steps)}"

    def emit(self, op: str, *args: object, **options: object) -> Value:
        """A step that applies an op; a Value stands for its name."""
        given = args if self.mixed else self._of_one_dtype(op, args)
        step: Step = {"name": self.fresh(), "op": op, "args": _plain(given)}
        if options:
            step["options"] = _plain(options)
        (value,) = self.add(step)
        return value

    def _of_one_dtype(self, op: str, args: Sequence[object]) -> list[Any]:
        """The arguments with explicit casts where the paradigms promote differently."""
        if op in _INDEXED:
            x, index, *rest = args
            x, *rest = self._cast(op, [x, *rest])
            return [x, index, *rest]
        return self._cast(op, args)

    def _cast(self, op: str, args: Sequence[object]) -> list[Any]:
        declared = getattr(ops, op, None)
        promotes = op in _PROMOTING or (isinstance(declared, Op) and declared.promotes is not None)
        floating = isinstance(declared, Op) and declared.floating
        given = [one for one in _flat(args) if isinstance(one, Value)]
        dtypes = {one.expression.dtype for one in given if one.kind != "b" or op != "where"}
        numbers = {type(one) for one in _flat(args) if isinstance(one, int | float)}
        wanted = None
        if floating and any(dtype.kind in "iu" for dtype in dtypes):
            wanted = self.dtype
        elif promotes and (len(dtypes) > 1 or (float in numbers and _integers(dtypes))):
            floats = [dtype for dtype in dtypes if is_float(dtype)]
            wanted = str(np.result_type(*floats)) if floats else "int64"
            if not floats and float in numbers:
                wanted = self.dtype

        def cast(one: object) -> Any:
            if isinstance(one, list):
                return [cast(each) for each in one]
            if wanted is None or not isinstance(one, Value) or one.expression.dtype == wanted:
                return one
            if op == "where" and one.kind == "b":
                return one
            return self.emit("astype", one, wanted)

        return [cast(one) for one in args]

    def add(self, step: Step) -> list[Value]:
        """A step of any kind, if the library takes it: the values that it binds."""
        values = self.around | {value.name: value.expression for value in self.pool}
        before = set(values)
        run([step], self.world, values)
        made = [Value(name, values[name]) for name in values if name not in before]
        if any(_elements(value.shape) > LARGEST for value in made):
            raise NoOperandError
        self.steps.append(step)
        self.pool += made
        return made

    def leaf(self, kind: str, shape: Sequence[object], dtype: str, values: str = "") -> Value:
        """An input, a variable or a constant."""
        if kind != "input":
            shape = [size if isinstance(size, int) else 3 for size in shape]
        step = {
            "name": f"{'xvc'[LEAVES.index(kind)]}{len(self.steps)}",
            "leaf": kind, "shape": list(shape), "dtype": dtype, "values": values or self.values,
        }  # fmt: skip
        return self.add(step)[0]

    def operand(self, shape: Sequence[object], dtype: str = "", values: str = "") -> Value:
        """A value of a known shape: one that is there, or a new leaf."""
        dtype = dtype or self.dtype
        wanted = tuple(shape)
        there = [x for x in self.pool if x.shape == wanted and x.expression.dtype == dtype]
        if there and self.chance(0.6):
            return self.choose.choice(there)
        if self.depth:
            raise NoOperandError
        return self.leaf(self.choose.choice(LEAVES), shape, dtype, values)

    def attempt(self) -> None:
        """One op, or none if there is no operand for it."""
        if not self.kinds or len(self.steps) > MOST:
            return
        name, generator = self.choose.choice(self.kinds)
        with suppress(NoOperandError, StaticGraphError):
            generator(self, name)

    def inner(self, params: Sequence[Any]) -> Grower:
        """A grower of a body with these parameters, given as expressions."""
        grower = Grower(
            self.choose, self.world, self.dtype, self.kinds, self.values, self.mixed,
            self.youngest,
            f"{self.prefix}{len(self.steps)}_", self.depth + 1,
        )  # fmt: skip
        grower.around = self.around | {value.name: value.expression for value in self.pool}
        for i, like in enumerate(params):
            stand_in = sg.placeholder(f"p{i}", like.shape, like.dtype)
            grower.pool.append(Value(f"{grower.prefix}p{i}", stand_in))
        around = [value for value in self.pool if value.ndim < 4]
        grower.pool[:0] = self.choose.sample(around, min(len(around), 2))
        return grower


_INDEXED = frozenset({
    "scatter", "scatter_add", "scatter_reduce", "put_along_axis", "index_add", "index_copy",
    "index_fill", "index_put", "put", "masked_fill",
})  # fmt: skip
"""What has an index or a mask as its second argument, which has a dtype of its own."""
_PROMOTING = _INDEXED | {
    "clip", "stack", "where", "dot", "outer", "matmul", "concatenate", "clamp"
}  # fmt: skip


def _flat(given: object) -> list[Any]:
    if isinstance(given, list | tuple):
        return [one for part in given for one in _flat(part)]
    return [given]


def _integers(dtypes: set[Any]) -> bool:
    return any(dtype.kind in "iu" for dtype in dtypes)


_UNKNOWNS = {dims.as_unknown(dims.unknown(name)): size for name, size in LARGE.items()}


def _elements(shape: Sequence[Any]) -> int:
    """How many there are at most."""
    known = {atom: size for atom, size in _UNKNOWNS.items() if atom is not None}
    return dims.evaluate(dims.product(list(shape)), known)


def _plain(given: object) -> Any:
    if isinstance(given, Value):
        return given.ref
    if isinstance(given, list | tuple):
        return [_plain(one) for one in given]
    if isinstance(given, dict):
        return {name: _plain(one) for name, one in given.items()}
    assert not isinstance(given, Dim)
    return given
