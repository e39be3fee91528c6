"""How a program comes to apply running totals, and what puts elements in order."""

from __future__ import annotations

from typing import Any

from staticgraph.fuzz.graphs.grow import Generator, Grower, Value


def _ranked(g: Grower, kinds: str) -> Value:
    return g.pick(kinds, lambda x: x.ndim > 0)


def _running(kinds: str) -> Generator:
    def make(g: Grower, op: str) -> Any:
        x = _ranked(g, kinds)
        if op == "cumprod" and x.kind == "f" and g.chance(0.8):
            x = g.emit("tanh", x)
        return g.emit(op, x, g.axis(x))

    return make


def _extrema(g: Grower, op: str) -> Any:
    x = _ranked(g, "iuf")
    names = [f"{g.fresh()}v", f"{g.fresh()}i"]
    return g.add({"name": names, "op": op, "args": [x.ref, g.axis(x)]})


def _extremum_positions(g: Grower, op: str) -> Any:
    x = _ranked(g, "iuf")
    return g.emit(op, x, g.axis(x), g.chance(0.5))


def _ordered(g: Grower, op: str) -> Any:
    x = _ranked(g, "biuf")
    return g.emit(op, x, axis=g.axis(x), descending=g.chance(0.4))


def _first(g: Grower, op: str) -> Any:
    x = g.pick("biuf", lambda x: x.ndim > 0 and any(type(one) is int for one in x.shape))
    axis = g.choose.choice([i for i, one in enumerate(x.shape) if type(one) is int])
    return g.emit(op, x, g.choose.randint(0, x.shape[axis]), axis, g.chance(0.4))


GENERATORS: dict[str, Generator] = {
    "cumsum": _running("biuf"), "cumprod": _running("biuf"), "logcumsumexp": _running("f"),
    "cummax": _extrema, "cummin": _extrema, "extremum_positions": _extremum_positions,
    "sort": _ordered, "argsort": _ordered, "first_places": _first,
}  # fmt: skip
"""The generators of these ops."""
