"""inf and nan come without a warning, as in PyTorch; NumPy's own warnings stay."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import warnings
warnings.simplefilter("error")
import numpy as np
import dynamic as torch
x = torch.tensor([0.0, -1.0], requires_grad=True)
print(torch.log(x).tolist(), (x / 0).tolist(), torch.sqrt(x).tolist())
(1 / x).sum().backward()
print(x.grad.tolist())
try:
    np.log(np.zeros(2))
except RuntimeWarning as warning:
    print("numpy:", warning)
"""


def test_only_values_of_ops_are_computed_silently() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "[-inf, nan] [nan, -inf] [0.0, nan]",
        "[-inf, -1.0]",
        "numpy: divide by zero encountered in log",
    ]
