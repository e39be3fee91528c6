"""Differences from PyTorch that are known, each as narrow as what is known of it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager.numpy_ops import SHAPES_IN_PLACE
from staticgraph.fuzz.eager.program import Step, names, reads
from staticgraph.fuzz.eager.unpromised import (
    PASSES,
    made_in_inference,
    shaped_in_place,
    state_of,
    without_history,
)

Answer = dict[str, Any]


def ends(program: Program, found: Answer, copies: set[str]) -> tuple[int | None, ...]:
    """The steps from which on nothing is compared, each for a reason that its function tells."""
    return (
        replaced_after_saved(program, found),
        written_twice(program),
        written_if_copied(program, copies),
        shaped_nothing(program),
        tracked_again(program),
        detached_base(program),
    )


def stops(
    program: Program, step: Step, ours: object, theirs: object, expected: Answer, strided: set[str]
) -> bool:
    """Whether a step is the first that differs, for a reason that one of these tells."""
    return (
        refused_as_leaf(step, theirs, expected)
        or written_in_part(step, theirs)
        or left_as_leaf(step, ours, theirs, expected)
        or taken_as_leaf(step, ours, theirs, expected)
        or refused_twice(ours, theirs)
        or refused_reshaped(step, ours, theirs, shaped_in_place(program))
        or order_of_strided(step, ours, theirs, strided)
        or refused_hook(step, ours, theirs)
        or seen_elsewhere(ours)
        or run_for_nothing(program, step, ours, theirs, expected)
        or computed_again(ours, theirs)
        or saved_promoted(program, theirs)
        or axis_of_nothing(step, ours, theirs)
        or (said_without_history(theirs) and bool(without_history(program, expected)))
    )


def refused_as_leaf(step: Step, theirs: object, expected: Answer) -> bool:
    """Whether PyTorch refuses to overwrite a view as a leaf, of which it says that it is none.

    It has not yet noticed that what requires gradients was written to the view's base: if the
    program asks for `view.grad_fn` first, the same step works, as it does in `dynamic`.
    """
    if not isinstance(theirs, dict) or not theirs.get("text", "").startswith("a leaf Variable"):
        return False
    target = state_of(expected, step["args"][0][1:])
    return target.get("_is_view") is True and target.get("is_leaf") is False


def left_as_leaf(step: Step, ours: object, theirs: object, expected: Answer) -> bool:
    """Whether PyTorch takes `requires_grad_(False)` of such a view, as of a leaf.

    Of a view that is deleted later, the state is not known.
    """
    if step.get("of") != "requires_grad_" or not isinstance(ours, dict) or theirs is not None:
        return False
    target = state_of(expected, step["args"][0][1:])
    stale = target.get("_is_view", True) is True and target.get("is_leaf", False) is False
    return stale and ours.get("text", "").startswith("you can only change requires_grad flags")


def refused_twice(ours: object, theirs: object) -> bool:
    """Whether a view that was saved was changed in two ways that forbid a reverse pass.

    Its version is another, which `dynamic` says; and its base was overwritten, though it was made
    without gradients or among several views: PyTorch looks at that first. So it does where such a
    view is written to an inference tensor.
    """
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return False
    text = theirs.get("text", "")
    if text.startswith(("Inference tensors cannot be saved", "a leaf Variable that requires grad")):
        return True  # after what is wrong with the operands, here
    viewed = text.startswith("A view was created in") or re.match(
        r"Output \d+ of \w+ is a view", text
    )
    return bool(viewed) and ours.get("text", "").startswith(
        ("one of the variables needed", "Inplace update to inference tensor")
    )


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


def written_if_copied(program: Program, copies: set[str]) -> int | None:
    """The first step that overwrites what one library may have copied, and the other not."""
    for number, step in enumerate(program["steps"]):
        of = str(step.get("of", ""))
        writes = of.endswith("_") or step["do"] in ("set", "augment")
        if writes and step["args"][0][1:] in copies:
            return number
    return None


def order_of_strided(step: Step, ours: object, theirs: object, strided: set[str]) -> bool:
    """Whether a view depends on the order of what was computed from what is in another order."""
    said = [one.get("text", "") for one in (ours, theirs) if isinstance(one, dict)]
    read = reads(step.get("args", []))
    return bool(read & strided) and any(one.startswith("view size is not") for one in said)


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


def refused_reshaped(step: Step, ours: object, theirs: Any, shaped: set[str]) -> bool:
    """Whether PyTorch takes a view for overwritten that got another shape without recording."""
    text = theirs.get("text", "") if isinstance(theirs, dict) else ""
    viewed = text.startswith(("Output ", "A view was created in"))
    return viewed and not isinstance(ours, dict) and bool(reads(step.get("args", [])) & shaped)


def shaped_nothing(program: Program) -> int | None:
    """The first reverse pass after a leaf without elements got another shape under its graph.

    A gradient of the old shape goes to it there, and one of the new here.
    """
    leaves = {
        step["name"]
        for step in program["steps"]
        if step["do"] == "leaf" and 0 in step["shape"] and step["requires_grad"]
    }
    shaped = False
    for number, step in enumerate(program["steps"]):
        of = str(step.get("of", ""))
        if of.endswith("_") and of[:-1] in SHAPES_IN_PLACE and reads(step["args"]) & leaves:
            shaped = True
        elif shaped and of in PASSES:
            return number
    return None


def taken_as_leaf(step: Step, ours: object, theirs: Any, expected: Answer) -> bool:
    """Whether `requires_grad` is set on a view that has not noticed that it was overwritten.

    Nothing happens: it is no leaf as soon as it is read. PyTorch tells of it if the view was
    written to itself.
    """
    if step.get("of") not in ("requires_grad", "requires_grad_") or ours is not None:
        return False
    if not isinstance(theirs, dict) or not theirs.get("text", "").startswith("you can only change"):
        return False
    return state_of(expected, step["args"][0][1:]).get("_is_view", True) is True


def refused_hook(step: Step, ours: object, theirs: object) -> bool:
    """Whether a view that must not be used any more is refused when a hook is put on it.

    PyTorch refuses it when it is used next.
    """
    text = ours.get("text", "") if isinstance(ours, dict) else ""
    viewed = text.startswith(("Output ", "A view was created in"))
    return step["do"] == "hook" and theirs is None and viewed


def seen_elsewhere(ours: object) -> bool:
    """Whether `dynamic` refuses a view of what has other data now, where PyTorch mixes both."""
    return isinstance(ours, dict) and ours.get("text", "").startswith("a view is outside of the")


def run_for_nothing(
    program: Program, step: Step, ours: object, theirs: object, expected: Answer
) -> bool:
    """Whether PyTorch refuses a pass over a node of which nobody gets what it finds.

    It runs those of intermediate tensors among `inputs`, of which here several may be one, and
    those of views that were made without recording.
    """
    if isinstance(ours, dict) or not isinstance(theirs, dict):
        return False
    unrecorded = any(
        one.get("modes", ("enable_grad",))[-1] != "enable_grad"
        and any(state_of(expected, name).get("_is_view") is not False for name in names(one))
        for one in program["steps"]
    )
    overwritten = theirs.get("text", "").startswith("one of the variables needed")
    return overwritten and (unrecorded or bool(step.get("options", {}).get("inputs")))


def computed_again(ours: object, theirs: object) -> bool:
    """Whether an output was overwritten that is computed again here, and refused by PyTorch."""
    text = theirs.get("text", "") if isinstance(theirs, dict) else ""
    return not isinstance(ours, dict) and "which is output 0 of Cumprod" in text


def saved_promoted(program: Program, theirs: object) -> bool:
    """Whether PyTorch saves an operand, overwritten or of inference mode, that is cast before here.

    What is saved here is what it was cast to.
    """
    text = theirs.get("text", "") if isinstance(theirs, dict) else ""
    if not text.startswith(("one of the variables", "Inference tensors cannot be saved")):
        return False
    dtypes = {step["dtype"] for step in program["steps"] if step["do"] == "leaf"}
    dtypes |= {
        step["args"][1]["dtype"]
        for step in program["steps"]
        if step.get("of") == "to" and isinstance(step["args"][1], dict)
    }
    return len({one for one in dtypes if one.startswith("float")}) > 1


def tracked_again(program: Program) -> int | None:
    """The first step that overwrites or combines what `detach` and `data` make in that case.

    That is, of inference tensors outside of that mode: they may be overwritten. PyTorch does not
    record it, and does not let them be saved; `dynamic` does both.
    """
    found: set[str] = set()
    inferred = made_in_inference(program)
    for number, step in enumerate(program["steps"]):
        read, of = reads(step.get("args", [])), str(step.get("of", ""))
        writes = of.endswith("_") or step["do"] in ("set", "augment", "assign")
        if read & found and (writes or len(read) > 1):
            return number
        outside = "inference_mode" not in step.get("modes", ())
        if (of in ("detach", "data") and outside and read & inferred) or read & found:
            found.update(names(step))
    return None


def detached_base(program: Program) -> int | None:
    """The first reverse pass after `detach_` of a tensor on memory that others have overwritten.

    A view that was overwritten looks for its history when it is read, and then its base has none:
    open, see docs/campaigns.md.
    """
    views: dict[str, set[str]] = {}
    written: set[str] = set()
    detached = False
    for number, step in enumerate(program["steps"]):
        read, of = reads(step.get("args", [])), str(step.get("of", ""))
        for name in names(step):
            views[name] = read | {one for base in read for one in views.get(base, ())}
        if of == "detach_":
            related = read.union(*(views.get(one, set()) for one in read))
            detached = detached or any(related & views.get(one, set()) for one in written)
        elif of.endswith("_") or step["do"] in ("set", "augment"):
            written.add(step["args"][0][1:])
        elif detached and of in PASSES:
            return number
    return None


def said_without_history(theirs: object) -> bool:
    """Whether PyTorch says that nothing depends on what it was asked to differentiate."""
    return isinstance(theirs, dict) and "does not require grad" in theirs.get("text", "")


def axis_of_nothing(step: Step, ours: object, theirs: object) -> bool:
    """Whether PyTorch does not look where nothing is: `roll` at the axis, an index at places."""
    text = ours.get("text", "") if isinstance(ours, dict) else ""
    rolled = step.get("of") == "roll" and text.startswith("Dimension out of range")
    placed = step["do"] == "set" and "is out of bounds for dimension" in text
    return theirs is None and (rolled or placed)


def place_of_nothing(
    step: Step, ours: object, theirs: Any, expected: Answer, strided: set[str]
) -> bool:
    """Whether all that differs is where elements would be that the tensor has not.

    NumPy has no steps and no offset for an array without elements, and steps of its own for axes
    of one. In which order an array is that was computed from one in another order is no promise.
    Of a tensor that is deleted later, the shape is not known.
    """
    if step["do"] != "method" or step["of"] not in ("stride", "storage_offset"):
        return False
    state = state_of(expected, step["args"][0][1:])
    shape = state.get("elements", {}).get("shape", [])
    if not state or 0 in shape or (reads(step["args"]) & strided and isinstance(theirs, list)):
        return True
    if not isinstance(ours, list) or not len(ours) == len(theirs) == len(shape):
        return False
    return all(a == b or n == 1 for n, a, b in zip(shape, ours, theirs, strict=True))
