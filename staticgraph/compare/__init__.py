"""The comparison: the two paradigms, and peers, on the same workloads in one run.

`staticgraph compare` is the way in (`staticgraph.compare.command`), and for a function of the
user's own `compare_functions` too (`own/`). Of `staticgraph` only the command line imports this
package, and nothing else of it imports `dynamic`.

A workload is a module of `workloads/` and a line in its table; a contender is a line in `kinds.py`
and an adapter. Every contender runs in a process of its own (`server.py`, driven by `process.py`);
`race.py` measures them in turn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from staticgraph.compare.own.python import compare_functions as compare_functions

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """`compare_functions`, which imports what measures when it is asked for."""
        if name != "compare_functions":
            raise AttributeError(f"module 'staticgraph.compare' has no attribute {name!r}")
        return import_module("staticgraph.compare.own.python").compare_functions
