"""Whether every way of running a program gives the same.

Always: the interpreter on expressions, eager tensors, and NumPy written independently. Unless the
mode is "interpreted", also kernels: see `compiled`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OutOfRangeError, ShapeError
from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.graphs.case import Case, DifferenceError, build, cases_of
from staticgraph.fuzz.graphs.program import Step, run
from staticgraph.fuzz.graphs.undefined import UndefinedError
from staticgraph.fuzz.graphs.worlds import Arrays, Eager, differentiates, known

_UNNEEDED = re.compile(
    "no element along|zero-size array|empty sequence|out of (range|bounds)|take from an empty"
    "|no window .*fits|singular|not positive definite|which is empty"
)
"""The maximum of nothing, what is beyond an axis, the inverse of a singular matrix: the interpreter
computes no value that the roots do not need, such as one whose gradient does not depend on it."""


def check(program: Program) -> str | None:
    """What is wrong with a program."""
    graph = build(program)
    cases = cases_of(graph)
    try:
        for case in cases:
            if isinstance(case.expected, ShapeError):
                continue  # sizes that are assumed equal and are not: NumPy may broadcast them
            _check_values(case, "NumPy", _numpy)
            if not program["mixed"]:
                _check_values(case, "eager", _eager)
        if not isinstance(cases[0].expected, Exception):
            from staticgraph.fuzz.graphs.smooth import check_derivatives

            check_derivatives(graph, cases[0])
        if program["mode"] != "interpreted":
            from staticgraph.fuzz.graphs.compiled import check_compiled

            check_compiled(graph, cases)
    except DifferenceError as error:
        return str(error)
    return None


def _check_values(case: Case, name: str, run_in: Callable[[Case], list[Array | None]]) -> None:
    """Compare values, of which None is not known; an error must be one for both."""
    try:
        found = run_in(case)
    except UndefinedError:
        return
    except Exception as error:
        if isinstance(case.expected, Exception) or _UNNEEDED.search(str(error)):
            return
        raise DifferenceError(
            f"{name} raises {type(error).__name__}, the interpreter does not\n{error}"
        ) from error
    if isinstance(case.expected, Exception):
        if None in [one if one is None else 0 for one in found]:
            return
        if isinstance(case.expected, OutOfRangeError) and 0 in [
            np.asarray(value).size for value in found
        ]:
            return  # where there is nothing to take, NumPy takes it from anywhere
        raise DifferenceError(
            f"{name} does not raise, the interpreter does\n{dict(case.case)}: {case.expected}"
        )
    filled = [
        expected if value is None else np.asarray(value)
        for value, expected in zip(found, case.expected, strict=True)
    ]
    # where a derivative of higher order is 0 * inf, it depends on the order of the products
    singular = name == "eager" and differentiates(case.graph.program["steps"])
    case.compare(name, filled, lenient=singular, either=singular)


def _numpy(case: Case) -> list[Array | None]:
    values = known(case.graph.program["steps"], Arrays(case.arrays))
    return [values.get(name) for name in _root_names(case.graph.program["steps"])]


def _eager(case: Case) -> list[Array | None]:
    values: dict[str, Any] = {}
    steps = case.graph.program["steps"]
    run(steps, Eager(case.arrays), values)
    return [values[name].detach().numpy() for name in _root_names(steps)]


def _root_names(steps: Sequence[Step]) -> list[str]:
    outputs = [step["output"][1:] for step in steps if "output" in step]
    return outputs + [step["to"][1:] for step in steps if "update" in step]
