"""Per op, how a program comes to apply it: which operands it takes, and which arguments.

Every op of the library has an entry: by its record (`Op.domain`, `Op.choices`) those that work
element by element, and those of one operand whose arguments are known by their names. A test says
which are missing.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.op import Op, all_ops
from staticgraph.compiler.reference.orthogonal import FAMILIES
from staticgraph.fuzz.graphs import along, attention, matrices, scatters
from staticgraph.fuzz.graphs.grow import Generator, Grower, NoOperandError, Value, size
from staticgraph.fuzz.graphs.products import PRODUCTS, image, within


def tame(g: Grower, x: Value, domain: str) -> Value:
    """x moved to where a function has no pole and does not overflow; not always."""
    if x.kind != "f" or g.chance(0.2):
        return x
    match domain:
        case "positive":
            return g.emit("add", g.emit("square", x), 0.5)
        case "unit":
            return g.emit("multiply", g.emit("tanh", x), 0.9)
        case "small":
            return g.emit("tanh", x)
        case "share":
            return g.emit("sigmoid", x)
    return x


def unary(kinds: str = "f", domain: str = "") -> Generator:
    """One operand."""
    return lambda g, op: g.emit(op, tame(g, g.pick(kinds), domain))


def binary(kinds: str = "iuf", others: str = "", domain: str = "") -> Generator:
    """Two operands that broadcast, or one and a number."""

    def make(g: Grower, op: str) -> Any:
        x = g.pick(kinds)
        if x.kind != "b" and g.chance(0.25):
            number = g.choose.choice((0, 1, 2, 3) if x.kind in "iu" else (0.5, 1.0, 2.0, 1.5, 3))
            return g.emit(op, x, number) if g.chance(0.7) else g.emit(op, number, x)
        y = tame(g, g.beside(x, others or kinds), domain)
        return g.emit(op, x, y) if g.chance(0.6) else g.emit(op, y, x)

    return make


def _polygamma(g: Grower, op: str) -> Any:
    return g.emit(op, g.choose.choice((1, 2)), tame(g, g.pick("f"), "positive"))


_PARAMETERS = (0.5, 1.0, 2.5, 6.0)


def _incomplete(domain: str, *numbers: tuple[float, ...]) -> Generator:
    """Numbers, by which there is no derivative, and an operand."""

    def make(g: Grower, op: str) -> Any:
        chosen = [g.choose.choice(some) for some in numbers]
        return g.emit(op, *chosen, tame(g, g.pick("f"), domain))

    return make


def _orthogonal(g: Grower, op: str) -> Any:
    """A polynomial whose degree is a number, or an operand."""
    x = tame(g, g.pick("f"), "small")
    degree: Any = g.choose.choice((0, 1, 2, 3, 6))
    if g.chance(0.4):
        degree = g.emit("clip", g.beside(x, "i"), -1, 5)
    return g.emit(op, x, degree, g.choose.choice((*FAMILIES,)), g.choose.choice((0, 0, 1, 2)))


def _cross_entropy(g: Grower, op: str) -> Any:
    x = tame(g, g.pick("f"), "share")
    return g.emit(op, x, tame(g, g.beside(x, "f"), "share"))


def _power(g: Grower, op: str) -> Any:
    x = g.pick("f")
    if g.chance(0.6):
        return g.emit(op, tame(g, x, "positive"), g.choose.choice((0, 0.5, 1, 2, -1, 3, 1.5)))
    return g.emit(op, tame(g, x, "positive"), tame(g, g.beside(x, "f"), "small"))


def _where(g: Grower, op: str) -> Any:
    x = g.pick("iuf")
    condition = g.beside(x, "b") if g.chance(0.7) else g.emit("greater", x, 0)
    y: Any = g.choose.choice((0.0, 1, x)) if g.chance(0.5) else g.beside(x, "iuf")
    return g.emit(op, condition, x, y) if g.chance(0.5) else g.emit(op, condition, y, x)


def _astype(g: Grower, op: str) -> Any:
    if g.chance(0.4):
        return g.emit(op, g.pick("f"), g.choose.choice(("float32", "float64", g.dtype)))
    x = g.pick()
    if x.kind == "f":  # what does not fit an integer has no meaning
        x = g.emit("round", g.emit("clip", g.emit("where", g.emit("isnan", x), 0, x), 0, 7))
        return g.emit(op, x, g.choose.choice(("uint8", "int8", "int32", "int64", "bool")))
    dtypes = ("float32", "float64", "int64", "int32", "uint8", "int16", "bool")
    return g.emit(op, x, g.choose.choice(dtypes))


def _recompute(g: Grower, op: str) -> Any:
    return g.emit(op, g.pick(), g.pick())


def _clip(g: Grower, op: str) -> Any:
    x = g.pick("iuf")
    low, high = (1, 3) if x.kind in "iu" else (-0.5, 1.0)
    forms = ((low, high), (low, None), (None, high), (high, low))
    if g.chance(0.3):
        return g.emit(op, x, g.beside(x, x.kind), high)
    return g.emit(op, x, *g.choose.choice(forms))


def _clamp(g: Grower, op: str) -> Any:
    x = g.pick("f")
    return g.emit(op, x, g.beside(x, "f"), g.beside(x, "f"))


# -- reductions --------------------------------------------------------------------------------


def reduction(kinds: str, domain: str = "", **choices: tuple[object, ...]) -> Generator:
    """An operand and axes."""

    def make(g: Grower, op: str) -> Any:
        x = g.pick(kinds)
        axis = g.axes(x)
        more = {name: g.choose.choice(given) for name, given in choices.items()}
        return g.emit(op, tame(g, x, domain), axis=axis, keepdims=g.chance(0.5), **more)

    return make


def _position(g: Grower, op: str) -> Any:
    x = g.pick("iuf")
    if g.chance(0.2):
        return g.emit(op, x)
    return g.emit(op, x, axis=g.axis(x), keepdims=g.chance(0.5))


# -- movement ----------------------------------------------------------------------------------


def _reshape(g: Grower, op: str) -> Any:
    x = g.pick()
    shapes: list[Any] = [[-1], [1, -1], [*(size(x, a) for a in range(x.ndim)), 1]]
    rest = x.shape[2:]
    if x.ndim > 1 and all(isinstance(s, int) and s for s in rest):
        shapes += [[-1, *rest]] * 2  # NumPy finds no size beside an axis of none
    known = [s for s in x.shape if isinstance(s, int)]
    if len(known) == x.ndim and x.ndim:
        total = 1
        for one in known:
            total *= one
        shapes += [[d, total // d] for d in (2, 3, 4) if total and total % d == 0] * 2
    return g.emit(op, x, {"tuple": g.choose.choice(shapes)})


def _broadcast_to(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim < 4)
    kept = [size(x, a) if x.shape[a] != 1 else g.choose.choice((1, 3)) for a in range(x.ndim)]
    lead = [g.choose.choice((1, 2, 3))] if g.chance(0.6) else []
    return g.emit(op, x, {"tuple": lead + kept})


def _transpose(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim > 0)
    if op == "transpose" and g.chance(0.3):
        return g.emit(op, x)
    return g.emit(op, x, {"tuple": g.choose.sample(range(x.ndim), x.ndim)})


def _swapaxes(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim > 0)
    return g.emit(op, x, g.axis(x), g.axis(x))


def _expand_dims(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim < 5)
    return g.emit(op, x, g.choose.randint(-x.ndim - 1, x.ndim))


def _squeeze(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: 1 in x.shape)
    if g.chance(0.5) and all(isinstance(s, int) for s in x.shape):
        return g.emit(op, x)
    return g.emit(op, x, g.choose.choice([a for a in range(x.ndim) if x.shape[a] == 1]))


def _flip(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim > 0)
    return g.emit(op, x, g.axes(x))


def _reversed_rows(g: Grower, op: str) -> Any:
    return g.emit(op, g.pick("f", lambda x: x.ndim > 0))


def _getitem(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim > 0)
    if g.chance(0.1):
        index = g.pick("iu", lambda y: y.ndim < 3)
        return g.emit(op, x, within(g, index, x, 0))
    if x.ndim > 1 and g.chance(0.15):
        return _by_indices(g, op, x)
    keys: list[Any] = []
    for length in x.shape[: g.choose.randint(1, x.ndim)]:
        slices = [
            [None, None, None], [None, None, -1], [1, None, None], [None, -1, None],
            [None, None, 2], [-2, None, None], [None, 1, None], [2, 1, None], [None, None, -2],
            [-2, None, -1], [None, 0, None], [None, -3, -1], [1, 3, None],
        ]  # fmt: skip
        if isinstance(length, int) and length > 0 and g.chance(0.4):
            keys.append(g.choose.randrange(-length, length))
        else:
            keys.append({"slice": g.choose.choice(slices)})
    if g.chance(0.15):
        keys.insert(g.choose.randint(0, len(keys)), None)
    if g.chance(0.15):
        keys.insert(g.choose.randint(0, len(keys)), {"ellipsis": 1})
    return g.emit(op, x, {"tuple": keys} if len(keys) > 1 or g.chance(0.3) else keys[0])


def _by_indices(g: Grower, op: str, x: Any) -> Any:
    """An index for one axis or two of x, between slices: without numbers, which PyTorch takes
    first, and NumPy with the indices.
    """
    index = g.pick("iu", lambda y: y.ndim < 2)
    indexed = g.choose.sample(range(x.ndim), g.choose.choice((1, 2)))
    slices = [[None, None, None], [1, None, None], [None, None, -1], [None, -1, 2]]
    keys = [
        within(g, index, x, axis) if axis in indexed else {"slice": g.choose.choice(slices)}
        for axis in range(x.ndim)
    ]
    return g.emit(op, x, {"tuple": keys})


def _strided_slice(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim > 0 and all(isinstance(s, int) for s in x.shape))
    starts, sizes, steps = [], [], []
    for length in x.shape:
        step = g.choose.choice((1, 1, 2, 3))
        start = g.choose.randint(0, length)
        most = max(0, (length - start + step - 1) // step)
        starts.append(start)
        sizes.append(g.choose.randint(min(1, most), most))
        steps.append(step)
    return g.emit(op, x, *({"tuple": one} for one in (starts, sizes, steps)))


def _embed(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim < 4 and all(isinstance(s, int) for s in x.shape))
    starts = [g.choose.randint(0, 2) for _ in x.shape]
    steps = [g.choose.choice((1, 1, 2)) for _ in x.shape]
    spans = zip(starts, x.shape, steps, strict=True)
    shape = [a + max(0, n - 1) * s + 1 + g.choose.randint(0, 2) for a, n, s in spans]
    value = g.choose.choice((0, 1, 0.5 if x.kind == "f" else 1))
    return g.emit(op, x, *({"tuple": one} for one in (starts, shape, steps)), value)


def _pad(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim < 5)
    widths: Any = g.choose.choice((1, {"tuple": [0, 2]}))
    if x.ndim and g.chance(0.5):
        widths = [{"tuple": [g.choose.randint(0, 2), g.choose.randint(0, 1)]} for _ in x.shape]
    return g.emit(op, x, widths, g.choose.choice((0, 1)))


def _concatenate(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim > 0)
    axis = g.axis(x)
    place = axis % x.ndim

    def fits(y: Value) -> bool:
        return y.ndim == x.ndim and all(
            a == b for i, (a, b) in enumerate(zip(x.shape, y.shape, strict=True)) if i != place
        )

    parts = [x, g.pick(x.kind, fits)] + ([g.pick(x.kind, fits)] if g.chance(0.3) else [])
    return g.emit(op, g.choose.sample(parts, len(parts)), axis)


def _stack(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim < 4)
    y = g.pick(x.kind, lambda y: y.shape == x.shape)
    return g.emit(op, [x, y, x] if g.chance(0.3) else [y, x], g.choose.randint(-x.ndim - 1, x.ndim))


def _split(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: any(isinstance(s, int) and s > 1 for s in x.shape))
    axis = g.choose.choice([a for a in range(x.ndim) if isinstance(x.shape[a], int)])
    if x.shape[axis] < 2:
        raise NoOperandError
    step = {"name": [f"{g.fresh()}l", f"{g.fresh()}r"], "op": op, "args": [x.ref, [1], axis]}
    return g.add(step)


def _sliding_windows(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: 0 < x.ndim < 4)
    count = g.choose.randint(1, min(2, x.ndim))
    parts = [[g.choose.choice((1, 2, 2, 3)) for _ in range(count)]]
    parts += [[g.choose.choice((1, 1, 2)) for _ in range(count)] for _ in range(2)]
    if any(isinstance(s, int) and s < 1 for s in x.shape):
        raise NoOperandError
    if not all(isinstance(s, int) for s in x.shape[-count:]) and g.chance(0.8):
        raise NoOperandError  # no window fits into an axis that is too short
    return g.emit(op, x, *({"tuple": one} for one in parts))


def _overlap_add(g: Grower, op: str) -> Any:
    x = g.pick("iuf", lambda x: x.ndim > 1 and all(isinstance(s, int) for s in x.shape[-2:]))
    stride, dilation = g.choose.choice((1, 2, 3)), g.choose.choice((1, 2))
    count, window = x.shape[-2:]
    length = max(0, count - 1) * stride + max(0, window - 1) * dilation + 1 + g.choose.randint(0, 2)
    return g.emit(op, x, {"tuple": [length]}, {"tuple": [stride]}, {"tuple": [dilation]})


def _as_strided(g: Grower, op: str) -> Any:
    rows, columns = g.choose.randint(1, 3), g.choose.randint(1, 4)
    stride = columns + g.choose.randint(0, 2)
    x = g.operand(((rows - 1) * stride + columns,))
    if g.chance(0.5):
        return g.emit(op, x, {"tuple": [rows, columns]}, {"tuple": [stride, 1]})
    return g.emit(op, x, {"tuple": [columns, rows]}, {"tuple": [1, stride]})


def _iota(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim > 0)
    return g.emit("arange", size(x, g.axis(x)))


def _size_of(g: Grower, op: str) -> Any:
    x = g.pick(test=lambda x: x.ndim > 0)
    axis = g.axis(x)
    if g.chance(0.5):
        return g.emit("zeros", {"tuple": [size(x, axis), 2]}, g.dtype)
    return g.emit("size_of", x, axis, g.dtype)


_WINDOW: dict[str, tuple[Any, ...]] = {
    "kernel_size": (2, 3, {"tuple": [2, 1]}), "stride": (None, 1, 2), "padding": (0, 0, 1),
}  # fmt: skip
"""Arguments of windows, by their names."""


def _by_signature(op: Op) -> Generator | None:
    """An op of one operand, from the names of its other arguments; None if one is not known."""
    _, *rest = op.signature.parameters.values()
    named = [one for one in rest if one.kind is one.POSITIONAL_OR_KEYWORD]
    choices = {**_WINDOW, **op.choices} if op.sweep == "windows" else op.choices
    if not named or any(one.name not in choices and one.name != "axis" for one in named):
        return None
    kinds = "f" if op.floating else "iuf"

    def make(g: Grower, name: str) -> Any:
        x = image(g) if op.sweep == "windows" else tame(g, g.pick(kinds), op.domain)
        given = {}
        for one in named:
            if one.default is one.empty or g.chance(0.8):
                known = choices.get(one.name)
                given[one.name] = g.choose.choice(known) if known else g.axis(x)
        return g.emit(name, x, **given)

    return make


def _by_record(op: Op) -> Generator:
    """An op of one or two operands, element by element, where its record says that it is tame."""
    domain = "" if op.domain == "all" else op.domain
    if len(op.vjp) == 1:  # type: ignore[arg-type]
        return unary("f" if domain else "fi" if op.floating else "iuf", domain)
    return binary("f" if op.floating else "iuf", domain=domain)


OF_RANDOM_NUMBERS = frozenset((
    "below_attempt", "binomial_attempt", "exponential_float32", "exponential_float64",
    "gamma_attempt", "gamma_curve", "gamma_slope", "gumbel_float32", "gumbel_float64",
    "large_binomial_attempt", "large_poisson_attempt", "log_gamma_attempt", "normal_float32",
    "normal_float64", "poisson_attempt", "random_below", "random_binomial", "random_gamma",
    "random_log_gamma", "random_order", "random_places", "random_poisson", "random_truncated",
    "scaled_bits", "threefry", "truncated_attempt", "unit_float32", "unit_float64",
    "wide_attempt",
))  # fmt: skip
"""What random numbers are made by, which no program makes: kernels evaluate most of it themselves,
so that nothing would be compared. `tests/staticgraph/random` has known answers."""

OF_COMPLEX = frozenset((
    "complex", "conjugate", "dft", "eig", "eigvals", "imaginary_part", "on_complex", "real_dft",
    "real_part", "real_inverse_dft", "view_as_complex", "view_as_real",
))  # fmt: skip
"""What takes or gives complex numbers, which no program has."""

_MEANT = [op for op in all_ops() if op.name not in OF_RANDOM_NUMBERS | OF_COMPLEX]

_FROM_RECORDS: dict[str, Generator] = {
    op.name: _by_record(op)
    for op in _MEANT
    if op.elementwise and op.bind is None and isinstance(op.vjp, tuple) and len(op.vjp) in (1, 2)
} | {
    op.name: made
    for op in _MEANT
    if op.bind is not None and isinstance(op.vjp, tuple) and len(op.vjp) == 1
    and (made := _by_signature(op)) is not None
}  # fmt: skip

GENERATORS: dict[str, Generator] = _FROM_RECORDS | {
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
                    binary("biuf", "biuf")),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), binary("b")),
    "logical_not": unary("b"), **dict.fromkeys(("isnan", "isinf", "isfinite"), unary("f")),
    "where": _where, "astype": _astype, "copy": unary("biuf"),
    "recompute": _recompute, "after": _recompute,
    "divide": binary("iuf", domain="positive"), "power": _power,
    **dict.fromkeys(("maximum", "minimum"), binary("biuf", "biuf")),
    **dict.fromkeys(("gammainc", "gammaincc"), _incomplete("positive", _PARAMETERS)),
    "hyp1f1": _incomplete("unit", (1.0, 2.0), (3.0, 4.0)),
    "hyp2f1": _incomplete("share", _PARAMETERS, (1.0, 2.0), (3.0, 5.0)),
    "expn": _incomplete("positive", (1.0, 2.0, 5.0)),
    "betainc": _incomplete("share", _PARAMETERS, _PARAMETERS),
    "orthogonal_polynomial": _orthogonal,
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), binary("biu")),
    **dict.fromkeys(("left_shift", "right_shift"), binary("iu")),
    "bitwise_not": unary("biu"), "bitwise_count": unary("iu"),
    "logit": unary("f", "share"), "polygamma": _polygamma, "binary_cross_entropy": _cross_entropy,
    "heaviside": binary("f"), **dict.fromkeys(("gcd", "lcm"), binary("iu")),
    "stop_gradient": unary("biuf"),
    "clip": _clip, "clamp": _clamp,
    "sum": reduction("iuf"), "prod": reduction("iuf", "unit"),
    "max": reduction("iuf"), "min": reduction("iuf"), "any": reduction("b"), "all": reduction("b"),
    "mean": reduction("f"), "var": reduction("f", correction=(0, 1)),
    "std": reduction("f", correction=(0, 1)), "logsumexp": reduction("f"),
    "argmax": _position, "argmin": _position,
    "reshape": _reshape, "broadcast_to": _broadcast_to, "transpose": _transpose,
    "permute": _transpose, "swapaxes": _swapaxes, "expand_dims": _expand_dims, "squeeze": _squeeze,
    "flip": _flip, "getitem": _getitem, "strided_slice": _strided_slice, "embed": _embed,
    "pad": _pad, "concatenate": _concatenate, "stack": _stack, "split": _split,
    "sliding_windows": _sliding_windows, "overlap_add": _overlap_add, "as_strided": _as_strided,
    "iota": _iota, "size_of": _size_of, **PRODUCTS, **along.GENERATORS,
    **attention.GENERATORS, **matrices.GENERATORS, **scatters.GENERATORS,
    "softened": unary("f"), "reversed_rows": _reversed_rows,
}  # fmt: skip
"""A generator for each op that is not a leaf, a loop or a branch."""
