"""Modules that are made from declarations: what Python, help and editors see of them."""

from __future__ import annotations

import inspect
import linecache
import pydoc
import traceback
from typing import Any

import numpy as np
import pytest

import dynamic
from staticgraph.dynamic import nn
from staticgraph.dynamic.nn.declared import Declared

DECLARED = [
    kind
    for kind in map(nn.__dict__.get, nn.__all__)
    if isinstance(kind, type) and issubclass(kind, Declared)
]


def test_the_table_is_not_empty() -> None:
    assert len(DECLARED) > 60


@pytest.mark.parametrize("kind", DECLARED, ids=lambda kind: kind.__name__)
def test_a_declared_module_looks_as_if_written_by_hand(kind: Any) -> None:
    name = kind.__name__
    assert kind.__doc__
    if "Norm" not in name or "forward" in vars(kind):  # PyTorch's shares that of channels
        assert kind.forward.__qualname__ == f"{name}.forward"
    assert kind.__init__.__qualname__ == f"{name}.__init__"
    assert kind.forward.__doc__
    for parameter in inspect.signature(kind).parameters.values():
        assert not hasattr(kind, parameter.name)  # a default is no attribute of the class
    with pytest.raises(TypeError, match=rf"{name}\.__init__\(\) got an unexpected keyword"):
        kind(nonsense=1)


def test_help_shows_the_signatures_and_the_functional() -> None:
    text = pydoc.plain(pydoc.render_doc(nn.ELU))
    assert "ELU(alpha: 'float' = 1.0, inplace: 'bool' = False)" in text
    assert "forward(self, input: 'Any') -> 'Any'" in text
    assert "x above 0, alpha * (exp(x) - 1) below (Clevert, Unterthiner, Hochreiter 2015)" in text
    signature = inspect.signature(nn.GaussianNLLLoss)
    assert [parameter.kind.name for parameter in signature.parameters.values()] == [
        "KEYWORD_ONLY"
    ] * 3
    assert inspect.signature(nn.MSELoss).parameters["reduce"].annotation == "bool | None"


def test_a_traceback_shows_the_line_that_was_made() -> None:
    with pytest.raises(TypeError, match=r"^glu\(\): argument 'input'") as caught:
        nn.GLU(0)("no tensor")
    linecache.checkcache()
    lines = "".join(traceback.format_exception(caught.value))
    assert "in forward\n    return functional(input, self.dim)\n" in lines


def test_a_line_that_was_made_is_not_the_line_of_the_user() -> None:
    with pytest.warns(UserWarning, match="Implicit dimension choice") as caught:
        nn.Softmax()(dynamic.ones(2, 3))
    assert caught[0].filename == __file__


def test_a_subclass_of_a_user_declares_nothing() -> None:
    class Counting(nn.LeakyReLU):
        """Counts its calls."""

        calls: int = 0

        def forward(self, input: Any) -> Any:
            self.calls += 1
            return super().forward(input)

    layer = Counting(0.5, inplace=False)
    assert repr(layer) == "Counting(negative_slope=0.5)"
    assert layer(dynamic.tensor([-2.0])).item() == -1.0
    assert layer.calls == 1 and Counting.calls == 0
    with pytest.raises(TypeError, match=r"LeakyReLU\.__init__\(\) got an unexpected keyword"):
        Counting(calls=3)


def test_a_hyperparameter_that_changes_counts_at_once() -> None:
    layer = nn.LeakyReLU(0.5)
    layer.negative_slope = 0.25
    assert layer(dynamic.tensor([-4.0])).item() == -1.0
    loss = nn.CrossEntropyLoss(weight=dynamic.ones(3))
    loss.weight = dynamic.tensor([1.0, 0.0, 0.0])
    assert list(loss.state_dict()) == ["weight"]
    scores = dynamic.tensor(np.eye(3, dtype="float32"))
    picked = loss(scores, dynamic.tensor([0, 1, 2]))
    np.testing.assert_allclose(picked.item(), np.log(np.e + 2) - 1, rtol=1e-6)


def test_a_distance_that_is_a_module_is_registered() -> None:
    """PyTorch's: the default is a PairwiseDistance, and margins are above 0."""
    loss = nn.TripletMarginWithDistanceLoss()
    expected = "TripletMarginWithDistanceLoss(\n  (distance_function): PairwiseDistance()\n)"
    assert repr(loss) == expected
    with pytest.raises(
        ValueError,
        match="TripletMarginWithDistanceLoss: expected margin to be greater than 0, got 0 instead",
    ):
        nn.TripletMarginWithDistanceLoss(margin=0)


@pytest.mark.parametrize(
    ("layer", "shape", "text"),
    [
        (
            "ConvTranspose1d",
            (1, 2, 5),
            "output_padding_height: 0 output_padding_width: 4 stride_height: 1 stride_width: 2 "
            "dilation_height: 1 dilation_width: 1",
        ),
        (
            "ConvTranspose3d",
            (1, 2, 5, 5, 5),
            "output_padding_depth: 4 output_padding_height: 4 output_padding_width: 4 "
            "stride_depth: 2 stride_height: 2 stride_width: 2 "
            "dilation_depth: 1 dilation_height: 1 dilation_width: 1",
        ),
    ],
)
def test_a_transposed_convolution_names_each_axis(layer: str, shape: Any, text: str) -> None:
    """The texts are those of PyTorch 2.13."""
    with pytest.raises(RuntimeError) as caught:
        getattr(nn, layer)(2, 3, 3, 2, 1, 4)(dynamic.zeros(shape))
    assert str(caught.value) == (
        f"output padding must be smaller than either stride or dilation, but got {text}"
    )
