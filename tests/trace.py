"""What the tests of ops share: samples as symbolic expressions, and difference quotients."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import unknown
from staticgraph.compiler.core.types import TensorType, as_dtype
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.transforms import control_flow  # noqa: F401 - provides the loops of gradients
from staticgraph.compiler.transforms.autodiff import gradients
from tests.sampled.sample import Sample
from tests.samples import SAMPLES

_keys = itertools.count()


def placeholder(
    shape: Sequence[Any], dtype: Any = "float64", name: str | None = None
) -> Expression:
    type = TensorType(tuple(shape), as_dtype(dtype))
    attrs = leaves.leaf_attrs(type.shape, type.dtype, f"test{next(_keys)}")
    return Expression(leaves.placeholder, (), attrs, name)


def symbolic(array: np.ndarray, *, sizes: bool = False) -> Expression:
    """A placeholder of the array's type; with `sizes` every axis longer than 1 is unknown."""
    shape = [unknown() if sizes and size > 1 else size for size in array.shape]
    return placeholder(shape, array.dtype, f"x{next(_keys)}")


def replace(args: Any, change: Callable[[np.ndarray], Any]) -> Any:
    """`args` with every array replaced, in lists too."""
    if isinstance(args, np.ndarray):
        return change(args)
    if isinstance(args, list | tuple) and not _plain(args):
        return type(args)(replace(one, change) for one in args)
    return args


def _plain(args: Any) -> bool:
    return not any(isinstance(one, np.ndarray | list) for one in args)


def arrays(sample: Sample) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    replace(sample.args, lambda array: (found.append(array), array)[1])
    return found


def outputs(name: str, args: Any, options: dict[str, Any]) -> list[Any]:
    """The results of the public function as a list, whether it gives one or several."""
    result = getattr(ops, name)(*args, **options)
    return list(result) if isinstance(result, list | tuple) else [result]


def traced(
    name: str, sample: Sample, *, sizes: bool = False, dtype: str | None = None
) -> tuple[list[Expression], dict[Expression, np.ndarray]]:
    """The sample's results as expressions, and what to feed. `dtype` replaces float64."""
    feeds: dict[Expression, np.ndarray] = {}

    def lift(array: np.ndarray) -> Expression:
        if dtype is not None and array.dtype == np.float64:
            array = array.astype(dtype)
        leaf = symbolic(array, sizes=sizes)
        feeds[leaf] = array
        return leaf

    return outputs(name, replace(sample.args, lift), sample.options), feeds


def each_sample(
    keep: Callable[[Sample], bool] = lambda sample: True, most: int | None = None
) -> Callable[[Any], Any]:
    """Make of a test of `(name, sample)` one of an op: it runs for all samples that `keep` accepts.

    To start a test and to report it takes longer than most samples do. An error says which sample
    it is about. With `most`, `make test` runs it for the first of them, `make test-all` for all.
    """

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def over_samples(name: str, count: int | None) -> None:
            accepted = [(i, one) for i, one in enumerate(SAMPLES[name]) if keep(one)]
            for i, sample in accepted[:count]:
                try:
                    test(name, sample)
                except Exception as error:
                    error.add_note(f"sample {i} of {name}: {sample}")
                    raise

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        given = [inspect.Parameter(name, kind) for name in ("name", "count")]
        over_samples.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
        cases: list[Any] = []
        for name, samples in SAMPLES.items():
            accepted = sum(map(keep, samples))
            if accepted:
                cases.append(pytest.param(name, most, id=name))
            if most is not None and accepted > most:
                cases.append(pytest.param(name, None, id=f"{name}-all", marks=pytest.mark.long))
        return pytest.mark.parametrize(("name", "count"), cases)(over_samples)

    return decorate


def cotangents(values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A fixed weight in (0.5, 1.5) per element of each value."""
    rng = np.random.default_rng(99)
    return [rng.uniform(0.5, 1.5, np.shape(value)).astype(value.dtype) for value in values]


def with_gradients(name: str, most: int) -> tuple[list[Expression], dict[Expression, np.ndarray]]:
    """The results of an op's first samples with their gradients, and what is to be fed."""
    results: list[Expression] = []
    feeds: dict[Expression, np.ndarray] = {}
    for i, sample in enumerate(SAMPLES[name][:most]):
        found, fed = traced(name, sample, sizes=sample.sizes and i % 2 == 0)
        results += found
        floats = [leaf for leaf in fed if leaf.dtype == np.float64]
        if sample.order:
            smooth = [one for one in found if one.dtype.kind == "f"]
            for one, weight in zip(smooth, cotangents(interpret(smooth, fed)), strict=True):
                leaf = symbolic(weight, sizes=False)
                fed[leaf] = weight
                read = {node.serial for node in ancestors([one])}
                wrt = [operand for operand in floats if operand.serial in read]
                results += gradients((one * leaf).sum(), wrt) if wrt else []
        feeds |= fed
    reached = {node.serial for node in ancestors(results)}
    return results, {leaf: array for leaf, array in feeds.items() if leaf.serial in reached}


def difference_quotient(
    function: Callable[[np.ndarray], float], at: np.ndarray, step: float = 2e-3
) -> np.ndarray:
    """The gradient of a scalar function by central differences of fourth order."""
    result = np.zeros(at.shape)
    for index in np.ndindex(at.shape):
        moved = []
        for factor in (-2, -1, 1, 2):
            point = at.copy()
            point[index] += factor * step
            moved.append(function(point))
        result[index] = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * step)
    return result
