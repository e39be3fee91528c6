"""Rare cases: code that a vector of lanes only runs where one of them needs it.

`rarely(mask, usual, exact, *operands)` is a selection. In a module that Numba compiles it is just
that, and both are always computed. In a `KernelModule` it is a call of a function that is declared
and not defined, with vector variants, so that LLVM's vectoriser goes on without knowing what it
does; `define_rare` then defines those that were used and has them inlined: a test of the mask, a
branch, and a call far from the loop. The results are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from llvmlite.ir.values import FunctionAttributes

from compiler.emit.vecmath.lane import Format, Lane, Mask, select

VECTOR_BITS = 512  # of the largest registers
BIT, INT32, INDEX = ir.IntType(1), ir.IntType(32), ir.IntType(64)
SELDOM = (1, 2000)
_CALLED = re.compile(r"call [^@\n]*@(rare\.[\w.]+)\(")
_USED = re.compile(r"^@llvm\.compiler\.used = .*\n", re.MULTILINE)

Passes = Callable[[Any, Any], None]
"""Optimises a module for a machine."""

Formula = Callable[..., Lane]


class Attributes(FunctionAttributes):  # type: ignore[misc]
    """Attributes of a function, also those that llvmlite has not heard of."""

    def add(self, name: str) -> None:
        """Add one as LLVM writes it."""
        set.add(self, name)


@dataclass(frozen=True, slots=True)
class Rare:
    """What a rare case is computed by: a formula of so many operands of one format."""

    exact: Formula
    operands: int
    format: Format

    @property
    def widest(self) -> int:
        """The lanes of the vectors that the formula is computed in."""
        return VECTOR_BITS // self.format.bits

    @property
    def widths(self) -> tuple[int, ...]:
        """The lanes of the vectors that LLVM may choose, after those of a scalar."""
        return tuple(lanes for lanes in (1, 2, 4, 8, 16) if lanes <= self.widest)

    def function(self, lanes: int) -> str:
        """The name of its function for vectors of so many lanes; 1 is a scalar."""
        name = f"rare.{self.exact.__name__}.{self.format.bits}"
        return name if lanes == 1 else f"{name}.{lanes}"


class KernelModule(ir.Module):  # type: ignore[misc]
    """A module whose rare cases are calls; they are defined when its loops are vectors."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.variants: dict[str, tuple[Rare, int]] = {}

    def declared(self, rare: Rare) -> Any:
        """The function of a rare case, which takes the mask, the usual result and the operands."""
        if rare.function(1) in self.variants:
            return self.globals[rare.function(1)]
        functions = [_function(self, rare, lanes) for lanes in rare.widths]
        for function, lanes in zip(functions, rare.widths, strict=True):
            function.attributes = Attributes(["nounwind", "willreturn", "memory(none)"])
            self.variants[function.name] = rare, lanes
        scalar, *vectors = functions
        # LLVM's vector function ABI; v: an operand that has a value per lane
        names = [
            f"_ZGV_LLVM_N{lanes}{'v' * len(scalar.args)}_{scalar.name}({vector.name})"
            for vector, lanes in zip(vectors, rare.widths[1:], strict=True)
        ]
        scalar.attributes.add(f'"vector-function-abi-variant"="{",".join(names)}"')
        return scalar

    def __repr__(self) -> str:
        text = str(super().__repr__())
        if not self.variants:
            return text
        # without this LLVM drops the vector functions before it comes to the loops
        names = ", ".join(f"ptr @{name}" for name in self.variants)
        kind = f"[{len(self.variants)} x ptr]"
        used = f'appending global {kind} [{names}], section "llvm.metadata"'
        return f"{text}\n@llvm.compiler.used = {used}\n"


def rarely(mask: Mask, usual: Lane, exact: Formula, *operands: Lane) -> Lane:
    """`exact(*operands)` where the mask is true, which is seldom, else `usual`."""
    module = usual.builder.module
    if not isinstance(module, KernelModule):
        return select(mask, exact(*operands), usual)
    function = module.declared(Rare(exact, len(operands), usual.format))
    values = [mask.value, usual.value, *(one.value for one in operands)]
    return Lane(usual.builder, usual.builder.call(function, values), usual.format)


def define_rare(parsed: Any, module: KernelModule, machine: Any, optimise: Passes) -> Any:
    """The code `parsed`, optimised from `module`, with what its loops call of rare cases."""
    if not module.variants:
        return parsed
    text = str(parsed)
    context = llvm.create_context()
    parsed = llvm.parse_assembly(_USED.sub("", text), context)
    called = [module.variants[name] for name in sorted(set(_CALLED.findall(text)))]
    for rare in dict.fromkeys(rare for rare, _ in called):
        widths = [lanes for one, lanes in called if one == rare]
        definition = _definition(rare, widths, machine)
        optimise(definition, machine)
        parsed.link_in(llvm.parse_assembly(str(definition), context))
        for lanes in widths:
            parsed.get_function(rare.function(lanes)).linkage = "internal"
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.run(parsed, builder)
    return parsed


def _definition(rare: Rare, widths: Sequence[int], machine: Any) -> Any:
    """The functions of a rare case for vectors of the given widths."""
    module = ir.Module("rare")
    module.triple = machine.triple
    exact = _exact(module, rare)
    for lanes in widths:
        function = _function(module, rare, lanes)
        function.attributes = Attributes(["alwaysinline", "nounwind"])
        mask, usual, *operands = function.args
        entry, seldom, end = (
            function.append_basic_block(name) for name in ("entry", "seldom", "end")
        )
        # lanes beyond the end of a loop have no value, on which one must not branch
        given = ir.Instruction(entry, mask.type, "freeze", [mask])
        entry.instructions.append(given)
        builder = ir.IRBuilder(entry)
        builder.cbranch(_any(builder, given, lanes), seldom, end).set_weights(SELDOM)
        builder.position_at_end(seldom)
        wide = [_resized(builder, one, rare.widest) for one in operands]
        found = _resized(builder, builder.call(exact, wide), lanes)
        chosen = builder.select(mask, found, usual)
        builder.branch(end)
        builder.position_at_end(end)
        result = builder.phi(usual.type)
        result.add_incoming(usual, entry)
        result.add_incoming(chosen, seldom)
        builder.ret(result)
    return llvm.parse_assembly(str(module), llvm.create_context())


def _resized(builder: Any, value: Any, lanes: int) -> Any:
    """The first lanes of a vector or scalar; those that it lacks are like its first."""
    if lanes == 1:
        return builder.extract_element(value, INT32(0))
    if not isinstance(value.type, ir.VectorType):
        empty = ir.Constant(ir.VectorType(value.type, 1), ir.Undefined)
        value = builder.insert_element(empty, value, INT32(0))
    order = [i if i < value.type.count else 0 for i in range(lanes)]
    numbers = ir.Constant(ir.VectorType(INT32, lanes), [INT32(i) for i in order])
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), numbers)


def _any(builder: Any, mask: Any, lanes: int) -> Any:
    if lanes == 1:
        return mask
    kind = ir.FunctionType(BIT, [mask.type])
    reduce = ir.Function(builder.module, kind, f"llvm.vector.reduce.or.v{lanes}i1")
    return builder.call(reduce, [mask])


def _exact(module: Any, rare: Rare) -> Any:
    """The function that computes the formula in all lanes, which LLVM makes of a loop."""
    kind = _kind(rare.format, rare.widest)
    signature = ir.FunctionType(kind, [kind] * rare.operands)
    function = ir.Function(module, signature, f"exact.{rare.function(1)}")
    function.linkage = "internal"
    function.attributes = Attributes(["noinline", "nounwind"])
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    scalar = rare.format.float_type
    places = [builder.alloca(kind) for _ in range(rare.operands + 1)]
    for place, one in zip(places, function.args, strict=False):
        builder.store(one, place)
    start, body, end = builder.block, *(function.append_basic_block() for _ in range(2))
    builder.branch(body)
    builder.position_at_end(body)
    lane = builder.phi(INDEX)
    lane.add_incoming(INDEX(0), start)
    first = [builder.bitcast(place, scalar.as_pointer()) for place in places]
    elements = [builder.gep(place, [lane]) for place in first]
    values = [builder.load(one) for one in elements[:-1]]
    result = rare.exact(*(Lane(builder, one, rare.format) for one in values))
    builder.store(result.value, elements[-1])
    following = builder.add(lane, INDEX(1))
    lane.add_incoming(following, body)
    builder.cbranch(builder.icmp_unsigned("<", following, INDEX(rare.widest)), body, end)
    builder.position_at_end(end)
    builder.ret(builder.load(places[-1]))
    return function


def _function(module: Any, rare: Rare, lanes: int) -> Any:
    kind = _kind(rare.format, lanes)
    mask = BIT if lanes == 1 else ir.VectorType(BIT, lanes)
    signature = ir.FunctionType(kind, [mask, kind] + [kind] * rare.operands)
    return ir.Function(module, signature, rare.function(lanes))


def _kind(format: Format, lanes: int) -> Any:
    return format.float_type if lanes == 1 else ir.VectorType(format.float_type, lanes)
