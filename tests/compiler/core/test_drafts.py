"""Files that are replaced: links, devices and permissions stay as they are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.drafts import draft_of


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    x = sg.placeholder("x", (2,), "float64")
    executable = sg.compile([x], x * 2, debug=True)
    content = {"w": dynamic.ones(2)}
    file, link = tmp_path / "file", tmp_path / "link"
    for save in (executable.save, lambda path: dynamic.save(content, path)):
        file.write_bytes(b"before")
        file.chmod(0o600)
        link.symlink_to(file)
        save(link)
        assert link.is_symlink()
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.read_bytes() != b"before"
        link.unlink()
    np.testing.assert_array_equal(dynamic.load(file)["w"], np.ones(2))
    assert os.listdir(tmp_path) == ["file"]


def test_a_pipe_is_written_itself(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with draft_of(pipe) as draft:
        assert draft.samefile(pipe)
    assert pipe.is_fifo()


def test_a_file_is_kept_until_the_new_content_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    with pytest.raises(OSError, match="full"), draft_of(file) as draft:
        draft.write_bytes(b"half")
        raise OSError("full")
    assert file.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["file"]
