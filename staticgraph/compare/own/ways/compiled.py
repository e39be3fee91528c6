"""Ours, static: values and gradients in one executable that takes and returns arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Way:
    """The function captured as one graph, with the gradients in it, and compiled."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        import staticgraph as sg
        from staticgraph import dynamic

        self.framework = self.sg = sg
        self.dynamic = dynamic
        self.version = str(sg.__version__)
        self.names: list[str] = task["names"]
        self.shapes = task["shapes"]
        self.function: Any = None
        self.line = f"{task['file']}:{task['line']}"
        self.needs = ""  # why it has to know its sizes, if it does

    def begin(
        self, call: Callable[..., list[Any]], arrays: Sequence[Any], by: Sequence[int], timed: Any
    ) -> None:
        """Capture and compile, unless what is there serves these sizes."""
        tensors = [self.dynamic.tensor(array) for array in arrays]
        with timed("compile"):
            self.executable = self._executable(self._step(call, by), tensors)
        given = dict(zip(self.names, arrays, strict=True))
        self.feeds = [given[feed.name] for feed in self.executable.feeds]

    def _executable(self, step: Callable[..., list[Any]], tensors: Sequence[Any]) -> Any:
        """For all sizes, or for these if the function has to know them."""
        from staticgraph.compiler.core.errors import OptionError
        from staticgraph.compiler.core.whose_code import called_at

        with called_at(self.line):  # no file of the user's calls it, only this process
            if self.function is None:
                self.function = self.sg.function(step, shapes=self.shapes)
                try:
                    return self.function.executable(*tensors)
                except OptionError as error:
                    self.needs = "; ".join([str(error), *getattr(error, "__notes__", ())])
                    self.function = self.sg.function(step)
            return self.function.executable(*tensors)

    def _step(self, call: Any, by: Sequence[int]) -> Callable[..., list[Any]]:
        """The function to capture: values, then gradients of the sum of all that is floating."""
        if not by:
            return call

        def total(*operands: Any) -> Any:
            values = call(*operands)
            floating = [one for one in values if _is_floating(one)]
            sums = [one if one.ndim == 0 else one.sum() for one in floating]
            result = sums[0]
            for one in sums[1:]:
                result = result + one
            return result, values

        def step(*operands: Any) -> list[Any]:
            differentiated = self.sg.value_and_grad(total, argnums=tuple(by), has_aux=True)
            (_, values), gradients = differentiated(*operands)
            return [*values, *gradients]

        vars(step).update(__signature__=call.__signature__)
        step.__name__ = call.__name__
        return step

    def run(self) -> Any:
        """One call."""
        return self.executable(*self.feeds)

    def results(self) -> list[Any]:
        """Of a call, as arrays."""
        found = self.run()
        results = list(found) if isinstance(found, list | tuple) else [found]
        effects = self.function.traces[-1].effects  # of an `if`, say, which side was taken
        return results if effects is None else results[: effects.results]

    def look(self, file: str) -> dict[str, Any]:
        """The steps of the kernel, its text, the graph, and what a call moves and computes."""
        from staticgraph.compare.own.work import least_work
        from staticgraph.compiler.graph.definition import to_text

        found = self.executable.profile(*self.feeds)
        moved, flops = least_work(self.executable, self.feeds)
        return {
            "steps": [
                [list(one.ops), list(one.lines), one.seconds, list(_longest_inside(one))]
                for one in found.steps
            ],
            "source": self.executable.source,
            "graph": to_text(self.executable.definition),
            "bytes": moved,
            "flops": flops,
            "traces": len(self.function.traces),
            "needs": self.needs,
        }


def _longest_inside(step: Any) -> tuple[str, ...]:
    """The ops of the longest step that a loop or branch has inside of it, at any depth."""
    while step.inside:
        step = max(step.inside, key=lambda one: one.seconds)
        if not step.inside:
            return tuple(step.ops)
    return ()


def _is_floating(value: object) -> bool:
    ask = getattr(value, "is_floating_point", None)
    return bool(ask()) if ask is not None else False
