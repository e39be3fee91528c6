"""Explanations: what became of each op that a user wrote, as records and as text."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping

from staticgraph.compiler.core.notebook import as_printed
from staticgraph.compiler.core.record import frozen

KINDS = {
    "rewritten": "another op, or other operands, by the rule that is named",
    "expanded": "a composite, written in other ops",
    "folded": "computed while the graph was compiled",
    "merged": "computed once with an equal op",
    "hoisted": "moved out of a loop, before it",
    "sunk": "moved out of a loop, behind it",
    "dropped": "not computed: nothing reads it",
    "recomputed": "computed again by later loops, and not kept for them",
    "copied": "written out once more",
    "group": "the number of the loops, the product or the call that computes it",
    "apart": "why it is not in a group with what it reads",
    "memory": "where its value lies",
    "threads": "in how many chunks the group is cut, which threads share",
}
"""The kinds of facts, in the order in which they are listed, and what they say."""


@frozen
class Fact:
    """One thing that happened to an op.

    Attributes:
        kind: one of `KINDS`.
        text: what happened.
        by: the rule or pass that did it, by the name with which `disable` switches it off; or "".
        op: of an op that runs, its name: a composite becomes several.
    """

    kind: str
    text: str
    by: str = ""
    op: str = ""

    def __str__(self) -> str:
        return f"{self.text}  [{self.by}]" if self.by else self.text


@frozen
class ExplainedOp:
    """An op of the graph as it was defined, and what became of it.

    Attributes:
        number: its node in `executable.graph`; those of bodies of loops and branches follow.
        op: its name.
        name: the name that the user gave, or None.
        type: of its value, such as `float32[n, 64]`.
        line: the user's `file:line`.
        gradient_of: the op whose gradient it is a part of, or "".
        inside: the loop or branch that it is in, or "".
        becomes: the ops that run for it; none if it is folded, merged into another or dropped.
        facts: what happened, in the order of `KINDS`.
    """

    number: int
    op: str
    name: str | None
    type: str
    line: str
    gradient_of: str
    inside: str
    becomes: tuple[str, ...]
    facts: tuple[Fact, ...]

    def of(self, kind: str) -> tuple[Fact, ...]:
        """The facts of one kind."""
        return tuple([fact for fact in self.facts if fact.kind == kind])

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to say: it is a number in the code, or what a body reads."""
        said = {fact.kind for fact in self.facts}
        leaf = self.op == "constant" or (self.op == "placeholder" and self.inside)
        return bool(leaf) and said <= {"memory", "dropped"}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        name = f" {self.name!r}" if self.name else ""
        of = f", gradient of {self.gradient_of}" if self.gradient_of else ""
        inside = f", in {self.inside}" if self.inside else ""
        unchanged = self.becomes == (self.op,) or not self.becomes
        became = "" if unchanged else f" -> {_listed(self.becomes)}"
        yield f"  {self.op}{name} {self.type}{of}{inside}{became}"
        said: dict[tuple[str, str], list[str]] = {}
        for fact in self.facts:
            if fact.kind != "threads":  # those are said of the group
                said.setdefault((fact.kind, str(fact)), []).append(fact.op)
        several = len({fact.op for fact in self.facts if fact.kind == "memory"}) > 1
        for (kind, text), ops in said.items():
            of = f"  ({_listed(tuple(ops))})" if several and any(ops) else ""
            yield f"    {kind:<10} {text}{of}"


@frozen
class Explanation:
    """What became of ops, in the order in which they were defined; `print` shows it line by line.

    Iterating gives the ops. In its text, numbers that stand in the code and
    what bodies of loops are given are left out.

    Attributes:
        title: the executable, and how much of it runs.
        ops: those that were asked for.
        groups: by number, each group that computes one of them: what it is, all that it computes,
            and how threads share it. `1.0` is the first group in the loop that is group 1.
        text: by `file:line` what the user wrote there, where it can be read.
        origins: per node of the kernel the number of the op that it runs for, or stands for.
    """

    title: str
    ops: tuple[ExplainedOp, ...]
    groups: Mapping[str, str]
    text: Mapping[str, str]
    origins: Mapping[int, int]

    def __iter__(self) -> Iterator[ExplainedOp]:
        return iter(self.ops)

    def __len__(self) -> int:
        return len(self.ops)

    _repr_html_ = as_printed

    def __str__(self) -> str:
        by_line: dict[str, list[ExplainedOp]] = {}
        for one in self.ops:
            if len(self.ops) == 1 or not one.is_plain:
                by_line.setdefault(one.line, []).append(one)
        lines = [self.title]
        for line, ops in sorted(by_line.items(), key=lambda pair: _file_and_number(pair[0])):
            lines += ["", f"{os.path.basename(line)}  {self.text.get(line, '')}".rstrip()]
            for text, count in Counter(map(str, ops)).items():
                first, *rest = text.splitlines()
                lines += [first + (f"  ({count} times)" if count > 1 else ""), *rest]
        if self.groups:
            lines += ["", "groups, in the order in which they run"]
            lines += [f"  {number:<6} {text}" for number, text in self.groups.items()]
        return "\n".join(lines)

    __repr__ = __str__


def _file_and_number(line: str) -> tuple[str, int]:
    file, _, number = line.rpartition(":")
    return file, int(number) if number.isdecimal() else 0


def _listed(ops: tuple[str, ...]) -> str:
    counts = {op: ops.count(op) for op in ops}
    return ", ".join(op if count == 1 else f"{op} x {count}" for op, count in counts.items())
