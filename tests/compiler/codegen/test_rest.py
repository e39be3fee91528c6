"""The loops of the native compiler: the rest of a row, reading across rows, and nested sums."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.ir.records import For
from staticgraph.compiler.llvm import native, options
from staticgraph.compiler.llvm.lower.rest import WHOLE, leaves_rest
from staticgraph.compiler.llvm.native import compile_native
from tests.combinations import some
from tests.paths import ROOT
from tests.processors import machine_for

LENGTHS = [*range(2 * WHOLE + 2), 63, 64, 65, 127, 129, 1000]

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sums of exp": lambda x: [sg.exp(x).sum(1), sg.exp(x).sum()],
    "softmax": lambda x: sg.log_softmax(x, 1),
    "elements": lambda x: [sg.tanh(x) * x, sg.sin(x * 1e6)],
    "extrema": lambda x: [sg.log(x * x).max(1), sg.sigmoid(x).min(1)],
    "another dtype": lambda x: [sg.astype(sg.exp(x) > 2, "int32").sum(1), sg.erf(x) > 0.5],
    "powers": lambda x: (x * x) ** 0.3,
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", some(["float32", "float64"], 1))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_of_any_length(name: str, dtype: str) -> None:
    x = sg.placeholder("x", (None, None), dtype)
    result = FUNCTIONS[name](x)
    outputs = result if isinstance(result, list) else [result]
    executable = sg.compile([x], outputs)
    numpy = sg.compile([x], outputs, debug=True)
    for length in LENGTHS[1:]:
        value = np.random.default_rng(0).standard_normal((3, length)).astype(dtype)
        expected = [np.asarray(one) for one in numpy(value)]
        for found, wanted in zip(executable(value), expected, strict=True):
            tolerance = 64 * np.finfo(dtype).eps
            assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_element_has_the_same_bits_in_a_row_of_any_length(dtype: str) -> None:
    functions = (sg.exp, sg.tanh, sg.sin, sg.log, sg.erf)
    x = sg.placeholder("x", (None, None), dtype)
    executable = sg.compile([x], [function(x) for function in functions])
    value = np.random.default_rng(0).standard_normal((2, LENGTHS[-1])).astype(dtype)
    wanted = executable(value)
    for length in LENGTHS:
        for found, whole in zip(executable(value[:, :length].copy()), wanted, strict=True):
            assert found.tobytes() == whole[:, :length].tobytes()


@pytest.mark.slow
def test_nothing_is_read_or_written_behind_a_row() -> None:
    """Rows that end where memory does: the kernel would be killed if it went on."""
    code = f"""
import ctypes, mmap
import numpy as np
import staticgraph as sg
from tests.layouts import all_in_place

page = mmap.PAGESIZE
memory = mmap.mmap(-1, 3 * page)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + 2 * page), page, 0) == 0

x = sg.placeholder("x", (None, None), "float32")
row = sg.compile([x], [sg.exp(x).sum(1), sg.softmax(x, 1)])
into = sg.compile([x], sg.exp(x))
for columns in {LENGTHS[1:]}:
    at = 2 * page - 4 * columns
    last = np.frombuffer(memory, np.float32, columns, at).reshape(1, columns)
    last[...] = np.linspace(-1, 1, columns)
    total, part = row(last)
    np.testing.assert_allclose(total, np.exp(last).sum(1), rtol=1e-6)
    np.testing.assert_allclose(part, np.exp(last) / total, rtol=1e-6)
    wanted = np.exp(last)
    np.testing.assert_allclose(into(last.copy(), out=last), wanted, rtol=1e-6)
    if columns > 2:
        with all_in_place():
            np.testing.assert_allclose(into(last[:, 1::2]), np.exp(last[:, 1::2]), rtol=1e-6)
            half = columns // 2
            pairs = np.frombuffer(memory, np.float32, 2 * half, 2 * page - 8 * half)
            across = pairs.reshape(-1, 2)[:, 1:].T
            np.testing.assert_allclose(row(across)[0], np.exp(across).sum(1), rtol=1e-6)
    into(last.copy())
print("done")
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.stdout == "done\n", found.stderr


def loop(text: str) -> For:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    (found,) = parsed_function(f"def unit():\n{lines}").body
    assert isinstance(found, For)
    return found


@pytest.mark.parametrize(
    "header, expected",
    [
        ("range(n)", True), ("range(a, b)", True), ("range(a, 32)", True), ("range(17)", True),
        ("range(16)", False), ("range(48)", False), ("range(3, 19)", False), ("range(5)", False),
    ],
)  # fmt: skip
def test_which_loops_leave_a_rest(header: str, expected: bool) -> None:
    assert leaves_rest(loop(f"for i in {header}:\n    b[i] = exp(a[i])")) is expected
    assert not leaves_rest(loop(f"for i in {header}:\n    b[i] = a[i] * 2"))
    nested = f"for i in {header}:\n    for j in range(n):\n        b[j] = exp(a[i])"
    assert not leaves_rest(loop(nested))


# -- reading across rows ---------------------------------------------------------------------------


def test_this_llvm_is_known_to_have_the_options() -> None:
    """One that is not leaves strided loops to scalar code: look whether it still has them."""
    assert llvm.llvm_version_info[0] in options.KNOWN


@pytest.mark.parametrize(("cpu", "gathers"), [("skylake", True), ("x86-64", False)])
def test_reading_across_rows_is_vectorised_where_there_are_gathering_loads(
    cpu: str, gathers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []
    optimise = native.optimise

    def seen(module: Any, machine: Any) -> None:
        optimise(module, machine)
        texts.append(str(module))

    monkeypatch.setattr(native, "optimise", seen)
    monkeypatch.setattr(native, "kernel_machine", lambda: machine_for("x86_64", cpu))
    unit = """def unit(a: p_f32, b: p_f32, n: i64, m: i64) -> i64:
    for i in range(n):
        for j in range(m):
            b[i * m + j] = exp(a[j * n + i])
"""
    compile_native([parsed_function(unit)])
    assert ("llvm.masked.gather" in texts[0]) is gathers
    assert ("<8 x float>" in texts[0]) is gathers


@pytest.mark.parametrize("shape", [(1, 1), (1, 90), (90, 1), (31, 33), (64, 65), (129, 257)])
def test_strips(shape: tuple[int, int]) -> None:
    x = sg.placeholder("x", (None, None), "float32")
    y = sg.placeholder("y", (None, None), "float32")
    executable = sg.compile([x, y], [x.T * 2 + y, sg.exp(x.T) - y, (x.T * y).sum(), x.T + 1])
    assert "for strip in range(" in executable.source
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(shape), rng.standard_normal(shape[::-1])
    a, b = a.astype("float32"), b.astype("float32")
    one, two, three, four = executable(a, b)
    assert_array_equal(one, a.T * 2 + b)
    assert_allclose(two, np.exp(a.T) - b, rtol=1e-5, atol=1e-6)
    products = (a.T * b).astype("float64")
    assert_allclose(three, products.sum(), rtol=0, atol=1e-6 * np.abs(products).sum())
    assert_array_equal(four, a.T + 1)


def test_a_transposed_matrix_alone_is_read_in_its_order() -> None:
    x = sg.placeholder("x", (None, None), "float32")
    for function in (lambda v: sg.exp(v).sum(), lambda v: (v * v).mean()):
        value = np.random.default_rng(0).standard_normal((301, 200)).astype("float32")
        straight, turned = (sg.compile([x], function(v)) for v in (x, x.T))
        assert turned(value).tobytes() == straight(value).tobytes()


def test_sums_over_several_loops_are_added_in_float64() -> None:
    x, y = (sg.placeholder(name, (None, None), "float32") for name in "xy")
    executable = sg.compile([x, y], (x.T * y).sum())
    for shape in ((1500, 2000), (3, 1_000_000), (1_000_000, 3)):
        a, b = np.full(shape, 0.1, "float32"), np.ones(shape[::-1], "float32")
        # in float32 accumulators the error of 3,000,000 terms would be 1e-4 and more
        assert_allclose(executable(a, b), np.float32(0.1) * 3e6, rtol=2e-7)
