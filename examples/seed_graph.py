"""The graph of z = x*x + sin(2y) at x = 4, y = 3.14159265, with values and gradients.

Both paradigms compute it: z = 16, dz/dx = 8, dz/dy = 2. The drawing has the value of each node in
green, and the gradient of z with respect to it in blue.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import dynamic
import staticgraph as sg
from staticgraph.draw import draw

X, Y = 4.0, 3.14159265
NAMES = ("x", "y", "x*x", "2y", "sin(2y)", "z")


@dataclass(frozen=True)
class Result:
    """The values of the nodes in the order of NAMES, and the gradients of z."""

    values: list[float]
    gradients: list[float]


def compiled(pictures: Sequence[Path]) -> Result:
    """Define the graph, compile it, run it, and draw it with what came out."""
    x, y = sg.placeholder("x"), sg.placeholder("y")
    square, double = x * x, 2 * y
    sine = sg.sin(double)
    z = square + sine
    nodes = [x, y, square, double, sine, z]
    run = sg.compile([x, y], [*nodes, *sg.grad(z, nodes)])
    results = run(X, Y)
    values = dict(zip(nodes, results[: len(nodes)], strict=True))
    gradients = dict(zip(nodes, results[len(nodes) :], strict=True))
    for picture in pictures:
        draw(z, picture, values=values, gradients=gradients, title="z = x*x + sin(2y)")
    return Result([float(v) for v in values.values()], [float(g) for g in gradients.values()])


def eager() -> Result:
    """Compute z; the graph comes into being on the way."""
    x = dynamic.tensor(X, requires_grad=True)
    y = dynamic.tensor(Y, requires_grad=True)
    square, double = x * x, 2 * y
    sine = dynamic.sin(double)
    z = square + sine
    nodes = [x, y, square, double, sine, z]
    for node in nodes:
        node.retain_grad()
    z.backward()
    return Result([node.item() for node in nodes], [node.grad.item() for node in nodes])


def main(argv: Sequence[str] | None = None) -> tuple[Result, Result]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="directory for the pictures")
    out: Path = parser.parse_args(argv).out
    out.mkdir(parents=True, exist_ok=True)
    pictures = [out / "seed_graph.svg", out / "seed_graph.png"]
    results = compiled(pictures), eager()
    table = Table(title=f"z = x*x + sin(2y) at x = {X:g}, y = {Y}")
    for column in ("node", "value", "value, eager", "gradient", "gradient, eager"):
        table.add_column(column, justify="left" if column == "node" else "right")
    static, tape = results
    rows = zip(NAMES, static.values, tape.values, static.gradients, tape.gradients, strict=True)
    for name, *figures in rows:
        table.add_row(name, *(f"{figure:.8g}" for figure in figures))
    console = Console()
    console.print(table)
    console.print("Drawings:", *map(str, pictures), soft_wrap=True)
    return results


if __name__ == "__main__":
    main()
