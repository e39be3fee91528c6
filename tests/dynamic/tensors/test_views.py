"""Views share memory and versions; in-place operations on them stay differentiable."""

from __future__ import annotations

import random

import numpy as np
import pytest

import dynamic as torch

VIEWS = {
    "index": lambda x: x[1],
    "slice": lambda x: x[:, ::2],
    "reshape": lambda x: x.reshape(-1),
    "view": lambda x: x.view(3, 2),
    "transpose": lambda x: x.T,
    "t": lambda x: x.t(),
    "permute": lambda x: x.permute(1, 0),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "detach": lambda x: x.detach(),
    "split": lambda x: x.split(1)[1],
    "chained": lambda x: x.T[1:][0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_and_version(name):
    x = torch.arange(6.0).reshape(2, 3).clone()
    view = VIEWS[name](x)
    view.add_(10)
    assert x.sum().item() == 15 + 10 * view.numel()
    assert x._version == view._version == 1
    x.zero_()
    assert view.sum().item() == 0 and view._version == 2


@pytest.mark.parametrize(
    "copy",
    [lambda x: x.flip(0), lambda x: x.T.reshape(-1), lambda x: x.clone(), lambda x: x[[0, 1]]],
)
def test_copies_do_not(copy):
    x = torch.arange(6.0).reshape(2, 3).clone()
    copy(x).zero_()
    assert x.sum().item() == 15 and x._version == 0


def test_in_place_on_a_view_of_a_tensor_without_grad():
    base = torch.zeros(3)
    view = base[1:]
    w = torch.tensor(2.0, requires_grad=True)
    view.add_(w)
    assert repr(base) == "tensor([0., 2., 2.], grad_fn=<CopySlices>)"
    assert repr(view) == "tensor([2., 2.], grad_fn=<AsStridedBackward0>)"
    (base * view.sum()).sum().backward()
    assert w.grad.item() == 16.0  # (2 w) ** 2


def test_in_place_on_the_base_reaches_the_view():
    x = torch.ones(3, requires_grad=True)
    base = x * 1
    view = base[:2]
    base.mul_(3)
    view.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 0.0]


def test_slice_assignment_takes_the_gradient_from_what_is_overwritten():
    x = torch.ones(3, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    y = x * 2
    y[1:] = w * 5
    y[0, None] = 7.0
    y.sum().backward()
    assert y.tolist() == [7.0, 5.0, 5.0]
    assert x.grad.tolist() == [0.0, 0.0, 0.0] and w.grad.tolist() == [5.0, 5.0]


def test_assignment_by_an_index_tensor_and_by_a_mask():
    x = torch.ones(4, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    y = x * 2
    y[torch.tensor([3, 0])] = w * 3
    y[y.detach() == 2] = 0.0
    assert y.tolist() == [3.0, 0.0, 0.0, 3.0]
    y.sum().backward()
    assert x.grad.tolist() == [0.0] * 4 and w.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("rule", ["zero_", "fill_", "copy_"])
def test_overwriting_all_of_a_tensor_cuts_its_gradient(rule):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    getattr(y, rule)(*{"zero_": (), "fill_": (2.0,), "copy_": (torch.ones(3),)}[rule])
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_in_place_with_itself_as_operand():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.add_(y)
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0, 4.0]
    y = x * 2
    y.mul_(y)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation"):
        y.sum().backward()


def test_the_rule_of_an_in_place_op_reads_the_values_from_before():
    x = torch.tensor(1.0, requires_grad=True)
    y = 2 * x
    y += 2
    y.log_()
    y.backward()
    assert x.grad.item() == pytest.approx(0.5)


def test_a_retained_gradient_is_that_of_the_tensor_as_it_is_now():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5.0, 5.0] and x.grad.tolist() == [30.0, 30.0]


def test_in_place_in_double_backward():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y[0] = x[1] ** 3
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert first.tolist() == [0.0, 16.0]
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [0.0, 14.0]


STEPS = {
    "mul": lambda a, b: a.mul_(b), "add": lambda a, b: a.add_(b), "sin": lambda a, b: a.sin_(),
    "square": lambda a, b: a.square_(), "scale": lambda a, b: a.mul_(0.7),
    "copy": lambda a, b: a.copy_(b), "zero": lambda a, b: a.zero_(),
    "set": lambda a, b: a.__setitem__(0, b[1]), "fill": lambda a, b: a[1].fill_(0.3),
}  # fmt: skip
LOOKS = [lambda x: x, lambda x: x.t(), lambda x: x.unsqueeze(0).squeeze(0), lambda x: x[:, :]]


def _program(seed: int, x, w):
    """A random sequence of in-place operations on views of one tensor."""
    choose = random.Random(seed)
    base = x * 1.0
    pool = [look(base) for look in LOOKS]
    for _ in range(5):
        target, source = choose.choice(pool), choose.choice(pool)
        STEPS[choose.choice(sorted(STEPS))](target, (source.clone() * w).sin())
        pool.append(choose.choice(LOOKS)(choose.choice(pool)))
    return sum(((i + 1) * look.sin()).sum() for i, look in enumerate(pool))


@pytest.mark.parametrize("seed", range(40))
def test_random_in_place_programs_against_central_differences(seed):
    rng = np.random.default_rng(seed)
    start, weight = rng.uniform(0.2, 0.9, (2, 3, 3))

    def value(values):
        x = torch.tensor(values.reshape(2, 3, 3))
        return _program(seed, x[0].clone(), x[1]).item()

    x, w = (torch.tensor(one, requires_grad=True) for one in (start, weight))
    _program(seed, x, w).backward()
    point = np.stack([start, weight]).ravel()
    expected = np.array([
        (value(point + step) - value(point - step)) / 2e-6 for step in 1e-6 * np.eye(point.size)
    ])  # fmt: skip
    zeros = torch.zeros(3, 3)
    found = np.stack([(one.grad if one.grad is not None else zeros).numpy() for one in (x, w)])
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-6, atol=1e-7)


def test_a_view_that_requires_grad_itself_is_a_leaf():
    base = torch.zeros(3)
    view = base.view(3).requires_grad_()
    for write in (lambda: view.add_(1), lambda: view[1:].add_(1)):
        with pytest.raises(RuntimeError, match=r"^a view of a leaf Variable that requires grad is"):
            write()
    base.add_(1)
    assert view.is_leaf and view.tolist() == [1.0, 1.0, 1.0]


def test_a_view_gets_a_new_node_with_each_version_of_the_memory():
    x = torch.ones(3, requires_grad=True)
    base = x * 1
    view = base[1:]
    view.retain_grad()
    hooked = []
    view.register_hook(hooked.append)
    assert view.grad_fn.name() == "SliceBackward0"
    with torch.no_grad():
        base.mul_(2)
    assert view.grad_fn.name() == "AsStridedBackward0" and view.grad_fn is view.grad_fn
    (view * 3).sum().backward()
    assert view.grad.tolist() == [3.0, 3.0] and x.grad.tolist() == [0.0, 3.0, 3.0]
    assert not hooked  # the hook was for the values from before


def test_a_view_made_without_grad_of_what_requires_it():
    w = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        view = w[1:]
    assert view.requires_grad and view.is_leaf and view.grad_fn is None
    (view * 2).sum().backward()
    view.retain_grad()
    assert w.grad is None and view.grad is None
    with pytest.raises(RuntimeError, match=r"^element 0 of tensors does not require grad"):
        torch.autograd.backward([view], [torch.ones(2)])
    with torch.no_grad():
        w.add_(1)
        assert (view * 2).tolist() == [4.0, 4.0]
    for use in (lambda: view * 2, lambda: view.grad_fn):
        with pytest.raises(RuntimeError, match=r"^A view was created in no_grad mode and its base"):
            use()


def test_views_of_inference_tensors_are_no_views():
    with torch.inference_mode():
        x = torch.ones(3)
        assert not x[1:]._is_view() and x.view(1, 3)._base is None


def test_a_gradient_retained_for_a_number_is_a_tensor():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.retain_grad()
    z = y * y
    z.backward(retain_graph=True)
    z.backward()
    assert repr(y.grad) == "tensor(24.)"


def test_a_shape_changed_in_place_without_grad_mode_keeps_the_history():
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        y.t_()
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0.0, 4.0, 8.0], [2.0, 6.0, 10.0]]
    x.grad = None
    with torch.no_grad():
        x.unsqueeze_(0)
    (x * 2).sum().backward()
    assert x.is_leaf and x.grad.shape == (1, 2, 3)


@pytest.mark.parametrize("key", [..., (), slice(None), (..., slice(None))])
def test_an_assignment_to_all_of_a_tensor_is_no_slice(key):
    x = torch.ones(2, 2, requires_grad=True)
    y = x * 2
    y[key] = 5.0
    assert y.grad_fn.name() == "FillBackward3"
    y[key] = x
    assert y.grad_fn.name() == "torch::autograd::CopyBackwards"
    assert repr(y)[-29:] == "  [1., 1.]], grad_fn=<CopyBackwards>)"[-29:]


def test_copies_that_repeat_nothing_are_copies():
    x = torch.zeros(2, 3)
    for copy in (x.repeat(1, 1), x.tile((1,))):
        copy.fill_(1.0)
    assert x.sum().item() == 0


def test_memory_outside_of_the_storage_is_refused():
    with pytest.raises(RuntimeError, match=r"out of bounds for storage of size 12$"):
        torch.zeros(3).as_strided((2, 2), (2, 1), 0)
    assert torch.arange(6.0).reshape(2, 3).T.as_strided((2,), (3,), 1).tolist() == [1.0, 4.0]


@pytest.mark.parametrize(
    ("change", "shape"), [("squeeze_", (3,)), ("t_", (3, 1)), ("unsqueeze_", (1, 1, 3))]
)
def test_a_shape_changed_in_inference_mode_is_recorded(change, shape):
    x = torch.ones(1, 3, requires_grad=True)
    y = x * 2
    with torch.inference_mode():
        getattr(y, change)(*([0] if change == "unsqueeze_" else []))
    assert y.shape == shape and y.requires_grad and y._version == 1
    (y * torch.arange(3.0).reshape(shape)).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 4.0]]


@pytest.mark.parametrize("times", [(3, 1), (1, 1), (2, 3, 1), (1, 2)])
def test_what_repeat_makes_is_no_view(times):
    row = torch.tensor([[1.0, 2.0]], requires_grad=True)
    found = row.repeat(*times)
    assert not found._is_view() and found.is_contiguous()
    before = found.detach().clone()
    found[..., 0, 0] = 5.0
    before[..., 0, 0] = 5.0
    assert found.tolist() == before.tolist()
    assert row.tolist() == [[1.0, 2.0]]
    torch.zeros(0, requires_grad=True).repeat(2, 2).mul_(2.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: torch.cat([x, x]),
        lambda x: torch.stack([x, x]),
        lambda x: torch.softmax(x, 0),
        lambda x: x.log_softmax(-1),
        lambda x: x.cumsum(0),
    ],
)
def test_what_is_not_computed_element_by_element_is_contiguous(make):
    x = torch.arange(6.0).reshape(2, 3)
    found = make(x.T)
    assert found.is_contiguous()
    np.testing.assert_array_equal(found.view(-1).numpy(), make(x.T.contiguous()).numpy().ravel())


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (slice(None), r"slice\(\) cannot be applied to a 0-dim tensor"),
        (0, "invalid index of a 0-dim tensor"),
        ((slice(None, None, 2), -2, None), "too many indices for tensor of dimension 0"),
        ((slice(None), slice(None)), "too many indices for tensor of dimension 0"),
        ((Ellipsis, 0), "too many indices for tensor of dimension 0"),
    ],
)
def test_a_number_has_neither_elements_nor_slices(key, text):
    x = torch.tensor(1.0)
    with pytest.raises(IndexError, match=text):
        x[key]
    with pytest.raises(IndexError, match=text):
        x[key] = 2.0
    assert x.item() == 1.0


@pytest.mark.parametrize("key", [[0, 1], torch.tensor([[True], [True]]), ([0, 1], slice(None))])
def test_an_assigned_value_that_does_not_fit(key):
    x = torch.tensor([[1.0], [2.0]])
    text = r"shape mismatch: value tensor of shape \[3\] cannot be broadcast to indexing result"
    with pytest.raises(RuntimeError, match=text):
        x[key] = torch.ones(3)
    assert x.tolist() == [[1.0], [2.0]]


def test_expand_to_fewer_axes():
    with pytest.raises(RuntimeError, match=r"expand\(torch.FloatTensor\{\[1, 2\]\}, size=\[2\]\)"):
        torch.ones(1, 2).expand(2)


@pytest.mark.parametrize("size", [0, 1])
def test_a_view_that_became_recorded_retains_its_gradient(size):
    x = torch.tensor(3.0, requires_grad=True)
    view = torch.ones(2, 3).narrow(1, 1, size)
    view.mul_(x)
    view.retain_grad()  # before anything else has asked for its node
    assert view.retains_grad
    (view * 2).sum().backward()
    assert view.grad.tolist() == [[2.0] * size] * 2


def test_windows_of_a_view_without_elements_that_starts_after_the_end() -> None:
    """Seed 82915 of the campaign `eager`."""
    x = torch.zeros(1, 2, 0).mT[..., 1:]
    assert x.unfold(-3, 1, 1).shape == (1, 0, 1, 1)
    assert x.as_strided((0, 3), (1, 1), 7).shape == (0, 3)
