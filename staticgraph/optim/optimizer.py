"""Optimizer: options that are checked and, once updates have been made of them, fixed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import GraphError, OptionError
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.state import State
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.leaves import Variable
from staticgraph.optim.checks import CHECKS, Check, Options, as_python

Updates: TypeAlias = dict[Variable, Expression]
Parameters: TypeAlias = Sequence[Variable] | Sequence[Mapping[str, Any]]
"""Variables, or groups: dicts of such "params" and options of their own."""


class Optimizer(ABC):
    """What the optimizers share: options, with which `minimize` makes updates of variables.

    What `minimize` returned does not change any more: to set an option of the optimizer after it
    raises OptionError. A rate that changes is a variable (`SGD(lr=rate)`, `rate.value = 0.01`) or
    a schedule (`SGD(lr=sg.optim.cosine(0.1, steps=1000))`).

    Attributes:
        defaults: the options by name, of which each is an attribute too.

    Example:
        >>> sg.optim.SGD(lr=0.1).defaults["lr"], isinstance(sg.optim.Adam(), sg.optim.Optimizer)
        (0.1, True)
    """

    _checks: ClassVar[Mapping[str, Check]] = {}
    """What differs from the table of all options."""
    _common: tuple[str, ...] = ()
    """The options that no group sets, which are attributes of their own."""

    def __init__(self, defaults: Options) -> None:
        self.defaults = {name: as_python(value) for name, value in defaults.items()}
        self._is_fixed = False
        self._check(self.defaults)

    @abstractmethod
    def minimize(self, loss: Expression, parameters: Parameters | None = None) -> Updates:
        """The updates of one step, for `compile`.

        Args:
            loss: a floating-point scalar.
            parameters: the variables to change; all floating-point ones that `loss` depends on if
                None.

        Raises:
            GraphError: there is nothing to change, or the loss is no scalar.

        Example:
            >>> w = sg.variable(3.0)
            >>> step = sg.compile([], w * w, updates=sg.optim.SGD(lr=0.25).minimize(w * w))
            >>> float(step()), float(step())
            (9.0, 2.25)
        """

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.defaults.items())
        return f"{type(self).__name__}({given})"

    def __getattr__(self, name: str) -> Any:
        defaults = vars(self).get("defaults", {})
        if name in defaults:
            return defaults[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        defaults = vars(self).get("defaults", {})
        if name in defaults or name in self._common:
            if vars(self).get("_is_fixed"):
                raise OptionError(
                    f"{type(self).__name__}: {name} is part of the updates that minimize has made, "
                    "and cannot be set: make another optimizer; an lr that changes is a variable"
                )
            self._check_one(name, value)
        if name in defaults:
            defaults[name] = as_python(value)
        else:
            super().__setattr__(name, value)

    def _check_one(self, name: str, value: object) -> None:
        {**CHECKS, **self._checks}[name](type(self).__name__, name, value)

    def _check(self, options: Options) -> None:
        """OptionError for a value, or for values together, that cannot be."""
        for name, value in options.items():
            self._check_one(name, value)

    def _rate(self, lr: Any, count: Any) -> Any:
        """The rate of a step, of which as many went before as `count` says."""
        if isinstance(lr, Expression) or not callable(lr):
            return lr
        found = lr(count)
        self._check_one("lr", found)
        return found


def floating_variables(loss: Expression) -> list[Variable]:
    """The variables that a loss changes with; GraphError if there are none."""
    found = [
        node for node in ancestors([loss]) if isinstance(node, Variable) and is_inexact(node.dtype)
    ]
    if not found:
        raise GraphError("minimize: the loss depends on no floating-point variable")
    return found


def check_parameters(parameters: Sequence[object]) -> None:
    """GraphError for what is no variable, and for one that is given twice."""
    seen: set[State] = set()
    for one in parameters:
        if not isinstance(one, Variable):
            raise GraphError(f"minimize: the parameter {one!r} is no variable")
        if one.state in seen:
            raise GraphError(f"minimize: {one.state.label} is given twice ({one.source})")
        seen.add(one.state)
