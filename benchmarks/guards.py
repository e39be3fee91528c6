"""What the checks of a captured function take in a call: the table of docs/decisions/guards.md.

    python benchmarks/guards.py           # prints it
    python benchmarks/guards.py write     # puts it into the page

Each row is a function that reads one kind of thing around it. The time is what `explain().cost`
measures, the minimum of several runs: all that is compared in a call. "-" is what there is not.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dynamic
import staticgraph as sg

PAGE = Path(__file__).resolve().parent.parent / "docs" / "decisions" / "guards.md"
BEGIN, END = "<!-- costs: python benchmarks/guards.py write -->\n", "<!-- end of costs -->\n"
Make = Callable[[Any], Callable[..., Any]]
RATE = 2.0


def _function_of_sizes(first: int) -> Callable[..., Any]:
    """A function that reads an array of so many elements that it has closed over."""
    array = np.ones(first, "float32")
    return lambda x: x * array[:1] if first < 1000 else x + array[:1]


def _of_tensor(first: int) -> Callable[..., Any]:
    tensor = dynamic.ones(first)
    return lambda x: x * tensor[:1]


def _of_module(layers: int, hooked: bool = False) -> Callable[..., Any]:
    parts = [dynamic.nn.Linear(1, 1) for _ in range(layers)]
    model = dynamic.nn.Sequential(*parts)
    if hooked:
        for one in parts:
            one.register_forward_hook(lambda module, args, result: result * RATE)
    return lambda x: model(x)


def _of_step(layers: int) -> Callable[..., Any]:
    model = dynamic.nn.Sequential(*[dynamic.nn.Linear(1, 1) for _ in range(layers)])
    optimizer = dynamic.optim.Adam(model.parameters())

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


@dataclasses.dataclass
class Config:
    """What functions read."""

    rate: float = 2.0
    weights: Any = None


class Constants:
    """What functions read of a class."""

    rate = 2.0


def _cell() -> Callable[..., Any]:
    rate = 2.0
    return lambda x: x * rate


def _default(x: Any, rate: float = 2.0) -> Any:
    return x * rate


def _attribute() -> Callable[..., Any]:
    config = Config()
    return lambda x: x * config.rate


def _weights() -> Callable[..., Any]:
    config = Config(weights=np.ones(10**6, "float32"))
    return lambda x: x * config.weights[:1]


def _items() -> Callable[..., Any]:
    table, rates = {"rate": 2.0, "other": 1.0}, [2.0, 3.0]
    return lambda x: x * table["rate"] * rates[1]


def _pair() -> Callable[..., Any]:
    pair = np.ones(10**6, "float32"), np.ones(10**6, "float32")
    return lambda x: x * pair[0][:1] + pair[1][:1]


def _deep() -> Callable[..., Any]:
    config = types.SimpleNamespace(a=types.SimpleNamespace(b=types.SimpleNamespace(rate=2.0)))
    return lambda x: x * config.a.b.rate


def _size(x: Any) -> Any:
    return x * len(x) * {1: 2.0}[x.shape[0]]


def _element(elements: int) -> Callable[..., Any]:
    array = np.ones(elements, "float32")
    return lambda x: x * float(array[0])


def _made_by_numpy(elements: int) -> Callable[..., Any]:
    array = np.ones(elements, "float32")
    return lambda x: x * ((array > 0) & (array < 2))[:1].astype("float32")


def _all_elements(elements: int) -> Callable[..., Any]:
    array = np.ones(elements, "float32")
    return lambda x: x * float(array.max())


def kinds() -> Iterator[tuple[str, Callable[[], Callable[..., Any]], bool]]:
    """What is read, how to make a function that does, and whether it is one of tensors alone."""
    yield "a number that is closed over", _cell, False
    yield "a global", lambda: lambda x: x * RATE, False
    yield "a default argument", lambda: _default, False
    yield "an attribute of an object", _attribute, False
    yield "an attribute of an attribute of an attribute", _deep, False
    yield "an attribute of a class", lambda: lambda x: x * Constants.rate, False
    yield "an item of a dict, and one of a list", _items, False
    yield "sizes of the argument", lambda: _size, False
    for power in range(1, 8):
        elements = 10**power
        yield f"an array of {elements:,} elements", _made(_function_of_sizes, elements), False
    yield "an array of 1,000,000 elements in an attribute", _weights, False
    yield "two such in a tuple", _pair, False
    yield "a tensor of 10 elements", _made(_of_tensor, 10), True
    yield "a tensor of 10,000,000 elements", _made(_of_tensor, 10**7), True
    yield "a module with 2 parameters", _made(_of_module, 1), True
    yield "a module with 100 parameters", _made(_of_module, 50), True
    yield "the same, with a hook on each layer", lambda: _of_module(50, True), True
    yield "a training step on 10 parameters, with Adam", _made(_of_step, 5), True
    yield "a training step on 100 parameters, with Adam", _made(_of_step, 50), True
    yield "one element of 1,000,000, as a number: `float(a[0])`", _made(_element, 10**6), False
    yield "what NumPy makes of 1,000,000: `(a > 0) & (a < 2)`", _made(_made_by_numpy, 10**6), False
    yield "all of 1,000, as a number: `float(a.max())`", _made(_all_elements, 1000), False
    yield "all of 1,000,000", _made(_all_elements, 10**6), False


def _made(make: Callable[[int], Callable[..., Any]], given: int) -> Callable[[], Any]:
    return lambda: make(given)


def cost(f: Callable[..., Any], x: Any) -> float:
    """The seconds that the checks of a function take in a call."""
    captured = sg.function(f)
    for _ in range(3):
        captured(x)
    return min(captured.explain().cost for _ in range(3))


def table() -> str:
    """The table, in microseconds."""
    lines = ["| what the function reads | of arrays | of tensors |", "|---|---|---|"]
    for name, make, alone in kinds():
        given = [None if alone else np.ones(1, "float32"), dynamic.ones(1, 1)]
        found = ["-" if x is None else f"{cost(make(), x) * 1e6:.2f}" for x in given]
        lines.append(f"| {name} | {' | '.join(found)} |")
    return "\n".join(lines) + "\n"


def main(write: bool) -> None:
    """Print the table, or put it into the page."""
    made = table()
    if not write:
        print(made, end="")
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{made}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main(sys.argv[1:] == ["write"])
