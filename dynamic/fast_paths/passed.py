"""What is exchanged while calls are seen: methods of Tensor, short ways of ops, factories.

So what is not seen costs nothing. Functions that look for themselves whether calls are seen, as
most of the package's do, stay what they are.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.passing import Passed, passed_with_tensors
from staticgraph.dynamic.fast_paths import SHORT
from staticgraph.dynamic.tensors.overriding import METHOD_OF, methods_asked
from staticgraph.dynamic.tensors.tensor import Tensor

_ALSO = ("__repr__", "__bool__", "__float__", "__int__", "__len__", "__contains__", "__iter__")
"""Special methods that modes see, and classes are not asked for."""
_FUNCTIONS = {
    "": (
        "arange", "as_tensor", "asarray", "empty", "empty_like", "full_like", "ones", "ones_like",
        "rand", "rand_like", "randn", "randn_like", "tensor", "zeros", "zeros_like",
    ),
    ".autograd": ("backward", "grad"),
    ".nn.init": (
        "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
        "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_",
        "zeros_",
    ),
}  # fmt: skip
"""By module the functions that do not look for themselves."""

_before: list[tuple[Any, str, Any]] = []
"""Whose attribute was what, before calls were seen; itself where it had none of its own."""
_kinds: dict[Op, type] = {}
"""The class of an op before."""


def exchange(seen: bool) -> None:
    """Have the calls of this package's functions seen, or no longer."""
    if seen:
        _put()
    else:
        _restore()


def _put() -> None:
    for name in (*methods_asked(), *_ALSO):
        _set(Tensor, name)
    for name, shown in METHOD_OF.items():  # an operator is seen as the method that it is
        vars(Tensor)[name].shown = getattr(Tensor, shown)
    turned = vars(Tensor)["__rmatmul__"]
    turned.shown, turned.turns = vars(Tensor)["matmul"], True
    for place, names in _FUNCTIONS.items():
        module: Any = sys.modules.get(f"staticgraph.dynamic{place}")
        for name in names if module is not None else ():
            _set(module, name)
    for op in (*SHORT, ops.where):
        kind: Any = type(op)
        _kinds[op] = kind
        object.__setattr__(op, "__class__", _seen(kind))


def _set(owner: Any, name: str) -> None:
    function = getattr(owner, name)
    _before.append((owner, name, vars(owner).get(name, _before)))
    setattr(owner, name, Passed(function, name))


def _restore() -> None:
    for op, kind in _kinds.items():
        object.__setattr__(op, "__class__", kind)
    _kinds.clear()
    while _before:
        owner, name, value = _before.pop()
        if value is _before:
            delattr(owner, name)
        else:
            setattr(owner, name, value)


@functools.lru_cache(None)
def _seen(kind: Any) -> type:
    """The class of an op whose calls are seen, which goes on with those of its own class."""
    short = vars(kind)["__call__"].__func__

    def call(self: Op, *operands: object, **attrs: object) -> Any:
        found = passed_with_tensors(self, operands, attrs)
        return short(*operands, **attrs) if found is None else found[0]

    documentation = vars(Op)["__doc__"]
    namespace = {"__slots__": (), "__call__": call, "__doc__": documentation}
    return type(kind.__name__, (Op,), namespace)
