"""The commands `staticgraph compare` and `staticgraph peers`, and the workloads."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import sys
import types
import typing
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.compare import command, peers, session
from staticgraph.compare.adapters import compiled, eager
from staticgraph.compare.agreement import compare
from staticgraph.compare.race import NORMALISED
from staticgraph.compare.records import SCHEMA, Limits, Report
from staticgraph.compare.server import Phases, sample
from staticgraph.compare.session import Plan
from staticgraph.compare.workloads import WORKLOADS, path_of, scaled
from staticgraph.compiler.core.errors import OptionError, StaticGraphError
from tests.staticgraph.compare.found_limits import FoundLimits
from tests.workloads import SMALL, small

LONG = ("resnet", "hmc", "gpt", "bundle_adjustment", "lstm_lm")
"""What takes longest to compile in small, too."""

QUICK = ["--seconds", "0.002", "--rounds", "2", "--starts", "1", "--threads", "1"]


def _check(value: Any, kind: Any) -> None:
    """Assert that a value read from JSON is what the annotation of a record's field says."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if value is not None:
            (kind,) = (option for option in arguments if option is not type(None))
            _check(value, kind)
        else:
            assert type(None) in arguments
    elif origin is tuple:
        assert isinstance(value, list)
        for item in value:
            _check(item, arguments[0])
    elif origin is Mapping:
        assert isinstance(value, dict)
        for item in value.values():
            _check(item, arguments[1])
    elif dataclasses.is_dataclass(kind):
        assert isinstance(value, dict)
        hints = typing.get_type_hints(kind)
        assert list(value) == [field.name for field in dataclasses.fields(kind)]
        for name, item in value.items():
            _check(item, hints[name])
    elif kind is float:
        assert isinstance(value, int | float)
        assert math.isfinite(value)
    else:
        assert isinstance(value, kind)


@pytest.mark.slow
def test_a_run_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = Limits(1, {2**20: 1e10}, {"float32": 1e11, "float64": 1e11}, 2e-7)
    monkeypatch.setattr(session, "Meter", lambda numbers: FoundLimits(limits))
    page, plot, file = (tmp_path / name for name in ("r.md", "r.svg", "r.json"))
    written = ["--json", str(file), "--markdown", str(page), "--plot", str(plot)]
    assert main(["compare", "seed", "--peers", "none", *QUICK, *written]) == 0
    report = json.loads(file.read_text())
    _check(report, Report)
    assert report["schema"] == SCHEMA
    (outcome,) = report["outcomes"]
    by_name = {one["contender"]: one for one in outcome["measurements"]}
    assert list(by_name) == ["compiled", "eager"]
    assert by_name["compiled"]["cold"]["passes"] > 0
    assert by_name["compiled"]["warm"] is not None
    assert by_name["compiled"]["steps"][0]["ops"]
    assert by_name["eager"]["warm"] is None
    assert by_name["eager"]["steps"] == []
    assert by_name["eager"]["ahead"]["first"] >= 1
    assert all(one["agrees"] for one in by_name.values())
    printed = capsys.readouterr().out
    assert "seed: x*x + sin(2y)" in printed
    assert "compiled" in printed
    assert "![time against the limit](r.svg)" in page.read_text()
    assert "| **seed**: x*x + sin(2y)" in page.read_text()
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")


def test_the_workloads_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(WORKLOADS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["sead"], "compare: unknown workload 'sead': known are seed, elementwise"),
     (["--peers", "torch,tensorflow"], "peers: unknown peer 'tensorflow': known are torch, jax"),
     (["--peer", "torch"], "compare: --peer 'torch' is not NAME=PYTHON"),
     (["--peer", "caffe=/bin/sh"], "peers: unknown peer 'caffe'"),
     (["--peer", "jax=/nowhere/python"], "compare: --peer jax: /nowhere/python is no interpreter"),
     (["--peer", "jax=/"], "compare: --peer jax: / is no interpreter"),
     (["--json", "/nowhere/out.json"], "compare: /nowhere/out.json cannot be written"),
     (["--markdown", "/"], "compare: / cannot be written"),
     (["--plot", "/nowhere/plot.svg"], "compare: /nowhere/plot.svg cannot be written"),
     (["--plot", "plot.xls"], "compare: --plot plot.xls: the name must end in .svg, .png or .pdf"),
     (["--rounds", "-1"], "compare: --rounds -1 is not positive"),
     (["--starts", "0"], "compare: --starts 0 is not positive"),
     (["--threads", "0"], "compare: --threads 0 is not positive"),
     (["--seconds", "nan"], "compare: --seconds nan is not positive"),
     (["--scale", "1,-2"], "compare: --scale -2.0 is not positive"),
     (["--scale", "1..10"], "compare: --scale 1..10: factors are numbers: 0.1,1,10"),
     (["seed", "--scale", "10"], "compare: seed has no size to scale: x*x")],
)  # fmt: skip
def test_what_cannot_be_done_is_said_at_once(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("package", "arguments"),
    [("rich", ["compare"]), ("matplotlib", ["compare", "--plot", "p.svg"]),
     ("rich", ["peers", "install"])],
)  # fmt: skip
def test_a_missing_extra_is_named(
    package: str,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert main(arguments) == 2
    message = f"compare: {package} is missing: pip install 'staticgraph[compare]'"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_the_same_for_everyone(name: str) -> None:
    workload = small(name)
    arrays = workload.data(np.random.default_rng(0))
    again = workload.data(np.random.default_rng(0))
    assert all((again[key] == array).all() for key, array in arrays.items())
    losses = [value for key, value in vars(workload).items() if key.endswith("loss")]
    assert len(losses) >= 3
    for loss in losses:
        taken = inspect.signature(loss).parameters
        named = [one.name for one in taken.values() if one.kind is not one.VAR_KEYWORD][1:]
        assert named == list(arrays)[: len(named)]
        assert len(named) == len(arrays) or len(taken) > len(named) + 1
    assert set(workload.PARAMETERS) | set(workload.BATCHED) <= set(arrays)
    assert all(arrays[key].dtype == workload.DTYPE for key in workload.PARAMETERS)
    assert workload.BYTES > 0
    assert workload.FLOPS > 0


def test_workloads_need_nothing_of_the_project() -> None:
    for workload in WORKLOADS.values():
        source = path_of(workload).read_text()
        assert "staticgraph." not in source
        assert "import dynamic" not in source


def _prepared(name: str) -> list[list[Any]]:
    workload = small(name)
    arrays = workload.data(np.random.default_rng(0))
    found = []
    for package, adapter in ((sg, compiled), (dynamic, eager)):
        _, results = adapter.prepare(package, {}, workload, arrays, Phases())
        results()
        found.append(results())
    return found


def test_our_adapters_return_the_loss_and_its_gradients() -> None:
    x, y = 4.0, 3.14159265
    expected = [x * x + math.sin(2 * y), 2 * x, 2 * math.cos(2 * y)]
    for results in _prepared("seed"):
        np.testing.assert_allclose(results, expected, rtol=1e-6)


@pytest.mark.slow
def test_our_adapters_train() -> None:
    one, other = _prepared("mlp_small")
    start = WORKLOADS["mlp_small"].data(np.random.default_rng(0))
    assert float(one[0]) == pytest.approx(float(other[0]), rel=1e-5)
    for name, a, b in zip(WORKLOADS["mlp_small"].PARAMETERS, one[1:], other[1:], strict=True):
        change = np.abs(a - start[name]).max()
        assert change > 1e-5
        # two steps round each parameter twice: 2 * 2**-24 * 0.4
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 * change + 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=pytest.mark.long) if x in LONG else x for x in SMALL]
)
def test_a_workload_of_several_sizes_is_the_same_in_both_paradigms(name: str) -> None:
    workload = small(name)
    found = dict(zip(("static", "eager"), _prepared(name), strict=True))
    start = workload.data(np.random.default_rng(0))
    before = [start[key] for key in workload.PARAMETERS] if workload.OPTIMIZER else []
    normalised = bool(workload.OPTIMIZER) and workload.OPTIMIZER["name"] in NORMALISED
    assert len(found["static"]) == 1 + len(workload.PARAMETERS)
    agreement = compare(found, before, workload.DTYPE, 2, normalised)
    assert all(one.agrees for one in agreement.values()), agreement


def test_a_scale_multiplies_the_size_that_can_grow() -> None:
    whole, grown = WORKLOADS["gpt"], scaled("gpt", WORKLOADS["gpt"], 0.25)
    assert scaled("gpt", whole, 1) is whole
    arrays = grown.data(np.random.default_rng(0))
    assert arrays["tokens"].shape == (4, 128)
    assert grown.TITLE.endswith("; here 4 batch")
    assert path_of(grown) == path_of(whole)
    assert whole.FLOPS == 4 * grown.FLOPS
    assert grown.BYTES < whole.BYTES
    plan = Plan(("gpt",), {}, 1, 0.1, 1, 1, scales=(1.0, 0.25))
    assert list(plan.chosen()) == ["gpt", "gpt x0.25"]
    with pytest.raises(OptionError, match="compare: seed has no size to scale: x\\*x"):
        scaled("seed", WORKLOADS["seed"], 10)


@pytest.mark.parametrize("name", sorted(set(WORKLOADS) - {"seed"}))
def test_what_a_workload_needs_grows_with_what_it_is_given(name: str) -> None:
    small, more = (scaled(name, WORKLOADS[name], scale) for scale in (0.125, 0.25))
    sizes = [
        sum(array.size for array in one.data(np.random.default_rng(0)).values())
        for one in (small, more)
    ]
    assert sizes[0] < sizes[1]
    assert small.FLOPS < more.FLOPS < WORKLOADS[name].FLOPS
    assert small.BYTES <= more.BYTES <= WORKLOADS[name].BYTES


def test_short_calls_are_timed_together() -> None:
    calls: list[int] = []
    found = sample(lambda: calls.append(1), 0.01)
    assert 0 < found["minimum"] <= found["median"] < 1e-4
    assert found["calls"] <= len(calls)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for the peers' environments."""
    monkeypatch.setenv("STATICGRAPH_PEERS_DIR", str(tmp_path))
    return tmp_path


def _make_environment(script: str) -> Any:
    def create(place: Path, **_options: Any) -> None:
        (place / "bin").mkdir(exist_ok=True)
        python = place / "bin" / "python"
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)

    return create


def test_a_peer_is_installed_once(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = place / "log"
    script = f'echo Collecting; echo "$@" >> {log}'
    monkeypatch.setattr(peers.venv, "create", _make_environment(script))
    assert peers.interpreter("jax") is None
    for _ in range(2):
        assert main(["peers", "install", "jax"]) == 0
    assert len(log.read_text().splitlines()) == 1
    assert "jax==0.10.2" in log.read_text()
    assert peers.interpreter("jax") == place / "jax" / "bin" / "python"
    capsys.readouterr()
    assert main(["peers"]) == 0
    states = [line.split()[1:3] for line in capsys.readouterr().out.splitlines()[1:]]
    assert states == [["not", "installed"], ["installed", "jax==0.10.2"], ["not", "installed"]]


def test_other_versions_are_installed_again(place: Path) -> None:
    (place / "torch" / "bin").mkdir(parents=True)
    (place / "torch" / "bin" / "python").touch()
    (place / "torch" / peers.MARK).write_text("torch==1.0\n")
    assert peers.interpreter("torch") is None


def test_a_failure_of_pip_is_shown(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "echo 'ERROR: No matching distribution'; exit 1"
    monkeypatch.setattr(peers.venv, "create", _make_environment(script))
    assert main(["peers", "install", "torch"]) == 2
    message = "peers: torch: pip has failed: ERROR: No matching distribution"
    assert message in capsys.readouterr().err
    assert peers.interpreter("torch") is None


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_an_interrupted_installation_is_not_complete(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers.venv, "create", _make_environment("kill -INT $PPID; sleep 1"))
    assert main(["peers", "install", "torch", "jax"]) == 130
    assert "torch: interrupted" in capsys.readouterr().err
    assert peers.interpreter("torch") is None
    assert not (place / "jax").exists()


def test_a_place_that_cannot_be_made_is_named(place: Path) -> None:
    (place / "jax").write_text("")
    with pytest.raises(StaticGraphError, match=r"peers: jax: .* cannot be made"):
        peers.install("jax", lambda line: None)


def test_an_unknown_peer_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peers", "install", "theano"]) == 2
    assert "unknown peer 'theano': known are torch, jax, pytensor" in capsys.readouterr().err


def test_which_peers_take_part(place: Path) -> None:
    assert command._peers(None, []) == {}
    assert command._peers("none", []) == {}
    assert command._peers("torch", []) == {"torch": None}
    assert command._peers(None, [f"jax={sys.executable}"]) == {"jax": sys.executable}


def test_where_the_environments_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STATICGRAPH_PEERS_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert peers.directory() == tmp_path / "staticgraph" / "peers"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert peers.directory().parts[-4:-1] == ("Library", "Application Support", "staticgraph")
