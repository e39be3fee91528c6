"""Of PyTorch's names of nodes, and of what they keep, those that depend on more than the op.

Each function takes a node of the tape: `dynamic.core.pytorch` says of which ops.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.core.eager_ops import is_all

Options = dict[str, Any]


def reduction(stem: str) -> Any:
    """Another number behind the name where an axis stays."""

    def name(node: Any) -> str:
        return f"{stem}Backward{0 if _whole(node) else 1}"

    return name


def _whole(node: Any) -> bool:
    """Whether a reduction went over all axes."""
    return not node.shape and not node.attrs["keepdims"]


def extremum(stem: str) -> Any:
    """Those of `max(dim)`, `max()` and `amax(dim)`."""

    def name(node: Any) -> str:
        ties = node.attrs["ties"]
        if ties == "first":
            return f"{stem}Backward0"
        return f"{stem}Backward1" if ties == "all" else f"A{stem.lower()}Backward0"

    return name


def subtract(node: Any) -> str:
    """That of a number less a tensor has another name."""
    return "RsubBackward1" if node.recipe.number and node.edges[0] is None else "SubBackward0"


def divide(node: Any) -> str:
    """A number divided by a tensor is the number times the reciprocal."""
    return "MulBackward0" if node.recipe.number and node.edges[0] is None else "DivBackward0"


def overloaded(stem: str, tensors: int, number: int, number_first: int | None = None) -> Any:
    """The name whose number depends on which of two operands is a Python number."""

    def name(node: Any) -> str:
        series = tensors if not node.recipe.number else number
        if number_first is not None and node.recipe.number and node.edges[0] is None:
            series = number_first
        return f"{stem}Backward{series}"

    return name


def fourier(node: Any) -> str:
    """The name of a transform by what it is of: real numbers are cast first here."""
    given = node.edges[0]
    recipe = getattr(given, "recipe", None)
    if recipe is not None and recipe.op is ops.astype:
        given = given.edges[0]
    return f"Fft{'C' if given.dtype.kind == 'c' else 'R'}2CBackward0"


def number_last(node: Any) -> tuple[int, ...]:
    """A number in front of a tensor comes behind it."""
    return (1, 0) if node.recipe.number and node.edges[0] is None else (0, 1)


def without_minuend(node: Any) -> tuple[int, ...]:
    """A number that a tensor is taken from is no operand."""
    return (1,) if node.recipe.number and node.edges[0] is None else (0, 1)


def filled(node: Any) -> tuple[int, ...]:
    """The value that fills a tensor comes behind it, and counts where it has a gradient."""
    return (2,) if node.edges[1] is None else (2, 1)


def masked_fill(node: Any) -> str:
    """Another number behind the name where the value has a gradient."""
    return f"MaskedFillBackward{0 if node.edges[1] is None else 1}"


def linear(node: Any) -> str:
    """What adds a bias to a product is one node with it, of more axes a view of its result."""
    return "AddmmBackward0" if len(node.shape) == 2 else "ViewBackward0"


def pooling(node: Any) -> str:
    """What the function is called that found the windows."""
    return f"{node.attrs['kind']}Backward0"


def pooling_back(node: Any) -> str:
    """The node of a node of `pooling`."""
    return f"{node.attrs['kind']}BackwardBackward0"


def bias_first(node: Any) -> tuple[int, ...]:
    """The bias, then the product; of more axes the product alone."""
    return (1, 0) if len(node.shape) == 2 else (0,)


def matmul(node: Any) -> str:
    """Those of the products of vectors and matrices."""
    saved = node.saved or (None, None)
    first, second = (
        edge.ndim if edge is not None else 2 if kept is None else kept.ndim
        for edge, kept in zip(node.edges, saved[:2], strict=True)
    )
    known = {(1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm"}
    if (first, second) == (1, 2):
        return "SqueezeBackward4"
    return f"{known.get((first, second), 'UnsafeView')}Backward0"


def select(node: Any) -> str:
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


def copy(node: Any) -> str:
    """The only name with a namespace."""
    return _COPY


def fill(node: Any) -> str:
    """A number is filled by a copy."""
    return "FillBackward3" if node.shape else _COPY


# -- what nodes keep beside tensors ------------------------------------------------------------


def same(*names: str) -> Any:
    """The attributes that have PyTorch's names."""
    return lambda node: {name: node.attrs[name] for name in names}


def reduced(node: Any) -> Options:
    """The axes of a reduction; nothing of an extremum of all elements."""
    attrs = node.attrs
    first = attrs.get("ties") == "first"
    if attrs.get("ties") == "all":
        return {}
    return {"dim": attrs["axes"][0] if first else attrs["axes"], "keepdim": attrs["keepdims"]}


def chosen(node: Any) -> Options:
    """The axis that something was found along."""
    return {"dim": node.attrs["axes"][0], "keepdim": node.attrs["keepdims"]}


def along(node: Any) -> Options:
    """The only axis."""
    return {"dim": node.attrs["axis"]}


def first_axis(node: Any) -> Options:
    """The first of the axes."""
    return {"dim": node.attrs["axes"][0]}


def axes(node: Any) -> Options:
    """All axes."""
    return {"dims": node.attrs["axes"]}


def exchanged(node: Any) -> Options:
    """The two axes that a permutation moves."""
    moved = [i for i, axis in enumerate(node.attrs["axes"]) if axis != i] or [0, 0]
    return {"dim0": moved[0], "dim1": moved[-1]}


def normalised(node: Any) -> Options:
    """The sizes of the last axes."""
    return {"normalized_shape": tuple(node.shape[-node.attrs["axes"] :])}


def scaled(node: Any) -> Options:
    """What the second operand was multiplied by before."""
    return {"alpha": 1}


def mode(node: Any) -> Options:
    """The reduction of a loss, as PyTorch numbers them."""
    return {"reduction": ("none", "mean", "sum").index(node.attrs["reduction"])}
