"""Traced tensors: what stands for a tensor while a function of tensors is captured.

A capture (`sg.function` and the transforms of staticgraph) calls a function once, to learn what it
computes. A traced tensor is a tracer of the outermost level, and holds an expression. Its methods
are those of Tensor and mean what they mean there: they run as they stand, and end in ops, of which
expressions are made. What they ask beside that, of values or memory, has no answer before the
function runs, and is refused at the user's line.

What a function changes outside, and what it draws and reads there, is done at each call: see
`dynamic.capture.effects`.

What is made inside of nothing traced, such as `zeros(3)`, is known: a traced tensor that holds an
array, on which ops are evaluated at once.
"""

from __future__ import annotations

from staticgraph.dynamic.capture.captured import Captured
from staticgraph.dynamic.capture.traced import Traced, traced

__all__ = ["Captured", "Traced", "traced"]
