"""Convolutions, compiled, against PyTorch's: the value and both gradients of many shapes.

    python benchmarks/convolutions.py [NAME ...] [--torch PATH/TO/PYTHON]
        [--before PATH/TO/CHECKOUT] [--eager] [--threads 2] [--rounds 3] [--seconds 0.1]
        [--json FILE] [--markdown FILE]

Each shape is measured three times: the value, and the cotangents of the image and of the weight.
Every contender has a process of its own, and they are measured in turn, so that noise hits all.
With `--eager` ours is the convolution of `dynamic`. The figures are the minima, and the ratios of
the first contender's to the others'.
"""

from __future__ import annotations

import itertools
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

# batch, channels, height and width; filters; window; stride, padding, dilation, groups
Shape = tuple[tuple[int, int, int, int], int, tuple[int, int], int, int, int, int]
SHAPES: dict[str, Shape] = {
    "3x3 64 of 32x32": ((64, 64, 32, 32), 64, (3, 3), 1, 1, 1, 1),
    "3x3 128 of 16x16": ((64, 128, 16, 16), 128, (3, 3), 1, 1, 1, 1),
    "3x3 256 of 8x8": ((64, 256, 8, 8), 256, (3, 3), 1, 1, 1, 1),
    "3x3 512 of 4x4": ((64, 512, 4, 4), 512, (3, 3), 1, 1, 1, 1),
    "3x3 3 of 32x32": ((64, 3, 32, 32), 64, (3, 3), 1, 1, 1, 1),
    "3x3 16 of 28x28": ((64, 16, 28, 28), 32, (3, 3), 1, 1, 1, 1),
    "3x3 1 of 28x28": ((64, 1, 28, 28), 16, (3, 3), 1, 0, 1, 1),
    "3x3 64 of 56x56, one": ((1, 64, 56, 56), 64, (3, 3), 1, 1, 1, 1),
    "3x3 512 of 7x7, one": ((1, 512, 7, 7), 512, (3, 3), 1, 1, 1, 1),
    "3x3 64 by 2": ((64, 64, 32, 32), 128, (3, 3), 2, 1, 1, 1),
    "3x3 256 by 2": ((64, 256, 8, 8), 512, (3, 3), 2, 1, 1, 1),
    "3x3 dilated by 2": ((64, 64, 16, 16), 64, (3, 3), 1, 2, 2, 1),
    "1x1 256 of 16x16": ((64, 256, 16, 16), 64, (1, 1), 1, 0, 1, 1),
    "1x1 64 by 2": ((64, 64, 32, 32), 128, (1, 1), 2, 0, 1, 1),
    "7x7 3 by 2": ((16, 3, 112, 112), 64, (7, 7), 2, 3, 1, 1),
    "5x5 6 of 14x14": ((64, 6, 14, 14), 16, (5, 5), 1, 0, 1, 1),
    "5x5 32 of 14x14": ((64, 32, 14, 14), 64, (5, 5), 1, 2, 1, 1),
    "16x16 patches": ((16, 3, 112, 112), 192, (16, 16), 16, 0, 1, 1),
    "1x9 64 of 1x256": ((32, 64, 1, 256), 64, (1, 9), 1, 0, 1, 1),
    "2 groups 3x3 64": ((32, 64, 32, 32), 64, (3, 3), 1, 1, 1, 2),
    "8 groups 3x3 128": ((32, 128, 16, 16), 128, (3, 3), 1, 1, 1, 8),
    "32 groups 3x3 128": ((32, 128, 16, 16), 128, (3, 3), 1, 1, 1, 32),
    "depthwise 3x3": ((32, 64, 32, 32), 64, (3, 3), 1, 1, 1, 64),
    "depthwise 3x3 by 2": ((32, 64, 32, 32), 64, (3, 3), 2, 1, 1, 64),
    "depthwise 7x7": ((16, 96, 28, 28), 96, (7, 7), 1, 3, 1, 96),
    "depthwise 3x3 of 7x7": ((32, 256, 7, 7), 256, (3, 3), 1, 1, 1, 256),
}
PARTS = ("value", "by image", "by weight")


def arrays(shape: Shape) -> tuple[Any, Any, Any]:
    """The image, the weight, and a cotangent of the result."""
    import numpy as np

    image, filters, window, stride, padding, dilation, groups = shape
    weight = (filters, image[1] // groups, *window)
    places = (
        (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1
        for size, k in zip(image[2:], window, strict=True)
    )
    rng = np.random.default_rng(0)
    found = (
        rng.standard_normal(size).astype("float32")
        for size in (image, weight, (image[0], filters, *places))
    )
    x, w, g = found
    return x, w, g


def compiled(shape: Shape) -> list[Callable[[], Any]]:
    """The three parts, compiled by staticgraph; the batch is unknown before a call."""
    import staticgraph as sg

    given = arrays(shape)
    image, weight, cotangent = given
    x, w = sg.placeholder("x", (None, *image.shape[1:])), sg.placeholder("w", weight.shape)
    y = sg.conv2d(x, w, None, *shape[3:])
    g = sg.placeholder("g", (x.shape[0], *cotangent.shape[1:]))
    by_x, by_w = sg.grad((y * g).sum(), [x, w])
    value = sg.compile([x, w], y)
    of_image, of_weight = sg.compile([g, w], by_x), sg.compile([g, x], by_w)
    return [
        lambda: value(image, weight),
        lambda: of_image(cotangent, weight),
        lambda: of_weight(cotangent, image),
    ]


def eager(shape: Shape) -> list[Callable[[], Any]]:
    """The three parts by `dynamic`: the gradients are a backward pass with what it keeps."""
    import dynamic

    image, weight, cotangent = (dynamic.from_numpy(one) for one in arrays(shape))
    with dynamic.no_grad():
        kept = [image.clone().requires_grad_(True), weight.clone().requires_grad_(True)]
    results = [
        dynamic.conv2d(kept[0], weight, None, *shape[3:]),
        dynamic.conv2d(image, kept[1], None, *shape[3:]),
    ]

    def backward(i: int) -> Any:
        (found,) = dynamic.autograd.grad(results[i], kept[i], cotangent, retain_graph=True)
        return found.numpy()

    return [
        lambda: dynamic.conv2d(image, weight, None, *shape[3:]).numpy(),
        lambda: backward(0),
        lambda: backward(1),
    ]


def pytorch(shape: Shape) -> list[Callable[[], Any]]:
    """The three parts by PyTorch."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    image, weight, cotangent = (torch.from_numpy(one) for one in arrays(shape))
    stride, padding, dilation, groups = shape[3:]

    def backward(i: int) -> Any:
        options = [stride] * 2, [padding] * 2, [dilation] * 2, False, [0, 0], groups
        wanted = [i == 0, i == 1, False]
        found = torch.ops.aten.convolution_backward(
            cotangent, image, weight, None, *options, wanted
        )
        return found[i].numpy()

    def value() -> Any:
        return torch.conv2d(image, weight, None, *shape[3:]).numpy()

    return [value, lambda: backward(0), lambda: backward(1)]


CONTENDERS = {"compiled": compiled, "eager": eager, "torch": pytorch}


def contender(kind: str, names: list[str]) -> tuple[Any, dict[str, Callable[[], Any]]]:
    """For each part a few numbers that depend on all of the result, and the calls."""
    import numpy as np

    report, steps = {}, {}
    for name in names:
        for part, call in zip(PARTS, CONTENDERS[kind](SHAPES[name]), strict=True):
            found = call().astype("float64").ravel()
            weights = np.cos(np.arange(found.size))
            report[f"{name}, {part}"] = [float(np.linalg.norm(found)), float(found @ weights)]
            steps[f"{name}, {part}"] = call
    return report, steps


def apart(one: list[float], other: list[float]) -> float:
    """How far two results are apart, relative to their norm."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) / other[0]


def main() -> None:
    """The command line."""
    from staticgraph.compare.scripts import (
        Entrant,
        markdown,
        parser,
        raced,
        running,
        show,
        write_json,
    )

    given = parser(__doc__, rounds=3, seconds=0.1)
    given.add_argument("names", nargs="*", metavar="NAME", help="shapes that begin like this")
    given.add_argument("--torch", help="an interpreter whose environment has PyTorch")
    given.add_argument("--before", type=Path, help="a checkout of another version")
    given.add_argument("--eager", action="store_true", help="measure `dynamic`")
    given.add_argument("--threads", type=int, default=2)
    given.add_argument("--json", type=Path, help="where to write the figures")
    given.add_argument("--markdown", type=Path, help="where to write the table")
    options = given.parse_args()
    wanted = tuple(options.names)
    names = [name for name in SHAPES if not wanted or name.startswith(wanted)]
    kind, threads = "eager" if options.eager else "compiled", options.threads
    entrants = [Entrant("ours", [kind, names], threads=threads)]
    if options.before:
        root = options.before.resolve()
        entrants.append(Entrant("before", [kind, names], threads=threads, root=root))
    if options.torch:
        entrants.append(Entrant("torch", ["torch", names], options.torch, threads))
    others = [one.label for one in entrants[1:]]
    rows, records = [], []
    steps = [", ".join(one) for one in itertools.product(names, PARTS)]
    with running(__file__, entrants) as processes:
        for step, times in raced(processes, steps, options.rounds, options.seconds):
            ours, report = times["ours"].minimum, processes["ours"].report[step]
            far = max((apart(report, processes[o].report[step]) for o in others), default=0.0)
            ratios = {label: ours / times[label].minimum for label in others}
            records.append({
                "step": step, "threads": threads, "apart": far, "ratios": ratios,
                "minima": {label: one.minimum for label, one in times.items()},
            })  # fmt: skip
            rows.append([
                step, *(f"{one.minimum * 1e3:.3f}" for one in times.values()),
                *(f"{ratio:.2f}" for ratio in ratios.values()), f"{far:.0e}",
            ])  # fmt: skip
    heads = (
        "shape", *(f"{one.label}, ms" for one in entrants), *(f"ours / {o}" for o in others),
        "apart",
    )  # fmt: skip
    show(f"convolutions, {threads} threads: minima", heads, rows)
    for label in others:
        ratios = [record["ratios"][label] for record in records]
        print(
            f"ours / {label}: worst {max(ratios):.2f}, geometric mean "
            f"{statistics.geometric_mean(ratios):.2f} of {len(ratios)}"
        )
    if options.json:
        write_json(options.json, records)
    if options.markdown:
        options.markdown.write_text(markdown(heads, rows), encoding="utf-8")


if __name__ == "__main__":
    main()
