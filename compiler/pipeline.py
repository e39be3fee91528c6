"""The list of passes that every graph goes through, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from staticgraph.compiler.codegen.budget import recompute_groups
from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.lowering import Alias, IndexMap
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.graph.expression import Expression, construct
from staticgraph.compiler.graph.strided import view_inputs
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.programs.regions import checkpoint, recompute
from staticgraph.compiler.passes.accumulate import accumulate_products
from staticgraph.compiler.passes.embedded import join_embedded
from staticgraph.compiler.passes.exact import evaluated_by_numpy
from staticgraph.compiler.passes.hoist import hoist_invariants, hoist_products
from staticgraph.compiler.passes.loops import optimise_bodies
from staticgraph.compiler.passes.matvec import sum_vector_products
from staticgraph.compiler.passes.merge import merge_scans
from staticgraph.compiler.passes.prune import prune_loops
from staticgraph.compiler.passes.replay import replay
from staticgraph.compiler.passes.rules import RULES, Rule, drop_broadcasts, fold_constants
from staticgraph.compiler.passes.sink import sink_products, sink_sums
from staticgraph.compiler.passes.small_products import sum_products_of_bodies, sum_small_products
from staticgraph.compiler.passes.widen import widen, widen_narrow
from staticgraph.compiler.schedule.layouts import arrange_rows
from staticgraph.compiler.schedule.recompute import recompute_values

NUMERICS = ("strict", "fast", "exact")
_ALWAYS = (fold_constants, drop_broadcasts)
_LAST = (sum_vector_products, sum_small_products)
_AT_THE_END = (accumulate_products,)
LOOPS: tuple[Any, ...] = (
    merge_scans, hoist_invariants, hoist_products, sink_sums, sink_products, prune_loops,
)  # fmt: skip

Pass = Callable[[Definition], Definition]


def pipeline(numerics: str = "strict", disabled: Collection[str] = ()) -> list[Pass]:
    """The passes that make a graph of primitive ops in normal form.

    Args:
        numerics: "strict" keeps to the exact and stable rules, "fast" adds rules that may round
            differently, "exact" rewrites nothing and computes the bits of op-by-op evaluation.
        disabled: names of rules to leave out.
    """
    if numerics not in NUMERICS:
        raise OptionError(f"compile: numerics is one of {NUMERICS}, not {numerics!r}")
    unknown = set(disabled) - rule_names()
    if unknown:
        raise OptionError(f"compile: no rewrite is named {_and_near(unknown)}")
    if numerics == "exact":
        steps = [open_regions, _keep_regions, evaluated_by_numpy]
        return [
            widen_narrow, partial(replay, rules={}, always=steps), expand_composites,
            partial(optimise_bodies, optimise=partial(optimise, numerics=numerics)),
        ]  # fmt: skip
    kinds = ("exact", "stable", "fast") if numerics == "fast" else ("exact", "stable")
    chosen = [rule for rule in RULES if rule.kind in kinds and rule.name not in disabled]
    always = [rewrite for rewrite in _ALWAYS if rewrite.__name__ not in disabled]
    # in a body, products stay what they are: they may move out of the loop
    inside = {*disabled, *(rewrite.__name__ for rewrite in (*_LAST, *_AT_THE_END))}
    last = [rewrite for rewrite in _LAST if rewrite.__name__ not in disabled]
    is_kept = recompute_regions.__name__ in disabled
    copies = _keep_regions if is_kept else recompute_regions
    primitive = [rule for rule in chosen if not rule.composite]
    return [
        widen_narrow,
        partial(replay, rules=_table(chosen), always=[open_regions, copies, *always]),
        expand_composites,
        partial(optimise_bodies, optimise=partial(optimise, numerics=numerics, disabled=inside)),
        *(one for one in (*LOOPS, join_embedded) if one.__name__ not in disabled),
        *([sum_products_of_bodies] if sum_small_products in last else []),
        partial(replay, rules=_table(primitive), always=[*always, *last]),
        *(one for one in _AT_THE_END if one.__name__ not in disabled),
    ]


def _and_near(unknown: Collection[object]) -> str:
    """Names that no rewrite has, and those that they may be meant for."""
    with fork.importing():  # 5 ms that only an error takes
        from difflib import get_close_matches
    names = sorted(unknown, key=str)
    near = [one for name in names for one in get_close_matches(str(name), rule_names())]
    return f"{names}: is it {', '.join(near)}?" if near else f"{names}"


def rule_names() -> set[str]:
    """The names of all rewrites that can be switched off."""
    others = (
        *_ALWAYS, *_LAST, *LOOPS, join_embedded, *_AT_THE_END, recompute_values, arrange_rows,
        recompute_regions, recompute_groups, view_inputs,
    )  # fmt: skip
    return {rule.name for rule in RULES} | {one.__name__ for one in others}


def open_regions(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression | None:
    """A result of a checkpointed region is what it is without one: gradients are taken."""
    return operands[0] if op is checkpoint else None


def recompute_regions(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression | None:
    """What enters the copy of a region is kept, unless it only moves elements: that is free to do
    again, and what it moves may be smaller. Switched off, regions are kept as if there were none.
    """
    if op is not recompute:
        return None
    value, *after = operands
    if not value.operands:
        return None if value.op in (leaves.placeholder, leaves.variable) else value
    if value.op is recompute or not isinstance(value.op.lowering, IndexMap | Alias):
        return None
    (moved,) = value.operands
    return construct(value.op, (construct(recompute, (moved, *after), {}),), value.attrs)


def _keep_regions(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression | None:
    return operands[0] if op is recompute else None


def expand_composites(graph: Definition) -> Definition:
    """Replace each composite by what it is written in, down to the primitive ops."""
    return replay(graph, {}, [widen, expand])


def expand(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression | None:
    """What a composite is written in; None for a primitive op."""
    if op.expand is None:
        return None
    result: Expression = op.expand(*operands, **attrs)
    return result


def _table(rules: list[Rule]) -> dict[str, list[Callable[..., Any]]]:
    table: dict[str, list[Callable[..., Any]]] = {}
    for one in rules:
        table.setdefault(one.op, []).append(_unpacked(one))
    return table


def _unpacked(rule: Rule) -> Callable[..., Any]:
    def rewrite(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Any:
        return rule.rewrite(*operands, **attrs)

    rewrite.__name__ = rule.name
    return rewrite


def optimise(
    graph: Definition, numerics: str = "strict", disabled: Collection[str] = ()
) -> Definition:
    """The graph after all passes."""
    for one in pipeline(numerics, disabled):
        graph = one(graph)
    return graph
