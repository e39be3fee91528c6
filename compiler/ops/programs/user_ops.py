"""Ops that users declare around functions of their own: records as those of the library.

`declare` makes the record and registers it, so that every pass, both paradigms, `vmap`, loops and
files treat it as any other. What the user adds later, such as a gradient rule, is asked of the
`UserOp` when it is needed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType

import numpy as np

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dtypes import computing, promoted
from staticgraph.compiler.core.errors import GraphError, OptionError, ShapeError
from staticgraph.compiler.core.lowering import Pointwise
from staticgraph.compiler.core.op import Attrs, Op, Operand, Rule, op_named, register
from staticgraph.compiler.core.own_ops import own_name
from staticgraph.compiler.core.scalars import ScalarFunction
from staticgraph.compiler.core.types import (
    DType,
    TensorType,
    as_dtype,
    broadcast_shapes,
    require_same_dtype,
    unify,
)
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import Apply, Example, aligned, evaluated
from staticgraph.compiler.ops.declare import unbroadcast, zeros_like
from staticgraph.compiler.ops.programs.control import items

MOST_OPERANDS = 14  # what rules read is named by letters, of which o is the output


class UserOp:
    """An op that a user declared: call it as any other.

    Attributes:
        record: the op, as the library's are.
        function: what it was declared around.
        several: whether its value is a tuple.

    Example:
        >>> @sg.op
        ... def cube(x):
        ...     return x * x * x
        >>> cube(np.array([2.0]))
        array([8.])
    """

    record: Op
    several = False

    def __init__(self, function: Rule, elementwise: bool) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._elementwise = elementwise
        self._vjp: Rule | None = None
        self._jvp: Rule | None = None
        self._batching: Rule | None = None
        self._used: set[str] = set()
        self._derivatives = functools.cache(functools.partial(provided.derivatives_of, function))

    def __call__(self, *operands: object, **attrs: object) -> Value:
        """The op applied to arrays, expressions or tensors."""
        return self.record(*operands, **attrs)

    def __repr__(self) -> str:
        return f"<op {self.record.name}>"

    def __reduce__(self) -> Value:
        return _of_record, (self.record,)

    @property
    def rules(self) -> tuple[Rule | None, ...]:
        """What was declared of it: its derivatives, and how it is batched."""
        return self._vjp, self._jvp, self._batching

    def vjp(self, rule: Rule) -> Rule:
        """Declare the gradient: `rule(g, out, *operands)`, in ops of the library.

        `g` is the cotangent of the result `out`. It returns that of each operand, or None where
        there is none. Of elementwise ops broadcasting is undone afterwards.

        Raises:
            GraphError: the op has been differentiated: graphs have the rule that it had.

        Example:
            >>> @sg.op
            ... def cube(x):
            ...     return x * x * x
            >>> @cube.vjp
            ... def _(g, out, x):
            ...     return g * 3 * x * x
            >>> sg.grad(cube)(2.0)
            array(12.)
        """
        self._require_unused("gradient")
        self._vjp = rule
        return rule

    def jvp(self, rule: Rule) -> Rule:
        """Declare the derivative of an elementwise op: `rule(tangents, out, *operands)`, in ops.

        It returns the tangent of `out`, which is linear in `tangents`, one per operand. The
        gradient follows from it.

        Raises:
            OptionError: the op is not elementwise: forward mode then follows from `vjp`.

        Example:
            >>> @sg.op
            ... def double(x):
            ...     return 2 * x
            >>> @double.jvp
            ... def _(tangents, out, x):
            ...     return 2 * tangents[0]
            >>> sg.grad(double)(1.0)
            array(2.)
        """
        if not self._elementwise:
            raise OptionError(
                f"{self.record.name}: jvp is of elementwise ops; declare a vjp, from which forward "
                "mode follows"
            )
        self._require_unused("gradient")
        self._jvp = rule
        return rule

    def batching(self, rule: Rule) -> Rule:
        """Declare what `vmap` makes of the op: `rule(size, batched, *operands)`, in ops.

        `batched` says per operand whether its first axis counts the `size` examples; that of the
        result does. Without a rule an elementwise op is applied to the whole batch, and any other
        to one example after the other.
        """
        self._require_unused("batches")
        self._batching = rule
        return rule

    def _require_unused(self, what: str) -> None:
        """GraphError if a rule is part of graphs already, which would go on with the old one."""
        if what in self._used:
            raise GraphError(
                f"{self.record.name}: its rule for {what} was used already: declare the op anew, "
                "and then the rule"
            )

    def cotangents(
        self, g: Value, out: Value, operands: Sequence[Value], attrs: Attrs
    ) -> list[Value]:
        """What the rule gives for all operands: of each its shape and dtype, or None."""
        name = self.record.name
        if self._vjp is not None or self._jvp is not None:
            self._used.add("gradient")
        if self._vjp is not None:
            found = self._vjp(g, out, *operands, **attrs)
        elif self._jvp is not None:
            found = tuple(
                self._jvp(_only(i, g, operands), out, *operands) for i in range(len(operands))
            )
        else:
            found = self._derived(g, operands)
        listed = list(found) if isinstance(found, tuple | list) else [found]
        if len(listed) != len(operands):
            raise GraphError(
                f"{name}: its vjp gives {len(listed)} cotangents for {len(operands)} operands"
            )
        like = next((one for one in _several(g) if isinstance(one, Operand)), None)
        return [
            None if part is None else self._fitted(i, part, like, out, operand)
            for i, (part, operand) in enumerate(zip(listed, operands, strict=True))
        ]

    def _derived(self, g: Value, operands: Sequence[Value]) -> tuple[Value, ...]:
        """The cotangents that follow from the function itself, if it is one of numbers."""
        self._used.add("gradient")
        why = ""
        if self._elementwise:
            try:
                partials = self._derivatives(np.dtype(operands[0].dtype), len(operands))
                parts = partials(operands)
                return tuple(None if one is None else g * one for one in parts)
            except Exception as error:
                why = f"; none can be derived of the function: {error}"
        raise GraphError(
            f"{self.record.name} has no gradient: declare one with @{self.function.__name__}.vjp, "
            f"or apply stop_gradient to what it is applied to{why}"
        )

    def _fitted(self, position: int, part: Value, like: Value, out: Value, operand: Value) -> Value:
        """A cotangent in the operand's shape and dtype, a handle as `like` if that is one."""
        if not isinstance(part, Operand):
            part = np.asarray(part)
            part = part if like is None else like._constant(part)
        if self._elementwise and tuple(part.shape) != tuple(operand.shape):
            if tuple(part.shape) != tuple(out.shape):
                part = op_named("broadcast_to")(part, tuple(out.shape))
            part = unbroadcast(part, operand)
        if len(part.shape) != len(operand.shape) or None in map(unify, part.shape, operand.shape):
            raise ShapeError(
                f"{self.record.name}: the cotangent of operand {position} has the shape "
                f"{list(part.shape)}, the operand {list(operand.shape)}"
            )
        if part.dtype != operand.dtype:
            part = op_named("astype")(part, operand.dtype)
        return part

    def rule(self, position: int) -> Rule:
        """The gradient rule of one operand."""

        def rule(g: Value, out: Value, *operands: Value, **attrs: Value) -> Value:
            part = self.cotangents(g, out, operands, attrs)[position]
            return zeros_like(operands[position]) if part is None else part

        return rule

    def arrays(
        self, positions: Sequence[int], g: Value, out: Value, *operands: Value, **attrs: Value
    ) -> list[Value]:
        """The cotangents of several operands, on plain arrays."""
        found = self.cotangents(g, out, operands, attrs)
        return [
            zeros_like(operands[i]) if found[i] is None else np.asarray(found[i]) for i in positions
        ]

    def batch(
        self,
        op: Op,
        examples: Sequence[Example],
        size: Value,
        attrs: Attrs,
        apply: Apply = evaluated,
    ) -> Value:
        """The op on batches."""
        self._used.add("batches")
        if self._batching is not None:
            batched = tuple(one.batched for one in examples)
            return self._batching(size, batched, *(one.tensor for one in examples), **attrs)
        if self._elementwise:
            return aligned(op, examples, size, attrs, apply)
        mapped = [one.tensor for one in examples if one.batched]

        def step(carry: Value, xs: Value) -> Value:
            each = iter(xs)
            operands = [next(each) if one.batched else one.tensor for one in examples]
            found = operands[0]._apply(op, operands, attrs)
            return carry, items(found) if self.several else found

        return provided.scan(step, (), tuple(mapped))[1]


def _several(g: Value) -> tuple[Value, ...]:
    return g if isinstance(g, tuple) else (g,)


def called_by(op: Op) -> Rule:
    """The function of arrays that computes an op: of a user's, the one that was declared."""
    made = getattr(op.evaluate, "__self__", None)
    return made.function if isinstance(made, UserOp) else op.evaluate


def _of_record(record: Op) -> Value:
    """The op that users call, of a record."""
    return record.vjp_arrays.__self__  # type: ignore[union-attr]


def _only(position: int, g: Value, operands: Sequence[Value]) -> tuple[Value, ...]:
    """Tangents that are 0 but for one."""
    return tuple(g if i == position else zeros_like(g) for i in range(len(operands)))


def elementwise(function: Rule, name: str, dtype: object) -> UserOp:
    """An op that applies a function of numbers, which Numba compiles, to each element.

    Args:
        function: takes and returns numbers.
        name: of the op.
        dtype: of the result; None for that of the operands, or bool or int64 or float64 where the
            function gives numbers of another kind.
    """
    arity = len(parameters_of(function, name, "elementwise"))
    if not isinstance(function, FunctionType):
        raise OptionError(f"{name}: {function!r:.80} is no function in Python: wrap it in one")
    declared = None if dtype is None else as_dtype(dtype, name)
    name = own_name(name, *place_of(function))
    made = UserOp(function, elementwise=True)

    @functools.cache
    def compiled(operand: DType) -> ScalarFunction:
        return provided.compile_scalar(function, name, operand)

    def result(operand: DType) -> DType:
        found = compiled(computing(operand)).result
        if declared is not None:
            return declared
        given = computing(operand).kind
        alike = found.kind == given or (found.kind == "i" and given == "u")
        return operand if alike else found

    def infer_type(*types: TensorType) -> TensorType:
        if len(types) != arity:
            raise OptionError(f"{name}: takes {arity} operands, got {len(types)}")
        operand = require_same_dtype(name, *types)
        return TensorType(broadcast_shapes(name, *types), result(operand))

    def code(operand: DType) -> str:
        holes = ", ".join(f"{{{i}}}" for i in range(arity))
        return f"{{t}}({compiled(computing(operand)).symbol}({holes}))"

    def evaluate(*arrays: Value) -> Value:
        if {type(one) for one in arrays} == {np.ndarray} and len(
            {one.dtype for one in arrays}
        ) == 1:
            return provided.by_kernel(record.name, arrays)
        kinds = [
            one if type(one) in (bool, int, float) else as_dtype(np.asarray(one).dtype, name)
            for one in arrays
        ]
        common = promoted(*kinds)
        return provided.by_kernel(record.name, [np.asarray(one, common) for one in arrays])

    record = register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=evaluate,
            vjp=tuple(map(made.rule, range(arity))),
            saves=(letters(arity),) * arity,
            vjp_arrays=made.arrays,
            checked=True,
            elementwise=True,
            batching=made.batch,
            linearity="diagonal",
            cost="expensive",
            bind=binder(function, name),
            lowering=Pointwise("", of_dtype=code),
            promotes=slice(None),
            doc=inspect.getdoc(function) or f"{name} of each element.",
        ),
        own=True,
    )
    made.record = record
    return made


def letters(arity: int) -> str:
    """What rules that read everything read."""
    return "".join(chr(ord("a") + i) for i in range(arity)) + "o"


def place_of(function: Rule) -> tuple[tuple[str, str], bool]:
    """Where a function is defined, and whether it closes over values."""
    closes = getattr(function, "__closure__", None) is not None
    named = function if hasattr(function, "__qualname__") else type(function)
    module = getattr(named, "__module__", None) or "builtins"
    return (module, named.__qualname__), closes


def parameters_of(function: Rule, name: str, kind: str) -> Sequence[inspect.Parameter]:
    """The parameters that are operands; OptionError if there are none, or any number."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise OptionError(f"{name}: {function!r} has no signature: wrap it in a function") from None
    operands = [one for one in parameters if one.kind is not one.KEYWORD_ONLY]
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(one.kind not in by_position for one in operands):
        raise OptionError(f"{name}: the operands are named one by one, not *args or **kwargs")
    if not 1 <= len(operands) <= MOST_OPERANDS:
        raise OptionError(
            f"{name}: it takes {len(operands)} operands, where an op has 1 to {MOST_OPERANDS}"
        )
    if kind != "host" and len(operands) < len(parameters):
        raise OptionError(f"{name}: an {kind} op has operands only, nothing by keyword")
    return operands


def binder(function: Rule, name: str) -> Callable[..., tuple[Sequence[Value], Attrs]]:
    """The signature of the function, whose keywords are attributes."""
    found = inspect.signature(function)
    parameters = [one.replace(annotation=one.empty) for one in found.parameters.values()]
    signature = inspect.Signature(parameters)
    operands = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]

    def bind(*args: Value, **kwargs: Value) -> tuple[Sequence[Value], Attrs]:
        if len(args) == len(parameters) and not kwargs:
            return args, {}
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}(): {error}") from None
        given.apply_defaults()
        attrs = {
            key: _attribute(key, value)
            for key, value in given.arguments.items()
            if key not in operands
        }
        return tuple(given.arguments[key] for key in operands), attrs

    bind.__dict__["__signature__"] = signature
    return bind


def _attribute(key: str, value: object) -> Value:
    """An attribute, which files and keys of kernels can have; OptionError if it is none."""
    if isinstance(value, tuple | list):
        return tuple(_attribute(key, one) for one in value)
    if value is None or isinstance(value, bool | int | float | str | np.dtype):
        return value
    raise OptionError(
        f"the argument {key!r} is an attribute: a number, a text, a dtype, None or a tuple of "
        f"them, not {type(value).__name__}"
    )
