"""The user's function in the process of a contender: a script for `server.py`.

It runs in the peers' environments too, so it imports nothing of the project, and loads the way to
run the function, a module of `ways/`, by its path. A way is a class `Way(task)` with

    version             of its framework
    framework           the package
    module(name)        what the user's file gets when it imports `dynamic` or `staticgraph`;
                        None: the package itself
    begin(call, arrays, by, timed)
                        sets up for these arrays: `call` takes them by position and returns a flat
                        list, `by` are the positions to differentiate by
    run()               one call: values and gradients
    results()           of a call, as arrays: values, then gradients
    look(file)          where the time goes, and what ran: what JSON can hold
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

PACKAGES = ("dynamic", "staticgraph")
CALLS = 10  # before the memory is read
SECONDS = 0.2  # the most that they take


def load(path: str, name: str) -> Any:
    """The module in a file, under a name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # torch.compile imports it by its name
    spec.loader.exec_module(module)
    return module


class Aliases(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports of our packages get what a way gives for them."""

    def __init__(self, module: Callable[[str], Any]) -> None:
        self.module = module

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """The spec of one of our packages, or of a module in one."""
        if name.partition(".")[0] not in PACKAGES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """What stands for it."""
        full = spec.name.startswith("staticgraph.dynamic")
        made = self.module(spec.name.removeprefix("staticgraph.") if full else spec.name)
        if made is None:
            raise ModuleNotFoundError(f"there is no substitute for {spec.name!r}", name=spec.name)
        return Delegate(spec.name, made)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


class Delegate(ModuleType):
    """A module whose names are those of another one."""

    def __init__(self, name: str, target: object) -> None:
        super().__init__(name)
        self._target = target

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._target, name)


def flat(value: object) -> list[Any]:
    """The leaves of tuples, lists and dicts."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flat(value[key])]
    if isinstance(value, tuple | list):
        return [leaf for one in value for leaf in flat(one)]
    return [value]


def flattened(
    function: Callable[..., object], names: Sequence[str], constants: Mapping[str, object]
) -> Callable[..., list[Any]]:
    """The function of arrays by position, in the order of `names`, that returns a flat list."""

    def call(*arrays: object) -> list[Any]:
        return flat(function(**dict(zip(names, arrays, strict=True)), **constants))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in names]
    )
    named = function.func if isinstance(function, functools.partial) else function
    call.__name__ = getattr(named, "__name__", type(named).__name__)
    return call


class Phases:
    """The seconds of each phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time what happens inside the block."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


class Session:
    """A way with the function that it runs."""

    def __init__(self, task: Mapping[str, Any], function: Callable[..., Any] | None = None) -> None:
        """`function` is that of the task, if it is there already."""
        self.task = task
        start = time.perf_counter()
        way = load(task["way"], "way_" + os.path.basename(task["way"])[:-3])
        self.way = way.Way({**task, "load": load})
        self.imported = time.perf_counter() - start
        if function is None:
            if task["substitute"]:
                sys.meta_path.insert(0, Aliases(self.way.module))
            sys.path.insert(0, os.path.dirname(task["file"]))
            function = loaded(task["file"], task["name"])
        if task["framework"]:
            function = functools.partial(function, self.way.framework)
        self.call = flattened(function, task["names"], task["constants"])
        self.by = [i for i, name in enumerate(task["names"]) if name in task["gradient"]]

    def begin(self, files: Mapping[str, str], into: str) -> dict[str, Any]:
        """Set up for arrays, run for a while, and store the results of a call."""
        import numpy as np

        arrays = [np.load(files[name]) for name in self.task["names"]]
        timed = Phases()
        self.way.begin(self.call, arrays, self.by, timed)
        with timed("first_call"):
            self.way.run()
        end, calls = time.perf_counter() + SECONDS, 1
        while calls < CALLS and time.perf_counter() < end:
            self.way.run()
            calls += 1
        return {"phases": timed.seconds, "arrays": self._store(into)}

    def exact(self, files: Mapping[str, str], into: str) -> dict[str, Any]:
        """The results with float64 for float32; none of a function that casts, and mixes them."""
        import numpy as np

        arrays = [np.load(files[name]) for name in self.task["names"]]
        wider = [x.astype("float64") if x.dtype == "float32" else x for x in arrays]
        try:
            self.way.begin(self.call, wider, self.by, Phases())
            count = self._store(into)
        except Exception:  # whatever it is, the function has run on the arrays themselves
            count = 0
        self.way.begin(self.call, arrays, self.by, Phases())
        return {"arrays": count}

    def _store(self, into: str) -> int:
        import numpy as np

        results = self.way.results()
        for i, array in enumerate(results):
            np.save(os.path.join(into, f"{i}.npy"), np.asarray(array))
        return len(results)

    def look(self) -> Any:
        """Where the time of a call goes."""
        return self.way.look(self.task["file"])

    def run(self) -> None:
        """A call: what is timed."""
        self.way.run()


def loaded(file: str, name: str) -> Any:
    """The function of a file."""
    found: Any = load(file, "compared_" + os.path.basename(file)[:-3])
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{name} of {os.path.basename(file)} is {found!r:.80}, no function")
    return found


def contender(task: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Callable[..., Any]]]:
    """What `server.py` calls: a report, and by name what can be run."""
    session = Session(task)
    report = {"version": session.way.version, "import": session.imported}
    steps: dict[str, Callable[..., Any]] = {
        "begin": session.begin,
        "exact": session.exact,
        "look": session.look,
        "call": session.run,
    }
    return report, steps
