"""What packages, citations and the site say of the project agrees."""

from __future__ import annotations

import re
import tomllib

import staticgraph as sg
from tests.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
SITE = (ROOT / "docs/conf.py").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github/workflows/checks.yml").read_text(encoding="utf-8")


def test_an_address_is_everywhere_or_nowhere() -> None:
    addresses = PROJECT.get("urls", {})
    assert ("repository-code:" in CITATION) == ("Source" in addresses)
    assert ("html_baseurl" in SITE) == ("Documentation" in addresses)
    assert all(one.startswith("https://") for one in addresses.values())


def test_the_version_stands_in_one_place() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", sg.__version__)
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in ("staticgraph", "compiler", "dynamic", "docs", ".ci")
        for path in (ROOT / folder).rglob("*.py")
        if f'"{sg.__version__}"' in path.read_text(encoding="utf-8")
    ]
    assert found == ["staticgraph/__init__.py"]
    assert not re.search(r"^version:", CITATION, re.M)


def test_the_matrix_runs_what_is_promised() -> None:
    said = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if ":: 3." in one}
    pythons = set(re.findall(r'"(3\.\d+)"', WORKFLOW))
    assert said <= pythons
    assert PROJECT["requires-python"] == ">=" + min(pythons, key=lambda one: int(one[2:]))
    for bound in PROJECT["dependencies"]:
        name, least = bound.split(">=")
        assert f"{name}=={least}.*" in WORKFLOW  # the oldest of each
