"""Trees among outputs and inputs: nestings, named tuples, dataclasses, registered classes."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.pytree import leaves, spread_over, structure


class Point(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class State:
    weight: Any
    name: str = "state"
    inner: Any = None


class Own:
    def __init__(self, parts: Any, label: str) -> None:
        self.parts, self.label = list(parts), label


sg.register_pytree(Own, lambda own: (own.parts, own.label), lambda label, parts: Own(parts, label))

X = sg.placeholder("x", (2,), "float64")
ARRAY = np.array([1.0, 3.0])


def _plain(tree: Any) -> Any:
    """A tree with lists for arrays, to be compared."""
    if isinstance(tree, Own):
        return "own", tree.label, [_plain(one) for one in tree.parts]
    if isinstance(tree, State):
        return State(_plain(tree.weight), tree.name, _plain(tree.inner))
    if isinstance(tree, Point):
        return Point(_plain(tree.a), _plain(tree.b))
    if isinstance(tree, list | tuple):
        return type(tree)(map(_plain, tree))
    if isinstance(tree, dict):
        return {key: _plain(one) for key, one in tree.items()}
    return tree if tree is None else tree.tolist()


def _tree(x: Any) -> Any:
    return {
        "list": [x + 1, (x * 2, None)], 3: Point(x, State(-x, "inner", [x])), "own": Own([x], "k")
    }  # fmt: skip


EXPECTED = {
    "list": [[2.0, 4.0], ([2.0, 6.0], None)],
    3: Point([1.0, 3.0], State([-1.0, -3.0], "inner", [[1.0, 3.0]])),
    "own": ("own", "k", [[1.0, 3.0]]),
}


def test_results_have_the_structure_that_was_compiled() -> None:
    f = sg.compile([X], _tree(X))
    assert _plain(f(ARRAY)) == EXPECTED
    assert _plain(f(ARRAY)) == EXPECTED  # the tree is made anew
    assert _plain(sg.compile([X], _tree(X), debug=True)(ARRAY)) == EXPECTED
    assert _plain(sg.function(_tree)(ARRAY)) == EXPECTED
    assert _plain(pickle.loads(pickle.dumps(sg.compile([X], Point(X, [X]))))(ARRAY)) == Point(
        [1.0, 3.0], [[1.0, 3.0]]
    )
    empty = sg.compile([X], (), updates={(v := sg.variable(0.0)): v + sg.sum(X).astype("float32")})
    assert empty(ARRAY) == ()
    with pytest.raises(sg.GraphError, match=r"compile: the output 1\.5 is no expression"):
        sg.compile([X], [[X], {"a": 1.5}])
    with pytest.raises(sg.GraphError, match="compile: the outputs 3 are no expressions"):
        sg.compile([X], 3)


def test_nested_results_are_saved_and_those_of_classes_are_not(tmp_path: Path) -> None:
    outputs = [[X + 1], {"k": (X, None), 2: [X]}, X]
    f = sg.compile([X], outputs)
    sg.save(f, tmp_path / "f.sg")
    assert _plain(sg.load(tmp_path / "f.sg")(ARRAY)) == _plain(f(ARRAY))
    for tree in (Point(X, X + 1), [State(X)], [Own([X], "k")]):
        with pytest.raises(
            sg.OptionError, match=r"save: the outputs are in a (Point|State|Own): a"
        ):
            sg.save(sg.compile([X], tree), tmp_path / "g.sg")


def test_functions_take_and_give_trees() -> None:
    def f(state: State) -> State:
        return State((state.weight**2).sum(), state.name, [state.inner * state.weight])

    given = State(ARRAY, "n", ARRAY + 1)
    expected = State(10.0, "n", [[2.0, 12.0]])
    assert _plain(sg.function(f)(given)) == expected
    again = sg.function(f)
    assert [again(State(ARRAY, name, ARRAY)).name for name in "aba"] == list("aba")
    slope = sg.grad(lambda state: f(state).weight)(State(ARRAY, "n", ARRAY))
    assert _plain(slope) == State([2.0, 6.0], "n", [0.0, 0.0])
    assert _plain(sg.vmap(lambda s: s.weight.sum())(State(np.ones((3, 2))))) == [2.0] * 3
    value, slopes = sg.value_and_grad(lambda p: (p.a * p.b).sum())(Point(ARRAY, ARRAY + 1))
    assert (value, _plain(slopes)) == (14.0, Point([2.0, 4.0], [1.0, 3.0]))
    tensor = dynamic.tensor(ARRAY, requires_grad=True)
    sg.function(f)(State(tensor, "n", tensor)).weight.backward()
    assert tensor.grad.tolist() == [2.0, 6.0]
    last, seen = sg.scan(
        lambda c, t: (State(c.weight * 2, c.name), Own([c.weight[0]], "y")), State(X, "c"),
        sg.arange(3),
    )  # fmt: skip
    one, other = sg.compile([X], [last, seen])(ARRAY)
    assert (_plain(one), _plain(other)) == (
        State([8.0, 24.0], "c"), ("own", "y", [[1.0, 2.0, 4.0]]),
    )  # fmt: skip


def test_trees_are_compared_and_refused() -> None:
    assert structure(State(ARRAY, "n")) != structure(State(ARRAY, "m"))
    assert structure(Own([1, 2], "a")) != structure(Own([1, 2], "b"))
    misfit = sg.OptionError("misfit")
    assert spread_over(State(0, "n", 1), State(ARRAY, "n", [2, 3]), lambda: misfit) == [0, 1, 1]
    with pytest.raises(sg.OptionError, match="misfit"):
        spread_over(State(0), Point(1, 2), lambda: misfit)
    assert len(leaves(sg.ones)) == 1  # a function, and no tree
    with pytest.raises(sg.OptionError, match="register_pytree: Own is registered already"):
        sg.register_pytree(Own, lambda own: ((), None), lambda _, parts: None)
    with pytest.raises(sg.OptionError, match="register_pytree: 3 is no class"):
        sg.register_pytree(3, lambda x: ((), None), lambda _, parts: None)  # type: ignore[arg-type]


def test_inputs_that_nothing_needs(tmp_path: Path) -> None:
    unused = sg.placeholder("unused", (None,))
    with pytest.raises(sg.GraphError, match="the output does not need the input 'unused'"):
        sg.compile([X, unused], X + 1)
    with pytest.warns(sg.LintWarning, match=r"the output does not need the input 'unused' \(.*py:"):
        f = sg.compile([X, unused], X + 1, on_unused_input="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = sg.compile([X, unused], X + 1, on_unused_input="ignore")
    sg.save(g, tmp_path / "g.sg")
    for h in (f, g, sg.load(tmp_path / "g.sg"), pickle.loads(pickle.dumps(g))):
        assert h(ARRAY, np.ones(3, "float32")).tolist() == [2.0, 4.0]
        assert h(ARRAY, unused=np.ones(0, "float32")).tolist() == [2.0, 4.0]
        with pytest.raises(sg.ShapeError, match="feed 'unused'"):
            h(ARRAY, np.ones((1, 1), "float32"))
    with pytest.raises(sg.OptionError, match=r"compile: on_unused_input is one of .*, not 'never'"):
        sg.compile([X], X + 1, on_unused_input="never")
