"""Loops and branches of expressions: the functions are called once, and become bodies of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.default_dtype import get_default_dtype
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.errors import DTypeError, GraphError
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.pytree import leaves, mapped, rebuilt, same_structure, structure
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import DType, TensorType
from staticgraph.compiler.core.whose_code import is_library
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.effects import (
    Effect,
    collecting,
    depth,
    first_token,
    in_order,
    keep,
)
from staticgraph.compiler.graph.expression import (
    Expression,
    constant,
    construct,
    next_serial,
    promote,
)
from staticgraph.compiler.graph.loop import items_of
from staticgraph.compiler.graph.traversal import cut
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.transforms.branching import on_all_ways
from staticgraph.compiler.transforms.control_checks import (
    aligned,
    line_of,
    pair_of,
    paths,
    require_same,
)
from staticgraph.compiler.transforms.control_eager import is_number
from staticgraph.compiler.transforms.control_gradients import stand_in
from staticgraph.compiler.transforms.while_loops import with_bound

_TOKEN = np.dtype(np.int64)


@frozen(eq=False)
class Traced:
    """A function called on placeholders.

    Attributes:
        inputs: the placeholders.
        result: the tree that it returned, with expressions as leaves.
        start: a serial below those of all expressions that the call made.
        effects: the prints and checks that it made.
    """

    inputs: Sequence[Expression]
    result: Any
    start: int
    effects: Sequence[Effect] = ()

    def around(self) -> dict[int, Expression]:
        """The expressions around the function that it reads, by serial."""
        own = {one.serial for one in self.inputs}

        def is_inside(node: Expression) -> bool:
            is_fed = node.op.name in ("placeholder", "variable")
            return node.serial in own or (node.serial >= self.start and not is_fed)

        _, border = cut(leaves(self.result), is_inside)
        return {node.serial: node for node in border}

    def with_token(self, place: int, iterates: bool = False) -> Traced:
        """The function that takes a token at `place`, and gives at last the one behind its effects.

        Of a function of a loop that one counts an iteration more.
        """
        loops = depth() + iterates
        token = stand_in(TensorType((1 + loops,), _TOKEN), "token")
        inputs = [*self.inputs[:place], token, *self.inputs[place:]]
        results, last = in_order(leaves(self.result), self.effects, token)
        if iterates:
            last = last + np.array([*[0] * loops, 1], _TOKEN)
        return Traced(inputs, (rebuilt(self.result, results), last), self.start)

    def body(self, consts: Sequence[Expression]) -> Body:
        """The body that takes the consts and then the inputs."""
        return Body.of([*consts, *self.inputs], leaves(self.result))


def _branching(op: Op, call: Callable[[], object], inputs: Sequence[Expression]) -> Any:
    """What a function of a loop or a branch returns, on all ways through it."""
    return on_all_ways(call, inputs, lambda one, dtype: _expression(op, one, dtype))


def _consts(traces: Iterable[Traced]) -> list[Expression]:
    """What the traced functions read of the expressions around them."""
    found: dict[int, Expression] = {}
    for one in traces:
        found |= one.around()
    return [found[serial] for serial in sorted(found)]


def _expression(op: Op, leaf: object, dtype: DType | None = None) -> Expression:
    """A leaf as an expression; Python numbers take the dtype."""
    if is_number(leaf):
        return constant(np.asarray(leaf, dtype or _alone(np.asarray(leaf).dtype.kind)))
    return promote(op, [leaf])[0]


def _alone(kind: str) -> DType:
    """The dtype of Python numbers of a kind that meet nothing else."""
    if kind == "f":
        return get_default_dtype()
    if kind == "c":
        return np.result_type(get_default_dtype(), np.complex64)
    return np.dtype(np.bool_ if kind == "b" else np.int64)


def _numbers(tree: object, given: Sequence[Expression]) -> list[int]:
    """The leaves that are Python numbers, or stand for one in the trial of a loop around."""
    pairs = zip(leaves(tree), given, strict=True)
    return [i for i, (leaf, one) in enumerate(pairs) if is_number(leaf) or one.weak]


def _take_dtypes(
    op: Op,
    tree: object,
    first: list[Expression],
    numbers: Sequence[int],
    given: Sequence[Expression],
) -> None:
    """Let numbers begin a loop in the dtypes that its trial gave."""
    for i in numbers:
        leaf, dtype = leaves(tree)[i], given[i].dtype
        if is_number(leaf):
            first[i] = _expression(op, leaf, dtype)
        elif first[i].dtype != dtype:
            first[i] = ops.astype(first[i], dtype)


def _placeholders(name: str, tree: object, types: Iterable[TensorType]) -> list[Expression]:
    """What a function is called on in place of the leaves of a tree."""
    return [stand_in(type, f"{name}{path}") for path, type in zip(paths(tree), types, strict=True)]


def _named(function: Callable[..., object], position: int, otherwise: str) -> str:
    """What a function of the user's calls its parameter at a position."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or is_library(code.co_filename):
        return otherwise
    return code.co_varnames[position] if position < code.co_argcount else otherwise


def scan(
    step: Callable[..., object], init: object, xs: object, length: Size, reverse: bool
) -> tuple[Any, Any]:
    """`compiler.transforms.control_flow.scan` of expressions."""
    first = [_expression(control.scan, leaf) for leaf in leaves(init)]
    stacked = [_expression(control.scan, leaf) for leaf in leaves(xs)]
    numbers = _numbers(init, first)
    if numbers:  # what dtypes they take is known once the step is
        trial = _trace_step(step, (init, first), (xs, stacked), numbers)
        _take_dtypes(control.scan, init, first, numbers, leaves(trial.result[0]))
    traced = _trace_step(step, (init, first), (xs, stacked), ())
    tree = traced.result
    count, effects = len(first), traced.effects
    if effects:
        looped = traced.with_token(count, iterates=True)
        (after, y), last = looped.result
        traced = Traced(looped.inputs, ((after, last), y), traced.start)
        first.append(_entered())
    consts = _consts([traced])
    attrs = {
        "body": traced.body(consts),
        "consts": len(consts),
        "carries": len(first),
        "length": length,
        "reverse": reverse,
    }
    node = construct(control.scan, (*consts, *first, *stacked), attrs)
    items = items_of(node, len(leaves(traced.result)))
    if len(first) > count:
        _left(first[count], items[count], effects)
    return rebuilt(init, items[:count]), rebuilt(tree[1], items[len(first) :])


def _entered() -> Expression:
    """The token with which a loop begins: it counts the iterations."""
    zero = constant(np.zeros(1, _TOKEN))
    entered: Expression = ops.concatenate([first_token(depth()), zero])
    return entered


def _left(entered: Expression, last: Expression, effects: Sequence[Effect]) -> None:
    """Keep the effects of a loop, whose last token is `last`."""
    keep(Effect(entered, 0, last[:-1], _are_of_loops(effects)))


def _are_of_loops(effects: Sequence[Effect]) -> bool:
    return all(one.of_loop for one in effects)


def _trace_step(
    step: Callable[..., object],
    carry: tuple[object, list[Expression]],
    xs: tuple[object, list[Expression]],
    numbers: Sequence[int],
) -> Traced:
    """The step called on a carry and slices; `numbers`: the carries that take any dtype."""
    start = next_serial()
    before = _placeholders(_named(step, 0, "carry"), carry[0], (one.type for one in carry[1]))
    for i in numbers:
        before[i].weak = True
    types = (TensorType(one.shape[1:], one.dtype) for one in xs[1])
    slices = _placeholders(_named(step, 1, "x"), xs[0], types)
    with collecting(depth() + 1) as found:
        given = rebuilt(carry[0], before), rebuilt(xs[0], slices)
        result = _branching(control.scan, lambda: step(*given), [*before, *slices])
        after, y = pair_of(result, step)
    after = _like_carry(control.scan, after, carry[0], before)
    require_same("scan: carry", rebuilt(carry[0], before), after, step, numbers)
    y = mapped(lambda leaf: _expression(control.scan, leaf), y)
    return Traced([*before, *slices], (after, y), start, found.effects)


def _like_carry(op: Op, after: object, tree: object, before: Sequence[Expression]) -> Any:
    """What a function gave as the next carry, with numbers in the dtype of the carry."""
    after = aligned(after, tree)
    if not same_structure(after, tree):
        return after
    pairs = zip(leaves(after), before, strict=True)
    return rebuilt(after, [_expression(op, leaf, one.dtype) for leaf, one in pairs])


def while_loop(
    cond: Callable[..., object],
    body: Callable[..., object],
    init: object,
    max_steps: int | None = None,
) -> Any:
    """`compiler.transforms.control_flow.while_loop` of expressions."""
    op = control.while_loop
    first = [_expression(op, leaf) for leaf in leaves(init)]
    numbers = _numbers(init, first)
    if numbers:
        trial = _trace_body(body, init, first, numbers)
        _take_dtypes(op, init, first, numbers, leaves(trial.result))
    traced = _trace_body(body, init, first, ())
    start = next_serial()
    inputs = _placeholders(_named(cond, 0, "carry"), init, (one.type for one in first))
    with collecting(depth() + 1) as found:
        answer = _branching(op, lambda: cond(rebuilt(init, inputs)), inputs)
    if found.effects:
        enter = found.effects[0].enter
        raise GraphError(
            f"while_loop: {enter.op.name} in the condition ({enter.source}): write it into the body"
        )
    test = Traced(inputs, mapped(lambda leaf: _expression(op, leaf), answer), start)
    if structure(answer) != "*" or test.result.ndim or test.result.dtype.kind != "b":
        raise DTypeError(
            f"while_loop: the condition is {answer!r}, not bool[], by the function in "
            f"{line_of(cond)}"
        )
    count, effects = len(first), traced.effects
    if effects:
        test = Traced([*inputs, stand_in(_entered().type, "token")], test.result, start)
        traced = traced.with_token(count, iterates=True)
        first.append(_entered())
    consts = _consts([test, traced])
    attrs = {"test": test.body(consts), "body": traced.body(consts), "consts": len(consts)}
    node = construct(op, (*consts, *first), attrs)
    items = items_of(node, len(first))
    if len(first) > count:
        _left(first[count], items[count], effects)
    if max_steps is not None:
        items = with_bound(node, count, max_steps)
    return rebuilt(init, items[:count])


def _trace_body(
    body: Callable[..., object], init: object, first: Sequence[Expression], numbers: Sequence[int]
) -> Traced:
    start = next_serial()
    before = _placeholders(_named(body, 0, "carry"), init, (one.type for one in first))
    for i in numbers:
        before[i].weak = True
    with collecting(depth() + 1) as found:
        result = _branching(control.while_loop, lambda: body(rebuilt(init, before)), before)
    after = _like_carry(control.while_loop, result, init, before)
    require_same("while_loop: carry", rebuilt(init, before), after, body, numbers)
    return Traced(before, after, start, found.effects)


def cond(
    pred: Expression,
    true_fn: Callable[..., object],
    false_fn: Callable[..., object],
    operands: tuple[object, ...],
) -> Any:
    """`compiler.transforms.control_flow.cond` of an expression."""
    if pred.ndim or pred.dtype.kind != "b":
        raise DTypeError(f"cond: the predicate is {pred.type}, not bool[]")
    given = [_expression(control.cond, leaf) for leaf in leaves(operands)]
    on_true, on_false = (_trace_branch(one, operands, given) for one in (true_fn, false_fn))
    aligned_result = aligned(on_false.result, on_true.result)
    on_false = Traced(on_false.inputs, aligned_result, on_false.start, on_false.effects)
    if same_structure(on_true.result, on_false.result):
        on_true, on_false = _in_one_dtype(on_true, on_false), _in_one_dtype(on_false, on_true)
    require_same("cond: result", on_true.result, on_false.result, false_fn)
    tree, effects = on_true.result, [*on_true.effects, *on_false.effects]
    if effects:
        on_true, on_false = (one.with_token(len(given)) for one in (on_true, on_false))
        given.append(first_token(depth()))
    consts = _consts([on_true, on_false])
    attrs = {"on_true": on_true.body(consts), "on_false": on_false.body(consts)}
    node = construct(control.cond, (pred, *consts, *given), attrs)
    items = items_of(node, len(leaves(on_true.result)))
    for item, *both in zip(items, leaves(on_true.result), leaves(on_false.result), strict=True):
        item.weak = all(one.weak for one in both)
    if effects:
        keep(Effect(node, len(node.operands) - 1, items.pop(), _are_of_loops(effects)))
    return rebuilt(tree, items)


def _in_one_dtype(branch: Traced, other: Traced) -> Traced:
    """A branch whose numbers have the dtypes that the other branch gives."""
    pairs = zip(leaves(branch.result), leaves(other.result), strict=True)
    found = [
        ops.astype(one, like.dtype) if one.weak and not like.weak and one.dtype != like.dtype
        else one
        for one, like in pairs
    ]  # fmt: skip
    return Traced(branch.inputs, rebuilt(branch.result, found), branch.start, branch.effects)


def _trace_branch(
    branch: Callable[..., object], operands: tuple[object, ...], given: Sequence[Expression]
) -> Traced:
    start = next_serial()
    inputs = _placeholders("operand", operands, (one.type for one in given))
    for stands, one in zip(inputs, given, strict=False):
        stands.weak = one.weak  # inside the trial of a loop
    with collecting(depth()) as found:
        given_back = _branching(control.cond, lambda: branch(*rebuilt(operands, inputs)), inputs)
    result = mapped(lambda leaf: _expression(control.cond, leaf), given_back)
    return Traced(inputs, result, start, found.effects)
