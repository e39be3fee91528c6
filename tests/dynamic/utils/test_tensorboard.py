"""Logs for TensorBoard, read back as TensorBoard reads them."""

from __future__ import annotations

import importlib
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboardX.proto import event_pb2, graph_pb2

import dynamic as torch
import staticgraph as sg
from dynamic import nn
from dynamic.utils.tensorboard import SummaryWriter


def events(folder: Path) -> list[Any]:
    """What the one file of a folder holds: lengths, records, and their checksums."""
    (path,) = folder.iterdir()
    data, found = path.read_bytes(), []
    while data:
        (length,) = struct.unpack_from("<Q", data)
        found.append(event_pb2.Event.FromString(data[12 : 12 + length]))
        data = data[16 + length :]
    return found


def graph(folder: Path) -> dict[str, Any]:
    (written,) = [one.graph_def for one in events(folder) if one.graph_def]
    nodes = {node.name: node for node in graph_pb2.GraphDef.FromString(written).node}
    for node in nodes.values():
        assert set(node.input) <= set(nodes), node.name
    return nodes


def test_scalars_are_tensors_arrays_and_numbers(tmp_path: Path) -> None:
    x = sg.placeholder("x", (None,))
    total = sg.compile([x], sg.sum(x))
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("eager", torch.tensor(1.5, requires_grad=True) * 2, 1)
        writer.add_scalar("compiled", total(np.ones(4, "float32")), 2)
        writer.add_scalar("number", 5.0, 3)
        writer.add_histogram("weights", nn.Linear(3, 2).weight, 4)
    values = {v.tag: (e.step, v) for e in events(tmp_path) for v in e.summary.value}
    scalars = {tag: (step, v.simple_value) for tag, (step, v) in values.items()}
    assert scalars["eager"] == (1, 3)
    assert scalars["compiled"] == (2, 4)
    assert scalars["number"] == (3, 5)
    assert values["weights"][1].histo.num == 6


def test_the_graph_of_a_module_is_in_boxes_of_its_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Tanh(), nn.Linear(4, 1)))
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(model, torch.ones(2, 3), verbose=True)
    nodes = graph(tmp_path)
    assert "Sequential/1/1/weight" in nodes
    (tanh,) = [one for one in nodes.values() if one.op == "TanhBackward0"]
    assert tanh.name.startswith("Sequential/1/0/TanhBackward0")
    assert tanh.attr["about"].s == b"[2, 4]"
    (added,) = tanh.input
    bias, given, _ = nodes[added].input  # PyTorch's node is one with the product
    assert (added.split("/")[1], bias) == ("0", "Sequential/0/bias")
    assert given == "Sequential/input_0"
    assert "Sequential/0/bias = torch::autograd::AccumulateGrad()" in capsys.readouterr().out
    assert not any(len(part._forward_hooks) for part in model.modules())


def test_the_graph_of_an_executable_is_in_boxes_of_its_scopes(tmp_path: Path) -> None:
    x = sg.placeholder("x", (None, 3))
    w = sg.variable(np.ones((3, 2), "float32"), name="w/é")
    with sg.scope("layer"):
        h = sg.tanh(x @ w)
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(sg.compile([x], sg.mean(h)))
    nodes = graph(tmp_path)
    assert list(nodes["layer/tanh_3"].input) == ["layer/matmul_2"]
    assert list(nodes["layer/matmul_2"].input) == ["x_0", "w___1"]
    assert nodes["mean_4"].attr["about"].s.startswith(b"float32[] ")


def test_what_has_no_graph_is_refused(tmp_path: Path) -> None:
    with (
        SummaryWriter(str(tmp_path)) as writer,
        pytest.raises(TypeError, match="add_graph: int is"),
    ):
        writer.add_graph(3)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.delitem(sys.modules, "staticgraph.dynamic.utils.tensorboard")
    with pytest.raises(ImportError, match=r"pip install 'staticgraph\[tensorboard\]'"):
        importlib.import_module("staticgraph.dynamic.utils.tensorboard")
