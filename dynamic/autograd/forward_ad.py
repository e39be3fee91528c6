"""Forward mode: tensors that carry a tangent (PyTorch's torch.autograd.forward_ad).

Ops on a dual tensor compute the tangent of their result beside it; `dynamic.func.tangents` says
how, and what it costs. It works without grad mode, and nests with reverse mode: primals and
tangents are recorded on the tape if they depend on tensors that require grad.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.dtypes import DTYPES
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func import dual as duals
from staticgraph.dynamic.func.layouts import laid_out
from staticgraph.dynamic.func.tracer import Level, Tracer, enter_level, exit_level, settled

__all__ = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
    "unpack_dual",
]  # fmt: skip


class UnpackedDualTensor(NamedTuple):
    """The parts of a dual tensor; the tangent is None where there is none.

    Example:
        >>> from dynamic.autograd import forward_ad
        >>> forward_ad.UnpackedDualTensor(dynamic.tensor(2.0), None)
        UnpackedDualTensor(primal=tensor(2.), tangent=None)
    """

    primal: Any
    tangent: Any


class _Current(threading.local):
    level: Level | None = None


_current = _Current()


def __getattr__(name: str) -> int:
    if name == "_current_level":
        return -1 if _current.level is None else 0
    raise AttributeError(f"module 'dynamic.autograd.forward_ad' has no attribute {name!r}")


def _is_fwd_grad_enabled() -> bool:
    return duals.forward.enabled


class _set_fwd_grad_enabled:  # noqa: N801 - PyTorch's name
    """Whether ops on dual tensors have tangents: from now on, and as before after a `with`."""

    def __init__(self, mode: bool) -> None:
        self._before = duals.forward.enabled
        duals.forward.enabled = bool(mode)

    def __enter__(self) -> None:
        """It is set already."""

    def __exit__(self, *exception: object) -> None:
        duals.forward.enabled = self._before


def enter_dual_level() -> int:
    """Start forward mode: dual tensors are made at level 0. RuntimeError if it has started.

    Example:
        >>> from dynamic.autograd import forward_ad
        >>> forward_ad.enter_dual_level()
        0
        >>> forward_ad.exit_dual_level()
    """
    if _current.level is not None:
        raise AutogradError("Nested forward mode AD is not supported at the moment: func.jvp nests")
    _current.level = enter_level(by_hand=True)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End forward mode: dual tensors are their primals from now on.

    Example:
        >>> from dynamic.autograd import forward_ad
        >>> level = forward_ad.enter_dual_level()
        >>> forward_ad.exit_dual_level(level=level)
    """
    if _current.level is None:
        raise AutogradError("Dual level must be a positive number.")
    if level not in (None, 0):
        raise AutogradError(
            "Trying to exit a forward AD level that was not the last one that was created. This "
            "is not supported."
        )
    exit_level(_current.level)
    _current.level = None


class dual_level:  # noqa: N801 - PyTorch's name
    """Forward mode for the time of a `with` block.

    Example:
        >>> from dynamic.autograd import forward_ad
        >>> with forward_ad.dual_level():
        ...     x = forward_ad.make_dual(dynamic.tensor(3.0), dynamic.tensor(1.0))
        ...     print(forward_ad.unpack_dual(x * x).tangent)
        tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """`tensor` with `tangent`, of its size, as its derivative.

    Raises:
        RuntimeError: forward mode has not started, the sizes differ, or the tensor has a tangent.
        ValueError: the tensor or the tangent is not floating point.

    Example:
        >>> from dynamic.autograd import forward_ad
        >>> with forward_ad.dual_level():
        ...     print(forward_ad.make_dual(dynamic.tensor(3.0), dynamic.tensor(1.0)).exp().dtype)
        torch.float32
    """
    current = _current.level
    if current is None:
        raise AutogradError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, one in (("primal", tensor), ("tangent", tangent)):
        if one._array.dtype.kind not in "fc":
            raise OptionError(
                f"Expected {name} to be floating point or complex, but got: "
                f"{DTYPES[one._array.dtype]!r}"
            )
    if duals.split(tensor, current)[1] is not None:
        raise AutogradError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported."
        )
    if duals.split(tangent, current)[1] is not None:
        raise AutogradError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not "
            "supported."
        )
    tensor = settled(tensor)
    if tensor.shape == tangent.shape and not isinstance(tensor, Tracer):
        tangent = laid_out(tangent, tensor)
    return duals.make_dual(current, tensor, tangent)


def unpack_dual(tensor: object, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal and the tangent of a tensor; the tangent is None if it is no dual tensor.

    Example:
        >>> from dynamic.autograd import forward_ad
        >>> with forward_ad.dual_level():
        ...     forward_ad.unpack_dual(dynamic.tensor(3.0))
        UnpackedDualTensor(primal=tensor(3.), tangent=None)
    """
    tensor = settled(tensor)
    if _current.level is None:
        return UnpackedDualTensor(tensor, None)
    primal, tangent = duals.split(tensor, _current.level)
    return UnpackedDualTensor(primal if tangent is None else primal.view_as(primal), tangent)
