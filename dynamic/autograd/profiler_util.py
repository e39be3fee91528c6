"""What a profile found: events, their sums by name, and tables of these (PyTorch's)."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from staticgraph.compiler.core.errors import StaticGraphError

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


class ProfilerError(StaticGraphError, AssertionError):
    """A profile was asked for what it has not, or taken by a plan that is none."""


def time_text(microseconds: float) -> str:
    """A time as tables show it.

    Example:
        >>> time_text(1234.5)
        '1.234ms'
    """
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


def _memory_text(bytes: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(bytes) >= size:
            return f"{bytes / size:.2f} {unit}"
    return f"{bytes} B"


class _Times:
    """What events and their sums show of times: here there is no other device."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time = device_time_total = self_device_time_total = 0.0
    cuda_time = cuda_time_total = self_cuda_time_total = 0.0
    device_memory_usage = self_device_memory_usage = flops = 0

    @property
    def cpu_time(self) -> float:
        """The time of one call, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """`cpu_time` as a text."""
        return time_text(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """`cpu_time_total` as a text."""
        return time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """`self_cpu_time_total` as a text."""
        return time_text(self.self_cpu_time_total)


class Interval:
    """From when to when, in microseconds since the profile began."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """How long."""
        return self.end - self.start


class FunctionEvent(_Times):
    """One call of a function, one run of a node, or one block of `record_function`.

    Attributes:
        name, thread, time_range: what it was, where, and when.
        cpu_children, cpu_parent: the events within it, and the one that it is within.
        input_shapes: of its operands, if they were asked for.
        cpu_memory_usage: the bytes of the tensors that it and its children made, which own them.
        stack: the user's line, if it was asked for.
        is_user_annotation: whether it is a block of `record_function`.
    """

    count = 1

    def __init__(self, id: int, name: str, thread: int, parent: FunctionEvent | None) -> None:
        self.id = id
        self.name = self.key = name
        self.thread = thread
        self.cpu_parent = parent
        self.cpu_children: list[FunctionEvent] = []
        self.time_range = Interval(0.0, 0.0)
        self.input_shapes: list[list[int]] = []
        self.self_cpu_memory_usage = 0
        self.stack: list[str] = []
        self.is_user_annotation = False
        if parent is not None:
            parent.cpu_children.append(self)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override] # read alone
        """Microseconds, with those of its children."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override] # read alone
        """Microseconds, without those of its children."""
        return self.cpu_time_total - sum(one.cpu_time_total for one in self.cpu_children)

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes, with those of its children."""
        return self.self_cpu_memory_usage + sum(one.cpu_memory_usage for one in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"cpu_children={[one.id for one in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class FunctionEventAvg(_Times):
    """The events of one name, added up.

    Attributes:
        key: the name; steps of a schedule are one.
        count: how many there were.
        cpu_time_total, self_cpu_time_total: microseconds, with and without those of their children.
        cpu_parent: what the first of them was within.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.cpu_parent: FunctionEvent | None = None
        self.is_user_annotation = False

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or a sum of events."""
        if not self.count:
            self.input_shapes, self.stack = other.input_shapes, other.stack
            self.cpu_parent = other.cpu_parent
            self.is_user_annotation = other.is_user_annotation
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        return self

    def __iadd__(self, other: Any) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list[Any]):
    """Events, or sums of events.

    Example:
        >>> with dynamic.profiler.profile() as prof:
        ...     _ = dynamic.ones(2) + 1
        >>> [(one.key, one.count) for one in prof.key_averages()]
        [('aten::ones', 1), ('aten::add', 1)]
    """

    def __init__(self, events: Iterable[Any] = (), profile_memory: bool = False) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, of all."""
        return sum(one.self_cpu_time_total for one in self)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events added up by name, and by the shapes of their operands or their lines.

        `group_by_overload_name`: as there are no overloads, it changes nothing.
        """
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            name = "ProfilerStep*" if event.key.startswith("ProfilerStep#") else event.key
            shapes = str(event.input_shapes) if group_by_input_shape else ""
            key = name, shapes, tuple(event.stack[:group_by_stack_n])
            if key not in found:
                found[key] = FunctionEventAvg(name)
            found[key].add(event)
        for one in found.values():
            one.stack = one.stack[:group_by_stack_n]
            if not group_by_input_shape:
                one.input_shapes = []
        return EventList(found.values(), self._profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """All events, added up."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        total.input_shapes, total.stack = [], []
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as a text, a line each.

        Args:
            sort_by: an attribute, such as "self_cpu_time_total", "cpu_time_total", "count" or
                "self_cpu_memory_usage"; the largest first. AttributeError if there is none.
            row_limit: how many lines there are at most; -1: all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: of longer texts
                the beginning is shown.
            header: a line above.
            top_level_events_only: leave out events within others.
        """
        rows = list(self)
        if sort_by is not None:
            rows.sort(key=lambda one: getattr(one, sort_by), reverse=True)
        if top_level_events_only:
            rows = [one for one in rows if getattr(one, "cpu_parent", None) is None]
        rows = rows[:row_limit] if row_limit >= 0 else rows
        widest = max_name_column_width, max_shapes_column_width, max_src_column_width
        columns = [*self._columns(rows, widest)]
        rule = "".join("-" * width + "  " for _, width, _ in columns)
        lines = [rule, _line((title, width) for title, width, _ in columns), rule]
        for i in range(len(rows)):
            lines.append(_line((texts[i], width) for _, width, texts in columns))
        lines += [rule, f"Self CPU time total: {time_text(self.self_cpu_time_total)}", ""]
        if top_level_events_only:
            lines.insert(0, "This report only display top-level ops statistics")
        if header is not None:
            lines[:0] = ["=" * len(rule), header, "=" * len(rule)]
        return "\n".join(lines)

    def _columns(
        self, rows: Sequence[Any], widest: tuple[int, int, int]
    ) -> Iterator[tuple[str, int, list[str]]]:
        """Title, width and texts of each column."""
        total = self.self_cpu_time_total or 1.0
        yield _column("Name", [one.key for one in rows], widest[0])
        for title, name in (("Self CPU", "self_cpu_time_total"), ("CPU total", "cpu_time_total")):
            parts = [getattr(one, name) for one in rows]
            yield f"{title} %", 12, [f"{100 * part / total:.2f}%" for part in parts]
            yield title, 12, [time_text(part) for part in parts]
        yield "CPU time avg", 12, [one.cpu_time_str for one in rows]
        if self._profile_memory:
            yield "CPU Mem", 12, [_memory_text(one.cpu_memory_usage) for one in rows]
            yield "Self CPU Mem", 12, [_memory_text(one.self_cpu_memory_usage) for one in rows]
        yield "# of Calls", 12, [str(one.count) for one in rows]
        if any(one.input_shapes for one in self):
            yield _column("Input Shapes", [str(one.input_shapes) for one in rows], widest[1])
        if any(one.stack for one in self):
            yield _column("Source Location", [" ".join(one.stack) for one in rows], widest[2])

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for Chrome's page about:tracing, or Perfetto; compressed if *.gz."""
        found = [
            {
                "ph": "X", "cat": "user_annotation" if one.is_user_annotation else "cpu_op",
                "name": one.name, "pid": os.getpid(), "tid": one.thread,
                "ts": one.time_range.start, "dur": one.cpu_time_total,
                "args": {"Input Dims": one.input_shapes, "Ev Idx": one.id},
            }
            for one in self
        ]  # fmt: skip
        text = json.dumps({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": found})
        data = text.encode()
        Path(path).write_bytes(gzip.compress(data) if str(path).endswith(".gz") else data)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write a line per user's line, with whole microseconds: what flame graphs are made of.

        AssertionError if the profile was taken without `with_stack`.
        """
        if not any(one.stack for one in self):
            raise ProfilerError("export_stacks() requires with_stack=True")
        found: dict[str, float] = {}
        for one in self:
            key = ";".join(reversed(one.stack))
            found[key] = found.get(key, 0.0) + getattr(one, metric)
        Path(path).write_text("".join(f"{key} {int(time)}\n" for key, time in found.items()))


def _column(title: str, texts: Iterable[str], widest: int) -> tuple[str, int, list[str]]:
    """A column as wide as its texts, which are cut where they are too long."""
    shown = [one if len(one) <= widest else one[: widest - 3] + "..." for one in texts]
    return title, min(max(map(len, [title, *shown])) + 4, widest + 4), shown


def _line(cells: Iterable[tuple[str, int]]) -> str:
    return "".join(f"{text:>{width}}  " for text, width in cells)
