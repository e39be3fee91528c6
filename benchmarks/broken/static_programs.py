"""The broken programs with placeholders and `sg.compile`."""

import sys

import numpy as np
from harness import main, tools

import staticgraph as sg

OPTIONS = {"on_nonfinite": "raise", "lint": "warn", "checks": "int"} if tools() else {}


def nan_from_log():
    x = sg.placeholder("x", (None, 2))
    w = sg.variable(np.ones(2, "float32"), "w")
    p = x @ w
    loss = sg.log(p).mean()  # culprit
    step = sg.compile([x], loss, sg.optim.SGD(lr=0.1).minimize(loss), **OPTIONS)
    print(f"loss {step(np.array([[1, 2], [0, 0]], 'float32'))}")


def shape_mismatch():
    x, y = sg.placeholder("x", (None, 3)), sg.placeholder("y", (None,))
    h = x @ sg.constant(np.ones(3, "float32"))
    loss = (h - y).sum()  # culprit
    run = sg.compile([x, y], loss, **OPTIONS)
    run(np.ones((5, 3), "float32"), np.ones(5, "float32"))
    run(np.ones((5, 3), "float32"), np.ones(4, "float32"))


def exploding_loss():
    x, y = sg.placeholder("x", (None,)), sg.placeholder("y", (None,))
    w = sg.variable(np.ones((), "float32"), "w")
    loss = ((x * w - y) ** 2).mean()  # culprit
    step = sg.compile([x, y], loss, sg.optim.SGD(lr=3.0).minimize(loss), **OPTIONS)
    for _ in range(60):
        value = step(np.ones(4, "float32"), np.zeros(4, "float32"))
    print(f"loss {value}")


def softmax_over_batch():
    x, y = sg.placeholder("x", (None, 4)), sg.placeholder("y", (None,), "int64")
    w = sg.variable(np.ones((4, 3), "float32"), "w")
    p = sg.softmax(x @ w, axis=0)  # culprit
    loss = -sg.log(sg.take_along_axis(p, y.reshape(-1, 1), axis=1)).mean()
    run = sg.compile([x, y], loss, **OPTIONS)
    print(f"loss {run(np.ones((8, 4), 'float32'), np.zeros(8, 'int64'))}")


def frozen_branch():
    x = sg.placeholder("x", (None,))
    if x.sum() > 0:  # culprit
        y = x * 2
    else:
        y = x * 3
    run = sg.compile([x], y, **OPTIONS)
    return run(np.ones(2, "float32"))[0] == 2 and run(-np.ones(2, "float32"))[0] == -3


def dead_gradient():
    x = sg.placeholder("x", (None, 3))
    w = sg.variable(np.ones(3, "float32"), "w")
    h = sg.round(x @ w)  # culprit
    loss = (h * h).sum()
    run = sg.compile([x], sg.grad(loss, w), **OPTIONS)
    print(f"gradient {run(np.ones((2, 3), 'float32'))}")


def in_place_conflict():
    w = sg.variable(np.ones(3, "float32"), "w")
    y = sg.exp(w)
    y += 1  # culprit
    run = sg.compile([], sg.grad((y * y).sum(), w), **OPTIONS)
    return np.allclose(run(), 2 * (np.e + 1) * np.e)


def integers():
    width, count = (sg.placeholder(name, (None,), "int32") for name in ("width", "count"))
    area = width * width  # culprit
    mean = area // count  # culprit
    run = sg.compile([width, count], mean, **OPTIONS)
    print(f"mean {run(np.array([100_000, 3], 'int32'), np.array([7, 0], 'int32'))}")


def mutated_capture():
    settings = {"scale": np.array(2.0, "float32")}
    x = sg.placeholder("x", (None,))
    scale = sg.variable(settings["scale"], "scale")
    run = sg.compile([x], x * scale, **OPTIONS)
    first = run(np.ones(2, "float32"))[0]
    scale.value = np.array(5.0, "float32")  # culprit
    return first == 2 and run(np.ones(2, "float32"))[0] == 5


def index_in_scan():
    table = sg.constant(np.arange(4, dtype="float32"))
    indices = sg.placeholder("indices", (None,), "int64")

    def body(h, i):
        return h + sg.take(table, i), None  # culprit

    total, _ = sg.scan(body, sg.zeros(()), indices)
    run = sg.compile([indices], total, **OPTIONS)
    print(f"total {run(np.array([0, 3, 9]))}")


def float64_creeps_in():
    mean = np.array([0.5, 0.25])
    x = sg.placeholder("x", (None, 2))
    y = x - mean  # culprit
    run = sg.compile([x], y, **OPTIONS)
    found = run(np.ones((3, 2), "float32"))
    print(f"dtype {found.dtype}")
    return found.dtype == np.float32


def never_updated():
    x, y = sg.placeholder("x", (None, 2)), sg.placeholder("y", (None,))
    w = sg.variable(np.zeros(2, "float32"), "w")
    b = sg.variable(np.zeros(1, "float32"), "b")  # culprit
    loss = ((x @ w + b - y) ** 2).mean()
    updates = sg.optim.SGD(lr=0.1).minimize(loss, [w])  # culprit
    step = sg.compile([x, y], loss, updates, **OPTIONS)
    for _ in range(3):
        step(np.ones((4, 2), "float32"), np.ones(4, "float32"))
    print(f"b {b.value}")


if __name__ == "__main__":
    main(globals(), sys.argv[sys.argv.index("--") + 1 :])
