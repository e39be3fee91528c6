"""Initial values of parameters: functions that overwrite a tensor, without a gradient, in place.

`generator` is a NumPy generator; the stream that `manual_seed` starts if None.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.random_numbers import source_of

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "fans",
    "kaiming_normal", "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_",
    "ones_", "orthogonal", "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform",
    "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip

_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
           "conv_transpose3d", "sigmoid")  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which the weights before a nonlinearity are scaled to keep the variance.

    `param` is the negative slope of leaky_relu (0.01).

    Example:
        >>> nn.init.calculate_gain("leaky_relu", 1.0), nn.init.calculate_gain("sigmoid")
        (1.0, 1)
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise OptionError(f"negative_slope {slope} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise OptionError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _fill(tensor: Any, array: object) -> Any:
    with no_grad():
        return tensor.copy_(tensor._constant(np.asarray(array)))


def _source(generator: object) -> Any:
    return source_of(generator)


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: object = None) -> Any:
    """Uniform numbers in [a, b).

    Example:
        >>> _ = dynamic.manual_seed(0)
        >>> w = nn.init.uniform_(dynamic.empty(2, 3), -1.0, 1.0)
        >>> w.shape, bool((abs(w) <= 1).all())
        (torch.Size([2, 3]), True)
    """
    return _fill(tensor, _source(generator).uniform(a, b, tensor.shape))


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: object = None) -> Any:
    """Normal numbers.

    Example:
        >>> _ = dynamic.manual_seed(0)
        >>> w = nn.init.normal_(dynamic.empty(100, 100), mean=5.0)
        >>> round(w.mean().item()), round(w.std().item())
        (5, 1)
    """
    return _fill(tensor, _source(generator).normal(mean, std, tensor.shape))


def constant_(tensor: object, val: float) -> Any:
    """One number.

    Example:
        >>> nn.init.constant_(dynamic.empty(2), 0.5)
        tensor([0.5000, 0.5000])
    """
    return _fill(tensor, val)


def ones_(tensor: object) -> Any:
    """Ones.

    Example:
        >>> nn.init.ones_(dynamic.empty(2))
        tensor([1., 1.])
    """
    return _fill(tensor, 1.0)


def zeros_(tensor: object) -> Any:
    """Zeros.

    Example:
        >>> layer = nn.Linear(2, 1)
        >>> nn.init.zeros_(layer.bias)
        Parameter containing:
        tensor([0.], requires_grad=True)
    """
    return _fill(tensor, 0.0)


def eye_(tensor: Any) -> Any:
    """The identity matrix.

    Example:
        >>> nn.init.eye_(dynamic.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if tensor.ndim != 2:
        raise OptionError("Only tensors with 2 dimensions are supported")
    return _fill(tensor, np.eye(*tensor.shape))


def trunc_normal_(
    tensor: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: object = None,
) -> Any:
    """Normal numbers, drawn anew while they are outside [a, b].

    Example:
        >>> _ = dynamic.manual_seed(0)
        >>> w = nn.init.trunc_normal_(dynamic.empty(1000), a=-1.0, b=1.0)
        >>> bool((abs(w) <= 1).all())
        True
    """
    low, high = (a - mean) / std, (b - mean) / std
    draws = _truncated(_source(generator), tensor.numel(), low, high)
    return _fill(tensor, np.clip(mean + std * draws, a, b).reshape(tensor.shape))


def _truncated(source: Any, count: int, low: float, high: float) -> Any:
    """Standard normal numbers in [low, high], by rejection.

    The proposals are normal where the interval has a fair share of the probability, else uniform
    and accepted in proportion to the density.
    """
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


def fans(tensor: Any) -> tuple[int, int]:
    """How many inputs an output of a weight depends on, and the reverse: (out, in, ...).

    Example:
        >>> nn.init.fans(dynamic.empty(8, 3, 5, 5))
        (75, 200)
    """
    if tensor.ndim < 2:
        raise OptionError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    outputs, inputs, *window = tensor.shape
    area = math.prod(window)
    return inputs * area, outputs * area


def xavier_uniform_(tensor: object, gain: float = 1.0, generator: object = None) -> Any:
    """Uniform numbers of variance gain**2 * 2 / (fan_in + fan_out) (Glorot, Bengio 2010).

    Example:
        >>> w = nn.init.xavier_uniform_(dynamic.empty(2, 4))
        >>> bool((abs(w) <= 1).all())  # sqrt(6 / (4 + 2)) is 1
        True
    """
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: object, gain: float = 1.0, generator: object = None) -> Any:
    """Normal numbers of variance gain**2 * 2 / (fan_in + fan_out) (Glorot, Bengio 2010).

    Example:
        >>> _ = dynamic.manual_seed(0)
        >>> w = nn.init.xavier_normal_(dynamic.empty(100, 100))
        >>> round(w.std().item(), 1)  # sqrt(2 / 200)
        0.1
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float | None:
    """gain / sqrt(fan); None for a tensor without elements."""
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    if mode not in ("fan_in", "fan_out"):
        raise OptionError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = fans(tensor)[0 if mode == "fan_in" else 1]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: object,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: object = None,
) -> Any:
    """Uniform numbers of variance gain**2 / fan, `a` leaky_relu's slope (He et al. 2015).

    Example:
        >>> w = nn.init.kaiming_uniform_(dynamic.empty(2, 6))
        >>> bool((abs(w) <= 1).all())  # sqrt(3) * sqrt(2 / 6) is 1
        True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: object,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: object = None,
) -> Any:
    """Normal numbers of variance gain**2 / fan, `a` leaky_relu's slope (He et al. 2015).

    Example:
        >>> _ = dynamic.manual_seed(0)
        >>> w = nn.init.kaiming_normal_(dynamic.empty(100, 200), nonlinearity="relu")
        >>> round(w.std().item(), 1)  # sqrt(2 / 200)
        0.1
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Any, gain: float = 1, generator: object = None) -> Any:
    """A random matrix with orthonormal rows or columns, whichever are fewer, times `gain`.

    Trailing axes count as columns (Saxe, McClelland, Ganguli 2013).

    Example:
        >>> w = nn.init.orthogonal_(dynamic.empty(2, 3))
        >>> dynamic.allclose(w @ w.T, dynamic.eye(2), atol=1e-6)
        True
    """
    if tensor.ndim < 2:
        raise OptionError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    draws = _source(generator).standard_normal((rows, columns))
    q, r = np.linalg.qr(draws.T if rows < columns else draws)
    q *= np.sign(np.diag(r))  # else the distribution would not be uniform
    return _fill(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """The convolution that changes nothing, per group; ValueError without 3 to 5 axes.

    Example:
        >>> w = nn.init.dirac_(dynamic.empty(1, 1, 3))
        >>> w, nn.functional.conv1d(dynamic.tensor([[[1.0, 2.0]]]), w, padding=1)
        (tensor([[[0., 1., 0.]]]), tensor([[[1., 2.]]]))
    """
    if tensor.ndim not in (3, 4, 5):
        raise OptionError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise OptionError("dim 0 must be divisible by groups")
    outputs = tensor.shape[0] // groups
    array = np.zeros(tuple(tensor.shape))
    centre = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(outputs, tensor.shape[1])):
            array[(group * outputs + channel, channel, *centre)] = 1
    return _fill(tensor, array)


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: object = None) -> Any:
    """Normal numbers in a matrix, of which each column has this share of zeros.

    Example:
        >>> w = nn.init.sparse_(dynamic.empty(4, 2), sparsity=0.5)
        >>> (w == 0).sum(0)
        tensor([2, 2])
    """
    if tensor.ndim != 2:
        raise OptionError("Only tensors with 2 dimensions are supported")
    source = source_of(generator)
    rows, columns = tensor.shape
    array = source.normal(0, std, (rows, columns))
    for column in range(columns):
        array[source.permutation(rows)[: math.ceil(sparsity * rows)], column] = 0
    return _fill(tensor, array)


def _deprecated(name: str) -> Any:
    new = globals()[f"{name}_"]

    def function(*args: Any, **options: Any) -> Any:
        try:
            inspect.signature(new).bind(*args, **options)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning)
        return new(*args, **options)

    function.__name__ = function.__qualname__ = name
    example = (new.__doc__ or "").partition("Example:")[2].replace(f".{name}_(", f".{name}(")
    function.__doc__ = f"The old name of `{name}_`, with a FutureWarning.\n\n    Example:{example}"
    return function


uniform, normal, constant = (_deprecated(one) for one in ("uniform", "normal", "constant"))
eye, dirac, sparse = _deprecated("eye"), _deprecated("dirac"), _deprecated("sparse")
xavier_uniform, xavier_normal = _deprecated("xavier_uniform"), _deprecated("xavier_normal")
kaiming_uniform, kaiming_normal = _deprecated("kaiming_uniform"), _deprecated("kaiming_normal")
orthogonal = _deprecated("orthogonal")
_calculate_fan_in_and_fan_out = fans  # the name by which scripts know it
