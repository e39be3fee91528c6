"""Load executables that `executables.saving` wrote. All is checked before anything is made."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compilation import compile
from staticgraph.compiler.core.errors import FormatError
from staticgraph.compiler.core.pytree import leaves, rebuilt
from staticgraph.compiler.core.types import as_dtype
from staticgraph.compiler.graph.attributes import check_attributes
from staticgraph.compiler.graph.definition import Definition, define
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.forms import Form
from staticgraph.compiler.graph.serialise import Reader
from staticgraph.compiler.graph.state import State
from staticgraph.compiler.pipeline import expand_composites
from staticgraph.executables.saving import FORMAT, GIVEN, GRAPH, HASHES, OPTIONS, array_name
from staticgraph.leaves import Variable


def load(path: str | os.PathLike[str]) -> Any:
    """What `save` wrote: an executable, or a dict of them; results are the same bit for bit.

    The variables are new ones with the values that were saved: `executable.variables`.

    Raises:
        FormatError: the file is damaged, of another version, or holds something else. The message
            names the file, the place in it and what is wrong; nothing is loaded.
        OSError: it cannot be read.

    Example:
        >>> x = sg.placeholder("x", (None,), "float64")
        >>> sg.save(sg.compile([x], x * x), "square.sg")
        >>> sg.load("square.sg")(np.array([3.0]))
        array([9.])
    """
    path = Path(os.fspath(path))
    try:
        files = _read(path)
        content = _parsed(files[GRAPH])
        arrays = [_array(name, files[name]) for name in files if name not in (GRAPH, HASHES)]
        return _loaded(content, arrays)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error.__cause__
    except RecursionError:
        raise FormatError(f"{path}: {GRAPH}: nested too deep") from None


def _read(path: Path) -> dict[str, bytes]:
    """The files of the archive, in order, whose hashes are right."""
    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                files = _members(archive, path.stat().st_size)
        except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, OSError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"not a file that save wrote, or a part of one: {error}") from None
    expected = [GRAPH, *map(array_name, range(len(files) - 2)), HASHES]
    if list(files) != expected:
        raise FormatError(f"it has the members {list(files)[:8]}, not {expected[:8]}")
    hashes = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in expected[:-1]]
    for name, line in zip(expected, hashes, strict=False):
        if line.encode() not in files[HASHES]:
            raise FormatError(f"{name} is damaged: its hash is not the one in the file")
    return files


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """All members. None may be compressed, so that none is larger than the file."""
    files: dict[str, bytes] = {}
    total = 0
    for info in archive.infolist():
        total += info.file_size
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or total > size:
            raise FormatError(f"{info.filename!r:.80} is compressed, encrypted or too large")
        if info.filename in files:
            raise FormatError(f"it has two members {info.filename!r:.80}")
        files[info.filename] = archive.read(info)
    return files


def _parsed(data: bytes) -> Any:
    try:
        content = json.loads(data)
    except ValueError as error:
        raise FormatError(f"{GRAPH}: {error}") from None
    found = content.get("format") if isinstance(content, dict) else None
    if found != FORMAT:
        raise FormatError(f"{GRAPH}: the format is {found!r:.80}, this version reads {FORMAT!r}")
    return content


def _array(name: str, data: bytes) -> Any:
    """The array of a member; its size is compared with that of the data before it is made."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise FormatError(f"{name}: version {version} of the format npy")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        known = as_dtype("bfloat16" if dtype == "V2" else dtype, name)
    except FormatError:
        raise
    except Exception as error:  # NumPy raises whatever its parser of headers does
        raise FormatError(f"{name}: {error}") from None
    count = 1
    for size in shape:
        count *= size
    body = data[stream.tell() :]
    if min(shape, default=0) < 0 or count * known.itemsize != len(body):
        raise FormatError(f"{name}: {known.name}{list(shape)} in {len(body)} bytes")
    order: Any = "F" if fortran else "C"
    return (
        np.frombuffer(body, known if dtype == "V2" else dtype)
        .astype(known)
        .reshape(shape, order=order)
    )


def _loaded(content: Any, arrays: Sequence[object]) -> Any:
    records, constants = content.get("executables"), content.get("constants")
    if not isinstance(records, dict) or type(constants) is not int:
        raise FormatError(f"{GRAPH}: there are no executables")
    if not 0 <= constants <= len(arrays) or content.get("variables") != len(arrays) - constants:
        raise FormatError(f"{GRAPH}: {constants} constants among {len(arrays)} arrays")
    states = [State(array, None) for array in arrays[constants:]]
    reader = Reader(arrays[:constants], states)
    made = {}
    checked = []
    for name, record in records.items():
        where = f"executable {name!r:.80}: " if name else ""
        try:
            checked.append((name, where, *_checked(reader, record)))
        except FormatError as error:
            raise FormatError(f"{GRAPH}: {where}{error}") from None
    for name, where, arguments, options in checked:
        try:
            made[name] = compile(*arguments, **options, on_unused_input="ignore")
        except Exception as error:  # whatever a pass raises for a graph that nobody defined
            raise FormatError(f"{GRAPH}: {where}{error}") from error
    if content.get("single") is True and len(made) == 1:
        return next(iter(made.values()))
    return made


def _checked(reader: Reader, record: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments and options of `compile` for a record."""
    if not isinstance(record, dict) or not isinstance(record.get("name"), str):
        raise FormatError(f"{record!r:.80} is no executable")
    options = record.get("options")
    if not isinstance(options, dict) or set(options) - set(GIVEN) != OPTIONS:
        raise FormatError(f"the options {options!r:.80} are not {sorted(OPTIONS)}")
    if not isinstance(options["disable"], list) or type(options["fuse"]) is not bool:
        raise FormatError(f"the options {options!r:.80} have not the types that they should")
    inputs, outputs, updates = reader.graph(record.get("graph"), _variable)
    for one in outputs:
        if not hasattr(one.type, "shape"):
            raise FormatError(f"an output is {one}, no tensor")
    check_graph(define(inputs, outputs, updates))
    structured = _read_structure(reader, record.get("structure"))(outputs)
    return (inputs, structured, updates), {**options, "name": record["name"]}


def check_graph(graph: Definition) -> None:
    """FormatError unless kernels of the graph, and of what its composites stand for, are safe."""
    check_attributes(graph)
    try:
        expanded = expand_composites(graph)
    except Exception as error:  # whatever an expansion raises for attributes it does not know
        raise FormatError(f"a composite cannot be expanded: {error!r}") from None
    check_attributes(expanded)


def _variable(op: Any, operands: Any, attrs: Any, name: str | None, source: str) -> Expression:
    state = attrs.get("key")
    if isinstance(state, State) and state.name is None:
        state.name = name
    return Variable(op, operands, attrs, name, source)


def _read_structure(reader: Reader, form: Form) -> Callable[[list[Any]], Any]:
    if form == "single":
        return _only_one
    if form == "list":
        return list
    if form == "tuple":
        return tuple
    if isinstance(form, dict) and "tree" in form:
        tree = _read_tree(reader, form["tree"])
        count = len(leaves(tree))

        def as_tree(values: list[Any]) -> Any:
            if count != len(values):
                raise FormatError(f"{count} places for {len(values)} outputs")
            return rebuilt(tree, values)

        return as_tree
    if isinstance(form, dict) and isinstance(form.get("dict"), list):
        keys = [key if isinstance(key, str) else reader.value(key) for key in form["dict"]]

        def as_dict(values: list[Any]) -> Any:
            if len(set(keys)) != len(values):
                raise FormatError(f"{len(keys)} keys for {len(values)} outputs")
            return dict(zip(keys, values, strict=True))

        return as_dict
    raise FormatError(f"no outputs have the structure {form!r:.80}")


def _read_tree(reader: Reader, form: Form) -> Any:
    """A nested structure; FormatError for what is none."""
    if form is None or type(form) is int:
        return form
    if isinstance(form, dict) and isinstance(form.get("list"), list):
        return [_read_tree(reader, one) for one in form["list"]]
    if isinstance(form, dict) and isinstance(form.get("tuple"), list):
        return tuple([_read_tree(reader, one) for one in form["tuple"]])
    if isinstance(form, dict) and isinstance(form.get("dict"), list):
        keys = [key if isinstance(key, str) else reader.value(key) for key in form["dict"]]
        parts = form.get("parts")
        if isinstance(parts, list) and len(parts) == len(set(keys)):
            return dict(zip(keys, [_read_tree(reader, one) for one in parts], strict=True))
    raise FormatError(f"no outputs have the structure {form!r:.80}")


def _only_one(values: list[Any]) -> Any:
    if len(values) != 1:
        raise FormatError(f"{len(values)} outputs where there is one")
    return values[0]
