"""What lower rooms need of higher ones: see `compiler.core.provided`.

An import points to the same room or a lower one (`docs/architecture.md`). These are the calls that
go the other way; `dynamic.assembly` gives Tensor methods too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.provided import Provided

wrap: Provided[[Any], Operand] = Provided("staticgraph.dynamic.tensors.tensor")
"""`wrap(array)`: a tensor on the memory of an array, without a gradient. The tape shows cotangents
and saved arrays as tensors."""

traced_gradients: Provided[
    [Sequence[Any], Sequence[Any], Any, bool, bool | None, bool], tuple[Any, ...]
] = Provided("staticgraph.dynamic.func.pull")
"""`autograd.grad` where some of the tensors are tracers; `gradients` there says what it takes."""

wrapping: Provided[[type], None] = Provided("staticgraph.dynamic.autograd.wrappers")
"""`wrapping(kind)`: have ops on tensors of a class be what its `__torch_dispatch__` says."""

array_namespace: Provided[[str | None], Any] = Provided("staticgraph.dynamic.assembly")
"""`dynamic.xp`, which is imported when it is asked for; ValueError for an unknown version."""

many_views: Provided[[], None] = Provided("staticgraph.dynamic.fast_paths.views")
"""`many_views()`: have machine code make views from now on, if there were enough."""

overriding: Provided[[type], None] = Provided("staticgraph.dynamic.tensors.overriding")
"""`overriding(kind)`: have a class's own `__torch_function__` asked."""

as_plain: Provided[[type, Any, Any, Any, Any], Any] = Provided(
    "staticgraph.dynamic.tensors.overriding"
)
"""`as_plain(kind, func, types, args, kwargs)`: what `Tensor.__torch_function__` does."""
