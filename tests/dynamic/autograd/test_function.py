"""autograd.Function: what forward may return, save and mark, and what backward may give back."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.autograd import Function
from staticgraph.dynamic.autograd.graph import saved_tensors_hooks


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class Mix(Function):
    """(a b, a + b), in the style with a context of its own."""

    @staticmethod
    def forward(a, b=2.0):
        return a * b, a + b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(False)
        ctx.kinds = []

    @staticmethod
    def backward(ctx, by_product, by_sum):
        a, b = ctx.saved_tensors
        ctx.kinds = [type(by_product), type(by_sum)]
        found = [0.0, 0.0]
        if by_product is not None:
            found = [by_product * b, by_product * a]
        if by_sum is not None:
            found = [one + by_sum for one in found]
        return tuple(found)


def pair():
    return (torch.tensor(one, requires_grad=True) for one in ([1.0, 2.0], [3.0, 4.0]))


def test_derivatives_of_any_order_through_a_saved_output():
    x = torch.tensor(0.5, requires_grad=True)
    y = Exp.apply(x)
    for _ in range(3):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(np.exp(0.5), rel=1e-6)


def test_the_gradient_with_respect_to_an_output_includes_where_it_was_saved():
    x = torch.tensor(0.5, requires_grad=True)
    y = Exp.apply(x)
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    assert torch.autograd.grad(first, y)[0].item() == 1.0


def test_several_outputs():
    a, b = pair()
    product, total = Mix.apply(a, b)
    assert product.grad_fn is total.grad_fn and (product.output_nr, total.output_nr) == (0, 1)
    assert (
        product.grad_fn.name() == "MixBackward" and product.grad_fn.needs_input_grad == (True,) * 2
    )
    assert (product * 2).grad_fn.next_functions[0] == (product.grad_fn, 0)
    (product.sum() + 10 * total.sum()).backward()
    assert a.grad.tolist() == [13.0, 14.0] and b.grad.tolist() == [11.0, 12.0]


def test_an_output_that_was_not_used_gives_none_where_it_is_not_materialized():
    a, b = pair()
    product, _ = Mix.apply(a, b)
    node = product.grad_fn
    product.sum().backward()
    assert node.kinds == [torch.Tensor, type(None)]
    assert b.grad.tolist() == [1.0, 2.0]


def test_default_arguments_and_numbers():
    a, _ = pair()
    with pytest.raises(
        TypeError, match=r"save_for_backward can only save variables, but argument 1"
    ):
        Mix.apply(a)


def test_unused_outputs_are_zeros_unless_told_otherwise():
    seen = []

    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2, 3, None

        @staticmethod
        def backward(ctx, *grads):
            seen.extend(None if g is None else g.tolist() for g in grads)
            return grads[0]

    x = torch.ones(2, requires_grad=True)
    first, second, number, nothing = Twice.apply(x)
    assert second.requires_grad and number == 3 and nothing is None
    first.sum().backward()
    assert seen == [[1.0, 1.0], [0.0, 0.0], None, None] and x.grad.tolist() == [1.0, 1.0]


def test_dirty_inputs_keep_their_object_and_views_their_base():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(3, requires_grad=True)
    base = x * 1
    view = base[1:]
    assert Double.apply(view) is view and base.tolist() == [1.0, 2.0, 2.0]
    assert view.grad_fn.name() == "AsStridedBackward0"
    (base.sum() + view.sum()).backward()
    assert x.grad.tolist() == [1.0, 4.0, 4.0]
    y = x * 1
    assert Double.apply(y) is y and y.grad_fn.name() == "DoubleBackward"

    class Lost(Double):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 2

    with pytest.raises(
        RuntimeError, match=r"^Some elements marked as dirty during the forward met"
    ):
        Lost.apply(x * 1)

    class Number(Double):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(3)

    with pytest.raises(TypeError, match=r"^mark_dirty can only accept variables, but argument 0"):
        Number.apply(x)


def test_what_has_no_gradient():
    class Parts(Function):
        @staticmethod
        def forward(ctx, x):
            marked = x * 3
            ctx.mark_non_differentiable(marked)
            return marked, x.long(), x * 1

        @staticmethod
        def backward(ctx, *grads):
            return grads[2]

    marked, whole, value = Parts.apply(torch.ones(2, requires_grad=True))
    assert [one.requires_grad for one in (marked, whole, value)] == [False, False, True]
    with torch.no_grad():
        assert not Exp.apply(torch.ones(2, requires_grad=True)).requires_grad
    assert not Exp.apply(torch.ones(2)).requires_grad


@pytest.mark.parametrize("result", [lambda x: x, lambda x: x[1:], lambda x: x.view(3)])
def test_a_view_of_an_input_cannot_be_modified(result):
    class Alias(Function):
        @staticmethod
        def forward(ctx, x):
            return result(x)

        @staticmethod
        def backward(ctx, g):
            return torch.ones(3)

    x = torch.ones(3, requires_grad=True)
    y = Alias.apply(x)
    assert y is not x and y.grad_fn.name() == "AliasBackward" and y._is_view()
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(
        RuntimeError, match=r"^Output 0 of Alias is a view .* created inside a custom Function"
    ):
        Alias.apply(x * 1).add_(1)


def gradient(backward, *args):
    members = {
        "forward": staticmethod(lambda ctx, *args: args[0] * 2),
        "backward": staticmethod(backward),
    }
    x = torch.ones(3, requires_grad=True)
    type("G", (Function,), members).apply(x, *args).sum().backward()
    return x.grad


def test_gradients_are_summed_and_cast_to_fit():
    assert gradient(lambda ctx, g: g.expand(2, 3)).tolist() == [2.0, 2.0, 2.0]
    assert gradient(lambda ctx, g: g.double()).dtype is torch.float32
    assert gradient(lambda ctx, g: None) is None
    assert gradient(lambda ctx, g: (g, None, None)).tolist() == [1.0, 1.0, 1.0]
    assert gradient(lambda ctx, g: (g, None), 3).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(
        RuntimeError, match=r"returned an incorrect number of gradients \(expected 1,"
    ):
        gradient(lambda ctx, g: (g, g))
    with pytest.raises(RuntimeError, match=r"^expected Variable or None \(got int\)"):
        gradient(lambda ctx, g: 3)


def test_an_array_that_the_user_keeps_is_not_the_gradient():
    kept = torch.ones(3)
    x_grad = gradient(lambda ctx, g: kept)
    x_grad.add_(1)
    assert kept.tolist() == [1.0, 1.0, 1.0]


def test_saved_tensors_are_guarded_and_freed():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, nothing = ctx.saved_tensors
            assert nothing is None
            return 2 * g * x

    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = Square.apply(y)
    assert z.grad_fn.saved_tensors[0] is y
    y.add_(1)
    with pytest.raises(
        RuntimeError, match=r"which is output 0 of Add, is at version 1; expected ve"
    ):
        z.sum().backward()
    z = Square.apply(x)
    z.sum().backward()
    with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
        z.sum().backward()
    packed = []
    with saved_tensors_hooks(lambda t: packed.append(t) or t.numpy(force=True), torch.tensor):
        z = Square.apply(x)
    assert packed[0] is x
    z.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0, 4.0]


def test_the_methods_that_are_missing():
    class Bare(Function):
        pass

    class Setup(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    class Both(Setup):
        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"^You must implement the forward function for"):
        Bare.apply(x)
    for method, args in (
        ("setup_context", (None, (), None)),
        ("jvp", (None,)),
        ("vmap", (None, ())),
    ):
        with pytest.raises(NotImplementedError, match=r"implement|override the vmap static"):
            getattr(Bare, method)(*args)
    Setup.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"^Implementing both 'backward' and 'vjp' for a custom"):
        Both.apply(x).sum().backward()
    with pytest.raises(TypeError, match=r"Exp.apply\(\) takes no keyword arguments"):
        Exp.apply(x=x)
