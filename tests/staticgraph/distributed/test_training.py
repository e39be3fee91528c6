"""Training on ranks: the losses of one process, the same bits on all ranks, and what ends it."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
import staticgraph.distributed as dist
from staticgraph.compiler.reference.ranks import Job, Plan, Ranks, current, within
from staticgraph.distributed.threads import Meeting

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = X @ RNG.normal(size=5) + 0.1


def _train(scale: Any = 1.0, weighted: bool = True) -> tuple[Any, Any]:
    """A network's training step, and its first weights."""
    x, y = sg.placeholder("x", (None, 5), "float64"), sg.placeholder("y", (None,), "float64")
    rng = np.random.default_rng(1)
    w1 = sg.variable(rng.normal(size=(5, 7)), "w1")
    w2, b = sg.variable(rng.normal(size=7), "w2"), sg.variable(np.zeros(()), "b")
    loss = sg.mse_loss(sg.tanh(x @ w1) @ w2 + b, y * scale)
    loss = dist.mean(loss, x.shape[0]) if weighted else dist.mean(loss)
    updates = sg.optim.AdamW(lr=0.05, clip_norm=0.5).minimize(loss)
    return sg.compile([x, y], loss, updates=updates, name="train"), w1


def _losses(size: int, drop_last: bool) -> tuple[list[float], Any]:
    train, w1 = _train()
    steps = [dist.batches(X, Y, size=size, seed=e, drop_last=drop_last) for e in range(3)]
    losses = [float(train(*batch)) for epoch in steps for batch in epoch]
    dist.check_same(train)
    return losses, w1.value


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "size", "drop_last"), [(2, 20, True), (3, 59, False)])
def test_losses_are_those_of_one_process(ranks: int, size: int, drop_last: bool) -> None:
    """With shares that are equal; that differ, and that are empty: 1 row for 3 ranks."""
    alone, weights = _losses(size, drop_last)
    found = dist.simulate(lambda: _losses(size, drop_last), ranks)
    for losses, values in found:
        assert losses == found[0][0]
        assert_array_equal(values, found[0][1])
        assert_allclose(losses, alone, rtol=1e-11)
        assert_allclose(values, weights, rtol=1e-9)


def test_eager_training_averages_gradients() -> None:
    def run() -> Any:
        w = dynamic.tensor(np.ones(5), requires_grad=True)
        b = dynamic.tensor(0.0, requires_grad=True)
        unused = dynamic.tensor(1.0, requires_grad=True)
        opt = dynamic.optim.SGD([w, b], lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            x, y = dynamic.tensor(dist.share(X)), dynamic.tensor(dist.share(Y))
            ((x @ w + b - y) ** 2).mean().backward()
            dist.average_gradients([w, b, unused])
            opt.step()
        return w.detach().numpy().copy(), float(b)

    w, b = run()
    for other, other_b in dist.simulate(run, 2):
        assert_allclose(other, w, rtol=1e-12)
        assert_allclose(other_b, b, rtol=1e-6)


def test_a_rank_with_nan_makes_the_loss_nan_on_all() -> None:
    def run() -> float:
        x = sg.placeholder("x", (None,), "float64")
        w = sg.variable(np.array(1.0), "w")
        loss = dist.mean(sg.sum(x * w))
        train = sg.compile([x], loss, updates={w: w - sg.grad(loss, w)}, lint="off")
        train(np.array([np.nan if dist.rank == 1 else 1.0]))
        dist.check_same(train)
        return float(w.value)

    assert np.isnan(dist.simulate(run, 2)).all()


def _on_rank_1(change: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        train, _ = _train()
        train(dist.share(X), dist.share(Y))
        if dist.rank == 1:
            change()
        return train(dist.share(X), dist.share(Y))

    return run


OUT_OF_STEP = {
    "an eager call": (
        _on_rank_1(lambda: dist.sum(np.ones(3))),
        r"out of step \(seen by rank \d\): rank 0: train; rank 1: a call of all_reduce \(sum, root "
        r"0\) of float64\[3\]",
    ),
    "a barrier": (
        _on_rank_1(dist.barrier), "rank 0: train; rank 1: a barrier"
    ),
    "another op": (
        lambda: sg.compile([], dist.sum((sg.sin if dist.rank else sg.cos)(sg.variable(1.0))))(),
        r"different programs \(seen by rank \d\): rank 0 has 1: cos\(0\) float32\[\]; rank 1 "
        r"has 1: sin\(0\) float32\[\]",
    ),
    "another number": (
        lambda: _train(0.5 + dist.rank)[0](X, Y),
        r"train: the ranks have .* rank 0 has \d+: constant\(\) value=0.5 float64\[\]; rank 1 "
        r"has .* value=1.5 float64",
    ),
    "another dtype": (
        lambda: sg.compile([], dist.sum(sg.variable(1, dtype=f"int{32 * (1 + dist.rank)}")))(),
        r"rank 0 has 0: variable\(\) int32\[\]; rank 1 has 0: variable\(\) int64\[\]",
    ),
    "another length": (
        lambda: sg.compile([x := sg.placeholder("x", (None,))], dist.sum(x), name="f")(
            np.ones(2 + dist.rank, "float32")
        ),
        "rank 0: f, of sizes 2; rank 1: f, of sizes 3",
    ),
    "more nodes": (
        lambda: sg.compile(
            [], dist.sum(sg.exp(sg.variable(1.0)) if dist.rank else sg.variable(1.0) * 1.0)
        )(),
        "different programs",
    ),
    "the end": (
        lambda: dist.rank or dist.barrier(), "rank 0: a barrier; rank 1: the end of its program"
    ),
    "more parameters": (
        lambda: dist.check_same(*[sg.variable(1.0) for _ in range(1 + dist.rank)]),
        r"check_same: the ranks have \[1, 2\] variables, not as many each",
    ),
    "other values": (
        lambda: dist.check_same(sg.variable(dist.rank * 1.0, "w")),
        "check_same: variable 'w' has other values on rank 1 than on rank 0: synchronise",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", OUT_OF_STEP)
def test_ranks_that_do_different_things_are_told_so_at_once(name: str) -> None:
    run, message = OUT_OF_STEP[name]
    seen = []

    def guarded() -> None:
        try:
            run()
            seen.append(current().close())
        except sg.DistributedError as error:
            seen.append(str(error))

    if "parameters" in name or "values" in name:  # after which all goes on
        dist.simulate(guarded, 2)
    else:
        with pytest.raises(sg.DistributedError, match=message):
            dist.simulate(guarded, 2)
    assert len(seen) == 2
    for said in seen:
        assert re.search(message, said)


def test_after_an_error_nothing_is_combined() -> None:
    def run() -> list[str]:
        said = []
        for _ in range(2):
            try:
                dist.sum(np.ones(1 + dist.rank))
            except sg.DistributedError as error:
                said.append(str(error))
        return said

    with pytest.raises(sg.DistributedError, match="out of step"):
        dist.simulate(run, 2)
    ranks = Ranks(Meeting(2).transport(0))
    ranks.broken = "a reason"
    with within(ranks), pytest.raises(sg.DistributedError, match="nothing is combined: a reason"):
        dist.barrier()
    assert ranks.close() == "a reason"


def test_an_error_of_one_rank_ends_the_others() -> None:
    def run() -> None:
        if dist.rank == 1:
            raise ValueError("bad row")
        dist.barrier()

    with pytest.raises((ValueError, sg.DistributedError), match="bad row"):
        dist.simulate(run, 2)


def test_a_call_that_an_error_ended_leaves_the_rank_out_of_step() -> None:
    ranks = Ranks(Meeting(2).transport(0))
    ranks.announce(Plan("f", 1, collectives=2))
    message = "rank 0: an error ended the last call before its collectives were done, .* before g:"
    with pytest.raises(sg.DistributedError, match=message):
        ranks.announce(Plan("g", 1))


def test_a_rank_that_does_not_come_is_an_error_in_time() -> None:
    ranks = Ranks(Meeting(2).transport(0), timeout=0.01)
    message = r"rank 0 of 2 has waited 0.01 s to begin a barrier: another rank has not come"
    with within(ranks), pytest.raises(sg.DistributedError, match=message):
        dist.barrier()


def test_waiting_is_interrupted(heeds_ctrl_c: None) -> None:
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with within(Ranks(Meeting(2).transport(0))) as ranks, pytest.raises(KeyboardInterrupt):
        dist.barrier()
    assert ranks.broken.startswith("KeyboardInterrupt while rank 0 waited to begin a barrier")


def test_one_thread_of_a_rank_has_all_its_collectives() -> None:
    ranks = Ranks(Meeting(2).transport(0))
    ranks.check_usable()
    said: list[str] = []

    def other() -> None:
        try:
            ranks.check_usable()
        except sg.DistributedError as error:
            said.append(str(error))

    thread = threading.Thread(target=other, name="loader")
    thread.start()
    thread.join()
    assert "collectives come from thread 'MainThread', and now from 'loader'" in said[0]


def test_a_forked_child_is_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = Ranks(Meeting(2).transport(1))
    monkeypatch.setattr(os, "getpid", lambda: ranks.process + 1)
    with pytest.raises(sg.DistributedError, match="was forked from rank 1 and is no rank"):
        ranks.check_usable()
    assert ranks.close() == ""


def test_a_collective_ends_once() -> None:
    ranks = Ranks(Meeting(2).transport(0))
    with pytest.raises(sg.DistributedError, match="rank 0: collective 5 has not begun"):
        ranks.finish(5, Job("all_reduce"), np.ones(1))


def test_threads_that_begin_different_collectives_are_told_so() -> None:
    meeting = Meeting(2)
    given = np.ones(1)
    meeting.transport(0).start(Job("all_reduce"), given, given)
    with pytest.raises(sg.DistributedError, match="the ranks have begun different collectives"):
        meeting.transport(1).start(Job("broadcast"), given, given)


def test_a_plan_without_lines_is_told_by_its_length() -> None:
    """What was loaded from a file has no lines to show."""

    def run() -> None:
        lines = ["a"] * dist.rank
        current().announce(Plan("f", dist.rank, lines=lambda: lines))
        current().agree()

    message = "that of rank 0 has 0 nodes, that of rank 1 1"
    with pytest.raises(sg.DistributedError, match=message):
        dist.simulate(run, 2)


def test_an_executable_is_for_as_many_ranks_as_it_was_compiled_for(tmp_path: Path) -> None:
    path = tmp_path / "train.sg"
    train, _ = _train()
    train(X, Y)
    train.save(path)
    again = sg.load(path)
    assert again(X, Y) == train(X, Y)

    def run() -> Any:
        loaded = sg.load(path)
        with pytest.raises(sg.DistributedError, match="compiled for 1 rank, and there are 2"):
            loaded(X, Y)
        ours, _ = _train()
        for name, one in loaded.variables.items():
            ours.variables[name].value = one.value
        return float(ours(dist.share(X), dist.share(Y)))

    for name, one in sg.load(path).variables.items():
        train.variables[name].value = one.value
    assert_allclose(dist.simulate(run, 2), float(train(X, Y)), rtol=1e-12)


def test_rank_0_writes_and_all_hear_of_it(tmp_path: Path) -> None:
    path = tmp_path / "train.sg"

    def run() -> bool:
        train, _ = _train()
        train(dist.share(X), dist.share(Y))
        dist.save(train, path)
        return path.exists()

    assert dist.simulate(run, 2) == [True, True]
    assert sorted(sg.load(path).variables) == sorted(_train()[0].variables)

    def failing() -> None:
        kind, message = (
            (sg.DistributedError, "rank 0 could not write '.*nowhere.*': FileNotFoundError")
            if dist.rank
            else (FileNotFoundError, "nowhere")
        )
        with pytest.raises(kind, match=message):
            dist.save(_train()[0], tmp_path / "nowhere" / "train.sg")

    dist.simulate(failing, 2)


def test_variables_are_synchronised() -> None:
    def run() -> Any:
        w, v = sg.variable(np.full(2, dist.rank * 1.0)), sg.variable(dist.rank)
        f = sg.compile([], w + 1)
        dist.synchronise(f, v, root=1)
        dist.check_same(w, v)
        return w.value, v.value

    for w, v in dist.simulate(run, 3):
        assert_array_equal(w, [1, 1])
        assert v == 1
    with pytest.raises(sg.OptionError, match="synchronise: 3 is no variable and no executable"):
        dist.synchronise(3)  # type: ignore[arg-type]
