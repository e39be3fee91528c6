"""What emitted source can call: `FUNCTIONS[name](translator, *values) -> Value`."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llvmlite import ir

from staticgraph.compiler.codegen.scalar import CONSTRUCTORS as NAMES
from staticgraph.compiler.core.scalars import ScalarFunction
from staticgraph.compiler.llvm import library, vecmath
from staticgraph.compiler.llvm.conversions import CONVERSIONS
from staticgraph.compiler.llvm.gemm import gemm_function
from staticgraph.compiler.llvm.lost import add_lost
from staticgraph.compiler.llvm.lower import values
from staticgraph.compiler.llvm.lower.values import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    POINTERS,
    SCALARS,
    Value,
)
from staticgraph.compiler.llvm.threefry import threefry
from staticgraph.compiler.llvm.vecmath.lane import BINARY32, BINARY64
from staticgraph.compiler.llvm.vecmath.outlined import Outlined


def _address(translator: Any, pointer: Value, offset: Value) -> Value:
    """The address of the element `offset` places after a pointer."""
    builder = translator.builder
    place = builder.gep(pointer.ir, [offset.ir], source_etype=pointer.type.element.ir)
    return Value(builder.ptrtoint(place, INT64.ir), INT64)


def _offset(translator: Any, pointer: Value, count: Value) -> Value:
    """The pointer `count` elements further on."""
    element = pointer.type.element.ir
    return Value(translator.builder.gep(pointer.ir, [count.ir], source_etype=element), pointer.type)


def _byte(translator: Any, address: Value) -> Value:
    """The byte at an address."""
    byte = SCALARS["u8"]
    pointer = translator.builder.inttoptr(address.ir, byte.ir.as_pointer())
    return Value(translator.builder.load(pointer, typ=byte.ir), byte)


def _call(translator: Any, address: Value, *operands: Value) -> Value:
    """The int64 that the function at an address gives."""
    kind = ir.FunctionType(INT64.ir, [one.ir.type for one in operands])
    function = translator.builder.inttoptr(address.ir, kind.as_pointer())
    return Value(translator.builder.call(function, [one.ir for one in operands]), INT64)


def _pointer(translator: Any, address: Value) -> Value:
    """The words at an address."""
    kind = POINTERS["p_i64"]
    return Value(translator.builder.inttoptr(address.ir, kind.ir), kind)


def _word(translator: Any, pointer: Value, index: Value) -> Any:
    return translator.builder.gep(pointer.ir, [index.ir], source_etype=INT64.ir)


def _atomic_load(translator: Any, pointer: Value, index: Value) -> Value:
    place = _word(translator, pointer, index)
    return Value(translator.builder.load_atomic(place, "seq_cst", 8, typ=INT64.ir), INT64)


def _atomic_store(translator: Any, pointer: Value, index: Value, value: Value) -> Value:
    place = _word(translator, pointer, index)
    translator.builder.store_atomic(value.ir, place, "seq_cst", 8)
    return value


def _atomic_add(translator: Any, pointer: Value, index: Value, value: Value) -> Value:
    """Add to a word; what it was before."""
    place = _word(translator, pointer, index)
    return Value(translator.builder.atomic_rmw("add", place, value.ir, "seq_cst"), INT64)


def _exchange(translator: Any, pointer: Value, index: Value, old: Value, new: Value) -> Value:
    """Replace a word if it is `old`; whether it was."""
    builder = translator.builder
    place = _word(translator, pointer, index)
    found = builder.cmpxchg(place, old.ir, new.ir, "seq_cst", "seq_cst")
    return Value(builder.extract_value(found, 1), BOOL)


def _pause(translator: Any) -> Value:
    """Let the processor know that a loop waits."""
    operands = _PAUSE.get(platform.machine())
    if operands is not None:
        name, *numbers = operands
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)] * len(numbers))
        function = translator.module.globals.get(name) or ir.Function(translator.module, kind, name)
        translator.builder.call(function, [ir.IntType(32)(number) for number in numbers])
    return values.constant(0, INT64)


_PAUSE: dict[str, tuple[Any, ...]] = {
    "x86_64": ("llvm.x86.sse2.pause",),
    "AMD64": ("llvm.x86.sse2.pause",),
    "aarch64": ("llvm.aarch64.hint", 1),
    "arm64": ("llvm.aarch64.hint", 1),
}


def _reordering(name: str, translator: Any, left: Value, right: Value) -> Value:
    """A float operation that the vectoriser may reorder within a reduction."""
    operation = getattr(translator.builder, name)
    return Value(operation(left.ir, right.ir, flags=("reassoc",)), left.type)


def _add_lost(translator: Any, total: Value, value: Value) -> Value:
    return Value(add_lost(translator.builder, total.ir, value.ir), total.type)


def _abs(translator: Any, value: Value) -> Value:
    builder = translator.builder
    if value.type.kind == "f":
        return Value(abs(value.lane(builder)).value, value.type)
    if value.type.kind == "u":
        return value
    wide = values.convert(builder, value, INT64)
    negative = values.compare(builder, "<", wide, values.constant(0, INT64))
    return values.select(builder, negative, values.negate(builder, wide), wide)


def _bound(sign: str, translator: Any, left: Value, right: Value) -> Value:
    """Python's `min` or `max` of two sizes."""
    builder = translator.builder
    return values.select(builder, values.compare(builder, sign, left, right), left, right)


def _extremum(name: str, sign: str, translator: Any, left: Value, right: Value) -> Value:
    if left.type.kind == "f":
        return _formula(name, translator, left, right)
    builder = translator.builder
    return values.select(builder, values.compare(builder, sign, left, right), left, right)


def _formula(name: str, translator: Any, *operands: Value) -> Value:
    """A function of vecmath, defined once per module; LLVM inlines it, or calls it."""
    kind = operands[0].type
    if translator.outlines and is_long(name):
        form = BINARY32 if kind == FLOAT32 else BINARY64
        outlined = Outlined(vecmath.FORMULAS[name], len(operands), form)
        function = translator.module.declared(outlined)
        return Value(translator.builder.call(function, [one.ir for one in operands]), kind)
    symbol = f"{name}.{kind.name}"

    def define(builder: object, *arguments: object) -> Any:
        lanes = (Value(one, kind).lane(builder) for one in arguments)
        return vecmath.FORMULAS[name](*lanes).value

    result = BOOL if name in vecmath.PREDICATES else kind
    function = translator.inlined(symbol, result.ir, [kind.ir] * len(operands), define)
    return Value(translator.builder.call(function, [one.ir for one in operands]), result)


def _library(name: str, translator: Any, *operands: Value) -> Value:
    """A function written in the emitted language, translated once per module and types."""
    return translator.call_library(library.function(name), operands)


def _gemm(type: values.Scalar, translator: Any, *operands: Value) -> Value:
    function = gemm_function(translator.builder.module, f"gemm_{type.name}", type.ir)
    translator.builder.call(function, [one.ir for one in operands])
    return Value(ir.Constant(INT64.ir, 0), INT64)


def _threefry(translator: Any, key: Value, counter: Value) -> Value:
    """64 random bits, defined once per module."""
    function = translator.inlined("threefry", INT64.ir, [INT64.ir] * 2, threefry)
    return Value(translator.builder.call(function, [key.ir, counter.ir]), INT64)


def _conversion(name: str, translator: Any, value: Value) -> Value:
    """A float of 16 bits from another float, or into one."""
    define, result, operand = CONVERSIONS[name]
    given = values.convert(translator.builder, value, SCALARS[operand])
    kind = SCALARS[result]
    function = translator.inlined(name, kind.ir, [given.type.ir], define)
    return Value(translator.builder.call(function, [given.ir]), kind)


def user_function(translator: Any, scalar: ScalarFunction, operands: Sequence[Value]) -> Value:
    """A function that a user wrote, on numbers of its dtype."""
    builder = translator.builder
    kind, result = SCALARS[NAMES[scalar.operand.name]], SCALARS[NAMES[scalar.result.name]]
    given = [values.convert(builder, one, kind) for one in operands]
    function = translator.module.scalar(scalar, [kind.ir] * len(given), result.ir)
    return Value(builder.call(function, [one.ir for one in given]), result)


def is_long(name: str) -> bool:
    """Whether a function of the emitted language is a formula of many instructions."""
    return name.removesuffix("_f") in vecmath.LONG


Function = Callable[..., Value]
FUNCTIONS: dict[str, Function] = {
    **{name: partial(_formula, name) for name in vecmath.FORMULAS},
    **{name: partial(_library, function) for name, function in library.NAMES.items()},
    **{name: partial(_conversion, name) for name in CONVERSIONS},
    "abs": _abs,
    "add_lost": _add_lost,
    "address": _address,
    "atomic_add": _atomic_add,
    "atomic_load": _atomic_load,
    "atomic_store": _atomic_store,
    "byte": _byte,
    "call": _call,
    "exchange": _exchange,
    "fmod_f": partial(_formula, "fmod"),
    "fprod": partial(_reordering, "fmul"),
    "fsum": partial(_reordering, "fadd"),
    "gemm_f32": partial(_gemm, FLOAT32),
    "gemm_f64": partial(_gemm, FLOAT64),
    "max": partial(_bound, ">"),
    "maximum": partial(_extremum, "maximum", ">"),
    "min": partial(_bound, "<"),
    "minimum": partial(_extremum, "minimum", "<"),
    "offset": _offset,
    "pause": _pause,
    "pointer": _pointer,
    "pow_f": partial(_formula, "pow"),
    "remainder_f": partial(_formula, "remainder"),
    "threefry": _threefry,
}
