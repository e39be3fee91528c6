"""Which of PyTorch's documented keywords are accepted: `python -m tests.dynamic.signatures`.

That writes docs/signatures.md. The keywords are those that `tests.data.make_signatures` recorded.
"""

from __future__ import annotations

import json
from typing import Any

import dynamic as torch
from tests.paths import ROOT

DOCUMENT = ROOT / "docs" / "signatures.md"
RECORDED = ROOT / "tests" / "data" / "torch_signatures.json"
SPACES: dict[str, Any] = {
    "torch": torch, "Tensor": torch.Tensor, "functional": torch.nn.functional,
    "linalg": torch.linalg, "fft": torch.fft, "special": torch.special,
}  # fmt: skip

BY_POSITION = "an operand of this function is given by position"
REFUSED: dict[str, str] = {
    "out": "this function returns a new tensor: `x.copy_(...)` puts it into another",
    **dict.fromkeys(
        (
            "other", "input", "divisor", "tensor", "value", "values", "dimension", "dims", "shape",
            "axis0", "axis1", "from", "to", "indices", "p", "operands", "batch2", "input2", "src",
            "tensor2", "repeats", "sizes", "size", "y", "shapes", "tensors", "ext_tensor",
            "ndarray", "obj", "sections", "dividend", "mat2", "vec", "vec2", "exponent", "int", "d",
            "split_size_or_sections", "cond_fn", "body_fn", "spacing", "equation",
        ),
        BY_POSITION,
    ),
    "dtype": "cast the operand or the result with `to`",
    "dim": "of this function it is `axis`",
    "device": "there is the CPU",
    "layout": "there are dense tensors",
    "memory_format": "memory is in row-major order",
    "out_dtype": "cast the result with `to`",
    "weight": "histograms are not weighted",
    "generator": "the numbers are drawn from the stream of `manual_seed`",
    "reduce": "`scatter_reduce_` does it",
    "alpha": "`sub` has it",
    "rounding_mode": "the method `div` has it",
    "kwargs": "it stands for further keywords in PyTorch's text, and is none",
    "profile": "each option of the format is given by itself",
    "pickle_module": "files are read without pickle",
    "pickle_load_args": "files are read without pickle",
    "pickle_protocol": "files are written without pickle",
    "mmap": "files are read whole",
    "_use_new_zipfile_serialization": "there is one format of PyTorch's that is written",
    "name": "PyTorch's compiler has it alone",
    "recompile_limit": "PyTorch's compiler has it alone",
    "isolate_recompiles": "PyTorch's compiler has it alone",
    "shapes_spec": "PyTorch's compiler has it alone",
}  # fmt: skip
"""Why a keyword is refused, wherever it is."""


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
        if function is None:
            absent.append(name)
            continue
        operands = (torch.ones(2, 2),) if space == "Tensor" or keywords[0] == "input" else ()
        for keyword in keywords:
            if accepts(function, keyword, () if keyword == "input" else operands):
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
    lines += ["", f"Not here ({len(absent)}): {', '.join(absent)}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    DOCUMENT.write_text(page())
