"""Anomaly mode: nodes know where they were made, and a nan in the reverse pass is an error."""

from __future__ import annotations

import sys
import threading
import traceback
from typing import Any

import numpy as np

from staticgraph.compiler.core.whose_code import is_own
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.nodes import noted
from staticgraph.dynamic.tape.noted import lost_notes
from staticgraph.dynamic.tape.observers import observe
from staticgraph.dynamic.tape.pulling import Pull, around


class _State:
    """Whether the mode is on, in all threads, and whether it looks for nan."""

    enabled = False
    check_nan = True


class _Running(threading.local):
    def __init__(self) -> None:
        self.nodes: list[Any] = []


state = _State()
_running = _Running()


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on.

    Example:
        >>> dynamic.is_anomaly_enabled()
        False
    """
    return state.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, when on, looks for nan.

    Example:
        >>> with dynamic.autograd.detect_anomaly(check_nan=False):
        ...     print(dynamic.is_anomaly_check_nan_enabled())
        False
    """
    return state.check_nan


def _set(enabled: bool, check_nan: bool) -> tuple[bool, bool]:
    before = state.enabled, state.check_nan
    if enabled != state.enabled:
        observe(note_place, 1 if enabled else -1)
        around.append(watched) if enabled else around.remove(watched)
    state.enabled, state.check_nan = enabled, check_nan
    return before


def note_place(node: Any) -> None:
    """Note the traceback of the call that makes a node, and the node that is running, if any."""
    frames = traceback.extract_stack()
    while len(frames) > 1 and is_own(frames[-1].filename):
        frames.pop()
    metadata = node.metadata
    metadata["traceback_"] = traceback.format_list(frames)
    if _running.nodes:
        metadata["parent_"] = _running.nodes[-1]


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """Switch anomaly mode on or off: at once, and back when a `with` block ends.

    While it is on, nodes remember the traceback of the call that made them, a reverse pass that
    fails shows it in a warning, and with `check_nan` one that finds nan fails: RuntimeError.

    Example:
        >>> with dynamic.autograd.set_detect_anomaly(True):
        ...     print(dynamic.is_anomaly_enabled())
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _set(bool(mode), check_nan)

    def __enter__(self) -> None:
        """The mode is set already."""

    def __exit__(self, *exception: object) -> None:
        _set(*self._before)


class detect_anomaly:  # noqa: N801 - PyTorch's name
    """Inside, anomaly mode is on: see `set_detect_anomaly`.

    Example:
        >>> with dynamic.autograd.detect_anomaly():
        ...     print(dynamic.is_anomaly_enabled())
        True
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._before: list[tuple[bool, bool]] = []
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging."
        )

    def __enter__(self) -> None:
        self._before.append(_set(True, self._check_nan))

    def __exit__(self, *exception: object) -> None:
        _set(*self._before.pop())


def watched(node: Any, pull: Pull, g: object, create_graph: bool) -> Any:
    """What a node finds; what it records has it as parent, an error shows where it was made."""
    _running.nodes.append(node)
    try:
        parts = pull(g, create_graph)
        _check(node, parts)
    except Exception:
        _warn(node)
        raise
    finally:
        _running.nodes.pop()
    return parts


def _check(node: Any, parts: Any) -> None:
    """RuntimeError if a node found nan for one of its operands."""
    if not state.check_nan:
        return
    for place, (_, part) in zip(node.places(), parts, strict=True):
        array = getattr(part, "_array", part)
        if isinstance(array, np.ndarray | np.generic) and np.isnan(array).any():
            error = AutogradError(
                f"Function '{node.name()}' returned nan values in its {place}th output."
            )
            for text in lost_notes:
                error.add_note(text)
            raise error


def _warn(node: Any) -> None:
    metadata = noted(node) or {}
    lines = metadata.get("traceback_")
    text = f"Error detected in {node.name()}. "
    if lines is None:
        text += (
            "No forward pass information available. Enable detect anomaly during forward pass for "
            "more information."
        )
    else:
        text += "Traceback of forward call that caused the error:\n" + "".join(lines)
    _tell(text)
    parent = metadata.get("parent_")
    while parent is not None:
        metadata = noted(parent) or {}
        lines = metadata.get("traceback_")
        text = f"\n\nPrevious calculation was induced by {parent.name()}. "
        if lines is None:
            text += "No forward pass information available."
        else:
            text += "Traceback of forward call that induced the previous calculation:\n" + "".join(
                lines
            )
        _tell(text)
        parent = metadata.get("parent_")


def _tell(text: str) -> None:
    """Warn; where warnings are errors, which would hide the one that is told of, print."""
    try:
        warn(text)
    except Warning as warning:
        print(warning, file=sys.stderr)
