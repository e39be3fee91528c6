"""Processes that mpiexec starts, and what is said where it cannot be so."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import staticgraph as sg
from staticgraph.compiler.core.errors import MissingExtraError
from staticgraph.compiler.reference.ranks import Job
from staticgraph.distributed.launch import SIZES, Child, ranks_started
from staticgraph.distributed.mpi import mpi_of
from tests.paths import ROOT

EVERYTHING = """
import numpy as np, os, subprocess, sys, threading
import dynamic, staticgraph as sg, staticgraph.distributed as dist

own = np.arange(6.0).reshape(2, 3) + 10 * dist.rank
rows = np.stack([own % 10, own % 10 + 10])
x = sg.placeholder("x", (2, None), "float64")
ops = [dist.sum, dist.mean, dist.max, dist.min, lambda x: dist.broadcast(x, 1), dist.reduce,
       dist.all_gather, dist.reduce_scatter]
wanted = [rows.sum(0), rows.mean(0), rows[1], rows[0], rows[1], rows.sum(0) * (dist.rank == 0),
          rows, rows.sum(0)[dist.rank]]
for op, value in zip(ops, wanted):
    made = sg.compile([x], op(x)), sg.compile([x], op(x), debug=True), op, sg.function(op)
    for f in made:
        np.testing.assert_array_equal(f(own), value)
        assert np.array_equal(f(own[:, :0]), value[..., :0]), op
for dtype in ("bool", "float16", "uint8", "int64"):
    moved = dist.all_gather(np.array([dist.rank, 1]).astype(dtype))
    np.testing.assert_array_equal(moved, np.array([[0, 1], [1, 1]], dtype))

loss = dist.mean(sg.sum(sg.log(x)))
f = sg.compile([x], loss, on_nonfinite="raise", lint="off")
try:
    f(-own - 1)
except sg.NonFiniteError as error:
    assert "log" in str(error)

net = dynamic.nn.Linear(3, 1, dtype=dynamic.float64)
opt = dynamic.optim.SGD(net.parameters(), lr=0.01)

@sg.function
def step(x):
    opt.zero_grad()
    loss = (net(x) ** 2).mean()
    loss.backward()
    dist.average_gradients(net.parameters())
    opt.step()
    return dist.mean(loss)

for parameter in net.parameters():
    parameter.data.copy_(dist.broadcast(parameter.data))
for _ in range(3):
    step(dynamic.tensor(own))
weights = dist.all_gather(net.weight.data.numpy())
assert (weights[0] == weights[1]).all()

child = os.fork()
if child == 0:
    try:
        dist.barrier()
    except sg.DistributedError as error:
        os._exit("was forked from rank" not in str(error))
assert os.waitpid(child, 0)[1] == 0
program = "import staticgraph.distributed as dist; print(dist.rank, dist.size); dist.barrier()"
done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
assert done.stdout.split() == [str(dist.rank), "2"], done
assert "was started by rank" in done.stderr, done.stderr
print(f"rank {dist.rank} is done")
"""

TRAIN = """
import os, signal, sys
import numpy as np, staticgraph as sg, staticgraph.distributed as dist
x = sg.placeholder("x", (None, 3), "float64")
w = sg.variable(np.ones(3), "w")
loss = dist.mean(sg.mean((x @ w) ** 2))
train = sg.compile([x], loss, updates=sg.optim.SGD(lr=0.1).minimize(loss), name="train")
mode, path = sys.argv[1:]
dist.set_timeout(20)
for i in range(4):
    train(np.ones((2, 3)))
    if i < 2:
        dist.save(train, path)
    if i == 2 and dist.rank == 1:
        if mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if mode == "raise":
            raise ValueError("bad row")
        if mode == "leave":
            sys.exit()
    if i == 2 and dist.rank == 0 and mode == "save":
        os.replace = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
        train.save(path)
print("done", flush=True)
"""


def _run(command: list[str], variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, env=variables, timeout=120
    )


def _mpiexec(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    mpiexec = Path(sys.executable).with_name("mpiexec")
    command = [str(mpiexec), "-n", "2", sys.executable, "-c", program, *arguments]
    return _run(command, os.environ)


@pytest.mark.slow
def test_ranks_combine_over_mpi() -> None:
    """All collectives in all ways, on no columns too; replays; children that are no ranks."""
    done = _mpiexec(EVERYTHING)
    assert done.returncode == 0, done.stderr
    assert "rank 0 is done" in done.stdout
    assert "rank 1 is done" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("kill", "EXIT CODE: 9"),
        pytest.param("save", "EXIT CODE: 9", marks=pytest.mark.long),
        pytest.param(
            "raise", "ValueError: bad row\nstaticgraph: rank 1 of 2 has ended with ValueError",
            marks=pytest.mark.long,
        ),
        ("leave", "out of step (seen by rank 1): rank 0: train; rank 1: the end of its program"),
    ],
)  # fmt: skip
def test_a_rank_that_ends_ends_all_and_leaves_the_last_file_whole(
    mode: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.sg"
    done = _mpiexec(TRAIN, mode, str(path))
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
    assert "done" not in done.stdout
    (w,) = [one for name, one in sg.load(path).variables.items() if name == "w"]
    assert w.value[0] == pytest.approx((1 - 0.1 * 6) ** 2)  # after two steps: d/dw (3 w)**2 = 6 sum


def test_a_script_knows_how_many_were_started() -> None:
    assert ranks_started({}) == 1
    assert [ranks_started({name: "4"}) for name in SIZES] == [4] * len(SIZES)
    assert ranks_started({"PMI_SIZE": "1", "SLURM_STEP_NUM_TASKS": "x"}) == 1
    with pytest.raises(sg.DistributedError, match="all_reduce: this process was started"):
        Child(1, 2).start(Job("all_reduce"), None, None)  # type: ignore[arg-type]


def test_a_rank_without_mpi_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    message = r"one of 4 ranks, which needs mpi4py .* pip install 'staticgraph\[mpi\]'"
    with pytest.raises(MissingExtraError, match=message):
        mpi_of(4)


def test_a_launcher_of_another_mpi_is_told() -> None:
    """Started as one of 3, and alone for MPI: in a process of its own, since MPI begins once."""
    variables = {**os.environ, "OMPI_COMM_WORLD_SIZE": "3"}
    done = _run([sys.executable, "-c", "import staticgraph.distributed"], variables)
    assert "as one of 3 ranks, but mpi4py's library (MPICH" in done.stderr
    assert "sees 1: start it with the mpiexec of that library, or under Slurm" in done.stderr


def test_alone_mpi_is_not_imported() -> None:
    program = "import sys, staticgraph.distributed; print('mpi4py' in sys.modules)"
    done = _run([sys.executable, "-c", program], os.environ)
    assert done.stdout == "False\n"
    assert importlib.util.find_spec("mpi4py") is not None  # of the extra `test`
