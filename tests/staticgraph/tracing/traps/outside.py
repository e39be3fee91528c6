"""What a function asks the machine for: the time, files, the environment."""

from __future__ import annotations

import datetime
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from .trap import trap


@trap()
def the_time(t: Any) -> Any:
    times = iter(range(10))
    start = time.time()

    def f(x: Any) -> Any:
        return x * 0 + (time.time() > start + 0.05)

    g = t.capture(f)
    yield g(t.x)
    while time.time() < start + 0.06:
        next(times, None)
    yield g(t.x)


@trap()
def a_clock(t: Any) -> Any:
    start = time.perf_counter()
    f = t.capture(lambda x: x * 0 + (time.perf_counter() - start > 0.05))
    yield f(t.x)
    time.sleep(0.06)
    yield f(t.x)


@trap()
def the_date(t: Any) -> Any:
    start = datetime.datetime.now()
    limit = datetime.timedelta(milliseconds=50)
    f = t.capture(lambda x: x * 0 + (datetime.datetime.now() - start > limit))
    yield f(t.x)
    time.sleep(0.06)
    yield f(t.x)


@trap()
def a_file_is_read(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k"
        path.write_text("2")

        def f(x: Any) -> Any:
            with open(path) as file:
                return x * float(file.read())

        g = t.capture(f)
        yield g(t.x)
        path.write_text("3")
        yield g(t.x)


@trap()
def a_path_is_read(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k"
        path.write_text("2")
        f = t.capture(lambda x: x * float(path.read_text()))
        yield f(t.x)
        path.write_text("3")
        yield f(t.x)


@trap()
def an_array_is_read(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.npy"
        np.save(path, np.float32(2))
        f = t.capture(lambda x: x * float(np.load(path)))
        yield f(t.x)
        np.save(path, np.float32(3))
        yield f(t.x)


@trap()
def a_file_exists(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k"
        f = t.capture(lambda x: x * 2 if path.exists() else x)
        yield f(t.x)
        path.write_text("3")
        yield f(t.x)


@trap()
def a_file_is_written(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k"

        def f(x: Any) -> Any:
            with open(path, "a") as file:
                file.write("called")
            return x * 2

        g = t.capture(f)
        yield g(t.x)
        yield g(t.x)
        yield path.read_text()


@trap()
def the_environment(t: Any) -> Any:
    os.environ["TRAP"] = "2"
    try:
        f = t.capture(lambda x: x * float(os.environ["TRAP"]))
        yield f(t.x)
        os.environ["TRAP"] = "3"
        yield f(t.x)
    finally:
        del os.environ["TRAP"]


@trap()
def the_environment_by_getenv(t: Any) -> Any:
    f = t.capture(lambda x: x * float(os.getenv("TRAP", "1")))
    try:
        yield f(t.x)
        os.environ["TRAP"] = "3"
        yield f(t.x)
    finally:
        os.environ.pop("TRAP", None)


@trap()
def the_environment_is_changed(t: Any) -> Any:
    def f(x: Any) -> Any:
        os.environ["TRAP"] = os.environ.get("TRAP", "") + "a"
        return x

    g = t.capture(f)
    try:
        yield g(t.x)
        yield g(t.x)
        yield os.environ["TRAP"]
    finally:
        os.environ.pop("TRAP", None)


@trap()
def the_working_directory(t: Any) -> Any:
    before = os.getcwd()
    f = t.capture(lambda x: x * len(os.getcwd()))
    try:
        yield f(t.x)
        os.chdir("/")
        yield f(t.x)
    finally:
        os.chdir(before)
