"""The cotangents of small elementwise ops by machine code: NumPy's loops in one call.

A node that was run often gets a builtin function that runs the loops of its rules
(`compiler.runtime.loops`), with the same bits. What it is not for is left to the rules: arrays that
broadcast, others than small row-major ones of one dtype, values of which NumPy warns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import repeat
from typing import Any

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.op import Op, Rule
from staticgraph.compiler.core.settings import COMPILE_SMALL_OPS
from staticgraph.compiler.llvm.loop_words import COLUMN, SCALAR, VECTOR, WHOLE
from staticgraph.compiler.reference import classes, direct
from staticgraph.dynamic.core.activity import were_enough
from staticgraph.dynamic.core.dtypes import BOOL, F32, F64, INT64
from staticgraph.dynamic.core.spec import Spec
from staticgraph.dynamic.kernels.layouts import tells_apart

OFTEN = 251
"""The runs after which the operands are looked at, again and again."""
SOON = 10
"""After so many it is asked again about operands that it was not for."""
MOST_COLUMNS, MOST_ROWS = 512, 64
"""The longest rows that are worth a function, and for how many kinds of them an op gets one."""
TRIES = 6
"""How many kinds of operands a function is looked for."""

FEW = 1024
"""The elements up to which rows are few: as in `compiler.reference.direct`."""

_LOOPS = "staticgraph.compiler.runtime.loops"
_TRACES = "staticgraph.compiler.runtime.loop_traces"


def _nothing(*_: object) -> None:
    """What is left to the rules."""


_NO_TICKS: Iterator[None] = iter(())


class Quick:
    """The functions for the operands of an op that require grad.

    Attributes:
        function: the last one, which asks the others; it gives an array or a tuple of several.
        reads: which operands the rules read, -1 for the result.
        positions: the operands that get a cotangent.
        bare: the operands that get a cotangent and are not read, whose shapes nobody else sees.
        ticks: what is taken of with each run until it is asked, in a loop, which is the shortest
            way to count; used up where there is a function.
    """

    __slots__ = (
        "_arrays",
        "_keeps",
        "_keeps_output",
        "_known",
        "_left",
        "_op",
        "_options",
        "_rows",
        "_steps",
        "bare",
        "function",
        "positions",
        "reads",
        "ticks",
    )

    def __init__(
        self,
        op: Op,
        steps: Sequence[tuple[int, Rule]],
        arrays: Callable[..., Sequence[Any]] | None,
        keeps: Sequence[bool],
        keeps_output: bool,
    ) -> None:
        self._op, self._steps, self._arrays = op, steps, arrays
        self._keeps, self._keeps_output = keeps, keeps_output
        self._options: dict[object, Quick] = {}
        self.reads = (*[i for i, kept in enumerate(keeps) if kept], *(-1,) * keeps_output)
        self.positions = tuple([i for i, _ in steps])
        bare = [i for i in self.positions if not keeps[i]]
        self.bare = tuple(bare) if len(keeps) > 1 else ()
        self.function: Callable[..., Any] = _nothing
        self._known: set[object] = set()
        self._left = 0
        self._rows: QuickRows | None = None
        self.ticks: Iterator[None] = repeat(None, OFTEN - 1)
        if op.sweep == "rows":
            self._rows = QuickRows(self._along_rows, *(WHOLE,) * len(self.reads))
            self.ticks = _NO_TICKS

    def found(
        self, g: Any, saved: Sequence[Any], edges: Sequence[object], attrs: Mapping[str, Any]
    ) -> Any:
        """The cotangents, each with the edge of its operand; None if rules have to find them."""
        if self._rows is not None:
            return self._of_rows(g, saved, edges, attrs)
        if self.function is _nothing:
            self.ticks = repeat(None, SOON)
        if attrs:
            return self._of_options(g, saved, edges, attrs)
        for i in self.bare:
            if saved[i].shape != g.shape:
                return None
        reads = self.reads
        if len(reads) == 1:
            part = self.function(g, saved[reads[0]])
        elif len(reads) == 2:
            i, j = reads
            part = self.function(g, saved[i], saved[j])
        else:
            part = self.function(g, *[saved[i] for i in reads])
        if part is None:
            self._left -= 1
            if self._left < 0:
                self._count([g, *[saved[i] for i in reads]])
            return None
        if type(part) is not tuple:
            return [(edges[self.positions[0]], part)]
        if len(part) == 2:
            i, j = self.positions
            return [(edges[i], part[0]), (edges[j], part[1])]
        return [(edges[i], part[k]) for k, i in enumerate(self.positions)]

    def _count(self, arrays: Sequence[Any]) -> None:
        """Note so many runs without a function, and look for one for the operands of this run."""
        if were_enough(OFTEN) and len(self._known) < TRIES:
            self._look(arrays)
        if self.function is _nothing:
            self.ticks = repeat(None, OFTEN - 1)
        else:
            self._left = OFTEN - 1

    def _of_options(
        self, g: Any, saved: Sequence[Any], edges: Sequence[object], attrs: Mapping[str, Any]
    ) -> Any:
        """The cotangents where the rules have options: for each of these there is another."""
        given = tuple(attrs.values())
        key = (given, *map(type, given))
        try:
            one = self._options.get(key)
        except TypeError:  # an array
            return None
        if one is None:
            if len(self._options) >= MOST_ROWS or not tells_apart(given):
                return None
            steps = [(i, partial(rule, **attrs)) for i, rule in self._steps]
            arrays = None if self._arrays is None else partial(self._arrays, **attrs)
            one = Quick(self._op, steps, arrays, self._keeps, self._keeps_output)
            self._options[key] = one
        elif not tells_apart(given):
            return None
        found = one.found(g, saved, edges, {})
        if one.function is not _nothing:
            self.ticks = _NO_TICKS
        return found

    def _of_rows(
        self, g: Any, saved: Sequence[Any], edges: Sequence[object], attrs: Mapping[str, Any]
    ) -> Any:
        """The cotangent of the only operand of an op along one axis."""
        ndim = g.ndim
        if ndim < 2 or attrs["axis"] != ndim - 1 or g.size > FEW:
            return None
        dtype = g.dtype
        if dtype is not F32 and dtype is not F64:
            return None
        arrays = [g, *[saved[i] for i in self.reads]]
        part = self._rows.value((dtype is F32, g.shape[-1]), arrays, {"axis": 1})  # type: ignore[union-attr]
        return None if part is None else [(edges[0], part)]

    def _along_rows(self, g: Any, *read: Any, axis: int) -> Any:
        values = dict(zip(self.reads, read, strict=True))
        other = Spec(g.shape, g.dtype)
        out, x = (values.get(i, other) for i in (-1, 0))
        assert self._arrays is not None
        return self._arrays((0,), g, out, x, axis=g.ndim - 1)

    def _look(self, arrays: Sequence[Any]) -> None:
        if COMPILE_SMALL_OPS.is_off:
            return
        kinds = _kinds(arrays)
        if kinds is None or kinds in self._known:
            return
        self._known.add(kinds)
        with fork.importing():
            loops, traces = import_module(_LOOPS), import_module(_TRACES)
        if not loops.loops_are_there():
            return
        program = traces.program_of(self._rules, [traces.Kind(*one) for one in kinds])
        if program is not None:
            made = loops.loops_function(program, self.function)
            if made is not None:
                self.function, self.ticks = made, _NO_TICKS

    def _rules(self, g: Any, *read: Any) -> Sequence[Any]:
        """The cotangents by the rules, of arrays of one shape."""
        values = dict(zip(self.reads, read, strict=True))
        other = Spec(g.shape, g.dtype)
        count = max([len(self._op.vjp), *[i + 1 for i in self.reads]])  # type: ignore[arg-type]
        operands = [values.get(i, other) for i in range(count)]
        out = values.get(-1, other)
        if self._arrays is not None:
            return self._arrays(tuple([i for i, _ in self._steps]), g, out, *operands)
        return [rule(g, out, *operands) for _, rule in self._steps]


def _kinds(arrays: Sequence[Any]) -> tuple[tuple[Any, int], ...] | None:
    """Of small row-major arrays of one shape and dtype, and numbers, dtype and kind."""
    shape, dtype = arrays[0].shape, arrays[0].dtype
    found = []
    for one in arrays:
        repeats = not any(one.strides)
        fits = one.shape in (shape, ()) and (one.flags.c_contiguous or repeats)
        if not fits or (one.dtype is not dtype and one.dtype is not BOOL):
            return None
        found.append((one.dtype, WHOLE if one.ndim else SCALAR))
    return tuple(found) if dtype is F32 or dtype is F64 else None


class QuickRows:
    """The values of an op along the last axis, of few rows, by its length and attributes.

    Attributes:
        functions: by these a function, or how often it has yet to be asked for.
    """

    __slots__ = ("_evaluate", "_kinds", "functions")

    def __init__(self, evaluate: Callable[..., Any], *vectors: int) -> None:
        self._evaluate, self._kinds = evaluate, (WHOLE, *vectors)
        self.functions: dict[object, Any] = {}

    def value(self, key: object, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """The value for row-major arrays, the first with rows; None if NumPy has to find it.

        `key` tells apart what there is a function for: dtype, the last size and the attributes.
        """
        found = self.functions.get(key, OFTEN)
        if type(found) is not int:
            return found(*arrays)
        if found and len(self.functions) < MOST_ROWS:
            self.functions[key] = found - 1
            if found == 1:
                self.functions[key] = self._made(arrays, attrs) if were_enough(OFTEN) else OFTEN
        return None

    def _made(self, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        kinds = [(one.dtype, kind) for one, kind in zip(arrays, self._kinds, strict=True)]
        made = rows_function(partial(self._evaluate, **attrs), kinds, arrays[0].shape[-1], _nothing)
        return made or 0


_classes = QuickRows(classes.losses_of, COLUMN)


def losses_of(x: Any, target: Any) -> Any:
    """The cross entropy of each row of x (n, c) by machine code; None if NumPy has to find it."""
    return _classes.value((x.dtype is F32, x.shape[1]), (x, target), {})


class QuickClasses:
    """What finds the cotangent of a cross entropy: see `Quick`."""

    __slots__ = ("_rows", "ticks")

    def __init__(self) -> None:
        self._rows = QuickRows(classes.slopes_of, COLUMN, SCALAR)
        self.ticks = _NO_TICKS

    def found(
        self, g: Any, saved: Sequence[Any], edges: Sequence[object], attrs: Mapping[str, Any]
    ) -> Any:
        """The cotangent of the logits, with their edge; None if the rule has to find it."""
        x, target = saved[0], saved[1]
        if x.ndim != 2 or x.size > FEW or attrs["reduction"] == "none":
            return None
        if (x.dtype is not F32 and x.dtype is not F64) or target.dtype is not INT64:
            return None
        slope = g / len(target) if attrs["reduction"] == "mean" else g
        operands = x, target, np.asarray(slope)
        part = self._rows.value((x.dtype is F32, x.shape[1]), operands, {})
        return None if part is None else [(edges[0], part)]


class QuickNorm:
    """What finds the cotangents of layer norm and of its weight and bias: see `Quick`."""

    __slots__ = ("_rows", "ticks")

    def __init__(self) -> None:
        self._rows = QuickRows(direct.layer_norm_slopes, WHOLE, VECTOR)
        self.ticks = _NO_TICKS

    def found(
        self, g: Any, saved: Sequence[Any], edges: Sequence[object], attrs: Mapping[str, Any]
    ) -> Any:
        """The cotangents, each with the edge of its operand; None if the rule has to find them."""
        x, weight = saved[0], saved[1]
        if attrs["axes"] != 1 or x.size > FEW or x.ndim < 2 or x.size == x.shape[-1]:
            return None
        dtype, eps = x.dtype, attrs["eps"]
        if (dtype is not F32 and dtype is not F64) or weight.dtype is not dtype:
            return None
        operands = np.ascontiguousarray(g), x, weight
        parts = self._rows.value((dtype is F32, x.shape[-1], eps), operands, {"eps": eps})
        return None if parts is None else list(zip(edges, parts, strict=True))


def rows_function(
    function: Callable[..., Any],
    kinds: Sequence[tuple[Any, int]],
    columns: int,
    general: Callable[..., Any],
) -> Callable[..., Any] | None:
    """The builtin function of what goes along a last axis of so many elements, or None."""
    few = 1 < columns <= MOST_COLUMNS
    if not few or COMPILE_SMALL_OPS.is_off or kinds[0][0] not in (F32, F64):
        return None
    with fork.importing():
        loops, traces = import_module(_LOOPS), import_module(_TRACES)
    if not loops.loops_are_there():
        return None
    program = traces.program_of(function, [traces.Kind(*one) for one in kinds], columns)
    found: Callable[..., Any] | None = None
    if program is not None:
        found = loops.loops_function(program, general)
    return found
