"""Programs on tensors as plain data.

A program is {"steps": [...]}, and after it was stored perhaps "expected", what PyTorch makes of it.
A step does one thing; "name" is what its tensor is bound to, "item" which one of several:

    {"do": "leaf", "name": "a", "shape": [2], "dtype": "float64", "values": [1.0, 2.0],
     "requires_grad": true}
    {"do": "method", "of": "mul_", "args": ["$a", 2.0], "options": {}, "name": "b"}
    {"do": "function", "of": "autograd.grad", "args": ["$c", ["$a"]], "name": ["d"]}
    {"do": "get", "args": ["$a", {"tuple": [0, {"slice": [1, null, 2]}]}], "name": "e"}
    {"do": "set", "args": ["$a", {"ellipsis": 1}, "$b"]}
    {"do": "attribute", "of": "grad", "args": ["$a"], "name": "f"}
    {"do": "assign", "of": "grad", "args": ["$a", null]}
    {"do": "augment", "of": "+=", "args": ["$a", 1.0]}
    {"do": "hook", "of": "register_hook", "args": ["$a"], "label": "h", "scale": 2.0}
    {"do": "remove", "of": "h"}
    {"do": "delete", "args": ["$a"]}
    {"do": "look", "args": ["$a"]}

"modes" are those that a step runs in: "no_grad", "enable_grad", "inference_mode". Among arguments,
"$a" is a tensor, and an object of one key what JSON has no form for: {"slice": [...]},
{"tuple": [...]}, {"ellipsis": 1}, {"dtype": "float64"}, {"tensor": [[0, 1], "int64"]}.
"""

from __future__ import annotations

from typing import Any

from staticgraph.fuzz.campaign import Program

Step = dict[str, Any]


def names(step: Step) -> list[str]:
    """The names that a step binds."""
    name = step.get("name", [])
    return [name] if isinstance(name, str) else list(name)


def reads(given: object) -> set[str]:
    """The names that arguments read."""
    if isinstance(given, str):
        return {given[1:]} if given.startswith("$") else set()
    if isinstance(given, list):
        return set().union(*map(reads, given))
    if isinstance(given, dict):
        return set().union(*map(reads, given.values()))
    return set()


def mend(program: Program) -> Program | None:
    """The program without what reads a name that is not bound; what was expected is not known."""
    bound: set[str] = set()
    labels: set[str] = set()
    steps = []
    for step in program["steps"]:
        if not reads(list(step.values())) <= bound:
            continue
        if step["do"] == "remove" and step["of"] not in labels:
            continue
        steps.append(step)
        bound.update(names(step))
        if step["do"] == "delete":
            bound.discard(step["args"][0][1:])
        if step["do"] == "hook":
            labels.add(step["label"])
    rest = {key: value for key, value in program.items() if key != "expected"}
    return {**rest, "steps": steps} if steps else None
