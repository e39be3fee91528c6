"""Compile units, functions of the emitted language, to object code with LLVM alone.

A unit becomes two functions: the loops, whose pointers LLVM may take to be apart, for every value
that lives at the time has memory of its own; and a step

    int64 step(int64 *table, int64 *operands, int64 first, int64 last, int64 chunk)

which reads the arguments where the program's operands say: pairs of an entry of the table and of
what is added to it. A unit that does one chunk of a loop also gets the last three.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from staticgraph.compiler.codegen.bytecode import OF_A_CHUNK
from staticgraph.compiler.ir.records import Function
from staticgraph.compiler.ir.verify import verify
from staticgraph.compiler.ir.walk import calls, expressions, statements
from staticgraph.compiler.llvm import vecmath
from staticgraph.compiler.llvm.lower.functions import is_long
from staticgraph.compiler.llvm.lower.translate import Translator, type_named
from staticgraph.compiler.llvm.lower.values import INT64
from staticgraph.compiler.llvm.machine import emit_assembly, emit_object, kernel_machine
from staticgraph.compiler.llvm.options import without_stride_versions
from staticgraph.compiler.llvm.parsed import parse
from staticgraph.compiler.llvm.strides import strides
from staticgraph.compiler.llvm.vecmath.deferred import KernelModule, define_deferred, link_scalars
from staticgraph.compiler.llvm.vecmath.joint import join_calls

WORDS = INT64.ir.as_pointer()
MOST_INLINED = 4096  # instructions of functions of vecmath in a kernel: they take LLVM a second
STACK_ALIGNMENT = 64  # bytes: a vector on the stack else lies in two cache lines, by chance
STEP = ir.FunctionType(INT64.ir, [WORDS, WORDS, INT64.ir, INT64.ir, INT64.ir])


def compile_native(units: Sequence[Function]) -> bytes:
    """The object code of units; the step of the i-th has the symbol `step_symbol(i)`.

    No fast-math flag is set: sums may be reordered where a unit calls `fsum`, and nan and inf
    are what IEEE 754 says.
    """
    machine = kernel_machine()
    return emitted(units, machine, _optimised(units, machine))


def emitted(units: Sequence[Function], machine: object, module: object) -> bytes:
    """The object code of a module of units after LLVM's passes."""
    return emit_object(machine, module, any(map(strides, units)))


def assembly(units: Sequence[Function]) -> tuple[str, str]:
    """What units become, to be read: LLVM's text after all passes, and the assembly."""
    machine = kernel_machine()
    module = _optimised(units, machine)
    return str(module), emit_assembly(machine, module, any(map(strides, units)))


def _optimised(units: Sequence[Function], machine: Any) -> Any:
    """The module of units and their steps after LLVM's passes."""
    module = KernelModule("kernel")
    module.triple = machine.triple
    inlining = inlined(units)
    for i, one in enumerate(units):
        unit = _define_unit(module, one, i not in inlining)
        define_step(module, step_symbol(i), unit, is_chunk(one))
    return finished(parse(str(module)), module, machine)


def finished(parsed: object, module: KernelModule, machine: object) -> Any:
    """The code `parsed`, of `module`, after LLVM's passes."""
    link_scalars(parsed, module)
    optimise(parsed, machine)
    parsed = join_calls(parsed, module)
    return define_deferred(parsed, module, machine, optimise)


def step_symbol(position: int) -> str:
    """The name in the object code of the step of a unit."""
    return f"step_{position}"


def optimise(module: object, machine: object) -> None:
    """LLVM's passes without unrolling.

    `compiler.codegen.loops` writes the shortest loops out itself; unrolling the others took half of
    the time to compile, and the kernels were no faster.
    """
    options = llvm.create_pipeline_tuning_options()
    options.speed_level = 3
    options.loop_vectorization = True
    options.loop_interleaving = True
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    with without_stride_versions():
        builder.getModulePassManager().run(module, builder)


def _define_unit(module: object, unit: Function, outlines: bool) -> Any:
    names = [one.name for one in unit.parameters]
    types = [type_named(one.type) for one in unit.parameters]
    function = declare_unit(module, [type.ir for type in types])
    verify(unit)
    Translator(function, names, types, INT64, outlines).run(unit.body)
    return function


def declare_unit(module: Any, types: Sequence[object]) -> Any:
    """A function for the loops of a unit, which takes parameters of LLVM's types."""
    kind = ir.FunctionType(INT64.ir, types)
    function = ir.Function(module, kind, f"unit_{len(module.functions)}")
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("nounwind")
    function.attributes.alignstack = STACK_ALIGNMENT
    for argument in function.args:
        if isinstance(argument.type, ir.PointerType):
            argument.add_attribute("noalias")
    return function


def is_chunk(unit: Function) -> bool:
    """Whether a unit does one chunk of a loop."""
    return tuple(one.name for one in unit.parameters[-3:]) == OF_A_CHUNK


def inlined(units: Sequence[Function]) -> set[int]:
    """The units that inline functions of vecmath: the shortest, as far as it goes.

    Small loops gain most by it, and cost LLVM least.
    """
    lengths = [_inlined_length(unit) for unit in units]
    found: set[int] = set()
    left = MOST_INLINED
    for i in sorted(range(len(units)), key=lengths.__getitem__):
        left -= lengths[i]
        if left < 0:
            break
        found.add(i)
    return found


def _inlined_length(unit: Function) -> int:
    """How many instructions the functions of vecmath are that a unit calls, one after the other."""
    found = (part for one in statements(unit.body) for part in expressions(one))
    names = (name for part in found for name in calls(part))
    return sum(vecmath.length(name.removesuffix("_f")) for name in names if is_long(name))


def define_step(module: object, symbol: str, unit: Any, is_chunk: bool) -> None:
    """The function that reads a unit's arguments where the program says, and calls it."""
    step = ir.Function(module, STEP, symbol)
    builder = ir.IRBuilder(step.append_basic_block("entry"))
    table, operands, *chunk = step.args
    read, arguments = unit.args, []
    if not is_chunk:
        chunk = []
    for i, argument in enumerate(read[: len(read) - len(chunk)]):
        entry, addend = (
            builder.load(builder.gep(operands, [INT64.ir(2 * i + part)])) for part in range(2)
        )
        word = builder.add(builder.load(builder.gep(table, [entry])), addend)
        is_pointer = isinstance(argument.type, ir.PointerType)
        arguments.append(builder.inttoptr(word, argument.type) if is_pointer else word)
    builder.ret(builder.call(unit, [*arguments, *chunk]))
