"""What a tensor knows of the tape: requires_grad, grad, grad_fn, backward, detach and the like."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.watching import changing
from staticgraph.dynamic.core import eager_ops, provided
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad, freeze, leaf_node
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tape.gradients import backward
from staticgraph.dynamic.tape.handles import RemovableHandle
from staticgraph.dynamic.tape.hooks import Cell, hooks_of, hooks_to_change
from staticgraph.dynamic.tape.nodes import Failing, Output, graph_edge
from staticgraph.dynamic.tape.versions import UNTRACKED, TrackedInference
from staticgraph.dynamic.tensors.copies import rebuild, warn_of_hooks, with_memory
from staticgraph.dynamic.tensors.history import (
    check_gradient,
    hooks_of_tensor,
    is_leaf,
    items_of_hooks,
    lifted_of,
    retains_grad,
)  # fmt: skip
from staticgraph.dynamic.tensors.printing import tensor_text
from staticgraph.dynamic.tensors.values import values_of

_LEAVES = "you can only change requires_grad flags of leaf variables."
_DETACHED = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation "
    "use var_no_grad = var.detach()."
)


class Autograd(Operand):
    """The autograd side of PyTorch's Tensor."""

    __slots__ = ()

    _array: Any
    _cell: Any
    _counter: list[Any]
    _home: Any
    _maker: Any
    _node: Any
    _view: Any

    @property
    def requires_grad(self) -> bool:
        """Whether ops on this tensor are recorded; settable on leaves of floating dtype.

        Example:
            >>> dynamic.ones(2).requires_grad
            False
        """
        if paused and mode.capture is not None:
            return bool(mode.capture.lifted(self).requires_grad)
        view = self._view
        return self._maker is not None or (view is not None and view.base._maker is not None)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is not bool:
            raise AutogradError(f"requires_grad must be a bool, not {type(value).__name__}")
        if not self._is_made():
            self._require(value)
        elif value:
            raise AutogradError(_LEAVES)
        else:
            raise AutogradError(_LEAVES + _DETACHED)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise AutogradError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set `requires_grad` and return the tensor; no error if it has been true all along."""
        if not self._is_made():
            self._require(requires_grad)
        elif not requires_grad:
            raise AutogradError(_LEAVES + _DETACHED)
        return self

    def _is_made(self) -> bool:
        """Whether an op made it, by its own node: as a view it may get one only when that is read.

        That is what counts for PyTorch.
        """
        return self._maker is not None and type(self._maker) is not AccumulateGrad

    def _require(self, value: bool) -> None:
        if paused and mode.capture is not None:
            mode.capture.flagged.sets_requires_grad(self, value)
        if not value:
            freeze(self._maker)
            self._node = None
        elif self._maker is None:
            if not is_inexact(self._array.dtype):
                raise AutogradError("only Tensors of floating point dtype can require gradients")
            if self._counter is UNTRACKED and not mode.inference:
                raise AutogradError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                    "allowed."
                )
            self._node = leaf_node(self)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made this tensor.

        Example:
            >>> x = dynamic.ones(2, requires_grad=True)
            >>> x.is_leaf, (2 * x).is_leaf
            (True, False)
        """
        if paused and mode.capture is not None:
            return bool(mode.capture.told(self, "is_leaf", is_leaf))
        return is_leaf(self)

    @property
    def grad_fn(self) -> Any:
        """The node of the op that made this tensor; None for a leaf.

        RuntimeError for one of several views of a tensor that was modified in place.
        """
        if paused and (lifted := lifted_of(self)) is not self:
            return lifted.grad_fn
        node = self._node
        if node is None or type(node) is AccumulateGrad:
            return None
        if isinstance(node, Failing) and node.label == "Invalid":
            raise node.error
        return graph_edge(node)[0]

    @property
    def _grad_fn(self) -> Any:
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        raise AutogradError("Deletion of _grad_fn not allowed. Detach tensor instead!")

    @property
    def _backward_hooks(self) -> Any:
        """The hooks of `register_hook`, by number; None without any."""
        if paused and mode.capture is not None:
            found = mode.capture.told(self, "_backward_hooks", items_of_hooks)
            return None if found is None else dict(found)
        return hooks_of_tensor(self)

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: Any) -> None:
        if self._node is not None:
            hooks_of(self._node).tensor.replace(hooks or {})
            return
        if self._home is None:
            self._home = Cell()
        self._home.hooks = hooks  # which nothing calls

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise AutogradError("Deletion of _backwards_hooks not allowed!")

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` this tensor is."""
        if paused and (lifted := lifted_of(self)) is not self:
            return int(lifted.output_nr)
        return 0 if self._node is None else graph_edge(self._node)[1]

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return self._cell is UNTRACKED or type(self._cell) is TrackedInference

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def _base(self) -> Any:
        """The tensor that this one is a view of, or None."""
        return None if self._view is None else self._view.base

    @property
    def grad(self) -> Any:
        """The gradient that backward passes accumulated here, or None; settable."""
        if paused and mode.capture is not None:
            return mode.capture.lifted(self).grad
        home = self._home
        if home is None:
            if self._is_made():
                warn(
                    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
                    "Its .grad attribute won't be populated during autograd.backward(). If you "
                    "indeed want the .grad field to be populated for a non-leaf Tensor, use "
                    ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
                    "mistake, make sure you access the leaf Tensor instead."
                )
            return None
        if isinstance(home.grad, np.ndarray):
            home.grad = self._constant(home.grad)
        return home.grad

    @grad.setter
    @changing("sets a gradient")
    def grad(self, value: Any) -> None:
        if paused and mode.capture is not None:
            mode.capture.lifted(self).grad = value
        elif value is None:
            try:
                self._home.grad = None
            except AttributeError:  # it has no home; most have one, and are not asked
                return
        else:
            if not isinstance(value, Autograd):
                raise ArgumentError(
                    "assigned grad expected to be a Tensor or None but got grad of type "
                    f"{type(value).__name__}"
                )
            check_gradient(self, value)
            home = self._home
            if home is None:
                home = self._home = Cell()
            home.grad = value
            if value._cell is not None and type(home) is AccumulateGrad:
                hooks_of(home)  # not before the last node has run: they may have saved its memory

    @grad.deleter
    def grad(self) -> None:
        if self._home is not None:
            self._home.grad = None

    def retain_grad(self) -> None:
        """Have backward passes put the gradient of this tensor, not a leaf, into `grad` too.

        Example:
            >>> x = dynamic.ones(2, requires_grad=True)
            >>> y = 2 * x
            >>> y.retain_grad()
            >>> y.sum().backward()
            >>> y.grad
            tensor([1., 1.])
        """
        if not self.requires_grad:
            raise AutogradError("can't retain_grad on Tensor that has requires_grad=False")
        if self._node is not None and not self.is_leaf:
            hooks = hooks_to_change(self._node)
            if hooks.cell is None:
                home = self._home
                if type(home) is not Cell:
                    home = Cell(None if home is None else home.grad)
                hooks.cell = home
                hooks.cell.retains = True
            self._home = hooks.cell

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this tensor while it was no leaf."""
        if paused and mode.capture is not None:
            return bool(mode.capture.told(self, "retains_grad", retains_grad))
        return retains_grad(self)

    def register_hook(self, hook: object) -> RemovableHandle:
        """Call `hook(grad)` with the gradient of this tensor; a tensor that it returns replaces it.

        `grad` is None where a reverse pass runs the node that made the tensor, and finds no
        gradient for it.
        RuntimeError if the tensor requires no grad. The handle's `remove()` takes the hook away.

        Example:
            >>> x = dynamic.ones(2, requires_grad=True)
            >>> handle = x.register_hook(lambda grad: 10 * grad)
            >>> x.sum().backward()
            >>> x.grad
            tensor([10., 10.])
        """
        if self._node is None:
            raise AutogradError("cannot register a hook on a tensor that doesn't require gradient")
        if type(self._node) is Output:
            hooks_of(self._node.edges[0])  # which calls the hook where this output has no gradient
        return hooks_to_change(self._node).tensor.add(hook)

    def register_post_accumulate_grad_hook(self, hook: object) -> RemovableHandle:
        """Call `hook(tensor)` after a backward pass has accumulated the gradient of this leaf."""
        if self._node is None:
            raise AutogradError("cannot register a hook on a tensor that doesn't require gradient")
        if type(self._node) is not AccumulateGrad:
            raise AutogradError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        return hooks_to_change(self._node).accumulated.add(hook)

    def backward(
        self,
        gradient: object = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: object = None,
        *,
        retain_variables: bool | None = None,
    ) -> None:
        """Add the derivatives of this tensor to the `grad` of the leaves that it depends on.

        Args:
            gradient: the cotangent, of this tensor's shape; 1 if None, for one element only.
            retain_graph: keep the graph for another pass; `create_graph` unless given.
            create_graph: record the pass, so that the gradients can be differentiated.
            inputs: the tensors to accumulate into, instead of all leaves.
            retain_variables: the old name of `retain_graph`, with a warning.

        Example:
            >>> x = dynamic.tensor([1.0, 2.0], requires_grad=True)
            >>> (x * x).sum().backward()
            >>> x.grad
            tensor([2., 4.])
        """
        backward(
            self, gradient, retain_graph, create_graph,
            inputs=inputs, retain_variables=retain_variables,
        )  # fmt: skip

    @property
    def volatile(self) -> bool:
        """False: what it once was is `no_grad`."""
        warn("volatile was removed (Variable.volatile is always False)")
        return False

    def detach(self) -> Any:
        """A tensor on the same memory, with the same version, that requires no grad.

        Example:
            >>> x = dynamic.ones(2, requires_grad=True)
            >>> x.detach().requires_grad
            False
        """
        if paused and mode.capture is not None:
            return mode.capture.lifted(self).detach()
        result = self._constant(self._array)
        cell = self._cell or self._counter
        if cell is UNTRACKED and not mode.inference:
            cell = TrackedInference([0, None])
        result._cell = cell
        return result

    def detach_(self) -> Any:
        """Make this tensor a leaf that requires no grad."""
        if self._view is not None:
            raise AutogradError("Can't detach views in-place. Use detach() instead.")
        freeze(self._maker)
        self._node = None
        return self

    @property
    def data(self) -> Any:
        """A tensor on the same memory with a version of its own: changes of it go unnoticed."""
        if paused and mode.capture is not None:
            return mode.capture.lifted(self).data
        result = self._constant(self._array)
        if not self.is_inference():
            result._cell = None
        elif not mode.inference:
            result._cell = TrackedInference([0, None])
        return result

    @data.setter
    def data(self, value: Any) -> None:
        if paused and mode.capture is not None:
            mode.capture.lifted(self).data = value
            return
        if not isinstance(value, Autograd):
            raise ArgumentError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if not is_inexact(value._array.dtype) and self.requires_grad:
            raise AutogradError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        if type(value._array) is not type(self._array):
            raise AutogradError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                "incompatible tensor type."
            )
        if value.is_inference() and not self.is_inference():
            self._cell = TrackedInference(self._counter)
        self._move(value._array)

    @data.deleter
    def data(self) -> None:
        raise AutogradError("Deleting tensor data is not allowed. Delete tensor instead!")

    def _move(self, array: Any) -> None:
        """Put the tensor on other memory, of another shape or dtype too."""
        self._array = array
        home = self._home
        if isinstance(home, AccumulateGrad):
            home.shape, home.dtype = array.shape, array.dtype

    def clone(self, *, memory_format: object = None) -> Any:
        """A recorded copy; `memory_format` chooses nothing.

        Example:
            >>> x = dynamic.zeros(2)
            >>> dynamic.clone(x)[0] = 1.0
            >>> x
            tensor([0., 0.])
        """
        return self._apply(eager_ops.clone, (self,), {})

    def numpy(self, *, force: bool = False) -> Any:
        """The ndarray on the tensor's memory; RuntimeError if what is done to it would be recorded.

        So it is if the tensor requires grad, unless in `no_grad`. A copy instead with `force`.

        Example:
            >>> x = dynamic.zeros(2)
            >>> x.numpy()[0] = 1.0
            >>> x
            tensor([1., 0.])
        """
        if self.requires_grad and mode.enabled:
            if not force:
                raise AutogradError(
                    "Can't call numpy() on Tensor that requires grad. "
                    "Use tensor.detach().numpy() instead."
                )
            return values_of(self).copy()
        return values_of(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype, copy=copy)

    def _kept_from_numpy(self) -> bool:
        return self.requires_grad and mode.enabled

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The namespace of the array API standard: `dynamic.xp`; ValueError for a newer version."""
        return provided.array_namespace(api_version)

    def __dlpack__(
        self, *, stream: object = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None, copy: bool | None = None,
    ) -> Any:  # fmt: skip
        """The capsule by which another library reads this memory: no copy.

        Raises:
            BufferError: the tensor requires grad.
        """
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return values_of(self).__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind of device, 1 for a CPU, and its number."""
        kind, number = values_of(self).__dlpack_device__()
        return int(kind), int(number)

    def __repr__(self) -> str:
        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        # PyTorch writes a 0-d tensor as its number, in an f-string too
        if not self._array.ndim:
            return format(values_of(self).item(), spec)
        return object.__format__(self, spec)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        if not self.is_leaf:
            raise AutogradError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
                "because of a torch.nn.utils.weight_norm usage, see https://github.com/pytorch/"
                "pytorch/pull/103001, or of a tensor that it keeps of a call"
            )
        if id(self) in memo:
            return memo[id(self)]
        array = with_memory(np.asanyarray(values_of(self)), memo)
        result = memo[id(self)] = rebuild(type(self), array, self.requires_grad)
        if type(self._cell) is list and not result.is_inference():
            result._cell = memo.setdefault(("version", id(self._cell)), [0, None])
        if state := getattr(self, "__dict__", None):
            vars(result).update(copy.deepcopy(state, memo))
        if self._home is not None and self._home.grad is not None:
            result.grad = copy.deepcopy(self.grad, memo)
        return result

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        warn_of_hooks(self)
        state = getattr(self, "__dict__", None)
        return rebuild, (type(self), self._array, self.requires_grad), state or None
