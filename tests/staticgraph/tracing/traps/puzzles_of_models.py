"""Programs of what Python has for state: dispatch, patterns, generators, protocols."""

from __future__ import annotations

import abc
import copy
import enum
import pickle
import string
from typing import Any

import numpy as np

from .trap import ARRAYS, TENSORS, trap


@trap()
def a_slice_of_a_list_is_assigned(t: Any) -> Any:
    ring = [1.0, 2.0, 3.0]

    def turned(x: Any) -> Any:
        ring[:] = ring[1:] + ring[:1]
        return x * ring[0]

    f = t.capture(turned)
    yield f(t.x)
    yield f(t.x)
    yield ring


@trap()
def a_template_of_texts(t: Any) -> Any:
    names = {"who": "a"}
    template = string.Template("$who!")
    table = {"a!": 2.0, "b!": 3.0, "b?": 4.0}
    f = t.capture(lambda x: x * table[template.substitute(names)])
    yield f(t.x)
    names["who"] = "b"
    yield f(t.x)
    template.template = "$who?"
    yield f(t.x)


@trap()
def a_class_is_registered_with_an_abstract_one(t: Any) -> Any:
    class Shape(metaclass=abc.ABCMeta):  # noqa: B024
        pass

    class Round: ...

    one = Round()
    f = t.capture(lambda x: x * (2.0 if isinstance(one, Shape) else 3.0))
    yield f(t.x)
    Shape.register(Round)
    yield f(t.x)


@trap()
def a_hook_of_subclasses(t: Any) -> Any:
    class Meta(type):
        ok = False

        def __subclasscheck__(cls, other: type) -> bool:
            return cls.ok

    class Shape(metaclass=Meta): ...

    f = t.capture(lambda x: x * (2.0 if issubclass(int, Shape) else 3.0))
    yield f(t.x)
    Meta.ok = True
    yield f(t.x)


@trap()
def a_setter_with_a_history(t: Any) -> Any:
    class Config:
        def __init__(self) -> None:
            self._k, self.history = 1.0, [1.0]

        @property
        def k(self) -> float:
            return self._k

        @k.setter
        def k(self, value: float) -> None:
            self.history.append(value)
            self._k = value

    config = Config()

    def counted(x: Any) -> Any:
        config.k = 3.0
        return x * config.k * len(config.history)

    f = t.capture(counted)
    yield f(t.x)
    yield f(t.x)
    yield config.history


@trap()
def one_captured_method_of_two_objects(t: Any) -> Any:
    class Scaled:
        def __init__(self, k: float) -> None:
            self.k = k

        def __eq__(self, other: Any) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

        def scaled(self, x: Any) -> Any:
            return x * self.k

    one, other = Scaled(2.0), Scaled(3.0)
    f = t.capture(one.scaled)
    g = t.capture(other.scaled)
    yield f(t.x), g(t.x)
    one.k, other.k = other.k, one.k
    yield f(t.x), g(t.x)


@trap()
def bases_are_exchanged(t: Any) -> Any:
    class Left:
        def k(self) -> float:
            return 2.0

    class Right:
        def k(self) -> float:
            return 3.0

    class Both(Left):
        def k(self) -> float:
            return super().k() + 1

    both = Both()
    f = t.capture(lambda x: x * both.k())
    yield f(t.x)
    Both.__bases__ = (Right,)
    yield f(t.x)


@trap()
def a_default_of_a_lambda_in_a_loop(t: Any) -> Any:
    ks = [1.0, 2.0]

    def summed(x: Any) -> Any:
        parts = [lambda v, k=k: v * k for k in ks]
        late = [lambda v: v * k for k in ks]  # noqa: B023
        return sum(part(x) for part in parts) + sum(part(x) for part in late)

    f = t.capture(summed)
    yield f(t.x)
    ks[1] = 5.0
    yield f(t.x)


@trap()
def the_same_twice_in_a_result(t: Any) -> Any:
    def twice(x: Any) -> Any:
        y = x * 2
        return y, y, {"y": y}

    f = t.capture(twice)
    a, b, rest = f(t.x)
    yield a is b, rest["y"] is a
    yield a


@trap()
def an_argument_that_comes_back(t: Any) -> Any:
    f = t.capture(lambda x: (x, x * 2))
    x = t.x
    yield f(x)[0] is x


@trap(*ARRAYS)
def floor_and_remainder_of_a_sum(t: Any) -> Any:
    f = t.capture(lambda x: (x.sum() // 2, x.sum() % 3, *divmod(x.sum(), -2)))
    yield f(t.x)
    yield f(t.array(np.array([-7, 2, 3])))


@trap()
def a_comparison_with_none(t: Any) -> Any:
    f = t.capture(lambda x: (x * 2 if x is not None else None, x != x))
    yield f(t.x)


@trap()
def filtered_elements(t: Any) -> Any:
    f = t.capture(lambda x: sum(filter(lambda v: v > 0, x)))
    yield f(t.x)
    yield f(-t.x)


@trap()
def elements_backwards_in_pairs(t: Any) -> Any:
    f = t.capture(lambda x: sum(a * b for a, b in zip(reversed(list(x)), x, strict=True)))
    yield f(t.x)
    yield f(t.array(np.ones(4, "float32")))


@trap()
def the_smallest_by_its_magnitude(t: Any) -> Any:
    f = t.capture(lambda x: min(x, key=abs))
    yield f(t.x)
    yield f(t.array(np.array([5.0, -0.5, 2.0], "float32")))


@trap()
def a_copied_model(t: Any) -> Any:
    weights = {"w": t.array(np.ones(3, "float32"))}

    def copied(x: Any) -> Any:
        mine = copy.copy(weights)
        mine["w"] = mine["w"] * x
        return mine["w"]

    f = t.capture(copied)
    yield f(t.x)
    weights["w"] = t.array(np.full(3, 2.0, "float32"))
    yield f(t.x)


@trap()
def an_enum_of_functions(t: Any) -> Any:
    factor = [2.0]

    class Kind(enum.Enum):
        SCALE = enum.member(staticmethod(lambda x: x * factor[0]))
        NONE = enum.member(staticmethod(lambda x: x))

    kinds = [Kind.SCALE]
    f = t.capture(lambda x: kinds[0].value(x))
    yield f(t.x)
    factor[0] = 5.0
    yield f(t.x)
    kinds[0] = Kind.NONE
    yield f(t.x)


@trap()
def an_order_of_a_set_of_frozen_sets(t: Any) -> Any:
    groups = {frozenset({1, 2})}
    f = t.capture(lambda x: x * sum(sum(group) for group in groups))
    yield f(t.x)
    groups.add(frozenset({5}))
    yield f(t.x)


@trap()
def bytes_through_pickle(t: Any) -> Any:
    state = {"k": [2.0]}
    data = [pickle.dumps(state)]
    f = t.capture(lambda x: x * pickle.loads(data[0])["k"][0])
    yield f(t.x)
    state["k"][0] = 6.0
    data[0] = pickle.dumps(state)
    yield f(t.x)


@trap(*TENSORS)
def a_deep_copy_of_a_model_in_each_call(t: Any) -> Any:
    model = t.nn.Linear(3, 1)
    with t.xp.no_grad():
        model.weight.fill_(1.0)
        model.bias.fill_(0.0)
    f = t.capture(lambda x: copy.deepcopy(model)(x))
    yield f(t.x)
    with t.xp.no_grad():
        model.weight.fill_(2.0)
    yield f(t.x)


@trap(*TENSORS)
def a_pickled_model_in_each_call(t: Any) -> Any:
    model = t.nn.Linear(3, 1)
    with t.xp.no_grad():
        model.weight.fill_(1.0)
        model.bias.fill_(0.0)
    f = t.capture(lambda x: pickle.loads(pickle.dumps(model))(x))
    yield f(t.x)
    with t.xp.no_grad():
        model.weight.fill_(2.0)
    yield f(t.x)


@trap(*TENSORS)
def a_shallow_copy_of_a_model_shares_its_weights(t: Any) -> Any:
    model = t.nn.Linear(3, 1)
    with t.xp.no_grad():
        model.weight.fill_(1.0)
        model.bias.fill_(0.0)

    def changed(x: Any) -> Any:
        other = copy.copy(model)
        with t.xp.no_grad():
            other.weight.mul_(2.0)
        return model(x)

    f = t.capture(changed)
    yield f(t.x)
    yield f(t.x)
    yield model.weight


@trap(*TENSORS)
def arguments_that_overlap(t: Any) -> Any:
    def moved(x: Any, y: Any) -> Any:
        y.mul_(2.0)
        x.add_(y.sum())
        return x * 1, y * 1

    f = t.capture(moved)
    x = t.array(np.arange(4, dtype="float32"))
    yield f(x[:3], t.array(np.ones(2, "float32")))
    yield f(x[:3], x[2:])
    yield x
    yield f(x, x)
    yield x


@trap(*TENSORS)
def a_gradient_of_a_gradient_inside(t: Any) -> Any:
    power = [3]

    def second(x: Any) -> Any:
        y = (x ** power[0]).sum()
        (g,) = t.xp.autograd.grad(y, x, create_graph=True)
        (h,) = t.xp.autograd.grad(g.sum(), x)
        return h

    f = t.capture(second)
    yield f(t.x.requires_grad_())
    power[0] = 2
    yield f(t.x.requires_grad_())


@trap(*TENSORS)
def a_gradient_that_is_missing_at_first(t: Any) -> Any:
    w = t.array(np.ones(3, "float32")).requires_grad_()

    def step(x: Any) -> Any:
        before = 0.0 if w.grad is None else w.grad.sum()
        (w * x).sum().backward()
        return before + w.grad.sum()

    f = t.capture(step)
    yield f(t.x)
    yield f(t.x)
    w.grad = None
    yield f(t.x)
    yield w.grad


@trap(*TENSORS)
def parts_of_a_chunk_are_written(t: Any) -> Any:
    def chunked(x: Any) -> Any:
        a, b = x.chunk(2)
        a.add_(b)
        b[...] = a * 2
        x.narrow(0, 1, 2).neg_()
        return x * 1

    f = t.capture(chunked)
    x = t.array(np.arange(4, dtype="float32"))
    yield f(x)
    yield x
    yield f(x)
    yield x


@trap(*TENSORS)
def what_requires_grad_inside(t: Any) -> Any:
    def inside(x: Any) -> Any:
        y = x.detach().clone().requires_grad_()
        with t.xp.enable_grad():
            (y * y).sum().backward()
        return y.grad, y.requires_grad, y.is_leaf

    f = t.capture(inside)
    yield f(t.x)
    with t.xp.no_grad():
        yield f(t.x)


@trap(*ARRAYS)
def piecewise_and_selected(t: Any) -> Any:
    f = t.capture(lambda x: t.xp.select([x > 0, x < -1], [x, x * 2], -1.0))
    yield f(t.x)


@trap("arrays")
def arrays_of_numpy_in_place(t: Any) -> Any:
    buffer = np.zeros(3, "float32")

    def added(x: Any) -> Any:
        np.add(buffer, 1, out=buffer)
        return x * buffer

    f = t.capture(added)
    yield f(t.x)
    yield f(t.x)
    yield buffer


@trap("arrays")
def a_vectorized_function(t: Any) -> Any:
    k = [2.0]
    scaled = np.vectorize(lambda v: v * k[0])
    f = t.capture(lambda x: scaled(x))
    yield f(t.x)
    k[0] = 3.0
    yield f(t.x)


@trap("arrays")
def a_function_along_an_axis(t: Any) -> Any:
    f = t.capture(lambda x: np.apply_along_axis(np.sum, 0, x))
    yield f(t.x)


@trap("arrays")
def elements_with_their_places(t: Any) -> Any:
    f = t.capture(lambda x: sum(v * i[0] for i, v in np.ndenumerate(x)))
    yield f(t.x)


@trap("arrays")
def a_sum_of_products_by_einsum(t: Any) -> Any:
    w = np.eye(3, dtype="float32")
    f = t.capture(lambda x: np.einsum("i,ij->j", x, w))
    yield f(t.x)
    w[0, 0] = 5.0
    yield f(t.x)
