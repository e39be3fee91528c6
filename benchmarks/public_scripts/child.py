"""Runs one script with PyTorch or with `dynamic` as `torch`, and writes the losses that it had.

    python child.py torch|dynamic job.json result.json

A loss is what `backward` is called on. The script is left as it is; numbers are float64.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import runpy
import sys
import traceback
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent


class Enough(BaseException):
    """So many steps are compared."""


class _Mapped(MetaPathFinder, Loader):
    """`torch.nn.functional` is `staticgraph.dynamic.nn.functional`."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> Any:
        top, _, rest = fullname.partition(".")
        if top != "torch":
            return None
        name = "staticgraph.dynamic" + ("." + rest if rest else "")
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            return None
        return found and ModuleSpec(
            fullname, self, is_package=found.submodule_search_locations is not None
        )

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self.module = importlib.import_module("staticgraph.dynamic" + spec.name[5:])
        self.before = self.module.__spec__
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = (
            importlib.util.find_spec(module.__name__) if module.__name__ in sys.modules else None
        )


def backend(name: str) -> Any:
    """The module that scripts import as `torch`."""
    if name == "dynamic":
        import staticgraph.dynamic as torch

        sys.modules["torch"] = torch
        sys.meta_path.insert(0, _Mapped())
        for module in [one for one in sys.modules if one.startswith("staticgraph.dynamic.")]:
            sys.modules["torch" + module[len("staticgraph.dynamic") :]] = sys.modules[module]
        return torch
    import draws
    import torch

    draws.install(torch)
    return torch


def record(torch: Any, steps: int) -> list[float]:
    """The losses so far, to which each call of `backward` adds one."""
    losses: list[float] = []

    def note(loss: Any) -> None:
        losses.append(float(loss.detach().sum()))
        if len(losses) >= steps:
            raise Enough

    backward, of_several = torch.Tensor.backward, torch.autograd.backward

    def noted(self: Any, *args: Any, **options: Any) -> Any:
        torch.autograd.backward = of_several
        try:
            backward(self, *args, **options)
        finally:
            torch.autograd.backward = noted_of_several
        note(self)

    def noted_of_several(tensors: Any, *args: Any, **options: Any) -> Any:
        of_several(tensors, *args, **options)
        note(tensors if isinstance(tensors, torch.Tensor) else sum(one.sum() for one in tensors))

    torch.Tensor.backward, torch.autograd.backward = noted, noted_of_several
    return losses


def run(job: dict[str, Any], torch: Any) -> None:
    """The script as `python script.py arguments`, or the driver of a model."""
    if job.get("drive"):
        import drive

        drive.run(torch, job["drive"])
        return
    file = job["file"]
    sys.argv = [file, *job.get("args", [])]
    sys.path.insert(0, str(Path(file).parent))
    runpy.run_path(file, run_name="__main__")


def main() -> None:
    name, given, out = sys.argv[1:]
    job = json.loads(Path(given).read_text())
    sys.path[:0] = [*job.get("paths", []), str(HERE / "standins"), str(HERE)]
    os.environ["MPLBACKEND"] = "Agg"
    random.seed(0)
    np.random.seed(0)
    torch = backend(name)
    import replaced

    torch.set_num_threads(1)
    torch.manual_seed(0)
    replaced.install(torch)
    losses = record(torch, job["steps"])
    failure, kinds = "", []
    try:
        run(job, torch)
    except (Enough, SystemExit) as end:
        failure = f"exit {end.code}" if isinstance(end, SystemExit) and end.code else ""
    except BaseException as error:
        failure = traceback.format_exc()
        kinds = [kind.__name__ for kind in type(error).__mro__]
    found = {"losses": losses, "failure": failure, "kinds": kinds}
    Path(out).write_text(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
