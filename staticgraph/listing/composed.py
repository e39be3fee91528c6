"""The rows of functions that are composed of ops, as measured, and why others have none."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.functions import NAMES

FILE = Path(__file__).with_name("composed.json")
"""Written by `python -m tests.derivatives --composed --write`."""


def _table(reasons: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in reasons.items() for name in names.split()}


WITHOUT = _table({
    "of types, shapes and Python values":
        "broadcast_shapes can_cast einsum_path iscomplexobj isdtype isrealobj "
        "isscalar issubdtype iterable ndim promote_types result_type shape size",
    "integers, booleans or steps, whose derivative is zero":
        "allclose argpartition argwhere array_equal array_equiv bincount count_nonzero digitize "
        "flatnonzero histogram_bin_edges iscomplex isclose isin isneginf isposinf isreal "
        "ix_ lexsort nanargmax nanargmin nextafter nonzero packbits searchsorted signbit spacing "
        "unpackbits unravel_index linalg.matrix_rank special.bernoulli special.gammasgn "
        "fft.fftfreq fft.rfftfreq nn.one_hot",
    "sets, whose elements are those of `sort`":
        "intersect1d setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse "
        "unique_values",
})  # fmt: skip
"""Composed functions without a row, and why."""


@cache
def measured() -> dict[str, dict[str, str]]:
    """By the name below `sg` what was measured: see `tests/derivatives/quotients.py`."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def is_complete(row: dict[str, str]) -> bool:
    """Whether every cell of a row has something, which of what is drawn is that it is."""
    return set(row) == {"first", "second", "forward", "rounding", "kernel"} and all(row.values())


def composed() -> set[str]:
    """The names below `sg` of the public functions that are composed of ops."""
    places = {"linalg": sg.linalg, "special": sg.special, "fft": sg.fft, "nn": sg.nn}
    found = {name for name in NAMES if not isinstance(getattr(sg, name), Op)}
    for place, owner in places.items():
        found |= {f"{place}.{name}" for name in dir(owner) if _is_composed(owner, name)}
    return found


def _is_composed(owner: object, name: str) -> bool:
    function = getattr(owner, name)
    return name[0] != "_" and callable(function) and not isinstance(function, Op | type)


def section() -> list[str]:
    """The lines of the page."""
    lines = [
        "## Functions composed of ops",
        "",
        "Their gradients, batches and kernels are those of the ops. Figures are the largest "
        "differences in float64, at 100 points each, from quotients of differences of the "
        "values, which are themselves right to about 1e-12 (gradient) and 1e-9 (second order): "
        "`python -m tests.derivatives --composed` fails above 1e-9 and 1e-7. Gradients and second "
        "derivatives are compiled, and of tensors. Batches: `vmap` gives what one call after the "
        "other gives. Kernel: loops, and the ops that the interpreter is called for. Rounding: "
        "the largest error in float32, in units of its eps, relative to the largest value.",
        "",
        "| function | public in | gradient | second order | forward mode | batches | kernel "
        "| rounding |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, one in measured().items():
        cells = (
            f"`{name}`", _where(name), one["first"], one["second"], one["forward"],
            "as one by one", one["kernel"], one["rounding"],
        )  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "| not | for |", "|---|---|"]
    return [*lines, *(f"| `{name}` | {reason} |" for name, reason in WITHOUT.items())]


def _where(name: str) -> str:
    place, _, short = name.rpartition(".")
    eager: Any = dynamic.nn.functional if place == "nn" else dynamic
    eager = getattr(dynamic, place) if place not in ("", "nn") else eager
    ours = f"sg.{place}" if place else "sg"
    theirs = {"nn": "dynamic.nn.functional"}.get(place, f"dynamic.{place}" if place else "dynamic")
    return f"{ours}, {theirs}" if hasattr(eager, short) else f"{ours}, of tensors too"
