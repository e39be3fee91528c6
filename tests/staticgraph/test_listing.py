"""The listing of ops and of other libraries' names: it is true, and so is the page."""

from __future__ import annotations

import pytest

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.__main__ import main
from staticgraph.compiler.core.op import all_ops
from staticgraph.compiler.ops import LIBRARY
from staticgraph.listing import composed, names, reasons
from staticgraph.listing.table import (
    Beside,
    beside,
    comparisons,
    complete,
    differentiable,
    markdown,
    rows,
)
from tests.paths import ROOT


def test_the_page_is_the_one_that_is_made() -> None:
    page = (ROOT / "docs" / "ops.md").read_text()
    assert page == markdown(), "make it anew: staticgraph ops --markdown docs/ops.md"


def test_every_name_is_ours_or_has_a_reason() -> None:
    for library, listed in comparisons().items():
        assert [one.name for one in listed if not one.ours and not one.reason] == [], library


def test_reasons_are_of_names_that_there_are() -> None:
    for theirs, missing in (
        (names.JAX_NUMPY, reasons.JAX_NUMPY), (names.JAX_LINALG, reasons.JAX_LINALG),
        (names.JAX_SPECIAL, reasons.JAX_SPECIAL), (names.TORCH, reasons.TORCH),
        (names.TORCH_FUNCTIONAL, reasons.TORCH_FUNCTIONAL),
    ):  # fmt: skip
        assert set(missing) <= set(theirs)
        assert len(set(theirs)) == len(theirs)


def test_reasons_are_of_what_is_not_there() -> None:
    """But for the names that mean something else here."""
    places = {
        "jax": (sg, reasons.JAX_NUMPY), "special": (sg.special, reasons.JAX_SPECIAL),
        "torch": (dynamic, reasons.TORCH), "nn": (sg.nn, reasons.TORCH_FUNCTIONAL),
    }  # fmt: skip
    found = {
        place: {name for name in missing if hasattr(owner, name)}
        for place, (owner, missing) in places.items()
    }
    assert found == {
        "jax": {"diff", "load", "save"}, "special": set(), "torch": set(), "nn": set()
    }  # fmt: skip


def test_most_of_what_others_have_is_there() -> None:
    have = {name: sum(bool(one.ours) for one in listed) for name, listed in comparisons().items()}
    assert have["jax.numpy"] >= 300
    assert have["jax.numpy.linalg"] >= 31
    assert have["jax.scipy.special"] >= 40


def test_every_op_has_a_row_and_what_is_differentiable_every_cell() -> None:
    made = {one.name: one for one in rows()}
    assert made.keys() == {op.name for op in all_ops()} & LIBRARY
    whole = {op.name for op in differentiable()}
    assert len(whole) > 100
    assert whole - {row.name for row in complete()} == {"gamma_slope"}
    for row in complete():
        assert all(row[2:]), row
        for cell in (row.gradient, row.second, row.forward.rpartition(", ")[2]):
            assert float(cell) <= 1e-7, row


def test_every_layer_has_a_row() -> None:
    made = {row.name for row in rows()} | composed.measured().keys() | composed.WITHOUT.keys()
    assert [one for one in sg.nn.__all__ if one not in made and f"nn.{one}" not in made] == []


def test_a_reason_wins_and_the_first_place_is_named() -> None:
    class Place:
        a = b = 1

    found = beside(["a", "b", "c"], {"one": Place, "two": Place}, {"b": "other"})
    assert found == [Beside("a", "one.a", ""), Beside("b", "", "other"), Beside("c", "", "")]


def test_the_command_tells_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    said = capsys.readouterr().out
    assert f"jax.numpy.linalg: {len(names.JAX_LINALG)} of {len(names.JAX_LINALG)}\n" in said
    assert f"jax.scipy.special: {len(names.JAX_SPECIAL)} of {len(names.JAX_SPECIAL)}\n" in said
