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
    return Finding(
        TRUE if right and len(f.traces) == 1 and add_node and remove_node else PARTLY,
        (
            (f"calls with new values at {len(sizes)} batch sizes", f"{len(f.traces)} graph"),
            ("adding a node to it", add_node),
            ("taking one away", remove_node),
            ("a copy of its networkx graph", f"{len(changed)} nodes, free to be changed"),
        ),
        "It is defined and compiled once and serves other values and sizes. It cannot be modified, "
        "which is why it can be planned, cached and shared by threads; variables in it can be "
        "given new values, and another graph is made by defining it.",
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
NOTHING = "nothing"
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
    text = text or "; ".join(str(one.message).splitlines()[0] for one in caught)
    return re.sub(r"[^ (`]*/planted\.py", "planted.py", text)


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
    return Finding(
        PARTLY if apart < 1e-9 and (not captured or GROWING in captured) else FALSE,
        (
            ("Python's while on a value, captured", captured or "captured"),
            ("sg.while_loop and sg.cond: largest difference", f"{apart:.0e}"),
            ("eager", duration(eager.minimum)),
            ("compiled", duration(static.minimum)),
            ("graphs for three lengths", str(len(fast.traces))),
        ),
        "Eager code branches and loops as Python does; that is its gift. A static graph has loops "
        "and branches too, as ops that have to be written, and are compiled and differentiated: "
        f"here the loop takes {static.minimum / eager.minimum:.3f} of the time. Python's own "
        "branch on a value is not frozen into the graph in silence: it is refused, or kept as a "
        "branch.",
    )


def debugging(_setup: Setup) -> Finding:
    """Not a number, made at one line of a function, looked for in either paradigm."""
    with planted() as module:
        return _debugging(module.broken)


def _debugging(broken: Callable[[Any], Any]) -> Finding:
    array = np.array([0.5, 2.0])
    x = dynamic.tensor(array, requires_grad=True)

    def anomaly() -> None:
        with dynamic.autograd.detect_anomaly():
            broken(x).backward()

    placed = sg.placeholder("x", (None,), "float64")
    out = broken(placed)
    plain = sg.compile([placed], out)
    told = _told(lambda: sg.compile([placed], out, debug=True)(array))
    watched = _told(lambda: sg.compile([placed], out, on_nonfinite="raise")(array))
    wide = sg.placeholder("w", (3, 4))
    named = BROKEN in told and BROKEN in watched
    return Finding(
        PARTLY if named else TRUE,
        (
            ("eager: a nan comes out, and is said", _told(lambda: broken(x)) or NOTHING),
            ("eager, in detect_anomaly", _told(anomaly) or NOTHING),
            ("compiled: a nan comes out, and is said", _told(lambda: plain(array)) or NOTHING),
            ("compiled with debug=True", told or NOTHING),
            ('compiled with on_nonfinite="raise", in native code', watched or NOTHING),
            ("the line stands in the kernel's text", "yes" if BROKEN in plain.source else "no"),
            ("wrong shapes, static: when it is defined", raised(lambda: wide @ wide)),
            (
                "wrong shapes, eager: when it is run",
                raised(lambda: dynamic.ones(3, 4) @ dynamic.ones(3, 4)),
            ),
        ),
        "Eager code can be stepped through with any debugger, and its traceback is the program's "
        "own; but a nan travels on there as well, at best with a warning that names no line. The "
        "graph here keeps the user's line with every node, "
        + (
            "and debug=True or on_nonfinite names it, with the op"
            if named
            else "but it was not named"
        )
        + "; wrong shapes are found before anything runs. That a static graph is a black box is a "
        "property of frameworks that lose those lines ([debugging](debugging.md)).",
    )
