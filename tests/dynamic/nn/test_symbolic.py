"""Layers and functions of `dynamic.nn` on symbolic operands: the same values, node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.dynamic import nn
from tests.data.nn_cases import CASES, FAMILIES, Case
from tests.dynamic.nn.test_values import RECORDED, parts


def _mutates(case: Case) -> bool:
    """Whether a graph cannot run the case: it changes tensors, or is random."""
    text = case.make
    tracks = "BatchNorm" in text and "eval()" not in text and "track_running" not in text
    return tracks or any(
        part in text for part in ("inplace", "max_norm", ".clamp(", "Dropout(1.0)")
    )


SYMBOLIC = [case for case in CASES if not _mutates(case)]
LOOPS = {case.name for case in FAMILIES["recurrent"] if "Cell" not in case.make}
ANY_SIZE = [case for case in SYMBOLIC if case.name not in LOOPS]


def _outputs(case: Case, leaf: Any) -> list[Any]:
    """The case's outputs, every input, parameter and buffer of it replaced by `leaf` of it."""
    names = {"torch": dynamic, "nn": nn, "F": nn.functional}
    recorded = RECORDED[case.name]
    m = eval(case.make, names)
    if isinstance(m, nn.Module):
        m.double()
        state = parts(recorded, "state")
        m.load_state_dict({name: dynamic.from_numpy(a) for name, a in state.items()})
        for path, module in m.named_modules():
            for table in (module._parameters, module._buffers):
                for name, tensor in table.items():
                    if tensor is not None:
                        table[name] = leaf(f"{path}.{name}", tensor.detach().numpy())
    x = [leaf(f"x{name}", a) for name, a in parts(recorded, "in").items()]
    return list(_flat(eval(case.call, names | {"m": m, "x": x})))


def _flat(value: Any) -> Any:
    if isinstance(value, tuple | list):
        for one in value:
            yield from _flat(one)
    elif value is not None:
        yield value


def _check(case: Case, any_size: bool) -> None:
    feeds: dict[Any, Any] = {}

    def leaf(name: str, array: Any) -> Any:
        shape = array.shape
        if any_size and name.startswith("x") and shape:
            shape = (None, *shape[1:])
        made = sg.placeholder(name, shape=shape, dtype=str(array.dtype))
        feeds[made] = array
        return made

    values = interpret(_outputs(case, leaf), feeds)
    expected = parts(RECORDED[case.name], "out")
    assert len(values) == len(expected)
    for value, array in zip(values, expected.values(), strict=True):
        np.testing.assert_allclose(value, array, rtol=1e-12, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("case", SYMBOLIC, ids=lambda case: case.name)
def test_values_on_symbolic_operands(case: Case) -> None:
    _check(case, any_size=False)


@pytest.mark.slow
@pytest.mark.parametrize("case", ANY_SIZE, ids=lambda case: case.name)
def test_values_on_operands_of_unknown_size(case: Case) -> None:
    _check(case, any_size=True)


def test_a_compiled_network_has_the_eager_values() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.SiLU(), nn.LayerNorm(4), nn.Linear(4, 2))
    data = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    expected = model(dynamic.from_numpy(data)).detach().numpy()
    for module in model.modules():
        for name, parameter in module._parameters.items():
            module._parameters[name] = sg.variable(parameter.detach().numpy())  # type: ignore
    x = sg.placeholder("x", shape=(None, 3))
    np.testing.assert_allclose(sg.compile([x], model(x))(data), expected, rtol=1e-5, atol=1e-6)


def test_what_a_graph_cannot_do_is_refused() -> None:
    x = sg.placeholder("x", shape=(4, 3))
    index = sg.placeholder("i", shape=(4,), dtype="int64")
    with pytest.raises(ValueError, match="BatchNorm1d: running statistics change in place"):
        nn.BatchNorm1d(3)(x)
    with pytest.raises(ValueError, match="embedding: max_norm changes the weight"):
        nn.functional.embedding(index, x, max_norm=1.0)
    with pytest.raises(ValueError, match="dropout: a graph would repeat its random numbers"):
        nn.Dropout(0.5)(x)
    with pytest.raises(ValueError, match="one_hot: num_classes must be given"):
        nn.functional.one_hot(index)
