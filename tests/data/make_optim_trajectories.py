"""Record what PyTorch's optimizers and schedulers do, for the tests to compare with.

Needs torch (made with 2.13.0, CPU) and NumPy, which no test does. In the project's root:

    python -m tests.data.make_optim_trajectories

writes tests/data/optim_trajectories.npz: per dtype the parameters of each case of `optim_cases`
after each of its steps, the learning rates of each scheduler, and as JSON the printed form, the
options and the keys of the state of each.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import torch

from tests.data.optim_cases import OPTIMIZERS, SCHEDULERS, schedule, trajectory


def _shapes(state):
    return {
        key: [str(value.dtype), list(value.shape)] if torch.is_tensor(value) else None
        for key, value in state.items()
    }


def main() -> None:
    """Run all cases and write the file."""
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    paths = {"float64": [], "float32": []}
    facts = {"version": torch.__version__, "optimizers": [], "schedulers": {}}
    for name, options in OPTIMIZERS:
        for dtype, rows in paths.items():
            path, optimizer = trajectory(torch, name, options, dtype)
            rows.append(path)
        saved = optimizer.state_dict()
        state = {index: _shapes(one) for index, one in saved["state"].items()}
        groups = [
            {k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups
        ]
        facts["optimizers"].append({"repr": repr(optimizer), "groups": groups, "state": state})
    rates = []
    for name in SCHEDULERS:
        path, scheduler = schedule(torch, name)
        rates.append(path)
        facts["schedulers"][name] = sorted(scheduler.state_dict())
    np.savez_compressed(
        Path(__file__).with_name("optim_trajectories.npz"),
        facts=json.dumps(facts),
        rates=np.array(rates),
        **{dtype: np.array(rows) for dtype, rows in paths.items()},
    )


if __name__ == "__main__":
    main()
