"""Random indices of every kind, and what is assigned to them."""

from __future__ import annotations

from typing import Any

from staticgraph.fuzz.eager.grow import Grower
from staticgraph.fuzz.eager.memory import Memory, got
from staticgraph.fuzz.eager.program import Step

ALL = {"slice": [None, None, None]}
REST = {"ellipsis": 1}


def _basic(g: Grower, size: int) -> Any:
    if size and g.chance(0.35):
        return g.choose.randrange(-size, size)
    low, high = sorted((g.choose.randint(0, size), g.choose.randint(0, size)))
    return {"slice": g.choose.choice(
        ([None, None, None], [low, high, None], [None, None, 2], [1, None, None], [None, -1, None],
         [low, None, 3])
    )}  # fmt: skip


def _advanced(g: Grower, size: int) -> Any:
    if g.chance(0.25):
        return {"tensor": [[g.chance(0.5) for _ in range(size)], "bool"]}
    count = g.choose.choice((1, 1, 2, 3)) if size else 0
    places = [g.choose.randrange(-size, size) for _ in range(count)]
    if g.chance(0.2) and size:
        return {"tensor": [places[0], "int64"]}
    if g.chance(0.2) and size and count == 2:
        return {"tensor": [[[places[0]], [places[1]]], "int64"]}
    return places if g.chance(0.3) and places else {"tensor": [places, "int64"]}


def index(g: Grower, name: str) -> Any:
    """An index of a tensor."""
    shape = g.array(name).shape
    if g.chance(0.12):
        return g.choose.choice((REST, None, {"tuple": []}, True, ALL))
    if not shape:
        return g.choose.choice((REST, None, {"tuple": []}, {"tuple": [REST, None]}))
    if g.chance(0.06):
        return _mask(g, name)
    parts = []
    count = g.choose.randint(1, len(shape))
    start = len(shape) - count if g.chance(0.25) else 0
    places = g.chance(0.25)
    for size in shape[start : start + count]:
        parts.append(_advanced(g, size) if places and g.chance(0.6) else _basic(g, size))
    if start:
        parts.insert(0, REST)
    if g.chance(0.15):
        parts.insert(g.choose.randint(0, len(parts)), None)
    if len(parts) == 1 and g.chance(0.7):
        return parts[0]
    return {"tuple": parts}


def _mask(g: Grower, name: str) -> Any:
    made = g.fresh()
    on = g.fresh()
    g.add({"do": "method", "of": "detach", "args": [f"${name}"], "name": on})
    g.add({"do": "method", "of": "gt", "args": [f"${on}", 0.1], "name": made})
    return f"${made}"


def assigned(g: Grower, name: str) -> Step:
    """An assignment to an index of a tensor."""
    key = index(g, name)
    try:
        shape = got(g.array(name), Memory.decoded(g.memory, key)).shape
    except Exception:
        shape = ()
    value = g.number() if g.chance(0.25) else g.fitting(shape)
    if g.chance(0.1):
        value = f"${name}"
    return {"do": "set", "args": [f"${name}", key, value]}
