"""Effects of a function that is traced, found while it is called, and refused at the user's line.

A profile function (`sys.setprofile`) sees each call of a builtin before it is made: those that
print, read files and clocks, or draw random numbers of the system are refused. What changed of the
surroundings is found when the function returns; it is then called once more, line by line, to name
the line.
"""

from __future__ import annotations

import functools
import gc
import importlib
import io
import logging
import os
import random
import sys
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import CodeType, FrameType
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import EffectError, OptionError
from staticgraph.compiler.core.refusals import (
    forgetting_refusals,
    refuse,
    refuse_effect,
    remembered,
)  # fmt: skip
from staticgraph.compiler.core.size_refusals import needing
from staticgraph.compiler.core.watching import CHANGES, Watch
from staticgraph.compiler.core.whose_code import is_library, is_library_code, is_own
from staticgraph.compiler.graph.expression import is_symbolic
from staticgraph.compiler.ops.programs.user_host_ops import HostOp
from staticgraph.tracing.code import computes_names, type_questions
from staticgraph.tracing.ends import Ends
from staticgraph.tracing.followed import COMPREHENSIONS
from staticgraph.tracing.frames import Seen, functions_of
from staticgraph.tracing.guards import Guards, Read, alike, reads_of_containers, shown
from staticgraph.tracing.library_states import (
    Settings,
    is_neutral,
    names_in_format,
    tables_read_by,
)  # fmt: skip
from staticgraph.tracing.reads import Surroundings
from staticgraph.tracing.states import shared_states
from staticgraph.tracing.systems import DIRECTLY, FRAME, LOG, OUTPUT, SYSTEM, why_not

_STREAM = frozenset(
    ("write", "writelines", "read", "readline", "readlines", "readinto", "seek", "truncate")
)
_TEXT_OF_ARRAYS: set[CodeType] = {
    getattr(f, "__wrapped__", f).__code__ for f in (np.array_repr, np.array_str, np.array2string)
}


@contextmanager
def watched(
    surroundings: Surroundings, again: Callable[[], object], arguments: object
) -> Iterator[None]:
    """Refuse the effects of the block: a call of a function on what stands for its arguments.

    Args:
        surroundings: what the function can read, as it is before the call.
        again: calls it once more.
        arguments: what it is called with: lists and dicts in them must stay as they are.

    Raises:
        EffectError: at the user's line.
    """
    shared = shared_states()
    settings = Settings()
    surroundings.begin()
    given = Guards(reads_of_containers(arguments, "a list or dict among the arguments"))
    before = sys.getprofile()
    if before is not None and not callable(before):
        before.disable()  # the profiler of the standard library
    watch = _Watch(surroundings, settings)
    sys.setprofile(watch.seen_event)
    try:
        with watch.objects.watched():
            yield
    finally:
        sys.setprofile(None)
        if callable(before):
            sys.setprofile(before)
        elif before is not None:
            before.enable()
        for end in reversed(watch.ends):
            end()
        changes = [*surroundings.changes(), *given.changes()]
        if surroundings.on_tensors:
            changes = [one for one in changes if id(one[0].owner) not in surroundings.tables]
        same = [one for one in changes if _is_same(*one)]  # `table[name] += x`
        changes = [one for one in changes if not _is_same(*one)]
        _put_back(same, [])
        repeated = [one for one in changes if _place_in(one[0]) in watch.noted]
        changes = [one for one in changes if _place_in(one[0]) not in watch.noted]
        _put_back(repeated, [])
        moved = [one for one in (*shared, *surroundings.states) if one.changed()]
        cached = surroundings.cached
        if moved or any((id(read.owner), read.key) not in cached for read, _ in changes):
            _put_back(changes, moved)
            place = _line_of(surroundings, again, given, watch.noted)
            _put_back(repeated, [])
            _put_back(changes, moved)
            if moved:
                one = moved[0]
                refuse_effect(f"moves {one.name} on, which a graph would not", one.instead, place)
            read = changes[0][0]
            try:
                refuse_effect(
                    f"changes {_told(*changes[0])}, which a graph would not",
                    "return the new value, and assign it outside",
                    place or read.place,
                )
            except EffectError as error:
                error.changes = tuple(changes)
                raise
        for asked, was, now in settings.changed():
            what = f"changes what {asked}() says ({shown(was)} before, {shown(now)} now)"
            refuse_effect(what, "change it outside", _entry(surroundings))
        if changes or surroundings.cached:
            surroundings.follow()


def _told(read: Read, now: Any) -> str:
    """What changed, and what it was."""
    name, was = read.name, "nothing" if read.kind == "disjoint" else shown(read.was())
    if isinstance(read.value, bytes):
        return name
    if read.kind == "values" and len(now) == len(read.value):
        pairs = zip(read.owner, read.value, now, strict=False)
        key, value = next((key, one) for key, one, other in pairs if not alike(other, one))
        name, was = f"{name}[{key!r}]", shown(value)
    return f"{name} ({was} before)"


def _entry(surroundings: Surroundings) -> str | None:
    """Where the function that is traced begins."""
    code = getattr(surroundings.roots[0], "__code__", None)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def _is_same(read: Read, now: Any) -> bool:
    """Whether what was found in a place is what stands for the tensor that was there."""
    stands_for = getattr(type(now), "stands_for", None)
    return stands_for is not None and bool(stands_for(now, read.value))


def _place_in(read: Read) -> tuple[int, object]:
    return id(read.owner), read.key if isinstance(read.key, str) else id(read.key)


def _put_back(changes: list[tuple[Read, Any]], moved: list[Any]) -> None:
    with suppress(AttributeError, TypeError, ValueError, LookupError):
        for read, _ in changes:
            read.put_back()
    for one in moved:
        one.put_back()


def _line_of(
    surroundings: Surroundings,
    again: Callable[[], object],
    given: Guards,
    noted: Collection[tuple[int, object]],
) -> str | None:
    """The line after which the surroundings are others, of another run that no debugger sees."""
    fresh = surroundings.again()
    every = [*fresh.guards.reads, *fresh.stored]
    compared = [one for one in every if _place_in(one) not in noted]
    guards = Guards(compared)
    states = [*shared_states(), *fresh.states]
    found: list[str] = []
    at: dict[FrameType, int] = {}

    def changed() -> bool:
        if not (guards.hold() and given.hold()):
            return True
        return any(one.changed() for one in states)

    def local(frame: FrameType, event: str, arg: object) -> Any:
        if not found and event in ("line", "return"):
            if changed():
                found.append(f"{frame.f_code.co_filename}:{at.get(frame, frame.f_lineno)}")
            at[frame] = frame.f_lineno
        return None if found else local

    def entered(frame: FrameType, event: str, arg: object) -> Any:
        if found or _of_library(frame):
            return None
        caller = frame.f_back
        if caller is not None and caller in at and changed():
            found.append(f"{caller.f_code.co_filename}:{at[caller]}")
            return None
        at[frame] = frame.f_lineno
        return local

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        with suppress(Exception), forgetting_refusals():
            again()
    finally:
        sys.settrace(before)
    return found[0] if found else None


class _Watch(Watch):
    """The profile function of a trace: `seen_event`."""

    def __init__(self, surroundings: Surroundings, settings: Settings) -> None:
        super().__init__()
        self.surroundings = surroundings
        self.settings = settings
        self.libraries: set[CodeType] = set()
        self.seen: set[CodeType] = set()
        self.users: set[CodeType] = set()
        self.late = Seen()
        self.objects = Ends(surroundings.seen)
        self.busy = False

    def seen_event(self, frame: FrameType, event: str, arg: object) -> None:
        """Look at what is called, or returns."""
        if event == "c_call":
            self._builtin(frame, arg)
        elif event == "call":
            code = frame.f_code
            if code not in self.seen:
                self._code(frame, code)
            elif code in self.libraries:
                self._handed(frame)
            elif not self.busy and (more := self.late.more(frame)):
                self._follow(more)
        elif event == "return" and frame.f_code in self.users:
            self._types(frame)
            self.objects.returned(frame)

    def _builtin(self, frame: FrameType, function: Any) -> None:
        asked = self.settings.asked(function)
        found = why_not(function) if asked is None else None
        if asked is not None and _is_users(frame):
            self._asked(frame, asked)
        owner = getattr(function, "__self__", None)
        if type(owner) is str and function.__name__ in ("format", "format_map"):
            self._follow_names(frame, names_in_format(owner))
        if function is sys._getframe and not _of_library(frame):
            what, instead = FRAME
            refuse_effect(what, instead, _place(frame))
        if function is globals and _is_users(frame) and computes_names(frame.f_code):
            what = "reads globals by names that are computed"
            refuse_effect(what, "keep them in a dict, and read that", _place(frame))
        if id(owner) in self.surroundings.opaque and _is_users(frame):
            self._opaque(frame, owner, function.__name__)
        if found is None and function.__name__ in _STREAM:
            found = OUTPUT if isinstance(function.__self__, io.IOBase) else None
        if found is not None and _is_users(frame):
            what, instead = found
            refuse_effect(
                f"{what} when it is traced, and not at each call",
                _better(what, instead),
                _place(frame),
            )

    def _code(self, frame: FrameType, code: CodeType) -> None:
        """A function is called for the first time."""
        if _of_library(frame):
            if code is _ENVIRONMENT and _is_users(frame):
                self._environment(frame)
            elif code in _ENVIRONMENT_WRITES and _is_users(frame):
                refuse_effect("changes the environment", "change it outside", _place(frame))
            elif code in CHANGES and not self.surroundings.on_tensors:
                refuse_effect(
                    f"{CHANGES[code]} when it is traced, and not at each call, as no argument is a "
                    "tensor",
                    "pass a tensor as an argument, or do it outside",
                    _place(frame),
                )
            elif code in _TEXT_OF_ARRAYS and _is_users(frame):
                what = "makes a text of an array, as NumPy is told to print at that time"
                refuse_effect(what, "make it outside, and pass it by keyword", _place(frame))
            elif code is logging.Logger._log.__code__ and _is_users(frame):
                what, instead = LOG
                what = f"{what} when it is traced, and not at each call"
                refuse_effect(what, instead, _place(frame))
            elif code is _HANDED_OVER:
                self._defer(frame.f_locals["self"].function)
            elif code in DIRECTLY:
                if frame.f_back is not None and not _of_library(frame.f_back):
                    what, instead = DIRECTLY[code]
                    refuse_effect(f"{what} when it is traced", instead, _place(frame))
            elif (asked := self.settings.asked(code)) is not None:
                if _is_users(frame.f_back if is_own(code.co_filename) else frame):
                    self._asked(frame, asked)
            elif code is random.Random.seed.__code__:
                if frame.f_locals.get("a") is None and _is_users(frame):
                    refuse_effect(*SYSTEM, _place(frame))
            elif code not in (_ENVIRONMENT, *_ENVIRONMENT_WRITES, *_TEXT_OF_ARRAYS):
                self.seen.add(code)
                if not is_own(code.co_filename):
                    self.libraries.add(code)
                    self._handed(frame)
            return
        if code in _called_by_collector():
            return
        self.objects.entered(frame)
        self.seen.add(code)
        self.users.add(code)
        ended = self.surroundings.deferred.call(code)
        if (ended or code not in self.surroundings.codes) and not self.busy:
            functions = functions_of(frame)
            self.late.add(code, functions)
            self._follow(functions)

    def _follow(self, functions: list[Any]) -> None:
        """Follow what functions can read, which were found when they were called."""
        self.busy = True
        try:
            self.surroundings.add_roots(functions)
        finally:
            self.busy = False

    def _defer(self, function: object) -> None:
        """A step of the graph is made, which is to call a function when it runs."""
        if not self.busy:
            self.busy = True
            try:
                self.surroundings.defer(function)
            finally:
                self.busy = False

    def _follow_names(self, frame: FrameType, names: Collection[str]) -> None:
        """Follow attributes that code reads by a text."""
        if names and not self.busy:
            self.busy = True
            try:
                self.surroundings.add_names(names, _place(frame))
            finally:
                self.busy = False

    def _handed(self, frame: FrameType) -> None:
        """A function of a library is called: by the user's code, with what it may read all of."""
        caller = frame.f_back
        if caller is None or caller.f_code not in self.users or self.busy:
            return
        if frame.f_code in _READING_ONE:
            return
        self.busy = True
        try:
            if frame.f_code is importlib.import_module.__code__:
                self.surroundings.add_module(str(frame.f_locals["name"]), _place(frame))
            values = [*frame.f_locals.values()]
            more = [one for value in values if type(value) is tuple for one in value]
            self.surroundings.hand([*values, *more])
            found = tables_read_by(frame.f_code.co_name, frame.f_globals)
            if found:
                self.surroundings.add_roots(found)
        finally:
            self.busy = False

    def _asked(self, frame: FrameType, asked: Callable[[], Any]) -> None:
        """A function without arguments that says what is set is called."""
        name, answer = f"what {self.settings.name(asked)}() says", self.settings.answers[asked]
        self.surroundings.add_read(Read("asked", None, asked, answer, name, _place(frame)))

    def _opaque(self, frame: FrameType, owner: object, method: str) -> None:
        if not is_neutral(owner, method):
            name = self.surroundings.opaque[id(owner)]
            what = f"calls {method} of {name}, a {type(owner).__name__}, whose state nothing tells"
            refuse(what, "do it outside, and pass what it gives as an argument", _place(frame))

    def _environment(self, frame: FrameType) -> None:
        names = frame.f_locals
        table, key = names["self"], names["key"]
        data, encoded = table._data, table.encodekey(key)
        kind = "item" if encoded in data else "absent"
        place = _place(frame)
        name = f"os.environ[{key!r}]"
        self.surroundings.add_read(Read(kind, data, encoded, data.get(encoded), name, place))

    def _types(self, frame: FrameType) -> None:
        """Refuse `type(x)` of what stands for an array or a size, which nothing else can see."""
        asked = type_questions(frame.f_code)
        if not asked:
            return
        values = {
            name: x for name, x in frame.f_locals.items() if type(x) not in weakref.ProxyTypes
        }
        back = frame.f_back if frame.f_code.co_name in COMPREHENSIONS else None
        around = [*values.values(), *(() if back is None else back.f_locals.values())]
        shapes = [size for x in around if is_symbolic(x) for size in x.shape]
        for one in asked:
            given = [values[name] for name in one.names if name in values]
            place = f"{frame.f_code.co_filename}:{one.line}"
            sizes = _sizes_in(given, one.attributes)
            if "shape" in one.attributes:
                sizes += _sizes_in(shapes, ())
            is_away = len(given) < len(one.names)  # the items that a comprehension had
            if back is not None or is_away:
                sizes += _sizes_in([*around, *shapes], ())
            if sizes:
                # the trace is made again with the sizes known, which are ints
                error = OptionError(f"{place}: asks for the type of an unknown size")
                raise remembered(needing(error, sizes))
            if not one.attributes and any(map(is_symbolic, given)):
                what = "type(x) is not that of an array while the function is traced"
                refuse(what, "use isinstance(x, ...)", place)


def _sizes_in(values: Sequence[object], attributes: Collection[str]) -> list[Dim]:
    """The unknown sizes among values, in tuples and lists, and in attributes of such names."""
    found: list[Dim] = []
    for value in values:
        held = getattr(value, "__dict__", None)
        within = [held[name] for name in attributes if name in held] if type(held) is dict else []
        items = value if isinstance(value, tuple | list) else ()
        found += [one for one in (value, *within, *items) if type(one) is Dim]
    return found


def _better(what: str, instead: str) -> str:
    """What to write instead, naming what there is for it."""
    package = sys.modules.get("staticgraph")
    if what == "prints" and hasattr(package, "print"):
        return f"write sg.print('loss {{:.3f}}', loss) for print(f'loss {{loss:.3f}}'), {instead}"
    return instead


def _of_library(frame: FrameType) -> bool:
    """Whether code is a library's, or was made by one, as that of dataclasses."""
    return is_library_code(frame.f_code, frame.f_globals)


def _place(frame: FrameType) -> str:
    """`file:line` of the user's code, if it is in a file."""
    found = frame
    while is_library(found.f_code.co_filename) and found.f_back is not None:
        found = found.f_back
    line = found
    while line.f_code.co_filename == "<string>" and line.f_back is not None:
        line = line.f_back
    line = found if is_library(line.f_code.co_filename) else line
    return f"{line.f_code.co_filename}:{line.f_lineno}"


def _is_users(frame: FrameType | None) -> bool:
    """Whether the innermost code that is no library's, or the project's, is the user's.

    What the collector calls belongs to nobody: it may run between any two lines.
    """
    collecting = _called_by_collector()
    while frame is not None:
        file = frame.f_code.co_filename
        if is_own(file) or "importlib" in file or frame.f_code in collecting:
            return False
        if not is_library(file):
            return True
        frame = frame.f_back
    return False


def _called_by_collector() -> set[object]:
    return {getattr(one, "__code__", None) for one in gc.callbacks}


_HANDED_OVER = HostOp.__call__.__code__
_ENVIRONMENT = type(os.environ).__getitem__.__code__
_READING_ONE = (
    _ENVIRONMENT, Mapping.get.__code__, Mapping.__contains__.__code__, os.getenv.__code__,
    functools.cached_property.__get__.__code__,
)  # fmt: skip
"""What reads one name of the environment, or one attribute."""
_ENVIRONMENT_WRITES = (
    type(os.environ).__setitem__.__code__, type(os.environ).__delitem__.__code__,
)  # fmt: skip
