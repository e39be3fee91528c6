"""Convolutions, compiled, against PyTorch's: the value and both gradients of many shapes.

    python benchmarks/convolutions.py [NAME ...] [--count N] [--torch PATH/TO/PYTHON]
        [--before PATH/TO/CHECKOUT] [--eager] [--threads 2] [--rounds 3] [--seconds 0.1]
        [--json FILE] [--markdown FILE]

Each shape is measured three times: the value, and the cotangents of the image and of the weight.
Every contender has a process of its own, and they are measured in turn, so that noise hits all.
With `--eager` ours is the convolution of `dynamic`. The figures are the minima, and the ratios of
the first contender's to the others'. `--count` adds as many shapes drawn at random: images of 4 to
64 with 3 to 512 channels, 1 to 64 of them, windows of 1 to 7, with strides, dilation and groups.
"""

from __future__ import annotations

import itertools
import os
import shlex
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
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
PAUSE = 0.03  # seconds, in which the threads of OpenMP cease to wait for work
MOST_PRODUCTS, MOST_ELEMENTS = 1 << 30, 1 << 22  # of a shape that is drawn


def places(shape: Shape) -> tuple[int, int]:
    """The height and width of the result."""
    image, _, window, stride, padding, dilation, _ = shape
    height, width = (
        (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1
        for size, k in zip(image[2:], window, strict=True)
    )
    return height, width


def products(shape: Shape) -> int:
    """How many numbers are multiplied, those of the padding too."""
    image, filters, window, _, _, _, groups = shape
    height, width = places(shape)
    return image[0] * filters * height * width * image[1] // groups * window[0] * window[1]


def drawn(count: int) -> dict[str, Shape]:
    """So many shapes, by name: a third in groups, of which half are depthwise."""
    import numpy as np

    rng = np.random.default_rng(0)
    found: dict[str, Shape] = {}

    def between(low: int, high: int) -> int:
        return int(np.rint(low * (high / low) ** rng.random()))

    while len(found) < count:
        batch, channels, filters = between(1, 64), between(3, 512), between(3, 512)
        size, window = between(4, 64), (1, 3, 5, 7)[rng.integers(4)]
        stride, dilation = (1, 1, 2)[rng.integers(3)], (1, 1, 1, 2)[rng.integers(4)]
        padding = (dilation * (window - 1) // 2) * int(rng.integers(2))
        groups = (1, 1, 1, 1, 2 ** int(rng.integers(1, 6)), channels)[rng.integers(6)]
        if groups == channels:
            filters = channels
        elif groups > 1:
            channels, filters = (-(-one // groups) * groups for one in (channels, filters))
        image = (batch, channels, size, size)
        shape: Shape = (image, filters, (window, window), stride, padding, dilation, groups)
        if min(places(shape)) < 1 or products(shape) > MOST_PRODUCTS:
            continue
        height, width = places(shape)
        if max(batch * channels * size * size, batch * filters * height * width) > MOST_ELEMENTS:
            continue
        found[described(shape)] = shape
    return found


def described(shape: Shape) -> str:
    """What a shape is called that has no name."""
    image, filters, window, stride, padding, dilation, groups = shape
    options = {"by": (stride, 1), "padding": (padding, 0), "dilation": (dilation, 1)}
    words = [f"{name} {value}" for name, (value, usual) in options.items() if value != usual]
    if groups > 1:
        words.append("depthwise" if groups == image[1] == filters else f"{groups} groups")
    whole = f"{image[0]}: {image[1]} of {image[2]}x{image[3]} to {filters}"
    return " ".join([whole, f"{window[0]}x{window[1]}", *words])


def arrays(shape: Shape) -> tuple[Any, Any, Any]:
    """The image, the weight, and a cotangent of the result."""
    import numpy as np

    image, filters, window, *_, groups = shape
    weight = (filters, image[1] // groups, *window)
    rng = np.random.default_rng(0)
    found = (
        rng.standard_normal(size).astype("float32")
        for size in (image, weight, (image[0], filters, *places(shape)))
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


def contender(kind: str, shapes: Mapping[str, Any]) -> tuple[Any, dict[str, Callable[[], Any]]]:
    """For each part a few numbers that depend on all of the result, and the calls."""
    import numpy as np

    report, steps = {}, {}
    for name, (image, filters, window, *options) in shapes.items():
        shape: Any = (tuple(image), filters, tuple(window), *options)
        for part, call in zip(PARTS, CONTENDERS[kind](shape), strict=True):
            found = call().astype("float64").ravel()
            weights = np.cos(np.arange(found.size))
            report[f"{name}, {part}"] = [float(np.linalg.norm(found)), float(found @ weights)]
            steps[f"{name}, {part}"] = call
    return report, steps


def apart(one: list[float], other: list[float]) -> float:
    """How far two results are apart, relative to their norm."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) / max(other[0], 1e-30)


def kinds(shape: Shape) -> Iterator[str]:
    """The rows of the summary that a shape is counted in."""
    image, _, window, stride, _, dilation, groups = shape
    yield "all"
    if groups > 1:
        yield "depthwise" if groups == image[1] else "in groups"
    else:
        yield "windows of 1 x 1" if window == (1, 1) else "larger windows"
    if stride > 1:
        yield "with strides"
    if dilation > 1 and window != (1, 1):
        yield "dilated"
    if max(image[2:]) <= 8:
        yield "images of at most 8 x 8"
    if image[0] <= 2:
        yield "one image or two"


def summary(records: Sequence[Mapping[str, Any]], other: str) -> list[list[str]]:
    """For each kind of shape the ratios to another's time: geometric means, and the worst."""
    found: dict[str, dict[str, list[float]]] = {}
    for record in records:
        for kind in kinds(record["shape"]):
            ratios = found.setdefault(kind, {part: [] for part in PARTS})
            ratios[record["part"]].append(record["ratios"][other])
    rows = []
    for kind, parts in sorted(found.items(), key=lambda one: -len(one[1][PARTS[0]])):
        every = [ratio for ratios in parts.values() for ratio in ratios]
        means = (statistics.geometric_mean(ratios) for ratios in parts.values())
        above = sum(ratio > 1 for ratio in every) / len(every)
        rows.append([
            kind, str(len(parts[PARTS[0]])), *(f"{mean:.2f}" for mean in means),
            f"{max(every):.2f}", f"{above:.0%}",
        ])  # fmt: skip
    return rows


SUMMARY = ("kind", "shapes", *PARTS, "worst", "above 1")


def page(records: Sequence[Mapping[str, Any]], heads: Sequence[str], command: str) -> str:
    """The page: a summary, and the table with the worst first."""
    from staticgraph.compare.scripts import markdown

    other = next(iter(records[0]["ratios"]))
    ordered = sorted(records, key=lambda record: -record["ratios"][other])
    return (
        "# Convolutions\n\nOurs, compiled, against PyTorch's: minima of calls in turn, each"
        f" contender in a process of its own.\nWritten by `{command}`.\n\n"
        "Ratios of the times, geometric means:\n\n"
        + markdown(SUMMARY, summary(records, other))
        + "\n"
        + markdown(heads, [cells(record) for record in ordered])
    )


def cells(record: Mapping[str, Any]) -> list[str]:
    """The cells of a record's row."""
    minima, ratios = record["minima"], record["ratios"]
    speed = 2 * products(record["shape"]) / minima["ours"] / 1e9
    return [
        record["step"], *(f"{one * 1e3:.3f}" for one in minima.values()), f"{speed:.0f}",
        *(f"{ratio:.2f}" for ratio in ratios.values()), f"{record['apart']:.0e}",
    ]  # fmt: skip


def entrants(options: Any, shapes: Mapping[str, Shape]) -> list[Any]:
    """Who takes part."""
    from staticgraph.compare.scripts import Entrant

    kind, threads = "eager" if options.eager else "compiled", options.threads
    found = [Entrant("ours", [kind, shapes], threads=threads)]
    if options.torch:
        found.append(Entrant("torch", ["torch", shapes], options.torch, threads))
    if options.before:
        root = options.before.resolve()
        found.append(Entrant("before", [kind, shapes], threads=threads, root=root))
    return found


def measured(options: Any, shapes: Mapping[str, Shape]) -> Iterator[dict[str, Any]]:
    """A record for each shape and part."""
    from staticgraph.compare.scripts import raced, running

    steps = {f"{name}, {part}": (name, part) for name, part in itertools.product(shapes, PARTS)}
    with running(__file__, entrants(options, shapes)) as processes:
        others = [label for label in processes if label != "ours"]
        turns = raced(processes, list(steps), options.rounds, options.seconds, PAUSE)
        for step, times in turns:
            ours, report = times["ours"].minimum, processes["ours"].report[step]
            far = max((apart(report, processes[o].report[step]) for o in others), default=0.0)
            name, part = steps[step]
            yield {
                "step": step, "shape": shapes[name], "part": part, "threads": options.threads,
                "apart": far,
                "ratios": {label: ours / times[label].minimum for label in others},
                "minima": {label: one.minimum for label, one in times.items()},
            }  # fmt: skip


def main() -> None:
    """The command line."""
    from staticgraph.compare.scripts import parser, show, write_json

    given = parser(__doc__, rounds=3, seconds=0.1)
    given.add_argument("names", nargs="*", metavar="NAME", help="shapes that begin like this")
    given.add_argument("--count", type=int, default=0, help="so many shapes drawn at random, too")
    given.add_argument("--torch", help="an interpreter whose environment has PyTorch")
    given.add_argument("--before", type=Path, help="a checkout of another version")
    given.add_argument("--eager", action="store_true", help="measure `dynamic`")
    given.add_argument("--threads", type=int, default=2)
    given.add_argument("--json", type=Path, help="where to write the figures")
    given.add_argument("--markdown", type=Path, help="where to write the page")
    options = given.parse_args()
    every, wanted = {**SHAPES, **drawn(options.count)}, tuple(options.names)
    shapes = {name: one for name, one in every.items() if not wanted or name.startswith(wanted)}
    records = list(measured(options, shapes))
    labels, others = records[0]["minima"], records[0]["ratios"]
    heads = (
        "shape", *(f"{label}, ms" for label in labels), "GFLOP/s",
        *(f"ours / {label}" for label in others), "apart",
    )  # fmt: skip
    threads = options.threads
    show(f"convolutions, {threads} threads: minima", heads, [cells(one) for one in records])
    for label in others:
        show(f"ours / {label}: geometric means", SUMMARY, summary(records, label))
    if options.json:
        write_json(options.json, records)
    if options.markdown:
        command = shlex.join(["python", *sys.argv])
        if options.torch:
            command = command.replace(options.torch, "PATH/TO/PYTHON")
        options.markdown.write_text(page(records, heads, command), encoding="utf-8")


if __name__ == "__main__":
    main()
