"""What values are, and what objects and classes are made of, as far as captures follow them."""

from __future__ import annotations

import functools
import operator
import sys
from types import CellType, FunctionType, ModuleType
from typing import Any

from staticgraph.compiler.core.op import Op, Operand
from staticgraph.compiler.core.whose_code import is_own

OF_CLASSES = frozenset(
    ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__annotations__",
     "__init_subclass__", "__class_getitem__", "__abstractmethods__", "__parameters__",
     "__orig_bases__", "__slots__", "__dataclass_fields__",
     "__dataclass_params__", "__static_attributes__", "__firstlineno__")
)  # fmt: skip
"""What every class has, or no call reads."""
_OPERATORS = (
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift",
    "rshift", "and", "xor", "or",
)  # fmt: skip
SPECIAL = frozenset((
    *(f"__{kind}{name}__" for name in _OPERATORS for kind in ("", "r", "i")),
    *(f"__{name}__" for name in (
        "bool", "len", "call", "getattr", "getattribute", "setattr", "delattr", "getitem",
        "setitem", "delitem", "contains", "iter", "next", "reversed", "missing", "length_hint",
        "eq", "ne", "lt", "le", "gt", "ge", "hash", "repr", "str", "format", "bytes", "index",
        "int", "float", "complex", "round", "trunc", "floor", "ceil", "neg", "pos", "abs", "invert",
        "enter", "exit", "get", "set", "delete", "set_name", "instancecheck", "subclasscheck",
        "init_subclass", "class_getitem", "copy", "deepcopy", "match_args", "array", "array_ufunc",
        "array_function", "array_priority", "torch_function", "await", "aiter", "anext", "aenter",
        "aexit", "fspath", "dir",
    )),
))  # fmt: skip
"""What Python and NumPy look for in classes, so that it matters that one has it not."""
MAKING = frozenset(("__init__", "__new__", "__post_init__", "__del__"))
"""What objects are made, and end, by."""
GETTERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)
DESCRIPTORS = (type(FunctionType.__code__), type(property.fget))


def is_tensor(value: object) -> bool:
    """Whether it is a tensor of an eager engine."""
    return isinstance(value, Operand) and not isinstance(value, Op) and hasattr(value, "_arrays")


def is_empty(cell: CellType) -> bool:
    """Whether a cell has nothing yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def hooks_of(module: Any) -> list[Any]:
    """The hooks of a module and of its parts."""
    return [
        hook
        for _, part in module.named_modules()
        for table in (part._forward_hooks, part._forward_pre_hooks)
        for hook in table.values()
    ]


_files: dict[type, str] = {}


def file_of_module(module: object) -> str | None:
    """The file of a Python module, which may answer for any attribute."""
    return getattr(module, "__dict__", {}).get("__file__")


def file_of(kind: type) -> str:
    """The file of a class; of Python's own that of a library."""
    found = _files.get(kind)
    if found is None:
        own = kind.__module__ in sys.builtin_module_names
        file = file_of_module(sys.modules.get(kind.__module__))
        found = _files[kind] = file or ("<frozen" if own else "")
    return found


@functools.lru_cache(1024)
def names_of_class(kind: Any) -> frozenset[str]:
    """The names of the attributes that a class has."""
    return frozenset(dir(kind))


def slots_of(kind: type) -> tuple[str, ...]:
    """The slots that classes declare, by the names that they have for the interpreter."""
    found: list[str] = []
    for one in kind.__mro__:
        slots = vars(one).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            private = name.startswith("__") and not name.endswith("__")
            found.append(f"_{one.__name__.lstrip('_')}{name}" if private else name)
    return tuple(one for one in found if one not in ("__dict__", "__weakref__"))


def has_parts(value: object) -> bool:
    """Whether it is an object whose attributes code may read that has it."""
    kind = type(value)
    if isinstance(value, FunctionType | type | ModuleType | Op | Operand) or is_own(file_of(kind)):
        return False
    return hasattr(value, "__dict__") or bool(slots_of(kind))


def has_memory(value: object) -> bool:
    """Whether it is memory that others may change."""
    kind = type(value)
    of_ctypes = any(one.__module__ == "_ctypes" for one in kind.__mro__)
    name = f"{kind.__module__}.{kind.__name__}"
    return of_ctypes or name in ("array.array", "mmap.mmap", "numpy.void", "builtins.memoryview")
