"""Differences from PyTorch that are known, each as narrow as what is known of it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager.numpy_ops import COMPUTED
from staticgraph.fuzz.eager.program import Step, names, reads

Answer = dict[str, Any]

PASSES = ("backward", "autograd.backward", "grad", "autograd.grad")
"""What runs a reverse pass."""
ROW_MAJOR = ("contiguous", "reshape", "ravel", "flatten")
"""What gives a tensor in row-major order, and copies one that is in another."""


def refused_as_leaf(step: Step, theirs: object, expected: Answer) -> bool:
    """Whether PyTorch refuses to overwrite a view as a leaf, of which it says that it is none.

    It has not yet noticed that what requires gradients was written to the view's base: if the
    program asks for `view.grad_fn` first, the same step works, as it does in `dynamic`.
    """
    if not isinstance(theirs, dict) or not theirs.get("text", "").startswith("a leaf Variable"):
        return False
    target = _state(expected, step["args"][0][1:])
    return target.get("_is_view") is True and target.get("is_leaf") is False


def left_as_leaf(step: Step, ours: object, theirs: object, expected: Answer) -> bool:
    """Whether PyTorch takes `requires_grad_(False)` of such a view, as of a leaf.

    Of a view that is deleted later, the state is not known.
    """
    if step.get("of") != "requires_grad_" or not isinstance(ours, dict) or theirs is not None:
        return False
    target = _state(expected, step["args"][0][1:])
    stale = target.get("_is_view", True) is True and target.get("is_leaf", False) is False
    return stale and ours.get("text", "").startswith("you can only change requires_grad flags")


def refused_twice(ours: object, theirs: object) -> bool:
    """Whether a view that was saved was changed in two ways that forbid a reverse pass.

    Its version is another, which `dynamic` says; and its base was overwritten, though it was made
    without gradients or among several views: PyTorch looks at that first.
    """
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return False
    text = theirs.get("text", "")
    viewed = text.startswith("A view was created in") or re.match(
        r"Output \d+ of \w+ is a view", text
    )
    return bool(viewed) and ours.get("text", "").startswith("one of the variables needed")


def given_data(program: Program) -> set[str]:
    """The names that the program gave other `data`, and with them what is made of those.

    To PyTorch an inference tensor with the data of another is none; to `dynamic` it stays one.
    """
    found: set[str] = set()
    for step in program["steps"]:
        if step["do"] == "assign" and step["of"] == "data":
            found.add(step["args"][0][1:])
        elif reads(step.get("args", [])) & found:
            found.update(names(step))
    return found


def written_in_part(step: Step, theirs: object) -> bool:
    """Whether PyTorch refuses an index of several places, some of which it has written by then.

    It looks at each place as it comes to it; `dynamic` looks at all of them first.
    """
    if step["do"] != "set" or not isinstance(theirs, dict):
        return False
    key = step["args"][1]
    parts = key["tuple"] if isinstance(key, dict) and "tuple" in key else [key]
    several = any(isinstance(one, list) or (isinstance(one, dict) and "tensor" in one)
                  for one in parts)  # fmt: skip
    return several and "is out of bounds for dimension" in theirs.get("text", "")


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
            shared = (in_place or _shares(step, name, expected)) and read & found
            if shared or (inside and not in_place):
                found.add(name)
    return found


def computed_from_strided(program: Program, found: Answer, expected: Answer) -> set[str]:
    """The names of what was computed from tensors that are not in row-major order.

    In which order the result is, is up to NumPy here, and to PyTorch's iterators there. Of a
    tensor that is deleted later, the order is not known.
    """
    made: set[str] = set()
    for step in program["steps"]:
        read = reads(step.get("args", []))
        strided = read & made or any(
            _state(answer, one).get("is_contiguous", False) is False
            for one in read
            for answer in (found, expected)
        )
        for name in names(step):
            view = _state(expected, name).get("_is_view")
            if read & made if view else strided:
                made.add(name)
    return made


def copied_if_strided(program: Program, strided: set[str]) -> set[str]:
    """The names of what is its operand, or on its memory, unless that is in another order.

    `strided`: the names of what may be in another order in one library only.
    """
    return {
        name
        for step in program["steps"]
        if step.get("of") in ROW_MAJOR and reads(step.get("args", [])) & strided
        for name in names(step)
    }


def replaced_after_saved(program: Program, found: Answer) -> int | None:
    """The first reverse pass after the program changed what a leaf is that an op may have saved.

    That is its `data`, or that it requires gradients, which a pass asks that is recorded itself. A
    node of PyTorch saves the leaf, and so computes with what it is by then; one of `dynamic`
    saves its memory, and computes with what it was.
    """
    used: set[str] = set()
    data = flag = False
    for number, (step, said) in enumerate(zip(program["steps"], found["steps"], strict=True)):
        read = reads(step.get("args", []))
        if isinstance(said, dict):
            continue
        if step["do"] == "assign" and step["args"][0][1:] in used:
            data = data or step["of"] == "data"
            flag = flag or step["of"] == "requires_grad"
        elif step.get("of") == "requires_grad_":
            flag = flag or bool(read & used)
        elif step.get("of") in PASSES:
            if data or (flag and step.get("options", {}).get("create_graph")):
                return number
        elif step["do"] in ("method", "function", "augment"):
            used |= read
    return None


def written_twice(program: Program) -> int | None:
    """The first reverse pass after a tensor was written to one place more than once by an index.

    PyTorch says that its gradient is then wrong: it counts each place as often as it is named. To
    `dynamic` only what is written last has one.
    """
    twice = False
    for number, step in enumerate(program["steps"]):
        if step["do"] == "set" and isinstance(step["args"][2], str):
            key = step["args"][1]
            parts = key["tuple"] if isinstance(key, dict) and "tuple" in key else [key]
            twice = twice or any(_may_repeat(one) for one in parts)
        elif twice and step.get("of") in PASSES:
            return number
    return None


def _may_repeat(index: object) -> bool:
    """Whether places of an index may be one: they are equal, or some are counted from the end."""
    if isinstance(index, dict) and "tensor" in index:
        index = index["tensor"][0] if index["tensor"][1] == "int64" else []
    places = np.asarray(index if isinstance(index, list) else []).reshape(-1)
    signs = {bool(place < 0) for place in places}
    return len(set(places.tolist())) < len(places) or len(signs) > 1


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


def place_of_nothing(step: Step, ours: object, theirs: Any, expected: Answer) -> bool:
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
