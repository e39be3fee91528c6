"""What is captured itself: methods, generators, copies; what Python and NumPy do to values."""

from __future__ import annotations

import collections
import copy
import enum
from typing import Any

import numpy as np

from .trap import ARRAYS, TENSORS, trap


@trap(*TENSORS)
def a_tensor_is_swapped_with_another(t: Any) -> Any:
    a, b = t.array(np.ones(3, "float32")), t.array(np.full(3, 5.0, "float32"))

    def swapped(x: Any) -> Any:
        old = a.clone()
        a.copy_(b)
        b.copy_(old)
        return a * x

    f = t.capture(swapped)
    yield f(t.x), a, b
    yield f(t.x), a, b


@trap(*TENSORS)
def the_hidden_state_is_an_attribute(t: Any) -> Any:
    class Cell:
        def __init__(self) -> None:
            self.h = t.array(np.zeros(3, "float32"))

        def __call__(self, x: Any) -> Any:
            self.h = t.xp.tanh(self.h + x)
            return self.h * 2

    cell = Cell()
    f = t.capture(cell)
    yield f(t.x), cell.h
    yield f(t.x), cell.h
    cell.h = t.array(np.zeros(3, "float32"))
    yield f(t.x), cell.h


@trap(*TENSORS)
def a_list_of_hidden_states(t: Any) -> Any:
    hs = [t.array(np.zeros(3, "float32")) for _ in range(2)]

    def step(x: Any) -> Any:
        for i in range(2):
            hs[i] = t.xp.tanh(hs[i] + x)
            x = hs[i]
        return x

    f = t.capture(step)
    yield f(t.x), hs[0]
    yield f(t.x), hs[1]


@trap(*TENSORS)
def a_result_is_changed_outside(t: Any) -> Any:
    w = t.array(np.ones(3, "float32"))
    f = t.capture(lambda x: (w, x * w))
    found, product = f(t.x)
    found.add_(1.0)
    yield product
    yield f(t.x), w


@trap(*TENSORS)
def a_result_is_a_view_of_a_buffer(t: Any) -> Any:
    w = t.array(np.zeros((2, 3), "float32"))

    def row(x: Any) -> Any:
        w[0] = x
        return w[0]

    f = t.capture(row)
    found = f(t.x)
    found.mul_(2)
    yield w
    w[0, 0] = 9.0
    yield found


@trap(*TENSORS)
def gradients_through_two_captured_functions(t: Any) -> Any:
    w = t.array(np.ones(3, "float32")).requires_grad_()
    f, g = t.capture(lambda x: x * w), t.capture(lambda y: (y * w).sum())
    loss = g(f(t.x))
    loss.backward()
    yield w.grad
    w.grad = None
    g(f(t.x)).backward()
    yield w.grad


@trap(*TENSORS)
def gradients_are_taken_twice(t: Any) -> Any:
    w = t.array(np.ones(3, "float32")).requires_grad_()
    f = t.capture(lambda x: (x * w * w).sum())
    loss = f(t.x)
    loss.backward(retain_graph=True)
    loss.backward()
    yield w.grad
    try:
        loss.backward()
        yield "a third time"
    except RuntimeError:
        yield "an error"


@trap(*TENSORS)
def a_weight_is_written_between_the_passes(t: Any) -> Any:
    w = t.array(np.ones(3, "float32")).requires_grad_()
    f = t.capture(lambda x: (x * w * w).sum())
    loss = f(t.x)
    with t.xp.no_grad():
        w.mul_(3.0)
    try:
        loss.backward()
        yield w.grad
    except RuntimeError:
        yield "an error"


@trap(*TENSORS)
def what_a_result_says_of_gradients(t: Any) -> Any:
    w = t.array(np.ones(3, "float32")).requires_grad_()
    f = t.capture(lambda x: (x * w, x * 2, (x * w).detach(), x > 0))
    found = f(t.x)
    yield [one.requires_grad for one in found], [one.is_leaf for one in found]
    with t.xp.no_grad():
        found = f(t.x)
    yield [one.requires_grad for one in found], [one.is_leaf for one in found]


@trap(*TENSORS)
def numbers_of_other_dtypes_meet_tensors(t: Any) -> Any:
    f = t.capture(lambda x: (x + 1, x + 1.5, x * True, x / 2, x // 2, x**2, x + np.float64(1.0)))
    yield f(t.array(np.array([1, 2, 3], "int32")))
    yield f(t.array(np.array([1, 2, 3], "uint8")))
    yield f(t.array(np.array([True, False])))


@trap(*TENSORS)
def a_scalar_tensor_meets_others(t: Any) -> Any:
    s = t.array(np.float64(2.0))
    f = t.capture(lambda x: (x * s, x + s.sum(), s / x.sum()))
    yield f(t.x)
    yield f(t.array(np.array([1, 2, 3], "int32")))


@trap(*TENSORS)
def an_optimizer_gets_another_rate(t: Any) -> Any:
    w = t.array(np.ones(3, "float32")).requires_grad_()
    opt = t.xp.optim.SGD([w], lr=0.1, momentum=0.9)

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = (w * x).pow(2).sum()
        loss.backward()
        opt.step()
        return loss

    f = t.capture(step)
    yield f(t.x), w
    opt.param_groups[0]["lr"] = 0.01
    yield f(t.x), w
    saved = copy.deepcopy(opt.state_dict())
    yield f(t.x), w
    opt.load_state_dict(saved)
    yield f(t.x), w
    opt.param_groups[0]["weight_decay"] = 0.1
    yield f(t.x), w


@trap(*TENSORS)
def a_step_is_skipped_by_a_value(t: Any) -> Any:
    w = t.array(np.ones(3, "float32")).requires_grad_()
    opt = t.xp.optim.Adam([w], lr=0.1)

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = (w * x).pow(2).sum()
        loss.backward()
        if loss < 20:
            opt.step()
        return loss

    f = t.capture(step)
    yield f(t.x), w
    yield f(t.x * 10), w
    yield f(t.x), w


@trap(*TENSORS)
def parameters_are_shared_by_two_models(t: Any) -> Any:
    one, other = t.nn.Linear(3, 3), t.nn.Linear(3, 3)
    with t.xp.no_grad():
        for p in (*one.parameters(), *other.parameters()):
            p.fill_(0.5)
    f = t.capture(lambda x: other(one(x)))
    yield f(t.x)
    other.weight = one.weight
    with t.xp.no_grad():
        one.weight.fill_(2.0)
    yield f(t.x)
    f(t.x).sum().backward()
    yield one.weight.grad


@trap(*TENSORS)
def a_penalty_over_named_parameters(t: Any) -> Any:
    model = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.ReLU(), t.nn.Linear(3, 1))
    with t.xp.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
    skip = {"bias"}

    def loss(x: Any) -> Any:
        penalty = sum(
            p.pow(2).sum() for n, p in model.named_parameters() if n.split(".")[-1] not in skip
        )
        return model(x).sum() + penalty

    f = t.capture(loss)
    yield f(t.x)
    skip.clear()
    yield f(t.x)
    model.append(t.nn.Linear(1, 1, bias=False))
    with t.xp.no_grad():
        model[-1].weight.fill_(2.0)
    yield f(t.x)


@trap(*TENSORS)
def a_hook_is_put_by_a_context(t: Any) -> Any:
    model = t.nn.Linear(3, 3)
    with t.xp.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
    f = t.capture(lambda x: model(x))
    yield f(t.x)
    handle = model.register_forward_hook(lambda m, args, out: out * 2)
    yield f(t.x)
    handle.remove()
    yield f(t.x)
    handle = model.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    yield f(t.x)
    handle.remove()
    yield f(t.x)


@trap("arrays")
def numpy_scalars_are_made_inside(t: Any) -> Any:
    f = t.capture(lambda x: (x * np.float64(2.0), x * np.float32(2.0), x + np.int64(1), x * np.pi))
    yield f(t.x)
    yield f(np.array([1, 2, 3], "int8"))


@trap("arrays")
def python_numbers_meet_small_integers(t: Any) -> Any:
    f = t.capture(
        lambda x: (x + 1, x * 2.0, x / 2, x // 2, x**2, x % 3, -x, abs(x), x.sum(), x.mean())
    )
    yield f(np.array([1, -2, 3], "int8"))
    yield f(np.array([1, 2, 3], "uint16"))
    yield f(np.array([True, False, True]))


@trap("arrays")
def numpy_functions_by_all_names(t: Any) -> Any:
    f = t.capture(
        lambda x: (
            np.clip(x, -1, 1),
            np.where(x > 0, x, 0),
            np.stack([x, x]),
            np.flip(x),
            np.cumsum(x),
            np.outer(x, x),
            np.linalg.norm(x),
            np.sort(x),
            np.diff(x),
        )
    )
    yield f(t.x)
    yield f(np.ones(4))


@trap("arrays")
def an_array_on_the_left_is_changed(t: Any) -> Any:
    w = np.ones(3, "float32")

    def added(x: Any) -> Any:
        y = w
        y = y + x
        y *= 2
        return y

    f = t.capture(added)
    yield f(t.x), w
    yield f(t.x), w


@trap("arrays")
def an_array_outside_is_changed_in_place(t: Any) -> Any:
    w = np.ones(3, "float32")

    def added(x: Any) -> Any:
        y = w
        y += x
        return y

    f = t.capture(added)
    yield t.x
    yield f(t.x), w


@trap("arrays")
def an_element_is_exchanged_in_a_copy(t: Any) -> Any:
    def exchanged(x: Any) -> Any:
        y = x.copy()
        y[[0, 1]] = y[[1, 0]]
        return y

    f = t.capture(exchanged)
    yield t.x
    yield f(t.x)


@trap(*ARRAYS)
def a_result_is_changed_by_the_caller(t: Any) -> Any:
    f = t.capture(lambda x: x * 2)
    first = f(t.x)
    second = f(-t.x)
    yield first, second


@trap("arrays")
def an_argument_that_is_returned_is_changed(t: Any) -> Any:
    f = t.capture(lambda x: (x, x[1:], x.T, x.reshape(-1)))
    x = t.x
    found = f(x)
    x[0] = 50.0
    x[1] = 60.0
    yield found
    found[1][0] = 70.0
    yield x


@trap("arrays")
def big_endian_arguments(t: Any) -> Any:
    f = t.capture(lambda x: x * 2)
    yield f(t.x)
    yield f(t.x.astype(">f4")).astype("float32")


@trap("arrays")
def complex_arguments(t: Any) -> Any:
    f = t.capture(lambda x: (x * 2, abs(x), x.real, x.conj()))
    yield f(np.array([1 + 2j, 3 - 1j]))
    yield f(t.x.astype("complex64"))


@trap()
def results_in_a_queue(t: Any) -> Any:
    f = t.capture(lambda x: collections.deque([x, x * 2], maxlen=2))
    yield list(f(t.x))
    yield f(t.x).maxlen


@trap()
def keys_that_are_no_texts(t: Any) -> Any:
    class Kind(enum.Enum):
        A = 1
        B = 2

    f = t.capture(lambda d: d[Kind.A] * 2 + d[(1, 2)] * 3 + d[None])
    yield f({Kind.A: t.x, (1, 2): t.x, None: t.x})
    yield f({None: t.x * 2, (1, 2): t.x, Kind.A: t.x})


@trap()
def rows_of_other_lengths(t: Any) -> Any:
    f = t.capture(lambda *xs, **more: sum(xs[1:], xs[0]) * (len(more) + 1))
    yield f(t.x)
    yield f(t.x, t.x)
    yield f(t.x, t.x, k=1.0)
    yield f(t.x, t.x, t.x)


@trap()
def nothing_in_a_nest(t: Any) -> Any:
    f = t.capture(lambda nest: nest[0]["x"] * (len(nest[1]) + (nest[2] is None) + 1))
    yield f([{"x": t.x}, [], None])
    yield f([{"x": t.x}, [None, ()], None])
    yield f([{"x": t.x}, [None], 0.0])


@trap()
def one_array_at_two_places(t: Any) -> Any:
    f = t.capture(lambda a, b: a * (2.0 if a is b else 3.0))
    x = t.x
    yield f(x, x)
    yield f(x, t.x)
    yield f(x, x)


@trap()
def a_container_that_comes_back(t: Any) -> Any:
    f = t.capture(lambda rows: (rows, rows[0] * 2))
    rows = [t.x]
    found = f(rows)
    yield found[0] is rows, found[0][0] is rows[0]
    yield found[1]


@trap()
def a_key_is_deleted_from_a_copy(t: Any) -> Any:
    def rest(d: Any) -> Any:
        mine = {**d}
        x = mine.pop("x")
        return x * len(mine)

    f = t.capture(rest)
    yield f({"x": t.x, "a": 1.0})
    yield f({"x": t.x, "a": 1.0, "b": t.x})
