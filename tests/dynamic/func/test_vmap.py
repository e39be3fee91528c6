"""vmap, and modules as functions: against loops, and PyTorch's errors."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic import nn
from staticgraph.dynamic.func import (
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vmap,
)
from staticgraph.dynamic.nn import functional


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


X = tensor([1.0, 2.0, 3.0])
PAIR = tensor([[0.3, -1.2, 0.7], [1.1, 0.4, -0.6]])
WEIGHT = tensor([[0.5, -0.25, 1.0], [-1.5, 0.75, 0.2]])
TARGET = torch.tensor([1, 0])


def same(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(expected), rtol=1e-12, atol=1e-14)


class TestVmap:
    def test_axes_in_and_out(self):
        found = vmap(lambda a, b: a + b, in_dims=(1, 0), out_dims=1)(PAIR, torch.arange(3) * 10)
        same(found, (PAIR.numpy().T + 10 * np.arange(3)[:, None]).T)
        found = vmap(lambda d, s: {"o": (d["a"] * s, d["b"])}, in_dims=({"a": 0, "b": None}, None),
                     out_dims={"o": (-1, 0)})({"a": PAIR, "b": X}, 2.0)  # fmt: skip
        same(found["o"][0], 2 * PAIR.numpy().T)
        same(found["o"][1], [X.numpy()] * 2)
        assert vmap(lambda x: (x, 3), out_dims=(0, None))(X)[1] == 3
        same(vmap(lambda x, *, k: x * k)(X, k=X), np.outer(X, X))
        assert vmap(lambda x: x + 1)(torch.ones(0, 2)).shape == (0, 2)
        same(vmap(lambda x: x.T, in_dims=-1)(PAIR), PAIR.numpy().T)

    @pytest.mark.parametrize("chunk_size", [1, 2, 5])
    def test_chunks(self, chunk_size):
        found = vmap(lambda x: (x * 2, x.sum()), in_dims=1, out_dims=(1, 0), chunk_size=chunk_size)
        doubled, total = found(PAIR)
        same(doubled, 2 * PAIR.numpy())
        same(total, PAIR.numpy().sum(0))

    def test_scalars_of_examples_promote_as_scalars(self):
        found = vmap(lambda x: x * torch.ones(2))(X)  # float64 with no axes, float32 with one
        assert found.dtype == torch.float32

    def test_in_place(self):
        def function(x):
            y = x * 1
            y[1:].mul_(3).add_(x[:2])
            y[0] = 5.0
            return y

        same(vmap(function)(PAIR), np.stack([function(row).numpy() for row in PAIR]))

    @pytest.mark.parametrize("put", [
        lambda x: torch.index_put(torch.ones(3, dtype=x.dtype), (torch.tensor([2, 0]),), x[1:]),
        lambda x: torch.index_put(torch.ones(3, dtype=x.dtype), (torch.tensor([1]),), x[:1], True),
        lambda x: torch.select_scatter(torch.ones(2, 3, dtype=x.dtype), x, 0, 1),
        lambda x: torch.slice_scatter(torch.ones(2, 3, dtype=x.dtype), x[None], 0, 1, 2),
    ])  # fmt: skip
    def test_copies_of_what_is_no_batch_take_parts_of_one(self, put):
        same(vmap(put)(PAIR), np.stack([put(row).numpy() for row in PAIR]))
        slope = grad(lambda x: (put(x) ** 2).sum())
        same(vmap(slope)(PAIR), np.stack([slope(row).numpy() for row in PAIR]))
        infinite = torch.full((1, 3), np.inf, dtype=X.dtype)
        same(vmap(put)(infinite), put(infinite[0]).numpy()[None])

    def test_it_is_recorded(self):
        x = PAIR.clone().requires_grad_()
        vmap(lambda x: (x**2).sum())(x).sum().backward()
        same(x.grad, 2 * PAIR.numpy())

    def test_gradient_of_what_all_examples_share(self):
        # the gradient of each example, though the primal of grad is not a batch itself
        found = vmap(lambda y: grad(lambda x: (x * y).sum())(X))(PAIR)
        same(found, PAIR.numpy())

    def test_random_numbers(self):
        text = "called random operation while in randomness error mode"
        with pytest.raises(RuntimeError, match=text):
            vmap(lambda x: x + torch.rand(()))(X)
        drawn = vmap(lambda x: torch.rand(()), randomness="same")(X).numpy()
        assert len(set(drawn)) == 1
        drawn = vmap(lambda x: torch.rand(()), randomness="different")(X).numpy()
        assert len(set(drawn)) == 3
        torch.rand(())

    def test_repr(self):
        seen = []
        vmap(lambda x: seen.append(repr(x)) or x)(X)
        assert seen == [
            "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([1., 2., 3.], dtype=torch.float64)\n)"
        ]


ERRORS = [
    (lambda: vmap(lambda x: x, in_dims=None)(X), ValueError, "expected `in_dims` to be int or"),
    (lambda: vmap(lambda x: x, in_dims=(None,))(X), ValueError, "Expected at least one Tensor"),
    (lambda: vmap(lambda x, y: x)(X, PAIR), ValueError, "got sizes [3, 2] for the mapped"),
    (lambda: vmap(lambda x: x, in_dims=3)(X), ValueError, "Got in_dim=3 for some input"),
    (lambda: vmap(lambda x: x, in_dims=("a",))(X), ValueError, "must be either an integer dim"),
    (lambda: vmap(lambda x: x, in_dims=(0, 0))(X), ValueError, "in_dims is not compatible"),
    (lambda: vmap(lambda x: x)(3), ValueError, "We cannot vmap over non-Tensor arguments"),
    (lambda: vmap(lambda: 3)(), ValueError, "got no inputs. Maybe you forgot"),
    (lambda: vmap(lambda x: 3)(X), ValueError, "must only return Tensors, got type"),
    (lambda: vmap(lambda x: x, out_dims=(0, 0))(X), ValueError, "out_dims is not compatible"),
    (lambda: vmap(lambda x: x, out_dims=3)(X), IndexError, "range of [-1, 0], but got 3"),
    (lambda: vmap(lambda x: x, out_dims=None)(X), ValueError, "can not return a BatchedTensor"),
    (lambda: vmap(lambda x: x, out_dims="a")(X), ValueError, "`out_dims` must be an int, None"),
    (lambda: vmap(lambda x: x.item())(X), RuntimeError, "calling .item() on a Tensor"),
    (lambda: vmap(lambda x: x.tolist())(X), RuntimeError, "calling .item() on a Tensor"),
    (lambda: vmap(lambda x: x if x > 0 else -x)(X), RuntimeError, "data-dependent control flow"),
    (lambda: vmap(lambda x: x.sum().backward())(X), RuntimeError, "backward() called inside"),
    (lambda: vmap(lambda x: x.requires_grad_())(X), RuntimeError, "requires_grad_() inside of a"),
    (lambda: vmap(lambda x: X[x])(TARGET[None]), RuntimeError, "values of one tensor are needed"),
    (lambda: vmap(lambda x: X.clone().add_(x))(X), RuntimeError, "is overwritten by one"),
    (lambda: vmap(lambda x: x.add_(PAIR))(PAIR), RuntimeError, "more elements than `self`"),
    (lambda: vmap(lambda x: x, randomness="no")(X), RuntimeError, "Only allowed values for"),
    (lambda: vmap(lambda x: x, chunk_size=0)(X), ValueError, "None or greater than 0. (got 0)"),
]


@pytest.mark.parametrize("call, kind, text", ERRORS, ids=[text for _, _, text in ERRORS])
def test_errors_of_vmap(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


class Cube(torch.autograd.Function):
    """A user's own op, without a rule for batches or tangents."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


def test_a_function_of_the_user():
    values = X.numpy()
    same(vmap(Cube.apply)(X), values**3)
    same(vmap(grad(Cube.apply))(X), 3 * values**2)
    same(jvp(Cube.apply, (X,), (X,))[1], 3 * values**3)
    same(jacfwd(jacrev(lambda x: Cube.apply(x).sum()))(X), np.diag(6 * values))
    same(vmap(hessian(Cube.apply))(X), 6 * values)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2).double()
        self.second = nn.Linear(2, 2).double()
        self.second.weight = self.first.weight

    def forward(self, x, scale=1.0):
        return self.second(self.first(x)) * scale


class TestModules:
    def test_functional_call(self):
        layer, x = nn.Linear(3, 2).double(), PAIR
        given = {"weight": WEIGHT, "bias": tensor([1.0, 2.0])}
        before = [p.detach().clone() for p in layer.parameters()]
        expected = PAIR.numpy() @ WEIGHT.numpy().T + [1.0, 2.0]
        same(functional_call(layer, given, (x,)), expected)
        same(functional_call(layer, ({"weight": WEIGHT}, {"bias": given["bias"]}), x), expected)
        same(functional_call(layer, given, None, {"input": x}, strict=True), expected)
        same(functional_call(layer, {"weight": WEIGHT}, x), PAIR @ WEIGHT.T + before[1])
        for p, old in zip(layer.parameters(), before, strict=True):
            same(p, old)

    def test_tied_weights(self):
        model, x = Tied(), tensor([1.0, 2.0])
        zeros = torch.zeros(2, 2, dtype=torch.float64)
        bias = model.second.bias
        same(functional_call(model, {"first.weight": zeros}, (x,)), bias.detach())
        apart = functional_call(model, {"first.weight": zeros}, (x,), tie_weights=False)
        same(apart, model.second(model.first.bias).detach())
        same(functional_call(model, {}, (x,), {"scale": 2.0}), 2 * model(x).detach())

    def test_ensemble(self):
        models = [
            nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double() for _ in range(3)
        ]
        parameters, buffers = stack_module_state(models)
        assert parameters["0.weight"].shape == (3, 4, 3) and parameters["0.weight"].is_leaf
        assert parameters["0.weight"].requires_grad and buffers == {}

        def call(p, b, x):
            return functional_call(models[0], (p, b), (x,))

        found = vmap(call, in_dims=(0, 0, None))(parameters, buffers, PAIR)
        for one, model in zip(found, models, strict=True):
            same(one, model(PAIR).detach())
        found.sum().backward()
        assert parameters["0.weight"].grad.shape == (3, 4, 3)

    def test_gradients_per_sample_of_a_convolutional_network(self):
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3),
            nn.LayerNorm(3),
        ).double()  # fmt: skip
        images, targets = torch.randn(4, 1, 6, 6, dtype=torch.float64), torch.tensor([0, 1, 2, 1])
        parameters = {name: p.detach() for name, p in model.named_parameters()}

        def loss(p, image, target):
            scores = functional_call(model, p, (image.unsqueeze(0),))
            return functional.cross_entropy(scores, target.unsqueeze(0))

        found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, images, targets)
        for i in range(4):
            model.zero_grad()
            functional.cross_entropy(model(images[i : i + 1]), targets[i : i + 1]).backward()
            for name, p in model.named_parameters():
                np.testing.assert_allclose(found[name][i], p.grad, rtol=1e-9, atol=1e-13)

    def test_errors(self):
        layer = nn.Linear(3, 2)
        with pytest.raises(RuntimeError, match=r"for Linear:\n\tMissing key\(s\): 'bias'."):
            functional_call(layer, {"weight": WEIGHT}, (X,), strict=True)
        with pytest.raises(RuntimeError, match=r"for Linear:\n\tUnexpected key\(s\): 'other'."):
            functional_call(
                layer, {"other": X, **dict(layer.named_parameters())}, (X,), strict=True
            )
        with pytest.raises(ValueError, match=r"\['weight'\] appeared in multiple dictionaries"):
            functional_call(layer, ({"weight": WEIGHT}, {"weight": WEIGHT}), (X,))
        with pytest.raises(ValueError, match="to be a dict, or a list/tuple of dicts, but got"):
            functional_call(layer, 3, (X,))
        with pytest.raises(RuntimeError, match="Expected at least one model, got 0"):
            stack_module_state([])
        with pytest.raises(RuntimeError, match="to have the same training/eval mode"):
            stack_module_state([layer, nn.Linear(3, 2).eval()])
        with pytest.raises(RuntimeError, match="Expected all models to be of the same class"):
            stack_module_state([layer, nn.ReLU()])
        frozen = nn.Linear(3, 2).requires_grad_(False)
        with pytest.raises(RuntimeError, match=r"to have the same \.requires_grad"):
            stack_module_state([layer, frozen])
