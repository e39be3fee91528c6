"""Hooks of modules on the gradients of their inputs and outputs.

The inputs and the outputs of a call pass through a Function that does nothing, whose node the
hooks are on: so they run once, with all gradients. Those of the deprecated kind are on the node
that made the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from staticgraph.dynamic.autograd.function import Function
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.nn.errors import ModuleError
from staticgraph.dynamic.tape.absorbed import register_hook
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.tensor import Tensor

Hook = Callable[..., Any]


class BackwardHookFunction(Function):
    """All tensors as they are."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        """The tensors; those that require no grad stay so."""
        ctx.mark_non_differentiable(*[one for one in tensors if not one.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: object, *gradients: Any) -> Any:
        """The gradients."""
        return gradients


class Hooked:
    """One call of a module with backward hooks.

    Attributes:
        places: which of the positional arguments are tensors that passed through; None if none of
            them requires grad.
        tensors: these tensors, detached.
        gradients: those of the outputs, once they are known.
    """

    def __init__(self, module: object, hooks: Sequence[Hook], before: Sequence[Hook]) -> None:
        self.module = module
        self.hooks = hooks
        self.before = before
        self.places: list[int] | None = None
        self.tensors: list[Any] = []
        self.out_places: list[int] = []
        self.count = self.out_count = 0
        self.gradients: tuple[Any, ...] | None = None

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with the hooks after their gradients."""
        self.count = len(args)
        if not self.hooks:
            return args
        args, self.places, node = _through(args)
        if node is not None and self.places is not None:
            self.tensors = [args[i].detach() for i in self.places]
            node.register_hook(self._after)
        return args

    def outputs(self, result: Any) -> Any:
        """The result of the module, with the hooks before its gradients."""
        several = isinstance(result, tuple)
        listed = result if several else (result,)
        self.out_count = len(listed)
        listed, places, node = _through(listed)
        if node is not None and places is not None:
            self.out_places = places
            node.register_prehook(self._before)
        return listed if several else listed[0]

    def _before(self, given: tuple[object, ...]) -> tuple[Any, ...]:
        gradients = _spread(given, self.out_places, self.out_count)
        for hook in self.before:
            changed = _listed(hook(self.module, gradients))
            if changed is None:
                continue
            _require_count("Backward pre hook", "grad_output", changed, gradients)
            gradients = changed
        self.gradients = gradients
        if self.places is None and self.hooks:
            self._without_inputs(gradients)
        return tuple(gradients[i] for i in self.out_places)

    def _without_inputs(self, gradients: tuple[object, ...]) -> None:
        warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients."
        )
        for hook in self.hooks:
            changed = _listed(hook(self.module, (None,) * self.count, gradients))
            if changed is not None and any(one is not None for one in changed):
                raise ModuleError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.gradients = None

    def _after(self, found: tuple[object, ...], given: tuple[object, ...]) -> Any:
        if self.gradients is None or self.places is None:
            return None
        # a tensor that requires no grad has one of zeros here, as in PyTorch
        whole = [
            tensor.new_zeros(tensor.shape) if one is None else one
            for tensor, one in zip(self.tensors, found, strict=True)
        ]
        gradients = _spread(whole, self.places, self.count)
        for hook in self.hooks:
            changed = _listed(hook(self.module, gradients, self.gradients))
            if changed is None:
                continue
            _require_count("Backward hook", "grad_input", changed, gradients)
            gradients = changed
        self.gradients = None
        return tuple(gradients[i] for i in self.places)


def _through(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int] | None, Any]:
    """The values with their tensors passed on, which these are, and the node; or None, None."""
    places = [i for i, one in enumerate(values) if isinstance(one, Tensor)]
    if not mode.enabled or not any(values[i].requires_grad for i in places):
        return values, None, None
    passed = BackwardHookFunction.apply(*(values[i] for i in places))
    result = list(values)
    for i, one in zip(places, passed, strict=True):
        result[i] = one
    node = next(one.grad_fn for one in passed if one.requires_grad)
    return tuple(result), places, node


def _spread(gradients: Sequence[object], places: Sequence[int], count: int) -> tuple[Any, ...]:
    """The gradients at their places among `count`, None elsewhere."""
    found: list[Any] = [None] * count
    for place, one in zip(places, gradients, strict=True):
        found[place] = one
    return tuple(found)


def _listed(changed: object) -> tuple[Any, ...] | None:
    if changed is None or isinstance(changed, tuple):
        return changed
    return (changed,)


def _require_count(name: str, what: str, changed: Any, gradients: Any) -> None:
    if len(changed) != len(gradients):
        raise ModuleError(
            f"{name} returned an invalid number of {what}, got {len(changed)}, but expected "
            f"{len(gradients)}"
        )


def at_last_node(module: object, hooks: Sequence[Hook], args: object, result: Any) -> None:
    """Put hooks of the deprecated kind on the node of a result, or of the first tensor in it.

    A FutureWarning says what of the module's gradients they miss. TypeError if there is no tensor.
    """
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next(one for one in first.values() if isinstance(one, Tensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        register_hook(node, _of_module(hook, module))
    missed = _missed(node, _tensors(args), _tensors(result))
    if missed:
        warn(
            f"Using a non-full backward hook {missed}. Please use register_full_backward_hook to "
            "get the documented behavior.",
            FutureWarning,
        )


def _of_module(hook: Hook, module: object) -> Hook:
    @wraps(hook)
    def called(found: object, given: object) -> Any:
        return hook(module, found, given)

    return called


def _tensors(values: Any) -> Sequence[Any] | None:
    """A tensor, or those of a tuple of tensors; None of what is neither."""
    listed = values if isinstance(values, tuple) else (values,)
    return listed if all(isinstance(one, Tensor) for one in listed) else None


def _missed(node: Any, args: Sequence[Any] | None, results: Sequence[Any] | None) -> str:
    """What the hooks of a node miss of a module's gradients, in words; nothing: an empty text."""
    if results is None:
        return (
            "on a Module that does not return a single Tensor or a tuple of Tensors: it will be "
            "missing some of the grad_output"
        )
    if args is None:
        return (
            "on a Module that does not take as input a single Tensor or a tuple of Tensors: it "
            "will be missing some of the grad_input"
        )
    if len({one.grad_fn for one in results} - {None}) > 1:
        return (
            "when outputs are generated by different autograd Nodes: it will be missing some "
            "grad_output"
        )
    before = {one.grad_fn for one in args} - {None}
    if before != {one for one, _ in node.next_functions}:
        return (
            "when the forward contains multiple autograd Nodes: it will be missing some grad_input"
        )
    return ""
