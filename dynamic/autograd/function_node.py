"""The node of a `Function`: it calls the user's backward and checks what that returns."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.overrides import overrides
from staticgraph.compiler.ops import astype
from staticgraph.compiler.ops.declare import unbroadcast
from staticgraph.compiler.reference.copies import copied
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.spec import Spec
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tape.hooks import as_tensor
from staticgraph.dynamic.tape.mutated import mutated
from staticgraph.dynamic.tape.nodes import (
    FREED,
    Cotangents,
    PackHooks,
    SeveralOutputs,
    next_number,
)
from staticgraph.dynamic.tape.ownership import alone
from staticgraph.dynamic.tape.saved_tensors import NONE, Packed, SavedTensor
from staticgraph.dynamic.tape.undefined import UNDEFINED
from staticgraph.dynamic.tensors.inplace import touch
from staticgraph.dynamic.tensors.tensor import Tensor, wrap
from staticgraph.dynamic.tensors.views import CUSTOM, MULTI_OUTPUT, make_view, rebase


class SavedArgument(SavedTensor):
    """A tensor that `save_for_backward` kept, or of an output only its memory: it has the node."""

    __slots__ = ("_counter", "_kept", "_number", "_version")

    def __init__(self, tensor: Any, number: int | None) -> None:
        self._counter = tensor._counter
        self._version = tensor._counter[0]
        self._number = number
        self._kept = tensor if number is None else tensor._array
        if mode.packing:
            given = tensor if number is None else tensor.detach()
            self._kept = Packed(given, mode.packing[-1])

    def _hooked(self, pair: PackHooks) -> None:
        if type(self._kept) is Packed:
            raise AutogradError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        given = self._kept if self._number is None else wrap(self._kept)
        self._kept = Packed(given, pair)

    def tensor(self, node: Any) -> Any:
        """The tensor, as an output of `node` if it is one."""
        kept = self._kept
        if type(kept) is Packed:
            return kept.unpacked()
        maker = kept._node if self._number is None else node
        if self._counter[0] != self._version:
            array = kept._array if self._number is None else kept
            raise AutogradError(mutated(array, maker, self._counter, self._version, node.name()))
        if self._number is None:
            return kept
        result = wrap(kept)
        result._counter = self._counter
        result._node = node.head(self._number, kept)
        return result


class SavedNone(SavedTensor):
    """The None that `save_for_backward` kept."""

    __slots__ = ()

    def __init__(self) -> None:
        """Nothing is kept."""

    def _hooked(self, pair: PackHooks) -> None:
        raise AutogradError(NONE)

    def tensor(self, node: object) -> None:
        """None."""


class FunctionNode(SeveralOutputs):
    """One call of a Function; attributes that it has not itself are those of its ctx."""

    __slots__ = ("ctx", "found", "function", "moving", "outputs", "specs", "tensors")

    def __init__(
        self,
        ctx: Any,
        function: Any,
        edges: tuple[object, ...],
        args: tuple[Any, ...],
        outputs: tuple[object, ...],
    ) -> None:
        super().__init__((), np.dtype(np.float32))
        self.edges = edges
        self.hooks = None
        self.ctx = ctx
        self.function = function
        self.count = len(outputs)
        self.outputs = tuple(
            Spec(one._array.shape, one._array.dtype) if isinstance(one, Tensor) else None
            for one in outputs
        )
        self.specs = tuple(
            None if edge is None else Spec(arg._array.shape, arg._array.dtype)
            for edge, arg in zip(edges, args, strict=True)
        )
        self.found: list[int] = []
        self.tensors = tuple(i for i, one in enumerate(args) if isinstance(one, Tensor))
        self.moving = {i for i, one in enumerate(outputs) if not _is_one_of(one, ctx._constant)}
        self.heads = {}
        self.serial = next_number()
        ctx._node = weakref.ref(self)

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        if self.ctx._saved is None:
            raise AutogradError(FREED)
        return tuple(self.ctx._saved)

    def save(self, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Keep what forward asked to save; an output without its node, which would hold itself."""
        ctx = self.ctx
        passed_on = {id(one) for one in args} - {id(one) for one in ctx._dirty}
        numbers = {id(one): i for i, one in enumerate(outputs) if id(one) not in passed_on}
        ctx._saved = tuple(
            SavedNone() if one is None else SavedArgument(one, numbers.get(id(one)))
            for one in ctx._to_save
        )
        ctx._to_save = ctx._dirty = ctx._constant = ()

    def pull(self, g: Cotangents, create_graph: bool) -> list[tuple[Any, Any]]:
        """The cotangents that the user's backward returns, checked."""
        given = [as_tensor(g.parts.pop(i, None)) for i in range(self.count)]
        if self.ctx._materialize:
            all_of_them = self.ctx._materialize_non_diff_grads
            for i, spec in enumerate(self.outputs):
                if given[i] is None and spec is not None and (all_of_them or i in self.moving):
                    given[i] = wrap(np.zeros(spec.shape, spec.dtype))
        results = self.function._reverse()(self.ctx, *given)
        del given
        results = list(results) if isinstance(results, tuple | list) else [results]
        expected = len(self.edges)
        if len(results) > expected and all(one is None for one in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise AutogradError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{expected}, got {len(results)})"
            )
        parts: list[tuple[Any, Any]] = []
        self.found = []
        for i, edge in enumerate(self.edges):
            if edge is not None:
                self.found.append(i)
                parts.append((edge, self._part(results, i, create_graph)))
            results[i] = None
        return parts

    def _part(self, results: list[Any], i: int, create_graph: bool) -> Any:
        """The cotangent of one argument, which is the user's own memory only if nobody has it."""
        if results[i] is None:
            return UNDEFINED
        results[i] = self._fitted(i, results[i])
        if create_graph:
            return results[i]
        if alone(results, i):
            return results[i]._array
        edge, array = self.edges[i], results[i]._array
        if type(edge) is AccumulateGrad and edge.grad is None and array.base is None:
            return copied(array, "K")  # as the leaf would, so that another one may have the array
        return array[...]

    def undefined(self, create_graph: bool) -> list[tuple[Any, Any]]:
        """The cotangents that backward returns for zeros, or for None as `ctx` says."""
        return self.pull(Cotangents({}), create_graph)

    def _fitted(self, i: int, result: Any) -> Any:
        """One result, summed to the shape of its argument and cast to its dtype."""
        if not isinstance(result, Operand):
            raise AutogradError(f"expected Variable or None (got {type(result).__name__})")
        spec: Any = self.specs[i]
        if result.shape != spec.shape:
            try:
                fits = np.broadcast_shapes(result.shape, spec.shape) == tuple(result.shape)
            except ValueError:
                fits = False
            if not fits:
                raise AutogradError(
                    f"Function {self.name()} returned an invalid gradient at index {i} - got "
                    f"{list(result.shape)} but expected shape compatible with {list(spec.shape)}"
                )
            result = unbroadcast(result, spec)
        return result if result._array.dtype == spec.dtype else astype(result, spec.dtype)

    def operands_shown(self) -> tuple[int, ...]:
        """The positions of the tensors among the arguments."""
        return self.tensors

    def places(self) -> tuple[int, ...]:
        """The arguments for which backward returned a gradient when it ran last."""
        return tuple(self.found)

    def release(self) -> None:
        """Let go of what was saved."""
        if self.ctx._saved:
            self.ctx._saved = None

    def name(self) -> str:
        """The name of the Function and Backward, as PyTorch has it; that of an op by hand."""
        label: str = self.function._label
        return label or f"{self.function.__name__}Backward"

    def __repr__(self) -> str:
        package = "" if self.function._label else "torch.autograd.function."
        return f"<{package}{self.name()} object at {id(self):#x}>"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ctx, name)


def _is_one_of(value: object, others: Sequence[object]) -> bool:
    return any(value is one for one in others)


_SEVERAL = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
    "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
    "should either make sure the input is not a view (using .clone() for example) or make your "
    "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
    "inplace that returns a single Tensor and a second one that does the other operations)."
)


def place_outputs(
    ctx: Any, node: FunctionNode | None, args: tuple[object, ...], outputs: tuple[object, ...]
) -> tuple[Any, ...]:
    """The outputs as those of the node; an argument that forward returns as it is as a view.

    RuntimeError if a dirty argument is a leaf that requires grad, or is not returned.
    """
    inputs = {id(arg) for arg in args if isinstance(arg, Tensor)}
    dirty = {id(one) for one in ctx._dirty}
    if not dirty <= {id(one) for one in outputs}:
        raise AutogradError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function."
        )
    if dirty - inputs:
        warn(
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
            "have been mutated should be passed to ctx.mark_dirty()."
        )
    ctx._marked = constant = frozenset(id(one) for one in ctx._constant)
    several = sum(isinstance(one, Tensor) for one in outputs) > 1
    placed = []
    for i, output in enumerate(outputs):
        if isinstance(output, Tensor):
            origin = MULTI_OUTPUT if several else CUSTOM
            if id(output) in dirty & inputs:
                if several and node is not None and output._view is not None:
                    raise AutogradError(_SEVERAL)
                _overwritten(output, node, i)
            else:
                if id(output) in inputs:
                    output = _view_of(output, origin)
                    if not isinstance(output, Tensor):  # of a class that says what views are
                        placed.append(output)
                        continue
                recorded = node is not None and id(output) not in constant
                floating = is_inexact(output._array.dtype)
                output._node = node.head(i, output._array) if recorded and floating else None  # type: ignore[union-attr]
                if output._view is not None:
                    output._note = (output._view.base, origin, output._counter[0])
        placed.append(output)
    return tuple(placed)


def _overwritten(tensor: Any, node: FunctionNode | None, number: int) -> None:
    if node is not None and type(tensor._node) is AccumulateGrad:
        raise AutogradError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )
    touch(tensor)
    if node is not None:
        rebase(tensor, node.head(number, tensor._array))


def _view_of(tensor: Any, origin: str) -> Any:
    if overrides(tensor):
        return tensor.view_as(tensor)
    view = wrap(tensor._array[...])
    make_view(view, tensor, origin)
    return view
