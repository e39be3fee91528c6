"""Rare cases of vecmath: compiled kernels branch to them, Numba always computes both."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from benchmarks.vecmath_loops import one_by_one, vectorised
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.llvm.native import compile_native
from staticgraph.compiler.llvm.vecmath.deferred import KernelModule
from staticgraph.compiler.llvm.vecmath.lane import BINARY32, BINARY64, Format, Lane
from staticgraph.compiler.llvm.vecmath.rare import Rare
from tests.compiler.llvm.test_vecmath import assert_same_values_and_signs

pytestmark = pytest.mark.slow

HUGE = {"float32": 3e7, "float64": 3e15}
RARE = ("sin", "cos", "tan")
UNIT = """def unit(a: p_{0}, b: p_{0}, n: i64) -> i64:
    for i in range(n):
        b[i] = {1}(a[i])
"""


def compiled(name: str, dtype: str, backend: str = "llvm") -> sg.Executable:
    argument = sg.placeholder("x", (None,), dtype)
    return sg.compile([argument], getattr(sg, name)(argument), backend=backend)


@pytest.mark.parametrize("dtype", HUGE)
@pytest.mark.parametrize("name", RARE)
def test_one_huge_argument_among_moderate_ones(name: str, dtype: str) -> None:
    """In any lane of a vector, of its remainder, and of what remains after that."""
    moderate = np.linspace(0.1, 60.0, 97).astype(dtype)
    usual, alone = vectorised(name, moderate), one_by_one(name, np.array([HUGE[dtype]], dtype))
    function = compiled(name, dtype)
    for place in range(len(moderate)):
        x, expected = moderate.copy(), usual.copy()
        x[place], expected[place] = HUGE[dtype], alone[0]
        np.testing.assert_array_equal(function(x), expected)


@pytest.mark.parametrize("dtype", HUGE)
@pytest.mark.parametrize("name", RARE)
def test_kernels_and_numba_give_the_same_bits(name: str, dtype: str) -> None:
    words = np.random.default_rng(8).integers(0, 2**63, 20_000, dtype=np.uint64)
    x = words.view(np.float64) if dtype == "float64" else words.astype(np.uint32).view(np.float32)
    x = np.concatenate([x, -x, np.array([0, -0.0, np.inf, -np.inf, np.nan], dtype)])
    ours, numbas = (compiled(name, dtype, backend)(x) for backend in ("llvm", "numba"))
    assert_same_values_and_signs(ours, numbas)


@pytest.mark.parametrize(("kind", "form"), [("f32", BINARY32), ("f64", BINARY64)])
@pytest.mark.parametrize("name", RARE)
def test_only_the_rare_case_itself_is_called(name: str, kind: str, form: Format) -> None:
    """The tests of the masks are inlined, and nothing is left undefined or unused."""
    code = compile_native([parsed_function(UNIT.format(kind, name))])
    assert f"exact.rare.{name}_anywhere.{form.bits}".encode() in code
    assert f"\0rare.{name}_anywhere.{form.bits}".encode() not in code


def test_a_rare_case_is_declared_once_per_module() -> None:
    def twice(x: Lane) -> Lane:
        return x + x

    module, rare = KernelModule("kernel"), Rare(twice, 1, BINARY32)
    assert module.declared(rare) is module.declared(rare)
    assert str(module).count("declare float") == 1


@pytest.mark.parametrize(("form", "widest"), [(BINARY32, 16), (BINARY64, 8)])
def test_no_variant_is_wider_than_what_the_formula_is_computed_in(
    form: Format, widest: int
) -> None:
    def same(x: Lane) -> Lane:
        return x

    module = KernelModule("kernel")
    module.declared(Rare(same, 1, form))
    assert max(lanes for _, lanes in module.variants.values()) == widest


def test_a_module_without_rare_cases_keeps_nothing_alive() -> None:
    assert "llvm.compiler.used" not in str(KernelModule("kernel"))
