"""Indices split as PyTorch splits them: numbers and slices make a view, tensors index the rest."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch

MASK = torch.tensor([[True, False, True], [False, True, True]])


def index(*places):
    return torch.tensor(places)


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        ((0, slice(None), index(1, 2)), (3, 2)),
        ((0, None, index(0, 0, 1)), (1, 3, 4)),
        ((slice(None), index(0, 1), 0), (2, 2)),
        ((index(0), slice(None), index(1)), (1, 3)),
        ((index(1), ..., index(2)), (1, 3)),
        ((0, index(0, 2), ..., index(1, 3)), (2,)),
        ((MASK, slice(0, 1)), (4, 1)),
        ((MASK, None), (4, 1, 4)),
        ((True, MASK), (4, 4)),
        ((slice(None), True), (2, 1, 3, 4)),
        ((slice(None), False), (2, 0, 3, 4)),
        (([], 0), (0, 4)),
        ((torch.tensor(1), index(0)), (1, 4)),
    ],
)
def test_what_a_key_selects(key, shape):
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert x[key].shape == shape  # as in PyTorch 2.13; NumPy puts some of these axes elsewhere
    y = x.clone()
    y[key] = -x[key]
    changed = np.unique(x[key].numpy())
    expected = np.where(np.isin(x.numpy(), changed), -x.numpy(), x.numpy())
    assert np.array_equal(y.numpy(), expected)


@pytest.mark.parametrize(
    ("key", "read", "written"),
    [
        (slice(None), "SliceBackward0", "FillBackward3"),
        (slice(0, 3), "SliceBackward0", "FillBackward3"),
        ((slice(None),), "AliasBackward0", "FillBackward3"),
        ((slice(0, 2), slice(0, 3)), "AliasBackward0", "FillBackward3"),
        ((..., slice(0, 2)), "SliceBackward0", "torch::autograd::CopySlices"),
        ((slice(None, None, 2), ...), "SliceBackward0", "torch::autograd::CopySlices"),
        (slice(-2, None), "SliceBackward0", "torch::autograd::CopySlices"),
        (..., "AliasBackward0", "FillBackward3"),
        ((1, slice(None)), "SelectBackward0", "torch::autograd::CopySlices"),
        (None, "UnsqueezeBackward0", "torch::autograd::CopySlices"),
        (True, "IndexBackward0", "torch::autograd::CopySlices"),
        ([0, 1], "IndexBackward0", "IndexPutBackward0"),
        ((0, [1]), "IndexBackward0", "torch::autograd::CopySlices"),
        (([1], slice(0, 1)), "IndexBackward0", "torch::autograd::CopySlices"),
        (([1], slice(None)), "IndexBackward0", "IndexPutBackward0"),
    ],
)
def test_the_nodes_of_a_key(key, read, written):
    x = torch.ones(2, 3, requires_grad=True) * 2
    assert x[key].grad_fn.name() == read
    x[key] = 5.0
    assert x.grad_fn.name() == written


def test_a_number_assigned_to_a_number_is_copied():
    x = torch.ones((), requires_grad=True) * 2
    x[...] = 5.0
    assert x.grad_fn.name() == "torch::autograd::CopyBackwards"


def test_nothing_is_assigned_to_false():
    x = torch.ones(2, 3, requires_grad=True)
    x[False] = 5.0
    assert (x._version, x.tolist()) == (0, [[1.0] * 3] * 2)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ((torch.tensor([True]),), r"^The shape of the mask \[1\] at index 0 does not match the "
         r"shape of the indexed tensor \[2, 3\] at index 0$"),
        ((slice(None), None, torch.tensor([True, False])), r"^The shape of the mask \[2\] at "
         r"index 0 does not match the shape of the indexed tensor \[2, 1, 3\] at index 2$"),
        ((0, torch.tensor([4])), "^index 4 is out of bounds for dimension 0 with size 3$"),
        ((torch.tensor([0.5]),), "^tensors used as indices must be long, int, byte or bool"),
        ((1.5,), r"^only integers, slices \(`:`\), ellipsis .*\(got float\)$"),
        ((0, 0, [0]), r"^too many indices for tensor of dimension 2: its shape is \[2, 3\]$"),
        ((0, 0, slice(None)), "^too many indices for tensor of dimension 2: its shape is "),
    ],
)  # fmt: skip
def test_keys_that_do_not_fit(key, text):
    x = torch.ones(2, 3)
    with pytest.raises(IndexError, match=text):
        x[key]
    with pytest.raises(IndexError, match=text):
        x[key] = 2.0


def test_the_value_has_the_dtype_unless_it_is_a_number_for_a_mask():
    x = torch.zeros(3)
    with pytest.raises(
        RuntimeError,
        match=r"^Index put requires the source and destination dtypes "
        r"match, got Float for the destination and Double for the source\.$",
    ):
        x[[0]] = torch.ones(1, dtype=torch.float64)  # fmt: skip
    x[torch.tensor([True, False, True])] = torch.tensor(2.0, dtype=torch.float64)
    x[1] = torch.tensor(3.0, dtype=torch.float64)
    assert x.tolist() == [2.0, 3.0, 2.0]


def test_none_among_the_indices_of_index_put_is_a_whole_axis():
    x = torch.zeros(2, 3).index_put_((None, torch.tensor([1])), torch.tensor(5.0))
    assert x.tolist() == [[0.0, 5.0, 0.0]] * 2


def test_squeezing_nothing_is_a_view():
    x = torch.ones(2)
    x.squeeze(()).mul_(2)
    number = torch.tensor(1.0)
    number.squeeze(-1).mul_(3)
    assert (x.tolist(), number.item()) == ([2.0, 2.0], 3.0)


def test_ravel_is_a_copy_of_what_is_not_in_row_major_order():
    x = torch.zeros(2, 3)
    x[:, :1].ravel().fill_(1.0)
    x.T.ravel().fill_(1.0)
    assert not x.any()
    x.ravel().fill_(1.0)
    assert x.all()


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.softmax(0), lambda x: x.cumsum(0), lambda x: x.cumprod(0),
        lambda x: x.flip(0), lambda x: x.logsumexp(0), lambda x: x.roll(1),
        lambda x: x.gather(0, torch.tensor(0)), lambda x: x.quantile(0.5),
        lambda x: torch.diag_embed(x[None]), lambda x: torch.kron(x, x),
        lambda x: x.expand(2, 3).topk(1).values, lambda x: x.expand(2, 3).mode(0).values,
        lambda x: torch.rot90(x.expand(2, 3)), lambda x: x.expand(2, 3).kthvalue(1).values,
    ],
)  # fmt: skip
def test_what_is_computed_is_no_view(make):
    made = make(torch.tensor(2.0, requires_grad=True))
    assert not made._is_view()
    assert made._base is None
    assert made.is_contiguous()
    made.sum().backward()


def test_a_clone_is_laid_out_as_what_has_neither_gaps_nor_repetition():
    x = torch.zeros(2, 3)
    assert x.T.clone().stride() == (1, 3)
    assert x.expand(4, 2, 3).clone().stride() == (6, 3, 1)
    assert torch.zeros(3).expand(2, 3).clone().stride() == (3, 1)
    assert torch.zeros(4, 6)[:, ::2].clone().stride() == (3, 1)


def test_steps_of_axes_of_one_and_of_nothing():
    assert torch.zeros(3)[None].stride() == (3, 1)
    assert torch.zeros(())[None].stride() == (1,)
    assert torch.zeros(2, 3).unsqueeze(1).stride() == (3, 3, 1)
    assert torch.zeros(2, 3).expand(1, 2, 3).stride() == (6, 3, 1)
    assert torch.zeros(2, 3).expand(4, 2, 3).stride() == (0, 3, 1)
    assert torch.zeros(0, 3).stride() == (3, 1)
    assert torch.zeros(2, 0).stride() == (1, 1)


MISSING = '^{}\\(\\) missing 1 required positional arguments: "{}"$'


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("expand", "size"), ("reshape", "shape"), ("permute", "dims"), ("repeat", "repeats"),
        ("tile", "dims"), ("flip", "dims"), ("resize_", "size"), ("new_zeros", "size"),
    ],
)  # fmt: skip
def test_methods_without_sizes(name, argument, shape):
    with pytest.raises(TypeError, match=MISSING.format(name, argument)):
        getattr(torch.ones(shape), name)()
    if not shape:
        assert getattr(torch.ones(()), name)(()).shape == ()


def test_view_without_sizes():
    with pytest.raises(TypeError, match=r"^view\(\) received an invalid combination of arguments "):
        torch.ones(()).view()


def test_axes_of_another_number():
    with pytest.raises(RuntimeError, match=r"input\.dim\(\) = 2 is not equal to len\(dims\) = 1$"):
        torch.ones(2, 3).permute(0)
    with pytest.raises(RuntimeError, match=r"^permute\(\): duplicate dims are not allowed\.$"):
        torch.ones(2, 3).permute(0, -2)
    with pytest.raises(IndexError, match=r"^Dimension out of range .* but got 2\)$"):
        torch.ones(2, 3).permute(0, 2)
    with pytest.raises(RuntimeError, match=r"^tensor\.mT is only supported .* Got 1-D tensor\.$"):
        torch.ones(2).mT  # noqa: B018
    assert torch.ones(()).mT.shape == ()
    with pytest.raises(IndexError, match=r"^amin\(\): Expected reduction dim 0 to have non-zero"):
        torch.ones(0, 2).amin(0)


Y = torch.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("key", "same"),
    [
        ([[0, 1]], ([0, 1],)),
        ([[0, 1], [1, 0]], ([0, 1], [1, 0])),
        ([[[0, 1]]], ([[0, 1]],)),
        ([(0, 1), (1, 0)], ([0, 1], [1, 0])),
        ([torch.tensor(0), torch.tensor(1)], (0, 1)),
        ([0, torch.tensor(1)], (0, 1)),
        ([torch.tensor([0, 1])], ([0, 1],)),
        ([slice(None), 0], (slice(None), 0)),
        ([None], (None,)),
        ([[0, 1], ...], ([0, 1], ...)),
        ([1, [0, 1]], (1, [0, 1])),
        ([[0, 1], [0]], ([0, 1], [0])),
        ([[]], ([],)),
    ],
)
def test_a_list_of_indices_is_a_tuple_of_them(key, same):
    with pytest.warns(UserWarning, match=r"^Using a non-tuple sequence for multidimensional"):
        found = Y[key]
    assert found.tolist() == Y[same].tolist()
    written, expected = Y.clone(), Y.clone()
    with pytest.warns(UserWarning, match=r"^Using a non-tuple sequence"):
        written[key] = -1
    expected[same] = -1
    assert written.tolist() == expected.tolist()


@pytest.mark.parametrize("key", [[0, 1], [True, False], [], [1], [0] * 32, [[0]] * 32])
def test_a_list_of_numbers_or_a_long_one_is_one_index(key):
    assert Y[key].tolist() == Y[torch.tensor(key, dtype=None if key else torch.int64)].tolist()


@pytest.mark.parametrize(
    "key",
    [
        slice(None, None, -1),
        (slice(None), slice(None, None, -2)),
        (..., slice(None, None, -1)),
        (None, slice(None, None, -1)),
        ([0], slice(None, None, -1)),
    ],
)
def test_no_slice_goes_backwards(key):
    with pytest.raises(ValueError, match=r"^step must be greater than zero$"):
        Y[key]
    with pytest.raises(ValueError, match=r"^step must be greater than zero$"):
        Y.clone()[key] = 0
    assert Y[::2, 1::2].shape == (1, 1, 4)


def test_elements_of_uint8_are_a_mask():
    bytes_ = torch.tensor([1, 0, 2], dtype=torch.uint8)
    with pytest.warns(UserWarning, match=r"^indexing with dtype torch.uint8 is now deprecated"):
        assert Y[0, bytes_].tolist() == Y[0, [0, 2]].tolist()
    assert Y[torch.tensor(1, dtype=torch.uint8)].shape == (1, 2, 3, 4)
    assert Y[torch.tensor(0, dtype=torch.uint8)].shape == (0, 2, 3, 4)
    x = Y.clone()
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8"):
        x[0, bytes_] = torch.tensor([[-1], [-2]])
    assert x[0, :, 0].tolist() == [-1, 4, -2]
    text = r"^masked_fill_ only supports boolean masks, but got mask with dtype unsigned char$"
    for value in (1, torch.tensor(1)):
        with (
            pytest.warns(UserWarning, match="indexing with dtype torch.uint8"),
            pytest.raises(RuntimeError, match=text),
        ):
            x[0, bytes_] = value


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.float32])
def test_elements_of_other_dtypes_are_no_indices(dtype):
    places = torch.tensor([0, 1], dtype=dtype)
    text = r"^tensors used as indices must be long, int, byte or bool tensors$"
    with pytest.raises(IndexError, match=text):
        Y[places]
    with pytest.raises(IndexError, match=text):
        Y.clone()[places] = 1


def test_masks_and_indices_of_functions_have_the_dtype_that_pytorch_wants():
    x, ints = torch.ones(2), torch.tensor([1, 0], dtype=torch.int32)
    cases = (
        (lambda: x.masked_fill(ints, 0.0), "masked_fill_ only supports boolean masks, but got mask "
         "with dtype int"),
        (lambda: x.masked_fill_(ints, 0.0), "masked_fill_ only supports boolean masks, but got "
         "mask with dtype int"),
        (lambda: x.masked_scatter(ints, x), "masked_scatter_ only supports boolean masks, but got "
         "mask with dtype Int"),
        (lambda: torch.where(ints, x, x), "where expected condition to be a boolean tensor, but "
         "got a tensor with dtype Int"),
        (lambda: x.index_copy(0, ints, x), "index_copy_(): Expected a long tensor for index, but "
         "got Int"),
        (lambda: x.put(ints, x), "put_(): Expected a long tensor for index, but got Int"),
        (lambda: x.take_along_dim(ints, 0), "torch.take_along_dim(): dtype of indices should be "
         "Long but got Int"),
        (lambda: x.index_select(0, ints.to(torch.int8)), "index_select(): Expected dtype int32 or "
         "int64 for index: got Char"),
        (lambda: x.index_add(0, ints.to(torch.int8), x), "index_add_(): Expected dtype "
         "int32/int64 for index but got: Char"),
        (lambda: x.gather(0, ints.to(torch.int8)), "gather(): Expected dtype int32/int64 for "
         "index: got Char"),
    )  # fmt: skip
    for call, text in cases:
        with pytest.raises(RuntimeError) as caught:
            call()
        assert str(caught.value) == text
    with pytest.raises(IndexError, match=r"^index_fill_\(\): Expected dtype int64 for index.$"):
        x.index_fill(0, ints, 1.0)
    with pytest.warns(UserWarning, match="^where received a uint8 condition tensor"):
        assert torch.where(ints.to(torch.uint8), x, x * 2).tolist() == [1.0, 2.0]
