"""The pages of the API reference: signatures and docstrings of all that is public, by subject."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from sphinx.ext.napoleon import Config, GoogleDocstring

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.functions import NAMES, function_named
from tests.project.namespaces import documented, namespaces

MARKUP = re.compile(r"([|*]|_(?=\W|$))")
NAPOLEON = Config(napoleon_use_param=False, napoleon_use_rtype=False, napoleon_use_ivar=True)
ELSEWHERE = ("staticgraph.dynamic", "staticgraph.compiler")  # whose members are not all for users
HIDDEN = "(*args, **kwargs)"
IMPORTS = """The examples begin with these lines, and are run as tests::

    import numpy as np
    import staticgraph as sg
    import dynamic
    from dynamic import nn"""


class Page(NamedTuple):
    """A page of the reference.

    Attributes:
        title: what it is about.
        prefix: what a user writes before the names.
        members: the public names, and what they are.
    """

    title: str
    prefix: str
    members: dict[str, Any]


def pages() -> Iterator[Page]:
    """All pages, in the order in which they are listed."""
    public = {name: getattr(sg, name) for name in sg.__all__ if not _is_module(getattr(sg, name))}
    errors = {name: one for name, one in public.items() if _is_error(one)}
    known = set(errors.values())  # links to an error lead to one place
    classes = {name: one for name, one in public.items() if inspect.isclass(one)}
    ops = {name: one for name, one in public.items() if isinstance(one, Op)}
    composed = {name: function_named(name, NAMES) for name in {*NAMES} & public.keys() - ops.keys()}
    functions = {name: one for name, one in public.items() if callable(one)}
    used = {*classes, *ops, *composed}
    yield Page("Graphs", "sg", {n: one for n, one in functions.items() if n not in used})
    yield Page("Classes", "sg", {n: one for n, one in classes.items() if n not in errors})
    yield Page("Ops", "sg", ops)
    yield Page("Functions in NumPy's names", "sg", composed)
    yield Page("Errors and warnings", "sg", errors)
    for name, module in namespaces().items():
        own = {key: one for key, one in documented(module).items() if one not in known}
        if module is dynamic:
            own = {key: one for key, one in own.items() if not _is_same(one, public.get(key))}
        if own and module is not sg:
            yield Page(name, name, own)
        if module is dynamic:
            yield Page("dynamic.Tensor", "Tensor", _methods(dynamic.Tensor))


def write(folder: Path) -> None:
    """Write the pages, and the list of them."""
    folder.mkdir(exist_ok=True)
    names = []
    for page in pages():
        names.append("".join(c if c.isalnum() else "_" for c in page.title.lower()))
        (folder / f"{names[-1]}.rst").write_text(_text(page), encoding="utf-8")
    listed = "\n".join(f"   {name}" for name in names)
    index = f"Reference\n=========\n\n{IMPORTS}\n\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n"
    (folder / "index.rst").write_text(index, encoding="utf-8")


def _is_module(value: object) -> bool:
    return isinstance(value, ModuleType)


def _is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)


def _is_same(one: object, other: object) -> bool:
    """Whether a function of tensors is one of the shared ones, itself or in front of it."""
    return other is not None and inspect.getdoc(one) == inspect.getdoc(other)


def _is_ours(value: object) -> bool:
    return (getattr(value, "__module__", None) or "staticgraph").startswith("staticgraph")


def _methods(kind: type) -> dict[str, Any]:
    found = {name: inspect.getattr_static(kind, name) for name in dir(kind)}
    return {
        name: one
        for name, one in found.items()
        if not name.startswith("_")
        and (callable(one) or inspect.isdatadescriptor(one))
        and inspect.getdoc(one)
    }


def _text(page: Page) -> str:
    lines = [page.title, "=" * len(page.title), ""]
    for name, value in sorted(page.members.items(), key=lambda item: item[0].lower()):
        lines += _entry(f"{page.prefix}.{name}", value)
    return "\n".join(lines) + "\n"


def _entry(name: str, value: Any) -> list[str]:
    kind = "class" if inspect.isclass(value) else "function"
    if isinstance(value, property):
        kind, signature = "attribute", ""
    else:
        signature = _signature(value)
    lines = [f".. py:{kind}:: {name}{signature}", ""]
    lines += [f"   {line}".rstrip() for line in _documentation(value)]
    lines.append("")
    if inspect.isclass(value) and value.__module__.split(".")[1:2] not in (
        ["dynamic"],
        ["compiler"],
    ):
        for own, member in sorted(_methods(value).items()):
            if own in vars(value) and _is_ours(member):
                lines += [f"   {line}".rstrip() for line in _entry(f"{name}.{own}", member)]
    return lines


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return HIDDEN
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "self"]
    return str(found.replace(parameters=plain, return_annotation=found.empty)).replace("\n", " ")


def _documentation(value: Any) -> list[str]:
    text = inspect.getdoc(value) or ""
    name = getattr(value, "name", None)
    if isinstance(value, Op) and text.startswith(f"{name}("):
        text = text.partition("\n\n")[2]  # the signature, which is in the heading
    return str(GoogleDocstring(_escaped(text), NAPOLEON)).splitlines()


def _escaped(text: str) -> str:
    """The text with what reStructuredText would read as markup escaped, but for code."""
    lines, in_example = [], False
    for line in text.splitlines():
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        parts = line.split("`")
        if not in_example:
            parts[::2] = [MARKUP.sub(r"\\\1", part) for part in parts[::2]]
        lines.append("`".join(parts))
    return "\n".join(lines)
