"""PyTorch's random functions, drawing from NumPy's stream as `dynamic` does.

Both then have the same initial weights, batches, noise and dropout. Only PyTorch is changed; what
of `dynamic` draws otherwise, in another order or from another distribution shows as other losses.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Generator:
    """`torch.Generator`, with NumPy's stream."""

    def __init__(self, device: object = "cpu") -> None:
        self.device = device
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: Any) -> Generator:
        self.stream = np.random.default_rng(int(seed) % 2**64)
        self.seed_value = int(seed)
        return self

    def initial_seed(self) -> int:
        return self.seed_value


default = Generator()


def _stream(generator: Any) -> np.random.Generator:
    return (default if generator is None else generator).stream


def _shape(sizes: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    if size is None:
        size = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return tuple(int(n) for n in size)


def install(torch: Any) -> None:
    """Replace the random functions of PyTorch."""
    _constructors(torch)
    _methods(torch)
    _samplers(torch)
    _layers(torch, torch.nn.functional)
    _initialisers(torch)
    _distributions(torch)
    _loaders(torch)


def _made(torch: Any, array: Any, dtype: Any, options: Any) -> Any:
    tensor = torch.from_numpy(np.array(array)).to(dtype or torch.get_default_dtype())
    return tensor.requires_grad_(bool(options.get("requires_grad")))


def _constructors(torch: Any) -> None:
    def kind(dtype: Any) -> Any:
        wanted = dtype or torch.get_default_dtype()
        return np.float64 if wanted == torch.float64 else np.float32

    def rand(
        *sizes: Any, size: Any = None, generator: Any = None, dtype: Any = None, **o: Any
    ) -> Any:
        return _made(torch, _stream(generator).random(_shape(sizes, size), kind(dtype)), dtype, o)

    def randn(
        *sizes: Any, size: Any = None, generator: Any = None, dtype: Any = None, **o: Any
    ) -> Any:
        drawn = _stream(generator).standard_normal(_shape(sizes, size), kind(dtype))
        return _made(torch, drawn, dtype, o)

    def randint(
        low: Any = 0,
        high: Any = None,
        size: Any = None,
        *,
        generator: Any = None,
        dtype: Any = None,
        **o: Any,
    ) -> Any:
        if high is None or size is None:
            low, high, size = 0, low, high if size is None else size
        drawn = _stream(generator).integers(int(low), int(high), tuple(size))
        return _made(torch, drawn, dtype or torch.int64, o)

    def randperm(n: int, *, generator: Any = None, dtype: Any = None, **o: Any) -> Any:
        return _made(torch, _stream(generator).permutation(n), dtype or torch.int64, o)

    def like(draw: Any) -> Any:
        def drawn(input: Any, *args: Any, dtype: Any = None, **o: Any) -> Any:
            o.pop("memory_format", None)
            return draw(*args, size=tuple(input.shape), dtype=dtype or input.dtype, **o)

        return drawn

    def randint_like(input: Any, low: Any = 0, high: Any = None, **o: Any) -> Any:
        bounds = (0, low) if high is None else (low, high)
        return randint(*bounds, tuple(input.shape), **{"dtype": input.dtype, **o})

    def manual_seed(seed: Any) -> Any:
        return default.manual_seed(seed)

    torch.rand, torch.randn, torch.randint, torch.randperm = rand, randn, randint, randperm
    torch.rand_like, torch.randn_like, torch.randint_like = like(rand), like(randn), randint_like
    torch.manual_seed = torch.random.manual_seed = manual_seed
    torch.Generator, torch.default_generator = Generator, default
    torch.initial_seed = default.initial_seed


def _methods(torch: Any) -> None:
    def fill(self: Any, drawn: Any) -> Any:
        with torch.no_grad():
            return self.copy_(torch.from_numpy(np.array(drawn)))

    def normal_(self: Any, mean: Any = 0.0, std: Any = 1.0, *, generator: Any = None) -> Any:
        return fill(self, _stream(generator).normal(mean, std, tuple(self.shape)))

    def uniform_(
        self: Any, a: Any = 0.0, b: Any = 1.0, *, generator: Any = None, **names: Any
    ) -> Any:
        a, b = names.get("from", a), names.get("to", b)
        return fill(self, _stream(generator).uniform(a, b, tuple(self.shape)))

    def exponential_(self: Any, lambd: Any = 1.0, *, generator: Any = None) -> Any:
        return fill(self, _stream(generator).exponential(1 / lambd, tuple(self.shape)))

    def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
        return fill(self, _stream(generator).binomial(1, p, tuple(self.shape)))

    def random_(self: Any, low: Any = 0, high: Any = None, *, generator: Any = None) -> Any:
        if high is None:
            low, high = 0, low or 2**63 - 1
        return fill(self, _stream(generator).integers(low, high, tuple(self.shape)))

    for method in (normal_, uniform_, exponential_, bernoulli_, random_):
        setattr(torch.Tensor, method.__name__, method)


def _samplers(torch: Any) -> None:
    def bernoulli(input: Any, p: Any = None, *, generator: Any = None, **o: Any) -> Any:
        chance = input.detach().numpy() if p is None else p
        drawn = _stream(generator).random(tuple(input.shape)) < chance
        return torch.from_numpy(np.array(drawn)).to(input.dtype)

    def multinomial(
        input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None
    ) -> Any:
        weights = input.detach().numpy()
        rows = weights.reshape(-1, weights.shape[-1]).astype(np.float64)
        if replacement:
            ends = np.cumsum(rows / rows.sum(1, keepdims=True), 1)
            ends[:, -1] = 1.0
            points = _stream(generator).random((len(rows), num_samples))
            drawn = [
                np.searchsorted(end, point, side="right")
                for end, point in zip(ends, points, strict=True)
            ]
        else:
            with np.errstate(divide="ignore"):
                keys = np.log(rows) + _stream(generator).gumbel(size=rows.shape)
            drawn = list(np.argsort(-keys, 1, kind="stable")[:, :num_samples])
        found = np.asarray(drawn, np.int64).reshape(*weights.shape[:-1], num_samples)
        return torch.from_numpy(found)

    def normal(
        mean: Any = 0.0,
        std: Any = 1.0,
        size: Any = None,
        *,
        generator: Any = None,
        dtype: Any = None,
        **o: Any,
    ) -> Any:
        tensors = [one for one in (mean, std) if isinstance(one, torch.Tensor)]
        if size is None:
            size = torch.broadcast_shapes(*[one.shape for one in tensors])
            dtype = tensors[0].dtype
        drawn = torch.randn(*size, generator=generator, dtype=dtype)
        with torch.no_grad():
            drawn = drawn * std + mean
        return drawn.requires_grad_(bool(o.get("requires_grad")))

    def poisson(input: Any, generator: Any = None) -> Any:
        return torch.from_numpy(_stream(generator).poisson(input.numpy())).to(input.dtype)

    torch.bernoulli, torch.multinomial = bernoulli, multinomial
    torch.normal, torch.poisson = normal, poisson
    torch.Tensor.bernoulli, torch.Tensor.multinomial = bernoulli, multinomial


def _layers(torch: Any, F: Any) -> None:
    def dropped(channels: Any) -> Any:
        def dropout(
            input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
        ) -> Any:
            if not training or p == 0:
                return input
            shape = tuple(input.shape)
            if channels is not None:
                kept = 1 if input.ndim == channels + 1 else 2
                shape = (*shape[:kept], *(1,) * (len(shape) - kept))
            stays = default.stream.random(shape, np.float32) >= p
            scale = 0.0 if p == 1 else 1 / (1 - p)
            mask = torch.from_numpy(np.where(stays, scale, 0.0)).to(input.dtype)
            return input.mul_(mask) if inplace else input * mask

        return dropout

    def gumbel_softmax(
        logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
    ) -> Any:
        noise = torch.from_numpy(default.stream.gumbel(size=tuple(logits.shape))).to(logits.dtype)
        soft = torch.softmax((logits + noise) / tau, dim)
        if not hard:
            return soft
        index = soft.argmax(dim, keepdim=True)
        return torch.zeros_like(logits).scatter(dim, index, 1.0) - soft.detach() + soft

    attend = F.scaled_dot_product_attention

    def attention(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: Any = None,
        **o: Any,
    ) -> Any:
        if not dropout_p:
            return attend(query, key, value, attn_mask, 0.0, is_causal, scale=scale, **o)
        scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
        if is_causal:
            attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        return F.dropout(torch.softmax(scores, -1), dropout_p) @ value

    torch.dropout = lambda x, p, train: F.dropout(x, p, train)
    F.dropout, F.dropout1d, F.dropout2d, F.dropout3d = (dropped(n) for n in (None, 1, 2, 3))
    F.gumbel_softmax, F.scaled_dot_product_attention = gumbel_softmax, attention
    _recurrent(torch, F)


def _recurrent(torch: Any, F: Any) -> None:
    """Layers with dropout between them, one after the other."""
    from torch.nn.modules import rnn

    def layered(sweep: Any, states: int) -> Any:
        def run(input: Any, *args: Any) -> Any:
            packed = (
                isinstance(args[1], (list, tuple))
                and not isinstance(args[0], (list, tuple, bool))
                and isinstance(args[2], (list, tuple))
            )
            lengths, rest = (args[:1], args[1:]) if packed else ((), args)
            hx, weights, bias, layers, dropout, training, both, *first = rest
            if not (dropout and training and layers > 1):
                return sweep(input, *args)
            every = len(weights) // layers
            each = 2 if both else 1
            ends = []
            for k in range(layers):
                of = [one[k * each : (k + 1) * each] for one in (hx if states == 2 else (hx,))]
                given = tuple(of) if states == 2 else of[0]
                chosen = weights[k * every : (k + 1) * every]
                input, *last = sweep(
                    input, *lengths, given, chosen, bias, 1, 0.0, training, both, *first
                )
                ends.append(last)
                if k < layers - 1:
                    input = F.dropout(input, dropout, True)
            return (input, *(torch.cat(one) for one in zip(*ends, strict=True)))

        return run

    table = {"LSTM": 2, "GRU": 1, "RNN_TANH": 1, "RNN_RELU": 1}
    names = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}
    for mode, states in table.items():
        swept = layered(getattr(torch._VF, names[mode]), states)
        setattr(torch._VF, names[mode], swept)
        if mode in rnn._rnn_impls:
            rnn._rnn_impls[mode] = swept


def _initialisers(torch: Any) -> None:
    init = torch.nn.init

    def truncated(source: Any, count: int, low: float, high: float) -> Any:
        share = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
        peak = min(max(0.0, low), high)
        kept = np.empty(0)
        while kept.size < count:
            if share > 0.3:
                drawn = source.standard_normal(2 * count)
                drawn = drawn[(drawn >= low) & (drawn <= high)]
            else:
                drawn = source.uniform(low, high, 4 * count)
                density = np.exp(0.5 * (peak**2 - drawn**2))
                drawn = drawn[source.random(drawn.size) < density]
            kept = np.concatenate([kept, drawn])
        return kept[:count]

    def trunc_normal_(
        tensor: Any,
        mean: float = 0.0,
        std: float = 1.0,
        a: float = -2.0,
        b: float = 2.0,
        generator: Any = None,
    ) -> Any:
        drawn = truncated(_stream(generator), tensor.numel(), (a - mean) / std, (b - mean) / std)
        values = np.clip(mean + std * drawn, a, b).reshape(tuple(tensor.shape))
        with torch.no_grad():
            return tensor.copy_(torch.from_numpy(values))

    init.trunc_normal_ = trunc_normal_


def _distributions(torch: Any) -> None:
    from torch.distributions import Uniform, normal, utils

    def _standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
        return torch.randn(tuple(shape), dtype=dtype)

    def rsample(self: Any, sample_shape: Any = ()) -> Any:
        drawn = default.stream.random(size=self._extended_shape(sample_shape))
        return self.low + torch.from_numpy(np.array(drawn)).to(self.low.dtype) * (
            self.high - self.low
        )

    utils._standard_normal = normal._standard_normal = _standard_normal
    Uniform.rsample = rsample


def _loaders(torch: Any) -> None:
    """A loader draws no seed for worker processes: here there are none."""
    iterator = torch.utils.data.dataloader._BaseDataLoaderIter
    begin = iterator.__init__

    def without_seed(self: Any, loader: Any) -> None:
        stream = _stream(loader.generator).bit_generator
        before = stream.state
        begin(self, loader)
        stream.state = before

    iterator.__init__ = without_seed
