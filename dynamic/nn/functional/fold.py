"""Windows of images as columns, and columns added back into images, with PyTorch's refusals.

What is computed is `staticgraph.compiler.layers.folding`, which both paradigms share.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.layers.folding import folded, unfolded, window_counts
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.nn.functional.windows import per_axis
from staticgraph.dynamic.tensors.naming import called

__all__ = ["fold", "unfold"]


@called("Im2Col")
def unfold(
    input: Any, kernel_size: object, dilation: object = 1, padding: object = 0, stride: object = 1
) -> Any:
    """The windows of images as columns: (n, c, h, w) -> (n, c kh kw, places); n is optional.

    Example:
        >>> nn.functional.unfold(dynamic.arange(4.0).reshape(1, 2, 2), (1, 2))
        tensor([[0., 2.],
                [1., 3.]])
    """
    size, spread, edge, step = (
        per_axis(one, 2) for one in (kernel_size, dilation, padding, stride)
    )
    if input.ndim == 3:
        return ops.squeeze(unfold(ops.expand_dims(input, 0), size, spread, edge, step), 0)
    return unfolded(input, size, spread, edge, step)


@called("Col2Im")
def fold(
    input: Any,
    output_size: object,
    kernel_size: object,
    dilation: object = 1,
    padding: object = 0,
    stride: Any = 1,
) -> Any:
    """Columns added back into images, the adjoint of `unfold`: (n, c kh kw, places); n optional.

    Example:
        >>> nn.functional.fold(dynamic.ones((2, 2)), (1, 3), (1, 2))
        tensor([[[1., 2., 1.]]])
    """
    size, spread, edge, step = (
        per_axis(one, 2) for one in (kernel_size, dilation, padding, stride)
    )
    shape = per_axis(output_size, 2)
    if input.ndim == 2:
        return ops.squeeze(fold(ops.expand_dims(input, 0), shape, size, spread, edge, step), 0)
    counts = window_counts(shape, size, spread, edge, step)
    if differ((input.shape[2],), (counts[0] * counts[1],)):
        raise AutogradError(
            f"Given output_size={shape}, kernel_size={size}, dilation={spread}, padding={edge}, "
            f"stride={step}, expected the size of the input's last dimension to be "
            f"{counts[0]} * {counts[1]} = {counts[0] * counts[1]}, but got {input.shape[2]}"
        )
    if isinstance(input.shape[1], int) and input.shape[1] % (size[0] * size[1]):
        raise AutogradError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={input.shape[1]} and kernel_size={size}"
        )
    return folded(input, shape, size, spread, edge, step)
