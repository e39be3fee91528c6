"""A kernel's program step by step, its loops and branches opened: what `profile` times.

A step of a loop may take a tenth of a microsecond, and a clock that Python reads several. So a step
inside a loop is timed where it runs without Python: in the same native loop as before, over the
same slices, but alone there; what the loop takes without any step is subtracted. Iterations of a
`while_loop` and branches depend on values: their steps are repeated as often as they run in a call.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from staticgraph.compiler.codegen.bytecode import Branch, HostCall, Instruction, Repeat, Set, While
from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.runtime.cache.loader import load_steps

REPEATED = 1000  # times that a step is repeated at most
Nesting = Repeat | While | Branch


@frozen(eq=False)
class _Alone:
    """A step inside a loop or branch, and the programs that it is timed with.

    Attributes:
        own, rest: the programs with it and without it.
        times: for how many of its runs in a call one in the program stands.
    """

    step: Instruction
    own: tuple[Instruction, ...]
    rest: tuple[Instruction, ...]
    times: float = 1.0


class Opened:
    """A program whose instructions are timed.

    Attributes:
        clocked: by the identity of an instruction, the seconds from before it to after it in each
            run, and so those of a step that does nothing: the overhead.
        inside: of the steps inside loops and branches, what all their runs in a call take.
        runs: how often each ran in a call.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.program = kernel.program
        self.clocked: dict[int, list[float]] = {}
        self.inside: dict[int, list[float]] = {}
        self.runs = {id(one): 1 for one in kernel.program}
        self._nothing = Set(())
        self._leaves = [one for one in _steps(kernel.program) if not isinstance(one, Nesting)]
        self._every = [self._nothing, *self._leaves, *kernel.program]
        functions, self._owner = load_steps(kernel, [[one] for one in self._every])
        self._functions = {id(one): run for one, run in zip(self._every, functions, strict=True)}

    @property
    def nests(self) -> bool:
        """Whether there are loops or branches."""
        return any(isinstance(one, Nesting) for one in self.program)

    @property
    def overhead(self) -> float:
        """The seconds that timing a step takes: those of a step that does nothing."""
        return statistics.median(self.clocked.get(id(self._nothing), [0.0]))

    def seconds(self, one: Instruction) -> float:
        """What all runs of an instruction take in a call.

        Of a loop inside another one, that is what its steps take: it is not timed itself.
        """
        if id(one) in self.clocked:
            return max(0.0, statistics.median(self.clocked[id(one)]) - self.overhead)
        if id(one) in self.inside:
            return max(0.0, statistics.median(self.inside[id(one)]))
        return sum(map(self.seconds, bodies(one)))

    def run(self, table: Array) -> None:
        """Run each step of the program by itself, a loop or a branch as one step."""
        address = table.ctypes.data
        for one in (*self.program, self._nothing):
            start = time.perf_counter()
            self._functions[id(one)](address)
            taken = time.perf_counter() - start
            self.clocked.setdefault(id(one), []).append(taken)

    def run_untimed(self, table: Array) -> None:
        """Run the program, after which all that its steps read is as in a call."""
        for one in self.program:
            self._functions[id(one)](table.ctypes.data)

    # -- inside loops and branches -------------------------------------------------------------

    def count(self, table: Array) -> None:
        """Run all steps from Python, those inside loops one by one, to see how often each runs.

        Calls of NumPy are timed here: they do more than reading a clock takes.
        """
        self.runs = {}
        taken: dict[int, float] = {}
        self._count(self.program, table, table.ctypes.data, taken)
        outer = {id(one) for one in self.program}
        for one in self._leaves:
            if isinstance(one, HostCall) and id(one) in taken and id(one) not in outer:
                self.inside[id(one)] = [taken[id(one)]]

    def _count(
        self, program: Sequence[Instruction], table: Array, address: int, taken: dict[int, float]
    ) -> None:
        for one in program:
            self.runs[id(one)] = self.runs.get(id(one), 0) + 1
            match one:
                case Repeat():
                    for _ in range(int(table[one.count])):
                        self._count(one.body, table, address, taken)
                        for at, by in one.moves:
                            table[at] += table[by]
                        _swap(table, one.swaps)
                case While():
                    self._count(one.test, table, address, taken)
                    while _flag(table, one.flag):
                        self._count(one.body, table, address, taken)
                        _swap(table, one.swaps)
                        self._count(one.test, table, address, taken)
                case Branch():
                    chosen = one.yes if _flag(table, one.flag) else one.no
                    self._count(chosen, table, address, taken)
                case _:
                    start = time.perf_counter()
                    self._functions[id(one)](address)
                    seconds = time.perf_counter() - start - self.overhead
                    taken[id(one)] = taken.get(id(one), 0.0) + seconds

    def alone(self) -> Alone:
        """The steps inside loops and branches, each to be run alone; they must be counted."""
        return Alone(self, list(self._variants()))

    def _variants(self) -> Iterator[_Alone]:
        for one in self.program:
            beside = [each for each in self.program if each.nodes == one.nodes]
            starts = [each for each in beside if isinstance(each, Set)]
            for step in _steps(bodies(one)):
                runs = self.runs.get(id(step), 0)
                if not runs or isinstance(step, Nesting | Set | HostCall):
                    continue
                kept, rest = _only(one, step), _only(one, None)
                if kept is not None and rest is not None:
                    yield _Alone(step, (*starts, kept), (*starts, rest))
                else:
                    times = min(runs, REPEATED)
                    yield _Alone(step, (step,) * times, (), runs / times)


class Alone:
    """Steps that are timed alone."""

    def __init__(self, opened: Opened, variants: list[_Alone]) -> None:
        self.opened = opened
        self.variants = variants
        own, self._owner = load_steps(opened.kernel, [one.own for one in variants])
        rest, _ = load_steps(opened.kernel, [one.rest for one in variants])
        self._pairs = list(zip(own, rest, strict=True))

    def run(self, table: Array) -> None:
        """Run each step alone, as often as in a call."""
        address, seconds = table.ctypes.data, self.opened.inside
        for one, (own, rest) in zip(self.variants, self._pairs, strict=True):
            start = time.perf_counter()
            failed = own(address)
            middle = time.perf_counter()
            rest(address)
            end = time.perf_counter()
            if not failed:  # by an index that another step would have computed
                took = (middle - start) - (end - middle)
                seconds.setdefault(id(one.step), []).append(one.times * took)


def bodies(one: Instruction) -> tuple[Instruction, ...]:
    """The instructions inside an instruction, one level down."""
    match one:
        case Repeat():
            return one.body
        case While():
            return (*one.test, *one.body)
        case Branch():
            return (*one.yes, *one.no)
    return ()


def _only(one: Instruction, step: Instruction | None) -> Instruction | None:
    """A loop with nothing inside but a step; None if it is no loop of so many iterations."""
    if not isinstance(one, Repeat):
        return None
    kept: list[Instruction] = []
    for inner in one.body:
        if inner is step or isinstance(inner, Set):
            kept.append(inner)
        elif isinstance(inner, Repeat):
            below = _only(inner, step)
            kept += [] if below is None else [below]
    if step is not None and not any(each is step for each in _steps(kept)):
        return None
    return replace(one, body=tuple(kept))


def _steps(program: Sequence[Instruction]) -> Iterator[Instruction]:
    """All instructions, those inside loops and branches too."""
    for one in program:
        yield one
        yield from _steps(bodies(one))


def _flag(table: Array, entry: int) -> bool:
    return bool(ctypes.c_uint8.from_address(int(table[entry])).value)


def _swap(table: Array, swaps: Sequence[tuple[int, int]]) -> None:
    for old, new in swaps:
        table[old], table[new] = int(table[new]), int(table[old])
