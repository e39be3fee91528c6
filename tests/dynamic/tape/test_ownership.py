"""A leaf takes a gradient over that nobody else holds, and copies what others may read."""

from __future__ import annotations

import pytest

import dynamic as torch


def returning(backward):
    class Added(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            return sum(xs)

        @staticmethod
        def backward(ctx, g):
            return backward(ctx, g)

    return Added.apply


def leaves(count=2):
    return [torch.ones(3, requires_grad=True) for _ in range(count)]


def test_a_function_hands_over_what_it_has_made():
    a, b = leaves()
    places = []

    def backward(ctx, g):
        found = g * 2, g * 3
        places.extend(one.data_ptr() for one in found)
        return found

    returning(backward)(a, b).sum().backward()
    assert [a.grad.data_ptr(), b.grad.data_ptr()] == places


def test_one_gradient_for_two_leaves_is_that_of_one():
    a, b = leaves()
    places = []

    def backward(ctx, g):
        places.append(g.data_ptr())
        return g, g

    returning(backward)(a, b)[1].backward()
    assert a.grad.tolist() == b.grad.tolist() == [0, 1, 0]
    assert a.grad.data_ptr() != b.grad.data_ptr() == places[0]


def test_one_gradient_for_one_leaf_twice_and_for_an_op_and_a_leaf():
    a, b = leaves()
    both = returning(lambda ctx, g: (g, g))
    both(a, a).sum().backward()
    assert a.grad.tolist() == [2, 2, 2]
    (both(a * 2, b) * 1).sum().backward()
    assert a.grad.tolist() == [4, 4, 4] and b.grad.tolist() == [1, 1, 1]
    (both(b, a * 2) * 1).sum().backward()
    assert a.grad.tolist() == [6, 6, 6] and b.grad.tolist() == [2, 2, 2]


KEPT = {
    "the gradient": lambda g, kept: (kept.append(g), g)[1],
    "a result": lambda g, kept: (kept.append(g * 3), kept[0])[1],
    "a view of it": lambda g, kept: (r := g * 3, kept.append(r[:]))[0],
    "its array": lambda g, kept: (r := g * 3, kept.append(torch.from_numpy(r.numpy())))[0],
    "what it is a view of": lambda g, kept: (kept.append(g * 3), kept[0][:])[1],
}


@pytest.mark.parametrize("what", KEPT)
def test_what_the_user_keeps_is_copied(what):
    a, b = leaves()
    kept = []
    returning(lambda ctx, g: (KEPT[what](g, kept), g * 2))(a, b).sum().backward()
    values = kept[0].tolist()
    assert a.grad.tolist() == values and a.grad.data_ptr() != kept[0].data_ptr()
    (a * 5).sum().backward()
    assert kept[0].tolist() == values


def test_saved_tensors_the_ctx_and_the_seed_are_copied():
    a, b = leaves()
    returning(lambda ctx, g: tuple(one.detach() for one in ctx.saved_tensors))(
        a, b
    ).sum().backward()
    (a * 5).sum().backward()
    assert a.grad.tolist() == [6, 6, 6] and a.tolist() == [1, 1, 1]
    (c,) = leaves(1)
    seed = torch.ones(3)
    returning(lambda ctx, g: (g,))(c).backward(seed)
    returning(lambda ctx, g: (g,))(c).backward(seed)
    assert c.grad.tolist() == [2, 2, 2] and seed.tolist() == [1, 1, 1]


def test_hooks_after_a_leaf_see_its_gradient_as_the_hooks_before_left_it():
    """PyTorch's order: the tensor's hook, the node's before, the tensor's after, the node's."""
    (x,) = leaves(1)
    node = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: g.sub(2.0))
    node.register_prehook(lambda grads: (grads[0].div(5.0),))

    def half_more(tensor):
        tensor.grad.add_(0.5)

    def ten_times(inputs, outputs):
        x.grad = outputs[0].mul(10)

    x.register_post_accumulate_grad_hook(half_more)
    node.register_hook(ten_times)
    x.sum().backward()
    assert torch.allclose(x.grad, torch.full((3,), 3.0))


@pytest.mark.parametrize("way", ["tensor", "before"])
def test_what_a_hook_keeps_is_copied(way):
    (x,) = leaves(1)
    kept = []
    node = x.view_as(x).grad_fn.next_functions[0][0]
    if way == "tensor":
        x.register_hook(kept.append)
    else:
        node.register_prehook(lambda grads: kept.append(grads[0]))
    for _ in range(2):
        (x * 3).sum().backward()
    assert [one.tolist() for one in kept] == [[3, 3, 3]] * 2 and x.grad.tolist() == [6, 6, 6]


def test_a_leaf_with_a_hook_and_another_operand_do_not_share():
    x, w = leaves()

    def double(tensor):
        tensor.grad.mul_(2)

    x.register_post_accumulate_grad_hook(double)
    (x + w).mul(3).sum().backward()
    assert x.grad.tolist() == [6, 6, 6] and w.grad.tolist() == [3, 3, 3]


def test_edges_of_several_outputs_made_by_hand():
    edge = torch.autograd.graph.GradientEdge
    a, b = torch.ones(2, requires_grad=True).unbind()
    assert torch.autograd.grad(a * 3 + b * 4, edge(a.grad_fn, 1))[0].item() == 4
    x = leaves(1)[0]
    y = returning(lambda ctx, g: (g * 2,))(x)
    z = (y * 3).sum()
    assert torch.autograd.grad(z, edge(y.grad_fn, 0), retain_graph=True)[0].tolist() == [3, 3, 3]
    assert torch.autograd.grad(edge(z.grad_fn, 0), x)[0].tolist() == [6, 6, 6]
