"""The peers' environments: each in a folder of its own, with pinned versions.

STATICGRAPH_PEERS_DIR names the folder that holds them; else it is `staticgraph/peers` in the user's
folder of data. pip's own variables are respected: PIP_INDEX_URL picks another index, such as that
of PyTorch's CPU builds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from staticgraph.compiler.core.errors import OptionError, StaticGraphError
from staticgraph.compiler.core.settings import PEERS_DIR

PEERS = {
    "torch": ("torch==2.13.0", "numpy==2.4.6"),
    "jax": ("jax==0.10.2", "numpy==2.4.6"),
    "pytensor": ("pytensor==3.0.7", "numpy==2.4.6"),
}
MARK = "installed.txt"  # written last: an environment without it is not complete


def directory() -> Path:
    """The folder of the environments."""
    given = PEERS_DIR.given
    if given:
        return Path(given).absolute()
    if sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME", "")
        base = base if os.path.isabs(base) else "~/.local/share"
    return Path(os.path.expanduser(base)) / "staticgraph" / "peers"


def interpreter(peer: str) -> Path | None:
    """The interpreter of a peer's environment; None if it is not there with these versions."""
    place = directory() / peer
    try:
        complete = (place / MARK).read_text().split() == list(PEERS[peer])
    except OSError:
        return None
    python = place / "bin" / "python"
    return python if complete and python.exists() else None


def check(names: list[str]) -> list[str]:
    """The names, if all are peers; OptionError otherwise."""
    for name in names:
        if name not in PEERS:
            raise OptionError(f"peers: unknown peer {name!r}: known are {', '.join(PEERS)}")
    return names


def install(peer: str, watch: Callable[[str], None]) -> Path:
    """Make a peer's environment anew and return its interpreter.

    Args:
        watch: is told what happens, line by line.

    Raises:
        StaticGraphError: the folder cannot be written, or pip has failed.
    """
    place = directory() / peer
    watch(f"creating {place}")
    try:
        place.mkdir(parents=True, exist_ok=True)
        (place / MARK).unlink(missing_ok=True)
        venv.create(place, clear=True, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise StaticGraphError(f"peers: {peer}: {place} cannot be made: {error}") from None
    python = place / "bin" / "python"
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    with subprocess.Popen(
        [str(python), "-m", "pip", "install", *options, *PEERS[peer]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as pip:  # fmt: skip
        assert pip.stdout is not None
        last = ""
        try:
            for line in pip.stdout:
                last = line.strip() or last
                watch(last)
        except BaseException:  # an interrupt: pip must not go on installing
            pip.terminate()
            pip.wait()
            raise
    if pip.returncode:
        raise StaticGraphError(f"peers: {peer}: pip has failed: {last}")
    (place / MARK).write_text("\n".join(PEERS[peer]) + "\n")
    return python
