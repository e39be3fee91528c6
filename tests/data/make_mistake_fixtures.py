"""Record the class and the text of PyTorch's errors: `python -m tests.data.make_mistake_fixtures`.

It needs an environment with PyTorch.
"""

import json
from pathlib import Path
from typing import Any

from tests.data.mistakes import MISTAKES, PREAMBLE


def error_of(torch: Any, program: str) -> tuple[list[str], str]:
    """The names of the classes of the error of a program, and its text."""
    scope = {"torch": torch}
    import_of_nn = PREAMBLE.replace("from torch import nn", "nn = torch.nn")
    exec(import_of_nn.replace("import torch.nn.functional as F", "F = torch.nn.functional"), scope)
    try:
        exec(program, scope)
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__], str(error)
    return [], ""


def main() -> None:
    """Write the file."""
    import torch

    errors = {}
    for name, (program, _) in MISTAKES.items():
        kinds, text = error_of(torch, program)
        errors[name] = [kinds[0] if kinds else "", text]
    path = Path(__file__).parent / "mistakes.json"
    path.write_text(json.dumps(errors, indent=1) + "\n")


if __name__ == "__main__":
    main()
