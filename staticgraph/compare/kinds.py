"""The contenders: one record per kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from staticgraph.compiler.inspect.limits import BLAS_THREADS

ADAPTERS = Path(__file__).resolve().parent / "adapters"
THREAD_VARIABLES = (
    *BLAS_THREADS,
    "NUMBA_NUM_THREADS",
    "STATICGRAPH_NUM_THREADS",
    "NPROC",  # XLA's thread pool
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to run a workload.

    Attributes:
        name: as it is printed.
        adapter: the file that sets it up: see `staticgraph.compare.adapters`.
        peer: the peer in whose environment it runs; "" if it is ours.
        mode: which way, where an adapter has several.
        cache: the environment's variables that say where it keeps what it has compiled; "{}" is
            replaced by an empty folder. None if it keeps nothing from process to process.
    """

    name: str
    adapter: Path
    peer: str = ""
    mode: str = ""
    cache: Mapping[str, str] = field(default_factory=dict)


KINDS = (
    Kind("compiled", ADAPTERS / "compiled.py", cache={"STATICGRAPH_CACHE_DIR": "{}"}),
    Kind("eager", ADAPTERS / "eager.py"),
    Kind("torch", ADAPTERS / "torch.py", "torch", "eager"),
    Kind(
        "torch.compile", ADAPTERS / "torch.py", "torch", "compile",
        cache={"TORCHINDUCTOR_CACHE_DIR": "{}"},
    ),
    Kind("jax", ADAPTERS / "jax.py", "jax"),
    Kind(
        "pytensor", ADAPTERS / "pytensor.py", "pytensor",
        cache={"PYTENSOR_FLAGS": "base_compiledir={}", "NUMBA_CACHE_DIR": "{}"},
    ),
)  # fmt: skip
COMPILED = "compiled"


@dataclass(frozen=True, slots=True)
class Contender:
    """A kind, run by an interpreter with a number of threads."""

    kind: Kind
    interpreter: str
    threads: int

    @property
    def label(self) -> str:
        """For progress and file names."""
        return f"{self.kind.name}, {self.threads} thread{'s' if self.threads > 1 else ''}"


def thread_variables(threads: int) -> dict[str, str]:
    """The environment that tells every library in a process how many threads to use."""
    return dict.fromkeys(THREAD_VARIABLES, str(threads))
