"""Of which names a part of the state may differ from PyTorch's, each for a reason that is known."""

from __future__ import annotations

import math
from typing import Any

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager.numpy_ops import COMPUTED, FUNCTIONS, SHAPES_IN_PLACE
from staticgraph.fuzz.eager.program import Step, names, reads

Answer = dict[str, Any]

HUGE = 1e8
"""Beyond it, rounding has grown to be seen."""
PASSES = ("backward", "autograd.backward", "grad", "autograd.grad")
"""What runs a reverse pass."""
ROW_MAJOR = ("contiguous", "reshape", "ravel", "flatten")
"""What gives a tensor in row-major order, and copies one that is in another."""


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


def written_inside(program: Program, expected: Answer) -> set[str]:
    """The names whose memory PyTorch counts as overwritten once by the op that makes it.

    `matmul` of a vector and a matrix ends in `squeeze_`; and an op on an inference tensor does not
    go through the layer that keeps what it overwrites inside from being counted.
    """
    found: set[str] = set()
    inferred = made_in_inference(program)
    for step in program["steps"]:
        read = reads(step.get("args", []))
        inside = step.get("of") in ("matmul", "nn.functional.linear") or any(
            one in inferred or state_of(expected, one).get("is_inference") is True for one in read
        )
        in_place = str(step.get("of", "")).endswith("_")
        for name in names(step):
            shared = (in_place or shares(step, name, expected)) and read & found
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
            state_of(answer, one).get("is_contiguous", False) is False
            for one in read
            for answer in (found, expected)
        )
        for name in names(step):
            view = state_of(expected, name).get("_is_view")
            if read & made if view else strided:
                made.add(name)
    return made


def copied_if_strided(program: Program, strided: set[str], expected: Answer) -> set[str]:
    """The names of what is its operand, or on its memory, unless that is in another order.

    `strided`: the names of what may be in another order in one library only.
    """
    found: set[str] = set()
    for step in program["steps"]:
        read = reads(step.get("args", []))
        copied = step.get("of") in (*ROW_MAJOR, "reshape_as") and read & strided
        for name in names(step):
            if copied:
                found |= read & strided  # its version counts what is written to a view
            if copied or (read & found and shares(step, name, expected)):
                found.add(name)
    return found


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
                if shares(step, name, expected) and group & found:
                    found |= group
    return found


def views_of_temporaries(program: Program, found: Answer, expected: Answer) -> set[str]:
    """The names of what is computed, and which PyTorch has as a view of what nobody can reach.

    And of views of that. Of what is computed from inference tensors, or deleted later, it is not
    known.
    """
    computed: set[str] = set()
    inferred = made_in_inference(program)
    for step in program["steps"]:
        read = reads(step.get("args", []))
        makes = step.get("of") in COMPUTED or step.get("of") in FUNCTIONS
        for name in names(step):
            hidden = state_of(expected, name).get("base") == "another"
            apart = state_of(found, name).get("_is_view") is False
            if read & computed or (makes and (read & inferred or (hidden and apart))):
                computed.add(name)
    return computed


def made_in_inference(program: Program) -> set[str]:
    """The names of what is made in inference mode, or of that."""
    found: set[str] = set()
    for step in program["steps"]:
        if "inference_mode" in step.get("modes", ()) or reads(step.get("args", [])) & found:
            found.update(names(step))
    return found


def shaped_in_place(program: Program, recorded: bool = False) -> set[str]:
    """The names of what got another shape in place without being recorded, or in any mode.

    `dynamic` notes it in every mode, so that gradients go to the node that made the tensor in that
    node's shape; PyTorch only where it records, and then refuses some gradients.
    """
    found: set[str] = set()
    for step in program["steps"]:
        of, modes = str(step.get("of", "")), step.get("modes", ())
        records = not modes or modes[-1] == "enable_grad"
        if of.endswith("_") and of[:-1] in SHAPES_IN_PLACE and (recorded or not records):
            found.update((step["args"][0][1:], *names(step)))
    return found


def retained_of_shape(program: Program) -> set[str]:
    """The names of what keeps its gradient, and got another shape in place.

    The gradient has the shape that the tensor has here, and that of before in PyTorch.
    """
    kept: set[str] = set()
    for step in program["steps"]:
        if step.get("of") == "retain_grad":
            kept |= reads(step["args"])
        kept |= reads(step.get("options", {}).get("inputs", []))
    return kept & shaped_in_place(program, recorded=True)


def gradients_of_shaped(program: Program) -> set[str]:
    """The names of gradients by what got another shape in place without being recorded."""
    shaped = shaped_in_place(program)
    return {
        name
        for step in program["steps"]
        if step.get("of") == "autograd.grad"
        for name, wanted in zip(names(step), step["args"][1], strict=True)
        if wanted[1:] in shaped
    }


def grown(program: Program, expected: Answer) -> set[str]:
    """The names of what is computed from numbers so large that rounding is all there is to see."""
    found: set[str] = set()
    for step in program["steps"]:
        for name in names(step):
            values = state_of(expected, name).get("elements", {}).get("values", [])
            huge = any(isinstance(one, float) and abs(one) > HUGE for one in values)
            if huge or reads(step.get("args", [])) & found:
                found.add(name)
    return found


def of_one_memory(program: Program, expected: Answer) -> set[str]:
    """The names of leaves whose gradients may be on one memory in PyTorch, so that they are equal.

    Where `sum` of a number hands on what it got, the next pass adds to both: docs/campaigns.md.
    """
    if sum(step.get("of") in PASSES for step in program["steps"]) < 2:
        return set()
    seen: dict[str, list[str]] = {}
    for step in program["steps"]:
        if step["do"] == "leaf":
            gradient = state_of(expected, step["name"]).get("grad")
            if isinstance(gradient, dict):
                seen.setdefault(str(gradient.get("values")), []).append(step["name"])
    return {name for group in seen.values() if len(group) > 1 for name in group}


def without_history(program: Program, expected: Answer) -> set[str]:
    """The names whose gradient may have no history in PyTorch, because its derivative is 0.

    Those of what has no elements, where `cat` took tensors of shape (0,), and of what has one,
    where that is multiplied by `cumprod`.
    """
    made = {step.get("of") for step in program["steps"]}
    sizes = ({0} if "cat" in made else set()) | ({1} if made & {"cumprod", "cumprod_"} else set())
    return {
        name
        for name in expected["values"]
        if math.prod(state_of(expected, name).get("elements", {}).get("shape", [2])) in sizes
    }


def shares(step: Step, name: str, expected: Answer) -> bool:
    """Whether the name that a step binds is on the memory of what the step reads."""
    return step.get("of") in ("detach", "data") or state_of(expected, name).get("_is_view") is True


def state_of(answer: Answer, name: str) -> Answer:
    """The state of a name's tensor; {} if it is not known."""
    state: Answer = answer["values"].get(name, {})
    return answer["values"][state["same"]] if "same" in state else state
