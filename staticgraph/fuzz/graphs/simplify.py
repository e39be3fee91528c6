"""Simplifications of a failing program, beside leaving steps out."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.graphs.program import bodies, live, names, reads

_SHORTER = {5: (2, 1), 4: (2, 1), 3: (2, 1), 2: (1,), "n": (3, 1), "m": (2, 1), 6: (3,)}


def simplify(program: Program) -> Iterator[Program]:
    """The boldest first: fewer cases, values in place of operands, bodies, leaves, numbers."""
    yield from _cases(program)
    yield from _replaced(program)
    yield from _bodies(program)
    yield from _leaves(program)
    yield from _options(program)


def _cases(program: Program) -> Iterator[Program]:
    cases = program["cases"]
    for i in range(len(cases)):
        if len(cases) > 1:
            yield {**program, "cases": cases[:i] + cases[i + 1 :]}
    for i, case in enumerate(cases):
        if case["layout"]:
            yield {**program, "cases": [*cases[:i], {**case, "layout": 0}, *cases[i + 1 :]]}


def _replaced(program: Program) -> Iterator[Program]:
    """Without a step, whose name becomes that of a value that it reads."""
    for i, step in reversed(list(enumerate(program["steps"]))):
        if not isinstance(step.get("name"), str) or "leaf" in step:
            continue
        for operand in sorted(reads(step)):
            rest = program["steps"][:i] + _renamed(
                program["steps"][i + 1 :], {step["name"]: operand}
            )
            yield {**program, "steps": rest}


def _renamed(given: object, new: dict[str, str]) -> Any:
    if isinstance(given, str):
        return "$" + new[given[1:]] if given.startswith("$") and given[1:] in new else given
    if isinstance(given, list):
        return [_renamed(one, new) for one in given]
    if isinstance(given, dict):
        return {key: _renamed(one, new) for key, one in given.items()}
    return given


def _bodies(program: Program) -> Iterator[Program]:
    """With a step of a body left out, whose name becomes that of a value that it reads."""
    for i in range(len(list(bodies(program["steps"])))):
        for j, step in enumerate(list(bodies(program["steps"]))[i]["steps"]):
            operands = sorted(reads(step))
            for operand in operands if len(names(step)) == 1 else []:
                made = copy.deepcopy(program)
                body = list(bodies(made["steps"]))[i]
                new = {names(step)[0]: operand}
                body["steps"] = body["steps"][:j] + _renamed(body["steps"][j + 1 :], new)
                body["returns"] = _renamed(body["returns"], new)
                body["steps"] = live(body["steps"], reads(body["returns"]))
                yield made


def _leaves(program: Program) -> Iterator[Program]:
    for i, step in enumerate(program["steps"]):
        if "leaf" not in step:
            continue
        changes: list[dict[str, Any]] = []
        if step["leaf"] != "input":
            changes.append({"leaf": "input"})
        for axis, size in enumerate(step["shape"]):
            for shorter in _SHORTER.get(size, ()):
                shape = [*step["shape"]]
                shape[axis] = shorter
                changes.append({"shape": shape})
        changes += [{"values": kind} for kind in ("ones", "count", "plain")
                    if _RANK[kind] < _RANK[step["values"]]]  # fmt: skip
        if step["dtype"] not in ("float64", "bool"):
            changes.append({"dtype": "float64"})
        for change in changes:
            steps = [*program["steps"]]
            steps[i] = {**step, **change}
            yield {**program, "steps": steps}


_RANK = {"ones": 0, "count": 1, "plain": 2, "index": 2, "extreme": 3}


def _options(program: Program) -> Iterator[Program]:
    for i, step in enumerate(program["steps"]):
        for name in step.get("options", {}):
            rest = {key: value for key, value in step["options"].items() if key != name}
            steps = [*program["steps"]]
            steps[i] = {**step, "options": rest}
            yield {**program, "steps": steps}
