"""Claims about the graph itself: what is fixed, what can be changed, what a debugger sees."""

from __future__ import annotations

import re
from typing import Any

import dynamic
import networkx as nx
import numpy as np

import staticgraph as sg
from staticgraph.compare.claims.records import FALSE, PARTLY, TRUE, Finding, Setup, raised
from staticgraph.compare.report.numbers import duration
from staticgraph.compare.scripts import called_in_turn

FILE = re.compile(r"graphs\.py:\d+|graphs\.py\", line \d+")


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
    assign = raised(lambda: setattr(executable, "definition", None))
    changed = nx.MultiDiGraph(executable.graph)
    return Finding(
        TRUE if right and len(f.traces) == 1 and add_node and assign else PARTLY,
        (
            (f"calls with new values at {len(sizes)} batch sizes", f"{len(f.traces)} graph"),
            ("adding a node to it", add_node),
            ("giving it another definition", assign),
            ("a copy of its networkx graph", f"{len(changed)} nodes, free to be changed"),
        ),
        "It is defined and compiled once and serves other values and sizes. It cannot be modified, "
        "which is why it can be planned, cached and shared by threads; variables in it can be "
        "given new values, and another graph is made by defining it.",
    )


def flexible(setup: Setup) -> Finding:
    """A loop whose length depends on values, and a branch."""

    def by_python(x: Any) -> Any:
        while x.norm() < 100:
            x = x * 1.5
        return dynamic.where(x.sum() > 0, x, -x)

    def by_graph(x: Any) -> Any:
        grown = sg.while_loop(
            lambda v: sg.sqrt(sg.sum(v * v)) < 100, lambda v: v * 1.5, x
        )
        return sg.cond(sg.sum(grown) > 0, lambda v: v, lambda v: -v, grown)

    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(16) * scale for scale in (0.01, 1, 50)]
    captured = raised(lambda: sg.function(by_python)(dynamic.tensor(arrays[0])))
    fast = sg.function(by_graph)
    apart = max(
        float(np.abs(by_python(dynamic.tensor(x)).numpy() - fast(x)).max()) for x in arrays
    )
    tensor = dynamic.tensor(arrays[0])
    eager, static = called_in_turn(
        [lambda: by_python(tensor), lambda: fast(arrays[0])], setup.seconds, 0.01
    )
    return Finding(
        PARTLY if apart < 1e-9 else FALSE,
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
    """Not a number, made at one line of a function, found in either paradigm."""

    def broken(x: Any) -> Any:
        shifted = x - 1.0
        logs = sg.log(shifted)  # the line that is to be named
        return sg.sum(logs * 2.0)

    line = broken.__code__.co_firstlineno + 2
    array = np.array([0.5, 2.0])
    x = dynamic.tensor(array, requires_grad=True)
    silent = f"{broken(x).item()}"

    def anomaly() -> None:
        with dynamic.autograd.detect_anomaly():
            y = broken(x)
            (y * dynamic.tensor(float("nan"))).backward()

    placed = sg.placeholder("x", (None,), "float64")
    out = broken(placed)
    plain = sg.compile([placed], out)
    debug = sg.compile([placed], out, debug=True)
    told = _all_text(lambda: debug(array))
    listing = f"graphs.py:{line}" in plain.source
    wide = sg.placeholder("w", (3, 4))
    early = raised(lambda: wide @ wide)
    late = raised(lambda: dynamic.ones(3, 4) @ dynamic.ones(3, 4))
    named = f"graphs.py:{line}" in told
    return Finding(
        PARTLY if named else TRUE,
        (
            ("eager: the value", f"{silent}, and no word of where"),
            ("eager, detect_anomaly", _warned(anomaly)),
            ("compiled: the value", f"{float(plain(array))}, and no word of where"),
            ("compiled with debug=True", told or "no word"),
            ("the line stands in the kernel's text", "yes" if listing else "no"),
            ("wrong shapes, static: when it is defined", early),
            ("wrong shapes, eager: when it is run", late),
        ),
        "Eager code can be stepped through, and its traceback is the program's own; but a nan "
        "travels on in silence there as well. The graph here keeps the user's line with every node, "
        + ("and debug=True names it, with the op" if named else "but debug=True did not name it")
        + "; wrong shapes are found before anything runs. That a static graph is a black box is a "
        "property of frameworks that lose those lines.",
    )


def _all_text(act: Any) -> str:
    """What is raised or warned, in a line."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = raised(act)
    return text or "; ".join(str(one.message).splitlines()[0] for one in caught)


def _warned(act: Any) -> str:
    text = _all_text(act)
    return text if len(text) < 160 else text[:157] + "..."
