"""The broken programs in PyTensor."""

import sys

import numpy as np
import pytensor
import pytensor.tensor as pt
from harness import main, tools

MODE = None
if tools():
    from pytensor.compile.debug.nanguardmode import NanGuardMode

    MODE = NanGuardMode(nan_is_error=True, inf_is_error=True, big_is_error=False)


def function(inputs, outputs, updates=None):
    """A compiled function."""
    return pytensor.function(inputs, outputs, updates=updates, mode=MODE)


def shared(value):
    """A variable of float32."""
    return pytensor.shared(np.asarray(value, "float32"))


def nan_from_log():
    x, w = pt.fmatrix("x"), shared(np.ones(2))
    p = x @ w
    loss = pt.log(p).mean()  # culprit
    step = function([x], loss, [(w, w - np.float32(0.1) * pytensor.grad(loss, w))])
    print(f"loss {step(np.array([[1, 2], [0, 0]], 'float32'))}")


def shape_mismatch():
    x, y = pt.fmatrix("x"), pt.fvector("y")
    h = x @ pt.constant(np.ones(3, "float32"))
    loss = (h - y).sum()  # culprit
    run = function([x, y], loss)
    run(np.ones((5, 3), "float32"), np.ones(5, "float32"))
    run(np.ones((5, 3), "float32"), np.ones(4, "float32"))


def exploding_loss():
    x, y, w = pt.fvector("x"), pt.fvector("y"), shared(1)
    loss = ((x * w - y) ** 2).mean()  # culprit
    step = function([x, y], loss, [(w, w - np.float32(3) * pytensor.grad(loss, w))])
    for _ in range(60):
        value = step(np.ones(4, "float32"), np.zeros(4, "float32"))
    print(f"loss {value}")


def softmax_over_batch():
    x, y, w = pt.fmatrix("x"), pt.lvector("y"), shared(np.ones((4, 3)))
    p = pt.special.softmax(x @ w, axis=0)  # culprit
    loss = -pt.log(p[pt.arange(y.shape[0]), y]).mean()
    print(f"loss {function([x, y], loss)(np.ones((8, 4), 'float32'), np.zeros(8, 'int64'))}")


def frozen_branch():
    x = pt.fvector("x")
    if x.sum() > 0:  # culprit
        y = x * 2
    else:
        y = x * 3
    run = function([x], y)
    return run(np.ones(2, "float32"))[0] == 2 and run(-np.ones(2, "float32"))[0] == -3


def dead_gradient():
    x, w = pt.fmatrix("x"), shared(np.ones(3))
    h = pt.round(x @ w)  # culprit
    slope = function([x], pytensor.grad((h * h).sum(), w))
    print(f"gradient {slope(np.ones((2, 3), 'float32'))}")


def in_place_conflict():
    w = shared(np.ones(3))
    y = pt.exp(w)
    y += np.float32(1)  # culprit
    slope = function([], pytensor.grad((y * y).sum(), w))
    return np.allclose(slope(), 2 * (np.e + 1) * np.e)


def integers():
    width, count = pt.ivector("width"), pt.ivector("count")
    area = width * width  # culprit
    mean = area // count  # culprit
    run = function([width, count], mean)
    print(f"mean {run(np.array([100_000, 3], 'int32'), np.array([7, 0], 'int32'))}")


def mutated_capture():
    x, scale = pt.fvector("x"), shared(2)
    run = function([x], x * scale)
    first = run(np.ones(2, "float32"))[0]
    scale.set_value(np.float32(5))  # culprit
    return first == 2 and run(np.ones(2, "float32"))[0] == 5


def index_in_scan():
    table, indices = pt.constant(np.arange(4, dtype="float32")), pt.lvector("indices")

    def body(i, h):
        return h + table[i]  # culprit

    start = pt.constant(np.float32(0))
    totals = pytensor.scan(body, sequences=[indices], outputs_info=[start], return_updates=False)
    print(f"total {function([indices], totals[-1])(np.array([0, 3, 9]))}")


def float64_creeps_in():
    mean = np.array([0.5, 0.25])
    x = pt.fmatrix("x")
    y = x - mean  # culprit
    found = function([x], y)(np.ones((3, 2), "float32"))
    print(f"dtype {found.dtype}")
    return found.dtype == np.float32


def never_updated():
    x, y = pt.fmatrix("x"), pt.fvector("y")
    w = shared(np.zeros(2))
    b = pytensor.shared(np.zeros(1, "float32"), shape=(1,))  # culprit
    loss = ((x @ w + b - y) ** 2).mean()
    updates = [(w, w - np.float32(0.1) * pytensor.grad(loss, w))]  # culprit
    step = function([x, y], loss, updates)
    for _ in range(3):
        step(np.ones((4, 2), "float32"), np.ones(4, "float32"))
    print(f"b {b.get_value()}")


if __name__ == "__main__":
    main(globals(), sys.argv[sys.argv.index("--") + 1 :])
