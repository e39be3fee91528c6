"""Products of matrices, compiled, against NumPy's `matmul(out=)`: any sizes, alone and in turn.

    python benchmarks/products.py [--sizes 64,256,1024] [--shape 2048,256,1024 ...]
        [--dtype float32 float64] [--transposed nn tn nt tt] [--threads 1 2] [--seconds 0.5]
        [--json FILE] [--markdown FILE]

A shape m,k,n is the product (m, k) @ (k, n); `--sizes` is all shapes of these numbers, and the
default a few dozen. A result is given to both, so that neither pays for new memory.

"alone": each has a few milliseconds for itself, in turn, after a pause in which the other's
threads go to sleep. "alternating": call by call in turn, where ours begins while NumPy's BLAS
threads still wait for work. The figures are the minima and, in brackets, the ratio of the medians:
where other processes run, the minima say more, for a BLAS thread that yields waits for them.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import staticgraph as sg
from staticgraph.compare.scripts import called_in_turn, markdown, parser, show, write_json

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


def pair(shape: Shape, dtype: str, transposed: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A call of ours and of NumPy's; "t" for an operand whose memory is transposed."""
    m, k, n = shape
    rng = np.random.default_rng(0)
    left, right = (
        rng.standard_normal(size[::-1] if flag == "t" else size).astype(dtype)
        for size, flag in zip(((m, k), (k, n)), transposed, strict=True)
    )
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
    cases = list(
        itertools.product(options.threads, options.dtype, options.transposed, options.shape)
    )
    for threads, dtype, transposed, shape in track(
        cases, "measuring", console=Console(stderr=True)
    ):
        sg.set_num_threads(threads)
        calls = pair(shape, dtype, transposed)
        record: dict[str, Any] = {
            "threads": threads, "dtype": dtype, "transposed": transposed, "shape": shape,
        }  # fmt: skip
        for name, turns in WAYS.items():
            ours, numpys = called_in_turn(calls, options.seconds, **turns)
            record[name] = {
                "ours": ours.minimum,
                "numpy": numpys.minimum,
                "ratio": ours.minimum / numpys.minimum,
                "medians": ours.median / numpys.median,
            }
        yield record


def cells(record: dict[str, Any]) -> list[str]:
    """The cells of a record's row in the table."""
    m, k, n = record["shape"]
    times, turns = record["alone"], record["alternating"]
    flops = 2 * m * k * n
    ratios = [f"{one['ratio']:.2f} ({one['medians']:.2f})" for one in (times, turns)]
    return [
        f"({m}, {k}) x ({k}, {n})", record["dtype"], record["transposed"], str(record["threads"]),
        *(f"{times[name] * 1e3:.3f}" for name in ("ours", "numpy")),
        *(f"{flops / times[name] / 1e9:.0f}" for name in ("ours", "numpy")),
        *ratios,
    ]  # fmt: skip


HEADS = (
    "product", "dtype", "memory", "threads", "ours, ms", "NumPy, ms", "ours, GFLOP/s",
    "NumPy, GFLOP/s", "ours / NumPy alone", "alternating",
)  # fmt: skip


def numbers(text: str) -> tuple[int, ...]:
    """Numbers with commas between them."""
    return tuple(int(part) for part in text.split(","))


def main() -> None:
    """The command line."""
    given = parser(__doc__)
    given.add_argument("--sizes", type=numbers, help="m, k and n are each of these")
    given.add_argument("--shape", type=numbers, nargs="+", default=SHAPES, metavar="M,K,N")
    given.add_argument("--dtype", nargs="+", default=["float32"])
    given.add_argument("--transposed", nargs="+", default=["nn"], choices=["nn", "tn", "nt", "tt"])
    given.add_argument("--threads", type=int, nargs="+", default=[sg.get_num_threads()])
    given.add_argument("--seconds", type=float, default=0.5, help="per contender and way")
    given.add_argument("--json", type=Path, help="where to write the figures")
    given.add_argument("--markdown", type=Path, help="where to write the table")
    options = given.parse_args()
    if options.sizes:
        options.shape = list(itertools.product(options.sizes, repeat=3))
    records = list(measured(options))
    rows = [cells(record) for record in records]
    show("products, ours against np.matmul(out=): minima (medians)", HEADS, rows)
    for name in WAYS:
        ratios = [record[name]["ratio"] for record in records]
        print(
            f"{name}: worst {max(ratios):.2f}, median {statistics.median(ratios):.2f}"
            f" of {len(ratios)} products"
        )
    if options.json:
        write_json(options.json, records)
    if options.markdown:
        options.markdown.write_text(markdown(HEADS, rows), encoding="utf-8")


if __name__ == "__main__":
    main()
