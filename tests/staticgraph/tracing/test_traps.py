"""The corpus of traps: a captured function means what it means eagerly, or is refused by line."""

from __future__ import annotations

import pytest

from tests.staticgraph.tracing.traps.paradigms import on_arrays, on_tensors, traps
from tests.staticgraph.tracing.traps.trap import verdict

PARADIGMS = {"arrays": on_arrays(debug=True), "tensors": on_tensors(debug=True)}
LONG = ("puzzles", "riddles")
"""Of which most do again what others do, in other ways."""


def _marks(form: str, subject: str, place: int) -> tuple[pytest.MarkDecorator, ...]:
    if subject.startswith(LONG):
        return (pytest.mark.long,)
    return (pytest.mark.slow,) if form == "tensors" or place % 3 > 0 else ()


CASES = [
    pytest.param(form, subject, id=f"{form}-{subject}", marks=_marks(form, subject, place))
    for form in PARADIGMS
    for place, subject in enumerate(sorted({one.subject for one in traps()}))
]


@pytest.mark.filterwarnings("ignore::staticgraph.NonFiniteWarning")
@pytest.mark.filterwarnings("ignore::staticgraph.LintWarning")  # it is no refusal
@pytest.mark.filterwarnings("ignore:autocast:UserWarning")
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.filterwarnings("ignore:you are shuffling:UserWarning")
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # since NumPy 2.5
@pytest.mark.parametrize(("form", "subject"), CASES)
def test_traps_are_right_or_refused_at_their_lines(form: str, subject: str) -> None:
    """Of a subject all at once: to start and to report a test takes as long as a trap does."""
    wrong = {}
    for one in traps():
        if one.subject == subject and form in one.forms:
            found, message = verdict(one, PARADIGMS[form])
            if found not in ("right", "refused"):
                wrong[one.name] = message
    assert wrong == {}


def test_the_corpus_is_large() -> None:
    assert len(traps()) >= 1000
    assert len({(one.subject, one.name) for one in traps()}) == len(traps())
