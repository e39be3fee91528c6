"""What a function returns shares memory with its argument, or is it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trap import trap


def _square(t: Any) -> Any:
    return t.array(np.arange(1.0, 7.0, dtype="float32").reshape(2, 3))


@trap("arrays", "tensors", "torch")
def a_slice_that_is_returned_is_changed(t: Any) -> Any:
    x = t.x
    y = t.capture(lambda x: x[1:])(x)
    y += 1
    yield x


@trap("arrays", "tensors", "torch")
def a_transpose_that_is_returned_is_changed(t: Any) -> Any:
    x = _square(t)
    y = t.capture(lambda x: x.T)(x)
    y *= 2
    yield x


@trap("arrays", "tensors", "torch")
def the_argument_changes_after_a_view_was_returned(t: Any) -> Any:
    x = _square(t)
    y = t.capture(lambda x: x.reshape(-1))(x)
    x += 1
    yield y


@trap("arrays", "tensors", "torch")
def a_view_on_one_side_of_a_branch(t: Any) -> Any:
    x = t.x
    f = t.capture(lambda x: x[:2] if x[0] > 0 else x[:2] * 2)
    for one in (x, -x):
        y = f(one)
        y += 1
        yield one


@trap()
def whether_the_argument_is_returned(t: Any) -> Any:
    x = t.x
    yield t.capture(lambda x: x)(x) is x


@trap("arrays", "tensors", "torch")
def one_result_is_new_and_one_is_not(t: Any) -> Any:
    x = t.x
    new, old = t.capture(lambda x: (x + 1, x))(x)
    new += 1
    old += 1
    yield x, new, old


@trap("arrays", "tensors", "torch")
def the_argument_in_a_dict_is_changed(t: Any) -> Any:
    x = t.x
    found = t.capture(lambda x: {"same": x, "twice": x * 2})(x)
    found["same"] += 1
    yield x, found["twice"]


@trap("arrays", "tensors", "torch")
def one_of_two_arguments_is_returned(t: Any) -> Any:
    x, y = t.x, t.x * 3
    f = t.capture(lambda x, y: y if x.sum() > 0 else x)
    found = f(x, y)
    found += 1
    yield x, y
    found = f(-x, y)
    found += 1
    yield x, y


@trap()
def what_is_returned_is_given_again(t: Any) -> Any:
    f = t.capture(lambda x: x * 2)
    y = f(t.x)
    z = f(y)
    yield y, z
    yield f(z), y


@trap()
def two_results_are_one(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        return y, y

    a, b = t.capture(f)(t.x)
    yield a is b


@trap()
def a_result_is_kept_over_calls(t: Any) -> Any:
    f = t.capture(lambda x: x + 1)
    first = f(t.x)
    f(t.x * 5)
    yield first
