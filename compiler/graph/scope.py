"""Scopes: names for parts of the user's code, which people read and nothing else depends on."""

from __future__ import annotations

from contextlib import ContextDecorator
from contextvars import ContextVar

from staticgraph.compiler.core.errors import OptionError

_path: ContextVar[tuple[str, ...]] = ContextVar("scope", default=())


class scope(ContextDecorator):  # noqa: N801  used as a function is
    """Inside the block, expressions belong to the part of the code that is called `name`.

    Scopes nest. They are names for people alone: pictures (`executable.view`, `draw(fold=...)`)
    fold what belongs to one into a box. What is computed, compiled and kept in the kernel cache
    is the same without them. A gradient belongs to the scope of what it is the gradient of. Modules
    that are captured are scopes by themselves. A function is one with `@sg.scope("attention")`.

    Args:
        name: any text with at least one character.

    Raises:
        OptionError: the name is no text, or empty.

    Example:
        >>> x = sg.placeholder("x", (None,), "float64")
        >>> with sg.scope("layer1"):
        ...     y = sg.exp(x)
        >>> y.scope
        ('layer1',)
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise OptionError(
                f"scope: the name is a text of at least one character, not {name!r:.80}"
            )
        self.name = name

    def __enter__(self) -> None:
        _path.set((*_path.get(), self.name))

    def __exit__(self, *raised: object) -> None:
        _path.set(_path.get()[:-1])


def current_scope() -> tuple[str, ...]:
    """The names of the scopes that are open, the outermost first."""
    return _path.get()
