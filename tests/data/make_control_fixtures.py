"""Record what JAX makes of the programs with loops, for the tests to compare with.

Needs JAX (made with 0.10.2, CPU) and NumPy, which no test does. In the project's root:

    python -m tests.data.make_control_fixtures
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from tests.loops import PROGRAMS

jax.config.update("jax_enable_x64", True)

MODULE = SimpleNamespace(
    scan=jax.lax.scan,
    cond=jax.lax.cond,
    tanh=jnp.tanh,
    exp=jnp.exp,
    log=jnp.log,
    sin=jnp.sin,
    maximum=jnp.maximum,
    sigmoid=jax.nn.sigmoid,
    softmax=jax.nn.softmax,
)


def main() -> None:
    """Write the values, gradients and second derivatives along a direction."""
    found = {}
    for name, program in PROGRAMS.items():
        places = tuple(range(len(program.args)))

        def value(*args: object, function: object = program.function) -> object:
            return function(MODULE, *args)  # type: ignore[operator]

        gradient = jax.grad(value, places)
        found[f"{name} value"] = np.asarray(value(*map(jnp.asarray, program.args)))
        for i, one in enumerate(gradient(*program.args)):
            found[f"{name} gradient {i}"] = np.asarray(one)
        directions = tuple(np.cos(np.arange(a.size)).reshape(a.shape) for a in program.args)
        _, second = jax.jvp(gradient, program.args, directions)
        for i, one in enumerate(second):
            found[f"{name} second {i}"] = np.asarray(one)
    np.savez_compressed(Path(__file__).parent / "control_values.npz", **found)


if __name__ == "__main__":
    main()
