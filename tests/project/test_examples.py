"""The examples run as they stand, and show what they say."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import staticgraph.distributed as dist
from tests.combinations import some
from tests.paths import ROOT

pytestmark = pytest.mark.slow


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def digits() -> ModuleType:
    """Imported by the first test of it: scikit-learn takes a second."""
    return load("digits")


@pytest.fixture(scope="module")
def robust_fit() -> ModuleType:
    return load("robust_fit")


@pytest.fixture(scope="module")
def seed_graph() -> ModuleType:
    return load("seed_graph")


def run_script(name: str, *options: str, cwd: Path) -> str:
    """What the example prints when it is run as a user runs it, warnings being errors."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py"), *options]
    return subprocess.run(
        command, cwd=cwd, env=environment, check=True, capture_output=True, text=True, timeout=300
    ).stdout


@pytest.mark.parametrize(
    "given",
    some(
        [(0, "float32", 1e-5), (0, "float64", 1e-12), (1, "float64", 1e-12), (1, "float32", 1e-5)],
        1,
    ),
)
def test_both_paradigms_learn_the_digits_and_agree(
    digits: ModuleType, tmp_path: Path, given: tuple[int, str, float]
) -> None:
    seed, dtype, limit = given
    options = ["--dtype", dtype, "--seed", str(seed), "--epochs", "8", "--out", str(tmp_path)]
    runs = digits.main(options)
    data = digits.load(dtype, seed)
    for run in runs:
        assert run.model.predict(data.test_x).shape == (360,)
        assert run.accuracy(data) >= 0.95
        assert len(run.losses) == 8 * (1437 // 64)
        assert {array.dtype for array in run.model.weights()} == {np.dtype(dtype)}
    first, second = (np.array(run.losses) for run in runs)
    apart = np.abs(first - second) / np.abs(first)
    assert np.all(apart[:50] <= limit)
    assert not np.array_equal(first[:50], first[50:100])
    assert digits.loss_difference(runs, 50) == np.max(apart[:50])


def test_a_users_op_trains_in_both_paradigms(robust_fit: ModuleType) -> None:
    found = robust_fit.main([])
    for loss in ("robust", "squares"):
        (ours, line), (losses, other) = found[loss, "compiled"], found[loss, "eager"]
        np.testing.assert_allclose(ours, losses, 1e-12)
        np.testing.assert_allclose(line, other, 1e-12)
    line = found["robust", "compiled"][1]
    assert np.abs(line - [robust_fit.SLOPE, robust_fit.OFFSET]).max() < 0.05
    assert abs(found["squares", "compiled"][1][1] - robust_fit.OFFSET) > 0.3


@pytest.mark.parametrize(
    ("name", "options", "limit"),
    [
        ("gaussian_process", "--steps 3", 1e-9),
        ("char_gpt", "--steps 3", 1e-5),
        ("kalman_filter", "--steps 5 --count 30", 1e-12),
        ("cnn", "--steps 4", 1e-4),
        ("hmc", "--steps 10", 1e-9),
        ("lstm_lm", "--steps 3", 1e-5),
        ("k_means", "--centres 4", 1e-9),
        ("vae", "--steps 5", 1e-5),
        ("pinn", "--steps 5", 1e-9),
        ("neural_ode", "--steps 5", 1e-9),
    ],
)
def test_both_paradigms_have_the_same_losses(name: str, options: str, limit: float) -> None:
    found = load(name).main(options.split())
    compiled, eager = found["compiled"], found["eager"]
    assert len(compiled) == len(eager) > 1
    np.testing.assert_allclose(compiled, eager, limit)
    if name not in ("hmc", "k_means"):  # energies of samples; one distance, and iterations
        assert compiled[-1] < compiled[0]


def test_ranks_have_the_losses_of_one_process(tmp_path: Path) -> None:
    """And go on from a file that another number of ranks has written."""
    example = load("data_parallel")
    file = tmp_path / "train.sg"
    losses, right = example.main(["--epochs", "2", "--file", str(file)])
    assert losses[-1] < losses[0] / 2
    more, _ = example.main(["--epochs", "1", "--file", str(file)])
    file.unlink()

    def ranks() -> Any:
        dist.barrier()
        first = example.main(["--epochs", "2", "--file", str(file)])
        return first, example.main(["--epochs", "1", "--file", str(file)])

    for (ours, same), (ours_more, _) in dist.simulate(ranks, 3):
        np.testing.assert_allclose(ours, losses, rtol=1e-4)
        np.testing.assert_allclose(ours_more, more, rtol=1e-3)
        assert same == pytest.approx(right, abs=0.01)


def test_the_processes_of_a_sweep_compile_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("STATICGRAPH_LOG", "compile,cache")
    command = [sys.executable, str(ROOT / "examples" / "parameter_sweep.py"), "--epochs", "1"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    told = done.stderr.splitlines()
    for name in ("train", "predict"):
        assert sum(f"compile: {name}:" in line for line in told) == 1
        # joblib sends short tasks several at a time: what they share is unpickled once
        assert 1 <= sum(f"cache: {name}: loaded" in line for line in told) <= 9
    alone = load("parameter_sweep").main(["--epochs", "1", "--processes", "1"])
    rows = [line.split()[1:] for line in done.stdout.splitlines()[1:]]
    assert rows == [
        [f"{accuracy:.1%}" for (rate, _), accuracy in alone.items() if rate == each]
        for each in (0.03, 0.1, 0.3)
    ]
    assert max(alone.values()) > 0.6


def test_every_example_is_short_and_in_the_index() -> None:
    index = (ROOT / "examples" / "README.md").read_text()
    for path in (ROOT / "examples").glob("*.py"):
        assert f"[`{path.name}`]({path.name})" in index
        lines = path.read_text().count("\n")
        assert lines < 100 or path.stem == "digits", (path.name, lines)


def test_digits_prints_one_table_and_saves_the_pictures(tmp_path: Path) -> None:
    printed = run_script("digits", "--epochs", "3", cwd=tmp_path)
    assert printed.count("Handwritten digits: 66 steps") == 1
    for row in (
        "test accuracy", "time per step", "compile time", "break-even number of steps",
        "loss: relative difference, first 50 steps", "loss: relative difference, all steps",
        "weights: absolute difference",
    ):  # fmt: skip
        assert printed.count(row) == 1
    for name, start in (("digits_loss.png", b"\x89PNG"), ("digits_graph.svg", b"<?xml")):
        assert f"out/{name}" in printed
        assert (tmp_path / "out" / name).read_bytes().startswith(start)
    assert "cross_entropy" in (tmp_path / "out" / "digits_graph.svg").read_text()


def test_ctrl_c_reports_the_steps_so_far(
    digits: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    original = digits.Compiled.step
    calls: list[int] = []

    def step(self: Any, x: Any, y: Any) -> float:
        if len(calls) == 30:
            raise KeyboardInterrupt
        calls.append(1)
        loss: float = original(self, x, y)
        return loss

    monkeypatch.setattr(digits.Compiled, "step", step)
    eager, compiled = digits.main(["--epochs", "9", "--out", str(tmp_path)])
    assert (len(eager.losses), len(compiled.losses)) == (44, 30)
    printed = capsys.readouterr().out
    assert "Interrupted" in printed
    assert "Handwritten digits: 30 steps" in printed
    assert (tmp_path / "digits_loss.png").exists()


def test_ctrl_c_before_the_first_step_says_so(
    digits: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(self: Any, x: Any, y: Any) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(digits.Eager, "step", step)
    with pytest.raises(SystemExit, match="No step of both paradigms is done"):
        digits.main(["--out", str(tmp_path)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--batch-size", "2000"], "--batch-size 2000: there are 1437 images"),
        (["--epochs", "0"], "2"),
        (["--dtype", "float16"], "2"),
    ],
)
def test_impossible_options_are_refused(
    digits: ModuleType, options: list[str], message: str
) -> None:
    with pytest.raises(SystemExit, match=message):
        digits.main(options)


def test_break_even_is_when_the_compile_time_is_saved(digits: ModuleType) -> None:
    assert digits.break_even(1.0, 3e-3, 1e-3) == "500"
    assert digits.break_even(1.0, 0.3e-3, 0.1e-3) == "5,000"
    assert digits.break_even(1.0, 1e-3, 1e-3) == "never"
    assert digits.break_even(1.0, math.nan, 1e-3) == "never"


def test_the_seed_graph_has_the_values_of_its_text(seed_graph: ModuleType, tmp_path: Path) -> None:
    for result in seed_graph.main(["--out", str(tmp_path)]):
        values = dict(zip(seed_graph.NAMES, result.values, strict=True))
        gradients = dict(zip(seed_graph.NAMES, result.gradients, strict=True))
        assert (values["x"], values["y"]) == (4.0, np.float32(3.14159265))
        assert (values["z"], gradients["x"], gradients["y"]) == (16.0, 8.0, 2.0)
        assert values["x*x"] == 16.0
        assert values["sin(2y)"] == pytest.approx(math.sin(2 * values["y"]), rel=1e-6)
        assert [gradients[name] for name in ("x*x", "2y", "sin(2y)", "z")] == [1.0] * 4


def test_the_seed_graph_is_drawn_with_values_and_gradients(tmp_path: Path) -> None:
    printed = run_script("seed_graph", cwd=tmp_path)
    assert "out/seed_graph.svg" in printed
    assert (tmp_path / "out" / "seed_graph.png").read_bytes().startswith(b"\x89PNG")
    picture = (tmp_path / "out" / "seed_graph.svg").read_text()
    green = [line for line in picture.splitlines() if "fill: #116329" in line]
    blue = [line for line in picture.splitlines() if "fill: #0550ae" in line]
    assert sorted(line.rpartition('">')[2].removesuffix("</text>") for line in green) == sorted(
        ["value", "4", "3.14159", "16", "6.28319", "1.74846e-07", "16"]
    )
    assert sorted(line.rpartition('">')[2].removesuffix("</text>") for line in blue) == sorted(
        ["gradient", "8", "2", "1", "1", "1", "1"]
    )
