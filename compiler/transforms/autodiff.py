"""Reverse-mode differentiation of expressions: one walk, with the rules of the ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core.dtypes import computing, is_inexact, is_narrow
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.source import of_gradient
from staticgraph.compiler.core.types import TensorType, TupleType, Type, unify
from staticgraph.compiler.graph.evaluate import replaced
from staticgraph.compiler.graph.expression import (
    Expression,
    abstract,
    at_line,
    constant,
    construct,
    next_serial,
)
from staticgraph.compiler.graph.losses import note_loss
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.ops.elementwise.arithmetic import astype
from staticgraph.compiler.ops.reductions.reduction import logsumexp
from staticgraph.compiler.ops.shapes.shape import broadcast_to
from staticgraph.compiler.transforms.averaged import averaged
from staticgraph.compiler.transforms.logsumexp import logsumexp_by_hand
from staticgraph.compiler.transforms.regions import close_region, copy_region, regions_of
from staticgraph.compiler.transforms.zero_gradients import note_zeros

Cotangent: TypeAlias = "Expression | dict[int, Expression]"
"""Of a tuple, that of each item which has one."""
Hooks: TypeAlias = "Mapping[int, Callable[[Expression], Expression]]"
NO_HOOKS: Hooks = {}


def gradients(
    output: Expression,
    wrt: Sequence[Expression],
    seed: Expression | None = None,
    implied: bool = False,
    disconnected: bool = False,
) -> list[Expression]:
    """The derivative of a scalar expression with respect to others, as expressions.

    Args:
        output: a floating-point scalar, or of any shape if `seed` is given.
        wrt: floating-point expressions that `output` depends on.
        seed: the cotangent of `output`, of its shape and dtype; 1 if None.
        implied: whether nobody named what is in `wrt`, for the lint of gradients that are zero.
        disconnected: whether the output need not depend on all of `wrt`.

    Returns:
        One expression per element of `wrt`, of its shape and dtype. Where the dependence goes
        only through ops without a gradient (comparisons, argmax), it is zero. By variables, of
        what ranks combine, it is the mean over ranks.

    Raises:
        GraphError: the output is no floating-point scalar, or does not depend on a `wrt`.
    """
    _check(output, wrt, seed)
    nodes = ancestors([output])
    known = {node.serial for node in nodes}
    for target in wrt:
        if target.serial not in known and not disconnected:
            raise GraphError(f"grad: {output} does not depend on {target} ({target.source})")
    if seed is None:
        seed = constant(np.ones((), output.dtype))
    found = pullback([output], wrt, [seed])
    note_zeros(output, wrt, nodes, found, implied)
    note_loss(output, found)
    return averaged(nodes, wrt, found)


def pullback(
    outputs: Sequence[Expression], wrt: Sequence[Expression], seeds: Sequence[Expression]
) -> list[Expression]:
    """The cotangents of expressions, given those of floating-point outputs: `seeds`.

    One per element of `wrt`, of its type; zero where no output depends on it.
    """
    found = cotangents_of(outputs, wrt, seeds)
    return [
        zeros_like(target) if cotangent is None else cotangent
        for target, cotangent in zip(wrt, found, strict=True)
    ]


def cotangents_of(
    outputs: Sequence[Expression],
    wrt: Sequence[Expression],
    seeds: Sequence[Expression],
    regions: bool = True,
    hooks: Hooks | None = None,
) -> list[Expression | None]:
    """What `pullback` gives, with None where no output depends on an element of `wrt`.

    Without `regions`, nothing is computed again: checkpointed regions are as if there were none.
    `hooks`: by the serials of expressions what becomes of their cotangents before these go on.
    """
    cotangents: dict[int, Any] = {}
    for output, seed in zip(outputs, seeds, strict=True):
        _add(cotangents, output, seed)
    _walk(ancestors(outputs), cotangents, wrt, regions, hooks or {})
    return [cotangents.get(target.serial) for target in wrt]


_forward: ContextVar[bool] = ContextVar("forward", default=False)


def is_forward() -> bool:
    """Whether what is pulled back is transposed once more: that is forward mode."""
    return _forward.get()


def pushforward(
    outputs: Sequence[Expression], wrt: Sequence[Expression], tangents: Sequence[Expression]
) -> list[Expression]:
    """The derivatives of outputs in the direction `tangents` of the expressions `wrt`.

    Zero for outputs that are not floating point. The pullback is linear in its cotangents u, and
    pulling the tangents back through it gives the derivative: J t = d/du <u J, t> (Townsend 2017,
    "A new trick for calculating Jacobian vector products").
    """
    floating = [out for out in outputs if is_inexact(out.dtype)]
    seeds = [abstract(out.type) for out in floating]
    token = _forward.set(True)
    try:
        pulled = pullback(floating, wrt, seeds)
        found = pullback(pulled, seeds, tangents)
    finally:
        _forward.reset(token)
    # u is still read where a rule looks at more than its shape: the rule of xlogy at whether it
    # is 0, so u is not; its values do not matter else
    values = iter(replaced(found, {seed: _ones(seed) for seed in seeds}))
    return [next(values) if is_inexact(out.dtype) else zeros_like(out) for out in outputs]


def _ones(like: Expression) -> Expression:
    found: Expression = broadcast_to(constant(np.ones((), like.dtype)), like.shape)
    return found


def _walk(
    nodes: Sequence[Expression],
    cotangents: dict[int, Any],
    wrt: Sequence[Expression],
    regions: bool = True,
    hooks: Hooks = NO_HOOKS,
) -> None:
    """Add to `cotangents` those of the operands of `nodes`, as far as `wrt` depends on them."""
    needed = depending_on(nodes, wrt)
    seen = [*wrt, *(node for node in nodes if node.serial in hooks)] if hooks else wrt
    targets = {one.serial for one in seen}
    found = regions_of(nodes, seen) if regions else {}
    copied = {result.serial for results in found.values() for result in results}
    for node in reversed(nodes):
        if node.serial in hooks and node.serial in cotangents and node.serial in needed:
            cotangents[node.serial] = hooks[node.serial](cotangents[node.serial])
        if node.serial in found:
            _through_region(found[node.serial], cotangents, needed)
        elif node.serial not in cotangents or node.serial not in needed or node.serial in copied:
            continue
        elif not _through_logsumexp(node, cotangents, targets):
            _through_op(node, cotangents, needed)


def _through_logsumexp(node: Expression, cotangents: dict[int, Any], targets: set[int]) -> bool:
    """Whether a node is a logsumexp by hand, of which no inner value is a target; then its rule."""
    if node.op.name != "add" or _is_narrow(node):
        return False
    found = logsumexp_by_hand(*node.operands)
    rule = logsumexp.rule(0)
    if found is None or rule is None or found.inner & targets:
        return False
    with at_line(of_gradient(logsumexp.name, node.source)):
        attrs = {"axes": found.axes, "keepdims": found.keepdims}
        _add(cotangents, found.x, rule(cotangents[node.serial], node, found.x, **attrs))
    return True


def _through_op(node: Expression, cotangents: dict[int, Any], needed: set[int]) -> None:
    positions = [
        position
        for position, operand in enumerate(node.operands)
        if operand.serial in needed and _has_rule(node, position)
    ]
    with at_line(of_gradient(node.op.name, node.source)):
        parts = _parts(node, cotangents[node.serial], positions)
        for position, part in zip(positions, parts, strict=True):
            operand = node.operands[position]
            if part is None:
                continue
            if not _is_cotangent(part, operand):
                raise GraphError(f"grad: {node.op.name}: {part} is no cotangent of {operand}")
            _add(cotangents, operand, part)


def _has_rule(node: Expression, position: int) -> bool:
    op = node.op
    if op.vjp_items is not None or op.rule(position) is not None:
        return True
    return bool(op.complex_vjp) and op.rule_of(position, is_of_complex(node)) is not None


def _parts(node: Expression, g: Any, positions: Sequence[int]) -> Sequence[Any]:
    """What `node` adds to the cotangents of its operands at `positions`."""
    operands = node.operands
    if not node.op.moves and any(map(_is_narrow, (node, *operands))):
        parts = _parts_in_float32(node, g, positions)
        return [_rounded(part, operands[i]) for i, part in zip(positions, parts, strict=True)]
    return _by_rules(node, g, positions, node, operands)


def _parts_in_float32(node: Expression, g: Any, positions: Sequence[int]) -> Sequence[Any]:
    """The same where floats of 16 bits are stored: rules compute in float32, as ops do."""
    operands = [_wide(one) for one in node.operands]
    if isinstance(g, dict):
        out = construct(node.op, tuple(operands), node.attrs)
        g = {index: _wide(one) for index, one in g.items()}
        return _by_rules(node, g, positions, out, operands)
    return _by_rules(node, _wide(g), positions, _wide(node), operands)


def _is_narrow(one: Expression) -> bool:
    return isinstance(one.type, TensorType) and is_narrow(one.dtype)


def _wide(one: Expression) -> Expression:
    return astype(one, computing(one.dtype)) if _is_narrow(one) else one


def _rounded(part: Any, operand: Expression) -> Any:
    if part is None or part.dtype == operand.dtype:
        return part
    return astype(part, operand.dtype)


def _by_rules(
    node: Expression,
    g: Any,
    positions: Sequence[int],
    out: Expression,
    operands: Sequence[Expression],
) -> Sequence[Any]:
    if node.op.vjp_items is not None:
        type: Any = node.type
        gs = [g.get(index) for index in range(len(type.items))]
        return node.op.vjp_items(positions, gs, out, *operands, **node.attrs)
    of_complex = is_of_complex(node)
    rules: Any = [node.op.rule_of(position, of_complex) for position in positions]
    return [rule(g, out, *operands, **node.attrs) for rule in rules]


def is_of_complex(node: Expression) -> bool:
    """Whether complex numbers enter or leave a node."""
    return any(one.dtype.kind == "c" for one in (node, *node.operands) if _is_tensor(one))


def _is_tensor(node: Expression) -> bool:
    return isinstance(node.type, TensorType)


def _add(cotangents: dict[int, Any], to: Expression, part: Cotangent) -> None:
    before = cotangents.get(to.serial)
    if before is not None and isinstance(part, dict):
        for index, one in part.items():
            before = before | {index: before[index] + one if index in before else one}
        part = before
    elif before is not None:
        part = before + part
    cotangents[to.serial] = part


def _through_region(
    results: Sequence[Expression], cotangents: dict[int, Any], needed: set[int]
) -> None:
    """Differentiate a copy of a region, in a region of its own: so do higher derivatives.

    The cotangents that its entries have already are continued, so that terms are added in the
    order in which they are without a region.
    """
    reached = [one for one in results if one.serial in cotangents and one.serial in needed]
    if not reached:
        return
    start = next_serial()
    copy = copy_region(reached, [cotangents[one.serial] for one in reached])
    entries = [(node, again) for node, again in copy.entries if node.serial in needed]
    inner = {
        again.serial: cotangents[node.serial]
        for node, again in entries
        if node.serial in cotangents
    }
    for one, again in reversed(list(zip(reached, copy.results, strict=True))):
        with at_line(one.source):
            _add(inner, again, cotangents[one.serial])
    _walk(copy.nodes, inner, [again for _, again in entries])
    found = [(node, inner[again.serial]) for node, again in entries if again.serial in inner]
    with at_line(results[0].source):
        closed = close_region([cotangent for _, cotangent in found], start)
    for (node, _), cotangent in zip(found, closed, strict=True):
        cotangents[node.serial] = cotangent


def _is_cotangent(part: Any, operand: Expression) -> bool:
    if isinstance(part, dict):
        return isinstance(operand.type, TupleType)
    return (
        part.dtype == operand.dtype
        and part.ndim == operand.ndim
        and None not in map(unify, part.shape, operand.shape)
    )


def _check(output: Expression, wrt: Sequence[Expression], seed: Expression | None) -> None:
    if output.dtype.kind == "c" and seed is None:
        raise GraphError(
            f"grad: {output} ({output.source}) is complex, and gradients are of real losses: take "
            "real or abs, or give a seed"
        )
    if not is_inexact(output.dtype):
        raise GraphError(f"grad: {output} ({output.source}) is not floating point")
    if seed is None and output.ndim:
        raise GraphError(
            f"grad: {output} ({output.source}) is not a scalar: "
            "reduce it with sum or mean, or give a seed"
        )
    if seed is not None and seed.type != output.type:
        raise GraphError(f"grad: the seed is {seed.type}, the output {output.type}")
    for target in wrt:
        if not is_inexact(target.dtype):
            raise GraphError(f"grad: {target} ({target.source}) is not floating point")


def depending_on(nodes: Sequence[Expression], wrt: Sequence[Expression]) -> set[int]:
    """The serials of the nodes that depend on any of `wrt` through floating point, with those."""
    needed = {target.serial for target in wrt}
    for node in nodes:
        if _is_floating(node.type) and any(
            operand.serial in needed and _has_rule(node, position)
            for position, operand in enumerate(node.operands)
        ):
            needed.add(node.serial)
    return needed


def origins(outputs: Sequence[Expression], wrt: Sequence[Expression]) -> list[frozenset[int]]:
    """Per output, which of `wrt`, by place, it depends on through floating point."""
    found = {one.serial: frozenset((place,)) for place, one in enumerate(wrt)}
    nothing = frozenset[int]()
    for node in ancestors(outputs):
        if node.serial not in found and _is_floating(node.type):
            found[node.serial] = nothing.union(*(
                found.get(operand.serial, nothing)
                for position, operand in enumerate(node.operands)
                if _has_rule(node, position)
            ))  # fmt: skip
    return [found.get(one.serial, nothing) for one in outputs]


def _is_floating(type: Type) -> bool:
    if isinstance(type, TensorType):
        return is_inexact(type.dtype)
    return any(map(_is_floating, type.items))
