"""Indices, masks and draws whose values a captured function does not know: as eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.fuzz.capture.compare import REFUSED, SAME, compared

FIRST, SECOND = torch.tensor([0, 2, 1]), torch.tensor([1, 3, 0])
V, EDGES = torch.ones(3).double(), torch.tensor([-1.0, 0.0, 0.5, 1.0]).double()


def x() -> Any:
    return torch.tensor(np.random.default_rng(0).normal(size=(3, 4)), requires_grad=True)


def _with_nan() -> Any:
    values = x().detach()
    values[0, 1] = np.nan
    return values


def _set(key: Callable[..., Any], value: Any = None) -> Callable[..., Any]:
    def program(x: Any, i: Any, j: Any, v: Any) -> Any:
        y = x * 1
        y[key(x, i, j)] = v if value is None else value
        return y

    return program


INDEXED: dict[str, Callable[..., Any]] = {
    "pairs": lambda x, i, j, v: x[i, j],
    "a row of pairs": lambda x, i, j, v: x[torch.arange(3), j],
    "negative": lambda x, i, j, v: x[-i, -1] + x[i - 3, 0],
    "with a number": lambda x, i, j, v: x[i, 0],
    "with a slice": lambda x, i, j, v: (x[i, 1:3], x[:2, j], x[None, i]),
    "apart": lambda x, i, j, v: x.reshape(3, 2, 2)[i, :, i - 2],
    "broadcast": lambda x, i, j, v: x[i[:, None], j],
    "pairs set": _set(lambda x, i, j: (i, j)),
    "slices set": _set(lambda x, i, j: (slice(None), j[:1]), 5.0),
    "number set": _set(lambda x, i, j: (i, 0)),
    "mask set": _set(lambda x, i, j: x > 0, 2.0),
    "mask of rows set": _set(lambda x, i, j: i > 0, 3.0),
    "filled": lambda x, i, j, v: x.index_fill(0, i[:2], 2.0),
    "put": lambda x, i, j, v: x.index_put((i, j), v),
    "scattered": lambda x, i, j, v: x.masked_scatter(x > 0, x.exp()),
    "func.grad": lambda x, i, j, v: torch.func.grad(lambda z: (z**3).sum())(x) * x,
    "func.grad twice": lambda x, i, j, v: torch.func.grad(
        lambda z: torch.func.grad(lambda u: (u**3).sum())(z).sum()
    )(x),
    "func.vjp": lambda x, i, j, v: torch.func.vjp(lambda z: z**3, x)[1](x)[0],
}
STATISTICS: dict[str, Callable[..., Any]] = {
    "quantile": lambda x, n: x.quantile(torch.tensor([0.0, 0.3, 1.0]).double(), 1),
    "midpoint": lambda x, n: n.quantile(0.5, 1, interpolation="midpoint"),
    "nanquantile": lambda x, n: n.nanquantile(0.4, 0, True, interpolation="nearest"),
    "nanmedian": lambda x, n: n.nanmedian(1),
    "searchsorted": lambda x, n: torch.searchsorted(EDGES, x.detach()),
    "searchsorted right": lambda x, n: torch.searchsorted(EDGES, n, right=True),
    "rows": lambda x, n: torch.searchsorted(x.detach().sort(1)[0], n),
    "multinomial": lambda x, n: torch.multinomial(x.detach().abs() + 0.1, 2),
    "replaced": lambda x, n: torch.multinomial(x.detach().abs() + 0.1, 5, replacement=True),
    "bernoulli": lambda x, n: torch.bernoulli(x.detach().sigmoid()),
    "normal": lambda x, n: torch.normal(x.detach(), EDGES.abs()),
    "randperm": lambda x, n: torch.randperm(4) + x,
    "isclose": lambda x, n: (torch.isclose(x, x + 1e-9), torch.isclose(n, n, equal_nan=True)),
    "logical": lambda x, n: torch.logical_and(x, x > 0).logical_not(),
    "tile": lambda x, n: (x.tile(2, 1), x.repeat(2, 1, 2)),
    "pooled": lambda x, n: torch.nn.functional.adaptive_max_pool1d(x, 2),
}


@pytest.mark.parametrize("name", INDEXED)
def test_indexing(name: str) -> None:
    captured = sg.function(INDEXED[name], debug=True)
    for i, j in ((FIRST, SECOND), ((SECOND - 1).clamp(0), FIRST), (FIRST, SECOND)):
        assert compared(INDEXED[name], captured, [x(), i, j, V]).verdict == SAME


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_and_draws(name: str) -> None:
    function = STATISTICS[name]
    found = compared(function, sg.function(function, debug=True), [x(), _with_nan()])
    assert found.verdict == SAME


def test_an_index_out_of_range_is_an_error_at_each_call() -> None:
    captured = sg.function(lambda x, i: x[i, i])
    assert captured(x(), FIRST).shape == (3,)
    with pytest.raises(IndexError):
        captured(x(), FIRST + 5)


def _masked(x: Any) -> Any:
    return x[x > 0]


def _assigned(x: Any, v: Any) -> Any:
    y = x * 1
    y[x > 0] = v
    return y


def test_what_depends_on_the_values_of_a_mask_is_refused() -> None:
    assert compared(_masked, sg.function(_masked, debug=True), [x()]).verdict == REFUSED
    with pytest.raises(sg.CaptureError, match=r"y.x > 0. = v.*assign one value, or use where"):
        sg.function(_assigned, debug=True)(x(), V)


def test_indices_of_the_surroundings_are_read_at_each_call() -> None:
    around, table = torch.tensor([0, 2, 1]), torch.arange(12.0).reshape(4, 3)

    def program(x: Any) -> Any:
        y = x * 1
        y[around, 0] = 5.0
        put = torch.zeros(4).index_put((around,), torch.tensor(1.0))
        return y, x[around], x[around, 1], table[around], put

    captured = sg.function(program, debug=True)
    for _ in range(2):
        assert compared(program, captured, [torch.arange(12.0).reshape(4, 3)]).verdict == SAME
        around.add_(1)


def test_masks_of_bytes_are_no_indices() -> None:
    mask = torch.tensor([1, 0, 1], dtype=torch.uint8)
    with pytest.raises(sg.CaptureError, match="takes the elements where a mask holds"):
        sg.function(lambda x, mask: x[mask])(x(), mask)
