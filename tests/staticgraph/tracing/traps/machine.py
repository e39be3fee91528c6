"""What functions ask and change of the process, the machine and libraries in C."""

from __future__ import annotations

import atexit
import codecs
import copyreg
import csv
import ctypes
import gc
import multiprocessing
import multiprocessing.shared_memory
import operator
import os
import pathlib
import resource
import shutil
import signal
import socket
import tempfile
import threading
import time
import tracemalloc
import warnings
from typing import Any

import numpy as np

from .trap import trap


@trap()
def whether_a_path_may_be_read(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a")
        f = t.capture(lambda x: x * 2 if os.access(path, os.F_OK) else x)
        yield f(t.x)
        pathlib.Path(path).touch()
        yield f(t.x)


@trap()
def the_target_of_a_link(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        link = os.path.join(folder, "a")
        os.symlink("bb", link)
        f = t.capture(lambda x: x * len(os.readlink(link)))
        yield f(t.x)
        os.unlink(link)
        os.symlink("cccc", link)
        yield f(t.x)


@trap()
def a_program_is_run(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a")

        def f(x: Any) -> Any:
            os.system(f"echo -n a >> {path}")
            return x

        g = t.capture(f)
        yield g(t.x)
        yield g(t.x)
        yield pathlib.Path(path).read_text()


@trap()
def how_long_the_process_has_run(t: Any) -> Any:
    f = t.capture(lambda x: x * 0 + (os.times().elapsed > start + 0.05))
    start = os.times().elapsed
    yield f(t.x)
    time.sleep(0.07)
    yield f(t.x)


@trap()
def how_often_garbage_was_collected(t: Any) -> Any:
    before = gc.get_stats()[2]["collections"]
    f = t.capture(lambda x: x * 0 + min(gc.get_stats()[2]["collections"] - before, 2))
    yield f(t.x) * 0
    for _ in range(3):
        gc.collect()
    yield f(t.x)


@trap()
def how_much_memory_is_traced(t: Any) -> Any:
    f = t.capture(lambda x: x * 0 + (tracemalloc.get_traced_memory()[0] > 0))
    yield f(t.x)
    tracemalloc.start()
    try:
        kept = [bytes(1000) for _ in range(10)]
        yield f(t.x), len(kept)
    finally:
        tracemalloc.stop()


@trap()
def the_mask_of_files(t: Any) -> Any:
    before = os.umask(0o022)

    def f(x: Any) -> Any:
        os.umask(0o027)
        return x

    g = t.capture(f)
    try:
        yield g(t.x)
        os.umask(0o022)
        yield g(t.x)
        yield os.umask(before)
    finally:
        os.umask(before)


@trap()
def a_thread_is_started(t: Any) -> Any:
    found: list[int] = []

    def f(x: Any) -> Any:
        other = threading.Thread(target=lambda: None)
        other.start()
        other.join()
        found.append(1)
        return x

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield len(found)


@trap()
def something_is_registered_for_the_end(t: Any) -> Any:
    before = atexit._ncallbacks()

    def nothing() -> None:
        pass

    def f(x: Any) -> Any:
        atexit.register(nothing)
        return x

    g = t.capture(f)
    try:
        yield g(t.x)
        yield g(t.x)
        yield atexit._ncallbacks() - before
    finally:
        atexit.unregister(nothing)


@trap()
def a_filter_of_warnings_is_added(t: Any) -> Any:
    def f(x: Any) -> Any:
        warnings.filterwarnings("ignore", message="of this trap")
        return x

    g = t.capture(f)
    with warnings.catch_warnings():
        yield g(t.x)
        warnings.resetwarnings()
        yield g(t.x)
        yield len(warnings.filters)


@trap()
def a_default_of_sockets(t: Any) -> Any:
    f = t.capture(lambda x: x * (socket.getdefaulttimeout() or 1.0))
    before = socket.getdefaulttimeout()
    try:
        yield f(t.x)
        socket.setdefaulttimeout(5.0)
        yield f(t.x)
    finally:
        socket.setdefaulttimeout(before)


@trap()
def a_limit_of_fields(t: Any) -> Any:
    before = csv.field_size_limit()
    f = t.capture(lambda x: x * csv.field_size_limit())
    try:
        yield f(t.x)
        csv.field_size_limit(7)
        yield f(t.x)
    finally:
        csv.field_size_limit(before)


@trap()
def a_dialect_of_rows(t: Any) -> Any:
    csv.register_dialect("of_this_trap", delimiter=";")
    f = t.capture(lambda x: x * len(next(csv.reader(["a;b,c"], "of_this_trap"))))
    try:
        yield f(t.x)
        csv.register_dialect("of_this_trap", delimiter="-")
        yield f(t.x)
    finally:
        csv.unregister_dialect("of_this_trap")


@trap()
def a_limit_of_the_process(t: Any) -> Any:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    f = t.capture(lambda x: x * 0 + (resource.getrlimit(resource.RLIMIT_CORE)[0] == 0))
    try:
        yield f(t.x)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        yield f(t.x)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


@trap()
def a_signal_is_handled_otherwise(t: Any) -> Any:
    def f(x: Any) -> Any:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        return x

    before = signal.getsignal(signal.SIGUSR1)
    g = t.capture(f)
    try:
        yield g(t.x)
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        yield g(t.x)
        yield signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGUSR1, before)


@trap()
def a_way_to_copy_is_registered(t: Any) -> Any:
    class Config:
        k = 2.0

    def f(x: Any) -> Any:
        copyreg.pickle(Config, lambda one: (Config, ()))
        return x

    g = t.capture(f)
    try:
        yield g(t.x)
        copyreg.dispatch_table.pop(Config)
        yield g(t.x)
        yield Config in copyreg.dispatch_table
    finally:
        copyreg.dispatch_table.pop(Config, None)


@trap()
def a_codec_is_looked_up(t: Any) -> Any:
    k = [2]

    def search(name: str) -> Any:
        if name != "of_this_trap":
            return None
        info = codecs.lookup("ascii")
        return codecs.CodecInfo(
            lambda text, errors="strict": (b"a" * k[0], len(text)), info.decode, name=name
        )

    codecs.register(search)
    try:
        f = t.capture(lambda x: x * len("b".encode("of_this_trap")))
        yield f(t.x)
        k[0] = 5
        yield f(t.x)
    finally:
        codecs.unregister(search)


@trap()
def a_flag_of_an_array_is_set(t: Any) -> Any:
    w = np.ones(3)

    def f(x: Any) -> Any:
        w.setflags(write=False)
        return x * float(w[0])

    g = t.capture(f)
    yield g(t.x)
    yield bool(w.flags.writeable)
    w.setflags(write=True)
    yield g(t.x)
    yield bool(w.flags.writeable)


@trap()
def a_value_of_several_processes(t: Any) -> Any:
    k = multiprocessing.Value("d", 2.0)
    f = t.capture(lambda x: x * k.value)
    yield f(t.x)
    k.value = 3.0
    yield f(t.x)


@trap()
def an_array_of_several_processes(t: Any) -> Any:
    k = multiprocessing.Array("d", [2.0, 3.0], lock=False)
    f = t.capture(lambda x: x * k[1])
    yield f(t.x)
    k[1] = 5.0
    yield f(t.x)


@trap()
def an_item_is_set_by_operator(t: Any) -> Any:
    table = {"k": 1.0}

    def f(x: Any) -> Any:
        operator.setitem(table, "k", table["k"] + 1)
        return x * table["k"]

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield table["k"]


@trap()
def an_array_is_filled_by_a_view(t: Any) -> Any:
    w = np.ones(3)

    def f(x: Any) -> Any:
        w.reshape(3, 1).fill(7.0)
        return x

    g = t.capture(f)
    yield g(t.x)
    w[:] = 1.0
    yield g(t.x)
    yield w


@trap()
def memory_is_moved_by_ctypes(t: Any) -> Any:
    w = np.ones(3)

    def f(x: Any) -> Any:
        ctypes.memset(w.ctypes.data, 0, 8)
        return x * float(w[0] + 1)

    g = t.capture(f)
    yield g(t.x)
    w[:] = 1.0
    yield g(t.x)
    yield w


@trap()
def an_interface_of_an_array(t: Any) -> Any:
    memory = np.array([1.0, 2.0])

    class Table:
        @property
        def __array_interface__(self) -> Any:
            return memory.__array_interface__

    table = Table()
    f = t.capture(lambda x: x * np.asarray(table)[1])
    yield f(t.x)
    memory[1] = 9.0
    yield f(t.x)


@trap()
def a_captured_method_by_a_decorator(t: Any) -> Any:
    class Layer:
        def __init__(self) -> None:
            self.k = 2.0

        def scaled(self, x: Any) -> Any:
            return x * self.k

    layer, other = Layer(), Layer()
    other.k = 7.0
    f, g = t.capture(layer.scaled), t.capture(other.scaled)
    yield f(t.x), g(t.x)
    layer.k = 3.0
    yield f(t.x), g(t.x)
    layer.scaled = lambda x: x  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def a_captured_static_method(t: Any) -> Any:
    class Layer:
        k = 2.0

        @staticmethod
        def scaled(x: Any) -> Any:
            return x * Layer.k

        @classmethod
        def of_class(cls, x: Any) -> Any:
            return x * cls.k

    class Other(Layer):
        k = 5.0

    f, g = t.capture(Layer.scaled), t.capture(Other.of_class)
    yield f(t.x), g(t.x)
    Layer.k = 3.0
    del Other.k
    yield f(t.x), g(t.x)


@trap()
def a_captured_function_calls_itself(t: Any) -> Any:
    held: dict[str, Any] = {"n": 2}

    def f(x: Any, n: int = 0) -> Any:
        return x if n >= held["n"] else held["f"](x * 2, n=n + 1)

    held["f"] = t.capture(f)
    yield held["f"](t.x)
    held["n"] = 3
    yield held["f"](t.x)


@trap()
def a_result_is_a_dict_in_another_order(t: Any) -> Any:
    names = ["a", "b"]
    f = t.capture(lambda x: {name: x * i for i, name in enumerate(names)})
    yield list(f(t.x))
    names.reverse()
    yield list(f(t.x))
    yield f(t.x)


@trap()
def a_finally_that_returns(t: Any) -> Any:
    k = [0.0]

    def f(x: Any) -> Any:
        try:
            return x / k[0]
        except ZeroDivisionError:
            return x * 7
        finally:
            if k[0] > 1:
                return x * 9  # noqa: B012

    g = t.capture(f)
    for one in (1.0, 2.0, 1.0):
        k[0] = one
        yield g(t.x)


@trap()
def the_size_of_the_terminal(t: Any) -> Any:
    f = t.capture(lambda x: x * shutil.get_terminal_size().columns)
    before = os.environ.get("COLUMNS")
    try:
        os.environ["COLUMNS"] = "50"
        yield f(t.x)
        os.environ["COLUMNS"] = "60"
        yield f(t.x)
    finally:
        os.environ.pop("COLUMNS", None)
        if before is not None:
            os.environ["COLUMNS"] = before
