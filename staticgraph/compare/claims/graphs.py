"""Claims about the graph itself: what is fixed, what can be changed, what a debugger sees."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.compare.claims.records import FALSE, PARTLY, TRUE, Finding, Setup, raised
from staticgraph.compare.report.numbers import duration
from staticgraph.compare.scripts import called_in_turn
from staticgraph.compare.server import load_module


def defined_once(setup: Setup) -> Finding:
    """Other values, other sizes, and attempts to modify."""
    f = sg.function(lambda x, w: sg.sum(sg.tanh(x @ w) ** 2), name="f")
    rng = np.random.default_rng(0)
    w = rng.standard_normal(8)
    sizes = (3, 5, 17, 100, 2000)
    right = True
    for n in sizes:
        x = rng.standard_normal((n, 8))
        right &= bool(np.isclose(f(x, w), (np.tanh(x @ w) ** 2).sum()))
    executable = f.executable(rng.standard_normal((3, 8)), w)
    add_node = raised(lambda: executable.graph.add_node(99))
    remove_node = raised(lambda: executable.graph.remove_node(0))
    changed = nx.MultiDiGraph(executable.graph)
    once, fixed = right and len(f.traces) == 1, bool(add_node and remove_node)
    return Finding(
        TRUE if once and fixed else PARTLY if once or fixed else FALSE,
        (
            (f"calls with new values at {len(sizes)} batch sizes", f"{len(f.traces)} graph"),
            ("adding a node to it", add_node or DONE),
            ("taking one away", remove_node or DONE),
            ("a copy of its networkx graph", f"{len(changed)} nodes, free to be changed"),
        ),
        (
            "It is defined and compiled once and serves other values and sizes."
            if once
            else f"It took {len(f.traces)} graphs, and the values were "
            f"{'right' if right else 'wrong'}."
        )
        + (
            " It cannot be modified, which is why it can be planned, cached and shared by threads"
            if fixed
            else " It can be modified"
        )
        + "; variables in it can be given new values, and another graph is made by defining it.",
    )


PLANTED = """\
import dynamic
import staticgraph as sg


def grown(x):
    while x.norm() < 100:
        x = x * 1.5
    return dynamic.where(x.sum() > 0, x, -x)


def grown_static(x):
    x = sg.while_loop(lambda v: sg.sqrt(sg.sum(v * v)) < 100, lambda v: v * 1.5, x)
    return sg.cond(sg.sum(x) > 0, lambda v: v, lambda v: -v, x)


def broken(x):
    shifted = x - 1.0
    logs = sg.log(shifted)
    return sg.sum(logs * 2.0)
"""
"""The functions that are captured, as a user's file: lines of the project's own are not named."""
NOTHING, DONE = "nothing", "done"
GROWING, BROKEN = "planted.py:6", "planted.py:18"


@contextmanager
def planted() -> Iterator[Any]:
    """The module of that file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "planted.py"
        path.write_text(PLANTED)
        yield load_module(str(path))


def _told(act: Callable[[], object]) -> str:
    """What is raised or warned, in a line, without the folder of the file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = raised(act, whole=True)
    text = text or "; ".join(map(_warned, caught))
    return re.sub(r"[^ (`]*/planted\.py", "planted.py", text)


def _warned(one: warnings.WarningMessage) -> str:
    """A warning, after its line if that is in the file."""
    place = f"{one.filename}:{one.lineno}: " if one.filename.endswith("planted.py") else ""
    return place + " ".join(str(one.message).splitlines()[0].split())


def flexible(setup: Setup) -> Finding:
    """A loop whose length depends on values, and a branch."""
    with planted() as module:
        return _flexible(setup, module.grown, module.grown_static)


def _flexible(
    setup: Setup, by_python: Callable[[Any], Any], by_graph: Callable[[Any], Any]
) -> Finding:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(16) * scale for scale in (0.01, 1, 50)]
    captured = _told(lambda: sg.function(by_python)(dynamic.tensor(arrays[0])))
    fast = sg.function(by_graph)
    apart = max(float(np.abs(by_python(dynamic.tensor(x)).numpy() - fast(x)).max()) for x in arrays)
    tensor = dynamic.tensor(arrays[0])
    eager, static = called_in_turn(
        [lambda: by_python(tensor), lambda: fast(arrays[0])], setup.seconds, 0.01
    )
    right, kept = apart < 1e-9, not captured or GROWING in captured
    return Finding(
        PARTLY if right and kept else TRUE,
        (
            ("Python's while on a value, captured", captured or "captured"),
            ("sg.while_loop and sg.cond: largest difference", f"{apart:.0e}"),
            ("eager", duration(eager.minimum)),
            ("compiled", duration(static.minimum)),
            ("graphs for three lengths", str(len(fast.traces))),
        ),
        "Eager code branches and loops as Python does; that is its gift. A static graph has loops "
        "and branches too, as ops that have to be written: compiled, the loop takes "
        f"{static.minimum / eager.minimum:.3f} of the time here, with "
        f"{'the same' if right else 'other'} values. "
        + (_kept(captured) if kept else "Python's own loop was refused without its line."),
    )


def _kept(captured: str) -> str:
    """What becomes of Python's own loop."""
    if captured:
        return "Python's own loop on a value is not frozen into the graph: it is refused, by line."
    return "Python's own loop on a value is captured as it stands."


def debugging(_setup: Setup) -> Finding:
    """Not a number, made at one line of a function, looked for in either paradigm."""
    with planted() as module:
        return _debugging(module.broken)


def _debugging(broken: Callable[[Any], Any]) -> Finding:
    array = np.array([0.5, 2.0])

    def as_it_comes() -> None:
        for values in (array + 1, array):  # a loss that is finite, then the one that is not
            broken(dynamic.tensor(values, requires_grad=True)).backward()

    def anomaly() -> None:
        with dynamic.autograd.detect_anomaly():
            as_it_comes()

    placed = sg.placeholder("x", (None,), "float64")
    scale = sg.variable(np.ones(2), "scale")
    out = broken(placed * scale)
    updates = sg.optim.SGD(lr=0.1).minimize(out)
    eager = _told(as_it_comes)
    trained = _told(lambda: sg.compile([placed], out, updates)(array))
    scale.value = np.ones(2)
    told = _told(lambda: sg.compile([placed], out, debug=True)(array))
    watched = _told(lambda: sg.compile([placed], out, on_nonfinite="raise")(array))
    wide = sg.placeholder("w", (3, 4))
    shapes = raised(lambda: wide @ wide)
    by_tools = BROKEN in told and BROKEN in watched
    return Finding(
        PARTLY if by_tools else TRUE,
        (
            ("eager, the loss becomes nan: backward() says", eager or NOTHING),
            ("eager, in detect_anomaly", _told(anomaly) or NOTHING),
            ("compiled, the same in a training step: the call says", trained or NOTHING),
            ("compiled with debug=True", told or NOTHING),
            ('compiled with on_nonfinite="raise", in native code', watched or NOTHING),
            ("the line stands in the kernel's text",
             "yes" if BROKEN in sg.compile([placed], out).source else "no"),
            ("wrong shapes, static: when it is defined", shapes or NOTHING),
            ("wrong shapes, eager: when it is run",
             raised(lambda: dynamic.ones(3, 4) @ dynamic.ones(3, 4)) or NOTHING),
        ),
        "Eager code can be stepped through with any debugger, and its traceback is the program's "
        f"own; a nan travels on there, and backward() names {_line(eager)}. The graph here keeps "
        f"the user's line with every node: a training step that gives nan names {_line(trained)}, "
        f"debug=True {_line(told)}, and on_nonfinite {_line(watched)}"
        + ("; wrong shapes are found before anything runs. " if shapes else ". ")
        + (
            "That a static graph is a black box is a property of frameworks that lose those lines "
            "([debugging](debugging.md))."
            if by_tools
            else ""
        ),
    )  # fmt: skip


def _line(told: str) -> str:
    return "the line" if BROKEN in told else "no line"
