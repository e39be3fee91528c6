"""Rounded quotients in captured functions: they have no derivative, and who asks for it is told."""

from __future__ import annotations

import pytest

import dynamic as torch
import staticgraph as sg

U, V = [7.5, -7.5, 3.0, -2.0, 0.5], [2.0, 2.0, -1.5, 0.7, 3.0]


def _in_no_grad(u, v):
    with torch.no_grad():
        w = u // v
    return u * w


def _in_place(u, v):
    w = u * 1
    w //= v
    return w


def _in_a_view(u, v):
    w = u * 1
    w[1:].floor_divide_(2)
    return w + v


def _in_the_untaken_part(u, v):
    return torch.where(u // v > 0, u, v)


def _passed_back(u, v):
    (u * v + u // v).sum().backward()
    return u


FLAT = (
    lambda u, v: torch.div(u, v, rounding_mode="floor") + u,
    lambda u, v: torch.div(u, v, rounding_mode="trunc") * u,
    lambda u, v: u % v + torch.remainder(u, 2) + torch.fmod(u, v),
    lambda u, v: (u // v).detach() * u,
    lambda u, v: u * (u.detach() // v.detach()),
    lambda u, v: (u // v).long() + u,
    lambda u, v: (u * v, u // v)[0],
    _in_no_grad,
    _in_the_untaken_part,
)
FAILING = (
    lambda u, v: u // v,
    lambda u, v: torch.floor_divide(u, 2) + v,
    lambda u, v: 7 // v + u,
    lambda u, v: (u // v).relu() * 0 + u,
    _in_place,
    _in_a_view,
    lambda u, v: torch.autograd.grad((u // v).sum(), u)[0],
    _passed_back,
)


def _captured(f):
    return sg.function(f, debug=True, lint="off")  # that some of them are flat


def _run(f, place=0):
    u, v = (torch.tensor(x, requires_grad=True) for x in (U, V))
    y = f(u, v)
    y = y[place] if isinstance(y, tuple) else y
    y.sum().backward()
    return [None if one is None else one.tolist() for one in (y.detach(), u.grad, v.grad)]


@pytest.mark.parametrize("f", FLAT)
def test_what_is_not_differentiated_is_computed(f):
    assert _run(_captured(f)) == _run(f)


@pytest.mark.parametrize("f", FAILING)
def test_the_derivative_is_refused_where_it_is_asked_for(f):
    with pytest.raises(RuntimeError, match=r"derivative for aten::floor_divide_? is not impl"):
        _run(f)
    line = r"test_rounded_quotients.py:\d+: .*derivative for aten::floor_divide_? is not impl.*flat"
    captured = _captured(f)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=line):
            _run(captured)


def test_other_results_have_their_derivatives():
    captured = _captured(lambda u, v: (u * v, u // v, u + 1))
    assert _run(captured, 0)[1:] == _run(lambda u, v: u * v)[1:]
    assert _run(captured, 2)[1] == [1.0] * 5
    with pytest.raises(RuntimeError, match="floor_divide is not implemented"):
        _run(captured, 1)
