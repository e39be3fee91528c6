"""In-place operations, aliases and views."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trap import trap


@trap("arrays", "tensors", "torch")
def an_argument_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        x += 1
        return x * 2

    g, x = t.capture(f), t.x
    yield g(x)
    yield x


@trap("arrays", "tensors", "torch")
def an_alias_of_an_argument(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x
        y += 1
        return x

    g = t.capture(f)
    yield g(t.x)


@trap()
def an_alias_of_what_is_computed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        z = y
        z += 1
        return y

    yield t.capture(f)(t.x)


@trap()
def a_sum_in_place(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y += 1
        y *= x
        return y

    yield t.capture(f)(t.x)


@trap()
def a_loop_in_place(t: Any) -> Any:
    def f(x: Any) -> Any:
        total = x * 0
        for i in range(3):
            total += x * i
        return total

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def what_was_used_before_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        z = y * y
        y -= 1
        return z + y

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def what_a_list_holds_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        parts = [x * 2]
        y = parts[0]
        y += 1
        return parts[0]

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def an_item_of_a_list_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        parts = [y]
        parts[0] += 1
        return y

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def a_helper_changes_it(t: Any) -> Any:
    def add_one(y: Any) -> None:
        y += 1

    def f(x: Any) -> Any:
        y = x * 2
        add_one(y)
        return y

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def an_attribute_is_changed(t: Any) -> Any:
    class Box:
        value: Any

    def f(x: Any) -> Any:
        box, y = Box(), x * 2
        box.value = y
        box.value += 1
        return y

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def a_view_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        z = y[:2]
        z += 5
        return y

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def a_row_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        z = y[0]
        z += 5
        return y

    yield t.capture(f)(t.array(np.ones((2, 3), "float32")))


@trap("arrays", "tensors", "torch")
def what_a_view_is_of_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        z = y[:2]
        y += 5
        return z

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def the_transpose_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        z = y.T
        z += 5
        return y

    yield t.capture(f)(t.array(np.ones((2, 3), "float32")))


@trap("arrays", "tensors", "torch")
def a_reshaped_view_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        z = y.reshape(-1)
        z += 5
        return y

    yield t.capture(f)(t.array(np.ones((2, 3), "float32")))


@trap("arrays", "tensors", "torch")
def an_element_is_set(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y[0] = 7.0
        return y

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def a_buffer_is_filled(t: Any) -> Any:
    zeros = np.zeros if t.name == "arrays" else t.xp.zeros

    def f(x: Any) -> Any:
        buffer = zeros(3)
        for i in range(3):
            buffer[i] = x[i] * i
        return buffer

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def a_slice_is_set(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y[1:] = y[:2]
        return y

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def what_a_mask_takes_is_set(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y[y > 0] = 0.0
        return y

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def an_element_is_added_to(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y[0] += 7.0
        return y

    yield t.capture(f)(t.x)


@trap("arrays", "tensors", "torch")
def an_element_of_an_argument_is_set(t: Any) -> Any:
    def f(x: Any) -> Any:
        x[0] = 7.0
        return x * 2

    g, x = t.capture(f), t.x
    yield g(x)
    yield x


@trap("arrays")
def out_of_a_ufunc(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = np.zeros(3, "float32")
        np.add(x, 1, out=y)
        return y

    yield t.capture(f)(t.x)


@trap("arrays")
def an_array_gets_what_is_traced(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = np.zeros(3, "float32")
        y += x
        return y

    yield t.capture(f)(t.x)


@trap("arrays")
def a_copy_into_an_array(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = np.zeros(3, "float32")
        np.copyto(y, x)
        return y

    yield t.capture(f)(t.x)


@trap("arrays")
def it_is_sorted_in_place(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y.sort()
        return y

    yield t.capture(f)(t.x)


@trap("arrays")
def it_is_filled(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y.fill(1.0)
        return y

    yield t.capture(f)(t.x)


@trap("arrays")
def its_flat_view_is_set(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y.flat[0] = 1.0
        return y

    yield t.capture(f)(t.x)


@trap("tensors", "torch")
def a_method_in_place(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        z = y
        y.add_(1).clamp_(0, 4)
        return z

    yield t.capture(f)(t.x)


@trap("tensors", "torch")
def a_copy_in_place(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = t.xp.zeros(3)
        y.copy_(x)
        return y

    yield t.capture(f)(t.x)


@trap("tensors", "torch")
def out_of_a_function(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = t.xp.zeros(3)
        t.xp.add(x, x, out=y)
        return y

    yield t.capture(f)(t.x)


@trap("tensors", "torch")
def the_data_of_a_tensor(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y.data[0] = 9.0
        return y

    yield t.capture(f)(t.x)


@trap("tensors", "torch")
def what_is_detached_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y.detach().add_(1)
        return y

    yield t.capture(f)(t.x)


@trap()
def the_argument_is_returned(t: Any) -> Any:
    f = t.capture(lambda x: (x, x))
    first, second = f(t.x)
    yield first, second


@trap("arrays", "tensors", "torch")
def what_is_returned_twice_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        return y, y

    first, second = t.capture(f)(t.x)
    first += 1
    yield second


@trap("arrays", "tensors", "torch")
def the_argument_that_is_returned_is_changed(t: Any) -> Any:
    x = t.x
    y = t.capture(lambda x: x)(x)
    y += 1
    yield x
