"""Windows of images as columns, and columns added back into images."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.windows import flattened, per_axis

__all__ = ["fold", "unfold"]


def unfold(
    input: Any, kernel_size: object, dilation: object = 1, padding: object = 0, stride: object = 1
) -> Any:
    """The windows of images as columns: (n, c, h, w) -> (n, c kh kw, places); n is optional."""
    size, spread, edge, step = (
        per_axis(one, 2) for one in (kernel_size, dilation, padding, stride)
    )
    if input.ndim == 3:
        return ops.squeeze(unfold(ops.expand_dims(input, 0), size, spread, edge, step), 0)
    x = ops.pad(input, [(0, 0), (0, 0), *((one, one) for one in edge)])
    windows = ops.transpose(ops.sliding_windows(x, size, step, spread), (0, 1, 4, 5, 2, 3))
    rows = x.shape[1] * size[0] * size[1]
    windows = ops.reshape(windows, (x.shape[0], rows, *windows.shape[4:]))
    return flattened(windows, 2)


def fold(
    input: Any,
    output_size: object,
    kernel_size: object,
    dilation: object = 1,
    padding: object = 0,
    stride: Any = 1,
) -> Any:
    """Columns added back into images, the adjoint of `unfold`: (n, c kh kw, places); n optional."""
    size, spread, edge, step = (
        per_axis(one, 2) for one in (kernel_size, dilation, padding, stride)
    )
    shape = per_axis(output_size, 2)
    if input.ndim == 2:
        return ops.squeeze(fold(ops.expand_dims(input, 0), shape, size, spread, edge, step), 0)
    counts = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(shape, edge, spread, size, step, strict=True)
    ]
    if input.shape[2] != counts[0] * counts[1]:
        raise AutogradError(
            f"Given output_size={shape}, kernel_size={size}, dilation={spread}, padding={edge}, "
            f"stride={step}, expected the size of the input's last dimension to be "
            f"{counts[0]} * {counts[1]} = {counts[0] * counts[1]}, but got {input.shape[2]}"
        )
    channels, rest = divmod(input.shape[1], size[0] * size[1])
    if rest:
        raise AutogradError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={input.shape[1]} and kernel_size={size}"
        )
    columns = ops.reshape(input, (input.shape[0], channels, *size, *counts))
    windows = ops.transpose(columns, (0, 1, 4, 5, 2, 3))
    whole = tuple(n + 2 * p for n, p in zip(shape, edge, strict=True))
    x = ops.overlap_add(windows, whole, step, spread)
    return x[:, :, edge[0] : edge[0] + shape[0], edge[1] : edge[1] + shape[1]]
