"""The campaign `cache`: whatever happens to the kernel cache, results are right.

Entries are damaged, cut, exchanged, removed and replaced by other things, and processes that write
them are killed, between compilations of a few graphs with one cache.
"""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.fuzz.campaign import Campaign, Program
from staticgraph.fuzz.damage import damaged, random_step

GRAPHS = 5
ROWS = 7
ENTRY = 4000  # about the bytes of an entry, for where it is damaged
PATIENCE = 60.0  # seconds for a process to compile

Step = dict[str, Any]


def _graph(number: int) -> tuple[list[Any], list[Any], Any]:
    """Inputs, outputs and what NumPy makes of `_input()`."""
    x, value = sg.placeholder("x", ("n", 3), "float64"), _input()
    match number:
        case 0:
            return [x], [x * 2 + 1], [value * 2 + 1]
        case 1:
            return [x], [sg.sum(x, axis=0), sg.max(x)], [value.sum(0), value.max()]
        case 2:
            return [x], [x.T @ x], [value.T @ value]
        case 3:
            total, ys = sg.scan(lambda c, row: (c + row, c * row), np.zeros(3), x)
            before = np.cumsum(value, 0) - value
            return [x], [total, ys], [value.sum(0), before * value]
    return [x], [x[::-1] - 3.0, x.shape[0] + sg.zeros((), "int64")], [value[::-1] - 3, len(value)]


def _input() -> Any:
    return np.arange(ROWS * 3, dtype=np.float64).reshape(ROWS, 3) % 5


def generate(seed: int) -> Program:
    """Compilations, with something done to the cache between them."""
    choose = random.Random(f"cache {seed}")
    steps: list[Step] = [{"compile": choose.randrange(GRAPHS)}]
    for _ in range(choose.choice((1, 2, 3, 5))):
        steps += [_deed(choose) for _ in range(choose.choice((1, 1, 2)))]
        again = choose.random() < 0.7
        steps.append({"compile": steps[0]["compile"] if again else choose.randrange(GRAPHS)})
    return {"steps": steps}


def _deed(choose: random.Random) -> Step:
    entry = choose.randrange(100)
    match choose.randrange(8):
        case 0 | 1 | 2:
            return {"damage": entry, "how": random_step(choose, ENTRY)}
        case 3:
            return {"exchange": entry, "with": choose.randrange(100)}
        case 4:
            return {"replace": entry, "by": choose.choice(("folder", "link", "nothing", "empty"))}
        case 5:
            return {"mode": choose.choice((0o700, 0o500, 0o777)), "entry": entry}
    kill = [round(choose.uniform(0, 0.2), 3) for _ in range(choose.choice((1, 2, 3)))]
    return {"race": choose.randrange(GRAPHS), "kill": [*kill, None][: choose.choice((1, 2, 4))]}


def check(program: Program) -> str | None:
    """What is wrong: a result that is not NumPy's."""
    with (
        tempfile.TemporaryDirectory(prefix="fuzz-cache-") as folder,
        _cache_in(folder),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # a cache that cannot be trusted is not used
        try:
            for step in program["steps"]:
                if "compile" in step:
                    wrong = _compile(step["compile"])
                    if wrong is not None:
                        return wrong
                elif "race" in step:
                    _race(step["race"], step["kill"])
                else:
                    _do(Path(folder), step)
        finally:
            os.chmod(folder, 0o700)
    return None


@contextmanager
def _cache_in(folder: str) -> Iterator[None]:
    before = os.environ.get("STATICGRAPH_CACHE_DIR")
    os.environ["STATICGRAPH_CACHE_DIR"] = folder
    try:
        yield
    finally:
        del os.environ["STATICGRAPH_CACHE_DIR"]
        if before is not None:
            os.environ["STATICGRAPH_CACHE_DIR"] = before


def _compile(number: int) -> str | None:
    inputs, outputs, expected = _graph(number)
    found = sg.compile(inputs, outputs)(_input())
    for one, other in zip(found, expected, strict=True):
        if not np.allclose(one, other, rtol=1e-13, atol=0):
            return f"a result is wrong\ngraph {number}: {one} is not {other}"
    return None


def _race(number: int, kill: list[float | None]) -> None:
    """Processes that compile a graph at the same time, killed after so many seconds, or not."""
    children = []
    for seconds in kill:
        child = os.fork()
        if not child:
            try:
                signal.alarm(int(PATIENCE))
                _compile(number)
            finally:
                os._exit(0)
        children.append((seconds, child))
    start = time.monotonic()
    for seconds, child in sorted(children, key=lambda one: one[0] or PATIENCE):
        if seconds is not None:
            time.sleep(max(0.0, start + seconds - time.monotonic()))
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _do(folder: Path, step: Step) -> None:
    if "mode" in step:
        os.chmod(folder, step["mode"])
        return
    entries = sorted(path for path in folder.iterdir() if path.is_file())
    if not entries:
        return
    with suppress(PermissionError):
        if "damage" in step:
            path = entries[step["damage"] % len(entries)]
            path.write_bytes(damaged(path.read_bytes(), [step["how"]]))
        elif "exchange" in step:
            one, other = (entries[step[key] % len(entries)] for key in ("exchange", "with"))
            content = one.read_bytes()
            one.write_bytes(other.read_bytes())
            other.write_bytes(content)
        else:
            _replace(entries[step["replace"] % len(entries)], step["by"])


def _replace(path: Path, by: str) -> None:
    content = path.read_bytes()
    path.unlink()
    if by == "folder":
        path.mkdir()
    elif by == "link":
        elsewhere = path.with_name(f"{path.name}.elsewhere")
        elsewhere.write_bytes(content)
        path.symlink_to(elsewhere)
    elif by == "empty":
        path.touch()


def script(program: Program) -> str:
    """The steps, run by the campaign itself."""
    return (
        "from staticgraph.fuzz.cache import check\n\n"
        f"print(check({{'steps': {json.dumps(program['steps']).replace('null', 'None')}}}))\n"
    )


CAMPAIGN = Campaign(
    title="damaged, exchanged and half-written cache entries: results are right",
    generate=generate,
    check=check,
    script=script,
    seconds=120.0,
)
