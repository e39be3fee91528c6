"""Train with the eager engine for many steps, and show that memory stays flat.

    python benchmarks/eager_memory.py --steps 100000

prints, as it goes, the steps done, the process's resident memory, the blocks that Python's
allocator has given out and the objects that its collector tracks; ctrl-C ends it early and keeps
what was measured. The collector is off, so a reference cycle per step would show. The last line
is the growth per step over the last nine tenths: the first steps fill bounded caches, among them
CPython's own lists of free tuples (2000 of each length).
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dynamic as torch


@dataclass(frozen=True)
class Sample:
    """After `step` steps: resident bytes, allocated blocks, tracked objects, seconds."""

    step: int
    resident: int
    blocks: int
    objects: int
    seconds: float


class Classifier(torch.nn.Module):  # type: ignore[misc] # torch is not installed here
    """Layers of several kinds: normalisation, dropout, views, slices, in-place ops, a hook."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(16, 32)
        self.norm = torch.nn.LayerNorm(32)
        self.drop = torch.nn.Dropout(0.1)
        self.cell = torch.nn.GRUCell(16, 16)
        self.last = torch.nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        hidden = torch.relu(self.norm(self.first(x)))
        hidden = self.drop(hidden).reshape(-1, 2, 16)
        state = torch.zeros(hidden.shape[0], 16)
        for part in hidden.unbind(1):
            state = self.cell(part, state)
        state.mul_(0.5)
        state[:, :4] += 1.0
        state.register_hook(lambda g: g * 2)
        return self.last(state)


def training() -> Callable[[], float]:
    """A function that does one training step and returns the loss."""
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1000, 0.99)
    x = torch.randn(8, 16)
    y = torch.from_numpy(np.arange(8) % 4)

    def step() -> float:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        (slope,) = torch.autograd.grad(loss, [model.last.weight], create_graph=True)
        (loss + 1e-3 * (slope * slope).sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        return float(loss.item())

    return step


def resident_bytes() -> int:
    """The resident memory of this process; its peak where the system has no /proc."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measured(step: int, seconds: float) -> Sample:
    """What memory is in use now."""
    return Sample(step, resident_bytes(), sys.getallocatedblocks(), len(gc.get_objects()), seconds)


def run(steps: int, every: int) -> Iterator[Sample]:
    """Train with the collector off; a sample after the first step and after each `every` steps."""
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    try:
        step = training()
        for number in range(1, steps + 1):
            step()
            if number % every == 0 or number in (1, steps):
                seconds = time.perf_counter() - start
                yield measured(number, seconds)
    finally:
        gc.enable()


def growth(samples: list[Sample]) -> tuple[float, float, float]:
    """Bytes, blocks and objects per step, from the first tenth of the steps to the last sample."""
    last = samples[-1]
    early = next(one for one in samples if one.step >= last.step / 10)
    steps = max(1, last.step - early.step)
    return (
        (last.resident - early.resident) / steps,
        (last.blocks - early.blocks) / steps,
        (last.objects - early.objects) / steps,
    )


def main() -> None:
    """Print the samples as they come, then the growth."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=100_000)
    steps = parser.parse_args().steps
    samples: list[Sample] = []
    print(f"{'step':>8} {'resident MB':>12} {'blocks':>9} {'objects':>9} {'µs a step':>10}")
    try:
        for sample in run(steps, max(1, steps // 20)):
            samples.append(sample)
            megabytes, mean = sample.resident / 1e6, sample.seconds / sample.step * 1e6
            counts = f"{sample.blocks:9d} {sample.objects:9d}"
            print(f"{sample.step:8d} {megabytes:12.2f} {counts} {mean:10.0f}", flush=True)
    except KeyboardInterrupt:
        print("stopped")
    if len(samples) > 1:
        size, blocks, objects = growth(samples)
        print(
            f"growth per step after a tenth of them: {size:.3f} bytes resident, {blocks:.5f} "
            f"blocks, {objects:.5f} objects"
        )


if __name__ == "__main__":
    main()
