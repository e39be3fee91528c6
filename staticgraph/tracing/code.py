"""What the code of Python functions names: globals, attributes, texts, and on which line."""

from __future__ import annotations

import codecs
import dis
import functools
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from types import CodeType

from staticgraph.compiler.core.record import frozen

_GLOBAL = (
    "LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_CLASSDEREF",
    "LOAD_FROM_DICT_OR_GLOBALS",
)  # fmt: skip
_ATTRIBUTE = (
    "LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "IMPORT_FROM", "LOAD_SUPER_ATTR",
)  # fmt: skip
_LOCAL = ("LOAD_FAST", "STORE_FAST_LOAD_FAST", "LOAD_DEREF")
"""What instructions that read local names start with; some of Python 3.13 read two."""
_REFLECTION = frozenset(
    (
        "getattr", "hasattr", "setattr", "delattr", "vars", "__dict__", "attrgetter",
        "methodcaller", "globals", "eval", "exec", "dir", "dumps", "__getattribute__",
        "__getattr__", "__setattr__", "__delattr__", "__getstate__", "__setstate__", "__reduce__",
        "__reduce_ex__", "getattr_static",
    )
)  # fmt: skip
_ASKING = {
    "get_annotations": "__annotations__", "get_type_hints": "__annotations__",
    "getdoc": "__doc__", "signature": "__annotations__",
}  # fmt: skip
"""Functions of libraries, by name, and the attribute that they read."""


@frozen
class Named:
    """What some code names, and the lines within nested functions too.

    Attributes:
        file: of the code.
        globals, attributes, free: names, and the first line that has them.
        imports: modules that are imported when it runs.
        reflects: whether it may find attributes and globals by texts.
        catches: whether it may catch an error, such as of an attribute that is not there.
        compares_identity: whether it asks whether one variable `is` another, or for an `id`.
        stores: the attributes that it sets.
        computes: whether it may find attributes by texts that it computes.
    """

    file: str
    globals: Mapping[str, int]
    attributes: Mapping[str, int]
    free: Mapping[str, int]
    imports: frozenset[str]
    reflects: bool
    catches: bool
    compares_identity: bool
    stores: frozenset[str]
    computes: bool

    def place(self, name: str, names: Mapping[str, int]) -> str:
        """`file:line` of a name."""
        return f"{self.file}:{names.get(name, 0)}"


@functools.lru_cache(4096)
def named(code: CodeType) -> Named:
    """What the code of a function names."""
    found: tuple[dict[str, int], ...] = ({}, {}, {})
    imports: set[str] = set()
    _collect(code, found, imports)
    globals, attributes, free = found
    reflects = not _REFLECTION.isdisjoint(globals) or not _REFLECTION.isdisjoint(attributes)
    if reflects:
        for text in _texts(code):
            globals.setdefault(text, code.co_firstlineno)
            attributes.setdefault(text, code.co_firstlineno)
    for asking, attribute in _ASKING.items():
        for names in (globals, attributes):
            if asking in names:
                attributes.setdefault(attribute, names[asking])
    same = _compares_identity(code) or "id" in globals
    return Named(
        code.co_filename,
        globals,
        attributes,
        free,
        frozenset(imports),
        reflects,
        _catches(code) or "suppress" in globals or "suppress" in attributes,
        same,
        frozenset(_stored(code)),
        _computes(code),
    )


def _line_of(one: dis.Instruction, before: int) -> int:
    """The line of an instruction; from Python 3.13 on `starts_line` only says if one starts."""
    return getattr(one, "line_number", one.starts_line) or before


def _catches(code: CodeType) -> bool:
    names = [one.opname for one in dis.get_instructions(code)]
    found = any(
        name == "PUSH_EXC_INFO" and after != "WITH_EXCEPT_START" for name, after in pairwise(names)
    )
    return found or any(_catches(one) for one in code.co_consts if isinstance(one, CodeType))


def _stored(code: CodeType) -> set[str]:
    steps = dis.get_instructions(code)
    found = {str(one.argval) for one in steps if one.opname == "STORE_ATTR"}
    return found.union(*(_stored(one) for one in code.co_consts if isinstance(one, CodeType)))


def _compares_identity(code: CodeType) -> bool:
    steps = list(dis.get_instructions(code))
    found = any(
        one.opname == "IS_OP" and before.opname.startswith((*_LOCAL, "BINARY_SUBSCR", "BINARY_OP"))
        for before, one in pairwise(steps)
    )
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return found or any(map(_compares_identity, inner))


def _collect(code: CodeType, found: tuple[dict[str, int], ...], imports: set[str]) -> None:
    globals, attributes, free = found
    line = code.co_firstlineno
    for one in dis.get_instructions(code):
        line = _line_of(one, line)
        if one.opname in _GLOBAL:
            globals.setdefault(one.argval, line)
        elif one.opname in _ATTRIBUTE:
            attributes.setdefault(one.argval, line)
        elif one.opname == "IMPORT_NAME":
            imports.add(one.argval)
        elif one.opname.endswith("_DEREF"):
            free.setdefault(one.argval, line)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _collect(constant, found, imports)


def _texts(code: CodeType) -> set[str]:
    found: set[str] = set()
    for one in code.co_consts:
        if isinstance(one, str) and one.isidentifier():
            found.add(one)
        elif isinstance(one, CodeType):
            found |= _texts(one)
    return found


_BY_TEXT = frozenset(("getattr", "hasattr", "__getattribute__"))
_TABLE = frozenset(("vars", "__dict__", "__globals__"))
_ALL = frozenset(("attrgetter", "methodcaller", "getattr_static", "getmembers", "dir", "eval"))


def _computes(code: CodeType) -> bool:
    """Whether code asks for attributes by texts that are not written where it asks."""
    steps = [one for one in dis.get_instructions(code) if one.opname not in _BETWEEN]
    for i, one in enumerate(steps):
        if one.opname not in (*_GLOBAL, *_ATTRIBUTE):
            continue
        rest = steps[i + 1 :]
        if one.argval in _ALL:
            return True
        if one.argval in _BY_TEXT:
            end = next((k for k, x in enumerate(rest) if x.opname.startswith("CALL")), 0)
            wanted = (1,) if one.argval == "__getattribute__" else (2, 3)
            given = rest[max(end - 2, 0) : end]
            if rest[end].arg not in wanted or not any(map(_is_text, given)):
                return True
        if one.argval in _TABLE:
            end = next((k for k, x in enumerate(rest) if x.opname.startswith("CALL")), -1)
            key = rest[end + 1 if one.argval == "vars" else 0]
            if not (_is_text(key) or key.opname == "CONTAINS_OP"):
                return True
    return any(_computes(one) for one in code.co_consts if isinstance(one, CodeType))


def _is_text(step: dis.Instruction) -> bool:
    return step.opname == "LOAD_CONST" and isinstance(step.argval, str)


_BETWEEN = ("CACHE", "PRECALL", "PUSH_NULL")


@functools.lru_cache(4096)
def computes_names(code: CodeType) -> bool:
    """Whether code calls `globals()` for more than to read names that it tells."""
    steps = [one for one in dis.get_instructions(code) if one.opname not in _OF_CALLS]
    for one, after, then in zip(steps, steps[1:], steps[2:], strict=False):
        if one.opname == "LOAD_GLOBAL" and one.argval == "globals":
            key = then if after.argval == "get" else after
            if key.opname not in ("LOAD_CONST", "CONTAINS_OP"):
                return True
    return False


_OF_CALLS = ("CACHE", "CALL", "PRECALL", "PUSH_NULL")


def handlers_of_errors(code: CodeType) -> list[tuple[str, object]]:
    """The handlers of errors in texts that some code names, by their names."""
    found: list[tuple[str, object]] = []
    for text in sorted(_texts(code)):
        with suppress(LookupError):
            found.append((text, codecs.lookup_error(text)))
    return found


@frozen
class TypeQuestion:
    """A place where code asks for the type of something.

    Attributes:
        line: of the code.
        names: the local names in what it asks about.
        attributes: those in it.
    """

    line: int
    names: tuple[str, ...]
    attributes: tuple[str, ...]


@functools.lru_cache(4096)
def type_questions(code: CodeType) -> tuple[TypeQuestion, ...]:
    """Where the code of a function calls `type(x)`, which nobody can answer for another."""
    if "type" not in code.co_names:
        return ()
    found, steps, line = [], list(dis.get_instructions(code)), code.co_firstlineno
    for i, step in enumerate(steps):
        line = _line_of(step, line)
        if step.opname != "LOAD_GLOBAL" or step.argval != "type":
            continue
        names: list[str] = []
        attributes: list[str] = []
        for one in steps[i + 1 :]:
            if one.opname.startswith(_LOCAL):
                names += one.argval if isinstance(one.argval, tuple) else (one.argval,)
            elif one.opname in _ATTRIBUTE:
                attributes.append(one.argval)
            elif one.opname.startswith(("CALL", "COMPARE", "IS_OP", "POP_JUMP", "STORE", "RETURN")):
                break
        found.append(TypeQuestion(line, tuple(names), tuple(attributes)))
    return tuple(found)
