"""The function of a seed."""

from __future__ import annotations

import copy
import random
import warnings
from typing import Any

import numpy as np

import dynamic
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.capture.arguments import GUESSES, KEYWORDS, LISTS, NAMES, ROWS, parameters
from staticgraph.fuzz.capture.program import written
from staticgraph.fuzz.capture.values import Values
from staticgraph.fuzz.eager.program import Step
from staticgraph.fuzz.eager.script import leaf

ATTEMPTS = 60
LARGEST = 4096
KINDS = ("name",) * 12 + ("get", "get", "set", "operator", "operator", "augment")
OPERATORS = ("__add__", "__sub__", "__mul__", "__truediv__", "__pow__", "__rsub__", "__matmul__",
             "__floordiv__", "__mod__", "__lt__", "__eq__", "__and__", "__neg__")  # fmt: skip


def generate(seed: int) -> Program:
    """One or two leaves, and 1 to 6 steps that run eagerly, with the leaves they ask for."""
    g = Values(random.Random(f"capture {seed}"))
    dynamic.manual_seed(0)
    for _ in range(g.choose.choice((1, 2))):
        g.leaf()
    _keep(g)
    steps: list[Step] = []
    for _ in range(g.choose.choice((1, 2, 2, 3, 4, 6))):
        step = _step(g)
        if step is not None:
            steps.append(step)
    results = [name for name in g.bound if _returned(g.bound[name]) and name not in _given(g)]
    again = [g.choose.choice((2, 3)), g.choose.choice((1, 4, 5))] if g.chance(0.4) else None
    return {"steps": g.leaves + steps, "results": results or g.tensors(), "again": again}


def _given(g: Values) -> set[str]:
    return {step["name"] for step in g.leaves}


def _returned(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return bool(value) and all(map(_returned, value))
    return isinstance(value, dynamic.Tensor)


def _keep(g: Values) -> None:
    """Bind the leaves that were drawn."""
    for step in g.drawn:
        g.bound[step["name"]] = eval(leaf(step), {"torch": dynamic})
        g.leaves.append(step)
    g.drawn.clear()


def _step(g: Values) -> Step | None:
    """A step that runs eagerly; what it is of is chosen first, and then what it is given."""
    kind, of = g.choose.choice(KINDS), g.choose.choice(NAMES)
    for _ in range(ATTEMPTS):
        g.subject = "$" + g.choose.choice(g.tensors())
        step = _placed(g, _guess(g, kind, of))
        if _runs(g, step):
            return step
        g.drawn.clear()
    return None


def _guess(g: Values, kind: str, of: str) -> Step:
    match kind:
        case "get":
            return {"do": "get", "args": [g.subject, _index(g)], "name": g.fresh()}
        case "set":
            value = g.number() if g.chance(0.5) else g.like()
            return {"do": "set", "args": [g.subject, _index(g), value]}
        case "augment":
            value = g.number() if g.chance(0.5) else g.like()
            operator = g.choose.choice(("+=", "-=", "*=", "/="))
            return {"do": "augment", "of": operator, "args": [g.subject, value]}
        case "operator":
            name = g.choose.choice(OPERATORS)
            args = [] if name == "__neg__" else [g.number() if g.chance(0.4) else g.like()]
            return _method(g, name, args, {})
    return _named(g, of)


def _method(g: Values, name: str, args: list[Any], options: dict[str, Any]) -> Step:
    return {"do": "method", "of": name, "args": [g.subject, *args], "options": options,
            "name": g.fresh()}  # fmt: skip


def _named(g: Values, of: str) -> Step:
    prefix, _, last = of.rpartition(".")
    row = [GUESSES[one](g) for one in g.choose.choice(ROWS)]
    options = {}
    if g.chance(0.4):
        for name in sorted(parameters(of)):
            if g.chance(0.12):
                options[name] = KEYWORDS[name](g)
    if prefix == "Tensor":
        if callable(getattr(dynamic.Tensor, last)):
            return _method(g, last, row, options)
        return {"do": "attribute", "of": last, "args": [g.subject], "name": g.fresh()}
    first = GUESSES["several"](g) if of in LISTS else g.subject
    args = [first, *row] if g.chance(0.9) else row
    if g.chance(0.1) and args and args[0] == g.subject:
        options, args = {"input": g.subject, **options}, args[1:]
    return {"do": "function", "of": of, "args": args, "options": options, "name": g.fresh()}


def _index(g: Values) -> Any:
    parts: list[Any] = []
    for size in g.shape:
        low = g.choose.randint(-size, size)
        parts.append(g.choose.choice(
            (low, 0, -1, {"slice": [None, None, None]}, {"slice": [1, None, None]},
             {"slice": [None, low, None]}, {"slice": [None, None, 2]}, {"ellipsis": 1}, None,
             {"slice": [None, g.size(), None]}, [0, size - 1], g.subject)
        ))  # fmt: skip
        if parts[-1] == g.subject:
            parts[-1] = g.tensor(g.choose.choice(("int64", "bool")), [size])
        if g.chance(0.4):
            break
    return parts[0] if len(parts) == 1 and g.chance(0.7) else {"tuple": parts}


def _placed(g: Values, step: Step) -> Step:
    """Where it runs: without gradients, if a size is so large, or as often as a size says."""
    kind = g.choose.choice(("",) * 16 + ("no_grad", "if", "loop"))
    if kind == "no_grad":
        return {**step, "modes": ["no_grad"]}
    if not kind or "name" not in step or not g.shape:
        return step
    axis = g.choose.randrange(len(g.shape))
    if kind == "loop":
        return {**step, "loop": [g.subject, axis]}
    operator = g.choose.choice((">", "==", "<", "!=", ">="))
    return {**step, "if": [g.subject, axis, operator, g.choose.choice((1, 2, 3))]}


def _runs(g: Values, step: Step) -> bool:
    """Whether it does; its leaves and its name are bound then."""
    own = {one["name"]: eval(leaf(one), {"torch": dynamic}) for one in g.drawn}
    names = {"torch": dynamic, **g.bound, **own}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exec(written(step), names)
    except Exception:
        return False
    value = names.get(step.get("name", ""))
    if "name" in step and (value is None or _large(value)):
        return False
    g.bound.update({name: names[name] for name in own})
    g.leaves += copy.copy(g.drawn)
    g.drawn.clear()
    if "name" in step:
        g.bound[step["name"]] = value
    return True


def _large(value: Any) -> bool:
    return isinstance(value, dynamic.Tensor) and value.numel() > LARGEST
