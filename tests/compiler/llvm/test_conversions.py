"""Conversions of floats: every number of 16 bits, by instructions and by the bits, and nan."""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np
import pytest
from llvmlite import ir
from numpy.testing import assert_array_equal

import staticgraph as sg
from staticgraph.compiler.export import functions
from staticgraph.compiler.llvm import conversions
from staticgraph.compiler.llvm.conversions import CONVERSIONS
from staticgraph.compiler.llvm.machine import target_machine

TYPES: dict[str, tuple[Any, Any]] = {
    "u16": (ir.IntType(16), np.uint16), "f32": (ir.FloatType(), np.float32),
    "f64": (ir.DoubleType(), np.float64), "u64": (ir.IntType(64), np.uint64),
}  # fmt: skip
ALL = np.arange(65536, dtype=np.uint16)


def _floats(dtype: Any) -> Any:
    """Numbers beside those that a narrow dtype has, and half-way between them, of all sizes."""
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        exact = ALL.view(dtype).astype(np.float64)
        exact = exact[np.isfinite(exact)]
        between = (exact + np.roll(exact, 1)) / 2
        beside = [np.nextafter(between, side) for side in (-np.inf, np.inf)]
        spread = random.normal(size=4000) * 10.0 ** random.integers(-50, 45, 4000)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 65519.99, 65520.0, 1e308, 5e-324, 2.0**-25]
    return np.concatenate([exact, between, *beside, spread, edges])


def _run(name: str, given: Any, **options: object) -> Any:
    """A loop over an array that LLVM compiles."""
    define, result, operand = CONVERSIONS[name]
    module = ir.Module("conversions")
    pointers = [TYPES[one][0].as_pointer() for one in (operand, result)]
    kind = ir.FunctionType(ir.VoidType(), [*pointers, ir.IntType(64)])
    function = ir.Function(module, kind, "convert")
    entry, body, done = (function.append_basic_block() for _ in range(3))
    builder = ir.IRBuilder(entry)
    builder.branch(body)
    builder.position_at_end(body)
    index = builder.phi(ir.IntType(64))
    index.add_incoming(ir.IntType(64)(0), entry)
    source, target, count = function.args
    loaded = builder.load(
        builder.gep(source, [index], source_etype=TYPES[operand][0]), typ=TYPES[operand][0]
    )
    value = define(builder, loaded, **options)
    builder.store(value, builder.gep(target, [index], source_etype=TYPES[result][0]))
    after = builder.add(index, ir.IntType(64)(1))
    index.add_incoming(after, body)
    builder.cbranch(builder.icmp_signed("<", after, count), body, done)
    ir.IRBuilder(done).ret_void()
    with llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), target_machine()) as engine:
        engine.finalize_object()
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        found = np.empty(given.shape, TYPES[result][1])
        call(engine.get_function_address("convert"))(
            given.ctypes.data, found.ctypes.data, given.size
        )
    return found


def _same(found: Any, expected: Any) -> None:
    """Equal bits, but for which nan it is."""
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), nan)
    bits = f"u{expected.itemsize}"
    np.testing.assert_array_equal(found.view(bits)[~nan], expected.view(bits)[~nan])


@pytest.mark.parametrize("native", sorted({False, conversions.has_instructions()}))
def test_float16_is_converted_as_by_numpy(native: bool) -> None:
    _same(_run("float32_of_float16", ALL, native=native), ALL.view(np.float16).astype(np.float32))
    wide = _floats(np.float16)
    with np.errstate(all="ignore"):
        single = wide.astype(np.float32)
        for name, given in (("float16_of_float64", wide), ("float16_of_float32", single)):
            found = _run(name, given, native=native).view(np.float16)
            _same(found, given.astype(np.float16))


def test_bfloat16_is_converted_as_by_ml_dtypes() -> None:
    brains = ALL.view(ml_dtypes.bfloat16)
    _same(_run("float32_of_bfloat16", ALL), brains.astype(np.float32))
    with np.errstate(all="ignore"):
        single = _floats(ml_dtypes.bfloat16).astype(np.float32)
        found = _run("bfloat16_of_float32", single).view(ml_dtypes.bfloat16).astype(np.float32)
        _same(found, single.astype(ml_dtypes.bfloat16).astype(np.float32))


def test_exported_files_convert_in_the_same_way() -> None:
    module: dict[str, Any] = {"np": np, "njit": lambda **_: lambda function: function}
    exec(functions.definitions(set(CONVERSIONS)), module)
    sample = np.random.default_rng(1).permutation(_floats(np.float16))[:1500]
    with np.errstate(all="ignore"):
        given = {"u16": ALL[::40].copy(), "f32": sample.astype(np.float32), "f64": sample}
        given["u64"] = np.array([0.0, 1.9, -1.0, 2.0**63, 1.8e19])
        for name, (_, result, operand) in CONVERSIONS.items():
            array = given["u64"] if result == "u64" else given[operand]
            found = np.array([module[name](one) for one in array], TYPES[result][1])
            expected = _run(name, array)
            if result == "u16":
                dtype = ml_dtypes.bfloat16 if name.startswith("b") else np.float16
                found, expected = (one.view(dtype).astype("f4") for one in (found, expected))
            if result == "u64":
                np.testing.assert_array_equal(found, expected)
            else:
                _same(found, expected)


def test_what_is_known_to_be_nan_becomes_one_integer() -> None:
    # LLVM has no value for it, and made what follows, the check of an index too, of anything
    x, ordered = sg.placeholder("x", (4,), "float64"), np.array([0.5, 0.7, 1.0])
    unknown = x * np.nan
    found = sg.astype(unknown, "int64") * 0
    for step in (2, 1):
        wanted = found + step
        place = sg.minimum(wanted, 3) - 1
        before = sg.logical_or(sg.take(ordered, place) <= unknown, sg.isnan(unknown))
        found = sg.where(sg.logical_and(wanted <= 3, before), wanted, found)
    assert_array_equal(sg.compile([x], found, lint="off")(np.zeros(4)), [3] * 4)
