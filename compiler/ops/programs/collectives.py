"""Collectives: ops that combine the arrays of all ranks.

Each rank runs the same graph on arrays of its own; a collective is one op of all of them. The
gradient of a value is that of its sum over ranks by this rank's operand, which is a collective
again. Alone, there is one rank.

They are no functions of their operands alone, so they are not among the ops of the library. A call
evaluates them one by one; `compile` puts three steps in their place (`graph.collectives`), which
are for it only: what the ranks are about to do is announced, a collective is begun, and ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler.core.dtypes import is_float, is_narrow
from staticgraph.compiler.core.errors import (
    DistributedError,
    DTypeError,
    GraphError,
    OptionError,
    ShapeError,
)
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Attrs, Op, op_named, register
from staticgraph.compiler.core.types import TensorType, type_of, unify
from staticgraph.compiler.core.user_text import UserText
from staticgraph.compiler.core.values import Array, Value
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.programs.effects import is_quiet
from staticgraph.compiler.reference.ranks import Job, Plan, current

KINDS = ("sum", "mean", "max", "min")


def _refuse_batches(op: Op, *args: object) -> NoReturn:
    raise GraphError(
        f"vmap: {op.name} of a batch: ranks combine whole arrays: {op.name} the result outside of "
        "vmap"
    )


def _numbers(name: str, x: TensorType) -> None:
    """DTypeError unless ranks can add and compare numbers of this dtype."""
    if x.dtype.kind == "b" or is_narrow(x.dtype):
        raise DTypeError(f"{name}: {x}: cast it to float32 or int64, which ranks can combine")


def _all_reduce_type(x: TensorType, *, kind: str) -> TensorType:
    _numbers("all_reduce", x)
    if kind not in KINDS:
        raise OptionError(f"all_reduce: kind is one of {KINDS}, not {kind!r}")
    if kind == "mean" and not is_float(x.dtype):
        raise DTypeError(f"all_reduce: the mean of {x}: cast it to floating point")
    return x


def _all_reduce_vjp(g: Any, o: Any, x: Any, *, kind: str) -> Value:
    if kind in ("sum", "mean"):
        known = _of_seed(g, kind)
        return all_reduce.bound((g,), {"kind": kind}) if known is None else known
    # as that of `max` along an axis: those that are equal share it
    chosen = op_named("astype")(x == o, g.dtype)
    ties = all_reduce.bound((chosen,), {"kind": "sum"})
    return all_reduce.bound((g,), {"kind": "sum"}) * chosen / ties


def _of_seed(g: Any, kind: str) -> Value:
    """What a cotangent of 1 is combined to, where the graph says so: then nothing is sent.

    Another rank whose graph has another number there has another graph, which is an error.
    """
    if getattr(g, "op", None) is not op_named("constant") or g.ndim:
        return None
    if g.attrs["value"].array != 1:
        return None
    return g if kind == "mean" else g._constant(np.array(current().size, g.dtype))


def _one_by_one(collective: str, given: Array, **attrs: Any) -> Array:
    op_named(collective).infer_type(type_of(given), **attrs)
    kind, root, ranks = (attrs.get(name) for name in ("kind", "root", "ranks"))
    if ranks is not None and ranks != current().size:
        raise DistributedError(
            f"{collective}: the graph was made for {ranks} ranks, and there are {current().size}"
        )
    return current().at_once(Job(collective, kind or "sum", root or 0), np.asarray(given))


all_reduce: Op = register(
    Op(
        name="all_reduce",
        infer_type=_all_reduce_type,
        evaluate=lambda x, *, kind: _one_by_one("all_reduce", x, kind=kind),
        vjp=(_all_reduce_vjp,),
        saves=("ao",),
        batching=_refuse_batches,
        checked=True,
        cost="expensive",
        bind=lambda x, kind="sum": ((as_operand(x),), {"kind": kind}),
        lowering=Host(),
        doc="The sum of x over all ranks, its mean, or element by element the largest or the "
        "smallest, on all of them: of x's shape, which is the same on all, and dtype.",
        example=">>> sg.distributed.all_reduce(np.array([1.0, 2.0]))\narray([1., 2.])",
    ),
    own=True,
)


def _root(name: str, root: object) -> Attrs:
    size = current().size
    if isinstance(root, bool) or not isinstance(root, int) or not 0 <= root < size:
        raise OptionError(f"{name}: the root is a rank from 0 to {size - 1}, not {root!r}")
    return {"root": root}


broadcast: Op = register(
    Op(
        name="broadcast",
        infer_type=lambda x, *, root: x,
        evaluate=lambda x, *, root: _one_by_one("broadcast", x, root=root),
        vjp=(lambda g, o, x, *, root: reduce.bound((g,), {"root": root}),),
        saves=("",),
        batching=_refuse_batches,
        linearity="linear",
        cost="expensive",
        exact=True,
        bind=lambda x, root=0: ((as_operand(x),), _root("broadcast", root)),
        lowering=Host(),
        doc="x of the rank `root` on all ranks, which give arrays of one shape and dtype. The "
        "gradient of what the others give is zero.",
        example=">>> sg.distributed.broadcast(np.array([1.0, 2.0]))\narray([1., 2.])",
    ),
    own=True,
)


def _reduce_type(x: TensorType, *, root: int) -> TensorType:
    _numbers("reduce", x)
    return x


reduce: Op = register(
    Op(
        name="reduce",
        infer_type=_reduce_type,
        evaluate=lambda x, *, root: _one_by_one("reduce", x, root=root),
        vjp=(lambda g, o, x, *, root: broadcast.bound((g,), {"root": root}),),
        saves=("",),
        batching=_refuse_batches,
        checked=True,
        linearity="linear",
        cost="expensive",
        bind=lambda x, root=0: ((as_operand(x),), _root("reduce", root)),
        lowering=Host(),
        doc="The sum of x over all ranks on the rank `root`, and zeros on the others.",
        example=">>> sg.distributed.reduce(np.array([1.0, 2.0]))\narray([1., 2.])",
    ),
    own=True,
)


all_gather: Op = register(
    Op(
        name="all_gather",
        infer_type=lambda x, *, ranks: TensorType((ranks, *x.shape), x.dtype),
        evaluate=lambda x, *, ranks: _one_by_one("all_gather", x, ranks=ranks),
        vjp=(lambda g, o, x, *, ranks: reduce_scatter.bound((g,), {"ranks": ranks}),),
        saves=("",),
        batching=_refuse_batches,
        linearity="linear",
        cost="expensive",
        exact=True,
        bind=lambda x: ((as_operand(x),), {"ranks": current().size}),
        lowering=Host(),
        doc="The arrays of all ranks, which have one shape, stacked along a new first axis.",
        example=">>> sg.distributed.all_gather(np.array([1.0, 2.0]))\narray([[1., 2.]])",
    ),
    own=True,
)


def _reduce_scatter_type(x: TensorType, *, ranks: int) -> TensorType:
    _numbers("reduce_scatter", x)
    if not x.ndim or unify(x.shape[0], ranks) is None:
        raise ShapeError(f"reduce_scatter: {x}: the first axis is of {ranks} ranks, one place each")
    return TensorType(x.shape[1:], x.dtype)


reduce_scatter: Op = register(
    Op(
        name="reduce_scatter",
        infer_type=_reduce_scatter_type,
        evaluate=lambda x, *, ranks: _one_by_one("reduce_scatter", x, ranks=ranks),
        vjp=(lambda g, o, x, *, ranks: all_gather.bound((g,), {"ranks": ranks}),),
        saves=("",),
        batching=_refuse_batches,
        checked=True,
        linearity="linear",
        cost="expensive",
        bind=lambda x: ((as_operand(x),), {"ranks": current().size}),
        lowering=Host(),
        doc="The sum of x over all ranks, of which each rank has the part at its place along the "
        "first axis: as many as there are ranks.",
        example=">>> sg.distributed.reduce_scatter(np.array([[1.0, 2.0]]))\narray([1., 2.])",
    ),
    own=True,
)

COLLECTIVES = (all_reduce, broadcast, reduce, all_gather, reduce_scatter)
"""The ops that all ranks do together."""

_ATTRS = {
    all_reduce: ("kind",), broadcast: ("root",), reduce: ("root",), all_gather: ("ranks",),
    reduce_scatter: ("ranks",),
}  # fmt: skip
_NUMBER = TensorType((), np.dtype(np.int64))
_lines: dict[int, Sequence[str]] = {}


def alone(op: Op, x: Value) -> Value:
    """What a collective is where there is one rank."""
    if op is all_gather:
        return op_named("expand_dims")(x, 0)
    if op is reduce_scatter:
        return x[0]
    return x


def attrs_of_steps(op: Op, attrs: Attrs) -> Attrs:
    """The attributes of the steps of a collective."""
    return {"collective": op.name, "kind": "sum", "root": 0, "ranks": 0, **attrs}


def collective_of(attrs: Attrs) -> tuple[Op, Attrs]:
    """The collective whose step has these attributes, and those of its own."""
    op = op_named(attrs["collective"])
    return op, {name: attrs[name] for name in _ATTRS[op]}


def remember_lines(digest: int, lines: Sequence[str]) -> None:
    """Keep what a digest is of, to say what is different where it is."""
    _lines[digest] = lines


def any_rank(wishes: bool) -> bool:
    """Whether this rank or another one wishes it; all of them ask."""
    return bool(current().at_once(Job("all_reduce", "max"), np.array(int(wishes))))


def _announce(
    token: Array, *sizes: Array, title: UserText, digest: int, collectives: int, ranks: int
) -> Array:
    if ranks != current().size:
        raise DistributedError(
            f"{title.text}: it was compiled for {ranks} rank{'s' * (ranks != 1)}, and there are "
            f"{current().size}: compile it here, and give it the values of its variables"
        )
    quiet = "again: " if is_quiet() else ""  # a replay of one rank is no call of another
    numbers = tuple(map(int, sizes))
    lines = lambda: _lines.get(digest, ())  # noqa: E731 - asked for where ranks differ
    current().announce(Plan(f"{quiet}{title.text}", digest, numbers, collectives, lines))
    return np.zeros((), np.int64)


def _job(attrs: Attrs) -> Job:
    return Job(attrs["collective"], attrs["kind"], attrs["root"])


def _begin(before: Array, x: Array, **attrs: Any) -> Array:
    return np.array(current().begin(_job(attrs), x))


def _end(begun: Array, last: Array, x: Array, **attrs: Any) -> Array:
    return current().finish(int(begun), _job(attrs), x)


def _end_into(result: Array, begun: Array, last: Array, x: Array, **attrs: Any) -> bool:
    current().finish(int(begun), _job(attrs), x, result)
    return True


def _end_type(begun: TensorType, last: TensorType, x: TensorType, **attrs: Any) -> TensorType:
    op, own = collective_of(attrs)
    found: Any = op.infer_type(x, **own)
    return found


def _end_vjp(g: Any, o: Any, begun: Any, last: Any, x: Any, **attrs: Any) -> Value:
    op, own = collective_of(attrs)
    rule: Any = op.rule(0)
    return rule(g, o, x, **own)


collective_announce = register(
    Op(
        name="collective_announce",
        infer_type=lambda token, *sizes, **attrs: _NUMBER,
        evaluate=_announce,
        batching=_refuse_batches,
        lowering=Host(),
        doc="A token, when this rank has told the others which program it begins.",
    ),
    own=True,
)

collective_begin = register(
    Op(
        name="collective_begin",
        infer_type=lambda before, x, **attrs: _NUMBER,
        evaluate=_begin,
        batching=_refuse_batches,
        lowering=Host(),
        doc="The number of a collective of x that has begun, after the one `before`.",
    ),
    own=True,
)

collective_end = register(
    Op(
        name="collective_end",
        infer_type=_end_type,
        evaluate=_end,
        vjp=(None, None, _end_vjp),
        saves=("", "", "co"),
        batching=_refuse_batches,
        lowering=Host(_end_into),
        doc="The result of a collective of x that has begun, waited for when the `last` has too.",
    ),
    own=True,
)

STEPS = (collective_announce, collective_begin, collective_end)
"""What is done at run time, in order, once for each of them."""
