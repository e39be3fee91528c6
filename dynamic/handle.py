"""What staticgraph asks of tensors as handles (`compiler.core.op.Operand`).

It needs the capture, which most code never uses: it is imported when it is asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.protocols import CompiledFunction
from staticgraph.dynamic.core.dtypes import _default
from staticgraph.dynamic.core.no_tensors import refuse_kinds
from staticgraph.dynamic.core.pytorch import called
from staticgraph.dynamic.tensors.tensor import Tensor


@functools.cache
def _calls() -> Any:
    """The module, imported once: the statement takes half a microsecond each time."""
    from staticgraph.dynamic.capture import calls

    return calls


def call(function: CompiledFunction, operands: Sequence[object]) -> list[Any]:
    """The results of a compiled function, recorded as one node."""
    found: list[Any] = _calls().call(function, operands)
    return found


def perform(function: CompiledFunction, effects: object, operands: Sequence[object]) -> list[Any]:
    """The results of a compiled function that does more than computing them."""
    found: list[Any] = _calls().perform(function, effects, operands)
    return found


def arrays(operands: Sequence[object]) -> list[Any]:
    """The arrays of tensors; what is no tensor as it is."""
    found: list[Any] = _calls().arrays(operands)
    return found


def traced(cls: type[Tensor], expression: Any, argument: bool = False) -> Any:
    """What stands for an expression while a function of tensors is captured."""
    from staticgraph.dynamic.capture import traced

    return traced(cls, expression, argument)


def captured(
    name: str, inputs: Sequence[Any], given: Sequence[object], held: Sequence[bool]
) -> Any:
    """The captures of a function of tensors, one on each way through its branches on values.

    `name` is the function's, `inputs` are its placeholders, `given` the operands of the call,
    `held` which of them are of modules.
    """
    from staticgraph.dynamic.capture import Captured

    return Captured(name, inputs, given, held)


def keeps(put: Callable[[Any], None], value: object) -> None:
    """Note that each call hands a value, as it is then, to something outside of the function."""
    from staticgraph.dynamic.tape.grad_mode import mode

    mode.capture.keeping.add(put, value)


def mistaken(op: Op, given: Sequence[object], options: dict[str, Any], error: Exception) -> None:
    """TypeError where a call of an op failed and an argument is of another kind than PyTorch takes.

    It is in PyTorch's name of the op.
    """
    refuse_kinds(called(op) or op.name, op, given, options, error)


def make_wrapper_subclass(cls: Any, size: Sequence[int], *args: Any, **options: Any) -> Any:
    """A tensor without memory, of a class whose `__torch_dispatch__` says what ops on it are."""
    from staticgraph.dynamic.autograd import wrappers

    return wrappers.make_wrapper_subclass(cls, size, *args, **options)


def to_sparse(self: Any, sparseDims: int | None = None, *, layout: Any = None) -> Any:
    """The tensor as the places and values of its non-zeros; RuntimeError if it requires grad.

    All axes are those of the places, and the layout is `sparse_coo`: RuntimeError for others.

    Example:
        >>> dynamic.tensor([0.0, 3.0]).to_sparse().indices()
        tensor([[1]])
    """
    from staticgraph.dynamic import sparse

    return sparse.to_sparse(self, sparseDims, layout)


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The tensor as one of a subclass, on the same memory and recorded; TypeError for no subclass.

    What else such an object has, an `__init__` sets, which is not called.

    Example:
        >>> class Named(dynamic.Tensor):
        ...     name = "x"
        >>> dynamic.ones(2).as_subclass(Named).name
        'x'
    """
    from staticgraph.dynamic.tensors import overriding

    return overriding.as_subclass(self, cls)


def make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """A leaf of a subclass on the memory of a tensor; TypeError for no subclass.

    Example:
        >>> class Named(dynamic.Tensor):
        ...     name = "x"
        >>> dynamic.Tensor._make_subclass(Named, dynamic.ones(2)).name
        'x'
    """
    from staticgraph.dynamic.tensors import overriding

    return overriding.make_subclass(cls, data, require_grad)


METHODS: dict[str, Any] = {
    "_make_subclass": staticmethod(make_subclass),
    "_make_wrapper_subclass": staticmethod(make_wrapper_subclass),
    "_mistaken": staticmethod(mistaken),
    "as_subclass": as_subclass,
    "to_sparse": to_sparse,
    "_call": staticmethod(call),
    "_perform": staticmethod(perform),
    "_arrays": staticmethod(arrays),
    "_traced": classmethod(traced),
    "_captured": staticmethod(captured),
    "_keeps": staticmethod(keeps),
    "_settings": (_default,),
}
"""Methods of Tensor, whose room is below the capture."""
