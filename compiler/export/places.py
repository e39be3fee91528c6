"""Which units of an exported file are told where in an array they begin.

An operand that begins inside an array is a slice of it. A unit that goes backwards from there, as
over a reversed axis, reads before the slice's first element; in Python an index below 0 counts from
the end. Such a unit takes the whole array and the place where its operand begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from staticgraph.compiler.codegen.bytecode import (
    Branch,
    Call,
    Instruction,
    Repeat,
    Set,
    Share,
    While,
)
from staticgraph.compiler.core.record import Record
from staticgraph.compiler.ir.records import (
    Binary,
    Call as FunctionCall,
    Const,
    Expr,
    Function,
    Load,
    Name,
    Parameter,
    Store,
    Unary,
)
from staticgraph.compiler.ir.walk import expressions, parts, rewritten, statements


def placed(
    units: Sequence[Function], program: Sequence[Instruction], arrays: Collection[int]
) -> dict[int, list[int]]:
    """Per unit the operands, by position, that are whole arrays with a place.

    Args:
        arrays: the entries of the table that are addresses of arrays.
    """
    moving = {target for one in _all(program) if isinstance(one, Set) for target, *_ in one.sums}
    found: dict[int, set[int]] = {}
    for one in _all(program):
        if isinstance(one, Call | Share):
            backwards = _read_backwards(units[one.unit])
            found.setdefault(one.unit, set()).update(
                i
                for i, operand in enumerate(one.operands)
                if units[one.unit].parameters[i].name in backwards
                and (operand.entry in moving or (operand.entry in arrays and operand.addend))
            )
    return {unit: sorted(positions) for unit, positions in found.items() if positions}


def place_name(position: int) -> str:
    """What a unit calls the place where an operand begins."""
    return f"begin_{position}"


def with_places(unit: Function, positions: Sequence[int]) -> Function:
    """A unit which takes the places of some operands too, behind all else."""
    places = {Name(unit.parameters[one].name): Name(place_name(one)) for one in positions}

    def change(one: Record) -> Record:
        match one:
            case Load(pointer=Name() as pointer) | Store(pointer=Name() as pointer):
                if pointer in places:
                    return replace(one, index=places[pointer] + one.index)
            case FunctionCall(function="address", operands=(Name() as pointer, index)):
                if pointer in places:
                    return replace(one, operands=(pointer, places[pointer] + index))
            case Function():
                taken = (Parameter(name.name, "i64") for name in places.values())
                return replace(one, parameters=(*one.parameters, *taken))
            case _:
                pass
        return one

    found: Function = rewritten(unit, change)
    return found


def _read_backwards(unit: Function) -> set[str]:
    """The pointers of a unit that it may use with an index below 0."""
    found: set[str] = set()
    for one in statements(unit.body):
        accesses = [(one.pointer, one.index)] if isinstance(one, Store) else []
        for part in (part for whole in expressions(one) for part in parts(whole)):
            match part:
                case Load(pointer=pointer, index=index):
                    accesses.append((pointer, index))
                case FunctionCall(function="address", operands=(pointer, index)):
                    accesses.append((pointer, index))
                case _:
                    pass
        found |= {
            pointer.name
            for pointer, index in accesses
            if isinstance(pointer, Name) and any(map(_subtracts, parts(index)))
        }
    return found


def _subtracts(one: Expr) -> bool:
    match one:
        case Const(value=value):
            return value < 0
        case Unary(sign="-") | Binary(sign="-"):
            return True
        case _:
            return False


def _all(program: Iterable[Instruction]) -> Iterator[Instruction]:
    """The instructions, and those inside them."""
    for one in program:
        yield one
        match one:
            case Repeat():
                yield from _all(one.body)
            case While():
                yield from _all((*one.test, *one.body))
            case Branch():
                yield from _all((*one.yes, *one.no))
            case _:
                pass
