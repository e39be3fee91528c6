"""Threads that share the steps of optimizers: each part is computed once, and errors come back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic as torch
from staticgraph.dynamic.kernels import parallel


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_each_block_runs_once():
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        seen: list[int] = []
        parallel.run(seen.append, 100)
        assert sorted(seen) == list(range(100))
    parallel.run(seen.append, 0)
    assert len(seen) == 100


def test_the_error_of_a_block_is_raised_and_the_threads_live_on():
    torch.set_num_threads(3)

    def task(i: int) -> None:
        if i == 7:
            raise ValueError("block 7")

    for _ in range(5):
        with pytest.raises(ValueError, match="block 7"):
            parallel.run(task, 20)
    test_each_block_runs_once()


def test_a_block_may_run_blocks():
    torch.set_num_threads(2)
    seen: list[int] = []
    parallel.run(lambda i: parallel.run(seen.append, 10), 10)
    assert len(seen) == 100


def test_steps_do_not_depend_on_the_number_of_threads():
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        values = np.random.default_rng(0).standard_normal((2, 300_000))
        p = torch.from_numpy(values[0]).requires_grad_(True)
        p.grad = torch.from_numpy(values[1])
        torch.optim.Adam([p]).step()
        found.append(p.detach().numpy())
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_numpys_error_state_is_that_of_the_caller():
    torch.set_num_threads(2)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        parallel.run(lambda i: np.log(np.zeros(1000)), 10)


FORKED = """
import os, numpy as np, dynamic as torch
torch.set_num_threads(2)
p = torch.ones(1_000_000).requires_grad_(True)
p.grad = torch.ones(1_000_000)
step = torch.optim.Adam([p]).step
step()
child = os.fork()
step()
if not child:
    os._exit(0)
raise SystemExit(os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
def test_a_forked_child_starts_threads_of_its_own():
    command = [sys.executable, "-W", "error", "-c", FORKED]
    result = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
