"""In-place methods on tensors of the surroundings, and results that hand an operand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import nn

X = np.array([0.5, -1.5, 2.0], "float32")
WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "lerp_": lambda kept, x: kept.lerp_(x, 0.1),
    "index_fill_": lambda kept, x: kept.index_fill_(0, torch.tensor([1]), 2.0),
    "index_copy_": lambda kept, x: kept.index_copy_(0, torch.tensor([2]), x[:1]),
    "normal_": lambda kept, x: kept.normal_(),
    "uniform_": lambda kept, x: kept.uniform_(-1.0, 1.0),
    "random_": lambda kept, x: kept.random_(2, 9),
}


@pytest.mark.parametrize("name", WAYS)
def test_an_in_place_method_changes_a_tensor_outside_at_each_call(name: str) -> None:
    found = []
    for captured in (False, True):
        torch.manual_seed(3)
        kept = torch.tensor([0.3, 0.6, 0.9])

        def change(x: Any, kept: Any = kept) -> Any:
            WAYS[name](kept, x)
            return kept * x

        f = sg.function(change, debug=True) if captured else change
        found.append([(f(torch.tensor(X + i)).numpy(), kept.numpy().copy()) for i in range(2)])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_an_average_of_parameters_is_kept_by_lerp_after_the_step() -> None:
    found = []
    for captured in (False, True):
        torch.manual_seed(0)
        layer = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        averages = [one.detach().clone() for one in layer.parameters()]

        def step(
            x: Any, layer: Any = layer, optimizer: Any = optimizer, averages: Any = averages
        ) -> Any:
            optimizer.zero_grad()
            loss = (layer(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for average, one in zip(averages, layer.parameters(), strict=True):
                    average.lerp_(one, 0.1)
            return loss.detach()

        f = sg.function(step, debug=True) if captured else step
        for i in range(3):
            f(torch.tensor(X + i))
        found.append([one.numpy().copy() for one in averages])
    for eager, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-5)


HANDING_ON: dict[str, Callable[[Any], Any]] = {
    "checkpoint": lambda x: sg.checkpoint(lambda y: y, x),
    "a view of a checkpoint": lambda x: sg.checkpoint(lambda y: y[:2], x),
    "cond": lambda x: sg.cond(sg.sum(x) > 0, lambda y: y, lambda y: y, x),
    "scan": lambda x: sg.scan(lambda c, _: (c, c), x, np.zeros(2))[0],
    "while_loop": lambda x: sg.while_loop(lambda c: sg.sum(c) < -5, lambda c: c + 1, x),
    "roll": lambda x: sg.roll(x, 0),
    "roll along an axis": lambda x: sg.roll(x, 3, axis=0),
}


@pytest.mark.parametrize("of_tensors", [False, True])
@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("name", HANDING_ON)
def test_a_result_that_hands_an_operand_on_has_memory_of_its_own(
    name: str, captured: bool, of_tensors: bool
) -> None:
    x: Any = torch.tensor(X.copy()) if of_tensors else X.copy()
    f = sg.function(HANDING_ON[name], debug=True) if captured else HANDING_ON[name]
    result = f(x)
    before = np.asarray(result).copy()
    x += 1
    np.testing.assert_array_equal(np.asarray(result), before)


@pytest.mark.parametrize("y", [np.array([2.0, 3.0], "float32"), 2, np.array([2, -3])])
def test_divmod_of_a_traced_array(y: Any) -> None:
    x = np.array([5, -7]) if np.asarray(y).dtype.kind == "i" else np.array([5.0, -7.0], "float32")
    for one, other in zip(sg.function(divmod)(x, y), divmod(x, y), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    flipped = sg.function(lambda x: divmod(7, x))(x)
    np.testing.assert_array_equal(flipped, divmod(7, x))


@pytest.mark.parametrize(
    ("name", "function"),
    [("remainder", torch.remainder), ("fmod", torch.fmod), ("div_floor", torch.floor_divide)],
)
def test_truths_are_not_divided(name: str, function: Any) -> None:
    one = torch.tensor([True, False])
    for other in (one, True):
        with pytest.raises(RuntimeError, match=f"\"{name}_cpu\" not implemented for 'Bool'"):
            function(one, other)
    assert function(one, 2).dtype == torch.int64


def test_tensors_in_containers_of_the_surroundings_are_added_to() -> None:
    def programs() -> tuple[Any, dict[str, Any]]:
        held = {"a": torch.zeros(2), "b": [torch.ones(2)]}

        def add(x: Any) -> Any:
            held["a"] += x
            held["b"][0] *= 2
            if x.sum() > 0:
                held["a"] += 1
            return held["a"].sum()

        return add, held

    (eager, expected), (add, held) = programs(), programs()
    captured, first = sg.function(add, debug=True), held["a"]
    for x in (torch.ones(2), -torch.ones(2)):
        assert captured(x).item() == eager(x).item()
        assert held["a"].tolist() == expected["a"].tolist()
        assert held["b"][0].tolist() == expected["b"][0].tolist()
    assert held["a"] is first


def test_a_container_gets_another_tensor_at_each_call() -> None:
    def program() -> tuple[Any, dict[str, Any]]:
        held = {"a": torch.zeros(2)}

        def replace(x: Any) -> Any:
            held["a"] = held["a"] + x
            return x * 2

        return replace, held

    (eager, expected), (f, held) = program(), program()
    captured = sg.function(f, debug=True)
    for k in range(1, 4):
        before = held["a"]
        eager(torch.ones(2) * k)
        captured(torch.ones(2) * k)
        assert held["a"].tolist() == expected["a"].tolist()
        assert held["a"] is not before
    assert len(captured.traces) == 1
