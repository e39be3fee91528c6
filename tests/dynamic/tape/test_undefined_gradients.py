"""Where no gradient arrives: nodes run all the same, and hooks are called with None, as PyTorch's.

What is expected was seen in PyTorch 2.13.
"""

import pytest

from staticgraph import dynamic as torch
from staticgraph.dynamic.autograd import gradcheck


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return None


def test_the_hook_of_an_output_without_a_gradient_gets_none():
    x = torch.ones(3, requires_grad=True)
    first, second, _ = x.unbind()
    seen = []
    first.register_hook(seen.append)
    second.backward(retain_graph=True)
    assert seen == [None]
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    first.backward()
    assert seen[1].item() == 1.0


def test_a_hook_may_put_a_gradient_in_the_place_of_none():
    x = torch.ones(2, requires_grad=True)
    first, second = x.unbind()
    first.register_hook(lambda g: torch.tensor(5.0) if g is None else g)
    second.backward()
    assert x.grad.tolist() == [5.0, 1.0]

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: torch.full((2,), 3.0))
    Nothing.apply(y).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("materialize", [True, False])
def test_a_function_gets_zeros_or_none(materialize):
    seen = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(g if g is None else g.tolist())
            return g

    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.register_hook(lambda g: seen.append(g if g is None else g.tolist()))
    Nothing.apply(Watched.apply(y)).sum().backward()
    value = [0.0, 0.0] if materialize else None
    assert seen == [value, value]
    assert (x.grad is None) == (not materialize)


def test_hooks_of_nodes_see_none_too():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    seen = []
    y.grad_fn.register_prehook(lambda gs: seen.append(gs))
    y.grad_fn.register_hook(lambda found, gs: seen.append((found, gs)))
    Nothing.apply(y).sum().backward()
    assert seen == [(None,), ((None,), (None,))]
    assert x.grad is None


def test_what_arrives_elsewhere_counts():
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    (Nothing.apply(y).sum() + y.sum()).backward()
    assert x.grad.tolist() == [3.0, 3.0]
    (g,) = torch.autograd.grad(Nothing.apply(x * 3).sum(), x, allow_unused=True)
    assert g is None
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        torch.autograd.grad(Nothing.apply(x * 3).sum(), x)


def test_a_hook_over_several_tensors_counts_those_without_a_gradient():
    x = torch.ones(2, requires_grad=True)
    views = x.unbind()
    seen = []
    torch.autograd.graph.register_multi_grad_hook(views, seen.append)
    views[1].backward()
    ((first, second),) = seen
    assert first is None and second.item() == 1.0


def test_gradcheck_looks_at_undefined_gradients_and_tangents():
    def refusing(x):
        y = x.clone()

        def hook(g):
            if g is None:
                raise RuntimeError("there is none")

        y.register_hook(hook)
        return y

    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with (
        pytest.warns(UserWarning, match="undefined gradient support checking"),
        pytest.raises(RuntimeError, match="Expected backward function to handle undefined"),
    ):
        gradcheck(refusing, x)
    assert gradcheck(refusing, x, check_undefined_grad=False)

    class Constant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return torch.ones(1, dtype=torch.float64) if g is None else g

    with (
        pytest.warns(UserWarning, match="undefined gradient support checking"),
        pytest.raises(RuntimeError, match="Expected all input grads to be undefined or zero"),
    ):
        gradcheck(Constant.apply, x)


def _doubled_where(is_wrong):
    """x + y, whose tangent is doubled for some tangents."""

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, g

        @staticmethod
        def jvp(ctx, dx, dy):
            there = [one for one in (dx, dy) if one is not None]
            total = there[0] if len(there) == 1 else dx + dy
            return total * 2 if is_wrong(dx, dy) else total

    return Sum.apply


@pytest.mark.parametrize(
    ("is_wrong", "text"),
    [
        (lambda dx, dy: dy is None, "Mismatch in tangent values for output with index: 0"),
        (lambda dx, dy: type(dx) is not torch.Tensor is not type(dy), "on a batch of tangents"),
    ],
)
def test_gradcheck_compares_tangents_that_are_not_there_and_batches(is_wrong, text):
    x, y = (torch.ones(1, dtype=torch.float64, requires_grad=True) for _ in range(2))
    options = {"check_forward_ad": True, "check_batched_forward_grad": "batch" in text}
    with pytest.raises(RuntimeError, match=text):
        gradcheck(_doubled_where(is_wrong), (x, y), **options)
    assert gradcheck(_doubled_where(lambda dx, dy: False), (x, y), **options)


def test_gradcheck_compares_tangents_in_batches():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(torch.exp, x, check_forward_ad=True, check_batched_forward_grad=True)

    class Draws(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, dx):
            torch.randn_like(dx)
            return dx * 2

    with pytest.raises(RuntimeError, match="do not yet support calling random operations"):
        gradcheck(Draws.apply, x, check_forward_ad=True, check_batched_forward_grad=True)
