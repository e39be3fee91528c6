"""Captures: what a thread is in while a function is called to learn what it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.refusals import place_of, raised_by_user, refuse, user_place
from staticgraph.compiler.core.types import Shape
from staticgraph.compiler.graph.expression import Expression, constant, construct
from staticgraph.compiler.graph.scope import scope
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.transforms.autodiff import depending_on
from staticgraph.dynamic.capture.apart import memory_of, refuse_shared
from staticgraph.dynamic.capture.asking import Asking
from staticgraph.dynamic.capture.effects import (
    Assign,
    Do,
    Draw,
    Effects,
    Late,
    Move,
    Step,
    View,
    Write,
    sizes_are_given,
)
from staticgraph.dynamic.capture.flagged import Flagged, add_step
from staticgraph.dynamic.capture.gradients import Gradients
from staticgraph.dynamic.capture.keeping import Keeping, plain_result
from staticgraph.dynamic.capture.operands import strong
from staticgraph.dynamic.capture.outside import Operands
from staticgraph.dynamic.capture.refusing import Refusing
from staticgraph.dynamic.capture.traced import Traced, class_of, refuse_attributes
from staticgraph.dynamic.capture.unknown import Unknown
from staticgraph.dynamic.func.tracer import Level
from staticgraph.dynamic.tensors.tensor import Tensor


class Capture(Asking, Refusing):
    """A function that is being captured: its operands, and what it does beside its results.

    Attributes:
        level: the level of its tensors, outside of those of any transform in it.
        body: what stands for the innermost function that becomes a graph of its own.
        top: that of the function itself.
        gradients: the gradients of its tensors.
        modules: those that are being called, the innermost last.
        enabled: where the function has switched recording on, itself, or "".
    """

    def __init__(self, operands: Operands, outer: bool) -> None:
        self._outer, self.enabled = outer, ""
        self.level = Level(None)
        self.level.number = 0
        self.body = self.top = object()
        self.gradients = Gradients(self)
        self._operands, self._count = operands, operands.count
        self._inputs, self._given, self._held = operands.inputs, operands.given, operands.held
        self._traced: dict[int, Any] = {}
        self._places: dict[int, int] = {}
        self._draws: list[Draw] = []
        self._written: dict[int, tuple[bool, str, int]] = {}
        self._moved: set[int] = set()
        self._assigned: dict[tuple[int, str], tuple[dict[str, Any], Any]] = {}
        self._values: dict[tuple[int, str], Any] = {}
        self._steps: list[Step] = []
        self.keeping = Keeping()
        self.flagged = Flagged(self)
        self._outputs: list[Expression] = []
        self._stepped: dict[int, int] = {}
        self._optimizers: dict[int, tuple[Any, str]] = {}
        self._renewed: dict[int, int] = {}
        self._late: dict[int, Late] = {}
        self._later: dict[int, list[Expression]] = {}
        self._breaks: list[int] = []
        self.modules: list[Any] = []
        self._names: dict[int, dict[int, str]] = {}

    @contextmanager
    def inside(self, module: Any) -> Iterator[None]:
        """Inside the block a module is called: what it makes is in the scope of its name.

        That is what the module around it calls it, or its class; both, if that is a number.
        """
        name = self._name_in(self.modules[-1], module) if self.modules else ""
        if name.isdecimal():
            name = f"{name} {type(module).__name__}"
        self.modules.append(module)
        try:
            with scope(name or type(module).__name__):
                yield
        finally:
            self.modules.pop()

    def _name_in(self, around: Any, module: Any) -> str:
        """What a module calls one of its parts; "" of another."""
        names = self._names.get(id(around), {})
        if id(module) not in names:  # a walk for each part would be one per pair of parts
            names = {id(part): name for name, part in around.named_modules()}
            self._names[id(around)] = names
        return names.get(id(module), "")

    def made(self, value: object) -> Any:
        """The traced tensor of a value: an expression, or an array that is known."""
        return Traced.made(getattr(value, "plain", value))

    def strong(self, op: Any, operands: Sequence[Any]) -> list[Any]:
        """The operands of an op of tracers, without numbers: see `operands.strong`."""
        return strong(op, operands)

    def known(self, array: object) -> Any:
        """A tensor that is made inside, of this value."""
        return Traced.made(np.asarray(array))

    def on_memory(self, array: object) -> Any:
        """A tensor on the memory of an array, or what stands for one, which it must not change."""
        return Traced.made(getattr(array, "plain", array), outside=True)

    def filled(self, number: object, shape: Shape) -> Any:
        """A tensor that is made inside, with one number in a shape of unknown sizes."""
        return Traced.made(ops.broadcast_to(constant(number), shape))

    def counted(self, size: Size, dtype: Any) -> Any:
        """A tensor that is made inside: the numbers from 0 up to a size that is not known."""
        found = construct(leaves.iota, (), {"size": size})
        return Traced.made(found if found.dtype == dtype else ops.astype(found, dtype))

    # what it reads

    def enter(self, cls: Any, expression: Expression, outside: bool) -> Any:
        """What stands for an operand; `outside`: whether it is a tensor that exists outside."""
        result = cls.made(expression, outside=outside)
        result._body = self.top
        place = next(i for i, one in enumerate(self._inputs) if one is expression)
        self._traced[place] = result
        self._places[id(result)] = place
        return result

    def lifted(self, tensor: Any) -> Any:
        """What stands for a tensor of the surroundings, or of a module; anything else as it is."""
        if not isinstance(tensor, Tensor) or tensor._overwritten is not None:
            return tensor
        place = self._held.get(id(tensor))
        if place is None:
            place = self._held[id(tensor)] = len(self._inputs)
            shape, dtype = tuple(tensor._array.shape), tensor._array.dtype
            attrs = leaves.leaf_attrs(shape, dtype, leaves.next_key())
            name = f"surroundings {place - self._count}"
            self._inputs.append(Expression(leaves.placeholder, (), attrs, name))
            self._given.append(tensor)
        found = self._traced.get(place)
        if found is None:
            found = self.enter(class_of(type(tensor)), self._inputs[place], True)
        return found

    def apply(self, op: Any, operands: Sequence[Any], attrs: Any) -> Any:
        """The value of an op on tensors of the surroundings."""
        values = [self.lifted(one) for one in operands]
        if not values:  # what rules of transforms make of sizes alone
            return self.made(construct(op, (), attrs))
        first = next(one for one in values if isinstance(one, Traced))
        return first._apply(op, values, attrs)

    def place_of(self, x: Traced) -> int | None:
        """Which operand it is, if it is one."""
        return self._places.get(id(x))

    def tensor_at(self, place: int) -> Any:
        """The tensor that was an operand when the function was captured."""
        return self._given[place]

    @property
    def inputs(self) -> list[Expression]:
        """What the operands are in the graph, as far as they are known."""
        return list(self._inputs)

    def input_at(self, place: int) -> Expression:
        """What an operand is in the graph, as it is now."""
        return self._inputs_at(place)[-1]

    def _inputs_at(self, place: int) -> list[Expression]:
        """What an operand is, and became by the steps of optimizers."""
        return [self._inputs[place], *self._later.get(place, ())]

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The random numbers that it draws, so far."""
        return tuple(self._draws)

    def draw(self, method: str, args: tuple[Any, ...], shape: Shape, options: Any) -> Any:
        """Random numbers, drawn anew at each call."""
        if self.body is not self.top:
            refuse(
                "draws random numbers in a branch, the body of a loop or one example of vmap",
                "draw them before, and pass them in",
            )
        if any(isinstance(one, Traced | Unknown) for one in (*args, *shape)):
            refuse(
                "draws random numbers from a distribution that a tensor gives",
                "draw uniform or normal numbers, and transform them with ops",
            )
        source = np.random.default_rng(0)
        if method == "permutation":
            sample = source.permutation(1)
        else:
            sample = getattr(source, method)(*args, size=1, **options)
        self._draws.append(Draw(method, args, tuple(options.items()), shape))
        return Traced.made(self._operands.drawn(self._draws, sample.dtype))

    # what it asks

    def floating_operands(self, nodes: Sequence[Expression]) -> list[tuple[int, Any, Expression]]:
        """The operands among some expressions that may require grad, with what they are there."""
        present = {node.serial for node in nodes}
        return [
            (place, x, one)
            for place, x in self._traced.items()
            for one in self._inputs_at(place)
            if one.serial in present and is_inexact(one.dtype)
        ]

    def outside_requires(self, expression: Expression) -> bool:
        """Whether a value depends, for gradients, on an operand that requires grad."""
        nodes = ancestors([expression])
        return any(
            expression.serial in depending_on(nodes, [one]) and self.requires(place)
            for place, _, one in self.floating_operands(nodes)
        )

    def records(self) -> bool:
        """Whether the caller records, which each call must have in common."""
        self._operands.recording = self._outer
        return self._outer

    def switched_on(self) -> None:
        """Note that the function switches recording on."""
        self.enabled = user_place()

    # what it changes

    @property
    def changes(self) -> tuple[int, list[tuple[bool, str, int]], list[int]]:
        """What it has changed outside, so far: it is another value after each change."""
        return len(self._steps), [*self._written.values()], [*map(id, self._values.values())]

    def writes(self, x: Traced, recorded: bool) -> None:
        """Note that an operand is overwritten."""
        place = self.place_of(x)
        if place is None:
            refuse(
                "changes an array of NumPy by a tensor on its memory, once and not at each call",
                "make the tensor with torch.tensor(array), which copies it",
            )
        recorded = recorded and self.flagged.records_writes(place)
        before, _, times = self._written.get(place, (False, "", 0))
        self._written[place] = before or recorded, user_place(), times + 1

    def moves(self, x: Traced) -> None:
        """Note that an operand gets memory of its own, with what is written to it from here on."""
        place = self.place_of(x)
        assert place is not None
        self.flush()
        self._moved.add(place)
        self._written[place] = False, user_place(), 1

    def gradient(self, place: int) -> Any:
        """What stands for the gradient that an operand has before the call; None: it has none."""
        where = self._operands.gradient(place)
        if where is None:
            return None
        found = self._traced.get(where)
        if found is None:
            found = self.enter(class_of(type(self._given[where])), self._inputs[where], True)
        return found

    def assigns(self, table: dict[str, Any], name: str, value: object) -> Any:
        """Note that a module's table is about to get a tensor under a name; what it gets.

        The tensor that it has, after `self.n += 1`, is no other one.
        """
        here = table.get(name)
        place = self.place_of(value) if isinstance(value, Traced) else None
        if here is value or (place is not None and here is self._given[place]):
            return here
        if not isinstance(value, Traced):
            refuse(
                f"assigns {type(value).__name__} to {name!r} of a module, once for all calls",
                "assign it outside",
            )
        before = self._assigned.get((id(table), name), (table, table.get(name)))[1]
        self._assigned[id(table), name] = table, before
        self._values[id(table), name] = value
        return value

    def do(self, function: Callable[[], object], what: str, updates: Sequence[int] = ()) -> None:
        """Note what is called when the results are there, after all that is pending."""
        if self.body is not self.top:
            refuse(f"{what} in a branch or the body of a loop", "do it outside of that")
        self.flush()
        self.add(Do(function, tuple(updates), user_place()))

    def step(self, optimizer: Any, function: Callable[[], object]) -> None:
        """Note a step of an optimizer: from then on its parameters are others."""
        params = [param for group in optimizer.param_groups for param in group["params"]]
        for param in params:
            self.lifted(param)
        updates = [self._held[id(param)] for param in params if id(param) in self._held]
        self.do(function, "steps an optimizer", updates)
        self._stepped.update({id(param): len(self._steps) for param in params})
        self._optimizers[id(optimizer)] = optimizer, user_place()

    def check_current(self, x: Traced) -> None:
        """Let an operand that an optimizer has changed be an input of a stage after the step."""
        place = self.place_of(x) if self._stepped else None
        when = 0 if place is None else self._stepped.get(id(self._given[place]), 0)
        if place is None or self._renewed.get(place, 0) >= when:
            return
        if self.body is not self.top:
            refuse(
                "reads a parameter that an optimizer has changed in a branch or the body of a loop",
                "read it before that, such as by p.clone(), and use the copy there",
            )
        self._renewed[place] = when
        if self._breaks[-1:] != [len(self._steps)]:
            self._breaks.append(len(self._steps))
        where, new = self._operands.renewed(place, len(self._breaks))
        self._late[where] = Late(len(self._breaks), place)
        self._later.setdefault(place, []).append(new)
        x.becomes(new)
        self.flagged.renewed(x, place)

    def _check_stages(self, values: Sequence[Expression]) -> None:
        """Refuse values of several stages that the tape would have to go through."""
        for one in values:
            if self._breaks and self.gradients.requires(one) and self.records():
                refuse(
                    "hands on a tensor with a history from a function that reads parameters after "
                    "an optimizer has changed them",
                    "hand it on with detach()",
                )

    def _check_states(self) -> None:
        """Refuse to read what an optimizer keeps, which its step changes."""
        own = [one._array for one in self._given[self._count :] if isinstance(one, Tensor)]
        for optimizer, place in self._optimizers.values() if own else ():
            kept = [x for state in optimizer.state.values() for x in state.values()]
            if memory_of([x._array for x in kept if isinstance(x, Tensor)]) & memory_of(own):
                refuse_shared("what the optimizer keeps, which the function reads", place)

    def output(self, expression: Expression) -> int:
        """The place of a result that is not the caller's: from the end, since these come first."""
        self._outputs.append(expression)
        return -len(self._outputs)

    def add(self, step: Step) -> None:
        """Add a step; a flag that is put back at once is none."""
        add_step(self._steps, step)

    def flush(self) -> None:
        """Turn what is pending into steps."""
        for place, (recorded, line, times) in self._written.items():
            value = self._traced[place].expression
            if not recorded and is_inexact(value.dtype):
                value = ops.stop_gradient(value)
            result = self.output(value)
            moved = place in self._moved
            write = Write(place, result, recorded, line, times)
            self.add(Move(place, result) if moved else write)
        self._written.clear()
        self.gradients.flush()

    def finished(self, values: Sequence[Any]) -> tuple[list[Any], list[Expression], Effects]:
        """What a function that returned these makes of each call; results are expressions.

        Returns:
            The values, with expressions for tensors, the results that are not the caller's, and
            what else is done.
        """
        values = [self.lifted(one) for one in values]
        refuse_attributes(values)
        plain = {i: how for i, one in enumerate(values) if (how := plain_result(one)) is not None}
        self.flush()
        for key, (table, _) in self._assigned.items():
            self.add(Assign(table, key[1], self.output(self._values[key].expression)))
        for step in self.flagged.steps():
            self.add(step)
        for kept in self.keeping.steps(values, self.output):
            self.add(kept)
        self._check_states()
        views = self._views(values)
        freed = []
        made: list[Any] = []
        for i, one in enumerate(values):
            result = one.expression if isinstance(one, Traced) else one
            if (
                self.enabled
                and isinstance(one, Traced)
                and not self.records()
                and (self.gradients.requires(result))
            ):
                refuse(
                    "returns a tensor that requires grad after it has switched gradients on, in a "
                    "call for which they are off",
                    "return it with detach(), or switch them on around the call",
                    self.enabled,
                )
            if isinstance(one, Traced) and self.gradients.is_freed(result):
                freed.append(i)
                result = ops.stop_gradient(result)
            made.append(result)
        written = [one.result for one in self._steps if isinstance(one, Write) and one.recorded]
        written += [one.result for one in self._steps if isinstance(one, Assign)]
        written += self.keeping.results
        self._check_stages([self._outputs[-1 - i] for i in written])
        expressions = [one for one in made if isinstance(one, Expression)]
        self._check_stages(expressions)
        self.flagged.refuse_thawed(expressions)
        self.gradients.hooked.refuse_returned(expressions)
        effects = Effects(
            [one.shape for one in self._inputs[: self._count]],
            self._operands.lifted,
            self._draws,
            len(values),
            views,
            freed,
            self._steps,
            self._operands.asked,
            self._operands.recording,
            self._operands.grads,
            self._late,
            self._breaks,
            plain,
        )
        return made, self._outputs[::-1], effects

    def _views(self, values: Sequence[Any]) -> list[View]:
        """Which values are operands, values before, or views of either."""
        found = []
        for i, one in enumerate(values):
            chain: list[Any] = []
            while isinstance(one, Traced):
                place = self.place_of(one)
                before = next((j for j in range(i) if values[j] is one), None)
                of = self.gradients.holder(one) if place is None else None
                makers = tuple(reversed(chain))
                if place is not None and one._outside:
                    found.append(View(i, place, True, makers, False))
                    break
                if of is not None:
                    found.append(View(i, of, True, makers, True))
                    break
                if before is not None:
                    found.append(View(i, before, False, makers, False))
                    break
                if one._link is None or one._link.op is None:
                    break
                shapes = [one.shape for one in self._inputs[: self._count]]
                if not sizes_are_given(one._link.attrs, shapes):
                    refuse(
                        "returns a view that depends on a size",
                        "return a copy, made with clone()",
                    )
                value = one._value
                recorded = not (isinstance(value, Expression) and value.op is ops.stop_gradient)
                chain.append((one._link.op, one._link.attrs, recorded))
                one = one._link.parent
        return found

    def close(self) -> None:
        """Put back what was assigned to modules, and let go of the operands."""
        self.level.open = False
        self.flagged.put_back()
        for (_, name), (table, before) in self._assigned.items():
            if not isinstance(before, Traced):  # those of `held` modules are put back elsewhere
                table[name] = before
        for one in (self._traced, self._places, self._assigned, self._values):
            one.clear()

    # what it refuses

    def refuse_half(self, error: Exception) -> None:
        """Refuse an error of the user's after which eager code has changed something outside."""
        if (self._steps or self._written or self._assigned) and raised_by_user(error):
            refuse(
                f"raises {type(error).__name__} after it has changed what is outside, which a "
                "graph does at its end",
                "raise it before that, or outside",
                place_of(error),
            )
