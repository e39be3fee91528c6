"""Profiles: how often functions were called, and how long they took (torch.autograd.profiler).

Measured is what this engine does itself: calls of public functions, methods and ops by one thread,
those within each other too, the nodes that its reverse passes run, and blocks of the user's. While
no profile is taken nothing is looked at. A call that is measured takes some microseconds more.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from staticgraph.compiler.core.passing import see, seeing
from staticgraph.compiler.core.values import Value
from staticgraph.dynamic.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg
from staticgraph.dynamic.core.errors import AutogradError, NoDeviceError
from staticgraph.dynamic.core.places import line_of, user_place
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.fast_paths.passed import exchange
from staticgraph.dynamic.tape.pulling import Pull, around
from staticgraph.dynamic.tensors.tensor import Tensor

__all__ = ["emit_nvtx", "profile", "record_function"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Recording:
    """Events of this thread, as they happen.

    Attributes:
        events: all, in the order in which they began.
    """

    def __init__(self, shapes: bool = False, memory: bool = False, stack: bool = False) -> None:
        self.events = EventList(profile_memory=memory)
        self._shapes = shapes
        self._stack = stack
        self._open: list[FunctionEvent] = []
        self._began = time.perf_counter_ns()

    def begin(self) -> None:
        """Have calls, and nodes of reverse passes, measured."""
        if seeing.measure is not None:
            raise AutogradError("a profile is taken in this thread already: end it first")
        see(True, exchange)
        around.append(self.node)
        seeing.measure = self.measure

    def end(self) -> None:
        """Measure no more."""
        seeing.measure = None
        around.remove(self.node)
        see(False, exchange)
        while self._open:
            self.leave(self._open[-1])

    def enter(self, name: str) -> FunctionEvent:
        """Begin an event."""
        parent = self._open[-1] if self._open else None
        event = FunctionEvent(len(self.events) + 1, name, threading.get_native_id(), parent)
        if self._stack:
            event.stack = [line_of(user_place())]
        self.events.append(event)
        self._open.append(event)
        event.time_range.start = (time.perf_counter_ns() - self._began) / 1e3
        return event

    def leave(self, event: FunctionEvent) -> None:
        """End an event, and those within it that have not ended."""
        now = (time.perf_counter_ns() - self._began) / 1e3
        while event in self._open:
            self._open.pop().time_range.end = now

    def measure(self, function: Any, args: Sequence[Any], call: Callable[[], Value]) -> Value:
        """The value of a call, which is an event unless it is within another of its name."""
        known = str(getattr(function, "name", None) or getattr(function, "__name__", function))
        name = "aten::" + (known if known.startswith("__") else known.lstrip("_"))
        if self._open and self._open[-1].name == name:
            return call()
        event = self.enter(name)
        if self._shapes:
            event.input_shapes = [[*getattr(one, "shape", ())] for one in args]
        try:
            result = call()
        finally:
            self.leave(event)
        if isinstance(result, Tensor) and result._array.base is None:
            made = sum(one.cpu_memory_usage for one in event.cpu_children)
            event.self_cpu_memory_usage = max(0, result._array.nbytes - made)
        return result

    def node(self, node: Any, pull: Pull, g: object, create_graph: bool) -> Any:
        """What a node of a reverse pass finds; an event if it is of this thread."""
        if seeing.measure != self.measure:
            return pull(g, create_graph)
        event = self.enter(node.name())
        try:
            return pull(g, create_graph)
        finally:
            self.leave(event)


def recording() -> Recording | None:
    """What this thread records, if a profile is taken."""
    return getattr(seeing.measure, "__self__", None)


class record_function:  # noqa: N801 - PyTorch's name
    """A block, or a function that it decorates, that profiles show under a name.

    Example:
        >>> with dynamic.profiler.profile() as prof:
        ...     with dynamic.profiler.record_function("twice"):
        ...         _ = dynamic.ones(2) * 2
        >>> [one.key for one in prof.key_averages()]
        ['twice', 'aten::ones', 'aten::mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._event: FunctionEvent | None = None

    def __enter__(self) -> record_function:
        found = recording()
        if found is not None:
            self._event = found.enter(self.name)
            self._event.is_user_annotation = True
        return self

    def __exit__(self, *exception: object) -> None:
        found = recording()
        if found is not None and self._event is not None:
            found.leave(self._event)
        self._event = None

    def __call__(self, function: _Function) -> _Function:
        """`function`, each call of which is such a block."""

        @functools.wraps(function)
        def named(*args: Any, **options: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **options)

        return named  # type: ignore[return-value] # the same signature


class profile:  # noqa: N801 - PyTorch's name
    """What a block does, event by event; `dynamic.profiler.profile` has schedules besides.

    Args:
        enabled: False: nothing is measured, and `with` gives None.
        use_cuda, use_device: there is no GPU; a warning says so.
        record_shapes: keep the shapes of operands.
        with_flops: nothing is counted; a warning says so.
        profile_memory: show the bytes of the tensors that functions made.
        with_stack: keep the user's line.
        with_modules, use_kineto, use_cpu: accepted.

    Raises:
        RuntimeError: it was entered before, or another one is taken in this thread.

    Example:
        >>> x = dynamic.ones(2, requires_grad=True)
        >>> with dynamic.autograd.profiler.profile() as prof:
        ...     x.exp().sum().backward()
        >>> [one.key for one in prof.key_averages()]
        ['aten::exp', 'aten::sum', 'aten::backward', 'SumBackward0', 'ExpBackward0']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
    ) -> None:
        self.enabled = enabled
        self.entered = False
        self._ended = False
        self._recording = Recording(record_shapes, profile_memory, with_stack)
        if use_cuda or use_device == "cuda":
            warn("CUDA is not available, disabling CUDA profiling")
        if with_flops:
            warn("with_flops: floating point operations are not counted")

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise AutogradError("Profiler context manager is not reentrant")
        self.entered = True
        self._recording.begin()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.enabled:
            self._recording.end()
            self._ended = True

    @property
    def function_events(self) -> EventList:
        """The events; RuntimeError while the block runs."""
        if not self._ended:
            raise AutogradError("Profiler didn't finish running")
        return self._recording.events

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, of all events."""
        return self.function_events.self_cpu_time_total

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events added up: see `EventList.key_averages`."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """All events, added up."""
        return self.function_events.total_average()

    def table(self, *args: Any, **options: Any) -> str:
        """The events as a text: see `EventList.table`."""
        return self.function_events.table(*args, **options)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for Chrome's page about:tracing."""
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the users' lines: see `EventList.export_stacks`."""
        self.function_events.export_stacks(path, metric)

    def __str__(self) -> str:
        return str(self.function_events) if self._ended else "<unfinished profiler_context>"


class emit_nvtx:  # noqa: N801 - PyTorch's name
    """Marks what is computed for NVIDIA's profiler, which needs a GPU: AssertionError if entered.

    Example:
        >>> with dynamic.autograd.profiler.emit_nvtx(enabled=False):
        ...     _ = dynamic.ones(1)
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise NoDeviceError(
                "emit_nvtx: there is no GPU here whose profiler could be told; use "
                "torch.profiler.profile()"
            )
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing was marked."""
