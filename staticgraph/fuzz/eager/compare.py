"""What differs between two answers of machines, as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager import explained, unpromised
from staticgraph.fuzz.eager.program import Step, names
from staticgraph.fuzz.eager.unpromised import HUGE

Answer = dict[str, Any]

STABLE = re.compile(
    "one of the variables needed|a view of a leaf|a leaf Variable|Trying to backward|element . of"
    "|Output . of|A view was created|Inplace update to inf|you can only change|can't retain_grad"
    "|cannot register|Can't detach|The differentiated|One of the different|Inference tensors cannot"
)
"""Beginnings of messages that are the same in both libraries."""
STARTED = re.compile("one of the variables needed|Trying to backward")
"""Errors in the midst of a backward pass: what it had done by then is no promise."""
BEYOND = re.compile(
    "unsupported operation: some elements of the input|Inplace update to inf"
    "|Trying to use a saved tensor that has been detached in-place"
    r"|Function [\w:]+ returned an invalid gradient at index"
    "|.* INTERNAL ASSERT FAILED|the derivative for .* is not implemented"
    "|Inference tensors do not track version counter"
)
"""What PyTorch refuses and `dynamic` computes, or refuses only after it has written: the simulation
of memory says what is right. A node of `dynamic` saves memory, no tensors, and so needs not know
that one was detached or has another shape since."""
SIGNS = ("sign", "sign_", "sgn", "sgn_")
"""The sign of NaN is NaN, as NumPy and JAX have it; PyTorch says 0."""
NAMED = re.compile(r"^Output \d+ of \w+")
"""Which ops others are made of, and so the names of nodes, is no promise."""
SAME = 20  # characters of a stable message
UNPROMISED = ("_version", "_is_view", "base", "is_contiguous")
"""What no library promises of a gradient."""
ROOM = {"float64": 1e-8, "float32": 2e-3}


def differences(
    program: Program, found: Answer, expected: Answer, end: int | None = None
) -> Iterator[str]:
    """What differs, in order: the first line says in what way, those below the values.

    `end`: the step from which on PyTorch promises nothing.
    """
    if any(step.get("of") in SIGNS for step in program["steps"]):
        expected = _with_nan(expected, found)
    rough = any("float32" in json.dumps(step) for step in program["steps"])
    gradients = {name for step in program["steps"] if is_gradient(step) for name in names(step)}
    loose, strided = _unpromised(program, found, expected, gradients)
    copies = unpromised.copied_if_strided(program, strided, expected)
    ends = {end, *explained.ends(program, found, copies)}

    def look(name: str, ours: Answer, theirs: Answer) -> Iterator[str]:
        if name in gradients:  # of which ops a pass makes them is no promise
            ours, theirs = (
                {**one, "grad_fn": one["grad_fn"] and "a node"} for one in (ours, theirs)
            )
        return _state(ours, theirs, name, loose, (program["mode"] == "names", rough))

    for number, (ours, theirs) in enumerate(zip(found["steps"], expected["steps"], strict=True)):
        step = program["steps"][number]
        if number in ends or (isinstance(theirs, dict) and BEYOND.match(theirs.get("text", ""))):
            return
        if explained.stops(program, step, ours, theirs, expected, strided):
            return
        if step["do"] == "look" and isinstance(ours, str) and isinstance(theirs, str):
            yield from look(step["args"][0][1:], json.loads(ours), json.loads(theirs))
            continue
        wrong = _step(ours, theirs)
        nowhere = explained.place_of_nothing(step, ours, theirs, expected, strided)
        if wrong is not None and not nowhere:
            yield f"{step['do']}: {wrong}\nstep {number}: {json.dumps(step)}\n{ours}\n{theirs}"
            if isinstance(ours, dict) or isinstance(theirs, dict):
                return
        if isinstance(ours, dict) and STARTED.match(theirs.get("text", "")):
            return
    for name, theirs in expected["values"].items():
        mine = found["values"].get(name)
        if mine is None:
            yield f"a name is not bound\n{name}"
        elif name not in gradients | copies or "same" not in theirs | mine:
            yield from look(name, mine, theirs)
    if not loose["elements"]:
        yield from _hooks(found, expected, rough)


def _unpromised(
    program: Program, found: Answer, expected: Answer, gradients: set[str]
) -> tuple[dict[str, set[str]], set[str]]:
    """Per part of a state the names of which it may differ, and what may be in another order."""
    loose = {part: set(gradients) for part in UNPROMISED}
    loose["_version"] |= unpromised.written_inside(program, expected)
    loose["_version"] |= unpromised.held_as_gradient(program, expected)
    for part in ("_is_view", "base"):
        loose[part] |= unpromised.views_of_temporaries(program, found, expected)
    strided = unpromised.computed_from_strided(program, found, expected)
    loose["is_contiguous"] |= strided
    copies = unpromised.copied_if_strided(program, strided, expected)
    for part in UNPROMISED:
        loose[part] |= copies
    loose["is_inference"] = unpromised.given_data(program)
    if any("inference_mode" in step.get("modes", ()) for step in program["steps"]):
        loose["_version"] |= loose["is_inference"]
    shaped = unpromised.shaped_in_place(program)
    loose["grad_fn"] = loose["is_leaf"] = shaped | copies
    loose["requires_grad"] = copies  # a view made without recording says that of its base
    grown = unpromised.grown(program, expected)
    loose["elements"] = unpromised.gradients_of_shaped(program) | grown
    loose["grad"] = unpromised.retained_of_shape(program)
    loose["grad"] |= unpromised.of_one_memory(program, expected)
    if grown:
        loose["grad"] |= set(expected["values"])
        loose["elements"] |= gradients
    joined = unpromised.without_history(program, expected)
    loose["grad requires grad"] = joined
    for part in ("requires_grad", "grad_fn", "is_leaf"):
        loose[part] = loose.get(part, set()) | (joined & gradients)
    return loose, strided


def _with_nan(expected: object, found: object) -> Any:
    """What is expected, but NaN where NaN was found instead of a number."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {name: _with_nan(one, found.get(name)) for name, one in expected.items()}
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [_with_nan(*both) for both in zip(expected, found, strict=True)]
    return "nan" if found == "nan" and isinstance(expected, float | str) else expected


def is_gradient(step: Step) -> bool:
    """Whether a step gives gradients, whose versions and memory no library promises."""
    return step.get("of") in ("grad", "autograd.grad")


def _step(ours: object, theirs: object) -> str | None:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if ("unbound" in ours) != ("unbound" in theirs):
            return "bound in one only"
        if "unbound" in ours:
            return None
        return _errors(ours, theirs)
    if isinstance(ours, dict):
        return f"raises {_said(ours)}, where PyTorch does not"
    if isinstance(theirs, dict):
        return f"does not raise, where PyTorch raises {_said(theirs)}"
    return None if alike(ours, theirs, ROOM["float32"]) else "gives another value"


def _said(error: Answer) -> str:
    if "unbound" in error:
        return "nothing: a name is not bound"
    return f"{error['error'][0]}: {' '.join(re.sub('[^A-Za-z_ ]', ' ', error['text']).split()[:8])}"


def _errors(ours: Answer, theirs: Answer) -> str | None:
    if theirs["error"][0] not in ours["error"]:
        return f"raises {_said(ours)}, PyTorch raises {_said(theirs)}"
    stable = STABLE.match(theirs["text"])
    texts = [NAMED.sub("Output of a node", one["text"])[:SAME] for one in (ours, theirs)]
    if stable and texts[0] != texts[1]:
        return f"says {_said(ours)}, PyTorch says {_said(theirs)}"
    return None


def _state(
    ours: Answer, theirs: Answer, name: str, loose: Any, options: tuple[bool, bool]
) -> Iterator[str]:
    for part in theirs | ours:
        one, other = ours.get(part), theirs.get(part)
        if name not in loose.get(part, ()) and not _same(part, one, other, *options):
            yield f"{_title(part, one, other)} differs from PyTorch\n{name}\n{one}\n{other}"


def _hooks(found: Answer, expected: Answer, rough: bool) -> Iterator[str]:
    both = f"{found['hooks']}\n{expected['hooks']}"
    if len(found["hooks"]) != len(expected["hooks"]):
        yield f"another number of hooks ran\n{both}"
    for ours, theirs in zip(found["hooks"], expected["hooks"], strict=False):
        if ours[0] != theirs[0]:
            yield f"hooks run in another order\n{both}"
            return
        if not same_elements(ours[1], theirs[1], rough):
            yield f"a hook sees another gradient\n{ours}\n{theirs}"


def _title(part: str, ours: object, theirs: object) -> str:
    """What differs; names are part of the kind of failure."""
    return f"{part} {ours} {theirs}" if part in ("grad_fn", "base") else part


def _same(part: str, ours: object, theirs: object, named: bool, rough: bool) -> bool:
    if part in ("elements", "grad"):
        return same_elements(ours, theirs, rough)
    if part == "grad_fn" and not named:
        return _kind(ours) == _kind(theirs)
    return bool(ours == theirs)


def _kind(node: object) -> Any:
    """Of a node what does not depend on which ops are made of others."""
    return node if not isinstance(node, str) or "CopySlices" in node else "a node"


def same_elements(ours: Any, theirs: Any, rough: bool = False) -> bool:
    """Whether shape, dtype and values are the same, these up to rounding.

    `rough`: up to that of float32, as they may have been rounded to it on the way.
    """
    if ours is None or theirs is None or "error" in ours or "error" in theirs:
        return bool(ours == theirs)
    if ours["shape"] != theirs["shape"] or ours["dtype"] != theirs["dtype"]:
        return False
    dtype = "float32" if rough and ours["dtype"] == "float64" else ours["dtype"]
    return alike(ours["values"], theirs["values"], ROOM.get(dtype, 0.0))


def alike(ours: object, theirs: object, room: float) -> bool:
    """Whether numbers, or lists of them, are the same up to rounding."""
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return False
        scale = max((abs(one) for one in theirs if isinstance(one, int | float)), default=1.0)
        return all(_near(one, other, room, scale) for one, other in zip(ours, theirs, strict=True))
    return _near(ours, theirs, room, 1.0)


def _near(ours: object, theirs: object, room: float, scale: float) -> bool:
    if isinstance(ours, list) or isinstance(theirs, list):
        return alike(ours, theirs, room)
    if type(ours) is not float or type(theirs) is not float:
        huge = any(type(one) is float and abs(one) > HUGE for one in (ours, theirs))
        return bool(ours == theirs) or huge
    return abs(ours - theirs) <= room * max(1.0, scale, abs(theirs)) or abs(theirs) > HUGE
