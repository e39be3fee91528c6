"""The page: HTML, styles and scripts from this folder, and the model as JSON, in one text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

SCRIPTS = ("model", "layers", "layout", "drawing", "details", "panes", "search", "main")
"""The scripts in the order in which they run, as one."""
HEIGHT = 720
"""Pixels of a page in a notebook."""


def page(model: dict[str, Any]) -> str:
    """The whole page for a model."""
    style, script = _text("page.css"), _script()
    # nothing is loaded and nothing else is run, whatever the model holds
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    parts = {
        "policy": policy,
        "title": escape(model["title"]),
        "style": style,
        "script": script,
        "model": as_script(model),
    }
    return re.sub(r"{(\w+)}", lambda found: parts[found[1]], _text("page.html"))


def framed(html: str, title: str) -> str:
    """A page as a part of another, apart from it."""
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts" srcdoc="{escape(html)}" '
        f'width="100%" height="{HEIGHT}" style="border:0"></iframe>'
    )


def as_script(model: object) -> str:
    """A model as JSON in ASCII that cannot end the element that it is in."""
    text = json.dumps(model, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _script() -> str:
    texts = "\n".join(_text(f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{texts}}})();\n'


@cache
def _text(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
