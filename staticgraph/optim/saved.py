"""Saving and loading: the state of an optimizer in PyTorch's layout, parameters by number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.graph.expression import Expression
from staticgraph.leaves import Variable
from staticgraph.optim.checks import CHECKS, Options

if TYPE_CHECKING:
    from staticgraph.optim.first_order import Group
else:  # what hints say: it is declared beside what derives from this
    Group = object

_Assignments = list[tuple[Variable, Any]]


class Saved(ABC):
    """The part of an optimizer that saves and loads its state."""

    groups: list[Group]
    accumulate: int
    _counts = True
    """Whether the algorithm counts its steps; otherwise they are counted for a schedule alone."""

    @abstractmethod
    def _numbers(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The numbers beside the step that the parameters share, before the first step."""

    @abstractmethod
    def _first(self, options: Mapping[str, Any], parameter: Variable) -> dict[str, Any]:
        """What is kept of a parameter, before the first step."""

    def state_dict(self) -> dict[str, Any]:
        """The "state" of the parameters by number, as arrays, and the "param_groups".

        As that of an eager optimizer, which loads it. "steps" has the number of steps of each
        group, None where nothing counts them; "accumulated" what waits for a step of "accumulate".

        Raises:
            OptionError: nothing has been minimized.

        Example:
            >>> w = sg.variable(3.0)
            >>> optimizer = sg.optim.SGD(lr=0.25, momentum=0.5)
            >>> step = sg.compile([], w * w, updates=optimizer.minimize(w * w))
            >>> _ = step()
            >>> optimizer.state_dict()["state"]
            {0: {'momentum_buffer': array(6., dtype=float32)}}
        """
        self._require_groups("state_dict")
        state: dict[int, Any] = {}
        groups, start = [], 0
        for group in self.groups:
            numbers = range(start, start + len(group.parameters))
            start = numbers.stop
            groups.append(
                {**saved_options(group.options, _steps_of(group)), "params": list(numbers)}
            )
            for number, kept in zip(numbers, self._saved_states(group), strict=True):
                if kept:
                    state[number] = kept
        steps = [_steps_of(group) for group in self.groups]
        accumulated = [
            (int(group.pending.value), [total.value for total in group.sums])
            for group in self.groups
            if group.pending is not None
        ]
        found = {"state": state, "param_groups": groups, "steps": steps}
        if not accumulated:
            return found
        return {**found, "accumulated": accumulated, "accumulate": self.accumulate}

    def load_state_dict(
        self, state_dict: Mapping[str, Any], steps: int | Sequence[int | None] | None = None
    ) -> None:
        """Take over the state that `state_dict` of this or of an eager optimizer returned.

        The options must be those of the groups here, since they are part of what was compiled; an
        lr that is a variable is set, and a schedule goes on from the number of steps.

        Args:
            state_dict: its "state" may hold arrays or tensors; they are cast to their variables.
            steps: how many steps were taken, in all groups or in each, where `state_dict` does not
                say and a schedule asks.

        Raises:
            OptionError: groups, options or states do not fit; then nothing is changed.

        Example:
            >>> def made():
            ...     w, optimizer = sg.variable(3.0), sg.optim.Adam(lr=0.5)
            ...     return optimizer, sg.compile([], w, updates=optimizer.minimize(w * w))
            >>> (one, step), (other, _) = made(), made()
            >>> _ = step()
            >>> other.load_state_dict(one.state_dict())
            >>> other.state_dict() == one.state_dict()
            True
        """
        self._require_groups("load_state_dict")
        check_layout(self._name, state_dict)
        saved = list(state_dict["param_groups"])
        sizes = [len(one["params"]) for one in saved], [len(one.parameters) for one in self.groups]
        if sizes[0] != sizes[1]:
            raise OptionError(
                f"{self._name}: the state has groups of {sizes[0]} parameters, this optimizer of "
                f"{sizes[1]}"
            )
        check_numbers(self._name, state_dict)
        self._check_accumulated(state_dict)
        counts = steps if isinstance(steps, Sequence) else [steps] * len(saved)
        if steps is None:
            counts = state_dict.get("steps", counts)
        if len(counts) != len(saved):
            raise OptionError(f"{self._name}: steps={steps} are not one for each group")
        waiting = iter(state_dict.get("accumulated", ()))
        assignments: _Assignments = []
        for group, options, count in zip(self.groups, saved, counts, strict=True):
            states = [state_dict["state"].get(number, {}) for number in options["params"]]
            assignments += check_options(self._name, group.options, options)
            assignments += self._loaded_numbers(group, states, count)
            assignments += self._loaded_states(group, states, options["params"])
            if group.pending is not None:
                pending, sums = next(waiting, (0, [np.zeros(one.shape) for one in group.sums]))
                self._check_pending(pending, sums, group)
                assignments += [(group.pending, pending), *zip(group.sums, sums, strict=True)]
        assign(self._name, assignments)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _require_groups(self, method: str) -> None:
        if not self.groups:
            raise OptionError(f"{self._name}: {method} needs parameters: call minimize before")

    def _saved_states(self, group: Group) -> list[dict[str, Any]]:
        if not self._counts and _steps_of(group) == 0:
            return [{} for _ in group.parameters]
        numbers = {
            kind: one.value.astype(np.float32)
            for kind, one in group.numbers.items()
            if self._counts or kind != "step"
        }
        return [
            {**{kind: value.copy() for kind, value in numbers.items()}, **_values(kept)}
            for kept in group.states
        ]

    def _loaded_numbers(
        self, group: Group, states: Sequence[Mapping[str, Any]], count: int | None
    ) -> _Assignments:
        """What the parameters of a group share, which must be the same in all states."""
        found: _Assignments = []
        initial = self._numbers(group.options)
        for kind, target in group.numbers.items():
            given = [float(state[kind]) for state in states if kind in state]
            if len(given) not in (0, len(states)) or len(set(given)) > 1:
                raise OptionError(
                    f"{self._name}: {kind} differs between the parameters of a group, {given} of "
                    f"{len(states)}: they have not been updated together"
                )
            if kind == "step" and count is not None:
                given = [float(count)]
            if kind == "step" and not given and any(states):
                given = [self._steps_at_least(group)]
            if kind == "step" and not all(one >= 0 and one.is_integer() for one in given):
                raise OptionError(f"{self._name}: {given[0]} is no number of steps")
            found.append((target, given[0] if given else initial.get(kind, 0.0)))
        return found

    def _check_accumulated(self, state_dict: Mapping[str, Any]) -> None:
        """OptionError for gradients that are parts of other means than those made here."""
        count = state_dict.get("accumulate", self.accumulate)
        waits = any(pending for pending, _ in state_dict.get("accumulated", ()))
        if count != self.accumulate and waits:
            raise OptionError(
                f"{self._name}: the state has a part of a step of {count} accumulated gradients, "
                f"this optimizer makes one of {self.accumulate}: save after a step"
            )

    def _check_pending(self, pending: Any, sums: Sequence[Any], group: Group) -> None:
        """OptionError for gradients of which an optimizer that accumulates would make no step."""
        if len(sums) != len(group.sums) or pending not in range(self.accumulate):
            raise OptionError(
                f"{self._name}: the state has {pending} accumulated gradients of {len(sums)} "
                f"parameters, this optimizer accumulates {self.accumulate} of {len(group.sums)}"
            )

    def _steps_at_least(self, group: Group) -> float:
        """The number of steps where a state does not say it: 1 if only the first one differs."""
        if callable(group.options["lr"]):
            raise OptionError(
                f"{self._name}: the state does not say how many steps were taken, and the schedule "
                "asks: give load_state_dict steps="
            )
        return 1.0

    def _initial_number(self, group: Group, kind: str) -> Any:
        return self._numbers(group.options).get(kind, 0.0)

    def _loaded_states(
        self, group: Group, states: Sequence[Mapping[str, Any]], numbers: Sequence[int]
    ) -> _Assignments:
        found: _Assignments = []
        rows = zip(group.parameters, group.states, states, numbers, strict=True)
        for parameter, kept, given, number in rows:
            values = given or self._first(group.options, parameter)
            missing = [kind for kind in kept if values.get(kind) is None]
            if missing:
                raise OptionError(
                    f"{self._name}: the state of parameter {number} has no {missing[0]!r}: it has "
                    f"{', '.join(map(repr, given))}"
                )
            found += [(target, values[kind]) for kind, target in kept.items()]
        return found


def _steps_of(group: Group) -> int | None:
    count = group.numbers.get("step")
    return None if count is None else int(count.value)


def _values(kept: Mapping[str, Variable]) -> dict[str, Any]:
    return {kind: one.value for kind, one in kept.items()}


def _plain(value: Any) -> Any:
    """An option as numbers: tensors of one element, and the pairs that JSON makes lists."""
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    if isinstance(value, str | bool | None | Expression) or callable(value):
        return value
    return np.asarray(value).item()


def check_layout(name: str, state_dict: Any) -> None:
    """OptionError for what is no state of an optimizer."""
    parts: Any = state_dict if isinstance(state_dict, Mapping) else {}
    state, groups = parts.get("state"), parts.get("param_groups")
    if not isinstance(state, Mapping) or not isinstance(groups, list | tuple):
        raise OptionError(f"{name}: the state is a dict with 'state' and 'param_groups'")
    if not all(isinstance(one, Mapping) and "params" in one for one in groups):
        raise OptionError(f"{name}: the 'param_groups' of the state are dicts with 'params'")
    if not all(isinstance(one, Mapping) for one in state.values()):
        raise OptionError(f"{name}: the 'state' of each parameter is a dict")


def check_numbers(name: str, state_dict: Any) -> None:
    """OptionError for the state of a parameter that is in no group."""
    numbers = [number for one in state_dict["param_groups"] for number in one["params"]]
    strange = [key for key in state_dict["state"] if key not in numbers]
    if strange:
        # the keys of a dict that went through JSON are strings
        raise OptionError(
            f"{name}: the state has parameter {strange[0]!r}, the groups {numbers}: none of them"
        )


def saved_options(options: Options, steps: int | None) -> dict[str, Any]:
    """The options of a group, with the rate of its next step as a number, if that is known."""
    others = {key: value for key, value in options.items() if key != "lr"}
    lr = options["lr"]
    if isinstance(lr, Expression):
        return {"lr": float(lr.value), **others} if isinstance(lr, Variable) else others
    if not callable(lr):
        return {"lr": lr, **others}
    now = lr(steps)
    known = {} if isinstance(now, Expression) else {"lr": now}
    # what an eager LambdaLR of the same schedule goes on from
    return {**known, "initial_lr": 1.0, **others}


def check_options(name: str, options: Options, saved: Mapping[str, Any]) -> _Assignments:
    """OptionError unless the saved options are those of a group; the rate, if it can be set."""
    for option, value in options.items():
        if option == "lr" and (isinstance(value, Expression) or callable(value)):
            continue
        given = _plain(saved.get(option, value))
        if given != _plain(value):
            raise OptionError(
                f"{name}: {option} is {given} in the state, and {value} in what minimize has made, "
                "which does not change any more"
            )
    lr = options["lr"]
    if not isinstance(lr, Variable) or "lr" not in saved:
        return []
    CHECKS["lr"](name, "lr", _plain(saved["lr"]))
    return [(lr, saved["lr"])]


def assign(name: str, assignments: _Assignments) -> None:
    """Set the variables to values, in their dtypes; OptionError, and none is set, if one fails."""
    found = []
    for target, value in assignments:
        array = np.asarray(value)
        if array.shape != target.state.array.shape:
            raise OptionError(
                f"{name}: the state has {array.shape} for {target.state.label}, which has "
                f"{target.state.array.shape}"
            )
        complex_too = "c" if target.dtype.kind == "c" else ""
        if array.dtype.kind not in "biuf" + complex_too:
            raise OptionError(f"{name}: the state has {array.dtype} for {target.state.label}")
        found.append((target, array.astype(target.dtype)))
    for target, value in found:
        target.value = value
