"""How a program comes to apply attention."""

from __future__ import annotations

from typing import Any

from staticgraph.fuzz.graphs.grow import Generator, Grower, Value


def _operands(g: Grower) -> tuple[Value, Value, Value]:
    """Queries, keys and values of about 1; there may be another number of keys."""
    x = g.pick("f", lambda x: 1 < x.ndim < 4)
    q = g.emit("tanh", x)
    other = g.emit("sin", q)
    keys = g.emit("concatenate", [q, other], x.ndim - 2) if g.chance(0.5) else other
    return q, keys, g.emit("flip", keys, x.ndim - 1)


def _attention(g: Grower, op: str) -> Any:
    options = {"scale": g.choose.choice((0.5, 1.0, 2.0)), "causal": g.chance(0.5)}
    return g.emit(op, *_operands(g), **options)


def _gradients(g: Grower, op: str) -> Any:
    q, k, v = _operands(g)
    given = g.emit("multiply", g.emit("tanh", q), 2.0)
    options = {"scale": g.choose.choice((0.5, 1.0)), "causal": g.chance(0.5)}
    names = [f"{g.fresh()}{letter}" for letter in "qkv"]
    args = [one.ref for one in (q, k, v, given)]
    return g.add({"name": names, "op": op, "args": args, "options": options})


def _public(g: Grower, op: str) -> Any:
    return g.emit(op, *_operands(g), is_causal=g.chance(0.5), scale=0.5)


GENERATORS: dict[str, Generator] = {
    "attention": _attention, "attention_gradients": _gradients,
    "scaled_dot_product_attention": _public,
}  # fmt: skip
"""The generators of these ops."""
