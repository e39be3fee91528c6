"""What lower rooms need of higher ones: functions that the room above provides when it is imported.

The gradient rules of loops are loops, and an op that expands to others has the type of what it
expands to. Both are made of expressions, which are made of ops. So an op's record calls what stands
here; every frontend imports what provides it. Random numbers that are found by repeated attempts,
or by formulas of a kernel, are evaluated by one, for the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.types import TensorType

Taken = ParamSpec("Taken")
Result = TypeVar("Result")


class Provided(Generic[Taken, Result]):
    """A function that another module provides, once: of the type that is written here."""

    __slots__ = ("_function", "_module")

    def __init__(self, module: str) -> None:
        self._module = module
        self._function: Callable[Taken, Result] | None = None

    def provide(self, function: Callable[Taken, Result]) -> None:
        """Take the function."""
        self._function = function

    def __call__(self, *args: Taken.args, **kwargs: Taken.kwargs) -> Result:
        """Call it; its module is imported if nobody has done so yet.

        Raises:
            GraphError: its module does not provide it.
        """
        if self._function is None:
            fork.imported(self._module)
        if self._function is None:
            raise GraphError(f"{self._module} does not provide what it is to")
        return self._function(*args, **kwargs)


declare_all: Provided[[], None] = Provided("staticgraph.compiler.ops")
"""`declare_all()`: import every family of the op library."""

type_of_expansion: Provided[
    [Callable[..., Any], Sequence[TensorType], Mapping[str, Any]], TensorType
] = Provided("staticgraph.compiler.graph.expression")
"""`(expand, types, attrs)`: the type of what an op expands to on operands of these types."""

scan: Provided[..., tuple[Any, Any]] = Provided("staticgraph.compiler.transforms.control_flow")
"""`scan(step, init, xs, reverse=)`, which gradient rules use."""

scan_cotangents: Provided[..., Sequence[Any]] = Provided(
    "staticgraph.compiler.transforms.control_gradients"
)
"""The cotangents of a scan's operands."""

while_cotangents: Provided[..., Sequence[Any]] = Provided(
    "staticgraph.compiler.transforms.while_loops"
)
"""The cotangents of the operands of a loop, where forward mode asks for them."""

derivatives_of: Provided[[Any, Any, int], Callable[[Sequence[Any]], Sequence[Any]]] = Provided(
    "staticgraph.compiler.transforms.derived"
)
"""`(function, dtype, arity)`: the derivatives of a function of numbers, as a function of operands
that gives one by each, None where it is 0."""

while_of_tracers: Provided[..., tuple[Any] | None] = Provided("staticgraph.dynamic.func.loops")
"""`(cond, body, init, max_steps)`: a loop of examples, or dual numbers, of what is captured, in a
tuple, or None."""

scan_of_tracers: Provided[..., tuple[Any, Any] | None] = Provided("staticgraph.dynamic.func.loops")
"""`(step, init, xs, length, reverse, further=None)`: a scan of examples, or dual numbers, of what
is captured, or None; `further` is one that the step reads around it."""

cond_of_tracers: Provided[..., Any] = Provided("staticgraph.dynamic.func.loops")
"""`(pred, true_fn, false_fn, operands, further=None)`: a branch on what is captured, of such."""

lifted: Provided[[Any, Any], Any] = Provided("staticgraph.dynamic.func.loops")
"""`(tree, like)`: a tree whose leaves are examples, or dual numbers, as one that is given is."""

cond_cotangents: Provided[..., Sequence[Any]] = Provided(
    "staticgraph.compiler.transforms.control_gradients"
)
"""The cotangents of a branch's operands."""

narrow_dtype: Provided[[], object] = Provided("staticgraph.dynamic.tensors.narrowing")
"""The dtype that `autocast` computes products of tensors in, or None."""

custom_function: Provided[[Any], Any] = Provided("staticgraph.dynamic.autograd.custom")
"""`custom_function(call)`: the value of a call of a `custom_vjp` function on eager tensors."""

transposed: Provided[[Any, Any, Any], Sequence[Any]] = Provided(
    "staticgraph.dynamic.autograd.custom"
)
"""`transposed(function, call, gs)`: the cotangents by the transpose of a forward rule."""

by_kernel: Provided[[str, Sequence[Any]], Any] = Provided("staticgraph.compiler")
"""`by_kernel(op, arrays)`: the value of an op of this name, without attributes, by a kernel."""

compile_scalar: Provided[[Callable[..., Any], str, Any], Any] = Provided("staticgraph.compiler")
"""`compile_scalar(function, name, dtype)`: a function of numbers of a dtype as kernels call it."""

shuffle: Provided[[Any], Any] = Provided("staticgraph.compiler")
"""`shuffle(words)`: the positions along the last axis in an order that random words decide."""
places: Provided[[Any], Any] = Provided("staticgraph.compiler")
"""`places(offsets)`: the numbers that are taken along the last axis, each so far behind."""

running: Provided[[Any, Any, int, str, bool], None] = Provided("staticgraph.compiler")
"""`running(out, x, axis, sign, back)`: write the sums ("+") or products ("*") up to each element,
or from it on."""

sort: Provided[[Any, int], None] = Provided("staticgraph.compiler")
"""`sort(x, axis)`: sort a large array in place along an axis."""

first_places: Provided[[Any, int, int, bool], Any] = Provided("staticgraph.compiler")
"""`first_places(x, count, axis, descending)`: the few first places in order of a large array; None
where no loop serves it."""

over_windows: Provided[..., None] = Provided("staticgraph.compiler")
"""`over_windows(kind, windows, out, *given)`: fill an array by a loop over windows of others, as
`compiler.runtime.pooling` says."""

gru: Provided[..., None] = Provided("staticgraph.compiler")
"""`gru(out, *given)`: fill arrays with the states of gated recurrent units, or with cotangents, as
`compiler.runtime.gates` says."""

padded_lines: Provided[[Any, Any, Any, Any, int, bool], None] = Provided("staticgraph.compiler")
"""`padded_lines(out, x, places, elements, begin, back)`: write lines with some of their own
elements beside them, or the adjoint, as `compiler.runtime.padded_lines` says."""

copy_into: Provided[[Any, Any], None] = Provided("staticgraph.compiler")
"""`copy_into(out, x)`: copy a large array into another of its dtype, which lies elsewhere."""

add_into: Provided[[Any, Any], None] = Provided("staticgraph.compiler")
"""`add_into(out, x)`: add a large array to another of its dtype, which lies elsewhere."""

share: Provided[[Callable[[int], None], int], None] = Provided("staticgraph.compiler")
"""`share(task, count)`: call `task` with each number below `count`, in several threads."""

numpy_ufunc: Provided[[Any, str, tuple[Any, ...], Mapping[str, Any]], Any] = Provided(
    "staticgraph.compiler.functions"
)
"""`(ufunc, method, inputs, options)`: a ufunc of NumPy's on handles."""

numpy_function: Provided[[Any, tuple[Any, ...], Mapping[str, Any]], Any] = Provided(
    "staticgraph.compiler.functions"
)
"""`(function, args, options)`: another function of NumPy's on handles."""

for_scipy: Provided[[Any, object, Mapping[str, object]], Any] = Provided("staticgraph")
"""`(executable, start, data)`: an executable as SciPy's solvers call functions."""

picture: Provided[[Any], str | None] = Provided("staticgraph")
"""`picture(expression)`: its graph as SVG, for notebooks; None of a large one."""

array_namespace: Provided[[str | None], Any] = Provided("staticgraph")
"""`staticgraph.xp`, which is imported when it is asked for; OptionError for an unknown version."""
