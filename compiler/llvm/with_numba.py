"""The emitted language under Numba: the same source, compiled by its general front end.

`sg.compile(..., backend="numba")` runs kernels this way. It takes several times longer to compile,
and keeps what it compiled for as long as the process runs; results are the same. The tests hold
`compiler.llvm.lower` to it. Nothing is compiled when this is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

from compiler.core import fork
from compiler.llvm import host, library, vecmath
from compiler.llvm.gemm import gemm_function
from compiler.llvm.vecmath.lane import BINARY32, BINARY64, Lane

fork.hold(fork.Rank.NUMBA, global_compiler_lock)

INT64 = ir.IntType(64)
SIGNATURE = types.int64(types.CPointer(types.int64), types.CPointer(types.int64))
WORDS = (types.int64,) * 6


def compile_with_numba(source: str) -> Any:
    """The step `int64 (int64 *table, int64 *operands)` that runs a whole kernel; has `address`."""
    namespace = names()
    exec(compile(source, "<kernel>", "exec"), namespace)
    for name, function in list(namespace.items()):
        if name == "kernel" or name.startswith("unit_"):
            namespace[name] = njit(error_model="numpy")(function)
    run = namespace["kernel"]

    def step(table: Any, operands: Any) -> Any:
        return run(table)

    return cfunc(SIGNATURE, error_model="numpy", nopython=True)(step)


def names() -> dict[str, Any]:
    """What emitted source can name, as Numba compiles it."""
    found: dict[str, Any] = {
        "address": address, "boolean": np.bool_, "u8": np.uint8, "i8": np.int8, "i16": np.int16,
        "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64, "inf": np.inf,
        "nan": np.nan, "offset": offset, "select": select, "fsum": _reordering("fadd"),
        "fprod": _reordering("fmul"), "gemm_f32": _gemm("gemm_f32", types.float32),
        "gemm_f64": _gemm("gemm_f64", types.float64),
        "p_u8": _pointer_at(types.uint8), "p_i8": _pointer_at(types.int8),
        "p_i16": _pointer_at(types.int16), "p_i32": _pointer_at(types.int32),
        "p_i64": _pointer_at(types.int64), "p_f32": _pointer_at(types.float32),
        "p_f64": _pointer_at(types.float64),
    } | {name: formula(name) for name in vecmath.FORMULAS}  # fmt: skip
    found |= {f"{name}_f": found[name] for name in ("fmod", "pow", "remainder")}
    found |= {"call": call, "pointer": pointer}
    exec(host.SOURCE, found)
    found["host"] = njit(error_model="numpy")(found["host"])
    exec(library.SOURCE, found)
    for name in library.functions():
        found[name] = njit(error_model="numpy")(found[name])
    return found | {name: found[function] for name, function in library.NAMES.items()}


def formula(name: str) -> Any:
    """A function of vecmath for njit code: all operands float32, or all float64."""
    sign = {"maximum": ">", "minimum": "<"}.get(name)

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[0]
        if not isinstance(kind, types.Float):
            signed = getattr(kind, "signed", False)
            compare = builder.icmp_signed if signed else builder.icmp_unsigned
            return builder.select(compare(sign, *values), *values)
        binary = BINARY32 if kind.bitwidth == 32 else BINARY64
        return vecmath.FORMULAS[name](*(Lane(builder, one, binary) for one in values)).value

    def typed(*operands: Any) -> Any:
        first = operands[0]
        alike = all(operand == first for operand in operands)
        numbers = (types.Float, types.Integer, types.Boolean) if sign else (types.Float,)
        if not alike or not isinstance(first, numbers):
            return None
        return (types.boolean if name in vecmath.PREDICATES else first)(*operands), lower

    typers: dict[int, Callable[..., Any]] = {
        1: lambda typing, x: typed(x),
        2: lambda typing, x, y: typed(x, y),
        3: lambda typing, x, y, z: typed(x, y, z),
    }
    typer = typers[vecmath.ARITY[name]]
    typer.__name__ = typer.__qualname__ = name
    return intrinsic(typer)


def _pointer_at(dtype: Any) -> Any:
    """An intrinsic `(table, entry) -> pointer`: the address that the table holds, typed."""

    @intrinsic
    def pointer(typing: Any, table: Any, entry: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = builder.load(builder.gep(args[0], [args[1]]))
            return builder.inttoptr(found, context.get_data_type(dtype).as_pointer())

        return types.CPointer(dtype)(table, types.int64), codegen

    return pointer


@intrinsic
def address(typing: Any, pointer: Any, offset: Any) -> Any:
    """The address of the element `offset` places after a pointer: int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(builder.gep(args[0], [args[1]]), INT64)

    return types.int64(pointer, types.int64), codegen


@intrinsic
def call(typing: Any, function: Any, operand: Any) -> Any:
    """The int64 that the function at an address gives for another int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(INT64, [INT64])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1]])

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def pointer(typing: Any, words: Any) -> Any:
    """The words at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], INT64.as_pointer())

    return types.CPointer(types.int64)(words), codegen


@intrinsic
def offset(typing: Any, pointer: Any, count: Any) -> Any:
    """The pointer `count` elements further on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return pointer(pointer, types.int64), codegen


@intrinsic
def select(typing: Any, condition: Any, yes: Any, no: Any) -> Any:
    """`yes if condition else no`, without a branch."""
    unified = typing.unify_types(yes, no)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(args[0], args[1], args[2])

    return unified(types.boolean, unified, unified), codegen


def _reordering(name: str) -> Any:
    """A float operation that the vectoriser may reorder within a reduction."""

    @intrinsic
    def operation(typing: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, name)(args[0], args[1], flags=("reassoc",))

        return left(left, right), codegen

    return operation


def _gemm(name: str, scalar: Any) -> Any:
    """A product of matrices, as `compiler.llvm.gemm` describes it."""
    kind = ir.FloatType() if scalar is types.float32 else ir.DoubleType()
    size = types.int64
    signature = types.void(*WORDS, scalar, *WORDS[:4], scalar, size, size)

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        builder.call(gemm_function(builder.module, f"staticgraph_{name}", kind), arguments)
        return context.get_dummy_value()

    def typer(
        _typing: Any, _address: Any, _transa: Any, _transb: Any, _m: Any, _n: Any, _k: Any,
        _alpha: Any, _a: Any, _lda: Any, _b: Any, _ldb: Any, _beta: Any, _c: Any, _ldc: Any,
    ) -> Any:  # fmt: skip
        return signature, codegen

    typer.__name__ = name
    return intrinsic(typer)


__all__ = ["compile_with_numba", "formula", "names"]
