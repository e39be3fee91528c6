"""What an expression and a record of a definition have in common."""

from __future__ import annotations

from typing import Any, Protocol

from staticgraph.compiler.core.op import Attrs, Op


class Applied(Protocol):
    """An op with its attributes and type: an expression, or a record of a definition."""

    @property
    def op(self) -> Op:
        """What is applied."""

    @property
    def attrs(self) -> Attrs:
        """Its attributes."""

    @property
    def type(self) -> Any:
        """The type of the result."""

    @property
    def name(self) -> str | None:
        """The name that the user gave."""

    @property
    def source(self) -> str:
        """The user's line."""
