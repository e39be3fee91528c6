"""`compare_functions`: the comparison from Python, and in notebooks."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compare import peers as environments
from staticgraph.compare.kinds import THREAD_VARIABLES, Contender
from staticgraph.compare.machine import available_cores
from staticgraph.compare.own.comparison import Comparison
from staticgraph.compare.own.contender import Session
from staticgraph.compare.own.contest import Task, task_of as words_for
from staticgraph.compare.own.run import measured
from staticgraph.compare.own.specs import Inputs, of_arrays, read_inputs
from staticgraph.compare.own.subject import Subject, read_subject
from staticgraph.compare.own.tasks import task_of
from staticgraph.compare.process import SERVER, ContenderError
from staticgraph.compare.records import Settings
from staticgraph.compare.server import sample
from staticgraph.compiler.core.errors import OptionError

NAME = "compare_functions"


def compare_functions(
    f: Callable[..., object] | str,
    inputs: str | Mapping[str, Any],
    *,
    sweep: str | Sequence[str] = (),
    gradient: Sequence[str] | None = None,
    peers: Sequence[str] | Mapping[str, str] = (),
    threads: int | None = None,
    seconds: float = 0.1,
    rounds: int = 5,
    starts: int = 1,
    watch: Callable[[str], None] = lambda what: None,
) -> Comparison:
    """Measure a function eagerly, compiled and by peers: what `staticgraph compare` does.

    Args:
        f: the function, or `"my.py:loss"`. One of a file runs in processes of its own, as from
            the command line. Any other (of a notebook, or inside a function) runs in this one, and
            so not on peers, and what is in the kernel cache is not compiled anew.
        inputs: as `--inputs`, `"x=f32[n,64],w=f32[64]"`; or the arrays by name.
        sweep: as `--sweep`, `"n=1..4096"`, or one for each size.
        gradient: the names to differentiate by; None: all of floating point; (): values alone.
        peers: names of those that are installed, or their interpreters by name.
        threads: of ours; None: as many as there are cores.
        seconds: per contender and round.
        rounds: how many.
        starts: how often compiling with an empty cache is measured.
        watch: is told what is done next.

    Raises:
        OptionError: function, inputs, sizes and names do not fit.
        StaticGraphError: the machine's limits cannot be measured.
    """
    if _is_contender():
        raise OptionError(
            f"{NAME} is called when the file is loaded: put the call under "
            "if __name__ == '__main__'"
        )
    settings = Settings(threads or available_cores(), seconds, rounds, starts, THREAD_VARIABLES)
    subject, apart = _subject(f)
    described, make = _inputs(inputs)
    sizes = [sweep] if isinstance(sweep, str) else list(sweep)
    task = task_of(subject, described, sizes, gradient, settings)
    if make is not None:
        task = replace(task, make=make)
    if apart:
        return measured(task, _interpreters(peers), watch)
    if peers:
        raise OptionError(f"{NAME}: {subject.name} is no function of a file, which peers could run")
    return measured(task, {}, watch, start=lambda contender, _: Here(task, contender, f))


def _is_contender() -> bool:
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return main is not None and os.path.abspath(main) == str(SERVER)


def _subject(f: Callable[..., object] | str) -> tuple[Subject, bool]:
    """The function, and whether other processes can load it."""
    if isinstance(f, str):
        return read_subject(f), True
    if not callable(f):
        raise OptionError(f"{NAME}: {f!r:.80} is no function")
    name = getattr(f, "__qualname__", type(f).__name__)
    module = sys.modules.get(getattr(f, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if file is not None and getattr(module, name, None) is f and Path(file).suffix == ".py":
        return read_subject(f"{file}:{name}"), True
    try:
        lines, line = inspect.getsourcelines(f)
        text = inspect.cleandoc("".join(lines))
    except (OSError, TypeError):
        text, line = repr(f), 1
    try:
        file = inspect.getsourcefile(f)
    except TypeError:
        file = None
    names = _parameters(f)
    return Subject(Path(file or "notebook"), name, text, line, names, ()), False


def _parameters(f: Callable[..., object]) -> tuple[str, ...] | None:
    try:
        found = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in found):
        return None
    return tuple(one.name for one in found)


def _inputs(
    given: str | Mapping[str, Any],
) -> tuple[Inputs, Callable[[Mapping[str, int]], dict[str, Any]] | None]:
    """What they are, and what makes them if they are given."""
    if isinstance(given, str):
        return read_inputs(given), None
    arrays = {name: np.asarray(value) for name, value in given.items()}
    if not arrays:
        raise OptionError(f"{NAME}: there are no inputs")
    return of_arrays(arrays), lambda sizes: arrays


def _interpreters(peers: Sequence[str] | Mapping[str, str]) -> dict[str, str | None]:
    if isinstance(peers, Mapping):
        environments.check(list(peers))
        return dict(peers)
    found = {name: environments.interpreter(name) for name in environments.check(list(peers))}
    return {name: str(path) if path else None for name, path in found.items()}


class Here:
    """A contender in this process, which answers as one in its own does."""

    def __init__(self, task: Task, contender: Contender, f: Any) -> None:
        self.session = Session(words_for(task, contender), f)
        self.report = {"version": self.session.way.version}
        self.pid = os.getpid()

    def ask(self, **order: Any) -> dict[str, Any]:
        """The answer to an order; ContenderError if the function fails."""
        try:
            if order["do"] == "measure":
                return dict(sample(self.session.run, order["seconds"]))
            step = getattr(self.session, order["step"])
            return {"answer": step(*order["arguments"])}
        except Exception as error:
            raise ContenderError(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Nothing is left to end."""
