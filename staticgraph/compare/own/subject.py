"""The function that is compared: a file, a name, and its source, read without running it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from staticgraph.compiler.core.errors import OptionError

SEPARATOR = ".py:"


@dataclass(frozen=True, slots=True)
class Subject:
    """A function of a file.

    Attributes:
        file: where it is.
        name: what it is called there.
        source: its text; that of the whole file if it is not defined by `def`.
        line: the line of the file at which the text begins.
        parameters: their names, where the text says them.
        required: those of them without default.
    """

    file: Path
    name: str
    source: str
    line: int
    parameters: tuple[str, ...] | None
    required: tuple[str, ...]


def names_function(text: str) -> bool:
    """Whether an argument of the command line is a function of a file, or means to be one."""
    return SEPARATOR in text or text.endswith(".py")


def read_subject(text: str) -> Subject:
    """The function that `my.py:loss` names.

    Raises:
        OptionError: there is no such file, it is not Python, or has no such name.
    """
    path, found, name = text.rpartition(SEPARATOR)
    file, name = (Path(path + ".py"), name) if found else (Path(text), "")
    try:
        whole = file.read_text(encoding="utf-8")
        tree = ast.parse(whole)
    except OSError as error:
        raise OptionError(f"compare: {file}: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        raise OptionError(f"compare: {file} is not Python: {error}") from None
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    if not name:
        known = ", ".join(f"{file.name}:{one.name}" for one in functions) or "none is there"
        raise OptionError(f"compare: {file}: which function? {known}")
    for one in functions:
        if one.name == name:
            source = ast.get_source_segment(whole, one) or whole
            return Subject(file, name, source, one.lineno, *_parameters(one))
    if not _assigned(tree, name):
        known = ", ".join(one.name for one in functions) or "none"
        raise OptionError(f"compare: {file} has no function {name!r}: there are {known}")
    return Subject(file, name, whole.rstrip(), 1, None, ())


def _parameters(function: ast.FunctionDef) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """All names, None if it takes any; and those without default."""
    given = function.args
    places = [*given.posonlyargs, *given.args]
    required = [one.arg for one in places[: len(places) - len(given.defaults)]]
    required += [
        one.arg
        for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if default is None
    ]
    names = tuple(one.arg for one in [*places, *given.kwonlyargs])
    return (None if given.kwarg else names), tuple(required)


def _assigned(tree: ast.Module, name: str) -> bool:
    """Whether the file's top level gives the name a value, or imports it."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return True
        if isinstance(node, ast.Import | ast.ImportFrom):
            if any((one.asname or one.name) == name for one in node.names):
                return True
        elif any(
            isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
            for one in ast.walk(node)
        ):
            return True
    return False


def check_arguments(subject: Subject, given: Sequence[str]) -> None:
    """OptionError unless the inputs are what the function takes."""
    name = subject.name
    takes = ", ".join(subject.parameters or subject.required)
    for one in subject.required:
        if one not in given:
            raise OptionError(f"compare: {name}({takes}): --inputs does not give {one!r}")
    for one in given:
        if subject.parameters is not None and one not in subject.parameters:
            raise OptionError(f"compare: {name}({takes}) takes no {one!r}, which --inputs gives")
