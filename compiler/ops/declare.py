"""Constructors of declarations for the families of ops, and what all gradient rules share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dims import Dim, Size, product
from staticgraph.compiler.core.dtypes import part_dtype, promoted
from staticgraph.compiler.core.errors import GraphError, OptionError
from staticgraph.compiler.core.lowering import Pointwise, Reduce
from staticgraph.compiler.core.op import (
    Attrs,
    BatchRule,
    Cost,
    Domain,
    Linearity,
    Meaning,
    Op,
    Operand,
    Rule,
    Sweep,
    op_named,
    register,
)
from staticgraph.compiler.core.types import (
    DType,
    TensorType,
    broadcast_shapes,
    normalise_axes,
    require_float,
    require_same_dtype,
)
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import aligned, shifted
from staticgraph.compiler.reference.totals import total

BOOL = np.dtype(np.bool_)
INT64 = np.dtype(np.int64)


def unbroadcast(g: Value, operand: Value) -> Value:
    """Sum the cotangent of a broadcast operand back to the operand's shape."""
    shape, target = g.shape, operand.shape
    if shape == target:
        return g
    extra = len(shape) - len(target)
    if shape[extra:] == target and type(g) is np.ndarray:
        return total(g, tuple(range(extra)), False)
    leading = tuple(range(extra))
    ones = tuple(
        [i + extra for i, size in enumerate(target) if size == 1 and shape[i + extra] != 1]
    )
    if type(g) is np.ndarray and ones:
        return total(g, leading + ones, True).reshape(target)
    if not ones:
        return op_named("sum").bound((g,), {"axes": leading, "keepdims": False})
    g = op_named("sum").bound((g,), {"axes": leading + ones, "keepdims": True})
    return op_named("squeeze").bound((g,), {"axes": leading}) if extra else g


def elementwise(
    name: str,
    function: Callable[..., object],
    code: str,
    *,
    arity: int,
    vjp: tuple[Rule | None, ...] = (),
    saves: tuple[str, ...] = (),
    vjp_arrays: Callable[..., Sequence[object]] | None = None,
    result: np.dtype[Any] | None = None,
    check: Callable[..., None] | None = None,
    cost: Cost = "cheap",
    linearity: Linearity = "diagonal",
    domain: Domain = "all",
    smooth: bool = True,
    exact: bool = False,
    floating: bool = False,
    commutative: bool = False,
    alone: bool = False,
    of_parts: bool = False,
    keeps_whole: bool = False,
    complex: Meaning = "",
    complex_vjp: tuple[Rule | None, ...] = (),
    doc: str = "",
    example: str = "",
) -> Op:
    """Declare an op that computes each element from the elements at the same place.

    An op of one operand that `keeps_whole` numbers is of floating ones, and others stay as they
    are.

    The operands have one dtype and broadcast; the result has that dtype or `result`, or that of its
    real part if `of_parts`. Broadcasting is undone here, so the rules are written as if all
    operands had the result's shape.
    """

    def of_dtype(dtype: DType) -> str:
        return "{0}" if dtype.kind in "biu" else code

    def infer_type(*types: TensorType) -> TensorType:
        _require_arity(name, arity, types)
        if check is not None:
            check(name, *types)
        if floating and not (keeps_whole and types[0].dtype.kind in "biu"):
            require_float(name, *types)
        dtype = require_same_dtype(name, *types)
        dtype = part_dtype(dtype) if of_parts else dtype
        return TensorType(broadcast_shapes(name, *types), dtype if result is None else result)

    return register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=function,
            vjp=vjp if arity == 1 else _fitting(vjp),  # one operand is never broadcast
            saves=saves,
            vjp_arrays=vjp_arrays,
            elementwise=True,
            batching=aligned,
            linearity=linearity,
            cost=cost,
            domain=domain,
            smooth=smooth,
            exact=exact or result is BOOL,
            lowering=Pointwise(code, alone, of_dtype if keeps_whole else None),
            promotes=slice(None),
            floating=floating,
            keeps_whole=keeps_whole,
            commutative=commutative,
            complex=complex,
            complex_vjp=complex_vjp if arity == 1 else _fitting(complex_vjp),
            doc=doc,
            example=example,
        )
    )


def _require_arity(name: str, arity: int, types: Sequence[TensorType]) -> None:
    if len(types) != arity:
        raise OptionError(f"{name}: takes {arity} operands, got {len(types)}")


def _fitting(rules: tuple[Rule | None, ...]) -> tuple[Rule | None, ...]:
    if len(rules) == 2:
        return _undone_first(rules[0]), _undone_second(rules[1])
    return tuple(undo_broadcasting(rule, position) for position, rule in enumerate(rules))


class Refused:
    """A rule of what has no derivative in the library: GraphError with a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, *operands: object, **attrs: object) -> Value:
        """Raise the error."""
        raise GraphError(self.text)


def undo_broadcasting(rule: Rule | None, position: int) -> Rule | None:
    """The rule followed by the sum over the axes that operand `position` was broadcast along."""
    if rule is None or isinstance(rule, Refused):
        return rule

    def unbroadcasting(g: object, out: object, *operands: Any) -> Any:
        found, operand = rule(g, out, *operands), operands[position]
        return found if found.shape == operand.shape else unbroadcast(found, operand)

    return unbroadcasting


def _undone_first(rule: Rule | None) -> Rule | None:
    """`undo_broadcasting` of the first of two operands, which takes fewer steps."""
    if rule is None or isinstance(rule, Refused):
        return rule

    def unbroadcasting(g: object, out: object, a: Any, b: object) -> Any:
        found = rule(g, out, a, b)
        return found if found.shape == a.shape else unbroadcast(found, a)

    return unbroadcasting


def _undone_second(rule: Rule | None) -> Rule | None:
    """`undo_broadcasting` of the second of two operands, which takes fewer steps."""
    if rule is None or isinstance(rule, Refused):
        return rule

    def unbroadcasting(g: object, out: object, a: object, b: Any) -> Any:
        found = rule(g, out, a, b)
        return found if found.shape == b.shape else unbroadcast(found, b)

    return unbroadcasting


Axis = TypeVar("Axis")


def axis_binder(name: str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    """The signature of a reduction: `(x, axis=None, keepdims=False)`, or PyTorch's names."""

    def bind(
        x: Any,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
    ) -> tuple[Sequence[Any], Attrs]:
        x = as_operand(x)
        axes = normalise_axes(name, one_axis(name, axis, dim), x.ndim)
        return (x,), {"axes": axes, "keepdims": bool(keepdims or keepdim)}

    return bind


def one_axis(name: str, axis: Axis, dim: Axis) -> Axis:
    """`axis` or its other name `dim`; OptionError if both are given."""
    if axis is not None and dim is not None:
        raise OptionError(f"{name}: axis={axis!r} and dim={dim!r} are two names of one argument")
    return dim if axis is None else axis


_OPERANDS = (Operand, np.ndarray, np.generic)


def as_operand(x: object) -> Value:
    """`x` if it is an operand or an array already, else a NumPy array of it."""
    return x if isinstance(x, _OPERANDS) else np.asarray(x)


def reduced_shape(
    shape: tuple[Size, ...], axes: tuple[int, ...], keepdims: bool
) -> tuple[Size, ...]:
    """The shape that is left of `shape` when `axes` are reduced."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def reduction(
    name: str,
    function: Callable[..., object],
    kind: str,
    *,
    result: Callable[[np.dtype[Any]], np.dtype[Any]],
    vjp: tuple[Rule | None, ...] = (),
    saves: tuple[str, ...] = (),
    bind: Callable[..., tuple[Sequence[object], Attrs | None]] | None = None,
    check: Callable[..., None] | None = None,
    linearity: Linearity = "none",
    smooth: bool = True,
    complex: Meaning = "",
    complex_vjp: tuple[Rule | None, ...] = (),
    doc: str = "",
    example: str = "",
) -> Op:
    """Declare an op that combines the elements along `axes` (a sorted tuple) into one."""

    def infer_type(
        x: TensorType, *, axes: tuple[int, ...], keepdims: bool, **attrs: object
    ) -> TensorType:
        if check is not None:
            check(name, x, axes)
        return TensorType(reduced_shape(x.shape, axes, keepdims), result(x.dtype))

    return register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=function,
            vjp=vjp,
            saves=saves,
            batching=shifted,
            linearity=linearity,
            smooth=smooth,
            exact=kind not in ("sum", "prod"),
            sweep="reduction",
            bind=bind or axis_binder(name),
            lowering=Reduce(kind),
            complex=complex,
            complex_vjp=complex_vjp,
            doc=doc,
            example=example,
        )
    )


def composite(
    name: str,
    expand: Callable[..., object],
    *,
    bind: Callable[..., tuple[Sequence[object], Attrs | None]] | None = None,
    evaluate: Callable[..., object] | None = None,
    vjp: tuple[Rule | None, ...],
    saves: tuple[str, ...] = (),
    vjp_arrays: Callable[..., Sequence[object]] | None = None,
    elementwise: bool = False,
    batching: BatchRule | None = None,
    linearity: Linearity | None = None,
    domain: Domain = "all",
    smooth: bool = True,
    exact: bool = False,
    sweep: Sweep = "",
    choices: Mapping[str, tuple[object, ...]] | None = None,
    promotes: slice | None = None,
    floating: bool = False,
    check: Callable[..., None] | None = None,
    complex: Meaning = "",
    complex_vjp: tuple[Rule | None, ...] = (),
    doc: str = "",
    example: str = "",
) -> Op:
    """Declare an op that is written in other ops: `expand(*operands, **attrs)`.

    Its type and value follow from the expansion; `evaluate` is given where a direct form is
    faster, and `check(name, *types, **attrs)` for clearer errors. Of `elementwise` ops broadcasting
    is undone here, and the Jacobian is diagonal.
    """
    arity = sum(
        parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        for parameter in inspect.signature(expand).parameters.values()
    )

    def infer_type(*types: TensorType, **attrs: object) -> TensorType:
        _require_arity(name, arity, types)
        if check is not None:
            check(name, *types, **attrs)
        if floating:
            require_float(name, *types)
        inferred: TensorType = provided.type_of_expansion(expand, types, attrs)
        return inferred

    return register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=evaluate or expand,
            vjp=_fitting(vjp) if elementwise and arity > 1 else vjp,
            saves=saves,
            vjp_arrays=vjp_arrays,
            checked=arity > 1 or check is not None,
            elementwise=elementwise,
            batching=aligned if elementwise and batching is None else batching,
            linearity=linearity or ("diagonal" if elementwise else "none"),
            domain=domain,
            smooth=smooth,
            exact=exact,
            sweep=sweep,
            choices=choices or {},
            bind=bind,
            expand=expand,
            promotes=promotes,
            floating=floating,
            complex=complex,
            complex_vjp=_fitting(complex_vjp) if elementwise and arity > 1 else complex_vjp,
            doc=doc,
            example=example,
        )
    )


def count(x: Value, axes: tuple[int, ...], like: Value | None = None) -> Value:
    """The number of elements of x along `axes`, to compute with `like` (x): see `size_value`."""
    return size_value(product([x.shape[axis] for axis in axes]), x if like is None else like)


def size_value(size: Size, like: Value) -> Value:
    """A size that computes with `like`: a Python int, or a scalar of like's dtype if unknown."""
    if not isinstance(size, Dim):
        return size
    scalar = like._apply(op_named("size_of"), (), {"size": size})
    return op_named("astype")(scalar, like.dtype)


NUMBERS: dict[str, Any] = {"b": False, "u": 0, "i": 0, "f": 0.0, "V": 0.0, "c": 0j}
"""A Python number of the kind of a dtype."""


def common_dtype(*operands: Value) -> DType:
    """The dtype that operands have in common; what stands for Python numbers is weak."""
    kinds = [np.dtype(getattr(one, "dtype", None) or np.asarray(one).dtype) for one in operands]
    parts = [
        NUMBERS[kind.kind] if getattr(one, "weak", False) else kind
        for one, kind in zip(operands, kinds, strict=True)
    ]
    return promoted(*parts)


def zeros_like(x: Value) -> Value:
    """Zeros of x's shape and dtype."""
    if isinstance(x, Operand):
        zero = x._constant(np.zeros((), x.dtype))
        return op_named("broadcast_to")(zero, x.shape)
    return np.zeros(x.shape, x.dtype)  # x may be what is left of an operand that was not saved
