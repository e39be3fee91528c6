"""How far derivatives of composed functions are from quotients of differences of their values.

The values are compared with NumPy's, PyTorch's and SciPy's by the tests of each function; here they
are computed in float32 too, which says how much they round, and in batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import staticgraph as sg
from compiler.core.lowering import Host
from tests.derivatives.case import Array, Case
from tests.derivatives.composed import COMPOSED
from tests.derivatives.composed_layers import operands
from tests.derivatives.measure import compiled, eager, listed

STEP = 3e-3
DRAWN = ("nn.gumbel_softmax", "nn.rrelu")
"""What draws other numbers in float32."""
_FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
_SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
"""Of nine values: the errors of the quotients are of the eighth order."""

SHAPES: dict[str, tuple[int, ...]] = {
    "x": (3, 4), "y": (3, 4), "p": (3, 4), "r": (3, 4), "u": (4,), "v": (4,), "q": (4,),
    "m": (3, 3), "n": (3, 3), "signal": (1, 2, 6), "image": (1, 2, 5, 5), "volume": (1, 2, 3, 3, 3),
    "kernel1": (3, 2, 3), "kernel2": (3, 2, 2, 3), "kernel3": (2, 2, 2, 2, 2),
}  # fmt: skip


def drawn(name: str, rng: np.random.Generator) -> list[Array]:
    """Operands, whose numbers are apart."""
    names = operands(COMPOSED[name])
    sizes = [math.prod(SHAPES[one]) for one in names]
    total = sum(sizes)
    grid = np.linspace(-1.6, 1.6, 2 * ((total + 1) // 2))
    gap = grid[1] - grid[0]
    numbers = rng.permutation(grid)[:total] + rng.uniform(-0.2, 0.2, total) * gap
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    moved = {"p": lambda x: abs(x) + 0.4, "q": lambda x: abs(x) + 0.4, "r": lambda x: x / 4 + 0.5}
    return [
        moved.get(one, np.asarray)(part).reshape(SHAPES[one])
        for one, part in zip(names, parts, strict=True)
    ]


def case_of(name: str) -> Case:
    """A composed function as a case, without exact values."""
    call = COMPOSED[name]
    return Case(name, call, call, ())


class Measured:
    """A composed function, compiled in its forms."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name, self.case, self.rng = name, case_of(name), np.random.default_rng(seed)
        self.names = operands(COMPOSED[name])
        self.double, self.single = (self._values(dtype) for dtype in ("float64", "float32"))
        self.derived: Callable[..., Any] | None = None
        self.worst: dict[str, float] = {}

    def _values(self, dtype: str) -> Any:
        leaves = [sg.placeholder(one, SHAPES[one], dtype) for one in self.names]
        found = listed(self.case.ours(*leaves))
        return sg.compile(leaves, found, lint="off", on_unused_input="ignore")

    @property
    def host_steps(self) -> list[str]:
        """The ops that the interpreter is called for."""
        graph = self.double.lowered
        ops = {data["op"] for _, data in graph.nodes(data=True)}
        return sorted(op.name for op in ops if isinstance(op.lowering, Host) and op.expand is None)

    def at_points(self, count: int) -> dict[str, float]:
        """The largest errors at so many points."""
        for _ in range(count):
            x = drawn(self.name, self.rng)
            for kind, error in self._errors(x):
                kept = self.worst.get(kind, 0.0)
                self.worst[kind] = max(kept, math.inf if math.isnan(error) else error)
        return self.worst

    def _errors(self, x: list[Array]) -> Iterator[tuple[str, float]]:
        values = self.double(*x)
        if self.name not in DRAWN:
            yield "rounding", self._rounding(x, values)
        v = [self.rng.uniform(-1, 1, one.shape) for one in x]
        w = [self.rng.uniform(0.5, 1.5, np.shape(one)) for one in values]
        first, second = self._quotients(x, v, w)
        self.derived = self.derived or compiled(self.case, x, w)
        derived = self.derived(*x, *v, *w)[len(values) :]
        tensors = eager(self.case, x, v, w)
        yield "forward", _apart(derived[1], first)
        yield "first", max(_apart(derived[0], first), _apart(tensors[0], first))
        yield "second", max(_apart(one, second) for one in (*derived[2:], tensors[1]))

    def _rounding(self, x: list[Array], values: list[Array]) -> float:
        narrow = [one.astype(np.float32) for one in x]
        right = self.double(*(one.astype(np.float64) for one in narrow))
        units = [
            np.max(abs(a - b), initial=0.0) / (np.max(abs(b), initial=0.0) or 1.0)
            for a, b in zip(self.single(*narrow), right, strict=True)
        ]
        return float(max(units) / np.finfo(np.float32).eps)

    def _quotients(self, x: list[Array], v: list[Array], w: list[Array]) -> tuple[Any, Any]:
        along = np.array([self._weighted(x, v, w, STEP * i) for i in range(-4, 5)])
        return _FIRST @ along / STEP, _SECOND @ along / STEP**2

    def _weighted(self, x: list[Array], v: list[Array], w: list[Array], step: float) -> float:
        values = self.double(*(a + step * b for a, b in zip(x, v, strict=True)))
        return math.fsum(float(np.sum(a * b)) for a, b in zip(values, w, strict=True))

    def of_batches(self) -> float:
        """The largest difference between two points in one batch, and one after the other."""
        points = [drawn(self.name, self.rng) for _ in range(2)]
        call = sg.vmap(lambda *given: tuple(listed(self.case.ours(*given))))
        batch = call(*(np.stack(pair) for pair in zip(*points, strict=True)))
        return max(
            _apart(both[i], one)
            for i, point in enumerate(points)
            for both, one in zip(batch, self.double(*point), strict=True)
        )


def _apart(found: Any, right: Any) -> float:
    apart = abs(np.asarray(found) - right) / np.maximum(abs(right), 1.0)
    return float(np.max(apart, initial=0.0))


LIMITS = {"first": 1e-9, "second": 1e-7, "forward": 1e-9, "rounding": 64.0, "batches": 1e-12}


def measured_composed(name: str, points: int, seed: int = 0) -> tuple[dict[str, float], list[str]]:
    """The largest errors of a composed function, and what the interpreter is called for."""
    one = Measured(name, seed)
    return one.at_points(points) | {"batches": one.of_batches()}, one.host_steps


def above(errors: dict[str, float]) -> list[str]:
    """The kinds of errors that are above their limits."""
    return [kind for kind, error in errors.items() if not error <= LIMITS[kind]]


def figures(errors: dict[str, float], host_steps: list[str]) -> dict[str, str]:
    """What the page shows: errors with one digit, rounded up."""
    shown = {kind: f"{errors[kind] * 1.05:.0e}" for kind in ("first", "second", "forward")}
    rounding = errors.get("rounding")
    shown["rounding"] = "draws other numbers" if rounding is None else f"{rounding:.1f} eps"
    shown["kernel"] = ", ".join(["loops", *host_steps])
    return shown
