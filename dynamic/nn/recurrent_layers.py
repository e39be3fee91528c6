"""Recurrent layers over sequences: RNN, LSTM and GRU, stacked and bidirectional."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.nn import (
    functional as F,  # noqa: N812 - PyTorch's name
    init,
    recurrent_arrays,
)
from staticgraph.dynamic.nn.errors import ModuleError
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.nn.recurrent_arrays import Sweep
from staticgraph.dynamic.nn.recurrent_cells import nonlinear_step, step_gru, step_lstm
from staticgraph.dynamic.nn.recurrent_packed import run_packed, weight_of
from staticgraph.dynamic.nn.recurrent_sweep import fits, sweep
from staticgraph.dynamic.nn.utils.rnn import PackedSequence
from staticgraph.dynamic.tensors.creation import empty
from staticgraph.dynamic.tensors.devices import check_device
from staticgraph.dynamic.tensors.narrowing import narrowing


class _Recurrent(Module):
    """Layers of steps over sequences (length, n, size), (n, length, size) if batch_first; abstract.

    A sequence without a batch is (length, size). The parameters begin uniform within
    1 / sqrt(hidden_size).
    """

    _gates: int
    _projects = False
    _narrow = False
    """Whether `autocast` has states and outputs in its dtype, as PyTorch: not those of a GRU."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: object = None,
        dtype: object = None,
    ) -> None:
        check_device(device)
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_options()
        for layer in range(num_layers):
            for suffix in self._directions():
                self._register(layer, suffix, dtype)
        self.reset_parameters()

    def _check_options(self) -> None:
        if self.proj_size and not self._projects:
            raise OptionError("proj_size argument is only supported for LSTM, not RNN or GRU")
        for name in ("bias", "batch_first"):
            kind = type(getattr(self, name)).__name__
            if kind != "bool":
                raise ArgumentError(f"{name} should be of type bool, got: {kind}")
        for name in ("input_size", "hidden_size"):
            kind = type(getattr(self, name)).__name__
            if kind != "int":
                raise ArgumentError(f"{name} should be of type int, got: {kind}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise OptionError(f"{name} must be greater than zero")
        if isinstance(self.dropout, bool) or not 0 <= self.dropout <= 1:
            raise OptionError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if self.dropout > 0 and self.num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={self.dropout} and "
                f"num_layers={self.num_layers}",
            )
        if self.proj_size < 0:
            raise OptionError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise OptionError("proj_size has to be smaller than hidden_size")

    def _directions(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def _register(self, layer: int, suffix: str, dtype: object) -> None:
        """Add the parameters of one layer in one direction."""
        rows = self._gates * self.hidden_size
        inputs = self.input_size if layer == 0 else self._output_size * len(self._directions())
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, inputs),
            "weight_hh": (rows, self._output_size),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            parameter = Parameter(empty(shape, dtype=dtype))
            self.register_parameter(f"{name}_l{layer}{suffix}", parameter)

    @property
    def _output_size(self) -> int:
        return self.proj_size or self.hidden_size

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: the parameters need not be next to each other in memory."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer in each direction."""
        groups: dict[str, list[Parameter]] = {}
        for name, parameter in self.named_parameters(recurse=False):
            groups.setdefault(name.split("_l")[1], []).append(parameter)
        return list(groups.values())

    def extra_repr(self) -> str:
        """The sizes and the options that are not the usual ones."""
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False,
                 "dropout": 0, "bidirectional": False}  # fmt: skip
        shown = [
            f"{name}={getattr(self, name)}"
            for name, value in usual.items()
            if getattr(self, name) != value
        ]
        return ", ".join([str(self.input_size), str(self.hidden_size), *shown])

    def _run(self, input: object, states: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """The outputs (length, n, size) and the last states, from those of all layers."""
        finals: list[tuple[Any, ...]] = []
        for layer in range(self.num_layers):
            outputs = []
            for suffix in self._directions():
                start = tuple(state[len(finals)] for state in states)
                output, final = self._sweep(input, start, f"_l{layer}{suffix}", bool(suffix))
                outputs.append(output)
                finals.append(final)
            input = outputs[0] if len(outputs) == 1 else ops.concatenate(outputs, -1)
            if self.dropout and layer < self.num_layers - 1:
                input = F.dropout(input, self.dropout, self.training)
        return input, tuple(ops.stack(list(column)) for column in zip(*finals, strict=True))

    def _sweep(
        self, input: object, state: tuple[object, ...], key: str, backwards: bool
    ) -> tuple[Any, tuple[Any, ...]]:
        """One layer in one direction: the outputs (length, n, size), and the last state."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        *weights, projection = (weight_of(self, name + key) for name in names)
        if projection is not None:
            return self._stepwise(input, state, weights, backwards, projection)
        run = self._narrowed if self._narrow else self._unprojected
        found: tuple[Any, tuple[Any, ...]] = run(input, state, weights, backwards)
        return found

    def _unprojected(
        self, input: object, state: tuple[object, ...], weights: list[Any], backwards: bool
    ) -> tuple[Any, tuple[Any, ...]]:
        """`_sweep` without a projection."""
        if fits(input, state, weights):
            return sweep(
                self._kind(), self._advance, self._stepwise, input, state, weights, backwards
            )
        return self._stepwise(input, state, weights, backwards)

    _narrowed = narrowing(_unprojected)

    def _stepwise(
        self,
        input: object,
        state: tuple[object, ...],
        weights: Sequence[object],
        backwards: bool,
        projection: object = None,
    ) -> tuple[Any, tuple[Any, ...]]:
        """`_sweep` in ops, step by step."""
        x = F.linear(input, weights[0], weights[2])
        outputs = []
        for step in reversed(_steps(x)) if backwards else _steps(x):
            state = self._advance(step, state, weights[1], weights[3])
            if projection is not None:
                state = (F.linear(state[0], projection), *state[1:])
            outputs.append(state[0])
        return ops.stack(outputs[::-1] if backwards else outputs), state

    def _advance(
        self, x: object, state: tuple[object, ...], weight: object, bias: object
    ) -> tuple[Any, ...]:
        raise NotImplementedError

    def _kind(self) -> Sweep:
        raise NotImplementedError

    def _prepared(self, input: Any) -> Any:
        """The input as (length, n, size); RuntimeError or ValueError if it does not fit."""
        name = self._get_name()
        if input.ndim not in (2, 3):
            what = "tensor instead" if name == "RNN" else "instead"
            raise OptionError(f"{name}: Expected input to be 2D or 3D, got {input.ndim}D {what}")
        kept = self.weight_ih_l0.dtype
        if input.dtype != kept:
            raise OptionError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kept}). Convert "
                f"input: input.to({kept}), or convert model: model.to({input.dtype})"
            )
        if input.ndim == 2:
            input = ops.expand_dims(input, 1)
        elif self.batch_first:
            input = ops.swapaxes(input, 0, 1)
        if differ(input.shape[-1:], (self.input_size,)):
            raise ModuleError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                f"got {input.shape[-1]}"
            )
        return input

    def _start_state(self, hx: Any, input: Any, size: int, which: str, batched: bool) -> Any:
        """A start state as (layers * directions, n, size): zeros if None."""
        shape = (self.num_layers * len(self._directions()), input.shape[1], size)
        if hx is None:
            return ops.broadcast_to(input._constant(np.zeros((), np.dtype(input.dtype))), shape)
        if not batched:
            hx = ops.expand_dims(hx, 1)
        if differ(hx.shape, shape):
            raise ModuleError(f"Expected {which} size {shape}, got {list(hx.shape)}")
        return hx

    def _finished(self, output: Any, batched: bool) -> Any:
        if not batched:
            return output.squeeze(1)
        return ops.swapaxes(output, 0, 1) if self.batch_first else output


def _steps(x: Any) -> list[Any]:
    """The slices of a sequence (length, ...), by halving it.

    So the gradients of n slices cost n log n, not the n**2 of n slices of the whole.
    """
    length = range(x.shape[0])
    if len(length) < 2:
        return [x[i] for i in length]
    half = len(length) // 2
    return _steps(x[:half]) + _steps(x[half:])


class _Single(_Recurrent):
    """A layer whose state is one tensor; abstract."""

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The outputs of the last layer, and the last state of each layer and direction."""
        if isinstance(input, PackedSequence):
            packed, (last,) = run_packed(self, input, (hx,), (self.hidden_size,))
            return packed, last
        batched = input.ndim != 2
        if hx is not None and input.ndim in (2, 3) and hx.ndim != input.ndim:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise ModuleError(
                f"For {kind} input, hx should also be {input.ndim}-D but got {hx.ndim}-D tensor"
            )
        input = self._prepared(input)
        state = self._start_state(hx, input, self.hidden_size, "hidden", batched)
        output, (final,) = self._run(input, (state,))
        return self._finished(output, batched), final if batched else ops.squeeze(final, 1)


class RNN(_Single):
    """tanh or relu of weight_ih x + bias_ih + weight_hh h + bias_hh (Elman 1990).

    Example:
        >>> out, h = nn.RNN(3, 5, batch_first=True)(dynamic.ones(2, 7, 3))
        >>> out.shape, h.shape
        (torch.Size([2, 7, 5]), torch.Size([1, 2, 5]))
    """

    _gates = 1
    _narrow = True

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: object = None,
        dtype: object = None,
    ) -> None:
        nonlinear_step(nonlinearity)
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    def _advance(
        self, x: object, state: tuple[object, ...], weight: object, bias: object
    ) -> tuple[Any, ...]:
        return (nonlinear_step(self.nonlinearity)(x, state[0], weight, bias),)

    def _kind(self) -> Sweep:
        return recurrent_arrays.Plain(self.nonlinearity)


class GRU(_Single):
    """Gated recurrent units (Cho et al. 2014).

    Example:
        >>> out, h = nn.GRU(3, 5, batch_first=True)(dynamic.ones(2, 7, 3))
        >>> out.shape, h.shape
        (torch.Size([2, 7, 5]), torch.Size([1, 2, 5]))
    """

    _gates = 3

    def _advance(
        self, x: object, state: tuple[object, ...], weight: object, bias: object
    ) -> tuple[Any, ...]:
        return (step_gru(x, state[0], weight, bias),)

    def _kind(self) -> Sweep:
        return recurrent_arrays.GRU()


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter, Schmidhuber 1997); the state is a pair (h, c).

    With `proj_size`, h is multiplied by weight_hr, of that many rows (Sak, Senior, Beaufays 2014).

    Example:
        >>> out, (h, c) = nn.LSTM(3, 5, batch_first=True)(dynamic.ones(2, 7, 3))
        >>> out.shape, h.shape, c.shape
        (torch.Size([2, 7, 5]), torch.Size([1, 2, 5]), torch.Size([1, 2, 5]))
    """

    _gates = 4
    _projects = True
    _narrow = True

    def _advance(
        self, x: object, state: tuple[object, ...], weight: object, bias: object
    ) -> tuple[Any, ...]:
        return step_lstm(x, (state[0], state[1]), weight, bias)

    def _kind(self) -> Sweep:
        return recurrent_arrays.LSTM()

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, tuple[Any, Any]]:
        """The outputs of the last layer, and the last states (h, c) of each layer and direction."""
        h: Any = None
        c: Any = None
        if hx is not None:
            if len(hx) != 2:
                raise ModuleError(f"LSTM: hx is a pair (h_0, c_0), not {len(hx)} values")
            h, c = hx
        if isinstance(input, PackedSequence):
            sizes = (self._output_size, self.hidden_size)
            packed, (h, c) = run_packed(self, input, (h, c), sizes)
            return packed, (h, c)
        batched = input.ndim != 2
        if hx is not None and input.ndim in (2, 3) and (h.ndim, c.ndim) != (input.ndim,) * 2:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise ModuleError(
                f"For {kind} input, hx and cx should also be {input.ndim}-D but got "
                f"({h.ndim}-D, {c.ndim}-D) tensors"
            )
        input = self._prepared(input)
        h = self._start_state(h, input, self._output_size, "hidden[0]", batched)
        c = self._start_state(c, input, self.hidden_size, "hidden[1]", batched)
        output, (h, c) = self._run(input, (h, c))
        if not batched:
            h, c = ops.squeeze(h, 1), ops.squeeze(c, 1)
        return self._finished(output, batched), (h, c)
