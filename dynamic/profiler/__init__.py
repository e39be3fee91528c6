"""Profiles of a program, over steps that a schedule chooses (torch.profiler).

Example:
    >>> from dynamic.profiler import ProfilerActivity, profile, record_function
    >>> with profile(activities=[ProfilerActivity.CPU]) as prof:
    ...     with record_function("model"):
    ...         _ = nn.Linear(2, 2)(dynamic.ones(1, 2))
    >>> table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=10)
    >>> "aten::linear" in table and "model" in table
    True
"""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from staticgraph.dynamic.autograd.profiler import Recording, record_function, recording
from staticgraph.dynamic.autograd.profiler_util import EventList, FunctionEvent, ProfilerError
from staticgraph.dynamic.core.user_warnings import warn

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function",
    "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(enum.Enum):
    """What is measured: here what the processor does.

    Example:
        >>> dynamic.profiler.ProfilerActivity.CPU.name
        'CPU'
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profile does in a step.

    Example:
        >>> dynamic.profiler.schedule(wait=0, warmup=0, active=1)(0)
        <ProfilerAction.RECORD_AND_SAVE: 3>
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """What is measured here.

    Example:
        >>> dynamic.profiler.supported_activities()
        {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether PyTorch's library of traces is there: no.

    Example:
        >>> dynamic.profiler.kineto_available()
        False
    """
    return False


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """What is done in each step: after `skip_first`, cycles of waiting, warming up and recording.

    Args:
        wait, warmup, active: steps of each; `active` at least 1.
        repeat: how many cycles there are; 0: ever more.
        skip_first: steps before the first cycle.
        skip_first_wait: 1: the first cycle has no `wait`.

    Raises:
        AssertionError: a number is too small.

    Example:
        >>> plan = dynamic.profiler.schedule(wait=1, warmup=1, active=2)
        >>> [plan(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ProfilerError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        if repeat and step >= length * repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == length - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """What writes each trace to a folder, where TensorBoard's plugin finds it.

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     handler = dynamic.profiler.tensorboard_trace_handler(folder, "me")
        ...     with dynamic.profiler.profile(on_trace_ready=handler):
        ...         _ = dynamic.ones(1)
        ...     print([name.split(".")[0] for name in os.listdir(folder)])
        ['me']
    """

    def write(prof: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        end = ".gz" if use_gzip else ""
        prof.export_chrome_trace(str(folder / f"{worker}.{time.time_ns()}.pt.trace.json{end}"))

    return write


class profile:  # noqa: N801 - PyTorch's name
    """What a program does, event by event, in the steps that a schedule chooses.

    Measured are the calls of this thread: public functions, methods and ops as `aten::` with their
    name, the nodes that reverse passes run, and blocks of `record_function`.

    Args:
        activities: what is measured: the processor. Of a GPU, which is not here, a warning says so.
        schedule: what is done in a step: see `schedule`; None: all is recorded.
        on_trace_ready: called with the profile when a cycle of steps, or the block, has ended.
        record_shapes: keep the shapes of operands.
        profile_memory: show the bytes of the tensors that functions made.
        with_stack: keep the user's line.
        with_flops: nothing is counted; a warning says so.
        with_modules, experimental_config, acc_events, use_cuda: accepted.

    Raises:
        AssertionError: results are asked for before anything was recorded.
        RuntimeError: another profile is taken in this thread.

    Attributes:
        step_num: how many steps have ended.

    Example:
        >>> plan = dynamic.profiler.schedule(wait=1, warmup=0, active=1)
        >>> def ready(prof):
        ...     print([one.key for one in prof.key_averages()])
        >>> with dynamic.profiler.profile(schedule=plan, on_trace_ready=ready) as prof:
        ...     for _ in range(2):
        ...         _ = dynamic.ones(1)
        ...         prof.step()
        ['ProfilerStep*', 'aten::ones']
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: object = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
    ) -> None:
        if use_cuda or ProfilerActivity.CUDA in (activities or ()):
            warn("CUDA is not available, disabling CUDA profiling")
        if with_flops:
            warn("with_flops: floating point operations are not counted")
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._options = record_shapes, profile_memory, with_stack
        self._recording: Recording | None = None
        self._step: FunctionEvent | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the action of this step."""
        self._act(self.schedule(self.step_num))

    def stop(self) -> None:
        """End; what was recorded is ready."""
        if self.current_action in _RECORDS:
            self._finish()
        self.current_action = ProfilerAction.NONE

    def step(self) -> None:
        """End a step, and begin the next with the action that the schedule has for it."""
        before = self.current_action
        self._end_step()
        self.step_num += 1
        after = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE or (
            before in _RECORDS and after not in _RECORDS
        ):
            self._finish()
            self.current_action = ProfilerAction.NONE
        self._act(after)

    def _act(self, action: ProfilerAction) -> None:
        if action in _RECORDS and self.current_action not in _RECORDS:
            self._recording = Recording(*self._options)
            self._recording.begin()
        self.current_action = action
        found = recording()
        if self.record_steps and action in _RECORDS and found is not None:
            self._step = found.enter(f"ProfilerStep#{self.step_num}")
            self._step.is_user_annotation = True

    def _end_step(self) -> None:
        if self._step is not None and self._recording is not None:
            self._recording.leave(self._step)
        self._step = None

    def _finish(self) -> None:
        self._end_step()
        if self._recording is not None:
            self._recording.end()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def events(self) -> EventList:
        """The events that were recorded last; AssertionError if nothing was recorded."""
        if self._recording is None:
            raise ProfilerError("Profiler must be initialized before its events are asked for")
        return self._recording.events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events added up: see `EventList.key_averages`."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for Chrome's page about:tracing, or Perfetto; compressed if *.gz."""
        self.events().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the users' lines: see `EventList.export_stacks`."""
        self.events().export_stacks(path, metric)
