"""The rows of the listing, made from the records of the ops and from the public names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.compiler.core.lowering import Host, Item, Nested
from staticgraph.compiler.core.op import Op, all_ops
from staticgraph.compiler.functions import NAMES
from staticgraph.compiler.llvm.vecmath.accuracy import ULP_BOUND
from staticgraph.compiler.ops import LIBRARY, PUBLIC
from staticgraph.compiler.ops.declare import Refused
from staticgraph.listing import composed, names, reasons
from staticgraph.listing.measured import errors


class Row(NamedTuple):
    """What there is of an op.

    Attributes:
        name: that of the op.
        where: the names under which it is public; "" for what the compiler makes.
        gradient: its largest error, or why there is none.
        second: the largest error of the second derivative, in every way that it is found.
        forward: how tangents are carried, and the largest error.
        batches: how examples are.
        form: how kernels compute it.
        bound: what is known of its rounding.
    """

    name: str
    where: str
    gradient: str
    second: str
    forward: str
    batches: str
    form: str
    bound: str


def rows() -> list[Row]:
    """A row per op of the library."""
    return [_row(op) for op in sorted(all_ops(), key=lambda op: op.name) if op.name in LIBRARY]


def differentiable() -> list[Op]:
    """The ops that have a gradient."""
    return [op for op in all_ops() if op.name in LIBRARY and _gradient(op) == "yes"]


def complete() -> list[Row]:
    """The rows of differentiable ops of which every cell has something measured or known."""
    whole = {op.name for op in differentiable()}
    return [row for row in rows() if row.name in whole and _is_complete(row)]


def _is_complete(row: Row) -> bool:
    return row.second != "none" and all((row.gradient, row.forward, row.batches, row.bound))


def _row(op: Op) -> Row:
    gradient, found = _gradient(op), errors().get(op.name, {})
    smooth = gradient == "yes"
    carried = f"{_forward(op)}, {found['forward']}" if found else _forward(op)
    return Row(
        op.name,
        _where(op),
        found.get("first", gradient),
        found.get("second", "none") if smooth else "",
        carried if smooth else "",
        _batches(op),
        _form(op),
        _bound(op) or found.get("value", ""),
    )


def _where(op: Op) -> str:
    places = [
        prefix
        for prefix, owner in (
            ("sg", sg), ("dynamic", dynamic), ("sg.linalg", sg.linalg), ("sg.special", sg.special),
        )
        if getattr(owner, op.name, None) is not None
    ]  # fmt: skip
    return ", ".join(places)


def _gradient(op: Op) -> str:
    if isinstance(op.vjp, tuple) and any(isinstance(rule, Refused) for rule in op.vjp):
        return "refused"
    if callable(op.vjp) or any(rule is not None for rule in op.vjp) or op.vjp_items is not None:
        return "yes"
    return "none: exact or of integers" if op.exact else "none"


def _forward(op: Op) -> str:
    carried = {"none": "rules differentiated", "diagonal": "by the rules of reverse mode"}
    return carried.get(op.linearity, op.linearity)


def _batches(op: Op) -> str:
    if isinstance(op.lowering, Nested | Item):
        return "with its body"
    if op.batching is not None:
        return "a rule"
    return "expanded" if op.expand is not None else ""


def _form(op: Op) -> str:
    if op.expand is not None:
        return "composed of ops"
    if isinstance(op.lowering, Host):
        return "host step"
    if isinstance(op.lowering, Nested):
        return "loop or branch"
    return "leaf" if op.lowering is None else "loop"


def _bound(op: Op) -> str:
    if op.exact:
        return "exact"
    if op.name.startswith("random_"):
        return "drawn"
    bound = ULP_BOUND.get(op.name)
    return "" if bound is None else f"{bound['float32']} / {bound['float64']} ulp"


class Beside(NamedTuple):
    """A function of another library with ours beside it, or the reason why there is none."""

    name: str
    ours: str
    reason: str


def beside(
    theirs: Iterable[str], places: Mapping[str, object], missing: Mapping[str, str]
) -> list[Beside]:
    """Per name the first place that has it, unless there is a reason."""
    found = []
    for name in theirs:
        places_of = [place for place, owner in places.items() if hasattr(owner, name)]
        ours = "" if name in missing or not places_of else f"{places_of[0]}.{name}"
        found.append(Beside(name, ours, missing.get(name, "")))
    return found


def comparisons() -> dict[str, list[Beside]]:
    """Per library its functions with ours beside them."""
    return {
        "jax.numpy": beside(names.JAX_NUMPY, {"sg": sg}, reasons.JAX_NUMPY),
        "jax.numpy.linalg": beside(names.JAX_LINALG, {"sg.linalg": sg.linalg}, reasons.JAX_LINALG),
        "jax.scipy.special": beside(
            names.JAX_SPECIAL, {"sg.special": sg.special}, reasons.JAX_SPECIAL
        ),
        "torch": beside(names.TORCH, {"dynamic": dynamic}, reasons.TORCH),
        "torch.nn.functional": beside(
            names.TORCH_FUNCTIONAL, {"sg.nn": sg.nn}, reasons.TORCH_FUNCTIONAL
        ),
    }


def markdown() -> str:
    """The whole listing as a page."""
    lines = [
        "# Ops and functions",
        "",
        "Written by `staticgraph ops --markdown docs/ops.md` from the records of the ops; a test "
        "compares it.",
        "",
    ]
    found = comparisons()
    lines += ["| of | functions | ours | for a reason not |", "|---|---|---|---|"]
    for library, listed in found.items():
        have = sum(bool(one.ours) for one in listed)
        lines.append(f"| {library} | {len(listed)} | {have} | {len(listed) - have} |")
    made = rows()
    whole, measured = differentiable(), composed.measured()
    filled = complete()
    without = [op.name for op in whole if op.name not in {row.name for row in filled}]
    layers = sum(f"nn.{name}" in measured for name in sg.nn.__all__)
    lines += [
        "",
        f"The library has {len(made)} ops, of which {len(PUBLIC)} names are public, and "
        f"{len(NAMES)} functions in NumPy's names that are composed of them, as are most of the "
        f"{len(sg.nn.__all__)} of layers and losses in `sg.nn`, which `dynamic.nn.functional` has "
        f"too. {len(whole)} ops have "
        "a gradient, to any order: the rules are written in ops. Those of "
        f"{len(errors())} were measured, and those of {len(measured)} composed functions.",
        "",
        f"**{len(filled)} of the {len(whole)} differentiable ops have every cell: "
        f"{100 * len(filled) / len(whole):.1f} %.** "
        f"Not: {', '.join(f'`{name}`' for name in without)}, whose second derivative is the third "
        "of gamma numbers, and refused. "
        f"So have {sum(composed.is_complete(one) for one in measured.values())} of "
        f"{len(measured)} composed functions, among them {layers} of the {len(sg.nn.__all__)} in "
        "`sg.nn`; the others there are ops, or have no derivative.",
        "",
        "## Ops",
        "",
        "Static and eager: where the op is public; every op has both paradigms, which the generic "
        "tests compare. Forward mode: how tangents go on; batches: how `vmap` takes it. Bound: of "
        "what is a function of one expression in units in the last place, in float32 and float64, "
        "as [measured](ulp.md) and tested. What is drawn has no bound, but the same bits in both "
        "paradigms. A gradient of random numbers is that of the number at a fixed quantile.",
        "",
        "Figures such as 3e-16 are the largest errors in float64 at 100 points drawn at random and "
        "at edges, relative to values above 1: `python -m tests.derivatives` compares values (the "
        "last column), first derivatives (compiled, and on tensors), second ones (compiled, in "
        "reverse and in forward over reverse mode, and on tensors) and forward mode with quotients "
        "of differences in fifty digits, in a random direction, and fails above 1e-13, 1e-9, 1e-7 "
        "and 1e-9. Second derivatives of `hardsigmoid` are those of graphs: tensors refuse them, "
        "as PyTorch's do.",
        "",
        "| op | public in | gradient | second order | forward mode | batches | kernel | bound |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += ["| " + " | ".join((f"`{one.name}`", *one[1:])) + " |" for one in made]
    lines += ["", *composed.section()]
    for library, listed in found.items():
        lines += ["", f"## {library}", ""]
        ours = ", ".join(f"`{one.ours}`" for one in listed if one.ours)
        lines += [ours, "", "| not | for |", "|---|---|"]
        lines += [f"| `{one.name}` | {one.reason} |" for one in listed if not one.ours]
    return "\n".join(lines) + "\n"
