"""Linear layers, and layers that only pass on or reshape."""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.nn import (
    functional as F,  # noqa: N812 - PyTorch's name
    init,
)
from staticgraph.dynamic.nn.errors import ModuleError
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tensors.creation import empty
from staticgraph.dynamic.tensors.devices import check_device
from staticgraph.dynamic.tensors.dims import axis_of


class Identity(Module):
    """A layer that returns its input, whatever arguments it is made with.

    Example:
        >>> nn.Identity()(dynamic.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Module):
    """x @ weight.T + bias: (..., in_features) -> (..., out_features).

    Weight and bias begin uniform within 1 / sqrt(in_features).

    Example:
        >>> nn.Linear(3, 2)(dynamic.ones(4, 3)).shape
        torch.Size([4, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        check_device(device)
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(empty(out_features, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        if self.weight.numel():
            init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Any) -> Any:
        """x @ weight.T + bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear inside another layer, printed under PyTorch's name."""


class Bilinear(Module):
    """x weight[k] y + bias[k]: (..., in1_features), (..., in2_features) -> (..., out_features).

    Weight and bias begin uniform within 1 / sqrt(in1_features).

    Example:
        >>> nn.Bilinear(2, 3, 4)(dynamic.ones(5, 2), dynamic.ones(5, 3)).shape
        torch.Size([5, 4])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        check_device(device)
        super().__init__()
        if in1_features <= 0:
            raise OptionError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(empty(out_features, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        """x weight[k] y + bias[k] for each k."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Flatten(Module):
    """The axes from `start_dim` to `end_dim` as one.

    Example:
        >>> nn.Flatten()(dynamic.ones(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        """The input under another shape."""
        shape = tuple(input.shape)
        first, last = (
            axis_of("Flatten", dim, len(shape)) for dim in (self.start_dim, self.end_dim)
        )
        return ops.reshape(input, (*shape[:first], -1, *shape[last + 1 :]))

    def extra_repr(self) -> str:
        """The axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis as several, of the given sizes, one of which may be -1.

    Example:
        >>> nn.Unflatten(1, (2, 3))(dynamic.ones(4, 6)).shape
        torch.Size([4, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: object) -> None:
        super().__init__()
        if not isinstance(unflattened_size, tuple | list):
            raise ArgumentError(
                "unflattened_size must be a tuple of ints, but found type "
                f"{type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise ArgumentError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {position}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Any) -> Any:
        """The input under another shape."""
        shape = tuple(input.shape)
        axis = axis_of("Unflatten", self.dim, len(shape), of_number=False)
        sizes = list(self.unflattened_size)
        if -1 in sizes:
            sizes[sizes.index(-1)] = shape[axis] // -math.prod(sizes)
        if math.prod(sizes) != shape[axis]:
            raise ModuleError(
                f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {axis} "
                f"({shape[axis]}) in the input tensor"
            )
        return ops.reshape(input, (*shape[:axis], *sizes, *shape[axis + 1 :]))

    def extra_repr(self) -> str:
        """The axis and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
