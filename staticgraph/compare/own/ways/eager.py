"""Ours, eager: `dynamic`, with a tape that every call records anew."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Way:
    """Tensors in, tensors out, gradients by the tape."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        import staticgraph
        from staticgraph import dynamic

        self.framework = dynamic
        self.version = str(staticgraph.__version__)

    def begin(
        self, call: Callable[..., list[Any]], arrays: Sequence[Any], by: Sequence[int], timed: Any
    ) -> None:
        """Make the tensors."""
        with timed("build"):
            self.call = call
            self.tensors = [self.framework.tensor(array) for array in arrays]
            self.by = [self.tensors[i].requires_grad_(True) for i in by]

    def run(self) -> tuple[list[Any], Sequence[Any]]:
        """Values, and gradients of the sum of all that is floating."""
        values = self.call(*self.tensors)
        return values, self._gradients(values) if self.by else ()

    def _gradients(self, values: Sequence[Any]) -> Sequence[Any]:
        roots = [one for one in values if getattr(one, "requires_grad", False)]
        if not roots:
            return [self.framework.zeros_like(one) for one in self.by]
        seeds = [self.framework.ones_like(one) for one in roots]
        found = self.framework.autograd.grad(roots, self.by, seeds, allow_unused=True)
        pairs = zip(found, self.by, strict=True)
        return [self.framework.zeros_like(x) if g is None else g for g, x in pairs]

    def results(self) -> list[Any]:
        """Of a call, as arrays."""
        values, gradients = self.run()
        return [_array(one) for one in [*values, *gradients]]

    def look(self, file: str) -> dict[str, Any]:
        """The ops of a call, forward by the nodes as they are made, backward as they are run."""
        from staticgraph.dynamic.tape.observers import observe

        rounds = [_Watch(file) for _ in range(ROUNDS)]
        for watch in rounds:
            observe(watch.made, 1)
            try:
                watch.start()
                values = self.call(*self.tensors)
                watch.forward_ends()
            finally:
                observe(watch.made, -1)
            if self.by:
                watch.start()
                self._gradients(values)
                watch.backward_ends()
        return {"ops": _medians([watch.found for watch in rounds])}


ROUNDS = 7
REST = "Python, and ops without gradient"


class _Watch:
    """Notes when nodes of the tape are made, and when their rules are run."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[tuple[str, str, str, float]] = []
        self.waiting: tuple[str, str] | None = None

    def start(self) -> None:
        self.last = time.perf_counter()

    def made(self, node: Any) -> None:
        now = time.perf_counter()
        name, line = _op(node), _line(self.file)
        self.found.append((name, "forward", line, now - self.last))
        node.register_prehook(lambda _gradients: self.runs(name, line))
        self.last = time.perf_counter()

    def forward_ends(self) -> None:
        self.found.append((REST, "forward", "", time.perf_counter() - self.last))

    def runs(self, name: str, line: str) -> None:
        self.backward_ends()
        self.waiting = name, line
        self.last = time.perf_counter()

    def backward_ends(self) -> None:
        """What has passed since the last note is that of the rule that ran, or of the start."""
        name, line = self.waiting or ("start of the reverse pass", "")
        self.found.append((name, "backward", line, time.perf_counter() - self.last))
        self.waiting = None


CALLED = {"matmul": "matmul", "addmm": "linear"}
"""What is written, by the op of a node that has the name of PyTorch's last step for it.

Of a stack of matrices that is a view of the product of all rows: `UnsafeViewBackward0`.
"""


def _op(node: Any) -> str:
    """`mul` of `MulBackward0`, `nll_loss` of `NllLossBackward0`; a product is `matmul`."""
    recipe = getattr(node, "recipe", None)
    if recipe is not None and recipe.op.name in CALLED:
        return CALLED[recipe.op.name]
    name = str(node.name()).rstrip("0123456789").removesuffix("Backward")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _line(file: str) -> str:
    """The line of the user's file that is being run."""
    import sys

    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == file:
            return str(frame.f_lineno)
        frame = frame.f_back
    return ""


def _medians(rounds: Sequence[Sequence[tuple[str, str, str, float]]]) -> list[list[Any]]:
    """Ops by name, direction and line, with their calls and the median over rounds of their sums.

    The first round is left out: it fills caches.
    """
    sums: dict[tuple[str, str, str], list[list[float]]] = {}
    for found in rounds[1:]:
        once: dict[tuple[str, str, str], list[float]] = {}
        for name, direction, line, seconds in found:
            once.setdefault((name, direction, line), []).append(seconds)
        for key, times in once.items():
            sums.setdefault(key, []).append([len(times), sum(times)])
    return [
        [*key, int(found[0][0]), sorted(total for _, total in found)[len(found) // 2]]
        for key, found in sums.items()
    ]


def _array(value: Any) -> Any:
    return value.detach().numpy() if hasattr(value, "detach") else value
