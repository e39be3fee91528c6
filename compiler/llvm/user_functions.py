"""A user's function of scalars as code that kernels inline: Numba lowers it, LLVM makes it pure.

What Numba has lowered is put into a module with the functions of vecmath that it calls, so that
loops over it are vectorised as any other, and reduced to one function without anything of Numba's.
A function that may raise, that allocates or that calls the interpreter has no such form: it is
refused. Nothing of it keeps a name of the user's: the symbol is a digest of the code.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import compiler, errors
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from staticgraph.compiler.core.dtypes import DECLARED
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.scalars import ScalarFunction, add_scalar
from staticgraph.compiler.core.types import DType, as_dtype
from staticgraph.compiler.llvm import vecmath
from staticgraph.compiler.llvm.c_library import C_LIBRARY
from staticgraph.compiler.llvm.machine import target_machine
from staticgraph.compiler.llvm.native import optimise
from staticgraph.compiler.llvm.parsed import link, parse
from staticgraph.compiler.llvm.vecmath.deferred import KernelModule, without_used
from staticgraph.compiler.llvm.vecmath.lane import BINARY32, BINARY64, Format, Lane
from staticgraph.compiler.llvm.with_numba import numba_target

VALUE, STATUS = "user_value", "user_status"
BIT, BYTE, WORD = ir.IntType(1), ir.IntType(8), ir.IntType(32)
_CALLED = re.compile(r"@(llvm\.)?([a-z]\w*)(\.f32|\.f64)?\(")
_OF_C = {
    f"numba_{name}{suffix}": f"{of_c}{suffix}"
    for name, of_c in (("gamma", "tgamma"), ("ldexp", "ldexp"), ("nextafter", "nextafter"))
    for suffix in ("", "f")
}
"""What Numba calls its own functions that are those of the C library."""
_WITHOUT_BODY = ("llvm.", "rare.")
_MODULE_HEAD = re.compile(r"^(; ModuleID|source_filename).*\n", re.MULTILINE)


def compile_scalar(function: Callable[..., Any], name: str, dtype: DType) -> ScalarFunction:
    """A function of numbers, compiled for operands of one dtype.

    Raises:
        GraphError: Numba cannot compile it, what it gives is no number, or it is not pure.
    """
    made, arity = _lowered(function, name, dtype)
    result = _result_of(made.signature.return_type, name)
    module = KernelModule("user")
    module.triple = target_machine().triple
    text = _with_formulas(module, made.library.get_llvm_str())
    _define(module, made.fndesc.llvm_func_name, dtype, result, arity)
    parsed = parse(str(module))
    link(parsed, text)
    for one in parsed.functions:
        if not one.is_declaration and one.name not in (VALUE, STATUS):
            one.linkage = "internal"
            one.add_function_attribute("alwaysinline")
    for variable in parsed.global_variables:
        if not variable.name.startswith("llvm."):
            variable.linkage = "internal"
    optimise(parsed, target_machine())
    _require_pure(parsed, name)
    code = _MODULE_HEAD.sub("", without_used(_without_status(parsed)))
    symbol = f"user_{hashlib.sha256(code.encode()).hexdigest()[:32]}"
    deferred = tuple({one: None for one, _ in module.variants.values()})
    code = code.replace(VALUE, symbol)
    found = ScalarFunction(symbol, arity, dtype, result, code, deferred, function)
    add_scalar(found)
    return found


def _lowered(function: Callable[..., Any], name: str, dtype: DType) -> tuple[Any, int]:
    """What Numba makes of a function of numbers of one dtype, before LLVM's passes."""
    arity = function.__code__.co_argcount
    given = (numba.from_dtype(dtype),) * arity
    flags = compiler.Flags()
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    flags.error_model = "numpy"
    flags.boundscheck = True  # an index out of range is an exception, and so refused
    try:
        with global_compiler_lock:
            typing = cpu_target.typing_context
            typing.refresh()
            cpu_target.target_context.refresh()
            made = compiler.compile_extra(typing, numba_target(), function, given, None, flags, {})
            made.library.finalize()
    except errors.NumbaError as error:
        raise GraphError(
            f"{name}: Numba cannot compile it for numbers of {dtype}: {_reason(error)}"
        ) from error
    return made, arity


def _reason(error: Exception) -> str:
    """What Numba says, without its advice."""
    lines = [line.strip() for line in str(error).split("\n")]
    told = [line for line in lines if line and not line.startswith(("Failed in", "During:"))]
    hint = " (what it calls is decorated with numba.njit)" if "Untyped global" in str(error) else ""
    return " ".join(told[:4]) + hint


def _result_of(found: Any, name: str) -> DType:
    """The dtype of what a function gives."""
    dtypes = [as_dtype(one.name) for one in DECLARED.values() if not one.computes]
    known = {str(numba.from_dtype(one)): one for one in dtypes}
    if str(found) in known:
        return known[str(found)]
    raise GraphError(
        f"{name}: it gives {found}, not one number of {', '.join(map(str, dtypes))} on every way"
    )


def _with_formulas(module: KernelModule, text: str) -> str:
    """The text with calls of functions of vecmath, which are defined in the module, for maths."""

    def found(call: re.Match[str]) -> str:
        intrinsic, name, suffix = call.groups()
        known = vecmath.LONG if intrinsic else vecmath.FORMULAS  # the others are instructions
        if name in known:
            form = BINARY32 if suffix == ".f32" else BINARY64
        elif name.removesuffix("f") in known and not suffix:
            name, form = name.removesuffix("f"), BINARY32
        else:
            return f"@{_OF_C[name]}(" if name in _OF_C else call.group()
        return f"@{_formula(module, name, form)}("

    return _CALLED.sub(found, text)


def _formula(module: KernelModule, name: str, form: Format) -> str:
    """The function of the module that computes a formula."""
    symbol = f"formula_{name}_{form.bits}"
    if symbol not in module.globals:
        kinds = [form.float_type] * vecmath.ARITY[name]
        function = ir.Function(module, ir.FunctionType(form.float_type, kinds), symbol)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        lanes = (Lane(builder, one, form) for one in function.args)
        builder.ret(vecmath.FORMULAS[name](*lanes).value)
    return symbol


def _define(module: Any, symbol: str, operand: DType, result: DType, arity: int) -> None:
    """Functions that give the value and the status of Numba's, which puts the value in memory."""
    taken = [llvm_type(operand)] * arity
    pointer = BYTE.as_pointer()
    inside = [BYTE if operand.kind == "b" else llvm_type(operand)] * arity
    inner = ir.Function(
        module, ir.FunctionType(WORD, [pointer, pointer.as_pointer(), *inside]), symbol
    )
    held = BYTE if result.kind == "b" else llvm_type(result)
    for name, given in ((VALUE, llvm_type(result)), (STATUS, WORD)):
        function = ir.Function(module, ir.FunctionType(given, taken), name)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        place, error = builder.alloca(held), builder.alloca(pointer)
        values = [builder.zext(one, BYTE) if operand.kind == "b" else one for one in function.args]
        status = builder.call(inner, [builder.bitcast(place, pointer), error, *values])
        if name == STATUS:
            builder.ret(status)
            continue
        value = builder.load(place)
        builder.ret(builder.trunc(value, BIT) if result.kind == "b" else value)


def llvm_type(dtype: DType) -> Any:
    """The LLVM type of a number in a register."""
    if dtype.kind == "f":
        return ir.FloatType() if dtype.itemsize == 4 else ir.DoubleType()
    return BIT if dtype.kind == "b" else ir.IntType(8 * dtype.itemsize)


def _require_pure(parsed: Any, name: str) -> None:
    """GraphError unless a function always gives a value, and needs nothing but its operands."""
    for one in parsed.functions:
        known = one.name.startswith(_WITHOUT_BODY) or one.name in C_LIBRARY
        if one.is_declaration and not known:
            raise GraphError(
                f"{name}: it needs {one.name}, so that it is no function of numbers alone that a "
                'loop can call: declare it with kind="host" and result='
            )
    ends = [
        str(one).strip()
        for block in parsed.get_function(STATUS).blocks
        for one in block.instructions
        if one.opcode == "ret"
    ]
    if set(ends) - {"ret i32 0"}:
        raise _raising(name)
    if "inttoptr (i64" in str(parsed):
        raise GraphError(f"{name}: it reads memory of this process, such as a large array")


def _raising(name: str) -> GraphError:
    return GraphError(
        f"{name}: it may raise an exception, which a loop over many elements cannot (so may x ** n "
        "for an integer n, and a table at a place that is not clipped): give a value such as nan "
        'instead, or declare it with kind="host" and result='
    )


def _without_status(parsed: Any) -> str:
    """The text without the function that only said whether the other one may raise."""
    status = parsed.get_function(STATUS)
    text = str(parsed)
    return text.replace(str(status), "")
