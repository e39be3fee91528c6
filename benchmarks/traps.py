"""How captures treat the corpus of traps: ours, `jax.jit` and `torch.compile`, as docs/traps.md.

    python benchmarks/traps.py                            # ours, kept in docs/traps.json
    /path/to/peers/bin/python benchmarks/traps.py jax     # where JAX is installed; likewise torch
    python benchmarks/traps.py new arrays tensors         # the traps alone that are not kept yet
    python benchmarks/traps.py table                      # docs/traps.md of what is kept

The programs are in tests/staticgraph/tracing/traps; each is run as it is and captured, and what it
yields is compared. torch.compile runs with `backend="eager"`: what is compared is the capture. A
program that takes longer than 20 s is ended.
"""

from __future__ import annotations

import json
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.staticgraph.tracing.traps import paradigms  # noqa: E402
from tests.staticgraph.tracing.traps.trap import verdict  # noqa: E402

KEPT = ROOT / "docs" / "traps.json"
PAGE = ROOT / "docs" / "traps.md"
COLUMNS = {"arrays": "ours, arrays", "tensors": "ours, tensors", "jax": "jax.jit",
           "torch": "torch.compile"}  # fmt: skip
INTRODUCTION = """# Traps of captures

What a captured function does where eager code reads its surroundings, has effects, asks for values,
changes arrays in place. Each trap is a program that calls a function several times and changes
things in between (`tests/staticgraph/tracing/traps`); it is run as it is, and captured, and what it
yields is compared. *Refused* is an error that names the user's file and line. Made by
`benchmarks/traps.py`; torch.compile with `backend="eager"`; a cell is empty where a trap cannot be
stated, or eager code itself fails."""
VERDICTS = ("right", "refused", "refused without a line", "silently wrong", "ended after 20 s")


class Ended(BaseException):
    """A program took too long."""


def _end(signal: int, frame: object) -> None:
    raise Ended


def measured(name: str, known: dict[str, str]) -> dict[str, str]:
    """Per trap the verdict on a paradigm, that which is known where there is one."""
    made: dict[str, Any] = {
        "arrays": paradigms.on_arrays, "tensors": paradigms.on_tensors, "jax": paradigms.in_jax,
        "torch": paradigms.in_torch,
    }  # fmt: skip
    paradigm, found = made[name](), {}
    paradigm.capture(lambda x: x + 1)(paradigm.x)  # what is imported then takes long
    signal.signal(signal.SIGALRM, _end)
    for one in paradigms.traps():
        if name not in one.forms:
            continue
        if (verdict_before := known.get(f"{one.subject}.{one.name}")) is not None:
            found[f"{one.subject}.{one.name}"] = verdict_before
            continue
        signal.alarm(20)
        try:
            found[f"{one.subject}.{one.name}"] = verdict(one, paradigm)[0]
        except Ended:
            found[f"{one.subject}.{one.name}"] = "ended after 20 s"
        finally:
            signal.alarm(0)
    return found


def table(kept: dict[str, dict[str, str]]) -> str:
    """The page."""
    missing = {
        column: sum(
            column in one.forms and f"{one.subject}.{one.name}" not in kept.get(column, {})
            for one in paradigms.traps()
        )
        for column in COLUMNS
    }
    told = [f"{COLUMNS[one]} is not measured on {n} of them." for one, n in missing.items() if n]
    lines = [
        " ".join([INTRODUCTION, *told]), "",
        "| | " + " | ".join(COLUMNS.values()) + " |", "|---" * (len(COLUMNS) + 1) + "|",
    ]  # fmt: skip
    counts = {column: Counter(kept.get(column, {}).values()) for column in COLUMNS}
    for one in VERDICTS:
        cells = [str(counts[column][one]) for column in COLUMNS]
        lines.append(f"| {one} | " + " | ".join(cells) + " |")
    subject = ""
    for trap in paradigms.traps():
        if trap.subject != subject:
            subject = trap.subject
            lines += ["", f"## {subject}", "", "| | " + " | ".join(COLUMNS.values()) + " |",
                      "|---" * (len(COLUMNS) + 1) + "|"]  # fmt: skip
        cells = [kept.get(column, {}).get(f"{subject}.{trap.name}", "") for column in COLUMNS]
        cells = ["" if one == "impossible" else one for one in cells]
        lines.append(f"| {trap.name.strip('_').replace('_', ' ')} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> None:
    """Measure, or write the page."""
    warnings.simplefilter("ignore")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if names == ["table"]:
        PAGE.write_text(table(kept))
        return
    only_new = "new" in names
    for name in [one for one in names if one != "new"] or ["arrays", "tensors"]:
        kept[name] = measured(name, kept.get(name, {}) if only_new else {})
        print(name, dict(Counter(kept[name].values())))
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
