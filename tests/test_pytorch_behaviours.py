"""The eager engine behaves as PyTorch 2.13 in every edge case of autograd that scripts rely on.

The texts are those that PyTorch printed when the same statements ran there. Optimizers, modules,
checkpointing and the functional transforms have tests of their own.
"""

from __future__ import annotations

import copy
import pickle
import re
import threading

import numpy as np
import pytest

import dynamic as torch
from dynamic.autograd import Function
from dynamic.autograd.function import once_differentiable
from dynamic.autograd.graph import disable_saved_tensors_hooks, saved_tensors_hooks


def vector(requires_grad=True):
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)


def fails(text, kind=RuntimeError):
    return pytest.raises(kind, match="^" + re.escape(text))


def function(forward, backward=None):
    """A Function of these two."""
    members = {"forward": staticmethod(forward)}
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type("F", (Function,), members)


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


def test_row_25_what_a_function_may_do():
    two = function(lambda ctx, a, b: a * b, lambda ctx, g: g)
    with fails("function FBackward returned an incorrect number of gradients (expected 2, got 1)"):
        two.apply(vector(), vector()).sum().backward()
    cut = function(lambda ctx, a: a * 2, lambda ctx, g: g[:2])
    with fails(
        "Function FBackward returned an invalid gradient at index 0 - got [2] but expected shape "
        "compatible with [3]"
    ):
        cut.apply(vector()).sum().backward()
    with fails(
        "save_for_backward can only save variables, but argument 0 is of type int", TypeError
    ):
        function(lambda ctx, a: ctx.save_for_backward(3)).apply(vector())
    with fails("You must implement either the backward or vjp method", NotImplementedError):
        function(lambda ctx, a: a * 2).apply(vector()).sum().backward()
    with fails("Legacy autograd function with non-static forward method is deprecated."):
        cut()(vector())
    with fails("a leaf Variable that requires grad has been used in an in-place operation."):
        function(lambda ctx, a: (ctx.mark_dirty(a), a.add_(1))[1]).apply(vector())


def test_row_26_once_differentiable():
    cube = function(
        lambda ctx, a: (ctx.save_for_backward(a), a**3)[1],
        once_differentiable(lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2),
    )
    x = vector()
    (g,) = torch.autograd.grad(cube.apply(x).sum(), x, create_graph=True)
    assert g.tolist() == [3.0, 12.0, 27.0]
    with fails("element 0 of tensors does not require grad and does not have a grad_fn"):
        g.sum().backward()
    y = cube.apply(x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    with fails(
        "trying to differentiate twice a function that was marked with @once_differentiable"
    ):
        g.sum().backward()


def test_row_27_anomaly_mode():
    x = torch.tensor([0.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning) as warned, torch.autograd.detect_anomaly():
        y = (x * 1).abs() * np.nan  # made here
        with fails("Function 'MulBackward0' returned nan values in its 0th output."):
            y.sum().backward()
    texts = [str(one.message) for one in warned]
    assert texts[0].startswith("Anomaly Detection has been enabled.")
    assert texts[1].startswith(
        "Error detected in MulBackward0. Traceback of forward call that caused the error:\n"
    )
    assert "# made here" in texts[1]
    assert not torch.is_anomaly_enabled()


def test_row_28_a_pack_hook_that_modifies_its_input():
    x = vector()
    with (
        fails("A saved tensor pack hook is modifying its input in place."),
        saved_tensors_hooks(lambda tensor: tensor.add_(1), lambda tensor: tensor),
    ):
        x.exp()
    with fails("no hooks here"), disable_saved_tensors_hooks("no hooks here"):
        saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor).__enter__()


def test_row_29_create_graph_warns_and_accumulates_out_of_place():
    x = vector()
    (x * 2).sum().backward()
    first = x.grad
    with pytest.warns(UserWarning, match=r"^Using backward\(\) with create_graph=True will create"):
        (x**2).sum().backward(create_graph=True)
    assert x.grad is not first and x.grad.requires_grad and first.tolist() == [2.0, 2.0, 2.0]


def test_row_30_later_gradients_are_added_in_place():
    x, g = vector(), torch.ones(3)
    (x * 1).backward(g)
    first = x.grad
    g.zero_()
    (x * 3).sum().backward()
    assert x.grad is first and first.tolist() == [4.0, 4.0, 4.0]
    x.requires_grad_(False)
    assert x.grad is first


def test_row_31_the_latest_op_runs_first_and_a_leaf_as_soon_as_it_can():
    order = []
    x, w = vector(), vector()
    w.register_post_accumulate_grad_hook(lambda leaf: order.append("w"))
    x.register_post_accumulate_grad_hook(lambda leaf: order.append("x"))
    first = x * 2
    first.register_hook(lambda g: order.append("first"))
    second = x * 3
    second.register_hook(lambda g: order.append("second"))
    ((first + second) * w).sum().backward()
    assert order == ["w", "second", "first", "x"]


def test_row_31_passes_within_passes():
    class Nested(Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            if not ctx.depth:
                return g * 2, None
            with torch.enable_grad():
                again = x.detach().requires_grad_()
                Nested.apply(again, ctx.depth - 1).backward(g)
            return again.grad, None

    x = torch.tensor(1.0, requires_grad=True)
    Nested.apply(x, 300).backward()
    assert x.grad.item() == 2.0


def test_row_34_default_dtype():
    with fails("only floating-point types are supported as the default type", TypeError):
        torch.set_default_dtype(torch.int32)


def test_row_35_results_that_do_not_fit():
    x = vector()
    for call, name in (
        (lambda out: torch.add(x, 1, out=out), "add"),
        (lambda out: torch.exp(x, out=out), "exp"),
        (lambda out: torch.matmul(x, x, out=out), "matmul"),
    ):
        with fails(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        ):
            call(torch.empty(3))
    out = torch.empty(0)
    assert torch.add(torch.ones(3), 1, out=out) is out and out.tolist() == [2.0, 2.0, 2.0]
    assert torch.exp(torch.zeros(3), out=out).tolist() == [1.0, 1.0, 1.0] and out._version == 2
    with pytest.warns(UserWarning, match=r"^An output with one or more elements was resized since"):
        torch.add(torch.ones(2), 1, out=out)
    with fails("result type Float can't be cast to the desired output type Long"):
        torch.arange(3).add_(1.5)
    with fails("output with shape [3] doesn't match the broadcast shape [2, 3]"):
        torch.ones(3).add_(torch.ones(2, 3))
    with fails("Boolean value of Tensor with more than one value is ambiguous"):
        bool(torch.ones(2))
    with fails("a Tensor with 2 elements cannot be converted to Scalar"):
        torch.ones(2).item()
    with fails("cannot resize variables that require grad"):
        x.resize_(2)
    assert torch.arange(4).resize_(2, 2).tolist() == [[0, 1], [2, 3]]


def test_row_38_the_graph_from_outside():
    x = vector()
    e = x.exp()
    y = x * e
    fn = y.grad_fn
    (leaf, zero), (made, also_zero) = fn.next_functions
    assert leaf.variable is x and made.name() == "ExpBackward0" and zero == also_zero == 0
    assert fn.name() == type(fn).__name__ == "MulBackward0" and fn.metadata == {}
    assert fn._saved_self is x and fn._saved_other.grad_fn is e.grad_fn is e.grad_fn
    assert e.grad_fn._saved_result is not e and e.grad_fn._saved_result.tolist() == e.tolist()
    assert e.grad_fn._sequence_nr() < fn._sequence_nr() < leaf._sequence_nr() == 2**64 - 1
    assert (x * 2).grad_fn._saved_self is None and x.sum().grad_fn._saved_self_sym_sizes == (3,)
    with pytest.raises(AttributeError, match=r"'MulBackward0' object has no attribute '_saved_no'"):
        fn._saved_no  # noqa: B018 - reading it raises
    y.sum().backward()
    with fails("Trying to backward through the graph a second time (or directly access saved"):
        fn._saved_self  # noqa: B018 - reading it raises


def test_row_39_factories_in_no_grad():
    with torch.no_grad():
        x = torch.ones(2, requires_grad=True)
        assert x.requires_grad and torch.nn.Parameter(torch.ones(2)).requires_grad
        assert not (x * 2).requires_grad


def test_axes_indices_and_integers():
    m = torch.ones(2, 3)
    for call in (
        lambda: m.sum(2), lambda: m.max(2), lambda: m.var(2), lambda: m.all(2), lambda: m.size(2),
        lambda: m.transpose(0, 2), lambda: m.unbind(2), lambda: torch.mean(m, 2),
        lambda: torch.sum(m, axis=2),
    ):  # fmt: skip
        with fails(
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)", IndexError
        ):
            call()
    assert torch.tensor(2.0).sum(0).item() == 2.0
    with fails("mean(): could not infer output dtype. Input dtype must be either a floating point"):
        torch.arange(3).mean()
    with fails(
        "select(): index 4 out of range for tensor of size [2, 3] at dimension 0", IndexError
    ):
        m.select(0, 4)
    with fails("start (1) + length (3) exceeds dimension size (2)."):
        m.narrow(0, 1, 3)
    with fails("too many indices for tensor of dimension 2", IndexError):
        m[0, 0, 0]
    with fails("split_size can only be 0 if dimension size is 0, but got dimension size of 2"):
        m.split(0)
    with fails("chunk expects `chunks` to be greater than 0, got: 0"):
        m.chunk(0)
    with fails("derivative for aten::floor_divide is not implemented"):
        (vector() // 2).sum().backward()
    with fails("ZeroDivisionError"):
        torch.arange(3) // 0


def test_modes_of_generators_and_threads():
    @torch.no_grad()
    def numbers():
        yield torch.is_grad_enabled()
        with torch.enable_grad():
            yield torch.is_grad_enabled()
        try:
            yield torch.is_grad_enabled()
        except KeyError:
            yield "thrown in"

    stream = numbers()
    assert [next(stream), torch.is_grad_enabled(), next(stream), next(stream)] == [
        False, True, True, False,
    ]  # fmt: skip
    assert stream.throw(KeyError) == "thrown in" and torch.is_grad_enabled()

    @torch.inference_mode
    def doubled(x):
        return x * 2

    assert doubled(torch.ones(1)).is_inference()
    seen = []
    with torch.inference_mode():
        thread = threading.Thread(target=lambda: seen.append((vector() * 2).requires_grad))
        thread.start()
        thread.join()
        assert torch.is_inference_mode_enabled()
    assert seen == [True] and not torch.is_inference_mode_enabled()
