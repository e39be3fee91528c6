"""Checkpointing: what a part of a network saves is computed again when backward reads it.

Forward notes what would be saved and drops it. The first of it that backward reads has the
function run again, from its arguments, and everything kept until it is read once (Chen, Xu,
Zhang, Guestrin 2016, "Training deep nets with sublinear memory cost").
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.values import Tree
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.places import line_of
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.func.tracer import Tracer
from staticgraph.dynamic.tape.grad_mode import enable_grad, is_grad_enabled, mode, no_grad
from staticgraph.dynamic.tape.nodes import Failing
from staticgraph.dynamic.tape.observers import observe
from staticgraph.dynamic.tape.saved_tensors import Packed, saved_tensors_hooks
from staticgraph.dynamic.tape.tape import Node
from staticgraph.dynamic.tensors.narrowing import casting
from staticgraph.dynamic.tensors.random_numbers import generator, refusing_random_numbers
from staticgraph.dynamic.tensors.tensor import Tensor
from staticgraph.dynamic.utils.selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "noop_context_fn",
    "set_checkpoint_early_stop",
]

_Function = Callable[..., Any]
_Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class CheckpointError(AutogradError):
    """The function did something else when it ran again."""


class _Enough(BaseException):
    """Everything that was saved in forward has been computed again, in this second run."""

    def __init__(self, run: object) -> None:
        self.run = run


def noop_context_fn() -> _Contexts:
    """Contexts that do nothing, for forward and for the second run.

    Example:
        >>> from dynamic.utils.checkpoint import noop_context_fn
        >>> [type(one).__name__ for one in noop_context_fn()]
        ['nullcontext', 'nullcontext']
    """
    return nullcontext(), nullcontext()


class _EarlyStop:
    """What `set_checkpoint_early_stop` says, or None."""

    enabled: bool | None = None


_early_stop = _EarlyStop()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside, whether checkpoints end their second run early, whatever their own argument says.

    Example:
        >>> from dynamic.utils.checkpoint import checkpoint, set_checkpoint_early_stop
        >>> x = dynamic.tensor(1.0, requires_grad=True)
        >>> with set_checkpoint_early_stop(False):
        ...     y = checkpoint(lambda a: a * a, x, use_reentrant=False)
        >>> dynamic.autograd.grad(y, x)
        (tensor(2.),)
    """
    before = _early_stop.enabled
    _early_stop.enabled = enable
    try:
        yield
    finally:
        _early_stop.enabled = before


def checkpoint(
    function: _Function,
    *args: object,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], _Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: object,
) -> Tree:
    """`function(*args, **kwargs)`, of which nothing is saved: it runs again in backward.

    Args:
        function: computes the same whenever it is called with the same arguments.
        args: its arguments; tensors among them must not be modified in place before backward.
        use_reentrant: True refuses keyword arguments, and records nothing if no tensor among
            `args` requires grad, and is for `backward` alone, without `inputs`: as PyTorch's older
            variant. To leave it out warns.
        context_fn: makes two contexts, for forward and for the second run.
        determinism_check: "default" compares the shapes and dtypes of what is saved and the
            names of the recorded ops of the two runs, "none" only how much is saved.
        debug: accepted; what differs is always named.
        early_stop: end the second run as soon as it has computed what was saved.
        preserve_rng_state: let the second run draw the same random numbers.
        kwargs: the keyword arguments of `function`.

    Raises:
        ValueError: an option has a value that it cannot have.
        RuntimeError (CheckpointError): in backward, if the second run differs from the first.

    Example:
        >>> from dynamic.utils.checkpoint import checkpoint
        >>> x = dynamic.tensor([0.0, 1.0], requires_grad=True)
        >>> checkpoint(lambda a: (a * a).sin(), x, use_reentrant=False).sum().backward()
        >>> x.grad
        tensor([0.0000, 1.0806])
    """
    if use_reentrant is None:
        _warn("checkpoint", "calling checkpoint without use_reentrant will raise an exception")
        use_reentrant = True
    if determinism_check not in ("default", "none"):
        raise OptionError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    if use_reentrant:
        if kwargs:
            raise OptionError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise OptionError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        if not any(isinstance(one, Tensor) and one.requires_grad for one in args):
            if is_grad_enabled():
                warn("None of the inputs have requires_grad=True. Gradients will be None")
            with no_grad():
                return function(*args)
    if mode.capture is not None and is_grad_enabled():
        return _captured(lambda: function(*args, **kwargs))
    if not is_grad_enabled() or any(isinstance(one, Tracer) for one in args):
        return function(*args, **kwargs)
    strict = determinism_check == "default"
    early_stop = early_stop if _early_stop.enabled is None else _early_stop.enabled
    region = _Region(
        function, args, kwargs, context_fn(), strict, early_stop, preserve_rng_state, use_reentrant
    )
    result = region.run()
    return _failing_unless_recorded(result) if use_reentrant else result


def _captured(function: _Function) -> Tree:
    """The value of a function in a capture, which keeps nothing that it need not keep.

    Refused if it changes what is outside, which would be done again in backward.
    """
    before = mode.capture.changes
    found = function()
    if mode.capture.changes != before:
        refuse(
            "changes a tensor outside in a checkpoint, such as the statistics of batch norm, which "
            "backward would do again",
            "call that outside of the checkpoint",
        )
    return found


def _failing_unless_recorded(result: Any) -> Any:
    """The outputs of the reentrant form: in backward RuntimeError if none of them is recorded."""
    outputs = result if isinstance(result, tuple) else (result,)
    tensors = [one for one in outputs if isinstance(one, Tensor)]
    if any(one.requires_grad for one in tensors):
        return result
    for one in tensors:
        if is_inexact(one._array.dtype):
            error = AutogradError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
            one._node = Failing(one._array, error, "CheckpointFunctionBackward")
    return result


def _warn(name: str, what: str) -> None:
    warn(
        f"torch.utils.checkpoint{'' if name == 'checkpoint' else '.' + name}: the use_reentrant "
        f"parameter should be passed explicitly. Starting in PyTorch 2.9, {what}. "
        "use_reentrant=False is recommended."
    )


class _Region:
    """One call of a checkpointed function, and what backward needs to repeat it."""

    def __init__(
        self,
        function: _Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        contexts: _Contexts,
        strict: bool,
        early_stop: bool,
        preserve_rng_state: bool,
        reentrant: bool,
    ) -> None:
        self._function = function
        self._args = args
        self._kwargs = kwargs
        self._contexts = contexts
        self._strict = strict
        self._early_stop = early_stop
        self._reentrant = reentrant
        self._autocast = mode.autocast
        self._random = _random_state() if preserve_rng_state else None
        self._saved: list[dict[str, Any]] = []
        self._ops: list[str] = []
        self._values: dict[int, Any] = {}
        self._completed = False
        self._read: dict[int, set[int]] = {}

    def run(self) -> Any:
        """The value of the function; what its graph saves is a number each."""
        args = self._args
        self._args = tuple(_Argument(one) if isinstance(one, Tensor) else one for one in args)
        note = self._note
        with (
            self._contexts[0],
            saved_tensors_hooks(note, self._value),
            _listing(self._ops.append, note),
        ):
            result = self._function(*args, **self._kwargs)
        self._completed = True
        return result

    def _note(self, tensor: Any) -> int:
        self._saved.append(_metadata(tensor))
        return len(self._saved) - 1

    def _value(self, number: int) -> Any:
        """The saved tensor of this number, once; in the next reverse pass it is computed again."""
        if self._reentrant and mode.depth and mode.partial == mode.depth:
            raise AutogradError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        if mode.depth == 1:  # what inner passes and earlier ones read does not matter any more
            self._read = {one: read for one, read in self._read.items() if one == mode.number}
        read = self._read.setdefault(mode.number, set())
        if number not in self._values:
            if number in read and mode.depth:
                raise CheckpointError(
                    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was "
                    "already unpacked once. If you are calling ctx.saved_tensors in backward, "
                    "make sure to do so only once. Otherwise please open an issue with details on "
                    "your use case."
                )
            self._values = self._repeat()
        read.add(number)
        return self._values.pop(number)

    def _repeat(self) -> dict[int, Any]:
        values: dict[int, Any] = {}
        ops: list[str] = []

        def keep(tensor: Any) -> int:
            values[len(values)] = tensor.detach() if tensor.requires_grad else tensor
            return len(values) - 1

        def listed(name: str) -> None:  # after what the op saves was kept
            ops.append(name)
            if self._early_stop and len(values) >= len(self._saved):
                raise _Enough(values)

        args = [one.again() if isinstance(one, _Argument) else one for one in self._args]
        with (
            enable_grad(),
            self._contexts[1],
            _random_numbers_from(self._random),
            casting(self._autocast),
            saved_tensors_hooks(keep, values.__getitem__),
            _listing(listed, keep),
        ):
            try:
                self._function(*args, **self._kwargs)
            except _Enough as enough:  # those of a checkpoint around this one go on to it
                if enough.run is not values:
                    raise
        if self._completed:  # which a reverse pass inside of the function does not wait for
            self._check(values, ops)
        return values

    def _check(self, values: dict[int, Any], ops: Sequence[str]) -> None:
        differs = self._difference(ops)
        if len(values) != len(self._saved):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self._saved)}\n"
                f"Number of tensors saved during recomputation: {len(values)}.{differs}"
            )
        if not self._strict:
            return
        found = [_metadata(value) for value in values.values()]
        if found != self._saved:
            lines = [
                f"tensor at position {i}:\nsaved metadata: {before}\nrecomputed metadata: {now}"
                for i, (before, now) in enumerate(zip(self._saved, found, strict=True))
                if before != now
            ]
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                "different metadata than during the forward pass.\n" + "\n".join(lines) + differs
            )
        if differs:
            raise CheckpointError(
                "torch.utils.checkpoint: A different function was recomputed than ran during the "
                f"forward pass.{differs}"
            )

    def _difference(self, ops: Sequence[str]) -> str:
        """The first recorded op that is not the same in both runs, as a line of a message."""
        for i, (before, now) in enumerate(zip(self._ops, ops, strict=False)):
            if before != now:
                return f"\nRecorded op {i} is {now}, and was {before}."
        return ""


class _Argument:
    """A tensor that the function was called with; packed if an outer checkpoint packs tensors."""

    __slots__ = ("_counter", "_kept", "_needed", "_version")

    def __init__(self, tensor: Any) -> None:
        self._kept = Packed(tensor, mode.packing[-1]) if mode.packing else tensor
        self._needed = tensor.requires_grad
        self._counter = tensor._counter
        self._version = tensor._counter[0]

    def again(self) -> Any:
        """The tensor as a leaf; RuntimeError if it was modified in place."""
        if isinstance(self._kept, Packed):
            tensor = self._kept.unpacked()
        else:
            tensor = self._kept
            if self._counter[0] != self._version:
                raise AutogradError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: a tensor of shape {list(tensor.shape)} that a function "
                    "under checkpoint was called with is at version "
                    f"{self._counter[0]}; expected version {self._version} instead. It was "
                    f"modified last at {line_of(self._counter[1])}."
                )
        return tensor.detach().requires_grad_() if self._needed else tensor


def _metadata(tensor: Any) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype}


@contextmanager
def _listing(note: Callable[[str], None], pack: object) -> Iterator[None]:
    """Call `note` with the name of each op that this thread records and `pack` packs."""
    thread = threading.get_ident()

    def observer(node: Any) -> None:
        if threading.get_ident() == thread and mode.packing[-1][0] is pack:
            note(node.recipe.op.name if isinstance(node, Node) else node.name())

    observe(observer, 1)
    try:
        yield
    finally:
        observe(observer, -1)


def _random_state() -> Any:
    with refusing_random_numbers(None):
        return generator().bit_generator.state


@contextmanager
def _random_numbers_from(state: Any) -> Iterator[None]:
    """Draw random numbers from this state on, for a block; None: from where they are."""
    with refusing_random_numbers(None):
        source = generator().bit_generator
    before = source.state
    if state is not None:
        source.state = state
    try:
        yield
    finally:
        if state is not None:
            source.state = before


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: object,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Functions, or the modules of a Sequential, one after the other, checkpointed in segments.

    There are `segments` of them, of about equal length; the last one saves as usual.
    `preserve_rng_state` is as for `checkpoint`.

    Example:
        >>> from dynamic.utils.checkpoint import checkpoint_sequential
        >>> x = dynamic.tensor([1.0, -1.0], requires_grad=True)
        >>> model = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.ReLU())
        >>> checkpoint_sequential(model, 2, x, use_reentrant=False).shape
        torch.Size([2])
    """
    if use_reentrant is None:
        _warn("checkpoint_sequential", "leaving it out will raise an exception")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise OptionError("Unexpected keyword arguments: " + ",".join(kwargs))
    listed = list(functions.children()) if hasattr(functions, "children") else list(functions)
    length = len(listed) // segments
    result = input
    start = 0
    for _ in range(segments - 1):
        part = _chain(listed[start : start + length])
        result = checkpoint(part, result, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        start += length
    return _chain(listed[start:])(result)


def _chain(functions: Sequence[_Function]) -> _Function:
    def run(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return run


def get_device_states(*args: object) -> tuple[list[int], list[Any]]:
    """The GPUs of tensors, and the states of their random numbers: there are none.

    Example:
        >>> dynamic.utils.checkpoint.get_device_states(dynamic.ones(2))
        ([], [])
    """
    return [], []


def set_device_states(
    devices: Sequence[int], states: Sequence[object], *, device_type: str | None = None
) -> None:
    """Set what `get_device_states` gave; RuntimeError for the states of a GPU.

    Example:
        >>> dynamic.utils.checkpoint.set_device_states([], [])
    """
    if devices:
        raise AutogradError(f"set_device_states: all tensors are on the CPU, not on {devices}")
