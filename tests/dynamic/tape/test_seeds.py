"""Scripts as tutorials on computational graphs have them run, and print what is printed there."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic import empty, ones, tensor, zeros
from staticgraph.dynamic.autograd import Variable


def test_attributes_of_a_tensor():
    v = zeros(2)
    assert str(v.data) == "tensor([0., 0.])"
    assert v.grad is None and v.grad_fn is None and v.is_leaf and not v.requires_grad


def test_leaves_and_the_root():
    x = ones(2, requires_grad=True)
    y = empty(2).fill_(3)
    y.requires_grad = True
    assert str(x) == "tensor([1., 1.], requires_grad=True)"
    assert str(y) == "tensor([3., 3.], requires_grad=True)"
    z = (y * y).sum()
    assert str(z) == "tensor(18., grad_fn=<SumBackward0>)"
    assert y.is_leaf and not z.is_leaf
    assert y.requires_grad and y.grad_fn is None and z.requires_grad
    assert y.grad is None
    z.backward()
    assert str(y.grad) == "tensor([6., 6.])"


def test_constants_have_no_gradient():
    x = ones(1, requires_grad=True)
    a = tensor(-4.0)
    z = 8 * x + a
    z.backward()
    assert (str(x), str(x.grad)) == ("tensor([1.], requires_grad=True)", "tensor([8.])")
    assert str(a) == "tensor(-4.)" and a.grad is None
    assert str(z) == "tensor([4.], grad_fn=<AddBackward0>)"


def test_a_product_and_a_sine():
    x, y = tensor(4.0, requires_grad=True), tensor(3.14159265, requires_grad=True)
    z = x * x + torch.sin(2 * y)
    z.backward()
    assert (x.grad.item(), y.grad.item()) == pytest.approx((8, 2))


def test_gradients_of_intermediate_nodes():
    x = tensor(2.0, requires_grad=True)
    y = x**2
    y.retain_grad()
    z = 2 * y
    z.retain_grad()
    z.backward()
    assert (z.item(), y.item(), x.item()) == (8.0, 4.0, 2.0)
    assert (z.grad.item(), y.grad.item(), x.grad.item()) == (1.0, 2.0, 8.0)


def test_a_loop_that_rebuilds_the_graph_four_ways(capsys):
    for i in range(1, 3):
        x = empty(2).fill_(i).requires_grad_(True)
        z = x.dot(x)
        z.backward()
        print(z.item(), x.grad.numpy())

    x = empty(2).requires_grad_(True)
    for i in range(1, 3):
        with torch.no_grad():
            x.fill_(i)
        z = x.dot(x)
        z.backward()
        print(z.item(), x.grad.numpy())
        x.grad.zero_()

    for i in range(1, 3):
        x.data.fill_(i)
        z = x.dot(x)
        z.backward()
        print(z.item(), x.grad.numpy())
        x.grad.zero_()

    xd = x.detach()
    for i in range(1, 3):
        xd.fill_(i)
        z = x.dot(x)
        z.backward()
        print(z.item(), x.grad.numpy())
        x.grad.zero_()
    assert capsys.readouterr().out == "2.0 [2. 2.]\n8.0 [4. 4.]\n" * 4


def test_recording_is_switched_off_and_on():
    x = ones(1, requires_grad=True)
    with torch.no_grad():
        z1 = 2 * x
        with torch.enable_grad():
            z2 = 2 * x
    assert (x.requires_grad, z1.requires_grad, z2.requires_grad) == (True, False, True)


def test_detach_refers_to_the_same_data():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x.detach()
    assert str(y) == "tensor([1., 2.])"
    y[0] = 5
    assert str(x) == "tensor([5., 2.], requires_grad=True)"


@pytest.mark.parametrize(
    ("make", "x_grad", "y_grad", "requires_grad"),
    [
        (lambda x: tensor(3.0).requires_grad_(True), 1, 6, True),
        (lambda x: x, 7, 7, True),
        (lambda x: tensor(3.0), 1, None, False),
        (lambda x: x.detach().clone(), 1, None, False),
        (lambda x: x.clone(), 7, None, True),
    ],
)
def test_where_the_gradient_goes(make, x_grad, y_grad, requires_grad):
    x = tensor(3.0).requires_grad_(True)
    y = make(x)
    z = x + y * y
    assert z.item() == 12
    z.backward()
    assert x.grad.item() == x_grad and y.requires_grad is requires_grad
    if y.is_leaf:
        assert (None if y.grad is None else y.grad.item()) == y_grad
    else:
        assert y.grad_fn.name() == "CloneBackward0"


def test_in_place_keeps_the_object():
    x = ones(1)
    before = x
    x += 1
    x.add_(1)
    assert x is before and str(x) == "tensor([3.])"
    x = x + 1
    assert x is not before and str(x) == "tensor([4.])"


def test_in_place_on_leaves_and_elsewhere():
    x = tensor(1.0, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"a leaf Variable that requires grad is being used"):
        x += 1
    y = x
    with pytest.raises(RuntimeError, match=r"a leaf Variable that requires grad is being used"):
        y *= 1
    y = 2 * x
    assert str(y) == "tensor(2., grad_fn=<MulBackward0>)"
    y += 2
    assert str(y) == "tensor(4., grad_fn=<AddBackward0>)"
    y.log_()
    assert str(y) == "tensor(1.3863, grad_fn=<LogBackward0>)"
    y.backward()
    assert x.grad.item() == 0.5
    x = x + 1
    assert str(x) == "tensor(2., grad_fn=<AddBackward0>)"


def test_slices_share_memory():
    x = tensor(1.0, requires_grad=True)
    s = ones(2)
    s[1] = s[0] * x
    with pytest.raises(RuntimeError, match=r"has been modified by an inplace operation"):
        s.sum().backward()
    s = ones(2)
    s[1] = s[0].clone() * x
    assert str(s) == "tensor([1., 1.], grad_fn=<CopySlices>)"
    s.sum().backward()
    assert x.grad.item() == 1.0
    w = torch.randn(1, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"a view of a leaf Variable that requires grad is"):
        w[0] = 1.0


def test_joining_and_slice_assignment_agree():
    parts = [torch.randn(1, 4, 4, requires_grad=True) for _ in range(3)]
    torch.cat(parts, dim=0).sum().backward()
    joined = [part.grad for part in parts]
    y = torch.empty(3, 4, 4)
    for i, part in enumerate(parts):
        part.grad = None
        y[i] = part[0]
    y.sum().backward()
    assert [part.grad.tolist() for part in parts] == [one.tolist() for one in joined]


def test_minimising_with_sgd():
    def fun(x):
        return x[0] ** 2 + (x[1] - 1) ** 2

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=1, momentum=0.5)
    values = []
    for _ in range(20):
        optimizer.zero_grad()
        y = fun(x)
        y.backward()
        optimizer.step()
        values.append(y.item())
    # the figures are those of PyTorch 2.13
    assert values[:8] == [2.0, 2.0, 0.0, 0.5, 0.125, 0.03125, 0.0703125, 0.001953125]
    assert x.tolist() == [-0.000324249267578125, 0.9996757507324219]


def test_the_graph_of_two_losses():
    a = Variable(torch.rand(1, 4), requires_grad=True)
    b = a**2
    c = b * 2
    d = c.mean()
    e = c.sum()
    d.backward(retain_graph=True)
    e.backward(retain_graph=True)
    d.backward()
    with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
        e.backward()


def test_a_second_pass_fails_only_where_buffers_were_needed():
    x = Variable(torch.ones(2, 3), requires_grad=True)
    y = x.mean(dim=1).squeeze() + 3
    z = y.pow(2).mean()
    y.backward(torch.ones(2))
    z.backward()
    y.backward(torch.ones(2))
    with pytest.raises(RuntimeError, match=r"Trying to backward through the graph a second time"):
        z.backward()


def test_the_same_input_twice_makes_two_graphs():
    weight = torch.ones(2, requires_grad=True)
    first, second = (weight.exp().sum() for _ in range(2))
    first.backward()
    second.backward()
    assert weight.grad.tolist() == pytest.approx([2 * np.e, 2 * np.e])


def test_only_the_generator_is_trained():
    generator, critic = torch.ones(2, requires_grad=True), torch.full((2,), 2.0)
    fake = generator * 3
    losses = [(fake * critic).sum(), (fake.detach() * critic).sum(), (fake * fake).sum()]
    sum(losses).backward()
    assert generator.grad.tolist() == [24.0, 24.0] and critic.grad is None


def test_printed_graphs():
    x = torch.tensor([[-0.3360, -0.2482], [1.7921, 0.1434]])
    y = 2 * x.requires_grad_() + 3
    assert str(y) == (
        "tensor([[2.3280, 2.5036],\n        [6.5842, 3.2868]], grad_fn=<AddBackward0>)"
    )
    z = 4 * x - 1
    assert str(z).endswith("grad_fn=<SubBackward0>)")
    z.sum().backward()
    assert str(x.grad) == "tensor([[4., 4.],\n        [4., 4.]])"


def test_a_function_that_does_not_record():
    @torch.no_grad()
    def test_function(x):
        return x * 2

    assert not test_function(ones(1, requires_grad=True)).requires_grad


def test_detached_tensors_are_on_the_same_memory():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert x.detach().data_ptr() == x.data_ptr() == x.data.data_ptr() != x.clone().data_ptr()
    assert x[1:].data_ptr() == x.data_ptr() + 4 and x[1:].storage_offset() == 1
    assert torch.zeros(0).data_ptr() == 0


def test_the_node_of_a_slice_assignment_prints_its_short_name():
    x, s = tensor(1.0, requires_grad=True), ones(2)
    s[1] = s[0].clone() * x
    assert repr(s.grad_fn).startswith("<CopySlices object at 0x")
    assert s.grad_fn.name() == "torch::autograd::CopySlices"


def test_variables_are_tensors():
    a = Variable(torch.rand(1, 4), requires_grad=True)
    assert isinstance(a, Variable) and isinstance(a * 2, Variable) and isinstance(a, torch.Tensor)
    assert isinstance(ones(1), Variable) and not isinstance(1.0, Variable)
    data = ones(2)
    assert Variable(data).data_ptr() == data.data_ptr() and Variable().shape == (0,)
    with pytest.raises(TypeError, match=r"^Variable data has to be a tensor, but got list$"):
        Variable([1.0])


def test_flags_of_old_versions():
    with pytest.warns(UserWarning, match=r"^volatile was removed and now has no effect"):
        x = Variable(ones(2), volatile=True)
    with pytest.warns(UserWarning, match=r"^volatile was removed \(Variable.volatile is always"):
        assert x.volatile is False
    a = Variable(ones(2), requires_grad=True)
    loss = (a**2).sum()
    for retained in (True, False):
        with pytest.warns(UserWarning, match=r"^the option retain_variables of backward\(\) is"):
            loss.backward(retain_variables=retained)
    with pytest.raises(RuntimeError, match=r"^Trying to backward through the graph a second time"):
        loss.backward()
    assert a.grad.tolist() == [4.0, 4.0]
