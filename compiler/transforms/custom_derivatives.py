"""`custom_vjp` and `custom_jvp`: functions whose derivatives are the user's, in both paradigms.

Of expressions they make nodes with rules of their own (`compiler.transforms.custom_rules`), of
eager tensors nodes of the tape, which the engine provides.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import GraphError, OptionError, OutputError, ShapeError
from staticgraph.compiler.core.op import Operand, standing
from staticgraph.compiler.core.pickling import name_in_module
from staticgraph.compiler.core.pytree import leaves, mapped, rebuilt, same_structure, structure
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Tree, Value
from staticgraph.compiler.graph.evaluate import replaced
from staticgraph.compiler.graph.expression import (
    Expression,
    Handle,
    abstract,
    closed,
    construct,
    handle_among,
    opened,
)
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.ops.programs.regions import gradient_to
from staticgraph.compiler.transforms.autodiff import pullback
from staticgraph.compiler.transforms.custom_rules import LazyRule, Rule, with_rule
from staticgraph.compiler.transforms.packing import packed, unpacked

Function: TypeAlias = Callable[..., Tree]


class CustomFunction:
    """A function with derivatives of its own: what `custom_vjp` and `custom_jvp` return.

    Attributes:
        name: of the function.
        function: the function, which gives the value.
    """

    kind = ""

    def __init__(self, function: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        if not callable(function):
            raise OptionError(f"{self.kind}: {function!r:.80} is no function")
        functools.update_wrapper(self, function)
        self.function = function
        self.name = f"{self.kind}({getattr(function, '__name__', type(function).__name__)})"
        self.static = tuple(nondiff_argnums)
        self._signature = inspect.signature(function)
        count = len(self._signature.parameters)
        if not all(type(i) is int and 0 <= i < count for i in self.static):
            raise OptionError(f"{self.name}: nondiff_argnums={nondiff_argnums!r} of {count}")

    def __call__(self, *args: Tree, **kwargs: Tree) -> Tree:
        """The value; where that is differentiated, by the rule that was given."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise OptionError(f"{self.name}: the function takes arguments by position alone")
        call = Call(self, mapped(standing, bound.args))
        operands = [one for one in call.leaves if isinstance(one, Operand)]
        if not operands:
            return self.function(*bound.args)
        if all(isinstance(one, Expression) for one in operands):
            return on_expressions(call)
        return provided.custom_function(call)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return name_in_module(self) or super().__reduce_ex__(protocol)

    def cotangents(self, call: Call, out: Tree, gs: Tree) -> Sequence[Value]:
        """Those of the leaves of what is differentiated by, from those of the result."""
        raise NotImplementedError

    def forward(self, args: Sequence[Tree]) -> tuple[Tree, Tree]:
        """The value, and what `cotangents` is to have of it."""
        raise NotImplementedError


class Call:
    """A call of such a function.

    Attributes:
        made: the function.
        args: all its arguments.
        given: those that are differentiated by; `leaves` are theirs.
        residuals: what the forward pass left.
    """

    def __init__(self, made: CustomFunction, args: Sequence[Tree], residuals: Tree = None) -> None:
        self.made, self.args, self.residuals = made, tuple(args), residuals
        self.given = tuple([one for i, one in enumerate(args) if i not in made.static])
        self.statics = tuple([args[i] for i in made.static])
        self.leaves = leaves(self.given)

    def with_leaves(self, values: Sequence[Value]) -> Call:
        """The call on other values."""
        each = iter(rebuilt(self.given, values))
        static = self.made.static
        args = [one if i in static else next(each) for i, one in enumerate(self.args)]
        return Call(self.made, args)

    def forward(self) -> Tree:
        """The value; the residuals are kept."""
        value, self.residuals = self.made.forward(self.args)
        return value


class CustomVjp(CustomFunction):
    """A function whose reverse mode is the user's: made by `custom_vjp`."""

    kind = "custom_vjp"
    _fwd: Function | None = None
    _bwd: Function | None = None

    def defvjp(self, fwd: Function, bwd: Function) -> None:
        """Declare `fwd(*args) -> (value, residuals)` and `bwd(residuals, g) -> cotangents`.

        `bwd` takes the arguments at `nondiff_argnums` first, and returns a tuple of one cotangent
        per other argument, in its structure, or None for zero. Both are written in ops.
        """
        self._fwd, self._bwd = fwd, bwd

    def forward(self, args: Sequence[Tree]) -> tuple[Tree, Tree]:
        """What `fwd` gives."""
        if self._fwd is None:
            raise GraphError(f"{self.name}: declare its rules with defvjp before it is called")
        found = self._fwd(*args)
        if not isinstance(found, tuple) or len(found) != 2:
            raise OutputError(f"{self.name}: fwd returns a pair, (value, residuals)")
        return found

    def cotangents(self, call: Call, out: Tree, gs: Tree) -> Sequence[Value]:
        """What `bwd` gives."""
        assert self._bwd is not None
        found = self._bwd(*call.statics, call.residuals, gs)
        if not isinstance(found, tuple | list) or len(found) != len(call.given):
            raise OutputError(
                f"{self.name}: bwd returns a tuple of {len(call.given)} cotangents, one per "
                "argument"
            )
        flat: list[Value] = []
        for i, (part, arg) in enumerate(zip(found, call.given, strict=True)):
            if part is None:
                flat += [None] * len(leaves(arg))
            elif not same_structure(part, arg):
                raise OutputError(
                    f"{self.name}: bwd gives {structure(part)} for argument {i}, {structure(arg)}"
                )
            else:
                flat += leaves(part)
        return flat


class CustomJvp(CustomFunction):
    """A function whose forward mode is the user's: made by `custom_jvp`."""

    kind = "custom_jvp"
    _jvp: Function | None = None

    def defjvp(self, jvp: Function) -> Function:
        """Declare `jvp(primals, tangents) -> (value, tangent)`, in ops.

        Both arguments are tuples; the tangent is linear in the tangents. The arguments at
        `nondiff_argnums` come first. Reverse mode is its transpose.
        """
        self._jvp = jvp
        return jvp

    def forward(self, args: Sequence[Tree]) -> tuple[Tree, Tree]:
        """The value of the function."""
        if self._jvp is None:
            raise GraphError(f"{self.name}: declare its rule with defjvp before it is called")
        return self.function(*args), None

    def tangents(self, call: Call, directions: Sequence[Value]) -> Sequence[Value]:
        """The tangents of the leaves of the result, given those of the arguments."""
        assert self._jvp is not None
        found = self._jvp(*call.statics, call.given, rebuilt(call.given, directions))
        if not isinstance(found, tuple) or len(found) != 2:
            raise OutputError(f"{self.name}: jvp returns a pair, (value, tangent)")
        if not same_structure(found[0], found[1]):
            raise OutputError(
                f"{self.name}: the value is {structure(found[0])}, the tangent "
                f"{structure(found[1])}"
            )
        return leaves(found[1])

    def cotangents(self, call: Call, out: Tree, gs: Tree) -> Sequence[Value]:
        """The transpose of the tangents."""
        handle = handle_among(call.leaves)
        if handle is None and not any(isinstance(one, Expression) for one in call.leaves):
            return provided.transposed(self, call, gs)
        given = list(map(opened, call.leaves))
        moving = list(map(_is_float, given))
        directions = [
            abstract(one.type) if moves else _zeros(one)
            for one, moves in zip(given, moving, strict=True)
        ]
        tangents = self.tangents(call, [closed(one, handle) for one in directions])
        every = zip(map(opened, tangents), map(opened, leaves(gs)), strict=True)
        pairs = [(t, g) for t, g in every if _is_float(t)]
        wanted = [one for one, moves in zip(directions, moving, strict=True) if moves]
        pulled = pullback([t for t, _ in pairs], wanted, [g for _, g in pairs])
        pulled = replaced(pulled, {one: zeros_like(one) for one in wanted})
        made = iter(pulled)
        return [closed(next(made), handle) if moves else None for moves in moving]


def custom_vjp(function: Function | None = None, *, nondiff_argnums: Sequence[int] = ()) -> Value:
    """A function whose gradient is given by `f.defvjp(fwd, bwd)`; alone or as a decorator.

    As `jax.custom_vjp`, of arrays, expressions and eager tensors. Derivatives of the gradient are
    those of the rules, which are written in ops.

    Args:
        function: takes and returns trees of arrays.
        nondiff_argnums: the arguments that are no arrays, which `bwd` takes first.

    Raises:
        GraphError: it is called before rules are declared.
        OutputError, ShapeError: what a rule returns does not fit the arguments.

    Example:
        >>> @sg.custom_vjp
        ... def clipped(x):
        ...     return x
        >>> clipped.defvjp(lambda x: (x, None), lambda res, g: (sg.clip(g, -1.0, 1.0),))
        >>> sg.grad(lambda x: 5 * clipped(x))(2.0)
        array(1.)
    """
    if function is None:
        return functools.partial(custom_vjp, nondiff_argnums=nondiff_argnums)
    return CustomVjp(function, nondiff_argnums)


def custom_jvp(function: Function | None = None, *, nondiff_argnums: Sequence[int] = ()) -> Value:
    """A function whose derivative is given by `f.defjvp(jvp)`; alone or as a decorator.

    As `jax.custom_jvp`, of arrays, expressions and eager tensors; the gradient is the transpose.

    Args:
        function: takes and returns trees of arrays.
        nondiff_argnums: the arguments that are no arrays, which `jvp` takes first.

    Raises:
        GraphError: it is called before the rule is declared.
        OutputError: what the rule returns does not fit.

    Example:
        >>> @sg.custom_jvp
        ... def root(x):
        ...     return sg.sqrt(x)
        >>> @root.defjvp
        ... def _(primals, tangents):
        ...     value = root(primals[0])
        ...     return value, tangents[0] / (2 * value)
        >>> sg.grad(root)(4.0)
        array(0.25)
    """
    if function is None:
        return functools.partial(custom_jvp, nondiff_argnums=nondiff_argnums)
    return CustomJvp(function, nondiff_argnums)


def fitted(call: Call, found: Sequence[Value]) -> list[Value]:
    """Cotangents of the leaves of arguments, in their dtypes; None where there is none.

    Raises:
        ShapeError: one has another shape.
    """
    made: list[Value] = []
    for i, (part, leaf) in enumerate(zip(found, call.leaves, strict=True)):
        if part is None or not isinstance(leaf, Operand):
            made.append(None)
            continue
        if not isinstance(part, Operand):
            part = leaf._constant(np.asarray(part))
        shapes = tuple(part.shape), tuple(leaf.shape)
        if len(shapes[0]) != len(shapes[1]) or None in map(unify, *shapes):
            raise ShapeError(
                f"{call.made.name}: the cotangent of array {i} among the arguments has the shape "
                f"{list(shapes[0])}, the array {list(shapes[1])}"
            )
        made.append(
            part if part.dtype == leaf.dtype else ops.astype.bound((part,), {"dtype": leaf.dtype})
        )
    return made


def _is_float(value: Value) -> bool:
    return isinstance(value, Expression) and is_inexact(value.dtype)


_tracing: ContextVar[tuple[CustomFunction, ...]] = ContextVar("tracing", default=())


def on_expressions(call: Call, handle: Handle | None = None) -> Tree:
    """The value, floating parts of which have the gradient of the rule.

    The rule is traced when a gradient is asked for, since it may call the function again; or at
    once where a `handle` has its meaning only while a function is captured.
    """
    result = call.forward()
    given, every = list(map(opened, call.leaves)), list(map(opened, leaves(result)))
    places = [i for i, one in enumerate(every) if _is_float(one)]
    arguments = [i for i, one in enumerate(given) if _is_float(one)]
    if not places or not arguments:
        return result
    reads = [one for one in given if isinstance(one, Expression)]
    values = [every[i] for i in places]
    joint = packed(values)
    rule = LazyRule(lambda: _traced(call, every, places, handle), len(arguments))
    if handle is not None and call.made not in _tracing.get():
        rule.trace()
    made = with_rule(joint, [given[i] for i in arguments], rule, reads)
    for i, part in zip(places, unpacked(made, values), strict=True):
        every[i] = part if len(values) == 1 else construct(gradient_to, (every[i], part), {})
    return rebuilt(result, [closed(one, handle) for one in every])


def _traced(
    call: Call, every: Sequence[Value], places: Sequence[int], handle: Handle | None
) -> Rule:
    """The rule of a call, whose value has these leaves, on arguments that are not known."""
    token = _tracing.set((*_tracing.get(), call.made))
    try:
        given = [_unknown(opened(one)) for one in call.leaves]
        again = call.with_leaves([closed(one, handle) for one in given])
        result = again.forward()
        values = [every[i] for i in places]
        out = abstract(packed(values).type)
        g = abstract(out.type)
        gs = dict(zip(places, unpacked(g, values), strict=True))
        parts = [gs[i] if i in gs else _zeros(one) for i, one in enumerate(every)]
        tree = rebuilt(result, [closed(one, handle) for one in parts])
        found = fitted(again, again.made.cotangents(again, result, tree))
    finally:
        _tracing.reset(token)
    by = [opened(part) for part, one in zip(found, given, strict=True) if _is_float(one)]
    reads = tuple([one for one in given if isinstance(one, Expression)])
    return Rule(g, out, reads, tuple(by))


def _unknown(one: Value) -> Value:
    return abstract(one.type) if isinstance(one, Expression) else one


def _zeros(one: Value) -> Value:
    return zeros_like(one if isinstance(one, Operand) else np.asarray(one))
