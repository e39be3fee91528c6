"""The broken programs on tensors: PyTorch's, torch.compile, and ours, eager or captured."""

import sys

import numpy as np
from harness import main, tools

KIND = sys.argv[1]
if KIND in ("torch", "torch.compile"):
    import torch
else:
    import dynamic as torch


def fast(function):
    """What runs a function: itself, or what compiles it."""
    if KIND == "torch.compile":
        return torch.compile(function)
    if KIND == "function":
        import staticgraph as sg

        options = {"on_nonfinite": "raise", "lint": "warn"} if tools() else {}
        return sg.function(function, **options)
    return function


torch.autograd.set_detect_anomaly(tools())
if tools() and KIND == "dynamic":
    torch.set_lint("warn")


def nan_from_log():
    x = torch.tensor([[1.0, 2.0], [0.0, 0.0]])
    w = torch.ones(2, requires_grad=True)

    def loss(x, w):
        p = x @ w
        return torch.log(p).mean()  # culprit

    fast(loss)(x, w).backward()
    with torch.no_grad():
        w -= 0.1 * w.grad


def shape_mismatch():
    w = torch.ones(3)

    def loss(x, y):
        h = x @ w
        return (h - y).sum()  # culprit

    run = fast(loss)
    run(torch.ones(5, 3), torch.ones(5))
    run(torch.ones(5, 3), torch.ones(4))


def exploding_loss():
    x, y = torch.ones(4), torch.zeros(4)
    w = torch.ones((), requires_grad=True)

    def loss(x, y, w):
        return ((x * w - y) ** 2).mean()  # culprit

    run = fast(loss)
    for _ in range(60):
        value = run(x, y, w)
        value.backward()
        with torch.no_grad():
            w -= 3.0 * w.grad
            w.grad = None
    print(f"loss {value.item()}")


def softmax_over_batch():
    x, w = torch.randn(8, 4), torch.randn(4, 3)
    y = torch.zeros(8, dtype=torch.int64)

    def loss(x, y):
        p = torch.softmax(x @ w, dim=0)  # culprit
        return -torch.log(p.gather(1, y.reshape(-1, 1))).mean()

    print(f"loss {fast(loss)(x, y).item()}")


def frozen_branch():
    def f(x):
        if x.sum() > 0:  # culprit
            return x * 2
        return x * 3

    run = fast(f)
    return run(torch.ones(2))[0] == 2 and run(-torch.ones(2))[0] == -3


def dead_gradient():
    w = torch.ones(3, requires_grad=True)

    def loss(x):
        h = torch.round(x @ w)  # culprit
        return (h * h).sum()

    fast(loss)(torch.ones(2, 3)).backward()
    print(f"gradient {w.grad.tolist()}")


def in_place_conflict():
    w = torch.ones(3, requires_grad=True)

    def loss(w):
        y = torch.exp(w)
        y += 1  # culprit
        return (y * y).sum()

    fast(loss)(w).backward()
    wanted = 2 * (np.e + 1) * np.e
    return np.allclose(w.grad.numpy(), wanted)


def integers():
    width = torch.tensor([100_000, 3], dtype=torch.int32)
    count = torch.tensor([7, 0], dtype=torch.int32)

    def mean(width, count):
        area = width * width  # culprit
        return area // count  # culprit

    print(f"mean {fast(mean)(width, count).tolist()}")


def mutated_capture():
    settings = {"scale": 2.0}

    def f(x):
        return x * settings["scale"]  # culprit

    run = fast(f)
    first = run(torch.ones(2))[0]
    settings["scale"] = 5.0
    return first == 2 and run(torch.ones(2))[0] == 5


def index_in_scan():
    table = torch.arange(4.0)

    def total(indices):
        if KIND == "function":
            import staticgraph as sg

            def body(h, i):
                return h + torch.index_select(table, 0, i.reshape(1))[0], None  # culprit

            return sg.scan(body, torch.zeros(()), indices)[0]
        h = torch.zeros(())
        for i in indices:
            h = h + table[i]  # culprit
        return h

    print(f"total {fast(total)(torch.tensor([0, 3, 9])).item()}")


def float64_creeps_in():
    mean = np.array([0.5, 0.25])

    def f(x):
        return x - torch.from_numpy(mean)  # culprit

    found = fast(f)(torch.ones(3, 2))
    print(f"dtype {found.dtype}")
    return found.dtype == torch.float32


def never_updated():
    x, y = torch.ones(4, 2), torch.ones(4)
    w = torch.zeros(2, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)  # culprit
    step = torch.optim.SGD([w], lr=0.1)  # culprit

    def loss(x, y):
        return ((x @ w + b - y) ** 2).mean()

    run = fast(loss)
    for _ in range(3):
        step.zero_grad()
        run(x, y).backward()
        step.step()
    print(f"b {b.tolist()}")


if __name__ == "__main__":
    main(globals(), sys.argv[sys.argv.index("--") + 1 :])
