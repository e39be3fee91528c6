"""`export`: a compiled graph as one file of Python that needs NumPy and Numba only."""

from __future__ import annotations

import keyword
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.codegen.bytecode import Call, Share
from staticgraph.compiler.codegen.comments import Comments, Row
from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.codegen.memory import Slot
from staticgraph.compiler.codegen.naming import Names, calls_of, made_name, makers, named
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Size, Unknown
from staticgraph.compiler.core.dtypes import is_float, limits, stored
from staticgraph.compiler.core.errors import OptionError, StaticGraphError
from staticgraph.compiler.core.record import Record, mutable
from staticgraph.compiler.core.types import substituted
from staticgraph.compiler.export.driver import Driver
from staticgraph.compiler.export.functions import all_names, definitions, used_names
from staticgraph.compiler.export.hosts import Hosts, NotNumpyError, host_names, scalar_source
from staticgraph.compiler.export.places import placed, with_places
from staticgraph.compiler.export.stored import name_of, viewed
from staticgraph.compiler.ir import records
from staticgraph.compiler.ir.records import Function, Name
from staticgraph.compiler.ir.sizes import size_expression
from staticgraph.compiler.ir.text import INDENT, expression, factor
from staticgraph.compiler.ir.walk import rewritten, scalars_of
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.reductions.reduction import OF_SOME
from staticgraph.compiler.passes.sizes import unify_sizes
from staticgraph.compiler.runtime.sizes import assumptions

if TYPE_CHECKING:
    from staticgraph.compiler.inspect.kernel_runner import KernelRunner

NEIGHBOURS = 2  # inputs beside those that are given, to see what rounding does to the results
SMALL = 32  # elements of a constant that is written into the source

HEAD = '''"""A compiled graph, written out by staticgraph. It needs NumPy and Numba only.

`run` takes arrays and gives the results; variables are updated in place. Each `unit` is a kernel
function, which Numba compiles when it is first called:

    python {file}                        runs it on the inputs that were saved with it
    NUMBA_DISABLE_JIT=1 python {file}    the same in plain Python, for pdb

A unit gets the elements of arrays in a row, and the place of an element is computed from the places
along the axes. One thread runs; a loop in chunks adds in the order of the executable. Results are
those of the executable but for rounding: exp, sin and the like are NumPy's here, and products and
sums may be added in another order.
"""
'''

MAIN = '''
def main():
    """Run on the saved inputs, print the results, and compare them with the executable's."""
    with np.load(SAVED) as saved:
        arrays = {{name: saved[name] for name in saved.files}}
    given = [arrays[f"input.{{name}}"] for name in {inputs}]
    variables = {{name: arrays[f"variable.{{name}}"] for name in {variables}}}
    results = run(*given, **variables)
    results = results if isinstance(results, tuple) else (results,)
    found = {{f"output_{{i}}": value for i, value in enumerate(results)}} | variables
    close = [
        report(name, value, arrays[f"expected.{{name}}"], arrays[f"spread.{{name}}"])
        for name, value in found.items()
    ]
    sys.exit(not all(close))


if __name__ == "__main__":
    main()
'''

USAGE = """
if __name__ == "__main__":
    print("No inputs were saved with this file.", run.__doc__, sep="\\n\\n")
"""


def export(
    runner: KernelRunner,
    path: str | os.PathLike[str],
    inputs: Sequence[object],
    expected: KernelRunner,
) -> None:
    """Write the kernel of an executable as a file of Python.

    Args:
        runner: what runs the kernel that is written.
        path: of the file, which ends in `.py`; arrays go to `NAME_inputs.npz` beside it.
        inputs: what `python FILE` runs it on; none, if it is not to run by itself.
        expected: a copy of it, whose variables are its own, and whose results come as a list: it
            is run on the inputs.

    Raises:
        OptionError: the path is not that of a module that can be imported, or would hide one of
            Python's or NumPy's; or a step cannot be written as Python.
    """
    place = Path(os.fspath(path))
    if place.suffix != ".py" or not place.stem.isidentifier() or keyword.iskeyword(place.stem):
        raise OptionError(f"export: the name of a Python module expected, not {place.name!r}")
    if place.stem in {*sys.stdlib_module_names, "numpy", "numba", "llvmlite"}:
        raise OptionError(
            f"export: {place.name!r} would hide the module {place.stem} from Python and from itself"
        )
    if any(slot.dtype.kind == "V" for slot in runner.kernel.memory.slots):
        raise OptionError(
            "export: NumPy, which is all that a file imports, has no bfloat16: cast what comes in "
            "and goes out to float32"
        )
    nodes = runner.definition.nodes
    roots = (*runner.definition.inputs, *runner.definition.outputs)
    variables = (one.id for one in nodes if one.op is leaves.variable)
    for one in (nodes[place] for place in (*roots, *variables)):
        if one.type.dtype.kind == "c":
            raise OptionError(
                f"export: {one.op.name} is {one.type} ({one.source}), and files have no complex "
                "numbers: give and return their parts, as view_as_real and view_as_complex do"
            )
    arrays: dict[str, Any] = {}
    file = KernelFile(runner, runner.kernel)
    runs = bool(inputs) or not runner.feeds
    if runs:
        before = [one.array.copy() for one in expected.states]
        arrays |= {f"variable.{n}": one for n, one in zip(file.variables, before, strict=True)}
        names = [*(f"output_{i}" for i in range(len(runner.launch_plan.outputs))), *file.variables]
        dtypes = [feed.type.dtype for feed in runner.feeds]
        given, found, spreads = _with_spreads(expected, inputs, dtypes, before)
        arrays |= {f"input.{name}": one for name, one in zip(file.inputs, given, strict=True)}
        arrays |= {f"expected.{name}": one for name, one in zip(names, found, strict=True)}
        arrays |= {f"spread.{n}": np.array(one) for n, one in zip(names, spreads, strict=True)}
    saved = place.with_name(f"{place.stem}_inputs.npz")
    text = file.text(place.name, saved.name, runs)
    arrays |= file.large
    place.write_text(text, encoding="utf-8")
    if arrays:
        np.savez(saved, allow_pickle=False, **arrays)


def _with_spreads(
    runner: KernelRunner, inputs: Sequence[object], dtypes: Sequence[Any], before: Sequence[Any]
) -> tuple[list[Any], list[Any], list[float]]:
    """The inputs as they are taken, the results and the variables after a run, and their spreads.

    A function may turn rounding errors into large ones: a step of Adam divides a gradient of 1e-8
    by its own size. So it is also run on inputs and variables that are some units in the last place
    away, and the largest distance of an element is kept beside each result.
    """

    def ran(feeds: Sequence[object]) -> list[Any]:
        results = [np.array(one) for one in runner.run(feeds, {})]
        return results + [one.array.copy() for one in runner.states]

    found = ran(inputs)
    given = [np.asarray(one, dtype) for one, dtype in zip(inputs, dtypes, strict=True)]
    spreads = [0.0] * len(found)
    random = np.random.default_rng(0)
    for _ in range(NEIGHBOURS):
        for one, array in zip(runner.states, before, strict=True):
            one.array[...] = _neighbour(random, array)
        try:
            moved = ran([_neighbour(random, one) for one in given])
        except StaticGraphError:  # a check that holds for what was given just so
            continue
        for i, other in enumerate(moved):
            if is_float(other.dtype):
                with np.errstate(invalid="ignore", over="ignore"):
                    apart = np.abs(np.subtract(other, found[i], dtype=np.float64))
                largest = np.max(apart, initial=0.0, where=np.isfinite(apart))
                spreads[i] = max(spreads[i], float(largest))
    return given, found, spreads


def _neighbour(random: np.random.Generator, array: Any) -> Any:
    """An array whose floats are up to four units in the last place away."""
    if not is_float(array.dtype):
        return array
    factor = 1 + 4 * float(limits(array.dtype).eps) * random.uniform(-1, 1, array.shape)
    return np.asarray(array * factor, array.dtype)


@mutable
class KernelFile:
    """The parts of an exported file.

    Attributes:
        inputs, variables: the names of what `run` takes, which are the user's where they can be.
        comments: what is said of nodes.
        large: the constants that are saved beside it, by name.
        turns: see `Comments`.
    """

    runner: KernelRunner
    kernel: Kernel
    turns: bool = False
    inputs: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    large: dict[str, Any] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)  # by entry of the table
    _calls: dict[int, list[Call | Share]] = field(init=False)
    comments: Comments = field(init=False)
    _labels: dict[Unknown, str] = field(init=False)
    _placed: dict[int, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        kernel = self.kernel
        table, launch_plan = kernel.table, self.runner.launch_plan
        self._labels = kernel.labels
        self._placed = placed(kernel.units, kernel.program, set(table.address))
        self._calls = calls_of(kernel.program)
        self.comments = Comments(kernel, self.turns)
        moving = (f"{part}_{at}" for part in ("place", "stack") for at in range(table.length))
        hosts = (name for one in kernel.hosts for name in host_names(one))
        units = (one.name for one in kernel.units)
        names = Names([*all_names(), *RESERVED, *self._labels.values(), *units, *hosts, *moving])
        for feed, array in zip(self.runner.feeds, launch_plan.inputs, strict=True):
            self._names[array.at] = names.new(feed.name, f"input_{len(self.inputs)}")
            self.inputs.append(self._names[array.at])
        nodes = self.runner.definition.nodes
        for at, node in launch_plan.variables:
            self._names[at] = names.new(nodes[node].name, f"variable_{len(self.variables)}")
            self.variables.append(self._names[at])
        for i, array in enumerate(launch_plan.outputs):
            self._names[array.at] = names.new(None, f"output_{i}")
        for i, at in enumerate(self._constants()):
            self._names[at] = names.new(None, f"constant_{i}")
        made = makers(kernel)
        for i, at in enumerate(table.address):
            if at not in self._names:
                self._names[at] = names.new(made_name(made.get(i), i), f"memory_{i}")

    def text(self, file: str, saved: str, runs: bool) -> str:
        """The whole file."""
        hosts = Hosts(self.runner, self._labels)
        driver = self.driver(hosts.calls)
        run = "\n".join(['@np.errstate(all="ignore")', *self.run(driver)])
        units = [
            "\n".join([row.line for row in self.unit(i, "@compiled")])
            for i in range(len(self.kernel.units))
        ]
        constants = list(self._constant_lines())
        end = USAGE
        if runs:
            end = MAIN.format(inputs=tuple(self.inputs), variables=tuple(self.variables))
        code = [*units, *hosts.functions, "\n".join(constants), run, end]
        used = set().union(*map(used_names, code))
        library = definitions(used)
        scalars = self._scalars()
        places = [f'SAVED = pathlib.Path(__file__).with_name("{saved}")'] if "SAVED" in used else []
        if driver.failing:
            places += self.failures(driver.failing)
        imports = self._imports("\n".join([library, *scalars, *places, *code]))
        parts = [
            HEAD.format(file=file) + "\n" + imports,
            "\n".join([*places, *constants]),
            library,
            *scalars,
            *hosts.functions,
            *units,
            run,
            end.strip("\n"),
        ]
        return "\n\n\n".join(part for part in parts if part) + "\n"

    def _scalars(self) -> list[str]:
        """The functions of users that units call; OptionError if one needs more than NumPy."""
        found = []
        for one in scalars_of(self.kernel.units):
            try:
                found.append(scalar_source(one))
            except NotNumpyError as error:
                raise OptionError(
                    f"export: {one.function.__name__} is a function that a file with NumPy and "
                    f"Numba alone cannot have: {error}"
                ) from None
        return found

    def driver(self, hosts: Mapping[int, str], failure: str = "IndexError") -> Driver:
        """What prints the calls of the units; `hosts` has those of host steps."""
        names = [self._names[at] for at in self.kernel.table.address]
        return Driver(self.kernel, names, self._labels, self.comments, hosts, self._placed, failure)

    def _imports(self, code: str) -> str:
        used = used_names(code)
        plain = [name for name in ("math", "pathlib", "sys") if name in used]
        numba = [name for name in ("njit", "objmode") if name in used]
        lines = ["from __future__ import annotations", ""]
        lines += [f"import {name}" for name in plain]
        lines += ["", "import numpy as np"] if plain else ["import numpy as np"]
        lines += [f"from numba import {', '.join(numba)}"] if numba else []
        return "\n".join(lines)

    def unit(self, number: int, decorator: str = "") -> list[Row]:
        """The lines of a unit, each with the node that it computes, below the user's lines.

        NumPy's product needs no address.
        """
        calls = self._calls[number]
        unit = with_places(self.kernel.units[number], self._placed.get(number, ()))
        unit = named(self.kernel, unit, calls, self._names, self.comments.names)
        nodes = [node for call in calls for node in call.nodes]
        return self.comments.rows(_without_blas(unit), nodes, decorator)

    def _constants(self) -> dict[int, Any]:
        """The arrays of constants by the entries of their addresses."""
        nodes, launch_plan = self.runner.definition.nodes, self.runner.launch_plan
        found = {at: nodes[node].attrs["value"].array for at, node in launch_plan.constants}
        return found | {at: literal.array for at, literal in launch_plan.folded}

    def elements(self) -> Iterator[tuple[str, Any]]:
        """The constants by their names, as `run` reads them: the elements in a row."""
        for at, array in self._constants().items():
            flat = array.reshape(-1)
            yield self._names[at], flat.view(stored(flat.dtype))

    def _constant_lines(self) -> Iterator[str]:
        large = []
        for name, flat in self.elements():
            if flat.size <= SMALL:
                values = ", ".join(map(_number, flat.tolist()))
                yield f"{name} = np.array([{values}], np.{flat.dtype.name})"
            else:
                self.large[f"constant.{name}"] = flat
                large.append(name)
        if large:
            yield "with np.load(SAVED) as saved:"
            yield from (f'{INDENT}{name} = saved["constant.{name}"]' for name in large)

    def failures(self, failing: set[int]) -> Iterator[str]:
        """What a status says: the op that was given an index out of range, and its line."""
        yield "FAILURES = {"
        for number in sorted(failing):
            _, node = self.kernel.located(number)
            text = f"{node.op.name}  <- {node.source}"
            yield f"{INDENT}{number + 1}: {text!a},"
        yield "}"

    def run(self, driver: Driver) -> Iterator[str]:
        """The function that calls the units."""
        launch_plan = self.runner.launch_plan
        given = ", ".join([*self.inputs, *(["*", *self.variables] if self.variables else [])])
        body = list(driver.lines())
        yield f"def run({given}):"
        yield f'{INDENT}"""Compute the results.'
        yield ""
        for title, kind in (("Args", "input"), ("Variables, updated in place", "variable")):
            slots = self._slots(kind)
            if slots:
                yield f"{INDENT}{title}:"
                yield from (f"{INDENT * 2}{name}: {self._type(slot)}" for name, slot in slots)
        yield f"{INDENT}Returns:"
        outputs = self._slots("output")
        yield f"{INDENT * 2}{', '.join(self._type(slot) for _, slot in outputs) or 'nothing'}"
        yield f'{INDENT}"""'
        yield from (INDENT + line for line in self._sizes())
        yield from (INDENT + line for line in self._assumed())
        for kind, written in (("input", ""), ("variable", ", written=True")):
            for name, slot in self._slots(kind):
                shape = self._shape(slot.shape)
                dtype = name_of(slot.dtype)
                yield f'{INDENT}{name} = flat("{name}", {name}, {dtype}, {shape}{written})'
        if self.variables:
            parts = (
                ", ".join(f'"{name}": {name}' for name, _ in self._slots(kind))
                for kind in ("variable", "input")
            )
            yield f"{INDENT}apart({', '.join(f'{{{part}}}' for part in parts)})"
        for kind in ("output", "arena"):
            for name, slot in self._slots(kind):
                dtype = name_of(stored(slot.dtype))
                yield f"{INDENT}{name} = np.empty({self._count(driver, slot)}, {dtype})"
        if driver.failing:
            yield f"{INDENT}failed = np.zeros(1, np.int64)"
        yield from (INDENT + line if line else line for line in body)
        results = []
        for (name, slot), array in zip(outputs, launch_plan.outputs, strict=True):
            text = f"{name}.reshape({self._shape(array.shape)})"
            results.append(viewed(text, slot.dtype))
        single = isinstance(self.runner.restructure([*range(len(results))]), int)
        yield ""
        comma = "," if len(results) == 1 and not single else ""
        yield f"{INDENT}return {', '.join(results) or '()'}{comma}"

    def _sizes(self) -> Iterator[str]:
        """The lines that name the unknown sizes, each an axis of an input."""
        found: set[Unknown] = set()
        for name, array in zip(self.inputs, self.runner.launch_plan.inputs, strict=True):
            axes = [dims.as_unknown(size) for size in array.shape]
            new = [atom for atom in axes if atom is not None and atom not in found]
            if new:
                found |= set(new)
                targets = [self._labels[atom] if atom in new else "_" for atom in axes]
                comma = "," if len(targets) == 1 else ""
                yield f'{", ".join(targets)}{comma} = sizes("{name}", {name}, {len(axes)})'
        missing = [str(atom) for atom in self._labels if atom not in found]
        if missing:
            raise OptionError(
                f"export: {self.runner.name}: the size {missing[0]} is no axis of an input, "
                "so that the file could not find it"
            )

    def _assumed(self) -> Iterator[str]:
        """The lines that compare sizes which the kernel takes for equal."""
        definition = self.runner.definition
        _, merged = unify_sizes(definition)
        pairs = assumptions(definition)
        for at, node in enumerate(definition.nodes):
            if node.op in OF_SOME:
                shape = definition.nodes[node.operands[0]].type.shape
                sizes = [shape[axis] for axis in node.attrs["axes"]]
                pairs += [(at, dims.maximum(1, size), size) for size in sizes]
        shown: dict[str, None] = {}
        for at, *sizes in pairs:
            left, right = (substituted(size, merged) for size in sizes)
            if left != right:
                node = definition.nodes[at]
                texts = (expression(size_expression(one, self._labels)) for one in (left, right))
                shown[f"agree({f'{node.op.name}  <- {node.source}'!a}, {', '.join(texts)})"] = None
        yield from shown

    def _slots(self, kind: str) -> list[tuple[str, Slot]]:
        pairs = zip(self.kernel.table.address, self.kernel.memory.slots, strict=True)
        found = {self._names[at]: slot for at, slot in pairs if slot.kind == kind}
        order = {name: i for i, name in enumerate([*self.inputs, *self.variables])}
        if kind == "output":
            return sorted(found.items(), key=lambda pair: pair[1].position)
        return sorted(found.items(), key=lambda pair: order.get(pair[0], 0))

    def _count(self, driver: Driver, slot: Slot) -> str:
        sizes = (size_expression(size, self._labels) for size in slot.shape if size != 1)
        factors = [factor(size) for size in sizes]
        if slot.chunks is not None and driver.count(slot.chunks) != "1":
            factors.insert(0, driver.count(slot.chunks))
        return " * ".join(factors) or "1"

    def _type(self, slot: Slot) -> str:
        shape = ", ".join(expression(size_expression(size, self._labels)) for size in slot.shape)
        return f"{slot.dtype.name}[{shape}]"

    def _shape(self, shape: Sequence[Size]) -> str:
        sizes = [expression(size_expression(size, self._labels)) for size in shape]
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


RESERVED = frozenset(
    {
        "FAILURES", "IndexError", "OutOfRangeError", "SAVED", "abs", "annotations", "bfloat16",
        "chunk",
        "chunks", "extent", "failed", "first", "found", "last", "main", "math", "max", "min",
        "njit", "np", "objmode", "pathlib", "range", "run", "saved", "status", "sys", "type",
    }
)  # fmt: skip
"""Names of an exported file that mean something else than a user's array."""


def _without_blas(unit: Function) -> Function:
    """A unit without the address of the BLAS."""

    def change(one: Record) -> Record:
        if isinstance(one, Function):
            kept = tuple([given for given in one.parameters if given.name != "gemm"])
            return replace(one, parameters=kept)
        if isinstance(one, records.Call) and one.operands[:1] == (Name("gemm"),):
            return replace(one, operands=one.operands[1:])
        return one

    found: Function = rewritten(unit, change)
    return found


def _number(value: float) -> str:
    """A number that reads back as exactly this one."""
    return repr(value) if np.isfinite(value) else f"float({str(value)!r})"
