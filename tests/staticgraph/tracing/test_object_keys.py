"""Objects as trees: what they keep beside their parts, and their places in loops and branches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import staticgraph as sg

X = np.arange(3.0)


@dataclass
class Pair:
    """Two parts, of which one may be a type."""

    a: Any
    b: Any = None


class Extra:
    """What is compared by ==, and has the same text for all values."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extra) and self.factor == other.factor

    def __hash__(self) -> int:
        return hash(self.factor)

    def __repr__(self) -> str:
        return "Extra"


class Kept:
    """A part, and what else there is."""

    def __init__(self, a: Any, extra: Any) -> None:
        self.a, self.extra = a, extra


sg.register_pytree(Kept, lambda k: ((k.a,), k.extra), lambda extra, parts: Kept(parts[0], extra))


class Listed:
    """Its parts are in a list that is made whenever they are asked for."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


sg.register_pytree(
    Listed, lambda one: ([[one.a, one.b]], None), lambda _, parts: Listed(*(parts[0] or (0, 0)))
)


def _class(factor: float) -> type:
    return type("Scale", (), {"factor": factor})


def test_what_is_no_part_is_compared_by_value_and_not_by_its_text() -> None:
    """A function is traced again for another one, whose text is the same."""
    f = sg.function(lambda kept: kept.a * kept.extra.factor)
    np.testing.assert_array_equal([f(Kept(X, Extra(k))) for k in (2.0, 3.0)], [2 * X, 3 * X])
    g = sg.function(lambda kept: kept.a * float(kept.extra[1000]))
    long = [np.full(2000, 1.0), np.where(np.arange(2000) == 1000, 5.0, 1.0)]
    np.testing.assert_array_equal([g(Kept(X, one)) for one in long], [X, 5 * X])
    h = sg.function(lambda pair: pair.a * pair.b.factor)
    np.testing.assert_array_equal([h(Pair(X, _class(k))) for k in (2.0, 3.0)], [2 * X, 3 * X])


def test_lists_that_are_made_and_gone_are_not_taken_for_one() -> None:
    """Several have the same identity, one after the other."""
    for many in range(2, 12):
        given = [Listed(X + i, X * i**2) for i in range(many)]
        found = sg.function(lambda several: [one.a - one.b for one in several])(given)
        np.testing.assert_array_equal(found, [one.a - one.b for one in given])


def test_dataclasses_are_carried_and_their_dicts_are_matched_by_key() -> None:
    """In loops and branches, whatever the order of keys."""
    x, which = sg.placeholder("x", (3,), "float64"), sg.placeholder("which", (), "bool")
    zero = sg.constant(np.float64(0))
    last, _ = sg.scan(
        lambda c, v: (Pair({"n": c.a["n"] + 1, "s": c.a["s"] + v}), None),
        Pair({"s": zero, "n": zero}),
        x,
    )
    chosen = sg.cond(
        which, lambda v: Pair({"p": v, "q": -v}), lambda v: Pair({"q": 20 * v, "p": 10 * v}), x
    )
    run = sg.compile([x, which], [last, chosen])
    carried, second = run(X, False)
    assert (carried.a["s"], carried.a["n"]) == (3, 3)
    np.testing.assert_array_equal([second.a["p"], second.a["q"]], [10 * X, 20 * X])


def test_what_does_not_fit_is_refused() -> None:
    """Numbers out of range, and masked results."""
    with pytest.raises(sg.DTypeError, match="at: set of 300 in int8"):
        sg.constant(np.zeros(3, "int8")).at[0].set(300)
    x = sg.placeholder("x", ("n",), "float64")
    hidden = sg.host_call(lambda a: np.ma.array(a, mask=a > 1), sg.TensorType(("n",), "float64"), x)
    with pytest.raises(sg.DTypeError, match="returns: a masked array has elements"):
        sg.compile([x], hidden)(X)


def test_sides_and_steps_that_differ_in_what_is_no_part_are_refused() -> None:
    x = sg.placeholder("x", (3,), "float64")

    def made(factor: float) -> Kept:
        return Kept(x * factor, Extra(factor))

    with pytest.raises(sg.OptionError, match="cond"):
        sg.cond(sg.sum(x) > 0, lambda: made(2.0), lambda: made(3.0))
    with pytest.raises(sg.OptionError, match="scan"):
        sg.scan(lambda kept, y: (Kept(kept.a + y, Extra(3.0)), None), made(2.0), x)
    same = sg.cond(sg.sum(x) > 0, lambda: made(2.0), lambda: Kept(-x, Extra(2.0)))
    assert same.extra.factor == 2.0
    np.testing.assert_array_equal(sg.compile([x], same.a)(X - 2), 2 - X)
    branch = sg.function(lambda x: Kept(x, Extra(1.0)) if x.sum() > 0 else Kept(-x, Extra(2.0)))
    with pytest.raises(sg.CaptureError, match="branch on a value"):
        branch(X)
