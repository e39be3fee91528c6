"""What PyTorch's graph does with inputs=, frozen and detached leaves, and freed graphs."""

from __future__ import annotations

from typing import Any

import pytest

import dynamic as torch

FREED = r"^Trying to backward through the graph a second time"


def leaf(*values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def test_numbers_in_a_key_select_before_tensors_do() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    i = torch.tensor([0, 1])
    assert x[0, :, i].tolist() == [[0.0, 1.0], [4.0, 5.0], [8.0, 9.0]]
    assert x[0, None, [0, 2]].shape == (1, 2, 4)
    assert x[torch.tensor(1), :, i].tolist() == x[1][:, :2].tolist()
    x[1, :, i] = torch.zeros(3, 2)
    assert x[1].tolist() == [[0, 0, 14, 15], [0, 0, 18, 19], [0, 0, 22, 23]]


def test_inputs_of_backward_are_retained_and_run() -> None:
    x = leaf()
    y = x.sin()
    other = leaf().clone()
    y.sum().backward(inputs=[y, other])
    assert y.retains_grad and other.retains_grad and other.grad is None and x.grad is None
    assert y.grad.tolist() == [1.0] * 3
    with pytest.raises(RuntimeError, match=FREED):  # the node of y has run
        y.sum().backward()
    z = leaf().sin()
    torch.autograd.grad(z.sum(), z)
    z.sum().backward()  # here it has not
    with pytest.raises(RuntimeError, match=r"^can't retain_grad on Tensor that has requires_grad"):
        (leaf() * 2).sum().backward(inputs=[other, torch.ones(3)])
    with pytest.raises(RuntimeError, match=r"^`inputs` argument to `backward\(\)` cannot be empty"):
        torch.ones(3).backward(inputs=[])
    with pytest.raises(RuntimeError, match=r"^Mismatch in shape"):
        torch.autograd.backward(torch.ones(2), torch.ones(3))


def test_grad_takes_what_arrives_before_the_hooks_of_a_tensor_whose_node_runs() -> None:
    x = leaf(1.0)
    y = x * 2
    z = y * 3
    y.register_hook(lambda g: g * 10)
    z.register_hook(lambda g: g * 100)
    assert [g.item() for g in torch.autograd.grad(z, [z, y, x])] == [1.0, 300.0, 6000.0]


def test_a_leaf_that_requires_grad_no_more_gets_none() -> None:
    x = leaf(1.0)
    called: list[str] = []
    x.register_post_accumulate_grad_hook(lambda leaf: called.append("after"))
    y = x + 2
    x.requires_grad_(False)
    y.backward(retain_graph=True)
    assert x.grad is None and called == ["after"]
    x.requires_grad_(True)
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [1.0]
    x.detach_()
    y.backward()
    assert x.grad.tolist() == [1.0]


def test_a_leaf_that_an_op_has_made_meanwhile_is_an_error() -> None:
    x = leaf(1.0)
    y = x * 2
    x.requires_grad_(False)
    x.mul_(leaf(2.0))
    with pytest.raises(RuntimeError, match=r"^leaf variable has been moved into the graph"):
        y.backward()
    base = torch.tensor(1.0)
    view = base.squeeze()
    view.requires_grad = True
    with pytest.raises(RuntimeError, match=r"^leaf variable has been moved into the graph"):
        base.sub_(view).backward()


def test_detach_in_place_keeps_the_gradient() -> None:
    y = leaf(1.0).sin()
    y.retain_grad()
    y.backward()
    y.detach_()
    assert y.grad.tolist() == [1.0] and y.retains_grad and y.is_leaf and not y.requires_grad
    z = leaf(1.0).sin()
    z.grad = torch.ones(1)
    assert not z.retains_grad
    z.retain_grad()
    z.backward()
    assert z.grad.tolist() == [2.0]


def test_requires_grad_is_set_on_leaves_only() -> None:
    y = leaf().sin()
    with pytest.raises(RuntimeError, match=r"^you can only change requires_grad flags of leaf var"):
        y.requires_grad = True
    assert y.requires_grad_().requires_grad
    x = torch.ones(3)
    view = x[1:]
    x.mul_(leaf())
    view.requires_grad = False  # it has no node of its own until that is read
    assert view.requires_grad


def test_a_tensor_that_was_overwritten_in_a_view_is_freed_as_any() -> None:
    y = torch.stack([leaf(), leaf()])
    y[0] = 2.0
    y.sum().backward()
    with pytest.raises(RuntimeError, match=FREED):
        y.sum().backward()


def test_a_view_of_what_requires_no_grad_any_more_has_a_graph_without_an_end() -> None:
    x = leaf()
    view = x[:2]
    x.requires_grad = False
    x[0] = 5.0
    view.sum().backward()
    assert x.grad is None


def test_what_saved_one_of_several_views_says_why_it_cannot_be_used() -> None:
    y = leaf().abs()
    part = y.unbind()[1]
    z = part.square()
    y.mul_(2.0)
    with pytest.raises(RuntimeError, match=r"^Output 1 of Unbind is a view and its base or"):
        z.backward()
    with pytest.warns(UserWarning, match=r"not a leaf"):
        assert part.grad is None  # which looks at no node


@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
def test_the_gradient_of_a_bent_line_has_a_gradient(name: str) -> None:
    x = leaf(-1.0, 2.0)
    (g,) = torch.autograd.grad(getattr(torch.nn.functional, name)(x).sum(), x, create_graph=True)
    assert g.requires_grad
    (2 * g).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_a_place_without_axes_gives_its_gradient_to_a_value_with_some() -> None:
    x = leaf(1.0)
    y = torch.zeros(3)
    y[0] = x
    y.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_a_gradient_on_the_memory_of_its_leaf_waits_until_that_was_read() -> None:
    x = leaf(1.0)
    y = x.sin() + x
    x.grad = x.detach()
    y.backward()
    assert x.grad.item() == pytest.approx(2.0 + 0.5403, abs=1e-4)


def test_what_is_made_of_an_inference_tensor_outside_may_be_overwritten() -> None:
    with torch.inference_mode():
        x = torch.ones(2) + 1
        plain = torch.ones(2)
    for alias in (x.detach(), x.data):
        assert alias.is_inference() and alias._version == 0
        alias.mul_(2.0)
    assert x.tolist() == [8.0, 8.0] and plain.is_inference()
    one = torch.ones(2)
    with torch.inference_mode():
        assert not one.data.is_inference() and not one.detach().is_inference()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, y, i: x.lerp(y, 0.3), "expected dtype float for `end` but got dtype double"),
        (lambda x, y, i: x.lerp(x, y), "expected dtype float for `weight` but got dtype double"),
        (lambda x, y, i: x.lerp_(y, 0.3), "expected dtype float for `end` but got dtype double"),
        (lambda x, y, i: x.scatter(0, i, y), "scatter(): Expected self.dtype to be equal to src"),
        (lambda x, y, i: x.scatter_(0, i, y), "scatter(): Expected self.dtype to be equal to src"),
        (lambda x, y, i: x.scatter_add(0, i, y), "scatter(): Expected self.dtype to be equal to"),
        (lambda x, y, i: x.index_add(0, i, y), "index_add_(): self (Float) and source (Double)"),
        (lambda x, y, i: x.index_copy(0, i, y), "index_copy_(): self and source expected to have"),
        (lambda x, y, i: x.index_copy_(0, i, y), "index_copy_(): self and source expected to have"),
        (lambda x, y, i: x.masked_scatter(i > 0, y), "masked_scatter: expected self and source to"),
        (lambda x, y, i: x.masked_scatter_(i > 0, y), "masked_scatter: expected self and source"),
    ],
)
def test_what_must_have_the_dtype_of_the_tensor(call: Any, text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        call(torch.zeros(2), torch.ones(2, dtype=torch.float64), torch.tensor([0, 1]))
    assert str(caught.value).startswith(text)


def test_scatter_by_no_index_is_a_copy() -> None:
    x = torch.ones(2, 3)
    none = torch.zeros(0, dtype=torch.int64)
    assert x.scatter_add(0, none, torch.ones(1)).tolist() == x.tolist()
    assert x.scatter(0, none, torch.ones(1)).tolist() == x.tolist()


def test_what_set_puts_elsewhere_is_another_leaf_for_the_graph():
    x = torch.ones(2, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x)
    out = x.clone()
    with torch.no_grad():
        x.set_(torch.zeros(2))
    with pytest.raises(RuntimeError, match="to not have been used in the graph"):
        torch.autograd.grad(out.sum(), x)
    assert torch.autograd.grad(out.sum(), edge)[0].tolist() == [1.0, 1.0]


def test_hooks_of_a_tensor_that_needs_no_gradient_are_kept_and_not_called():
    x = torch.ones(2)
    x._backward_hooks = {}
    x._backward_hooks["one"] = lambda: 1 / 0
    (x * torch.ones(2, requires_grad=True)).sum().backward()
    assert list(x._backward_hooks) == ["one"]


def test_a_view_of_an_inference_tensor_needs_no_gradient():
    with torch.inference_mode():
        x = torch.ones(2, 3, requires_grad=True)
    assert not x.view(-1).requires_grad
    assert x.view(-1).is_inference()


def test_variance_and_mean_are_outputs_of_one_node() -> None:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    seen = []
    var, mean = torch.var_mean(x, dim=0)
    assert var.grad_fn is mean.grad_fn
    mean.grad_fn.register_prehook(lambda gs: seen.append(gs) or tuple(2 * g for g in gs))
    (var + mean).sum().backward()
    assert len(seen[0]) == 2
    expected = x.detach().clone().requires_grad_()
    (2 * (expected.var(0) + expected.mean(0))).sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()
    double = x.detach().double().requires_grad_()
    for options in ({}, {"dim": 1, "keepdim": True}, {"unbiased": False}, {"correction": 0}):
        assert torch.autograd.gradcheck(lambda x: torch.var_mean(x, **options), double)  # noqa: B023
        assert torch.autograd.gradgradcheck(lambda x: torch.var_mean(x, **options), double)  # noqa: B023
    mean.mul_(2)
    var.mul_(mean)  # the rule reads neither


def test_versions_can_be_kept() -> None:
    x, y = torch.ones(2), torch.ones(2)
    x.add_(1)
    with torch.autograd._unsafe_preserve_version_counter(x):
        x.mul_(2).mul_(3)
    assert x._version == 1
    with torch.autograd._unsafe_preserve_version_counter((x, y)):
        y.mul_(3)
    assert (x._version, y._version) == (1, 0)


def test_the_median_of_nan_is_shared_by_all_of_them() -> None:
    x = torch.tensor([float("nan"), 1.0, float("nan")], requires_grad=True)
    x.median().backward()
    assert x.grad.tolist() == [0.5, 0.0, 0.5]
