"""One walk over the syntax tree of a function of the emitted language.

Statements: assignment to names and to elements of pointers, `for` over `range`, `while`, `if`,
`return` and calls. Every name has the type of its first assignment. Elements are read and written
in bounds, so indices do not wrap.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from compiler.llvm import library
from compiler.llvm.lower import values
from compiler.llvm.lower.functions import FUNCTIONS
from compiler.llvm.lower.rest import MaskedLoop, leaves_rest, whole_vectors
from compiler.llvm.lower.values import BOOL, FLOAT64, INT64, SCALARS, Pointer, Value

CONSTANTS = {"inf": float("inf"), "nan": float("nan")}
SIGNS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


class Translator:
    """Translates the statements of one function into the LLVM function `self.function`.

    `functions` are those of the module, of int64, that the statements call by name. With
    `outlines`, functions of vecmath that are many instructions are called, not inlined.
    """

    def __init__(
        self,
        function: Any,
        names: Sequence[str],
        types: Sequence[Any],
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

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Translate the body; the function returns 0 where the body ends."""
        start = self.builder.block
        self.block(statements)
        if not self.builder.block.is_terminated:
            self.builder.ret(ir.Constant(self.function.function_type.return_type, 0))
        ir.IRBuilder(self.entry).branch(start)

    # -- statements --------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Statements one after the other; what follows a `return` is not reached."""
        for statement in statements:
            if self.builder.block.is_terminated:
                return
            getattr(self, f"_do_{type(statement).__name__.lower()}")(statement)

    def _do_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def _do_assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        value = self.value(node.value)
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
            return
        assert isinstance(target, ast.Subscript)
        pointer = self.value(target.value)
        value = values.convert(self.builder, value, pointer.type.element)
        self.builder.store(value.ir, self.element(pointer, target.slice))

    def _do_augassign(self, node: ast.AugAssign) -> None:
        assert isinstance(node.target, ast.Name)
        left = self.value(ast.Name(node.target.id))
        self.assign(node.target.id, self.binary(SIGNS[type(node.op)], left, self.value(node.value)))

    def _do_return(self, node: ast.Return) -> None:
        assert node.value is not None
        value = self.value(node.value)
        self.builder.ret(values.convert(self.builder, value, self.result).ir)

    def _do_if(self, node: ast.If) -> None:
        condition = values.convert(self.builder, self.value(node.test), BOOL)
        yes, no, done = (self.function.append_basic_block() for _ in range(3))
        self.builder.cbranch(condition.ir, yes, no)
        for start, statements in ((yes, node.body), (no, node.orelse)):
            self.builder.position_at_end(start)
            self.block(statements)
            if not self.builder.block.is_terminated:
                self.builder.branch(done)
        self.builder.position_at_end(done)

    def _do_while(self, node: ast.While) -> None:
        test, body, done = (self.function.append_basic_block() for _ in range(3))
        self.builder.branch(test)
        self.builder.position_at_end(test)
        condition = values.convert(self.builder, self.value(node.test), BOOL)
        self.builder.cbranch(condition.ir, body, done)
        self.builder.position_at_end(body)
        self.block(node.body)
        if not self.builder.block.is_terminated:
            self.builder.branch(test)
        self.builder.position_at_end(done)

    def _do_for(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name)
        assert isinstance(node.iter, ast.Call)
        bounds = [self.value(one) for one in node.iter.args]
        start, stop = (values.constant(0, INT64), *bounds) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else values.constant(1, INT64)
        if len(bounds) < 3 and self.outlines and leaves_rest(node):
            # a long body is not written twice: masks cost it nothing
            self._loop_over(node, start.ir, stop.ir, step.ir, MaskedLoop(self.module))
        elif len(bounds) < 3 and leaves_rest(node):
            middle = whole_vectors(self.builder, start.ir, stop.ir)
            self._loop_over(node, start.ir, middle, step.ir)
            self._loop_over(node, middle, stop.ir, step.ir, MaskedLoop(self.module))
        else:
            self._loop_over(node, start.ir, stop.ir, step.ir)

    def _loop_over(self, node: ast.For, start: Any, stop: Any, step: Any, hint: Any = None) -> None:
        assert isinstance(node.target, ast.Name)
        with self.loop(start, stop, step, hint) as index:
            hidden = self.values.get(node.target.id)
            self.values[node.target.id] = Value(index, INT64)
            self.block(node.body)
            if hidden is not None:
                self.values[node.target.id] = hidden

    @contextmanager
    def loop(self, start: Any, stop: Any, step: Any, hint: Any = None) -> Iterator[Any]:
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

    def value(self, node: ast.expr) -> Value:
        """The value of an expression."""
        return getattr(self, f"_of_{type(node).__name__.lower()}")(node)

    def _of_constant(self, node: ast.Constant) -> Value:
        value: Any = node.value
        if isinstance(value, bool):
            return values.constant(int(value), BOOL)
        return values.constant(value, INT64 if isinstance(value, int) else FLOAT64)

    def _of_name(self, node: ast.Name) -> Value:
        if node.id in self.values:
            return self.values[node.id]
        if node.id in self.places:
            place, kind = self.places[node.id]
            return Value(self.builder.load(place, typ=kind.ir), kind)
        return values.constant(CONSTANTS[node.id], FLOAT64)

    def _of_unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return values.invert(self.builder, value)
        assert isinstance(node.op, ast.USub)
        return values.negate(self.builder, value)

    def _of_binop(self, node: ast.BinOp) -> Value:
        return self.binary(SIGNS[type(node.op)], self.value(node.left), self.value(node.right))

    def binary(self, sign: str, left: Value, right: Value) -> Value:
        """An operation of two numbers."""
        if sign in ("//", "%"):
            return values.divide_integers(self.builder, sign, left, right)
        return values.arithmetic(self.builder, sign, left, right, self.exact)

    def _of_compare(self, node: ast.Compare) -> Value:
        (operator,), (right,) = node.ops, node.comparators
        left = self.value(node.left)
        return values.compare(self.builder, SIGNS[type(operator)], left, self.value(right))

    def _of_ifexp(self, node: ast.IfExp) -> Value:
        parts = (self.value(one) for one in (node.test, node.body, node.orelse))
        return values.select(self.builder, *parts)

    def _of_subscript(self, node: ast.Subscript) -> Value:
        pointer = self.value(node.value)
        place = self.element(pointer, node.slice)
        return Value(self.builder.load(place, typ=pointer.type.element.ir), pointer.type.element)

    def _of_call(self, node: ast.Call) -> Value:
        operands = [self.value(one) for one in node.args]
        if isinstance(node.func, ast.Call):  # type(a)(1)
            (like,) = node.func.args
            return values.convert(self.builder, operands[0], self.value(like).type)
        assert isinstance(node.func, ast.Name)
        if node.func.id in self.functions:
            own = self.functions[node.func.id]
            return Value(self.builder.call(own, [one.ir for one in operands]), INT64)
        return FUNCTIONS[node.func.id](self, *operands)

    def element(self, pointer: Value, index: ast.expr) -> Any:
        """The address of an element."""
        outer, self.exact = self.exact, True
        at = values.convert(self.builder, self.value(index), INT64)
        self.exact = outer
        element = pointer.type.element.ir
        return self.builder.gep(pointer.ir, [at.ir], inbounds=True, source_etype=element)

    # -- functions of the module ---------------------------------------------------------------

    def inlined(
        self, symbol: str, result: Any, types: Sequence[Any], define: Callable[..., Any]
    ) -> Any:
        """The module's own function of this name; `define(builder, *arguments)` gives its value."""
        found = self.module.globals.get(symbol)
        if found is not None:
            return found
        function = _internal(self.module, symbol, result, types)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        builder.ret(define(builder, *function.args))
        return function

    def call_library(self, tree: ast.FunctionDef, operands: Sequence[Value]) -> Value:
        """A call of a function in the emitted language; it has the type of its first operand."""
        first = operands[0].type
        symbol = f"{tree.name}.{first.name}"
        function = self.module.globals.get(symbol)
        if function is None:
            types = [one.type for one in operands]
            inlines = tree.name not in library.OUTSIDE_LOOPS
            function = _internal(self.module, symbol, first.ir, [one.ir for one in types], inlines)
            names = [one.arg for one in tree.args.args]
            Translator(function, names, types, first).run(tree.body)
        return Value(self.builder.call(function, [one.ir for one in operands]), first)


def _internal(
    module: Any, symbol: str, result: Any, types: Sequence[Any], inlines: bool = True
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
