"""The emitted language under Numba: its front end compiles each unit, and LLVM what comes of it.

`sg.compile(..., backend="numba")` makes kernels this way. Numba infers the types of a unit and
lowers it to LLVM's IR; from there on it is compiled as `compiler.llvm.native` compiles what it has
lowered itself, with the same passes, vector maths and calls of the BLAS, and it is run by the same
program, pool and arena. So it computes the same bits in the same time, and takes several times
longer to compile. The tests hold `compiler.llvm.lower` to it. Nothing is compiled when this is
imported.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import codegen, compiler, typed_passes, untyped_passes
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from staticgraph.compiler.codegen.scalar import CONSTRUCTORS
from staticgraph.compiler.core import fork
from staticgraph.compiler.core.dtypes import DECLARED
from staticgraph.compiler.core.scalars import ScalarFunction
from staticgraph.compiler.ir.records import (
    ONE,
    Block,
    Call,
    Evaluate,
    For,
    Function,
    If,
    Parameter,
    Stmt,
)
from staticgraph.compiler.ir.text import function as source_of
from staticgraph.compiler.ir.walk import scalars_of
from staticgraph.compiler.llvm import library, native, vecmath
from staticgraph.compiler.llvm.conversions import CONVERSIONS
from staticgraph.compiler.llvm.gemm import gemm_function
from staticgraph.compiler.llvm.lost import add_lost
from staticgraph.compiler.llvm.lower import rest
from staticgraph.compiler.llvm.machine import target_machine
from staticgraph.compiler.llvm.parsed import link, parse
from staticgraph.compiler.llvm.threefry import threefry
from staticgraph.compiler.llvm.vecmath.deferred import KernelModule
from staticgraph.compiler.llvm.vecmath.lane import BINARY32, BINARY64, Lane
from staticgraph.compiler.llvm.vecmath.outlined import Outlined

fork.hold(fork.Rank.NUMBA, global_compiler_lock)

INT64 = ir.IntType(64)
WORDS = (types.int64,) * 6
DTYPES = {
    one.register: np.dtype(name)
    for name, one in DECLARED.items()
    if name != "bool" and not one.computes and not name.startswith("complex")
}
SCALARS = {register: numba.from_dtype(dtype) for register, dtype in DTYPES.items()}
TYPES = SCALARS | {f"p_{name}": types.CPointer(one) for name, one in SCALARS.items()}
FORMS = {"f32": BINARY32, "f64": BINARY64}
REST = "masked_rest"  # what a loop calls that is to be vectorised with masked lanes
FORMULA = "formula."  # what a function begins with that is defined after Numba has lowered its call
_FORMULA = re.compile(r'@"?formula\.(\w+)\.(f32|f64)"?\(')
FIRST_MASK = 100_000  # a number of metadata that Numba has not given


class _Library(codegen.JITCodeLibrary):  # type: ignore[misc]
    """What Numba has lowered, before any pass of LLVM, and not given to its engine."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


PASSES = (
    untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, untyped_passes.IRProcessing,
    untyped_passes.ReconstructSSA, typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis, typed_passes.IRLegalization, typed_passes.AnnotateTypes,
    typed_passes.NativeLowering, typed_passes.NoPythonBackend,
)  # fmt: skip


class _Compiler(compiler.CompilerBase):  # type: ignore[misc]
    """Numba's passes that a unit needs.

    The others look for what no unit has: closures, contexts, lists, functions to be inlined,
    branches that the types decide. They took a third of the time.
    """

    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("unit")
        for one in PASSES:
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


class _Codegen(codegen.JITCPUCodegen):  # type: ignore[misc]
    _library_class = _Library


def compile_with_numba(units: Sequence[Function], inlining: Collection[int]) -> bytes:
    """The object code of units: as `native.compile_native` makes it, by way of Numba.

    Args:
        units: functions whose parameters have types.
        inlining: the units that inline functions of vecmath; the others call them.
    """
    module = KernelModule("kernel")
    machine = target_machine()
    module.triple = machine.triple
    lowered = {}
    namespace = dict(names())
    namespace |= {one.symbol: _user_function(module, one) for one in scalars_of(units)}
    for i, one in enumerate(units):
        symbol, text = _lowered(one, namespace, f"numba_{i}", splits=i in inlining)
        lowered[symbol] = _with_formulas(module, text, i not in inlining)
        unit = _define_unit(module, symbol, [parameter.type for parameter in one.parameters])
        native.define_step(module, native.step_symbol(i), unit, native.is_chunk(one))
    parsed = parse(str(module))
    for symbol, text in lowered.items():
        link(parsed, text)
        parsed.get_function(symbol).add_function_attribute("alwaysinline")
    for function in parsed.functions:
        if not function.is_declaration and not function.name.startswith("step_"):
            function.linkage = "internal"
    for variable in parsed.global_variables:
        if variable.name.startswith("_ZN08NumbaEnv"):
            variable.linkage = "internal"
    return native.emitted(units, machine, native.finished(parsed, module, machine))


def _lowered(unit: Function, namespace: dict[str, Any], name: str, splits: bool) -> tuple[str, str]:
    """The symbol and the text in LLVM's IR of what Numba makes of a unit."""
    given = tuple(TYPES[one.type] for one in unit.parameters)
    parameters = tuple(Parameter(one.name) for one in unit.parameters)
    source = source_of(Function(name, parameters, _with_rests(unit.body, splits)))
    exec(compile(source, f"<{name}>", "exec"), namespace)
    flags = compiler.Flags()
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    flags.error_model = "numpy"
    with global_compiler_lock:
        typing = cpu_target.typing_context
        typing.refresh()
        cpu_target.target_context.refresh()
        function = namespace.pop(name)
        made = compiler.compile_extra(
            typing,
            numba_target(),
            function,
            given,
            types.int64,
            flags,
            {},
            pipeline_class=_Compiler,
        )
        made.library.finalize()
        return made.fndesc.llvm_func_name, made.library.get_llvm_str()


@cache
def numba_target() -> Any:
    """Numba's lowering for this processor, of which the project compiles what it gives."""
    return cpu_target.target_context.subtarget(_internal_codegen=_Codegen("staticgraph"))


def _with_rests(block: Block, splits: bool) -> Block:
    """Statements whose loops that leave less than a vector have the form of `lower.rest`.

    With `splits` such a loop becomes two, or else is computed with masks as a whole.
    """
    return tuple(made for one in block for made in _with_rest(one, splits))


def _with_rest(one: Stmt, splits: bool) -> Block:
    if isinstance(one, If):
        return (If(one.test, _with_rests(one.yes, splits), _with_rests(one.no, splits)),)
    if not isinstance(one, For):
        return (one,)
    if one.step != ONE or not rest.leaves_rest(one):
        return (replace(one, body=_with_rests(one.body, splits)),)
    masked = replace(one, body=(*one.body, Evaluate(Call(REST, ()))))
    if not splits:
        return (masked,)
    middle = Call("whole_vectors", (one.start, one.stop))
    return replace(one, stop=middle), replace(masked, start=middle)


def _with_formulas(module: KernelModule, text: str, outlines: bool) -> str:
    """The text of a unit with the functions of vecmath that it calls, and loops with masks."""

    def found(call: re.Match[str]) -> str:
        name, kind = call.groups()
        return f'@"{_formula_symbol(module, name, kind, outlines)}"('

    return _with_masks(_FORMULA.sub(found, text))


def _formula_symbol(module: KernelModule, name: str, kind: str, outlines: bool) -> str:
    """The function of the module that computes a formula, which is defined now or later."""
    form, arity = FORMS[kind], vecmath.ARITY[name]
    if outlines:
        return str(module.declared(Outlined(vecmath.FORMULAS[name], arity, form)).name)
    symbol = f"{name}.{kind}"
    if symbol not in module.globals:
        signature = ir.FunctionType(form.float_type, [form.float_type] * arity)
        function = ir.Function(module, signature, symbol)
        function.attributes.add("alwaysinline")
        function.attributes.add("nounwind")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        lanes = (Lane(builder, one, form) for one in function.args)
        builder.ret(vecmath.FORMULAS[name](*lanes).value)
    return symbol


def _with_masks(text: str) -> str:
    """The text with metadata at the branch that ends the body of each loop that asks for it."""
    lines, masked, count = [], False, 0
    for line in text.split("\n"):
        if f"@{REST}(" in line:
            masked = masked or "call" in line
            continue
        if masked and line.startswith("  br label"):
            line = f"{line}, !llvm.loop !{FIRST_MASK + count}"
            masked, count = False, count + 1
        lines.append(line)
    for i in range(FIRST_MASK, FIRST_MASK + count):
        hint = '!{!"llvm.loop.vectorize.predicate.enable", i1 true}'
        lines.append(f"!{i} = distinct !{{!{i}, {hint}}}")
    return "\n".join(lines)


def _define_unit(module: KernelModule, symbol: str, kinds: Sequence[str]) -> Any:
    """A unit whose loops are those of a function that Numba has lowered."""
    parameters = [_llvm_type(kind) for kind in kinds]
    word, pointer = INT64.as_pointer(), ir.IntType(8).as_pointer()
    inner_type = ir.FunctionType(ir.IntType(32), [word, pointer.as_pointer(), *parameters])
    inner = ir.Function(module, inner_type, symbol)
    unit = native.declare_unit(module, parameters)
    builder = ir.IRBuilder(unit.append_basic_block("entry"))
    result, error = builder.alloca(INT64), builder.alloca(pointer)
    builder.call(inner, [result, error, *unit.args])
    builder.ret(builder.load(result))
    return unit


def _llvm_type(kind: str) -> Any:
    scalar = SCALARS[kind.removeprefix("p_")]
    if isinstance(scalar, types.Float):
        found: Any = ir.FloatType() if scalar.bitwidth == 32 else ir.DoubleType()
    else:
        found = ir.IntType(scalar.bitwidth)
    return found.as_pointer() if kind.startswith("p_") else found


@cache
def names() -> Mapping[str, Any]:
    """What emitted source can name, as Numba compiles it."""
    found: dict[str, Any] = {
        "address": address, "boolean": np.bool_, "inf": np.inf, "nan": np.nan, "offset": offset,
        "select": select, "fsum": _reordering("fadd"), "add_lost": _add_lost,
        "fprod": _reordering("fmul"), "gemm_f32": _gemm("gemm_f32", types.float32),
        "gemm_f64": _gemm("gemm_f64", types.float64), "whole_vectors": whole_vectors,
        REST: masked_rest, "min": _bound("<"), "max": _bound(">"), "threefry": random_block,
    } | {name: formula(name) for name in vecmath.FORMULAS}  # fmt: skip
    found |= {register: dtype.type for register, dtype in DTYPES.items()}
    found |= {name: _conversion(name) for name in CONVERSIONS}
    found |= {f"{name}_f": found[name] for name in ("fmod", "pow", "remainder")}
    found |= dict.fromkeys(TYPES, None) | {name: found[name] for name in SCALARS}
    # Numba compiles functions of the library for itself, where nothing defines formulas later
    inside = found | {name: formula(name, inlined=True) for name in vecmath.LONG}
    exec(library.SOURCE, inside)
    for name in library.functions():
        found[name] = inside[name] = njit(error_model="numpy")(inside[name])
    return found | {name: found[function] for name, function in library.NAMES.items()}


def formula(name: str, inlined: bool = False) -> Any:
    """A function of vecmath: all operands float32, or all float64.

    A long one is a call of what `compile_with_numba` defines, unless it is to be inlined.
    """
    sign = {"maximum": ">", "minimum": "<"}.get(name)

    def lower(context: object, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[0]
        if not isinstance(kind, types.Float):
            signed = getattr(kind, "signed", False)
            compare = builder.icmp_signed if signed else builder.icmp_unsigned
            return builder.select(compare(sign, *values), *values)
        dtype = f"f{kind.bitwidth}"
        if name in vecmath.LONG and not inlined:
            called = ir.FunctionType(values[0].type, [one.type for one in values])
            symbol = f"{FORMULA}{name}.{dtype}"
            return builder.call(_external(builder.module, called, symbol), values)
        lanes = (Lane(builder, one, FORMS[dtype]) for one in values)
        return vecmath.FORMULAS[name](*lanes).value

    return _intrinsic_of_floats(name, lower, sign is not None)


def _intrinsic_of_floats(
    name: str, lower: Callable[..., object], takes_integers: bool = False
) -> Any:
    """An intrinsic that takes operands of one type, of floats if not of any numbers."""

    def typed(*operands: object) -> Any:
        first = operands[0]
        alike = all(operand == first for operand in operands)
        numbers = (types.Float, types.Integer, types.Boolean) if takes_integers else (types.Float,)
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


def _user_function(module: KernelModule, scalar: ScalarFunction) -> Any:
    """A function that a user wrote, which the module defines later."""
    operand, result = (numba.from_dtype(one) for one in (scalar.operand, scalar.result))
    held = [
        ir.IntType(1) if one.kind == "b" else _llvm_type(CONSTRUCTORS[one.name])
        for one in (scalar.operand, scalar.result)
    ]
    called = ir.FunctionType(held[1], held[:1] * scalar.arity)
    module.scalar(scalar, called.args, called.return_type)

    def codegen(context: object, builder: Any, signature: object, args: Any) -> Any:
        return builder.call(_external(builder.module, called, scalar.symbol), args)

    def typed(typing: object, *operands: object) -> Any:
        return result(*[operand] * scalar.arity), codegen

    # Numba takes arguments one by one
    names = ["typing", *(f"operand_{i}" for i in range(scalar.arity))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in names]
    typed.__dict__["__signature__"] = inspect.Signature(parameters)
    return intrinsic(typed)


def _external(module: Any, signature: object, name: str) -> Any:
    return module.globals.get(name) or ir.Function(module, signature, name)


@intrinsic
def masked_rest(typing: Any) -> Any:
    """Says that the loop around it is to be vectorised with masked lanes."""

    def codegen(context: Any, builder: Any, signature: object, args: object) -> Any:
        builder.call(_external(builder.module, ir.FunctionType(ir.VoidType(), []), REST), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def whole_vectors(typing: object, start: object, stop: object) -> Any:
    """Where the last whole vector of a loop ends; `start` if there is none."""

    def codegen(context: object, builder: object, signature: object, args: Any) -> Any:
        return rest.whole_vectors(builder, *args)

    return types.int64(types.int64, types.int64), codegen


def _bound(sign: str) -> Any:
    """Python's `min` or `max` of two sizes, without a branch."""

    @intrinsic
    def bound(typing: object, left: Any, right: object) -> Any:
        def codegen(context: object, builder: Any, signature: object, args: Any) -> Any:
            return builder.select(builder.icmp_signed(sign, *args), *args)

        return types.int64(types.int64, types.int64), codegen

    return bound


@intrinsic
def address(typing: object, pointer: Any, offset: object) -> Any:
    """The address of the element `offset` places after a pointer: int64."""

    def codegen(context: object, builder: Any, signature: object, args: Any) -> Any:
        return builder.ptrtoint(builder.gep(args[0], [args[1]]), INT64)

    return types.int64(pointer, types.int64), codegen


@intrinsic
def offset(typing: object, pointer: Any, count: object) -> Any:
    """The pointer `count` elements further on."""

    def codegen(context: object, builder: Any, signature: object, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return pointer(pointer, types.int64), codegen


@intrinsic
def select(typing: Any, condition: Any, yes: object, no: Any) -> Any:
    """`yes if condition else no`, without a branch."""
    unified = typing.unify_types(yes, no)

    def codegen(context: object, builder: Any, signature: object, args: Any) -> Any:
        return builder.select(args[0], args[1], args[2])

    return unified(types.boolean, unified, unified), codegen


@intrinsic
def random_block(typing: object, key: object, counter: object) -> Any:
    """64 random bits."""

    def codegen(context: object, builder: object, signature: object, args: Any) -> Any:
        return threefry(builder, *args)

    return types.int64(types.int64, types.int64), codegen


def _conversion(name: str) -> Any:
    """A float of 16 bits, which is a uint16 here, from another float, or into one."""
    define, result, operand = CONVERSIONS[name]
    signature = SCALARS[result](SCALARS[operand])

    @intrinsic
    def conversion(typing: object, value: object) -> Any:
        def codegen(context: object, builder: object, signature: object, args: Any) -> Any:
            return define(builder, *args)

        return signature, codegen

    return conversion


def _reordering(name: str) -> Any:
    """A float operation that the vectoriser may reorder within a reduction."""

    @intrinsic
    def operation(typing: object, left: Any, right: object) -> Any:
        def codegen(context: object, builder: object, signature: object, args: Any) -> Any:
            return getattr(builder, name)(args[0], args[1], flags=("reassoc",))

        return left(left, right), codegen

    return operation


@intrinsic
def _add_lost(typing: object, total: Any, value: object) -> Any:
    return total(total, value), lambda context, builder, signature, args: add_lost(builder, *args)


def _gemm(name: str, scalar: Any) -> Any:
    """A product of matrices, as `compiler.llvm.gemm` describes it."""
    kind = ir.FloatType() if scalar is types.float32 else ir.DoubleType()
    size = types.int64
    signature = types.void(*WORDS, scalar, *WORDS[:4], scalar, size, size)

    def codegen(context: Any, builder: Any, _signature: object, arguments: object) -> Any:
        function = gemm_function(builder.module, f"staticgraph_{name}", kind)
        function.linkage = "linkonce_odr"  # one for all units
        builder.call(function, arguments)
        return context.get_dummy_value()

    def typer(
        _typing: object, _address: object, _transa: object, _transb: object, _m: object, _n: object,
        _k: object, _alpha: object, _a: object, _lda: object, _b: object, _ldb: object,
        _beta: object, _c: object, _ldc: object,
    ) -> Any:  # fmt: skip
        return signature, codegen

    typer.__name__ = name
    return intrinsic(typer)


__all__ = ["compile_with_numba", "formula", "names"]
