"""What a public name of `dynamic` may be given: guesses, of which those are kept that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from staticgraph import dynamic
from staticgraph.dynamic import Tensor, linalg, nn
from staticgraph.dynamic.functions.removed import INSTEAD as REMOVED
from staticgraph.fuzz.capture.values import Values

_REASONS = {
    "no name of PyTorch's: how the two paradigms speak with tensors":
        "apply arrays call captured constant perform settings traced",
    "changes the process, or writes files":
        "load save manual_seed seed set_default_device set_default_dtype set_default_tensor_type "
        "set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal "
        "set_num_interop_threads set_num_threads set_printoptions set_rng_state set_warn_always "
        "use_deterministic_algorithms",
    "draws graphs of the tape": "make_dot",
    "takes functions": "cond scan while_loop vmap register_hook "
        "register_post_accumulate_grad_hook",
    "depends on the machine": "get_num_threads cuda",
    "shows memory, or what was there before":
        "data_ptr empty empty_like new_empty resize_ resize_as_ as_strided as_strided_",
    "is of the tape: tests/dynamic/capture/test_capture_refusals.py":
        "backward retain_grad grad grad_fn output_nr",
    "undefined for what is not in order: tests/dynamic/capture/test_captured_indexing.py":
        "bucketize digitize searchsorted",
    "takes an array: tests/dynamic/capture/test_capture_programs.py": "from_numpy",
}  # fmt: skip
APART = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""The last parts of the names that are left out, and why."""

OWNERS: dict[str, Any] = {
    "": dynamic, "nn.functional.": nn.functional, "linalg.": linalg, "Tensor.": Tensor,
}  # fmt: skip


def _public(prefix: str) -> list[str]:
    owner = OWNERS[prefix]
    return [
        prefix + name
        for name in dir(owner)
        if not name.startswith("_")
        and name not in APART
        and not (owner is dynamic and name in REMOVED)
        and not inspect.ismodule(getattr(owner, name))
        and not inspect.isclass(getattr(owner, name))
        and (owner is Tensor or callable(getattr(owner, name)))
    ]


NAMES = [name for prefix in OWNERS for name in _public(prefix)]
"""Every function, and every method and attribute as `Tensor.name`."""

LISTS = frozenset((
    "block_diag", "broadcast_tensors", "cartesian_prod", "cat", "column_stack",
    "concat", "concatenate", "dstack", "hstack", "linalg.multi_dot", "meshgrid", "row_stack",
    "stack", "vstack",
))  # fmt: skip
"""What takes several tensors, most of them as a list."""

Guess = Callable[[Values], Any]


def _dtype(g: Values) -> Any:
    return {"dtype": g.choose.choice(("float64", "float32", "int64", "bool", "int32"))}


def _dims(g: Values) -> Any:
    return [g.dim(), g.dim()] if g.chance(0.6) else [g.dim()]


def _count(g: Values) -> Any:
    return g.size() if g.chance(0.3) else g.choose.choice((0, 1, 1, 2, 2, 3, -1))


def _shape(g: Values) -> Any:
    shape = list(g.shape)
    kind = g.choose.choice(("same", "flat", "reversed", "longer", "rest", "sizes"))
    if kind == "flat":
        shape = [-1]
    elif kind == "reversed":
        shape.reverse()
    elif kind == "longer":
        shape.insert(0, g.choose.choice((1, 2)))
    elif kind == "rest" and shape:
        shape[g.choose.randrange(len(shape))] = -1
    elif kind == "sizes" and shape:
        return {"tuple": [{"size": [g.subject, axis]} for axis in reversed(range(len(shape)))]}
    return {"tuple": shape}


def _indices(g: Values) -> Any:
    return {"tuple": [g.tensor("int64", [2]) for _ in range(g.choose.choice((1, 2)))]}


def _one(*choices: object) -> Guess:
    return lambda g: g.choose.choice(choices)


GUESSES: dict[str, Guess] = {
    "dim": lambda g: g.dim(),
    "dims": _dims,
    "count": _count,
    "number": lambda g: g.number(),
    "flag": _one(True, False),
    "shape": _shape,
    "dtype": _dtype,
    "like": lambda g: g.like(),
    "other": lambda g: g.any(),
    "index": lambda g: g.tensor("int64", g.nearby()),
    "places": lambda g: g.tensor("int64", g.choose.choice(([2], [3], []))),
    "mask": lambda g: g.tensor("bool", g.nearby()),
    "vector": lambda g: g.tensor("float64", [g.choose.choice((2, 3, 4))]),
    "matrix": lambda g: g.tensor("float64", g.choose.choice(([3, 3], [3, 2], [4, 3], [2, 4]))),
    "kernel": lambda g: g.tensor("float64", g.choose.choice(([2, 2, 1], [2, 1, 2], [2, 2, 1, 2]))),
    "several": lambda g: [g.subject, g.like()],
    "indices": _indices,
}  # fmt: skip
ROWS = [row.split() for row in (
    "", "", "dim", "dim", "dims", "count", "number", "shape", "dtype", "like", "like", "other",
    "flag", "mask", "vector", "matrix", "kernel", "places", "indices like", "indices number",
    "dim dim", "dim count", "dim count count", "dim flag", "dim dtype", "dim index",
    "dim places", "dim places like", "dim places number", "dim index like", "dim index number",
    "count dim", "count count", "count dims", "dims dims", "number number", "like like",
    "like number", "mask like", "mask number", "like mask", "matrix matrix", "matrix vector",
    "vector vector", "kernel vector", "like dim", "dim shape", "places number", "places like",
    "count count count", "count count count count", "index",
)]  # fmt: skip
"""What follows the tensor that a function or method is of."""

KEYWORDS: dict[str, Guess] = {
    "dim": GUESSES["dim"], "axis": GUESSES["dim"], "dims": _dims, "keepdim": GUESSES["flag"],
    "dtype": _dtype, "other": GUESSES["like"], "alpha": GUESSES["number"],
    "beta": GUESSES["number"], "value": GUESSES["number"], "min": GUESSES["number"],
    "max": GUESSES["like"], "descending": _one(True), "stable": _one(True),
    "correction": _one(0, 1, 2), "unbiased": GUESSES["flag"], "largest": _one(False),
    "size": _shape, "reduction": _one("sum", "mean", "none"), "reduce": _one("sum", "amax", "prod"),
    "rounding_mode": _one("floor", "trunc"), "eps": _one(0.01), "training": GUESSES["flag"],
    "weight": GUESSES["vector"], "p": _one(1, 2, 0.5), "upper": _one(True), "diagonal": _count,
    "offset": _count, "inplace": _one(True), "requires_grad": _one(True), "right": _one(True),
    "decimals": _one(1), "n": _count, "start_dim": GUESSES["dim"], "stride": _one(1, 2),
    "padding": _one(0, 1), "mode": _one("reflect", "replicate", "circular", "nearest"),
    "indexing": _one("xy", "ij"), "ord": _one(1, 2, "fro"), "accumulate": _one(True),
    "equal_nan": _one(True), "return_inverse": _one(True), "interpolation": _one("lower"),
    "include_self": _one(False), "hermitian": _one(True), "minlength": _count,
}  # fmt: skip
"""Arguments by name, for whatever has them."""


def parameters(name: str) -> frozenset[str]:
    """The keywords that a function may know, as far as its signature tells; else all."""
    prefix, _, last = name.rpartition(".")
    owner = OWNERS.get(prefix + "." if prefix else "")
    try:
        signature = inspect.signature(getattr(owner, last))
    except (TypeError, ValueError):
        return frozenset(KEYWORDS)
    if any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values()):
        return frozenset(KEYWORDS)
    return frozenset(signature.parameters) & frozenset(KEYWORDS)
