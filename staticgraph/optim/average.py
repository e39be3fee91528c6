"""Moving averages of weights, which are often better than the weights: exponential, or of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.pytree import leaves, rebuilt
from staticgraph.compiler.core.values import Tree
from staticgraph.compiler.graph.evaluate import replaced
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops import astype, where
from staticgraph.leaves import Variable, variable
from staticgraph.optim.checks import number, whole
from staticgraph.optim.optimizer import Updates, check_parameters


class Average:
    """The averages of parameters over the steps of a run.

    With a `decay`, an exponential moving average: decay * average + (1 - decay) * parameter, as
    torch.optim.swa_utils.get_ema_avg_fn; without, the mean of all (Izmailov et al. 2018), as
    get_swa_avg_fn. The first is the parameter itself.

    Args:
        decay: from 0 to 1.
        every: of how many calls one is averaged, the last of them; those of an optimizer that
            accumulates make a step together.

    Attributes:
        n_averaged: the variable that counts what was averaged.
        variables: of each parameter the variable that is its average.

    Raises:
        OptionError: the decay is none, or `every` is no int from 1.

    Example:
        >>> w, x = sg.variable(4.0, "w"), sg.placeholder("x", ())
        >>> average = sg.optim.Average(decay=0.5)
        >>> updates = sg.optim.SGD(lr=0.25).minimize(w * w)
        >>> train = sg.compile([], w * w, updates=average.update(updates, [w]))
        >>> predict = sg.compile([x], average.of(w * x))
        >>> for _ in range(3):
        ...     _ = train()
        >>> float(w.value), float(predict(1.0))
        (0.5, 1.0)
    """

    def __init__(self, decay: float | None = None, every: int = 1) -> None:
        if decay is not None:
            number(0, 1)("Average", "decay", decay)
        whole(1)("Average", "every", every)
        self.decay, self.every = decay, every
        self.n_averaged = variable(np.zeros((), np.int64), "n_averaged")
        self.variables: dict[Variable, Variable] = {}
        self._calls = variable(np.zeros((), np.int64), "Average.calls")

    def update(self, updates: Updates, parameters: Sequence[Variable]) -> Updates:
        """The updates, and with them those of the averages of parameters among them.

        Raises:
            GraphError: a parameter is no variable, given twice, or not among the updates.

        Example:
            >>> w, average = sg.variable(4.0), sg.optim.Average()
            >>> step = sg.compile([], w, updates=average.update({w: w - 1}, [w]))
            >>> _ = step(), step()
            >>> float(average.variables[w].value)
            2.5
        """
        check_parameters(parameters)
        made: Updates = {}
        due = self._calls >= self.every - 1
        count = self.n_averaged
        weight: Any = 1.0 / (count + 1.0) if self.decay is None else 1.0 - self.decay
        weight = where(count == 0, 1.0, weight)
        for one in parameters:
            if one not in updates:
                raise GraphError(f"update: {one.state.label} is not among the updates")
            old = self.variables.get(one)
            if old is None:
                old = variable(one.state.copy(), f"{one.name or 'variable'}.average")
                self.variables[one] = old
            new = updates[one]
            moved = where(count == 0, new, old + astype(weight, one.dtype) * (new - old))
            made[old] = where(due, moved, old) if self.every > 1 else moved
        made[count] = count + astype(due, np.int64)
        made[self._calls] = where(due, 0, self._calls + 1)
        return {**updates, **made}

    def of(self, outputs: Tree) -> Tree:
        """Expressions, or any nesting of them, with the parameters replaced by their averages.

        Raises:
            GraphError: an output is no expression, or `update` has been given no parameters yet.

        Example:
            >>> w, average = sg.variable(4.0), sg.optim.Average()
            >>> updates = average.update({w: w - 1}, [w])
            >>> average.of(w) is average.variables[w]
            True
        """
        flat = leaves(outputs)
        for one in flat:
            if not isinstance(one, Expression):
                raise GraphError(f"of: the output {one!r} is no expression")
        if not self.variables:
            raise GraphError("of: no parameter is averaged yet: call update before")
        averages: dict[Expression, Expression] = dict(self.variables.items())
        return rebuilt(outputs, replaced(flat, averages))
