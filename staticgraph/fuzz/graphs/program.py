"""Programs of ops as plain data, and how they run on anything that has ops.

A program is {"steps": [...], "cases": [...], "seed": n}. A step binds a name, or several:

    {"name": "x", "leaf": "input", "shape": ["n", 3], "dtype": "float32", "values": "plain"}
    {"name": "a", "op": "sum", "args": ["$x"], "options": {"axis": 0}}
    {"name": ["g"], "gradients": "$loss", "wrt": ["$x"]}
    {"output": "$a"}
    {"update": "$v", "to": "$a"}

Among arguments, "$a" is the value of a name, and an object of one key what JSON has no form for:
{"slice": [1, null, 2]}, {"tuple": [...]}, {"ellipsis": 1}, {"float": "inf"}, {"size": ["$x", 0]},
and {"body": {"params": [...], "steps": [...], "returns": ...}}, a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from staticgraph.compiler.core.pytree import leaves
from staticgraph.fuzz.campaign import Program

Step = dict[str, Any]


class World(Protocol):
    """Where a program runs: on expressions, eager tensors, or arrays."""

    def leaf(self, step: Step) -> Any:
        """The value of an input, a variable or a constant."""

    def apply(self, op: str, args: Sequence[object], options: Mapping[str, object]) -> Any:
        """The value of an op."""

    def gradients(self, loss: object, wrt: Sequence[object]) -> Sequence[Any]:
        """The gradients of a scalar."""


def names(step: Step) -> list[str]:
    """The names that a step binds."""
    name = step.get("name", [])
    return [name] if isinstance(name, str) else list(name)


def run(steps: Sequence[Step], world: World, values: dict[str, Any]) -> None:
    """Bind the names of the steps in `values`."""
    for step in steps:
        if "leaf" in step:
            values[step["name"]] = world.leaf(step)
        elif "gradients" in step:
            loss, wrt = decoded([step["gradients"], step["wrt"]], world, values)
            values.update(zip(step["name"], world.gradients(loss, wrt), strict=True))
        elif "op" in step:
            args = decoded(step["args"], world, values)
            options = decoded(step.get("options", {}), world, values)
            bind(step, world.apply(step["op"], args, options), values)


def bind(step: Step, result: object, values: dict[str, Any]) -> None:
    """Bind the names of a step to what it gives, in order if there are several."""
    if isinstance(step["name"], str):
        values[step["name"]] = result
    else:
        values.update(zip(step["name"], leaves(result), strict=True))


def decoded(given: object, world: World, values: Mapping[str, Any]) -> Any:
    """Arguments with values in place of what stands for them."""
    if isinstance(given, str):
        return values[given[1:]] if given.startswith("$") else given
    if isinstance(given, list):
        return [decoded(one, world, values) for one in given]
    if not isinstance(given, dict):
        return given
    match next(iter(given.items()), ("", None)):
        case "slice", parts:
            return slice(*decoded(parts, world, values))
        case "tuple", parts:
            return tuple(decoded(parts, world, values))
        case "ellipsis", _:
            return Ellipsis
        case "float", text:
            return float(text)
        case "size", [name, axis]:
            return values[name[1:]].shape[axis]
        case "body", body:
            return function(body, world, values)
    return {name: decoded(one, world, values) for name, one in given.items()}


def function(
    body: Mapping[str, Any], world: World, around: Mapping[str, object]
) -> Callable[..., Any]:
    """A body as a function, which reads the values around it."""

    def call(*args: Any) -> Any:
        values = dict(around)
        values.update(zip(body["params"], leaves(list(args)), strict=True))
        run(body["steps"], world, values)
        return decoded(body["returns"], world, values)

    return call


def reads(given: object) -> set[str]:
    """The names that arguments, or a whole step, read of what is around them."""
    if isinstance(given, str):
        return {given[1:]} if given.startswith("$") else set()
    if isinstance(given, list):
        return set().union(*map(reads, given))
    if not isinstance(given, dict):
        return set()
    if "body" in given:
        body = given["body"]
        own = {name for step in body["steps"] for name in names(step)} | set(body["params"])
        return (reads(body["steps"]) | reads(body["returns"])) - own
    return set().union(*map(reads, given.values()))


def bodies(given: object) -> Iterator[dict[str, Any]]:
    """The bodies in a step, those in bodies too."""
    if isinstance(given, list):
        for one in given:
            yield from bodies(one)
    elif isinstance(given, dict):
        if "body" in given:
            yield given["body"]
        for one in given.values():
            yield from bodies(one)


def live(steps: Sequence[Step], wanted: set[str]) -> list[Step]:
    """The steps that outputs, updates and the wanted names need."""
    kept = []
    wanted = set(wanted)
    for step in reversed(steps):
        if "output" in step or "update" in step or wanted.intersection(names(step)):
            wanted |= reads(step)
            kept.append(step)
    return kept[::-1]


def mend(program: Program) -> Program | None:
    """The program without what reads a name that is not bound, and without what nobody needs."""
    bound: set[str] = set()
    steps = []
    for step in program["steps"]:
        if reads(step) <= bound:
            steps.append(step)
            bound.update(names(step))
    steps = live(steps, set())
    if not any("output" in step for step in steps):
        return None
    return {**program, "steps": steps}
