"""The tape and the reverse pass behave as PyTorch's, error texts included."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest

import dynamic as torch
from staticgraph.compiler.core.errors import StaticGraphError


def vector(requires_grad: bool = True):
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)


def test_only_floating_dtypes_require_grad():
    with pytest.raises(RuntimeError, match=r"^only Tensors of floating point dtype can require"):
        torch.arange(3).requires_grad_()
    with pytest.raises(RuntimeError, match=r"^Only Tensors of floating point and complex dtype"):
        torch.tensor([1, 2], requires_grad=True)


def test_requires_grad_of_a_computed_tensor_cannot_be_switched_off():
    y = vector() * 2
    with pytest.raises(RuntimeError, match=r"you can only change requires_grad flags of leaf"):
        y.requires_grad = False
    y.requires_grad_()
    assert y.requires_grad and not y.is_leaf


def test_backward_needs_a_gradient_for_more_than_one_element():
    with pytest.raises(RuntimeError, match=r"grad can be implicitly created only for scalar"):
        (vector() * 2).backward()


@pytest.mark.parametrize("recorded", [False, True])
def test_backward_needs_history(recorded):
    with torch.no_grad():
        loss = vector(recorded).sum()
    with pytest.raises(
        RuntimeError, match=r"^element 0 of tensors does not require grad and does not have a"
    ):
        loss.backward()


def test_second_backward_fails_where_something_was_saved():
    x = vector()
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(
        RuntimeError, match=r"backward through the graph a second time .*retain_gra"
    ):
        loss.backward()


def test_second_backward_accumulates_where_nothing_was_saved():
    x = vector()
    loss = (x + 1).sum()
    loss.backward()
    loss.backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_retain_graph_keeps_the_saved_tensors():
    x = vector()
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [4.0, 8.0, 12.0]


def test_in_place_on_a_leaf_and_on_a_view_of_it():
    x = vector()
    with pytest.raises(RuntimeError, match=r"^a leaf Variable that requires grad is being used in"):
        x.add_(1)
    with pytest.raises(RuntimeError, match=r"^a leaf Variable that requires grad"):
        x += 1
    with pytest.raises(RuntimeError, match=r"^a view of a leaf Variable that requires grad is"):
        x[0].add_(1)
    with pytest.raises(RuntimeError, match=r"^a view of a leaf Variable that requires grad is"):
        x[0] = 1
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 3.0, 4.0] and x.is_leaf and x.requires_grad


def test_a_saved_tensor_that_was_modified_is_reported_with_the_line_that_did_it():
    s = (vector() * 2).sigmoid()
    s.add_(1)  # the line that the error names
    line = _line_of("# the line that the error names")
    with pytest.raises(RuntimeError) as error:
        s.sum().backward()
    text = str(error.value)
    assert text.startswith(
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [torch.FloatTensor [3]], which is output 0 of Sigmoid, is at version 1; "
        "expected version 0 instead."
    )
    assert text.endswith(f"{__file__}:{line}.")


def _line_of(comment: str) -> int:
    with open(__file__, encoding="utf-8") as lines:
        return next(number for number, line in enumerate(lines, 1) if comment in line)


def test_a_modified_tensor_that_was_not_saved_does_no_harm():
    x = vector()
    y = x + 1
    z = y * 2
    y.add_(1)
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_detach_shares_the_version_and_data_does_not():
    x = vector()
    y = x.exp()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation"):
        y.sum().backward()
    y = x.exp()
    y.data.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]  # wrong, as asked for


def test_grad_of_a_computed_tensor_warns():
    y = vector() * 2
    with pytest.warns(UserWarning, match=r"The .grad attribute of a Tensor that is not a leaf"):
        assert y.grad is None


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (
            lambda x: torch.ones(2),
            RuntimeError,
            r"assign a gradient of size '\[2\]' to a tensor of",
        ),
        (
            lambda x: torch.ones(3).double(),
            RuntimeError,
            "a gradient with dtype 'double' to a tens",
        ),
        (lambda x: 3, TypeError, "expected to be a Tensor or None but got grad of type int"),
        (lambda x: x, RuntimeError, "can't assign Variable as its own grad"),
    ],
)
def test_a_grad_that_does_not_fit_is_refused(value, kind, text):
    x = vector()
    with pytest.raises(kind, match=text):
        x.grad = value(x)


def test_grad_of_an_input_that_was_not_used():
    x, other = vector(), torch.ones(2, requires_grad=True)
    loss = (x * x).sum()
    with pytest.raises(RuntimeError, match=r"^The differentiated Tensor at index 1 appears to not"):
        torch.autograd.grad(loss, (x, other), retain_graph=True)
    assert torch.autograd.grad(loss, other, allow_unused=True, retain_graph=True) == (None,)
    (zeros,) = torch.autograd.grad(loss, other, materialize_grads=True)
    assert zeros.tolist() == [0.0, 0.0]
    with pytest.raises(
        ValueError, match=r"Expected allow_unused to be True or not passed when mat"
    ):
        torch.autograd.grad(loss, other, allow_unused=False, materialize_grads=True)


def test_grad_of_an_input_that_does_not_require_it():
    with pytest.raises(
        RuntimeError, match=r"One of the differentiated Tensors does not require gr"
    ):
        torch.autograd.grad(vector().sum(), torch.ones(2))


def test_backward_into_chosen_inputs():
    x, y = vector(), vector()
    with pytest.raises(RuntimeError, match=r"`inputs` argument to `backward\(\)` cannot be empty"):
        (x * y).sum().backward(inputs=[])
    z = x * y
    (z * z).sum().backward(inputs=[x, z])
    assert y.grad is None
    assert x.grad.tolist() == [2.0, 16.0, 54.0] and z.grad.tolist() == [2.0, 8.0, 18.0]


def test_the_given_gradient_must_have_the_shape_of_the_output():
    with pytest.raises(
        RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of to"
    ):
        (vector() * 2).backward(torch.ones(2))


def test_retain_grad():
    x = vector()
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0, 12.0] and y.retains_grad
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(
        RuntimeError, match=r"can't retain_grad on Tensor that has requires_grad=Fa"
    ):
        torch.ones(2).retain_grad()


def test_numpy_of_a_tensor_that_requires_grad():
    with pytest.raises(
        RuntimeError, match=r"^Can't call numpy\(\) on Tensor that requires grad. Us"
    ):
        vector().numpy()
    array = np.arange(3.0)
    assert torch.from_numpy(array).numpy() is array


def test_detach_in_place_and_deepcopy():
    base = torch.ones(3)
    with pytest.raises(RuntimeError, match=r"Can't detach views in-place"):
        base[1:].detach_()
    y = vector() * 2
    with pytest.raises(RuntimeError, match=r"Only Tensors created explicitly by the user"):
        copy.deepcopy(y)
    assert y.detach_() is y and y.is_leaf and not y.requires_grad
    x = vector()
    x.grad = torch.ones(3)
    twin = copy.deepcopy(x)
    assert twin.requires_grad and twin.grad.tolist() == [1.0, 1.0, 1.0] and twin.grad is not x.grad


def test_later_gradients_are_added_in_place_and_freezing_keeps_them():
    x = vector()
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first and first.tolist() == [5.0, 5.0, 5.0]
    x.requires_grad_(False)
    assert x.grad is first
    x.requires_grad_()
    (x * 1).sum().backward()
    assert x.grad is first and first.tolist() == [6.0, 6.0, 6.0]


def test_leaves_do_not_share_the_memory_of_their_gradients():
    x, y = vector(), vector()
    g = torch.ones(3)
    (x + y).backward(g)
    x.grad.zero_()
    assert y.grad.tolist() == [1.0, 1.0, 1.0] and g.tolist() == [1.0, 1.0, 1.0]
    z = vector()
    z.backward(g)
    z.grad.zero_()
    assert g.tolist() == [1.0, 1.0, 1.0]


def test_create_graph_accumulates_out_of_place():
    x = vector()
    with pytest.warns(UserWarning, match=r"^Using backward\(\) with create_graph=True will create"):
        (x**3).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    with pytest.warns(UserWarning, match=r"a reference cycle"):
        (x * 2).sum().backward(create_graph=True)
    assert x.grad is not first and first.tolist() == [3.0, 12.0, 27.0]


def test_the_root_may_be_a_leaf_or_named_twice():
    x = torch.tensor(2.0, requires_grad=True)
    x.backward()
    y = x * 3
    torch.autograd.backward([y, y])
    assert x.grad.item() == 7.0


def test_modes_as_contexts_and_decorators():
    x = vector()

    @torch.no_grad()
    def silent(a):
        return a * 2

    @torch.no_grad
    def silent_too(a):
        with torch.enable_grad():
            return a * 2, a.detach() * 2

    assert not silent(x).requires_grad
    assert [y.requires_grad for y in silent_too(x)] == [True, False]
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
        assert torch.ones(1, requires_grad=True).requires_grad
        assert not (x * 2).requires_grad
    assert torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    torch.set_grad_enabled(True)


def test_the_mode_comes_back_after_an_exception():
    with pytest.raises(KeyError), torch.no_grad():
        raise KeyError
    assert torch.is_grad_enabled()


def test_the_mode_belongs_to_its_thread():
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append((vector() * 2).requires_grad))
        thread.start()
        thread.join()
    assert seen == [True]


def test_default_dtype():
    with pytest.raises(TypeError, match=r"only floating-point types are supported as the default"):
        torch.set_default_dtype(torch.int32)
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.get_default_dtype() is torch.float64
        assert torch.ones(2).dtype == torch.float64
        assert (torch.tensor([1]) / 2).dtype is torch.float64
        assert repr(torch.tensor([1.5])) == "tensor([1.5000])"
    finally:
        torch.set_default_dtype(torch.float32)


def test_in_place_results_must_fit():
    with pytest.raises(
        RuntimeError, match=r"^result type Float can't be cast to the desired output"
    ):
        torch.arange(3).add_(1.5)
    with pytest.raises(
        RuntimeError, match=r"^output with shape \[3\] doesn't match the broadcast s"
    ):
        torch.ones(3).add_(torch.ones(2, 3))
    with pytest.raises(
        RuntimeError, match=r"more than one element of the written-to tensor refers"
    ):
        torch.ones(3).expand(2, 3).add_(1)
    assert torch.arange(3).add_(True).tolist() == [1, 2, 3]


def test_one_element_only():
    with pytest.raises(RuntimeError, match=r"^Boolean value of Tensor with more than one value is"):
        bool(vector())
    with pytest.raises(RuntimeError, match=r"^Boolean value of Tensor with no values is ambiguous"):
        bool(torch.ones(0))
    with pytest.raises(
        RuntimeError, match=r"^a Tensor with 3 elements cannot be converted to Scal"
    ):
        vector().item()
    with pytest.raises(TypeError, match=r"iteration over a 0-d tensor"):
        list(torch.tensor(1.0))
    with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
        len(torch.tensor(1.0))


def test_shape_errors_are_the_ops_own_and_runtime_errors():
    with pytest.raises(RuntimeError, match=r": add: float32\[2, 3\], float32\[2\] do not"):
        torch.ones(2, 3) + torch.ones(2)
    with pytest.raises(StaticGraphError, match=r"matmul: float32\[2, 3\] @ float32\[2, 3\]"):
        torch.ones(2, 3) @ torch.ones(2, 3)
    with pytest.raises(StaticGraphError, match=r"dot: float32\[2, 2\] and float32\[2, 2\]: both"):
        torch.dot(torch.ones(2, 2), torch.ones(2, 2))


def test_the_graph_can_be_walked():
    x = vector()
    z = ((x * x) + 1).sum()
    fn = z.grad_fn
    assert type(fn).__name__ == fn.name() == "SumBackward0"
    ((add, index),) = fn.next_functions
    assert add.name() == "AddBackward0" and index == 0
    multiply, constant = (node for node, _ in add.next_functions)
    assert multiply.name() == "MulBackward0" and constant is None
    leaf = multiply.next_functions[0][0]
    assert leaf.variable is x and repr(leaf).startswith("<AccumulateGrad object at")


def test_ops_are_the_shared_ones():
    from staticgraph.compiler import ops

    x = torch.ones(2, 2, requires_grad=True)
    for name in ("tanh", "matmul", "softmax", "sum", "reshape"):
        operands = (x, x) if name == "matmul" else (x, (4,)) if name == "reshape" else (x,)
        assert getattr(torch, name)(*operands).grad_fn.recipe.op is getattr(ops, name)


def test_an_eager_tensor_does_not_meet_a_symbolic_value():
    from staticgraph.compiler.graph.expression import constant

    with pytest.raises(StaticGraphError, match=r"an eager tensor meets a symbolic expression"):
        torch.ones(2) + constant(np.ones(2, np.float32))


_SHORT_WAYS = {
    "pair": lambda x: x + x, "number": lambda x: x * 2.0, "from a number": lambda x: 1.0 - x,
    "comparison": lambda x: x < 1.0, "matmul": lambda x: x @ x, "function": torch.tanh,
    "reduction": lambda x: x.sum(), "along": lambda x: x.mean(0), "extreme": lambda x: x.max(),
    "softmax": lambda x: torch.softmax(x, -1), "negative": lambda x: -x,
}  # fmt: skip
_VIEWS = {
    "index": lambda x: x[0], "slice": lambda x: x[:, 1:], "reshape": lambda x: x.reshape(4),
    "view": lambda x: x.view(4), "flatten": lambda x: x.flatten(), "t": lambda x: x.t(),
    "transpose": lambda x: x.transpose(0, 1), "permute": lambda x: x.permute(1, 0),
    "unsqueeze": lambda x: x.unsqueeze(0), "squeeze": lambda x: x.squeeze(),
    "expand": lambda x: x.expand(3, 2, 2), "T": lambda x: x.T, "mT": lambda x: x.mT,
}  # fmt: skip


@pytest.mark.parametrize("name", [*_SHORT_WAYS, *_VIEWS])
def test_the_short_ways_keep_to_the_mode(name):
    function = _SHORT_WAYS.get(name) or _VIEWS[name]
    x = torch.tensor([[0.5, 2.0], [1.5, 0.25]], requires_grad=True)
    recorded = function(x)
    assert not recorded.is_inference() and recorded.is_leaf == (name == "comparison")
    with torch.no_grad():
        plain = function(x)
        with torch.enable_grad():
            assert function(x).is_leaf == recorded.is_leaf
    assert plain.is_leaf and not plain.is_inference()
    with torch.inference_mode():
        made = function(x)
        inside = function(torch.ones(2, 2))
        with torch.enable_grad():
            assert function(x).is_leaf
    assert made.is_leaf and inside.is_inference()
    # a view requires grad if its base does, though nothing leads from it to the base
    assert plain.requires_grad == made.requires_grad == (name in _VIEWS)
    assert made.is_inference() == (name in _SHORT_WAYS)  # a view belongs to its base
    assert recorded.tolist() == plain.tolist() == made.tolist()
    if name in _VIEWS and name != "expand":  # which repeats its elements
        with pytest.raises(RuntimeError, match="view was created in no_grad mode"):
            plain.add_(1.0)
        with pytest.raises(RuntimeError, match="view was created in inference mode"):
            made.mul_(2.0)


@pytest.mark.parametrize(
    "change",
    [lambda x: x.add_(1.0), lambda x: x.mul_(torch.ones(2)), lambda x: x.zero_()],
    ids=["number", "tensor", "zero"],
)
def test_in_place_keeps_to_the_mode(change):
    with torch.inference_mode():
        x = torch.ones(2)
        change(x)
    with pytest.raises(RuntimeError, match=r"^Inplace update to inference tensor outside"):
        change(x)
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^a leaf Variable that requires grad is being used"):
        change(leaf)
    with torch.no_grad():
        change(leaf)
    assert leaf._version == 1 and leaf.is_leaf
    made = leaf * 1.0
    change(made)
    assert made.grad_fn is not None and made._version == 1


def test_a_thread_that_does_not_record_leaves_the_others_alone():
    x = torch.ones(2, requires_grad=True)
    switched, done = threading.Event(), threading.Event()

    def work():
        with torch.inference_mode():
            switched.set()
            done.wait()

    thread = threading.Thread(target=work)
    thread.start()
    switched.wait()
    try:
        for made in (x * 2.0, torch.tanh(x), x[0], x.sum(), 2.0 - x):
            assert made.requires_grad and not made.is_inference()
    finally:
        done.set()
        thread.join()


def test_a_view_learns_of_the_history_of_its_base_when_it_is_asked():
    w = torch.ones(4, requires_grad=True)
    base = torch.zeros(4)
    view, row = base[1:], base.reshape(2, 2)[1]
    base.mul_(w)
    assert view.requires_grad and row.grad_fn.name() == "AsStridedBackward0"
    view.add_(w[1:])
    (row * torch.tensor([2.0, 3.0])).sum().backward()
    assert w.grad.tolist() == [0.0, 0.0, 2.0, 3.0]
    late = torch.ones(2)
    before = late[0]
    late.requires_grad_()
    assert before.requires_grad and before.is_leaf and late[0].grad_fn is not None
