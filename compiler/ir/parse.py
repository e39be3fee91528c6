"""The loop IR from Python text: the templates of ops, and functions that are written by hand."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from staticgraph.compiler.core.dtypes import REGISTERS
from staticgraph.compiler.ir.records import (
    ONE,
    ZERO,
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    CastLike,
    Const,
    Evaluate,
    Expr,
    For,
    Function,
    Hole,
    If,
    Load,
    Name,
    Parameter,
    Return,
    Select,
    Stmt,
    Store,
    Unary,
    While,
)

SIGNS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
NUMBERS = {"inf": Const(float("inf")), "nan": Const(float("nan"))}
TYPES = frozenset(REGISTERS.values())
HOLE = "hole_"


_HOLES = [f"{HOLE}{i}" for i in range(14)]


def parsed_template(text: str, **words: str) -> Expr:
    """The expression of a format string: its operands `{0}`, `{1}`, ... are holes."""
    return _expr(ast.parse(text.format(*_HOLES, **words), mode="eval").body)


def parsed_function(text: str) -> Function:
    """The only function of a text."""
    (tree,) = ast.parse(text).body
    return function_of(tree)


def function_of(tree: ast.stmt) -> Function:
    """A function from its syntax tree."""
    assert isinstance(tree, ast.FunctionDef)
    return Function(tree.name, tuple(map(_parameter, tree.args.args)), _block(tree.body))


def _parameter(one: ast.arg) -> Parameter:
    return Parameter(one.arg, one.annotation.id if isinstance(one.annotation, ast.Name) else "")


def _block(trees: Iterable[ast.stmt]) -> Block:
    return tuple(_stmt(tree) for tree in trees if not _is_documentation(tree))


def _is_documentation(tree: ast.stmt) -> bool:
    return isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant)


def _stmt(tree: ast.stmt) -> Stmt:
    match tree:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return Assign(name, _expr(value))
        case ast.Assign(targets=[ast.Subscript(value=pointer, slice=index)], value=value):
            return Store(_expr(pointer), _expr(index), _expr(value))
        case ast.AugAssign(target=ast.Name(id=name), op=operator, value=value):
            return Assign(name, Binary(SIGNS[type(operator)], Name(name), _expr(value)))
        case ast.For(target=ast.Name(id=name), iter=ast.Call(args=bounds), body=body):
            given = [_expr(bound) for bound in bounds]
            start, stop = (ZERO, given[0]) if len(given) == 1 else given[:2]
            return For(name, start, stop, _block(body), given[2] if len(given) == 3 else ONE)
        case ast.While(test=test, body=body):
            return While(_expr(test), _block(body))
        case ast.If(test=test, body=yes, orelse=no):
            return If(_expr(test), _block(yes), _block(no))
        case ast.Return(value=ast.expr() as value):
            return Return(_expr(value))
        case ast.Expr(value=value):
            return Evaluate(_expr(value))
    raise NotImplementedError(ast.unparse(tree))


def _expr(tree: ast.expr) -> Expr:
    match tree:
        case ast.Name(id=name):
            if name.startswith(HOLE):
                return Hole(name.removeprefix(HOLE))
            return NUMBERS.get(name) or Name(name)
        case ast.Constant(value=bool() | int() | float() as value):
            return Const(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Unary("not", _expr(operand))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            found = _expr(operand)
            if isinstance(found, Const) and not isinstance(found.value, bool):
                return Const(-found.value)
            return Unary("-", found)
        case ast.BinOp(left=left, op=operator, right=right):
            return Binary(SIGNS[type(operator)], _expr(left), _expr(right))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return Binary(SIGNS[type(operator)], _expr(left), _expr(right))
        case ast.Subscript(value=pointer, slice=index):
            return Load(_expr(pointer), _expr(index))
        case ast.Call(func=ast.Call(args=[like]), args=[operand]):
            return CastLike(_expr(like), _expr(operand))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _called(name, tuple(map(_expr, arguments)))
    raise NotImplementedError(ast.unparse(tree))


def _called(name: str, operands: tuple[Expr, ...]) -> Expr:
    if name in TYPES:
        (operand,) = operands
        return Cast(name, operand)
    if name == "select":
        test, yes, no = operands
        return Select(test, yes, no)
    return Call(name, operands)
