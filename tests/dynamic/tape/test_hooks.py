"""Hooks on tensors, nodes and saved tensors, and anomaly mode."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.autograd.graph import (
    disable_saved_tensors_hooks,
    get_gradient_edge,
    saved_tensors_hooks,
)


def vector():
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_a_hook_sees_and_replaces_the_whole_gradient():
    x = vector()
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: seen.append(g.tolist()))
    (y * y + y).sum().backward()
    assert seen == [[5.0, 9.0, 13.0], [12.0, 20.0, 28.0]]
    assert x.grad.tolist() == [12.0, 20.0, 28.0]


def test_a_hook_is_removed():
    x = vector()
    calls = []
    with x.register_hook(calls.append):
        x.sum().backward()
    handle = x.register_post_accumulate_grad_hook(calls.append)
    handle.remove()
    handle.remove()
    x.sum().backward()
    assert len(calls) == 1

    def once(g):
        own.remove()
        calls.append(g)

    own = x.register_hook(once)
    x.sum().backward()
    x.sum().backward()
    assert len(calls) == 2


def test_hooks_run_in_grad_and_in_recorded_passes():
    x = vector()
    y = x**2
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [2.0, 8.0, 18.0]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [4.0, 8.0, 12.0]
    z = vector() * 2
    z.register_hook(lambda g: g * 10)
    assert torch.autograd.grad(z.sum(), z)[0].tolist() == [10.0, 10.0, 10.0]


def test_a_gradient_that_a_hook_keeps_is_not_the_leaf_s():
    x = vector()
    kept = []
    x.register_hook(kept.append)
    x.sum().backward()
    x.grad.zero_()
    assert kept[0].tolist() == [1.0, 1.0, 1.0]


def test_node_hooks_replace_gradients():
    x, w = vector(), vector()
    y = x * w
    y.grad_fn.register_prehook(lambda given: (given[0] * 2,))
    handle = y.grad_fn.register_hook(lambda found, given: (found[0] + given[0], None))
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [4.0, 6.0, 8.0] and w.grad is None
    handle.remove()
    y.sum().backward()
    assert w.grad.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("hook", "kind", "text"),
    [
        (lambda found, given: found[0], TypeError, "expected tuple, but hook returned 'Tensor'"),
        (
            lambda found, given: (found[0],),
            RuntimeError,
            "has returned an incorrect number of valu",
        ),
        (lambda found, given: (found[0][:1], None), RuntimeError, "has changed the size of value"),
    ],
)
def test_what_a_node_hook_returns_must_fit(hook, kind, text):
    y = vector() * 2
    y.grad_fn.register_hook(hook)
    with pytest.raises(kind, match=text):
        y.sum().backward()


def test_a_node_with_several_outputs_has_one_hook():
    x = vector()
    first, _, third = x.unbind()
    seen = []
    first.grad_fn.register_prehook(lambda given: seen.append(given))
    first.register_hook(lambda g: g * 5)
    (first + 2 * third).backward()
    ((a, b, c),) = seen
    assert (a.item(), b, c.item()) == (5.0, None, 2.0) and x.grad.tolist() == [5.0, 0.0, 2.0]


def test_optimizing_in_the_backward_pass():
    x, w = vector(), vector()
    x.register_post_accumulate_grad_hook(_step)
    (x * w).sum().backward()
    assert x.grad is None and x.tolist() == [0.0, 0.0, 0.0] and w.grad.tolist() == [1.0, 2.0, 3.0]


def _step(leaf):
    with torch.no_grad():
        leaf.sub_(leaf.grad)
    leaf.grad = None


def test_a_backward_pass_within_a_hook():
    x, w = vector(), vector()
    y = x * 2

    @torch.enable_grad()
    def inner(g):
        (w * w).sum().backward()

    y.register_hook(inner)
    y.sum().backward()
    assert w.grad.tolist() == [2.0, 4.0, 6.0] and x.grad.tolist() == [2.0, 2.0, 2.0]


def test_backward_into_a_tensor_that_retains_its_gradient():
    x = vector()
    y = x * 2
    y.retain_grad()
    y.sum().backward(inputs=[y])
    assert y.grad.tolist() == [1.0, 1.0, 1.0] and x.grad is None


def test_saved_tensors_are_packed_where_they_are_saved():
    x = vector()
    packed = []

    def pack(tensor):
        packed.append(tensor.shape)
        return tensor.detach().double().numpy()

    with saved_tensors_hooks(pack, lambda array: torch.tensor(array).float()):
        y = (x * x).exp()
        y.mul_(y.detach())
    y.sum().backward()
    assert len(packed) == 4
    expected = 4 * x.detach().numpy() * np.exp(2 * x.detach().numpy() ** 2)
    # y.detach() shares memory with y, whose values are packed before they change
    np.testing.assert_allclose(x.grad.numpy(), expected / 2, rtol=1e-6)


def test_packed_tensors_in_double_backward():
    x = vector()
    with saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        y = (x**3).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6.0, 12.0, 18.0]


def test_packed_tensors_are_freed_and_not_guarded():
    x = vector()
    with saved_tensors_hooks(lambda tensor: tensor.clone(), lambda tensor: tensor):
        y = x.sigmoid()
    expected = (y * (1 - y)).tolist()
    y.zero_()
    z = y.sum()
    z.backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0] != expected
    with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
        (x.sigmoid().sum() + z).backward()


def test_what_unpack_returns():
    with saved_tensors_hooks(lambda tensor: 3, lambda three: three):
        y = vector().exp()
    with pytest.raises(
        TypeError, match=r"^Output of saved tensor unpack_hook expected to be a Ten"
    ):
        y.sum().backward()


def test_disabled_packing():
    @disable_saved_tensors_hooks("not here")
    def use():
        with saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
            pass

    with pytest.raises(RuntimeError, match=r"^not here"):
        use()
    with (
        pytest.raises(RuntimeError, match=r"^nor here"),
        saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor),
        disable_saved_tensors_hooks("nor here"),
    ):
        pass


def test_anomaly_mode_shows_what_induced_a_calculation():
    x = torch.tensor([2.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        (g,) = torch.autograd.grad((x * 1).sqrt(), x, create_graph=True)  # induced here
        loss = g * np.nan
        with (
            pytest.warns(
                UserWarning, match=r"Error detected in MulBackward0. Traceback of forward"
            ),
            pytest.raises(
                RuntimeError, match=r"^Function 'MulBackward0' returned nan values in its"
            ),
        ):
            torch.autograd.grad(loss, x)
        y = x.sigmoid()
        y.add_(1)
        with (
            pytest.warns(UserWarning, match=r"Error detected in SigmoidBackward0"),
            pytest.raises(RuntimeError, match=r"modified by an inplace operation"),
        ):
            y.sum().backward()
    assert not torch.is_anomaly_enabled()


def test_anomaly_mode_without_its_forward_pass_and_without_its_check():
    x = torch.tensor([2.0], requires_grad=True)
    y = x * np.nan
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match=r"No forward pass information available"),
        pytest.raises(RuntimeError, match=r"returned nan values"),
    ):
        y.backward(retain_graph=True)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
        y.backward()
    assert np.isnan(x.grad.item())


def test_the_parent_in_anomaly_mode():
    x = torch.tensor([2.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        (g,) = torch.autograd.grad((x * 1).sqrt(), x, create_graph=True)
        node = g.grad_fn
        while "parent_" not in node.metadata:
            node = node.next_functions[0][0]
        assert node.metadata["parent_"].name() in ("SqrtBackward0", "MulBackward0")
        assert "in test_the_parent_in_anomaly_mode" in "".join(node.metadata["traceback_"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (x * 2).grad_fn.metadata == {}


def test_gradient_edges():
    x = vector()
    _, second, _ = x.unbind()
    node, number = get_gradient_edge(second)[:2]
    assert (
        node is second.grad_fn and number == 1 and repr(node).startswith("<UnbindBackward0 object")
    )
    assert node.requires_grad
    with pytest.raises(RuntimeError, match=r"^It is not possible to get the gradient edge for a"):
        get_gradient_edge(torch.ones(1))


def test_batched_gradients():
    x = vector()
    (rows,) = torch.autograd.grad(x**2, x, torch.eye(3), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]


def test_only_the_hooks_on_the_way_to_the_inputs_run():
    x = torch.ones(3, requires_grad=True)
    aside, between = x * 2, x * 3
    seen = []
    aside.register_hook(lambda g: seen.append("aside"))
    aside.retain_grad()
    between.register_hook(lambda g: seen.append("between"))
    end = between + aside
    torch.autograd.grad(end.sum(), [between], retain_graph=True)
    assert seen == ["between"] and aside.grad is None
    end.sum().backward(inputs=[x])
    assert sorted(seen) == ["aside", "between", "between"] and aside.grad.tolist() == [1.0] * 3


@pytest.mark.parametrize("exponent", [3, 2.5, -1, 2])
def test_numbers_are_not_packed_where_a_derivative_is_derived(exponent: float) -> None:
    """PyTorch packs the operand of the power and the cotangent; its exponent is no tensor."""
    x = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    total, seen = (x**exponent).sum(), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        (slope,) = torch.autograd.grad(total, x, create_graph=True)
    assert all(one.shape == x.shape for one in seen)
    (curve,) = torch.autograd.grad(slope.sum(), x)
    expected = exponent * (exponent - 1) * np.array([2.0, 3.0]) ** (exponent - 2)
    np.testing.assert_allclose(curve.numpy(), expected, rtol=1e-14)


def test_what_was_unpacked_is_packed_again_where_a_derivative_is_derived() -> None:
    """Doubled each time: the operand twice, the cotangent once; PyTorch has 8 times the slope."""
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 2 * t, lambda t: t):
        (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        slope.sum().backward()
    assert x.grad.tolist() == [96.0, 144.0]
