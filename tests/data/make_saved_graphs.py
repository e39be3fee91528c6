"""Write `saved_graphs.sg`, a file of `sg.save` as it was when it was made: `python -m` this.

It has every form of an attribute: numbers, texts, dtypes, sizes, tuples, arrays, variables and the
graphs of loops. It stays as it is, since files that users have must load; write another one
beside it when a form is added.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg

PATH = Path(__file__).with_name("saved_graphs.sg")


def graphs() -> dict[str, Any]:
    """The executables."""
    weight = sg.variable(np.arange(6, dtype="float32").reshape(3, 2), "weight")
    x = sg.placeholder("x", ("rows", 3), "float32")
    step = sg.compile([x], sg.sum(x @ weight), updates={weight: weight * 0.5}, name="step")
    y = sg.placeholder("y", (None, None), "float64")
    pooled = sg.max_pool2d(sg.reshape(y, (1, 1, *y.shape)), 2)
    parts = {"pooled": pooled, "joined": sg.concatenate([y, y + sg.constant(np.eye(2))], 0)}
    parts["whole"] = sg.astype(sg.clip(y, -0.5, 1.5), "int32")
    parts["leaky"] = sg.leaky_relu(y, 0.1)
    shaped = sg.compile([y], parts, name="shaped")
    total, sums = sg.scan(
        lambda carry, row: (carry + sg.tanh(row), carry.sum()), sg.zeros(2, "float64"), y
    )
    order = sg.compile([y], [total, sums, sg.argsort(y, 0)])
    return {"step": step, "shaped": shaped, "order": order}


if __name__ == "__main__":
    sg.save(graphs(), PATH)
