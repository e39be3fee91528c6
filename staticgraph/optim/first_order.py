"""What optimizers share that have a rule for each parameter: groups, clipping, accumulation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from staticgraph.compiler.core.errors import GraphError, OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops import astype, where
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.transforms.autodiff import gradients
from staticgraph.leaves import Variable, variable
from staticgraph.optim.checks import Options, as_python
from staticgraph.optim.clipping import clip_by_global_norm, clip_by_value
from staticgraph.optim.optimizer import (
    Optimizer,
    Parameters,
    Updates,
    check_parameters,
    floating_variables,
)
from staticgraph.optim.saved import Saved


class Common(TypedDict, total=False):
    """What every optimizer takes besides its own options.

    Attributes:
        clip_value: the elements of gradients are limited to [-clip_value, clip_value].
        clip_norm: gradients are scaled so that their norm as one vector is at most this.
        accumulate: how many calls make one step, of the mean of their gradients.
    """

    clip_value: float | None
    clip_norm: float | None
    accumulate: int


@frozen
class Group:
    """Parameters that are updated with the same options, and what is kept of them.

    Attributes:
        parameters: the variables that change.
        options: by name, as the optimizer's `defaults`.
        numbers: the numbers that all of them share, such as "step", by name.
        states: of each parameter, what the algorithm keeps, by name.
        pending: how many gradients have been accumulated, and
        sums: these, of each parameter; without accumulation None, and none.
    """

    parameters: tuple[Variable, ...]
    options: Options
    numbers: dict[str, Variable]
    states: tuple[dict[str, Variable], ...]
    pending: Variable | None
    sums: tuple[Variable, ...]


@frozen
class Moment:
    """When a group takes a step.

    Attributes:
        lr: the rate of this step, a number or an expression.
        step: the number of this step, from 1; None where nothing counts them.
        before: the group's numbers before this step.
        after: those of them that change, after it.
    """

    lr: Any
    step: Any
    before: Mapping[str, Any]
    after: Mapping[str, Any]


class FirstOrder(Optimizer, Saved):
    """An optimizer with a rule of its own for each parameter and its gradient; abstract.

    Attributes:
        groups: what has been minimized.
    """

    _common = tuple(Common.__annotations__)

    def __init__(self, defaults: Options, **common: Unpack[Common]) -> None:
        for option in common:
            if option not in self._common:
                raise OptionError(
                    f"{type(self).__name__}: no option {option!r}: known are "
                    f"{', '.join([*defaults, *self._common])}"
                )
        super().__init__(defaults)
        self.groups: list[Group] = []
        self.clip_value = common.get("clip_value")
        self.clip_norm = common.get("clip_norm")
        self.accumulate = common.get("accumulate", 1)

    def minimize(self, loss: Expression, parameters: Parameters | None = None) -> Updates:
        """The updates of one step.

        A second call with the same parameters goes on with the state of the first.

        Args:
            loss: a floating-point scalar.
            parameters: the variables to change; all floating-point ones that `loss` depends on if
                None. Groups of them have options of their own:
                `[{"params": weights}, {"params": biases, "weight_decay": 0.0}]`.

        Raises:
            GraphError: there is nothing to change, or the loss is no scalar.
            OptionError: a group has an option that the optimizer has not, or out of range.

        Example:
            >>> w = sg.variable(3.0)
            >>> step = sg.compile([], w * w, updates=sg.optim.SGD(lr=0.25).minimize(w * w))
            >>> float(step()), float(step())
            (9.0, 2.25)
        """
        given = floating_variables(loss) if parameters is None else parameters
        groups = self._grouped(given)
        flat = [one for group in groups for one in group.parameters]
        found = gradients(loss, flat, implied=parameters is None)
        return self._updates(groups, found)

    def update(
        self, gradients: Mapping[Variable, Expression], parameters: Parameters | None = None
    ) -> Updates:
        """The updates of one step by gradients that are given, such as those of several losses.

        Args:
            gradients: of each variable the expression that is its gradient, of the same type.
            parameters: as in `minimize`; the variables of `gradients` if None.

        Raises:
            GraphError: a parameter has no gradient, or one of another type.

        Example:
            >>> w = sg.variable(3.0)
            >>> step = sg.compile([], w, updates=sg.optim.SGD(lr=0.25).update({w: 2 * w}))
            >>> float(step()), float(step())
            (3.0, 1.5)
        """
        groups = self._grouped(list(gradients) if parameters is None else parameters)
        found = []
        for one in (one for group in groups for one in group.parameters):
            gradient = gradients.get(one)
            if not isinstance(gradient, Expression) or gradient.type != one.type:
                raise GraphError(
                    f"update: the gradient of {one.state.label} is {gradient}, not {one.type} "
                    f"({one.source})"
                )
            found.append(gradient)
        return self._updates(groups, found)

    def _grouped(self, given: Parameters) -> list[Group]:
        """The groups of the parameters: those that are known, and new ones."""
        listed = _as_groups(given)
        check_parameters([one for members, _ in listed for one in members])
        return [self._group(tuple(members), own) for members, own in listed]

    def _group(self, members: tuple[Variable, ...], own: Options) -> Group:
        for option in own:
            if option not in self.defaults:
                raise OptionError(
                    f"{type(self).__name__}: a group sets {option!r}, which is no option: known "
                    f"are {', '.join(self.defaults)}"
                )
        options = {**self.defaults, **{name: as_python(value) for name, value in own.items()}}
        self._check(options)
        states = {one.state for one in members}
        for group in self.groups:
            known = {one.state for one in group.parameters}
            if known == states and _same(group.options, options):
                return group
            if known & states:
                label = next(one.state.label for one in members if one.state in known)
                raise OptionError(
                    f"{type(self).__name__}: {label} has been minimized before, with other "
                    "parameters or options in its group: make another optimizer"
                )
        made = self._begun(members, options)
        self.groups.append(made)
        self._is_fixed = True
        return made

    def _begun(self, members: tuple[Variable, ...], options: Options) -> Group:
        """A group before its first step."""
        name = type(self).__name__
        numbers = dict(self._numbers(options))
        if self._counts or self._needs_count(options):
            # float64: the bias corrections of late steps are 1 minus something small
            numbers = {"step": np.zeros((), np.float64), **numbers}
        states = [
            {kind: _kept(one, kind, value) for kind, value in self._first(options, one).items()}
            for one in members
        ]
        accumulates = self.accumulate > 1
        return Group(
            members,
            options,
            {kind: variable(value, f"{name}.{kind}") for kind, value in numbers.items()},
            tuple(states),
            variable(np.zeros((), np.int64), f"{name}.pending") if accumulates else None,
            tuple(_kept(one, "accumulated", zeros(one)) for one in members if accumulates),
        )

    def _updates(self, groups: Sequence[Group], found: Sequence[Any]) -> Updates:
        if self.accumulate > 1:
            found, sums = _accumulated(groups, found, self.accumulate)
        if self.clip_value is not None:
            found = clip_by_value(found, self.clip_value)
        if self.clip_norm is not None:
            found = clip_by_global_norm(found, self.clip_norm)
        left = iter(found)
        updates: Updates = {}
        for group in groups:
            made = self._stepped(group, [next(left) for _ in group.parameters])
            if group.pending is not None:
                # not cond, whose branch would copy all that stays
                due = group.pending >= self.accumulate - 1
                made = {old: where(due, new, old) for old, new in made.items()}
            updates.update(made)
        return {**updates, **sums} if self.accumulate > 1 else updates

    def _stepped(self, group: Group, found: Sequence[Any]) -> Updates:
        """The updates of the parameters of a group and of what is kept of them."""
        options, updates = group.options, {}
        before: dict[str, Any] = dict(group.numbers)
        count = before.pop("step", None)
        step = None if count is None else count + 1.0
        lr = self._rate(options["lr"], count)
        after = self._advance(options, lr, step, before)
        shared = self._shared(options, Moment(lr, step, before, after))
        if step is not None:
            updates[group.numbers["step"]] = step
        updates |= {group.numbers[kind]: value for kind, value in after.items()}
        for parameter, gradient, state in zip(group.parameters, found, group.states, strict=True):
            if 0 in parameter.shape:  # has nothing to change, nor means over its elements
                updates[parameter] = parameter
                continue
            rule = self._rule_of_pairs if parameter.dtype.kind == "c" else self._rule
            new, kept = rule(options, shared, parameter, gradient, state)
            updates[parameter] = new
            updates |= {state[kind]: value for kind, value in kept.items()}
        return updates

    def _first(self, options: Options, parameter: Variable) -> dict[str, Any]:
        """What is kept of a parameter before the first step; of a complex one for both parts."""
        found = self._begin(options, parameter)
        if parameter.dtype.kind == "c":
            for value in found.values():
                value.imag = value.real
        return found

    def _rule_of_pairs(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """The rule for a complex parameter: for its parts, as real numbers."""
        from staticgraph.compiler.ops.elementwise.complex_numbers import (
            view_as_complex,
            view_as_real,
        )

        real = {kind: view_as_real(one) for kind, one in state.items()}
        new, kept = self._rule(options, shared, view_as_real(p), view_as_real(g), real)
        return view_as_complex(new), {kind: view_as_complex(one) for kind, one in kept.items()}

    def _first_rate(self, lr: Any) -> float:
        """The rate of the first step as a number."""
        found = lr.value if isinstance(lr, Variable) else self._rate(lr, 0)
        if isinstance(found, Expression):
            raise OptionError(
                f"{type(self).__name__}: lr is what the state begins with: a number, a variable "
                f"or a schedule of numbers, not {found} ({found.source})"
            )
        return float(found)

    def _needs_count(self, options: Options) -> bool:
        lr = options["lr"]
        return callable(lr) and not isinstance(lr, Expression)

    def _numbers(self, options: Options) -> dict[str, Any]:
        """The numbers beside the step that the parameters share, before the first step."""
        return {}

    def _begin(self, options: Options, parameter: Variable) -> dict[str, Any]:
        """What is kept of a parameter, before the first step."""
        return {}

    def _advance(
        self, options: Options, lr: Any, step: Any, before: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The numbers that the parameters share, after a step."""
        return {}

    def _shared(self, options: Options, now: Moment) -> Any:
        """What the rule takes of all parameters: computed once for the group."""
        return now.lr

    @abstractmethod
    def _rule(
        self, options: Options, shared: Any, p: Any, g: Any, state: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """The mathematics: a parameter after a step along its gradient, and its state."""


def zeros(parameter: Variable) -> Any:
    """Zeros of the shape and dtype of a parameter."""
    return np.zeros(parameter.state.array.shape, parameter.dtype)


def like(parameter: Expression, scalar: object) -> Any:
    """A scalar in the dtype of a parameter."""
    return astype(scalar, parameter.dtype) if isinstance(scalar, Expression) else scalar


def descent(options: Options, p: Any, g: Any, decay: float | None = None) -> Any:
    """The gradient to descend: g + decay * p, or -g + decay * p to maximize."""
    if options["maximize"]:
        g = -g
    decay = options["weight_decay"] if decay is None else decay
    return g + decay * p if decay else g


def _same(one: Options, other: Options) -> bool:
    return all(
        value is other[option] or (not isinstance(value, Expression) and value == other[option])
        for option, value in one.items()
    )


def _kept(parameter: Variable, kind: str, value: object) -> Variable:
    return variable(value, f"{parameter.name or 'variable'}.{kind}")


def _as_groups(given: Any) -> list[tuple[list[Any], dict[str, Any]]]:
    """The members of each group, and the options that it sets."""
    if isinstance(given, Expression):
        raise GraphError(f"minimize: the parameters are a list of variables, not {given}")
    listed = list(given)
    if not any(isinstance(one, Mapping) for one in listed):
        listed = [{"params": listed}]
    groups = []
    for one in listed:
        if not isinstance(one, Mapping) or "params" not in one:
            raise GraphError(f"minimize: the group {one!r} is no dict with 'params'")
        params = one["params"]
        members = [params] if isinstance(params, Expression) else list(params)
        if not members:
            raise GraphError("minimize: there are no parameters, or none in a group")
        groups.append((members, {key: one[key] for key in one if key != "params"}))
    return groups


def _accumulated(
    groups: Sequence[Group], found: Sequence[Any], count: int
) -> tuple[list[Any], Updates]:
    """The means of `count` gradients once they are all there, and the updates of their sums."""
    means, updates, left = [], {}, iter(found)
    for group in groups:
        pending = group.pending
        assert pending is not None
        due = pending >= count - 1
        updates[pending] = where(due, 0, pending + 1)
        for total in group.sums:
            mean = total + next(left) / count
            means.append(mean)
            updates[total] = where(due, zeros_like(mean), mean)
    return means, updates
