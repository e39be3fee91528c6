"""Random numbers: eagerly new ones at each call."""

from __future__ import annotations

import os
import random
import secrets
import uuid
from typing import Any

import numpy as np

from .trap import trap


def _twice(t: Any, f: Any, seed: Any) -> Any:
    g = t.capture(f)
    seed()
    yield g(t.x)
    yield g(t.x)


@trap()
def random_random(t: Any) -> Any:
    yield from _twice(t, lambda x: x * random.random(), lambda: random.seed(0))


@trap()
def random_gauss(t: Any) -> Any:
    yield from _twice(t, lambda x: x + random.gauss(0, 1), lambda: random.seed(0))


@trap()
def a_choice(t: Any) -> Any:
    choices = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    yield from _twice(t, lambda x: x + random.choice(choices), lambda: random.seed(0))


@trap()
def a_shuffled_list(t: Any) -> Any:
    def f(x: Any) -> Any:
        order = [1.0, 2.0, 3.0, 4.0, 5.0]
        random.shuffle(order)
        return x * order[0] + order[1]

    yield from _twice(t, f, lambda: random.seed(0))


@trap()
def an_object_of_random(t: Any) -> Any:
    rng = random.Random(0)
    yield from _twice(t, lambda x: x * rng.random(), lambda: None)


@trap()
def numpy_random(t: Any) -> Any:
    f = lambda x: x * float(np.random.rand())  # noqa: E731
    yield from _twice(t, f, lambda: np.random.seed(0))


@trap()
def numpy_normal(t: Any) -> Any:
    f = lambda x: x + t.array(np.random.normal(size=3).astype("float32"))  # noqa: E731
    yield from _twice(t, f, lambda: np.random.seed(0))


@trap()
def a_generator_of_numpy(t: Any) -> Any:
    rng = np.random.default_rng(0)
    yield from _twice(t, lambda x: x * float(rng.normal()), lambda: None)


@trap()
def a_generator_of_an_attribute(t: Any) -> Any:
    class Model:
        def __init__(self) -> None:
            self.rng = np.random.default_rng(0)

        def noisy(self, x: Any) -> Any:
            return x + float(self.rng.normal())

    yield from _twice(t, Model().noisy, lambda: None)


@trap()
def a_random_state(t: Any) -> Any:
    rng = np.random.RandomState(0)
    yield from _twice(t, lambda x: x * float(rng.rand()), lambda: None)


@trap()
def a_generator_made_inside(t: Any) -> Any:
    yield from _twice(t, lambda x: x * float(np.random.default_rng(3).normal()), lambda: None)


@trap()
def numbers_after_a_seed(t: Any) -> Any:
    def f(x: Any) -> Any:
        random.seed(1)
        return x * random.random()

    yield from _twice(t, f, lambda: None)


@trap("tensors", "torch")
def randn(t: Any) -> Any:
    yield from _twice(t, lambda x: x * t.xp.randn(3), lambda: t.xp.manual_seed(0))


@trap("tensors", "torch")
def randn_like(t: Any) -> Any:
    yield from _twice(t, lambda x: x + t.xp.randn_like(x), lambda: t.xp.manual_seed(0))


@trap("tensors", "torch")
def dropout(t: Any) -> Any:
    f = lambda x: t.nn.functional.dropout(x, 0.5, training=True)  # noqa: E731
    yield from _twice(t, f, lambda: t.xp.manual_seed(0))


@trap("tensors", "torch")
def numbers_drawn_in_place(t: Any) -> Any:
    f = lambda x: x + t.xp.zeros(3).normal_()  # noqa: E731
    yield from _twice(t, f, lambda: t.xp.manual_seed(0))


@trap()
def bytes_of_the_system(t: Any) -> Any:
    f = t.capture(lambda x: (x * 0).sum() + int.from_bytes(os.urandom(2), "little"))
    yield float(t.numpy(f(t.x))) == float(t.numpy(f(t.x)))


@trap()
def secrets_(t: Any) -> Any:
    f = t.capture(lambda x: (x * 0).sum() + secrets.randbelow(1 << 20))
    yield float(t.numpy(f(t.x))) == float(t.numpy(f(t.x)))


@trap()
def a_uuid(t: Any) -> Any:
    f = t.capture(lambda x: (x * 0).sum() + uuid.uuid4().int % (1 << 20))
    yield float(t.numpy(f(t.x))) == float(t.numpy(f(t.x)))
