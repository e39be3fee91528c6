"""Which of PyTorch's documented keywords are accepted: `python -m tests.dynamic.signatures`.

That writes docs/signatures.md. The keywords are those that `tests.data.make_signatures` recorded.
"""

from __future__ import annotations

import json
from typing import Any

import dynamic as torch
from staticgraph.dynamic.functions.removed import INSTEAD as REMOVED
from tests.paths import ROOT

DOCUMENT = ROOT / "docs" / "signatures.md"
RECORDED = ROOT / "tests" / "data" / "torch_signatures.json"
SPACES: dict[str, Any] = {
    "torch": torch, "Tensor": torch.Tensor, "functional": torch.nn.functional,
    "linalg": torch.linalg, "fft": torch.fft, "special": torch.special,
}  # fmt: skip

BY_POSITION = "PyTorch itself refuses it: its text has another name, or none that is to be given"
REFUSED: dict[str, str] = {
    **dict.fromkeys(
        (
            "3", "dividend", "divisor", "indices", "int", "kwargs", "operands", "other", "shapes",
            "sizes", "tensors",
        ),
        BY_POSITION,
    ),
    **dict.fromkeys(("cond_fn", "body_fn"), "`cond` and `body` here, as in `staticgraph`"),
    "out_dtype": "for GPUs alone, which PyTorch refuses on a CPU: cast the result with `to`",
    "pickle_load_args": "files are read without pickle",
    "name": "PyTorch's compiler has it alone",
    "recompile_limit": "PyTorch's compiler has it alone",
    "isolate_recompiles": "PyTorch's compiler has it alone",
    "shapes_spec": "PyTorch's compiler has it alone",
}  # fmt: skip
"""Why a keyword is refused, wherever it is."""


LENIENT = (
    "## What is taken beside it",
    "",
    "`tests/dynamic/test_wrong_calls.py` puts twelve wrong values in the place of each argument of",
    "these functions. Of about 23,900 such calls 22,446 end as in PyTorch, 32 are refused that it",
    "takes, 166 raise another class, and 1,380 are taken that it refuses:",
    "",
    "- 1,241 give a number, or a list of numbers, for a tensor: `maximum(x, 2.5)`, `sin(0)`,",
    "  `atan2(x, [1.0, 2.0])`. They mean what they mean to NumPy, whose functions these are too.",
    "- 73 give None for an option, or `dim=[]`: what is taken if nothing is given, or all axes.",
    "- 26 give an `out` of another dtype, or one that is an operand: it gets the result.",
    "- 17 give one tensor, an iterator or numbers for a list of tensors (`hstack(x)`).",
    "- The rest are options without an effect (`non_blocking` of `copy_`), and numbers that",
    "  PyTorch takes in other functions (`arange(3, step=-7)`).",
)
"""Of wrong calls, which the long test of them counts."""

PROVIDED: dict[str, tuple[Any, ...]] = {
    "input": (torch.ones(2, 2),),
    "A": (torch.eye(2),),
    "size": ((2, 2),),
    "n": (2,),
    "start": (0.0,),
    "end": (2,),
    "tensors": ([torch.ones(2)],),
    "data": ([1.0],),
    "x": (torch.ones(2),),
    "condition": (torch.ones(2).bool(),),
    "real": (torch.ones(2),),
    "abs": (torch.ones(2),),
    "window_length": (4,),
}
"""The first argument of functions, where its keyword is not the one that is tried."""


class _Given:
    """Stands for an argument: nothing takes it, and no error about its kind names a keyword."""


def accepts(function: Any, keyword: str, operands: tuple[Any, ...]) -> bool:
    """Whether a call says anything else than that it does not know the keyword."""
    try:
        function(*operands, **{keyword: _Given()})
    except TypeError as error:
        text = str(error)
        return not ("unexpected keyword" in text and repr(keyword) in text)
    except Exception:
        return True
    return True


def compared() -> tuple[dict[str, list[str]], list[str], int]:
    """Per refused keyword the functions, those that are not here, and how many are accepted."""
    refused: dict[str, list[str]] = {}
    absent, accepted = [], 0
    for name, keywords in json.loads(RECORDED.read_text()).items():
        space, _, member = name.partition(".")
        function = getattr(SPACES[space], member, None)
        if function is None or (space == "torch" and member in REMOVED):  # which only says so
            absent.append(name)
            continue
        first = keywords[0]
        operands = (torch.ones(2, 2),) if space == "Tensor" else PROVIDED.get(first, ())
        for keyword in keywords:
            given = operands if space == "Tensor" or keyword != first else ()
            if accepts(function, keyword, given):
                accepted += 1
            else:
                refused.setdefault(keyword, []).append(name)
    return refused, absent, accepted


def page() -> str:
    """The page of counts, reasons and functions."""
    refused, absent, accepted = compared()
    count = accepted + sum(map(len, refused.values()))
    recorded = len(json.loads(RECORDED.read_text()))
    lines = [
        "# Keywords of PyTorch's functions",
        "",
        "Written by `python -m tests.dynamic.signatures`, and compared by a test. The keywords are",
        "those that the documentation of PyTorch 2.13 names for its functions, methods of Tensor,",
        "`nn.functional`, `linalg`, `fft` and `special`.",
        "",
        f"- {recorded} functions have documented keywords; {recorded - len(absent)} are here.",
        f"- Of their {count} keywords {accepted} are accepted,",
        f"  {count - accepted} are refused, by a TypeError:",
        "",
        "| keyword | why | functions |",
        "|---|---|---|",
    ]
    for keyword, names in sorted(refused.items(), key=lambda one: (-len(one[1]), one[0])):
        functions = f"{len(names)}: {', '.join(names)}"
        lines.append(f"| `{keyword}` | {REFUSED.get(keyword, '')} | {functions} |")
    lines += ["", f"Not here ({len(absent)}): {', '.join(absent)}.", "", *LENIENT, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    DOCUMENT.write_text(page())
