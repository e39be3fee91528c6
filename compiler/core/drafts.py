"""Files that are replaced once their new content is complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def draft_of(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Where to write the new content of a file, which has it when the block ends without an error.

    A link stays one, to a file with the new content, and who may read a file stays the same. What
    is no file, such as a device or a pipe, is written itself: to put a file in its place would
    remove it.
    """
    place = Path(os.path.realpath(os.fspath(path)))
    if place.exists() and not place.is_file():
        yield place
        return
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        yield draft
        if place.exists():
            shutil.copymode(place, draft)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
