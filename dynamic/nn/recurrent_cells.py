"""Recurrent cells, and the steps that cells and layers share: Elman (1990), LSTM (1997), GRU.

The weights of all gates are stacked along axis 0. The GRU (Cho et al. 2014) applies its reset gate
after the matrix product, as PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Attrs
from staticgraph.dynamic.core.errors import SizeError
from staticgraph.dynamic.core.gates import gru_gates
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.kernels import native
from staticgraph.dynamic.nn import (
    functional as F,  # noqa: N812 - PyTorch's name
    init,
)
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.creation import empty
from staticgraph.dynamic.tensors.devices import check_device
from staticgraph.dynamic.tensors.recorders import Recorder
from staticgraph.dynamic.tensors.short_ways import small_arrays


def _gate(gates: Any, i: int, size: int) -> Any:
    return gates[..., i * size : (i + 1) * size]


def step_tanh(x: object, h: object, weight: object, bias: object) -> Any:
    """tanh(x + h weight.T + bias), x the input's part."""
    return ops.tanh(x + F.linear(h, weight, bias))


def step_relu(x: object, h: object, weight: object, bias: object) -> Any:
    """max(0, x + h weight.T + bias), x the input's part."""
    return ops.relu(x + F.linear(h, weight, bias))


def step_gru(x: Any, h: Any, weight: object, bias: object) -> Any:
    """(1 - z) n + z h, with gates r, z and the proposal n in this order."""
    return _gru_of(x, F.linear(h, weight, bias), h)


def _gru_of(x: Any, own: Any, h: Any) -> Any:
    size = h.shape[-1]
    both = ops.sigmoid(x[..., : 2 * size] + own[..., : 2 * size])
    reset, update = _gate(both, 0, size), _gate(both, 1, size)
    proposal = ops.tanh(_gate(x, 2, size) + reset * _gate(own, 2, size))
    return proposal + update * (h - proposal)


_of_gru = Recorder(gru_gates, 3)
_NO_ATTRS: Attrs = {}


def _step_small_gru(x: Any, h: Any, weight: object, bias: object) -> Any:
    """`step_gru`, whose gates are one node where they are small."""
    own = F.linear(h, weight, bias)
    if native.state.enabled and not (paused and mode.capture is not None):
        arrays = small_arrays((x, own, h))
        if arrays is not None and arrays[2].ndim and arrays[2].size:
            state = arrays[2].shape
            if arrays[0].shape == arrays[1].shape == (*state[:-1], 3 * state[-1]):
                return _of_gru.function(gru_gates.evaluate(*arrays), _NO_ATTRS, x, own, h)
    return _gru_of(x, own, h)


def step_lstm(
    x: object, state: tuple[object, Any], weight: object, bias: object
) -> tuple[Any, Any]:
    """(h, c) with gates input, forget, cell and output in this order."""
    h, c = state
    size = c.shape[-1]
    gates = x + F.linear(h, weight, bias)
    both = ops.sigmoid(gates[..., : 2 * size])
    cell = ops.tanh(_gate(gates, 2, size))
    c = _gate(both, 1, size) * c + _gate(both, 0, size) * cell
    return ops.sigmoid(_gate(gates, 3, size)) * ops.tanh(c), c


class _Cell(Module):
    """One step: input (n, input_size) or (input_size,), hidden (n, hidden_size); abstract.

    The parameters begin uniform within 1 / sqrt(hidden_size).
    """

    _gates: int

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: object = None,
        dtype: object = None,
    ) -> None:  # fmt: skip
        check_device(device)
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = self._gates * hidden_size
        self.weight_ih = Parameter(empty(rows, input_size, dtype=dtype))
        self.weight_hh = Parameter(empty(rows, hidden_size, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """The sizes, and `bias` if it is off."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")

    def _check(self, input: Any, *states: tuple[str, Any]) -> None:
        for role, value in (("input", input), *states):
            if value is not None and value.ndim not in (1, 2):
                raise OptionError(
                    f"{self._get_name()}: Expected {role} to be 1D or 2D, got {value.ndim}D instead"
                )
        for role, value in states:
            if value is not None and differ(value.shape[:-1], input.shape[:-1]):
                given = f"of shape {list(input.shape)} and {role} of {list(value.shape)}"
                if value.ndim != input.ndim:
                    raise SizeError(f"{self._get_name()}: input {given}: one has no batch")
                raise SizeError(
                    f"{self._get_name()}: Input batch size {input.shape[0]} doesn't match {role} "
                    f"batch size {value.shape[0]}: input {given}"
                )

    def _zeros(self, input: Any) -> Any:
        zero = input._constant(np.zeros((), np.dtype(input.dtype)))
        return ops.broadcast_to(zero, (*input.shape[:-1], self.hidden_size))

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden state; zeros come before the first."""
        self._check(input, ("hidden", hx))
        h = self._zeros(input) if hx is None else hx
        x = F.linear(input, self.weight_ih, self.bias_ih)
        return self._step()(x, h, self.weight_hh, self.bias_hh)

    def _step(self) -> Callable[..., Any]:
        raise NotImplementedError


class RNNCell(_Cell):
    """tanh or relu of weight_ih x + bias_ih + weight_hh h + bias_hh (Elman 1990).

    Example:
        >>> nn.RNNCell(3, 5)(dynamic.ones(2, 3)).shape
        torch.Size([2, 5])
    """

    _gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        """The sizes and the options that are not the usual ones."""
        text = super().extra_repr()
        usual = self.nonlinearity == "tanh"
        return text if usual else f"{text}, nonlinearity={self.nonlinearity}"

    def _step(self) -> Callable[..., Any]:
        return nonlinear_step(self.nonlinearity)


def nonlinear_step(nonlinearity: str) -> Callable[..., Any]:
    """The step of a plain recurrent layer; ValueError unless 'tanh' or 'relu'."""
    steps = {"tanh": step_tanh, "relu": step_relu}
    if nonlinearity not in steps:
        raise OptionError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
    return steps[nonlinearity]


class GRUCell(_Cell):
    """One step of a gated recurrent unit (Cho et al. 2014).

    Example:
        >>> nn.GRUCell(3, 5)(dynamic.ones(2, 3)).shape
        torch.Size([2, 5])
    """

    _gates = 3

    def _step(self) -> Callable[..., Any]:
        return _step_small_gru


class LSTMCell(_Cell):
    """One step of a long short-term memory; the state is a pair (h, c).

    Example:
        >>> h, c = nn.LSTMCell(3, 5)(dynamic.ones(2, 3))
        >>> h.shape, c.shape
        (torch.Size([2, 5]), torch.Size([2, 5]))
    """

    _gates = 4

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state (h, c); zeros come before the first."""
        states = () if hx is None else tuple((f"hx[{i}]", one) for i, one in enumerate(hx))
        self._check(input, *states)
        state = (self._zeros(input),) * 2 if hx is None else tuple(hx)
        x = F.linear(input, self.weight_ih, self.bias_ih)
        return step_lstm(x, state, self.weight_hh, self.bias_hh)
