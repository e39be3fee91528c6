"""Function: an op of the user's own, with a forward and a backward written in Python."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from staticgraph.dynamic.autograd.context import FunctionCtx
from staticgraph.dynamic.autograd.function_node import FunctionNode, place_outputs
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, MissingMethodError
from staticgraph.dynamic.tape.accumulate_grad import leaf_node
from staticgraph.dynamic.tape.grad_mode import mode, record_if
from staticgraph.dynamic.tape.nodes import Failing, class_named
from staticgraph.dynamic.tape.observers import announce
from staticgraph.dynamic.tensors.tensor import Tensor

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable",
]  # fmt: skip

BackwardCFunction = FunctionCtx
"""PyTorch's name of the class of what forward and backward are given."""


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward whose result must not be differentiated: RuntimeError where it is."""

    @functools.wraps(backward)
    def wrapper(ctx: object, *gradients: object) -> Any:
        recording = record_if(False)
        try:
            results = backward(ctx, *gradients)
        finally:
            record_if(recording)
        if mode.capture is not None:
            from staticgraph.dynamic.autograd import captured_function  # with the capture: rarely

            return captured_function.once(results, gradients, AutogradError(_TWICE))
        if not recording or not any(isinstance(g, Tensor) and g.requires_grad for g in gradients):
            return results
        single = not isinstance(results, tuple)
        listed = (results,) if single else results
        edges = tuple(
            [leaf_node(one.detach()) if isinstance(one, Tensor) else None for one in listed]
        )
        marked = [_undifferentiable(one, edges) for one in listed]
        return marked[0] if single else tuple(marked)

    return wrapper


_TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


def _undifferentiable(result: object, edges: tuple[object, ...]) -> Any:
    if not isinstance(result, Tensor):
        return result
    marked = result.detach()
    marked._node = Failing(marked._array, AutogradError(_TWICE), "Error", edges)
    return marked


class Function:
    """An op of the user's own: subclass it with static methods, and call `apply`.

    `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`; or `forward(*args)`,
    `setup_context(ctx, inputs, output)` and `backward`. What backward does with tensors is
    recorded if the reverse pass is, so it can be differentiated again.

    Example:
        >>> class Double(dynamic.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = dynamic.ones(1, requires_grad=True)
        >>> Double.apply(x).backward()
        >>> x.grad
        tensor([2.])
    """

    generate_vmap_rule = False
    _backward_cls: Any = FunctionNode
    _label = ""
    """PyTorch's name of the node, of a function that is an op there."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._backward_cls = class_named(f"{cls.__name__}Backward", FunctionNode)

    def __init__(self, *args: object, **kwargs: object) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """RuntimeError: instances are of no use."""
        raise AutogradError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The value, a tensor or a tuple; nothing in it is recorded."""
        raise MissingMethodError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: object, inputs: tuple[object, ...], output: object) -> Any:
        """Save for backward what it needs, where `forward` takes no ctx."""
        raise MissingMethodError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: object, *grad_outputs: Any) -> Any:
        """Per argument of forward its gradient, or None."""
        raise MissingMethodError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward
    """Another name of `backward`."""

    @staticmethod
    def jvp(ctx: object, *grad_inputs: object) -> Any:
        """Per output its directional derivative."""
        raise MissingMethodError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: object, in_dims: tuple[object, ...], *args: object) -> Any:
        """The value on batches of arguments, and the axes of the batches in it."""
        raise MissingMethodError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def _reverse(cls) -> Callable[..., Any]:
        """The one of `backward` and `vjp` that the subclass has."""
        own = cls.backward is not Function.backward
        other = cls.vjp is not Function.vjp
        if own and other:
            raise AutogradError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        return cls.vjp if other else cls.backward

    @classmethod
    def _has_jvp(cls) -> bool:
        """Whether forward mode is to call `jvp`: it is there, or nothing else is."""
        own = cls.jvp is not Function.jvp
        return own or (cls.backward is Function.backward and cls.vjp is Function.vjp)

    @classmethod
    def _sets_context_apart(cls) -> bool:
        """Whether forward takes no ctx."""
        return cls.setup_context is not Function.setup_context

    @classmethod
    def apply(cls, *args: object, **kwargs: object) -> Any:
        """Call forward, and record it as one node if an argument requires grad."""
        apart = cls._sets_context_apart()
        if apart:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            raise ArgumentError(f"{cls.__name__}.apply() takes no keyword arguments")
        if any(getattr(arg, "_overwritten", None) is not None for arg in args):
            from staticgraph.dynamic.autograd.traced_function import (
                apply_traced,  # with the capture: rarely
            )

            return apply_traced(cls, args)
        return cls._called(args)[1]

    @classmethod
    def _called(cls, args: tuple[Any, ...]) -> tuple[FunctionCtx, Any]:
        """The context of a call on tensors that are no tracers, and its value, recorded."""
        apart = cls._sets_context_apart()
        ctx = FunctionCtx()
        edges = tuple([arg._node if isinstance(arg, Tensor) else None for arg in args])
        ctx.needs_input_grad = tuple([edge is not None for edge in edges])
        recording = record_if(False)
        try:
            if apart:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        finally:
            record_if(recording)
        outputs = output if isinstance(output, tuple) else (output,)
        node = None
        if recording and any(ctx.needs_input_grad):
            node = cls._backward_cls(ctx, cls, edges, args, outputs)
            announce(node)
        placed = place_outputs(ctx, node, args, outputs)
        if node is not None:
            node.save(args, outputs)
        return ctx, placed if isinstance(output, tuple) else placed[0]


class InplaceFunction(Function):
    """The old base class of a Function that overwrites an argument: `inplace` is kept, no more.

    RuntimeError from `apply` on a leaf that requires grad, as with any Function that says
    `mark_dirty`.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
