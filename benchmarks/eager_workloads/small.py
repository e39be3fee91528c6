"""Single ops and graphs of a few ops on some elements: what is measured is the engine."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.eager_workloads.common import Makers, Step, integers, tensor, there_and_back


def single_ops(torch: Any) -> Makers:
    """One op on 8 elements, without and with gradient (not run backwards)."""
    functional = torch.nn.functional
    found: Makers = {}
    for grad in (False, True):
        a, b = tensor(torch, 8, grad=grad), tensor(torch, 8, grad=grad, seed=1)
        m, n = tensor(torch, 2, 4, grad=grad), tensor(torch, 4, 2, grad=grad)
        batch = tensor(torch, 2, 4, 4, grad=grad)
        scale, shift = tensor(torch, 4, grad=grad), tensor(torch, 4, grad=grad, seed=1)
        weight = tensor(torch, 3, 4, grad=grad)
        rows, labels, mask = integers(torch, 2, 3), integers(torch, 4, 2), a.detach() > 0
        ops: dict[str, tuple[Any, ...]] = {
            "a + b": (lambda x, y: x + y, a, b), "a * 2.0": (lambda x: x * 2.0, a),
            "a / b": (lambda x, y: x / y, a, b), "-a": (lambda x: -x, a),
            "a ** 2": (lambda x: x**2, a), "a ** 3": (lambda x: x**3, a),
            "a > b": (lambda x, y: x > y, a, b), "exp(a)": (torch.exp, a),
            "tanh(a)": (torch.tanh, a), "relu(a)": (torch.relu, a), "a.abs()": (torch.abs, a),
            "sigmoid(a)": (torch.sigmoid, a), "gelu(a)": (functional.gelu, a),
            "a.clamp(-1, 1)": (lambda x: x.clamp(-1, 1), a),
            "where(mask, a, b)": (torch.where, mask, a, b),
            "a.sum()": (lambda x: x.sum(), a), "a.mean(0)": (lambda x: x.mean(0), a),
            "a.max()": (lambda x: x.max(), a), "m.max(1)": (lambda x: x.max(1)[0], m),
            "a[2]": (lambda x: x[2], a), "a[1:5]": (lambda x: x[1:5], a),
            "m.index(rows)": (lambda x, i: x[i], m, rows),
            "a.reshape(2, 4)": (lambda x: x.reshape(2, 4), a), "m.t()": (lambda x: x.t(), m),
            "cat((a, b))": (lambda x, y: torch.cat((x, y)), a, b),
            "stack((a, b))": (lambda x, y: torch.stack((x, y)), a, b),
            "m @ n": (lambda x, y: x @ y, m, n), "bmm(c, c)": (torch.bmm, batch, batch),
            "linear(m, w, b)": (functional.linear, m, weight, scale[:3]),
            "softmax(m, -1)": (partial(torch.softmax, dim=-1), m),
            "log_softmax(m, -1)": (partial(functional.log_softmax, dim=-1), m),
            "cross_entropy(m, y)": (functional.cross_entropy, m, labels),
            "mse_loss(a, b)": (functional.mse_loss, a, b),
            "layer_norm(m)": (
                lambda x, w, b: functional.layer_norm(x, (4,), w, b), m, scale, shift,
            ),
        }  # fmt: skip
        for name, (function, *operands) in ops.items():
            step = partial(function, *operands)
            found[f"{name}, grad" if grad else name] = lambda step=step: step  # type: ignore[misc] # bound
    return found


def small_graphs(torch: Any) -> Makers:
    """A graph of a few ops on some elements, forward and backward."""
    functional = torch.nn.functional

    def product() -> Step:
        c, d = tensor(torch, 8), tensor(torch, 8, seed=1)
        return there_and_back(lambda c, d: c * d, c, d)

    def seed() -> Step:
        x = torch.tensor(4.0, requires_grad=True)
        y = torch.tensor(3.14159265, requires_grad=True)
        return there_and_back(lambda x, y: x * x + torch.sin(2 * y), x, y)

    def neuron() -> Step:
        x, w, b = tensor(torch, 4, 8), tensor(torch, 8, 3), tensor(torch, 3)
        return there_and_back(lambda x, w, b: torch.tanh(x @ w + b), x, w, b)

    def normal() -> Step:
        x, w, b = tensor(torch, 4, 8), tensor(torch, 8), tensor(torch, 8)
        return there_and_back(lambda x, w, b: functional.layer_norm(x, (8,), w, b), x, w, b)

    def chosen() -> Step:
        x = tensor(torch, 4, 8)
        return there_and_back(lambda x: torch.softmax(x, -1)[:, 2], x)

    def classified() -> Step:
        x, labels = tensor(torch, 4, 8), integers(torch, 8, 4)
        return there_and_back(lambda x: functional.cross_entropy(x, labels), x)

    def polynomial() -> Step:
        x = tensor(torch, 20, grad=False)
        a, b, c, d = (tensor(torch, 1, seed=i) for i in range(4))

        def fit(a: Any, b: Any, c: Any, d: Any) -> Any:
            return (a + b * x + c * x**2 + d * x**3 - x.sin()).pow(2)

        return there_and_back(fit, a, b, c, d)

    def unrolled() -> Step:
        w, h = tensor(torch, 4, 4, scale=0.3), tensor(torch, 2, 4)

        def recurrence(w: Any, h: Any) -> Any:
            for _ in range(8):
                h = torch.tanh(h @ w)
            return h

        return there_and_back(recurrence, w, h)

    return {
        "(c * d).sum(), backward": product, "x*x + sin(2y), backward": seed,
        "tanh(x @ w + b), backward": neuron, "layer norm, backward": normal,
        "softmax(x)[:, 2], backward": chosen, "cross entropy, backward": classified,
        "polynomial, backward": polynomial, "8 steps of tanh(h @ w), backward": unrolled,
    }  # fmt: skip
