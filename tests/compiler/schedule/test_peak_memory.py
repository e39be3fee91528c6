"""What `plan` says before the first call is what the process then uses."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.combinations import some
from tests.peak_memory import WORKLOADS

pytestmark = pytest.mark.slow

# only Linux tells, and forgets, the peak of a process that has used more before
NAMES = sorted(WORKLOADS) if sys.platform == "linux" else []

# glibc gives each array back when it is freed, so that none hides in what another one left
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "65536"}


@pytest.mark.parametrize("name", some(NAMES, 1))
def test_a_call_uses_the_memory_that_was_planned(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.peak_memory", name],
        env={**os.environ, **ALLOCATOR},
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    planned, used = map(int, done.stdout.split())
    assert planned > 60e6, "too little to be told from noise"
    assert used == pytest.approx(planned, rel=0.05)
