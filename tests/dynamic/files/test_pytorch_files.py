"""PyTorch's files, read and written without it; what they must not be able to do."""

from __future__ import annotations

import io
import pickle
import random
import struct
import zipfile
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.core.errors import ArgumentError, LoadError
from tests.paths import ROOT

RECORDED = ROOT / "tests" / "data" / "pytorch.pt"


def archive(pickled: bytes, **storages: bytes) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        made.writestr("archive/data.pkl", pickled)
        for key, content in storages.items():
            made.writestr(f"archive/data/{key.strip('_')}", content)
    stream.seek(0)
    return stream


def copied(value: Any) -> Any:
    stream = io.BytesIO()
    torch.save(value, stream, format="torch")
    stream.seek(0)
    return torch.load(stream)


def test_a_file_of_pytorchs_is_read() -> None:
    found = torch.load(RECORDED)
    base, across, part, wide = found["views"]
    expected = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(base, expected)
    np.testing.assert_array_equal(across, expected.T)
    np.testing.assert_array_equal(part, expected[1:, ::2])
    np.testing.assert_array_equal(wide, np.broadcast_to(expected, (2, 3, 4)))
    base[0, 0] = 9.0  # those of one storage share it
    assert across[0, 0].item() == wide[1, 0, 0].item() == 9
    names = "float16 bfloat16 float64 int8 int16 int32 int64 uint8 bool complex64 complex128 uint16"
    assert [str(one.dtype) for one in found["kinds"]] == [f"torch.{x}" for x in names.split()]
    for one in found["kinds"]:
        assert [complex(x).real for x in one.tolist()] == [
            0,
            1,
            1 if str(one.dtype) == "torch.bool" else 3,
        ]
    assert isinstance(found["parameter"], torch.nn.Parameter)
    assert found["parameter"].requires_grad and found["parameter"].item() == 2.5
    assert [tuple(one.shape) for one in found["shapes"]] == [(), (0, 3)]
    plain = ["é", -1, 2**70, 1e300, None, True, (1, [2]), {1: "a"}, {3}, torch.float32]
    assert found["plain"] == plain
    assert found["size"] == torch.Size([2, 3])
    assert list(found["ordered"].items()) == [("b", 1), ("a", 2)]


def test_a_run_goes_on_where_pytorch_left_it() -> None:
    found = torch.load(RECORDED)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    model.load_state_dict(found["model"])
    np.testing.assert_array_equal(model[1].num_batches_tracked, 1)
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.load_state_dict(found["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.5
    model(torch.ones(4, 3).cumsum(0)).sum().backward()
    optimizer.step()
    assert copied(optimizer.state_dict())["state"][0]["step"].item() == 2


def test_what_is_written_is_read() -> None:
    tensor = torch.arange(6.0).reshape(2, 3).t()
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    value = {
        "tensors": [tensor, tensor.half(), tensor.to(torch.uint32), tensor.to(torch.complex64)],
        "same": [weight, weight],
        "plain": ["é", -1, 2**31, -(2**70), 0.1, None, True, (), (1, [2]), {1: "a"}, torch.int8],
        "numbers": [np.float64(1.5), np.int32(3), np.bool_(True)],
        "ordered": OrderedDict(b=1, a=torch.zeros(0, 2)),
    }
    found = copied(value)
    for one, expected in zip(found["tensors"], value["tensors"], strict=True):
        assert one.dtype == expected.dtype
        np.testing.assert_array_equal(one.numpy(), expected.numpy())
    assert found["same"][0] is found["same"][1]
    assert isinstance(found["same"][0], torch.nn.Parameter)
    assert found["plain"] == value["plain"]
    assert found["numbers"] == [1.5, 3, True]
    assert type(found["ordered"]) is OrderedDict
    assert found["ordered"]["a"].shape == (0, 2)


def test_what_pytorchs_files_do_not_have_is_refused() -> None:
    cyclic: list[Any] = []
    cyclic.append([cyclic])
    assert len(copied(cyclic)) == 1  # what occurs twice is one object
    deep: Any = None
    for _ in range(300):
        deep = [deep]
    for value, text in [
        ({"a": [object()]}, "and no object, as at a.0"),
        (deep, "more than 200 containers"),
        ([2**4000], "an integer of 501 bytes at 0"),
    ]:
        with pytest.raises(ArgumentError, match=text):
            torch.save(value, io.BytesIO(), format="torch")
    with pytest.raises(ArgumentError, match="the format is 'safetensors' or 'torch', not 'zip'"):
        torch.save(1, io.BytesIO(), format="zip")


class Calls:
    def __reduce__(self) -> Any:
        return print, ("called",)


class Sets:
    def __reduce__(self) -> Any:
        return OrderedDict, (), {"keys": 1}


REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"
STORAGE = (
    b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
)
END = b"\x89ccollections\nOrderedDict\n)RtR."
HOSTILE: list[tuple[bytes, str]] = [
    (pickle.dumps(Calls(), 2), r"the file asks for __builtin__\.print: only tensors, parameters"),
    (b"cos\nsystem\n(X\x02\x00\x00\x00lstR.", r"the file asks for os\.system"),
    (
        b"ctorch._utils\n_rebuild_tensor_v2.__globals__\n.",
        r"asks for torch\._utils\._rebuild_tensor",
    ),
    (b"ctorch\nSize\n}X\x01\x00\x00\x00aK\x01sb.", "the file sets attributes of a Named"),
    (b"ctorch\nFloatStorage\n)R.", "the file makes a storage or a type by itself"),
    (REBUILD + STORAGE + b"K\x00(K\x05t(K\x01t" + END, r"a tensor of \(5,\) .* does not lie in"),
    (REBUILD + STORAGE + b"K\x03(K\x02t(K\x01t" + END, "does not lie in its storage of 4"),
    (REBUILD + STORAGE + b"K\x00(K\x02t(J\xff\xff\xff\xfft" + END, "no tensor lies at 0"),
    (REBUILD + STORAGE + b"K\x00(J\xff\xff\xff\x7fK\x02t(K\x00K\x00t" + END, "does not lie in"),
    (REBUILD + b"(K\x01K\x00(K\x02t(K\x01t" + END, "no tensor lies at 0"),
    (STORAGE.replace(b"FloatStorage", b"LongStorage")[1:] + b".", r"'0' has .* elements of|buffer"),
    (STORAGE[1:].replace(b"K\x04", b"K\x09") + b".", "has 4 elements of float32, not 9 of float32"),
    (b"K\x01Q.", "the file refers to 1, which is no storage"),
    (b"r\xff\xff\xff\x7f.", "no file of PyTorch's, or a damaged one"),
    (b"X\xff\xff\xff\x7fa.", "no file of PyTorch's, or a damaged one"),
    (b"", "no file of PyTorch's, or a damaged one"),
    (b"\x80\x02)" + b"q\x010h\x01h\x01\x86" * 60 + b"}q\x020h\x02h\x01h\x01s.", "a key of tuple"),
    (b"]N]s.", "the file sets items of a list"),
    (b"(K\x01K\x02d.", "builds a set or a dict as PyTorch's do not"),
    (b"ctorch\nSize\n(X\x01\x00\x00\x00atR.", "a size is of integers, not 'a'"),
]


@pytest.mark.parametrize(("pickled", "text"), HOSTILE)
def test_hostile_files_are_refused(pickled: bytes, text: str, capfd: Any) -> None:
    with pytest.raises(LoadError, match=text):
        torch.load(archive(pickled, _0=np.zeros(4, np.float32).tobytes()))
    assert capfd.readouterr() == ("", "")


def test_an_ordered_dict_keeps_its_versions() -> None:
    found = torch.load(archive(pickle.dumps(Sets(), 2)))
    assert found.__dict__ == {"keys": 1}


def test_bytes_of_another_order_are_turned() -> None:
    stream = archive(
        REBUILD + STORAGE + b"K\x00(K\x04t(K\x01t" + END, _0=np.arange(4, dtype=">f4").tobytes()
    )
    with zipfile.ZipFile(stream, "a") as made:
        made.writestr("archive/byteorder", "big")
    stream.seek(0)
    assert torch.load(stream).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("values", "marks", "wanted"),
    [
        (torch.tensor([1j, 2.0]), ["conj"], [-1j, 2]),
        (torch.tensor([1j, 2.0]), ["conj", "neg"], [1j, -2]),
        (torch.tensor([1j, 2.0]), [], [1j, 2]),
        (torch.tensor([1, 2], dtype=torch.uint16), ["neg"], [2**16 - 1, 2**16 - 2]),
    ],
)
def test_marks_of_a_tensor_are_carried_out(values: Any, marks: list[str], wanted: Any) -> None:
    """PyTorch writes the memory of `x.conj()`, and that it is to be conjugated."""
    stream = io.BytesIO()
    torch.save(values, stream, format="torch")
    with zipfile.ZipFile(stream) as made:
        pickled, content = made.read("archive/data.pkl"), made.read("archive/data/0")

    def marked(*names: str) -> io.BytesIO:
        items = [b"X" + struct.pack("<I", len(one)) + one.encode() + b"\x88s" for one in names]
        return archive(pickled.replace(b"tRr", b"}" + b"".join(items) + b"tRr"), _0=content)

    assert torch.load(marked(*marks)).tolist() == wanted
    with pytest.raises(LoadError, match="marks a tensor with 'other', which is not read"):
        torch.load(marked("other"))


def test_other_archives_and_formats_are_refused() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("archive/data.pkl", b"N.")
    stream.seek(0)
    with pytest.raises(LoadError, match="the archive is compressed"):
        torch.load(stream)
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").writestr("x", "y")
    empty.seek(0)
    with pytest.raises(LoadError, match=r"an archive without a data\.pkl"):
        torch.load(empty)
    with pytest.raises(LoadError, match=r"a file as PyTorch wrote them before 1\.6"):
        torch.load(io.BytesIO(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.more"))


def test_damaged_files_are_refused_or_read() -> None:
    whole = RECORDED.read_bytes()
    rng = random.Random(0)
    outcomes = set()
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(rng.choice((1, 4, 30))):
            damaged[rng.randrange(4, len(damaged))] = rng.randrange(256)
        content = bytes(damaged[: rng.choice((len(damaged), rng.randrange(4, len(damaged))))])
        try:
            torch.load(io.BytesIO(content))
            outcomes.add("read")
        except LoadError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_devices_counters_and_bytes_are_read() -> None:
    found = torch.load(archive(pickle.dumps([Counter("aab"), b"\x00\xff"], 2)))
    assert found == [Counter("aab"), b"\x00\xff"] and type(found[0]) is Counter
    at = b"\x80\x02ctorch\ndevice\n(X\x04\x00\x00\x00cudaK\x01tR."
    assert torch.load(archive(at)) == torch.device("cuda:1")


def test_defaultdicts_of_plain_types_are_read() -> None:
    for factory in (list, dict, int, float, str, tuple, set, bool, None):
        for protocol in (2, 4):
            given = defaultdict(factory, {"a": [1], "b": 2})
            found = torch.load(archive(pickle.dumps(given, protocol)))
            assert type(found) is defaultdict and found == given
            assert found.default_factory is factory


def test_sizes_stay_sizes_and_what_is_saved_is_read() -> None:
    size = torch.ones(2, 3).shape
    found = copied({"one": size, "more": (size, (2, 3))})
    assert [type(one) for one in (found["one"], *found["more"])] == [torch.Size, torch.Size, tuple]
    assert found == {"one": size, "more": (size, (2, 3))}
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert copied(deep) == deep


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (b"ccollections\nCounter\n]\x85R.", "counts otherwise than by integers"),
        (
            b"ccollections\nCounter\n}X\x01\x00\x00\x00a]s\x85R.",
            "counts otherwise than by integers",
        ),
        (b"ccollections\ndefaultdict\ncbuiltins\nlist\n)R\x85R.", "makes a storage or a type"),
        (b"ccollections\ndefaultdict\nctorch\nSize\n\x85R.", "a defaultdict of Size is not read"),
        (b"ccollections\ndefaultdict\nK\x01\x85R.", "a defaultdict of 1 is not read"),
        (b"]" * 202 + b"a" * 201 + b".", "more than 200 containers inside each other"),
        (b"]" * 200_000 + b"a" * 199_999 + b".", "more than 200 containers inside each other"),
        (b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00hex\x86R.", "encodes a text as"),
        (b"c_codecs\nencode\nK\x01X\x06\x00\x00\x00latin1\x86R.", "encodes a text as"),
        (b"ctorch\ndevice\n]\x85R.", r"no device is called \[\]"),
        (b"ctorch\ndevice\nX\x03\x00\x00\x00xyz\x85R.", "damaged one: .*device type at start"),
    ],
)
def test_of_these_only_what_pytorch_writes(pickled: bytes, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        torch.load(archive(b"\x80\x02" + pickled))
