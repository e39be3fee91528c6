"""What a call of a captured function runs: the traces for its kind of arguments, compiled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core.deciding import decider
from staticgraph.compiler.core.dtypes import is_narrow
from staticgraph.compiler.core.errors import DTypeError, OptionError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.pytree import is_object, leaves as leaves_of, parts_of, with_parts
from staticgraph.compiler.core.refusals import user_place
from staticgraph.compiler.core.types import DType, as_dtype
from staticgraph.compiler.graph.expression import Expression
from staticgraph.executables.executable import Executable
from staticgraph.tracing.arrays import outside, refuse_outside
from staticgraph.tracing.compiled import Compiled
from staticgraph.tracing.effects import watched
from staticgraph.tracing.elements import Elements
from staticgraph.tracing.known_sizes import Needs
from staticgraph.tracing.modules import ModuleTensors, is_module
from staticgraph.tracing.reads import Surroundings
from staticgraph.tracing.signature import (
    Arguments,
    Same,
    arguments_of,
    assembler,
    containers,
    leaf_names,
    parts,
    with_same,
)
from staticgraph.tracing.tracing import Leaf, Trace, Traces, declared_axes
from staticgraph.tracing.views import views_of, with_views
from staticgraph.tracing.words import Versions

NUMBERS: dict[type, DType] = {
    bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64)
}  # fmt: skip

Shapes = Mapping[str, Sequence[int | str | None]]


class Captured(NamedTuple):
    """A function, its name, what is declared of its arguments, and how it is compiled."""

    name: str
    f: Callable[..., Any]
    shapes: Shapes
    options: Mapping[str, object]


class Call:
    """What a call of known types and shapes runs."""

    __slots__ = (
        "around", "assemble", "compiled", "effects", "given_numbers", "hands_back", "numbers",
        "own", "remade", "same", "steady", "versions", "views",
    )  # fmt: skip

    around: Surroundings

    def __init__(self, compiled: Compiled, numbers: tuple[int, ...], given: int) -> None:
        self.compiled = compiled
        self.numbers = numbers
        self.given_numbers = any(i < given for i in numbers)
        self.own: list[Any] = []
        self.versions = Versions()
        self.effects = compiled.trace.effects
        self.steady = self.effects is None or not self.effects.asks
        trace = compiled.trace
        self.assemble = assembler(trace.structure)
        found = [one for one in parts(trace.structure) if isinstance(one, Same)]
        self.hands_back = any(one.place is not None for one in found)
        self.same = frozenset(id(one.value) for one in found if one.place is None)
        self.views = trace.views or (views_of(trace.outputs, trace.inputs),)
        self.remade = any(self.views) or bool(trace.plain)
        if trace.effects is None:
            self.assemble = _shared(self.assemble, trace.outputs)

    def run(self, kind: Any, operands: Sequence[object]) -> Any:
        """The result on operands, as tensors of an eager engine if `kind` is that of one."""
        if kind is not None:
            return self._on_tensors(kind, operands)
        tensor: Any = next((x for x in operands if isinstance(x, Operand)), None)
        if tensor is None:
            return self.on_arrays(*operands)
        if self.effects is not None:
            kind = type(tensor)
            return self.assemble(
                tensor._arrays(kind._perform(self.compiled, self.effects, operands))
            )
        return self.on_arrays(*tensor._arrays(operands))

    def _on_tensors(self, kind: Any, operands: Sequence[object]) -> Any:
        """The result as tensors."""
        if self.effects is None:
            return self.assemble(kind._call(self.compiled, operands))
        return self.assemble(kind._perform(self.compiled, self.effects, operands))

    def on_arrays(self, *arrays: object) -> Any:
        """The result on arrays, as arrays."""
        results = self.compiled.part(arrays)
        single = self.compiled.single
        if not self.remade:
            return results if single else self.assemble(results)
        listed = [results] if single else results
        views = self.views[int(listed[-1]) if len(self.views) > 1 else 0]
        listed = with_views(views, self.compiled.trace.inputs, arrays, listed)
        for i, make in self.compiled.trace.plain:
            listed[i] = make(listed[i])
        return listed[0] if single else self.assemble(listed)

    def direct(self, kind: Any) -> Callable[..., Any]:
        """What runs the call with the least around it: if it can, the executable itself."""
        if kind is not None:
            if self.effects is not None:
                return lambda *operands: self._on_tensors(kind, operands)
            return lambda *operands: self.assemble(kind._call(self.compiled, operands))
        part = self.compiled.part
        plain = self.compiled.single and part.used is None and not self.remade
        return part.executable if plain else self.on_arrays


class Signature:
    """The traces of a function for arguments of one structure, dtypes and ranks, compiled."""

    def __init__(
        self,
        function: Captured,
        found: Arguments,
        modules: list[Any],
        tensors: ModuleTensors | None,
        operands: Sequence[Any],
        around: Surroundings,
        needs: Needs,
        tell: Callable[[Trace], None],
    ) -> None:
        self.around = around
        self._held = (modules, tensors, around.live)  # their identities are keys
        self._numbers = tuple(i for i, x in enumerate(operands) if type(x) in (bool, int, float))
        names = _unique(leaf_names(found.structure, _parameters(function.f)))
        count = self._count = len(names)
        own = [*(() if tensors is None else tensors.names), *around.live.names, *around.kept.names]
        first_kept = len(operands) - len(around.kept.names)
        first_live = first_kept - len(around.live.names)
        kind = next((type(x) for x in operands if isinstance(x, Operand)), None)
        leaves = [
            Leaf(
                name,
                _dtype_of(x, name),
                i in self._numbers or (kind is not None and isinstance(x, np.generic)),
                None if first_live <= i < first_kept else _kind_of(x, kind, bool(modules)),
                i >= count,
                i >= first_kept,
            )
            for i, (name, x) in enumerate(zip(_unique([*names, *own]), operands, strict=True))
        ]  # fmt: skip
        for name in function.shapes.keys() - set(names):
            raise OptionError(
                f"{function.name}: no array is named {name!r}, which is declared: {names}"
            )
        declared = [
            declared_axes(function.name, leaf.name, function.shapes.get(leaf.name), np.ndim(x))
            if i < count
            else tuple(np.shape(x))
            for i, (leaf, x) in enumerate(zip(leaves, operands, strict=True))
        ]
        self._traces = Traces(
            function.name,
            _on_leaves(function, found, tensors, around, kind),
            leaves,
            declared,
            functools.partial(Compiled, options=function.options),
            needs,
            tell,
            "memory" in function.options,
        )

    def traces(self) -> list[Trace]:
        """The traces, in the order in which they were made."""
        return [compiled.trace for compiled in self._traces.kept()]

    def executables(self) -> list[Executable]:
        """What was compiled so far: for values, and for reverse passes."""
        return [one for compiled in self._traces.kept() for one in compiled.executables()]

    def call(self, operands: Sequence[Any]) -> Call:
        """What serves operands of these shapes."""
        shapes = [() if i in self._numbers else tuple(x.shape) for i, x in enumerate(operands)]
        return Call(self._traces.fitting(shapes, operands), self._numbers, self._count)


def _kind_of(x: object, kind: object, on_tensors: bool) -> Any:
    """The class of tensors whose methods an argument has where `kind` is that of the tensors.

    An array beside tensors stays one, unless it goes into a module, whose code is about tensors.
    """
    if isinstance(x, Operand):
        return type(x)
    return None if isinstance(x, np.ndarray) and not on_tensors else kind


def _dtype_of(x: Any, name: str) -> DType:
    if type(x) in NUMBERS:
        return NUMBERS[type(x)]
    dtype = np.dtype(x.dtype).newbyteorder("=")
    if dtype.kind not in "OSUVMm" or is_narrow(dtype):
        return as_dtype(dtype, name)
    raise DTypeError(
        f"{name}: an array of {dtype}, which no graph computes with: close over it, or pass "
        f"numbers in its place, such as x.view('int64') of times ({user_place()})"
    )


def _on_leaves(
    function: Captured,
    found: Arguments,
    tensors: ModuleTensors | None,
    around: Surroundings,
    engine: Any,
) -> Callable[[list[Any]], Any]:
    """The function of a list of expressions, or what stands for them, one per operand."""
    structure, count, others = found.structure, len(found.arrays), list(found.modules)
    live, kept = around.live, around.kept
    first_live = count + (0 if tensors is None else len(tensors.tables))
    first_kept = first_live + len(live.arrays)
    places = aliases(found.arrays) if around.compares_identity else range(count)

    def on_leaves(inputs: list[Any]) -> Any:
        arrays = [inputs[i] for i in places]
        args, kwargs = arguments_of(structure, iter(arrays), others)
        standing = inputs[first_live:first_kept]
        if around.on_tensors:
            standing = list(map(outside, standing))
        for one, array, name in zip(standing, live.arrays, live.names, strict=True):
            one.elements = Elements(array, name, around.elements)
        given = given_in(args, kwargs)
        known = {id(one): Same(place) for place, one in enumerate(given)}

        def called() -> Any:
            current = decider()
            if current is not None:
                current.restart()
            return function.f(*args, **kwargs)

        def again() -> Any:
            with kept.untouched():
                return called()

        with (
            watched(around, again, (args, kwargs)),
            live.replaced(standing) if live.arrays else nullcontext(),
            nullcontext() if engine is None else kept.replaced(inputs[first_kept:], engine._keeps),
        ):
            returned = called()
        refuse_outside(leaves_of(returned))
        return with_same(returned, known, around.seen)

    return on_leaves


def given_in(args: Sequence[object], kwargs: Mapping[str, object]) -> list[object]:
    """The containers among the arguments of a call."""
    return [one for value in (*args, *kwargs.values()) for one in containers(value)]


def filled(value: Any, given: Sequence[object], around: frozenset[int]) -> Any:
    """A result with the containers of the arguments where it has those.

    `around`: the identities of those of the surroundings, which stay as they are.
    """
    if isinstance(value, Same) and value.place is not None:
        return given[value.place]
    if id(value) in around or not (isinstance(value, tuple | list | dict) or is_object(value)):
        return value
    return with_parts(value, [filled(one, given, around) for one in parts_of(value)])


def _unique(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that came before."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def _parameters(f: Any) -> list[str]:
    """The names of the positional parameters, as far as there are any."""
    called = f.forward if is_module(f) and hasattr(f, "forward") else f
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in signature.parameters.values() if one.kind in kinds]


def _shared(
    assemble: Callable[[Sequence[Any]], Any], outputs: Sequence[Expression]
) -> Callable[[Sequence[Any]], Any]:
    """The same where what is returned several times is one array, as it is eagerly."""
    places = aliases(outputs)
    if places == [*range(len(outputs))]:
        return assemble
    return lambda leaves: assemble([leaves[i] for i in places])


def aliases(arrays: Sequence[object]) -> list[int]:
    """Per array the first that is the same object."""
    places: dict[int, int] = {}
    return [places.setdefault(id(one), i) for i, one in enumerate(arrays)]
