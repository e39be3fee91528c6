"""The program of a seed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager.grow import Grower
from staticgraph.fuzz.eager.indices import assigned, index
from staticgraph.fuzz.eager.program import Step
from staticgraph.fuzz.eager.steps import computed, in_place, viewed

ENDS = ("once", "once", "twice", "grad", "grad of grad", "grad twice", "between", "elements")
PIPES = ("", "", "square", "sin")


def generate(seed: int) -> Program:
    """One to three leaves, 2 to 16 steps that compute, view and overwrite, then derivatives."""
    choose = random.Random(f"eager {seed}")
    grower = Grower(choose, "float32" if choose.random() < 0.15 else "float64")
    for _ in range(choose.choice((1, 2, 2, 3))):
        grower.leaf()
    for _ in range(choose.choice((2, 3, 4, 6, 8, 8, 12, 16))):
        kinds = (_compute, _view, _get, _in_place, _set, _hook, _flag, _share, _forget, _derive)
        choose.choices(kinds, (24, 20, 8, 16, 12, 6, 4, 5, 3, 3))[0](grower)
    _finish(grower)
    return {"steps": grower.steps}


def _modes(g: Grower) -> dict[str, Any]:
    if g.chance(0.9):
        return {}
    return {"modes": g.choose.choice(
        (["no_grad"], ["no_grad"], ["no_grad"], ["no_grad", "enable_grad"], ["enable_grad"],
         ["inference_mode"])
    )}  # fmt: skip


def _compute(g: Grower) -> None:
    name = g.floating()
    if name is not None:
        g.add({**computed(g, name), "name": g.fresh(), **_modes(g)})


def _view(g: Grower) -> None:
    name = g.floating()
    if name is not None:
        g.add({**viewed(g, name), "name": g.fresh(), **_modes(g)})


def _get(g: Grower) -> None:
    name = g.floating()
    if name is not None:
        key = index(g, name)
        g.add({"do": "get", "args": [f"${name}", key], "name": g.fresh(), **_modes(g)})


def _target(g: Grower) -> str | None:
    """What is overwritten: seldom memory of a leaf that requires gradients, which is an error."""
    leaves = [g.array(name) for name in g.leaves if name in g.memory.cells]
    return g.pick(lambda _, x: is_float(x.dtype) and (
        not any(np.may_share_memory(x, leaf) for leaf in leaves) or g.chance(0.04)
    ))  # fmt: skip


def _in_place(g: Grower) -> None:
    name = _target(g)
    if name is not None:
        step = {**in_place(g, name), **_modes(g)}
        if g.chance(0.2) and step["do"] == "method":
            step["name"] = g.fresh()
        g.add(step)


def _set(g: Grower) -> None:
    name = _target(g)
    if name is not None:
        g.add({**assigned(g, name), **_modes(g)})


def _hook(g: Grower) -> None:
    name = g.pick(lambda name, _: name in g.requires)
    if name is None:
        return
    kind = g.choose.choice(("retain_grad", "register_hook", "register_hook", "after", "remove"))
    if kind == "retain_grad":
        g.add(_method("retain_grad", name))
    elif kind == "remove":
        if g.labels:
            g.add({"do": "remove", "of": g.choose.choice(g.labels)})
    else:
        if kind == "after":
            kind = "register_post_accumulate_grad_hook"
            name = g.choose.choice(g.leaves) if g.leaves else name
        label = f"h{len(g.labels)}"
        scale = g.choose.choice((None, None, 2.0, 0.5))
        g.add({"do": "hook", "of": kind, "args": [f"${name}"], "label": label, "scale": scale})
        g.labels.append(label)


def _method(name: str, on: str, *args: object, **options: object) -> Step:
    return {"do": "method", "of": name, "args": [f"${on}", *args], "options": options}


def _flag(g: Grower) -> None:
    name = g.floating()
    if name is None:
        return
    kind = g.choose.choice(
        ("requires_grad_", "requires_grad", "detach_", "look", "look", "numbers")
    )
    if kind == "requires_grad_":
        args = g.choose.choice(([], [], [False]))
        g.add(_method(kind, name, *args))
    elif kind == "requires_grad":
        g.add({"do": "assign", "of": kind, "args": [f"${name}", g.chance(0.7)]})
    elif kind == "detach_":
        g.add(_method(kind, name))
    elif kind == "numbers":
        g.add(_method(g.choose.choice(("tolist", "stride", "storage_offset", "dim", "item")), name))
    else:
        g.add({"do": "look", "args": [f"${name}"]})


def _share(g: Grower) -> None:
    name = g.floating()
    if name is None:
        return
    kind = g.choose.choice(("detach", "detach", "data", "clone", "assign"))
    if kind == "data":
        g.add({"do": "attribute", "of": "data", "args": [f"${name}"], "name": g.fresh()})
    elif kind == "assign":
        shape, dtype = g.array(name).shape, g.array(name).dtype
        other = g.pick(lambda _, x: (x.shape, x.dtype) == (shape, dtype))
        g.add({"do": "assign", "of": "data", "args": [f"${name}", f"${other}"]})
    else:
        g.add({**_method(kind, name), "name": g.fresh()})


def _forget(g: Grower) -> None:
    name = g.pick(lambda name, _: name not in g.leaves)
    if name is not None:
        g.add({"do": "delete", "args": [f"${name}"]})


def _loss(g: Grower) -> str | None:
    """The name of a scalar, a sum over some tensors."""
    total = None
    for _ in range(g.choose.choice((1, 1, 2, 3))):
        name = g.pick(lambda name, x: name in g.requires and is_float(x.dtype)) or g.floating()
        if name is None:
            return None
        pipe = g.choose.choice(PIPES)
        if pipe:
            made = g.fresh()
            g.add({**_method(pipe, name), "name": made})
            name = made
        part = g.fresh()
        if not g.add({**_method("sum", name), "name": part}):
            return None
        if total is not None:
            both = g.fresh()
            g.add({**_method("add", total, f"${part}"), "name": both})
            part = both
        total = part
    return total


def _some(g: Grower) -> list[str]:
    known = [name for name in g.memory.cells if name in g.requires] or list(g.memory.cells)
    chosen = g.choose.sample(known, min(len(known), g.choose.choice((1, 1, 2, 3))))
    if g.chance(0.5) and g.leaves:
        chosen[0] = g.choose.choice(g.leaves)
    return [f"${name}" for name in dict.fromkeys(chosen)]


def _derive(g: Grower) -> None:
    """Gradients in the midst of a program."""
    loss = _loss(g)
    if loss is not None:
        _backward(g, loss, retain=g.chance(0.7))


def _backward(g: Grower, loss: str, retain: bool) -> None:
    options: dict[str, Any] = {"retain_graph": True} if retain else {}
    if g.chance(0.2):
        options["create_graph"] = True
    if g.chance(0.2):
        options["inputs"] = _some(g)
    if g.chance(0.1):
        options["gradient"] = {"tensor": [0.5, g.dtype]}
    g.add({"do": "method", "of": "backward", "args": [f"${loss}"], "options": options})


def _finish(g: Grower) -> None:
    loss = _loss(g)
    if loss is None:
        return
    kind = g.choose.choice(ENDS)
    if kind == "once":
        _backward(g, loss, False)
    elif kind == "twice":
        _backward(g, loss, g.chance(0.8))
        _backward(g, loss, False)
    elif kind == "between":
        _backward(g, loss, True)
        g.choose.choice((_in_place, _set, _grads))(g)
        _backward(g, loss, False)
    elif kind == "elements":
        name = g.floating()
        if name is not None:
            shape = g.array(name).shape
            seed = g.pick(lambda _, x: x.shape == shape and is_float(x.dtype))
            g.add({"do": "function", "of": "autograd.backward",
                   "args": [[f"${name}"], [f"${seed}"]]})  # fmt: skip
    else:
        _higher(g, loss, kind)


def _grads(g: Grower) -> None:
    """A step on the gradient of a leaf."""
    if not g.leaves:
        return
    leaf = g.choose.choice(g.leaves)
    kind = g.choose.choice(("none", "double", "own"))
    if kind == "none":
        g.add({"do": "assign", "of": "grad", "args": [f"${leaf}", None]})
    elif kind == "own":
        made = g.fresh()
        g.add({**_method("detach", leaf), "name": made})
        g.add({"do": "assign", "of": "grad", "args": [f"${leaf}", f"${made}"]})
    else:
        made = g.fresh()
        g.steps.append({"do": "attribute", "of": "grad", "args": [f"${leaf}"], "name": made})
        of = g.choose.choice(("mul_", "add_", "zero_", "detach_", "requires_grad_"))
        args = [2.0] if of in ("mul_", "add_") else []
        g.steps.append(_method(of, made, *args))


def _higher(g: Grower, loss: str, kind: str) -> None:
    wrt = _some(g)
    given = [g.fresh() for _ in wrt]
    options: dict[str, Any] = {"create_graph": kind != "grad", "allow_unused": g.chance(0.8)}
    if kind == "grad twice":
        options["retain_graph"] = g.chance(0.7)
    step = {"do": "function", "of": "autograd.grad", "args": [f"${loss}", wrt], "options": options}
    g.steps.append({**step, "name": given})
    if kind == "grad twice":
        g.steps.append({**step, "name": [g.fresh() for _ in wrt]})
    if kind == "grad of grad":
        for name in given:
            square, total = g.fresh(), g.fresh()
            g.steps.append({**_method("square", name), "name": square})
            g.steps.append({**_method("sum", square), "name": total})
            g.steps.append(_method("backward", total, retain_graph=True))
