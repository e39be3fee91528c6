"""Classes whose `__torch_dispatch__` says what ops on their tensors are."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import dynamic as torch

SEEN: list[str] = []


class Logged(torch.Tensor):
    """Holds another tensor, and notes the ops."""

    def __new__(cls, held: Any, requires_grad: bool = False) -> Any:
        made = torch.Tensor._make_wrapper_subclass(
            cls, held.size(), dtype=held.dtype, requires_grad=requires_grad
        )
        made.held = held.detach() if requires_grad else held
        return made

    def __init__(self, *arguments: object, **options: object) -> None:
        """It is made."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        SEEN.append(func.name)
        assert not torch.is_grad_enabled()
        assert set(types) == {cls}
        found = func(*(one.held if isinstance(one, cls) else one for one in args), **kwargs)
        if isinstance(found, tuple):
            return tuple(map(cls, found))
        return cls(found) if isinstance(found, torch.Tensor) else found


def loss(x: Any, w: Any) -> Any:
    y = (x @ w).tanh() * 2
    y = torch.cat([y, y.relu() + 1], 0)
    return (y[1:, :2].exp().sum(0) - y.mean() ** 2).sum()


def arrays() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return torch.tensor(rng.normal(size=(3, 4))), torch.tensor(rng.normal(size=(4, 3)))


def test_values_and_gradients_are_those_of_what_is_held() -> None:
    x, w = arrays()
    plain = [one.clone().requires_grad_() for one in (x, w)]
    wrapped = [Logged(one, requires_grad=True) for one in (x, w)]
    expected, found = loss(*plain), loss(*wrapped)
    assert type(found) is Logged and found.requires_grad
    np.testing.assert_array_equal(found.held, expected.detach())
    expected.backward()
    found.backward()
    for one, other in zip(wrapped, plain, strict=True):
        assert type(one.grad) is Logged
        np.testing.assert_allclose(one.grad.held, other.grad, rtol=1e-12)
    assert {"matmul", "tanh", "exp"} <= set(SEEN)


def test_gradients_of_gradients() -> None:
    x, w = arrays()
    results = []
    for kind in (lambda one: one.clone().requires_grad_(), lambda one: Logged(one, True)):
        a, b = kind(x), kind(w)
        (g,) = torch.autograd.grad(loss(a, b), a, create_graph=True)
        results.append(torch.autograd.grad((g * g).sum(), (a, b)))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(other.held, one, rtol=1e-12)


def test_tensors_with_and_without_memory_meet() -> None:
    x, w = arrays()
    leaf = w.clone().requires_grad_()
    held = Logged(x)
    found = (held @ leaf).sum() * 3 + 1
    assert type(found) is Logged
    (g,) = torch.autograd.grad(found, leaf)
    np.testing.assert_allclose(g.held, 3 * np.outer(x.numpy().sum(0), np.ones(3)), rtol=1e-12)
    held += 1.0
    np.testing.assert_array_equal(held.held, x.numpy() + 1)


def test_functional_transforms_take_them() -> None:
    x, _ = arrays()
    functional = torch.autograd.functional
    for vectorize in (False, True):
        found = functional.jacobian(lambda y: (y * y).sum(0), Logged(x), vectorize=vectorize)
        expected = functional.jacobian(lambda y: (y * y).sum(0), x)
        np.testing.assert_array_equal(found.held, expected)


def test_gradients_are_checked_without_memory() -> None:
    x, w = (Logged(one[:2, :2], requires_grad=True) for one in arrays())
    assert torch.autograd.gradcheck(lambda x, w: (x @ w).tanh(), (x, w), check_batched_grad=True)
    assert torch.autograd.gradgradcheck(lambda x, w: (x @ w).tanh(), (x, w))
    assert x[0, 0].item() == x.held[0, 0].item()


class Refusing(torch.Tensor):
    """A class that knows no op."""

    held: ClassVar[Any] = None

    @classmethod
    def __torch_dispatch__(cls, *arguments: object, **options: object) -> Any:
        return NotImplemented


class Plain(torch.Tensor):
    """A class like any other."""


def test_what_cannot_be() -> None:
    made = torch.Tensor._make_wrapper_subclass(Refusing, (2, 3), dtype=torch.float64)
    assert made.stride() == (3, 1)
    assert len(made) == 2
    assert "shape=(2, 3)" in repr(made)
    with pytest.raises(TypeError, match=r"Refusing.__torch_dispatch__ does not know exp"):
        made.exp()
    with pytest.raises(RuntimeError, match="Cannot access data pointer of Tensor that doesn't"):
        made.numpy()
    with pytest.raises(RuntimeError, match="Cannot access data pointer of Tensor that doesn't"):
        np.asarray(made)
    with pytest.raises(RuntimeError, match="Plain must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Plain, (2,))
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require"):
        torch.Tensor._make_wrapper_subclass(Refusing, (2,), dtype=torch.int64, requires_grad=True)
