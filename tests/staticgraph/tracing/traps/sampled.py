"""Distributions, samples, data and narrow numbers."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .trap import TENSORS, trap


def _part(t: Any, name: str) -> Any:
    """A part of the paradigm's package that is not imported with it."""
    return importlib.import_module(f"{t.xp.__name__}.{name}")


@trap(*TENSORS)
def a_distribution_that_is_changed(t: Any) -> Any:
    d = _part(t, "distributions")
    normal = d.Normal(t.xp.zeros(3), t.xp.ones(3))
    f = t.capture(lambda x: normal.log_prob(x).sum())
    yield f(t.x)
    normal.loc = t.xp.ones(3)
    yield f(t.x)
    normal.scale.mul_(2)
    yield f(t.x)


@trap(*TENSORS)
def a_sample_with_a_gradient(t: Any) -> Any:
    d = _part(t, "distributions")
    loc = t.xp.zeros(3).requires_grad_()
    f = t.capture(lambda x: (d.Normal(loc, t.xp.ones(3)).rsample() * x).sum())
    t.xp.manual_seed(0)
    a, b = f(t.x), f(t.x)
    yield bool(a != b)
    a.backward()
    yield loc.grad


@trap(*TENSORS)
def a_sample_of_classes(t: Any) -> Any:
    d = _part(t, "distributions")
    logits = t.xp.tensor([0.0, 0.0, 0.0])
    f = t.capture(lambda x: x + d.Categorical(logits=logits).sample((64,)).float().mean())
    t.xp.manual_seed(0)
    yield (f(t.x) == f(t.x)).all()
    logits[2] = 1e4
    yield f(t.x)


@trap(*TENSORS)
def samples_by_weights(t: Any) -> Any:
    weights = t.xp.tensor([0.0, 1.0, 0.0])
    f = t.capture(lambda x: x[t.xp.multinomial(weights, 2, replacement=True)])
    yield f(t.x)
    weights.copy_(t.xp.tensor([1.0, 0.0, 0.0]))
    yield f(t.x)


@trap(*TENSORS)
def a_coin_by_an_argument(t: Any) -> Any:
    f = t.capture(lambda x: t.xp.bernoulli((x > 0).float()))
    yield f(t.x), f(-t.x)


@trap(*TENSORS)
def numbers_between_bounds_that_change(t: Any) -> Any:
    high = [1]
    f = t.capture(lambda x: x + t.xp.randint(0, high[0], (3,)))
    yield f(t.x)
    high[0] = 10**6
    yield (f(t.x) == f(t.x)).all()


@trap(*TENSORS)
def a_generator_as_an_argument(t: Any) -> Any:
    g = t.xp.Generator()
    g.manual_seed(1)
    f = t.capture(lambda x: x + t.xp.rand(3, generator=g))
    yield (f(t.x) == f(t.x)).all()


@trap(*TENSORS)
def a_permutation_inside(t: Any) -> Any:
    f = t.capture(lambda x: x[t.xp.randperm(3)])
    t.xp.manual_seed(1)
    yield [f(t.x) for _ in range(4)]


@trap(*TENSORS)
def noise_like_another(t: Any) -> Any:
    scale = [0.0]
    f = t.capture(lambda x: x + scale[0] * t.xp.randn_like(x))
    t.xp.manual_seed(1)
    yield f(t.x), f(t.x)
    scale[0] = 1.0
    yield f(t.x), f(t.x)


@trap(*TENSORS)
def dropout_of_a_function(t: Any) -> Any:
    p, training = [0.5], [True]
    f = t.capture(lambda x: t.nn.functional.dropout(x, p[0], training[0]))
    t.xp.manual_seed(1)
    yield (f(t.xp.ones(64)) == f(t.xp.ones(64))).all()
    training[0] = False
    yield f(t.xp.ones(4))
    training[0], p[0] = True, 0.0
    yield f(t.xp.ones(4))


@trap(*TENSORS)
def complex_numbers(t: Any) -> Any:
    w = t.xp.tensor([1 + 2j, 3 - 1j, 0 + 0j])
    f = t.capture(lambda x: (x * w).abs() + (x * w).real)
    yield f(t.x)
    w.mul_(2)
    yield f(t.x)


@trap(*TENSORS)
def a_complex_constant(t: Any) -> Any:
    k = [1 + 1j]
    f = t.capture(lambda x: x * k[0])
    yield f(t.x)
    k[0] = 2j
    yield f(t.x)
    k[0] = 2.0  # type: ignore[call-overload]
    yield f(t.x)


@trap(*TENSORS)
def half_precision(t: Any) -> Any:
    w = t.xp.ones(3, dtype=t.xp.float16) / 3
    f = t.capture(lambda x: (x.half() * w).sum())
    yield f(t.x)
    w.mul_(2)
    yield f(t.x)


@trap(*TENSORS)
def brain_floats(t: Any) -> Any:
    f = t.capture(lambda x: (x.bfloat16() * 1.2345).float())
    yield f(t.x), f(t.x.double())


@trap(*TENSORS)
def a_dtype_that_changes(t: Any) -> Any:
    dtype = [t.xp.float32]
    f = t.capture(lambda x: (x / 3).to(dtype[0]))
    yield f(t.x)
    dtype[0] = t.xp.float64
    yield f(t.x)
    dtype[0] = t.xp.int32
    yield f(t.x)


@trap(*TENSORS)
def integers_that_wrap(t: Any) -> Any:
    f = t.capture(lambda x: (x.abs() * 100).to(t.xp.uint8) + 200)
    yield f(t.x)


@trap(*TENSORS)
def a_scalar_of_numpy_beside_tensors(t: Any) -> Any:
    k = [np.float32(2.0)]
    f = t.capture(lambda x: x * float(k[0]) + t.xp.tensor(k[0]))
    yield f(t.x)
    k[0] = np.float32(3.0)
    yield f(t.x)


@trap(*TENSORS)
def an_array_of_numpy_made_a_tensor(t: Any) -> Any:
    array = np.ones(3, "float32")
    f = t.capture(lambda x: x * t.xp.from_numpy(array) + t.xp.as_tensor(array))
    yield f(t.x)
    array[1] = 9
    yield f(t.x)


@trap(*TENSORS)
def an_order_by_values(t: Any) -> Any:
    f = t.capture(lambda x: x[x.argsort(descending=True)] + x.sort().values)
    yield f(t.x), f(-t.x)


@trap(*TENSORS)
def elements_by_a_mask(t: Any) -> Any:
    f = t.capture(lambda x: x[x > 0].sum())
    yield f(t.x), f(-t.x)


@trap(*TENSORS)
def how_many_are_not_zero(t: Any) -> Any:
    f = t.capture(lambda x: x.nonzero().shape[0] + x.unique().sum())
    yield f(t.x), f(t.x * t.xp.tensor([0.0, 1.0, 1.0]))


@trap(*TENSORS)
def a_loop_over_a_tensor(t: Any) -> Any:
    w = t.xp.ones(3)

    def f(x: Any) -> Any:
        total = 0
        for a, b in zip(x, w, strict=True):
            total = total + a * b
        return total

    g = t.capture(f)
    yield g(t.x)
    w.fill_(2.0)
    yield g(t.x)


@trap(*TENSORS)
def an_einsum_by_a_text(t: Any) -> Any:
    text = ["i,j->ij"]
    f = t.capture(lambda x: t.xp.einsum(text[0], x, x))
    yield f(t.x)
    text[0] = "i,i->"
    yield f(t.x)


@trap(*TENSORS)
def a_mode_of_deterministic_algorithms(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if t.xp.are_deterministic_algorithms_enabled() else x)
    yield f(t.x)
    t.xp.use_deterministic_algorithms(True)
    try:
        yield f(t.x)
    finally:
        t.xp.use_deterministic_algorithms(False)


@trap(*TENSORS)
def the_default_device_is_asked(t: Any) -> Any:
    f = t.capture(lambda x: x.to(x.device) * (2 if x.device.type == "cpu" else 1))
    yield f(t.x)


@trap(*TENSORS)
def what_is_saved_and_loaded_inside(t: Any) -> Any:
    net = t.nn.Linear(3, 1)
    with t.xp.no_grad():
        net.weight.fill_(1.0)
        net.bias.fill_(0.0)
    other = {k: 2 * v for k, v in net.state_dict().items()}

    def f(x: Any) -> Any:
        net.load_state_dict(other)
        return net(x)

    g = t.capture(f)
    yield g(t.x)
    other["bias"] = t.xp.ones(1)
    yield g(t.x), net.bias


@trap(*TENSORS)
def gradients_are_cleared_inside(t: Any) -> Any:
    w = t.xp.ones(3).requires_grad_()

    def f(x: Any) -> Any:
        w.grad = None
        (w * x).sum().backward()
        return w.grad.norm()

    g = t.capture(f)
    yield g(t.x), w.grad
    w.grad = 100 * t.xp.ones(3)
    yield g(2 * t.x), w.grad
