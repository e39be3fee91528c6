"""What a captured function would have done when objects end is refused."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg

ended: list[float] = []


class Ending:
    """Has a `__del__`."""

    other: Any = None

    def __del__(self) -> None:
        ended.append(1.0)


class Made(Ending):
    """Has an `__init__` too."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Plain:
    other: Any = None


def _of_itself(x: Any) -> Any:
    one = Ending()
    one.other = one
    return x + 1


def _with_operand(x: Any) -> Any:
    return Made(x * 2).value + 1


def _dropped(x: Any) -> Any:
    Ending()
    return x + 1


def _listed(x: Any) -> Any:
    every = [Ending(), None]
    return x * len(every)


def _reference(x: Any) -> Any:
    one = Plain()
    reference = weakref.ref(one, ended.append)
    one.other = one
    return x if reference() is one else x + 1


@pytest.mark.parametrize("f", [_of_itself, _with_operand, _dropped, _listed])
@pytest.mark.parametrize("make", [np.array, dynamic.tensor])
def test_objects_with_a_del_are_refused(f: Callable[[Any], Any], make: Any) -> None:
    with pytest.raises(
        sg.EffectError, match=r"test_ends\.py:\d+: makes an object with a __del__, which"
    ):
        sg.function(f)(make([1.0, 2.0]))


def test_a_callback_of_a_weak_reference_is_refused_at_its_function() -> None:
    with pytest.raises(
        sg.EffectError, match=r"test_ends\.py:\d+: registers what is called when an object ends"
    ):
        sg.function(_reference)(dynamic.tensor([1.0, 2.0]))


def test_objects_from_outside_may_have_a_del_and_callbacks() -> None:
    outside, plain = Made(3.0), Plain()
    reference = weakref.ref(plain, ended.append)

    def f(x: Any) -> Any:
        one, other = outside, reference
        y = x * one.value if other() is plain else x
        own = weakref.ref(y)
        dead = weakref.proxy(Plain())
        return own() + 1 if type(dead) is not Plain else y

    captured, before = sg.function(f), len(ended)
    for outside.value in (3.0, 4.0):
        found = captured(dynamic.tensor([1.0, 2.0]))
        assert found.tolist() == [outside.value + 1.0, 2.0 * outside.value + 1.0]
    assert len(ended) == before


def test_a_step_with_a_closure_names_the_compiled_optimizer() -> None:
    w = dynamic.tensor([1.0], requires_grad=True)
    optimizer = dynamic.optim.LBFGS([w])

    def closure() -> Any:
        loss = (w * w).sum()
        loss.backward()
        return loss

    with pytest.raises(sg.CaptureError, match=r"with a closure.* compile all of LBFGS by sg\.opt"):
        sg.function(lambda x: optimizer.step(closure) + x)(dynamic.tensor(1.0))
