"""The program of a seed."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.graphs.arguments import GENERATORS
from staticgraph.fuzz.graphs.grow import LARGE, SHAPES, Grower, NoOperandError, Value, broadcast
from staticgraph.fuzz.graphs.nesting import NESTING
from staticgraph.fuzz.graphs.program import mend
from staticgraph.fuzz.graphs.values import DTYPES
from staticgraph.fuzz.graphs.worlds import Symbolic

_ELEMENTWISE = tuple(
    (name, GENERATORS[name]) for name in ("add", "multiply", "sin", "tanh", "matmul", "sum")
)
_MOVES = tuple(
    (name, GENERATORS[name]) for name in ("getitem", "getitem", "reshape", "transpose", "flip")
)
KINDS = (*GENERATORS.items(), *_ELEMENTWISE * 2, *_MOVES * 7, *NESTING.items())
"""What a step may be; some are likelier."""

SIZES = ((3, 5), (1, 1), (0, 2), (4, 1), (2, 0), (2, 3), (1, 4), (5, 2))


def generate(seed: int) -> Program:
    """A program of some 3 to 15 ops, a few larger."""
    choose = random.Random(f"graphs {seed}")
    floating = choose.choice(("float32", "float64"))
    values = "extreme" if choose.random() < 0.15 else "plain"
    grower = Grower(
        choose, Symbolic(seed), floating, _kinds(choose), values, choose.random() < 0.15,
        choose.choice((0.0, 0.5, 0.8)),
    )  # fmt: skip
    for _ in range(choose.randint(1, 3)):
        _add_leaf(grower)
    if not any(value.kind == "f" for value in grower.pool):
        grower.leaf("input", choose.choice((("n", 3), (3,), ("n", "m"))), floating)
    for _ in range(choose.choice((3, 5, 8, 8, 12, 12, 16, 40))):
        grower.attempt()
    _finish(grower)
    program = {"steps": grower.steps, "seed": seed, "cases": _cases(choose)}
    program["mixed"] = grower.mixed
    mended = mend(program)
    assert mended is not None
    return mended


def _kinds(choose: random.Random) -> tuple[Any, ...]:
    """Which ops a program is made of: all, or a few, so that these meet often.

    As in swarm testing (Groce, Zhang, Eide, Chen, Regehr 2012).
    """
    count = choose.choice((3, 6, 12, len(KINDS)))
    if count == len(KINDS):
        return KINDS
    return (*choose.sample(KINDS, count), *_ELEMENTWISE[:3])


def _cases(choose: random.Random) -> list[dict[str, Any]]:
    """Sizes of unknown axes, and how the inputs lie in memory: row by row first."""
    chosen = choose.sample(SIZES, 2)
    if choose.random() < 0.1:
        chosen.append((LARGE["n"], LARGE["m"]))
    layouts = [0, choose.randrange(1, 1 << 20), choose.randrange(1, 1 << 20)]
    return [
        {"sizes": {"n": n, "m": m}, "layout": layout}
        for (n, m), layout in zip(chosen, layouts, strict=False)
    ]


def _add_leaf(g: Grower) -> None:
    shape = g.choose.choice(SHAPES)
    dtype = g.choose.choice((g.dtype,) * 8 + DTYPES)
    kind = g.choose.choices(("input", "variable", "constant"), (6, 3, 1))[0]
    values = "count" if g.chance(0.05) else ""
    g.leaf(kind, shape, dtype, values)


def _finish(g: Grower) -> None:
    for _ in range(g.choose.randint(1, 3)):
        g.steps.append({"output": g.pick().ref})
    if g.chance(0.5):
        with suppress(NoOperandError, StaticGraphError):
            made = _gradients(g, [])
            if g.chance(0.4):
                _gradients(g, made)
    variables = {value.expression.serial: value for value in g.pool if _is_variable(value)}
    for value in variables.values():
        if g.chance(0.8):
            with suppress(NoOperandError, StaticGraphError):
                g.steps.append({"update": value.ref, "to": _next(g, value).ref})
    outputs = [step for step in g.steps if "output" in step]
    if g.chance(0.15):
        g.steps.append(dict(g.choose.choice(outputs)))
    if g.chance(0.1):
        g.steps.append({"output": g.choose.choice([x for x in g.pool if _is_leaf(x)]).ref})


def _is_leaf(value: Value) -> bool:
    return not value.expression.operands


def _is_variable(value: Value) -> bool:
    return bool(value.expression.op.name == "variable")


def _gradients(g: Grower, made: list[Value]) -> list[Value]:
    """Gradients of a sum of values; `made` are gradients that it must contain."""
    terms = [x for x in made if x.kind == "f"] or [g.pick("f") for _ in range(2)]
    total: Any = None
    for term in terms[:2]:
        part = g.emit("sum", g.emit("multiply", term, g.choose.choice((1.0, 0.5, term))))
        total = part if total is None else g.emit("add", total, part)
    leaves = [
        x for x in g.pool
        if x.kind == "f" and (_is_leaf(x) or g.chance(0.1)) and x.expression.op.name != "constant"
        and x.name != total.name
    ]  # fmt: skip
    if not leaves:
        raise NoOperandError
    wrt = g.choose.sample(leaves, min(len(leaves), 2))
    name = g.fresh()
    found = g.add({
        "name": [f"{name}g{i}" for i in range(len(wrt))], "gradients": total.ref,
        "wrt": [x.ref for x in wrt],
    })  # fmt: skip
    g.steps += [{"output": total.ref}, *({"output": one.ref} for one in found)]
    return found


def _next(g: Grower, variable: Value) -> Value:
    same = [x for x in g.pool if x.expression.type == variable.expression.type]
    if len(same) > 1 and g.chance(0.6):
        return g.choose.choice(same)
    if variable.kind == "b":
        return variable
    other = g.pick(variable.kind, lambda x: (
        x.expression.dtype == variable.expression.dtype
        and broadcast(x.shape, variable.shape) == variable.shape
    ))  # fmt: skip
    if g.chance(0.5):
        return g.emit("subtract", g.emit("multiply", variable, 2), other)
    return g.emit("maximum", variable, other)
