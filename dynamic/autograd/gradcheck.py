"""gradcheck and gradgradcheck: derivatives against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.dynamic.autograd import forward_ad
from staticgraph.dynamic.autograd.gradcheck_errors import GradcheckError, GradcheckOptionError
from staticgraph.dynamic.autograd.gradcheck_zeros import (
    check_batched_tangents,
    check_undefined_gradients,
    check_undefined_tangents,
    values_in,
)
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.func.batched import Batched
from staticgraph.dynamic.func.pull import pull
from staticgraph.dynamic.func.tracer import batch_of, new_level
from staticgraph.dynamic.tape.grad_mode import enable_grad, no_grad
from staticgraph.dynamic.tape.gradients import grad
from staticgraph.dynamic.tensors.tensor import Tensor

_Function = Callable[..., Any]


@frozen
class _Check:
    """The options of a check.

    Attributes:
        eps: the step of the differences.
        atol, rtol: a derivative may be off by atol + rtol * |difference quotient|.
        nondet_tol: by how much two runs of backward may differ.
        dtypes: whether gradients must have the dtype of their inputs.
        forward, backward, batched: which modes to check.
        undefined: whether derivatives that are not there must count as zeros.
        batched_forward: whether to check forward mode on a batch of tangents.
        parted: the outputs whose elements are the parts of complex numbers in turn.
    """

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    dtypes: bool
    forward: bool
    backward: bool
    batched: bool
    undefined: bool
    batched_forward: bool
    parted: frozenset[int] = frozenset()


def gradcheck(
    func: _Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the derivatives of `func` at the inputs agree with central differences.

    Every element of every floating output is differentiated by every element of the inputs that
    require grad, which should be float64; their memory is changed by `eps` and put back, so that
    functions that use them without taking them can be checked too. What is complex is checked in
    both parts, as real numbers. With `check_undefined_grad` outputs that get no gradient, and
    inputs without a tangent, must count as zeros. `fast_mode` and `masked` are accepted: every
    check is done in full, on dense tensors.

    Raises:
        RuntimeError (GradcheckError): a derivative is wrong, unless `raise_exception` is False.
        ValueError: no input requires grad.
        AssertionError: neither mode is to be checked, or the outputs have other shapes or dtypes
            for inputs that are a little different.

    Example:
        >>> x = dynamic.tensor([1.0, 2.0], dtype=dynamic.float64, requires_grad=True)
        >>> dynamic.autograd.gradcheck(dynamic.sin, (x,))
        True
    """
    if not (check_forward_ad or check_backward_ad):
        raise GradcheckOptionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    check = _Check(
        eps, atol, rtol, nondet_tol, check_grad_dtypes, check_forward_ad, check_backward_ad,
        check_batched_grad, check_undefined_grad, check_batched_forward_grad,
    )  # fmt: skip
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        _check_inputs(given)
        with enable_grad():
            _check_function(_OfParts(func, given), [_parts(x) for x in given], check)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: _Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the second derivatives agree: `gradcheck` of the gradient.

    The gradient is taken as a function of the inputs and of the outputs' cotangents, which are
    random unless given; those given are varied if they require grad.

    Example:
        >>> x = dynamic.tensor([1.0, 2.0], dtype=dynamic.float64, requires_grad=True)
        >>> dynamic.autograd.gradgradcheck(dynamic.sin, (x,))
        True
    """
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        cotangents = tuple(
            out._constant(_random(rng, out)).requires_grad_()
            for out in _differentiable(_listed(func(*given)))
        )
    else:
        cotangents = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    count = len(cotangents)
    places = [i for i, x in enumerate(given) if _is_checked(x)]

    def gradient(*args: object) -> tuple[Any, ...]:
        arguments, vectors = args[: len(args) - count], args[len(args) - count :]
        wanted: list[Any] = [arguments[i] for i in places]
        for x in wanted:
            x.requires_grad_()  # in forward mode none does at first
        outputs = _differentiable(_listed(func(*arguments)))
        found = grad(outputs, wanted, vectors, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradient,
        given + cotangents,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )


def _random(rng: np.random.Generator, out: Any) -> Any:
    found = rng.standard_normal(out.shape)
    if out.is_complex():
        found = found + 1j * rng.standard_normal(out.shape)
    return found.astype(out.dtype.dtype)


def _listed(outputs: object) -> tuple[Any, ...]:
    return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)


def _differentiable(outputs: Sequence[Any]) -> list[Any]:
    return [out for out in outputs if out.requires_grad]


def _is_checked(x: object) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _check_inputs(inputs: Sequence[Any]) -> None:
    if not any(_is_checked(x) for x in inputs):
        raise OptionError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    for i, x in enumerate(inputs):
        if not _is_checked(x):
            continue
        array = x._array
        if array.dtype not in (np.float64, np.complex128):
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. "
            )
        if any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
            raise AutogradError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients correctly. "
                "You should call .contiguous on the input before passing it to gradcheck."
            )


def _parts(x: Any) -> Any:
    """A complex tensor as a real one on its memory, with an axis of two; others as they are."""
    if not (isinstance(x, Tensor) and x.is_complex()):
        return x
    return ops.view_as_real(x.detach()).requires_grad_(x.requires_grad)


class _OfParts:
    """A function of the real and imaginary parts of what is complex: its derivatives are real.

    Attributes:
        complex: the numbers of the outputs that are parts of a complex one.
    """

    def __init__(self, func: _Function, inputs: Sequence[Any]) -> None:
        self._func = func
        self._places = {i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.is_complex()}
        self.complex: set[int] = set()

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        given = (ops.view_as_complex(x) if i in self._places else x for i, x in enumerate(args))
        outputs = _listed(self._func(*given))
        self.complex = {k for k, out in enumerate(outputs) if out.is_complex()}
        return tuple(ops.view_as_real(out) if out.is_complex() else out for out in outputs)


def _check_function(func: _OfParts, inputs: Sequence[object], check: _Check) -> None:
    places = [i for i, x in enumerate(inputs) if _is_checked(x)]
    outputs = _listed(func(*inputs))
    numerical = [_differences(func, inputs, i, check.eps) for i in places]
    check = replace(check, parted=frozenset(func.complex))
    for k, out in enumerate(outputs):
        if not out.is_floating_point():
            continue
        expected = [per_input[k] for per_input in numerical]
        if not out.requires_grad:
            if any(np.abs(one).max(initial=0) > check.atol for one in expected):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            continue
        if check.backward:
            _check_backward(k, out, [inputs[i] for i in places], places, expected, check)
    if check.forward:
        _check_forward(func, inputs, places, numerical, check)
        if check.batched_forward:
            check_batched_tangents(func, inputs, places)
        if check.undefined:
            check_undefined_tangents(func, inputs, places)
    if check.backward and check.undefined:
        check_undefined_gradients(func, inputs, places)


def _differences(func: _Function, inputs: Sequence[Any], i: int, eps: float) -> list[Any]:
    """The Jacobian of each output by one input: (elements of the input, elements of the output)."""
    rows: list[list[Any]] = []
    for place in np.ndindex(tuple(inputs[i].shape)):
        ends = [_moved(func, inputs, i, place, step) for step in (eps, -eps)]
        for high, low in zip(*ends, strict=True):
            _check_alike(high, low, place, eps)
        rows.append(
            [
                ((high.astype(np.float64) - low) / (2 * eps)).reshape(-1)
                for high, low in zip(*ends, strict=True)
            ]
        )
    if not rows:
        return [np.zeros((0, out.numel())) for out in _listed(func(*inputs))]
    return [np.stack(columns) for columns in zip(*rows, strict=True)]


def _moved(
    func: _Function, inputs: Sequence[Any], i: int, place: tuple[int, ...], step: float
) -> list[Any]:
    """The values of the outputs where an element of one input is larger by a step."""
    array = inputs[i]._array
    if not isinstance(array, np.ndarray):  # without memory
        change = np.zeros(array.shape, array.dtype)
        change[place] = step
        kept = inputs[i].detach()
        with no_grad():
            inputs[i].add_(inputs[i]._constant(change))
        try:
            return [values_in(out) for out in _listed(func(*inputs))]
        finally:
            with no_grad():
                inputs[i].copy_(kept)
    before = array[place]
    array[place] = before + step
    try:
        return [np.array(values_in(out)) for out in _listed(func(*inputs))]
    finally:
        array[place] = before


def _check_alike(high: Any, low: Any, place: object, eps: float) -> None:
    for what in ("shape", "dtype"):
        one, other = getattr(high, what), getattr(low, what)
        if one != other:
            raise GradcheckOptionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed "
                f"on index {place} by {eps}, but got: {what}s {one} and {other}."
            )


def _rows(out: Any, inputs: Sequence[Any], dtypes: bool) -> list[Any]:
    """The Jacobian of one output by each input, by reverse mode, one row at a time."""
    shape, size = out.shape, out.numel()
    found = [np.zeros((x.numel(), size)) for x in inputs]
    for column in range(size):
        basis = np.zeros(size, out.dtype.dtype)
        basis[column] = 1
        for whole, x, g in zip(
            found, inputs, _pulled(out, inputs, basis.reshape(shape)), strict=True
        ):
            if g is None:
                continue
            if dtypes and g.dtype != x.dtype:
                raise GradcheckError(f"Gradient has dtype {g.dtype}, but its input has {x.dtype}")
            whole[:, column] = values_in(g).reshape(-1)
    return found


def _pulled(out: Any, inputs: Sequence[object], cotangent: object) -> Sequence[Any]:
    return grad(out, inputs, out._constant(cotangent), retain_graph=True, allow_unused=True)


def _check_backward(
    k: int,
    out: Any,
    inputs: Sequence[object],
    places: Sequence[int],
    expected: Sequence[object],
    check: _Check,
) -> None:
    found = _rows(out, inputs, check.dtypes)
    for i, one, other in zip(places, found, expected, strict=True):
        _compare("Jacobian", k, i, one, other, check)
    if check.batched:
        for i, one, other in zip(places, _batched_rows(out, inputs), found, strict=True):
            _compare("Jacobian computed by a batch of cotangents", k, i, one, other, check)
    for one, again in zip(found, _rows(out, inputs, check.dtypes), strict=True):
        if np.abs(one - again).max(initial=0) > check.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output "
                "multiple times gives different values, although analytical gradient matches "
                f"numerical gradient.The tolerance for nondeterminism was {check.nondet_tol}."
            )
    zeros = np.zeros(out.shape, out.dtype.dtype)
    if any(g is not None and values_in(g).any() for g in _pulled(out, inputs, zeros)):
        raise GradcheckError("backward not multiplied by grad_output")


def _batched_rows(out: Any, inputs: Sequence[Any]) -> list[Any]:
    size = out.numel()
    basis = np.eye(size, dtype=out.dtype.dtype).reshape(size, *out.shape)
    with new_level(size) as level:
        found = pull([out], inputs, [Batched(level, out._constant(basis))])
        batches = [None if g is None else batch_of(g, level) for g in found]
    return [
        np.zeros((x.numel(), size)) if g is None else values_in(g).reshape(size, -1).T
        for g, x in zip(batches, inputs, strict=True)
    ]


def _check_forward(
    func: _Function,
    inputs: Sequence[Any],
    places: Sequence[int],
    numerical: Sequence[Any],
    check: _Check,
) -> None:
    for i, expected in zip(places, numerical, strict=True):
        x = inputs[i]
        for row in range(x.numel()):
            basis = np.zeros(x.numel(), x.dtype.dtype)
            basis[row] = 1
            with forward_ad.dual_level():
                duals = list(inputs)
                for j in places:
                    zeros = np.zeros(inputs[j].shape, inputs[j].dtype.dtype)
                    direction = basis.reshape(x.shape) if i == j else zeros
                    duals[j] = forward_ad.make_dual(inputs[j].detach(), x._constant(direction))
                tangents = [forward_ad.unpack_dual(out).tangent for out in _listed(func(*duals))]
            for k, tangent in enumerate(tangents):
                wanted = expected[k][row]
                found = np.zeros_like(wanted) if tangent is None else values_in(tangent).reshape(-1)
                _compare("Jacobian computed with forward mode", k, i, found, wanted, check)


def _compare(what: str, k: int, i: int, found: Any, expected: Any, check: _Check) -> None:
    if k in check.parted:
        for part, name in ((1, "imaginary"), (0, "real")):
            prefix = f"While considering the {name} part of complex outputs only, {what}"
            one, other = (x[..., part::2] for x in (found, expected))
            _compare(prefix, k, i, one, other, replace(check, parted=frozenset()))
        return
    if not np.allclose(found, expected, check.rtol, check.atol):
        raise GradcheckError(
            f"{what} mismatch for output {k} with respect to input {i},\n"
            f"numerical:{Tensor._constant(expected)!r}\nanalytical:{Tensor._constant(found)!r}\n"
        )
