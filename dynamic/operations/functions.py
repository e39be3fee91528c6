"""Functions of the package whose meaning or name PyTorch gives otherwise than NumPy.

Each is the method of the first tensor: `max(x, dim)` returns values and indices, `var` and `std`
divide by n - 1, `transpose` exchanges two axes, `split` takes sizes instead of sections, `round`
takes decimals, `squeeze` leaves axes of another size alone. The rest has only PyTorch's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.overrides import answer, asking
from staticgraph.compiler.core.passing import passed, passing
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.no_tensors import refuse, refuse_kinds
from staticgraph.dynamic.core.older_forms import in_newer_form
from staticgraph.dynamic.operations.places import concat, refuse_one_tensor
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.dims import axis_of
from staticgraph.dynamic.tensors.outputs import put_out
from staticgraph.dynamic.tensors.short_ways import stacking
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor

__all__ = [
    "add", "all", "amax", "amin", "any", "cat", "chunk", "clamp", "clip", "clone", "div", "eq",
    "flatten", "flip", "floor_divide", "fmod", "ge", "gt", "index_select", "is_inference",
    "is_tensor", "le", "lt", "masked_fill", "max", "mean", "min", "mul", "narrow", "ne",
    "neg", "norm", "numel", "permute", "prod", "remainder", "round", "select", "split", "squeeze",
    "stack", "std", "sub", "subtract", "sum", "swapaxes", "t", "transpose", "unbind",
    "unsqueeze", "var",
]  # fmt: skip


_EXAMPLES = {
    "add": ("dynamic.tensor([1.0]), 2.0, alpha=3", "tensor([7.])"),
    "all": ("dynamic.tensor([True, False])", "tensor(False)"),
    "amax": ("dynamic.tensor([[1, 5], [7, 3]]), dim=1", "tensor([5, 7])"),
    "amin": ("dynamic.tensor([[1, 5], [7, 3]]), dim=1", "tensor([1, 3])"),
    "any": ("dynamic.tensor([True, False])", "tensor(True)"),
    "clamp": ("dynamic.tensor([-2.0, 0.5, 2.0]), -1, 1", "tensor([-1.0000,  0.5000,  1.0000])"),
    "clip": ("dynamic.tensor([-2.0, 2.0]), -1, 1", "tensor([-1.,  1.])"),
    "flatten": ("dynamic.tensor([[1, 2], [3, 4]])", "tensor([1, 2, 3, 4])"),
    "floor_divide": ("dynamic.tensor([7, -7]), 2", "tensor([ 3, -4])"),
    "fmod": ("dynamic.tensor([7.0, -7.0]), 3", "tensor([ 1., -1.])"),
    "masked_fill": ("dynamic.tensor([1, 2]), dynamic.tensor([True, False]), 9", "tensor([9, 2])"),
    "max": ("dynamic.tensor([1, 5, 3])", "tensor(5)"),
    "mean": ("dynamic.tensor([1.0, 2.0])", "tensor(1.5000)"),
    "min": ("dynamic.tensor([4, 2, 3])", "tensor(2)"),
    "permute": (
        "dynamic.tensor([[1, 2, 3]]), (1, 0)",
        "tensor([[1],\n            [2],\n            [3]])",
    ),
    "prod": ("dynamic.tensor([2, 3])", "tensor(6)"),
    "remainder": ("dynamic.tensor([7.0, -7.0]), 3", "tensor([1., 2.])"),
    "round": ("dynamic.tensor([1.256]), decimals=1", "tensor([1.3000])"),
    "select": ("dynamic.tensor([[1, 2], [3, 4]]), 0, 1", "tensor([3, 4])"),
    "split": ("dynamic.tensor([1, 2, 3]), 2", "(tensor([1, 2]), tensor([3]))"),
    "squeeze": ("dynamic.tensor([[1, 2]])", "tensor([1, 2])"),
    "std": ("dynamic.tensor([1.0, 2.0, 3.0])", "tensor(1.)"),
    "sub": ("dynamic.tensor([5.0]), 1.0, alpha=2", "tensor([3.])"),
    "subtract": ("dynamic.tensor([5.0]), 1.0", "tensor([4.])"),
    "sum": ("dynamic.tensor([[1, 2], [3, 4]]), dim=0", "tensor([4, 6])"),
    "swapaxes": ("dynamic.tensor([[1, 2]]), 0, 1", "tensor([[1],\n            [2]])"),
    "transpose": ("dynamic.tensor([[1, 2]]), 0, 1", "tensor([[1],\n            [2]])"),
    "var": ("dynamic.tensor([1.0, 2.0, 3.0])", "tensor(1.)"),
}
"""What functions that are methods are given, and give."""


def _with_example(text: str | None, name: str) -> str | None:
    """The documentation of a method with an example of the function."""
    if text is None or ">>>" in text or name not in _EXAMPLES:
        return text
    given, shown = _EXAMPLES[name]
    return f"{text}\n\nExample:\n    >>> dynamic.{name}({given})\n    {shown}\n"


def _as_operand(name: str, value: object) -> Any:
    try:
        return as_tensor(value)
    except (TypeError, RuntimeError):
        refuse(name, value)


def _method(name: str) -> Any:
    method = getattr(Tensor, name)

    def function(input: object, *args: object, out: object = None, **kwargs: object) -> Any:
        if passing:
            options = kwargs if out is None else {**kwargs, "out": out}
            if (said := passed(function, (input, *args), options)) is not None:
                return said[0]
        if type(input) in PLAIN and out is None and not kwargs:
            try:
                return method(input, *args)
            except Exception as error:
                if (found := answer(function, (input, *args), kwargs)) is not None:
                    return found[0]
                if (newer := in_newer_form(name, (input, *args), kwargs)) is not None:
                    return function(*newer[0], **newer[1])
                refuse_kinds(name, method, (input, *args), kwargs, error)
                raise
        if isinstance(input, Operand) and not isinstance(input, Tensor):
            return getattr(ops, name)(input, *args, **kwargs)  # a symbolic expression
        if "other" in kwargs and name in ("max", "min"):
            args = (kwargs.pop("other"), *args)
        for numpy_name, own_name in (("axis", "dim"), ("keepdims", "keepdim")):
            if numpy_name in kwargs:
                kwargs[own_name] = kwargs.pop(numpy_name)
        try:
            tensor = input if isinstance(input, Tensor) else _as_operand(name, input)
            result = getattr(tensor, name)(*args, **kwargs)
        except Exception as error:
            if (found := answer(function, (input, *args), kwargs)) is not None:
                return found[0]
            refuse_kinds(name, method, (input, *args), kwargs, error)
            raise
        return result if out is None else put_out(name, out, result, (tensor, *args))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _with_example(getattr(Tensor, name).__doc__, name)
    return asking(function)


max, min, amax, amin = (_method(name) for name in ("max", "min", "amax", "amin"))
sum, mean, prod, floor_divide = (_method(name) for name in ("sum", "mean", "prod", "floor_divide"))
remainder, fmod = _method("remainder"), _method("fmod")
var, std, norm = _method("var"), _method("std"), _method("norm")
any, all = _method("any"), _method("all")
add, sub, subtract = _method("add"), _method("sub"), _method("subtract")
clip, permute = _method("clip"), _method("permute")
transpose, swapaxes, t, squeeze, unsqueeze = (
    _method(name) for name in ("transpose", "swapaxes", "t", "squeeze", "unsqueeze")
)
flatten, split, chunk, unbind = (_method(name) for name in ("flatten", "split", "chunk", "unbind"))
select, narrow, clone, round = (_method(name) for name in ("select", "narrow", "clone", "round"))
clamp, masked_fill = _method("clamp"), _method("masked_fill")
index_select, numel = _method("index_select"), _method("numel")
mul, div = ops.multiply, ops.divide
eq, ne, lt, le, gt, ge = (
        ops.equal, ops.not_equal, ops.less, ops.less_equal, ops.greater, ops.greater_equal,
    )  # fmt: skip
neg, cat = ops.negative, concat


def flip(input: object, dims: object) -> Any:
    """The elements in reverse order along the given axes.

    Example:
        >>> dynamic.flip(dynamic.tensor([1, 2, 3]), (0,))
        tensor([3, 2, 1])
    """
    return ops.flip(input, dims)


@asking
def stack(tensors: Sequence[Any], dim: int = 0, *, out: Any = None, axis: int | None = None) -> Any:
    """Tensors of one shape joined along a new axis; `axis` is another name of `dim`.

    Example:
        >>> dynamic.stack([dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0, 4.0])])
        tensor([[1., 2.],
                [3., 4.]])
    """
    dim = dim if axis is None else axis
    if (
        passing
        and (said := passed(stack, (tensors, dim), {} if out is None else {"out": out})) is not None
    ):
        return said[0]
    if out is not None:
        return put_out("stack", out, stack(tensors, dim), tuple(tensors))
    try:
        return _stacking.function(tensors, dim)
    except Exception as error:
        if (found := answer(stack, (tensors, dim), {})) is not None:
            return found[0]
        refuse_kinds("stack", stack, (tensors, dim), {}, error)
        raise


def _stack(tensors: Sequence[Any], dim: int) -> Any:
    refuse_one_tensor("stack", tensors)
    others = [one for one in tensors if not isinstance(one, Tensor)]
    if 0 < len(others) < len(tensors):
        refuse("stack", tensors, "tensors")
    tensors = [as_tensor(one) for one in tensors]
    if not tensors:
        raise AutogradError("stack expects a non-empty TensorList")
    axis = axis_of("stack", dim, tensors[0].ndim + 1)
    return tensors[0]._apply(eager_ops.stack, tensors, {"axis": axis})


_stacking = stacking(_stack)


def is_inference(input: Any) -> Any:
    """Whether a tensor was made in inference mode.

    Example:
        >>> dynamic.is_inference(dynamic.ones(2))
        False
    """
    return input.is_inference()


def is_tensor(obj: object) -> bool:
    """Whether an object is a Tensor.

    Example:
        >>> dynamic.is_tensor(dynamic.ones(2)), dynamic.is_tensor(np.ones(2))
        (True, False)
    """
    return isinstance(obj, Tensor)
