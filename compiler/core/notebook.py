"""What notebooks show of records that print a table: its text, as it stands."""

from __future__ import annotations


def as_printed(self: object) -> str:
    """What `print` shows, as HTML: the method `_repr_html_` of such a record."""
    return preformatted(str(self))


def preformatted(text: str) -> str:
    """A text as HTML that shows it as it is."""
    from html import escape  # which only notebooks need

    return f"<pre style='overflow:auto;line-height:1.25'>{escape(text)}</pre>"
