"""Claims about how the tape lives: what is kept, freed, forbidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.compare.claims.records import (
    FALSE,
    PARTLY,
    TRUE,
    Finding,
    Setup,
    held,
    megabytes,
    memory,
    raised,
    shortened,
)
from staticgraph.compare.report.numbers import duration
from staticgraph.compare.scripts import called_in_turn

DEPTH, SIZE = 20, 250_000
ARRAY = 4 * SIZE  # bytes


def _chain(x: object) -> Any:
    """Twenty ops of which each keeps an array for its gradient."""
    for _ in range(DEPTH):
        x = dynamic.sin(x)
    return x


def _leaf() -> Any:
    return dynamic.ones(SIZE, requires_grad=True)


def freed(_setup: Setup) -> Finding:
    """What the tape holds before and after backward()."""
    x = _leaf()
    with memory():
        y = _chain(x).sum()
        before = held()
        y.backward(retain_graph=True)
        retained = held()
        y.backward()
        after = held()
    placed = sg.placeholder("x", (None,))
    total = sg.sum(_chain(placed))
    static = sg.compile([placed], sg.grad(total, placed))
    static(np.ones(SIZE, "float32"))
    (size,) = placed.shape
    planned = static.plan.peak_bytes({str(size): SIZE})
    goes, stays = after < before / 4, retained >= before
    return Finding(
        TRUE if goes and stays else FALSE,
        (
            ("tape of 20 ops on 1 MB, before backward()", megabytes(before)),
            ("after backward(retain_graph=True), with the gradient", megabytes(retained)),
            ("after backward(), with the gradient", megabytes(after)),
            ("compiled, value and gradient: the plan's peak", megabytes(planned)),
        ),
        f"The tape holds {after / before:.2f} of what it held before once backward() has run, and "
        f"{retained / before:.2f} with retain_graph=True. A compiled graph has a plan instead, "
        "made before it runs: it keeps what the gradient needs, or computes it again where that is "
        "cheaper, and there is nothing to free between calls.",
    )


def second_backward(_setup: Setup) -> Finding:
    """The toy example: d and e are two outputs over b = a**2."""

    def outputs() -> tuple[Any, Any]:
        a = dynamic.rand(1, 4, requires_grad=True)
        c = a**2 * 2
        return c.mean(), c.sum()

    d, e = outputs()
    d.backward()
    without = raised(e.backward)
    d, e = outputs()
    with_it = [
        raised(lambda: d.backward(retain_graph=True)),
        raised(lambda: e.backward(retain_graph=True)),
        raised(d.backward),
    ]
    at_last = raised(e.backward)
    x = dynamic.ones(2, 3, requires_grad=True)
    y = x.mean(dim=1) + 3
    simple = [raised(lambda: y.backward(dynamic.ones(2))) for _ in range(2)]
    placed = sg.placeholder("a", (1, 4))
    c = placed**2 * 2
    both = sg.compile([placed], [sg.grad(out, placed) for out in (sg.mean(c), sg.sum(c))])
    array = np.ones((1, 4), "float32")
    calls = [raised(lambda: both(array)) for _ in range(3)]
    fails = "second time" in without and "second time" in at_last and not any(with_it)
    holds = fails and not any(simple)
    return Finding(
        TRUE if holds else FALSE,
        (
            ("d.backward(); e.backward()", shortened(without)),
            (
                "both with retain_graph=True, then d.backward()",
                "; ".join(filter(None, with_it)) or "fine",
            ),
            ("then e.backward()", shortened(at_last)),
            ("ops that keep nothing (mean, add): twice", "; ".join(filter(None, simple)) or "fine"),
            ("compiled: both gradients, three calls", "; ".join(filter(None, calls)) or "fine"),
        ),
        (
            "So it is, with the very message, and for ops that keep nothing no error comes."
            if holds
            else f"A second pass {'fails' if fails else 'does not fail as said'}, and "
            f"{'is refused' if any(simple) else 'works'} for ops that keep nothing."
        )
        + (
            " A static graph is not used up: its gradients can be computed as often as wanted."
            if not any(calls)
            else " The static graph did not compute its gradients three times."
        ),
    )


def no_grad(setup: Setup) -> Finding:
    """The forward pass alone, recorded and not."""
    x = _leaf()

    def silently() -> Any:
        with dynamic.no_grad():
            return _chain(x)

    def recording() -> Any:
        return _chain(x)

    peaks = []
    for act in (recording, silently):
        act()
        with memory() as used:
            y = act()
            del y
        peaks.append(used.peak)
    recorded, plain = called_in_turn([recording, silently], setup.seconds)
    small = dynamic.ones(8, requires_grad=True)

    def silently_small() -> Any:
        with dynamic.no_grad():
            return _chain(small)

    def recording_small() -> Any:
        return _chain(small)

    one, other = called_in_turn([recording_small, silently_small], setup.seconds, 0.01)
    less = peaks[1] < peaks[0] / 4
    large, few = plain.minimum / recorded.minimum, other.minimum / one.minimum
    return Finding(
        TRUE if less and few < 1 else PARTLY if less or few < 1 else FALSE,
        (
            ("peak, 20 ops on 1 MB, recorded", megabytes(peaks[0])),
            ("in no_grad", megabytes(peaks[1])),
            ("time, recorded and in no_grad",
             f"{duration(recorded.minimum)}, {duration(plain.minimum)}"),
            ("on 8 numbers",
             f"{duration(one.minimum)}, {duration(other.minimum)}"),
        ),
        f"It takes {peaks[1] / peaks[0]:.2f} of the memory"
        + (": nothing is kept. " if less else ". ")
        + f"It takes {large:.2f} of the time where arrays are large, and {few:.2f} where they are "
        "small"
        + (" and recording is a part of each op. " if few < 1 else ". ")
        + "What is compiled without gradients keeps nothing to begin with.",
    )  # fmt: skip


def four_times(_setup: Setup) -> Finding:
    """Results that are kept hold their graphs; dropped ones do not."""
    x = _leaf()
    sizes = []
    with memory():
        kept = []
        for _ in range(4):
            kept.append(_chain(x))
            sizes.append(held())
        kept.clear()
        dropped = held()
        for _ in range(10):
            _chain(x)
        after = held()
    linear = abs(sizes[3] - 4 * sizes[0]) < 0.1 * sizes[3]
    goes = dropped < ARRAY and after < ARRAY
    return Finding(
        TRUE if linear and goes else PARTLY if linear or goes else FALSE,
        (
            ("held after 1, 2, 3, 4 calls, results kept", ", ".join(map(megabytes, sizes))),
            ("results dropped", megabytes(dropped)),
            ("after 10 more calls without backward(), each dropped", megabytes(after)),
        ),
        f"Four results hold {sizes[3] / sizes[0]:.1f} times what one does"
        + (": four graphs, each with its arrays. " if linear else ". ")
        + (
            "They go with the last reference, so a forward pass without backward() is a constant "
            "cost and no leak. "
            if goes
            else f"When they are dropped, {megabytes(max(dropped, after))} stay. "
        )
        + "Compiled calls share one graph, and a workspace that is reused.",
    )


def frozen(_setup: Setup) -> Finding:
    """A network of which only the last layers are trained."""
    weights = [dynamic.randn(256, 256) * 0.06 for _ in range(8)]
    x = dynamic.randn(512, 256)
    sizes = {}
    for trained in (8, 2):
        for i, w in enumerate(weights):
            w.requires_grad_(i >= 8 - trained)
        with memory():
            h = x
            for w in weights:
                h = dynamic.tanh(h @ w)
            sizes[trained] = held()
            del h
    less = sizes[2] < 0.5 * sizes[8]
    return Finding(
        TRUE if less else FALSE,
        (
            ("held by 8 layers, all trained", megabytes(sizes[8])),
            ("held if only the last 2 are", megabytes(sizes[2])),
        ),
        f"With 2 of 8 layers trained, {sizes[2] / sizes[8]:.2f} as much is kept"
        + (": what lies before the first trained weight keeps nothing" if less else "")
        + ". In a static graph the same follows from what the gradient is taken of: the rest is "
        "dead code, and dropped.",
    )


def in_place(_setup: Setup) -> Finding:
    """What the tape has to forbid."""

    def leaf() -> None:
        x = dynamic.tensor(1.0, requires_grad=True)
        x += 1

    def leaf_slice() -> None:
        w = dynamic.randn(1, requires_grad=True)
        w[0] = 1.0

    def modified(copy: Callable[[Any], Any]) -> Callable[[], None]:
        def act() -> None:
            x = dynamic.tensor(1.0, requires_grad=True)
            s = dynamic.ones(2)
            s[1] = copy(s[0]) * x
            s.sum().backward()

        return act

    def inner() -> None:
        x = dynamic.tensor(1.0, requires_grad=True)
        y = 2 * x
        y += 2
        y.log_()
        y.backward()
        assert abs(x.grad.item() - 0.5) < 1e-6

    found = [
        raised(leaf), raised(leaf_slice), raised(modified(lambda part: part)),
        raised(modified(lambda part: part.clone())), raised(inner),
    ]  # fmt: skip
    holds = all(found[:3]) and not any(found[3:])
    names = (
        "x += 1 of a leaf", "w[0] = 1. of a leaf", "s[1] = s[0] * x, then backward()",
        "s[1] = s[0].clone() * x, then backward()", "y += 2; y.log_() of what is no leaf",
    )  # fmt: skip
    return Finding(
        TRUE if holds else FALSE,
        tuple((name, shortened(text) or "fine") for name, text in zip(names, found, strict=True)),
        (
            "Each of these errors comes from memory that the tape needs and the program overwrites."
            if holds
            else "Not all of these are refused, or fine, as is said."
        )
        + " In a static graph values have no memory until the plan gives them one: an update is a "
        "new value, and the compiler writes it in place where nobody reads the old one any more.",
    )


def _made(case: str, x: Any) -> Any:
    """y of z = x + y*y."""
    if case == "A":
        return dynamic.tensor(3.0).requires_grad_(True)
    if case == "B":
        return x
    if case == "C":
        return dynamic.tensor(1.0)
    return x.detach().clone() if case == "D" else x.clone()


def cases(_setup: Setup) -> Finding:
    """z = x + y*y at x = 3, for five ways to make y; and the first example of gradients."""
    expected = {"A": 1.0, "B": 7.0, "C": 1.0, "D": 1.0, "E": 7.0}
    figures, right = [], True
    for case, value in expected.items():
        x = dynamic.tensor(3.0).requires_grad_(True)
        (x + _made(case, x) ** 2).backward()
        right &= x.grad.item() == value
        figures.append((f"case {case}: gradient by x", f"{x.grad.item():g}, said: {value:g}"))
    a, b = (dynamic.tensor(v, requires_grad=True) for v in (4.0, 3.14159265))
    (a * a + dynamic.sin(2 * b)).backward()
    figures.append(("x*x + sin(2y) at 4, pi", f"{a.grad.item():g}, {b.grad.item():.6g}"))
    x = dynamic.ones(3, 3, requires_grad=True)
    y = 2 * x + 3
    y = dynamic.randn(3, 3, requires_grad=True)
    (4 * y - 1).sum().backward()
    figures.append(("y = 2x + 3; y = randn(...); z = 4y - 1: x.grad", f"{x.grad}, said: 8"))
    xs = sg.placeholder("x", ())
    clone = float(sg.compile([xs], sg.grad(xs + xs * xs, xs))(np.float32(3)))
    figures.append(("compiled, cases B and E", f"{clone:g}"))
    both = right and clone == expected["E"]
    return Finding(
        FALSE if not right else PARTLY if x.grad is None else TRUE,
        tuple(figures),
        (
            "The five cases are as said, in both paradigms."
            if both
            else f"The five cases are {'' if right else 'not all '}as said eagerly, and "
            f"{'not ' if clone != expected['E'] else ''}compiled."
        )
        + (
            " One example that goes round is not: it gives y a new value before z is made, so z "
            "does not depend on x at all, and x.grad is None; the 8 is what it would be without "
            "that line."
            if x.grad is None
            else ""
        ),
    )
