"""Op: one declaration per operation, shared by both paradigms.

An `Op` is also the public function: `exp(x)` hands over to the first operand that is an
`Operand` (a symbolic expression adds a node, an eager tensor evaluates and records), and
evaluates with NumPy where there is none. All ops are pure.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, TypeAlias

import numpy as np

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.annotated import check_types
from staticgraph.compiler.core.errors import ComplexError, GraphError, ShapeError, StaticGraphError
from staticgraph.compiler.core.lowering import (
    Alias,
    Gather,
    Host,
    IndexMap,
    Iota,
    Item,
    Lowering,
    Nested,
    SizeValue,
    Window,
)
from staticgraph.compiler.core.op_arguments import (
    are_plain,
    as_floating,
    by_position,
    in_computing,
    is_stored,
    named,
    of_shared_dtype,
    parameters_of,
    refuse_more,
    refuse_names,
    refuse_objects,
    refuse_others,
)
from staticgraph.compiler.core.op_shown import Annotations, Own, documentation
from staticgraph.compiler.core.overrides import OverriddenError, answered, asking, refuse_overriding
from staticgraph.compiler.core.passing import passed_with_tensors, passing
from staticgraph.compiler.core.protocols import CompiledFunction
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import TensorType, Type, type_of
from staticgraph.compiler.core.values import Value

Rule: TypeAlias = Callable[..., Any]
Attrs: TypeAlias = dict[str, Any]
BatchRule: TypeAlias = Callable[..., Any]
Linearity: TypeAlias = Literal["none", "linear", "affine", "multilinear", "diagonal"]
Domain: TypeAlias = Literal["all", "positive", "unit", "small", "share"]
Cost: TypeAlias = Literal["cheap", "moderate", "expensive"]
Meaning: TypeAlias = Literal["", "linear", "holomorphic", "own", "any"]
Sweep: TypeAlias = Literal[
    "", "rows", "reduction", "windows", "blocks", "pairs", "slices", "places"
]


class Operand:
    """What an op applies to beside NumPy arrays: a handle that decides what applying means.

    What ops and captures ask of one begins with `_`: tensors have users' own names beside it.
    """

    __slots__ = ()

    _apply: Callable[[Op, Sequence[Value], Attrs], Value]
    """`_apply(op, operands, attrs)` applies `op` to `operands`, of which this handle is one."""

    _constant: Callable[[Value], Value]
    """`_constant(array)` is a handle of this kind that holds the array and has no gradient."""

    _call: Callable[[CompiledFunction, Sequence[Value]], list[Value]]
    """`_call(function, operands)`: the results of a compiled function that is no op, a list of
    handles."""

    _arrays: Callable[[Sequence[Value]], list[Value]]
    """`_arrays(operands)`: the arrays that handles of this kind hold, others as they are."""

    _traced: Callable[[object, bool], Operand]
    """`_traced(expression, argument)`: a handle of this kind that stands for an expression while a
    function is captured; `argument`: whether it stands for a tensor that exists outside."""

    _settings: Sequence[list[Value]]
    """Settings of the engine that what is captured depends on, each in a list of one."""

    shape: Value
    dtype: Value

    def _standing(self) -> Value:
        """What stands for it in the function that is being captured; itself where none is."""
        return self


def standing(value: object) -> Value:
    """What stands for a tensor in the function that is being captured; else the value itself."""
    return value._standing() if isinstance(value, Operand) else value


@frozen(eq=False)
class Op:
    """One operation.

    Attributes:
        name: the op's name, unique; NumPy's or the array API's where they have it.
        infer_type: `(*types, **attrs) -> TensorType`, or a TupleType where the value consists of
            several tensors; raises ShapeError or DTypeError.
        evaluate: `(*arrays, **attrs) -> array`, with NumPy.
        vjp: per operand the rule `(g, out, *operands, **attrs) -> cotangent`, written in ops, or
            None where the operand has no gradient; one callable `(i, g, out, ...)` for ops with
            any number of operands.
        saves: per operand the values its rule reads: letters a, b, c, ... for the operands and o
            for the output. Rules read shapes and dtypes freely. Variadic ops save nothing.
        vjp_arrays: the cotangents of several operands at once, on plain arrays only:
            `(positions, g, out, *operands, **attrs) -> cotangents`, where that takes fewer steps
            than the rules of `vjp`, with which the generic tests compare it. It may read what
            those rules save.
        vjp_items: the same for ops whose value is a tuple, on expressions:
            `(positions, gs, out, *operands, **attrs) -> cotangents`, where `gs` has per item its
            cotangent or None, and so has the result per position.
        checked: whether `infer_type` refuses operands or attributes that `evaluate` would take.
        elementwise: whether each element comes from the elements at the same place of operands
            that broadcast.
        batching: `(op, examples, size, attrs, apply) -> tensor`, the op on batches, whose first
            axis counts the examples; None as the result where the rule does not know these
            examples. None as the rule: an op that is expanded, or cannot be batched.
        linearity: how tangents are carried on. "linear": the op is linear in all operands
            together; "affine": it is, but for its attribute `value`, which is 0 for tangents;
            "multilinear": in each operand that has a gradient; "diagonal": the Jacobian by each
            operand is diagonal, or symmetric as softmax's, so that the rules of `vjp` carry
            tangents too; "none": the rules are differentiated.
        cost: of one element: "cheap" is no more than to read it back from the cache, "moderate"
            to write an element of two arrays and to read them.
        domain: of an elementwise op, where its value is finite and not flat: "all", "positive",
            "unit" (-1 to 1), "small" (it grows exponentially), or "share" (0 to 1); of two
            operands, the second. Random programs move operands there.
        smooth: whether it has two derivatives wherever it has a value, and its gradient is these.
        exact: whether nothing is rounded: its elements are chosen, moved, compared or counted.
        sweep: how one kernel of it, or of its cotangents, goes over memory if it is not
            elementwise: "rows" along one axis or the last ones, which have the operand's shape;
            "reduction" of such rows to one element; "windows" over images, (n, c, h, w); "blocks"
            of rows of matrices; "pairs" of them; "slices" along `axis` that the last operand, an
            index, names, or single "places" along it; "" where it is worth none of its own. Eager
            tensors that are large are computed so.
        choices: values of arguments, by their names in the signature, that random programs try;
            of `axis`, and of those that windows have, they know some themselves.
        bind: `(*args, **kwargs) -> (operands, attrs)`, the public signature; None where all
            arguments are operands. `(value, None)` of arguments for which the value is composed of
            other ops.
        expand: for a composite, the same value written in other ops: `(*operands, **attrs)`.
        lowering: how the op reaches a kernel; None for composites and leaves.
        promotes: the operands (as a slice) that frontends cast to one dtype before they apply.
        floating: whether frontends cast integers to floating point before they apply.
        keeps_whole: whether the op gives integers and bools as they are all the same.
        commutative: whether the two operands may be exchanged.
        complex: what the op does with complex operands. "": it refuses them; "linear": it does the
            same with real and imaginary parts, apart from each other; "holomorphic": its rules are
            those of a complex derivative; "own": its rules know of complex operands; "any": it
            does not look at numbers.
        complex_vjp: the rules for complex operands, where they are other ones.
        doc: what comes out: shapes, dtypes, errors.
        example: the shortest call that a reader learns from, and what it prints, as a doctest in
            which `sg` and `np` are given.
    """

    name: str
    infer_type: Callable[..., Type]
    evaluate: Callable[..., Value]
    vjp: tuple[Rule | None, ...] | Rule = ()
    saves: tuple[str, ...] = ()
    vjp_arrays: Callable[..., Sequence[Value]] | None = None
    vjp_items: Callable[..., Sequence[Value]] | None = None
    checked: bool = False
    elementwise: bool = False
    batching: BatchRule | None = None
    linearity: Linearity = "none"
    cost: Cost = "cheap"
    domain: Domain = "all"
    smooth: bool = True
    exact: bool = False
    sweep: Sweep = ""
    choices: Mapping[str, tuple[object, ...]] = field(default_factory=dict, repr=False)
    bind: Callable[..., tuple[Sequence[Value], Attrs | None]] | None = None
    expand: Callable[..., Value] | None = None
    lowering: Lowering | None = None
    promotes: slice | None = None
    floating: bool = False
    keeps_whole: bool = False
    commutative: bool = False
    complex: Meaning = ""
    complex_vjp: tuple[Rule | None, ...] = ()
    doc: str = field(default="", repr=False)
    example: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not self.complex and not isinstance(self.infer_type, _OfReals):
            object.__setattr__(self, "infer_type", _OfReals(self.name, self.infer_type))

    def __call__(self, *operands: object, **attrs: object) -> Value:
        """The op as the public function."""
        said = passed_with_tensors(self, operands, attrs) if passing else None
        return self.general(*operands, **attrs) if said is None else said[0]

    def shorten(self, shortcut: Rule) -> None:
        """Let calls go to a frontend's function, which leaves to `general` what is not its own.

        It becomes the call of a class of which this op is the only one: a step less in each call.
        """
        documentation = vars(Op)["__doc__"]
        namespace = {"__slots__": (), "__call__": staticmethod(shortcut), "__doc__": documentation}
        object.__setattr__(self, "__class__", type(f"Op_{self.name}", (Op,), namespace))

    @asking
    def general(self, *operands: object, **attrs: object) -> Value:
        """The op applied to anything."""
        given, options = operands, attrs
        try:
            if attrs:
                function = self.bind or self.evaluate
                operands, attrs = by_position(function, self._arity, operands, attrs)
            if self.bind is not None:
                try:
                    check_types(self.name, self.bind, operands, attrs)
                    found, bound = self.bind(*operands, **attrs)
                except TypeError as error:
                    raise named(error, self.bind, self.name) from None
                return found if bound is None else self.bound(found, bound)
            if attrs:
                refuse_names(self, attrs, any(isinstance(one, Operand) for one in operands))
            refuse_more(self.name, self.evaluate, len(operands))
            for operand in operands:
                if isinstance(operand, Operand):
                    return self._of_handle(operand, operands, attrs)
            return self._of_arrays(operands, attrs)
        except Exception as error:
            if (said := answered(self, given, options, error)) is not None:
                return said[0]
            raise

    def _of_handle(self, handle: Operand, operands: Sequence[object], attrs: Attrs) -> Value:
        try:
            return handle._apply(self, operands, attrs)
        except (TypeError, AttributeError, KeyError) as error:
            ours = isinstance(error, OverriddenError)
            if not ours and not str(error).startswith(f"{self.name}()"):
                refuse_others(self.name, operands, error)
            if ours or not isinstance(error, TypeError):
                raise
            if (renamed := named(error, _rule_of_types(self), self.name)) is error:
                raise
            raise renamed from None

    def _of_arrays(self, operands: Sequence[object], attrs: Attrs) -> Value:
        plain = are_plain(operands, self.floating)
        if not plain:
            refuse_overriding(self.name, operands)
            refuse_objects(self.name, operands, self.complex != "any")
            if not self.complex:
                self.refuse_complex(operands)
        given = operands
        try:
            casts = not plain and self.floating and not self.keeps_whole
            given = as_floating(operands, self.promotes) if casts else operands
            if not plain and self.widens(given):
                return self.value(*of_shared_dtype(given, self.promotes), **attrs)
            return self.evaluate(*given, **attrs)
        except Exception as error:
            refuse_others(self.name, operands, error)
            self._check_shapes(given, attrs, error)
            raise

    def refuse_complex(self, arrays: Sequence[object]) -> None:
        """DTypeError if there are complex numbers among arrays that the op does not take."""
        for one in arrays:
            if isinstance(one, complex) or getattr(getattr(one, "dtype", 0), "kind", 0) == "c":
                raise complex_refused(self.name, type_of(one))

    @property
    def _arity(self) -> int:
        """How many operands the op has at most, as far as its record says."""
        own = self.evaluate.nin if isinstance(self.evaluate, np.ufunc) else 1
        return own if callable(self.vjp) else max(own, len(self.vjp or ()))

    @property
    def moves(self) -> bool:
        """Whether elements are moved as they are stored, and none is computed with."""
        if self.lowering is None:
            return (self.linearity == "linear" and not self.floating) or self.name in _MOVING
        if isinstance(self.lowering, Host):
            return self in _own or self.name in _MOVING
        return isinstance(self.lowering, _MOVES) or self.name in _MOVING

    def value(self, *arrays: Value, **attrs: Value) -> Value:
        """The value for arrays: what `evaluate` gives.

        Floats of 16 bits are computed with as float32, and the results are rounded once.
        """
        if not self.widens(arrays):
            return self.evaluate(*arrays, **attrs)
        return self.rounded(lambda arrays, attrs: self.evaluate(*arrays, **attrs), arrays, attrs)

    def widens(self, arrays: Sequence[object]) -> bool:
        """Whether an array is of floats that are stored only, and more is asked than truth."""
        return any(map(is_stored, arrays)) and not (self.moves or self.name.startswith("logical_"))

    def rounded(self, evaluate: Rule, arrays: Sequence[Value], attrs: Attrs) -> Value:
        """What `evaluate(arrays, attrs)` gives of arrays that are cast for it, rounded."""
        type = self.infer_type(*map(type_of, arrays), **attrs)
        with np.errstate(over="ignore"):
            found = evaluate([*map(in_computing, arrays)], attrs)
            if isinstance(type, TensorType):
                return np.asarray(found).astype(type.dtype, copy=False)
            pairs = zip(found, type.items, strict=True)
            return tuple([np.asarray(one).astype(item.dtype, copy=False) for one, item in pairs])

    def bound(self, operands: Sequence[object], attrs: Attrs) -> Value:
        """The op applied to what `bind` makes of the arguments: for rules that know it."""
        for operand in operands:
            if isinstance(operand, Operand):
                return self._of_handle(operand, operands, attrs)
        return self._of_arrays(operands, attrs)

    def _check_shapes(self, operands: Sequence[Any], attrs: Attrs, error: Exception) -> None:
        """The ShapeError of symbolic operands of these types, where NumPy or LAPACK has raised."""
        if isinstance(error, StaticGraphError) and not isinstance(error, np.linalg.LinAlgError):
            return
        try:
            self.infer_type(*[type_of(np.asarray(one)) for one in operands], **attrs)
        except ShapeError as reason:
            raise reason from None
        except Exception:
            return

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def signature(self) -> inspect.Signature:
        """How the op is called, on operands of any kind."""
        if self.bind is not None:
            found = inspect.signature(self.bind)
            values, of = ("Any", "Value", Any), found.parameters.values()
            parameters = [
                one.replace(annotation=one.empty) if one.annotation in values else one for one in of
            ]
            return found.replace(parameters=parameters, return_annotation=found.empty)
        if isinstance(self.evaluate, np.ufunc):
            names = [chr(ord("a") + i) for i in range(self.evaluate.nin)]
        else:
            names = list(parameters_of(self.expand or self.evaluate))
        kind = inspect.Parameter.POSITIONAL_ONLY
        return inspect.Signature([inspect.Parameter(name, kind) for name in names if name != "out"])

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> Any:
        if _registry.get(self.name) is not self:
            raise GraphError(f"the op {self.name} is not declared, so that it cannot be copied")
        from staticgraph.compiler.core.own_ops import unpickled

        return unpickled, (self.name,)

    def cotangents(
        self, positions: Sequence[int], g: object, out: object, *operands: object, **attrs: object
    ) -> Sequence[Value]:
        """The cotangents of the operands at `positions`, on plain arrays."""
        if self.vjp_arrays is not None:
            return self.vjp_arrays(positions, g, out, *operands, **attrs)
        found = []
        for position in positions:
            rule = self.rule(position)
            assert rule is not None
            found.append(rule(g, out, *operands, **attrs))
        return found

    def rule(self, position: int) -> Rule | None:
        """The gradient rule of one operand, or None where it has none."""
        if callable(self.vjp):
            variadic = self.vjp
            return lambda g, out, *operands, **attrs: variadic(position, g, out, *operands, **attrs)
        return self.vjp[position] if position < len(self.vjp) else None

    def rule_of(self, position: int, of_complex: bool) -> Rule | None:
        """The gradient rule of one operand, where operands or the result are complex or not.

        The gradient of a real L by z = x + iy is dL/dx + i dL/dy, as PyTorch's. Rules are written
        for derivatives f', which a tangent is multiplied by; a cotangent is multiplied by the
        conjugate of f'.
        """
        if not of_complex:
            return self.rule(position)
        own = self.complex_vjp
        rule = own[position] if position < len(own) else self.rule(position)
        return _conjugated(rule) if rule is not None and self.complex == "holomorphic" else rule

    def saved(self, position: int, of_complex: bool = False) -> str:
        """The letters of the values that the rule of one operand reads."""
        if of_complex and self.complex_vjp:
            return "".join(chr(ord("a") + i) for i in range(len(self.complex_vjp))) + "o"
        return self.saves[position] if position < len(self.saves) else ""


def _rule_of_types(op: Op) -> Any:
    return op.infer_type.infer if isinstance(op.infer_type, _OfReals) else op.infer_type


class _OfReals:
    """The type rule of an op that complex operands are refused by."""

    __slots__ = ("infer", "name")

    def __init__(self, name: str, infer: Callable[..., Type]) -> None:
        self.name, self.infer = name, infer

    def __call__(self, *types: Any, **attrs: object) -> Type:
        for type in types:
            if type.dtype.kind == "c":
                raise complex_refused(self.name, type)
        return self.infer(*types, **attrs)


def complex_refused(name: str, type: TensorType) -> ComplexError:
    """What is raised for a complex operand of an op of real numbers."""
    return ComplexError(
        f"{name}: {type} is complex, and {name} is of real numbers: take real or abs"
    )


def _conjugated(rule: Rule) -> Rule:
    """The rule of a holomorphic function, from that which multiplies by its derivative."""

    def conjugated(g: object, *others: object, **attrs: object) -> Any:
        conjugate = op_named("conjugate")
        return conjugate(rule(conjugate(g), *others, **attrs))

    return conjugated


_MOVES = (Alias, Gather, IndexMap, Iota, Item, Nested, SizeValue, Window)
_MOVING = frozenset({"astype", "copy", "where", "print", "check", "fail", "stop_gradient"})


# so that `help`, editors and `inspect` show an op as the function that it is
setattr(Op, "__doc__", Own(documentation, Op.__doc__))  # noqa: B010
setattr(Op, "__signature__", Own(lambda op: op.signature))  # noqa: B010
setattr(Op, "__annotations__", Annotations(Op.__annotations__))  # noqa: B010

_registry: dict[str, Op] = {}
_own: set[Op] = set()


def register(op: Op, own: bool = False) -> Op:
    """Add an op to the library, or to a user's `own`; GraphError if its name is taken."""
    if op.name in _registry:
        raise GraphError(f"an op named {op.name!r} is already declared")
    _registry[op.name] = op
    if own:
        _own.add(op)
    return op


def is_registered(op: Op) -> bool:
    """Whether an op belongs to the library, or a user declared it."""
    return _registry.get(op.name) is op


def is_own(op: Op) -> bool:
    """Whether a user declared an op."""
    return op in _own


def op_named(name: str) -> Op:
    """The op of this name; GraphError if there is none."""
    if name not in _registry:
        provided.declare_all()
    if name not in _registry:
        raise GraphError(f"no op is named {name!r}")
    return _registry[name]


def declared_names() -> Collection[str]:
    """The names of all ops."""
    provided.declare_all()
    return _registry.keys()


def all_ops() -> tuple[Op, ...]:
    """Every op of the library, in the order of declaration."""
    provided.declare_all()
    return tuple([op for op in _registry.values() if op not in _own])
