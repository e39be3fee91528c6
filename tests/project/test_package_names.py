"""`compiler` and `dynamic` are names that users have too: ours are below `staticgraph`."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.paths import ROOT

BOTH = """
import sys
import numpy as np
import staticgraph as sg
from staticgraph import dynamic as torch

t = torch.tensor([1.0, 2.0], requires_grad=True)
torch.nn.functional.softplus(t).sum().backward()
x = sg.placeholder("x", (None,))
f = sg.compile([x], sg.grad(sg.sum(sg.softplus(x)), x))
np.testing.assert_allclose(f(np.array([1.0, 2.0], np.float32)), t.grad.numpy(), rtol=1e-6)
captured = sg.function(lambda v: (v * v).sum())
assert captured(t.detach()).item() == 5.0
"""

OWN = (
    BOTH
    + """
import compiler.parser
import dynamic
assert compiler.parser.OWN and dynamic.OWN
assert dynamic is not torch
"""
)

SHORT = """
import sys
import dynamic.optim.lr_scheduler as by_short_name
import dynamic
import staticgraph as sg
from dynamic import nn
from dynamic.nn import functional as F
from staticgraph.dynamic.optim import lr_scheduler
import staticgraph.dynamic.nn.functional as G
import compiler.core.op
from staticgraph.compiler.core.op import Op

assert dynamic is sg.dynamic and nn is sg.dynamic.nn and F is G
assert by_short_name is lr_scheduler
assert by_short_name.__spec__.name == "staticgraph.dynamic.optim.lr_scheduler"
assert compiler.core.op.Op is Op
assert not [one for one in sys.modules.values() if one.__name__.startswith("dynamic.")]
try:
    import dynamic.absent
except ModuleNotFoundError as error:
    print(error)
"""


def _run(program: str, folder: Path, *path: Path) -> str:
    """What a program prints that runs in a folder, with others on the path behind it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(one) for one in path)}
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_beside_modules_of_the_user_with_the_same_names(tmp_path: Path) -> None:
    (tmp_path / "compiler").mkdir()
    (tmp_path / "compiler" / "__init__.py").write_text("")
    (tmp_path / "compiler" / "parser.py").write_text("OWN = True\n")
    (tmp_path / "dynamic.py").write_text("OWN = True\n")
    _run(OWN, tmp_path, ROOT)


def test_short_names_lead_to_the_same_modules(tmp_path: Path) -> None:
    assert _run(SHORT, tmp_path, ROOT) == "No module named 'dynamic.absent'\n"


def test_every_link_is_installed_as_what_it_leads_to() -> None:
    """Else a wheel that is built from a clone has these files twice, which some builders refuse."""
    folders = (ROOT / "staticgraph").iterdir()
    links = [f"/staticgraph/{one.name}" for one in folders if one.is_symlink()]
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    wheel = tool["hatch"]["build"]["targets"]["wheel"]
    assert set(links) <= set(wheel["exclude"])
    assert {one.removeprefix("/") for one in wheel["exclude"]} <= set(
        wheel["force-include"].values()
    )


def test_a_checkout_without_links_says_so(tmp_path: Path) -> None:
    """As git makes one on Windows: a link is a file with the place in it."""
    package = tmp_path / "staticgraph"
    package.mkdir()
    for name in ("__init__.py", "linalg.py"):
        (package / name).write_text((ROOT / "staticgraph" / name).read_text())
    for name in ("compiler", "dynamic"):
        (package / name).write_text(f"../{name}")
    program = "try:\n    import staticgraph\nexcept ImportError as error:\n    print(error)"
    assert "git clone -c core.symlinks=true" in _run(program, tmp_path)
