"""L-BFGS: a quasi-Newton method whose step is a loop of the compiled function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import part_dtype
from staticgraph.compiler.core.errors import GraphError, OptionError
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops import astype
from staticgraph.compiler.transforms.autodiff import gradients
from staticgraph.leaves import Variable
from staticgraph.optim.checks import Rate
from staticgraph.optim.lbfgs_loop import Problem, updates_of
from staticgraph.optim.lbfgs_state import Kept, loaded, saved
from staticgraph.optim.optimizer import (
    Optimizer,
    Parameters,
    Updates,
    check_parameters,
    floating_variables,
)
from staticgraph.optim.saved import (
    assign,
    check_layout,
    check_numbers,
    check_options,
    saved_options,
)


class LBFGS(Optimizer):
    """Minimises a loss with the last changes of its gradient, as torch.optim.LBFGS.

    Nocedal and Wright (2006), algorithms 7.4 and 7.5. A call of the compiled step makes up to
    max_iter iterations with up to max_eval (5/4 of max_iter) evaluations of the loss and its
    gradient, for the same inputs, and ends early where the largest element of the gradient is at
    most tolerance_grad, or that of the change of the parameters, or the change of the loss, at most
    tolerance_change. The length of an iteration is lr, or found by `line_search_fn` "strong_wolfe"
    from there. The parameters have one dtype, and no groups.

    Example:
        >>> x = sg.variable(np.array([-1.2, 1.0]))
        >>> rosenbrock = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
        >>> optimizer = sg.optim.LBFGS(max_iter=100, line_search_fn="strong_wolfe")
        >>> fit = sg.compile([], rosenbrock, updates=optimizer.minimize(rosenbrock))
        >>> round(float(fit()), 3), x.value.round(3)
        (24.2, array([1., 1.]))
    """

    def __init__(
        self, lr: Rate = 1.0, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(options)
        if max_eval is None:
            self.defaults["max_eval"] = max_iter * 5 // 4
        self._members: list[Variable] = []
        self._kept: Kept | None = None

    def minimize(self, loss: Expression, parameters: Parameters | None = None) -> Updates:
        """The updates of one step: several iterations, which evaluate the loss anew.

        Args:
            loss: a floating-point scalar.
            parameters: the variables to change; all floating-point ones that `loss` depends on if
                None.

        Raises:
            GraphError: there is nothing to change, the loss is no scalar, or parameters differ in
                dtype.
            OptionError: parameters in groups, or others than a former call had.

        Example:
            >>> w = sg.variable(3.0)
            >>> step = sg.compile([], w * w, updates=sg.optim.LBFGS(lr=0.5).minimize(w * w))
            >>> float(step()), round(float(step()), 6)
            (9.0, 0.0)
        """
        members: list[Any] = floating_variables(loss) if parameters is None else _listed(parameters)
        check_parameters(members)
        if len({one.dtype for one in members}) > 1:
            kinds = ", ".join(f"{one.state.label} {one.dtype}" for one in members)
            raise GraphError(f"minimize: LBFGS takes parameters of one dtype, not {kinds}")
        if not any(one.state.array.size for one in members):
            raise GraphError("minimize: LBFGS: the parameters have no elements")
        found = gradients(loss, members, implied=parameters is None)
        if self._kept is None:
            dtype = part_dtype(members[0].dtype)
            size = sum(one.state.array.nbytes for one in members) // dtype.itemsize
            self._members, self._kept = members, Kept.of(size, dtype, self.history_size)
            self._is_fixed = True
        elif [one.state for one in self._members] != [one.state for one in members]:
            raise OptionError(
                "LBFGS: other parameters have been minimized before: make another optimizer"
            )
        lr = self._rate(self.lr, self._kept.step)
        wide = astype(lr, np.float64) if isinstance(lr, Expression) else float(lr)
        problem = Problem(loss, tuple(found), tuple(members))
        return updates_of(problem, self._kept, self.defaults, wide)

    def state_dict(self) -> dict[str, Any]:
        """The "state" of the first parameter, and the "param_groups", as the eager one has them.

        Raises:
            OptionError: nothing has been minimized.

        Example:
            >>> w, optimizer = sg.variable(3.0), sg.optim.LBFGS(lr=0.5)
            >>> step = sg.compile([], w * w, updates=optimizer.minimize(w * w))
            >>> optimizer.state_dict()["state"]
            {0: {'func_evals': 0, 'n_iter': 0}}
        """
        kept = self._begun("state_dict")
        steps = int(kept.step.value)
        group = saved_options(self.defaults, steps) | {"params": list(range(len(self._members)))}
        return {"state": {0: saved(kept)}, "param_groups": [group], "steps": [steps]}

    def load_state_dict(self, state_dict: Mapping[str, Any], steps: int | None = None) -> None:
        """Take over the state that `state_dict` of this or of an eager optimizer returned.

        Args:
            state_dict: its "state" may hold arrays or tensors.
            steps: how many steps were taken, where `state_dict` does not say and a schedule asks;
                0 if None.

        Raises:
            OptionError: the parameters, options or states do not fit; then nothing is changed.

        Example:
            >>> w, optimizer = sg.variable(3.0), sg.optim.LBFGS(lr=0.5)
            >>> _ = optimizer.minimize(w * w)
            >>> optimizer.load_state_dict(optimizer.state_dict())
        """
        kept = self._begun("load_state_dict")
        check_layout("LBFGS", state_dict)
        if len(state_dict["param_groups"]) != 1:
            raise OptionError("LBFGS: the state has several groups, this optimizer one")
        (group,) = state_dict["param_groups"]
        if len(group["params"]) != len(self._members):
            raise OptionError(
                f"LBFGS: the state has {len(group['params'])} parameters, this optimizer "
                f"{len(self._members)}"
            )
        check_numbers("LBFGS", state_dict)
        assignments = check_options("LBFGS", self.defaults, group)
        assignments += loaded(kept, state_dict["state"].get(group["params"][0], {}))
        (count,) = state_dict.get("steps", [0]) if steps is None else [steps]
        assign("LBFGS", [*assignments, (kept.step, count)])

    def _begun(self, method: str) -> Kept:
        if self._kept is None:
            raise OptionError(f"LBFGS: {method} needs parameters: call minimize before")
        return self._kept


def _listed(parameters: Any) -> list[Any]:
    if isinstance(parameters, Expression):
        raise GraphError(f"minimize: the parameters are a list of variables, not {parameters}")
    listed = list(parameters)
    if any(isinstance(one, Mapping) for one in listed):
        raise OptionError("LBFGS: the parameters are a list of variables: it has no groups")
    if not listed:
        raise GraphError("minimize: there are no parameters, or none in a group")
    return listed
