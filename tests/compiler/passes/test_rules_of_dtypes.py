"""Each rewrite rule with the cases of `test_rules.py`, of which the leaves have another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.compiler.passes import test_rules

VALUES: dict[str, Any] = {
    "uint8": [0, 1, 2, 3, 7, 127, 128, 200, 255],
    "int8": [0, 1, -1, 2, 7, -128, 127, -100, 3],
    "uint64": [0, 1, 2, 3, 2**63, 2**64 - 1, 2**32, 255, 10],
    "bool": [False, True],
    "float32": [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 1e-45, 3e38],
}
LEAST = {"uint8": 70, "int8": 70, "uint64": 70, "bool": 60, "float32": 70}
"""Of so many cases at least an expression of the dtype can be made. Of complex numbers none is left
when rules are tried."""


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize("dtype", VALUES)
def test_keeps_its_promise_of_leaves_of(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = np.array(VALUES[dtype], dtype)
    leaves = {}
    for name in "XSMTN" if given.dtype.kind in "iub" else "XSMT":
        was = getattr(test_rules, name)
        leaf = sg.placeholder(name.lower(), was.shape, dtype)
        leaves[leaf] = np.resize(given, test_rules.FEEDS[was].shape)
        monkeypatch.setattr(test_rules, name, leaf)
    monkeypatch.setattr(test_rules, "FEEDS", test_rules.FEEDS | leaves)
    kept = 0
    for rule, cases in test_rules.FIRES.items():
        for make, _ in cases:
            try:
                output = make()
            except sg.DTypeError:  # a function of floats alone, or a number that does not fit
                continue
            if output.dtype.kind not in "f":
                before, after = test_rules.values(output, [rule])
                np.testing.assert_array_equal(after, before, strict=True, err_msg=rule)
            elif test_rules.KINDS[rule] == "exact":
                before, after = test_rules.values(output, [rule])
                test_rules.same_bits(before, after)
            kept += 1
    assert kept >= LEAST[dtype]
