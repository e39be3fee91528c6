"""Functions that ask or change what is around a process, and what to write instead of them.

What they say may be another at each call, and a graph would not call them. Of some modules of the
system all functions are such, but for those whose answers stay.
"""

from __future__ import annotations

import _warnings
import builtins
import datetime
import gc
import inspect
import io
import locale
import os
import queue
import sys
import threading
import time
import weakref
from types import BuiltinFunctionType, CodeType
from typing import Any

from staticgraph.tracing.ends import CALLBACK, INSTEAD

Why = tuple[str, str]
"""What a function does, and what to write instead."""

CLOCK = "reads a clock", "read it outside, and pass it as an argument"
FILE = "reads or writes a file", "read it outside, and pass what it says as an argument"
OUTPUT = "writes", "return the value, and write it outside"
SYSTEM = "draws random bytes", "draw them outside, and pass them as an argument"
LOG = "writes to a log", "return the value and log it outside, or use sg.print"
PLACE = "asks the system", "ask outside, and pass it by keyword"
FRAME = "reads the frames of its callers", "pass what they have as an argument"
_QUEUE = "changes a queue", "do it outside, and pass what it gives as an argument"

_CALLS: dict[Any, Why] = {
    print: ("prints", "or return the value, and print it outside"),
    input: ("reads input", "read it outside, and pass it as an argument"),
    builtins.open: FILE,
    io.open_code: FILE,
    os.open: FILE, os.stat: FILE, os.listdir: FILE, os.scandir: FILE, os.remove: FILE,
    os.mkdir: FILE, os.rename: FILE, os.urandom: SYSTEM,
    datetime.datetime.now: CLOCK, datetime.datetime.utcnow: CLOCK,
    datetime.date.today: CLOCK, datetime.datetime.today: CLOCK,
    _warnings.warn: ("warns", "warn outside: a graph would warn when it is traced alone"),
    builtins.__import__: ("imports by a text", "use an import statement, or import it outside"),
}  # fmt: skip
_CALLS |= {
    getattr(time, name): CLOCK
    for name in (
        "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns",
        "process_time", "process_time_ns", "thread_time", "thread_time_ns", "sleep", "localtime",
        "gmtime", "ctime", "strftime", "asctime",
    )
}  # fmt: skip
_ASKING = (
    sys.getrefcount, sys.getprofile, sys.getallocatedblocks, gc.get_count, gc.get_stats,
    gc.get_objects, time.mktime,
)  # fmt: skip
_CALLS |= dict.fromkeys(_ASKING, PLACE)

_AROUND: dict[str, frozenset[str]] = {
    "posix": frozenset((
        "fspath", "strerror", "cpu_count", "uname", "getuid", "geteuid", "getgid", "getegid",
        "_path_normpath", "_path_splitroot_ex", "_path_normpath_ex", "sysconf", "confstr",
        "waitstatus_to_exitcode",
    )),
    "nt": frozenset((
        "fspath", "strerror", "cpu_count", "_path_normpath", "_path_splitroot",
        "_path_splitroot_ex", "_path_normpath_ex",
    )),
    **dict.fromkeys((
        "resource", "select", "fcntl", "syslog", "_posixsubprocess", "_tracemalloc", "atexit",
        "faulthandler", "pwd", "grp", "_winapi", "winreg", "msvcrt",
    ), frozenset()),
}  # fmt: skip
"""Modules of the system, and what is left of them: pure functions, and answers that stay."""
_CHANGING: dict[str, frozenset[str]] = {
    "_thread": frozenset(("start_new_thread", "start_new", "start_joinable_thread")),
    "_codecs": frozenset(("register", "unregister", "register_error")),
    "sys": frozenset(("setprofile", "settrace", "addaudithook", "set_asyncgen_hooks")),
    "_signal": frozenset(("raise_signal", "alarm", "setitimer", "pause", "pthread_kill")),
}
"""Of others, what changes what no comparison finds."""
DIRECTLY: dict[CodeType, Why] = {
    threading.current_thread.__code__: PLACE,
    inspect.currentframe.__code__: FRAME,
    inspect.stack.__code__: FRAME,
    locale.setlocale.__code__: PLACE,
    locale.getlocale.__code__: PLACE,
    queue.Queue.put.__code__: _QUEUE,
    queue.Queue.get.__code__: _QUEUE,
    queue.Queue.qsize.__code__: _QUEUE,
    weakref.finalize.__init__.__code__: (CALLBACK, INSTEAD),
}
"""Functions of libraries that the user's code must not call itself."""


def why_not(function: Any) -> Why | None:
    """Why code that is traced may not call a builtin, and what to write instead; None: it may."""
    try:
        found = _CALLS.get(function)
    except TypeError:  # it is of an object without a hash
        return None
    if found is not None or type(function) is not BuiltinFunctionType:
        return found
    module, name = str(function.__module__), function.__name__
    around = module in _AROUND and name not in _AROUND[module]
    if around or name in _CHANGING.get(module, ()):
        return f"calls {module.lstrip('_')}.{name}", INSTEAD
    return None
