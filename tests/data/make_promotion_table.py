"""Records what dtype PyTorch gives to sums of tensors and numbers: torch_promotion.json.

Run with PyTorch's interpreter: `python tests/data/make_promotion_table.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

DTYPES = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "bfloat16",
    "float16", "float32", "float64",
)  # fmt: skip
NUMBERS = {"a bool": True, "an int": 1, "a float": 1.0}


def product(tensor: torch.Tensor, value: object) -> str:
    try:
        return str((tensor * value).dtype).removeprefix("torch.")
    except RuntimeError:
        return "refused"


def main() -> None:
    table: dict[str, dict[str, str]] = {}
    for one in DTYPES:
        tensor = torch.ones(2, dtype=getattr(torch, one))
        row = {
            other: torch.ones(2, dtype=getattr(torch, other)) for other in DTYPES
        } | NUMBERS  # fmt: skip
        row |= {f"{other}[]": torch.ones((), dtype=getattr(torch, other)) for other in DTYPES}
        table[one] = {name: product(tensor, value) for name, value in row.items()}
    path = Path(__file__).with_name("torch_promotion.json")
    path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
