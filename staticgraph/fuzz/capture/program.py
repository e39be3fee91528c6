"""Functions of tensors as plain data, and as Python.

A program is {"steps": [...], "results": [...], "again": [2, 5]}: steps as those of the campaign
`eager`, of which the leaves are the function's arguments; the names that it returns; and a size
that is another one in a second call, or null. Further keys of a step:

    "if": ["$a", 0, ">", 2]   it is taken if a.shape[0] > 2; its name is that of a otherwise
    "loop": ["$a", 0]        it is repeated a.shape[0] times, from a to its own result

Among arguments, {"size": ["$a", 0]} is a.shape[0], and {"copy": ["$a"]} is a.clone().
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager import program as eager
from staticgraph.fuzz.eager.program import Step, names
from staticgraph.fuzz.eager.script import indented, leaf, statement, text
from staticgraph.fuzz.eager.simplify import renamed

FILE = "user.py"
"""What the function stands in, so that a refusal can name its line."""


def leaves(program: Program) -> list[Step]:
    """The steps that are arguments."""
    return [step for step in program["steps"] if step["do"] == "leaf"]


def mend(program: Program) -> Program | None:
    """The program without what reads or returns a name that is not bound."""
    mended = eager.mend(program)
    if mended is None:
        return None
    bound = {name for step in mended["steps"] for name in names(step)}
    results = [name for name in program["results"] if name in bound]
    return {**mended, "results": results} if results and leaves(mended) else None


def source(program: Program) -> str:
    """The function `f`."""
    arguments = ", ".join(step["name"] for step in leaves(program))
    body = [written(step) for step in program["steps"] if step["do"] != "leaf"]
    results = ", ".join(f"{name!r}: {name}" for name in program["results"])
    return f"def f({arguments}):\n{indented(chr(10).join([*body, f'return {{{results}}}']))}\n"


def lines(program: Program) -> Iterator[tuple[Step, int, int]]:
    """The steps of the function, each with its first and last line in `source`."""
    first = 2
    for step in program["steps"]:
        if step["do"] != "leaf":
            last = first + written(step).count("\n")
            yield step, first, last
            first = last + 1


def name_of(step: Step) -> str | None:
    """The public name that a step is of, as `Tensor.name` if it is a method or an attribute."""
    if step["do"] in ("method", "attribute"):
        return "Tensor." + str(step["of"])
    return str(step["of"]) if step["do"] == "function" else None


def written(step: Step) -> str:
    """A step as statements."""
    if "if" in step:
        given, axis, operator, size = step["if"]
        name = text(given)
        condition = f"if {name}.shape[{axis}] {operator} {size}:\n"
        return f"{step['name']} = {name}\n{condition}{indented(statement(step))}"
    if "loop" in step:
        given, axis = step["loop"]
        name = text(given)
        repeated = renamed(step, {given: "$" + step["name"]})
        head = f"{step['name']} = {name}\nfor _ in range({name}.shape[{axis}]):\n"
        return head + indented(statement(repeated))
    return statement(step)


def resized(program: Program) -> Program:
    """The program with the leaves of the second call."""
    old, new = program["again"]
    return {**program, "steps": [_resized(step, old, new) for step in program["steps"]]}


def _resized(step: Step, old: int, new: int) -> Step:
    if step["do"] != "leaf":
        return step
    shape = [new if size == old else size for size in step["shape"]]
    count = 1
    for size in shape:
        count *= size
    values: list[Any] = step["values"] or [1]
    return {**step, "shape": shape, "values": [values[i % len(values)] for i in range(count)]}


def script(program: Program) -> str:
    """The function, and its results both ways."""
    options = "debug=True" if program.get("mode") == "debug" else ""
    lines = ["import dynamic as torch", "import staticgraph as sg", "", "", source(program), ""]
    lines += [f"captured = sg.function(f, {options})" if options else "captured = sg.function(f)"]
    calls = [program, resized(program)] if program.get("again") else [program]
    for one in calls:
        given = ", ".join(leaf(step) for step in leaves(one))
        for name in ("f", "captured"):
            lines += ["torch.manual_seed(0)", f"print({name}({given}))"]
    return "\n".join(lines) + "\n"
