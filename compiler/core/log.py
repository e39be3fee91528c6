"""What the project tells on stderr of what it does, where STATICGRAPH_LOG asks for it."""

from __future__ import annotations

import sys

from staticgraph.compiler.core.settings import LOG

SUBJECTS = ("cache", "compile", "dispatch")
told = LOG.listed(SUBJECTS)
"""What is asked for."""


def log(subject: str, text: str) -> None:
    """Tell about a subject, if it is asked for; a line of its own."""
    if subject in told:
        print(f"staticgraph {subject}: {text}", file=sys.stderr, flush=True)
