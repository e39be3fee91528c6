"""What PyTorch calls an op, and where it differs from the record: the only table of that.

An op that has no row is called in PyTorch as it is here, its operands are `self` and `other`, and
it has no methods of its own. What is made from the rows: names of nodes and of what they keep,
operators and in-place methods, which ops make views, and which derivatives are derived again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.own_ops import VERSION
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.ops.fourier import dft, real_dft, real_inverse_dft
from staticgraph.dynamic.core import (
    eager_losses,
    eager_ops,
    eager_pooling,
    gates,
    node_names as names,
    shape_texts,
)
from staticgraph.dynamic.core.errors import NothingError, SizeError


@frozen
class PyTorchOp:
    """What PyTorch calls an op, and where it differs from the record.

    Attributes:
        node: the name of its node without `Backward` and the number; the op's own in capitals if
            "". A function of the node where it depends on more than the op: the whole name.
        series: the number behind the name.
        operands: the names of the operands.
        numbers: those of them that are kept as numbers if they are given as such, and are no
            operands of the node then.
        order: the positions of the operands in PyTorch's order, of those that it has.
        options: functions of the node: what it keeps beside tensors.
        operator: Python's name of the operator, without the underscores.
        methods: other names of methods that are the op of two tensors.
        in_place: the methods that overwrite the tensor, without the underscore behind.
        view: the value may share the memory of the operand, and is then a view of it.
        bent: the derivative is constant or has constant pieces, and is derived again all the same.
        places: puts numbers among elements, whose dtype must have a place for them.
        called: its own name where tensors have the op under another one, for messages.
        misfit: what PyTorch says of two shapes that do not fit.
        of_some: there is none of no elements.
        renews: keeps its operand alone, so that the output may be overwritten.
        one_dtype: what to say of floating operands of different dtypes, which PyTorch refuses:
            a key of `dynamic.tensors.mixed.TEXTS`. "" for promotion.
        absorbs: the position of an operand whose node is one with this one: its operands are
            shown instead, behind the others.
        whole: what the op, which is of floating numbers, is of integers: "same" if they stay, else
            what PyTorch says, or the name of the kernel that it misses. "" if they are cast.
        counts: booleans are counted, as integers.
        of_truth: numbers of any dtype are taken for whether they are 0.
        of_numbers: a number, which has no axes, is taken as a vector where an axis is given.
    """

    node: str | Callable[[Any], str] = ""
    series: int = 0
    operands: tuple[str, ...] = ("self", "other")
    numbers: tuple[str, ...] = ()
    order: Callable[[Any], tuple[int, ...]] | None = None
    options: tuple[Callable[[Any], dict[str, Any]], ...] = ()
    operator: str = ""
    methods: tuple[str, ...] = ()
    in_place: tuple[str, ...] = ()
    view: bool = False
    bent: bool = False
    places: bool = False
    called: str = ""
    misfit: Callable[[Any, Any], str] | None = None
    of_some: bool = False
    renews: bool = False
    one_dtype: str = ""
    absorbs: int | None = None
    whole: str = ""
    counts: bool = False
    of_truth: bool = False
    of_numbers: bool = False


_SPREAD = "std and var only support floating point and complex dtypes"
_NORM = "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}"

PYTORCH: dict[Op, PyTorchOp] = {
    ops.equal: PyTorchOp(operator="eq", methods=("eq",), in_place=("eq",)),
    ops.not_equal: PyTorchOp(operator="ne", methods=("ne",), in_place=("ne", "not_equal")),
    ops.less: PyTorchOp(operator="lt", methods=("lt",), in_place=("lt", "less")),
    ops.less_equal: PyTorchOp(operator="le", methods=("le",), in_place=("le", "less_equal")),
    ops.greater: PyTorchOp(operator="gt", methods=("gt",), in_place=("gt", "greater")),
    ops.greater_equal: PyTorchOp(operator="ge", methods=("ge",), in_place=("ge", "greater_equal")),
    ops.logical_and: PyTorchOp(in_place=("logical_and",)),
    ops.logical_or: PyTorchOp(in_place=("logical_or",)),
    ops.logical_xor: PyTorchOp(in_place=("logical_xor",)),
    ops.logical_not: PyTorchOp(in_place=("logical_not",), of_truth=True),
    ops.where: PyTorchOp(operands=("condition", "self", "other"), places=True),
    ops.astype: PyTorchOp("ToCopy"),
    ops.copy: PyTorchOp(names.copy),
    ops.add: PyTorchOp(order=names.number_last, options=(names.scaled,), operator="add"),
    ops.subtract: PyTorchOp(
        names.subtract, order=names.without_minuend, options=(names.scaled,), operator="sub"
    ),
    ops.multiply: PyTorchOp(
        "Mul",
        order=names.number_last,
        operator="mul",
        methods=("mul",),
        in_place=("mul", "multiply"),
    ),
    ops.divide: PyTorchOp(
        names.divide,
        order=names.number_last,
        operator="truediv",
        methods=("div", "divide", "true_divide"),
    ),
    ops.floor_divide: PyTorchOp(in_place=("floor_divide",)),
    ops.remainder: PyTorchOp(
        names.overloaded("Remainder", 1, 0), numbers=("self", "other"), in_place=("remainder",)
    ),
    ops.fmod: PyTorchOp(
        names.overloaded("Fmod", 1, 0), numbers=("self", "other"), in_place=("fmod",)
    ),
    ops.negative: PyTorchOp("Neg", in_place=("neg", "negative")),
    ops.square: PyTorchOp("Pow", in_place=("square",), counts=True),
    ops.reciprocal: PyTorchOp(in_place=("reciprocal",)),
    ops.power: PyTorchOp(
        names.overloaded("Pow", 1, 0, 2),
        operands=("self", "exponent"),
        numbers=("self", "exponent"),
        operator="pow",
        methods=("pow",),
        in_place=("pow",),
    ),
    ops.sign: PyTorchOp(in_place=("sign", "sgn")),
    ops.conjugate: PyTorchOp("Conj"),
    ops.real_part: PyTorchOp("Real", view=True),
    ops.imaginary_part: PyTorchOp("Imag", view=True),
    ops.make_complex: PyTorchOp("Complex", operands=("real", "imag")),
    ops.view_as_real: PyTorchOp(view=True),
    ops.view_as_complex: PyTorchOp(view=True),
    ops.abs: PyTorchOp("Abs", in_place=("abs", "absolute")),
    ops.copysign: PyTorchOp(
        names.overloaded("Copysign", 0, 1), numbers=("other",), in_place=("copysign",)
    ),
    ops.maximum: PyTorchOp(methods=("maximum",)),
    ops.minimum: PyTorchOp(methods=("minimum",)),
    ops.hypot: PyTorchOp(in_place=("hypot",)),
    ops.heaviside: PyTorchOp(in_place=("heaviside",)),
    ops.gcd: PyTorchOp(in_place=("gcd",)),
    ops.lcm: PyTorchOp(in_place=("lcm",)),
    ops.floor: PyTorchOp(in_place=("floor",), whole="same"),
    ops.ceil: PyTorchOp(in_place=("ceil",), whole="same"),
    ops.trunc: PyTorchOp(in_place=("trunc", "fix"), whole="same"),
    ops.round: PyTorchOp(whole="same"),
    ops.frac: PyTorchOp(in_place=("frac",), whole="frac_cpu"),
    ops.sqrt: PyTorchOp(in_place=("sqrt",)),
    ops.rsqrt: PyTorchOp(in_place=("rsqrt",)),
    ops.exp: PyTorchOp(in_place=("exp",)),
    ops.exp2: PyTorchOp(in_place=("exp2",)),
    ops.expm1: PyTorchOp(in_place=("expm1",)),
    ops.log: PyTorchOp(in_place=("log",)),
    ops.log2: PyTorchOp(in_place=("log2",)),
    ops.log10: PyTorchOp(in_place=("log10",)),
    ops.log1p: PyTorchOp("Log1P", in_place=("log1p",)),
    ops.sin: PyTorchOp(in_place=("sin",)),
    ops.cos: PyTorchOp(in_place=("cos",)),
    ops.tan: PyTorchOp(in_place=("tan",)),
    ops.asin: PyTorchOp(in_place=("asin", "arcsin")),
    ops.acos: PyTorchOp(in_place=("acos", "arccos")),
    ops.atan: PyTorchOp(in_place=("atan", "arctan")),
    ops.sinh: PyTorchOp(in_place=("sinh",)),
    ops.cosh: PyTorchOp(in_place=("cosh",)),
    ops.tanh: PyTorchOp(in_place=("tanh",)),
    ops.asinh: PyTorchOp(in_place=("asinh", "arcsinh")),
    ops.acosh: PyTorchOp(in_place=("acosh", "arccosh")),
    ops.atanh: PyTorchOp(in_place=("atanh", "arctanh")),
    ops.erf: PyTorchOp(in_place=("erf",)),
    ops.erfc: PyTorchOp(in_place=("erfc",)),
    ops.erfinv: PyTorchOp(in_place=("erfinv",)),
    ops.sigmoid: PyTorchOp(in_place=("sigmoid",)),
    ops.atan2: PyTorchOp(methods=("atan2",), in_place=("atan2", "arctan2")),
    ops.reshape: PyTorchOp("View", view=True),
    ops.broadcast_to: PyTorchOp("Expand", view=True),
    ops.transpose: PyTorchOp("Permute", options=(names.axes,), view=True),
    ops.expand_dims: PyTorchOp("Unsqueeze", options=(names.first_axis,), view=True),
    ops.squeeze: PyTorchOp(view=True),
    ops.flip: PyTorchOp(options=(names.axes,), of_numbers=True),
    ops.sum: PyTorchOp(names.reduction("Sum")),
    ops.prod: PyTorchOp(names.reduction("Prod")),
    ops.max: PyTorchOp(names.extremum("Max"), options=(names.reduced,), of_some=True),
    ops.min: PyTorchOp(names.extremum("Min"), options=(names.reduced,), of_some=True),
    ops.argmax: PyTorchOp(of_numbers=True, of_some=True),
    ops.argmin: PyTorchOp(of_numbers=True, of_some=True),
    ops.mean: PyTorchOp(names.reduction("Mean")),
    ops.var: PyTorchOp(options=(names.same("correction"), names.reduced), whole=_SPREAD),
    ops.std: PyTorchOp(options=(names.same("correction"), names.reduced), whole=_SPREAD),
    ops.logsumexp: PyTorchOp(options=(names.reduced,), of_numbers=True),
    ops.concatenate: PyTorchOp("Cat", options=(names.along,)),
    ops.strided_slice: PyTorchOp("Slice", view=True),
    ops.embed: PyTorchOp("ConstantPadNd"),
    ops.matmul: PyTorchOp(
        names.matmul,
        operator="matmul",
        methods=("matmul",),
        misfit=shape_texts.product,
        one_dtype="by rank",
    ),
    ops.dot: PyTorchOp(misfit=shape_texts.dot, operands=("self", "tensor"), one_dtype="by rank"),
    ops.outer: PyTorchOp("Mul"),
    ops.attention: PyTorchOp("ScaledDotProductFlashAttentionForCpu"),
    ops.conv2d: PyTorchOp(
        "Convolution",
        one_dtype="bias first",
        operands=("input", "weight", "bias"),
        options=(names.same("stride", "padding", "dilation", "groups"),),
    ),
    ops.max_pool2d: PyTorchOp("MaxPool2DWithIndices", bent=True, renews=True),
    ops.avg_pool2d: PyTorchOp("AvgPool2D", bent=True),
    ops.conv_transpose2d: PyTorchOp(
        "Convolution",
        one_dtype="expected",
        operands=("input", "weight", "bias"),
        options=(names.same("stride", "padding", "dilation", "groups", "output_padding"),),
    ),
    ops.take: PyTorchOp("Index", operands=("self", "index")),
    ops.take_along_axis: PyTorchOp("Gather", operands=("self", "index"), options=(names.along,)),
    ops.cumsum: PyTorchOp(options=(names.along,)),
    ops.cumprod: PyTorchOp(options=(names.along,)),
    ops.relu: PyTorchOp(in_place=("relu",), bent=True),
    ops.leaky_relu: PyTorchOp(
        "LeakyRelu", options=(names.same("negative_slope"),), bent=True, whole="leaky_relu_cpu"
    ),
    ops.elu: PyTorchOp(options=(names.same("alpha"),), whole="elu_cpu"),
    ops.gelu: PyTorchOp(options=(names.same("approximate"),), whole="GeluKernelImpl"),
    ops.silu: PyTorchOp(whole="silu_cpu"),
    ops.softplus: PyTorchOp(whole="softplus_cpu"),
    ops.clamp: PyTorchOp(
        series=1, operands=("self", "min", "max"), numbers=("min", "max"), places=True
    ),
    ops.softmax: PyTorchOp(options=(names.along,), whole="softmax_lastdim_kernel_impl"),
    ops.log_softmax: PyTorchOp(
        "LogSoftmax", options=(names.along,), whole="log_softmax_lastdim_kernel_impl"
    ),
    ops.layer_norm: PyTorchOp(
        "NativeLayerNorm",
        operands=("input", "weight", "bias"),
        options=(names.normalised,),
        one_dtype="all inputs",
    ),
    ops.cross_entropy: PyTorchOp("NllLoss", operands=("self", "target"), options=(names.mode,)),
    ops.mse_loss: PyTorchOp("MseLoss", operands=("self", "target"), options=(names.mode,)),
    ops.binary_cross_entropy_with_logits: PyTorchOp(
        "BinaryCrossEntropyWithLogits", operands=("self", "target"), options=(names.mode,)
    ),
    ops.hardtanh: PyTorchOp(bent=True),
    ops.threshold: PyTorchOp(bent=True),
    ops.softshrink: PyTorchOp(bent=True),
    ops.hardshrink: PyTorchOp(bent=True),
    ops.hardsigmoid: PyTorchOp(bent=True),
    ops.prelu: PyTorchOp("PreluKernel", bent=True),
    ops.put: PyTorchOp("IndexPut"),
    ops.sinc: PyTorchOp(in_place=("sinc",), renews=True),
    ops.lgamma: PyTorchOp(in_place=("lgamma",)),
    ops.digamma: PyTorchOp(in_place=("digamma",)),
    ops.polygamma: PyTorchOp(options=(names.same("n"),)),
    ops.xlogy: PyTorchOp(
        names.overloaded("Xlogy", 0, 2, 1), numbers=("self", "other"), in_place=("xlogy",)
    ),
    ops.logit: PyTorchOp(options=(names.same("eps"),), in_place=("logit",)),
    ops.deg2rad: PyTorchOp("Deg2Rad", in_place=("deg2rad",)),
    ops.rad2deg: PyTorchOp("Rad2Deg", in_place=("rad2deg",)),
    ops.inv: PyTorchOp("LinalgInvEx"),
    ops.expm: PyTorchOp("LinalgMatrixExp"),
    ops.solve_matrices: PyTorchOp("LinalgSolveEx"),
    ops.solve_triangular: PyTorchOp("LinalgSolveTriangular"),
    ops.det: PyTorchOp("LinalgDet"),
    ops.logabsdet: PyTorchOp("LinalgSlogdet"),
    ops.cholesky_factor: PyTorchOp("LinalgCholeskyEx"),
    ops.pinv: PyTorchOp("LinalgPinv"),
    ops.eigh_factors: PyTorchOp("LinalgEigh"),
    ops.eigvalsh: PyTorchOp("LinalgEigh"),
    ops.svd_factors: PyTorchOp("LinalgSvd"),
    ops.svdvals: PyTorchOp("LinalgSvd"),
    ops.qr_factors: PyTorchOp("LinalgQr"),
    ops.vector_norm: PyTorchOp("LinalgVectorNorm", options=(names.reduced,), whole=_NORM),
    dft: PyTorchOp(names.fourier),
    real_dft: PyTorchOp("FftR2C"),
    real_inverse_dft: PyTorchOp("FftC2R"),
    eager_ops.select: PyTorchOp(names.select, view=True),
    eager_ops.copy: PyTorchOp(names.copy),
    eager_ops.fill: PyTorchOp(series=2),
    eager_ops.fill_of_tensor: PyTorchOp(names.fill),
    eager_ops.fill_where: PyTorchOp(operands=("self", "mask", "value")),
    eager_ops.norm: PyTorchOp("LinalgVectorNorm", options=(names.reduced,), whole=_NORM),
    eager_ops.stack: PyTorchOp(options=(names.along,)),
    eager_ops.transpose_2d: PyTorchOp(view=True),
    eager_ops.swap: PyTorchOp("Transpose", options=(names.exchanged,), view=True),
    eager_ops.squeeze_dim: PyTorchOp("Squeeze", series=1, options=(names.first_axis,), view=True),
    eager_ops.sum_dim: PyTorchOp("Sum", series=1, options=(names.reduced,), called="sum"),
    eager_ops.mean_dim: PyTorchOp("Mean", series=1, options=(names.reduced,), called="mean"),
    eager_ops.prod_dim: PyTorchOp("Prod", series=1, options=(names.reduced,), called="prod"),
    eager_ops.index_select: PyTorchOp(operands=("self", "index"), options=(names.along,)),
    eager_ops.masked_fill: PyTorchOp(
        names.masked_fill, operands=("mask", "value", "self"), order=names.filled
    ),
    gates.gru_gates: PyTorchOp("Add"),
    eager_ops.distances: PyTorchOp("Cdist", operands=("x1", "x2")),
    eager_ops.bmm: PyTorchOp(
        operands=("self", "mat2"), called="bmm", misfit=shape_texts.batches, one_dtype="expected"
    ),
    eager_ops.add_bias: PyTorchOp(names.linear, order=names.bias_first, absorbs=0),
    eager_ops.largest_at: PyTorchOp("Max", operands=("self", "indices"), options=(names.chosen,)),
    eager_ops.smallest_at: PyTorchOp("Min", operands=("self", "indices"), options=(names.chosen,)),
    eager_ops.gathered: PyTorchOp(operands=("self", "index"), options=(names.along,)),
    eager_ops.picked: PyTorchOp("Gather", bent=True),
    eager_losses.nll_loss: PyTorchOp(
        "NllLoss", operands=("self", "target"), options=(names.mode,), bent=True
    ),
    eager_pooling.max_pooled: PyTorchOp(names.pooling, bent=True),
    eager_pooling.avg_pooled: PyTorchOp(names.pooling, bent=True),
    eager_pooling.avg_shares: PyTorchOp(names.pooling_back, bent=True),
    **dict.fromkeys((eager_ops.mirrored, eager_ops.mirrored_lines), PyTorchOp("Index", bent=True)),
}
"""Shared ops in the order of their declaration, then those of this engine."""

_USUAL = PyTorchOp()


def known(op: Op) -> PyTorchOp:
    """The row of an op, or the usual one."""
    return PYTORCH.get(op, _USUAL)


def stem_of(op: Op) -> str:
    """The name of the nodes of an op, without `Backward` and the number behind it."""
    node = known(op).node
    if isinstance(node, str) and node:
        return node
    name = op.name.rpartition(".")[2].partition(VERSION)[0]  # a user's op has its module before
    return "".join(part.capitalize() for part in name.split("_"))


def node_name(node: Any) -> str:
    """PyTorch's name of the node of an op, such as AddBackward0."""
    op = node.recipe.op
    row = known(op)
    return row.node(node) if callable(row.node) else f"{stem_of(op)}Backward{row.series}"


def operands_shown(node: Any) -> tuple[int, ...]:
    """The positions of the operands that PyTorch's node has, as it orders them.

    Those are the tensors that may have a gradient: no indices, masks, or numbers.
    """
    op, edges = node.recipe.op, node.edges
    row = known(op)
    if row.order is not None:
        return row.order(node)
    every = range(len(edges))
    if row.numbers and node.recipe.number:
        names = row.operands
        return tuple([i for i in every if edges[i] is not None or names[i] not in row.numbers])
    return tuple([i for i in every if edges[i] is not None or op.rule_of(i, False) is not None])


def in_pytorchs_words(op: Op, shapes: Sequence[tuple[Any, ...]], text: str) -> str:
    """The message of an op's error, in the op's own name, after what PyTorch says if anything."""
    row = known(op)
    if row.of_some and "no element" in text:
        return (
            f"{op.name}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
            f"the reduction dim with the 'dim' argument: {text}"
        )
    misfit = row.misfit or (shape_texts.pair if "do not broadcast" in text else None)
    first = misfit(*shapes) if misfit is not None and len(shapes) == 2 else ""
    head, _, rest = text.partition(": ")
    if head.isidentifier():
        text = f"{called(op) or head}: {rest}"
    return f"{first}: {text}" if first else text


def called(op: Op) -> str:
    """PyTorch's name of an op, where it has one of its own."""
    row = known(op)
    return row.called or (*row.methods, row.operator)[0]


def size_error(op: Op, arrays: Sequence[Any], error: Exception) -> SizeError:
    """The error of an op whose operands have shapes that do not fit."""
    shapes = [tuple(array.shape) for array in arrays]
    kind = NothingError if known(op).of_some else SizeError
    return kind(in_pytorchs_words(op, shapes, str(error)))


VIEWS = frozenset(op for op, row in PYTORCH.items() if row.view)
BENT = frozenset(op for op, row in PYTORCH.items() if row.bent)
RENEWED = frozenset(op for op, row in PYTORCH.items() if row.renews)
PLACING = frozenset(op for op, row in PYTORCH.items() if row.places)
TOTALS = frozenset({
    ops.sum, ops.prod, ops.cumsum, ops.cumprod, eager_ops.sum_dim, eager_ops.prod_dim,
})  # fmt: skip
"""What adds or multiplies elements: those of integers as int64, where arrays have uint64 too."""
