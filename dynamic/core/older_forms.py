"""Calls with a factor before the tensors, as scripts of PyTorch's first years write them.

`x.add_(0.1, y)` is `x.add_(y, alpha=0.1)`, `x.addcmul_(2, y, z)` is
`x.addcmul_(y, z, value=2)`, and `torch.addmm(2, x, 3, y, z)` is
`torch.addmm(x, y, z, beta=2, alpha=3)`. Nobody looks for them before a call has failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.core.user_warnings import warn

_PRODUCTS = ("addbmm", "addmm", "addmv", "addr", "baddbmm")
_FORMS: dict[str, tuple[int, tuple[str, ...]]] = {
    **dict.fromkeys(("add", "sub"), (2, ("alpha",))),
    **dict.fromkeys(("addcdiv", "addcmul"), (3, ("value",))),
    **dict.fromkeys(_PRODUCTS, (3, ("beta", "alpha"))),
}
"""By name how many tensors there are, and what the numbers before them are called, in order."""


def in_newer_form(
    name: str, args: Sequence[Any], options: Mapping[str, object]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call in such a form, in the form that there is now, with a warning.

    None of any other call.
    """
    count, factors = _FORMS.get(name.removesuffix("_"), (0, ()))
    tensors = tuple([one for one in args if isinstance(one, Operand)])
    numbers = [one for one in args if not isinstance(one, Operand)]
    if options or not tensors or len(tensors) != count or tensors[-1] is not args[-1]:
        return None
    if not 0 < len(numbers) <= len(factors) or not all(isinstance(one, Real) for one in numbers):
        return None
    given = dict(zip(factors, numbers, strict=False))
    shown = ", ".join(f"{factor}={number}" for factor, number in given.items())
    warn(f"This overload of {name} is deprecated: give numbers behind the tensors, as {shown}")
    return tensors, given


def called_again(method: Any, name: str, args: Sequence[Any], alpha: object) -> Any:
    """A sum or difference whose factor comes before the second tensor; TypeError for another."""
    newer = in_newer_form(name, args, {} if alpha == 1 else {"alpha": alpha})
    if newer is None:
        raise ArgumentError(f"{name}() takes 2 positional arguments but {len(args)} were given")
    return method(*newer[0], **newer[1])
