"""Whether `dynamic` does with a program what PyTorch does, and what memory and calculus say.

PyTorch is asked where an environment has it, or its stored answer is read. Always: the values are
those of a plain simulation of memory, and errors are raised on purpose.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from staticgraph import dynamic
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager.compare import Answer, alike, differences
from staticgraph.fuzz.eager.machine import Machine
from staticgraph.fuzz.eager.memory import Memory
from staticgraph.fuzz.eager.program import Step
from staticgraph.fuzz.eager.reference import expected

ROOM = 1e-8
ROOM_32 = 1e-3


def check(program: Program) -> str | None:
    """What is wrong, or None."""
    found = Machine(dynamic).run(program)
    answer = expected(program)
    if answer is not None:
        wrong = next(differences(program, found, answer, overlapping(program)), None)
        if wrong is not None:
            return wrong
    return unplanned(program, found) or values(program, found)


def unplanned(program: Program, found: Answer) -> str | None:
    """An exception that no `raise` of the library made."""
    for step, said in zip(program["steps"], found["steps"], strict=True):
        if isinstance(said, dict) and not said.get("planned", True):
            shown = json.dumps(step)
            return f"{said['error'][0]} by accident in {said['place']}\n{said['text']}\n{shown}"
    return None


def overlapping(program: Program) -> int | None:
    """The first step that overwrites a tensor by what it reads elsewhere in it, if there is one.

    Where PyTorch does not refuse, it reads what it has just written, in an order that it does not
    promise; `dynamic` reads all first, as the simulation of memory does.
    """
    memory = Memory()
    for number, step in enumerate(program["steps"]):
        if memory.reads_what_it_writes(step):
            return number
        try:
            memory.do(step)
        except Exception:  # as in `values`
            if _writes(step):
                return None
    return None


def values(program: Program, found: Answer) -> str | None:
    """The first tensor whose values are not those in a simulation of memory."""
    memory = Memory()
    for step, said in zip(program["steps"], found["steps"], strict=True):
        if isinstance(said, dict):
            continue
        try:
            memory.do(step)
        except Exception:  # not known, or what NumPy has no axis for: no promise is broken
            if _writes(step):
                return None
    for name, cell in memory.cells.items():
        state = found["values"].get(name)
        if state is None or "same" in state or "error" in state["elements"]:
            continue
        state = state["elements"]
        room = ROOM_32 if any("float32" in json.dumps(one) for one in program["steps"]) else ROOM
        if state["shape"] != list(cell.array.shape):
            return f"a shape differs from a simulation of memory\n{name}\n{state}\n{cell.array}"
        if not alike(state["values"], _listed(cell.array), room):
            return f"values differ from a simulation of memory\n{name}\n{state}\n{cell.array}"
    return None


def _writes(step: Step) -> bool:
    of = str(step.get("of", ""))
    return step["do"] in ("set", "augment", "assign") or of.endswith("_")


def _listed(array: object) -> list[Any]:
    flat = np.asarray(array).reshape(-1).tolist()
    return [one if not isinstance(one, float) or np.isfinite(one) else str(one) for one in flat]
