"""Convolution over one, two or three axes, and its adjoint: PyTorch's arguments and refusals.

What is computed is `staticgraph.compiler.layers.convolution`, which both paradigms share.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.types import fits
from staticgraph.compiler.layers.convolution import convolved, same_padding, transposed, uneven
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.nn.functional.few_windows import CONVOLUTION, TRANSPOSED, bias_for
from staticgraph.dynamic.nn.functional.windows import Sizes, batched, listed, per_axis
from staticgraph.dynamic.tensors.naming import called

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip


@called("Convolution")
def conv1d(
    input: object, weight: object, bias: object = None, stride: object = 1, padding: object = 0,
    dilation: object = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation: (n, c, l), (f, c / groups, k), (f,) -> (n, f, l'); n is optional.

    `padding` is a number of zeros on both sides, "valid" (0) or "same" (l' = l, with stride 1).

    Example:
        >>> nn.functional.conv1d(
        ...     dynamic.tensor([[[1.0, 2.0, 4.0]]]), dynamic.tensor([[[-1.0, 1.0]]])
        ... )
        tensor([[[1., 2.]]])
    """
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: object, weight: object, bias: object = None, stride: object = 1, padding: object = 0,
    dilation: object = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation: (n, c, h, w), (f, c / groups, kh, kw), (f,) -> (n, f, h', w').

    n is optional; options are one number or two; `padding` as that of `conv1d`.

    Example:
        >>> x = dynamic.arange(6.0).reshape(1, 1, 2, 3)
        >>> nn.functional.conv2d(x, dynamic.ones((1, 1, 2, 2)), padding="same")
        tensor([[[[ 8., 12.,  7.],
                  [ 7.,  9.,  5.]]]])
    """

    def general() -> Any:
        return _conv(2, input, weight, bias, stride, padding, dilation, groups)

    if type(groups) is not int or isinstance(padding, str):
        return general()
    options = (per_axis(stride, 2), per_axis(padding, 2), per_axis(dilation, 2), groups)
    return CONVOLUTION.value((input, weight, bias_for(input, bias)), options, general)


def conv3d(
    input: object, weight: object, bias: object = None, stride: object = 1, padding: object = 0,
    dilation: object = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation: (n, c, d, h, w), (f, c / groups, kd, kh, kw), (f,) -> (n, f, d', h', w').

    n is optional; options are one number or three; `padding` as that of `conv1d`.

    Example:
        >>> nn.functional.conv3d(dynamic.ones((1, 1, 2, 2, 2)), dynamic.ones((1, 1, 2, 2, 2)))
        tensor([[[[[8.]]]]])
    """
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


def _conv(
    axes: int, input: object, weight: Any, bias: object, stride: object, padding: object,
    dilation: Any, groups: int,
) -> Any:  # fmt: skip
    steps, spread = per_axis(stride, axes), per_axis(dilation, axes)
    before, after = _padding(padding, steps, spread, _window(weight))

    def convolve(x: object) -> Any:
        _check(x, weight, bias, groups)
        x = uneven(x, before, after)
        _check_room(x, weight, before, spread)
        return convolved(x, weight, bias, steps, before, spread, groups)

    return batched(convolve, input, axes, _wrong_rank(f"conv{axes}d", axes, input))


def _window(weight: Any) -> Sizes:
    """The sizes of the windows; a capture is made again with them if they are not known."""
    return tuple(int(size) for size in weight.shape[2:])


def _wrong_rank(name: str, axes: int, input: Any) -> str:
    return (
        f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {name}, but got input "
        f"of size: {listed(input.shape)}"
    )


def _padding(padding: object, stride: Sizes, dilation: Sizes, window: Any) -> tuple[Sizes, Sizes]:
    """The number of zeros before and after the elements of each axis."""
    if not isinstance(padding, str):
        both = per_axis(padding, len(stride))
        if any(one < 0 for one in both):
            raise AutogradError("negative padding is not supported")
        return both, both
    if padding == "valid":
        return (0,) * len(stride), (0,) * len(stride)
    if padding != "same":
        raise AutogradError(f"Invalid padding string: '{padding}'")
    if any(step != 1 for step in stride):
        raise AutogradError("padding='same' is not supported for strided convolutions")
    return same_padding(dilation, window)


def _check(x: Any, weight: Any, bias: object, groups: int) -> None:
    if groups < 1:
        raise AutogradError("non-positive groups is not supported")
    if not weight.shape[0]:
        raise AutogradError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {listed(weight.shape)} instead"
        )
    if weight.shape[0] % groups:
        raise AutogradError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{listed(weight.shape)}] instead"
        )
    channels = weight.shape[1] * groups
    if differ((x.shape[1],), (channels,)):
        raise AutogradError(
            f"Given groups={groups}, weight of size {listed(weight.shape)}, expected "
            f"input{listed(x.shape)} to have {channels} channels, but got {x.shape[1]} channels "
            "instead"
        )
    _check_bias(weight, bias, weight.shape[0])


def _check_bias(weight: Any, bias: Any, filters: int) -> None:
    if bias is not None and tuple(bias.shape) != (filters,):
        raise AutogradError(
            f"Given weight of size {listed(weight.shape)}, expected bias to be 1-dimensional with "
            f"{filters} elements, but got bias of size {listed(bias.shape)} instead"
        )


def _check_room(x: Any, weight: Any, padding: Sizes, dilation: Sizes) -> None:
    sizes = [size + 2 * p for size, p in zip(x.shape[2:], padding, strict=True)]
    spans = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    if not all(fits(span, size) for span, size in zip(spans, sizes, strict=True)):
        padded, kernel = (" x ".join(map(str, numbers)) for numbers in (sizes, spans))
        raise AutogradError(
            f"Calculated padded input size per channel: ({padded}). Kernel size: ({kernel}). "
            "Kernel size can't be greater than actual input size"
        )


@called("Convolution")
def conv_transpose1d(
    input: object, weight: object, bias: object = None, stride: object = 1, padding: object = 0,
    output_padding: object = 0, groups: int = 1, dilation: object = 1,
) -> Any:  # fmt: skip
    """The adjoint of `conv1d`: (n, c, l), (c, f / groups, k), (f,) -> (n, f, l').

    Example:
        >>> nn.functional.conv_transpose1d(
        ...     dynamic.tensor([[[1.0, 2.0]]]), dynamic.tensor([[[1.0, 3.0]]]), stride=2
        ... )
        tensor([[[1., 3., 2., 6.]]])
    """
    options = (stride, padding, output_padding, dilation)
    return _transposed(1, input, weight, bias, groups, *options)


def conv_transpose2d(
    input: object, weight: object, bias: object = None, stride: object = 1, padding: object = 0,
    output_padding: object = 0, groups: int = 1, dilation: object = 1,
) -> Any:  # fmt: skip
    """The adjoint of `conv2d`: (n, c, h, w), (c, f / groups, kh, kw), (f,) -> (n, f, h', w').

    h' = (h - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1; n is optional.

    Example:
        >>> nn.functional.conv_transpose2d(
        ...     dynamic.tensor([[[[1.0, 2.0]]]]), dynamic.ones((1, 1, 1, 2))
        ... )
        tensor([[[[1., 3., 2.]]]])
    """
    options = (stride, padding, output_padding, dilation)

    def general() -> Any:
        return _transposed(2, input, weight, bias, groups, *options)

    if type(groups) is not int:
        return general()
    pairs = (*[per_axis(option, 2) for option in options], groups)
    return TRANSPOSED.value((input, weight, bias_for(input, bias)), pairs, general)


def conv_transpose3d(
    input: object, weight: object, bias: object = None, stride: object = 1, padding: object = 0,
    output_padding: object = 0, groups: int = 1, dilation: object = 1,
) -> Any:  # fmt: skip
    """The adjoint of `conv3d`: (n, c, d, h, w), (c, f / groups, kd, kh, kw), (f,).

    Example:
        >>> nn.functional.conv_transpose3d(
        ...     dynamic.ones((1, 1, 1, 1, 2)), dynamic.ones((1, 1, 1, 1, 2))
        ... )
        tensor([[[[[1., 2., 1.]]]]])
    """
    options = (stride, padding, output_padding, dilation)
    return _transposed(3, input, weight, bias, groups, *options)


def _transposed(
    axes: int, input: object, weight: Any, bias: object, groups: int, *options: object
) -> Any:
    stride, padding, extra, dilation = (per_axis(option, axes) for option in options)
    _window(weight)

    def convolve(x: Any) -> Any:
        if differ((x.shape[1],), (weight.shape[0],)):
            raise AutogradError(
                f"Given transposed=1, weight of size {listed(weight.shape)}, expected input"
                f"{listed(x.shape)} to have {weight.shape[0]} channels, but got {x.shape[1]} "
                "channels instead"
            )
        _check_bias(weight, bias, weight.shape[1] * groups)
        _check_extra(extra, stride, dilation)
        return transposed(x, weight, bias, stride, padding, extra, groups, dilation)

    return batched(convolve, input, axes, _wrong_rank(f"conv_transpose{axes}d", axes, input))


def _check_extra(extra: Sizes, stride: Sizes, dilation: Sizes) -> None:
    if all(e < s or e < d for e, s, d in zip(extra, stride, dilation, strict=True)):
        return
    if len(extra) == 1:  # PyTorch adds an axis
        extra, stride, dilation = (0, *extra), (1, *stride), (1, *dilation)
    lists = (("output_padding", extra), ("stride", stride), ("dilation", dilation))
    sides = ("depth", "height", "width")[-len(extra) :]
    values = " ".join(
        f"{name}_{side}: {value}"
        for name, numbers in lists
        for side, value in zip(sides, numbers, strict=True)
    )
    raise AutogradError(
        f"output padding must be smaller than either stride or dilation, but got {values}"
    )
