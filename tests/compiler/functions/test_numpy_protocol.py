"""NumPy's functions on expressions and tensors: ours with their gradient, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.listing.numpy_page import WRONG, markdown, outcomes
from tests.paths import ROOT

X = np.array([0.3, 0.1, 0.7])


def leaf() -> Any:
    return dynamic.tensor(X, requires_grad=True)


@pytest.mark.slow
def test_no_function_of_numpys_is_wrong_and_the_page_is_what_they_do() -> None:
    assert not [name for name, pair in outcomes().items() if WRONG in (pair[0][0], pair[1][0])]
    assert (ROOT / "docs" / "numpy.md").read_text(encoding="utf-8") == markdown()


GRADIENTS: list[tuple[Callable[[Any], Any], np.ndarray]] = [
    (lambda x: np.sum(np.sin(x)), np.cos(X)),
    (lambda x: np.add.reduce(x * x), 2 * X),
    (lambda x: np.concatenate([x, 2 * x])[4] + np.multiply.outer(x, x)[0, 0], [0.6, 2, 0]),
    (lambda x: np.dot(x, X) + np.einsum("i,i->", x, x), X + 2 * X),
    (lambda x: (X * x).sum() - (np.float64(2) - x).sum(), X + 1),
    (lambda x: np.concatenate([np.stack([x, 2 * x]), np.ones(2)], axis=None)[4], [0, 2, 0]),
    (lambda x: np.diff(x, prepend=0.0).max() + np.linalg.norm(np.stack([x, x])), None),
]


@pytest.mark.parametrize(("function", "expected"), GRADIENTS)
def test_gradients_go_through(function: Callable[[Any], Any], expected: Any) -> None:
    x = leaf()
    value = function(x)
    value.backward()
    assert float(value) == pytest.approx(float(function(X)), rel=1e-12)
    if expected is not None:
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12)
    p = sg.placeholder("x", (3,), "float64")
    found = sg.compile([p], [function(p), sg.grad(function(p), p)])(X)
    np.testing.assert_allclose(found[0], function(X), rtol=1e-12)
    np.testing.assert_allclose(found[1], x.grad.numpy(), rtol=1e-12)
    np.testing.assert_allclose(sg.function(function)(X), function(X), rtol=1e-12)


def test_what_records_nothing_is_an_array_to_functions_that_are_no_methods() -> None:
    x = leaf().detach()
    assert type(np.concatenate([x, x])) is np.ndarray
    assert type(np.linalg.norm(x)) is np.float64
    assert isinstance(np.sum(x), dynamic.Tensor) and isinstance(np.exp(x), dynamic.Tensor)
    with dynamic.no_grad():
        assert type(np.stack([leaf(), x])) is np.ndarray
    total = np.zeros(3)
    total += x
    assert type(total) is np.ndarray
    np.testing.assert_array_equal(total, X)
    np.fill_diagonal(square := dynamic.zeros(2, 2), 1.0)
    assert square.tolist() == [[1, 0], [0, 1]]


def test_a_tensor_takes_the_result() -> None:
    x = dynamic.zeros(3, dtype=dynamic.float64)
    assert np.add(X, 1, out=x) is x
    np.testing.assert_array_equal(x.numpy(), X + 1)
    np.multiply(x, 2.0, out=x)
    np.testing.assert_array_equal(x.numpy(), (X + 1) * 2)


def test_a_mask_may_be_the_only_tensor() -> None:
    rows = np.array([1.0, 2.0, 4.0])
    assert np.sum(rows, where=dynamic.tensor([True, False, True])) == 5.0
    assert np.add.reduce(rows, where=dynamic.tensor([False, False, True])) == 4.0


def test_vmap_and_grad_see_through_numpy() -> None:
    rows = dynamic.tensor(np.stack([X, 2 * X]))
    found = dynamic.func.vmap(dynamic.func.grad(lambda x: np.sum(np.square(np.stack([x, x])))))
    np.testing.assert_allclose(found(rows).numpy(), 4 * rows.numpy())


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda x: np.add(X, x, out=X.copy()), "np.add writes into an array what it computes of"),
    (lambda x: np.concatenate([x, x], out=np.zeros(6)), "np.concatenate writes into an array"),
    (
        lambda x: np.multiply(X, 1.5, out=dynamic.zeros(3, dtype=dynamic.int64)),
        "np.multiply: float64 does not fit into out= of torch.int64",
    ),
    (lambda x: np.roots(x), "np.roots of .*: there is no such function of it"),
    (lambda x: np.put(x, [0], 1.0), "np.put of .*: there is no such function"),
    (lambda x: np.add.at(x, [0], 1.0), "np.add.at of .*: there is no such function"),
    (lambda x: np.linalg.lstsq(np.eye(3), x), "np.linalg.lstsq of .*: there is no such"),
    (
        lambda x: np.add(x, 1, where=np.array([True, False, True])),
        r"takes no where=: choose between .* with np.where",
    ),
    (lambda x: np.add(x, 1, dtype="int32"), r"np.add: .*float64 does not become dtype=int32"),
    (lambda x: np.less(x, 1, dtype=bool), r"np.less of .* takes no dtype=: cast the operands"),
    (lambda x: np.add(None, x), "np.add: unsupported operand types: NoneType and"),
    (lambda x: np.where(x > 0, x), r"where\(\) missing 1 required positional argument: 'b'"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
@pytest.mark.parametrize("make", [leaf, lambda: sg.placeholder("x", (3,), "float64")])
def test_all_else_is_refused(call: Callable[[Any], Any], text: str, make: Any) -> None:
    with pytest.raises(TypeError, match=text):
        call(make())


def test_a_ufunc_computes_in_the_dtype_that_is_asked_for() -> None:
    a, whole = np.array([0.1, 0.2], "float32"), np.array([1, 2], "int8")
    for call in (
        lambda x, n: np.add(x, n, dtype="float64"), lambda x, n: np.multiply(x, 0.1, dtype=float),
        lambda x, n: np.exp(n, dtype="float32"),
    ):  # fmt: skip
        expected = call(a, whole)
        tensors = call(dynamic.tensor(a, requires_grad=True), dynamic.tensor(whole))
        for one in (sg.function(call)(a, whole), tensors.detach().numpy()):
            assert one.dtype == expected.dtype
            np.testing.assert_allclose(one, expected, rtol=1e-6)


def test_what_ufuncs_are_told_has_advice_where_ours_do_not_take_it() -> None:
    for name, advice in (("where", "with np.where"), ("dtype", "astype"), ("casting", "astype")):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}': .*{advice}"):
            sg.add(X, X, **{name: True})


def test_the_order_of_a_difference_is_checked() -> None:
    with pytest.raises(sg.OptionError, match=r"np.diff: the order is an integer of at least 0"):
        np.diff(leaf(), n=-1)


def test_what_numpys_functions_have_no_counterpart_for_is_refused_in_a_capture() -> None:
    def swallowing(x: Any) -> Any:
        try:
            return np.roots(x)
        except Exception:
            return x

    with pytest.raises(sg.CaptureError, match=r"np.roots computes values at once"):
        sg.function(swallowing)(X)
    with pytest.raises(sg.CaptureError, match=r"np.add.* takes no where="):
        sg.function(lambda x: np.add(x, x, where=X > 0.2))(X)


def test_memory_is_shared_by_dlpack_both_ways() -> None:
    x = leaf()
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        np.from_dlpack(x)
    array = np.from_dlpack(x.detach())
    assert np.shares_memory(array, x.detach().numpy())
    source = np.arange(3.0)
    made = dynamic.from_dlpack(source)
    source[0] = 7
    assert made[0].item() == 7
    assert x.__dlpack_device__() == (1, 0)
