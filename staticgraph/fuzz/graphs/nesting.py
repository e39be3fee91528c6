"""Steps with bodies: loops, branches, checkpoints, and transforms to second order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.fuzz.graphs.grow import Grower, NoOperandError, Value
from staticgraph.fuzz.graphs.program import live, reads

BODY_STEPS = 4
DEEPEST = 3


def grown(g: Grower, params: Sequence[object], steps: int = BODY_STEPS) -> Grower:
    """A grower of a body with some steps."""
    inner = g.inner(params)
    if inner.depth == DEEPEST:
        inner.kinds = tuple((name, make) for name, make in inner.kinds if name not in NESTING)
    for _ in range(g.choose.randint(1, steps)):
        inner.attempt()
    return inner


def body(inner: Grower, count: int, returns: object) -> dict[str, Any]:
    """The function of `count` parameters that a grower has grown, without what it does not need."""
    params = [f"{inner.prefix}p{i}" for i in range(count)]
    return {
        "body": {
            "params": params, "steps": live(inner.steps, reads(returns)), "returns": returns,
        }
    }  # fmt: skip


def like(inner: Grower, model: Any) -> Value:
    """A value of a body that has the type of an expression."""
    return inner.pick(test=lambda x: x.expression.type == model.type)


def scalar(inner: Grower) -> Value:
    """A floating-point scalar made of a value of a body."""
    x = inner.pick("f")
    if x.ndim:
        x = inner.emit("sum", inner.emit(inner.choose.choice(("multiply", "add")), x, x))
    return x


def scan(g: Grower, op: str) -> Any:
    """A loop over slices, with one or two states."""
    xs = g.pick("iuf", lambda x: 0 < x.ndim < 4)
    states = [g.pick("iuf", lambda x: x.ndim < 3) for _ in range(g.choose.randint(1, 2))]
    slice_ = xs.expression[0] if xs.shape[0] != 0 else None
    if slice_ is None:
        raise NoOperandError
    inner = grown(g, [*(state.expression for state in states), slice_])
    after = [like(inner, state.expression) for state in states]
    y = inner.pick()
    returns = {"tuple": [[one.ref for one in after], y.ref]}
    made = body(inner, len(states) + 1, returns)
    name = g.fresh()
    return g.add({
        "name": [f"{name}c{i}" for i in range(len(states))] + [f"{name}y"], "op": "scan",
        "args": [made, [state.ref for state in states], xs.ref],
        "options": {"reverse": g.chance(0.4)},
    })  # fmt: skip


def while_loop(g: Grower, op: str) -> Any:
    """A loop that ends after at most four steps: see `worlds.repeated`."""
    states = [g.pick("iuf", lambda x: x.ndim < 3) for _ in range(g.choose.randint(1, 2))]
    inner = grown(g, [one.expression for one in states])
    after = [like(inner, state.expression).ref for state in states]
    limit = g.choose.randint(0, 4)
    whole = [x for x in g.pool if x.kind == "i" and not x.ndim]
    name = g.fresh()
    return g.add({
        "name": [f"{name}c{i}" for i in range(len(states))], "op": "repeated",
        "args": [whole[-1].ref if whole else limit, body(inner, len(states), after),
                 [one.ref for one in states]],
    })  # fmt: skip


def cond(g: Grower, op: str) -> Any:
    """A branch."""
    x = g.pick("iuf", lambda x: x.ndim < 4)
    y = g.pick("iuf", lambda x: x.ndim < 4)
    test = g.emit("greater", g.emit("sum", x), g.choose.choice((0, 1)))
    true, false = (grown(g, [x.expression, y.expression]) for _ in range(2))
    left = true.pick()
    right = like(false, left.expression)
    return g.add({
        "name": g.fresh(), "op": "cond",
        "args": [test.ref, body(true, 2, left.ref), body(false, 2, right.ref),
                 x.ref, y.ref],
    })  # fmt: skip


def checkpoint(g: Grower, op: str) -> Any:
    """A region that the gradient computes again."""
    x = g.pick("f", lambda x: x.ndim < 4)
    inner = grown(g, [x.expression])
    return g.add({
        "name": g.fresh(), "op": "checkpoint", "args": [body(inner, 1, inner.pick("f").ref), x.ref],
    })  # fmt: skip


def transform(g: Grower, op: str) -> Any:
    """A derivative of a scalar function of one array."""
    small = op in ("hessian", "jacobian")
    x = g.pick("f", lambda x: x.ndim < 3 and (not small or x.ndim < 2))
    inner = grown(g, [x.expression])
    result = scalar(inner) if op in ("grad", "hessian") else inner.pick("f", lambda y: y.ndim < 3)
    args = [body(inner, 1, result.ref), x.ref]
    name: Any = g.fresh()
    if op == "jvp":
        args.append(g.pick("f", lambda y: y.expression.type == x.expression.type).ref)
        name = [f"{name}o", f"{name}t"]
    return g.add({"name": name, "op": op, "args": args})


def vmap(g: Grower, op: str) -> Any:
    """A function of each slice."""
    x = g.pick("f", lambda x: 0 < x.ndim < 4)
    if x.shape[0] == 0:
        raise NoOperandError
    inner = grown(g, [x.expression[0]])
    result = inner.pick("f")
    if not inner.steps or f"{inner.prefix}p0" not in str(body(inner, 1, result.ref)):
        raise NoOperandError
    return g.add({"name": g.fresh(), "op": op, "args": [body(inner, 1, result.ref), x.ref]})


NESTING = {
    "scan": scan, "while_loop": while_loop, "cond": cond, "checkpoint": checkpoint,
    "grad": transform, "hessian": transform, "jacobian": transform, "jvp": transform, "vmap": vmap,
}  # fmt: skip
