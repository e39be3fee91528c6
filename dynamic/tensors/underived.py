"""What has no derivative in PyTorch: not a zero one, but an error of the reverse pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.refusals import refuse, user_place
from staticgraph.compiler.graph.expression import Handle
from staticgraph.dynamic.core.errors import AutogradError, MissingKernelError
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tape.nodes import NAMESPACE, Failing
from staticgraph.dynamic.tensors.inplace import check_result, overwrite
from staticgraph.dynamic.tensors.views import rebase

_LABEL = f"{NAMESPACE}NotImplemented"


def not_derived(name: str) -> AutogradError:
    """What PyTorch says of an op that it has no formula for."""
    return AutogradError(f"derivative for aten::{name} is not implemented")


def no_inplace_form(name: str) -> MissingKernelError:
    """What PyTorch says of an op that has a formula, but not where it overwrites its operand."""
    return MissingKernelError(f"the derivative for 'inplace version of {name}' is not implemented.")


def refused_later(result: Any, operands: Sequence[Any], error: Exception, instead: str) -> Any:
    """`result`; a reverse pass that reaches it raises `error`.

    In a captured function that names the line, and what the function can do `instead`.
    """
    if not mode.enabled or not any(map(_requires_grad, operands)):
        return result
    if mode.capture is not None:
        if not mode.capture.records():
            return result
        if not isinstance(result, Handle):
            refuse(str(error), instead)
        told = type(error)(f"{user_place()}: {error}: {instead}")
        return mode.capture.gradients.failing(result, operands, told)
    result._node = Failing(result._array, error, _LABEL, _edges(operands))
    return result


def overwritten(tensor: Any, op: Op, others: Sequence[Any], error: Exception, instead: str) -> Any:
    """`overwrite`, after which a reverse pass that reaches the tensor raises `error`."""
    operands = (tensor, *others)
    recorded = mode.enabled and any(map(_requires_grad, operands))
    if recorded and mode.capture is not None and mode.capture.records():
        found = refused_later(op(*operands), operands, error, instead)
        check_result(tensor, found)
        return tensor.copy_(found)
    edges = _edges(operands) if recorded else ()
    result = overwrite(tensor, op, others)
    if recorded and mode.capture is None and tensor._overwritten is None:  # no tracer
        rebase(tensor, Failing(tensor._array, error, _LABEL, edges))
    return result


def _edges(operands: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([one._node for one in operands if hasattr(one, "_node")])


def _requires_grad(value: Any) -> bool:
    if mode.capture is not None:
        value = mode.capture.lifted(value)  # so that a call is asked, too
    return bool(getattr(value, "requires_grad", False))
