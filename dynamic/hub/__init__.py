"""Files of weights by their addresses, kept in a folder (torch.hub)."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlparse
from urllib.request import urlopen

from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.files.serialization import load as _load

__all__ = ["download_url_to_file", "get_dir", "load", "load_state_dict_from_url", "set_dir"]

_folder: list[str] = []
_HASH = re.compile(r"-([a-f0-9]*)\.")


def get_dir() -> str:
    """The folder: what `set_dir` has set, $TORCH_HOME/hub, or hub in torch in the user's cache.

    Example:
        >>> dynamic.hub.get_dir().endswith("hub")
        True
    """
    if _folder:
        return _folder[0]
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep files in another folder.

    Example:
        >>> dynamic.hub.set_dir(dynamic.hub.get_dir())
    """
    _folder[:] = [os.path.expanduser(d)]


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Write what is at an address to a file, which is there as a whole or not at all.

    RuntimeError if its SHA-256 does not begin with `hash_prefix`; URLError if it cannot be had.

    Example:
        >>> from pathlib import Path
        >>> dynamic.save({"w": dynamic.ones(2)}, "w.safetensors")
        >>> address = Path("w.safetensors").resolve().as_uri()
        >>> dynamic.hub.download_url_to_file(address, "copy.safetensors")
        >>> dynamic.load("copy.safetensors")["w"]
        tensor([1., 1.])
    """
    with urlopen(url) as answer:
        content = answer.read()
    found = hashlib.sha256(content).hexdigest()
    if hash_prefix and not found.startswith(hash_prefix):
        raise AutogradError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
    with tempfile.NamedTemporaryFile(dir=Path(dst).parent, delete=False) as part:
        part.write(content)
    os.replace(part.name, dst)


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
    check_hash: bool = False, file_name: str | None = None, weights_only: bool = True,
) -> Any:  # fmt: skip
    """What `load` makes of the file of an address, which is fetched if it is not there yet.

    It is kept in `model_dir`, else in checkpoints in `get_dir()`.

    Example:
        >>> from pathlib import Path
        >>> dynamic.save({"w": dynamic.ones(2)}, "w.safetensors")
        >>> address = Path("w.safetensors").resolve().as_uri()
        >>> dynamic.hub.load_state_dict_from_url(address, "kept")["w"]
        tensor([1., 1.])
    """
    folder = Path(model_dir or os.path.join(get_dir(), "checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    place = folder / name
    if not place.exists():
        prefix = _HASH.search(name) if check_hash else None
        download_url_to_file(url, str(place), prefix[1] if prefix else None, progress)
    return _load(str(place), map_location=map_location, weights_only=weights_only)


def load(repo_or_dir: str, model: str, *args: object, **options: object) -> NoReturn:
    """RuntimeError: code of other people's repositories is not fetched and run.

    Example:
        >>> dynamic.hub.load("someone/models", "resnet18")
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: torch.hub.load(...): code of a ...
    """
    raise AutogradError(
        f"torch.hub.load({repo_or_dir!r}, {model!r}): code of a repository is not fetched: clone "
        "it, and import its modules"
    )
