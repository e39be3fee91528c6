"""Records which of the tests PyTorch itself passes, in an environment that has it.

`python benchmarks/pytorch_autograd/in_pytorch.py FOLDER REFERENCE.json`
"""

from __future__ import annotations

import importlib
import json
import sys
import unittest
from pathlib import Path
from typing import Any


class Outcomes(unittest.TestResult):
    """The outcome of each test, in a word."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[str, str] = {}

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's names
        self.of[test.id()] = "pass"

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self.of[test.id()] = "fail"

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self.of[test.id()] = "fail"

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self.of[test.id()] = "skip"

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self.of[test.id()] = "xfail"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        self.of[test.id()] = "fail"


if __name__ == "__main__":
    folder, reference = sys.argv[1:]
    sys.path.insert(0, folder)
    outcomes = Outcomes()
    loader = unittest.defaultTestLoader
    loader.loadTestsFromModule(importlib.import_module("test_autograd")).run(outcomes)
    Path(reference).write_text(json.dumps(outcomes.of, indent=1))
