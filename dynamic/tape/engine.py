"""The reverse pass: nodes in the order opposite to that in which they were made.

A leaf without hooks accumulates each cotangent at once, as it arrives. One with hooks waits for
the last: it runs right after the oldest node that it is an operand of.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Collection, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from staticgraph.compiler.ops import add
from staticgraph.compiler.reference.copies import add_into
from staticgraph.dynamic.core.user_warnings import keep_silent
from staticgraph.dynamic.kernels.dispatch import LARGE, evaluate
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.callbacks import call, next_pass
from staticgraph.dynamic.tape.grad_mode import mode, paused, record_if
from staticgraph.dynamic.tape.hooks import as_tensor, at_tensor, run_after, run_before
from staticgraph.dynamic.tape.multi_grad import Pass, following
from staticgraph.dynamic.tape.nodes import Cotangents, SeveralOutputs
from staticgraph.dynamic.tape.ownership import alone, unheld
from staticgraph.dynamic.tape.pulling import around, pulled
from staticgraph.dynamic.tape.saved_tensors import leave
from staticgraph.dynamic.tape.tape import Node
from staticgraph.dynamic.tape.undefined import UNDEFINED

Root = tuple[Any, Any]

MAX_DEPTH = 60
"""How many reverse passes may run within each other before one gets a thread, and stack, anew."""


def run(
    roots: Collection[Root],
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[object] | None = None,
    accumulate: bool = False,
) -> dict[Any, Any]:
    """Propagate cotangents from the roots to the leaves.

    Args:
        roots: nodes, each with the cotangent of its output: an ndarray, or a tensor if
            `create_graph`, or if it has no memory: the pass is on tensors then, and not recorded.
        retain_graph: whether the saved arrays stay for another pass.
        create_graph: whether the pass is recorded itself.
        inputs: nodes whose cotangents are wanted instead of those of all leaves.
        accumulate: whether these run too, as a leaf has to that accumulates its gradient.

    Returns:
        The cotangents of `inputs` that the roots depend on; empty without `inputs`, or if they are
        accumulated.
    """
    keep_silent()
    wanted = needed = None
    if inputs is not None:
        wanted = set(inputs)
        needed = _leading_to(wanted, [node for node, _ in roots])
        if accumulate:
            needed |= wanted
            wanted = set()
    depth = mode.depth
    if depth >= MAX_DEPTH:
        return _in_thread(roots, retain_graph, create_graph, inputs, accumulate)
    before, partial = mode.enabled, mode.partial
    outer = mode.task if following else None
    number, callbacks, packing = mode.number, mode.callbacks, mode.packing
    waiting: dict[AccumulateGrad, Any] = {}
    try:  # an interrupt may come after each call, so all is set within
        record_if(create_graph)
        mode.depth = depth + 1
        if needed is not None:
            mode.partial = depth + 1
        mode.number, mode.callbacks = next_pass(), None
        if following:
            mode.task = Pass(roots, needed, wanted or (), retain_graph)
        on_tensors = create_graph
        for _, g in () if create_graph else roots:
            if type(g) is not np.ndarray:
                on_tensors = True
        found = _propagate(roots, retain_graph, on_tensors, wanted, needed, waiting)
        if mode.callbacks is not None:
            call(mode.callbacks)
        return found
    finally:
        if waiting:
            _settle(waiting)
        mode.depth, mode.partial = depth, partial
        mode.number, mode.callbacks = number, callbacks
        if following or outer is not None:
            mode.task = outer
        if mode.enabled is not before:  # as `record_if`, whose call an interrupt may prevent
            mode.enabled = before
            paused.pop() if before else paused.append(None)
        if mode.packing is not packing:  # hooks that a function has entered, and not left
            leave(packing)


def _in_thread(*arguments: Any) -> dict[Any, Any]:
    """`run` in a thread of its own, in the mode of this one."""
    state = dict(vars(mode), depth=0)
    recording = state.pop("enabled", True)
    results: list[dict[Any, Any]] = []
    errors: list[BaseException] = []

    def work() -> None:
        vars(mode).update(state)
        record_if(recording)
        try:
            results.append(run(*arguments))
        except BaseException as error:
            errors.append(error)
        finally:
            record_if(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors.pop()
    return results.pop()


def _propagate(
    roots: Collection[Root],
    retain_graph: bool,
    create_graph: bool,
    wanted: Collection[object] | None,
    needed: Collection[object] | None,
    waiting: dict[AccumulateGrad, Any],
) -> dict[Any, Any]:
    """What `run` finds.

    `waiting`: first gradients of leaves that are one number seen as a large array. They are not
    written out before the next one comes, which it is added to, or the pass ends.
    """
    watch = bool(around)
    pending: dict[Any, Any] = {}
    heap: list[Any] = []
    found: dict[Any, Any] = {}
    uses: dict[Any, int] | None = None
    only: Root | None = None  # the one cotangent on its way, where there is no other
    if len(roots) == 1:
        (only,) = roots
    else:
        for node, g in roots:
            if node in pending:
                pending[node] = pending[node] + g
            else:
                pending[node] = g
                heappush(heap, (-node.serial, node))
    while heap or only is not None:
        if only is None:
            node = heappop(heap)[-1]
            g = pending.pop(node)
        else:
            (node, g), only = only, None
        hooks = node.hooks
        if waiting and (hooks is not None or not isinstance(node, Node)):
            _settle(waiting)  # before code of others, which may look at gradients
        if needed is not None:
            runs = node in needed
            if node in wanted:  # type: ignore[operator]
                # as in PyTorch: the hooks of a tensor are called first only if no node runs for it
                whole = g if runs or hooks is None else at_tensor(hooks, g, create_graph)
                if whole is not UNDEFINED:
                    found[node] = found[node] + whole if node in found else whole
                if node.owned is not None:  # whoever asked for it holds it too
                    node.owned = None
            elif not runs and hooks is not None and any(node is root for root, _ in roots):
                at_tensor(hooks, g, create_graph)  # those of a root are called in every pass
            if not runs:
                continue
        if hooks is not None:
            g = at_tensor(hooks, g, create_graph)
        if g is UNDEFINED or watch or hooks is not None:
            if type(node) is AccumulateGrad and not watch and g is not UNDEFINED:
                held = [g]
                g = part = parts = None  # so that nobody else here holds it
                parts = _at_leaf(node, held, create_graph)
            else:
                parts = _observed(node, g, create_graph, watch)
        else:
            parts = node.pull(g, create_graph)
        if not retain_graph:
            node.release()
        for edge, part in parts:
            is_leaf = type(edge) is AccumulateGrad
            if is_leaf and edge.hooks is None:
                if needed is None:
                    # what is passed on, a view or read-only is not the leaf's own
                    own = part is not g and type(part) is np.ndarray and part.base is None
                    if waiting and edge in waiting:
                        _join(edge, waiting.pop(edge), part, own)
                    elif not own and edge.grad is None and _is_spread(part):
                        waiting[edge] = part
                    else:
                        edge.accumulate(part, create_graph, own)
                    continue
                if edge not in needed:
                    if edge in wanted and part is not UNDEFINED:  # type: ignore[operator]
                        found[edge] = found[edge] + part if edge in found else part
                    continue
            if only is not None:  # not the only one
                pending[only[0]] = only[1]
                heappush(heap, (-only[0].serial, only[0]))
                only = None
            elif not heap and not is_leaf:
                only = edge, part
                continue
            before = pending.get(edge)
            if before is not None:
                large = type(part) is np.ndarray and part.size >= LARGE
                pending[edge] = _large_sum(before, part) if large else before + part
            elif not is_leaf:
                pending[edge] = part
                heappush(heap, (-edge.serial, edge))
            else:
                pending[edge] = part
                key = 0.5
                if edge.hooks is not None:
                    if uses is None:
                        uses = _oldest_uses([node, *(entry[-1] for entry in heap)])
                    key -= uses[edge]  # right after its oldest use
                heappush(heap, (key, len(pending), edge.serial, edge))
    if waiting:
        _settle(waiting)
    return found


def _is_spread(part: Any) -> bool:
    """Whether a cotangent is one number, seen as a large array."""
    return type(part) is np.ndarray and part.size >= LARGE and not any(part.strides)


def _join(leaf: AccumulateGrad, before: Any, part: Any, own: bool) -> None:
    """Accumulate what has waited and what comes then: in its memory, if that is nobody else's."""
    if own and part.dtype == before.dtype and part.shape == before.shape:
        add_into(part, before)
    else:
        leaf.accumulate(before, False, False)
    leaf.accumulate(part, False, own)


def _settle(waiting: dict[AccumulateGrad, Any]) -> None:
    """Accumulate what waits."""
    while waiting:
        leaf, part = waiting.popitem()
        leaf.accumulate(part, False, False)


def _large_sum(before: Any, part: Any) -> Any:
    """The sum of two cotangents of an operand, the second a large array."""
    if type(before) is np.ndarray and before.dtype == part.dtype and before.shape == part.shape:
        return evaluate(add, (before, part), {})
    return before + part


def _observed(node: Any, g: Any, create_graph: bool, watch: bool) -> Any:
    """The cotangents that a node finds, with its hooks called; seen if `watch`."""
    hooks = node.hooks
    several = type(g) is Cotangents or (g is UNDEFINED and isinstance(node, SeveralOutputs))
    gradients: tuple[Any, ...] = ()
    if hooks is not None and (hooks.before or hooks.after):
        gradients = tuple(as_tensor(one) for one in (g.listed(node.count) if several else (g,)))
        gradients = run_before(hooks, gradients)
        raw = gradients if create_graph else [getattr(one, "_array", None) for one in gradients]
        given = {i: one for i, one in enumerate(raw) if one is not None}
        g = Cotangents(given) if several and given else given.get(0, UNDEFINED)
    if several and hooks is not None:
        g = _after_others(node, g, create_graph)
    if g is UNDEFINED:
        parts = node.undefined(create_graph)
    elif watch:
        parts = pulled(node, g, create_graph)
    else:
        parts = node.pull(g, create_graph)
    return parts if hooks is None or not hooks.after else _after(node, parts, gradients)


def _at_leaf(leaf: AccumulateGrad, held: list[Any], create_graph: bool) -> tuple[()]:
    """Run a leaf that has hooks on the cotangent in `held`: its own, if nobody else has that."""
    hooks = leaf.hooks
    if hooks is None or not (hooks.before or hooks.after):
        own = unheld(held)
        leaf.pull(held.pop(), create_graph, own)
        return ()
    gradients = run_before(hooks, (as_tensor(held.pop()),))
    if gradients[0] is not None:
        own = not create_graph and alone(gradients, 0)
        leaf.pull(gradients[0] if create_graph else gradients[0]._array, create_graph, own)
    run_after(hooks, (), gradients)
    return ()


def _after_others(node: Any, g: Any, create_graph: bool) -> Any:
    """The cotangents after the hooks of the outputs that none has arrived for, called with None."""
    parts = {} if g is UNDEFINED else g.parts
    for number, reference in tuple(node.heads.items()):
        head = reference()
        if head is not None and head.hooks is not None and number not in parts:
            value = at_tensor(head.hooks, UNDEFINED, create_graph)
            if value is not UNDEFINED:
                parts[number] = value
    return Cotangents(parts) if parts else UNDEFINED


def _after(node: Any, parts: Any, gradients: tuple[object, ...]) -> list[tuple[Any, Any]]:
    """The cotangents after the hooks that see them all, by the position of the operands."""
    by_place = dict(zip(node.places(), (part for _, part in parts), strict=True))
    shown = node.operands_shown()
    found = tuple(as_tensor(by_place.get(i)) for i in shown)
    changed = run_after(node.hooks, found, gradients)
    result = []
    for i, after in zip(shown, changed, strict=True):
        edge = node.edges[i]
        if edge is None or (after is None and i not in by_place):
            continue
        if after is None:
            result.append((edge, UNDEFINED))
        elif mode.enabled:
            result.append((edge, after))
        else:
            result.append((edge, after._array[...]))  # a view: the hook may hold the array
    return result


def _oldest_uses(nodes: Iterable[Any]) -> dict[Any, int]:
    """For each leaf that these nodes lead to, the number of its oldest use."""
    seen: set[Any] = set()
    uses: dict[Any, int] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        for edge in node.edges:
            if type(edge) is AccumulateGrad:
                uses[edge] = min(node.serial, uses.get(edge, node.serial))
            elif edge is not None:
                stack.append(edge)
    return uses


_SERIAL = operator.attrgetter("serial")


def _leading_to(wanted: Collection[Any], roots: Iterable[Any]) -> set[Any]:
    """The nodes between the roots and the wanted ones: those that have to run."""
    oldest = min((node.serial for node in wanted), default=0)
    seen: set[Any] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in seen or node.serial < oldest:
            continue
        seen.add(node)
        for edge in node.edges:
            if edge is not None:
                stack.append(edge)
    needed: set[Any] = set()
    for node in sorted(seen, key=_SERIAL):
        for edge in node.edges:
            if edge in wanted or edge in needed:
                needed.add(node)
                break
    return needed
