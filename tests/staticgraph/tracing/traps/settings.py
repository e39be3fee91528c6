"""What Python and NumPy are told once, and functions read later: contexts, formats, paths."""

from __future__ import annotations

import decimal
import locale
import logging
import os
import pathlib
import tempfile
import time
import warnings
from typing import Any

import numpy as np

from .trap import trap


@trap()
def the_rounding_of_decimals(t: Any) -> Any:
    k = decimal.Decimal("2.5")
    f = t.capture(lambda x: x * float(k.quantize(decimal.Decimal(1))))
    with decimal.localcontext() as context:
        context.rounding = decimal.ROUND_UP
        yield f(t.x)
    yield f(t.x)


@trap()
def the_context_of_decimals_is_asked(t: Any) -> Any:
    f = t.capture(lambda x: x * decimal.getcontext().prec)
    with decimal.localcontext() as context:
        context.prec = 5
        yield f(t.x)
    yield f(t.x)


@trap()
def the_precision_of_decimals_in_a_helper(t: Any) -> Any:
    numbers = [decimal.Decimal(1), decimal.Decimal(3)]

    def ratio() -> float:
        one, other = numbers
        return float(one / other)

    f = t.capture(lambda x: x * ratio())
    with decimal.localcontext() as context:
        context.prec = 2
        yield f(t.x)
    yield f(t.x)


@trap()
def a_context_of_decimals_of_its_own(t: Any) -> Any:
    context = decimal.Context(prec=2)
    f = t.capture(lambda x: x * float(context.divide(decimal.Decimal(1), decimal.Decimal(3))))
    yield f(t.x)
    context.prec = 5
    yield f(t.x)


@trap()
def a_context_of_decimals_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        with decimal.localcontext() as context:
            context.prec = 3
            return x * float(decimal.Decimal(1) / 3)

    g = t.capture(f)
    yield g(t.x)
    with decimal.localcontext() as context:
        context.prec = 9
        yield g(t.x)


@trap()
def a_text_of_a_decimal(t: Any) -> Any:
    f = t.capture(lambda x: x * float(decimal.Decimal("1.23456789") + 0))
    with decimal.localcontext() as context:
        context.prec = 2
        yield f(t.x)
    yield f(t.x)


@trap()
def a_sum_of_decimals(t: Any) -> Any:
    prices = [decimal.Decimal("1.11"), decimal.Decimal("2.22")]
    f = t.capture(lambda x: x * float(sum(prices)))
    with decimal.localcontext() as context:
        context.prec = 1
        yield f(t.x)
    yield f(t.x)


@trap()
def a_filter_of_warnings(t: Any) -> Any:
    f = t.capture(lambda x: x * sum("a trap" in str(one) for one in warnings.filters))
    yield f(t.x)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="a trap")
        warnings.filterwarnings("ignore", message="another trap")
        yield f(t.x)


@trap()
def a_level_of_a_logger(t: Any) -> Any:
    log = logging.getLogger("a trap of a level")
    log.setLevel(logging.INFO)
    f = t.capture(lambda x: x * (2.0 if log.isEnabledFor(logging.DEBUG) else 1.0))
    yield f(t.x)
    log.setLevel(logging.DEBUG)
    yield f(t.x)


@trap()
def a_level_of_a_logger_by_name(t: Any) -> Any:
    logging.getLogger("a trap by name").setLevel(10)
    f = t.capture(lambda x: x * logging.getLogger("a trap by name").level)
    yield f(t.x)
    logging.getLogger("a trap by name").setLevel(20)
    yield f(t.x)


@trap()
def the_level_above_of_a_logger(t: Any) -> Any:
    above = logging.getLogger("above_a_trap")
    log = logging.getLogger("above_a_trap.below")
    above.setLevel(10)
    f = t.capture(lambda x: x * log.getEffectiveLevel())
    yield f(t.x)
    above.setLevel(20)
    yield f(t.x)


@trap()
def how_arrays_are_printed(t: Any) -> Any:
    k = np.array([1 / 3])
    f = t.capture(lambda x: x * len(str(k)))
    with np.printoptions(precision=2):
        yield f(t.x)
    yield f(t.x)


@trap()
def options_of_printing(t: Any) -> Any:
    f = t.capture(lambda x: x * np.get_printoptions()["precision"])
    with np.printoptions(precision=2):
        yield f(t.x)
    yield f(t.x)


@trap()
def an_error_state_that_raises(t: Any) -> Any:
    zero = np.zeros(1)

    def f(x: Any) -> Any:
        try:
            return x * float(((zero + 1) / zero)[0] > 5)
        except FloatingPointError:
            return x * 7

    g = t.capture(f)
    with np.errstate(divide="raise"):
        yield g(t.x)
    with np.errstate(divide="ignore"):
        yield g(t.x)


@trap()
def an_error_state_inside(t: Any) -> Any:
    zero = np.zeros(1)

    def f(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return x * float(((zero + 1) / zero)[0] > 5)

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)


@trap()
def a_number_of_the_size_of_buffers(t: Any) -> Any:
    f = t.capture(lambda x: x * np.getbufsize())
    before = np.getbufsize()
    yield f(t.x)
    np.setbufsize(2 * before)
    try:
        yield f(t.x)
    finally:
        np.setbufsize(before)


@trap()
def the_decimal_point_of_the_locale(t: Any) -> Any:
    f = t.capture(lambda x: x * len(locale.setlocale(locale.LC_NUMERIC)))
    yield f(t.x)
    before = locale.setlocale(locale.LC_NUMERIC)
    locale.setlocale(locale.LC_NUMERIC, "C.UTF-8" if before == "C" else "C")
    try:
        yield f(t.x)
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


@trap()
def a_locale_by_name(t: Any) -> Any:
    f = t.capture(lambda x: x * len(locale.getlocale()[0] or ""))
    yield f(t.x)
    before = locale.setlocale(locale.LC_CTYPE)
    locale.setlocale(locale.LC_CTYPE, "C" if locale.getlocale()[0] else "C.UTF-8")
    try:
        yield f(t.x)
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


@trap()
def the_zone_of_time(t: Any) -> Any:
    f = t.capture(lambda x: x * time.timezone)
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    yield f(t.x)
    os.environ["TZ"] = "XXX-3"
    time.tzset()
    try:
        yield f(t.x)
    finally:
        os.environ.pop("TZ")
        if before is not None:
            os.environ["TZ"] = before
        time.tzset()


@trap()
def a_time_in_a_zone(t: Any) -> Any:
    f = t.capture(lambda x: x * time.mktime((2000, 1, 1, 0, 0, 0, 0, 1, 0)) / 1e6)
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    yield f(t.x)
    os.environ["TZ"] = "XXX-9"
    time.tzset()
    try:
        yield f(t.x)
    finally:
        os.environ.pop("TZ")
        if before is not None:
            os.environ["TZ"] = before
        time.tzset()


@trap()
def all_of_the_environment(t: Any) -> Any:
    f = t.capture(lambda x: x * len(os.environ))
    yield f(t.x)
    os.environ["TRAP_OF_ALL"] = "1"
    try:
        yield f(t.x)
    finally:
        del os.environ["TRAP_OF_ALL"]


@trap()
def an_iteration_of_the_environment(t: Any) -> Any:
    f = t.capture(lambda x: x * sum(1 for one in os.environ if one.startswith("TRAP_OF_")))
    yield f(t.x)
    os.environ["TRAP_OF_MORE"] = "1"
    try:
        yield f(t.x)
    finally:
        del os.environ["TRAP_OF_MORE"]


@trap()
def a_copy_of_the_environment(t: Any) -> Any:
    f = t.capture(lambda x: x * len(dict(os.environ).get("TRAP_OF_COPY", "")))
    yield f(t.x)
    os.environ["TRAP_OF_COPY"] = "abc"
    try:
        yield f(t.x)
    finally:
        del os.environ["TRAP_OF_COPY"]


@trap()
def the_environment_in_bytes(t: Any) -> Any:
    f = t.capture(lambda x: x * len(os.environb.get(b"TRAP_OF_BYTES", b"")))
    yield f(t.x)
    os.environ["TRAP_OF_BYTES"] = "abc"
    try:
        yield f(t.x)
    finally:
        del os.environ["TRAP_OF_BYTES"]


@trap()
def a_path_with_a_variable(t: Any) -> Any:
    f = t.capture(lambda x: x * len(os.path.expandvars("$TRAP_OF_PATHS")))
    yield f(t.x)
    os.environ["TRAP_OF_PATHS"] = "abc"
    try:
        yield f(t.x)
    finally:
        del os.environ["TRAP_OF_PATHS"]


@trap()
def the_home_of_the_user(t: Any) -> Any:
    f = t.capture(lambda x: x * len(str(pathlib.Path.home())))
    before = os.environ.get("HOME", "/")
    yield f(t.x)
    os.environ["HOME"] = "/a/longer/home/of/the/user"
    try:
        yield f(t.x)
    finally:
        os.environ["HOME"] = before


@trap()
def the_folder_of_temporary_files(t: Any) -> Any:
    f = t.capture(lambda x: x * len(tempfile.gettempdir()))
    before = tempfile.tempdir
    tempfile.tempdir = "/a"
    yield f(t.x)
    tempfile.tempdir = "/abc"
    try:
        yield f(t.x)
    finally:
        tempfile.tempdir = before


@trap()
def a_path_relative_to_here(t: Any) -> Any:
    f = t.capture(lambda x: x * len(os.path.abspath("a")))
    before = os.getcwd()
    yield f(t.x)
    os.chdir("/")
    try:
        yield f(t.x)
    finally:
        os.chdir(before)


@trap()
def a_path_made_absolute(t: Any) -> Any:
    path = pathlib.Path("a")
    f = t.capture(lambda x: x * len(str(path.absolute())))
    before = os.getcwd()
    yield f(t.x)
    os.chdir("/")
    try:
        yield f(t.x)
    finally:
        os.chdir(before)


@trap()
def a_path_that_exists(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a"
        f = t.capture(lambda x: x * (2.0 if path.exists() else 1.0))
        yield f(t.x)
        path.write_text("1")
        yield f(t.x)
