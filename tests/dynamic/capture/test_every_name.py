"""Every public function and method of `dynamic`: captured it is the same, or it is in this list.

The campaign `capture` goes on from here with random programs; here each name is called once, as it
is called eagerly, with its gradient, and nothing is refused that is not expected to be.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import dynamic
import staticgraph as sg
from staticgraph.fuzz.capture.arguments import NAMES
from staticgraph.fuzz.capture.check import arguments, compiled
from staticgraph.fuzz.capture.compare import REFUSED, SAME, SKIPPED, Compared, compared
from staticgraph.fuzz.capture.generate import _copied, _drop, _guess, _keep, _runs, _subject
from staticgraph.fuzz.capture.values import Values
from tests.combinations import some

_REFUSED = {
    "the result is a value of Python's":
        "allclose equal Tensor.allclose Tensor.equal Tensor.is_nonzero Tensor.numpy",
    "permutes by pivots, whose values it needs": "lu lu_unpack Tensor.lu",
    "the size of the result depends on values":
        "argwhere bincount masked_select nonzero unique unique_consecutive "
        "Tensor.argwhere Tensor.bincount Tensor.masked_select Tensor.nonzero "
        "Tensor.unique Tensor.unique_consecutive",
    "takes numbers, which are given as tensors here": "logspace where",
    "depends on how a tensor lies in memory":
        "empty_strided Tensor.is_contiguous Tensor.is_set_to Tensor.set_ Tensor.storage "
        "Tensor.storage_offset Tensor.stride Tensor.untyped_storage",
    "is of the tape, or a mode of the call":
        "is_inference is_inference_mode_enabled Tensor.is_inference",
    "is a state of the generator, which a graph does not have": "get_rng_state initial_seed",
    "shares its memory with another library": "from_dlpack",
    "draws the windows that it compares":
        "nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d",
    "has no form in a graph":
        "sparse_coo_tensor Tensor.apply_ Tensor.to_sparse",
}  # fmt: skip
EXPECTED = {name: reason for reason, names in _REFUSED.items() for name in names.split()}
"""The names that are refused, and why."""
TRIES, GUESSES = 6, 120


def _program(name: str, seed: int) -> Any:
    """A program that calls the name as it can be called eagerly, or None."""
    g = Values(random.Random(f"{name} {seed}"))
    dynamic.manual_seed(0)
    g.leaf()
    _keep(g)
    first = _copied(g) if name.endswith("_") else None
    for _ in range(GUESSES):
        g.subject = _subject(g, name)
        step = _guess(g, "name", name)
        if _runs(g, step):
            bound = g.bound.get(step.get("name", ""))
            returns = isinstance(bound, dynamic.Tensor | tuple | list)
            steps = [*g.leaves, *([first] if first else []), step]
            results = [step["name"]] if returns else g.tensors()
            return {"steps": steps, "results": results, "mode": "debug"}
        _drop(g)
    return None


def _outcomes(name: str) -> list[Compared]:
    """How it goes with a few calls of a name, up to the first that is the same."""
    found: list[Compared] = []
    for seed in range(TRIES):
        program = _program(name, seed)
        if program is not None:
            function = compiled(program)
            captured = sg.function(function, debug=True)
            found.append(compared(function, captured, arguments(program)))
            if found[-1].verdict == SAME:
                break
    return found


def _check(names: list[str]) -> None:
    wrong = {}
    for name in names:
        found = _outcomes(name)
        bad = [one for one in found if one.verdict not in (SAME, REFUSED, SKIPPED)]
        captured = any(one.verdict == SAME for one in found)
        refused = [one.reason for one in found if one.verdict == REFUSED]
        if bad or (captured == (name in EXPECTED) and (refused or captured)):
            wrong[name] = bad or refused or "captured, though expected to be refused"
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("part", some(range(12), 2))
def test_every_name_is_the_same_captured(part: int) -> None:
    _check(NAMES[part::12])


def test_what_is_expected_to_be_refused_is_public() -> None:
    assert set(EXPECTED) <= set(NAMES)
