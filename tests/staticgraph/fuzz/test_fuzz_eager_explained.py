"""The differences from PyTorch that the campaign `eager` knows, and that they are no wider."""

from __future__ import annotations

from typing import Any

import pytest

from staticgraph.fuzz.eager import explained, unpromised
from staticgraph.fuzz.eager.compare import differences


def method(of: str, *args: Any, name: str | None = None) -> Any:
    step = {"do": "method", "of": of, "args": list(args), "options": {}}
    return step if name is None else {**step, "name": name}


def answer(steps: int, **values: Any) -> Any:
    return {"steps": [None] * steps, "values": values, "hooks": []}


def found(steps: list[Any], ours: Any, theirs: Any) -> list[str]:
    program = {"steps": steps, "mode": "results"}
    mine, other = answer(len(steps), **ours), answer(len(steps), **theirs)
    return [one.split("\n")[0] for one in differences(program, mine, other)]


def test_a_view_refused_as_a_leaf_is_none() -> None:
    step = method("mul_", "$v", 2.0)
    error = {"error": ["RuntimeError"], "text": "a leaf Variable that requires grad is being used"}
    for state, known in (
        ({"_is_view": True, "is_leaf": False}, True),
        ({"_is_view": True, "is_leaf": True}, False),
        ({"_is_view": False, "is_leaf": False}, False),
        ({}, False),
    ):
        assert explained.refused_as_leaf(step, error, answer(1, v=state)) is known
    stale = answer(1, v={"_is_view": True, "is_leaf": False})
    assert not explained.refused_as_leaf(step, None, stale)
    assert not explained.refused_as_leaf(
        step, {**error, "text": "a view of a leaf Variable"}, stale
    )


@pytest.mark.parametrize(
    ("steps", "named"),
    [
        ([method("matmul", "$a", "$b", name="x")], True),
        ([method("mul", "$a", "$b", name="x")], False),
        ([method("sum", "$i", name="x")], True),
        ([method("mul_", "$i", 2.0, name="x")], False),
        ([method("sum", "$i", name="y"), method("detach", "$y", name="x")], True),
        ([method("sum", "$i", name="y"), method("sin", "$y", name="x")], False),
    ],
)
def test_versions_of_what_an_op_writes_inside(steps: list[Any], named: bool) -> None:
    plain = {"_is_view": False, "is_inference": False}
    state = dict.fromkeys("aby", plain) | {"i": {"_is_view": False, "is_inference": True}}
    ours, theirs = ({**state, "x": {**plain, "_version": version}} for version in (0, 1))
    assert found(steps, ours, theirs) == ([] if named else ["_version differs from PyTorch"])


def test_orders_of_what_is_computed_from_another_order() -> None:
    for inner, known in ((False, True), (True, False)):
        ours = {"a": {"is_contiguous": inner, "_is_view": False}}
        theirs = {**ours, "x": {"is_contiguous": False, "_is_view": False}}
        ours["x"] = {"is_contiguous": True, "_is_view": False}
        said = found([method("sin", "$a", name="x")], ours, theirs)
        assert said == ([] if known else ["is_contiguous differs from PyTorch"])
        theirs["x"] = {"is_contiguous": False, "_is_view": True}
        ours["x"] = {"is_contiguous": True, "_is_view": True}
        assert found([method("t", "$a", name="x")], ours, theirs) == [
            "is_contiguous differs from PyTorch"
        ]


def test_versions_of_memory_that_is_a_gradient() -> None:
    state = {"_is_view": False}
    steps = [
        method("detach", "$x", name="g"),
        {"do": "assign", "of": "grad", "args": ["$x", "$g"]},
    ]
    ours, theirs = ({"x": {**state, "_version": n}, "g": {**state, "_version": n}} for n in (2, 1))
    assert found(steps, ours, theirs) == []
    assert found(steps[:1], ours, theirs) == ["_version differs from PyTorch"] * 2
    steps[1] = {"do": "assign", "of": "grad", "args": ["$x", None]}
    assert found(steps, ours, theirs) == ["_version differs from PyTorch"] * 2


def test_views_of_temporaries() -> None:
    ours = {"x": {"_is_view": False, "base": None}}
    for of, base, known in (
        ("matmul", "another", True),
        ("select", "another", False),
        ("matmul", "a", False),
    ):
        theirs = {"x": {"_is_view": True, "base": base}}
        said = found([method(of, "$a", name="x")], ours, theirs)
        assert (said == []) is known


def test_places_of_nothing() -> None:
    def known(of: str, shape: list[int], ours: Any, theirs: Any) -> bool:
        state = {"elements": {"shape": shape}}
        return explained.place_of_nothing(method(of, "$x"), ours, theirs, answer(1, x=state), set())

    assert known("storage_offset", [2, 0], 0, 3)
    assert not known("storage_offset", [2, 1], 0, 3)
    assert known("stride", [2, 1], [1, 1], [1, 7])
    assert not known("stride", [2, 2], [1, 1], [1, 7])
    assert not known("stride", [2, 1], [2, 1], [1, 1])
    assert not known("dim", [2, 0], 1, 2)


def test_a_gradient_may_be_made_of_other_nodes() -> None:
    step = {"do": "function", "of": "autograd.grad", "args": ["$y", ["$x"]], "name": ["g"]}
    ours, theirs = {"g": {"grad_fn": "AddBackward0"}}, {"g": {"grad_fn": "CopySlices"}}
    assert found([step], ours, theirs) == []
    assert found([step], ours, {"g": {"grad_fn": None}}) != []
    assert found([method("sin", "$x", name="g")], ours, theirs) != []


def test_a_leaf_that_is_changed_after_an_op_read_it() -> None:
    read = method("mul", "$x", 2.0, name="y")
    data = {"do": "assign", "of": "data", "args": ["$x", "$z"]}
    flag = {"do": "assign", "of": "requires_grad", "args": ["$x", True]}
    back = method("backward", "$y")
    twice = {**back, "options": {"create_graph": True}}
    for steps, end in (
        ([read, data, back], 2),
        ([data, read, back], None),
        ([read, back, data], None),
        ([read, flag, back], None),
        ([read, flag, twice], 2),
        ([flag, read, twice], None),
        ([read, method("requires_grad_", "$x"), twice], 2),
    ):
        program = {"steps": steps, "mode": "results"}
        assert explained.replaced_after_saved(program, answer(len(steps))) == end
        refused = {**answer(len(steps)), "steps": [{"error": []}] * len(steps)}
        assert explained.replaced_after_saved(program, refused) is None


def test_an_index_of_several_places_is_refused_in_part() -> None:
    error = {"error": ["IndexError"], "text": "index -3 is out of bounds for dimension 0 with size"}
    for key, known in (
        ([0, -3], True),
        ({"tensor": [[0, 3], "int64"]}, True),
        ({"tuple": [0, [0, 3]]}, True),
        (3, False),
        ({"tuple": [0, {"slice": [None, 3, None]}]}, False),
    ):
        step = {"do": "set", "args": ["$x", key, 0.5]}
        assert explained.written_in_part(step, error) is known
        assert not explained.written_in_part(step, None)
        assert not explained.written_in_part({**step, "do": "get"}, error)


def test_copies_of_what_is_strided() -> None:
    program = {"steps": [method("ravel", "$a", name="x"), method("sin", "$a", name="y")]}
    assert unpromised.copied_if_strided(program, {"a"}, answer(2)) == {"a", "x"}
    assert unpromised.copied_if_strided(program, {"b"}, answer(2)) == set()


def test_a_view_that_is_left_as_a_leaf() -> None:
    step = method("requires_grad_", "$v", False)
    ours = {"error": ["RuntimeError"], "text": "you can only change requires_grad flags of leaf"}
    stale, leaf = (answer(1, v={"_is_view": True, "is_leaf": one}) for one in (False, True))
    assert explained.left_as_leaf(step, ours, None, stale)
    assert explained.left_as_leaf(step, ours, None, answer(1))
    assert not explained.left_as_leaf(step, ours, None, leaf)
    assert not explained.left_as_leaf(step, ours, ours, stale)
    assert not explained.left_as_leaf(step, {**ours, "text": "another"}, None, stale)
    assert not explained.left_as_leaf(method("mul_", "$v", 2.0), ours, None, stale)


def test_a_saved_view_that_is_refused_for_two_reasons() -> None:
    ours = {"error": ["RuntimeError"], "text": "one of the variables needed for gradient"}
    for text, known in (
        ("A view was created in no_grad mode and its base", True),
        ("A view was created in inference mode and its base", True),
        ("Output 0 of SplitWithSizes is a view and its base", True),
        ("one of the variables needed for gradient", False),
        ("Trying to backward through the graph a second time", False),
    ):
        theirs = {"error": ["RuntimeError"], "text": text}
        assert explained.refused_twice(ours, theirs) is known
        assert not explained.refused_twice(None, theirs)
    assert not explained.refused_twice({**ours, "text": "a leaf Variable"}, theirs)


def test_an_inference_tensor_that_was_given_other_data() -> None:
    plain = {"_is_view": False}
    ours, theirs = ({"x": {**plain, "is_inference": one}} for one in (True, False))
    given = {"do": "assign", "of": "data", "args": ["$x", "$y"]}
    assert found([given], ours, theirs) == []
    assert found([method("sin", "$x")], ours, theirs) == ["is_inference differs from PyTorch"]


def test_an_error_of_pytorchs_own_is_no_answer() -> None:
    program = {"steps": [method("mul_", "$x", 2.0)], "mode": "results"}
    for text, known in (
        ("old_fn INTERNAL ASSERT FAILED at variable.cpp, please report a bug", True),
        ("expected a matrix", False),
    ):
        theirs = {**answer(1), "steps": [{"error": ["RuntimeError"], "text": text}]}
        assert (not list(differences(program, answer(1), theirs))) is known


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ([0, 0], True),
        ({"tensor": [[-1, 0], "int64"]}, True),
        ({"tuple": [0, {"tensor": [[[1], [1]], "int64"]}]}, True),
        ({"tensor": [[0, 1], "int64"]}, False),
        ({"tensor": [[True, True], "bool"]}, False),
        ({"slice": [None, None, None]}, False),
        (0, False),
    ],
)
def test_a_tensor_that_is_written_to_one_place_twice(key: Any, known: bool) -> None:
    write, run = {"do": "set", "args": ["$y", key, "$x"]}, method("backward", "$y")
    program = {"steps": [run, write, run], "mode": "results"}
    assert explained.written_twice(program) == (2 if known else None)
    number = {"do": "set", "args": ["$y", key, 1.5]}
    assert explained.written_twice({**program, "steps": [number, run]}) is None
