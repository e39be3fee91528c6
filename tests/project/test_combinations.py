"""Which combinations are marked `long`, and that they are otherwise what they were."""

import pytest

from tests.combinations import some


def test_params_keep_their_values_their_names_and_their_marks():
    given = [
        pytest.param(1, 2, id="a"),
        pytest.param(3, 4, id="b", marks=pytest.mark.slow),
        pytest.param(5, 6, id="c"),
    ]
    chosen = some(given, 1)
    assert [(one.id, one.values) for one in chosen] == [("a", (1, 2)), ("b", (3, 4)), ("c", (5, 6))]
    marks = [[mark.name for mark in one.marks] for one in chosen]
    assert marks == [[], ["slow", "long"], ["long"]]


def test_values_that_are_not_chosen_are_long():
    one, two = some([(1, 2), (3, 4)], 1)
    assert one == (1, 2)
    assert two.values == ((3, 4),) and [mark.name for mark in two.marks] == ["long"]
