"""Record what PyTorch's functions and methods of tensors do, for the tests to compare with.

Needs torch (made with 2.13.0, CPU) and NumPy, which no test does. In the project's root:

    python -m tests.data.make_tensor_fixtures
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

from tests.data import linalg_cases, more_tensor_cases, tensor_cases
from tests.expressions import error, record, text

HERE = Path(__file__).parent


def main() -> None:
    """Run all expressions and write the files."""
    torch.set_num_threads(1)
    for name, cases in (
        ("tensor", tensor_cases), ("more_tensor", more_tensor_cases), ("linalg", linalg_cases),
    ):  # fmt: skip
        record(torch, cases.VALUES, HERE / f"{name}_values.npz")
        texts = {
            "texts": {expression: text(torch, expression) for expression in cases.TEXTS},
            "errors": {expression: error(torch, expression) for expression in cases.ERRORS},
        }
        (HERE / f"{name}_texts.json").write_text(json.dumps(texts, indent=1) + "\n")


if __name__ == "__main__":
    main()
