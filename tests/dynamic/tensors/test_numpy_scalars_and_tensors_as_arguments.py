"""What PyTorch takes for a number, a dim or an index: NumPy's scalars, 0-d tensors, sizes."""

from collections.abc import Callable

import numpy as np
import pytest

import dynamic as torch
from dynamic import nn

F = nn.functional
X = torch.tensor([[3.0, 1.0, 2.0], [0.5, 4.0, -1.0]])


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), np.int64(1)])
@pytest.mark.parametrize(
    "function",
    [
        lambda s: F.hardtanh(X, -1.0, s),
        lambda s: F.threshold(X, 0.75, s),
        lambda s: F.softshrink(X, s),
        lambda s: X.addcdiv(X, X + 5, value=s),
        lambda s: torch.lerp(X, X + 1, s),
        lambda s: X.clone().lerp_(X + 1, s),
        lambda s: X.clone().scatter_(1, torch.tensor([[0], [1]]), s),
        lambda s: X.var(0, correction=s),
        lambda s: torch.std_mean(X, 0, correction=s)[0],
        lambda s: torch.gradient(X, spacing=s)[0],
        lambda s: F.interpolate(X[None], scale_factor=1 + s),
    ],
)
def test_a_scalar_of_numpys_is_a_number_that_decides_no_dtype(
    function: Callable[..., torch.Tensor], number: np.generic
) -> None:
    found, expected = function(number), function(number.item())
    assert found.dtype is torch.float32
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("one", [np.int64(1), np.uint8(1), torch.tensor(1)])
@pytest.mark.parametrize(
    "function",
    [
        lambda d: X.sum(d),
        lambda d: X.argmax(d),
        lambda d: X.all(d),
        lambda d: X.logsumexp(dim=d, keepdim=True),
        lambda d: X.norm(1.5, d),
        lambda d: torch.linalg.vector_norm(X, 1.5, d),
        lambda d: torch.cross(X, X + 1, d),
        lambda d: torch.fft.fftshift(X, d),
        lambda d: X.unsqueeze(d),
        lambda d: X.narrow(d, d, d),
        lambda d: X.tril(d),
        lambda d: F.cosine_similarity(X, X + 1, d),
        lambda d: torch.stack(X.chunk(d)),
        lambda d: torch.fft.fftfreq(d + 3),
        lambda d: torch.hardshrink(X, d),
    ],
)
def test_ints_of_numpy_and_tensors_of_one_int_are_ints(
    function: Callable[..., torch.Tensor], one: object
) -> None:
    np.testing.assert_array_equal(function(one).numpy(), function(1).numpy())


def test_sizes_are_an_index_of_several_axes() -> None:
    assert X[torch.Size((1, 2))].item() == -1.0
    assert nn.LayerNorm(np.int64(3))(X).shape == (2, 3)


def test_the_float_of_python_is_the_dtype_of_64_bits() -> None:
    assert torch.zeros(2, dtype=float).dtype is torch.float64
    assert X.to(float).dtype is torch.float64


@pytest.mark.parametrize("dtype", [torch.int32, torch.int8, torch.bool])
def test_a_sum_has_the_dtype_that_is_asked_for(dtype: torch.dtype) -> None:
    x = X.abs().ceil()
    for found in (x.sum(dtype=dtype), x.sum(0, dtype=dtype), x.cumsum(1, dtype=dtype)):
        assert found.dtype is dtype
    assert x.nansum(dtype=dtype).dtype is dtype


def test_a_tensor_that_fills_integers_does_not_promote_them() -> None:
    x, value = torch.tensor([1, 2]), torch.tensor(1.5)
    assert x.masked_fill(x == 2, value).tolist() == [1, 1]
    assert x.index_fill(0, torch.tensor([0]), value).dtype is torch.int64
    assert X.clone().index_fill_(0, torch.tensor([0]), torch.tensor(2))[0, 0].item() == 2.0


def test_axes_of_one_element_are_broadcast_by_tensordot() -> None:
    a = torch.ones(2, 1, requires_grad=True)
    found = torch.tensordot(a, torch.arange(6.0).reshape(3, 2), 1)
    assert found.tolist() == [[6.0, 9.0], [6.0, 9.0]]
    found.sum().backward()
    assert a.grad.tolist() == [[15.0], [15.0]]


def test_rows_without_elements_are_at_no_distance_by_the_largest_norm() -> None:
    assert torch.cdist(torch.ones(2, 0), torch.ones(3, 0), p=np.inf).tolist() == [[0.0] * 3] * 2


def test_one_tensor_says_where_another_is_split() -> None:
    sizes = [one.shape[1] for one in torch.tensor_split(X, torch.tensor([1, 2]), dim=1)]
    assert sizes == [1, 1, 1]


def test_the_rank_of_a_matrix_by_position() -> None:
    assert torch.linalg.matrix_rank(torch.diag(torch.tensor([3.0, 1.0])), 2.0).item() == 1


def test_a_random_order_of_as_many_as_a_tensor_says() -> None:
    assert sorted(torch.randperm(torch.tensor(4)).tolist()) == [0, 1, 2, 3]
    assert torch.ldexp(torch.tensor([True]), torch.tensor(2)).tolist() == [4.0]


@pytest.mark.parametrize("name", ["tanh_", "sigmoid_", "exp_", "sqrt_", "reciprocal_", "expm1_"])
def test_a_view_overwritten_by_what_its_rule_reads_is_derived_twice(name: str) -> None:
    def second(in_place: bool) -> list[float]:
        x = torch.tensor([[0.3, 0.5], [0.1, 0.9]], requires_grad=True)
        y = x * 1
        if in_place:
            getattr(y[0], name)()
        else:
            y = torch.stack([getattr(y[0], name[:-1])(), y[1]])
        (g,) = torch.autograd.grad(y.sin().sum(), x, create_graph=True)
        loss = (g * g).sum()
        (found,) = torch.autograd.grad(loss, x)
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
        return found.flatten().tolist()

    np.testing.assert_allclose(second(True), second(False), rtol=1e-5)
