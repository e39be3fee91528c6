"""What all tests share: a kernel cache, a heap without collected tests in it, a ctrl-C."""

from __future__ import annotations

import gc
import itertools
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

import dynamic

# no test is decided by time: on a loaded machine any example may take long; half of the usual
# examples, for thousands of random programs are the campaigns of `make test-all`
settings.register_profile("untimed", deadline=None, max_examples=50)
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One that starts empty, and that the processes of a run share."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STATICGRAPH_CACHE_DIR", str(place / "kernels"))
        yield


@pytest.fixture(scope="session", autouse=True)
def eager_lint() -> Iterator[None]:
    """Off but where it is tested: it looks at the 1st, 2nd, 4th, ... reverse pass of a process.

    Which of the tests that differentiate nan or `sign` on purpose that is depends on their order.
    """
    with dynamic.set_lint("off"):
        yield


def pytest_configure() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """Twenty thousand tests are millions of objects, which stay: nobody has to look at them.

    Graphs and the modules of llvmlite are many objects too, which mostly are freed without the
    collector: at its usual 700 it took a tenth of the time, at 50,000 a thirtieth.
    """
    gc.freeze()
    gc.set_threshold(300_000, 20, 20)
    gc.enable()


_ended = itertools.count(1)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Nor at what stays of a thousand tests: later a collection would take seconds.

    So would a search for referrers, which captures of functions make.
    """
    if next(_ended) % 1000 == 0:
        gc.collect()
        gc.freeze()


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """As at a terminal: a job that a shell starts in the background ignores it from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
