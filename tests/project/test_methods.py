"""Methods of tensors and expressions show what they take, and say what they do."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import dynamic
from staticgraph.compiler.graph.expression import Expression

OWN = {"to"}  # (device), (dtype), (other) and their options, which no signature tells


def shows_nothing(method: Any) -> bool:
    """Whether its signature is that of any function."""
    return any(
        str(one).startswith(("*args", "*operands"))
        for one in inspect.signature(method).parameters.values()
    )


@pytest.mark.parametrize("kind", [Expression, dynamic.Tensor])
def test_methods_have_a_signature_and_documentation(kind: Any) -> None:
    public = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
    methods = {name: one for name, one in public.items() if callable(one) and name not in OWN}
    assert len(methods) > 70
    assert [name for name, one in methods.items() if shows_nothing(one) or not one.__doc__] == []
