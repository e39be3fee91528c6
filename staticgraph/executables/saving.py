"""Save executables, which `staticgraph.loading` loads: one file, without code and without pickle.

A file is a ZIP archive, not compressed: `graph.json`, the values of variables and constants as
`arrays/0.npy`, ..., and `sha256` with the hash of each of them, as `sha256sum` writes it. Loading
checks all of it before anything is made, and compiles; the kernels come from the cache if they are
there.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compiler.core.drafts import draft_of
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.core.pytree import is_branch, is_object, parts_of
from staticgraph.compiler.graph.forms import Form
from staticgraph.compiler.graph.serialise import Writer
from staticgraph.executables.executable import Executable

FORMAT = "staticgraph executables 1"
GRAPH, HASHES = "graph.json", "sha256"
OPTIONS = {"numerics", "disable", "fuse", "backend"}
GIVEN = ("on_nonfinite", "memory", "memory_at")  # are there if they were given


def save(executables: Executable | Mapping[str, Executable], path: str | os.PathLike[str]) -> None:
    """Write an executable, or several by their names, to a file that `load` reads.

    The graph, the values that the variables have now, and the options are written; a variable
    that several executables use is written once, and is one variable again when they are loaded.
    The file is replaced when its new content is complete.

    Args:
        executables: made by `compile`.
        path: any name; `.sg` is usual.

    Raises:
        OptionError: something is no executable.
        FormatError: an attribute of an op cannot be saved.

    Example:
        >>> x = sg.placeholder("x", (None,), "float64")
        >>> sg.save({"square": sg.compile([x], x * x)}, "functions.sg")
        >>> sg.load("functions.sg")["square"](np.array([3.0]))
        array([9.])
    """
    single = isinstance(executables, Executable)
    if not isinstance(executables, Executable | Mapping):
        raise OptionError(f"save: {executables!r:.80} is no executable, nor a dict of them")
    named = {"": executables} if isinstance(executables, Executable) else dict(executables)
    for name, one in named.items():
        if not isinstance(name, str) or not isinstance(one, Executable):
            raise OptionError(f"save: {name!r}: {one!r} is no executable under a name")
    writer = Writer()
    records = {name: _record(writer, one) for name, one in named.items()}
    content = {
        "format": FORMAT,
        "single": single,
        "executables": records,
        "constants": len(writer.arrays),
        "variables": len(writer.states),
    }
    files = {GRAPH: json.dumps(content, separators=(",", ":"), allow_nan=False).encode()}
    arrays = [*writer.arrays, *(state.array for state in writer.states)]
    for i, array in enumerate(arrays):
        files[array_name(i)] = _npy(array)
    hashes = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items()]
    files[HASHES] = "".join(hashes).encode()
    _write(Path(os.fspath(path)), files)


def array_name(i: int) -> str:
    """The member of the archive that is an array."""
    return f"arrays/{i}.npy"


def _record(writer: Writer, executable: Executable) -> Form:
    options: Options = executable.options
    structure = executable.restructure(list(range(len(executable.graph.graph["outputs"]))))
    return {
        "name": executable.name,
        "options": {
            "numerics": options.numerics,
            "disable": sorted(options.disabled),
            "fuse": options.fuse,
            "backend": options.backend,
            **_given(options),
        },
        "graph": writer.graph(executable.definition),
        "structure": _write_structure(writer, structure),
    }


def _given(options: Options) -> dict[str, Form]:
    """The options that are not written unless they were given."""
    values = options.on_nonfinite, options.memory, dict(options.memory_at) or None
    found = zip(GIVEN, values, strict=True)
    return {name: value for name, value in found if value is not None}


def _write_structure(writer: Writer, structure: object) -> Form:
    """The structure of the outputs, from one in which they are numbered."""
    if is_branch(structure) and any(one is None or is_branch(one) for one in parts_of(structure)):
        return {"tree": _write_tree(writer, structure)}
    if is_object(structure) or hasattr(structure, "_fields"):
        return {"tree": _write_tree(writer, structure)}
    if isinstance(structure, dict):
        return {"dict": [key if type(key) is str else writer.value(key) for key in structure]}
    if isinstance(structure, list | tuple):
        return type(structure).__name__
    return "single"


def _write_tree(writer: Writer, tree: Any) -> Form:
    """A nested structure; OptionError for one of classes, which a file has not."""
    if tree is None or isinstance(tree, int):
        return tree
    if is_object(tree) or hasattr(tree, "_fields"):
        raise OptionError(
            f"save: the outputs are in a {type(tree).__name__}: a file holds lists, tuples and "
            "dicts of them, and no classes"
        )
    parts: list[Form] = [_write_tree(writer, one) for one in parts_of(tree)]
    if isinstance(tree, dict):
        keys = [key if type(key) is str else writer.value(key) for key in tree]
        return {"dict": keys, "parts": parts}
    return {"tuple" if isinstance(tree, tuple) else "list": parts}


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    if array.dtype.kind == "V":  # the format has no name for bfloat16: two bytes of it have none
        array = array.view("V2")
    np.lib.format.write_array(stream, array, (1, 0), allow_pickle=False)
    return stream.getvalue()


def _write(path: Path, files: Mapping[str, bytes]) -> None:
    with draft_of(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # of one date: equal files are equal
