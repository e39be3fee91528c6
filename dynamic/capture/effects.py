"""What a captured function does beside computing its results: found once, and done at each call.

A function that is captured may read tensors of its surroundings, draw random numbers, overwrite
tensors that exist outside, run a reverse pass and step an optimizer. None of that is done while it
is captured. What it reads and draws become operands behind those of the caller; what it changes
are results behind those of the caller, with a list of steps that say where they go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size, Unknown, as_unknown, atoms, evaluate, substitute
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.pytree import parts_of, with_parts
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import Shape, mapped
from staticgraph.dynamic.capture.apart import Apart, refuse_shared, share
from staticgraph.dynamic.capture.questions import gradient_of, memory_of_gradient
from staticgraph.dynamic.tape.engine import run
from staticgraph.dynamic.tape.grad_mode import no_grad, recording
from staticgraph.dynamic.tape.gradients import look_at_step
from staticgraph.dynamic.tape.noted import waiting
from staticgraph.dynamic.tensors.inplace import check_writable
from staticgraph.dynamic.tensors.random_numbers import generator
from staticgraph.dynamic.tensors.tensor import Tensor


class Call(NamedTuple):
    """A call of a captured function: its operands, all of them, and the tensors that it made."""

    operands: Sequence[Any]
    results: Sequence[Any]


class Step(Protocol):
    """What is done after a call."""

    def __call__(self, call: Call) -> None:
        """Do it."""


@frozen
class Draw:
    """Random numbers: those that a method of a NumPy generator gives for a shape."""

    method: str
    args: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]
    shape: Shape

    def array(self, sizes: dict[Unknown, int]) -> Any:
        """The next ones of this thread's generator."""
        shape = tuple([evaluate(size, sizes) for size in self.shape])
        if self.method == "permutation":
            return generator().permutation(*shape)
        return np.asarray(
            getattr(generator(), self.method)(*self.args, size=shape, **dict(self.options))
        )


@frozen
class Write:
    """An operand gets the values of a result, in its own memory; `line` is the user's.

    The function writes to it so many `times`, each of which is a version of it.
    """

    operand: int
    result: int
    recorded: bool
    line: str
    times: int

    def __call__(self, call: Call) -> None:
        """Overwrite it."""
        target, values = call.operands[self.operand], call.results[self.result]
        if not isinstance(target, Tensor):
            np.copyto(target, values._array)
        elif self.recorded:
            target.copy_(values)
        else:
            with no_grad():
                target.copy_(values)
        if isinstance(target, Tensor):
            target._counter[0] += self.times - 1


@frozen
class Move:
    """An operand gets the values of a result, in other memory than it had."""

    operand: int
    result: int

    def __call__(self, call: Call) -> None:
        """Put it there."""
        call.operands[self.operand].data = call.results[self.result]


@frozen
class Assign:
    """A table of a module gets a tensor under a name."""

    table: dict[str, Any]
    name: str
    result: int

    def __call__(self, call: Call) -> None:
        """Put it there."""
        self.table[self.name] = call.results[self.result]


@frozen
class Handed:
    """A result in what is kept: as a number of Python, or as a tensor."""

    result: int
    number: bool


@frozen
class Keep:
    """A value is handed to something outside, with results where it has some."""

    put: Callable[[Any], None]
    value: object

    def __call__(self, call: Call) -> None:
        """Hand it over."""
        self.put(self._of(self.value, call))

    def _of(self, value: Any, call: Call) -> Any:
        if isinstance(value, Handed):
            found = call.results[value.result]
            return found._array.item() if value.number else found
        if isinstance(value, tuple | list | dict):
            return with_parts(value, [self._of(one, call) for one in parts_of(value)])
        return value


@frozen
class SetTraining:
    """A module is set to training, or to evaluation."""

    table: dict[str, Any]
    training: bool

    def __call__(self, call: Call) -> None:
        """Set it."""
        self.table["training"] = self.training


@frozen
class SetFlag:
    """An operand is frozen, or requires gradients."""

    operand: int
    value: bool

    def __call__(self, call: Call) -> None:
        """Set it."""
        call.operands[self.operand].requires_grad_(self.value)


@frozen
class SetGrad:
    """The gradient of an operand becomes a result, or None."""

    operand: int
    result: int | None

    def __call__(self, call: Call) -> None:
        """Set it."""
        call.operands[self.operand].grad = (
            None if self.result is None else call.results[self.result].detach()
        )


@frozen
class Backward:
    """A reverse pass goes on outside: from operands, with results as their cotangents.

    `biases`: the operands that are only added to products with others, each with these.
    """

    pairs: tuple[tuple[int, int], ...]
    retain: bool
    biases: Mapping[int, Sequence[int]]
    line: str

    def __call__(self, call: Call) -> None:
        """Run it."""
        if waiting:
            look_at_step(call.operands, [i for i, _ in self.pairs], self.biases)
        roots = [(call.operands[i]._node, call.results[j]._array) for i, j in self.pairs]
        run(tuple(roots), self.retain, False)


@frozen
class Do:
    """Something is called, such as the step of an optimizer, which updates operands."""

    function: Callable[[], object]
    updates: tuple[int, ...] = ()
    line: str = ""

    def __call__(self, call: Call) -> None:
        """Call it."""
        self.function()


class View(NamedTuple):
    """A result that is no tensor of its own.

    Attributes:
        result: which one.
        place: of the operand, if it is one from `outside` or its gradient, or of an earlier result
            that it is, or is a view of.
        ops: what makes it of that: each with its attributes, and whether it is recorded.
    """

    result: int
    place: int
    outside: bool
    ops: tuple[tuple[Op, Attrs, bool], ...]
    gradient: bool


class Late(NamedTuple):
    """An operand that is read only in a later stage than the first, 0, and which other it is."""

    stage: int
    place: int


Answers = Mapping[tuple[Callable[[Any], Any], int], bool | None]
"""What was asked of an operand, by its place, and the answer."""


def _kind(tensor: Any) -> Any:
    """The dtype and shape of an operand that is a tensor; None of one that is looked up."""
    array = getattr(tensor, "_array", None)
    return None if array is None else (array.dtype, array.shape)


class Effects:
    """See the module.

    Attributes:
        inputs: the shapes of the caller's operands as they were captured.
        lifted: tensors of the surroundings that are operands.
        draws: the random numbers that are operands, behind those.
        results: how many results are the caller's.
        views: which of them are operands, or views.
        freed: those whose graph a reverse pass has freed.
        steps: what is done, in order.
        asked: what was asked of which operands, and the answers.
        recording: whether the thread recorded, if that was asked; else None.
        writes: the steps that overwrite an operand.
        written: these operands.
        changed: these, and what optimizers update, each with the line that says so.
        grads: operands that are the gradients of others before the call, with the others.
        late: operands that are read only in a later stage than the first.
        breaks: how many steps are done before each of these stages.
        plain: the results that are no tensors, and what makes them of tensors.
        failures: per way that raises after it has drawn random numbers, these.
    """

    def __init__(
        self,
        inputs: Sequence[Shape],
        lifted: Sequence[Any],
        draws: Sequence[Draw],
        results: int,
        views: Sequence[View],
        freed: Sequence[int],
        steps: Sequence[Step],
        asked: Answers,
        recording: bool | None,
        grads: Mapping[int, int],
        late: Mapping[int, Late],
        breaks: Sequence[int],
        plain: Mapping[int, Callable[[Any], Any]] = MappingProxyType({}),
    ) -> None:
        self.grads, self.plain = dict(grads), plain
        self.late, self.breaks = dict(late), tuple(breaks)
        self.inputs, self.lifted, self.draws = tuple(inputs), tuple(lifted), tuple(draws)
        self._kinds = [_kind(one) for one in self.lifted]
        self.results, self.views, self.freed = results, tuple(views), frozenset(freed)
        self.steps, self.asked, self.recording = tuple(steps), asked, recording
        self.writes = tuple([step for step in steps if isinstance(step, Write)])
        self.written = frozenset(step.operand for step in self.writes)
        done = [step for step in steps if isinstance(step, Do)]
        self.changed = {i: step.line for step in done for i in step.updates}
        self.changed |= {step.operand: step.line for step in self.writes}
        # a pass adds to gradients, unless they are operands, of which what is written is known
        passes = {i: one.line for one in steps if isinstance(one, Backward) for i, _ in one.pairs}
        self._passes = {i: one for i, one in passes.items() if i not in self.grads.values()}
        self._apart: Apart | None = None
        self.failures: Sequence[tuple[Draw, ...]] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to do that a plain call does not."""
        return bool(
            self.lifted or self.draws or self.views or self.steps or self.asks or self.freed
            or self.plain or self.failures
        )  # fmt: skip

    @property
    def asks(self) -> bool:
        """Whether a call has to have the answers that the capture had."""
        return bool(self.asked) or self.recording is not None

    @property
    def stepped(self) -> frozenset[int]:
        """The operands that steps of optimizers update."""
        return frozenset(i for one in self.steps if isinstance(one, Do) for i in one.updates)

    @property
    def called(self) -> list[object]:
        """The optimizers and schedulers of which a method is called."""
        done = [one.function for one in self.steps if isinstance(one, Do)]
        return [one.args[0] for one in done if isinstance(one, partial) and one.args]

    @property
    def assigned(self) -> dict[str, object]:
        """What modules have now under the names that get another tensor."""
        return {one.name: one.table.get(one.name) for one in self.steps if isinstance(one, Assign)}

    @property
    def reached(self) -> frozenset[int]:
        """The operands that get a gradient."""
        found = {
            one.operand for one in self.steps if isinstance(one, SetGrad) and one.result is not None
        }
        passes = [one for one in self.steps if isinstance(one, Backward)]
        return frozenset(found).union(*([i for i, _ in one.pairs] for one in passes))

    def fits(self, operands: Sequence[Any]) -> bool:
        """Whether what was asked when it was captured has the same answers for a call."""
        return self.fits_given(operands, {i for _, i in self.asked})

    def fixed(self, own: Sequence[Any], first: int) -> dict[int, Any]:
        """By their places the tensors with which each call is: of the function's `own` operands,
        the first of which is in that place, and of the surroundings.
        """
        behind = enumerate(self.lifted, len(self.inputs))
        every = [*enumerate(own, first), *behind]
        return {i: one for i, one in every if isinstance(one, Tensor)}

    def fits_given(self, given: Sequence[Any], places: Collection[int]) -> bool:
        """Whether what was asked of the operands in these places, or of modes, has the same
        answers: `given` are those of the caller.
        """
        if self.recording is not None and self.recording is not recording():
            return False
        if not places:
            return True
        found = self._with_grads([*given, *self.lifted]) if self.grads else [*given, *self.lifted]
        asked = self.asked.items()
        return all(question(found[i]) is answer for (question, i), answer in asked if i in places)

    def same_kinds(self) -> bool:
        """Whether tensors of the surroundings have the dtypes and shapes that they had."""
        return [_kind(one) for one in self.lifted] == self._kinds

    def lift(self, lifted: Sequence[Any]) -> None:
        """Take other tensors of the surroundings for operands."""
        self.lifted, self._kinds = tuple(lifted), [_kind(one) for one in lifted]

    def _with_grads(self, operands: list[Any]) -> list[Any]:
        for i, place in self.grads.items():
            operands[i] = gradient_of(operands[place])
        return operands

    def operands(self, given: Sequence[Any]) -> list[Any]:
        """All operands of a call: the caller's, the surroundings, and random numbers."""
        found = self._with_grads([*given, *self.lifted])
        for i, one in self.late.items():
            found[i] = found[one.place]
        if self.draws:
            sizes = self._sizes(given)
            found += [draw.array(sizes) for draw in self.draws]
        return found

    def _sizes(self, given: Sequence[Any]) -> dict[Unknown, int]:
        """The unknown sizes, as they are in a call."""
        found: dict[Unknown, int] = {}
        for shape, one in zip(self.inputs, given, strict=True):
            for size, actual in zip(shape, one.shape, strict=True):
                atom = as_unknown(size)
                if atom is not None:
                    found[atom] = int(actual)
        return found

    @contextmanager
    def drawing(self, given: Sequence[Any]) -> Iterator[None]:
        """Where the block raises an error of the user's, draw what was drawn before it, alone."""
        stream = generator().bit_generator
        before = stream.state
        try:
            yield
        except Exception as error:
            drawn = getattr(error, "drawn", None)
            if drawn is not None:
                stream.state = before
                sizes = self._sizes(given)
                for draw in self.failures[drawn - 1] if drawn else ():
                    draw.array(sizes)
            raise

    def check(self, operands: Sequence[Any]) -> None:
        """Refuse a call in which what is overwritten is something else, too.

        RuntimeError, PyTorch's, for a leaf that requires grad.
        """
        for step in self.writes:
            if step.recorded and isinstance(operands[step.operand], Tensor):
                check_writable(operands[step.operand])
        if self.changed or self._passes:
            arrays = [getattr(one, "_array", one) for one in operands]
            for i in self.late:
                arrays[i] = None
            arrays += [memory_of_gradient(operands[i]) for i in self._passes]
            if self._apart is None:
                added = {len(operands) + i: line for i, line in enumerate(self._passes.values())}
                self._apart = Apart(self.changed | added)
            self._apart.check(arrays)

    def check_arrays(self, arrays: Sequence[Any], given: Sequence[Any]) -> None:
        """Refuse arrays that the function reads as constants, on memory of what it changes."""
        operands = [*given, *self.lifted]
        for i, line in self.changed.items():
            own = getattr(operands[i], "_array", operands[i])
            if any(share(own, one) for one in arrays):
                refuse_shared("an array that the function reads", line)

    def finish(
        self, operands: Sequence[Any], results: list[Any], given: Sequence[Any]
    ) -> list[Any]:
        """Do the steps of a call, but for those before its last stage; the caller's results."""
        call = Call(operands, results)
        for step in self.steps[self.breaks[-1] if self.breaks else 0 :]:
            step(call)
        if self.views:
            sizes = self._sizes(given)
            for view in self.views:
                base = operands[view.place] if view.outside else results[view.place]
                if view.gradient:
                    base = gradient_of(base)
                for op, attrs, recorded in view.ops:
                    if op is ops.stop_gradient:  # what stands for it in a graph
                        base = base.detach()
                        continue
                    known = with_sizes(attrs, lambda size: substitute(size, sizes))
                    with nullcontext() if recorded else no_grad():
                        base = base._apply(op, (base,), known)
                results[view.result] = base
        for i, make in self.plain.items():
            results[i] = make(results[i])
        return results[: self.results]


def with_sizes(attrs: Attrs, function: Callable[[Any], Any]) -> Attrs:
    """Attributes of a view with a function of the unknown sizes in them, slices included."""

    def of(one: Any) -> Any:
        if isinstance(one, tuple):
            return tuple(map(of, one))
        if isinstance(one, slice):
            return slice(*(mapped(end, function) for end in (one.start, one.stop, one.step)))
        return mapped(one, function)

    return {name: of(value) for name, value in attrs.items()}


def sizes_are_given(attrs: Attrs, shapes: Sequence[Shape]) -> bool:
    """Whether the shapes of the caller's operands give all unknown sizes in some attributes."""
    given = {as_unknown(size) for shape in shapes for size in shape}
    found: list[Size] = []

    def keep(size: Size) -> Size:
        found.append(size)
        return size

    with_sizes(attrs, keep)
    return atoms(found) <= given
