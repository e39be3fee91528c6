"""What must not be overwritten, in PyTorch's order: what the tape forbids, then the memory."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch

LEAF = r"^a leaf Variable that requires grad is being used in an in-place operation\.$"
VIEW = r"^a view of a leaf Variable that requires grad is being used in an in-place operation\.$"
OVERLAP = "^unsupported operation: more than one element of the written-to tensor refers to a"


def leaf(*shape):
    return torch.ones(shape, requires_grad=True)


def put(x, key, value=2.0):
    x[key] = value


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda: put(leaf(3), slice(None)), LEAF),
        (lambda: put(leaf(3), slice(0, 5)), LEAF),
        (lambda: put(leaf(0, 1), (slice(0, 0), slice(None))), LEAF),
        (lambda: put(leaf(0), slice(None, -1)), VIEW),
        (lambda: put(leaf(3), slice(0, 2)), VIEW),
        (lambda: put(leaf(), True), VIEW),
        (lambda: put(leaf(3), None), VIEW),
        (lambda: put(leaf(3), [1]), LEAF),
        (lambda: put(leaf(3), [7]), LEAF),
        (lambda: put(leaf(2, 3), (0, [7])), VIEW),
        (lambda: put(leaf(3), [0], torch.ones(1, dtype=torch.float64)), LEAF),
        (lambda: leaf(3).expand(2, 3).mul_(2), VIEW),
        (lambda: leaf(1, 1, 1).t_(), LEAF),
        (lambda: leaf(1, 1, 1).swapaxes(0, 1).t_(), VIEW),
        (lambda: leaf(2).transpose_(0, 5), LEAF),
        (lambda: leaf(2).unsqueeze_(5), LEAF),
        (lambda: leaf(2).lerp_(torch.ones(2, dtype=torch.float64), 0.5), LEAF),
        (lambda: leaf().index_fill_(0, torch.tensor([0]), 1.0), LEAF),
    ],
)
def test_the_tape_comes_first(change, text):
    with pytest.raises(RuntimeError, match=text):
        change()


def under(mode, x, view):
    with mode():
        return view(x)


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (lambda: leaf(4).split(2)[1][:1], "^Output 0 of Slice is a view and is being modified inp"),
        (lambda: leaf(4).split(2)[1], "^Output 1 of Split is a view and is being modified inplace"),
        (lambda: under(torch.no_grad, leaf(4), lambda x: x[1:]),
         "^A view was created in no_grad mode and is being modified inplace with grad mode"),
        (lambda: under(torch.no_grad, leaf(4), lambda x: x[1:])[None],
         "^Output 0 of Unsqueeze is a view of a view which was created in no_grad mode and is"),
        (lambda: under(torch.inference_mode, leaf(4), lambda x: x[1:])[None],
         "^Output 0 of Unsqueeze is a view of a view which was created in inference mode and is"),
        (lambda: under(torch.no_grad, leaf(1), lambda x: x.expand(3)).expand(2, 3),
         "^Output 0 of Expand is a view of a view which was created in no_grad mode and is"),
    ],
)  # fmt: skip
def test_which_view_is_refused(view, text):
    for change in (lambda x: x.mul_(2), lambda x: put(x, ...), lambda x: x.t_()):
        with pytest.raises(RuntimeError, match=text):
            change(view())


@pytest.mark.parametrize(
    ("key", "made"),
    [
        (0, "Output 0 of Select"),
        (slice(0, 1), "Output 0 of Slice"),
        (slice(0, 2), "Output 1 of Split"),
        (True, "Output 0 of Unsqueeze"),
        ((..., [0]), "Output 1 of Split"),
        ((0, [0]), "Output 0 of Select"),
    ],
)
def test_a_key_names_the_view_that_it_makes(key, made):
    part = leaf(4, 1).split(2)[1]
    with pytest.raises(RuntimeError, match=f"^{made} is a view and is being modified inplace"):
        put(part, key)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.mul_(2), lambda x: put(x, slice(None)), lambda x: put(x, ()),
        lambda x: put(x, slice(0, 2), torch.ones(2)), lambda x: x.copy_(torch.ones(3)),
        lambda x: x.scatter_(0, torch.tensor([0]), 2.0), lambda x: x.relu_(),
        lambda x: x.index_copy_(0, torch.tensor([0]), torch.ones(1)),
        lambda x: x.fill_(torch.tensor(2.0)), lambda x: x.clamp_(0, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("recorded", [False, True])
def test_elements_that_are_one_are_not_overwritten(change, recorded):
    x = torch.ones(1, requires_grad=recorded) * 1
    with pytest.raises(RuntimeError, match=OVERLAP):
        change(x.expand(3))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.fill_(2.0), lambda x: put(x, 0), lambda x: put(x, [0]),
        lambda x: put(x, torch.tensor([True, False, False])),
        lambda x: x.masked_fill_(torch.tensor([True, False, False]), 2.0),
        lambda x: x.index_fill_(0, torch.tensor([0]), 2.0),
        lambda x: x.index_put_((torch.tensor([0]),), torch.tensor(2.0)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("recorded", [False, True])
def test_elements_that_are_one_may_get_one_number(change, recorded):
    x = torch.ones(1, requires_grad=recorded) * 1
    view = x.expand(3)
    change(view)
    assert (x.tolist(), view.tolist(), x._version) == ([2.0], [2.0] * 3, 1)
    with pytest.raises(RuntimeError, match=OVERLAP):
        view.mul_(2)  # it is not writable since
    if recorded:
        assert x.grad_fn.name() == "torch::autograd::CopySlices"


def test_no_cotangent_flows_through_what_was_written_to_elements_that_are_one():
    x = leaf(1)
    y = x * 1
    y.expand(3)[[0]] = 2.0
    with pytest.raises(RuntimeError, match=OVERLAP):
        y.sum().backward()
    with pytest.raises(RuntimeError, match=OVERLAP):
        torch.autograd.grad(y.sum(), x, create_graph=True)


def test_without_elements_none_are_one():
    x = torch.ones(())
    x.expand(2, 0).mul_(2)
    x.expand(0, 3)[:] = 5.0
    assert (x.item(), x._version) == (1.0, 2)


def test_axes_of_an_expanded_tensor_may_change_in_place():
    x = torch.ones(1).expand(3)
    assert x.unsqueeze_(0).t_().shape == (3, 1)


def test_a_tensor_may_be_copied_to_itself():
    x = torch.ones(3).expand(2, 3)
    x.copy_(x)
    x[True] = x[...]
    assert x._version == 2


def test_the_end_of_a_line_has_the_dtype_of_its_start():
    end = torch.ones(2, dtype=torch.float64)
    text = "^expected dtype float for `end` but got dtype double$"
    with pytest.raises(RuntimeError, match=text):
        torch.zeros(2).lerp_(end, 0.5)
    with pytest.raises(RuntimeError, match=text):
        torch.zeros(2).lerp(end, 0.5)


def test_another_size_is_a_new_version():
    assert torch.ones(3).resize_(2)._version == 1
    assert torch.ones(3).resize_(3)._version == 0


@pytest.mark.parametrize("make", [torch.from_numpy, torch.from_dlpack, torch.as_tensor])
def test_memory_that_is_read_only_stays_as_it_is(make):
    array = np.arange(3.0)
    array.flags.writeable = False
    tensor = make(array)
    for write in (
        lambda: tensor.add_(1),
        lambda: tensor[:2].zero_(),
        lambda: torch.add(tensor, 1, out=tensor),
        lambda: tensor.__setitem__(0, 5.0),
    ):
        with pytest.raises(RuntimeError, match="the memory of the tensor is read-only"):
            write()
    np.testing.assert_array_equal(array, [0, 1, 2])
