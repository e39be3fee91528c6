"""What tensors, parameters and results carry, are, and are asked for beside their values."""

from __future__ import annotations

import copy
import dataclasses
import types
from typing import Any, NamedTuple

import numpy as np

from .trap import ARRAYS, TENSORS, trap


def _layer(t: Any) -> Any:
    layer = t.nn.Linear(3, 2)
    with t.xp.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(1.0)
    return layer


@trap(*TENSORS)
def a_dict_by_parameters(t: Any) -> Any:
    layer = _layer(t)
    rates = {layer.weight: 0.5, layer.bias: 2.0}
    f = t.capture(lambda x: layer(x).sum() + sum(p.sum() * rates[p] for p in layer.parameters()))
    g = t.capture(lambda x, m: m(x).sum() + sum(p.sum() * rates[p] for p in m.parameters()))
    yield f(t.x), g(t.x, layer)
    rates[layer.bias] = 4.0
    yield f(t.x), g(t.x, layer)


@trap(*TENSORS)
def a_parameter_by_identity(t: Any) -> Any:
    layer = _layer(t)
    chosen = [layer.weight]

    def f(x: Any) -> Any:
        return layer(x).sum() + sum(p.sum() for p in layer.parameters() if p is chosen[0])

    g = t.capture(f)
    yield g(t.x)
    chosen[0] = layer.bias
    yield g(t.x)


@trap(*TENSORS)
def a_parameter_among_others(t: Any) -> Any:
    layer = _layer(t)
    frozen = {id(layer.bias)}

    def f(x: Any) -> Any:
        return layer(x).sum() + sum(p.sum() for p in layer.parameters() if id(p) not in frozen)

    g = t.capture(f)
    yield g(t.x)
    frozen.clear()
    yield g(t.x)


@trap(*TENSORS)
def the_class_of_a_parameter(t: Any) -> Any:
    layer = _layer(t)

    def f(x: Any) -> Any:
        found = [v for v in vars(layer)["_parameters"].values() if isinstance(v, t.nn.Parameter)]
        return x.sum() * len(found)

    g = t.capture(f)
    yield g(t.x)
    yield t.capture(lambda x, m: x * sum(isinstance(p, t.nn.Parameter) for p in m.parameters()))(
        t.x, layer
    )


@trap(*TENSORS)
def names_of_parameters_decide(t: Any) -> Any:
    layer = _layer(t)
    skipped = ["bias"]

    def f(x: Any) -> Any:
        named = layer.named_parameters()
        return layer(x).sum() + sum(p.sum() for name, p in named if name not in skipped)

    g = t.capture(f)
    yield g(t.x)
    skipped[0] = "weight"
    yield g(t.x)


@trap(*TENSORS)
def an_argument_gets_an_axis_in_place(t: Any) -> Any:
    def f(x: Any) -> Any:
        x.unsqueeze_(0)
        return x * 2

    g, x = t.capture(f), t.x
    yield g(x), list(x.shape)


@trap(*TENSORS)
def an_argument_is_transposed_in_place(t: Any) -> Any:
    x = t.array(np.arange(6, dtype="float32").reshape(2, 3))

    def f(x: Any) -> Any:
        x.t_()
        return x.sum(0)

    yield t.capture(f)(x), list(x.shape)


@trap(*TENSORS)
def an_argument_learns_to_require_gradients(t: Any) -> Any:
    def f(x: Any) -> Any:
        x.requires_grad_()
        return (x * x).sum()

    g, x = t.capture(f), t.x
    y = g(x)
    yield y, x.requires_grad, y.requires_grad


@trap(*TENSORS)
def the_gradient_of_an_argument_is_set(t: Any) -> Any:
    def f(x: Any) -> Any:
        x.grad = t.xp.ones(3)
        return x * 2

    g, x = t.capture(f), t.x.requires_grad_()
    yield g(x), x.grad


@trap(*TENSORS)
def an_array_made_a_tensor_is_written(t: Any) -> Any:
    outside = np.zeros(3, "float32")

    def f(x: Any) -> Any:
        y = t.xp.from_numpy(outside)
        y.add_(x)
        return y * 1

    g = t.capture(f)
    yield g(t.x), outside.copy()
    yield g(t.x), outside.copy()


@trap(*TENSORS)
def numbers_of_tensors_are_made_a_tensor(t: Any) -> Any:
    def f(x: Any) -> Any:
        return t.xp.tensor([x.sum().item(), 2.0, x.max().item()])

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x * 2)


@trap(*TENSORS)
def a_tensor_is_copied_by_copy(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = copy.copy(x)
        z = copy.deepcopy(x)
        y.add_(1.0)
        z.mul_(3.0)
        return x + y + z

    g, x = t.capture(f), t.x
    yield g(x), x


@trap()
def a_size_is_returned(t: Any) -> Any:
    f = t.capture(lambda x: (x.shape[0], x.ndim, x.shape))
    for x in (t.x, t.x[:2]):
        found = f(x)
        yield found[:2], [int(one) for one in found[2]]


@trap()
def a_number_of_the_surroundings_is_returned(t: Any) -> Any:
    config = types.SimpleNamespace(rate=2.0, flag=True, count=3)
    f = t.capture(lambda x: (x * config.rate, config.rate, config.flag, config.count, None, "a"))
    for _ in range(2):
        yield f(t.x)
        config.rate, config.flag = 3.0, False


@trap()
def a_dict_of_the_surroundings_is_returned(t: Any) -> Any:
    held = {"rate": t.array(np.ones(2, "float32"))}

    def f(x: Any) -> Any:
        return x * held["rate"][0], held

    _, found = t.capture(f)(t.x)
    found["more"] = 1.0
    yield found is held, sorted(held)


@trap()
def a_list_that_is_an_argument_is_returned(t: Any) -> Any:
    f, given = t.capture(lambda xs: (xs, xs[0] * 2)), [t.x, t.x * 2]
    found, _ = f(given)
    found.append(1.0)
    yield found is given, len(given)


@trap()
def a_dict_that_is_an_argument_is_returned(t: Any) -> Any:
    f, given = t.capture(lambda batch: batch), {"x": t.x}
    found = f(given)
    found["y"] = 1.0
    yield found is given, sorted(given)


@dataclasses.dataclass
class Batch:
    """Two arrays."""

    x: Any
    y: Any = None


class Pair(NamedTuple):
    """Two more."""

    a: Any
    b: Any


@trap()
def a_dataclass_is_returned(t: Any) -> Any:
    def f(x: Any) -> Any:
        return Batch(x * 2, x + 1)

    found = t.capture(f)(t.x)
    yield type(found).__name__, found.x, found.y


@trap()
def a_dataclass_that_is_an_argument_is_changed(t: Any) -> Any:
    def f(batch: Any) -> Any:
        batch.y = batch.x * 2
        return batch.x + 1

    given = Batch(t.x)
    yield t.capture(f)(given), given.y is None


@trap()
def a_named_tuple_is_returned(t: Any) -> Any:
    found = t.capture(lambda x: Pair(x, Pair(x * 2, None)))(t.x)
    yield type(found).__name__, found.a, found.b.a, found.b.b is None


@trap()
def a_function_is_returned(t: Any) -> Any:
    f = t.capture(lambda x: lambda y: x + y)
    yield f(t.x)(t.x)


@trap()
def a_generator_is_returned(t: Any) -> Any:
    def f(x: Any) -> Any:
        yield x
        yield x * 2

    yield list(t.capture(f)(t.x))


@trap()
def a_set_of_numbers_is_returned(t: Any) -> Any:
    yield sorted(t.capture(lambda x: {1, 2, x.shape[0]})(t.x))


@trap()
def an_object_of_the_surroundings_is_returned(t: Any) -> Any:
    held = types.SimpleNamespace(k=1.0)
    f = t.capture(lambda x: (x * held.k, held))
    found = f(t.x)
    yield found[0], found[1] is held


@trap()
def a_dtype_is_returned(t: Any) -> Any:
    yield str(t.capture(lambda x: x.dtype)(t.x))


@trap(*ARRAYS)
def elements_are_added_at_places(t: Any) -> Any:
    def f(x: Any) -> Any:
        np.add.at(x, [0, 0, 1], 1.0)
        return x * 2

    x = t.x
    yield t.capture(f)(x), x


@trap(*ARRAYS)
def functions_of_numpy_write_to_an_argument(t: Any) -> Any:
    def f(x: Any) -> Any:
        np.put(x, [0], 5.0)
        np.putmask(x, x > 4, 1.0)
        np.fill_diagonal(x.reshape(3, 1), 7.0)
        return x

    x = t.x
    yield t.capture(f)(x), x


@trap(*ARRAYS)
def an_argument_is_shuffled(t: Any) -> Any:
    rng = np.random.default_rng(0)

    def f(x: Any) -> Any:
        rng.shuffle(x)
        return x * 2

    x = t.x
    yield t.capture(f)(x), x


@trap(*ARRAYS)
def the_shape_of_an_argument_is_set(t: Any) -> Any:
    def f(x: Any) -> Any:
        x.shape = (3, 1)
        return x * 2

    x = t.x
    yield t.capture(f)(x), list(x.shape)


@trap(*ARRAYS)
def the_real_part_is_set(t: Any) -> Any:
    def f(x: Any) -> Any:
        x.real = 1.0
        return x * 2

    x = t.x
    yield t.capture(f)(x), x


@trap(*ARRAYS)
def an_attribute_is_asked_of_an_argument(t: Any) -> Any:
    class Named(np.ndarray):
        label: Any = None

    x = t.x.view(Named)
    x.label = 3.0
    f = t.capture(lambda x: np.asarray(x) * (getattr(x, "label", None) or 1.0))
    yield f(x)
    x.label = 4.0
    yield f(x)


@trap(*TENSORS)
def a_size_that_is_a_tuple_of_another_class(t: Any) -> Any:
    f = t.capture(lambda x: x.reshape(x.shape[::-1]).sum(0) * len(x.size()))
    yield f(t.array(np.arange(6, dtype="float32").reshape(2, 3)))
    yield f(t.array(np.arange(8, dtype="float32").reshape(2, 4)))


@trap(*TENSORS)
def what_was_saved_is_changed_before_the_reverse_pass(t: Any) -> Any:
    f = t.capture(lambda w, x: (w * w * x).sum())
    w = t.xp.ones(3).requires_grad_()
    y = f(w, t.x)
    with t.xp.no_grad():
        w.add_(1.0)
    try:
        y.backward()
    except RuntimeError:
        yield "refused"
        return
    yield w.grad


@trap(*TENSORS)
def the_version_of_a_written_argument(t: Any) -> Any:
    def f(x: Any) -> Any:
        x.add_(1.0)
        x.mul_(2.0)
        return x * 1

    g, x = t.capture(f), t.x
    before = x._version
    yield g(x), x, x._version - before
