"""Which groups run again so that less memory is in use at once: a schedule within a budget.

A schedule is a list of groups; some may have further runs, before something that reads what they
compute. The least memory for the least work is NP-hard to find (Jain et al. 2020, "Checkmate"), so
this is greedy, as in Kirisame et al. 2021 ("Dynamic tensor rematerialization"): where most is in
use, what frees most for its work is dropped until it is read again. Of a deep network it finds
the schedules of Chen et al. 2016 ("Training deep nets with sublinear memory cost").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from staticgraph.compiler.core.record import frozen, mutable

GOAL = 0.95  # of what is in use at once, which is made the most that is, time after time
CLOSER = 0.995  # the same where that much less cannot be reached
LONGEST = 64  # groups that run again for one value
TRIED = 24  # values, until the most that is in use is taken for the least that can be reached


@frozen(eq=False)
class Step:
    """What a group does to memory.

    Attributes:
        reads, writes: values.
        replaces: pairs of a value that is written and one that it may be written over.
        scratch: the bytes that are in use while it runs.
        cost: how long it takes, in any unit.
        again: whether it may have further runs.
        until: the group that changes a variable which it reads, after which it cannot run; the
            number of groups if none does.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    replaces: tuple[tuple[int, int], ...]
    scratch: int
    cost: int
    again: bool
    until: int


@mutable(eq=False)
class _Held:
    """A value that a run has computed: which one, when, and when it is read."""

    value: int
    born: int
    reads: list[int] = field(default_factory=list)
    leader: _Held | None = None

    @property
    def last(self) -> int:
        return self.reads[-1] if self.reads else self.born


@frozen(eq=False)
class _Drop:
    """Groups to run once more, before the run at `place`, so that a value need not be kept."""

    place: int
    groups: tuple[int, ...]


@frozen(eq=False)
class _Run:
    """A run of a group, the first one or a further one."""

    group: int
    further: bool = False


class Search:
    """The search for a schedule of some steps, given the bytes of each value.

    Values of no bytes lie where they are anyway, such as outputs.
    """

    def __init__(self, steps: Sequence[Step], size: Mapping[int, int]) -> None:
        self.steps, self.size = steps, size
        self.writer = {value: i for i, step in enumerate(steps) for value in step.writes}
        self.at = _Profile(self, [_Run(i) for i in range(len(steps))])

    @property
    def schedule(self) -> list[int]:
        """The groups in the order in which they run."""
        return [run.group for run in self.at.runs]

    @property
    def most(self) -> int:
        """The most bytes in use at once."""
        return self.at.most

    def reach(self, target: int) -> bool:
        """Have groups run again until no more than so many bytes are in use; whether that is so."""
        share = GOAL
        while self.most > target:
            if not self.most:  # what is held beside takes more
                return False
            goal = max(target, int(share * self.most))
            while self.most > goal and self._improve(goal):
                pass
            if self.most > goal:
                if share == CLOSER:
                    return False
                share = CLOSER
        return True

    def _improve(self, goal: int) -> bool:
        """Drop one value where most is in use, so that less exceeds the goal."""
        excess = self.at.excess(goal)
        for drop in self.at.drops(TRIED):
            for runs in self._with(drop):
                found = _Profile(self, runs)
                if found.most <= self.at.most and found.excess(goal) < excess:
                    self.at = found
                    return True
        return False

    def _with(self, drop: _Drop) -> Iterator[list[_Run]]:
        """The runs with those of a drop: instead of later ones of the same groups, and beside."""
        runs = self.at.runs
        added = [_Run(group, further=True) for group in drop.groups]
        later, waiting = [], set(drop.groups)
        for run in runs[drop.place :]:
            if run.further and run.group in waiting:
                waiting.discard(run.group)
            else:
                later.append(run)
        yield [*runs[: drop.place], *added, *later]
        if len(later) < len(runs) - drop.place:
            yield [*runs[: drop.place], *added, *runs[drop.place :]]


class _Profile:
    """How many bytes are in use while each run of a schedule goes on."""

    def __init__(self, search: Search, runs: list[_Run]) -> None:
        self.steps, self.size, self.writer = search.steps, search.size, search.writer
        self.runs = runs
        self.held: dict[int, list[_Held]] = {}
        self._follow()
        self._share()
        self.bytes = self._in_use()
        self.most = max(self.bytes, default=0)

    def excess(self, goal: int) -> int:
        """What is in use beyond a goal, of all runs."""
        return sum(one - goal for one in self.bytes if one > goal)

    def drops(self, most: int) -> list[_Drop]:
        """What may be dropped where most is in use, the best first."""
        peak = self.bytes.index(self.most)
        found = []
        for several in self.held.values():
            for one in several:
                again = self._next_read(one, peak)
                drop = None if again is None else self._drop(one, peak, again)
                if drop is not None:
                    found.append(drop)
        found.sort(key=lambda pair: -pair[0])
        return [drop for _, drop in found[:most]]

    def _follow(self) -> None:
        for position, run in enumerate(self.runs):
            step = self.steps[run.group]
            for value in step.reads:
                if value in self.held:
                    self.held[value][-1].reads.append(position)
            for value in step.writes:
                several = self.held.setdefault(value, [])
                if several and not (step.again and self.writer[value] == run.group):
                    several[-1].reads.append(position)  # a part of it is written
                else:
                    several.append(_Held(value, position))

    def _share(self) -> None:
        """What is written over a value that is read for the last time takes its memory."""
        ending = {(one.value, one.last): one for several in self.held.values() for one in several}
        beginning = {
            (one.value, one.born): one for several in self.held.values() for one in several
        }
        for position, run in enumerate(self.runs):
            taken: set[int] = set()
            for new, old in self.steps[run.group].replaces:
                one, other = beginning.get((new, position)), ending.get((old, position))
                if one is None or other is None or not taken.isdisjoint((new, old)):
                    continue
                if other.leader is None and other.born < position:
                    other.leader = one
                    taken |= {new, old}

    def _in_use(self) -> list[int]:
        change = [0] * (len(self.runs) + 1)
        spans: dict[int, list[int]] = {}
        for several in self.held.values():
            for one in several:
                leader = one
                while leader.leader is not None:
                    leader = leader.leader
                span = spans.setdefault(
                    id(leader), [one.born, one.last, self.size.get(leader.value, 0)]
                )
                span[0], span[1] = min(span[0], one.born), max(span[1], one.last)
        for first, last, size in spans.values():
            change[first] += size
            change[last + 1] -= size
        found, now = [], 0
        for position, run in enumerate(self.runs):
            now += change[position]
            found.append(now + self.steps[run.group].scratch)
        return found

    def _next_read(self, one: _Held, peak: int) -> int | None:
        """When a value is read next that is kept while a run goes on; None if that reads it."""
        if not self.size.get(one.value, 0) or one.born >= peak or one.last <= peak:
            return None
        if peak in one.reads or not self.steps[self.writer[one.value]].again:
            return None
        return next(read for read in one.reads if read > peak)

    def _drop(self, one: _Held, peak: int, place: int) -> tuple[float, _Drop] | None:
        """What computes a value again, and the bytes that it frees for its cost."""
        order: dict[int, None] = {}
        kept = 0
        stack = [(self.writer[one.value], False)]
        while stack:
            group, ready = stack.pop()
            if group in order:
                continue
            step = self.steps[group]
            if ready:
                order[group] = None
                continue
            if not step.again or len(stack) > LONGEST or self._changed(step, place):
                return None
            stack.append((group, True))
            for value in step.reads:
                last = self._latest(value, place)
                if last is None or last.last >= place:
                    continue
                size = self.size[value]
                cheap = 8 * size <= self.size[one.value]
                writer = self.steps[self.writer[value]]
                if cheap or last.last > peak or not writer.again:
                    kept += size if last.last < peak else 0
                else:
                    stack.append((self.writer[value], False))
        if len(order) > LONGEST or kept >= self.size[one.value]:
            return None
        cost = 1 + sum(self.steps[group].cost for group in order)
        return (self.size[one.value] - kept) / cost, _Drop(place, tuple(order))

    def _latest(self, value: int, place: int) -> _Held | None:
        """What a run at some place reads; None of what takes no memory of its own."""
        if not self.size.get(value, 0):
            return None
        return next((one for one in reversed(self.held.get(value, ())) if one.born < place), None)

    def _changed(self, step: Step, place: int) -> bool:
        """Whether a variable that a group reads is changed before some place."""
        return any(run.group == step.until for run in self.runs[:place])


__all__ = ["Search", "Step"]
