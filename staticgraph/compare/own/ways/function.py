"""Ours, by one decorator: `sg.function` of the eager function, gradients by the tape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from staticgraph.compare.own.ways import eager


class Way(eager.Way):
    """As the eager way, but the function is one node of the tape."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        super().__init__(task)
        self.shapes = task["shapes"]
        self.compiled: Any = None

    def begin(
        self, call: Callable[..., list[Any]], arrays: Sequence[Any], by: Sequence[int], timed: Any
    ) -> None:
        """Decorate it; the first call traces and compiles."""
        if self.compiled is None:
            import staticgraph as sg
            from staticgraph.compiler.core.errors import OptionError

            self.compiled = sg.function(call, shapes=self.shapes)
            try:
                self.compiled(*[self.framework.tensor(array) for array in arrays])
            except OptionError:  # it has to know its sizes: a trace for each
                self.compiled = sg.function(call)
        super().begin(self.compiled, arrays, by, timed)

    def look(self, file: str) -> dict[str, Any]:
        """How often it was traced."""
        return {"traces": len(self.compiled.traces), "file": Path(file).name}
