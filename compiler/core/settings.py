"""The environment variables that the project reads: one record each, in one table."""

from __future__ import annotations

import os

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import Record, record


@record
class Setting(Record):
    """An environment variable: its name, what holds where it is not set, and what it says."""

    name: str
    default: str
    meaning: str

    @property
    def given(self) -> str | None:
        """Its text; None where it is not set."""
        return os.environ.get(self.name)

    @property
    def is_off(self) -> bool:
        """Whether it is 0."""
        return self.given == "0"

    def listed(self, known: tuple[str, ...]) -> frozenset[str]:
        """Its words, which commas separate.

        Raises:
            OptionError: one is not among those known.
        """
        words = [word.strip() for word in (self.given or "").split(",") if word.strip()]
        for word in words:
            if word not in known:
                raise OptionError(f"{self.name}: {word!r} is not one of {', '.join(known)}")
        return frozenset(words)


NUM_THREADS = Setting(
    "STATICGRAPH_NUM_THREADS", "OMP_NUM_THREADS, else all processors",
    "how many threads share large work, in both engines",
)  # fmt: skip
BLAS = Setting(
    "STATICGRAPH_BLAS",
    "the first there is",
    "what multiplies matrices in kernels: `own`, or the BLAS of `numpy`, `scipy` or `python`",
)
CACHE = Setting("STATICGRAPH_CACHE", "1", "0: no kernel is kept on disk, or taken from there")
CACHE_DIR = Setting(
    "STATICGRAPH_CACHE_DIR", "`staticgraph` in the user's directory of caches", "where kernels are"
)
CACHE_MB = Setting("STATICGRAPH_CACHE_MB", "256", "how large that directory may grow, in megabytes")
LOG = Setting(
    "STATICGRAPH_LOG", "none", "what is told on stderr, of `cache`, `compile`, `dispatch`"
)
DUMP = Setting(
    "STATICGRAPH_DUMP", "none",
    "what of each graph that is compiled is written to files, of `ir`, `source`, `llvm`, `asm`; "
    "nothing is then taken from the cache",
)  # fmt: skip
DUMP_DIR = Setting("STATICGRAPH_DUMP_DIR", "`staticgraph_dump`", "where these files are")
COMPILE_LARGE_OPS = Setting(
    "DYNAMIC_COMPILE_LARGE_OPS", "1", "0: the eager engine leaves large arrays to NumPy"
)
COMPILE_SMALL_OPS = Setting(
    "DYNAMIC_COMPILE_SMALL_OPS", "1", "0: the eager engine calls small ops through Python"
)
KEEP_FREED_MEMORY = Setting(
    "DYNAMIC_KEEP_FREED_MEMORY", "1", "0: the C library returns freed memory as it always does"
)
EAGER_LINT = Setting(
    "DYNAMIC_LINT", "certain",
    "what eager code is warned of: `off`, `certain`, `warn` (advice too) or `error`",
)  # fmt: skip
PEERS_DIR = Setting(
    "STATICGRAPH_PEERS_DIR", "`staticgraph/peers` in the user's directory of data",
    "where `staticgraph peers` installs what is compared with",
)  # fmt: skip
FUZZ_TORCH = Setting(
    "STATICGRAPH_FUZZ_TORCH", "that of `staticgraph peers`",
    "the Python with PyTorch that `fuzz eager` compares with; empty for none",
)  # fmt: skip
RANK = Setting(
    "STATICGRAPH_RANK", "none",
    "written by `distributed` for processes that a rank starts: its process, its number, how many",
)  # fmt: skip

SETTINGS = (
    NUM_THREADS, BLAS, CACHE, CACHE_DIR, CACHE_MB, LOG, DUMP, DUMP_DIR, COMPILE_LARGE_OPS,
    COMPILE_SMALL_OPS, KEEP_FREED_MEMORY, EAGER_LINT, PEERS_DIR, FUZZ_TORCH, RANK,
)  # fmt: skip
"""All of them, in the order in which they are shown."""


def table() -> str:
    """The settings as a table in Markdown."""
    rows = [f"| `{one.name}` | {one.default} | {one.meaning} |" for one in SETTINGS]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows])
