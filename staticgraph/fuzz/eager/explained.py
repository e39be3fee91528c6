"""Differences from PyTorch that are known, each as narrow as what is known of it."""

from __future__ import annotations

from typing import Any

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager.numpy_ops import COMPUTED
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
        for name in names(step):
            shared = _shares(step, name, expected) and read & found
            if shared or (inside and not in_place):
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


def held_as_gradient(program: Program, expected: Answer) -> set[str]:
    """The names whose memory the program has made the gradient of a leaf.

    One pass may add to it several times here, where PyTorch first adds up what it adds.
    """
    found: set[str] = set()
    for step in program["steps"]:
        if step["do"] == "assign" and step["of"] == "grad" and isinstance(step["args"][1], str):
            found.add(step["args"][1][1:])
    for steps in (reversed(program["steps"]), program["steps"]):
        for step in steps:
            for name in names(step):
                group = reads(step.get("args", [])) | {name}
                if _shares(step, name, expected) and group & found:
                    found |= group
    return found


def views_of_temporaries(program: Program, found: Answer, expected: Answer) -> set[str]:
    """The names of what is computed, and which PyTorch has as a view of what nobody can reach."""
    return {
        name
        for step in program["steps"]
        if step["do"] == "method" and step["of"] in COMPUTED
        for name in names(step)
        if _state(expected, name).get("base") == "another"
        and _state(found, name).get("_is_view") is False
    }


def _shares(step: Step, name: str, expected: Answer) -> bool:
    """Whether the name that a step binds is on the memory of what the step reads."""
    return step.get("of") in ("detach", "data") or _state(expected, name).get("_is_view") is True


def place_of_nothing(step: Step, ours: Any, theirs: Any, expected: Answer) -> bool:
    """Whether all that differs is where elements would be that the tensor has not.

    NumPy has no steps and no offset for an array without elements, and steps of its own for axes
    of one.
    """
    if step["do"] != "method" or step["of"] not in ("stride", "storage_offset"):
        return False
    shape = _state(expected, step["args"][0][1:]).get("elements", {}).get("shape", [])
    if 0 in shape:
        return True
    if not isinstance(ours, list) or not len(ours) == len(theirs) == len(shape):
        return False
    return all(a == b or n == 1 for n, a, b in zip(shape, ours, theirs, strict=True))


def _state(answer: Answer, name: str) -> Answer:
    state: Answer = answer["values"].get(name, {})
    return answer["values"][state["same"]] if "same" in state else state
