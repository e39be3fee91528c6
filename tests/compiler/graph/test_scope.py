"""Scopes: names that go with a node everywhere, and that nothing but pictures reads."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.compile import is_cached
from staticgraph.compiler.core.source import gradient_of, in_scope, of_gradient, place_of, scope_of
from staticgraph.compiler.graph.canonical import canonical
from staticgraph.compiler.graph.definition import Definition

HOSTILE = "</script>\n\x00\u202e"


def scopes(definition: Definition) -> set[tuple[str, ...]]:
    return {scope_of(node.source) for node in definition.nodes}


def net(*names: str) -> sg.Executable:
    """A step whose one layer is in scopes of these names."""
    x = sg.placeholder("x", (None, 3), "float64")
    w = sg.variable(np.eye(3), "w")

    def layer(names: tuple[str, ...]) -> sg.Expression:
        if not names:
            return sg.tanh(x @ w)
        with sg.scope(names[0]):
            return layer(names[1:])

    y = layer(names)
    return sg.compile([x], y, updates=sg.optim.SGD(lr=0.1).minimize((y * y).sum()))


def test_scopes_nest_and_end() -> None:
    x = sg.placeholder("x", ())
    with sg.scope("a"):
        with pytest.raises(KeyError), sg.scope("lost"):
            raise KeyError
        with sg.scope("b/c"):
            inner = sg.exp(x)
        outer = sg.exp(inner)
    assert (inner.scope, outer.scope, sg.exp(outer).scope) == (("a", "b/c"), ("a",), ())


def test_a_function_is_a_scope() -> None:
    @sg.scope("attention")
    def attention(x: sg.Expression) -> sg.Expression:
        return sg.exp(x)

    x = sg.placeholder("x", ())
    assert [attention(x).scope, attention(x).scope, sg.exp(x).scope] == [("attention",)] * 2 + [()]


@pytest.mark.parametrize("name", ["", None, 3])
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(sg.OptionError, match="scope: the name is a text"), sg.scope(name):  # type: ignore[arg-type]
        pass


def test_a_source_with_a_scope_is_the_same_text() -> None:
    source = in_scope("train.py:3", ("a",))
    assert source == "train.py:3"
    assert hash(source) == hash("train.py:3")
    gradient = of_gradient("exp", source)
    assert (gradient, scope_of(gradient)) == ("gradient of exp at train.py:3", ("a",))
    assert (gradient_of(gradient), place_of(gradient)) == ("exp", "train.py:3")
    assert type(in_scope("train.py:3", ())) is str
    assert scope_of(pickle.loads(pickle.dumps(source))) == ("a",)


def test_gradients_and_what_passes_make_stay_in_the_scope() -> None:
    executable = net("layer")
    for nodes in (executable.definition.nodes, executable.kernel.nodes().values()):
        found = {node.op.name for node in nodes if scope_of(node.source) == ("layer",)}
        assert {"matmul", "tanh", "transpose"} <= found  # the last one is of the gradient


def test_no_key_no_bit_and_no_kernel_depends_on_a_scope() -> None:
    plain, scoped = net(), net("layer", HOSTILE)
    first, second = canonical(plain.definition), canonical(scoped.definition)
    assert first is not None
    assert second is not None
    assert first.text == second.text
    assert is_cached(scoped.definition, scoped.options)
    assert plain.kernel.texts == scoped.kernel.texts
    x = np.linspace(-1, 1, 6).reshape(2, 3)
    assert plain(x).tobytes() == scoped(x).tobytes()


def test_copies_and_files_keep_scopes(tmp_path: Path) -> None:
    executable = net("layer", "inner")
    expected = {(), ("layer", "inner")}
    assert scopes(executable.definition) == expected
    for other in (copy.deepcopy(executable), pickle.loads(pickle.dumps(executable))):
        assert scopes(other.definition) == expected
    executable.save(tmp_path / "net.sg")
    assert scopes(sg.load(tmp_path / "net.sg").definition) == expected
    net("a", HOSTILE).save(tmp_path / "net.sg")
    assert scopes(sg.load(tmp_path / "net.sg").definition) == {(), ("a", "</script>???")}


def test_bodies_of_loops_have_scopes() -> None:
    def step(carry: sg.Expression, x: sg.Expression) -> tuple[sg.Expression, sg.Expression]:
        with sg.scope("cell"):
            carry = sg.tanh(carry + x)
        return carry, carry

    xs = sg.placeholder("xs", (None, 3), "float64")
    with sg.scope("loop"):
        _, ys = sg.scan(step, sg.zeros((3,), "float64"), xs)
    executable = sg.compile([xs], ys)
    assert ("loop", "cell") in {
        scope_of(node.source) for node in executable.kernel.nodes().values()
    }


def test_modules_that_are_captured_are_scopes() -> None:
    class Block(dynamic.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = dynamic.nn.ModuleList([dynamic.nn.Linear(2, 2) for _ in range(2)])
            self.act = dynamic.nn.Tanh()

        def forward(self, x: dynamic.Tensor) -> dynamic.Tensor:
            for part in self.parts:
                x = self.act(part(x))
            return dynamic.nn.Sigmoid()(x)

    model = Block()
    model.act.register_forward_hook(lambda module, args, out: out + 1)
    executable = sg.function(model).executable(np.ones((3, 2), "float32"))
    inside = {("parts.0",), ("parts.1",), ("act",), ("Sigmoid",)}
    found = scopes(executable.definition)
    assert {("Block", *one) for one in inside} <= found
    assert found <= {(), ("Block",), *(("Block", *one) for one in inside)}


def test_a_scope_can_be_entered_again_and_in_itself() -> None:
    x = sg.placeholder("x", (2,))
    layer = sg.scope("layer")
    with layer:
        first = sg.exp(x)
        with layer:
            inner = sg.sin(x)
        second = sg.cos(x)
    with layer:
        third = sg.tanh(x)
    assert (first.scope, inner.scope, second.scope) == (("layer",), ("layer",) * 2, ("layer",))
    assert (third.scope, sg.abs(x).scope) == (("layer",), ())
