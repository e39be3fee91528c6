"""What notebooks show of a module: the tree of its modules, with their numbers of parameters."""

from __future__ import annotations

from html import escape
from typing import Any

OPEN = 2
"""Levels that are unfolded at first."""


def tree(module: Any, plain: object, name: str = "", level: int = 0) -> str:
    """A module and those in it as HTML, each to be unfolded.

    Args:
        module: the module.
        plain: the `__repr__` of modules; one with another is shown by that, as it is.
        name: what the module around calls it.
        level: how many are around it.
    """
    of = f"({name}): " if name else ""
    if type(module).__repr__ is not plain:
        return f"<div style='white-space:pre'>{escape(of + repr(module))}</div>"
    count = sum(one.numel() for one in module.parameters())
    title = (
        f"{escape(of)}<b>{escape(module._get_name())}</b>({escape(module.extra_repr())}) "
        f"<small>{count:,} parameter{'' if count == 1 else 's'}</small>"
    )
    inside = [
        tree(one, plain, key, level + 1) for key, one in module._modules.items() if one is not None
    ]
    if not inside:
        return f"<div>{title}</div>"
    begin = '<details open="">' if level < OPEN else "<details>"
    content = f"<div style='margin-left:1.5em'>{''.join(inside)}</div>"
    return f"{begin}<summary>{title}</summary>{content}</details>"
