"""Texts of the user's as attributes of ops."""

from __future__ import annotations

from staticgraph.compiler.core.record import Record, record


@record
class UserText(Record):
    """A text that is data, whatever characters it has: never a part of generated code.

    Attributes that are a `str` are words, such as the name of a reduction.
    """

    text: str

    def __str__(self) -> str:
        return ascii(self.text)
