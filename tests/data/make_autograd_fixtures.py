"""Record what `autograd_texts` and `tutorial_scripts` raise, warn of and print in PyTorch.

Needs torch (made with 2.13.0, CPU), which no test does. In the project's root:

    python -m tests.data.make_autograd_fixtures
"""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from pathlib import Path

import torch

from tests.data import tutorial_scripts
from tests.data.autograd_texts import ERRORS, SAVED, SCRIPTS, WARNINGS, namespace, saved
from tests.data.tutorial_scripts import source

HERE = Path(__file__).parent


def _error(program: str) -> list[str]:
    try:
        exec(program, namespace(torch))
    except Exception as error:
        return [type(error).__name__, str(error)]
    raise AssertionError(f"no error: {program}")


def _warning(program: str) -> str:
    names = namespace(torch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(program, names)
    return str(caught[0].message)


def _printed(program: str, names: dict[str, object]) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        exec(program, names)
    return text.getvalue()


def main() -> None:
    """Run all programs and write the file."""
    torch.set_num_threads(1)
    texts = {
        "errors": {program: _error(program) for _, program in ERRORS},
        "warnings": {program: _warning(program) for _, program in WARNINGS},
        "printed": {name: _printed(program, namespace(torch)) for name, program in SCRIPTS.items()},
        "saved": {expression: saved(torch, expression) for expression in SAVED},
        "tutorials": {
            name: _printed(source(name, "torch"), {}) for name in tutorial_scripts.SCRIPTS
        },
    }
    (HERE / "autograd_texts.json").write_text(json.dumps(texts, indent=1) + "\n")


if __name__ == "__main__":
    main()
