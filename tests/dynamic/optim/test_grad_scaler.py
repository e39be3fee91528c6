"""GradScaler pickled and copied between steps, as PyTorch's is."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import dynamic as torch


def _stepped() -> tuple[Any, Any, Any]:
    """A scaler after one step, with its parameter and optimizer."""
    w = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    scaler.scale((3 * w).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return scaler, w, optimizer


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_a_copy_goes_on_as_the_scaler_does(copied: Any) -> None:
    scaler, w, optimizer = _stepped()
    for one in (scaler, copied(scaler)):
        one.scale((3 * w).sum()).backward()
        one.step(optimizer)
        one.update()
        assert one.get_scale() == 16  # the second step of two
        assert one.state_dict() == scaler.state_dict()


def test_a_scaler_in_the_middle_of_a_step_is_not_pickled() -> None:
    scaler, w, optimizer = _stepped()
    scaler.scale((3 * w).sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match=r"only be pickled at the beginning .* scaler.update"):
        pickle.dumps(scaler)
    scaler.step(optimizer)
    scaler.update()
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == scaler.get_scale()
