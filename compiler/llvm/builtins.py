"""What machine code of builtin functions is made with: fields of objects, calls, ways out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

I8, INT64 = ir.IntType(8), ir.IntType(64)
POINTER = I8.as_pointer()
NULL = ir.Constant(POINTER, None)


class Builtin:
    """A builtin function that is being made.

    Attributes:
        names: what the first words are, the addresses of functions among them.
        words: where they lie.
        otherwise: where it goes on if something is not as it must be.
    """

    def __init__(self, function: ir.Function, names: Sequence[str], otherwise: str) -> None:
        self.function = function
        self.names = names
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.otherwise = function.append_basic_block(otherwise)
        self.words: Any = None

    def field(self, record: object, offset: int, type: ir.Type) -> Any:
        """What an object has at an offset."""
        place = self.builder.gep(record, [INT64(offset)])
        return self.builder.load(self.builder.bitcast(place, type.as_pointer()))

    def constant(self, name: str) -> Any:
        """The word of a name."""
        return self.builder.load(self.builder.gep(self.words, [INT64(self.names.index(name))]))

    def call(self, name: str, result: ir.Type, *arguments: Any) -> Any:
        """Call the function whose address is the word of a name."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        address = self.builder.inttoptr(self.constant(name), kind.as_pointer())
        return self.builder.call(address, arguments)

    def require(self, condition: object) -> None:
        """Go to `otherwise` unless a condition holds."""
        passed = self.function.append_basic_block()
        self.builder.cbranch(condition, passed, self.otherwise)
        self.builder.position_at_end(passed)

    def return_if_null(self, pointer: object, *owned: object) -> None:
        """Return NULL, as an error was set, and let go of what is owned."""
        is_null = self.builder.icmp_unsigned("==", pointer, NULL)
        with self.builder.if_then(is_null, likely=False):
            for reference in owned:
                self.call("Py_DecRef", ir.VoidType(), reference)
            self.builder.ret(NULL)
