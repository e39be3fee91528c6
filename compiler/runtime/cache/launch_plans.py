"""Launch plans in the kernel cache: their JSON form, which is checked when it is read.

An entry is found by what a definition says, before any pass has run. It names the entry of the
object code. What is wrong in it makes it no entry; nothing that is read is run or unpickled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.bytecode import HostArray, HostCall, TableOperand
from staticgraph.compiler.core.dims import Dim, Size, Unknown
from staticgraph.compiler.core.errors import FormatError, StaticGraphError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Op, op_named
from staticgraph.compiler.core.types import Shape, TensorType, TupleType, Type, same_type
from staticgraph.compiler.graph.canonical import Canonical
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.graph.forms import Decoder, Encoder, Form, dtype_of
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.leaves import Literal
from staticgraph.compiler.runtime.launch_plan import Array, LaunchPlan, Piece
from staticgraph.compiler.schedule.chunks import Cells, Chunks, Cut

NUMBERS = ("units", "length", "own", "failed", "pool", "unlocks")
PRODUCTS = ("float32", "float64")
COUNTED = ("cells", "down", "across")
KEY_BYTES = 32
LONGEST = 1 << 32  # entries of a table


def write_launch_plan(
    launch_plan: LaunchPlan, code: bytes, unknowns: Sequence[Unknown]
) -> tuple[bytes, bytes]:
    """The JSON of a launch plan, and the bytes of its constants.

    Args:
        code: the key of the object code.
        unknowns: those of the definition, which are written as numbers.

    Raises:
        FormatError: the launch plan has an unknown that is not among them, or an attribute that
            has no form.
    """
    encoder = _Encoder(unknowns)
    size = encoder.size

    def chunks(one: Cut | None) -> Form:
        if isinstance(one, Cells):
            return [one.counted, *map(size, (one.rows, one.columns, one.depth))]
        return one and [size(one.extent), size(one.work), one.least, one.grain, one.most]

    def array(at: int, shape: Shape, dtype: Any) -> Form:
        return [at, [size(one) for one in shape], dtype.name]

    def operand(one: HostArray) -> Form:
        return [one.place.addend, *array(one.place.entry, one.shape, one.dtype)]

    folded = [literal.array for _, literal in launch_plan.folded]
    form = {
        "code": code.hex(),
        **{name: getattr(launch_plan, name) for name in NUMBERS},
        "lost": [] if launch_plan.lost is None else [launch_plan.lost],
        "words": launch_plan.words,
        "links": launch_plan.links,
        "gemm": launch_plan.gemm,
        "unknowns": [(encoder.unknown(atom), at) for atom, at in launch_plan.unknowns],
        "computed": [(at, size(one)) for at, one in launch_plan.computed],
        "chunks": [(at, chunks(one)) for at, one in launch_plan.chunks],
        "inputs": [array(one.at, one.shape, one.dtype) for one in launch_plan.inputs],
        "outputs": [array(one.at, one.shape, one.dtype) for one in launch_plan.outputs],
        "variables": launch_plan.variables,
        "constants": launch_plan.constants,
        "folded": [array(at, one.array.shape, one.array.dtype) for at, one in launch_plan.folded],
        "arena": [
            (one.at, list(map(size, one.factors)), chunks(one.chunks), one.first, one.last)
            for one in launch_plan.arena
        ],
        "hosts": [
            (
                one.at,
                one.node,
                one.op,
                {name: encoder.value(value) for name, value in one.attrs},
                list(map(operand, one.operands)),
                [result and operand(result) for result in one.results],
            )
            for one in launch_plan.hosts
        ],
    }
    text = json.dumps(form, separators=(",", ":")).encode()
    return text, b"".join(one.tobytes() for one in folded)


def read_launch_plan(
    text: bytes, data: bytes, definition: Definition, canonical: Canonical
) -> tuple[LaunchPlan, bytes]:
    """The launch plan of a definition, and the key of its object code.

    Raises:
        FormatError: it is damaged, or does not fit the definition.
    """
    try:
        form = json.loads(text)
        return _Reader(form, data, definition, canonical.unknowns).launch_plan()
    except (LookupError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise FormatError(f"damaged launch plan: {error!r}") from None
    except StaticGraphError as error:
        raise FormatError(f"damaged launch plan: {error}") from None


class _Encoder(Encoder):
    """Unknown sizes are numbers: their places among those of the definition."""

    def __init__(self, unknowns: Sequence[Unknown]) -> None:
        self.numbers = {atom: number for number, atom in enumerate(unknowns)}

    def unknown(self, atom: Unknown) -> Form:
        if atom not in self.numbers:
            raise FormatError(f"the unknown size {atom} is not one of the definition's")
        return self.numbers[atom]


class _Reader(Decoder):
    def __init__(
        self, form: Form, data: bytes, definition: Definition, unknowns: Sequence[Unknown]
    ) -> None:
        self.form = form
        self.data = data
        self.nodes = definition.nodes
        self.definition = definition
        self.unknowns = unknowns
        self.length = 0

    def launch_plan(self) -> tuple[LaunchPlan, bytes]:
        form = self.form
        code = bytes.fromhex(form["code"])
        _check(len(code) == KEY_BYTES)
        self.length = _natural(form["length"])
        _check(self.length < LONGEST)
        units = _natural(form["units"])
        words = tuple([_word(word) for word in self._list("words")])
        links = tuple([_natural(at) for at in self._list("links")])
        for at in links:
            _check(0 <= words[at] < units)
        launch_plan = LaunchPlan(
            words=words,
            links=links,
            units=units,
            length=self.length,
            own=self._at(form["own"]),
            failed=self._at(form["failed"]),
            pool=self._at(form["pool"], 1),
            unlocks=self._at(form["unlocks"], 1),
            gemm=self._gemm(),
            unknowns=tuple(
                [(self._unknown(one), self._at(at)) for one, at in self._list("unknowns")]
            ),
            computed=self._pairs("computed", self.size),
            chunks=self._pairs("chunks", self._chunks),
            inputs=self._arrays("inputs", self.definition.inputs),
            outputs=self._arrays("outputs", self.definition.outputs),
            variables=self._pairs("variables", lambda one: self._node(one, leaves.variable)),
            constants=self._pairs("constants", lambda one: self._node(one, leaves.constant)),
            folded=self._folded(),
            arena=tuple([self._piece(*one) for one in self._list("arena")]),
            hosts=tuple([self._host(*one) for one in self._list("hosts")]),
            lost=self._lost(),
        )
        return launch_plan, code

    def _lost(self) -> int | None:
        found = [self._at(at, 1) for at in self._list("lost")]
        _check(len(found) <= 1)
        return found[0] if found else None

    def _list(self, name: str) -> list[Any]:
        found = self.form[name]
        _check(type(found) is list)
        return list(found)

    def _at(self, at: Form, beyond: int = 0) -> int:
        """An entry of the table, with some that follow."""
        _check(_natural(at) + beyond < self.length)
        return int(at)

    def _gemm(self) -> tuple[tuple[str, int], ...]:
        found = []
        for dtype, at in self._list("gemm"):
            _check(dtype in PRODUCTS)
            found.append((str(dtype), self._at(at)))
        return tuple(found)

    def _pairs(self, name: str, read: Callable[[Form], object]) -> tuple[tuple[int, Any], ...]:
        return tuple([(self._at(at), read(one)) for at, one in self._list(name)])

    def _node(self, place: Form, op: Op) -> int:
        _check(self.nodes[_natural(place)].op is op)
        return int(place)

    def _arrays(self, name: str, nodes: Sequence[int]) -> tuple[Array, ...]:
        found = []
        for node, (at, shape, dtype) in zip(nodes, self._list(name), strict=True):
            sizes = tuple([self.size(one) for one in shape])
            array = Array(self._at(at, len(sizes)), sizes, dtype_of(dtype))
            type = self.nodes[node].type
            _check((array.dtype, len(sizes)) == (type.dtype, type.ndim))
            found.append(array)
        return tuple(found)

    def _piece(self, at: Form, factors: Form, cut: Form, first: Form, last: Form) -> Piece:
        sizes = tuple([self.size(one) for one in factors])
        chunks = None if cut is None else self._chunks(cut)
        return Piece(self._at(at), sizes, chunks, _natural(first), _natural(last))

    def _host(
        self, at: Form, node: Form, name: Form, attrs: Form, operands: Form, results: Form
    ) -> HostCall:
        op = op_named(name)
        _check(isinstance(op.lowering, Host) and type(attrs) is dict)
        read = {str(key): self.value(one) for key, one in sorted(attrs.items())}
        arrays = tuple([self._host_array(*one) for one in operands])
        given = tuple([result and self._host_array(*result) for result in results])
        found: Type = op.infer_type(*(TensorType(one.shape, one.dtype) for one in arrays), **read)
        inferred = found.items if isinstance(found, TupleType) else (found,)
        for one, wanted in zip(given, inferred, strict=True):
            _check(one is None or same_type(wanted, TensorType(one.shape, one.dtype)))
        return HostCall(
            self._at(at, 1), _natural(node), op.name, tuple(read.items()), arrays, given
        )

    def _host_array(self, addend: Form, at: Form, shape: Form, dtype: Form) -> HostArray:
        sizes = tuple([self.size(one) for one in shape])
        return HostArray(TableOperand(self._at(at), _natural(addend)), sizes, dtype_of(dtype))

    def _chunks(self, form: Form) -> Cut:
        if form[0] in COUNTED:
            counted, *sizes = form
            rows, columns, depth = map(self.size, sizes)
            return Cells(rows, columns, depth, counted)
        extent, work, *constants = form
        least, grain, most = map(_natural, constants)
        _check(min(least, grain, most) > 0)
        return Chunks(self.size(extent), self.size(work), least, grain, most)

    def _folded(self) -> tuple[tuple[int, Literal], ...]:
        found, start = [], 0
        for at, shape, name in self._list("folded"):
            dtype = dtype_of(name)
            stop = start + math.prod(map(_natural, shape)) * dtype.itemsize
            _check(stop <= len(self.data))
            array = np.frombuffer(self.data[start:stop], dtype).reshape(shape)
            found.append((self._at(at), Literal(array)))
            start = stop
        _check(start == len(self.data))
        return tuple(found)

    def size(self, form: Form) -> Size:
        """A size whose numbers fit the words of a program."""
        found = super().size(form)
        for factor in [found] if isinstance(found, int) else [one for _, one in found.terms]:
            _word(factor)
        return found

    def unknown(self, form: Form) -> Dim:
        return Dim((((self._unknown(form),), 1),))

    def _unknown(self, number: Form) -> Unknown:
        return self.unknowns[_natural(number)]


def _natural(value: Form) -> int:
    _check(type(value) is int and value >= 0)
    return int(value)


def _word(value: Form) -> int:
    _check(type(value) is int and -(1 << 63) <= value < 1 << 63)
    return int(value)


def _check(is_right: bool) -> None:
    if not is_right:
        raise ValueError("a value that does not fit")
