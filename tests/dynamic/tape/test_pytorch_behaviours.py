"""The eager engine behaves as PyTorch 2.13 in every edge case of autograd that scripts rely on.

The texts are those that PyTorch printed when the same statements ran there. Optimizers, modules,
checkpointing and the functional transforms have tests of their own.
"""

from __future__ import annotations

import copy
import pickle
import re

import pytest

import dynamic as torch


def vector(requires_grad=True):
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)


def fails(text, kind=RuntimeError):
    return pytest.raises(kind, match="^" + re.escape(text))


def test_row_1_only_floats_require_grad():
    with fails("only Tensors of floating point dtype can require gradients"):
        torch.arange(3).requires_grad_()
    with fails("Only Tensors of floating point and complex dtype can require gradients"):
        torch.tensor([1, 2], requires_grad=True)


def test_row_2_flag_of_a_computed_tensor():
    with fails(
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable in a subgraph that doesn't require differentiation use var_no_grad = "
        "var.detach()."
    ):
        (vector() * 2).requires_grad = False


def test_row_3_gradient_of_more_than_one_element():
    with fails("grad can be implicitly created only for scalar outputs"):
        (vector() * 2).backward()


def test_row_4_no_history():
    with torch.no_grad():
        loss = vector().sum()
    with fails("element 0 of tensors does not require grad and does not have a grad_fn"):
        loss.backward()


def test_row_5_second_pass():
    x = vector()
    (loss := (x * x).sum()).backward()
    with fails(
        "Trying to backward through the graph a second time (or directly access saved tensors "
        "after they have already been freed). Saved intermediate values of the graph are freed "
        "when you call .backward() or autograd.grad(). Specify retain_graph=True"
    ):
        loss.backward()
    y = vector()
    loss = (y + 1).sum()
    loss.backward()
    loss.backward()
    assert y.grad.tolist() == [2.0, 2.0, 2.0]


def test_row_6_in_place_on_leaves():
    x = vector()
    with fails("a leaf Variable that requires grad is being used in an in-place operation."):
        x.mul_(2)
    with fails("a view of a leaf Variable that requires grad is being used in an in-place"):
        x[1:].mul_(2)
    with fails("a view of a leaf Variable that requires grad is being used in an in-place"):
        x[0] = 1


def test_row_7_a_saved_tensor_was_modified():
    s = (vector() * 2).sigmoid()
    s.add_(1)  # here
    with fails(
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [torch.FloatTensor [3]], which is output 0 of Sigmoid, is at version 1; "
        "expected version 0 instead. Hint: enable anomaly detection"
    ) as error:
        s.sum().backward()
    with open(__file__, encoding="utf-8") as lines:
        line = next(i for i, text in enumerate(lines, 1) if "# here" in text)
    assert str(error.value).endswith(f"it was modified last at {__file__}:{line}.")


MULTIPLE = (
    "This view is the output of a function that returns multiple views. Such functions do not "
    "allow the output views to be modified inplace. You should replace the inplace operation by an "
    "out-of-place one."
)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda y: y.unbind()[1], "Output 1 of Unbind"),
        (lambda y: y.split(1)[1], "Output 1 of Split"),
        (lambda y: y.chunk(3)[2], "Output 2 of Split"),
        (lambda y: y.split([1, 2])[0], "Output 0 of SplitWithSizes"),
        (lambda y: next(iter(y)), "Output 0 of Unbind"),
        (lambda y: y.unbind()[0][..., None], "Output 0 of Unsqueeze"),
    ],
)
def test_row_8_one_of_several_views(make, name):
    with fails(f"{name} is a view and is being modified inplace. {MULTIPLE}"):
        make(vector() * 2).add_(1)
    make(torch.ones(3)).add_(1)


def test_row_8_the_base_of_several_views():
    y = vector() * 2
    first, *_ = y.unbind()
    y.add_(1)
    text = (
        "Output 0 of Unbind is a view and its base or another view of its base has been modified "
        "inplace. "
    )
    with fails(text + MULTIPLE):
        first.grad_fn  # noqa: B018 - reading it raises
    with fails(text):
        first.backward()


@pytest.mark.parametrize("leaf", [False, True])
def test_row_9_a_view_made_in_no_grad(leaf):
    base = torch.zeros(3, requires_grad=leaf)
    with torch.no_grad():
        view = base[1:]
        view.add_(1)
    with fails(
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
        "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
    ):
        view.add_(vector()[1:])
    if not leaf:
        assert view.add_(1).tolist() == [2.0, 2.0]


def test_row_10_in_place_on_a_view_of_a_constant():
    base, w = torch.zeros(3), torch.tensor(2.0, requires_grad=True)
    view = base[1:]
    view.add_(w)
    assert base.requires_grad and base.grad_fn.name() == "torch::autograd::CopySlices"
    assert view.grad_fn.name() == "AsStridedBackward0"
    (base.sum() + 10 * view.sum()).backward()
    assert w.grad.item() == 22.0


def test_row_11_detach_shares_the_version_and_data_does_not():
    x = vector()
    y = x.exp()
    y.detach().zero_()
    with fails("one of the variables needed for gradient computation has been modified"):
        y.sum().backward()
    y = x.exp()
    y.data.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]  # wrong, as asked for


def test_row_12_grad_of_a_computed_tensor():
    with pytest.warns(UserWarning, match=r"^The .grad attribute of a Tensor that is not a leaf Te"):
        assert (vector() * 2).grad is None


def test_row_13_a_grad_that_does_not_fit():
    x = vector()
    with fails("attempting to assign a gradient of size '[2]' to a tensor of size '[3]'."):
        x.grad = torch.ones(2)
    with fails("attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype"):
        x.grad = torch.ones(3).double()
    with fails("assigned grad expected to be a Tensor or None but got grad of type int", TypeError):
        x.grad = 3
    with fails("can't assign Variable as its own grad"):
        x.grad = x


def test_row_14_an_input_that_was_not_used():
    x, other = vector(), vector()
    loss = (x + 1).sum()
    with fails(
        "The differentiated Tensor at index 0 appears to not have been used in the graph. Set "
        "allow_unused=True"
    ):
        torch.autograd.grad(loss, other)
    assert torch.autograd.grad(loss, other, allow_unused=True) == (None,)
    (zeros,) = torch.autograd.grad(loss, other, materialize_grads=True)
    assert zeros.tolist() == [0.0, 0.0, 0.0]
    with fails("Expected allow_unused to be True or not passed", ValueError):
        torch.autograd.grad(loss, other, allow_unused=False, materialize_grads=True)


def test_row_15_an_input_that_requires_no_grad():
    with fails("One of the differentiated Tensors does not require grad"):
        torch.autograd.grad(vector().sum(), torch.ones(2))


def test_row_16_no_inputs():
    with fails("`inputs` argument to `backward()` cannot be empty."):
        vector().sum().backward(inputs=[])


def test_row_17_the_shape_of_a_given_gradient():
    with fails(
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a "
        "shape of torch.Size([3])."
    ):
        (vector() * 2).backward(torch.ones(2))


def test_row_18_a_gradient_is_retained_after_the_hooks():
    x = vector()
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.tolist() == [10.0, 10.0, 10.0] and x.grad.tolist() == [20.0, 20.0, 20.0]
    with fails("can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(2).retain_grad()
    x.retain_grad()
    assert not x.retains_grad and y.retains_grad


def test_row_19_what_a_hook_returns():
    with fails("cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(2).register_hook(print)
    for hook, kind, text in (
        (lambda g: g[:2], RuntimeError, "hook '<lambda>' has changed the size of value"),
        (lambda g: 3, TypeError, "expected Variable, but hook returned 'int'"),
        (
            lambda g: g.double(),
            RuntimeError,
            "hook '<lambda>' has changed the type of value (was torch.FloatTensor got "
            "torch.DoubleTensor)",
        ),
    ):
        y = vector() * 2
        y.register_hook(hook)
        with fails(text, kind):
            y.sum().backward()


def test_row_20_the_order_of_hooks():
    order = []
    x = vector()
    y = x * 2
    y.register_hook(lambda g: order.append(1))
    y.register_hook(lambda g: order.append(2))
    y.grad_fn.register_hook(lambda found, given: order.append("post"))
    y.grad_fn.register_prehook(lambda given: order.append("pre"))
    x.register_hook(lambda g: order.append("x"))
    x.register_post_accumulate_grad_hook(lambda leaf: order.append("acc"))
    y.sum().backward()
    assert order == [1, 2, "pre", "post", "x", "acc"]


def test_row_21_after_accumulation():
    with fails("post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (vector() * 2).register_post_accumulate_grad_hook(print)
    with fails("cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(2).register_post_accumulate_grad_hook(print)


def test_row_22_numpy():
    with fails(
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    ):
        vector().numpy()


def test_row_23_inference_tensors():
    with torch.inference_mode():
        x = torch.ones(3)
        assert x.is_inference() and (x * 2).is_inference() and not torch.is_grad_enabled()
        x.add_(1)
        with torch.inference_mode(False):
            assert torch.is_grad_enabled() and not torch.ones(2).is_inference()
    with fails(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in computation tracked by autograd."
    ):
        vector() * x
    assert (vector() + x).requires_grad and not x.clone().is_inference() and x[1:].is_inference()
    with fails("Inplace update to inference tensor outside InferenceMode is not allowed."):
        x.add_(1)
    with fails("Inference tensors do not track version counter."):
        x._version  # noqa: B018 - reading it raises
    with fails("Setting requires_grad=True on inference tensor outside InferenceMode is not allo"):
        x.requires_grad_()
    normal = torch.ones(3)
    with torch.inference_mode():
        view = normal[1:]
        normal.add_(1)
    assert not view.is_inference() and normal._version == 1
    with fails("A view was created in inference mode and is being modified inplace in normal mode"):
        view.add_(vector()[1:])


def test_row_24_detach_in_place_deepcopy_and_pickle():
    with fails("Can't detach views in-place. Use detach() instead."):
        vector(False)[1:].detach_()
    with fails("Only Tensors created explicitly by the user (graph leaves) support the deepcopy"):
        copy.deepcopy(vector() * 2)
    x = vector()
    assert copy.deepcopy([x, x])[0].requires_grad
    first, second = copy.deepcopy([x, x])
    assert first is second and first is not x
    for tensor in (x, x * 2, torch.arange(3)):
        loaded = pickle.loads(pickle.dumps(tensor))
        assert loaded.tolist() == tensor.tolist() and loaded.is_leaf
        assert loaded.requires_grad == tensor.requires_grad and loaded.dtype is tensor.dtype
