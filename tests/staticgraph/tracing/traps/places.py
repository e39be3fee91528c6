"""Elements that are read and written by their places, in place, and through views."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trap import BOTH, TENSORS, trap


def _matrix(t: Any) -> Any:
    return t.array(np.arange(6, dtype="float32").reshape(2, 3))


@trap(*TENSORS)
def two_rows_are_swapped(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        y[0], y[1] = y[1], y[0]
        return y

    g = t.capture(f)
    yield g(_matrix(t)), g(t.x)


@trap(*TENSORS)
def two_columns_are_swapped_by_indices(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        y[:, [0, 1]] = y[:, [1, 0]]
        return y

    g = t.capture(f)
    yield g(_matrix(t))


@trap(*TENSORS)
def a_transpose_is_added_to_itself(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        y += y.T.clone()
        z = y.t()
        z[0, 1] = 100.0
        return y

    g = t.capture(f)
    yield g(t.x[:, None] * t.x[None, :])


@trap(*TENSORS)
def parts_of_a_split_are_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        first, second = y.split([1, 2])
        first.mul_(10)
        second.add_(first)
        for part in y.chunk(3):
            part.add_(1)
        return y, first

    g = t.capture(f)
    yield g(t.x), g(t.x * 2)


@trap(*TENSORS)
def unbound_rows_are_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 1
        rows = [y[k] for k in range(2)]
        rows[0].zero_()
        rows[1][2] = -1.0
        return y.sum(0), rows[1]

    g = t.capture(f)
    yield g(_matrix(t))


@trap(*TENSORS)
def what_a_mask_takes_is_added_to(t: Any) -> Any:
    limit = [0.0]

    def f(x: Any) -> Any:
        y = x.clone()
        y[y > limit[0]] += 10.0
        y[y < 0] = 0.0
        return y

    g = t.capture(f)
    yield g(t.x)
    limit[0] = 2.0
    yield g(t.x)


@trap(*TENSORS)
def a_sum_is_added_to_what_it_sums(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        y += y.sum()
        y[0] = y.sum()
        y[1:] -= y[0]
        return y

    g = t.capture(f)
    yield g(t.x), g(t.x)


@trap(*TENSORS)
def a_copy_of_its_own_reverse(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        y.copy_(y.flip(0))
        y[:2] = y[1:].clone()
        return y

    g = t.capture(f)
    yield g(t.x)


@trap(*TENSORS)
def data_is_written_under_a_history(t: Any) -> Any:
    w = t.xp.ones(3).requires_grad_()

    def f(x: Any) -> Any:
        y = w * x
        y.data.mul_(2.0)
        loss = (y * y).sum()
        loss.backward()
        return loss.detach()

    g = t.capture(f)
    yield g(t.x), w.grad
    yield g(t.x), w.grad


@trap(*TENSORS)
def a_detached_alias_is_written(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        z = y.detach()
        z[0] = 50.0
        return y, z

    g = t.capture(f)
    yield g(t.x)


@trap(*TENSORS)
def a_diagonal_is_filled(t: Any) -> Any:
    value = [1.0]

    def f(x: Any) -> Any:
        y = x[:, None] * x[None, :]
        y.diagonal().fill_(value[0])
        y.fill_diagonal_(value[0] + 1)
        return y

    g = t.capture(f)
    yield g(t.x)
    value[0] = 5.0
    yield g(t.x)


@trap(*TENSORS)
def an_expanded_view_of_what_is_written(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        wide = y.expand(2, 3)
        y[0] = 7.0
        return wide.sum(0), wide[1]

    g = t.capture(f)
    yield g(t.x)


@trap(*TENSORS)
def a_reshaped_alias_is_written(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone()
        flat = y.view(-1)
        flat[0] = 9.0
        y[0, 1] = 8.0
        return y, flat.sum()

    g = t.capture(f)
    yield g(_matrix(t))


@trap(*TENSORS)
def a_buffer_that_rolls(t: Any) -> Any:
    buffer = t.xp.zeros(4)

    def f(x: Any) -> Any:
        buffer.copy_(t.xp.roll(buffer, 1))
        buffer[0] = x.sum()
        return buffer * 1

    g = t.capture(f)
    for k in range(3):
        yield g(t.x + k), buffer


@trap(*TENSORS)
def a_row_of_a_table_outside(t: Any) -> Any:
    table, at = t.xp.zeros(3, 2), [0]

    def f(x: Any) -> Any:
        table[at[0]] += x[:2]
        return table.sum()

    g = t.capture(f)
    for k in (0, 2, 0):
        at[0] = k
        yield g(t.x), table


@trap(*TENSORS)
def rows_by_indices_outside(t: Any) -> Any:
    table = t.xp.zeros(4)
    at = t.xp.tensor([0, 0, 1])

    def f(x: Any) -> Any:
        table[at] = x
        table.index_add_(0, at, x)
        return table * 1

    g = t.capture(f)
    yield g(t.x), table
    at[0] = 3
    yield g(t.x), table


@trap(*TENSORS)
def an_element_by_an_argument(t: Any) -> Any:
    def f(x: Any, i: Any) -> Any:
        y = x.clone()
        y[i] = 0.0
        y[-1] += y[i + 1]
        return y, x[i]

    g = t.capture(f)
    yield g(t.x, t.xp.tensor(0)), g(t.x, t.xp.tensor(1)), g(t.x, t.xp.tensor(-3))


@trap(*BOTH)
def places_from_a_list_that_changes(t: Any) -> Any:
    places = [0, 2]
    f = t.capture(lambda x: x[t.array(np.array(places))] * 2)
    yield f(t.x)
    places[:] = [1, 1, 0]
    yield f(t.x)


@trap(*BOTH)
def a_tuple_of_places_that_changes(t: Any) -> Any:
    key: Any = (0, slice(1, None))
    f = t.capture(lambda x: x[key] * 2)
    yield f(_matrix(t))
    key = (slice(None), None, -1)
    yield f(_matrix(t))
    key = (..., 0)
    yield f(_matrix(t))


@trap(*BOTH)
def a_list_of_flags_that_changes(t: Any) -> Any:
    keep = np.array([True, False, True])
    f = t.capture(lambda x: x[keep] * 2)
    yield f(t.x)
    keep[1] = True
    yield f(t.x)
    keep[:] = False
    yield f(t.x)


@trap(*TENSORS)
def the_argument_is_written_and_returned_as_a_view(t: Any) -> Any:
    def f(x: Any) -> Any:
        x[0] = x[0] + 1
        return x[1:]

    g, x = t.capture(f), t.x
    y = g(x)
    y[0] = 100.0
    yield x, y
    yield g(x), x


@trap(*TENSORS)
def an_operator_in_place_on_an_alias_of_the_outside(t: Any) -> Any:
    held = {"total": t.xp.zeros(3)}

    def f(x: Any) -> Any:
        total = held["total"]
        total += x
        total = total * 2
        total += 1
        return total

    g = t.capture(f)
    yield g(t.x), held["total"]
    yield g(t.x), held["total"]


@trap(*TENSORS)
def a_dict_of_the_outside_gets_a_new_total(t: Any) -> Any:
    held = {"total": t.xp.zeros(3)}

    def f(x: Any) -> Any:
        held["total"] = held["total"] + x
        return held["total"] * 2

    g = t.capture(f)
    yield g(t.x), held["total"]
    yield g(t.x), held["total"]


@trap(*TENSORS)
def a_strided_write(t: Any) -> Any:
    step = [2]

    def f(x: Any) -> Any:
        y = x.clone()
        y[:: step[0]] = 5.0
        y[1::2] *= 3.0
        return y

    g = t.capture(f)
    yield g(t.x)
    step[0] = 3
    yield g(t.x)


@trap(*TENSORS)
def writes_by_scatter(t: Any) -> Any:
    def f(x: Any, i: Any) -> Any:
        y = t.xp.zeros(4).scatter_(0, i, x)
        y.scatter_add_(0, i, x)
        return y.put_(t.xp.tensor([0]), t.xp.tensor([9.0]))

    g = t.capture(f)
    yield g(t.x, t.xp.tensor([0, 1, 2])), g(t.x, t.xp.tensor([3, 2, 1]))


@trap(*TENSORS)
def a_written_copy_has_the_gradient(t: Any) -> Any:
    w = t.xp.ones(3).requires_grad_()

    def f(x: Any) -> Any:
        y = w * x
        y[0] = 0.0
        y[1] = x[1] * x[2]
        y.sum().backward()
        return y.detach()

    g = t.capture(f)
    yield g(t.x), w.grad
    yield g(t.x * 2), w.grad


@trap(*TENSORS)
def a_diagonal_of_another_dtype(t: Any) -> Any:
    f = t.capture(lambda x, d: t.xp.diagonal_scatter(x, d))
    x = t.xp.arange(9).reshape(3, 3)
    d = t.xp.tensor([10, 20, 30])
    yield f(x.to(t.xp.uint8), d), f(x, t.x), f(x * 1.0, d)
