"""`save` and `load`: what comes back, what cannot be saved, and what damaged files do."""

from __future__ import annotations

import io
import json
import sys
from collections import OrderedDict

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, strategies as st

import dynamic as torch
from staticgraph.compiler.core.errors import MissingExtraError
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.files.serialization import LoadError


def copied(value):
    stream = io.BytesIO()
    torch.save(value, stream)
    stream.seek(0)
    return torch.load(stream)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "bfloat16",
     "float16", "float32", "float64", "complex64", "complex128"],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (3, 2)])
def test_every_dtype_and_shape(dtype, shape):
    dtype = getattr(torch, dtype).dtype
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 5, dtype)
    found = copied(torch.from_numpy(array))
    assert found.dtype == dtype and found.shape == shape
    np.testing.assert_array_equal(found.numpy(), array)
    assert found.is_leaf and not found.requires_grad


def test_special_values_keep_their_bits():
    array = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    assert copied(torch.tensor(array)).numpy().tobytes() == array.tobytes()


def test_leaves_parameters_and_the_graph():
    leaf = torch.ones(2, requires_grad=True)
    found = copied({"leaf": leaf, "out": leaf * 2, "p": torch.nn.Parameter(torch.ones(1))})
    assert found["leaf"].requires_grad and found["out"].is_leaf and found["out"].requires_grad
    assert type(found["p"]) is torch.nn.Parameter
    found["leaf"].sum().backward()
    assert found["leaf"].grad.tolist() == [1.0, 1.0] and leaf.grad is None


def test_views_of_any_order():
    x = torch.arange(6).reshape(2, 3)
    assert copied(x.t()).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert copied(x[:, 1:]).tolist() == [[1, 2], [4, 5]]


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
)
nested = st.recursive(
    scalars,
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.lists(parts, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.booleans(), parts, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(nested)
def test_containers_come_back_as_they_were(value):
    assert repr(copied(value)) == repr(value)


def test_other_values():
    value = {
        "size": torch.ones(2, 3).shape, "dtype": torch.int64, "number": np.float64(0.1),
        "array": np.arange(3), "order": OrderedDict(b=1, a=2), (1, "x"): float("nan"),
    }  # fmt: skip
    found = copied(value)
    assert found["size"] == (2, 3) and type(found["size"]) is torch.Size
    assert found["dtype"] is torch.int64
    assert found["number"] == 0.1 and type(found["number"]) is float
    assert type(found["array"]) is np.ndarray and found["array"].tolist() == [0, 1, 2]
    assert list(found["order"]) == ["b", "a"] and type(found["order"]) is OrderedDict
    assert np.isnan(found[1, "x"])


def test_a_tensor_that_occurs_twice_is_one():
    x = torch.ones(2)
    found = copied([x, {"again": x}, torch.ones(2)])
    assert found[0] is found[1]["again"] and found[0] is not found[2]


def test_training_goes_on_where_it_stopped(tmp_path):
    def build():
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
        return model, torch.optim.Adam(model.parameters(), lr=0.1)

    def step(model, optimizer):
        optimizer.zero_grad()
        (model(x) ** 2).sum().backward()
        optimizer.step()

    x = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]])
    model, optimizer = build()
    for _ in range(3):
        step(model, optimizer)
    torch.save(
        {"epoch": 3, "model": model.state_dict(), "optimizer": optimizer.state_dict()},
        tmp_path / "checkpoint.pt",
    )
    step(model, optimizer)
    other, its_optimizer = build()
    found = torch.load(tmp_path / "checkpoint.pt", map_location="cpu", weights_only=True)
    assert found["epoch"] == 3
    assert str(other.load_state_dict(found["model"])) == "<All keys matched successfully>"
    its_optimizer.load_state_dict(found["optimizer"])
    step(other, its_optimizer)
    for (name, value), saved in zip(
        model.state_dict().items(), other.state_dict().values(), strict=True
    ):
        assert value.tolist() == saved.tolist(), name


def test_other_programs_read_the_tensors_by_name_and_the_other_way_round(tmp_path):
    layer = torch.nn.Linear(2, 1)
    torch.save(layer.state_dict(), tmp_path / "a.safetensors")
    arrays = safetensors.numpy.load_file(tmp_path / "a.safetensors")
    assert set(arrays) == {"weight", "bias"}
    np.testing.assert_array_equal(arrays["weight"], layer.weight.detach().numpy())
    safetensors.numpy.save_file({"w": np.ones(2), "b": np.zeros(1)}, tmp_path / "b.safetensors")
    found = torch.load(tmp_path / "b.safetensors")
    assert {key: value.tolist() for key, value in found.items()} == {"w": [1.0, 1.0], "b": [0.0]}


def test_names_that_would_collide():
    found = copied(
        {"a.b": torch.zeros(1), "a": {"b": torch.ones(1)}, "__metadata__": torch.ones(2)}
    )
    assert found["a.b"].tolist() == [0.0] and found["a"]["b"].tolist() == [1.0]
    assert found["__metadata__"].tolist() == [1.0, 1.0]


def test_what_cannot_be_saved():
    with pytest.raises(ArgumentError, match=r"^save: cannot save the set at a\.0$"):
        copied({"a": [{1}]})
    with pytest.raises(ArgumentError, match=r"the SGD at the top: save its state_dict\(\)$"):
        copied(torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1))
    with pytest.raises(ArgumentError, match=r"cannot save the complex256 array at x"):
        copied({"x": np.ones(1, np.clongdouble)})
    endless = []
    endless.append(endless)
    with pytest.raises(ArgumentError, match=r"more than 200 containers inside each other"):
        copied(endless)


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.ones(1), path)
    with pytest.raises(ArgumentError, match="save: cannot save the set"):
        torch.save({1}, path)
    assert torch.load(path).tolist() == [1.0]
    assert [one.name for one in tmp_path.iterdir()] == ["x.pt"]


def content():
    stream = io.BytesIO()
    torch.save({"a": torch.arange(4), "b": (1.5, "x")}, stream)
    return stream.getvalue()


@given(st.data())
def test_damaged_files_are_refused_or_read(data):
    whole = bytearray(content())
    cut = data.draw(st.integers(0, len(whole)))
    damaged = whole[:cut]
    if cut and data.draw(st.booleans()):
        damaged = whole
        for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
            damaged[place] = data.draw(st.integers(0, 255))
    try:
        torch.load(io.BytesIO(bytes(damaged)))
    except LoadError as error:
        assert str(error).startswith("load: ")


@pytest.mark.parametrize(
    "structure",
    [
        '{"tensor": "none", "requires_grad": false}', '{"pickle": "x"}', "{}", '{"dict": [[1]]}',
        '{"dict": [[[1], 2]]}', '{"float": "1.5.5"}', '{"dtype": "complex32"}', "[",
        '{"tensor": ["a"]}', '{"tensor": "a"}', "[" * 5000 + "]" * 5000,
    ],
)  # fmt: skip
def test_damaged_structures(structure):
    metadata = {"format": "staticgraph.dynamic 1", "structure": structure}
    stream = io.BytesIO(safetensors.numpy.save({"a": np.ones(1)}, metadata))
    with pytest.raises(LoadError, match=r"^load: the structure of the file is damaged: "):
        torch.load(stream)


def test_what_is_no_such_file(tmp_path):
    (tmp_path / "x").write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(RuntimeError, match=r"^load: not a safetensors file, or a damaged one: "):
        torch.load(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none")
    header = json.dumps({"w": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [0, 1]}}).encode()
    eighth = len(header).to_bytes(8, "little") + header + b"0"
    with pytest.raises(LoadError, match=r"tensor 'w' is F8_E4M3, which no tensor here can be"):
        torch.load(io.BytesIO(eighth))


def test_the_file_holds_no_pickle():
    whole = content()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])
    assert set(header) == {"a", "__metadata__"}
    assert json.loads(header["__metadata__"]["structure"]) == {
        "dict": [
            ["a", {"tensor": "a", "requires_grad": False}],
            ["b", {"tuple": [{"float": "0x1.8000000000000p+0"}, "x"]}],
        ]
    }


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(MissingExtraError, match=r"save: .* pip install 'staticgraph\[save\]'"):
        torch.save(1, io.BytesIO())
    with pytest.raises(ImportError, match=r"load: safetensors is not installed"):
        torch.load(io.BytesIO())
