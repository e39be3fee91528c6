"""A campaign with planted failures: what a program fails by depends on its steps."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable

from staticgraph.fuzz.campaign import Campaign, Program

HANGS = 1000.0
REFUSED = 1_000_000


def generate(seed: int) -> Program:
    if seed == REFUSED:
        raise RuntimeError("this seed is refused")
    choose = random.Random(seed)
    steps = [choose.choice("abcdefgh") + str(choose.randrange(10)) for _ in range(20)]
    if seed % 10 == 3:
        steps[5], steps[15] = "x4", "y7"
    return {"steps": steps}


def check(program: Program) -> str | None:
    steps = program["steps"]
    mode = program["mode"]
    xs = [step for step in steps if step[0] == "x"]
    if not xs or not any(step[0] == "y" for step in steps[steps.index(xs[0]) :]):
        return None
    if mode == "crash":
        os.kill(os.getpid(), 11)
    if mode == "exit":
        os._exit(7)
    if mode == "memory":
        bytearray(1 << 40)
    if mode == "hang":
        time.sleep(HANGS)
    if mode == "raise":
        raise ValueError(f"{xs[0]} before y")
    return f"{len(steps)} steps, x before y\n{steps}"


def simplify(program: Program) -> Iterable[Program]:
    for i, step in enumerate(program["steps"]):
        if step[1:] != "0":
            steps = [*program["steps"]]
            steps[i] = step[0] + "0"
            yield {**program, "steps": steps}


def script(program: Program) -> str:
    return f"fail({program['steps']})\n"


CAMPAIGN = Campaign(
    title="planted failures",
    generate=generate,
    check=check,
    script=script,
    simplify=simplify,
    modes=("text", "raise", "crash", "exit", "memory", "hang"),
)
