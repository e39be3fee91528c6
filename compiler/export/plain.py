"""A kernel as plain Python in this process: the functions of an exported file, without Numba.

The text has the units and `run`, with the user's names and lines; each call of a unit has a unit of
its own, so that no line of it belongs to two of the user's. What they call (`fsum`, `sigmoid`,
`flat`) is a module of its own, into which a debugger need not go.
"""

from __future__ import annotations

import itertools
import linecache
import math
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.codegen.bytecode import HostCall
from staticgraph.compiler.codegen.comments import Comments, Row
from staticgraph.compiler.codegen.kernel import emit
from staticgraph.compiler.codegen.naming import Names
from staticgraph.compiler.core.dims import Unknown, evaluate
from staticgraph.compiler.core.errors import OutOfRangeError, StaticGraphError, located
from staticgraph.compiler.core.op import op_named
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.source import is_line, place_of
from staticgraph.compiler.core.types import mapped
from staticgraph.compiler.export.functions import all_names, definitions
from staticgraph.compiler.export.hosts import host_name
from staticgraph.compiler.export.kernel_file import KernelFile
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.ir.walk import scalars_of

if TYPE_CHECKING:
    from staticgraph.compiler.inspect.kernel_runner import KernelRunner

LIBRARY = "staticgraph_kernel_library"
"""What the module of the functions that units call is named, for debuggers that pass it over."""

HEAD = '''"""The kernel of a compiled graph as plain Python, one function per group of ops.

`run` calls them. An array is its elements in a row, in row-major order: of x with the sizes (n, 4)
the element [i, j] is x[i * 4 + j]. What follows a statement is the op, or your name for its value,
and your line.
"""

from __future__ import annotations

import numpy as np'''


@frozen(eq=False)
class Plain:
    """A kernel as a Python function.

    Attributes:
        run: the function: `run(*inputs, **variables)`, a tuple of arrays unless there is one.
        file: the name under which its text is found, by tracebacks and debuggers.
        rows: its lines.
        nodes: the nodes by these numbers.
        names: what the user calls their values, of some.
        variables: the names that `run` gives to the variables, in the order of the runner's.
        defined: the nodes of the graph as it was defined, by the user's names for their values.
        comments: what is said of nodes.
    """

    run: Callable[..., Any]
    file: str
    rows: tuple[Row, ...]
    nodes: Mapping[int, Node]
    names: Mapping[int, str]
    variables: tuple[str, ...]
    defined: Mapping[str, int]
    comments: Comments

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(f"{row.line}\n" for row in self.rows)

    def forget(self) -> None:
        """Its text need not be found any more."""
        linecache.cache.pop(self.file, None)


def plain(runner: KernelRunner, sizes: Mapping[Unknown, int]) -> Plain:
    """The kernel of a runner as plain Python, for inputs of these sizes."""
    kernel = emit(runner.lowered, not runner.options.fuse, shared=False)
    file = KernelFile(runner, kernel, turns=True)
    steps = {host_name(one): one for one in kernel.hosts}
    calls = {one.at: f"{name}({{}})" for name, one in steps.items()}
    driver = file.driver(calls, OutOfRangeError.__name__)
    run = list(file.run(driver))
    parts: list[Sequence[Row]] = [[*map(Row, HEAD.split("\n"))]]
    if driver.failing:
        parts.append([*map(Row, file.failures(driver.failing))])
    parts += [file.unit(i) for i in range(len(kernel.units))]
    parts.append([Row(line, _computed(line, steps)) for line in run])
    rows = tuple(_apart(parts))
    nodes = file.comments.nodes
    name = _free_name(runner.name)
    text = "".join(f"{row.line}\n" for row in rows)
    module: dict[str, Any] = {**_library(), **dict(file.elements()), "__name__": name}
    module[OutOfRangeError.__name__] = OutOfRangeError
    narrow = {
        one.dtype.name: one.dtype.type for one in kernel.memory.slots if one.dtype.kind == "V"
    }
    module |= narrow
    module |= {one.symbol: one.function for one in scalars_of(kernel.units)}
    module |= {key: _host(one, sizes, nodes[one.node]) for key, one in steps.items()}
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), module)
    weakref.finalize(module["run"], linecache.cache.pop, name, None)  # a traceback may hold it
    names, variables = file.comments.names, tuple(file.variables)
    return Plain(
        module["run"], name, rows, nodes, names, variables, _defined(file), file.comments
    )  # fmt: skip


def _defined(file: KernelFile) -> dict[str, int]:
    """The nodes of a graph as it was defined by the names of their values, of several the last."""
    definition = file.runner.definition
    given = {node.id: node.name for node in definition.nodes if node.name}
    named = file.comments.assigned_in(definition) | given
    return {name: number for number, name in sorted(named.items())}


def _apart(parts: Sequence[Sequence[Row]]) -> Iterator[Row]:
    """The lines of definitions below one another, apart by two empty lines."""
    for i, part in enumerate(parts):
        yield from [Row("")] * (2 if i else 0)
        yield from part


def _computed(line: str, steps: Mapping[str, HostCall]) -> int | None:
    """The node that a line of `run` computes: that of a host step that it calls."""
    if line.lstrip().startswith("#"):
        return None
    return next((one.node for name, one in steps.items() if f"{name}(" in line), None)


def _free_name(title: str) -> str:
    """A name for a text that no other one has which is in use."""
    name = Names(()).new(title, "compiled_function")
    for number in itertools.count(1):
        found = f"<kernel {name}>" if number == 1 else f"<kernel {name} {number}>"
        if found not in linecache.cache:
            return found
    raise AssertionError("counting does not end")


@cache
def _library() -> Mapping[str, Any]:
    """The functions that units call, as Python that is not compiled."""
    module: dict[str, Any] = {
        "np": np, "math": math, "sys": sys, "njit": _not_compiled, "objmode": nullcontext,
        "__name__": LIBRARY,
    }  # fmt: skip
    file = f"<{LIBRARY}>"
    text = definitions(all_names())
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), module)
    return module


def _not_compiled(*_signature: str, **_options: object) -> Callable[[Any], Any]:
    """What Numba's decorator is here: the function stays what it is."""
    return lambda function: function


def _host(call: HostCall, sizes: Mapping[Unknown, int], node: Node) -> Callable[..., Any]:
    """A host step: the op's function of arrays with its attributes for some sizes."""
    evaluated = op_named(call.op).value
    attrs = {name: mapped(value, lambda size: evaluate(size, sizes)) for name, value in call.attrs}

    def step(*operands: Any) -> Any:
        for one in operands:
            one.setflags(write=False)  # an op is pure: what it reads, others read too
        try:
            return evaluated(*operands, **attrs)
        except StaticGraphError as error:
            raise located(error, node.source, f"{error} ({node.source})") from error
        except Exception as error:
            error.add_note(f"in {call.op} ({node.source})")
            raise

    return step


def comes_from(node: Node, line: str) -> bool:
    """Whether a node is of the user's line, which is given as the end of `file:line`."""
    return is_line(place_of(node.source), line)
