"""SciPy's functions that are written for the array API standard, of ours.

SciPy reads `SCIPY_ARRAY_API` when it is imported: a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np, dynamic, staticgraph as sg
from scipy import cluster, integrate, special
xp = dynamic.xp
array = np.random.default_rng(0).normal(size=(5, 4))
x = xp.asarray(array)
for f in (
    special.logsumexp, lambda a: special.softmax(a, axis=0),
    lambda a: integrate.trapezoid(a, axis=0), cluster.vq.whiten,
):
    found = f(x)
    assert isinstance(found, xp.Array), found
    np.testing.assert_allclose(np.asarray(found), f(array), 1e-12)
x.requires_grad_()
special.logsumexp(x).backward()
np.testing.assert_allclose(x.grad.numpy(), special.softmax(array), 1e-12)
captured = sg.function(lambda a: special.logsumexp(a, axis=0))
np.testing.assert_allclose(np.asarray(captured(x.detach())), special.logsumexp(array, axis=0))
e = sg.placeholder("e", (5, 4), "float64")
run = sg.compile([e], [special.softmax(e, axis=1), integrate.trapezoid(e, axis=1)], debug=True)
wanted = special.softmax(array, axis=1), integrate.trapezoid(array, axis=1)
for found, value in zip(run(array), wanted, strict=True):
    np.testing.assert_allclose(found, value, 1e-10)
"""


@pytest.mark.slow
def test_scipys_functions_run_on_arrays_in_captures_and_in_graphs() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env=os.environ | {"SCIPY_ARRAY_API": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr
