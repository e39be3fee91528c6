"""Profiles: which events there are, how times add up, what is written, and that nothing is left."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dynamic as torch
from dynamic import nn
from dynamic.profiler import ProfilerActivity, profile, record_function, schedule
from staticgraph.compiler.core.passing import passing, seeing
from staticgraph.dynamic.autograd.profiler_util import EventList, FunctionEvent, time_text
from staticgraph.dynamic.tape.pulling import around

_MODEL = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
_X = torch.ones(5, 3)


def _step(optimizer: Any) -> None:
    optimizer.zero_grad()
    with record_function("forward"):
        loss = nn.functional.mse_loss(_MODEL(_X), torch.zeros(5, 2))
    loss.backward()
    optimizer.step()


def test_a_training_step_is_taken_apart() -> None:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        _step(torch.optim.SGD(_MODEL.parameters(), 0.1))
    counts = {one.key: one.count for one in prof.key_averages()}
    expected = {
        "forward": 1, "aten::linear": 2, "aten::relu": 1, "aten::mse_loss": 1, "aten::backward": 1,
        "ReluBackward0": 1, "MseLossBackward0": 1, "Optimizer.step#SGD.step": 1,
    }  # fmt: skip
    assert {key: counts[key] for key in expected} == expected
    events = {one.name: one for one in prof.events()}
    assert events["aten::mse_loss"].cpu_parent is events["forward"]
    assert events["ReluBackward0"].cpu_parent is events["aten::backward"]
    assert events["aten::relu"].input_shapes == [[5, 4]]
    assert events["forward"].is_user_annotation and not events["aten::relu"].is_user_annotation
    linear = [
        one for one in prof.key_averages(group_by_input_shape=True) if one.key[-6:] == "linear"
    ]
    assert sorted(one.input_shapes for one in linear) == [
        [[5, 3], [4, 3], [4]], [[5, 4], [2, 4], [2]],
    ]  # fmt: skip
    top = [one for one in prof.events() if one.cpu_parent is None]
    spent = sum(one.cpu_time_total for one in top)
    assert abs(prof.events().self_cpu_time_total - spent) < 1e-6 * spent
    assert prof.key_averages().total_average().count == len(prof.events())


def _made(*rows: tuple[str, int, float, float]) -> EventList:
    """Events of (name, number of the parent or 0, start, end)."""
    found: list[FunctionEvent] = []
    for name, parent, start, end in rows:
        event = FunctionEvent(len(found) + 1, name, 1, found[parent - 1] if parent else None)
        event.time_range.start, event.time_range.end = start, end
        found.append(event)
    return EventList(found)


def test_tables_are_pytorchs() -> None:
    events = _made(("outer", 0, 0, 1500), ("inner", 1, 100, 350), ("outer", 0, 1500, 2000))
    averages = events.key_averages()
    rule = "---------  " + "------------  " * 6
    assert averages.table(sort_by="self_cpu_time_total", row_limit=1).split("\n") == [
        rule,
        "     Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    "
        "# of Calls  ",
        rule,
        "    outer        87.50%       1.750ms       100.00%       2.000ms       1.000ms    "
        "         2  ",
        rule,
        "Self CPU time total: 2.000ms",
        "",
    ]
    text = averages.table(header="the step", top_level_events_only=True)
    assert text.split("\n")[:4] == [
        "=" * len(rule),
        "the step",
        "=" * len(rule),
        text.split("\n")[3],
    ]
    assert "top-level" in text.split("\n")[3] and "inner" not in text
    assert averages.table(sort_by="cuda_time_total", row_limit=-1).count("\n") == 7
    assert "in..." in _made(("inner one", 0, 0, 1)).table(max_name_column_width=5)
    with pytest.raises(AttributeError):
        averages.table(sort_by="no such thing")
    assert [time_text(one) for one in (1.5, 1500, 1.5e6)] == ["1.500us", "1.500ms", "1.500s"]
    assert repr(averages[0]) == (
        "<FunctionEventAvg key=outer self_cpu_time=1.750ms cpu_time=1.000ms input_shapes=[] "
        "cpu_memory_usage=0>"
    )
    assert repr(events[0]).startswith(
        "<FunctionEvent id=1 name=outer cpu_time=1.500ms cpu_children=[2]"
    )


def test_memory_is_what_functions_made() -> None:
    with profile(profile_memory=True) as prof:
        y = torch.zeros(1024, 3)
        _ = nn.functional.linear(y, torch.ones(2, 3))
        y.t()
    used = {one.key: one.cpu_memory_usage for one in prof.key_averages()}
    assert used["aten::zeros"] == 12288 and used["aten::linear"] == 8192 and used["aten::t"] == 0
    text = prof.key_averages().table()
    assert "12.00 KB" in text and "Self CPU Mem" in text and "0 B" in text


def test_traces_and_lines_are_written(tmp_path: Path) -> None:
    with profile(with_stack=True) as prof, record_function("mine"):
        torch.sin(_X)
    for name in ("trace.json", "trace.json.gz"):
        prof.export_chrome_trace(str(tmp_path / name))
        data = (tmp_path / name).read_bytes()
        trace = json.loads(gzip.decompress(data) if name.endswith("gz") else data)
        found = [(one["ph"], one["cat"], one["name"]) for one in trace["traceEvents"]]
        assert found == [("X", "user_annotation", "mine"), ("X", "cpu_op", "aten::sin")]
        assert trace["traceEvents"][0]["dur"] >= trace["traceEvents"][1]["dur"] >= 0
    prof.export_stacks(str(tmp_path / "stacks"))
    assert f"{Path(__file__).name}:" in (tmp_path / "stacks").read_text()
    assert "Source Location" in prof.key_averages(group_by_stack_n=1).table()
    with profile() as prof:
        torch.sin(_X)
    with pytest.raises(AssertionError, match="with_stack=True"):
        prof.export_stacks(str(tmp_path / "stacks"))


def test_a_schedule_says_which_steps_are_recorded() -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    letters = "".join(plan(i).name[0] + plan(i).name[-1] for i in range(11))
    assert letters == "NENEWPRDRENEWPRDRENENE"
    again = schedule(wait=2, warmup=1, active=1, skip_first=1, skip_first_wait=1)
    assert [again(i).name for i in range(7)] == [
        "NONE", "WARMUP", "RECORD_AND_SAVE", "NONE", "NONE", "WARMUP", "RECORD_AND_SAVE",
    ]  # fmt: skip
    with pytest.raises(AssertionError, match=r"Got wait=0 .*active=0 \(need > 0\)"):
        schedule(wait=0, warmup=0, active=0)


def test_steps_are_recorded_and_handed_over() -> None:
    ready: list[Any] = []

    def note(prof: Any) -> None:
        names = [one.name for one in prof.events() if one.name.startswith("ProfilerStep")]
        ready.append((prof.step_num, names, next(one.key for one in prof.key_averages())))

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=note) as p:
        for _ in range(9):
            torch.sin(_X)
            p.step()
    assert ready == [
        (4, ["ProfilerStep#2", "ProfilerStep#3"], "ProfilerStep*"),
        (8, ["ProfilerStep#6", "ProfilerStep#7"], "ProfilerStep*"),
    ]
    ready.clear()
    with profile(schedule=schedule(wait=0, warmup=0, active=3), on_trace_ready=note) as p:
        torch.sin(_X)
        p.step()
        torch.sin(_X)
    assert ready == [(1, ["ProfilerStep#0", "ProfilerStep#1"], "ProfilerStep*")]
    with profile(on_trace_ready=lambda prof: ready.append(len(prof.events()))) as p:
        torch.sin(_X)
        p.step()
        torch.sin(_X)
    assert ready[-1] == 2 and not passing


def test_nothing_is_measured_afterwards_or_elsewhere() -> None:
    methods = dict(vars(torch.Tensor))
    with pytest.raises(KeyError), profile() as prof:
        thread = threading.Thread(target=lambda: (_X + 1).sum())
        thread.start()
        thread.join()
        x = torch.ones(2, requires_grad=True)
        raise KeyError
    (x * x).sum().backward()
    assert [one.name for one in prof.events()] == ["aten::ones"]
    assert dict(vars(torch.Tensor)) == methods
    assert not (passing or around) and seeing.measure is None
    with record_function("nothing"):
        pass


def test_values_and_errors_are_those_without_a_profile() -> None:
    def run() -> Any:
        x = torch.arange(3.0, requires_grad=True)
        (torch.softmax(x, 0) * x).sum().backward()
        return x.grad

    expected = run()
    with profile():
        assert torch.equal(run(), expected)
        with pytest.raises(RuntimeError, match="matmul"):
            torch.matmul(torch.ones(2, 3), torch.ones(2, 3))
        assert torch.sin(_X).shape == _X.shape


def test_the_older_form() -> None:
    profiler = torch.autograd.profiler

    @record_function("decorated")
    def double(x: Any) -> Any:
        return 2 * x

    with profiler.profile() as prof:
        assert str(prof) == "<unfinished profiler_context>"
        with pytest.raises(RuntimeError, match="didn't finish"):
            prof.key_averages()
        with pytest.raises(RuntimeError, match="not reentrant"):
            prof.__enter__()
        with pytest.raises(RuntimeError, match="is taken in this thread"):
            profile().start()
        double(_X)
    assert [one.key for one in prof.key_averages()] == ["decorated", "aten::mul"]
    assert prof.total_average().count == 2 and str(prof) == prof.table()
    assert prof.self_cpu_time_total == prof.function_events.self_cpu_time_total
    with profiler.profile(enabled=False) as nothing:
        double(_X)
    assert nothing is None
    with pytest.raises(AssertionError, match="emit_nvtx: there is no GPU"):
        profiler.emit_nvtx().__enter__()


@pytest.mark.parametrize(
    "make", [lambda: profile(activities=[ProfilerActivity.CUDA]),
             lambda: torch.autograd.profiler.profile(use_cuda=True)],
)  # fmt: skip
def test_what_is_not_measured_is_told(make: Callable[[], Any]) -> None:
    with pytest.warns(UserWarning, match="disabling CUDA profiling"):
        make()
    with pytest.warns(UserWarning, match="with_flops"):
        profile(with_flops=True)
    with pytest.warns(UserWarning, match="with_flops"):
        torch.autograd.profiler.profile(with_flops=True)
    with pytest.raises(AssertionError, match="must be initialized"):
        profile().key_averages()


def test_a_mode_within_a_profile_is_measured() -> None:
    with profile() as prof, torch.overrides.BaseTorchFunctionMode():
        _ = _X + 1
    assert [one.name for one in prof.events()] == ["aten::add"]
