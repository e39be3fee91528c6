"""The layouts that calls have needed: what their sizes determine, checked once for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Unknown
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.runtime.launch_plan import LaunchPlan, Layout
from staticgraph.compiler.runtime.sizes import check_sizes

REMEMBERED = 128  # layouts for different sizes


class Layouts:
    """Finds the layout of a call by the sizes that were unknown, or by its arrays' shapes."""

    def __init__(self, definition: Definition, launch_plan: LaunchPlan) -> None:
        self._definition = definition
        self._launch_plan = launch_plan
        self._by_sizes: dict[tuple[int, ...], Layout] = {}
        self._by_shapes: dict[tuple[tuple[int, ...], ...], Layout] = {}

    def of_sizes(self, sizes: Mapping[Unknown, int]) -> Layout:
        """The layout for these sizes; ShapeError, OutOfRangeError if they do not fit."""
        key = tuple(sizes.values())
        layout = self._by_sizes.get(key)
        if layout is None:
            check_sizes(self._definition, sizes)
            layout = self._launch_plan.layout(sizes)
            if len(self._by_sizes) >= REMEMBERED:
                # of a copy, since other threads may change it, or have forgotten the same one
                self._by_sizes.pop(next(iter(list(self._by_sizes))), None)
            self._by_sizes[key] = layout
        return layout

    def of_shapes(self, args: Sequence[Any]) -> Layout | None:
        """The layout that arrays of these shapes had; None if there were none, or one is no array.

        Dtypes and strides are not looked at: whoever calls a kernel by it has them compared.
        """
        if not self._by_shapes or any(one.__class__ is not np.ndarray for one in args):
            return None
        return self._by_shapes.get(tuple([one.shape for one in args]))

    def remember(self, args: Sequence[Any], layout: Layout) -> None:
        """Note the layout of a call with these arguments."""
        if all(one.__class__ is np.ndarray for one in args):
            if len(self._by_shapes) >= REMEMBERED:
                self._by_shapes = {}  # another thread may be reading the old one
            self._by_shapes[tuple([one.shape for one in args])] = layout
