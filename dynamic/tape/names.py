"""PyTorch's names of the nodes of the tape, from the ops that made them."""

from __future__ import annotations

from typing import Any

from dynamic.core.eager_ops import is_all

_NAMES = {
    "abs": "Abs",
    "absolute": "Abs",
    "astype": "ToCopy",
    "avg_pool2d": "AvgPool2D",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogits",
    "broadcast_to": "Expand",
    "cholesky": "LinalgCholeskyEx",
    "concatenate": "Cat",
    "conv2d": "Convolution",
    "conv_transpose2d": "Convolution",
    "cross_entropy": "NllLoss",
    "deg2rad": "Deg2Rad",
    "det": "LinalgDet",
    "divide": "Div",
    "eigh": "LinalgEigh",
    "eigvalsh": "LinalgEigh",
    "embed": "ConstantPadNd",
    "expand_dims": "Unsqueeze",
    "inv": "LinalgInvEx",
    "layer_norm": "NativeLayerNorm",
    "leaky_relu": "LeakyRelu",
    "log1p": "Log1P",
    "logabsdet": "LinalgSlogdet",
    "log_softmax": "LogSoftmax",
    "max_pool2d": "MaxPool2DWithIndices",
    "mean_dim": "Mean",
    "mse_loss": "MseLoss",
    "mirrored": "Index",
    "multiply": "Mul",
    "negative": "Neg",
    "norm": "LinalgVectorNorm",
    "outer": "Mul",
    "picked": "Gather",
    "pinv": "LinalgPinv",
    "prelu": "PreluKernel",
    "prod_dim": "Prod",
    "put": "IndexPut",
    "qr": "LinalgQr",
    "rad2deg": "Rad2Deg",
    "reshape": "View",
    "solve": "LinalgSolveEx",
    "square": "Pow",
    "squeeze_dim": "Squeeze",
    "strided_slice": "Slice",
    "subtract": "Sub",
    "sum_dim": "Sum",
    "svd": "LinalgSvd",
    "svdvals": "LinalgSvd",
    "swap": "Transpose",
    "take": "Index",
    "take_along_axis": "Gather",
    "transpose": "Permute",
    "vector_norm": "LinalgVectorNorm",
}
"""Ops whose PyTorch name is not the op's own in capitals."""

_SERIES = {"clamp": 1, "fill": 2, "mean_dim": 1, "prod_dim": 1, "squeeze_dim": 1, "sum_dim": 1}
"""The number after the name where it is not 0."""


def node_name(node: Any) -> str:
    """PyTorch's name of the node of an op, such as AddBackward0."""
    op = node.recipe.op.name
    special = _SPECIAL.get(op)
    if special is not None:
        return str(special(node))
    return f"{stem_of(op)}Backward{_SERIES.get(op, 0)}"


def stem_of(op: str) -> str:
    """PyTorch's name of the nodes of an op, without `Backward` and the number behind it."""
    return _NAMES.get(op) or "".join(part.capitalize() for part in op.split("_"))


def _reduction(stem: str) -> Any:
    def name(node: Any) -> str:
        return f"{stem}Backward{0 if _whole(node) else 1}"

    return name


def _whole(node: Any) -> bool:
    """Whether a reduction went over all axes."""
    return not node.shape and not node.attrs["keepdims"]


def _extremum(stem: str) -> Any:
    def name(node: Any) -> str:
        if node.attrs["ties"] == "first":
            return f"{stem}Backward0"
        return f"{stem}Backward1" if _whole(node) else f"A{stem.lower()}Backward0"

    return name


def _subtract(node: Any) -> str:
    return "RsubBackward1" if node.recipe.number and node.edges[0] is None else "SubBackward0"


def _divide(node: Any) -> str:
    # a number divided by a tensor is the number times the reciprocal
    return "MulBackward0" if node.recipe.number and node.edges[0] is None else "DivBackward0"


def _overloaded(stem: str, tensors: int, number: int, number_first: int | None = None) -> Any:
    """The name whose number depends on which of two operands is a Python number."""

    def name(node: Any) -> str:
        series = tensors if not node.recipe.number else number
        if number_first is not None and node.recipe.number and node.edges[0] is None:
            series = number_first
        return f"{stem}Backward{series}"

    return name


def _matmul(node: Any) -> str:
    saved = node.saved or (None, None)
    first, second = (
        edge.ndim if edge is not None else 2 if kept is None else kept.ndim
        for edge, kept in zip(node.edges, saved[:2], strict=True)
    )
    known = {(1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm"}
    if (first, second) == (1, 2):
        return "SqueezeBackward4"
    return f"{known.get((first, second), 'UnsafeView')}Backward0"


def _select(node: Any) -> str:
    """PyTorch indexes axis by axis: the name is that of the last step that changes anything.

    Of several slices those of a whole axis change nothing; a slice alone always counts, and so does
    that of `narrow`, whose key is without the ellipsis that all others have.
    """
    keys = node.attrs["key"]
    if not isinstance(keys, tuple) or not any(key is Ellipsis for key in keys):
        return "SliceBackward0"
    shape = node.edges[0].shape
    axis, name = 0, "Alias"
    for key in keys:
        if key is Ellipsis:
            axis += len(shape) - sum([one is not None and one is not Ellipsis for one in keys])
        elif key is None:
            name = "Unsqueeze"
        else:
            if not isinstance(key, slice):
                name = "Select"
            elif not is_all(key, shape[axis]):
                name = "Slice"
            axis += 1
    return f"{name}Backward0"


_COPY = "torch::autograd::CopyBackwards"
_SPECIAL = {
    "sum": _reduction("Sum"),
    "mean": _reduction("Mean"),
    "prod": _reduction("Prod"),
    "max": _extremum("Max"),
    "min": _extremum("Min"),
    "subtract": _subtract,
    "divide": _divide,
    "power": _overloaded("Pow", 1, 0, 2),
    "remainder": _overloaded("Remainder", 1, 0),
    "fmod": _overloaded("Fmod", 1, 0),
    "copysign": _overloaded("Copysign", 0, 1),
    "xlogy": _overloaded("Xlogy", 0, 2, 1),
    "matmul": _matmul,
    "select": _select,
    "copy": lambda node: _COPY,
    "fill_of_tensor": lambda node: "FillBackward3" if node.shape else _COPY,
}
