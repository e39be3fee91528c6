"""Refusals, overlaps and histories that random programs found wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import dynamic
import staticgraph as sg
from dynamic import nn


def ones(*shape: int, grad: bool = False) -> Any:
    return dynamic.ones(*shape, requires_grad=grad)


@pytest.mark.parametrize("name", ["index_copy", "index_copy_", "index_add", "index_add_"])
@pytest.mark.parametrize(
    ("of", "given", "places", "dim"),
    [
        ((2, 3), (1, 3), [0, 1], 0), ((2, 3), (1, 2), [0, 1], 1), ((2, 3), (2,), [0, 1], 1),
        ((2, 3), (2, 2, 2), [0, 1], 0), ((2, 3), (2, 3), [[0], [1]], 0), ((2, 3), (1, 1), [0], 0),
        ((3,), (), [0, 1], 0),
    ],
)  # fmt: skip
def test_slices_of_another_size_are_refused(
    name: str, of: Any, given: Any, places: Any, dim: int
) -> None:
    text = "indices|Index|index|slice shapes|dimensionality|source tensor shape"
    with pytest.raises((RuntimeError, IndexError), match=text):
        getattr(dynamic.zeros(of), name)(dim, dynamic.tensor(places), dynamic.zeros(given))


@pytest.mark.parametrize("name", ["index_copy", "index_copy_", "index_add", "index_add_"])
def test_a_place_without_axes_is_one(name: str) -> None:
    found = getattr(dynamic.zeros(2, 3), name)(1, dynamic.tensor(2), ones(2, 1))
    assert found.tolist() == [[0, 0, 1], [0, 0, 1]]


def test_narrow_counts_from_the_end() -> None:
    x = dynamic.arange(5)
    assert x.narrow(0, -2, 2).tolist() == [3, 4]
    with pytest.raises(RuntimeError, match=re.escape("length must be non-negative, not -1")):
        x.narrow(0, 3, -1)
    for start in (-6, 6):
        with pytest.raises(IndexError, match=f"range of .-5, 5., but got {start}"):
            x.narrow(0, start, 0)


PLACES: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda x: x[1], lambda x: x[:, 2]), (lambda x: x[:, 2], lambda x: x[1]),
    (lambda x: x.view(-1)[::2], lambda x: x.view(-1)[3:8]),
    (lambda x: x.view(-1)[2:7], lambda x: x.view(-1)[::2]),
    (lambda x: x[1], lambda x: x.diagonal()),
]  # fmt: skip


@pytest.mark.parametrize(("place", "source"), PLACES)
def test_vectors_on_one_memory_are_read_before_they_are_written(place: Any, source: Any) -> None:
    for write in (lambda p, s: p.copy_(s), lambda p, s: p.__setitem__(slice(None), s)):
        x = dynamic.arange(9.0).view(3, 3)
        wanted = source(x).tolist()
        write(place(x), source(x))
        assert place(x).tolist() == wanted


def test_windows_are_a_copy() -> None:
    def windows(x: Any) -> Any:
        found = dynamic.sliding_windows(x, (2,), (1,), (1,))
        x[0] = 9.0
        return found

    for function in (windows, sg.function(windows, debug=True)):
        assert function(dynamic.arange(3.0)).tolist() == [[0, 1], [1, 2]]


def test_a_view_that_was_not_recorded_keeps_nothing() -> None:
    x = ones(2, grad=True)
    with dynamic.no_grad():
        view = x[:]
    y = x * 2
    z = dynamic.addcmul(view * y, view, y)
    y.mul_(3.0)
    z.sum().backward()
    assert x.grad.tolist() == [4, 4]
    with dynamic.inference_mode():
        inferred = x * 5
    for combined in (view * inferred, dynamic.where(dynamic.tensor(True), view, inferred)):
        combined.sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_an_operand_that_was_overwritten_is_still_refused_beside_such_a_view() -> None:
    x = ones(2, grad=True)
    with dynamic.no_grad():
        view = x[:]
    y = x * 2
    z = y * view
    x.data.mul_(1.0)
    with dynamic.no_grad():
        view.mul_(3.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_an_input_of_nan_to_num_that_was_overwritten_is_refused() -> None:
    x = ones(2, grad=True)
    y = x.nan_to_num()
    x.detach().mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_source_without_gradient_may_be_overwritten() -> None:
    for name in ("index_add", "index_copy"):
        x, source = ones(2, grad=True), ones(1)
        found = getattr(x, name)(0, dynamic.tensor([1]), source)
        source.mul_(2.0)
        found.sum().backward()
        assert x.grad.tolist() == [1, float(name == "index_add")]


def test_a_retained_gradient_counts_once_after_a_change_of_shape() -> None:
    x = ones(2, grad=True)
    y = x * 2
    y.retain_grad()
    y.unsqueeze_(0)
    (y * 5).sum().backward(inputs=[x, y])
    assert (y.grad.tolist(), x.grad.tolist()) == ([[5, 5]], [10, 10])


def test_a_gradient_of_the_shape_before_is_told() -> None:
    x = ones(2, 3, grad=True)
    x.sum().backward()
    with dynamic.no_grad():
        x.t_()
    with pytest.raises(RuntimeError, match=re.escape("shape (3, 2) does not add to that of shape")):
        x.sum().backward()


def test_products_without_elements_have_gradients() -> None:
    for left, right in (((1, 1, 2), (2, 0)), ((3, 0, 2), (2, 0)), ((1, 1, 0), (0, 2))):
        a, b = ones(*left, grad=True), ones(*right, grad=True)
        (a @ b).sum().backward()
        assert (a.grad.shape, b.grad.shape) == (a.shape, b.shape)


def test_sums_of_products_take_matrices_of_the_size() -> None:
    eye, stack, row = ones(2, 2), ones(1, 2, 2), ones(2)
    for name, args, text in (
        ("addmm", (eye, stack, eye), "mat1 must be a matrix"),
        ("addmm", (eye, eye, row), "mat2 must be a matrix"),
        ("addmm", (stack, eye, eye), "the expanded size of the input"),
        ("addmv", (row, stack, row), "mat must be a matrix"),
        ("addmv", (row, eye, eye), "vec must be a vector"),
        ("addr", (eye, eye, row), "vec1 must be a vector"),
        ("baddbmm", (stack, eye, stack), "batch1 must be a 3D tensor"),
        ("addbmm", (eye, stack, eye), "batch2 must be a 3D tensor"),
    ):
        with pytest.raises(RuntimeError, match=text):
            getattr(dynamic, name)(*args)
    with pytest.raises(RuntimeError, match="weight must be a matrix or a vector"):
        nn.functional.linear(row, stack)
    with pytest.raises(RuntimeError, match="at least 1-dimensional"):
        nn.functional.layer_norm(row, [])
    with pytest.raises(TypeError, match="one of both must be a tensor: 2, 1"):
        dynamic.bitwise_right_shift(2, 1)


@pytest.mark.parametrize(
    ("name", "args"),
    [("slice_scatter", ()), ("select_scatter", (0, 0)), ("diagonal_scatter", ())],
)
def test_what_replaces_a_part_has_its_shape_in_captures(name: str, args: Any) -> None:
    def function(x: Any, y: Any) -> Any:
        return getattr(x, name)(y, *args)

    for one in (function, sg.function(function, debug=True)):
        with pytest.raises(RuntimeError, match="size equal to the slice"):
            one(ones(2, 2), ones(1))


def test_the_extremum_of_a_number_may_be_overwritten() -> None:
    x = ones(grad=True)
    for name in ("max", "min"):
        values, places = getattr(x, name)(0)
        values.mul_(2.0)
        values.backward()
        assert int(places) == 0
    assert x.grad.item() == 4
    row = ones(2, grad=True)
    for found, of in ((row.max(0).values, row), (x.prod(), x)):
        (gradient,) = dynamic.autograd.grad(found, [of], create_graph=True)
        assert not gradient.requires_grad


def test_data_may_be_given_to_a_view_that_must_not_be_used() -> None:
    x = ones(2, grad=True) * 1
    part = x.chunk(2)[0]
    x.mul_(2.0)
    part.data = ones(1)
    assert part.tolist() == [1]


def test_what_forbids_to_overwrite_is_told_before_what_is_not_saved() -> None:
    x, scale = ones(2, grad=True), ones(1, grad=True)
    with dynamic.inference_mode():
        inferred = ones(1) * 2
    for name in ("addcmul_", "addcdiv_"):
        with pytest.raises(RuntimeError, match="returns multiple views"):
            getattr(x.split(1)[1], name)(scale, inferred)


def test_a_shape_changed_without_recording_keeps_its_gradient_in_captures() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        with dynamic.no_grad():
            y.swapaxes_(0, 1)
        return y

    for one in (function, sg.function(function, debug=True)):
        x = ones(2, 3, grad=True)
        one(x).sum().backward()
        assert x.grad.tolist() == [[2, 2, 2], [2, 2, 2]]
