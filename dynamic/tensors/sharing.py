"""`asarray`: tensors on the memory of what is given, or copies, as asked."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.no_tensors import of_kinds
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.factory_options import check_options
from staticgraph.dynamic.tensors.tensor import Tensor
from staticgraph.dynamic.tensors.values import values_of


@of_kinds
def asarray(
    obj: object,
    *,
    dtype: object = None,
    device: object = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor, on the same memory if the dtype allows and `copy` does not say otherwise.

    It requires grad as `obj` does, unless told otherwise. ValueError if `copy` is False and a copy
    is needed.

    Example:
        >>> a = np.zeros(2)
        >>> dynamic.asarray(a, copy=True)[0] = 1.0
        >>> a
        array([0., 0.])
    """
    if device is not None:
        check_options("asarray", {"device": device})
    found = as_tensor(obj, dtype)
    held = obj._array if isinstance(obj, Tensor) else obj
    shared = isinstance(held, np.ndarray) and np.shares_memory(held, values_of(found))
    if copy is False and not shared and found.numel():
        raise OptionError(
            "asarray(): can't alias an arbitrary sequence, nor a tensor in another dtype: "
            "copy=False"
        )
    if shared and copy:
        found = found.clone()
    if requires_grad is None or requires_grad == found.requires_grad:
        return found
    return found.requires_grad_() if requires_grad else found.detach()
