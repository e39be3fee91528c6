"""ONNX's own tests of its operators, run through `load`: what is right, and why others are not.

Every case is a small model with inputs and the outputs that are to come out, within the tolerances
of the case.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_narrow
from staticgraph.compiler.core.errors import OptionError, StaticGraphError
from staticgraph.onnx.call import OPERATORS, RefusedError
from staticgraph.onnx.model import Model
from staticgraph.onnx.package import OLDEST_READ, dtype_of, onnx
from staticgraph.onnx.reading import model_of_proto

KINDS = {
    "sequence_type": "sequences", "optional_type": "optional values", "map_type": "maps",
    "sparse_tensor_type": "sparse tensors",
}  # fmt: skip


@dataclass
class Outcome:
    """What came of the cases.

    Attributes:
        passed: names of cases.
        out_of_scope: the other cases, by the reason.
        failed: the rest, each with what went wrong.
    """

    passed: list[str] = field(default_factory=list)
    out_of_scope: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The counts as text."""
        cases = sum(map(len, self.out_of_scope.values()))
        total = len(self.passed) + cases + len(self.failed)
        found = [
            f"ONNX node tests: {total}",
            f"passed: {len(self.passed)}",
            f"failed: {len(self.failed)}",
            *(f"  {name}: {reason}" for name, reason in sorted(self.failed.items())),
            f"out of scope: {cases}",
        ]
        reasons = Counter({reason: len(names) for reason, names in self.out_of_scope.items()})
        return found + [f"  {count}  {reason}" for reason, count in reasons.most_common()]


def cases() -> list[Any]:
    """The cases of the installed onnx."""
    onnx("staticgraph onnx")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of the computation of what is to come out
        from onnx.backend.test.loader import load_model_tests

        return list(load_model_tests(kind="node"))


def check(given: Sequence[Any]) -> Outcome:
    """Run cases."""
    outcome = Outcome()
    for case in given:
        model = case.model
        reason = _excluded(model)
        if reason:
            outcome.out_of_scope.setdefault(reason, []).append(case.name)
            continue
        try:
            wrong = _wrong(case)
        except RefusedError as error:
            outcome.out_of_scope.setdefault(_reason(case.model, error), []).append(case.name)
            continue
        except StaticGraphError as error:
            wrong = str(error)
        if wrong:
            outcome.failed[case.name] = wrong
        else:
            outcome.passed.append(case.name)
    return outcome


COUNTS = "## Counts\n"
"""The heading in a page of what `put_counts` writes."""


def put_counts(page: Path, outcome: Outcome) -> None:
    """Write the counts under the last heading of a page, in place of those that were there."""
    text = page.read_text(encoding="utf-8")
    if COUNTS not in text:
        raise OptionError(f"onnx: {page} has no heading {COUNTS.strip()!r}")
    counts = [
        "`staticgraph onnx --check --markdown docs/onnx.md` runs ONNX's own tests of its ",
        f"operators, and writes this;\nwith onnx {onnx('onnx').__version__}:\n\n```\n",
        *(f"{line}\n" for line in outcome.lines()),
        "```\n",
    ]
    page.write_text(text.partition(COUNTS)[0] + COUNTS + "\n" + "".join(counts), encoding="utf-8")


def _reason(model: Any, error: RefusedError) -> str:
    """Why a case is refused, without what is its own."""
    names = ", ".join(sorted(set(_operators(model.graph))))
    return f"{names}: {str(error).rpartition(': ')[2]}"


def _excluded(model: Any) -> str:
    """Why a model is not read, by what the library has not; "" for one that is to be read."""
    opset = next((one.version for one in model.opset_import if not one.domain), 0)
    if any(one.domain not in ("", "ai.onnx") for one in model.opset_import):
        return "operators of another domain (ai.onnx.ml, preview training)"
    for one in (*model.graph.input, *model.graph.output):
        kind = one.type.WhichOneof("value")
        if kind in KINDS:
            return KINDS[kind]
        dtype = dtype_of(one.type.tensor_type.elem_type)
        if dtype is None:
            return "strings, or floats and integers of 8 bits and fewer that NumPy has not"
        if dtype.kind == "c":
            return "complex numbers"
    if opset < OLDEST_READ:
        return f"an opset before {OLDEST_READ}"
    unread = sorted({one for one in _operators(model.graph) if one not in OPERATORS})
    return f"the operator {unread[0]} is not read" if unread else ""


def _operators(graph: Any) -> Iterator[str]:
    for node in graph.node:
        yield node.op_type
        for one in node.attribute:
            if one.HasField("g"):
                yield from _operators(one.g)


def _wrong(case: Any) -> str:
    """What is wrong of the outputs of a case, or ""."""
    model = Model(model_of_proto(case.model, None))
    for inputs, expected in case.data_sets:
        with np.errstate(all="ignore"):
            found = model(*map(_array, inputs))
        results = found if isinstance(found, tuple) else (found,)
        for name, one, other in zip(model.outputs, results, expected, strict=True):
            wrong = _differs(np.asarray(one), _array(other), case.rtol, case.atol)
            if wrong:
                return f"{name}: {wrong}"
    return ""


def _array(value: Any) -> Any:
    """An input or output of a case, which may be a message."""
    if hasattr(value, "data_type"):
        return onnx("staticgraph onnx").numpy_helper.to_array(value)
    return np.asarray(value)


def _differs(one: Any, other: Any, rtol: float, atol: float) -> str:
    if one.dtype != other.dtype or one.shape != other.shape:
        return f"{one.dtype}{list(one.shape)}, not {other.dtype}{list(other.shape)}"
    if is_narrow(other.dtype):  # one that rounds at another step is as right
        atol = 2.0 ** (-10 if other.dtype == np.float16 else -7)
        rtol = 2 * atol
    left, right = (np.asarray(x, np.float64) if x.dtype.kind in "fV" else x for x in (one, other))
    if not np.allclose(left, right, rtol=rtol, atol=atol, equal_nan=True):
        return f"{one.ravel()[:4]}, not {other.ravel()[:4]}"
    return ""
