"""How much memory a call really takes: run as a process of its own by `test_peak_memory`.

    python -m tests.peak_memory WORKLOAD

prints two numbers of bytes: what `plan` says beside the variables, which are there before the call,
and by how much the call raised the peak of the process's resident memory. Linux only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg

Workload = tuple[sg.Executable, int, list[Any]]
rng = np.random.default_rng(0)


def weight(*shape: int) -> sg.Variable:
    return sg.variable((rng.normal(size=shape) / shape[-1] ** 0.5).astype("f4"))


def mlp() -> Workload:
    """A training step with momentum."""
    x, y = sg.placeholder("x", ("n", 256)), sg.placeholder("y", ("n",), "int64")
    h: Any = x
    for inner, outer in ((256, 1024), (1024, 512), (512, 256)):
        h = sg.relu(h @ weight(inner, outer) + weight(outer))
    loss = sg.cross_entropy(h @ weight(256, 10), y)
    step = sg.compile([x, y], loss, sg.optim.SGD(lr=0.1, momentum=0.9).minimize(loss))
    return step, 12000, [np.ones((12000, 256), "f4"), np.zeros(12000, "i8")]


def convolutions() -> Workload:
    """A training step of two convolutions with pooling."""
    x, y = sg.placeholder("x", ("n", 3, 32, 32)), sg.placeholder("y", ("n",), "int64")
    h: Any = x
    for inner, outer in ((3, 16), (16, 32)):
        h = sg.max_pool2d(sg.relu(sg.conv2d(h, weight(outer, inner, 3, 3), padding=1)), 2)
    loss = sg.cross_entropy(h.reshape(-1, 2048) @ weight(2048, 10), y)
    step = sg.compile([x, y], loss, sg.optim.SGD(lr=0.1).minimize(loss))
    return step, 400, [np.ones((400, 3, 32, 32), "f4"), np.zeros(400, "i8")]


def norms() -> Workload:
    """Softmax of a layer norm, and its gradient: the outputs are all that there is."""
    x, t = sg.placeholder("x", ("n", 2048)), sg.placeholder("t", ("n", 2048))
    p = sg.softmax(sg.layer_norm(x, 2048))
    run = sg.compile([x, t], [p, sg.grad(sg.sum(p * t), x)])
    return run, 8192, [np.ones((8192, 2048), "f4"), np.ones((8192, 2048), "f4")]


def elementwise() -> Workload:
    """A chain of functions of two arrays, and its gradients."""
    x, y = sg.placeholder("x", ("n",), "float64"), sg.placeholder("y", ("n",), "float64")
    z = sg.tanh(x * y) + sg.sin(x)
    run = sg.compile([x, y], [z, *sg.grad(sg.sum(z * z), [x, y])])
    return run, 6_000_000, [np.ones(6_000_000), np.ones(6_000_000)]


def attention() -> Workload:
    """Attention with its gradients, in a checkpointed region."""
    width, heads = 256, 8
    x = sg.placeholder("x", ("n", 128, width))
    ws = [weight(width, width) for _ in range(4)]

    def split(a: Any) -> Any:
        return sg.transpose(a.reshape(-1, 128, heads, width // heads), (0, 2, 1, 3))

    def attend(x: Any) -> Any:
        q, k, v = (split(x @ w) for w in ws[:3])
        p = sg.softmax(q @ sg.swapaxes(k, -1, -2) * 0.2)
        return sg.transpose(p @ v, (0, 2, 1, 3)).reshape(-1, 128, width) @ ws[3] + x

    loss = sg.mean(sg.square(sg.checkpoint(attend, sg.checkpoint(attend, x))))
    run = sg.compile([x], [loss, *sg.grad(loss, [x, *ws])])
    return run, 80, [rng.normal(size=(80, 128, width)).astype("f4")]


WORKLOADS: dict[str, Callable[[], Workload]] = {
    one.__name__: one for one in (mlp, convolutions, norms, elementwise, attention)
}


def resident(field: str) -> int:
    """VmRSS, the resident memory of this process, or VmHWM, its peak: in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def forget_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def measure(build: Callable[[], Workload]) -> tuple[int, int]:
    """The planned and the used bytes of a call of the second of two equal executables.

    The first has the BLAS make its workspaces, which are not planned; its arena goes with it.
    """
    first, _, arrays = build()
    first(*arrays)
    del first
    run, n, arrays = build()
    there = sum(
        slot.bytes({}) for slot in run.plan.memory.slots if slot.kind in ("variable", "constant")
    )
    forget_peak()
    before = resident("VmRSS")
    results = run(*arrays)
    used = resident("VmHWM") - before
    del results
    return run.plan.peak_bytes(n=n) - there, used


if __name__ == "__main__":
    print(*measure(WORKLOADS[sys.argv[1]]))
