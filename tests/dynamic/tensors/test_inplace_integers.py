"""Integers that are overwritten by what requires grad."""

from __future__ import annotations

import dynamic as torch


def test_integers_that_are_overwritten_do_not_require_grad() -> None:
    given = torch.ones(2, 3, requires_grad=True)
    copied, assigned = torch.arange(6).reshape(2, 3), torch.arange(6).reshape(2, 3)
    assert not copied.copy_(given).requires_grad
    assigned[0] = given[0]
    assert not assigned.requires_grad
    assert assigned.tolist() == [[1, 1, 1], [3, 4, 5]]
