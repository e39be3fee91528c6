"""Counts PyTorch's own autograd tests that `dynamic` passes.

`python -m benchmarks.pytorch_autograd FOLDER` runs the file test_autograd.py in FOLDER, which
whoever runs this fetches: docs/pytorch_autograd.md says where. `torch` leads to `dynamic`, and
what the tests import of PyTorch's own harness to `harness.py`. A name that `dynamic` does not have
raises where a test uses it. `--report FILE` keeps the outcome of each test. With
`--reference FILE`, which `in_pytorch.py` wrote, and `--write`, the counts and causes are put into
that page.
"""

from __future__ import annotations

import argparse
import atexit
import builtins
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
import unittest
from collections import Counter
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

from benchmarks.pytorch_autograd.causes import table
from benchmarks.pytorch_autograd.harness import MODULES, C
from staticgraph import dynamic

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pytorch_autograd.md"
BEGIN, END = "<!-- counts: python -m benchmarks.pytorch_autograd -->\n", "<!-- end of counts -->\n"
SECONDS = 60
"""How long a test may take."""


class MissingNameError(NotImplementedError):
    """A test uses a name that `dynamic` does not have."""


class Missing:
    """A name that is not here: using it is an error."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: object, **options: object) -> bool:
        if self._name.endswith(".is_available"):
            return False
        raise MissingNameError(f"{self._name} is not here")

    def __getattr__(self, name: str) -> Missing:
        return Missing(f"{self._name}.{name}")

    def __mro_entries__(self, bases: object) -> NoReturn:
        raise MissingNameError(f"{self._name} is not here")


class Torch(ModuleType):
    """`torch` in a test file: `dynamic`, where what it does not have is `Missing`."""

    def __getattr__(self, name: str) -> object:
        if name == "_C":
            return C
        if name in ("_unique", "_unique2"):
            return dynamic.unique
        if name == "_VF":
            return SimpleNamespace(unique_dim=dynamic.unique)
        if f"torch.{name}" in MODULES:
            return MODULES[f"torch.{name}"]
        try:
            return getattr(dynamic, name)
        except AttributeError:
            return Missing(f"torch.{name}")

    def __setattr__(self, name: str, value: object) -> None:
        setattr(dynamic, name, value)


class TestFiles(MetaPathFinder, Loader):
    """Finds the test files, and leads what they import of `torch` to `dynamic`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module is."""
        file = self.folder.joinpath(*fullname.split(".")).with_suffix(".py")
        return spec_from_file_location(fullname, file, loader=self) if file.exists() else None

    def exec_module(self, module: ModuleType) -> None:
        """Fill a module."""
        spec = module.__spec__
        assert spec is not None and spec.origin is not None
        vars(module)["__builtins__"] = vars(builtins) | {"__import__": _import}
        exec(compile(Path(spec.origin).read_text(), spec.origin, "exec"), vars(module))


def _import(
    name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
) -> Any:
    """`import`, where what `torch` does not have is `Missing`."""
    if name.partition(".")[0] != "torch":
        return builtins.__import__(name, globals, locals, fromlist, level)
    if not fromlist:
        return Torch("torch")
    module: object = MODULES.get(name)
    if module is None:
        try:
            module = importlib.import_module(f"staticgraph.dynamic{name.removeprefix('torch')}")
        except ModuleNotFoundError:
            module = Missing(name)
    return SimpleNamespace(
        **{one: getattr(module, one, Missing(f"{name}.{one}")) for one in fromlist}
    )


class Outcomes(unittest.TestResult):
    """The outcome of each test, and the last line of what it raised."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[str, tuple[str, str]] = {}

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's names
        self.of[test.id()] = ("passed", "")
        signal.alarm(SECONDS)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - the same
        signal.alarm(0)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - the same
        self.of[test.id()] = ("failed", "".join(traceback.format_exception(*err)))

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - the same
        self.addFailure(test, err)
        if issubclass(err[0], MissingNameError):
            self.of[test.id()] = ("without a name", str(err[1]))

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802 - the same
        self.of[test.id()] = ("left out", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - the same
        self.of[test.id()] = ("passed", "it fails, as it should")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - the same
        self.of[test.id()] = ("failed", "it should fail")


def lead_processes() -> None:
    """Have `torch` lead to `dynamic` in processes that tests start, too."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    text = "import sys\nfrom staticgraph import dynamic\nsys.modules['torch'] = dynamic\n"
    Path(folder, "torch.py").write_text(text)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, str(PAGE.parents[1])])


def _too_slow(*arguments: object) -> NoReturn:
    raise TimeoutError(f"more than {SECONDS} seconds")


def main() -> None:
    """Run the tests and print how many passed, failed and were left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "-k", action="append", default=None, help="only tests with this in the name"
    )
    parser.add_argument("--module", default="test_autograd")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--reference", type=Path, help="what PyTorch passes")
    parser.add_argument("--write", action="store_true", help="write the table of the page")
    parser.add_argument("-v", action="store_true", help="print what the tests raise")
    arguments = parser.parse_args()
    sys.meta_path.insert(0, TestFiles(arguments.folder))
    lead_processes()
    sys.path.append(str(arguments.folder))
    signal.signal(signal.SIGALRM, _too_slow)
    loader = unittest.TestLoader()
    if arguments.k:
        loader.testNamePatterns = [f"*{one}*" for one in arguments.k]
    outcomes = Outcomes()
    loader.loadTestsFromModule(importlib.import_module(arguments.module)).run(outcomes)
    for name, (outcome, text) in outcomes.of.items():
        if outcome in ("failed", "without a name"):
            print(name, text if arguments.v else text.strip().rpartition("\n")[2][:150])
    print(dict(Counter(outcome for outcome, _ in outcomes.of.values())))
    if arguments.reference:
        text = table(json.loads(arguments.reference.read_text()), outcomes.of)
        print(text)
        if arguments.write:
            before, _, rest = PAGE.read_text().partition(BEGIN)
            PAGE.write_text(f"{before}{BEGIN}\n{text}\n\n{END}{rest.partition(END)[2]}")
    if arguments.report:
        arguments.report.write_text(json.dumps(outcomes.of, indent=1))


if __name__ == "__main__":
    main()
