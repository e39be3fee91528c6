"""Products of matrices, compiled, against NumPy's `matmul(out=)`: any sizes, alone and in turn.

    python benchmarks/products.py [--sizes 64,256,1024] [--shape 2048,256,1024 ...]
        [--dtype float32 float64] [--transposed nn tn nt tt] [--threads 1 2] [--seconds 0.5]
        [--bind] [--json FILE] [--markdown FILE]

A shape m,k,n is the product (m, k) @ (k, n); `--sizes` is all shapes of these numbers, and the
default a few dozen. A result is given to both, so that neither pays for new memory.

"alone": each has a few milliseconds for itself, in turn, after a pause in which the other's
threads go to sleep. "alternating": call by call in turn, where ours begins while NumPy's BLAS
threads still wait for work. The figures are the minima and, in brackets, the ratio of the medians:
where other processes run, the minima say more, for a BLAS thread that yields waits for them.
`--bind` has the caller on a processor of its own, and all other threads on the others: where
other processes run, the system may have both on one, and then measures that.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import statistics
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

Shape = tuple[int, int, int]
SHAPES: tuple[Shape, ...] = (
    (64, 64, 64), (128, 128, 128), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024),
    (2048, 2048, 2048), (128, 512, 512), (256, 1024, 256), (2048, 256, 1024), (2048, 1024, 256),
    (256, 2048, 1024), (64, 4096, 64), (4096, 64, 64), (64, 64, 4096), (4096, 64, 4096),
    (4096, 256, 64), (64, 256, 4096), (1000, 300, 700),
)  # fmt: skip
WAYS: dict[str, dict[str, float]] = {
    # OpenBLAS threads wait for work, and use a processor, for 110 ms after a product
    "alone": {"turn": 0.015, "pause": 0.2},
    "alternating": {},
}


def arrays(shape: Shape, dtype: str, transposed: str) -> list[Any]:
    """The operands as they lie in memory."""
    m, k, n = shape
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal(size[::-1] if flag == "t" else size).astype(dtype)
        for size, flag in zip(((m, k), (k, n)), transposed, strict=True)
    ]


def named(shape: Shape, dtype: str, transposed: str) -> str:
    """What the product is called between processes."""
    return f"{shape} {dtype} {transposed}"


def bind() -> None:
    """Have this thread on the first processor of those it may use, all others on the rest."""
    own, *others = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {own})
    for thread in map(int, os.listdir("/proc/self/task")):
        if thread != threading.get_native_id():
            os.sched_setaffinity(thread, others or {own})


def contender(cases: list[Any], binds: bool) -> tuple[Any, dict[str, Callable[[], Any]]]:
    """PyTorch's products; the operands of the last one are kept."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

    @lru_cache(1)
    def operands(shape: Shape, dtype: str, transposed: str) -> tuple[Any, ...]:
        made = [torch.from_numpy(one) for one in arrays(shape, dtype, transposed)]
        a, b = (x.T if t == "t" else x for x, t in zip(made, transposed, strict=True))
        return a, b, torch.empty(a.shape[0], b.shape[1], dtype=a.dtype)

    def multiply(shape: Shape, dtype: str, transposed: str) -> None:
        a, b, result = operands(shape, dtype, transposed)
        torch.mm(a, b, out=result)

    if binds:
        large = torch.ones(1000, 1000)
        large @ large
        bind()
    found = [(tuple(shape), dtype, transposed) for shape, dtype, transposed in cases]
    return {}, {named(*case): partial(multiply, *case) for case in found}


def pair(shape: Shape, dtype: str, transposed: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A call of ours and of NumPy's; "t" for an operand whose memory is transposed."""
    import staticgraph as sg

    m, k, n = shape
    left, right = arrays(shape, dtype, transposed)
    a, b = sg.placeholder("a", left.shape, dtype), sg.placeholder("b", right.shape, dtype)
    product = (a.T if transposed[0] == "t" else a) @ (b.T if transposed[1] == "t" else b)
    compiled = sg.compile([a, b], product)
    x = left.T if transposed[0] == "t" else left
    y = right.T if transposed[1] == "t" else right
    ours, numpys = np.empty((m, n), dtype), np.empty((m, n), dtype)
    compiled(left, right, out=ours)
    np.matmul(x, y, out=numpys)
    error = float(np.abs(ours - numpys).max() / np.abs(numpys).max())
    if error > np.finfo(dtype).eps * 10 * np.sqrt(k):
        raise SystemExit(f"{shape} {dtype} {transposed}: the results differ by {error:.1e}")
    return (lambda: compiled(left, right, out=ours)), (lambda: np.matmul(x, y, out=numpys))


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A record for each number of threads, dtype, transposition and shape."""
    from rich.console import Console
    from rich.progress import track

    import staticgraph as sg
    from staticgraph.compare.scripts import Entrant, called_in_turn, running

    processors = os.sched_getaffinity(0)
    turned = itertools.cycle(options.transposed)
    cases = [(shape, dtype, next(turned)) for dtype in options.dtype for shape in options.shape]
    if options.count is None:
        cases = list(itertools.product(options.shape, options.dtype, options.transposed))
    for threads in options.threads:
        sg.set_num_threads(threads)
        entrants = (
            [Entrant("torch", [cases, options.bind], options.torch, threads)]
            if options.torch
            else []
        )
        with ExitStack() as ends:
            processes = ends.enter_context(running(__file__, entrants))
            for case in track(cases, "measuring", console=Console(stderr=True)):
                calls = pair(*case)
                if options.bind:
                    os.sched_setaffinity(0, processors)
                    bind()
                record: dict[str, Any] = {"threads": threads}
                record |= zip(("shape", "dtype", "transposed"), case, strict=True)
                for name, turns in WAYS.items():
                    times = called_in_turn(calls, options.seconds, **turns)
                    record[name] = dict(zip(("ours", "numpy"), map(_figures, times), strict=True))
                for label, process in processes.items():
                    found = process.ask(do="measure", step=named(*case), seconds=options.seconds)
                    record["alone"][label] = [found["minimum"], found["median"]]
                yield record


def _figures(times: Any) -> list[float]:
    return [times.minimum, times.median]


def ratios(times: Mapping[str, list[float]]) -> list[float]:
    """Our time over the best other one: by minima, by medians."""
    return [
        times["ours"][i] / min(found[i] for label, found in times.items() if label != "ours")
        for i in range(2)
    ]


def cells(record: dict[str, Any]) -> list[str]:
    """The cells of a record's row in the table."""
    m, k, n = record["shape"]
    times = {label: found[0] for label, found in record["alone"].items()}
    flops = 2 * m * k * n
    others = [time for label, time in times.items() if label != "ours"]
    both = [ratios(record[name]) for name in WAYS]
    return [
        f"({m}, {k}) x ({k}, {n})", record["dtype"], record["transposed"], str(record["threads"]),
        *(f"{time * 1e3:.3f}" for time in (times["ours"], min(others))),
        *(f"{flops / time / 1e9:.0f}" for time in (times["ours"], min(others))),
        *(f"{minima:.2f} ({medians:.2f})" for minima, medians in both),
    ]  # fmt: skip


HEADS = (
    "product", "dtype", "memory", "threads", "ours, ms", "best other, ms", "ours, GFLOP/s",
    "best other, GFLOP/s", "ours / best alone", "alternating with NumPy",
)  # fmt: skip


def numbers(text: str) -> tuple[int, ...]:
    """Numbers with commas between them."""
    return tuple(int(part) for part in text.split(","))


def summary(records: list[dict[str, Any]]) -> str:
    """The worst and the median ratio of each way."""
    lines = []
    for name in WAYS:
        minima, medians = zip(*(ratios(record[name]) for record in records), strict=True)
        lines.append(
            f"- {name}: worst {max(minima):.2f}, median {statistics.median(minima):.2f} by minima,"
            f" {max(medians):.2f} and {statistics.median(medians):.2f} by medians,"
            f" of {len(records)} products"
        )
    return "\n".join(lines)


def page(records: list[dict[str, Any]], others: str, command: str) -> str:
    """A page with the table, the worst products first."""
    from staticgraph.compare.scripts import markdown

    ordered = sorted(records, key=lambda record: -ratios(record["alone"])[0])
    return (
        f"# Products of matrices\n\nOurs against the best of {others}: minima, and medians in"
        f" brackets. Written by\n`{command}`.\n\n{summary(records)}\n\n"
        + markdown(HEADS, [cells(record) for record in ordered])
    )


def spread(count: int) -> list[Shape]:
    """So many shapes, from 16 to 4096 each way, of at most 2**33 multiplications."""
    rng = np.random.default_rng(0)
    found: list[Shape] = []
    while len(found) < count:
        m, k, n = (int(size) for size in np.rint(16 * 256 ** rng.random(3)))
        if m * k * n <= 1 << 33:
            found.append((m, k, n))
    return found


def main() -> None:
    """The command line."""
    import staticgraph as sg
    from staticgraph.compare.scripts import parser, show, write_json

    given = parser(__doc__)
    given.add_argument("--sizes", type=numbers, help="m, k and n are each of these")
    given.add_argument("--shape", type=numbers, nargs="+", default=SHAPES, metavar="M,K,N")
    given.add_argument("--count", type=int, help="so many shapes; transpositions take turns")
    given.add_argument("--torch", help="an interpreter whose environment has PyTorch")
    given.add_argument("--dtype", nargs="+", default=["float32"])
    given.add_argument("--transposed", nargs="+", default=["nn"], choices=["nn", "tn", "nt", "tt"])
    given.add_argument("--threads", type=int, nargs="+", default=[sg.get_num_threads()])
    given.add_argument("--seconds", type=float, default=0.5, help="per contender and way")
    given.add_argument("--bind", action="store_true", help="threads to processors")
    given.add_argument("--json", type=Path, help="where to write the figures")
    given.add_argument("--markdown", type=Path, help="where to write the table")
    options = given.parse_args()
    if options.sizes:
        options.shape = list(itertools.product(options.sizes, repeat=3))
    if options.count:
        options.shape = spread(options.count)
    records = list(measured(options))
    rows = [cells(record) for record in records]
    others = "NumPy and PyTorch" if options.torch else "NumPy"
    show(f"products, ours against the best of {others}: minima (medians)", HEADS, rows)
    print(summary(records))
    if options.json:
        write_json(options.json, records)
    if options.markdown:
        command = shlex.join(["python", *sys.argv]).replace(str(options.torch), "PATH/TO/PYTHON")
        options.markdown.write_text(page(records, others, command), encoding="utf-8")


if __name__ == "__main__":
    main()
