"""Losses: which outputs of a graph are some, and what makes one that cannot teach.

What an op does to a loss is asked of graphs and of tapes, so in what both know: names and shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.notes import LossGradient, note, notes_of
from staticgraph.compiler.graph.traversal import ancestors

LOGITS: Mapping[str, tuple[str, ...]] = {
    "binary_cross_entropy_with_logits": ("sigmoid", "softmax"),
    "cross_entropy": ("softmax",),
    "log_softmax": ("softmax",),
}
"""Ops that make probabilities of operand 0, and those that have made probabilities already."""
_NORMALISED = ("log_softmax", "softmax")
NEVER_NEGATIVE = frozenset(("abs", "exp", "relu", "sigmoid", "softmax", "softplus", "square"))
"""Ops whose values are never below 0."""


def losses_of(outputs: Sequence[Expression], made: Sequence[Expression]) -> tuple[int, ...]:
    """The outputs that are one number, and of which a gradient among `made` is."""
    notes = notes_of(ancestors(made))
    known = {what.serial for _, what in notes if isinstance(what, LossGradient)}
    found = []
    for i, one in enumerate(outputs):
        while one.op.name == "stop_gradient" and one.serial not in known:
            one = one.operands[0]
        if one.serial in known and is_float(one.dtype):
            found.append(i)
    return tuple(found)


def note_loss(output: Expression, gradients: Sequence[Expression]) -> None:
    """Note of what these are the gradients, if that is one number."""
    if not output.ndim:
        of = LossGradient(output.serial)
        for one in gradients:
            note(one, of)


def logits_message(name: str, made: str, of: str) -> str:
    """What to say where `name` is given probabilities that `made` has made of `of`."""
    inside = "sigmoid" if name.startswith("binary") else "softmax"
    return (
        f"{name} of probabilities: it applies {inside} itself, and is given what {made} made of "
        f"{of}: no probability comes near 0 or 1: give it the logits"
    )


SUMS = ("add", "add_bias", "addmm")
PRODUCTS = ("conv1d", "conv2d", "conv3d", "matmul", "tensordot")
VIEWS = ("astype", "expand_dims", "reshape", "squeeze", "swapaxes", "t", "transpose")


def scores_message(name: str, made: str) -> str | None:
    """What to say where `nll_loss` is given what an op of this name makes; None if it may be meant.

    Args:
        name: of the op; one of `PRODUCTS` if it is a layer whose weights are trained.
        made: how the message names what it has made.
    """
    if name in NEVER_NEGATIVE:
        why = "which is never below 0, and the logarithm of a probability never above"
    elif name in PRODUCTS:
        why = "which has no bounds: the loss falls without end, and no class becomes more likely"
    else:
        return None
    return (
        f"nll_loss takes log-probabilities, and is given {made}, {why}: give it log_softmax(x) of "
        "the logits x, or those to cross_entropy"
    )


def relu_message(name: str, made: str) -> str:
    """What to say where `name` applies softmax to what a relu has made."""
    return (
        f"{name} of {made}: of all classes with a score below 0 it sees 0, and these get no "
        "gradient: give it what relu is given"
    )


def why_useless(attrs: Attrs, shape: Sequence[object]) -> str | None:
    """What to say of a layer_norm of what has this shape, with a bias that is learnt, or None."""
    if why_same("layer_norm", attrs, [shape], False) is None:
        return None
    return (
        "layer_norm over an axis of 1 element gives its bias, whatever it is given: nothing "
        "before it gets a gradient: normalize over an axis of more elements, or leave it out"
    )


def why_same(
    name: str, attrs: Attrs, shapes: Sequence[Sequence[object]], is_pair: bool
) -> str | None:
    """Why an op gives the same for all finite operands; None if it does not.

    Args:
        name, attrs: the op.
        shapes: of its operands, as far as they are known.
        is_pair: whether its first two operands are one value.
    """
    if name in ("subtract", "mse_loss"):
        return "of a value and itself" if is_pair else None
    if name in _NORMALISED:
        return _over_one(shapes[0], attrs["axis"])
    if name == "cross_entropy":
        return _over_one(shapes[0], 0 if len(shapes[0]) == 1 else 1)
    if name == "layer_norm":  # what is added to it is not looked at here
        count = attrs["axes"]
        is_one = count > 0 and all(size == 1 for size in shapes[0][-count:])
        return "over an axis of 1 element" if is_one else None
    return None


def sums_to_one(attrs: Attrs, softmax: Attrs, ndim: int) -> bool:
    """Whether a sum with these attributes is over the axis of a softmax with those."""
    axes = attrs.get("axes")
    return axes is None or softmax["axis"] % ndim in [one % ndim for one in axes]


def sums_to_zero(attrs: Attrs, mean: Attrs, ndim: int) -> bool:
    """Whether a sum or mean with these attributes, of x - mean(x), is over the axes of that mean.

    `ndim`: of x. A mean that drops some axes is broadcast: of that nothing is known.
    """
    outer, inner = (one.get("axes") for one in (attrs, mean))
    means = set(range(ndim)) if inner is None else {one % ndim for one in inner}
    if len(means) != ndim and not mean["keepdims"]:
        return False
    return outer is None or means <= {one % ndim for one in outer}


def are_crossed(first: Sequence[object], second: Sequence[object]) -> bool:
    """Whether by broadcasting each element of one meets each of the other: (n, 1) and (n,)."""
    if len(first) == len(second):
        return False  # as it is written where it is meant
    count = max(len(first), len(second))
    one, other = ((*((1,) * (count - len(shape))), *shape) for shape in (first, second))
    pairs = [*zip(one, other, strict=True)]
    return any(a == 1 and b != 1 for a, b in pairs) and any(b == 1 and a != 1 for a, b in pairs)


def _over_one(shape: Sequence[object], axis: int) -> str | None:
    return "over an axis of 1 element" if shape[axis] == 1 else None
