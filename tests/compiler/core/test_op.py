"""Ops as functions: what `help`, editors and `inspect` say of them."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.op import Op, op_named
from tests.paths import ROOT

OPS = [name for name in sg.__all__ if isinstance(getattr(sg, name), Op)]
OF_SIZES = {"broadcast_to", "reshape", "transpose"}  # x.reshape(2, 3) as x.reshape((2, 3))


@pytest.mark.parametrize("name", OPS)
def test_a_public_op_shows_its_own_signature_and_documentation(name: str) -> None:
    op = getattr(sg, name)
    parameters = inspect.signature(op).parameters.values()
    assert parameters
    variadic = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    assert name in OF_SIZES or not variadic & {one.kind for one in parameters}
    text = inspect.getdoc(op)
    assert text is not None
    call, *described, example = text.split("\n\n")
    assert call.split() == f"{op.name}{inspect.signature(op)}".split()
    assert [one.split() for one in described] == [one.split() for one in op.doc.split("\n\n")]
    assert op.doc
    assert example == "Example:\n" + textwrap.indent(op.example, "    ")
    assert max(map(len, text.splitlines())) <= 100
    assert op.__name__ == op.name


def test_a_long_documentation_is_wrapped_paragraph_by_paragraph() -> None:
    op = op_named("binary_cross_entropy")
    first, second = op.doc.split("\n\n")
    text = str(op.__doc__)
    assert text.startswith(f"binary_cross_entropy(x, target, /)\n\n{first}\n\nIts logarithms are")
    assert text.split("\n\n")[2].split() == second.split()


@pytest.mark.parametrize(
    ("op", "signature"),
    [
        (sg.softmax, "(x, axis=None, *, dim=None)"),
        (sg.exp, "(a, /)"),
        (sg.hypot, "(a, b, /)"),
        (sg.leaky_relu, "(x, negative_slope: 'float' = 0.01)"),
        (sg.where, "(condition, x, y, /)"),
    ],
)
def test_signatures(op: Any, signature: str) -> None:
    assert str(inspect.signature(op)) == signature


def test_help_shows_the_op_and_not_the_class() -> None:
    text = pydoc.plain(pydoc.render_doc(sg.softmax))
    assert "softmax(x, axis=None, *, dim=None)" in text
    assert sg.softmax.doc in text
    assert "Attributes" not in text


def test_help_is_the_same_with_the_eager_engine() -> None:
    """Which puts a shorter call into the class of an op."""
    code = "import pydoc, staticgraph as sg; print(pydoc.plain(pydoc.render_doc(sg.exp)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert dynamic.exp is not None
    alone, beside = done.stdout, pydoc.plain(pydoc.render_doc(sg.exp))
    assert alone.splitlines()[2:6] == beside.splitlines()[2:6]  # after the name of the class
    assert "exp(a, /)" in alone.splitlines()[3]


def test_the_class_has_its_own() -> None:
    assert Op.__name__ == "Op"
    assert inspect.getdoc(Op).startswith("One operation.")
    assert "infer_type" in inspect.signature(Op).parameters
