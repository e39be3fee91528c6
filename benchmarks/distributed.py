"""What training on several ranks costs here, and what a model of it says up to 1,024 ranks.

    python benchmarks/distributed.py [--write docs/distributed.md] [--cores 2]
    python benchmarks/distributed.py --over TCP --mpiexec "mpiexec -hosts 10.0.0.1,10.0.0.2"

In processes that `mpiexec` starts: latency and bandwidth between two ranks (messages to and fro),
times of an all-reduce, and a training step on 1, 2 and 4 ranks. In one process: the same step over
a link that only takes time, with its gradients in one buffer and in several. The measured
parameters go into formulas for the all-reduce by a ring, by recursive doubling and by halving and
doubling, and into a simulation of a step, buffer by buffer. Each rank computes with one thread.

`--mpiexec` is the command that starts ranks, with the hosts of a cluster and its MPI's options;
`--over` names the network, and measures alone: `--write` then writes the part of that name.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

BEGIN, END = "<!-- measured{} -->\n", "<!-- end of measured{} -->\n"
SIZES = (784, 1024, 1024, 10)
BATCH = 256  # rows of all ranks together
STEPS = 60
MESSAGES = (8, 1 << 10, 1 << 16, 1 << 20, 1 << 24)
MIB = 1 << 20
ETHERNET = (30e-6, 8 / 25e9)  # assumed: 25 Gbit/s, 30 us
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Link:
    """Seconds: of a message, of a byte on the way, and to add a byte to another."""

    latency: float
    per_byte: float
    per_sum: float


def ring(ranks: int, count: float, link: Link) -> float:
    """An all-reduce of so many bytes by a ring (Patarasuk and Yuan 2009)."""
    share = (ranks - 1) / ranks * count
    return 2 * (ranks - 1) * link.latency + 2 * share * link.per_byte + share * link.per_sum


def doubling(ranks: int, count: float, link: Link) -> float:
    """By recursive doubling (Thakur, Rabenseifner and Gropp 2005, section 4.1)."""
    rounds = math.ceil(math.log2(ranks))
    return rounds * (link.latency + count * link.per_byte + count * link.per_sum)


def halving(ranks: int, count: float, link: Link) -> float:
    """By recursive halving and doubling: Rabenseifner's (the same, section 4.1)."""
    share = (ranks - 1) / ranks * count
    rounds = 2 * math.ceil(math.log2(ranks))
    return rounds * link.latency + 2 * share * link.per_byte + share * link.per_sum


ALGORITHMS = {"ring": ring, "recursive doubling": doubling, "halving and doubling": halving}


def best(ranks: int, count: float, link: Link) -> float:
    """By whichever takes least."""
    return min(one(ranks, count, link) for one in ALGORITHMS.values())


def simulated(compute: float, buffers: Sequence[float], ranks: int, link: Link) -> float:
    """Seconds of a step: buffers are sent one after the other, when each is complete.

    Two thirds of the step are the reverse pass, which completes buffers in proportion to bytes.
    """
    free, done, total = 0.0, 0.0, sum(buffers)
    for count in buffers:
        done += count
        ready = compute * (1 / 3 + 2 / 3 * done / total)
        free = max(ready, free) + best(ranks, count, link)
    return max(compute, free)


def network(ranks: int) -> tuple[Any, Any, Any, list[int]]:
    """A training step, its data, and the bytes of its gradients from the last layer on."""
    import staticgraph as sg
    import staticgraph.distributed as dist

    sg.set_num_threads(1)
    rng = np.random.default_rng(0)
    x, y = sg.placeholder("x", (None, SIZES[0])), sg.placeholder("y", (None,), "int64")
    h, counts = x, []
    for i, (before, after) in enumerate(itertools.pairwise(SIZES)):
        w = sg.variable(rng.normal(0, 0.03, (before, after)).astype("float32"), f"w{i}")
        h = (sg.relu(h) if i else h) @ w + sg.variable(np.zeros(after, "float32"), f"b{i}")
        counts.append(4 * (before + 1) * after)
    loss = dist.mean(sg.cross_entropy(h, y))
    updates = sg.optim.SGD(lr=0.1, momentum=0.9).minimize(loss)
    train = sg.compile([x, y], loss, updates=updates, name="train")
    images = rng.normal(size=(BATCH * 4, SIZES[0])).astype("float32")
    labels = rng.integers(0, SIZES[-1], BATCH * 4)
    return train, images, labels, counts[::-1]


def role_train(bucket: int, path: str, killed: int) -> dict[str, Any]:
    """Losses, seconds of a step, and bytes, on the ranks that there are."""
    import staticgraph.distributed as dist

    dist.set_bucket_bytes(bucket)
    train, images, labels, counts = network(dist.size)
    losses, times, epoch = [], [], 0
    while len(losses) < STEPS:
        for xb, yb in dist.batches(images, labels, size=BATCH, seed=epoch):
            dist.barrier()
            start = time.perf_counter()
            losses.append(float(train(xb, yb)))
            times.append(time.perf_counter() - start)
            if killed and len(losses) == STEPS // 2:
                dist.save(train, path)
            if killed and len(losses) == STEPS // 2 + 1 and dist.rank == 1:
                Path(path).with_suffix(".time").write_text(str(time.time()))
                os.kill(os.getpid(), signal.SIGKILL)
        epoch += 1
    dist.check_same(train)  # an error unless all ranks have the same bits
    return {
        "losses": losses, "step": statistics.median(times[5:]), "least": min(times),
        "bytes": sum(counts), "buffers": counts,
    }  # fmt: skip


def role_link() -> dict[str, Any]:
    """Seconds of messages to and fro, and of all-reduces."""
    from mpi4py import MPI

    import staticgraph.distributed as dist
    from staticgraph.compiler.reference.ranks import Job, current

    world, transport, ranks = MPI.COMM_WORLD, current().transport, current()
    pings, reduces, job = {}, {}, Job("all_reduce")

    def reduced(there: Any, here: Any) -> None:
        ranks._wait(transport.start(job, there, here), "to measure")

    for count in MESSAGES:
        arrays = np.ones(count // 8), np.ones(count // 8)
        if dist.size == 2:
            pings[count] = _least(partial(_ping, world, *arrays), dist.barrier) / 2
        reduces[count] = _least(partial(reduced, *arrays), dist.barrier)
    added = np.ones(2 * MIB)
    sums = _least(lambda: np.add(added, added, out=added), dist.barrier) / added.nbytes
    return {"pings": pings, "reduces": reduces, "sum": sums}


def _ping(world: Any, there: Any, here: Any) -> None:
    if world.Get_rank() == 0:
        world.Send(there, 1)
        world.Recv(here, 1)
    else:
        world.Recv(here, 0)
        world.Send(there, 0)


def _least(call: Callable[[], object], before: Callable[[], object], count: int = 30) -> float:
    times = []
    for _ in range(count):
        before()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class Mirror:
    """The transport of a rank whose only other one gives the same, over a link that takes time."""

    rank, size, is_crowded = 0, 2, False

    def __init__(self, link: Link) -> None:
        self.link = link
        self.free = 0.0

    def start(self, job: Any, given: Any, result: Any) -> Any:
        """Have the result when the link, which carries one after the other, would have it."""
        now = time.perf_counter()
        self.free = max(now, self.free) + doubling(2, given.nbytes, self.link)
        return _Sent(self.free, lambda: self._combine(job, given, result))

    def _combine(self, job: Any, given: Any, result: Any) -> None:
        result[...] = 2 * given if job.kind in ("sum", "mean") else given


class _Sent:
    def __init__(self, due: float, combine: Callable[[], None]) -> None:
        self.due, self.combine = due, combine

    def test(self) -> bool:
        if time.perf_counter() < self.due:
            return False
        self.combine()
        return True


def role_overlap() -> list[list[float]]:
    """Per link and bucket: seconds of a step, without the link and with it, and of the link."""
    from staticgraph.compiler.reference.ranks import Ranks, within

    none, found = Link(0.0, 0.0, 0.0), []
    for bucket in (1 << 30, 1):
        mirror = Mirror(none)
        with within(Ranks(mirror)) as ranks:
            ranks.bucket_bytes = bucket
            train, images, labels, counts = network(2)
            for per_byte in (1e-9, 2e-9, 4e-9):
                link = Link(20e-6, per_byte, 0.0)
                times: dict[Link, list[float]] = {none: [], link: []}
                for _ in range(25):
                    for mirror.link, taken in times.items():  # in turn
                        start = time.perf_counter()
                        train(images[:BATCH], labels[:BATCH])
                        taken.append(time.perf_counter() - start)
                steps = [statistics.median(taken) for taken in times.values()]
                pieces = counts if bucket == 1 else [sum(counts)]
                alone = sum(doubling(2, one, link) for one in pieces)
                found.append([per_byte, bucket, *steps, alone])
    return found


launcher = [str(Path(sys.executable).with_name("mpiexec"))]
"""The command that starts ranks."""


def ran(role: str, *arguments: object, ranks: int = 1) -> Any:
    """What a role gives on rank 0 of so many, in processes of their own."""
    command = [sys.executable, __file__, "--role", role, *map(str, arguments)]
    if ranks > 1:
        command = [*launcher, "-n", str(ranks), *command]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        return {"status": done.returncode, "said": done.stdout + done.stderr}
    return json.loads(next(one for one in done.stdout.splitlines() if one.startswith(("{", "["))))


def link_rows(found: dict[int, Any]) -> tuple[Link, list[list[str]]]:
    """The parameters that were measured, and a table of them and of the all-reduces."""
    pings = {int(count): value for count, value in found[2]["pings"].items()}
    latency = pings[8]
    link = Link(latency, (pings[1 << 24] - latency) / (1 << 24), found[2]["sum"])
    rows = []
    for count in MESSAGES:
        row = [f"{count:,}", f"{pings[count] * 1e6:,.1f}"]
        for ranks in (2, 4):
            measured = found[ranks]["reduces"][str(count)]
            row += [f"{measured * 1e6:,.1f}", f"{best(ranks, count, link) * 1e6:,.1f}"]
        rows.append(row)
    return link, rows


def train_rows(found: dict[int, Any], link: Link) -> list[list[str]]:
    """A table of training on 1, 2 and 4 ranks."""
    alone, rows = found[1], []
    for ranks, one in found.items():
        apart = max(abs(a / b - 1) for a, b in zip(one["losses"], alone["losses"], strict=True))
        sent = 2 * (ranks - 1) / ranks * one["bytes"]
        rows.append([
            str(ranks), f"{one['losses'][0]:.6f}", f"{one['losses'][-1]:.6f}", f"{apart:.1e}",
            f"{one['step'] * 1e3:.1f}", f"{one['least'] * 1e3:.1f}",
            f"{one['bytes'] / MIB:.1f}", f"{sent / MIB:.1f}",
            f"{best(ranks, one['bytes'], link) * 1e3:.1f}" if ranks > 1 else "0",
        ])  # fmt: skip
    return rows


def overlap_rows(found: list[list[float]]) -> list[list[str]]:
    """A table of steps over links that take time."""
    rows = []
    for per_byte, bucket, without, within, alone in found:
        hidden = 1 - (within - without) / alone
        rows.append([
            f"{1e-9 / per_byte:g} GB/s, {'one buffer' if bucket > 1 else 'a buffer each'}",
            f"{without * 1e3:.1f}", f"{alone * 1e3:.1f}", f"{within * 1e3:.1f}",
            f"{100 * hidden:.0f} %",
        ])  # fmt: skip
    return rows


def scaled_rows(compute: float, buffers: Sequence[float], links: Sequence[Link]) -> list[list[str]]:
    """A table of simulated steps on 1 to 1,024 ranks, each with the rows that one has now."""
    rows = []
    for ranks in RANKS:
        row = [f"{ranks:,}"]
        for link in links:
            for pieces in ([sum(buffers)], list(buffers)):
                step = simulated(compute, pieces, ranks, link) if ranks > 1 else compute
                row += [f"{step * 1e3:.1f}", f"{100 * compute / step:.0f} %"]
        rows.append(row)
    return rows


def algorithm_rows(count: float, link: Link) -> list[list[str]]:
    """A table of the formulas: milliseconds of an all-reduce."""
    return [
        [f"{ranks:,}", *(f"{one(ranks, count, link) * 1e3:.2f}" for one in ALGORITHMS.values())]
        for ranks in RANKS[1:]
    ]


def killed(folder: str) -> str:
    """What became of four ranks of which one was killed."""
    path = Path(folder) / "train.sg"
    ended = ran("train", 16 * MIB, path, 1, ranks=4)
    waited = time.time() - float(path.with_suffix(".time").read_text())
    import staticgraph as sg

    step = len(sg.load(path).variables)  # an error unless the file is whole
    return (
        f"Rank 1 of 4 was killed (SIGKILL) in step {STEPS // 2 + 1}: `mpiexec` had ended all ranks "
        f"{waited:.2f} s later, with status {ended['status']}, and the file that rank 0 had "
        f"written in step {STEPS // 2} loads, with its {step} variables."
    )


@dataclass(frozen=True)
class Measured:
    """What was measured: of the link, and of one rank, with the text that says so."""

    text: str
    link: Link
    compute: float
    buffers: list[float]


def measured(cores: int) -> Measured:
    """Messages, all-reduces and training on the ranks that `launcher` starts."""
    from staticgraph.compare.scripts import markdown

    links = {ranks: ran("link", ranks=ranks) for ranks in (2, 4)}
    trained = {ranks: ran("train", 16 * MIB, "-", 0, ranks=ranks) for ranks in (1, 2, 4)}
    each = {ranks: ran("train", 1, "-", 0, ranks=ranks) for ranks in (2, 4)}
    link, messages = link_rows(links)
    with tempfile.TemporaryDirectory() as folder:
        end = killed(folder)
    parameters = (
        f"Measured between two ranks: {link.latency * 1e6:.1f} µs for a message, "
        f"{1e-9 / link.per_byte:.1f} GB/s; additions {1e-9 / link.per_sum:.1f} GB/s."
    )
    separate = ", ".join(f"{one['step'] * 1e3:.1f} ms on {ranks}" for ranks, one in each.items())
    heads = ["bytes", "message µs", "2 ranks µs", "model", "4 ranks µs", "model"]
    train_heads = [
        "ranks", "first loss", "last loss", "differs by", "step ms", "least ms", "gradients MiB",
        "sent MiB", "model ms",
    ]  # fmt: skip
    text = "\n".join([
        f"{cores} cores; 4 ranks share them, two on each. {parameters}\n",
        markdown(heads, messages),
        f"A network of {SIZES}, {BATCH} rows for all ranks together, {STEPS} steps, gradients in "
        f"one buffer:\n",
        markdown(train_heads, train_rows(trained, link)),
        f"With a buffer for each gradient a step takes {separate} ranks.\n",
        f"{end}\n",
    ])  # fmt: skip
    return Measured(text, link, trained[1]["step"], trained[1]["buffers"])


def modelled(found: Measured) -> str:
    """What is made of the parameters that were measured."""
    from staticgraph.compare.scripts import markdown

    ethernet = Link(*ETHERNET, found.link.per_sum)
    compute, buffers = found.compute, found.buffers
    heads = ["link", "step ms", "link ms", "both ms", "hidden"]
    scaled = ["ranks", *(f"{name} {what}" for name in ("here, one", "here, each", "network, one",
              "network, each") for what in ("ms", "efficiency"))]  # fmt: skip
    return "\n".join([
        "The same step over a link that only takes time, in one process:\n",
        markdown(heads, overlap_rows(ran("overlap"))),
        f"An all-reduce of {sum(buffers) / MIB:.1f} MiB by the formulas, in ms, over a "
        f"network of 25 Gbit/s and {ETHERNET[0] * 1e6:.0f} µs, which is assumed:\n",
        markdown(["ranks", *ALGORITHMS], algorithm_rows(sum(buffers), ethernet)),
        f"Simulated steps, {BATCH} rows on each rank ({compute * 1e3:.1f} ms alone), gradients in "
        "one buffer and in one for each, by the parameters measured here and by those of that "
        "network:\n",
        markdown(scaled, scaled_rows(compute, buffers, [found.link, ethernet])),
    ])  # fmt: skip


ROLES: dict[str, Callable[..., Any]] = {
    "train": lambda bucket, path, killed: role_train(int(bucket), path, int(killed)),
    "link": role_link,
    "overlap": role_overlap,
}


def main() -> None:
    """The command line."""
    if sys.argv[1:2] == ["--role"]:
        import staticgraph.distributed as dist

        found = ROLES[sys.argv[2]](*sys.argv[3:])
        if dist.rank == 0:
            print(json.dumps(found), flush=True)
        return
    from staticgraph.compare.scripts import parser

    given = parser(__doc__)
    given.add_argument("--write", type=Path, help="a page whose measured part is written anew")
    given.add_argument("--cores", type=int, default=os.cpu_count(), help="what the page says")
    given.add_argument("--mpiexec", type=shlex.split, help="the command that starts ranks")
    given.add_argument("--over", default="", help="the network that the ranks of it use")
    options = given.parse_args()
    if options.mpiexec:
        launcher[:] = options.mpiexec
    found = measured(options.cores)
    text = found.text if options.over else f"{found.text}\n{modelled(found)}"
    print(text)
    if options.write:
        over = f" over {options.over}" if options.over else ""
        begin, end = BEGIN.format(over), END.format(over)
        before, _, rest = options.write.read_text().partition(begin)
        options.write.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    main()
