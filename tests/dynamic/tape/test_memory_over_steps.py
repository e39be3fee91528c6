"""Training keeps memory flat: the code of benchmarks/eager_memory.py, for fewer steps."""

from __future__ import annotations

import gc
import sys

import pytest

from benchmarks import eager_memory
from benchmarks.eager_memory import Sample, growth, main, run, training

pytestmark = pytest.mark.slow

WARM, STEPS = 2100, 500
"""Bounded caches fill in WARM steps, and a list of 2000 free tuples is used up by what takes one in
each step and gives it back with another length, as a tuple made of a generator does."""


def _fill_free_lists() -> None:
    """CPython keeps 2000 free tuples of each length up to 20, which steps fill slowly."""
    for length in range(1, 21):
        kept = [tuple([None] * length) for _ in range(2000)]
        del kept


def test_training_steps_leave_nothing_behind():
    step = training()
    gc.collect()
    gc.disable()
    try:
        _fill_free_lists()
        for _ in range(WARM):
            step()
        changes = []
        for _ in range(2):  # what stays does so each time; a free list of CPython fills up once
            gc.collect(1)  # not all, which empties the free lists
            blocks, objects = sys.getallocatedblocks(), len(gc.get_objects())
            for _ in range(STEPS):
                step()
            changes.append(abs(sys.getallocatedblocks() - blocks))
            if changes[-1] < STEPS / 10:
                break
        # less than one block in ten steps; a tensor or a node that stays is at least one a step
        assert min(changes) < STEPS / 10
        # the young alone: what other tests left in bounded caches is thrown out meanwhile, and old
        assert gc.collect(1) < STEPS / 100
        assert len(gc.get_objects()) - objects < STEPS / 100
    finally:
        gc.enable()


def test_what_stays_is_noticed(monkeypatch):
    kept = []
    monkeypatch.setattr(eager_memory, "training", lambda: lambda: kept.append([0.0]))
    samples = list(run(3000, 300))
    _, blocks, objects = growth(samples)
    assert blocks >= 1 and objects >= 1


def test_growth_is_counted_from_the_first_tenth_on():
    samples = [Sample(1, 0, 0, 0, 0.0), Sample(10, 50, 5, 2, 0.1), Sample(100, 140, 5, 11, 1.0)]
    assert growth(samples) == (1.0, 0.0, 0.1)


def test_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["eager_memory.py", "--steps", "40"])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] == "step" and lines[-2].split()[0] == "40"
    assert lines[-1].startswith("growth per step after a tenth of them: ")


def test_ctrl_c_keeps_what_was_measured(monkeypatch, capsys):
    def interrupted(steps, every):
        yield from run(2, 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(eager_memory, "run", interrupted)
    monkeypatch.setattr(sys, "argv", ["eager_memory.py"])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == "stopped" and lines[-1].startswith("growth per step")


@pytest.fixture(autouse=True)
def collector_on():
    yield
    assert gc.isenabled()
