"""Where the cache is and how large it may grow, from the environment.

STATICGRAPH_CACHE=0 switches it off, STATICGRAPH_CACHE_DIR names its directory, and
STATICGRAPH_CACHE_MB its size in megabytes.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from pathlib import Path

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.settings import CACHE, CACHE_DIR, CACHE_MB
from staticgraph.compiler.runtime.cache.store import Store, is_private

_UNSAFE = "not used: it is not a directory of yours, or others can write to it"


def is_enabled() -> bool:
    """Whether the environment leaves the cache switched on."""
    return not CACHE.is_off


def directory() -> Path:
    """Where the cache is: STATICGRAPH_CACHE_DIR, or in the platform's place for caches."""
    given = CACHE_DIR.given
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else "~/.cache"
    return Path(os.path.expanduser(base)) / "staticgraph"


def limit() -> int:
    """The largest size in bytes; OptionError if STATICGRAPH_CACHE_MB is no number from 0."""
    given = CACHE_MB.given or ""
    try:
        megabytes = float(given or CACHE_MB.default)
    except ValueError:
        megabytes = -1.0
    if not 0 <= megabytes < float("inf"):
        raise OptionError(f"cache: STATICGRAPH_CACHE_MB is {given!r}, not a number from 0")
    return int(megabytes * 1e6)


def state() -> str:
    """Whether the cache is in use, and why not."""
    if not is_enabled():
        return "switched off by STATICGRAPH_CACHE=0"
    try:
        return "in use" if is_private(directory()) else _UNSAFE
    except FileNotFoundError:
        return "in use, empty"
    except OSError as error:
        return f"not used: {error.strerror}"


def open_store() -> Store | None:
    """The store, whose directory is made if need be; None if it is off or cannot be trusted."""
    if not is_enabled():
        return None
    place = directory()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        private = is_private(place)
    except OSError:
        return None
    if not private:
        _warn(place)
        return None
    return _store(place, limit())


@cache  # it knows what the directory holds
def _store(place: Path, limit: int) -> Store:
    return Store(place, limit)


@cache
def _warn(place: Path) -> None:
    warnings.warn(f"kernel cache {place}: {_UNSAFE}", RuntimeWarning, stacklevel=2)
