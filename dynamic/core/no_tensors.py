"""What functions of tensors say of something else: TypeErrors in their own name, as PyTorch's.

Nothing is looked at before a function fails, so that calls with tensors are as fast as without.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.core.named_operands import in_pytorchs_words


def refuse(name: str, value: object, argument: str = "input") -> NoReturn:
    """TypeError for a first argument that is no tensor, or no sequence of tensors."""
    if argument == "tensors" and isinstance(value, list | tuple):
        place, found = next((i, one) for i, one in enumerate(value) if not _is_tensor(one))
        raise ArgumentError(
            f"{name}(): expected Tensor as element {place} in argument 0, but got "
            f"{type(found).__name__}"
        ) from None
    wanted = "tuple of Tensors" if argument == "tensors" else "Tensor"
    raise ArgumentError(
        f"{name}(): argument '{argument}' (position 1) must be {wanted}, not {type(value).__name__}"
    ) from None


def _is_tensor(value: object) -> bool:
    return isinstance(value, Operand)


def refuse_others(
    name: str,
    function: Callable[..., object],
    args: Sequence[object],
    options: Mapping[str, object],
    error: Exception,
) -> None:
    """TypeError where a function failed because its first argument is no tensor."""
    argument = next(iter(inspect.signature(function).parameters), "input")
    argument = argument if argument in ("tensors", "input") else "input"
    value = args[0] if args else options.get(argument)
    if _is_tensor(value) or (isinstance(value, list | tuple) and all(map(_is_tensor, value))):
        return
    if isinstance(error, StaticGraphError) and isinstance(error, TypeError) and name in str(error):
        return
    unusable = value is None or isinstance(value, str)
    bare = isinstance(error, AttributeError | TypeError)
    if unusable or (bare and isinstance(value, list | tuple | np.ndarray)):
        refuse(name, value, argument)


def of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which says in its own name that its first argument must be a tensor."""
    name = function.__name__

    @functools.wraps(function)
    def named(*args: object, **options: object) -> Any:
        if options:
            options = in_pytorchs_words(function, options)
        try:
            return function(*args, **options)
        except Exception as error:
            if args or options:
                refuse_others(name, function, args, options, error)
            raise

    return named
