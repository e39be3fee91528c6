"""Record what `autograd_programs` print in PyTorch.

Needs torch (made with 2.13.0, CPU), which no test does. In the project's root:

    python -m tests.data.make_autograd_programs
"""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from pathlib import Path

import torch

from tests.data.autograd_programs import PROGRAMS, namespace


def main() -> None:
    """Run all programs and write the file."""
    torch.set_num_threads(1)
    printed = {}
    for name, program in PROGRAMS.items():
        text = io.StringIO()
        with contextlib.redirect_stdout(text), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(program, namespace(torch))
        printed[name] = text.getvalue()
    file = Path(__file__).parent / "autograd_programs.json"
    file.write_text(json.dumps(printed, indent=1) + "\n")


if __name__ == "__main__":
    main()
