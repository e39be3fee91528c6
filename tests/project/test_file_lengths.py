"""Files are short enough to be read at one sitting."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.paths import ROOT

FOLDERS = ("compiler", "staticgraph", "dynamic", "tests", "examples", "benchmarks")
LINES = 500


def _long(folder: Path) -> dict[str, int]:
    """The files of `LINES` lines and more."""
    counts = {
        path.relative_to(folder.parent).as_posix(): path.read_text(encoding="utf-8").count("\n")
        for path in folder.rglob("*.py")
    }
    assert counts
    return {name: count for name, count in counts.items() if count >= LINES}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_has_fewer_than_500_lines(folder: str) -> None:
    assert _long(ROOT / folder) == {}


def test_a_long_file_is_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "short.py").write_text("\n" * 499)
    (package / "long.py").write_text("\n" * 500)
    assert _long(package) == {"package/long.py": 500}
