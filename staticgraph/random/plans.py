"""Draws that were asked for before: to read arguments takes longer than to draw ten numbers.

What a function plans (how numbers are made, their shape, their parameters) is kept for arguments
that are numbers, texts and dtypes, with the kernel; a further call looks it up and draws.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from staticgraph.compiler.core.default_dtype import BLOCKS, OF_PROCESS
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.runtime.sizes import sizes_of
from staticgraph.compiler.runtime.workspace import Workspace
from staticgraph.executables.executable import Executable
from staticgraph.random.draws import INT64, Make, Shape, are_sizes, drawn, kernel_for, key_of


class Draw(NamedTuple):
    """What is drawn: how numbers are made at positions, of which shape and parameters."""

    make: Make
    shape: Shape
    parameters: tuple[Any, ...] = ()


Plan: TypeAlias = Callable[..., Draw]
"""`plan(shape, *others)`: the draw that a function's arguments ask for."""
_PLAIN = frozenset({NoneType, bool, int, float, str, type})
_MOST_BYTES = 1 << 16
"""Of what a draw that is kept works in: larger ones share theirs with other sizes."""


class _NotKeptError(Exception):
    """The arguments are not of the kinds for which a draw is kept."""


def planned(function: str, plan: Plan, key: Any, shape: Any, *others: Any) -> Any:
    """The numbers of `plan(shape, *others)`."""
    if key.__class__ is np.ndarray and key.dtype is INT64 and not key.ndim and not BLOCKS:
        try:
            idle, kernel, inputs, wanted = _kept(plan, OF_PROCESS[0], shape, *others)
        except (_NotKeptError, TypeError):  # arrays and lists have no hash
            pass
        else:
            if shape.__class__ is not tuple or are_sizes(shape):  # 10, 10.0 and True are equal
                found = _run(idle, kernel, key, inputs)
                return found if wanted is None else found.reshape(wanted)
    draw = plan(shape, *others)
    return drawn(draw.make, key_of(function, key), draw.shape, draw.parameters)


def _run(idle: list[Workspace], kernel: Executable, key: Array, inputs: tuple[Array, ...]) -> Any:
    """What a kernel computes, in a workspace of its own for inputs of these sizes if one is idle.

    That takes a third of the time of a call that looks for one.
    """
    try:
        workspace = idle.pop()
    except IndexError:
        return kernel(key, *inputs)
    try:
        results = workspace.call(key, *inputs)
    finally:
        idle.append(workspace)
    return results[0] if results.__class__ is list else kernel(key, *inputs)


@lru_cache(maxsize=1024, typed=True)
def _kept(
    plan: Plan, default: DType, shape: Any, *others: Any
) -> tuple[list[Workspace], Executable, tuple[Array, ...], Shape | None]:
    """What draws as planned: workspaces, the kernel, its inputs behind the key, and a shape.

    Raises:
        _NotKeptError: the arguments are of other kinds, among them what would be kept alive.
    """
    for one in others:
        if one.__class__ not in _PLAIN and not isinstance(one, np.dtype):
            raise _NotKeptError
    if isinstance(shape, tuple) and not are_sizes(shape):
        raise _NotKeptError
    draw = plan(shape, *others)
    kernel, inputs = kernel_for(draw.make, draw.shape, draw.parameters)
    idle = _workspaces(kernel, *[one.shape for one in inputs])
    return idle, kernel, inputs, None if len(draw.shape) == 1 else draw.shape


@lru_cache(maxsize=256)
def _workspaces(kernel: Executable, *shapes: Shape) -> list[Workspace]:
    """One for inputs of these shapes behind the key, if it is small."""
    runner = kernel.runner.compiled("runner")
    inputs = [
        np.empty(shape, one.type.dtype)
        for shape, one in zip(((), *shapes), runner.feeds, strict=True)
    ]
    workspace = runner.workspace_for(sizes_of(runner.feeds, inputs))
    return [] if workspace.arena is None or workspace.arena.size > _MOST_BYTES else [workspace]
