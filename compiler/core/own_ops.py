"""The names of ops that users declare: which are free, and what files call them.

A function that is declared again at its place, as when a cell of a notebook is run twice, is a new
version: an op of its own, since what was made of the first one goes on to mean that. Files have the
name without the version.
"""

from __future__ import annotations

import contextlib
import importlib
import re

from staticgraph.compiler.core.errors import FormatError, GraphError, OptionError
from staticgraph.compiler.core.op import Op, declared_names, op_named
from staticgraph.compiler.core.record import mutable

VERSION = "+"
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
LONGEST = 64  # characters of a name in a file


@mutable
class _Own:
    """An op that a user declared: the module and function, how often, and whether files name it."""

    place: tuple[str, str]
    versions: int
    closes: bool
    is_saved: bool


_known: dict[str, _Own] = {}


def own_name(name: str, place: tuple[str, str], closes: bool, is_saved: bool = True) -> str:
    """A free name for an op around a function at a place, which may close over values.

    Raises:
        OptionError: it is no name.
        GraphError: it is that of an op of the library, or of a function at another place.
    """
    if not _NAME.fullmatch(name) or len(name) > LONGEST - 4:
        raise OptionError(
            f"op: {name!r:.80} is no name of an op: give name=, words of ASCII letters, digits and "
            f"_ with dots between them, up to {LONGEST - 4} characters"
        )
    found = _known.get(name)
    if found is None:
        if name in declared_names():
            raise GraphError(f"an op named {name!r} is already declared")
        _known[name] = _Own(place, 1, closes, is_saved)
        return name
    if found.place != place:
        raise GraphError(
            f"an op named {name!r} is already declared, by {found.place[1]} of {found.place[0]}: "
            "give name="
        )
    found.versions += 1
    found.closes |= closes
    return f"{name}{VERSION}{found.versions}"


def saved_name(op: Op) -> str:
    """What files call an op.

    Raises:
        FormatError: a user has declared another one by this name since.
    """
    name = op.name.partition(VERSION)[0]
    own = _known.get(name)
    if own is not None and not own.is_saved:
        raise FormatError(f"{name} has no name in files: declare the function with sg.op")
    if own is None or own.versions == 1:
        return name
    if op.name != f"{name}{VERSION}{own.versions}":
        raise FormatError(f"{name} is saved by its name, and was declared anew since")
    if own.closes:
        raise FormatError(
            f"{name} is saved by its name, which is that of {own.versions} functions that close "
            "over values: give each name="
        )
    return op.name.partition(VERSION)[0]


def op_saved_as(name: str) -> Op:
    """The op that a file calls so.

    Raises:
        FormatError: there is none; if it is a user's, with the module to import.
    """
    own = _known.get(name)
    if own is not None and own.versions > 1:
        return op_named(f"{name}{VERSION}{own.versions}")
    try:
        return op_named(name)
    except GraphError:
        module = name.rpartition(".")[0]
        if not module:
            raise
        raise FormatError(
            f"no op is named {name!r}: import {module} before, or whatever declares it with sg.op"
        ) from None


def unpickled(name: str) -> Op:
    """The op that a pickle calls so; the module that the name of a user's has is imported.

    A script is `__mp_main__` to the processes that `multiprocessing` starts.

    Raises:
        GraphError: there is none.
    """
    module, dot, function = name.rpartition(".")
    names = [name]
    if name not in declared_names() and dot:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
        if module == "__main__":
            names.append(f"__mp_main__.{function}")
    for one in names:
        if one in declared_names():
            return op_named(one)
    raise GraphError(
        f"no op is named {name!r}: import what declares it with sg.op; what a script, a notebook "
        "or a function declares is not there in another process"
    )
