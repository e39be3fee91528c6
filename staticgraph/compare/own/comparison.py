"""The comparison of a function, as it is shown: a table in a terminal, the report in a notebook."""

from __future__ import annotations

from dataclasses import dataclass

from staticgraph.compare.own.records import Measured


@dataclass(frozen=True, slots=True)
class Comparison(Measured):
    """A function in both paradigms, and by peers.

    `print` shows a table, a notebook the report. `Measured` lists its attributes.
    """

    def __str__(self) -> str:
        from staticgraph.compare.own.text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from staticgraph.compare.report.own_page import body

        return body(self)
