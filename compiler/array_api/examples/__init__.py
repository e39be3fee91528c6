"""The examples of the standard's functions: one call, and what both frontends print of it.

In the texts of the modules `>` begins what is typed with `xp` for the namespace, `t` what is shown
of tensors, `e` what is shown of expressions, and `r` how an expression is run (`sg.run(_)` where it
is not said).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import NamedTuple

from staticgraph.compiler.array_api.examples import (
    arrays,
    elementwise,
    linear_algebra,
    reductions,
    transforms,
)
from staticgraph.compiler.core.values import Value

_TITLE = "\n\nExample:\n    "


class Example(NamedTuple):
    """An example.

    Attributes:
        typed: the call.
        run: how what it returns is run if it is an expression, with `_` in its place.
        tensors: the lines that are shown with tensors.
        expressions: those with expressions; none where the namespace of these has no such function.
    """

    typed: str
    run: str
    tensors: tuple[str, ...]
    expressions: tuple[str, ...]


def read(text: str) -> Iterator[tuple[str, Example]]:
    """The examples in a text, by the function that each is of: `add`, `linalg.inv`."""
    for block in text.strip().split("\n\n"):
        lines: dict[str, list[str]] = {">": [], "r": ["sg.run(_)"], "t": [], "e": []}
        for line in block.split("\n"):
            lines[line[0]].append(line[2:])
        (typed,) = lines[">"]
        name = typed.removeprefix("xp.").partition("(")[0]
        yield name, Example(typed, lines["r"][-1], tuple(lines["t"]), tuple(lines["e"]))


EXAMPLES: Mapping[str, Example] = {
    name: example
    for module in (arrays, elementwise, linear_algebra, reductions, transforms)
    for name, example in read(module.EXAMPLES)
}


def document(functions: Mapping[str, Value], *, of_tensors: bool, place: str = "") -> None:
    """Add its example to the documentation of each function, in the stead of any that it has."""
    package = "dynamic" if of_tensors else "sg"
    for name, function in functions.items():
        found = EXAMPLES[place + name]
        typed = found.typed if of_tensors else found.run.replace("_", found.typed)
        shown = found.tensors if of_tensors else found.expressions
        lines = "\n    ".join((f">>> xp = {package}.xp", f">>> {typed}", *shown))
        about = cleandoc(function.__doc__).partition(_TITLE.rstrip())[0].rstrip()
        function.__doc__ = f"{about}{_TITLE}{lines}\n"
