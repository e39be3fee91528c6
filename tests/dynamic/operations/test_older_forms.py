"""Factors before tensors, as PyTorch 2.13 still takes them, with its values."""

from __future__ import annotations

import warnings

import pytest

import dynamic as torch
import staticgraph as sg

x, y, m, v = torch.ones(2), torch.arange(2.0) + 1, torch.eye(2), torch.ones(2)
b = m[None]
FORMS = [
    ("x.add(2, y)", [3.0, 5.0]), ("x.clone().add_(2, y)", [3.0, 5.0]),
    ("x.sub(2, y)", [-1.0, -3.0]), ("x.clone().sub_(2, y)", [-1.0, -3.0]),
    ("torch.add(x, 2, y)", [3.0, 5.0]), ("torch.sub(x, 2, y)", [-1.0, -3.0]),
    ("x.addcmul(2, y, y)", [3.0, 9.0]), ("x.clone().addcmul_(2, y, y)", [3.0, 9.0]),
    ("x.addcdiv(2, y, y)", [3.0, 3.0]), ("x.clone().addcdiv_(2, y, y)", [3.0, 3.0]),
    ("torch.addcmul(x, 2, y, y)", [3.0, 9.0]), ("torch.addcdiv(x, 2, y, y)", [3.0, 3.0]),
    ("m.addmm(2, 3, m, m)", [[5.0, 0.0], [0.0, 5.0]]),
    ("m.addmm(2, m, m)", [[3.0, 0.0], [0.0, 3.0]]),
    ("m.clone().addmm_(2, 3, m, m)", [[5.0, 0.0], [0.0, 5.0]]),
    ("torch.addmm(2, m, 3, m, m)", [[5.0, 0.0], [0.0, 5.0]]),
    ("torch.addmm(2, m, m, m)", [[3.0, 0.0], [0.0, 3.0]]),
    ("x.addmv(2, 3, m, v)", [5.0, 5.0]), ("x.addmv(2, m, v)", [3.0, 3.0]),
    ("m.addr(2, 3, v, v)", [[5.0, 3.0], [3.0, 5.0]]), ("m.addr(2, v, v)", [[3.0, 1.0], [1.0, 3.0]]),
    ("b.baddbmm(2, 3, b, b)", [[[5.0, 0.0], [0.0, 5.0]]]),
    ("m.addbmm(2, b, b)", [[3.0, 0.0], [0.0, 3.0]]),
    ("torch.addmv(2, x, 3, m, v)", [5.0, 5.0]),
    ("torch.baddbmm(2, b, 3, b, b)", [[[5.0, 0.0], [0.0, 5.0]]]),
]  # fmt: skip


def test_numbers_may_come_before_tensors() -> None:
    for text, expected in FORMS:
        with pytest.warns(UserWarning, match="overload of add|overload of sub|overload of badd"):
            assert eval(text).tolist() == expected, text


def test_no_other_call_is_taken_for_one() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (
            "x.add(x, 2)", "x.add(2, x, 3)", "x.add_(2, x, alpha=3)", "torch.add(x, 2, x, alpha=3)",
            "x.mul(2, x)", "x.addcmul(2, 3, y)", "torch.addmm(2, m, 3, m)", "torch.add(2, 3, 4)",
            "x.sub_('2', x)",
        ):  # fmt: skip
            with pytest.raises(TypeError):
                eval(text)


def test_gradients_flow_through_such_a_call() -> None:
    z = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="give numbers behind the tensors, as alpha=3"):
        z.add(3, z).sum().backward()
    assert z.grad.tolist() == [4.0, 4.0]


def test_they_are_taken_in_place_in_captured_functions() -> None:
    x = torch.ones(2)
    with pytest.warns(UserWarning, match="overload of add_"):
        assert sg.function(lambda x: (x * 1).add_(2, x))(x).tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3"):
        sg.function(lambda x: (x * 1).sub_(x, 2))(x)
