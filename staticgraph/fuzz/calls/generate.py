"""Random programs of calls."""

from __future__ import annotations

import random
from typing import Any

from staticgraph.fuzz.calls.feeds import FITTING, UNFIT
from staticgraph.fuzz.calls.kinds import KINDS, WAYS
from staticgraph.fuzz.calls.outs import RIGHT, WRONG
from staticgraph.fuzz.calls.world import Step
from staticgraph.fuzz.campaign import Program

_PLACES = ("position", "name", "mixed")
_MISPLACED = ("missing", "missing by name", "extra", "unknown", "twice")
_LONG = 3_000_000  # iterations of a loop that is compiled, some milliseconds


def generate(seed: int) -> Program:
    """The program of a seed."""
    choose = random.Random(f"calls {seed}")
    kind, way = choose.choice(list(KINDS)), choose.choice(list(WAYS))
    making = _Making(choose, kind, way)
    steps = [making.step() for _ in range(choose.choice((3, 5, 8, 12)))]
    return {"kind": kind, "way": way, "steps": steps}


class _Making:
    """Random steps for executables of a kind."""

    def __init__(self, choose: random.Random, kind: str, way: str) -> None:
        self.choose = choose
        self.kind = KINDS[kind]
        self.long = kind == "loop" and way not in ("debug", "background")

    def step(self) -> Step:
        """Any step."""
        match self.choose.choices(range(7), (50, 8, 10, 5, 8, 6, 13))[0]:
            case 0:
                return self.call()
            case 1:
                return self.assign()
            case 2:
                return {
                    "do": "copy", **self.place(), "all": self.choose.random() < 0.5,
                    "how": self.choose.choice(("copy", "deepcopy", "pickle", "save")),
                }  # fmt: skip
            case 3:
                return {"do": "drop", "group": self.choose.randrange(4)}
            case 4:
                return {**self.call(), "do": "look",
                        "at": self.choose.choice(("trace", "wait", "repr", "graph"))}  # fmt: skip
            case 5:
                return self.together()
        return self.interrupt()

    def place(self) -> Step:
        """Which group and which of its executables."""
        return {"group": self.choose.randrange(4), "function": self.choose.randrange(3)}

    def call(self, right: bool = False) -> Step:
        """A call, of feeds that fit if `right`."""
        choose = self.choose
        sizes = {name: choose.choice(self.kind.sizes) for name in "nmk"}
        right = right or choose.random() < 0.6
        feeds = [self.feed(sizes, right) for _ in range(choose.choice((1, 4)))]
        wrong = not right and choose.random() < 0.3
        step = {
            "do": "call", **self.place(), "feeds": feeds,
            "by": choose.choice(_MISPLACED if wrong else _PLACES),
        }  # fmt: skip
        if choose.random() < 0.4:
            step["out"] = [choose.choice(RIGHT if right else WRONG), choose.randrange(3)]
        return step

    def feed(self, sizes: dict[str, int], right: bool) -> Step:
        """A feed for some input."""
        choose = self.choose
        form = choose.choice(["plain", "kept", *FITTING])
        spec: dict[str, Any] = {"form": form, "seed": choose.randrange(1000), "sizes": sizes}
        if self.long and choose.random() < 0.5:
            spec["repeat"] = _LONG
        if not right:
            match choose.randrange(4):
                case 0:
                    spec["form"] = choose.choice(list(UNFIT))
                case 1:
                    spec["sizes"] = {name: choose.choice(self.kind.sizes) for name in "nmk"}
                case 2:
                    spec["far"] = True
        return spec

    def assign(self) -> Step:
        """The assignment of a value to a variable."""
        form = self.choose.choice([*FITTING, *FITTING, *UNFIT])
        return {
            "do": "assign", "group": self.choose.randrange(4),
            "variable": self.choose.randrange(3), "form": form, "seed": self.choose.randrange(1000),
        }  # fmt: skip

    def together(self) -> Step:
        """Calls of several threads, or of a forked child."""
        choose = self.choose
        if choose.random() < 0.5:
            each = choose.choice((1, 2))
            calls = [[self.plain_call() for _ in range(each)] for _ in range(choose.choice((2, 3)))]
            return {"do": "threads", "group": choose.randrange(4), "threads": calls}
        steps = [self.step_of_child() for _ in range(choose.choice((1, 2, 3)))]
        busy = choose.random() < 0.5
        return {"do": "fork", "group": choose.randrange(4), "busy": busy, "steps": steps}

    def plain_call(self) -> Step:
        """A call that fits, without arrays for its results."""
        step = self.call(right=True)
        step.pop("out", None)
        return step

    def step_of_child(self) -> Step:
        """A call, a copy or an assignment."""
        return self.choose.choice((self.call, self.call, self.assign, self.copy))()

    def copy(self) -> Step:
        """A copy by a pickle or a file: it is compiled, or loaded."""
        how = self.choose.choice(("pickle", "save"))
        return {"do": "copy", **self.place(), "all": True, "how": how}

    def interrupt(self) -> Step:
        """A call into which a signal comes."""
        choose = self.choose
        step = {"do": "interrupt", "call": self.call(right=choose.random() < 0.8)}
        if choose.random() < 0.5:
            return {**step, "line": choose.randrange(choose.choice((5, 30, 200, 1000)))}
        handler = choose.choice(("raise", "raise", "return", "read"))
        after = 10 ** choose.uniform(-5.5, -2)
        return {**step, "after": after, "handler": handler}
