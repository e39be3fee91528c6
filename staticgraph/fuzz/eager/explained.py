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
        for name in names(step):
            if _state(expected, name).get("_is_view") is True:
                inside = bool(read & found)
            if inside and not str(step.get("of", "")).endswith("_"):
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
        if strided:
            made |= {one for one in names(step) if not _state(expected, one).get("_is_view")}
    return made


def _state(answer: Answer, name: str) -> Answer:
    state: Answer = answer["values"].get(name, {})
    return answer["values"][state["same"]] if "same" in state else state
