"""Record PyTorch's values and gradients of the functions of layers, for the tests to compare with.

Needs torch (made with 2.13.0, CPU) and NumPy, which no test does. In the project's root:

    python -m tests.data.make_layer_fixtures

writes tests/data/layer_values.npz: of each call of `layer_cases` the results, and their gradients
by the float64 arrays, in float64.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it

from tests.data.layer_cases import CASES, Case
from tests.data.layer_records import weights

HERE = Path(__file__).parent


def _normalised(name: str, x: Any, mean: Any, var: Any, *rest: Any, **options: Any) -> Any:
    """The result, and what the running statistics became."""
    mean, var = (None if one is None else one.detach().clone() for one in (mean, var))
    result = getattr(F, name)(x, mean, var, *rest, **options)
    tracks = options.get("training", options.get("use_input_stats", name[0] == "i"))
    return (result, mean, var) if tracks and mean is not None else (result,)


def _called(name: str, case: Case, args: list[Any], options: dict[str, Any]) -> list[Any]:
    if name in ("batch_norm", "instance_norm"):
        return list(_normalised(name, *args, **options))
    found = getattr(F, name)(*args, **options)
    return list(found) if isinstance(found, tuple) else [found]


def _lifted(value: Any, graded: bool) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return torch.tensor(value, requires_grad=graded and value.dtype == np.float64)


def record(name: str, case: Case) -> list[np.ndarray]:
    """The results of a call, then the gradients by its positional arguments that have one."""
    places = range(len(case.args)) if case.wrt is None else case.wrt
    args = [_lifted(one, i in places) for i, one in enumerate(case.args)]
    options = {key: _lifted(one, False) for key, one in case.options.items()}
    found = _called(name, case, args, options)
    arrays = [one.detach().numpy() for one in found]
    smooth = [one for one in found if one.requires_grad]
    if not case.order:
        return arrays
    total = sum((one * torch.tensor(weights(one.shape))).sum() for one in smooth)
    for place in places:
        one = args[place]
        if isinstance(one, torch.Tensor) and one.requires_grad:
            (grad,) = torch.autograd.grad(total, one, retain_graph=True, materialize_grads=True)
            arrays.append(grad.numpy())
    return arrays


def main() -> None:
    """Run all calls and write the file."""
    torch.set_num_threads(1)
    flat: list[np.ndarray] = []
    index: dict[str, list[Any]] = {}
    for name, cases in CASES.items():
        index[name] = []
        for case in cases:
            arrays = record(name, case)
            index[name].append([[str(a.dtype), a.shape] for a in arrays])
            flat += [np.asarray(a, np.float64).reshape(-1) for a in arrays]
    text = np.frombuffer(json.dumps(index).encode(), np.uint8)
    np.savez_compressed(HERE / "layer_values.npz", values=np.concatenate(flat), index=text)


if __name__ == "__main__":
    main()
