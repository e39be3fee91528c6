"""Every function in NumPy's names, on every sample: in both paradigms, compiled, and its slopes.

The ops that they are composed of are tested one by one in tests/compiler/ops.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg
from staticgraph.compiler import functions
from staticgraph.compiler.core.pytree import leaves
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.transforms.autodiff import gradients
from tests.compiler.functions.samples import SAMPLES, Call
from tests.trace import cotangents, difference_quotient, replace, symbolic

QUOTIENT = {"rtol": 2e-7, "atol": 2e-9}
ROUNDING = {"rtol": 1e-13, "atol": 1e-14}
GROUPS = sorted({*functions.NAMES.values()} - {"asking"})


def calls(group: str) -> Iterator[tuple[str, Call]]:
    for name, module in functions.NAMES.items():
        if module == group:
            yield from ((name, one) for one in SAMPLES.get(name, []))


def results(name: str, args: Any, options: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return leaves(getattr(sg, name)(*args, **options))


@cache
def traced(name: str, place: int, sizes: bool) -> tuple[list[Any], dict[Expression, Any]]:
    """The results of a sample as expressions, and what to feed."""
    sample = SAMPLES[name][place]
    feeds: dict[Expression, np.ndarray] = {}

    def lift(array: np.ndarray) -> Expression:
        leaf = symbolic(array, sizes=sizes)
        feeds[leaf] = array
        return leaf

    return results(name, replace(sample.args, lift), sample.options), feeds


def numpys(name: str, sample: Call) -> list[Any]:
    options = dict(sample.options)
    if sample.numpy is None:
        options.pop("size", None)
        options.pop("length", None)
    with np.errstate(all="ignore"):
        return leaves((sample.numpy or getattr(np, name))(*sample.args, **options))


class Noted:
    """Which sample an error is about."""

    def __init__(self, name: str, sample: Call) -> None:
        self.text = f"{name}: {sample}"

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            error.add_note(self.text)


def test_every_function_is_sampled() -> None:
    apart = {"einsum_path", "piecewise"}  # test_einsum.py, and below
    assert set(SAMPLES) == set(functions.NAMES) - apart
    assert all(len(samples) > 1 for samples in SAMPLES.values())


def test_the_tables_say_where_functions_are() -> None:
    for names in (functions.NAMES, functions.LINALG):
        for name, module in names.items():
            found = functions.function_named(name, names)
            home = inspect.getmodule(found)
            if inspect.isfunction(found):
                assert (
                    home is not None and home.__name__ == f"staticgraph.compiler.functions.{module}"
                )


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")  # since NumPy 2.5
@pytest.mark.parametrize("group", GROUPS)
def test_values_are_numpys(group: str) -> None:
    for name, sample in calls(group):
        with Noted(name, sample):
            found, expected = results(name, sample.args, sample.options), numpys(name, sample)
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                assert_allclose(one, np.asarray(other), **ROUNDING)
                assert np.shape(one) == np.shape(other)
                assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("group", GROUPS)
def test_expressions_and_tensors_have_the_values_of_arrays(group: str) -> None:
    for name, samples in SAMPLES.items():
        if functions.NAMES[name] != group:
            continue
        for place, sample in enumerate(samples):
            with Noted(name, sample):
                expected = results(name, sample.args, sample.options)
                for sizes in (False, True) if sample.sizes else (False,):
                    made, feeds = traced(name, place, sizes)
                    # interpret checks each value against its inferred type
                    _same(interpret(_as_expressions(made), feeds), expected)
                tensors = results(name, replace(sample.args, dynamic.tensor), sample.options)
                _same([_array(one) for one in tensors], expected, dtypes=False)


def _as_expressions(made: list[Any]) -> list[Expression]:
    return [one if isinstance(one, Expression) else sg.constant(np.asarray(one)) for one in made]


def _array(one: Any) -> Any:
    return one.detach().numpy() if isinstance(one, dynamic.Tensor) else one


def _same(found: list[Any], expected: list[Any], dtypes: bool = True) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        same = np.asarray(one).dtype == np.asarray(other).dtype
        assert same or not dtypes  # PyTorch's promotion of integers is another
        assert_allclose(one, other, **(ROUNDING if same else {"rtol": 1e-6}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(i, marks=pytest.mark.long) for i in range(1, 6))]
)
def test_compiled_together_they_are_the_same(part: int) -> None:
    """The first sample of each sixth, of unknown sizes every other time."""
    outputs: list[Any] = []
    expected: list[Any] = []
    feeds: dict[Expression, Any] = {}
    names = [name for name in SAMPLES if functions.NAMES[name] in GROUPS]
    for i, name in enumerate(names[part::6]):
        samples = SAMPLES[name]
        for sizes in (samples[0].sizes and i % 2 == 0, False):
            made, fed = traced(name, 0, sizes)
            made = _as_expressions(made)
            reached = {node.serial for node in ancestors(made)}
            if all(leaf.serial in reached for leaf in fed) or not sizes:
                break  # else an input would be needed for its sizes alone
        feeds |= {leaf: array for leaf, array in fed.items() if leaf.serial in reached}
        outputs += made
        expected += results(name, samples[0].args, samples[0].options)
    compiled = sg.compile(list(feeds), outputs, lint="off")
    _same(compiled(*feeds.values()), expected)


def _slopes(made: list[Expression], wrt: list[Expression], values: list[Any]) -> list[Expression]:
    total: Any = None
    for one, weight in zip(made, cotangents(values), strict=True):
        part = (one * weight).sum()
        total = part if total is None else total + part
    return gradients(total, wrt)


def _weighted(values: list[Any]) -> float:
    return float(sum((v * w).sum() for v, w in zip(values, cotangents(values), strict=True)))


def _differentiable(name: str, place: int) -> tuple[list[Expression], list[Expression], Any]:
    made, feeds = traced(name, place, False)
    floats = [one for one in made if isinstance(one, Expression) and one.dtype == np.float64]
    reached = {node.serial for node in ancestors(floats)}
    wrt = [leaf for leaf in feeds if leaf.dtype == np.float64 and leaf.serial in reached]
    return floats, wrt, feeds


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_gradients_are_difference_quotients(group: str) -> None:
    for name, samples in SAMPLES.items():
        for place, sample in enumerate(samples):
            if functions.NAMES[name] != group or not sample.order:
                continue
            with Noted(name, sample):
                floats, wrt, feeds = _differentiable(name, place)
                if not wrt:
                    continue
                first = _slopes(floats, wrt, interpret(floats, feeds))
                for leaf, slope in zip(wrt, interpret(first, feeds), strict=True):

                    def total(
                        point: Any, leaf: Any = leaf, floats: Any = floats, feeds: Any = feeds
                    ) -> float:
                        return _weighted(interpret(floats, {**feeds, leaf: point}))

                    assert_allclose(slope, difference_quotient(total, feeds[leaf]), **QUOTIENT)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_second_gradients_are_difference_quotients(group: str) -> None:
    for name, samples in SAMPLES.items():
        for place, sample in enumerate(samples[:2]):
            if functions.NAMES[name] != group or sample.order < 2:
                continue
            with Noted(name, sample):
                floats, wrt, feeds = _differentiable(name, place)
                if not wrt:
                    continue
                first = _slopes(floats, wrt, interpret(floats, feeds))
                mixed = sum(
                    (one * w).sum()
                    for one, w in zip(first, cotangents(interpret(first, feeds)), strict=True)
                )
                reached = {node.serial for node in ancestors([mixed])}
                for leaf in wrt:

                    def total(
                        point: Any, leaf: Any = leaf, first: Any = first, feeds: Any = feeds
                    ) -> float:
                        return _weighted(interpret(first, {**feeds, leaf: point}))

                    quotient = difference_quotient(total, feeds[leaf])
                    found = np.zeros_like(quotient)
                    if leaf.serial in reached:
                        (found,) = interpret(gradients(mixed, [leaf]), feeds)
                    assert_allclose(found, quotient, **QUOTIENT)


def test_batches_are_the_same_one_by_one() -> None:
    array = np.random.default_rng(5).uniform(-2, 2, (3, 4, 4))
    x = symbolic(array)
    more: dict[str, tuple[Any, ...]] = {
        "roll": (1,),
        "kron": (np.ones((2, 1)),),
        "insert": (1, 2.0),
    }
    calls_: dict[str, Any] = {
        "einsum": lambda x: sg.einsum("ij,kj->ik", x, x),
        "searchsorted": lambda x: sg.searchsorted(sg.sort(sg.ravel(x)), x),
    }
    for name in (
        "tril", "roll", "trace", "diagonal", "rot90", "median", "cov", "nanmax", "unwrap",
        "trapezoid", "einsum", "kron", "ediff1d", "nan_to_num", "searchsorted", "insert",
    ):  # fmt: skip

        def one(x: Any, name: str = name) -> Any:
            return calls_[name](x) if name in calls_ else getattr(sg, name)(x, *more.get(name, ()))

        (found,) = interpret([sg.vmap(one)(x)], {x: array})
        assert_allclose(found, np.stack([one(row) for row in array]), **ROUNDING)


def test_what_is_asked_of_shapes_and_dtypes_is_answered_as_numpy_does() -> None:
    for name, sample in calls("asking"):
        assert getattr(sg, name)(*sample.args) == getattr(np, name)(*sample.args), name
    x = sg.placeholder("x", (None, 3))
    assert sg.shape(x) == x.shape
    assert sg.size(x, 1) == 3
    assert not sg.isscalar(x)


def test_piecewise_takes_functions_and_numbers() -> None:
    x = np.linspace(-2.0, 2.0, 5)
    for given in ([x < -1, x > 1], [np.negative, 7.0, 3.0]), ([x > 0], [np.square]):
        assert_allclose(sg.piecewise(x, *given), np.piecewise(x, *given))


def test_rounding_to_decimals_is_numpys_in_every_spelling() -> None:
    values = {
        "real": np.array([1.2345, -2.5, 0.5, 1e9]), "integers": np.array([1245, -15, 25]),
        "complex": np.array([1.256 - 2.5j, 0.5 + 1.55j]),
    }  # fmt: skip
    for given in values.values():
        x = sg.placeholder("x", (None,), given.dtype)
        for decimals in (-1, 0, 2):
            expected = np.round(given, decimals)
            spelled = [x.round(decimals), np.round(x, decimals), sg.round(x, decimals=decimals)]
            eager = [sg.round(given, decimals), np.round(dynamic.tensor(given), decimals)]
            for found in (*sg.compile([x], spelled)(given), *map(np.asarray, eager)):
                np.testing.assert_allclose(found, expected, 1e-15)
                assert found.dtype == expected.dtype
    with pytest.raises(sg.GraphError, match="has no value before it runs"):
        round(sg.placeholder("x", ()), 2)
