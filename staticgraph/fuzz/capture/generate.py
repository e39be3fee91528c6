"""The function of a seed."""

from __future__ import annotations

import copy
import random
import warnings
from typing import Any

import numpy as np

from staticgraph import dynamic
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.capture.arguments import GUESSES, KEYWORDS, LISTS, NAMES, ROWS, parameters
from staticgraph.fuzz.capture.known import ALWAYS, KNOWN
from staticgraph.fuzz.capture.program import written
from staticgraph.fuzz.capture.values import Values
from staticgraph.fuzz.eager.program import Step
from staticgraph.fuzz.eager.script import leaf

ATTEMPTS, AT_MOST = 60, 240
LARGEST = 4096
KINDS = ("name",) * 12 + ("get", "get", "set", "operator", "operator", "augment")
OPERATORS = ("__add__", "__sub__", "__mul__", "__truediv__", "__pow__", "__rsub__", "__matmul__",
             "__floordiv__", "__mod__", "__lt__", "__eq__", "__and__", "__neg__")  # fmt: skip


def generate(seed: int) -> Program:
    """One or two leaves, and 1 to 6 steps that run eagerly, with the leaves they ask for.

    Seeds in a row begin with the public names in a row. A few programs end in a step that raises.
    """
    g = Values(random.Random(f"capture {seed}"))
    dynamic.manual_seed(0)
    for _ in range(g.choose.choice((1, 2))):
        g.leaf()
    _keep(g)
    steps: list[Step] = []
    if g.chance(0.5):
        steps += filter(None, [_copied(g)])
    count = g.choose.choice((1, 2, 2, 3, 4, 6))
    for i in range(count):
        of = NAMES[seed % len(NAMES)] if not i else None
        wrong = 0 < i == count - 1 and g.chance(0.15)
        step = _wrong(g) if wrong else _step(g, of)
        if step is not None:
            steps.append(step)
    results = [name for name in g.bound if _returned(g.bound[name]) and name not in _given(g)]
    results += [one["name"] for one in steps if "name" in one and one["name"] not in g.bound]
    again = [g.choose.choice((2, 3)), g.choose.choice((1, 4, 5))] if g.chance(0.4) else None
    return {"steps": g.leaves + steps, "results": results or g.tensors(), "again": again}


def _given(g: Values) -> set[str]:
    return {step["name"] for step in g.leaves}


def _returned(value: object) -> bool:
    if isinstance(value, tuple | list):
        return bool(value) and all(map(_returned, value))
    return isinstance(value, dynamic.Tensor)


def _keep(g: Values) -> None:
    """Bind the leaves that were drawn."""
    for step in g.drawn:
        g.bound[step["name"]] = eval(leaf(step), {"torch": dynamic})
        g.leaves.append(step)
    g.drawn.clear()


def _drop(g: Values) -> None:
    """Forget the leaves that were drawn."""
    for step in g.drawn:
        g.bound.pop(step["name"], None)
    g.drawn.clear()


def _step(g: Values, of: str | None = None) -> Step | None:
    """A step that runs eagerly; what it is of is chosen first, and then what it is given."""
    kind = g.choose.choice(KINDS) if of is None else "name"
    chosen = g.choose.choice(NAMES) if of is None else of
    for _ in range(ATTEMPTS if of is None else AT_MOST):
        g.subject = _subject(g, chosen)
        guess = _guess(g, kind, chosen)
        step = _placed(g, guess) if of is None else guess
        if _runs(g, step):
            return step
        _drop(g)
    return None


def _wrong(g: Values) -> Step | None:
    """A step that raises."""
    for _ in range(ATTEMPTS):
        g.subject = _subject(g, "")
        step = _guess(g, g.choose.choice(KINDS), g.choose.choice(NAMES))
        bound = dict(g.bound)
        if "name" in step and not _runs(g, step):
            _keep(g)
            return step
        g.bound = bound
        _drop(g)
    return None


def _copied(g: Values) -> Step | None:
    """A copy of an argument, which may be changed in place."""
    g.subject = "$" + g.choose.choice(g.tensors())
    step = _method(g, "clone", [], {})
    return step if _runs(g, step) else None


def _subject(g: Values, of: str) -> str:
    """A tensor; for what works in place mostly one that is no argument, if there is one."""
    names = g.tensors()
    if g.chance(0.2):
        subject = g.leaf()
        g.bound[subject[1:]] = eval(leaf(g.drawn[-1]), {"torch": dynamic})
        return subject
    if of.endswith("_"):
        given = _given(g)
        names = [name for name in names if name not in given] or names
    return "$" + g.choose.choice(names)


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
    if last in ALWAYS or (last in KNOWN and g.chance(0.5)):
        return _applied(g, of, KNOWN[last](g), {})
    row = [GUESSES[one](g) for one in g.choose.choice(ROWS)]
    options = {}
    if g.chance(0.4):
        for name in sorted(parameters(of)):
            if g.chance(0.12):
                options[name] = KEYWORDS[name](g)
    first = GUESSES["several"](g) if of in LISTS else g.subject
    args = [first, *row] if g.chance(0.9) or prefix == "Tensor" else row
    if g.chance(0.1) and args and args[0] == g.subject and prefix != "Tensor":
        options, args = {"input": g.subject, **options}, args[1:]
    return _applied(g, of, args, options)


def _applied(g: Values, of: str, args: list[Any], options: dict[str, Any]) -> Step:
    """The step that a public name of `dynamic` is, on a copy perhaps if it works in place."""
    prefix, _, last = of.rpartition(".")
    if last.endswith("_") and args and str(args[0]).startswith("$") and g.chance(0.6):
        args = [{"copy": [args[0]]}, *args[1:]]
    if prefix != "Tensor":
        return {"do": "function", "of": of, "args": args, "options": options, "name": g.fresh()}
    if callable(getattr(dynamic.Tensor, last)):
        return {"do": "method", "of": last, "args": args, "options": options, "name": g.fresh()}
    return {"do": "attribute", "of": last, "args": args, "name": g.fresh()}


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
    """Whether it does, even if its branch is not taken; its leaves and its name are bound then."""
    if "if" in step and not _runs(g, {key: value for key, value in step.items() if key != "if"}):
        return False
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


def _large(value: object) -> bool:
    return isinstance(value, dynamic.Tensor) and value.numel() > LARGEST
