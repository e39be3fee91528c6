"""Simplifications of a failing program, beside leaving steps out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager.program import Step, reads

SIMPLE = {"method": "mul", "in place": "mul_"}


def simplify(program: Program) -> Iterator[Program]:
    """The boldest first: a value for the step that makes it, fewer modes and options, leaves."""
    yield from _replaced(program)
    for i, step in enumerate(program["steps"]):
        for simpler in (*_plainer(step), *_leaf(step)):
            steps = [*program["steps"]]
            steps[i] = simpler
            yield {**program, "steps": steps}


def _replaced(program: Program) -> Iterator[Program]:
    """Without a step, whose name becomes that of a tensor that it reads."""
    for i, step in reversed(list(enumerate(program["steps"]))):
        if not isinstance(step.get("name"), str):
            continue
        for operand in sorted(reads(step.get("args", []))):
            new = {"$" + step["name"]: "$" + operand}
            rest = [renamed(one, new) for one in program["steps"][i + 1 :]]
            yield {**program, "steps": program["steps"][:i] + rest}


def renamed(given: object, new: dict[str, str]) -> Any:
    """Arguments, or a whole step, with other strings."""
    if isinstance(given, str):
        return new.get(given, given)
    if isinstance(given, list):
        return [renamed(one, new) for one in given]
    if isinstance(given, dict):
        return {key: renamed(one, new) for key, one in given.items()}
    return given


def _plainer(step: Step) -> Iterator[Step]:
    if step.get("modes"):
        yield {**step, "modes": step["modes"][1:]}
    for name in step.get("options", {}):
        yield {**step, "options": {k: v for k, v in step["options"].items() if k != name}}
    if step.get("scale") is not None:
        yield {**step, "scale": None}
    if step["do"] == "method" and step["of"].endswith("_") and step["args"][1:] != [2.0]:
        yield {**step, "of": "mul_", "args": [step["args"][0], 2.0], "options": {}}
    for i, one in enumerate(step.get("args", ())):
        if i and isinstance(one, str) and one.startswith("$"):
            yield {**step, "args": [*step["args"][:i], 2.0, *step["args"][i + 1 :]]}


def _leaf(step: Step) -> Iterator[Step]:
    if step["do"] != "leaf":
        return
    if step["dtype"] == "float32":
        yield {**step, "dtype": "float64"}
    if step["requires_grad"]:
        yield {**step, "requires_grad": False}
    for axis, size in enumerate(step["shape"]):
        if size > 1:
            shape = [*step["shape"]]
            shape[axis] = size - 1
            yield {**step, "shape": shape, "values": _counted(shape)}
        yield _shaped(step, step["shape"][:axis] + step["shape"][axis + 1 :])
    if step["values"] != _counted(step["shape"]):
        yield _shaped(step, step["shape"])


def _shaped(step: Step, shape: list[int]) -> Step:
    return {**step, "shape": shape, "values": _counted(shape)}


def _counted(shape: list[int]) -> list[float]:
    count = 1
    for size in shape:
        count *= size
    return [float(i + 1) for i in range(count)]
