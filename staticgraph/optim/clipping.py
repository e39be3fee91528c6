"""Gradients that are too large, limited: by value, and by the norm of all of them."""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops import astype, clip, minimum, sqrt, sum as total_of
from staticgraph.optim.checks import number


def clip_by_value(gradients: Sequence[Value], value: float) -> list[Value]:
    """The gradients with their elements limited to [-value, value].

    Raises:
        OptionError: the value is no number from 0.

    Example:
        >>> sg.optim.clip_by_value([np.array([3.0, -0.5])], 1.0)
        [array([ 1. , -0.5])]
    """
    number()("clip_by_value", "value", value)
    return [clip(one, -value, value) for one in gradients]


def global_norm(gradients: Sequence[Value]) -> Value:
    """The norm of all elements of all gradients as one vector.

    Raises:
        OptionError: there are none.

    Example:
        >>> sg.optim.global_norm([np.array([3.0, 0.0]), np.array([[4.0]])])
        np.float64(5.0)
    """
    if not len(gradients):
        raise OptionError("global_norm: no gradients are given")
    squares = [total_of(part * part) for part in map(_real, gradients)]
    whole = squares[0]
    for square in squares[1:]:
        whole = whole + square
    return sqrt(whole)


def _real(gradient: Value) -> Value:
    """A gradient as real numbers: a complex one as its parts."""
    if gradient.dtype.kind != "c":
        return gradient
    from staticgraph.compiler.ops.elementwise.complex_numbers import view_as_real

    return view_as_real(gradient)


def clip_by_global_norm(gradients: Sequence[Value], norm: float) -> list[Value]:
    """The gradients times norm / (their global norm + 1e-6), if that is below 1.

    As torch.nn.utils.clip_grad_norm_ (Pascanu, Mikolov, Bengio 2013).

    Raises:
        OptionError: the norm is no number from 0, or there are no gradients.

    Example:
        >>> (scaled,) = sg.optim.clip_by_global_norm([np.array([3.0, 4.0])], 1.0)
        >>> scaled.round(3)
        array([0.6, 0.8])
    """
    number()("clip_by_global_norm", "norm", norm)
    scale = minimum(norm / (global_norm(gradients) + 1e-6), 1.0)
    return [one * astype(scale, one.dtype) for one in gradients]
