"""Values and gradients of every shared op against those of PyTorch, edges and ties included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import dynamic
from staticgraph.compiler import ops
from tests.data.op_cases import EDGES, Case, Twice, recorded, signless, weights
from tests.paths import TESTS
from tests.samples import SAMPLES, WITHOUT
from tests.trace import replace

CASES, TWICE = recorded(TESTS / "data" / "op_values.npz")
# of the larger of 1 and the magnitude of what PyTorch gives
TOLERANCE = {"float64": 1e-12, "float32": 1e-6}


def call(case: Case | Twice) -> tuple[list[Any], list[Any]]:
    """The results, and the floating arguments."""
    leaves: list[Any] = []

    def lift(array: np.ndarray) -> Any:
        tensor = dynamic.tensor(array)
        if array.dtype.kind == "f":
            leaves.append(tensor.requires_grad_())
        return tensor

    package, _, name = case.name.rpartition(".")
    function = getattr(dynamic if package else ops, name)
    outcome = function(*replace(case.args, lift), **case.options)
    results = list(outcome) if isinstance(outcome, tuple | list) else [outcome]
    return signless(case.name, results, case.args[0]), leaves


def run(case: Case) -> tuple[list[Any], list[Any]]:
    """The results as arrays, and the gradients of their weighted sum by the floating arguments."""
    results, leaves = call(case)
    arrays = [one.detach().numpy() for one in results]
    pairs = [
        (one, dynamic.tensor(weights(value, i)))
        for i, (one, value) in enumerate(zip(results, arrays, strict=True))
        if one.requires_grad
    ]
    if pairs:
        dynamic.autograd.backward(*zip(*pairs, strict=True))
    return arrays, [None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]


def compare(found: Any, expected: Any, what: str) -> None:
    assert found.shape == expected.shape, what
    assert found.dtype == expected.dtype, what
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected, what)
        return
    regular = np.isfinite(expected)
    np.testing.assert_array_equal(found[~regular], expected[~regular], what)
    distance = np.abs(found[regular] - expected[regular])
    scale = np.maximum(1, np.abs(expected[regular]))
    worst = np.max(distance / scale, initial=0)
    assert worst <= TOLERANCE[expected.dtype.name], f"{what}: {worst:.1e}\n{found}\n{expected}"


def agree(case: Case) -> None:
    results, gradients = run(case)
    assert len(results) == len(case.results) and len(gradients) == len(case.gradients)
    for i, (found, expected) in enumerate(zip(results, case.results, strict=True)):
        compare(found, expected, f"result {i}")
    for i, (found, expected) in enumerate(zip(gradients, case.gradients, strict=True)):
        if expected is None:
            assert found is None, f"gradient {i}"
        else:
            assert found is not None, f"gradient {i}"
            compare(found, expected, f"gradient {i}")


def of_each_op(cases: Sequence[Case | Twice]) -> Any:
    """A test of an op: to start a test and to report it takes longer than most cases do."""
    found: dict[str, list[Any]] = {}
    for case in cases:
        found.setdefault(case.name, []).append(case)
    return pytest.mark.parametrize("cases", found.values(), ids=found.keys())


def each(cases: Sequence[Any], test: Callable[[Any], None]) -> None:
    for case in cases:
        try:
            test(case)
        except Exception as error:
            error.add_note(f"case: {case}")
            raise


@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
@of_each_op([case for case in CASES if not case.differs])
def test_values_and_gradients_are_those_of_pytorch(cases: list[Case]) -> None:
    each(cases, agree)


@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
@of_each_op([case for case in CASES if case.differs])
def test_what_is_said_to_differ_does(cases: list[Case]) -> None:
    for case in cases:
        with pytest.raises(AssertionError):
            agree(case)


@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
@of_each_op(TWICE)
def test_gradients_of_gradients_are_those_of_pytorch(cases: list[Twice]) -> None:
    each(cases, agree_twice)


def agree_twice(case: Twice) -> None:
    results, leaves = call(case)
    cotangents = [dynamic.tensor(weights(one.detach().numpy(), i)) for i, one in enumerate(results)]
    first = dynamic.autograd.grad(
        results, leaves, cotangents, create_graph=True, materialize_grads=True
    )
    # the leaves with weight 0: a gradient that does not depend on them is one of zeros
    total = sum((leaf * 0).sum() for leaf in leaves) + sum(
        (one * dynamic.tensor(weights(one.detach().numpy(), 7 + i))).sum()
        for i, one in enumerate(first)
    )
    found = dynamic.autograd.grad(total, leaves)
    for i, (one, expected) in enumerate(zip(found, case.gradients, strict=True)):
        compare(one.numpy(), expected, f"second gradient {i}")


def test_every_op_is_compared_or_has_no_counterpart() -> None:
    compared = {case.name for case in CASES}
    assert not compared & WITHOUT.keys()
    declared = {op.name for op in ops.all_ops()} | set(ops.PUBLIC)
    assert declared - compared == WITHOUT.keys()
    assert EDGES.keys() <= compared and SAMPLES.keys() <= compared | WITHOUT.keys()
