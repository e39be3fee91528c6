"""The campaign `eager`: what its programs are made of, and that planted defects are noticed."""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
from staticgraph.compare import peers
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.settings import FUZZ_TORCH
from staticgraph.fuzz import server, shrink
from staticgraph.fuzz.eager import CAMPAIGN, __main__, compare, memory, numpy_ops, reference
from staticgraph.fuzz.eager.generate import generate
from staticgraph.fuzz.eager.machine import Machine
from staticgraph.fuzz.eager.program import mend
from staticgraph.fuzz.eager.script import script
from staticgraph.fuzz.eager.simplify import simplify
from staticgraph.fuzz.failures import Failure, load_failure


@pytest.fixture(autouse=True)
def without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FUZZ_TORCH.name, "")


def leaf(name: str, *values: float, grad: bool = True) -> Any:
    return {"do": "leaf", "name": name, "shape": [len(values)], "dtype": "float64",
            "values": list(values), "requires_grad": grad}  # fmt: skip


def method(of: str, on: str, *args: Any, name: str | None = None, **options: Any) -> Any:
    step = {"do": "method", "of": of, "args": [on, *args], "options": options}
    return step if name is None else {**step, "name": name}


def program(*steps: Any, mode: str = "results", **more: Any) -> Any:
    return {"steps": list(steps), "mode": mode, **more}


SINE = program(
    leaf("x", 0.5, 1.5), method("sin", "$x", name="y"), method("select", "$y", 0, 1, name="v"),
    method("mul_", "$v", 3.0), method("sum", "$y", name="s"), method("backward", "$s"),
)  # fmt: skip


def expecting(of: Any) -> Any:
    """The program with what `dynamic` makes of it as what is expected."""
    return {**of, "expected": json.loads(json.dumps(Machine(dynamic).run(of)))}


def found(of: Any) -> str:
    return server.run(CAMPAIGN, {"program": of}) or ""


def test_programs_are_of_many_kinds() -> None:
    programs = [generate(seed) for seed in range(200)]
    assert json.loads(json.dumps(programs)) == programs
    steps = [step for one in programs for step in one["steps"]]
    made = collections.Counter(step["do"] for step in steps)
    assert set(made) == {
        "leaf", "method", "function", "get", "set", "attribute", "assign", "augment", "hook",
        "remove", "delete", "look",
    }  # fmt: skip
    called = {step["of"] for step in steps if step["do"] in ("method", "function")}
    assert called >= {"retain_grad", "requires_grad_", "detach_", "backward", "autograd.grad"}
    assert len(called & numpy_ops.VIEWS.keys()) > 20
    assert len(called & numpy_ops.COMPUTED.keys()) > 30
    assert len(called & numpy_ops.IN_PLACE.keys()) > 20
    modes = {mode for step in steps for mode in step.get("modes", ())}
    assert modes == {"no_grad", "enable_grad", "inference_mode"}


def test_what_is_right_is_right() -> None:
    assert found(SINE) == ""
    assert found(expecting(SINE)) == ""
    assert found({**expecting(SINE), "mode": "names"}) == ""


def test_a_write_that_is_lost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic.Tensor, "mul_", lambda x, y: x * y)
    assert found(SINE).startswith("values differ from a simulation of memory\ny")


def test_a_view_that_is_a_copy_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    select = dynamic.Tensor.select
    monkeypatch.setattr(dynamic.Tensor, "select", lambda *given: select(*given).clone())
    assert found(SINE).startswith("values differ from a simulation of memory\ny")


def test_an_exception_by_accident_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic.Tensor, "sin", lambda x: [][len(x.shape)])
    assert found(SINE).startswith("IndexError by accident in test_fuzz_eager.py <lambda>\n")


def test_what_differs_from_the_expected_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = expecting(SINE)
    sin = dynamic.sin
    with monkeypatch.context() as one:
        one.setattr(dynamic.Tensor, "sin", lambda x: sin(x.detach()) + 0 * x)
        assert found(expected).startswith("grad differs from PyTorch\nx\n")
    with monkeypatch.context() as one:
        one.setattr(dynamic.Tensor, "sin", lambda x: sin(x.detach()))
        assert found(expected).startswith(
            "method: raises RuntimeError: element of tensors does not"
        )
    with monkeypatch.context() as one:
        one.setattr(dynamic.Tensor, "sum", lambda x: (x.mul_(1), dynamic.sum(x))[1])
        assert found(expected).startswith("_version differs from PyTorch\ny\n2\n1")


HOOKED = program(
    leaf("x", 2.0), method("mul", "$x", "$x", name="y"),
    {"do": "hook", "of": "register_hook", "args": ["$y"], "label": "h0", "scale": None},
    {"do": "hook", "of": "register_hook", "args": ["$x"], "label": "h1", "scale": 2.0},
    {"do": "hook", "of": "register_post_accumulate_grad_hook", "args": ["$x"], "label": "h2",
     "scale": None},
    method("sum", "$y", name="s"), method("backward", "$s"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda hooks: hooks[::-1], "hooks run in another order\n"),
        (lambda hooks: hooks[:2], "another number of hooks ran\n"),
        (lambda hooks: [[hooks[0][0], hooks[2][1]], *hooks[1:]], "a hook sees another gradient\n"),
    ],
)
def test_hooks_are_compared(change: Any, said: str) -> None:
    expected = expecting(HOOKED)
    seen = [[label, grad["values"]] for label, grad in expected["expected"]["hooks"]]
    assert seen == [["h0", [1.0]], ["h1", [4.0]], ["h2", [8.0]]]
    assert found(expected) == ""
    expected["expected"]["hooks"] = change(expected["expected"]["hooks"])
    assert found(expected).startswith(said)


@pytest.mark.parametrize(
    ("last", "error", "said"),
    [
        (method("sum", "$x"), {"error": ["RuntimeError"], "text": "no such 7"},
         "method: does not raise, where PyTorch raises RuntimeError: no such\n"),
        (method("mul_", "$x", 5), None, "method: raises RuntimeError: a leaf Variable that"),
        (method("mul_", "$x", 5), {"error": ["TypeError"], "text": "no"},
         "method: raises RuntimeError: a leaf Variable that requires grad is being, PyTorch rai"),
        (method("mul_", "$x", 5), {"error": ["RuntimeError"], "text": "a view of a leaf Variable"},
         "method: says RuntimeError: a leaf Variable that requires grad is being, PyTorch says"),
        (method("dim", "$x"), 2, "method: gives another value\n"),
    ],
)  # fmt: skip
def test_steps_are_compared(last: Any, error: Any, said: str) -> None:
    expected = expecting(program(leaf("x", 1.0, 2.0), last))
    assert found(expected) == ""
    expected["expected"]["steps"][-1] = error
    assert found(expected).startswith(said)


def test_names_of_nodes_are_compared_in_their_mode() -> None:
    expected = expecting(SINE)
    expected["expected"]["values"]["s"]["grad_fn"] = "MeanBackward0"
    assert found(expected) == ""
    named = found({**expected, "mode": "names"})
    assert named.startswith("grad_fn SumBackward0 MeanBackward0 differs from PyTorch\ns\n")
    expected["expected"]["values"]["s"]["grad_fn"] = None
    assert found(expected).startswith("grad_fn SumBackward0 None differs from PyTorch\ns\n")


def test_numbers_are_the_same_up_to_rounding() -> None:
    assert compare.alike([1.0, [2.0, "nan"]], [1.0 + 1e-12, [2.0, "nan"]], 1e-8)
    assert not compare.alike([1.0, 2.0], [1.0, 2.0 + 1e-6], 1e-8)
    assert not compare.alike([1.0], [1.0, 2.0], 1e-8)
    assert not compare.alike([1.0], ["nan"], 1e-8)
    assert not compare.alike([True], [False], 1e-8)


def test_a_failing_program_becomes_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic.Tensor, "mul_", lambda x, y: x * y)
    for seed in range(200):
        made = {**generate(seed), "mode": "results"}
        if found(made).startswith("values differ"):
            break
    shrinker = shrink.Shrinker(CAMPAIGN, found, found(made), checks=10_000, seconds=1e6)
    small = shrinker.shrink(made)
    assert [step["do"] for step in small["steps"]] == ["leaf", "method"]
    assert small["steps"][1]["of"] == "mul_"


def test_simplifications_are_programs_that_run() -> None:
    for seed in range(30):
        for number, simpler in enumerate(simplify({**generate(seed), "mode": "results"})):
            if number % 5 == 0 and (mended := mend(simpler)) is not None:
                compile(script(mended), "script", "exec")
                Machine(dynamic).run(mended)


def test_a_step_left_out_takes_what_reads_it_along() -> None:
    mended = mend(expecting(program(*SINE["steps"][:1], *SINE["steps"][2:])))
    assert mended == program(leaf("x", 0.5, 1.5))
    assert mend(program(*SINE["steps"][1:])) is None
    hook = {"do": "remove", "of": "h"}
    assert mend(program(leaf("x"), hook)) == program(leaf("x"))


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")
def test_a_script_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(script(HOOKED), "script", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "h0 tensor([1.], dtype=torch.float64)"
    assert lines[3].endswith("0 tensor([8.], dtype=torch.float64)")


def test_every_step_has_a_statement() -> None:
    for seed in range(200):
        compile(script(generate(seed)), "script", "exec")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (0, [0, 1, 2]), ((..., 1), [1, 4]), (None, [[[0, 1, 2], [3, 4, 5]]]),
        (True, [[[0, 1, 2], [3, 4, 5]]]),
        ((0, [0, 2]), [0, 2]), (([1], slice(1)), [[3]]), (np.array(1), [3, 4, 5]),
        ((slice(None), None, [2]), [[[2]], [[5]]]), (np.array([False, True]), [[3, 4, 5]]),
    ],
)  # fmt: skip
def test_memory_is_indexed_as_tensors_are(key: Any, expected: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    got = memory.got(x, key)
    np.testing.assert_array_equal(got, expected)
    assert np.may_share_memory(got, x) == (not any(
        isinstance(one, list) or one is True or np.ndim(one)
        for one in (key if isinstance(key, tuple) else (key,))
    ))  # fmt: skip
    memory.put(x, key, 9.0)
    assert (x == 9).sum() == np.size(expected)


def test_memory_does_not_write_where_elements_share_it() -> None:
    x = np.broadcast_to(np.zeros(1), (3,))
    with pytest.raises(ValueError, match="elements share memory"):
        memory.written(x, 1.0)
    with pytest.raises(ValueError, match="the value has more elements"):
        memory.written(np.zeros(1), np.zeros(3))


def other_python(folder: Path, code: str) -> str:
    """An interpreter that has a module `torch`: `dynamic` in disguise."""
    (folder / "torch.py").write_text(
        "import sys, dynamic\ndynamic.set_num_threads = lambda n: None\n"
        f"{code}\nsys.modules['torch'] = dynamic\n"
    )
    path = folder / "python"
    root = Path(dynamic.__file__).parents[2]
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:{root}" exec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_the_reference_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = other_python(tmp_path, "dynamic.Tensor.sin = dynamic.Tensor.cos")
    monkeypatch.setenv(FUZZ_TORCH.name, python)
    try:
        assert found(SINE).startswith("grad differs from PyTorch\nx")
        failure = Failure("eager", 1, "text", SINE)
        failure.save(tmp_path / "one.json")
        __main__.main([str(tmp_path / "one.json")])
    finally:
        reference.process(python).close()
    monkeypatch.setenv(FUZZ_TORCH.name, "")
    stored = load_failure(tmp_path / "one.json")
    assert found(stored.program).startswith("grad differs from PyTorch\nx")


@pytest.mark.slow
def test_a_reference_that_dies_says_nothing(tmp_path: Path) -> None:
    process = reference.Reference(other_python(tmp_path, "import os; os._exit(1)"))
    assert process.ask(SINE) is None
    assert process.ask(SINE) is None
    process.close()


def test_a_reference_that_is_dropped_ends_its_process(tmp_path: Path) -> None:
    process = reference.Reference(other_python(tmp_path, ""))
    assert process.ask(SINE) is not None
    child = process._child
    assert child is not None
    assert child.poll() is None
    del process
    assert child.poll() is not None


def test_the_interpreter_is_that_of_the_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FUZZ_TORCH.name)
    for place, text in ((None, None), (Path("/p/bin/python"), "/p/bin/python")):
        monkeypatch.setattr(peers, "interpreter", lambda peer, place=place: place)
        assert reference.interpreter() == text


def test_nothing_can_be_stored_without_pytorch(tmp_path: Path) -> None:
    Failure("eager", 1, "text", SINE).save(tmp_path / "one.json")
    with pytest.raises(OptionError, match=r"one.json: no environment has PyTorch"):
        __main__.main([str(tmp_path / "one.json")])
