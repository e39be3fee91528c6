"""Rows 25 to 40 of PyTorch's behaviours: functions, hooks, accumulation, out=, the graph; modes."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic.autograd import Function
from staticgraph.dynamic.autograd.function import once_differentiable
from staticgraph.dynamic.autograd.graph import disable_saved_tensors_hooks, saved_tensors_hooks


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
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = cut()
    with fails("Legacy autograd function with non-static forward method is deprecated."):
        instance(vector())
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


def test_compiled_regions():
    # where torch.compile refuses double backward, retain_graph and create_graph
    compiled = sg.function(lambda x: (x**3).sum())
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    value = compiled(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x, retain_graph=True)
    assert slope.tolist() == [3.0, 12.0] and curvature.tolist() == [6.0, 12.0]
    value.backward(retain_graph=True)
    value.backward()
    assert x.grad.tolist() == [6.0, 24.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        value.backward()


def test_a_filled_mask_is_saved_under_its_name_in_place_too() -> None:
    mask = torch.tensor([True, False])
    x = torch.ones(2, requires_grad=True)
    for filled in (x.masked_fill(mask, 0.0), (x * 1).masked_fill_(mask, 0.0)):
        assert filled.grad_fn._saved_mask.tolist() == [True, False]
