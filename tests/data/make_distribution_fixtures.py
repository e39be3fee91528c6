"""Records what PyTorch's distributions give: run in an environment with PyTorch.

`python -m tests.data.make_distribution_fixtures` writes `distributions.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

from tests.data.distribution_cases import computed

if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    found = computed(torch.distributions, lambda data: torch.tensor(data, dtype=torch.float64))
    Path(__file__).with_name("distributions.json").write_text(json.dumps(found, indent=0))
