"""Muon: steps recorded from PyTorch 2.13, which iterates in bfloat16."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch

USUAL = (
    [-0.231059, 0.708226, 0.999833, -0.041397, -0.70466, -1.084618],
    [1.071961, 0.429892, -0.582313, -0.891443, -0.511152, 0.219842, 1.054598, 0.896539],
)
MATCHED = (
    [-0.309813, 0.677645, 1.069657, -0.092479, -0.720424, -1.128663],
    [1.157586, 0.385283, -0.651532, -0.874959, -0.484199, 0.260623, 1.115223, 0.950679],
)


def test_steps_are_pytorchs() -> None:
    tall = torch.sin(torch.arange(6.0)).reshape(3, 2).clone().requires_grad_()
    wide = torch.cos(torch.arange(8.0)).reshape(2, 4).clone().requires_grad_()
    matched = {"nesterov": False, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0}
    for options, expected in (({}, USUAL), (matched, MATCHED)):
        optimizer = torch.optim.Muon([tall, wide], lr=0.1, **options)
        for _ in range(3):
            optimizer.zero_grad()
            (tall @ wide).sin().sum().backward()
            optimizer.step()
        # a step of bfloat16, 2**-8, of an update of lr is what another order of sums may change
        for found, wanted in zip((tall, wide), expected, strict=True):
            np.testing.assert_allclose(found.detach().numpy().reshape(-1), wanted, atol=4e-4)
        assert set(optimizer.state[tall]) == {"momentum_buffer"}


def test_what_is_out_of_range() -> None:
    matrix = torch.ones(2, 2, requires_grad=True)
    for options, text in (
        ({"lr": -1.0}, "Learning rate should be >= 0 but is: -1.0"),
        ({"momentum": -1.0}, "momentum should be >= 0 but is: -1.0"),
        ({"weight_decay": -1.0}, "weight decay should be >= 0 but is: -1.0"),
        ({"adjust_lr_fn": "none"}, "Adjust learning rate function none is not supported"),
        ({"ns_steps": 100}, "Number of steps must be less than 100"),
        ({"ns_coefficients": (1.0, 2.0)}, "Coefficients must be a tuple of exactly 3 values"),
    ):
        with pytest.raises(ValueError, match=text):
            torch.optim.Muon([matrix], **options)
    with pytest.raises(ValueError, match="Muon only supports 2D parameters whereas"):
        torch.optim.Muon([torch.ones(2, requires_grad=True)])
