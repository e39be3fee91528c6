"""What users of NumPy and JAX reach for, compiled, beside both in one run.

    python benchmarks/beside_jax.py [NAME ...] [--jax PATH/TO/PYTHON] [--threads 1 2] [--rounds 5]
        [--seconds 0.3] [--json FILE] [--markdown FILE]

Each contender has a process of its own, and they are measured in turn, so that noise hits all. JAX
has its arguments on its device already, and its result is waited for. The figures are minima; the
ratio is of ours to the better of the others. `apart` is how far the results are from ours.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = (
    "sort of 1e6", "cumsum of 1e7", "cumsum of (1000, 10000), axis 0", "einsum bqhd,bkhd->bhqk",
    "einsum ij,jk,kl->il", "cholesky of 512", "solve of 512 with 64", "scatter-add of 1e6 in 1e5",
    "scatter-add of rows, 1e5 in (1e4, 64)", "normal of 1e7", "attention (4, 8, 512, 64)",
)  # fmt: skip


def arrays(name: str) -> list[Any]:
    """The operands, float32, and indices."""
    import numpy as np

    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape).astype("float32")

    square = normal(512, 512)
    definite = square @ square.T / 512 + np.eye(512, dtype="float32")
    made: dict[str, Callable[[], list[Any]]] = {
        "sort of 1e6": lambda: [normal(10**6)],
        "cumsum of 1e7": lambda: [normal(10**7)],
        "cumsum of (1000, 10000), axis 0": lambda: [normal(1000, 10000)],
        "einsum bqhd,bkhd->bhqk": lambda: [normal(8, 128, 8, 64), normal(8, 128, 8, 64)],
        "einsum ij,jk,kl->il": lambda: [normal(512, 64), normal(64, 1024), normal(1024, 32)],
        "cholesky of 512": lambda: [definite],
        "solve of 512 with 64": lambda: [definite, normal(512, 64)],
        "scatter-add of 1e6 in 1e5": lambda: [rng.integers(0, 10**5, 10**6), normal(10**6)],
        "scatter-add of rows, 1e5 in (1e4, 64)": lambda: [
            rng.integers(0, 10**4, 10**5), normal(10**5, 64),
        ],
        "normal of 1e7": lambda: [],
        "attention (4, 8, 512, 64)": lambda: [normal(4, 8, 512, 64) for _ in range(3)],
    }  # fmt: skip
    return made[name]()


def by_staticgraph(name: str, given: list[Any]) -> Callable[[], Any]:
    """A compiled function; sizes are known."""
    import staticgraph as sg

    key = sg.placeholder("key", (), "int64")
    xs = [sg.placeholder(f"x{i}", one.shape, one.dtype) for i, one in enumerate(given)]
    made: dict[str, Callable[[], Any]] = {
        "sort": lambda: sg.sort(xs[0]),
        "cumsum": lambda: sg.cumsum(xs[0], 0),
        "einsum": lambda: sg.einsum(name.split()[1], *xs),
        "cholesky": lambda: sg.linalg.cholesky(xs[0]),
        "solve": lambda: sg.linalg.solve(*xs),
        "scatter-add": lambda: sg.zeros(_rows(name, given), "float32").at[xs[0]].add(xs[1]),
        "normal": lambda: sg.random.normal(key, (10**7,), "float32"),
        "attention": lambda: sg.scaled_dot_product_attention(xs[0], xs[1], xs[2], is_causal=True),
    }
    out = made[name.split(maxsplit=1)[0]]()
    if not given:
        call = sg.compile([key], out)
        seed = sg.random.key(0)
        return lambda: call(seed)
    call = sg.compile(xs, out)
    return lambda: call(*given)


def _rows(name: str, given: list[Any]) -> tuple[int, ...]:
    return (10**5,) if "rows" not in name else (10**4, given[1].shape[1])


def by_numpy(name: str, given: list[Any]) -> Callable[[], Any]:
    """NumPy's own function, or its usual way."""
    import numpy as np

    rng = np.random.default_rng(0)

    def scattered() -> Any:
        found = np.zeros(_rows(name, given), "float32")
        np.add.at(found, given[0], given[1])
        return found

    def attention() -> Any:
        q, k, v = given
        scores = q @ k.swapaxes(-1, -2) / 8
        scores = np.where(np.tri(512, dtype=bool), scores, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ v

    made: dict[str, Callable[[], Any]] = {
        "sort": lambda: np.sort(given[0]),
        "cumsum": lambda: np.cumsum(given[0], 0),
        "einsum": lambda: np.einsum(name.split()[1], *given, optimize=True),
        "cholesky": lambda: np.linalg.cholesky(given[0]),
        "solve": lambda: np.linalg.solve(*given),
        "scatter-add": scattered,
        "normal": lambda: rng.standard_normal(10**7, "float32"),
        "attention": attention,
    }
    return made[name.split(maxsplit=1)[0]]


def by_jax(name: str, given: list[Any]) -> Callable[[], Any]:
    """A function that `jax.jit` compiles."""
    import jax
    import jax.numpy as jnp

    xs = [jax.device_put(one) for one in given] or [jax.random.key(0)]

    def attention(q: Any, k: Any, v: Any) -> Any:
        turned = [one.swapaxes(1, 2) for one in (q, k, v)]
        return jax.nn.dot_product_attention(*turned, is_causal=True).swapaxes(1, 2)

    made: dict[str, Callable[..., Any]] = {
        "sort": jnp.sort,
        "cumsum": lambda x: jnp.cumsum(x, 0),
        "einsum": lambda *xs: jnp.einsum(name.split()[1], *xs),
        "cholesky": jnp.linalg.cholesky,
        "solve": jnp.linalg.solve,
        "scatter-add": lambda i, x: jnp.zeros(_rows(name, given), "float32").at[i].add(x),
        "normal": lambda key: jax.random.normal(key, (10**7,), "float32"),
        "attention": attention,
    }
    call = jax.jit(made[name.split(maxsplit=1)[0]])
    return lambda: call(*xs).block_until_ready()


CONTENDERS = {"staticgraph": by_staticgraph, "numpy": by_numpy, "jax": by_jax}


def contender(kind: str, names: list[str]) -> tuple[Any, dict[str, Callable[[], Any]]]:
    """For each name a few numbers that depend on all of the result, and the call."""
    import numpy as np

    report, steps = {}, {}
    for name in names:
        call = CONTENDERS[kind](name, arrays(name))
        found = np.asarray(call()).astype("float64").ravel()
        report[name] = [float(np.linalg.norm(found)), float(found @ np.cos(np.arange(found.size)))]
        steps[name] = call
    return report, steps


def apart(one: list[float], other: list[float]) -> float:
    """How far two results are apart, relative to their norm."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) / other[0]


HEADS = ("what", "threads", "ours, ms", "NumPy, ms", "JAX, ms", "ours / better", "apart")


def measured(options: Any) -> list[dict[str, Any]]:
    """A record per name and number of threads."""
    from staticgraph.compare.scripts import Entrant, raced, running

    names = [one for one in NAMES if not options.names or one.startswith(tuple(options.names))]
    records = []
    for threads in options.threads:
        entrants = [Entrant(kind, [kind, names], threads=threads) for kind in CONTENDERS][:2]
        if options.jax:
            entrants.append(Entrant("jax", ["jax", names], options.jax, threads))
        with running(__file__, entrants) as processes:
            for name, times in raced(processes, names, options.rounds, options.seconds):
                reports = [one.report[name] for one in processes.values()]
                drawn = reports[2:] if name.startswith("normal") else reports[1:]
                records.append({
                    "name": name, "threads": threads,
                    "minima": {label: one.minimum for label, one in times.items()},
                    "medians": {label: one.median for label, one in times.items()},
                    "apart": max((apart(reports[0], other) for other in drawn), default=0.0),
                })  # fmt: skip
    return records


def ratio(times: dict[str, float]) -> float:
    """Our time over that of the better of the others."""
    return times["staticgraph"] / min(t for label, t in times.items() if label != "staticgraph")


def cells(record: dict[str, Any]) -> list[str]:
    """A row of the table."""
    minima = record["minima"]
    shown = [f"{minima[label] * 1e3:.3f}" if label in minima else "" for label in CONTENDERS]
    ratios = f"{ratio(minima):.2f} ({ratio(record['medians']):.2f})"
    return [record["name"], str(record["threads"]), *shown, ratios, f"{record['apart']:.0e}"]


def main() -> None:
    """The command line."""
    from staticgraph.compare.scripts import markdown, parser, show, write_json

    given = parser(__doc__, rounds=5, seconds=0.3)
    given.add_argument("names", nargs="*", metavar="NAME", help="those that begin like this")
    given.add_argument("--jax", help="an interpreter whose environment has JAX")
    given.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    given.add_argument("--json", type=Path, help="where to write the figures")
    given.add_argument("--markdown", type=Path, help="where to write the table")
    options = given.parse_args()
    records = measured(options)
    rows = [cells(record) for record in records]
    show("beside NumPy and JAX: minima, ratios of minima (medians)", HEADS, rows)
    if options.json:
        write_json(options.json, records)
    if options.markdown:
        command = shlex.join(["python", *sys.argv]).replace(str(options.jax), "PATH/TO/PYTHON")
        options.markdown.write_text(
            "# Beside NumPy and JAX\n\nMinima; the ratio of ours to the better of both, of minima, "
            f"and of medians in\nbrackets. Written by `{command}`.\n\n" + markdown(HEADS, rows),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
