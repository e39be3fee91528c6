"""Differences from PyTorch that are known, each as narrow as what is known of it."""

from __future__ import annotations

from typing import Any

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager.program import Step, names, reads

Answer = dict[str, Any]


def refused_as_leaf(step: Step, theirs: Any, expected: Answer) -> bool:
    """Whether PyTorch refuses to overwrite a view as a leaf, of which it says that it is none.

    It has not yet noticed that what requires gradients was written to the view's base: if the
    program asks for `view.grad_fn` first, the same step works, as it does in `dynamic`.
    """
    if not isinstance(theirs, dict) or not theirs.get("text", "").startswith("a leaf Variable"):
        return False
    target = _state(expected, step["args"][0][1:])
    return target.get("_is_view") is True and target.get("is_leaf") is False


def written_inside(program: Program, expected: Answer) -> set[str]:
    """The names whose memory PyTorch counts as overwritten once by the op that makes it.

    `matmul` of a vector and a matrix ends in `squeeze_`; and an op on an inference tensor does not
    go through the layer that keeps what it overwrites inside from being counted.
    """
    found: set[str] = set()
    for step in program["steps"]:
        read = reads(step.get("args", []))
        inside = step.get("of") == "matmul" or any(
            _state(expected, one).get("is_inference") is True for one in read
        )
        in_place = str(step.get("of", "")).endswith("_")
        shares = step.get("of") in ("detach", "data")
        for name in names(step):
            shares = shares or _state(expected, name).get("_is_view") is True
            if (inside and not in_place) or (shares and read & found):
                found.add(name)
    return found


def computed_from_strided(program: Program, found: Answer, expected: Answer) -> set[str]:
    """The names of what was computed from tensors that are not in row-major order.

    In which order the result is, is up to NumPy here, and to PyTorch's iterators there.
    """
    made: set[str] = set()
    for step in program["steps"]:
        read = reads(step.get("args", []))
        strided = read & made or any(
            _state(answer, one).get("is_contiguous") is False
            for one in read
            for answer in (found, expected)
        )
        for name in names(step):
            view = _state(expected, name).get("_is_view")
            if read & made if view else strided:
                made.add(name)
    return made


def held_as_gradient(program: Program) -> set[str]:
    """The names whose memory the program has made the gradient of a leaf.

    One pass may add to it several times here, where PyTorch first adds up what it adds.
    """
    made = {name: step for step in program["steps"] for name in names(step)}
    found: set[str] = set()
    for step in program["steps"]:
        if step["do"] == "assign" and step["of"] == "grad" and isinstance(step["args"][1], str):
            name = step["args"][1][1:]
            found.add(name)
            while name in made and made[name].get("of") in ("detach", "data"):
                name = made[name]["args"][0][1:]
                found.add(name)
    return found


def place_of_nothing(step: Step, ours: Any, theirs: Any, expected: Answer) -> bool:
    """Whether all that differs is where elements would be that the tensor has not.

    NumPy has no steps and no offset for an array without elements, and steps of its own for axes
    of one.
    """
    shape = _state(expected, step["args"][0][1:]).get("elements", {}).get("shape")
    if step.get("of") not in ("stride", "storage_offset") or shape is None:
        return False
    if 0 in shape:
        return True
    if not isinstance(ours, list) or len(ours) != len(shape):
        return False
    return all(a == b or n == 1 for n, a, b in zip(shape, ours, theirs, strict=True))


def _state(answer: Answer, name: str) -> Answer:
    state: Answer = answer["values"].get(name, {})
    return answer["values"][state["same"]] if "same" in state else state
