"""One walk over a function of the loop IR.

Elements are read and written in bounds, so indices do not wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from staticgraph.compiler.core.scalars import scalar_functions
from staticgraph.compiler.ir.records import (
    ONE,
    Assign,
    Binary,
    Call,
    Cast,
    CastLike,
    Const,
    Evaluate,
    Expr,
    For,
    Function,
    If,
    Load,
    Name,
    Return,
    Select,
    Stmt,
    Store,
    Unary,
    While,
)
from staticgraph.compiler.llvm import library
from staticgraph.compiler.llvm.lower import values
from staticgraph.compiler.llvm.lower.functions import FUNCTIONS, user_function
from staticgraph.compiler.llvm.lower.rest import MaskedLoop, leaves_rest, whole_vectors
from staticgraph.compiler.llvm.lower.values import BOOL, FLOAT64, INT64, SCALARS, Pointer, Value


class Translator:
    """Translates the statements of one function into the LLVM function `self.function`.

    `functions` are those of the module, of int64, that the statements call by name. With
    `outlines`, functions of vecmath that are many instructions are called, not inlined.
    """

    def __init__(
        self,
        function: Any,
        names: Sequence[str],
        types: Sequence[object],
        result: Any = None,
        outlines: bool = False,
    ) -> None:
        self.function = function
        self.module = function.module
        self.entry = function.append_basic_block("entry")
        self.builder = ir.IRBuilder(function.append_basic_block("body"))
        self.result = result
        self.outlines = outlines
        self.exact = False
        self.places: dict[str, tuple[Any, Any]] = {}
        self.values: dict[str, Value] = {}
        self.functions: dict[str, Any] = {}
        for name, type, argument in zip(names, types, function.args, strict=True):
            self.values[name] = Value(argument, type)

    def run(self, body: Sequence[Stmt]) -> None:
        """Translate the body; the function returns 0 where the body ends."""
        start = self.builder.block
        self.block(body)
        if not self.builder.block.is_terminated:
            self.builder.ret(ir.Constant(self.function.function_type.return_type, 0))
        ir.IRBuilder(self.entry).branch(start)

    # -- statements --------------------------------------------------------------------------

    def block(self, block: Sequence[Stmt]) -> None:
        """Statements one after the other; what follows a `return` is not reached."""
        for one in block:
            if self.builder.block.is_terminated:
                return
            self._do(one)

    def _do(self, one: Stmt) -> None:
        if isinstance(one, Assign):
            self.assign(one.name, self.value(one.value))
        elif isinstance(one, Store):
            value, pointer = self.value(one.value), self.value(one.pointer)
            value = values.convert(self.builder, value, pointer.type.element)
            self.builder.store(value.ir, self.element(pointer, one.index))
        elif isinstance(one, For):
            self._for(one)
        elif isinstance(one, If):
            self._if(one)
        elif isinstance(one, While):
            self._while(one)
        elif isinstance(one, Return):
            value = values.convert(self.builder, self.value(one.value), self.result)
            self.builder.ret(value.ir)
        else:
            assert isinstance(one, Evaluate)
            self.value(one.value)

    def _if(self, one: If) -> None:
        condition = values.convert(self.builder, self.value(one.test), BOOL)
        yes, no, done = (self.function.append_basic_block() for _ in range(3))
        self.builder.cbranch(condition.ir, yes, no)
        for start, block in ((yes, one.yes), (no, one.no)):
            self.builder.position_at_end(start)
            self.block(block)
            if not self.builder.block.is_terminated:
                self.builder.branch(done)
        self.builder.position_at_end(done)

    def _while(self, one: While) -> None:
        test, body, done = (self.function.append_basic_block() for _ in range(3))
        self.builder.branch(test)
        self.builder.position_at_end(test)
        condition = values.convert(self.builder, self.value(one.test), BOOL)
        self.builder.cbranch(condition.ir, body, done)
        self.builder.position_at_end(body)
        self.block(one.body)
        if not self.builder.block.is_terminated:
            self.builder.branch(test)
        self.builder.position_at_end(done)

    def _for(self, one: For) -> None:
        start, stop, step = (self.value(bound).ir for bound in (one.start, one.stop, one.step))
        if one.step != ONE or not leaves_rest(one):
            self._loop_over(one, start, stop, step)
        elif self.outlines:
            # a long body is not written twice: masks cost it nothing
            self._loop_over(one, start, stop, step, MaskedLoop(self.module))
        else:
            middle = whole_vectors(self.builder, start, stop)
            self._loop_over(one, start, middle, step)
            self._loop_over(one, middle, stop, step, MaskedLoop(self.module))

    def _loop_over(
        self, one: For, start: object, stop: object, step: object, hint: object = None
    ) -> None:
        with self.loop(start, stop, step, hint) as index:
            hidden = self.values.get(one.variable)
            self.values[one.variable] = Value(index, INT64)
            self.block(one.body)
            del self.values[one.variable]
            if hidden is not None:
                self.values[one.variable] = hidden

    @contextmanager
    def loop(self, start: Any, stop: object, step: Any, hint: object = None) -> Iterator[Any]:
        """A loop with a positive step; nothing runs if it is empty. `hint` is its metadata."""
        builder = self.builder
        body, done = (self.function.append_basic_block() for _ in range(2))
        before = builder.block
        builder.cbranch(builder.icmp_signed("<", start, stop), body, done)
        builder.position_at_end(body)
        index = builder.phi(INT64.ir)
        index.add_incoming(start, before)
        yield index
        following = builder.add(index, step, flags=("nsw",))
        index.add_incoming(following, builder.block)
        again = builder.cbranch(builder.icmp_signed("<", following, stop), body, done)
        if hint is not None:
            again.set_metadata("llvm.loop", hint)
        builder.position_at_end(done)

    def assign(self, name: str, value: Value) -> None:
        """Put a value into a variable, which LLVM turns into registers."""
        if name not in self.places:
            place = ir.IRBuilder(self.entry).alloca(value.type.ir, name=name)
            self.places[name] = place, value.type
        place, kind = self.places[name]
        if value.type != kind:
            value = values.convert(self.builder, value, kind)
        self.builder.store(value.ir, place)

    # -- expressions -------------------------------------------------------------------------

    def value(self, one: Expr) -> Value:
        """The value of an expression."""
        if isinstance(one, Name):
            return self._variable(one.name)
        if isinstance(one, Const):
            return _constant(one.value)
        if isinstance(one, Binary):
            return self.binary(one.sign, self.value(one.left), self.value(one.right))
        if isinstance(one, Load):
            pointer = self.value(one.pointer)
            place = self.element(pointer, one.index)
            element = pointer.type.element
            return Value(self.builder.load(place, typ=element.ir), element)
        if isinstance(one, Cast):
            return values.convert(self.builder, self.value(one.operand), SCALARS[one.type])
        if isinstance(one, Call):
            return self._call(one.function, [self.value(operand) for operand in one.operands])
        if isinstance(one, Select):
            parts = [self.value(part) for part in (one.test, one.yes, one.no)]
            return values.select(self.builder, *parts)
        if isinstance(one, Unary):
            operand = self.value(one.operand)
            change = values.invert if one.sign == "not" else values.negate
            return change(self.builder, operand)
        assert isinstance(one, CastLike)
        operand = self.value(one.operand)
        return values.convert(self.builder, operand, self.value(one.like).type)

    def _variable(self, name: str) -> Value:
        found = self.values.get(name)
        if found is not None:
            return found
        place, kind = self.places[name]
        return Value(self.builder.load(place, typ=kind.ir), kind)

    def _call(self, function: str, operands: Sequence[Value]) -> Value:
        own = self.functions.get(function)
        if own is not None:
            return Value(self.builder.call(own, [one.ir for one in operands]), INT64)
        scalar = scalar_functions().get(function)
        if scalar is not None:
            return user_function(self, scalar, operands)
        return FUNCTIONS[function](self, *operands)

    def binary(self, sign: str, left: Value, right: Value) -> Value:
        """An operation or a comparison of two numbers."""
        if sign in values.COMPARISONS:
            return values.compare(self.builder, sign, left, right)
        if sign in ("//", "%"):
            return values.divide_integers(self.builder, sign, left, right)
        return values.arithmetic(self.builder, sign, left, right, self.exact)

    def element(self, pointer: Value, index: Expr) -> Any:
        """The address of an element."""
        outer, self.exact = self.exact, True
        at = values.convert(self.builder, self.value(index), INT64)
        self.exact = outer
        element = pointer.type.element.ir
        return self.builder.gep(pointer.ir, [at.ir], inbounds=True, source_etype=element)

    # -- functions of the module ---------------------------------------------------------------

    def inlined(
        self, symbol: str, result: object, types: Sequence[object], define: Callable[..., Any]
    ) -> Any:
        """The module's own function of this name; `define(builder, *arguments)` gives its value."""
        found = self.module.globals.get(symbol)
        if found is not None:
            return found
        function = _internal(self.module, symbol, result, types)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        builder.ret(define(builder, *function.args))
        return function

    def call_library(self, one: Function, operands: Sequence[Value]) -> Value:
        """A call of a function of the loop IR; it has the type of its first operand."""
        first = operands[0].type
        symbol = f"{one.name}.{first.name}"
        function = self.module.globals.get(symbol)
        if function is None:
            types = [operand.type for operand in operands]
            inlines = one.name not in library.OUTSIDE_LOOPS
            given = [type.ir for type in types]
            function = _internal(self.module, symbol, first.ir, given, inlines)
            names = [parameter.name for parameter in one.parameters]
            Translator(function, names, types, first).run(one.body)
        return Value(self.builder.call(function, [operand.ir for operand in operands]), first)


def _constant(value: float) -> Value:
    if isinstance(value, bool):
        return values.constant(int(value), BOOL)
    return values.constant(value, INT64 if isinstance(value, int) else FLOAT64)


def _internal(
    module: object, symbol: str, result: object, types: Sequence[object], inlines: bool = True
) -> Any:
    function = ir.Function(module, ir.FunctionType(result, types), symbol)
    function.linkage = "internal"
    function.attributes.add("alwaysinline" if inlines else "noinline")
    function.attributes.add("nounwind")
    return function


def type_named(name: str) -> Any:
    """The type that the annotation of a parameter names."""
    return SCALARS[name] if name in SCALARS else values.POINTERS[name]


__all__ = ["Pointer", "Translator", "type_named"]
