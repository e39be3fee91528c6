"""Random methods of a tensor: those that compute, those that view, and those in place."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.fuzz.eager.grow import Grower
from staticgraph.fuzz.eager.numpy_ops import UNARY
from staticgraph.fuzz.eager.program import Step

Call = tuple[Any, ...]


def method(name: str, of: str, *args: object, **options: object) -> Step:
    """A method of a tensor."""
    return {"do": "method", "of": of, "args": [f"${name}", *args], "options": options}


def _unary(g: Grower, name: str) -> Call:
    of = g.choose.choice([*UNARY])
    if of == "clamp":
        return g.choose.choice((("clamp", -0.5, 0.8), ("clamp", 0.1), ("clamp", None, 0.5)))
    return (of,)


def _binary(g: Grower, name: str) -> Call:
    shape = g.array(name).shape
    other = g.fitting(shape)
    if g.chance(0.12):
        other = f"${name}"
    of = g.choose.choice(("mul", "mul", "mul", "add", "add", "sub", "div", "pow", "atan2", "hypot"))
    if of == "pow":
        return ("pow", g.choose.choice((2, 3, 2.0, 1, 0)))
    if of in ("atan2", "hypot") and not isinstance(other, str):
        other = f"${name}"  # they take tensors only
    return (of, other)


def _ternary(g: Grower, name: str) -> Call:
    shape = g.array(name).shape
    one = [x for x in (g.fitting(shape), g.fitting(shape)) if isinstance(x, str)]
    if len(one) == 2 and g.chance(0.5):
        return (g.choose.choice(("addcmul", "addcmul", "addcdiv")), *one)
    if one and g.chance(0.5):
        return ("lerp", one[0], 0.3)
    mask = {"tensor": [g.chance(0.5), "bool"]}
    return ("masked_fill", mask, g.number())


def _axis(g: Grower, name: str) -> int:
    ndim = max(1, g.array(name).ndim)
    return g.choose.randrange(-ndim, ndim)


def _along(g: Grower, name: str) -> Call:
    shape = g.array(name).shape
    if len(shape) >= 2 and g.chance(0.4):
        return (g.choose.choice(("tril", "triu")), g.choose.choice((0, 1, -1)))
    return (g.choose.choice(("cumsum", "cumprod")), _axis(g, name))


def _placed(g: Grower, name: str) -> Call:
    shape = g.array(name).shape
    dim = _axis(g, name)
    size = shape[dim] if shape else 0
    if not size:
        return ("neg",)
    index: Any = {"tensor": [[g.choose.randrange(size)], "int64"]}
    wanted = list(shape)
    wanted[dim] = 1
    source = g.pick(lambda _, x: list(x.shape) == wanted and x.dtype == g.array(name).dtype)
    of = g.choose.choice(("index_fill", "index_copy", "index_add", "scatter_add"))
    if of == "index_fill" or source is None:
        return ("index_fill", dim, index, g.number())
    if of == "scatter_add":
        index = {"tensor": [_full(wanted, g.choose.randrange(size)), "int64"]}
    return (of, dim, index, f"${source}")


def _full(shape: list[int], value: int) -> Any:
    return value if not shape else [_full(shape[1:], value) for _ in range(shape[0])]


def _reduced(g: Grower, name: str) -> Call | Step:
    shape = g.array(name).shape
    of = g.choose.choice((
        "sum", "sum", "mean", "amax", "amin", "prod", "softmax", "logsumexp", "var", "std", "norm",
        "sort", "max",
    ))  # fmt: skip
    if of == "norm":
        return (of,)
    if of in ("var", "std"):
        return method(name, of, _axis(g, name), correction=g.choose.choice((0, 1)))
    if of in ("sort", "max"):
        return {**method(name, of, _axis(g, name)), "item": 0}
    if of == "prod":
        return ("prod",) if g.chance(0.5) else ("prod", _axis(g, name))
    if of in ("softmax", "logsumexp"):
        return (of, _axis(g, name))
    if g.chance(0.3) and of not in ("amax", "amin"):
        return (of,)
    dim: Any = _axis(g, name)
    if len(shape) > 1 and g.chance(0.2):
        dim = [0, -1]
    return method(name, of, dim, keepdim=g.chance(0.4))


def _arranged(g: Grower, name: str) -> Call:
    shape = g.array(name).shape
    dim = _axis(g, name)
    size = shape[dim] if shape else 1
    places = {"tensor": [[g.choose.randrange(size) for _ in range(2)] if size else [], "int64"]}
    return g.choose.choice((
        ("clone",), ("contiguous",), ("flip", dim), ("roll", 1, dim), ("index_select", dim, places),
        ("to", {"dtype": g.choose.choice(("float64", "float32"))}),
        ("repeat", *[2] * max(1, len(shape))), ("nan_to_num",),
    ))  # fmt: skip


def computed(g: Grower, name: str) -> Step:
    """A method or function that computes a new tensor."""
    kind = g.choose.choices(
        (_unary, _binary, _ternary, _along, _placed, _reduced, _arranged, _joined),
        (6, 8, 2, 1, 1, 4, 3, 4),
    )[0]
    made = kind(g, name)
    return made if isinstance(made, dict) else method(name, *made)


def _function(of: str, *args: object, **options: object) -> Step:
    return {"do": "function", "of": of, "args": list(args), "options": options}


def _joined(g: Grower, name: str) -> Step:
    shape = g.array(name).shape
    this = f"${name}"
    same = g.pick(lambda _, x: x.shape == shape and is_float(x.dtype))
    other = f"${same}"
    kind = g.choose.choice(
        ("cat", "stack", "where", "maximum", "minimum", "matmul", "logaddexp", "layers", "addmm")
    )
    if kind == "layers":
        return _layer(g, name, other)
    if kind == "addmm":
        left = g.pick(lambda _, x: x.ndim == 2 and x.dtype == g.array(name).dtype)
        if left is None:
            return _function("maximum", this, other)
        inner = g.array(left).shape[1]
        right = g.pick(lambda _, x: x.ndim == 2 and x.shape[0] == inner)
        return method(name, "addmm", f"${left}", this if right is None else f"${right}")
    if kind == "matmul":
        ok = g.pick(lambda _, x: x.ndim > 0 and len(shape) > 0 and x.dtype == g.array(name).dtype
                    and shape[-1] == x.shape[max(-2, -x.ndim)])  # fmt: skip
        return method(name, "matmul", this if ok is None else f"${ok}")
    if kind in ("cat", "stack"):
        return _function(kind, [this, other], dim=_axis(g, name))
    if kind == "where":
        return _function("where", {"tensor": [g.chance(0.5), "bool"]}, this, other)
    return _function(kind, this, other)


def _layer(g: Grower, name: str, other: str) -> Step:
    """A function of `nn.functional`."""
    shape, this = g.array(name).shape, f"${name}"
    of = g.choose.choice(("silu", "leaky_relu", "linear", "mse_loss", "layer_norm", "log_softmax"))
    args: list[Any] = [this]
    if of == "leaky_relu":
        args.append(0.1)
    elif of == "linear":
        wanted = shape[-1:]
        weight = g.pick(lambda _, x: x.ndim == 2 and x.shape[1:] == wanted and is_float(x.dtype))
        args.append(this if weight is None else f"${weight}")
    elif of == "mse_loss":
        args.append(other)
    elif of == "layer_norm":
        args.append(list(shape[-1:]))
    elif of == "log_softmax":
        args.append(_axis(g, name))
    return _function("nn.functional." + of, *args)


def viewed(g: Grower, name: str) -> Step:
    """A method or attribute that views a tensor, or a view of it that a method among several is."""
    array = g.array(name)
    shape = list(array.shape)
    dim, other = _axis(g, name), _axis(g, name)
    size = shape[dim] if shape else 0
    calls: list[Call] = [
        (g.choose.choice(("reshape", "view")), {"tuple": _reshaped(g, shape)}),
        (g.choose.choice(("reshape", "view")), *_reshaped(g, shape)),
        ("unsqueeze", g.choose.choice((0, -1, len(shape)))), ("squeeze",), ("squeeze", dim),
        ("flatten",), ("ravel",), ("transpose", dim, other), ("swapaxes", dim, other),
        ("movedim", dim, other), ("expand", 2, *shape), ("expand", *[-1] * len(shape)),
        ("broadcast_to", [3, *shape]), ("view_as", f"${name}"), ("expand_as", f"${name}"),
        ("detach",), ("contiguous",), ("reshape_as", f"${name}"),
    ]  # fmt: skip
    if shape:
        order = g.choose.sample(range(len(shape)), len(shape))
        calls += [("permute", *order), ("permute", order)]
        start = g.choose.randint(0, size)
        length = g.choose.randint(0, size - start)
        calls += [("narrow", dim, start, length), ("narrow", dim, start, length)]
    if size:
        place = g.choose.randrange(-size, size)
        calls += [("select", dim, place)] * 2 + [("unfold", dim, g.choose.randint(1, size), 1)]
    if len(shape) == 2:
        calls += [("t",), ("diagonal",), ("diagonal", g.choose.choice((1, -1)))]
    if len(shape) == 3:
        calls += [("diagonal", 0, 0, 2), ("flatten", 1), ("flatten", 0, 1)]
    if len(shape) <= 2 and g.chance(0.1):
        return {"do": "attribute", "of": "T", "args": [f"${name}"]}
    if len(shape) >= 2 and g.chance(0.1):
        return {"do": "attribute", "of": "mT", "args": [f"${name}"]}
    if size and g.chance(0.25):
        return _one_of_several(g, name, dim, size)
    return method(name, *g.choose.choice(calls))


def _one_of_several(g: Grower, name: str, dim: int, size: int) -> Step:
    of = g.choose.choice(("unbind", "split", "split", "chunk"))
    if of == "unbind":
        return {**method(name, "unbind", dim), "item": g.choose.randrange(size)}
    if of == "chunk":
        return {**method(name, "chunk", 2, dim), "item": 0}
    if g.chance(0.3) and size > 1:
        return {**method(name, "split", [1, size - 1], dim), "item": g.choose.randrange(2)}
    return {**method(name, "split", 1, dim), "item": g.choose.randrange(size)}


def _reshaped(g: Grower, shape: list[int]) -> list[int]:
    count = 1
    for size in shape:
        count *= size
    found = [shape, [count], [1, *shape], [*shape, 1], shape[::-1]]
    if count:
        found += [[-1], [-1, *shape]]
    if count and count % 2 == 0:
        found += [[2, -1], [count // 2, 2]]
    return list(g.choose.choice(found))


def in_place(g: Grower, name: str) -> Step:
    """A method that overwrites a tensor, or an operator that does."""
    if g.chance(0.08):
        dims = (0, -1)
        return method(name, *g.choose.choice(
            (("unsqueeze_", 0), ("squeeze_",), ("t_",), ("transpose_", *dims), ("swapaxes_", *dims))
        ))  # fmt: skip
    if g.chance(0.12):
        operator = g.choose.choice(("+=", "-=", "*=", "/="))
        value = g.fitting(g.array(name).shape)
        return {"do": "augment", "of": operator, "args": [f"${name}", value]}
    if g.chance(0.2):
        value = g.fitting(g.array(name).shape)
        if isinstance(value, str):
            return method(name, "copy_", value)
        return method(name, *g.choose.choice((("zero_",), ("fill_", value))))
    kind = g.choose.choices((_unary, _binary, _ternary, _along, _placed), (6, 8, 2, 1, 2))[0]
    of, *args = kind(g, name)
    return method(name, of + "_", *args)
