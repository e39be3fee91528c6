"""Tensors, Python numbers and NumPy scalars of several dtypes together: what PyTorch 2.13 does."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler.core.errors import ShapeError

I8, U8 = torch.tensor([1, -2, 3], dtype=torch.int8), torch.tensor([1, 200, 3], dtype=torch.uint8)
I64, BOOL = torch.tensor([4, 5, -6]), torch.tensor([True, False, True])
ONE_I64, ONE_F64 = torch.tensor(2), torch.tensor(2.5, dtype=torch.float64)


def same(found: Any, values: Any, dtype: Any) -> None:
    assert found.dtype == dtype
    assert found.tolist() == values


@pytest.mark.parametrize(
    ("data", "values", "dtype"),
    [
        ([torch.tensor(1), ONE_F64], [1.0, 2.5], torch.float64),
        ([1, ONE_F64], [1.0, 2.5], torch.float64),
        ([[torch.tensor(1), 2], [3, 2.5]], [[1.0, 2.0], [3.0, 2.5]], torch.float32),
        ([torch.tensor(1, dtype=torch.int32)], [1], torch.int32),
        ([torch.tensor(1, dtype=torch.int32), 2], [1, 2], torch.int64),
        ([torch.tensor(1.0), ONE_F64], [1.0, 2.5], torch.float64),
        ([np.float64(1.5)], [1.5], torch.float64),
        ([np.int32(1), 2.5], [1.0, 2.5], torch.float32),
        ([True, U8[0]], [1, 1], torch.uint8),
        ([], [], torch.float32),
        ([True, 2], [1, 2], torch.int64),
    ],
)
def test_data_take_the_dtype_that_holds_them_all(data, values, dtype):
    same(torch.tensor(data), values, dtype)
    same(torch.as_tensor(data), values, dtype)


def test_numpy_scalars_are_numbers():
    same(torch.full((2,), np.int32(3)), [3, 3], torch.int64)
    same(torch.full((2,), np.bool_(True)), [True, True], torch.bool)
    same(I64.masked_fill(BOOL, np.float32(1.5)), [1, 5, 1], torch.int64)
    same(I64.clone().masked_fill_(BOOL, np.int8(7)), [7, 5, 7], torch.int64)
    same(I8 & np.int64(2), [0, 2, 2], torch.int8)
    same(BOOL | np.uint8(2), [3, 2, 3], torch.int64)


def test_numbers_and_scalars_do_not_widen_bits():
    for function, values in (
        (operator.and_, [0, 2, 2]),
        (operator.or_, [3, -2, 3]),
        (operator.xor, [3, -4, 1]),
    ):
        same(function(I8, ONE_I64), values, torch.int8)
        same(function(ONE_I64, I8), values, torch.int8)
    same(torch.bitwise_and(I8, U8), [1, 200, 3], torch.int16)


@pytest.mark.parametrize("name", ["__iand__", "__ior__", "__ixor__", "bitwise_and_"])
@pytest.mark.parametrize("other", [2, ONE_I64, np.int64(2)])
def test_bools_hold_no_bits_of_integers(name, other):
    with pytest.raises(RuntimeError, match="result type Long can't be cast to the desired output"):
        getattr(BOOL.clone(), name)(other)


def test_bools_hold_no_bits_of_floats():
    with pytest.raises(NotImplementedError, match=r"bitwise_and_cpu. not implemented for .Float"):
        BOOL.clone().__iand__(torch.ones(3))


def test_addcmul_multiplies_in_the_dtype_of_the_result():
    same(torch.addcmul(I64, U8, U8, value=2), [6, 80005, 12], torch.int64)
    same(torch.addcmul(torch.zeros(3), U8, U8), [1.0, 40000.0, 9.0], torch.float32)
    same(U8.addcmul(BOOL, BOOL, value=2), [3, 200, 5], torch.uint8)


def test_quotients_round():
    same(torch.div(I64, -3, rounding_mode="trunc"), [-1, -1, 2], torch.int64)
    same(torch.div(I64, -3, rounding_mode="floor"), [-2, -2, 2], torch.int64)
    same(I64.div(U8, rounding_mode="trunc"), [4, 0, -2], torch.int64)
    same(I64.divide(2.5, rounding_mode="floor"), [1.0, 2.0, -3.0], torch.float32)
    same(torch.div(I64, ONE_F64, rounding_mode="trunc"), [1.0, 2.0, -2.0], torch.float64)
    same(torch.div(torch.tensor([1.0]), 0.1, rounding_mode="floor"), [9.0], torch.float32)
    same(I64.clone().div_(-3, rounding_mode="trunc"), [-1, -1, 2], torch.int64)
    x = torch.tensor([5.0, -5.0], requires_grad=True)
    for mode in ("floor", "trunc"):
        with torch.set_lint("off"):
            torch.div(x, torch.tensor([2.0]), rounding_mode=mode).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.div(I64, torch.tensor([1, 0, 1]), rounding_mode="trunc")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        I64.clone().div_(0, rounding_mode="floor")
    with pytest.raises(RuntimeError, match="but found 'up'"):
        I64.div(2, rounding_mode="up")


WHOLE = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "7 //": lambda a, b: 7 // b,
    "7 %": lambda a, b: 7 % b,
    "//=": lambda a, b: operator.ifloordiv(a.clone(), b),
    "%=": lambda a, b: operator.imod(a.clone(), b),
    "floor_divide": torch.floor_divide,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "floor_divide_": lambda a, b: a.clone().floor_divide_(b),
    "remainder_": lambda a, b: a.clone().remainder_(b),
    "fmod_": lambda a, b: a.clone().fmod_(b),
    "div": lambda a, b: a.div(b, rounding_mode="trunc"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_zero_among_integers_raises(name):
    f = WHOLE[name]
    a, b = torch.tensor([7, -7, 5]), torch.tensor([2, 3, -4])
    ways = [f] if name not in ("%", "7 //", "fmod_", "div") else [f, sg.function(f)]
    for one in ways:
        same(one(a, b), f(a, b).tolist(), torch.int64)
        assert one(a[:0], torch.tensor([], dtype=torch.int64)).tolist() == []
        with pytest.raises(RuntimeError, match=r"^ZeroDivisionError") as raised:
            one(a, torch.tensor([1, 0, 2]))
        assert str(raised.value) == "ZeroDivisionError"
    if not name.startswith("7"):
        with pytest.raises(RuntimeError, match=r"^ZeroDivisionError"):
            f(a, 0)
    assert not np.isfinite(f(a.double(), torch.tensor([2.0, 0.0, -4.0]))[1].item()) or "7" in name


def test_where_there_is_no_element_nothing_is_divided_by_zero():
    nothing, zero = torch.zeros(0, dtype=torch.int64), torch.tensor(0)
    for f in (operator.floordiv, operator.mod, torch.fmod, sg.function(operator.mod)):
        same(f(nothing, zero), [], torch.int64)
    same(nothing.clone().floor_divide_(0), [], torch.int64)


def test_floats_are_floor_divided_in_captured_functions_without_a_derivative():
    fast = sg.function(operator.floordiv)
    x, w = torch.tensor([7.5, -3.0]), torch.tensor([2.0, 2.0], requires_grad=True)
    same(fast(x, w.detach()), [3.0, -2.0], torch.float32)
    for y in (fast(x, w), sg.function(lambda x: x + x // w)(x)):
        with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not impl"):
            y.sum().backward()
    with torch.no_grad():
        same(fast(x, w), [3.0, -2.0], torch.float32)
    same(fast(x, w.detach()), [3.0, -2.0], torch.float32)


def test_zero_among_integers_in_a_captured_loop_updates_nothing():
    total = torch.zeros(3, dtype=torch.int64)

    @sg.function
    def accumulate(xs, by):
        total.add_(sg.scan(lambda carry, x: (carry + x % by, None), total * 0, xs)[0])
        return total.clone()

    xs = torch.arange(6).reshape(2, 3)
    assert accumulate(xs, torch.tensor([2, 3, 4])).tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match=r"^ZeroDivisionError"):
        accumulate(xs, torch.tensor([2, 0, 4]))
    assert total.tolist() == [1, 2, 3]


def test_integers_to_negative_powers():
    base = torch.tensor([0, 1, -1, -1, 2, 3])
    same(base ** torch.tensor([-1, -2, -2, -3, -1, 2]), [0, 1, 1, -1, 0, 9], torch.int64)
    same(2 ** torch.tensor([-2, 3]), [0, 8], torch.int64)
    for tensor in (base, U8):
        with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allo"):
            tensor**-3
    same(torch.tensor([2.0]) ** -1, [0.5], torch.float32)


def test_one_bound_of_another_dtype_limits_in_the_dtype_of_the_result() -> None:
    """NumPy's and PyTorch's values: the other bound is none, in no dtype."""
    x, wide = torch.tensor([1, 2, 3], dtype=torch.int8), torch.tensor([300, -5, 2])
    assert x.clamp(min=wide).tolist() == [300, 2, 3]
    assert x.clamp(max=wide - 500).tolist() == [-200, -505, -498]
    assert x.clone().clamp_(min=wide).tolist() == [44, 2, 3]  # cast as an in-place sum's result is
    found = torch.tensor(300, dtype=torch.int16).clamp(max=torch.tensor([3], dtype=torch.int8))
    assert (found.dtype, found.tolist()) == (torch.int8, [3])
    assert sg.clip(np.array([1, 2, 3], "int8"), [300, -5, 2]).tolist() == [300, 2, 3]


def test_alpha_scales_in_the_dtype_of_the_result() -> None:
    small, wide = torch.tensor([100, 1], dtype=torch.int8), torch.tensor([1, 2])
    for found in (torch.add(wide, small, alpha=2), wide.clone().add_(small, alpha=2)):
        assert found.tolist() == [201, 4]
    assert torch.rsub(small, wide, alpha=2).tolist() == [-199, 0]
    assert wide.sub(small, alpha=-3).tolist() == [301, 5]
    exact = torch.tensor([1.0], dtype=torch.float64).add(torch.tensor([1]), alpha=0.1)
    assert exact.tolist() == [1.1]
    truth = torch.tensor([True, False])
    found = torch.add(truth, truth, alpha=2)
    assert (found.dtype, found.tolist()) == (torch.bool, [True, False])
    assert torch.tensor(3, dtype=torch.int16).add(torch.tensor(True), alpha=2).dtype == torch.int16


def test_a_weight_without_axes_is_a_number() -> None:
    one, zero = torch.ones(2), torch.zeros(2)
    weight = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    found = torch.lerp(one, zero, weight)
    assert (found.dtype, found.tolist()) == (torch.float32, [0.5, 0.5])
    found.sum().backward()
    assert (weight.grad.dtype, weight.grad.item()) == (torch.float64, -2.0)
    assert torch.lerp(one, zero, torch.tensor(2)).tolist() == [-1.0, -1.0]
    assert one.clone().lerp_(zero, weight.detach()).tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="expected dtype float for `weight` but got dtype doubl"):
        torch.lerp(one, zero, torch.tensor([0.5], dtype=torch.float64))


def test_a_product_with_a_number_says_what_is_wrong() -> None:
    for make in (lambda x: x @ 2, lambda x: 2 @ x, lambda x: torch.matmul(x, 2.0)):
        with pytest.raises(ShapeError, match="a scalar has no axis to sum over: use multiply"):
            make(torch.ones(2))
    two = torch.tensor(2.0)
    for make in (lambda x: x @ two, lambda x: two.matmul(x), lambda x: torch.matmul(two, two)):
        with pytest.raises(RuntimeError, match="a scalar has no axis"):  # PyTorch's kind
            make(torch.ones(2))


_I, _F, _D = (torch.ones(2, 2, dtype=one) for one in (torch.int64, torch.float32, torch.float64))


@pytest.mark.parametrize(
    ("product", "text"),
    [
        (lambda a, b: a @ b, "expected m1 and m2 to have the same dtype, but got: "),
        (lambda a, b: torch.bmm(a[None], b[None]), "expected scalar type (Long|Float) but found"),
        (lambda a, b: torch.mv(a, b[0]), "addmv input tensors must have the same dtype, but got"),
        (lambda a, b: torch.dot(a[0], b[0]), "dot : expected both vectors to have same dtype"),
        (lambda a, b: torch.addmm(a, b, b), "self and mat2 must have the same dtype, but got "),
        (torch.cdist, "expected scalar type (Long|Float) but found"),
        (torch.linalg.vecdot, "linalg.vecdot: Expected x and y to have the same dtype"),
        (lambda a, b: torch.linalg.cross(a[:1].expand(3, 2).T, b[:1].expand(3, 2).T), "expected"),
        (lambda a, b: torch.nn.functional.conv1d(a[None], b[None]), "expected scalar type"),
    ],
)
@pytest.mark.parametrize("pair", [(_I, _F), (_F, _I), (_F, _D)])
def test_products_take_one_dtype(product, text, pair):
    with pytest.raises(RuntimeError, match=text):
        product(*pair)


def test_systems_take_one_dtype():
    with pytest.raises(
        RuntimeError, match=r"linalg.solve: Expected A and B to have the same dtype"
    ):
        torch.linalg.solve(torch.eye(2), torch.eye(2).double())
