"""The functions of layers and losses on every sample, against PyTorch's values and gradients.

On arrays, on expressions of known and unknown sizes, on tensors, batched, compiled, and twice
differentiated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.transforms.autodiff import gradients
from tests.data.layer_cases import CASES, FAMILIES, Case
from tests.data.layer_records import recorded, weights
from tests.trace import difference_quotient, symbolic

RECORDED = recorded()
EXACT = {"rtol": 1e-12, "atol": 1e-13}
QUOTIENT = {"rtol": 1e-6, "atol": 1e-8}
DRAW = {"alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
        "gumbel_softmax"}  # fmt: skip
COMPILED_ELSEWHERE = ("convolutions", "pools", "images")
RETURNED = {"batch_norm", "instance_norm"}
"""What returns running statistics, where PyTorch changes them in place."""


def calls(family: str) -> Iterator[tuple[str, int, Case]]:
    for name, cases in FAMILIES[family].items():
        for place, case in enumerate(cases):
            yield name, place, case


@contextmanager
def noted(name: str, case: Case) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        error.add_note(f"{name}: {case}")
        raise


def results(name: str, args: Any, options: Any, of: Any = None) -> list[Any]:
    found = getattr(sg.nn if of is None else of, name)(*args, **options)
    return list(found) if isinstance(found, tuple) else [found]


def values_of(name: str, place: int) -> tuple[list[Any], list[Any]]:
    """What PyTorch gave: the results, and the gradients by `_wrt`."""
    case, arrays = CASES[name][place], RECORDED[name][place]
    count = len(_wrt(case)) if case.order else 0
    return arrays[: len(arrays) - count], arrays[len(arrays) - count :]


def _wrt(case: Case) -> list[int]:
    """The places of the arguments by which a case is differentiated."""
    places = range(len(case.args)) if case.wrt is None else case.wrt
    return [i for i in places if getattr(case.args[i], "dtype", None) == np.float64]


def lifted(case: Case, sizes: bool) -> tuple[list[Any], dict[str, Any], dict[Expression, Any]]:
    """The arguments as placeholders, and what to feed; of `unknown` ones sizes may be unknown."""
    feeds: dict[Expression, Any] = {}

    def lift(one: Any, unknown: bool) -> Any:
        if not isinstance(one, np.ndarray):
            return one
        leaf = symbolic(one, sizes=unknown)
        feeds[leaf] = one
        return leaf

    args = [lift(one, sizes and i in case.unknown) for i, one in enumerate(case.args)]
    return args, {key: lift(one, False) for key, one in case.options.items()}, feeds


@cache
def traced(name: str, place: int, sizes: bool) -> tuple[list[Any], list[Any], dict[Any, Any]]:
    """The results of a case as expressions, its arguments, and what to feed."""
    case = CASES[name][place]
    args, options, feeds = lifted(case, sizes)
    return results(name, args, options), args, feeds


def same(found: list[Any], expected: list[Any], tolerance: Any) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).dtype == other.dtype
        scale = max(1.0, float(np.abs(other).max(initial=0)))
        assert_allclose(one, other, rtol=tolerance["rtol"], atol=tolerance["atol"] * scale)


def total_of(made: list[Any]) -> Any:
    """The results times the weights that the records have, in one sum."""
    total: Any = 0
    for one in made:
        if one.dtype.kind == "f":
            total = total + (one * weights(one.shape)).sum()
    return total


def test_every_function_is_sampled() -> None:
    assert set(CASES) | DRAW == set(sg.nn.__all__)
    assert list(RECORDED) == list(CASES)
    assert all(len(cases) > 1 for cases in CASES.values())


def test_both_paradigms_have_the_same_names() -> None:
    alone = set(dynamic.nn.functional.__all__) - set(sg.nn.__all__)
    assert alone == {
        "upsample",  # the old name
        "fractional_max_pool2d", "fractional_max_pool3d",  # draw their windows, eagerly alone
    }  # fmt: skip
    assert set(sg.nn.__all__) <= set(dynamic.nn.functional.__all__)


@pytest.mark.parametrize("family", FAMILIES)
def test_arrays_have_pytorchs_values(family: str) -> None:
    for name, place, case in calls(family):
        with noted(name, case):
            same(results(name, case.args, case.options), values_of(name, place)[0], EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_expressions_have_pytorchs_values(family: str) -> None:
    for name, place, case in calls(family):
        for sizes in (False, True) if case.unknown else (False,):
            with noted(name, case):
                made, _, feeds = traced(name, place, sizes)
                # interpret checks each value against its inferred type
                same(interpret(made, feeds), values_of(name, place)[0], EXACT)


@pytest.mark.parametrize("family", FAMILIES)
def test_tensors_have_pytorchs_values(family: str) -> None:
    for name, place, case in calls(family):
        with noted(name, case):
            args, options = (
                [dynamic.tensor(a) if isinstance(a, np.ndarray) else a for a in given]
                for given in (case.args, case.options.values())
            )
            named = dict(zip(case.options, options, strict=True))
            made = results(name, args, named, dynamic.nn.functional)
            if name in RETURNED:
                made += [
                    a for a in args[1:3] if a is not None and len(values_of(name, place)[0]) > 1
                ]
            same([one.detach().numpy() for one in made], values_of(name, place)[0], EXACT)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_pytorchs(family: str) -> None:
    for name, place, case in calls(family):
        expected = values_of(name, place)[1]
        if not expected:
            continue
        with noted(name, case):
            made, args, feeds = traced(name, place, False)
            slopes = gradients(total_of(made[:1] if name in RETURNED else made),
                               [args[i] for i in _wrt(case)])  # fmt: skip
            same(interpret(slopes, feeds), expected, EXACT)


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_second_gradients_are_difference_quotients(family: str) -> None:
    """Of the sum of the first gradients, by the first argument."""
    for name, place, case in calls(family):
        if case.order < 2 or not _wrt(case) or case.args[_wrt(case)[0]].size > 40:
            continue
        with noted(name, case):
            made, args, feeds = traced(name, place, False)
            wrt = [args[i] for i in _wrt(case)]
            first = gradients(total_of(made[:1]), wrt)
            mixed = total_of(first)
            leaf = wrt[0]

            def value(
                point: Any, mixed: Any = mixed, leaf: Any = leaf, feeds: Any = feeds
            ) -> float:
                return float(interpret([mixed], {**feeds, leaf: point})[0])

            quotient = difference_quotient(value, feeds[leaf], 1e-3)
            reached = {node.serial for node in ancestors([mixed])}
            found = np.zeros_like(quotient)
            if leaf.serial in reached:
                (found,) = interpret(gradients(mixed, [leaf]), feeds)
            assert_allclose(found, quotient, **QUOTIENT)


@pytest.mark.long
@pytest.mark.parametrize(
    "family",
    [  # test_sizes.py has programs of the others
        pytest.param(one, marks=pytest.mark.long if one in COMPILED_ELSEWHERE else ())
        for one in FAMILIES
    ],
)
def test_compiled_for_sizes_that_are_unknown(family: str) -> None:
    """The first case of each function, all in one program, with its first gradient."""
    outputs: list[Any] = []
    expected: list[Any] = []
    feeds: dict[Expression, Any] = {}
    for name in FAMILIES[family]:
        made, args, fed = traced(name, 0, True)
        outputs += made
        expected += values_of(name, 0)[0]
        wrt = _wrt(CASES[name][0])
        if values_of(name, 0)[1] and CASES[name][0].args[wrt[0]].ndim < 5:
            kinds = [one for one in made if one.dtype.kind == "f"]
            outputs.append(gradients(kinds[0].sum(), [args[wrt[0]]])[0])
            expected.append(interpret([outputs[-1]], fed)[0])
        feeds |= fed
    reached = {node.serial for node in ancestors(outputs)}
    feeds = {leaf: array for leaf, array in feeds.items() if leaf.serial in reached}
    compiled = sg.compile(list(feeds), outputs, lint="off")
    same(compiled(*feeds.values()), expected, {"rtol": 1e-9, "atol": 1e-10})


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_batches_are_the_same_one_by_one(family: str) -> None:
    """`vmap` over the first float operand of each function's first case."""
    for name, cases in FAMILIES[family].items():
        case = cases[0]
        place = next(
            (i for i, a in enumerate(case.args) if getattr(a, "dtype", 0) == np.float64), None
        )
        if place is None or name in RETURNED:
            continue
        with noted(name, case):
            args, options, feeds = lifted(case, False)
            stacked = np.stack([case.args[place], case.args[place][..., ::-1]])

            def one(x: Any, name: str = name, args: Any = args, place: int = place,
                    options: Any = options) -> Any:  # fmt: skip
                given = [x if i == place else a for i, a in enumerate(args)]
                return tuple(results(name, given, options))

            leaf = symbolic(stacked)
            feeds = {key: a for key, a in feeds.items() if key is not args[place]} | {leaf: stacked}
            found = interpret(list(sg.vmap(one)(leaf)), feeds)
            for i, row in enumerate(stacked):
                given = [row if j == place else a for j, a in enumerate(case.args)]
                same([one[i] for one in found], results(name, given, case.options), EXACT)


@pytest.mark.parametrize(
    ("p", "norms"), [(0, [2.0, 0.0]), (-np.inf, [0.0, 0.0]), (0.5, [12.0, 0.0])]
)
def test_normalize_by_any_norm(p: float, norms: list[float]) -> None:
    x = np.array([[3.0, 0.0, -3.0], [0.0, 0.0, 0.0]])  # |x|**0.5 adds up to 2 sqrt(3)
    expected = x / np.maximum(np.array(norms)[:, None], 1e-12)
    assert_allclose(sg.nn.normalize(x, p), expected, rtol=1e-15)
    assert_allclose(dynamic.nn.functional.normalize(dynamic.tensor(x), p), expected)
