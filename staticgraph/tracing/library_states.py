"""States of libraries that a call depends on, and how they are asked.

What an object of a library has is compared attribute by attribute, as far as it is Python's. Here
is how others are asked for their state, and which functions say what is set for a process or a
thread. Types and functions are named by texts, so that nothing is imported for them.
"""

from __future__ import annotations

import copyreg
import functools
import gc
import importlib
import operator
import pickle
import re
import signal
import sys
import warnings
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from string import Formatter
from types import AsyncGeneratorType, CodeType, CoroutineType, GeneratorType
from typing import Any

from staticgraph.compiler.core import collection

Getter = Callable[[Any], Any]


def of_decimals() -> object:
    """The context of decimals, which their operators read."""
    return _of_context(sys.modules["decimal"].getcontext())


def _of_context(context: Any) -> object:
    traps = [one for one, raises in context.traps.items() if raises]
    return (
        context.prec, context.rounding, context.Emin, context.Emax, context.capitals,
        context.clamp, traps,
    )  # fmt: skip


def _of_stream(stream: Any) -> object:
    return None if stream.closed else stream.__getstate__()


def _of_logger(log: Any) -> object:
    return log.getEffectiveLevel(), log.level, log.disabled, log.manager.disable


class FrameState:
    """All that a series or a table of pandas has: labels, types and values."""

    __slots__ = ("_kept",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, frame: Any) -> None:
        self._kept = pickle.dumps(frame)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrameState) and self._kept == other._kept

    def frame(self) -> Any:
        """The series or table as it was."""
        return pickle.loads(self._kept)

    def __repr__(self) -> str:
        frame = self.frame()
        if frame.ndim == 1:
            return f"a {type(frame).__name__} of {len(frame)}: {_listed(frame)}"
        columns = [f"{key}: {_listed(frame.iloc[:, i])}" for i, key in enumerate(frame.columns)]
        return f"a {type(frame).__name__} of {len(frame)} rows: {'; '.join(columns)}"


def _listed(series: Any) -> str:
    """The type of a series, and its first values."""
    first = ", ".join([repr(one) for one in series.iloc[:3].tolist()])
    return f"{series.dtype} {first}{', ...' if len(series) > 3 else ''}"


def of_bits(bits: Any) -> object:
    """The state of a generator of random bits."""
    return repr(bits.state)


_SUSPENDED = {GeneratorType: "gi", CoroutineType: "cr", AsyncGeneratorType: "ag"}
_PARTS = ("frame", "running", "suspended", "yieldfrom", "await")
OF_GENERATORS = (
    *(f"{short}_{part}" for short in _SUSPENDED.values() for part in _PARTS),
    "getgeneratorstate", "getgeneratorlocals", "getcoroutinestate", "getcoroutinelocals",
    "getasyncgenstate", "getasyncgenlocals",
)  # fmt: skip
"""The names by which code asks where a generator or a coroutine is."""


def is_suspended(value: object) -> bool:
    """Whether it is a generator or a coroutine."""
    return type(value) in _SUSPENDED


def of_generator(generator: Any) -> object:
    """Where a generator or a coroutine is, and what its names have."""
    frame = getattr(generator, f"{_SUSPENDED[type(generator)]}_frame")
    return frame and (frame.f_lasti, [*frame.f_locals.items()])


def of_cache(function: Any) -> object:
    """The counts of a cached function."""
    return function.cache_info()


def of_flags(array: Any) -> object:
    """How an array lies in memory, and what may be done to it."""
    return array.flags.num, array.strides


def of_subclasses(kind: type) -> object:
    """The classes that are made of one."""
    return kind.__subclasses__()


def of_bytes(value: Any) -> bytes:
    """The memory of what has one."""
    return bytes(memoryview(value))


_GETTERS: dict[str, Getter] = {
    "_io.BytesIO": _of_stream,
    "_io.StringIO": _of_stream,
    "decimal.Context": _of_context,
    "_contextvars.Context": dict,
    "logging.Logger": _of_logger,
    "numpy.random.bit_generator.SeedSequence": operator.attrgetter("state"),
    "pandas.core.generic.NDFrame": FrameState,
    "_hashlib.HASH": operator.methodcaller("digest"),
}
_MOVED: dict[str, Getter] = {
    "_csv.reader": operator.attrgetter("line_num"),
    "numpy.flatiter": operator.attrgetter("index"),
    "numpy.nditer": operator.attrgetter("iterindex"),
    "numpy.random.bit_generator.BitGenerator": of_bits,
}
"""Those of what a call may move on, and other calls may have moved on before."""


def _first(kind: Any, table: Mapping[str, Getter]) -> Getter | None:
    names = (f"{one.__module__}.{one.__qualname__}" for one in kind.__mro__)
    return next((table[name] for name in names if name in table), None)


@functools.lru_cache(4096)
def getter_of(kind: Any) -> Getter | None:
    """What says the state of objects of a library; None if nothing is known that does."""
    return _first(kind, _GETTERS)


@functools.lru_cache(4096)
def place_of(kind: Any) -> Getter | None:
    """What says how far iterators and generators of random numbers have come."""
    return _first(kind, _MOVED)


weakref.finalize(getter_of, int).detach()
"""The first of a process registers with `atexit`; else a kernel that is loaded in a trace would."""

ASKED = (
    "sys.getrecursionlimit", "sys.getswitchinterval", "sys.gettrace", "sys.get_int_max_str_digits",
    "gc.isenabled", "gc.get_threshold", "_thread.get_ident", "_thread.get_native_id",
    "posix.getcwd", "posix.getpid", "posix.getppid", "locale.localeconv", "numpy.geterr",
    "numpy.geterrcall", "numpy.getbufsize", "numpy.get_printoptions", "tempfile.gettempdir",
    "threading.active_count", "threading.enumerate", "_decimal.getcontext", "gc.get_debug",
    "_socket.getdefaulttimeout", "_tracemalloc.is_tracing", "atexit._ncallbacks",
    "_signal.getsignal", "_csv.reader", "_csv.writer", "_csv.get_dialect", "_csv.list_dialects",
    "_csv.field_size_limit", "warnings.filterwarnings", "copyreg.pickle",
    *(f"staticgraph.dynamic.{one}" for one in (
        "kernels.threads.get_num_threads", "tape.anomaly.is_anomaly_enabled",
        "tape.anomaly.is_anomaly_check_nan_enabled", "core.settings.get_deterministic_debug_mode",
        "core.settings.are_deterministic_algorithms_enabled",
        "core.settings.get_float32_matmul_precision",
        "core.settings.get_num_interop_threads", "core.settings.is_warn_always_enabled",
        "tensors.devices.get_default_device",
    )),
)  # fmt: skip
"""Functions without arguments that say what is set: their answers are compared at each call."""
_EAGER = "staticgraph.dynamic"
_LEFT = frozenset(("sys.gettrace", "threading.active_count", "threading.enumerate"))
"""Those of which a call need not leave the answer as it was: a debugger, a pool of threads."""


_SIGNALS = [*map(int, signal.valid_signals())]
_handler_of: Callable[[int], object] = importlib.import_module("_signal").getsignal
"""`signal.getsignal` without its names, which take ten times as long."""


def _of_signals() -> object:
    return [*map(_handler_of, _SIGNALS)]


def _of_warnings() -> object:
    return [x for x in warnings.filters if not type(x[1]).__module__.startswith("staticgraph.")]


def _of_rows() -> object:
    csv: Any = sys.modules["_csv"]
    dialects = [csv.get_dialect(one) for one in csv.list_dialects()]
    kept = [[getattr(one, name) for name in _OF_DIALECTS] for one in dialects]
    return csv.list_dialects(), kept, csv.field_size_limit()


_OF_DIALECTS = (
    "delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting",
    "skipinitialspace", "strict",
)  # fmt: skip
_BY_IMPORTS = frozenset((
    "warnings.filterwarnings", "copyreg.pickle", "atexit._ncallbacks", "csv.field_size_limit",
))  # fmt: skip
"""Those that a module may change when it is imported."""


_INSTEAD: dict[str, Callable[[], Any]] = {
    "_decimal.getcontext": of_decimals,
    "gc.isenabled": collection.is_enabled,  # another thread may be compiling
    "_signal.getsignal": _of_signals,
    "warnings.filterwarnings": _of_warnings,
    "copyreg.pickle": lambda: {**copyreg.dispatch_table},
    **dict.fromkeys(
        (
            "_csv.reader",
            "_csv.writer",
            "_csv.get_dialect",
            "_csv.list_dialects",
            "_csv.field_size_limit",
        ),
        _of_rows,
    ),
}
"""What is asked instead of some of them."""


class Settings:
    """What is set for the process and the thread when a call begins."""

    def __init__(self) -> None:
        self._modules = len(sys.modules)
        self._functions: dict[object, Callable[[], Any]] = {}
        self.answers: dict[Callable[[], Any], Any] = {}
        self._names: dict[Callable[[], Any], str] = {}
        for text in ASKED:
            module, _, name = text.rpartition(".")
            if module.startswith(_EAGER) and _EAGER in sys.modules:
                importlib.import_module(module)  # some are only loaded when they are asked for
            function = getattr(sys.modules.get(module), name, None)
            if function is None:
                continue
            asked = _INSTEAD.get(text, function)
            plain = getattr(function, "__wrapped__", function)
            self._functions[getattr(plain, "__code__", function)] = asked
            self._names[asked] = text.removeprefix("_")
            self.answers[asked] = asked()

    def asked(self, code: CodeType | object) -> Callable[[], Any] | None:
        """The function that asks, by itself or its code."""
        return self._functions.get(code)

    def name(self, asked: Callable[[], Any]) -> str:
        """What it is called."""
        return self._names[asked]

    def changed(self) -> list[tuple[str, Any, Any]]:
        """What is no longer set: the function that says so, its answers before and now."""
        found = []
        left = _LEFT if len(sys.modules) == self._modules else _LEFT | _BY_IMPORTS
        for asked, before in self.answers.items():
            name = self._names[asked]
            if name not in left and (now := asked()) != before:
                found.append((name, before, now))
        return found


_TABLES = {
    ("copy", "copy"): ("copyreg", "dispatch_table"),
    ("copy", "deepcopy"): ("copyreg", "dispatch_table"),
    ("sysconfig", "get_config_var"): ("sysconfig", "_CONFIG_VARS"),
    ("logging", "getLogger"): ("logging", "Logger.manager.loggerDict"),
    ("mimetypes", "guess_type"): ("mimetypes", "types_map"),
}
"""Functions of libraries, and the tables of their module that they answer from."""


def results_of(function: Any) -> list[Any]:
    """What a function with a cache has kept, beside the function itself."""
    if not function.cache_info().currsize:
        return []
    own = function.__dict__, function.__wrapped__
    found = [x for x in gc.get_referents(function) if x is not own[0] and x is not own[1]]
    if function.cache_parameters()["maxsize"] is None:  # they are in a table
        return [one for table in found if type(table) is dict for one in table.values()]
    return [one for one in found if not (isinstance(one, type) or _has_links(one))]


class Results:
    """What a function with a cache has kept; equal to what it had before if it has all of that."""

    __slots__ = ("_values",)

    def __init__(self, function: Any) -> None:
        self._values = results_of(function)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Results):
            return False
        return {*map(id, other._values)} <= {*map(id, self._values)}

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._values)))


def _has_links(value: object) -> bool:
    """Whether it is the table of a cache, of which the values are links to the next ones."""
    if type(value) is not dict or not value:
        return False
    return all(type(one).__name__ == "_lru_list_elem" for one in value.values())


_ATTRIBUTES = re.compile(r"\.(\w+)")


def names_in_format(text: str) -> set[str]:
    """The attributes that `text.format(...)` reads."""
    found: set[str] = set()
    with suppress(ValueError):
        for _, field, spec, _ in Formatter().parse(text):
            found |= set(_ATTRIBUTES.findall(field or ""))
            if spec and "{" in spec:
                found |= names_in_format(spec)
    return found


def tables_read_by(name: str, globals: Mapping[str, Any]) -> list[Any]:
    """The tables that a function of a library answers from, by its name and globals."""
    module, path = _TABLES.get((globals.get("__name__", ""), name), ("", ""))
    return [operator.attrgetter(path)(sys.modules[module])] if module in sys.modules else []


_FIXED = frozenset((
    "re.Pattern", "re.Match", "_struct.Struct", "datetime.date", "datetime.time",
    "datetime.timedelta", "datetime.tzinfo", "decimal.Decimal", "builtins.range", "builtins.slice",
    "numpy.ufunc", "numpy.generic", "numpy.dtype", "builtins.wrapper_descriptor",
    "builtins.method_descriptor", "builtins.classmethod_descriptor", "types.GenericAlias",
    "types.UnionType", "builtins.code", "builtins.getset_descriptor", "builtins.member_descriptor",
    "builtins.NotImplementedType", "builtins.PyCapsule", "builtins.super", "builtins.frame",
    "builtins.traceback", "uuid.UUID", "operator.attrgetter", "typing.TypeVar",
    "numpy._ArrayFunctionDispatcher",
))  # fmt: skip
_LOCKS = frozenset(("_thread.lock", "_thread.RLock"))
_NEUTRAL = frozenset(("acquire", "release", "__enter__", "__exit__"))


@functools.lru_cache(4096)
def is_fixed(kind: Any) -> bool:
    """Whether objects of a type stay as they are, or have nothing of their own."""
    names = {f"{one.__module__}.{one.__qualname__}" for one in kind.__mro__}
    return kind is object or not names.isdisjoint(_FIXED)


def is_neutral(owner: object, method: str) -> bool:
    """Whether a method of an object of another language leaves nothing behind: a lock is taken."""
    kind = type(owner)
    return f"{kind.__module__}.{kind.__qualname__}" in _LOCKS and method in _NEUTRAL
