"""What people hand to functions and keep for them: batches, states, tables and classes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .loops_of_strangers import _batch, _loss, _model
from .trap import TENSORS, trap


@dataclasses.dataclass
class Batch:
    """What a loader gives."""

    x: Any
    y: Any
    weight: float = 1.0


class Carry(NamedTuple):
    """What a step hands on."""

    hidden: Any
    count: int


@trap(*TENSORS)
def a_batch_as_an_object(t: Any) -> Any:
    model = _model(t)
    f = t.capture(lambda batch: _loss(model, batch.x, batch.y) * batch.weight)
    x, y = _batch(t)
    batch = Batch(x, y)
    yield f(batch).detach()
    batch.weight = 3.0
    yield f(batch).detach()
    batch.x = batch.x * 2
    yield f(batch).detach()


@trap(*TENSORS)
def a_state_that_is_handed_on(t: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        return Carry(carry.hidden * 0.5 + x, carry.count + 1)

    f = t.capture(step)
    carry = Carry(t.x * 0, 0)
    for k in range(3):
        carry = f(carry, t.x * k)
        yield carry.hidden, carry.count, type(carry).__name__


@trap()
def a_seeded_draw_outside(t: Any) -> Any:
    rng = random.Random(3)
    f = t.capture(lambda x, rate: x * rate)
    for _ in range(3):
        yield f(t.x, rng.random())


@trap()
def functions_composed_in_a_list(t: Any) -> Any:
    stages: list[Callable[[Any], Any]] = [lambda x: x * 2, t.xp.tanh]

    def f(x: Any) -> Any:
        return functools.reduce(lambda value, stage: stage(value), stages, x)

    g = t.capture(f)
    yield g(t.x)
    stages.insert(0, functools.partial(t.xp.exp))
    yield g(t.x)
    stages.reverse()
    yield g(t.x)


@trap()
def memoised_by_hand(t: Any) -> Any:
    kept: dict[int, float] = {}

    def factorial(k: int) -> float:
        if k not in kept:
            kept[k] = 1.0 if k < 2 else k * factorial(k - 1)
        return kept[k]

    size = [3]
    f = t.capture(lambda x: x * factorial(size[0]))
    yield f(t.x)
    size[0] = 5
    yield f(t.x)
    kept[5] = 0.0
    yield f(t.x)


@trap()
def an_exit_stack(t: Any) -> Any:
    rates = [1.0]

    @contextlib.contextmanager
    def times(rate: float) -> Iterator[None]:
        rates.append(rates[-1] * rate)
        yield
        rates.pop()

    def f(x: Any) -> Any:
        with contextlib.ExitStack() as stack:
            for rate in (2.0, 3.0):
                stack.enter_context(times(rate))
            return x * rates[-1]

    g = t.capture(f)
    yield g(t.x), list(rates)
    rates[0] = 10.0
    yield g(t.x), list(rates)


@trap()
def a_class_made_at_each_call(t: Any) -> Any:
    rates = {"rate": 2.0}

    def f(x: Any) -> Any:
        made = type("Made", (), {"rate": rates["rate"], "scaled": lambda self, v: v * self.rate})
        return made().scaled(x)

    g = t.capture(f)
    yield g(t.x)
    rates["rate"] = 4.0
    yield g(t.x)


@trap()
def a_recursion_over_a_tree(t: Any) -> Any:
    tree: dict[str, Any] = {"value": 1.0, "parts": [{"value": 2.0, "parts": []}]}

    def total(node: Any) -> float:
        return float(node["value"] + sum(map(total, node["parts"])))

    f = t.capture(lambda x: x * total(tree))
    yield f(t.x)
    tree["parts"][0]["parts"].append({"value": 5.0, "parts": []})
    yield f(t.x)
    tree["parts"].clear()
    yield f(t.x)


@trap()
def slots_and_inheritance(t: Any) -> Any:
    class Base:
        __slots__ = ("rate",)
        shift = 1.0

        def __init__(self, rate: float) -> None:
            self.rate = rate

        def scaled(self, x: Any) -> Any:
            return x * self.rate + self.shift

    class Own(Base):
        __slots__ = ()

        def scaled(self, x: Any) -> Any:
            return super().scaled(x) * 2

    own = Own(2.0)
    f = t.capture(own.scaled)
    yield f(t.x)
    own.rate = 3.0
    yield f(t.x)
    Base.shift = -1.0
    yield f(t.x)
    Base.scaled = lambda self, x: x  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def an_object_with_operators(t: Any) -> Any:
    class Rate:
        def __init__(self, value: float) -> None:
            self.value = value

        def __mul__(self, other: Any) -> Any:
            return self.value * other

        __rmul__ = __mul__

        def __call__(self, other: Any) -> Any:
            return other + self.value

        def __index__(self) -> int:
            return int(self.value)

    rate = Rate(2.0)
    f = t.capture(lambda x: rate(rate * x) + [10.0, 20.0, 30.0, 40.0][rate])
    yield f(t.x)
    rate.value = 3.0
    yield f(t.x)
