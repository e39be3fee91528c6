"""The eager engine against PyTorch's: small and large ops, layers and training steps.

    python benchmarks/eager.py --torch PATH/TO/PYTHON [WORKLOAD ...] [--rounds 7] [--seconds 0.2]

Both run the same code, `import dynamic as torch` or `import torch`. PyTorch lives in an
environment of its own, whose interpreter `--torch` names, and runs with one and with two threads.
Every contender has a process of its own; for each workload they are measured in turn, so that
noise hits all. Printed are the median of the rounds' medians and the minimum, and both as ratios
to PyTorch's better number of threads, with the limit that the project sets itself.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
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


def contender(name: str, threads: int) -> tuple[Any, dict[str, Step]]:
    """The limit and the value of every workload, and the workloads."""
    if name == "torch":
        import torch

        torch.set_num_threads(threads)
        found = workloads(torch)
    else:
        import dynamic

        found = workloads(dynamic)
    report = {key: [limit, float(step().sum().item())] for key, (step, limit) in found.items()}
    return report, {key: step for key, (step, _) in found.items()}


def main() -> None:
    """The command line."""
    from staticgraph.compare.scripts import Entrant, parser, raced, running, show

    given = parser(__doc__, rounds=7, seconds=0.2)
    given.add_argument("workloads", nargs="*", help="parts of names; all if none is given")
    given.add_argument("--torch", help="an interpreter whose environment has PyTorch")
    given.add_argument("--threads", type=int, default=2, help="of dynamic; PyTorch tries 1 and 2")
    options = given.parse_args()
    tried = [("dynamic", sys.executable, options.threads)]
    if options.torch:
        tried += [("torch", options.torch, threads) for threads in (1, 2)]
    entrants = [
        Entrant(f"{name}, {threads} thread{'s' * (threads > 1)}", [name, threads], python, threads)
        for name, python, threads in tried
    ]
    rows = []
    with running(__file__, entrants) as processes:
        ours, *others = (process.report for process in processes.values())
        wanted = [
            name
            for name in ours
            if not options.workloads or any(part in name for part in options.workloads)
        ]
        for name in wanted:
            for other in others:
                mine, theirs = ours[name][1], other[name][1]
                if abs(mine - theirs) > 1e-3 * max(1.0, abs(theirs)):
                    sys.exit(f"{name}: {mine} and {theirs} differ: not the same computation")
        for name, times in raced(processes, wanted, options.rounds, options.seconds):
            first, *rest = times.values()
            row = [name]
            row += [f"{one.median * 1e6:.2f} ({one.minimum * 1e6:.2f})" for one in times.values()]
            if rest:
                by_median = first.median / min(one.median for one in rest)
                by_minimum = first.minimum / min(one.minimum for one in rest)
                limit = ours[name][0]
                sign = "" if by_median <= limit else "!"
                row += [f"{by_median:.2f} ({by_minimum:.2f})", f"{limit:.1f}{sign}"]
            rows.append(row)
    heads = ["", *(one.label for one in entrants), *(["ratio", "limit"] if options.torch else [])]
    show("µs: medians (minima)", heads, rows)


if __name__ == "__main__":
    main()
