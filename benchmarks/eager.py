"""The eager engine against PyTorch's: small and large ops, layers and training steps.

    python benchmarks/eager.py --torch PATH/TO/PYTHON [WORKLOAD ...] [--rounds 7] [--seconds 0.2]

Both run the same code, `import dynamic as torch` or `import torch`. PyTorch lives in an
environment of its own, whose interpreter `--torch` names, and runs with one and with two threads.
Every contender has a process of its own; for each workload they are measured in turn, so that
noise hits all. Printed are the median of the rounds' medians and the minimum, and both as ratios
to PyTorch's better number of threads, with the limit that the project sets itself.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

Step = Callable[[], Any]
SMALL_LIMIT, LARGE_LIMIT = 0.7, 1.1


def tensor(torch: Any, *shape: int, scale: float = 1.0, grad: bool = True, seed: int = 0) -> Any:
    """A float32 tensor of normal values, the same for every contender."""
    import numpy as np

    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    made = torch.from_numpy(values * np.float32(scale))
    return made.requires_grad_(True) if grad else made


def single_ops(torch: Any) -> dict[str, Step]:
    """One op on 8 elements, without and with gradient (not run backwards)."""
    workloads: dict[str, Step] = {}
    for grad in (False, True):
        a = tensor(torch, 8, grad=grad)
        b = tensor(torch, 8, grad=grad, seed=1)
        m, n = tensor(torch, 2, 4, grad=grad), tensor(torch, 4, 2, grad=grad)
        ops: dict[str, Step] = {
            "a + b": lambda a=a, b=b: a + b,
            "a * 2.0": lambda a=a: a * 2.0,
            "tanh(a)": lambda a=a: torch.tanh(a),
            "a.sum()": lambda a=a: a.sum(),
            "a.mean(0)": lambda a=a: a.mean(0),
            "a[2]": lambda a=a: a[2],
            "a.reshape(2, 4)": lambda a=a: a.reshape(2, 4),
            "m @ n": lambda m=m, n=n: m @ n,
            "softmax(m, -1)": lambda m=m: torch.softmax(m, -1),
        }
        for name, step in ops.items():
            workloads[f"{name}, grad" if grad else name] = step
    return workloads


def small_graphs(torch: Any) -> dict[str, Step]:
    """A graph of a few ops on 8 elements, forward and backward."""
    c, d = tensor(torch, 8), tensor(torch, 8, seed=1)
    x = torch.tensor(4.0, requires_grad=True)
    y = torch.tensor(3.14159265, requires_grad=True)

    def product() -> Any:
        loss = (c * d).sum()
        loss.backward()
        c.grad = d.grad = None
        return loss

    def seed() -> Any:
        z = x * x + torch.sin(2 * y)
        z.backward()
        x.grad = y.grad = None
        return z

    return {"(c * d).sum().backward()": product, "x*x + sin(2y), backward": seed}


def mlp(torch: Any, batch: int, *widths: int, optimizer: bool = False) -> Step:
    """A training step: relu layers, cross entropy, SGD by hand or by optim.SGD."""
    import numpy as np

    x = tensor(torch, batch, widths[0], grad=False)
    labels = torch.from_numpy(np.random.default_rng(1).integers(0, widths[-1], batch))
    layers = [
        (tensor(torch, m, n, scale=0.1), tensor(torch, n, scale=0.1))
        for m, n in itertools.pairwise(widths)
    ]
    parameters = [parameter for layer in layers for parameter in layer]
    sgd = torch.optim.SGD(parameters, lr=0.001)

    def step() -> Any:
        h = x
        for w, b in layers[:-1]:
            h = torch.relu(h @ w + b)
        w, b = layers[-1]
        loss = torch.nn.functional.cross_entropy(h @ w + b, labels)
        loss.backward()
        if optimizer:
            sgd.step()
            sgd.zero_grad()
            return loss
        with torch.no_grad():
            for p in parameters:
                p -= 0.001 * p.grad
                p.grad = None
        return loss

    return step


def large_graphs(torch: Any) -> dict[str, Step]:
    """Large arrays: a million elements, and rows of 1024."""
    x = tensor(torch, 1_000_000)
    rows, weight, bias = tensor(torch, 4096, 1024), torch.ones(1024), torch.zeros(1024)
    weight.requires_grad_(True)
    bias.requires_grad_(True)

    def elementwise() -> Any:
        loss = (torch.tanh(x) * torch.exp(-x * x) + torch.log1p(x * x)).sum()
        loss.backward()
        x.grad = None
        return loss

    def normalised() -> Any:
        h = torch.nn.functional.layer_norm(rows, (1024,), weight, bias)
        loss = (torch.softmax(h, -1) ** 2).sum()
        loss.backward()
        rows.grad = weight.grad = bias.grad = None
        return loss

    return {"elementwise 1e6": elementwise, "layer norm + softmax": normalised}


def large_layers(torch: Any) -> dict[str, Step]:
    """Activations, batch normalisation and recurrent layers on large arrays, with gradients."""
    functional, nn = torch.nn.functional, torch.nn
    x, images = tensor(torch, 4096, 1024), tensor(torch, 64, 64, 32, 32)
    scale, shift = torch.ones(64).requires_grad_(True), torch.zeros(64).requires_grad_(True)
    sequence = tensor(torch, 50, 32, 128, grad=False)
    layers = {"LSTM 50x32x128": nn.LSTM(128, 128), "GRU 50x32x128": nn.GRU(128, 128)}

    def activation(function: Callable[[Any], Any]) -> Step:
        def step() -> Any:
            loss = function(x).sum()
            loss.backward()
            x.grad = None
            return loss

        return step

    def batch_norm() -> Any:
        h = functional.batch_norm(images, None, None, scale, shift, True)
        loss = (h * images).sum()
        loss.backward()
        images.grad = scale.grad = shift.grad = None
        return loss

    def recurrent(layer: Any) -> Step:
        for i, parameter in enumerate(layer.parameters()):
            parameter.data.copy_(tensor(torch, *parameter.shape, scale=0.1, grad=False, seed=i))

        def step() -> Any:
            loss = (layer(sequence)[0] ** 2).sum()
            loss.backward()
            layer.zero_grad()
            return loss

        return step

    return {
        "gelu 4e6": activation(functional.gelu),
        "silu 4e6": activation(functional.silu),
        "relu 4e6": activation(torch.relu),
        "batch norm 4e6": batch_norm,
        **{name: recurrent(layer) for name, layer in layers.items()},
    }


def convolutions(torch: Any) -> dict[str, Step]:
    """Convolution and pooling, with gradients and some without, and a training step of a CNN."""
    functional = torch.nn.functional
    images = {
        "1x3x8": (1, 3, 8, 8), "32x1x28": (32, 1, 28, 28), "32x16x26": (32, 16, 26, 26),
        "8x64x56": (8, 64, 56, 56),
    }  # fmt: skip

    def forward(layer: Callable[..., Any], *operands: Any) -> Step:
        def step() -> Any:
            with torch.no_grad():
                return layer(*operands)

        return step

    def backward(layer: Callable[..., Any], *operands: Any) -> Step:
        def step() -> Any:
            value = layer(*operands)
            value.backward(value.detach())
            for one in operands:
                one.grad = None
            return value

        return step

    found: dict[str, Step] = {}
    for size, shape in images.items():
        x, filters = tensor(torch, *shape), max(16, shape[1])
        bias = tensor(torch, filters, scale=0.1)
        for k, stride in ((3, 1), (3, 2), (1, 1)):
            weight = tensor(torch, filters, shape[1], k, k, scale=0.1)

            def layer(x: Any, w: Any, b: Any, stride: int = stride) -> Any:
                return functional.conv2d(x, w, b, stride)

            name = f"conv {k}x{k}/{stride} {size}"
            found[f"{name}, grad"] = backward(layer, x, weight, bias)
            if (k, stride) == (3, 1):
                found[name] = forward(layer, x, weight, bias)
        found[f"max pool {size}"] = backward(lambda x: functional.max_pool2d(x, 3, 2, 1), x)
    return found | {"cnn 32x1x28": cnn(torch)}


def cnn(torch: Any) -> Step:
    """A training step: two convolutions with pooling, a linear layer, cross entropy, SGD."""
    import numpy as np

    nn, functional = torch.nn, torch.nn.functional
    x = tensor(torch, 32, 1, 28, 28, grad=False)
    labels = torch.from_numpy(np.random.default_rng(1).integers(0, 10, 32))
    first, second, last = nn.Conv2d(1, 16, 3), nn.Conv2d(16, 32, 3), nn.Linear(800, 10)
    parameters = [p for layer in (first, second, last) for p in layer.parameters()]
    for i, parameter in enumerate(parameters):
        parameter.data.copy_(tensor(torch, *parameter.shape, scale=0.1, grad=False, seed=i))
    sgd = torch.optim.SGD(parameters, lr=0.001)

    def step() -> Any:
        h = functional.max_pool2d(torch.relu(first(x)), 2)
        h = functional.max_pool2d(torch.relu(second(h)), 2)
        loss = functional.cross_entropy(last(h.flatten(1)), labels)
        loss.backward()
        sgd.step()
        sgd.zero_grad()
        return loss

    return step


def workloads(torch: Any) -> dict[str, tuple[Step, float]]:
    """Every workload with the limit of its ratio."""
    small = {
        **single_ops(torch),
        **small_graphs(torch),
        "mlp_small": mlp(torch, 64, 64, 128, 10),
        "mlp_small, optim.SGD": mlp(torch, 64, 64, 128, 10, optimizer=True),
    }
    large = {
        "mlp_large": mlp(torch, 256, 784, 512, 512, 10), **large_graphs(torch),
        **large_layers(torch), **convolutions(torch),
    }  # fmt: skip
    limited = {name: (step, SMALL_LIMIT) for name, step in small.items()}
    return limited | {name: (step, LARGE_LIMIT) for name, step in large.items()}


def measure(step: Step, seconds: float) -> tuple[float, float]:
    """Median and minimum of the time of a step; short steps are timed in batches."""
    start = time.perf_counter()
    step()
    once = time.perf_counter() - start
    count = max(1, min(200, int(2e-4 / max(once, 1e-7))))
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        for _ in range(count):
            step()
        times.append((time.perf_counter() - start) / count)
    return statistics.median(times), min(times)


def serve(contender: str, threads: int) -> None:
    """Set the workloads up, then measure one whenever its name and seconds arrive on a line."""
    if contender == "torch":
        import torch

        torch.set_num_threads(threads)
        steps = workloads(torch)
    else:
        sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        import dynamic

        steps = workloads(dynamic)
    for name, (step, limit) in steps.items():
        value = step()
        print(json.dumps([name, limit, float(value.sum().item())]), flush=True)
    print("null", flush=True)
    for line in sys.stdin:
        name, seconds = json.loads(line)
        print(json.dumps(measure(steps[name][0], seconds)), flush=True)


class Contender:
    """A process that measures workloads on demand."""

    def __init__(self, name: str, interpreter: str, threads: int) -> None:
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        self.label = f"{name}, {threads} thread{'s' * (threads > 1)}"
        self.process = subprocess.Popen(
            [interpreter, __file__, "--serve", name, "--threads", str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.limits: dict[str, float] = {}
        self.values: dict[str, float] = {}
        while (report := self._read()) is not None:
            name, self.limits[name], self.values[name] = report

    def _read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, workload: str, seconds: float) -> tuple[float, float]:
        """Median and minimum of a workload."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([workload, seconds]) + "\n")
        self.process.stdin.flush()
        median, least = self._read()
        return median, least


def race(contenders: Sequence[Contender], wanted: Sequence[str], rounds: int, s: float) -> None:
    """Measure every workload and print a line for it."""
    ours, *others = contenders
    print("µs: median (minimum)".ljust(26) + "".join(f"{c.label:>22}" for c in contenders), end="")
    print(f"{'ratio':>14}{'limit':>7}")
    for name in wanted:
        taken: dict[str, list[tuple[float, float]]] = {c.label: [] for c in contenders}
        for _ in range(rounds):
            for contender in contenders:
                taken[contender.label].append(contender.ask(name, s))
        medians = {label: statistics.median(m for m, _ in pairs) for label, pairs in taken.items()}
        minima = {label: min(least for _, least in pairs) for label, pairs in taken.items()}
        line = name.ljust(26)
        for label in taken:
            line += f"{medians[label] * 1e6:11.2f}({minima[label] * 1e6:9.2f})"
        if others:
            by_median, by_minimum = (
                figures[ours.label] / min(figures[other.label] for other in others)
                for figures in (medians, minima)
            )
            limit = ours.limits[name]
            sign = " " if by_median <= limit else "!"
            line += f"{by_median:6.2f} ({by_minimum:4.2f}){limit:6.1f}{sign}"
        print(line, flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", help="parts of names; all if none is given")
    parser.add_argument("--torch", help="an interpreter whose environment has PyTorch")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.2, help="per contender and round")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=2, help="of dynamic; PyTorch tries 1 and 2")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.threads)
        return
    contenders = [Contender("dynamic", sys.executable, options.threads)]
    if options.torch:
        contenders += [Contender("torch", options.torch, threads) for threads in (1, 2)]
    wanted = [
        name
        for name in contenders[0].limits
        if not options.workloads or any(part in name for part in options.workloads)
    ]
    for other in contenders[1:]:
        for name in wanted:
            mine, theirs = contenders[0].values[name], other.values[name]
            if abs(mine - theirs) > 1e-3 * max(1.0, abs(theirs)):
                raise SystemExit(f"{name}: {mine} and {theirs} differ: not the same computation")
    race(contenders, wanted, options.rounds, options.seconds)
    for contender in contenders:
        contender.process.kill()


if __name__ == "__main__":
    main()
