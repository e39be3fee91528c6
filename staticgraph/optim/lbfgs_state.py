"""What L-BFGS keeps between its steps, in variables, and the same in PyTorch's layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.leaves import Variable, variable


@frozen
class Kept:
    """The variables of one problem: vectors of all parameters, numbers, and rows of the memory.

    The memory is filled from its last row on; rows that are not used have `ro` 0.

    Attributes:
        n_iter, func_evals: how many iterations and evaluations there were.
        d, t: the last direction, and the step along it.
        prev_flat_grad, prev_loss: where the last iteration began.
        old_dirs, old_stps: the changes of the gradient and of the parameters, (history, size).
        ro, al: of each row 1 / (y @ s), and its weight in the last direction.
        H_diag: the scale of the inverse Hessian.
        rows: how many rows are used.
        step: how many steps there were.
    """

    n_iter: Variable
    func_evals: Variable
    d: Variable
    t: Variable
    prev_flat_grad: Variable
    prev_loss: Variable
    old_dirs: Variable
    old_stps: Variable
    ro: Variable
    al: Variable
    H_diag: Variable
    rows: Variable
    step: Variable

    @staticmethod
    def of(size: int, dtype: Any, history: int) -> Kept:
        """The variables before the first step, of parameters with `size` elements."""
        wide, whole = np.dtype(np.float64), np.dtype(np.int64)
        shapes: dict[str, tuple[tuple[int, ...], Any]] = {
            "n_iter": ((), whole), "func_evals": ((), whole), "d": ((size,), dtype),
            "t": ((), wide), "prev_flat_grad": ((size,), dtype), "prev_loss": ((), wide),
            "old_dirs": ((history, size), dtype), "old_stps": ((history, size), dtype),
            "ro": ((history,), dtype), "al": ((history,), dtype), "H_diag": ((), dtype),
            "rows": ((), whole), "step": ((), wide),
        }  # fmt: skip
        made = {
            name: variable(np.full(shape, name == "H_diag", kind), f"LBFGS.{name}")
            for name, (shape, kind) in shapes.items()
        }
        return Kept(**made)


def saved(kept: Kept) -> dict[str, Any]:
    """The state of the first parameter, as PyTorch's optimizer keeps it."""
    now = {one.name: getattr(kept, one.name).value for one in fields(kept)}
    iterations, rows = int(now["n_iter"]), int(now["rows"])
    state: dict[str, Any] = {"func_evals": int(now["func_evals"]), "n_iter": iterations}
    if iterations == 0:
        return state
    history = len(now["ro"])
    used = range(history - rows, history)
    state |= {"d": now["d"], "t": float(now["t"]), "prev_flat_grad": now["prev_flat_grad"]}
    state |= {
        "prev_loss": float(now["prev_loss"]),
        **{name: [now[name][i].copy() for i in used] for name in ("old_dirs", "old_stps")},
        "ro": [np.array(now["ro"][i]) for i in used],
        "H_diag": np.array(now["H_diag"]) if rows else 1,
    }
    if iterations > 1:
        weights = [np.array(now["al"][i]) for i in used]
        state["al"] = [*weights, *[None] * (history - rows)]
    return state


def loaded(kept: Kept, state: Mapping[str, Any]) -> list[tuple[Variable, Any]]:
    """The values of the variables for such a state; OptionError if it does not fit."""
    history, size = kept.old_dirs.state.array.shape
    found: dict[str, Any] = {name: state.get(name, 0) for name in ("n_iter", "func_evals")}
    found |= {name: state.get(name, 0.0) for name in ("t", "prev_loss")}
    found |= {name: _vector(name, state.get(name), size) for name in ("d", "prev_flat_grad")}
    rows = {name: state.get(name, ()) for name in ("old_dirs", "old_stps", "ro")}
    count = len(rows["ro"])
    if count > history or {len(one) for one in rows.values()} != {count}:
        lengths = [len(one) for one in rows.values()]
        raise OptionError(
            f"LBFGS: the state has {lengths} rows of old_dirs, old_stps and ro, this optimizer "
            f"{history}"
        )
    weights = [one for one in state.get("al", ()) if one is not None][:count]
    rows["al"] = [*weights, *[0.0] * (count - len(weights))]
    for name in ("old_dirs", "old_stps", "ro", "al"):
        filled = np.zeros_like(getattr(kept, name).state.array)
        for i, one in enumerate(rows[name], history - count):
            filled[i] = _vector(name, one, size) if filled.ndim == 2 else np.asarray(one)
        found[name] = filled
    found |= {"H_diag": state.get("H_diag", 1), "rows": count}
    return [
        (target, np.asarray(found[name], target.dtype))
        for name, target in ((one.name, getattr(kept, one.name)) for one in fields(kept))
        if name in found
    ]


def _vector(name: str, given: Any, size: int) -> Any:
    if given is None:
        return np.zeros(size)
    array = np.asarray(given)
    if array.shape != (size,):
        raise OptionError(
            f"LBFGS: {name} of the state has {array.shape}, the parameters {size} elements"
        )
    return array
