"""Every session of tests has a kernel cache of its own, which starts empty."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield
