"""gradcheck and gradgradcheck: they pass what is right and catch what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.autograd import gradcheck, gradgradcheck
from staticgraph.dynamic.nn import functional


def leaf(*shape, seed=0):
    values = np.random.default_rng(seed).uniform(0.4, 1.4, shape)
    return torch.tensor(values, requires_grad=True)


class Wrong(torch.autograd.Function):
    """Doubles, with three times the cotangent as its gradient."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


class WrongTwice(torch.autograd.Function):
    """Squares, with a gradient of the right value and the wrong slope."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x + x.detach())


class Adding(torch.autograd.Function):
    """Doubles, with a gradient that is not linear in the cotangent."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return torch.ones_like(g) * 2


EVERY = {"check_forward_ad": True, "check_batched_grad": True, "check_grad_dtypes": True}


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (x @ y.T).tanh(),
        lambda x, y: (x**y, x.sum(), y.exp()),
        lambda x, y: [torch.where(x > y, x * y, x / y), x.argmax()],
        lambda x, y: functional.cross_entropy(x * y, torch.tensor([0, 2])),
        lambda x, y: x.detach() * 0,
    ],
)
def test_right_derivatives_pass(function):
    inputs = (leaf(2, 3), leaf(2, 3, seed=1))
    assert gradcheck(function, inputs, **EVERY)


def test_second_derivatives_pass():
    inputs = (leaf(2, 3), leaf(3, seed=1))
    assert gradgradcheck(lambda x, y: ((x * y).sin(), x.sum(0) ** 2), inputs)
    assert gradgradcheck(lambda x, y: (x * y).sin(), inputs, check_fwd_over_rev=True)
    assert gradgradcheck(lambda x, y: x * 2 + y, inputs)
    cotangents = torch.ones(2, 3, dtype=torch.float64)
    assert gradgradcheck(lambda x, y: x * y, inputs, cotangents)


def test_inputs_that_require_no_grad_and_parameters_that_are_not_taken():
    x = leaf(3)
    assert gradcheck(lambda x, k, n: x * k + n, (x, torch.ones(3, dtype=torch.float64), 2))
    layer = torch.nn.Linear(3, 2).double()
    before = [p.detach().clone() for p in layer.parameters()]
    assert gradcheck(lambda *_: layer(x.detach()), tuple(layer.parameters()))
    for p, old in zip(layer.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.detach(), old)


def test_wrong_first_derivative():
    x = leaf(2)
    with pytest.raises(RuntimeError) as caught:
        gradcheck(Wrong.apply, (x,))
    text = str(caught.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:ten")
    assert "analytical:tensor([[3., 0.],\n        [0., 3.]], dtype=torch.float64)" in text
    assert type(caught.value).__name__ == "GradcheckError"
    assert gradcheck(Wrong.apply, x, raise_exception=False) is False
    assert gradcheck(Wrong.apply, x, rtol=0.6)


def test_wrong_second_derivative():
    x = leaf(2)
    assert gradcheck(WrongTwice.apply, (x,))
    assert gradgradcheck(WrongTwice.apply, (x,), raise_exception=False) is False


def test_gradient_that_does_not_use_the_cotangent():
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0"):
        gradcheck(Adding.apply, (leaf(2),))
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        gradcheck(Adding.apply, (leaf(1),))


def test_gradient_that_was_detached():
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, (leaf(2),))


def test_gradient_that_changes_from_run_to_run():
    runs = [0]

    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            runs[0] += 1
            return g * (2 + 1e-4 * (runs[0] % 2))

    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        gradcheck(Noisy.apply, (leaf(1),), atol=1e-2)
    assert gradcheck(Noisy.apply, (leaf(1),), atol=1e-2, nondet_tol=1e-3)


def test_inputs_that_cannot_be_checked():
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, (leaf(2).detach(),))
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(lambda x: x * 2, (leaf(1).expand(3),))
    single = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double"):
        assert gradcheck(lambda x: x**2, (single,), eps=1e-2, atol=1e-2)


def test_modes_are_checked_on_their_own():
    with pytest.raises(AssertionError, match="at least one of check_forward_ad or check_backward"):
        gradcheck(Wrong.apply, (leaf(2),), check_backward_ad=False)
    with pytest.raises(RuntimeError, match="computed with forward mode mismatch for output 0"):
        gradcheck(Wrong.apply, (leaf(2),), check_backward_ad=False, check_forward_ad=True)


@pytest.mark.parametrize(
    ("change", "what"),
    [(lambda x: torch.cat([x, x]), "shape"), (lambda x: x.to(torch.float32), "dtype")],
)
def test_outputs_that_depend_on_the_step_are_refused(change, what):
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with pytest.raises(AssertionError, match=f"return outputs with the same {what} when inputs"):
        gradcheck(lambda x: change(x) if (x >= 1).all() else x, (x,))


def test_the_parts_of_complex_outputs_are_named():
    def shifted(x):
        y = torch.complex(x, x)
        y.register_hook(lambda g: g + 1e-2)
        return y

    with pytest.raises(RuntimeError, match="imaginary part of complex outputs only, Jacobian mis"):
        gradcheck(shifted, (torch.ones(2, dtype=torch.float64, requires_grad=True),))
