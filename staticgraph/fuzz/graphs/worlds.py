"""The worlds that a program runs in: expressions, eager tensors, and plain NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OutOfRangeError
from staticgraph.compiler.transforms.control_eager import own
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.indexing import StepError
from staticgraph.dynamic.utils.checkpoint import CheckpointError, checkpoint
from staticgraph.fuzz.graphs import control, reference
from staticgraph.fuzz.graphs.program import Step, names, reads, run
from staticgraph.fuzz.graphs.undefined import UndefinedError
from staticgraph.fuzz.graphs.user import USER
from staticgraph.fuzz.graphs.values import array


def size_of(x: Any, axis: int, dtype: str) -> Any:
    """A size as a value."""
    return sg.zeros((), dtype) + x.shape[axis]


def repeated(limit: object, body: Callable[..., Any], init: Any) -> Any:
    """A while loop of at most four steps."""

    def test(carry: Any) -> Any:
        return sg.less(carry[0], sg.minimum(limit, 4))

    def step(carry: Any) -> Any:
        return [carry[0] + 1, *body(*carry[1:])]

    return sg.while_loop(test, step, [np.zeros((), np.int64), *init])[1:]


def _getitem(x: Any, key: object) -> Any:
    """`x[key]`, or the op where PyTorch refuses the key: backwards, or by int8."""
    try:
        return x[key]
    except (StepError, OutOfRangeError):
        return ops.getitem(x, key)


def _squared(name: str) -> Callable[..., Any]:
    """An op that factors matrices, with the squares of vectors, which have no sign."""

    def factors(a: Any, **options: object) -> list[Any]:
        found = getattr(ops, name)(a, **options)
        return [one if one.ndim < a.ndim else ops.square(one) for one in found]

    return factors


def _solved(a: object, b: object) -> list[Any]:
    """Least squares without the residuals, of which nothing is left but rounding."""
    found = ops.lstsq(a, b)
    return [found.x, found.rank, found.s]


SIGNLESS: dict[str, Callable[..., Any]] = {
    **{name: _squared(name) for name in ("eigh", "svd", "qr")}, "lstsq": _solved,
}  # fmt: skip
"""What of an op's results is determined."""
_SYMBOLIC: dict[str, Callable[..., Any]] = SIGNLESS | USER | {
    "arange": sg.arange, "zeros": sg.zeros, "size_of": size_of, "scan": sg.scan, "cond": sg.cond,
    "repeated": repeated, "checkpoint": lambda f, *xs: sg.checkpoint(f, *xs),
    "grad": lambda f, *xs: sg.grad(f)(*xs), "hessian": lambda f, *xs: sg.hessian(f)(*xs),
    "jacobian": lambda f, *xs: sg.jacobian(f)(*xs),
    "jvp": lambda f, x, t: sg.jvp(f, (x,), (t,)), "vmap": lambda f, *xs: sg.vmap(f)(*xs),
}  # fmt: skip
_EAGER: dict[str, Callable[..., Any]] = _SYMBOLIC | {
    "getitem": _getitem, "arange": dynamic.arange,
    "zeros": lambda shape, dtype: dynamic.tensor(np.zeros(shape, dtype)),
    "size_of": lambda x, axis, dtype: dynamic.tensor(np.asarray(x.shape[axis], dtype)),
    # one that hands an operand on gives that tensor, as PyTorch's does
    "checkpoint": lambda f, *xs: own(checkpoint(f, *xs, use_reentrant=False)),
    "grad": lambda f, *xs: dynamic.func.grad(f)(*xs),
    "hessian": lambda f, *xs: dynamic.func.hessian(f)(*xs),
    "jacobian": lambda f, *xs: dynamic.func.jacrev(f)(*xs),
    "jvp": lambda f, x, t: dynamic.func.jvp(f, (x,), (t,)),
    "vmap": lambda f, *xs: dynamic.func.vmap(f)(*xs),
}  # fmt: skip


@dataclass(slots=True)
class Symbolic:
    """Expressions."""

    seed: int
    inputs: list[Any] = field(default_factory=list)
    variables: list[Any] = field(default_factory=list)

    def leaf(self, step: Step) -> Any:
        """A leaf of a graph."""
        if step["leaf"] == "input":
            self.inputs.append(sg.placeholder(step["name"], step["shape"], step["dtype"]))
            return self.inputs[-1]
        value = array(step, {}, self.seed)
        if step["leaf"] == "constant":
            return sg.constant(value)
        self.variables.append(sg.variable(value, step["name"]))
        return self.variables[-1]

    def apply(self, op: str, args: Sequence[object], options: Mapping[str, object]) -> Any:
        """An expression."""
        return (_SYMBOLIC.get(op) or getattr(ops, op))(*args, **options)

    def gradients(self, loss: Any, wrt: Sequence[object]) -> Sequence[Any]:
        """Expressions."""
        return sg.grad(loss, list(wrt))


@contextmanager
def _refusals() -> Iterator[None]:
    """UndefinedError for what PyTorch refuses too: transforms in checkpoints, and values and
    branches of one example in vmap.
    """
    try:
        yield
    except AutogradError as error:
        known = re.search("data-dependent control flow|calling .item", str(error))
        if known or isinstance(error, CheckpointError):
            raise UndefinedError from error
        raise


@dataclass(slots=True)
class Eager:
    """Tensors of `dynamic`, which record."""

    arrays: Mapping[str, Any]

    def leaf(self, step: Step) -> Any:
        """A tensor, which requires a gradient if it can."""
        value = np.array(self.arrays[step["name"]])
        return dynamic.tensor(value, requires_grad=is_float(value.dtype))

    def apply(self, op: str, args: Sequence[object], options: Mapping[str, object]) -> Any:
        """A tensor."""
        with _refusals():
            return (_EAGER.get(op) or getattr(ops, op))(*args, **options)

    def gradients(self, loss: Any, wrt: Sequence[Any]) -> Sequence[Any]:
        """Tensors with a graph of their own."""
        if not all(one.requires_grad for one in wrt):  # of what the gradient is 0
            raise UndefinedError
        if not loss.requires_grad:
            return [dynamic.zeros_like(one) for one in wrt]
        with _refusals():
            return dynamic.autograd.grad(
                loss, list(wrt), create_graph=True, allow_unused=True, materialize_grads=True
            )


@dataclass(slots=True)
class Arrays:
    """NumPy alone: `reference` and `control`, which the op library has no part in."""

    arrays: Mapping[str, Any]

    def leaf(self, step: Step) -> Any:
        """An array."""
        return self.arrays[step["name"]]

    def apply(self, op: str, args: Sequence[object], options: Mapping[str, object]) -> Any:
        """An array, or several."""
        if op in control.CONTROL:
            return control.CONTROL[op](*args, **options)
        return reference.apply(op, *args, **options)

    def gradients(self, loss: object, wrt: Sequence[object]) -> Sequence[Any]:
        """Never asked: see `known`."""
        raise NotImplementedError


def known(steps: Sequence[Step], world: Arrays) -> dict[str, Any]:
    """The values of those steps that depend on no derivative."""
    values: dict[str, Any] = {}
    for step in steps:
        if reads(step) <= values.keys() and names(step) and not differentiates(step):
            with suppress(UndefinedError):
                run([step], world, values)
    return values


def differentiates(given: object) -> bool:
    """Whether a step, or one of several, is a derivative or has one inside."""
    if isinstance(given, list):
        return any(map(differentiates, given))
    if not isinstance(given, dict):
        return False
    if "gradients" in given or given.get("op") in control.DERIVATIVES:
        return True
    return any(map(differentiates, given.values()))
