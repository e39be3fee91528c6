"""What a Tensor has beside the methods of its class and their bases: here alone, and in this order.

The class (`dynamic/tensors/tensor.py`) has the general methods, which tracers inherit. The groups
come from rooms that need the class themselves. Where two have a name, the later one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import cleandoc
from typing import Any

from staticgraph.compiler.core import fork
from staticgraph.dynamic import handle
from staticgraph.dynamic.core import keywords, provided
from staticgraph.dynamic.core.named_operands import taking_numpys_words
from staticgraph.dynamic.core.no_tensors import check
from staticgraph.dynamic.fast_paths import METHODS as ON_SMALL_TENSORS
from staticgraph.dynamic.fast_paths.loops import remember_methods
from staticgraph.dynamic.linalg import functions as of_matrices
from staticgraph.dynamic.operations import (
    ATTRIBUTES,
    FUNCTIONS_AS_METHODS,
    IN_PLACE,
    SHARED_OPS,
    in_place,
)
from staticgraph.dynamic.tensors.examples import examples
from staticgraph.dynamic.tensors.tensor import Tensor

NO_METHODS = ("chain_matmul", "lobpcg")
"""The functions of matrices that PyTorch has no methods of."""
GROUPS: tuple[Mapping[str, Any], ...] = (
    SHARED_OPS,  # elementwise ops under their own names: x.logaddexp(y)
    FUNCTIONS_AS_METHODS,  # the functions of the package: x.cumsum(0), x.sort()
    ATTRIBUTES,  # what PyTorch asks of a tensor: x.device, x.nbytes, x.new_zeros(2), x.t_()
    IN_PLACE,  # functions that replace the tensor: x.cumsum_(0)
    # linear algebra: x.det()
    {one: getattr(of_matrices, one) for one in of_matrices.__all__ if one not in NO_METHODS},
    ON_SMALL_TENSORS,  # the short ways of general methods: x + y, x.exp(), x.sum(), x[0]
    handle.METHODS,  # what captures and transforms ask of a tensor
)

for _group in GROUPS:
    for _name, _member in _group.items():
        setattr(Tensor, _name, _member)

for _name, _operands in keywords.METHODS.items():
    setattr(Tensor, _name, keywords.by_name(getattr(Tensor, _name), _operands))
for _name, _parameters in keywords.PARAMETERS.items():
    setattr(Tensor, _name, keywords.renamed(getattr(Tensor, _name), _parameters))
for _name in keywords.ALONG:
    setattr(Tensor, _name, taking_numpys_words(getattr(Tensor, _name)))

for _name in dir(Tensor):
    if _name not in ON_SMALL_TENSORS:  # of which the general methods are checked
        check(Tensor, _name)

remember_methods()


def _explain(name: str, example: str) -> None:
    """Add an example to a method, and to what does the same in place and has none of its own."""
    member = next(vars(kind)[name] for kind in Tensor.__mro__ if name in vars(kind))
    text = member.__doc__ or ""
    if ">>>" not in text:
        member.__doc__ = (cleandoc(text) if "\n" in text else text) + example


_examples = dict(examples())
for _name, _example in _examples.items():
    _explain(_name, _example)
    if f"{_name}_" not in _examples and hasattr(Tensor, f"{_name}_"):
        _explain(f"{_name}_", _example.replace(f".{_name}(", f".{_name}_("))
for _name in in_place.__all__:
    getattr(in_place, _name).__doc__ = getattr(Tensor, _name).__doc__


def _array_namespace(version: str | None) -> Any:
    with fork.importing():
        import_module("staticgraph.compiler.array_api").require_version(version)
        return import_module("staticgraph.dynamic.xp")


provided.array_namespace.provide(_array_namespace)
