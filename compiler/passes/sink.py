"""Sink below scans what no step waits for: products of all steps at once, from stacked operands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field, replace
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.record import mutable
from staticgraph.compiler.core.reports import collector, report_all
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.evaluate import substitute
from staticgraph.compiler.graph.expression import Expression, constant, construct, named
from staticgraph.compiler.graph.loop import Carry, OpenLoop, open_loop
from staticgraph.compiler.graph.traversal import between, cut
from staticgraph.compiler.ops.batching import Example
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.passes.distribute import distribute
from staticgraph.compiler.passes.hoist import Kinds, is_weighted, kinds_of, stood_for
from staticgraph.compiler.passes.loops import rewrite_loops
from staticgraph.compiler.passes.rules import scalar_value
from staticgraph.compiler.transforms.control_gradients import stand_in

_MOVES = frozenset(("expand_dims", "reshape", "squeeze", "transpose"))
_LINEAR = _MOVES | {"broadcast_to", "embed", "negative"}
"""Ops of one operand that may as well be applied to a sum of it (embed if it fills with 0)."""


def sink_sums(graph: Definition) -> Definition:
    """The graph in which sums over the steps of a scan are taken after it.

    A carry `c + a.T @ b` that nothing else reads (the gradient of a weight) becomes one product of
    the stacked a and b, `c + take_add(a, i)` (that of an embedding) one scatter, and `c + sum(b)`
    (that of a bias) a sum of the stack, if b is stacked anyway: else the sum is cheaper inside.
    What is added to a part of a carry (the gradient of a slice) is added up at the part's size.
    Nothing is stacked that a checkpointed region computes again so as not to keep it.
    """
    return _sinking(graph, _sink_sums)


def sink_products(graph: Definition) -> Definition:
    """The graph in which ys that are products with consts, and what follows from them, are computed
    after the scan: `h[t] @ W` for all t is `reshape(h, (t * m, k)) @ W`.
    """
    return _sinking(graph, _sink_products)


@mutable(eq=False)
class Sinking:
    """A loop while parts of it are moved below it.

    Attributes:
        loop: it, of which the carries may change.
        stacks: the values that are stacked for what is below, by serial, each with a placeholder
            for the stack.
        below: by position the outputs that are computed below; of a carry, what is added to it.
        windows: what is added to a part of a carry: its place, the value, and the ops that put it
            into zeros of the carry's shape. It has a carry of its own size instead.
    """

    loop: OpenLoop
    stacks: dict[int, tuple[Expression, Expression]] = field(default_factory=dict)
    below: dict[int, Expression] = field(default_factory=dict)
    windows: list[tuple[int, Expression, list[Expression]]] = field(default_factory=list)

    @property
    def outside(self) -> dict[int, Example]:
        """What stands outside for the consts and the slices."""
        return stood_for(self.loop)

    def stack(self, node: Expression) -> Expression:
        """What stands for the stacked values of a node; elements are moved below.

        What comes from the xs alone is computed from them.
        """
        distributed = distribute(node, self.outside, self.loop.length, {})
        if distributed is None:
            source = _renamed(node)
            new = source, _standing(source, self.loop)
            _, outer = self.stacks.setdefault(source.serial, new)
            distributed = distribute(
                node, {source.serial: Example(outer, True, source.ndim)}, self.loop.length, {}
            )
            assert distributed is not None
        return distributed.tensor

    def is_stacked(self, node: Expression) -> bool:
        """Whether the values of a node are stacked, or come from the xs alone."""
        source = _renamed(node)
        if source.serial in self.stacks or any(y is source for y in self.loop.ys):
            return True
        return distribute(source, self.outside, self.loop.length, {}) is not None

    def _starts_from_nothing(self, place: int) -> bool:
        """Whether a carry is zero, and all that is added to it is added below."""
        carry = self.loop.carries[place]
        return carry.next is carry.inner and scalar_value(carry.first) == 0

    def close(self) -> list[Expression]:
        """What takes the place of the loop's items."""
        carries = len(self.loop.carries)
        kept = {carries + i: y for i, y in enumerate(self.loop.ys) if carries + i not in self.below}
        stacked = [node for node, _ in self.stacks.values()]
        small = [_summed(node) for _, node, _ in self.windows]
        closed = replace(
            self.loop, carries=[*self.loop.carries, *small], ys=[*kept.values(), *stacked]
        ).close()
        items = [*closed[:carries], *closed[carries + len(small) :]]
        totals = closed[carries : carries + len(small)]
        results = dict(enumerate(items[:carries])) | dict(zip(kept, items[carries:], strict=False))
        made = {
            standing.serial: stack
            for (_, standing), stack in zip(
                self.stacks.values(), items[carries + len(kept) :], strict=True
            )
        }
        values = substitute(list(self.below.values()), made)
        for place, value in zip(self.below, values, strict=True):
            if place < carries and not self._starts_from_nothing(place):
                value = results[place] + value
            results[place] = value
        started = {place for place in range(carries) if not self._starts_from_nothing(place)}
        started.update(self.below)
        for (place, _, chain), total in zip(self.windows, totals, strict=True):
            part = _applied(total, chain)
            results[place] = results[place] + part if place in started else part
            started.add(place)
        return [results[place] for place in range(len(self.loop.outputs))]


def _sinking(graph: Definition, sink: Callable[[Sinking, Kinds], None]) -> Definition:
    def rewrite(node: Node, made: Mapping[int, Any]) -> Sequence[Expression] | None:
        if node.op is not control.scan:
            return None
        sinking = Sinking(open_loop([made[operand] for operand in node.operands], node.attrs))
        sink(sinking, kinds_of(sinking.loop))
        return sinking.close() if sinking.below or sinking.windows else None

    return rewrite_loops(graph, rewrite)


def _sink_sums(sinking: Sinking, kinds: Kinds) -> None:
    loop = sinking.loop
    carries = list(loop.carries)
    readers = Counter(operand.serial for node in loop.nodes for operand in node.operands)
    readers.update(output.serial for output in loop.outputs)
    terms = {i: _terms(carry, readers) for i, carry in enumerate(carries)}
    left: dict[int, list[Expression]] = {i: list(several) for i, several in terms.items()}
    for below in (_product_below, _scatter_below, _sum_below):
        for i, several in left.items():
            left[i] = []
            for term in several:
                broadcasts = term.shape != carries[i].inner.shape
                value = None if broadcasts else below(term, sinking, kinds)
                if value is None:
                    left[i].append(term)
                else:
                    text = "added up after the loop, over all steps at once"
                    report_all("sunk", sink_sums.__name__, [named(term)], text)
                    before = sinking.below.get(i)
                    sinking.below[i] = value if before is None else before + value
    for i, several in left.items():
        left[i] = [term for term in several if not _as_window(term, i, sinking)]
    for i in {*sinking.below, *(place for place, _, _ in sinking.windows)}:
        if collector() is not None:
            ends = {carries[i].inner.serial, *(term.serial for term in terms[i])}
            text = "what it adds is added up after the loop"
            added = map(named, between([carries[i].next], ends))
            report_all("sunk", sink_sums.__name__, added, text)
        total = carries[i].inner
        for term in left[i]:
            total = total + term
        carries[i] = replace(carries[i], next=total)
    sinking.loop = replace(loop, carries=carries)


def _terms(carry: Carry, readers: Mapping[int, int]) -> list[Expression]:
    """The terms that a carry adds up, if it does nothing else; nothing otherwise."""
    if not is_float(carry.inner.dtype) or readers[carry.inner.serial] != 1:
        return []
    terms: list[Expression] = []
    found = False
    stack = [carry.next]
    while stack:
        node = stack.pop()
        whole = node.shape == carry.inner.shape
        if node is carry.inner:
            found = True
        elif node.op is ops.add and readers[node.serial] == 1 and whole:
            stack.extend(node.operands)
        else:
            terms.append(node)
    return terms if found and carry.next is not carry.inner else []


def _renamed(node: Expression) -> Expression:
    """What a value was before its elements were moved."""
    while node.op.name in _MOVES:
        node = node.operands[0]
    return node


def _linear(term: Expression) -> tuple[Expression, list[Expression]]:
    """What a term is a linear function of, and the ops that make it, the last first."""
    chain = []
    while term.op.name in _LINEAR and not term.attrs.get("value"):
        chain.append(term)
        term = term.operands[0]
    return term, chain


def _applied(value: Expression, chain: Sequence[Expression]) -> Expression:
    for node in reversed(chain):
        value = construct(node.op, (value,), node.attrs)
    return value


def _product_below(term: Expression, sinking: Sinking, kinds: Kinds) -> Expression | None:
    """sum over t of a[t] @ b[t], as one product: the axis that is summed grows by the steps."""
    node, chain = _linear(term)
    if node.op is not ops.matmul or any(one.ndim != 2 for one in node.operands):
        return None
    if any(one.serial in kinds.fixed or one.serial in kinds.again for one in node.operands):
        return None
    left, right = node.operands
    turned = left.operands[0] if left.op is ops.transpose else ops.swapaxes(left, 0, 1)
    rows = [_flat(sinking.stack(one)) for one in (turned, right)]
    return _applied(ops.matmul(rows[0].T, rows[1]), chain)


def _flat(stack: Expression) -> Expression:
    length, rows, columns = stack.shape
    return ops.reshape(stack, (length * rows, columns))


def _scatter_below(term: Expression, sinking: Sinking, kinds: Kinds) -> Expression | None:
    """sum over t of take_add(a[t], i[t]): rows of all steps are added at their indices at once."""
    node, chain = _linear(term)
    if node.op is not ops.take_add:
        return None
    if any(one.serial in kinds.fixed or one.serial in kinds.again for one in node.operands):
        return None
    stack, indices = (sinking.stack(one) for one in node.operands)
    axis = node.attrs["axis"]
    if axis:  # the steps are a part of the index, whose axes begin there
        stack = ops.transpose(stack, (*range(1, axis + 1), 0, *range(axis + 1, stack.ndim)))
    return _applied(ops.take_add.bound((stack, indices), node.attrs), chain)


def _as_window(term: Expression, place: int, sinking: Sinking) -> bool:
    """Whether a term is added to a part of a carry alone, such as the gradient of a slice."""
    node, chain = _linear(term)
    whole = term.shape == sinking.loop.carries[place].inner.shape
    if not whole or not any(one.op is ops.embed for one in chain):
        return False
    sinking.windows.append((place, node, chain))
    text = "added up at the size of the part that it is of, and laid into the whole after the loop"
    report_all("sunk", sink_sums.__name__, [named(term)], text)
    return True


def _summed(node: Expression) -> Carry:
    """A carry that begins with zeros and adds up a value."""
    inner = stand_in(node.type, node.name)
    zeros = ops.broadcast_to(constant(np.zeros((), node.dtype)), node.shape)
    return Carry(inner, zeros, inner + node)


def _sum_below(term: Expression, sinking: Sinking, kinds: Kinds) -> Expression | None:
    """sum over t of sum(a[t])."""
    node, chain = _linear(term)
    if node.op is not ops.sum or not sinking.is_stacked(node.operands[0]):
        return None
    axes = (0, *(axis + 1 for axis in node.attrs["axes"]))
    keepdims = node.attrs["keepdims"]
    value = ops.sum(sinking.stack(node.operands[0]), axis=axes, keepdims=keepdims)
    return _applied(ops.squeeze(value, 0) if keepdims else value, chain)


def _sink_products(sinking: Sinking, kinds: Kinds) -> None:
    loop = sinking.loop
    waited = {node.serial for node in between([one.next for one in loop.carries], loop.border)}
    free = {
        node.serial
        for node in loop.nodes
        if node.op is not control.item  # of a loop, which stays
        and node.serial not in waited
        and node.serial not in kinds.fixed
    }
    staying = dict(enumerate(loop.ys, start=len(loop.carries)))
    for place in list(staying):
        value = _value_below(staying[place], sinking, kinds, free)
        if value is not None:
            _put_below(sinking, place, staying.pop(place), value)
    for place in list(staying):  # from what is stacked anyway
        others = {y.serial for other, y in staying.items() if other != place}
        value = _value_below(staying[place], sinking, kinds, free - others)
        if value is not None:
            _put_below(sinking, place, staying.pop(place), value)


def _put_below(sinking: Sinking, place: int, y: Expression, value: Expression) -> None:
    text = "for all steps at once, after the loop"
    report_all("sunk", sink_products.__name__, [named(y)], text)
    sinking.below[place] = value


def _value_below(
    y: Expression, sinking: Sinking, kinds: Kinds, free: Set[int]
) -> Expression | None:
    """The stack of y computed from stacks, if that takes no more of them than it has products."""
    loop = sinking.loop
    cone, _ = cut([y], lambda one: one.serial in free)
    products = sum(is_weighted(node, kinds) for node in cone)
    entering = {one.serial: one for node in cone for one in node.operands if one.serial not in free}
    varying = [entering[serial] for serial in sorted(entering.keys() - kinds.fixed.keys())]
    if not kinds.again.isdisjoint(entering):
        return None
    if not products or sum(not sinking.is_stacked(one) for one in varying) > products:
        return None
    known = sinking.outside
    trial = {one.serial: Example(_standing(one, loop), True, one.ndim) for one in varying}
    if distribute(y, known | trial, loop.length, {}) is None:
        return None
    stacks = {one.serial: Example(sinking.stack(one), True, one.ndim) for one in varying}
    distributed = distribute(y, known | stacks, loop.length, {})
    assert distributed is not None
    return distributed.tensor


def _standing(node: Expression, loop: OpenLoop) -> Expression:
    """A placeholder for the stack of a node's values."""
    return stand_in(TensorType((loop.length, *node.shape), node.dtype), node.name)
