"""Reductions, indexing and joining, which wait for memory: against JAX and PyTorch.

    python benchmarks/sweeps.py [NAME ...] [--jax PATH/TO/PYTHON] [--torch PATH/TO/PYTHON]
        [--before PATH/TO/CHECKOUT] [--threads 2] [--rounds 5] [--seconds 0.1]
        [--json FILE] [--markdown FILE]

Each is a value, or gradients by all floating-point inputs of the sum of its squares. Every
contender has a process of its own, and they are measured in turn. The figures are the minima, with
those of the medians in brackets, and how fast ours goes through its inputs and results once.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

Case = tuple[Callable[..., Any], Callable[[Any], list[Any]]]


def by_hand(lib: Any, x: Any) -> Any:
    """A logsumexp as it is written where there is none."""
    largest = lib.max(x, 1)
    return lib.log(lib.sum(lib.exp(x - largest[:, None]), 1)) + largest


def nearest(lib: Any, x: Any, centres: Any) -> Any:
    """The cost of k-means: squared distances to the nearest of some centres."""
    apart = x[:, None] - centres[None]
    return lib.min(lib.sum(apart * apart, 2), 1)


def drawn(*shapes: tuple[int, ...]) -> Callable[[Any], list[Any]]:
    """Inputs of these shapes."""
    return lambda rng: [rng.standard_normal(shape).astype("float32") for shape in shapes]


def indexed(*shapes: tuple[int, ...]) -> Callable[[Any], list[Any]]:
    """The same, and an index of 100,000 places of the first, none of them twice."""

    def made(rng: Any) -> list[Any]:
        return [*drawn(*shapes)(rng), rng.permutation(shapes[0][0])[:100_000]]

    return made


CASES: dict[str, Case] = {
    "logsumexp by hand, (4096, 1000)": (by_hand, drawn((4096, 1000))),
    "k-means, 20,000 of 8, 10 centres": (nearest, drawn((20_000, 8), (10, 8))),
    "cross product of 1,000,000": (
        lambda lib, x, y: lib.cross(x, y), drawn((1_000_000, 3), (1_000_000, 3)),
    ),
    "set at an index, 100,000 of 1,000,000": (
        lambda lib, x, y, i: lib.set_at(x, i, y), indexed((1_000_000,), (100_000,)),
    ),
    "taken at an index, 100,000 of 1,000,000": (lambda lib, x, i: x[i], indexed((1_000_000,))),
    "a slice, 100,000 of 1,000,000": (lambda lib, x: x[1000:101_000], drawn((1_000_000,))),
    "30 vectors stacked as columns": (
        lambda lib, *x: lib.stack(x, 1), drawn(*[(100_000,)] * 30),
    ),
    "two matrices joined, (2000, 500)": (
        lambda lib, x, y: lib.concatenate((x, y), 1), drawn((2000, 500), (2000, 500)),
    ),
    "softmax of 4,000,000": (lambda lib, x: lib.softmax(x, 0), drawn((4_000_000,))),
    "layers of 512 x 512 windows turned": (
        lambda lib, x: lib.swapped(x) + 0.0, drawn((512, 512, 3, 3)),
    ),
}  # fmt: skip
PARTS = ("value", "gradient")


def inputs(name: str) -> list[Any]:
    """The arrays of a case."""
    import numpy as np

    return CASES[name][1](np.random.default_rng(0))


def compiled(name: str, part: str) -> Callable[[], Any]:
    """A case compiled by staticgraph."""
    import staticgraph as sg

    lib = SimpleNamespace(
        max=sg.max, min=sg.min, sum=sg.sum, exp=sg.exp, log=sg.log, cross=sg.cross,
        stack=sg.stack, concatenate=sg.concatenate, softmax=sg.softmax,
        set_at=lambda x, i, y: x.at[i].set(y), swapped=lambda x: sg.transpose(x, (1, 0, 2, 3)),
    )  # fmt: skip
    arrays = inputs(name)
    given = [sg.placeholder(f"x{n}", one.shape, one.dtype) for n, one in enumerate(arrays)]
    found = CASES[name][0](lib, *given)
    if part == "gradient":
        floating = [one for one in given if one.dtype.kind == "f"]
        found = sg.grad((found * found).sum(), floating)
    executable = sg.compile(given, found)
    return lambda: executable(*arrays)


def jax(name: str, part: str) -> Callable[[], Any]:
    """A case by JAX."""
    import jax as library
    from jax import numpy as jnp

    lib = SimpleNamespace(
        max=jnp.max, min=jnp.min, sum=jnp.sum, exp=jnp.exp, log=jnp.log, cross=jnp.cross,
        stack=jnp.stack, concatenate=jnp.concatenate, softmax=library.nn.softmax,
        set_at=lambda x, i, y: x.at[i].set(y), swapped=lambda x: jnp.swapaxes(x, 0, 1),
    )  # fmt: skip
    arrays = [jnp.asarray(one) for one in inputs(name)]

    def value(*given: Any) -> Any:
        return CASES[name][0](lib, *given)

    call = value
    if part == "gradient":
        floating = [n for n, one in enumerate(arrays) if one.dtype.kind == "f"]
        call = library.grad(lambda *given: (value(*given) ** 2).sum(), floating)
    call = library.jit(call)
    return lambda: library.block_until_ready(call(*arrays))


def torch(name: str, part: str) -> Callable[[], Any]:
    """A case by PyTorch."""
    import torch as library

    library.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    lib = SimpleNamespace(
        max=library.amax, min=library.amin, sum=library.sum, exp=library.exp, log=library.log,
        cross=library.linalg.cross, stack=library.stack, concatenate=library.cat,
        softmax=library.softmax, set_at=lambda x, i, y: x.index_copy(0, i, y),
        swapped=lambda x: x.transpose(0, 1).contiguous(),
    )  # fmt: skip
    arrays = [library.from_numpy(one) for one in inputs(name)]
    if part == "value":
        return lambda: CASES[name][0](lib, *arrays)
    floating = [one.requires_grad_(True) for one in arrays if one.is_floating_point()]

    def gradient() -> Any:
        found = CASES[name][0](lib, *arrays)
        return library.autograd.grad((found * found).sum(), floating)

    return gradient


CONTENDERS = {"compiled": compiled, "jax": jax, "torch": torch}


def contender(kind: str, names: list[str]) -> tuple[Any, dict[str, Callable[[], Any]]]:
    """Of each result the sum of its squares, and how many bytes it and the inputs have."""
    import numpy as np

    report, steps = {}, {}
    for name in names:
        for part in PARTS:
            call = CONTENDERS[kind](name, part)
            found = call()
            results = [np.asarray(one) for one in found] if part == "gradient" else [found]
            squares = sum(float((np.asarray(one, "float64") ** 2).sum()) for one in results)
            size = sum(np.asarray(one).nbytes for one in (*results, *inputs(name)))
            report[f"{name}, {part}"] = [squares, size]
            steps[f"{name}, {part}"] = call
    return report, steps


def cells(step: str, times: Mapping[str, Any], size: float) -> list[str]:
    """The cells of a row."""
    ours, *others = times.values()
    return [
        step, *(f"{one.minimum * 1e3:.3f} ({one.median * 1e3:.3f})" for one in times.values()),
        f"{size / ours.minimum / 1e9:.1f}",
        *(f"{ours.minimum / one.minimum:.2f} ({ours.median / one.median:.2f})" for one in others),
    ]  # fmt: skip


def main() -> None:
    """The command line."""
    from staticgraph.compare.scripts import (
        Entrant,
        apart,
        markdown,
        parser,
        raced,
        running,
        show,
        write_json,
    )

    given = parser(__doc__, rounds=5, seconds=0.1)
    given.add_argument("names", nargs="*", metavar="NAME", help="cases that begin like this")
    given.add_argument("--jax", help="an interpreter whose environment has JAX")
    given.add_argument("--torch", help="an interpreter whose environment has PyTorch")
    given.add_argument("--before", type=Path, help="a checkout of another version")
    given.add_argument("--threads", type=int, default=2)
    given.add_argument("--json", type=Path, help="where to write the figures")
    given.add_argument("--markdown", type=Path, help="where to write the page")
    options = given.parse_args()
    wanted = tuple(options.names)
    names = [name for name in CASES if not wanted or name.startswith(wanted)]
    entrants = [Entrant("ours", ["compiled", names], threads=options.threads)]
    for kind, interpreter in (("jax", options.jax), ("torch", options.torch)):
        if interpreter:
            entrants.append(Entrant(kind, [kind, names], interpreter, options.threads))
    if options.before:
        root = options.before.resolve()
        before = Entrant("before", ["compiled", names], threads=options.threads, root=root)
        entrants.append(before)
    steps = [f"{name}, {part}" for name in names for part in PARTS]
    rows, records = [], []
    with running(__file__, entrants) as processes:
        for step in steps:
            squares = [process.report[step][0] for process in processes.values()]
            far = max(apart(squares[:1], [one]) for one in squares)
            if far > 1e-3:
                raise SystemExit(f"{step}: results are apart: {squares}")
        for step, times in raced(processes, steps, options.rounds, options.seconds):
            rows.append(cells(step, times, processes["ours"].report[step][1]))
            found = {label: [one.minimum, one.median] for label, one in times.items()}
            records.append({"step": step, "threads": options.threads, "times": found})
    labels = [one.label for one in entrants]
    heads = (
        "what", *(f"{label}, ms" for label in labels), "GB/s",
        *(f"ours / {label}" for label in labels[1:]),
    )  # fmt: skip
    show(f"sweeps, {options.threads} threads: minima (medians)", heads, rows)
    if options.json:
        write_json(options.json, records)
    if options.markdown:
        command = shlex.join(["python", *sys.argv])
        for path in filter(None, (options.jax, options.torch)):
            command = command.replace(path, "PATH/TO/PYTHON")
        text = (
            "# Reductions, indexing and joining\n\nOurs, compiled, beside others: minima of calls"
            " in turn, medians in brackets, each contender in a process of its\nown. GB/s: inputs"
            " and results over our time, read or not: PyTorch's slice is a view. Written by\n"
            f"`{command}`.\n\n"
        )
        options.markdown.write_text(text + markdown(heads, rows), encoding="utf-8")


if __name__ == "__main__":
    main()
