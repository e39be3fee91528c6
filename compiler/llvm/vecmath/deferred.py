"""Functions that are defined when loops are vectors: LLVM's vectoriser sees calls of functions that
are declared, with vector variants, and goes on without knowing what they do.

`define_deferred` then defines those that were used. LLVM compiles each once, whatever calls it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import llvmlite.binding as llvm
from llvmlite import ir
from llvmlite.ir.values import FunctionAttributes

from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.scalars import ScalarFunction
from staticgraph.compiler.llvm.parsed import link, parse
from staticgraph.compiler.llvm.vecmath.lane import Format, Lane

VECTOR_BITS = 512  # of the largest registers
INDEX = ir.IntType(64)
_CALLED = re.compile(r"call [^@\n]*@((?:rare|outlined|joint)\.[\w.]+)\(")
_USED = re.compile(r"^@llvm\.compiler\.used = .*\n", re.MULTILINE)

_definitions: WeakKeyDictionary[Any, dict[tuple[Any, tuple[int, ...]], str]] = WeakKeyDictionary()
"""The texts that `_definition` made for each machine: the same for all kernels."""

Passes = Callable[[Any, Any], None]
"""Optimises a module for a machine."""

Formula = Callable[..., Lane]


class Attributes(FunctionAttributes):  # type: ignore[misc]
    """Attributes of a function, also those that llvmlite has not heard of."""

    def add(self, name: str) -> None:
        """Add one as LLVM writes it."""
        set.add(self, name)


@record
class Deferred(Record):
    """What is computed later: a formula of so many operands of one format."""

    exact: Formula
    operands: int
    format: Format

    KIND: ClassVar[str]

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
        name = f"{self.KIND}.{self.exact.__name__}.{self.format.bits}"
        return name if lanes == 1 else f"{name}.{lanes}"

    def result(self, lanes: int) -> Any:
        """The LLVM type of what its function for vectors of so many lanes gives."""
        return kind_of(self.format, lanes)

    def declare(self, module: object, lanes: int) -> Any:
        """Declare its function for vectors of so many lanes."""
        kinds = [kind_of(self.format, lanes)] * self.operands
        return ir.Function(module, ir.FunctionType(self.result(lanes), kinds), self.function(lanes))

    def results(self, *operands: Lane) -> tuple[Lane, ...]:
        """What its function gives: one value, or several as a structure."""
        return (self.exact(*operands),)

    def define(self, module: object, widths: Sequence[int]) -> None:
        """Define its functions for vectors of the given widths."""
        raise NotImplementedError


class KernelModule(ir.Module):  # type: ignore[misc]
    """A module that calls functions which are defined when its loops are vectors."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.variants: dict[str, tuple[Deferred, int]] = {}
        self.scalars: dict[str, ScalarFunction] = {}

    def scalar(self, scalar: ScalarFunction, kinds: Sequence[object], result: object) -> Any:
        """A function that a user wrote, of these LLVM types, which `link_scalars` defines."""
        if scalar.symbol not in self.scalars:
            self.scalars[scalar.symbol] = scalar
            for deferred in scalar.deferred:
                self.declared(deferred)
            ir.Function(self, ir.FunctionType(result, kinds), scalar.symbol)
        return self.globals[scalar.symbol]

    def declared(self, deferred: Deferred) -> Any:
        """The function of scalars, which has vector variants."""
        if deferred.function(1) in self.variants:
            return self.globals[deferred.function(1)]
        functions = [deferred.declare(self, lanes) for lanes in deferred.widths]
        for function, lanes in zip(functions, deferred.widths, strict=True):
            function.attributes = Attributes(["nounwind", "willreturn", "memory(none)"])
            self.variants[function.name] = deferred, lanes
        scalar, *vectors = functions
        # LLVM's vector function ABI; v: an operand that has a value per lane
        names = [
            f"_ZGV_LLVM_N{lanes}{'v' * len(scalar.args)}_{scalar.name}({vector.name})"
            for vector, lanes in zip(vectors, deferred.widths[1:], strict=True)
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


def link_scalars(parsed: Any, module: KernelModule) -> None:
    """Put the functions that users wrote into the code `parsed`, of `module`, to be inlined."""
    for symbol, scalar in module.scalars.items():
        link(parsed, scalar.code)
        function = parsed.get_function(symbol)
        function.linkage = "internal"
        function.add_function_attribute("alwaysinline")


def without_used(text: str) -> str:
    """LLVM's text of a module without the list of functions that it is to keep."""
    return _USED.sub("", text)


def define_deferred(parsed: object, module: KernelModule, machine: object, optimise: Passes) -> Any:
    """The code `parsed`, optimised from `module`, with the functions that it calls."""
    if not module.variants:
        return parsed
    text = str(parsed)
    parsed = parse(without_used(text))
    called = [module.variants[name] for name in sorted(set(_CALLED.findall(text)))]
    for deferred in dict.fromkeys(deferred for deferred, _ in called):
        widths = tuple([lanes for one, lanes in called if one == deferred])
        link(parsed, _definition(deferred, widths, machine, optimise))
        for lanes in widths:
            parsed.get_function(deferred.function(lanes)).linkage = "internal"
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.run(parsed, builder)
    return parsed


def _definition(deferred: Deferred, widths: tuple[int, ...], machine: Any, optimise: Passes) -> str:
    """LLVM's text of the functions for vectors of the given widths, and of what they call."""
    known = _definitions.setdefault(machine, {})
    text = known.get((deferred, widths))
    if text is None:
        module = KernelModule("deferred")
        module.triple = machine.triple
        deferred.define(module, widths)
        parsed = parse(str(module))
        optimise(parsed, machine)
        text = known[deferred, widths] = str(define_deferred(parsed, module, machine, optimise))
    return text


def in_lanes(module: object, name: str, deferred: Deferred, lanes: int) -> Any:
    """The function that computes the results in all lanes, which LLVM makes of a loop."""
    kind, count = kind_of(deferred.format, lanes), deferred.operands
    function = ir.Function(module, ir.FunctionType(deferred.result(lanes), [kind] * count), name)
    function.attributes = Attributes(["noinline", "nounwind"])
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    start, body, end = builder.block, *(function.append_basic_block() for _ in range(2))
    given = [builder.alloca(kind) for _ in range(count)]
    for place, one in zip(given, function.args, strict=True):
        builder.store(one, place)
    branch = builder.branch(body)
    builder.position_at_end(body)
    lane = builder.phi(INDEX)
    lane.add_incoming(INDEX(0), start)
    first = deferred.format.float_type.as_pointer()
    elements = [builder.gep(builder.bitcast(place, first), [lane]) for place in given]
    results = deferred.results(
        *(Lane(builder, builder.load(one), deferred.format) for one in elements)
    )
    builder.position_before(branch)
    made = [builder.alloca(kind) for _ in results]
    builder.position_at_end(body)
    for place, result in zip(made, results, strict=True):
        builder.store(result.value, builder.gep(builder.bitcast(place, first), [lane]))
    following = builder.add(lane, INDEX(1))
    lane.add_incoming(following, body)
    builder.cbranch(builder.icmp_unsigned("<", following, INDEX(lanes)), body, end)
    builder.position_at_end(end)
    give(builder, list(map(builder.load, made)))
    return function


def give(builder: Any, results: Sequence[Any]) -> None:
    """Return one value, or several as a structure."""
    if len(results) == 1:
        builder.ret(results[0])
        return
    both = ir.Constant(ir.LiteralStructType([one.type for one in results]), ir.Undefined)
    for i, one in enumerate(results):
        both = builder.insert_value(both, one, i)
    builder.ret(both)


def kind_of(format: Format, lanes: int) -> Any:
    """The LLVM type of so many lanes."""
    return format.float_type if lanes == 1 else ir.VectorType(format.float_type, lanes)
