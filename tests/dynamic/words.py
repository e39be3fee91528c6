"""What an error says beside what PyTorch says."""

from __future__ import annotations


def begins_as_recorded(text: str, recorded: str) -> bool:
    """Whether a text is PyTorch's, which scripts look for, or has behind it what was given."""
    return text == recorded or text.startswith(f"{recorded.rstrip('.')}: ")
