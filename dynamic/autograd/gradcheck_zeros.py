"""What `gradcheck` sees besides derivatives: those that are not there, tangents in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.dynamic.autograd import forward_ad
from staticgraph.dynamic.autograd.function import Function
from staticgraph.dynamic.autograd.gradcheck_errors import GradcheckError
from staticgraph.dynamic.core.eager_ops import stack
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.func.vectorize import vmap
from staticgraph.dynamic.tape.gradients import grad
from staticgraph.dynamic.tensors.random_numbers import refusing_random_numbers
from staticgraph.dynamic.tensors.tensor import Tensor

_Function = Callable[..., Any]

_NEW = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by "
    "default, but it may break existing callers of this function. If this is true for you, you "
    'can call this function with "check_undefined_grad=False" to disable the feature'
)

_RANDOM = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
    "operations outside of vmap as a workaround"
)


class UndefinedGrad(Function):
    """The identity, through which no gradient comes."""

    @staticmethod
    def forward(ctx: object, tensor: Any) -> Any:
        """The tensor."""
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: object, gradient: object) -> None:
        """No gradient."""


def values_in(x: Any) -> Any:
    """The values of a tensor as an array; one by one if it has no memory."""
    if isinstance(x._array, np.ndarray):
        return x._array
    rows = [one.item() for one in x.reshape((-1,)).unbind()]
    return np.array(rows, x.dtype.dtype).reshape(tuple(x.shape))


def check_undefined_gradients(
    func: _Function, inputs: Sequence[Any], places: Sequence[int]
) -> None:
    """GradcheckError unless outputs that get no gradient count as if it were zeros."""
    variables = [inputs[i] for i in places]
    count = len(_recorded(func(*inputs)))
    for one in [None, *range(count)] if count > 1 else [None]:
        outputs = [
            UndefinedGrad.apply(out) if one is None or one == k else out
            for k, out in enumerate(_recorded(func(*inputs)))
        ]
        if not outputs:
            return
        zeros = [out._constant(np.zeros(out.shape, out.dtype.dtype)) for out in outputs]
        try:
            found = grad(outputs, variables, zeros, allow_unused=True)
        except RuntimeError as error:
            warn(_NEW)
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads: {error}"
            ) from error
        if any(g is not None and values_in(g).any() for g in found):
            warn(_NEW)
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero."
            )


def _recorded(outputs: object) -> list[Any]:
    listed = outputs if isinstance(outputs, tuple | list) else (outputs,)
    return [out for out in listed if out.requires_grad]


def _listed(outputs: object) -> list[Any]:
    listed = outputs if isinstance(outputs, tuple | list) else (outputs,)
    return [out for out in listed if out.is_floating_point()]


def check_undefined_tangents(func: _Function, inputs: Sequence[Any], places: Sequence[int]) -> None:
    """GradcheckError unless an input without a tangent counts as one whose tangent is zeros."""
    rng = np.random.default_rng(0)
    with forward_ad.dual_level():
        duals = list(inputs)
        for i in places:
            duals[i] = _dual(inputs[i], rng.standard_normal(inputs[i].shape))
        for i in places:
            zeros = [*duals]
            zeros[i] = _dual(inputs[i], np.zeros(inputs[i].shape))
            without = [*duals]
            without[i] = inputs[i].detach()
            pairs = zip(_listed(func(*zeros)), _listed(func(*without)), strict=True)
            for k, (one, other) in enumerate(pairs):
                a, b = (forward_ad.unpack_dual(out).tangent for out in (one, other))
                if a is not None and b is not None and not np.allclose(values_in(a), values_in(b)):
                    raise GradcheckError(
                        f"Mismatch in tangent values for output with index: {k} when input {i} "
                        f"has an undefined tangent value. Got: {b!r} but expected: {a!r}"
                    )


def _dual(x: Any, tangent: Any) -> Any:
    return forward_ad.make_dual(x.detach(), x._constant(tangent.astype(x.dtype.dtype)))


def _without_random_numbers(function: _Function) -> _Function:
    def refusing(tangent: object) -> Any:
        with refusing_random_numbers(_RANDOM):
            return function(tangent)

    return refusing


def check_batched_tangents(func: _Function, inputs: Sequence[Any], places: Sequence[int]) -> None:
    """GradcheckError unless `vmap` over tangents finds what forward mode finds one by one."""
    rng = np.random.default_rng(0)
    for i in places:

        def directional(tangent: Any, i: int = i) -> tuple[Any, ...]:
            given = [one.detach() if isinstance(one, Tensor) else one for one in inputs]
            with forward_ad.dual_level():
                given[i] = forward_ad.make_dual(given[i], tangent)
                pairs = [forward_ad.unpack_dual(out) for out in _listed(func(*given))]
            return tuple(
                primal.new_zeros(primal.shape) if moved is None else moved
                for primal, moved in pairs
            )

        x = inputs[i]
        steps = [x._constant(rng.standard_normal(x.shape).astype(x.dtype.dtype)) for _ in range(2)]
        rows = [directional(step) for step in steps]
        batch = x._apply(stack, steps, {"axis": 0})
        try:
            found = vmap(_without_random_numbers(directional), randomness="same")(batch)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        for k, (whole, *parts) in enumerate(zip(found, *rows, strict=True)):
            if not np.allclose(values_in(whole), np.stack([*map(values_in, parts)])):
                raise GradcheckError(
                    f"For output {k} and input {i}: forward mode on a batch of tangents, got "
                    f"{whole!r}, differs from that on each of them, {parts!r}"
                )
