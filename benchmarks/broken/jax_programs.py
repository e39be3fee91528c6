"""The broken programs in JAX, with jit."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from harness import main, tools

if tools():
    jax.config.update("jax_debug_nans", True)
    jax.config.update("jax_debug_infs", True)
    jax.config.update("jax_numpy_dtype_promotion", "strict")


def nan_from_log():
    x, w = jnp.array([[1.0, 2.0], [0.0, 0.0]]), jnp.ones(2)

    @jax.jit
    def step(w, x):
        def loss(w):
            p = x @ w
            return jnp.log(p).mean()  # culprit

        value, slope = jax.value_and_grad(loss)(w)
        return w - 0.1 * slope, value

    print(f"loss {step(w, x)[1]}")


def shape_mismatch():
    w = jnp.ones(3)

    @jax.jit
    def loss(x, y):
        h = x @ w
        return (h - y).sum()  # culprit

    loss(jnp.ones((5, 3)), jnp.ones(5))
    loss(jnp.ones((5, 3)), jnp.ones(4))


def exploding_loss():
    x, y, w = jnp.ones(4), jnp.zeros(4), jnp.ones(())

    @jax.jit
    def step(w, x, y):
        def loss(w):
            return ((x * w - y) ** 2).mean()  # culprit

        value, slope = jax.value_and_grad(loss)(w)
        return w - 3.0 * slope, value

    for _ in range(60):
        w, value = step(w, x, y)
    print(f"loss {value}")


def softmax_over_batch():
    x, w = jnp.ones((8, 4)), jnp.ones((4, 3))
    y = jnp.zeros(8, dtype="int32")

    @jax.jit
    def loss(x, y):
        p = jax.nn.softmax(x @ w, axis=0)  # culprit
        return -jnp.log(p[jnp.arange(x.shape[0]), y]).mean()

    print(f"loss {loss(x, y)}")


def frozen_branch():
    @jax.jit
    def f(x):
        if x.sum() > 0:  # culprit
            return x * 2
        return x * 3

    return f(jnp.ones(2))[0] == 2 and f(-jnp.ones(2))[0] == -3


def dead_gradient():
    x = jnp.ones((2, 3))

    def loss(w):
        h = jnp.round(x @ w)  # culprit
        return (h * h).sum()

    print(f"gradient {jax.jit(jax.grad(loss))(jnp.ones(3))}")


def in_place_conflict():
    def loss(w):
        y = jnp.exp(w)
        y += 1  # culprit
        return (y * y).sum()

    return np.allclose(jax.jit(jax.grad(loss))(jnp.ones(3)), 2 * (np.e + 1) * np.e)


def integers():
    width, count = jnp.array([100_000, 3], "int32"), jnp.array([7, 0], "int32")

    @jax.jit
    def mean(width, count):
        area = width * width  # culprit
        return area // count  # culprit

    print(f"mean {mean(width, count)}")


def mutated_capture():
    settings = {"scale": 2.0}

    @jax.jit
    def f(x):
        return x * settings["scale"]  # culprit

    first = f(jnp.ones(2))[0]
    settings["scale"] = 5.0
    return first == 2 and f(jnp.ones(2))[0] == 5


def index_in_scan():
    table = jnp.arange(4.0)

    @jax.jit
    def total(indices):
        def body(h, i):
            return h + table[i], None  # culprit

        return jax.lax.scan(body, 0.0, indices)[0]

    print(f"total {total(jnp.array([0, 3, 9]))}")


def float64_creeps_in():
    mean = np.array([0.5, 0.25])

    @jax.jit
    def f(x):
        return x - mean  # culprit

    found = f(jnp.ones((3, 2)))
    print(f"dtype {found.dtype}")
    return found.dtype == "float32"


def never_updated():
    x, y = jnp.ones((4, 2)), jnp.ones(4)
    params = {"w": jnp.zeros(2), "b": jnp.zeros(1)}  # culprit

    @jax.jit
    def step(params, x, y):
        def loss(params):
            return ((x @ params["w"] + params["b"] - y) ** 2).mean()

        slopes = jax.grad(loss)(params)
        return {"w": params["w"] - 0.1 * slopes["w"], "b": params["b"]}  # culprit

    for _ in range(3):
        params = step(params, x, y)
    print(f"b {params['b']}")


if __name__ == "__main__":
    main(globals(), sys.argv[sys.argv.index("--") + 1 :])
