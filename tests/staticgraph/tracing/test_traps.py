"""The corpus of traps: a captured function means what it means eagerly, or is refused by line."""

from __future__ import annotations

import pytest

from tests.staticgraph.tracing.traps.paradigms import on_arrays, on_tensors, traps
from tests.staticgraph.tracing.traps.trap import Trap, verdict

PARADIGMS = {"arrays": on_arrays(debug=True), "tensors": on_tensors(debug=True)}
CASES = [
    pytest.param(
        one,
        form,
        id=f"{form}-{one.subject}-{one.name}",
        marks=(pytest.mark.slow,) if form == "tensors" and "arrays" in one.forms else (),
    )
    for one in traps()
    for form in PARADIGMS
    if form in one.forms
]


@pytest.mark.filterwarnings("ignore::staticgraph.NonFiniteWarning")
@pytest.mark.filterwarnings("ignore::staticgraph.LintWarning")  # it is no refusal
@pytest.mark.parametrize(("one", "form"), CASES)
def test_a_trap_is_right_or_refused_at_its_line(one: Trap, form: str) -> None:
    found, message = verdict(one, PARADIGMS[form])
    assert found in ("right", "refused"), message


def test_the_corpus_is_large() -> None:
    assert len(traps()) >= 800
    assert len({(one.subject, one.name) for one in traps()}) == len(traps())
