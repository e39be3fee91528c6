"""The campaigns `files` and `cache`: what they damage, and that they notice what is not refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import dynamic
import staticgraph as sg
from staticgraph.fuzz import cache, damage, files, server
from tests.combinations import some


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"cut": 2}, b"ab"),
        ({"cut": 9}, b"abcdef"),
        ({"flip": 1, "bit": 0}, b"accdef"),
        ({"flip": 6, "bit": 0}, b"abcdef"),
        ({"set": 0, "to": 65}, b"Abcdef"),
        ({"insert": 1, "bytes": [65, 66]}, b"aABbcdef"),
        ({"delete": 1, "length": 3}, b"aef"),
        ({"copy": 0, "to": 4, "length": 2}, b"abcdab"),
    ],
)
def test_damage(step: dict[str, Any], expected: bytes) -> None:
    assert damage.damaged(b"abcdef", [step]) == expected


def test_even_seeds_go_through_every_byte_of_the_files() -> None:
    total = sum(len(files.original(kind)) for kind in files.MADE)
    found = {kind: {"cut": set(), "flip": set()} for kind in files.MADE}
    for seed in range(0, 4 * total, 2):
        made = files.generate(seed)
        (step,) = made["steps"]
        found[made["kind"]]["cut" if "cut" in step else "flip"].add(next(iter(step.values())))
    for kind in files.MADE:
        every = set(range(len(files.original(kind))))
        assert found[kind] == {"cut": every, "flip": every}


def test_a_file_that_is_loaded_damaged_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = {"kind": "executable", "steps": [{"cut": 9}]}
    assert files.check(program) is None
    original, right = files.original("loop"), sg.load

    def load(path: Any) -> Any:
        if len(Path(path).read_bytes()) == 9:
            Path(path).write_bytes(original)
        return right(path)

    monkeypatch.setattr(sg, "load", load)
    assert str(files.check(program)).startswith("a damaged executable is loaded, and gives")


def test_another_error_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(path: Any) -> Any:
        raise KeyError("inputs")

    monkeypatch.setattr(sg, "load", load)
    found = server.run(files.CAMPAIGN, {"program": {"kind": "loop", "steps": [{"cut": 9}]}})
    assert str(found).startswith("KeyError: 'inputs'")


def test_half_a_file_of_tensors_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = {"kind": "tensors", "steps": [{"cut": 9}]}
    assert files.check(program) is None
    monkeypatch.setattr(dynamic, "load", lambda file: {"w": 1})
    assert files.check(program) == "a truncated file of tensors is loaded"


def test_a_script_loads_the_damaged_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sg.FormatError):
        exec(files.script({"kind": "loop", "steps": [{"cut": 99}]}), {})
    assert len((tmp_path / "damaged").read_bytes()) == 99


DEEDS = [
    {"damage": 0, "how": {"flip": 700, "bit": 1}},
    {"damage": 1, "how": {"cut": 300}},
    {"exchange": 0, "with": 1},
    *({"replace": 0, "by": what} for what in ("folder", "link", "nothing", "empty")),
    {"mode": 0o500, "entry": 0},
    {"mode": 0o777, "entry": 0},
    {"race": 1, "kill": [0.0, 0.05, None]},
]


@pytest.mark.slow
@pytest.mark.parametrize("deed", some(DEEDS, 6), ids=str)
def test_nothing_that_happens_to_the_cache_changes_results(deed: Any) -> None:
    before = os.environ.get("STATICGRAPH_CACHE_DIR")
    steps = [{"compile": 0}, {"compile": 1}, deed, {"compile": 0}, {"compile": 1}]
    assert cache.check({"steps": steps}) is None
    assert os.environ.get("STATICGRAPH_CACHE_DIR") == before


def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sg, "compile", lambda inputs, outputs: lambda x: [x * 2 + 1.5])
    found = cache.check({"steps": [{"compile": 0}]})
    assert str(found).startswith("a result is wrong\ngraph 0")


def test_every_graph_of_the_cache_is_right() -> None:
    steps = [{"compile": number} for number in range(cache.GRAPHS)]
    assert cache.check({"steps": [*steps, *steps]}) is None
