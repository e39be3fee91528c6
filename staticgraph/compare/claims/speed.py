"""Claims about time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.compare.adapters import compiled, eager
from staticgraph.compare.claims import slices
from staticgraph.compare.claims.records import (
    FALSE,
    PARTLY,
    TRUE,
    Finding,
    Setup,
    raised,
    shortened,
)
from staticgraph.compare.figures import Ahead, break_even, geometric_mean
from staticgraph.compare.report.numbers import duration
from staticgraph.compare.scripts import Entrant, called_in_turn, raced, running
from staticgraph.compare.server import Phases
from staticgraph.compare.workloads import WORKLOADS
from staticgraph.compiler.core.settings import CACHE

MEASURED = ("seed", "mlp_small", "rnn", "elementwise", "mlp_large")
SAME = 1.25  # a ratio below which the same is said of two times
SLOW = 3.0  # a ratio from which one is called slow
LITTLE = 0.02  # the share of a time below which nothing is said to be measured
CLOSE = 1e-4  # the relative difference of float32 below which two gradients are the same
TURN = 0.02  # seconds


def faster(setup: Setup) -> Finding:
    """Eager and compiled on workloads from two scalars to large matrix products."""
    with _empty_cache():
        return _faster(setup)


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Kernels are compiled anew, as for a function that is new."""
    before = os.environ.get(CACHE.name)
    os.environ[CACHE.name] = "0"
    try:
        yield
    finally:
        del os.environ[CACHE.name]
        if before is not None:
            os.environ[CACHE.name] = before


def _faster(setup: Setup) -> Finding:
    figures, ratios, paid = [], {}, {}
    for name in MEASURED:
        workload = WORKLOADS[name]
        runs, once = [], []
        for package, adapter in ((sg, compiled), (dynamic, eager)):
            arrays = workload.data(np.random.default_rng(0))
            start = time.perf_counter()
            run, _ = adapter.prepare(package, {}, workload, arrays, Phases())
            run()
            once.append(time.perf_counter() - start)
            runs.append(run)
        ours, other = called_in_turn(runs, setup.seconds, TURN)
        ratios[name] = other.minimum / ours.minimum
        ahead = break_even(once[0], ours.minimum, once[1], other.minimum)
        paid[name] = _paid(ahead)
        figures.append(
            (
                workload.TITLE,
                f"eager {duration(other.minimum)}, compiled {duration(ours.minimum)}: "
                f"{ratios[name]:.1f} times; compiling {paid[name]}",
            )
        )
    mean = geometric_mean(list(ratios.values()))
    most, least = max(ratios, key=lambda x: ratios[x]), min(ratios, key=lambda x: ratios[x])
    slower = [name for name, ratio in ratios.items() if ratio < 1 / SAME]
    even = [name for name, ratio in ratios.items() if 1 / SAME <= ratio < SAME]
    holds = FALSE if slower and mean < 1 else PARTLY if slower or even else TRUE
    return Finding(
        holds,
        tuple(figures),
        f"Compiled calls take {1 / mean:.2g} of the time in the geometric mean: eager takes from "
        f"{ratios[least]:.1f} ({least}) to {ratios[most]:.1f} ({most}) times as long. "
        + _named("Slower compiled: ", slower)
        + _named("About the same: ", even)
        + "What can be saved is Python, the tape and the passes over memory between small ops; the "
        "time inside of large matrix products stays. And the graph has to be compiled first: a "
        "script that runs it fewer times than stated is faster without.",
    )


def _paid(ahead: Ahead) -> str:
    """After how many calls compiling has paid, in words."""
    if ahead.first is None:
        return "never pays"
    return f"has paid after {ahead.first:,} call{'' if ahead.first == 1 else 's'}"


def _named(what: str, names: Sequence[str]) -> str:
    return f"{what}{', '.join(names)}. " if names else ""


def _compared(ratio: float, than: str) -> str:
    """How long one takes, given as a share of the time of another."""
    if ratio >= SAME:
        return f"{ratio:.1f} times as long as {than}"
    return f"as long as {than}" if ratio > 1 / SAME else f"{ratio:.2g} of the time of {than}"


def decorator(setup: Setup) -> Finding:
    """The eager function as it stands, by `sg.function`."""
    rng = np.random.default_rng(0)
    x, w = (dynamic.tensor(rng.standard_normal(s).astype("float32")) for s in ((64, 64), (64,)))
    w.requires_grad_(True)

    def loss(x: Any, w: Any) -> Any:
        return ((dynamic.tanh(x @ w) - 0.5) ** 2).mean()

    fast = sg.function(loss)

    def gradient(f: Any) -> Any:
        return dynamic.autograd.grad(f(x, w), [w])[0]

    apart = float(abs(gradient(loss) - gradient(fast)).max())
    one, other = called_in_turn(
        [lambda: gradient(loss), lambda: gradient(fast)], setup.seconds, TURN
    )
    right = apart < CLOSE
    return Finding(
        PARTLY if right else TRUE,
        (
            ("lines that change", "1: sg.function(loss)"),
            ("eager, value and gradient", duration(one.minimum)),
            ("by sg.function, tensors in, backward() as before", duration(other.minimum)),
            ("largest difference of the gradients", f"{apart:.0e}"),
        ),
        (
            "A static graph need not be another program: the eager function is captured as it "
            "stands, with the same gradients"
            if right
            else "The eager function is captured as it stands, and has other gradients then"
        )
        + f". It takes {_compared(other.minimum / one.minimum, 'eager')}. To define placeholders "
        "and variables by hand, as the first frameworks asked for, is a choice that remains.",
    )


def slice_assignment(setup: Setup) -> Finding:
    """Stacking 100 arrays by slice assignment, against one concatenation; then compiled."""
    script = str(Path(slices.__file__))
    entrants = [Entrant("dynamic", ["dynamic"])]
    if setup.torch is not None:
        entrants.append(Entrant("PyTorch", ["torch"], setup.torch))
    figures, ratios = [], {}
    with running(script, entrants) as processes:
        found = dict(raced(processes, ["cat", "assign"], 1, setup.seconds))
        for label in processes:
            cat, assign = found["cat"][label].minimum, found["assign"][label].minimum
            ratios[label] = assign / cat
            figures.append(
                (
                    f"{label}, 100 arrays of 256 x 256",
                    f"cat {duration(cat)}, slice assignment {duration(assign)}: "
                    f"{ratios[label]:.1f} times",
                )
            )
    together, assigned = slices.static_forms()
    one, other = called_in_turn([together, assigned], setup.seconds, TURN)
    static = other.minimum / one.minimum
    figures.append(
        (
            "compiled, 10 of them",
            f"cat {duration(one.minimum)}, index_copy {duration(other.minimum)}: "
            f"{static:.1f} times",
        )
    )
    slow = [ratio > SLOW for ratio in (ratios["dynamic"], static)]
    return Finding(
        TRUE if all(slow) else PARTLY if any(slow) else FALSE,
        tuple(figures),
        "Where an assignment is an op of the tape over the whole array, its gradient is a copy of "
        "all of it with a part set to zero, once for each part. Put together of parts by "
        "assignments, our tape takes "
        + _compared(ratios["dynamic"], "a concatenation")
        + ", a compiled graph of index_copy "
        + _compared(static, "a compiled concatenation")
        + (
            f", and PyTorch {_compared(ratios['PyTorch'], 'its own')}."
            if "PyTorch" in ratios
            else "."
        )
        + (" What is put together of parts is best concatenated." if any(slow) else ""),
    )


def recording(setup: Setup) -> Finding:
    """What recording the graph costs in each call."""
    from staticgraph.dynamic.tape.observers import observe

    rng = np.random.default_rng(0)
    x = dynamic.tensor(rng.standard_normal(64).astype("float32"), requires_grad=True)
    depth = 20

    def chain(x: object) -> Any:
        for _ in range(depth):
            x = dynamic.sin(x)
        return x

    def silently() -> None:
        with dynamic.no_grad():
            chain(x)

    nodes: list[object] = []
    observe(nodes.append, 1)
    for _ in range(3):
        chain(x)
    observe(nodes.append, -1)
    placed = sg.placeholder("x", (None,))
    static = sg.compile([placed], chain(placed))
    array = x.detach().numpy()
    recorded, plain, run = called_in_turn(
        [lambda: chain(x), silently, lambda: static(array)], setup.seconds, TURN
    )
    share = 1 - plain.minimum / recorded.minimum
    anew = len(nodes) == 3 * depth
    return Finding(
        TRUE if anew else FALSE,
        (
            ("nodes made by 3 calls of 20 ops", f"{len(nodes)}"),
            ("a call, recorded", duration(recorded.minimum)),
            ("the same in no_grad", duration(plain.minimum)),
            ("compiled: no graph is made by a call", duration(run.minimum)),
        ),
        (
            "The tape is made anew by every call: as many nodes as ops, each time."
            if anew
            else "Calls do not make as many nodes as ops."
        )
        + (
            f" Recording is {100 * share:.0f} % of the time of small ops"
            if share > LITTLE
            else " Recording is no measurable part of the time of small ops"
        )
        + "; the rest is Python and NumPy's calls, which no_grad does not save. The compiled call "
        f"takes {_compared(run.minimum / plain.minimum, 'the one in no_grad')}.",
    )


def accumulation(setup: Setup) -> Finding:
    """Gradients of eight parts of a batch added up, against those of the whole."""
    rng = np.random.default_rng(0)
    x = dynamic.tensor(rng.standard_normal((512, 64)))
    w = dynamic.tensor(rng.standard_normal(64), requires_grad=True)
    parts = 8

    def loss(x: Any) -> Any:
        return (dynamic.tanh(x @ w) ** 2).mean()

    def whole() -> Any:
        w.grad = None
        loss(x).backward()
        return w.grad

    def by_parts() -> Any:
        w.grad = None
        for part in dynamic.chunk(x, parts):
            (loss(part) / parts).backward()
        return w.grad

    apart = float(abs(whole().clone() - by_parts()).max() / abs(by_parts()).max())
    one, other = called_in_turn([whole, by_parts], setup.seconds, TURN)
    same, ratio = apart < 1e-12, other.minimum / one.minimum
    return Finding(
        FALSE if not same else TRUE if ratio >= SAME else PARTLY,
        (
            ("relative difference of the gradients, float64", f"{apart:.0e}"),
            ("whole batch of 512, eager", duration(one.minimum)),
            (f"{parts} parts, accumulated", duration(other.minimum)),
        ),
        (
            "The gradients are the same but for rounding, since the loss is a mean of rows."
            if same
            else "The gradients differ by more than rounding."
        )
        + f" In parts it takes {_compared(ratio, 'the whole batch')} here"
        + (", as every part pays for its ops." if ratio >= SAME else "."),
    )


def two_losses(setup: Setup) -> Finding:
    """Two losses over one body: two backward passes, or one compiled call for both."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((64, 64)).astype("float32")
    weights = rng.standard_normal((64, 64)).astype("float32")
    x, w = dynamic.tensor(data), dynamic.tensor(weights, requires_grad=True)

    def losses(x: Any, w: Any) -> tuple[Any, Any]:
        body = sg.tanh(x @ w)
        return sg.mean(body**2), sg.mean(sg.exp(body))

    def passes() -> Any:
        one, other = losses(x, w)
        first = dynamic.autograd.grad(one, [w], retain_graph=True)[0]
        return first, dynamic.autograd.grad(other, [w])[0]

    def second_fails() -> None:
        one, other = losses(x, w)
        one.backward()
        other.backward()

    xs, ws = sg.placeholder("x", (None, 64)), sg.placeholder("w", (64, 64))
    both = sg.compile([xs, ws], [sg.grad(one, ws) for one in losses(xs, ws)])
    pairs = zip(passes(), both(data, weights), strict=True)
    apart = max(float(np.abs(a.numpy() - b).max() / np.abs(b).max()) for a, b in pairs)
    one, other = called_in_turn([passes, lambda: both(data, weights)], setup.seconds, TURN)
    message = raised(second_fails)
    fails = "retain_graph=True" in message
    return Finding(
        TRUE if fails and apart < CLOSE else FALSE,
        (
            ("two backward() without retain_graph", shortened(message)),
            ("eager, retain_graph=True for the first", duration(one.minimum)),
            ("compiled, both gradients in one call", duration(other.minimum)),
            ("relative difference", f"{apart:.0e}"),
        ),
        (
            "On the tape the body's saved values have to be kept for the second pass."
            if fails
            else "The second pass went through without it."
        )
        + " In a static graph the question does not arise: both gradients are outputs, and what "
        f"they share is computed once. The call takes "
        f"{_compared(other.minimum / one.minimum, 'the two passes')}"
        + ("." if apart < CLOSE else ", and has other gradients."),
    )
