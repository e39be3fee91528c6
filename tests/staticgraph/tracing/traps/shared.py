"""Arguments that share memory with others, with results, or with what is outside."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trap import TENSORS, trap


def _line(t: Any, n: int = 6) -> Any:
    return t.xp.arange(float(n))


@trap(*TENSORS)
def one_tensor_for_two_arguments(t: Any) -> Any:
    def f(a: Any, b: Any) -> Any:
        a.add_(1)
        return b * 2

    g = t.capture(f)
    yield g(_line(t), _line(t))
    x = _line(t)
    yield g(x, x), x
    yield g(_line(t), _line(t))


@trap(*TENSORS)
def arguments_that_overlap(t: Any) -> Any:
    def f(a: Any, b: Any) -> Any:
        a.mul_(2)
        return a + b

    g = t.capture(f)
    x = _line(t)
    yield g(_line(t)[:5], _line(t)[1:])
    yield g(x[:5], x[1:]), x


@trap(*TENSORS)
def arguments_side_by_side(t: Any) -> Any:
    def f(a: Any, b: Any) -> Any:
        a.mul_(2)
        b.add_(1)
        return a + b

    g = t.capture(f)
    x = _line(t)
    yield g(x[:3], x[3:]), x
    yield g(x[3:], x[:3]), x


@trap(*TENSORS)
def an_argument_is_a_view_of_what_is_outside(t: Any) -> Any:
    w = _line(t)

    def f(a: Any) -> Any:
        a.add_(1)
        return w.sum()

    g = t.capture(f)
    yield g(_line(t)), w
    yield g(w[:2]), w


@trap(*TENSORS)
def the_outside_is_changed_under_an_argument(t: Any) -> Any:
    w = _line(t)

    def f(a: Any) -> Any:
        w.add_(1)
        return a * 2

    g = t.capture(f)
    yield g(_line(t)), w
    yield g(w[2:4]), w


@trap(*TENSORS)
def a_result_is_memory_of_the_outside(t: Any) -> Any:
    w = _line(t)
    g = t.capture(lambda x: w[1:3])
    found = g(t.x)
    found.add_(10)
    yield w
    w.zero_()
    yield found, g(t.x)


@trap(*TENSORS)
def a_result_is_the_outside_itself(t: Any) -> Any:
    w = _line(t)
    g = t.capture(lambda x: (x, w))
    yield g(t.x)[1] is w
    g(t.x)[1].add_(1)
    yield w


@trap(*TENSORS)
def results_that_share_memory(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        return y, y[1:], y.view(-1, 1)

    g = t.capture(f)
    for k in range(2):
        a, b, c = g(t.x * k)
        a.add_(1)
        yield a, b, c
        c.mul_(2)
        yield a, b, c


@trap(*TENSORS)
def an_expanded_result(t: Any) -> Any:
    g = t.capture(lambda x: (x * 2).expand(2, 3))
    found = g(t.x)
    yield found, found.shape[0]


@trap(*TENSORS)
def a_transposed_result(t: Any) -> Any:
    g = t.capture(lambda x: (x[:, None] * x[None, :]).t())
    found = g(t.x)
    yield found, found.t()


@trap(*TENSORS)
def an_argument_that_is_expanded(t: Any) -> Any:
    g = t.capture(lambda x: x.contiguous().view(-1) * 2)
    yield g(_line(t).view(2, 3))
    yield g(_line(t, 3).expand(2, 3))
    yield g(_line(t).view(3, 2).t())


@trap(*TENSORS)
def an_array_of_numpy_under_an_argument(t: Any) -> Any:
    array = np.ones(3, "float32")
    x = t.xp.from_numpy(array)

    def f(a: Any) -> Any:
        a.add_(1)
        return a * 1

    g = t.capture(f)
    yield g(x), array
    array[0] = 9
    yield g(x), array


@trap(*TENSORS)
def a_default_that_is_a_tensor(t: Any) -> Any:
    start = t.xp.ones(3)

    def f(x: Any, w: Any = start) -> Any:
        w.add_(x)
        return w * 1

    g = t.capture(f)
    yield g(t.x), start
    yield g(t.x), start
    yield g(t.x, t.xp.zeros(3)), start


@trap(*TENSORS)
def a_keyword_that_is_a_tensor(t: Any) -> Any:
    def f(x: Any, *, w: Any, b: Any = None) -> Any:
        return x * w if b is None else x * w + b

    g = t.capture(f)
    yield g(t.x, w=t.x), g(t.x, w=t.x, b=t.x), g(t.x, b=t.x, w=2 * t.x), g(x=t.x, w=t.x)


@trap(*TENSORS)
def a_tensor_twice_in_a_list(t: Any) -> Any:
    def f(xs: Any) -> Any:
        xs[0].add_(1)
        return sum(xs)

    g = t.capture(f)
    yield g([t.x, t.x])
    x = t.x
    yield g([x, x]), x
    yield g([t.x, x]), x


@trap(*TENSORS)
def a_list_of_tensors_is_changed_in_place(t: Any) -> Any:
    xs = [t.x, 2 * t.x]

    def f(y: Any) -> Any:
        for one in xs:
            one.mul_(y)
        return xs[0] + xs[1]

    g = t.capture(f)
    yield g(t.x), xs
    xs.reverse()
    yield g(t.x), xs
    xs.append(t.x)
    yield g(t.x), xs


@trap(*TENSORS)
def a_buffer_in_a_ring(t: Any) -> Any:
    ring, place = t.xp.zeros(3, 3), [0]

    def f(x: Any) -> Any:
        ring[place[0]] = x
        return ring.sum(0)

    g = t.capture(f)
    for k in range(5):
        place[0] = k % 3
        yield g(t.x * k), ring


@trap(*TENSORS)
def a_place_that_is_a_tensor(t: Any) -> Any:
    ring, place = t.xp.zeros(3, 3), t.xp.zeros((), dtype=t.xp.int64)

    def f(x: Any) -> Any:
        ring[place] = x
        place.add_(1).remainder_(3)
        return ring.sum(0)

    g = t.capture(f)
    for k in range(5):
        yield g(t.x * k), ring, place


@trap(*TENSORS)
def two_names_in_one_call_after_another(t: Any) -> Any:
    w = _line(t)
    first, second = w[:3], w[3:]

    def f(x: Any) -> Any:
        first.add_(x)
        second.copy_(first)
        return first + second

    g = t.capture(f)
    yield g(t.x), w
    yield g(t.x), w


@trap(*TENSORS)
def a_number_from_a_tensor_of_the_outside(t: Any) -> Any:
    w = t.xp.tensor(2.0)
    g = t.capture(lambda x: x * w.item())
    yield g(t.x)
    w.fill_(3.0)
    yield g(t.x)


@trap(*TENSORS)
def a_number_from_an_argument(t: Any) -> Any:
    g = t.capture(lambda x: x / x.sum().item())
    yield g(t.x), g(2 * t.x), g(t.x.double())


@trap(*TENSORS)
def a_count_from_an_argument(t: Any) -> Any:
    g = t.capture(lambda x: x * (x > 0).sum().item() / 2)
    yield g(t.x), g(-t.x)


@trap(*TENSORS)
def a_number_that_is_returned(t: Any) -> Any:
    g = t.capture(lambda x: (x * 2, x.sum().item()))
    for k in (1, 2):
        y, total = g(t.x * k)
        yield y, total, type(total).__name__


@trap(*TENSORS)
def a_branch_on_a_number(t: Any) -> Any:
    g = t.capture(lambda x: x * 2 if x.sum().item() > 0 else x)
    yield g(t.x), g(-t.x)


@trap(*TENSORS)
def a_number_in_floats_of_python(t: Any) -> Any:
    def f(x: Any) -> Any:
        mean = x.mean().item()
        var = sum((v.item() - mean) ** 2 for v in x) / (len(x) - 1)
        return (x - mean) / (var**0.5 + 1e-12)

    g = t.capture(f)
    yield g(t.x), g(t.x * 3)


@trap(*TENSORS)
def a_whole_number_divided(t: Any) -> Any:
    def f(x: Any) -> Any:
        n = (x > 0).sum().item()
        return x * (n / 2), x * (n // 2), x * (-n % 3), x * (7 // n), x**n

    g = t.capture(f)
    yield g(t.x), g(t.x.abs())


@trap(*TENSORS)
def a_number_as_a_fill(t: Any) -> Any:
    g = t.capture(lambda x: t.xp.full((2,), x.sum().item()) + t.xp.tensor(x.max().item()))
    yield g(t.x), g(t.x * 2)


@trap(*TENSORS)
def a_number_as_an_index(t: Any) -> Any:
    w = _line(t)
    g = t.capture(lambda x: w[x.argmax().item()] * x)
    yield g(t.x), g(-t.x)


@trap(*TENSORS)
def a_number_as_an_option(t: Any) -> Any:
    g = t.capture(lambda x: x.clamp(max=x.mean().item()) + t.xp.add(x, x, alpha=x.sum().item()))
    yield g(t.x), g(t.x * 2)


@trap(*TENSORS)
def a_gradient_beside_a_number(t: Any) -> Any:
    g = t.capture(lambda x: (x * x.sum().item()).sum())
    x = t.x.requires_grad_()
    g(x).backward()
    yield x.grad


@trap(*TENSORS)
def a_number_by_float(t: Any) -> Any:
    g = t.capture(lambda x: x * float(x.sum()))
    yield g(t.x), g(t.x * 2)


@trap(*TENSORS)
def a_message_with_a_number(t: Any) -> Any:
    def f(x: Any) -> Any:
        total = x.sum()
        if total > 5:
            raise ValueError(f"the sum {total.item():.2f} is too large")
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    try:
        g(t.x * 4)
    except ValueError as error:
        yield str(error)


@trap(*TENSORS)
def an_assertion_with_a_tensor(t: Any) -> Any:
    def f(x: Any) -> Any:
        assert x.sum() < 5, f"sum is {x.sum()}"
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    try:
        g(t.x * 4)
    except AssertionError as error:
        yield str(error)


@trap(*TENSORS)
def an_outside_tensor_is_resized(t: Any) -> Any:
    w = _line(t)

    def f(x: Any) -> Any:
        w.resize_(3)
        return w * x

    g = t.capture(f)
    yield g(t.x), w.shape[0]
    yield g(t.x), w.shape[0]


@trap(*TENSORS)
def an_outside_tensor_gets_another_axis(t: Any) -> Any:
    w = t.xp.ones(3)

    def f(x: Any) -> Any:
        w.unsqueeze_(0)
        return w * x

    g = t.capture(f)
    yield g(t.x), list(w.shape)
    yield g(t.x), list(w.shape)


@trap(*TENSORS)
def an_outside_tensor_is_transposed(t: Any) -> Any:
    w = _line(t).view(2, 3)

    def f(x: Any) -> Any:
        w.t_()
        return w.sum(0)

    g = t.capture(f)
    yield g(t.x), list(w.shape), w
    yield g(t.x), list(w.shape), w


@trap(*TENSORS)
def the_data_gets_another_shape(t: Any) -> Any:
    w = t.xp.ones(3)

    def f(x: Any) -> Any:
        w.data = t.xp.cat([x, x])
        return w.sum()

    g = t.capture(f)
    yield g(t.x), list(w.shape)
    yield g(t.x * 2), list(w.shape), w


@trap(*TENSORS)
def what_is_made_inside_is_resized(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = (x * 2).unsqueeze_(0)
        z = (x[:, None] * x).t_()
        return y.squeeze_(0) + z.sum(0)

    g = t.capture(f)
    yield g(t.x), g(t.x * 2)


@trap(*TENSORS)
def the_next_float(t: Any) -> Any:
    g = t.capture(lambda x: t.xp.nextafter(x, 2 * x))
    yield g(t.x), g(t.x.double())


@trap(*TENSORS)
def bits_are_shifted(t: Any) -> Any:
    g = t.capture(lambda n: (n << 2) + (n >> 1) + t.xp.bitwise_left_shift(n, 1))
    yield g(t.xp.tensor([1, 5, -8])), g(t.xp.tensor([3, 0, -1]))


@trap(*TENSORS)
def a_loss_of_sequences(t: Any) -> Any:
    loss = t.nn.CTCLoss()
    targets, sizes, lengths = t.xp.tensor([[1, 2]]), t.xp.tensor([4]), t.xp.tensor([2])

    def f(x: Any) -> Any:
        return loss(t.xp.log_softmax(x, 2), targets, sizes, lengths)

    g = t.capture(f)
    yield g(_line(t, 12).view(4, 1, 3) / 10)
    targets[0, 0] = 2
    yield g(_line(t, 12).view(4, 1, 3) / 10)


@trap(*TENSORS)
def random_numbers_after_an_error(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x + t.xp.rand(3)
        if x.sum() > 3:
            raise ValueError("too large")
        return y + t.xp.rand(3)

    g = t.capture(f)
    t.xp.manual_seed(3)
    yield g(t.x), t.xp.rand(2)
    try:
        g(t.x * 9)
    except ValueError as error:
        yield str(error)
    yield t.xp.rand(2)
    yield g(t.x), t.xp.rand(2)
