"""PyTorch's names of the nodes of the tape, from the ops that made them."""

from __future__ import annotations

from typing import Any

_NAMES = {
    "abs": "Abs",
    "absolute": "Abs",
    "astype": "ToCopy",
    "avg_pool2d": "AvgPool2D",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogits",
    "broadcast_to": "Expand",
    "concatenate": "Cat",
    "conv2d": "Convolution",
    "conv_transpose2d": "Convolution",
    "cross_entropy": "NllLoss",
    "deg2rad": "Deg2Rad",
    "divide": "Div",
    "embed": "ConstantPadNd",
    "expand_dims": "Unsqueeze",
    "layer_norm": "NativeLayerNorm",
    "leaky_relu": "LeakyRelu",
    "log1p": "Log1P",
    "log_softmax": "LogSoftmax",
    "max_pool2d": "MaxPool2DWithIndices",
    "mean_dim": "Mean",
    "mse_loss": "MseLoss",
    "multiply": "Mul",
    "negative": "Neg",
    "norm": "LinalgVectorNorm",
    "outer": "Mul",
    "prod_dim": "Prod",
    "rad2deg": "Rad2Deg",
    "reshape": "View",
    "square": "Pow",
    "squeeze_dim": "Squeeze",
    "strided_slice": "Slice",
    "subtract": "Sub",
    "sum_dim": "Sum",
    "swap": "Transpose",
    "take": "Index",
    "take_along_axis": "Gather",
    "transpose": "Permute",
}
"""Ops whose PyTorch name is not the op's own in capitals."""

_SERIES = {"clamp": 1, "mean_dim": 1, "prod_dim": 1, "squeeze_dim": 1, "sum_dim": 1}
"""The number after the name where it is not 0."""


def node_name(node: Any) -> str:
    """PyTorch's name of the node of an op, such as AddBackward0."""
    op = node.recipe.op.name
    special = _SPECIAL.get(op)
    if special is not None:
        return str(special(node))
    stem = _NAMES.get(op) or "".join(part.capitalize() for part in op.split("_"))
    return f"{stem}Backward{_SERIES.get(op, 0)}"


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
    """PyTorch indexes axis by axis: the name is that of the last step that changes anything."""
    keys = node.attrs["key"]
    for key in reversed(keys if isinstance(keys, tuple) else (keys,)):
        if key is None:
            return "UnsqueezeBackward0"
        if isinstance(key, slice):
            if key != slice(None):
                return "SliceBackward0"
        elif key is not Ellipsis:
            return "SelectBackward0"
    return "AliasBackward0"


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
    "copy": lambda node: "torch::autograd::CopyBackwards",
}
