"""The tape: one node per recorded op, linked to the nodes of its operands.

A node holds arrays, never tensors, and only those that the gradient rules it will run read; so a
graph is free of reference cycles and its memory goes as soon as its last tensor does. What a rule
reads without its values (shape, dtype) is read from the node of the operand, or from a `Spec`.
Nodes are numbered as they are made, so the order of the reverse pass needs no search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_narrow
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.core.eager_ops import swap, tied, transpose_2d
from staticgraph.dynamic.core.errors import AutogradError, MissingAttributeError
from staticgraph.dynamic.core.pytorch import (
    BENT,
    RENEWED,
    known,
    node_name,
    operands_shown,
    stem_of,
)
from staticgraph.dynamic.core.spec import Spec
from staticgraph.dynamic.kernels.dispatch import (
    LARGE,
    cotangents,
    has_narrow,
    rounded_cotangents,
)
from staticgraph.dynamic.tape.mutated import mutated
from staticgraph.dynamic.tape.nodes import (
    FREED,
    Failing,
    GraphNode,
    PackHooks,
    class_named,
    graph_edge,
    next_number,
)
from staticgraph.dynamic.tape.noted import flat
from staticgraph.dynamic.tape.observers import announce, observers
from staticgraph.dynamic.tape.recipes import Recipe, recipe
from staticgraph.dynamic.tape.saved_tensors import Packed, packed, saved_tensor
from staticgraph.dynamic.tape.saved_values import saved_names, saved_value
from staticgraph.dynamic.tape.unheard import heard

Kept = tuple[Any, int, tuple[int, ...], Any, Any]
"""Of a tensor its version counter, what that was, shape, dtype, and the node that made it."""

_NOTHING = ((None, 0), (None, 0))
_TURNING = (transpose_2d, swap, ops.transpose)
_NOT_DERIVED = "derivative for aten::hardsigmoid_backward is not implemented"


class Node(GraphNode):
    """One recorded op; its shape and dtype are those of the op's output.

    Attributes:
        saved: per operand its array or what stands in for it, then the output's array or None;
            None once freed.
        guards: the version counters of what is saved, and the `versions` that they had.
        kept: of a `KeepingNode`.
    """

    __slots__ = ("attrs", "guards", "kept", "recipe", "saved", "versions")

    recipe: Recipe
    saved: tuple[Any, ...] | None
    guards: tuple[Any, ...]
    versions: tuple[Any, ...]
    attrs: Attrs
    kept: tuple[Kept, ...]

    @property
    def turned(self) -> bool:
        """Whether the output is the transpose of a matrix."""
        return self.recipe.op in _TURNING and len(self.shape) == 2

    def pull(self, g: Any, create_graph: bool) -> list[tuple[Any, Any]]:
        """The cotangents of the operands, each with the node it goes to.

        `g` is an ndarray, or a tensor if the pass itself is recorded.
        """
        saved = self.saved
        if saved is None:
            raise AutogradError(FREED)
        if self.guards:
            # `strict` would take longer than the rest of the loop
            for counter, version in zip(self.guards, self.versions):  # noqa: B905
                if counter is not None and counter[0] != version:
                    saved = self._renewed(saved)
                    break
        if create_graph:
            return self._pull_tensors(g, saved)
        edges, attrs, plan, dtype = self.edges, self.attrs, self.recipe, self.dtype
        quick = plan.quick
        if quick is not None:
            for _ in quick.ticks:
                break
            else:
                found: list[tuple[Any, Any]] | None = quick.found(g, saved, edges, attrs)
                if found is not None:
                    return found
        out = saved[-1]
        if out is None:
            out = self
        usual = dtype is F32 or dtype is F64
        if usual and plan.few is not None and not attrs and g.size < LARGE:
            return plan.few(edges, g, out, saved)
        if plan.narrow or (not usual and is_narrow(dtype)):
            return rounded_cotangents(plan, edges, g, out, saved[:-1], attrs)
        return cotangents(plan, edges, g, out, saved[:-1], attrs)

    def _pull_tensors(self, g: Any, saved: tuple[Any, ...]) -> list[tuple[Any, Any]]:
        """`pull` of a tensor, which is recorded."""
        *operands, out = self._tensors(g, saved)
        if out is None:
            out = self
        edges, attrs, plan = self.edges, self.attrs, self.recipe
        if plan.op in BENT:
            return self._tied(g, out, operands)
        if plan.number and plan.op is ops.power and self._is_one():
            return [(edges[0], g._constant(np.zeros(self.shape, self.dtype)))]
        return [(edges[i], rule(g, out, *operands, **attrs)) for i, rule in plan.steps]

    def _is_one(self) -> bool:
        """Whether a power is that to the number 0, whose derivative in PyTorch is no function."""
        assert self.saved is not None
        exponent = self.saved[1]
        return self.edges[1] is None and not exponent.ndim and not exponent

    def _tied(self, g: object, out: object, operands: Sequence[object]) -> list[tuple[Any, Any]]:
        """The cotangents, which depend on operand 0 even where its derivative is 0.

        So it is in PyTorch, where a penalty on the gradient of a network of such ops has one.
        """
        parts, edge = [], self.edges[0]
        op = ops.threshold if self.recipe.op is ops.relu else self.recipe.op  # as PyTorch has it
        name = f"{stem_of(op)}BackwardBackward0"
        for i, rule in self.recipe.steps:
            part = rule(g, out, *operands, **self.attrs)
            if edge is not None:
                like = part._constant(np.broadcast_to(np.zeros((), edge.dtype), edge.shape))
                like._node = edge
                part = part._apply(tied, (part, like), {})
                part._node.__class__ = class_named(name, Node)
                if self.recipe.op is ops.hardsigmoid:
                    node = Failing(part._array, AutogradError(_NOT_DERIVED), "NotImplemented")
                    node.edges = part._node.edges
                    part._node = node
            parts.append((self.edges[i], part))
        return parts

    def _tensors(self, like: Any, saved: tuple[object, ...]) -> tuple[Any, ...]:
        """The saved arrays as tensors that belong to the graph; an exponent may be a number.

        Its rule meets tensors of the right dtype alone, which others of a number may not.
        """
        makers = (*self.edges, self)
        number = self.recipe.number and self.recipe.op is ops.power and self.edges[1] is None
        counters = self.guards or (None,) * len(saved)
        tensors: list[Any] = []
        for value, node, counter in zip(saved, makers, counters, strict=True):
            if isinstance(value, np.ndarray):
                if number and len(tensors) == 1:
                    tensors.append(value[()])
                    continue
                value = like._constant(value)
                value._node = node
                if counter is not None:
                    value._counter = counter
            tensors.append(value)
        return tuple(tensors)

    def _renewed(self, saved: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is saved with the output computed anew, if that alone was overwritten.

        RuntimeError where an operand was, or where PyTorch keeps the output too.
        """
        slim = heard(self.recipe, self.edges, (*saved[:-1], self))
        if slim is not None:
            self.recipe, self.edges = slim
            kept = (*self.recipe.keeps, self.recipe.keeps_output)
            self.guards = tuple([one if k else None for one, k in zip(self.guards, kept)])  # noqa: B905 - as long
            pairs = zip(self.guards, self.versions, strict=True)
            stale = any(one is not None and one[0] != version for one, version in pairs)
            return self._renewed(saved) if stale else saved
        op, last = self.recipe.op, len(self.guards) - 1
        if op not in RENEWED or any(
            counter is not None and counter[0] != version
            for counter, version in zip(self.guards[:last], self.versions[:last], strict=True)
        ):
            raise AutogradError(self._mutated())
        operands = saved[:-1]
        return (*operands, op.evaluate(*operands, **self.attrs))

    def _mutated(self) -> str:
        assert self.saved is not None
        for position, (counter, version) in enumerate(zip(self.guards, self.versions, strict=True)):
            if counter is not None and counter[0] != version:
                array = self.saved[position]
                maker = (*self.edges, self)[position]
                break
        return mutated(array, maker, counter, version, self.name())

    def release(self) -> None:
        """Let go of what is saved; a node that saved nothing can run again."""
        if self.recipe.holds:
            self.saved = None

    def name(self) -> str:
        """PyTorch's name of the node."""
        given: str | None = type(self).__dict__.get("name_")  # that of its function, or its own
        return node_name(self) if given is None else given

    def places(self) -> tuple[int, ...]:
        """The operand that each of the cotangents that `pull` finds belongs to."""
        return tuple([i for i, _ in self.recipe.steps])

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Per operand the node that made it, or None, and which of its outputs it is."""
        absorbed = known(self.recipe.op).absorbs
        shown = self.operands_shown()
        if absorbed not in shown or len(shown) == 1:
            return tuple([graph_edge(self.edges[i]) for i in shown])
        others = [graph_edge(self.edges[i]) for i in shown if i != absorbed]
        inside = self.edges[absorbed]
        return (*others, *(_NOTHING if inside is None else inside.next_functions))

    def operands_shown(self) -> tuple[int, ...]:
        """The positions of the operands that PyTorch's node has, as it orders them."""
        return operands_shown(self)

    def shown(self) -> Any:
        """The node, with its name as the name of its class, which tools that draw graphs print."""
        kind = type(self)
        base = kind if "name_" not in kind.__dict__ else kind.__mro__[1]
        made = class_named(self.name(), base)
        if made is not kind:
            self.__class__ = made
        return self

    def pack(self, pair: PackHooks) -> None:
        """Keep what the first function makes of each saved tensor; the second one reverts it."""
        if type(self) is not Node or not self.recipe.holds:
            return
        makers, number = (*self.edges, self), self.recipe.number
        saved = [
            value
            if number and maker is None and i < len(self.edges)
            else packed(saved_tensor(value, maker, counter), pair, maker is self)
            if isinstance(value, np.ndarray) and isinstance(counter, list)
            else value
            for i, (value, maker, counter) in enumerate(
                zip(self.saved or (), makers, self.guards, strict=True)
            )
        ]
        self.keep_packed(tuple(saved), (), ())

    def keep_packed(
        self, saved: tuple[object, ...], guards: tuple[object, ...], versions: tuple[object, ...]
    ) -> None:
        """Keep this, some of which is packed, instead of what is saved."""
        self.__class__ = PackedNode
        self.saved, self.guards, self.versions = saved, guards, versions

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_saved_", "_raw_saved_")):
            return saved_value(self, name)
        raise MissingAttributeError(f"{self.name()!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *saved_names(self)})


class KeepingNode(Node):
    """A node of which PyTorch's keeps more tensors than its rule reads: they may not change.

    Attributes:
        kept: what is known of them.
    """

    __slots__ = ()

    def pull(self, g: object, create_graph: bool) -> list[tuple[Any, Any]]:
        """The cotangents of the operands."""
        for counter, version, shape, dtype, maker in self.kept:
            if counter[0] != version:
                spec = Spec(shape, dtype)
                raise AutogradError(mutated(spec, maker, counter, version, self.name()))
        return super().pull(g, create_graph)


class PackedNode(Node):
    """A node whose saved arrays are packed."""

    __slots__ = ()

    def pull(self, g: object, create_graph: bool) -> list[tuple[Any, Any]]:
        """The cotangents of the operands, with what is saved unpacked for as long as it takes."""
        saved = self.saved
        if saved is None:
            raise AutogradError(FREED)
        unpacked = [one.unpacked()._array if type(one) is Packed else one for one in saved]
        try:
            self.saved = tuple(unpacked)
            return super().pull(g, create_graph)
        finally:
            self.saved = saved


def keep(node: Any, tensors: Iterable[Any]) -> None:
    """Have a node of the class `Node` keep these, as a `KeepingNode`; no other node."""
    if type(node) is Node:
        node.__class__ = KeepingNode
        node.kept = noted(node, tensors)


def noted(node: object, tensors: Iterable[Any]) -> tuple[Kept, ...]:
    """What a node keeps of tensors, without a reference to itself."""
    found = []
    for one in tensors:
        counter, array, maker = one._cell or one._counter, one._array, one._maker
        if maker is node:
            maker = None
        found.append((counter, counter[0], array.shape, array.dtype, maker))
    return tuple(found)


_new = object.__new__


def new_node(
    plan: Recipe,
    edges: tuple[object, ...],
    saved: tuple[object, ...],
    guards: tuple[object, ...],
    versions: tuple[object, ...],
    attrs: Attrs,
    array: Any,
) -> Node:
    """The node of `array`; a function, because a class with an `__init__` takes longer to call."""
    node = _new(Node)
    node.recipe = plan
    node.edges = edges
    node.saved = saved
    node.guards = guards
    node.versions = versions
    node.attrs = attrs
    node.shape = array.shape
    node.dtype = array.dtype
    node.hooks = None
    node.serial = next_number()
    if observers:
        announce(node)
    return node


def record(
    op: Op,
    attrs: Attrs,
    operands: Sequence[Any],
    result: Any,
    number: bool,
) -> Node | None:
    """The node of `result`, the value of `op` on tensors; None if no gradient flows through it.

    `number` says whether an operand was a Python number.
    """
    arrays = [operand._array for operand in operands]
    of_complex = "c" in (result._array.dtype.kind, arrays[0].dtype.kind)
    edges = tuple([operand._node for operand in operands])
    needs = tuple([edge is not None for edge in edges])
    plan = recipe(op, needs, number, of_complex, has_narrow(arrays))
    if not plan.steps:
        return None
    node = record_by(plan, edges, attrs, operands, result)
    if plan.flat and len(operands) == 1:
        flat.note(op.name, node)
    return node


def record_by(
    plan: Recipe,
    edges: tuple[object, ...],
    attrs: Attrs,
    operands: Sequence[Any],
    result: Any,
) -> Node:
    """The node by a recipe that has steps, of tensors made by the nodes `edges`."""
    if len(operands) == 1:
        return record_one(plan, attrs, edges[0], operands[0], result)
    if len(operands) == 2:
        left, right = operands
        return record_pair(plan, edges, left._array, right._array, left, right, result, attrs)
    if not plan.holds and None not in edges:
        return new_node(plan, edges, (*edges, None), (), (), attrs, result._array)
    return _record_many(plan, edges, attrs, operands, result)


def record_one(plan: Recipe, attrs: Attrs, edge: object, operand: Any, result: Any) -> Node:
    """`record` for one tensor, made by the node `edge`, and a result that nobody has seen yet."""
    array = result._array
    if not plan.holds:
        return new_node(plan, (edge,), (edge, None), (), (), attrs, array)
    own = made = None
    version = 0
    if plan.keeps[0]:
        own = operand._cell or operand._counter
        version = own[0]
    if plan.keeps_output:
        made = result._cell = [0, None]
    saved = (edge if own is None else operand._array, None if made is None else array)
    return new_node(plan, (edge,), saved, (own, made), (version, 0), attrs, array)


def record_pair(
    plan: Recipe,
    edges: tuple[object, ...],
    x: Any,
    y: Any,
    left: Any,
    right: Any,
    result: Any,
    attrs: Attrs,
) -> Node:
    """`record_one` for two operands: their arrays, and their tensors or None for a number."""
    array = result._array
    first, second = edges
    saved: tuple[object, ...]
    guards: tuple[object, ...] = ()
    versions: tuple[object, ...] = ()
    if not plan.holds:
        if first is None:
            first = Spec(x.shape, x.dtype)
        elif second is None:
            second = Spec(y.shape, y.dtype)
        saved = (first, second, None)
    else:
        keeps_x, keeps_y = plan.keeps
        c = d = made = None
        if keeps_x and left is not None:
            c = left._cell or left._counter
        if keeps_y and right is not None:
            d = right._cell or right._counter
        if plan.keeps_output:
            made = result._cell = [0, None]
        saved = (
            x if keeps_x else Spec(x.shape, x.dtype) if first is None else first,
            y if keeps_y else Spec(y.shape, y.dtype) if second is None else second,
            None if made is None else array,
        )
        guards = (c, d, made)
        try:
            versions = (0 if c is None else c[0], 0 if d is None else d[0], 0)
        except AutogradError:
            slim = heard(plan, edges, (x, y, array))
            if slim is None:
                raise
            return record_pair(*slim, x, y, left, right, result, attrs)
    return new_node(plan, edges, saved, guards, versions, attrs, array)


def _record_many(
    plan: Recipe,
    edges: tuple[object, ...],
    attrs: Attrs,
    operands: Sequence[Any],
    result: Any,
) -> Node:
    saved: list[Any] = []
    guards: list[Any] = []
    for operand, edge, kept in zip(operands, edges, plan.keeps):  # noqa: B905 - as in `pull`
        own = operand._array
        if kept:
            saved.append(own)
            guards.append(operand._cell or operand._counter)
        else:
            saved.append(Spec(own.shape, own.dtype) if edge is None else edge)
            guards.append(None)
    array = result._array
    saved.append(array if plan.keeps_output else None)
    guards.append(result._counter if plan.keeps_output else None)
    try:
        versions = tuple([0 if guard is None else guard[0] for guard in guards])
    except AutogradError:
        slim = heard(plan, edges, [*(one._array for one in operands), array])
        if slim is None:
            raise
        return _record_many(*slim, attrs, operands, result)
    return new_node(plan, edges, tuple(saved), tuple(guards), versions, attrs, array)
