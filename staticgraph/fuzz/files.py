"""The campaign `files`: damaged files of both paradigms are refused, and never loaded in part.

The even seeds go through the small files byte by byte: each length that is shorter, each byte with
a bit flipped. The odd ones, and those beyond, damage files at random, several times.
"""

from __future__ import annotations

import base64
import io
import json
import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.dynamic.core.errors import LoadError
from staticgraph.fuzz.campaign import Campaign, Program
from staticgraph.fuzz.damage import damaged, random_step

X = np.arange(6, dtype=np.float32).reshape(3, 2)


def _executable() -> bytes:
    x = sg.placeholder("x", (None, 2))
    w = sg.variable(np.array([2.0, 3.0], "float32"), name="w")
    y = (x * w + np.array([0.5, 1.5], "float32")).sum(axis=1)
    return _saved(sg.compile([x], y, {w: w * 0.5}))


def _loop() -> bytes:
    x = sg.placeholder("x", (None, 2))
    total, ys = sg.scan(lambda c, row: (c + row, sg.tanh(c * row)), np.zeros(2, "float32"), x)
    return _saved(sg.compile([x], [total, ys]))


def _saved(executable: sg.Executable) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f.sg")
        executable.save(path)
        return path.read_bytes()


def _tensors() -> bytes:
    file = io.BytesIO()
    state = {"w": dynamic.tensor([[1.0, 2.0]]), "n": [1, ("a", None)], "i": dynamic.arange(3)}
    dynamic.save(state, file)
    return file.getvalue()


MADE: dict[str, Callable[[], bytes]] = {
    "executable": _executable, "loop": _loop, "tensors": _tensors
}  # fmt: skip


@cache
def original(kind: str) -> bytes:
    """An undamaged file."""
    return MADE[kind]()


def generate(seed: int) -> Program:
    """Damage to one of the files."""
    choose = random.Random(f"files {seed}")
    place = seed // 2
    for kind in MADE if seed % 2 == 0 else ():
        size = len(original(kind))
        if place < size:
            return {"kind": kind, "steps": [{"cut": place}]}
        place -= size
        if place < size:
            return {"kind": kind, "steps": [{"flip": place, "bit": choose.randrange(8)}]}
        place -= size
    kind = choose.choice(list(MADE))
    size = len(original(kind))
    steps = [random_step(choose, size) for _ in range(choose.choice((1, 1, 2, 3, 5)))]
    return {"kind": kind, "steps": steps}


def check(program: Program) -> str | None:
    """What is wrong: another error than that of the format, or a file that is loaded in part."""
    whole = original(program["kind"])
    content = damaged(whole, program["steps"])
    if program["kind"] == "tensors":
        return _check_tensors(content, whole)
    return _check_executable(content, whole)


def _check_executable(content: bytes, whole: bytes) -> str | None:
    try:
        found = _load(content)
    except sg.FormatError:
        return None
    calls = [_called(_load(whole)), _called(found)]
    if calls[0] != calls[1]:
        return f"a damaged executable is loaded, and gives something else\n{calls[1]}"
    return None


def _load(content: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f.sg")
        path.write_bytes(content)
        return sg.load(path)


def _called(executable: Any) -> list[Any]:
    """The bits of two calls, of which the first updates variables."""
    results = [executable(X) for _ in range(2)]
    flat = [one for result in results for one in (result if isinstance(result, list) else [result])]
    return [(array.shape, array.dtype.name, array.tobytes()) for array in flat]


def _check_tensors(content: bytes, whole: bytes) -> str | None:
    try:
        found = dynamic.load(io.BytesIO(content))
    except LoadError:
        return None
    if len(content) < len(whole) and whole.startswith(content):
        return "a truncated file of tensors is loaded"
    # the format has no checksum: other numbers and names are possible, half a tensor is not
    for one in _leaves(found):
        if isinstance(one, dynamic.Tensor) and one.numpy().size != np.prod(one.shape, dtype=int):
            return f"a tensor has not the elements of its shape\n{one.shape}"
    return None


def _leaves(found: object) -> list[Any]:
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list | tuple):
        return [leaf for one in found for leaf in _leaves(one)]
    return [found]


def script(program: Program) -> str:
    """The damaged file, loaded."""
    content = base64.b64encode(damaged(original(program["kind"]), program["steps"])).decode()
    load = "dynamic.load" if program["kind"] == "tensors" else "sg.load"
    return (
        "import base64, dynamic, pathlib, staticgraph as sg\n\n"
        f"# {json.dumps(program['steps'])}\n"
        f'content = base64.b64decode("{content}")\n'
        'pathlib.Path("damaged").write_bytes(content)\n'
        f'print({load}("damaged"))\n'
    )


CAMPAIGN = Campaign(
    title="damaged files: refused with the right error, and never loaded in part",
    generate=generate,
    check=check,
    script=script,
    seconds=60.0,
)
