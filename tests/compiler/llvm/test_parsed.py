"""Modules of LLVM and the contexts that they are in."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.paths import ROOT

IN_A_CYCLE = """
import gc

import staticgraph.compiler.llvm.native as native
import numpy as np
import pytest
import staticgraph as sg


class Stopped(Exception):
    pass


def stop(parsed, machine):
    raise Stopped


native.optimise = stop
gc.disable()
x = sg.placeholder("x", (None,))
for _ in range(20):
    try:
        sg.compile([x], sg.sin(x) * x)
    except Stopped as error:
        kept = [error]
        kept.append(kept)  # a cycle, which holds the frames
        del kept
gc.collect()
print("freed")
"""


@pytest.mark.slow
def test_what_is_left_of_a_compilation_that_was_stopped_is_freed_in_order() -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", IN_A_CYCLE]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "freed\n"
