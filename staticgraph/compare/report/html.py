"""What the pages have in common: the frame, tables, code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
.sgc{font:15px/1.5 system-ui,sans-serif;color:#1c2330;max-width:1220px;margin:0 auto;padding:0 18px}
.sgc h1{font-size:27px;margin:22px 0 2px}.sgc h2{font-size:20px;margin:34px 0 6px}
.sgc h3{font-size:15px;margin:12px 0 4px}
.sgc .sub{color:#5a6475;margin:0 0 14px}.sgc p{max-width:80ch;margin:6px 0}
.sgc .verdict{background:#eef4ff;border-left:5px solid #1f5fd0;padding:10px 18px;border-radius:4px}
.sgc .verdict li{margin:5px 0}.sgc .bad{color:#b3261e;font-weight:600}
.sgc table{border-collapse:collapse;font-size:14px;margin:6px 0}
.sgc th{font-weight:600;text-align:right;color:#5a6475;padding:3px 10px}
.sgc td{padding:3px 10px;border-bottom:1px solid #eef;text-align:right;white-space:nowrap}
.sgc th:first-child,.sgc td:first-child{text-align:left}
.sgc tr.ours td{font-weight:600;background:#f4f8ff}
.sgc .bars{width:100%;table-layout:fixed}.sgc .bars td{border:0;padding:2px 6px}
.sgc .bars td:first-child{width:46%;overflow:hidden;text-overflow:ellipsis}
.sgc .bars td.n{width:104px}
.sgc .bar i{display:block;height:12px;border-radius:2px;min-width:1px}
.sgc .side{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(480px,100%),1fr));gap:18px}
.sgc .side>*{min-width:0}.sgc figure{margin:6px 0}.sgc svg{width:100%;height:auto;display:block}
.sgc .grid{stroke:#e3e7ef;stroke-width:1}.sgc .tick{font-size:11px;fill:#5a6475}
.sgc .axis{font-size:12px;fill:#1c2330}.sgc .note{font-size:12px;font-weight:600;fill:#1c2330}
.sgc .ring{fill:none;stroke:#1c2330;stroke-width:2}
.sgc .legend{display:flex;flex-wrap:wrap;gap:4px 14px;font-size:13px;padding-left:60px}
.sgc .legend i{display:inline-block;width:16px;height:4px;margin:0 5px 3px 0;border-radius:2px}
.sgc pre{background:#f6f7fa;border:1px solid #e3e7ef;border-radius:4px;padding:10px 12px;
overflow:auto;font:12.5px/1.45 ui-monospace,Menlo,Consolas,monospace;max-height:460px;margin:4px 0}
.sgc pre .c{color:#7a8496}
.sgc details{margin:8px 0}.sgc summary{cursor:pointer;color:#1f5fd0}
"""


def document(title: str, body: str) -> str:
    """A page that needs no other file."""
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{escape(title)}</title></head><body style='margin:0'>{body}</body></html>\n"
    )


def framed(content: str) -> str:
    """A part of a page, with its style: what a notebook shows."""
    return f"<div class='sgc'><style>{STYLE}</style>{content}</div>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], ours: str = "") -> str:
    """A table of texts; rows that begin with `ours` stand out."""
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    lines = []
    for row in rows:
        cells = "".join(
            f"<td{' class=bad' if one.startswith('MISMATCH') else ''}>{escape(one)}</td>"
            for one in row
        )
        lines.append(f"<tr{' class=ours' if ours and row[0] == ours else ''}>{cells}</tr>")
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def code(text: str) -> str:
    """Python, its comments grey."""
    lines = []
    for line in text.splitlines():
        before, sign, comment = line.partition("#")
        whole = escape(before)
        lines.append(whole + (f"<span class=c>{escape(sign + comment)}</span>" if sign else ""))
    return f"<pre>{chr(10).join(lines)}</pre>"


def details(summary: str, content: str) -> str:
    """What is shown when it is asked for."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def section(title: str, about: str, content: str) -> str:
    """A heading, a paragraph, and what they are about; nothing if there is no content."""
    if not content:
        return ""
    paragraph = f"<p class='sub'>{escape(about)}</p>" if about else ""
    return f"<h2>{escape(title)}</h2>{paragraph}{content}"


def side_by_side(*parts: str) -> str:
    """Columns, one below the other on a narrow screen."""
    return f"<div class='side'>{''.join(f'<div>{part}</div>' for part in parts if part)}</div>"
