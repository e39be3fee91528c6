"""The comparison: the two paradigms, and peers, on the same workloads in one run.

`staticgraph compare` is the way in (`staticgraph.compare.command`). Only the command line imports
this package, and nothing else of `staticgraph` imports `dynamic`.

A workload is a module of `workloads/` and a line in its table; a contender is a line in `kinds.py`
and an adapter. Every contender runs in a process of its own (`server.py`, driven by `process.py`);
`race.py` measures them in turn.
"""

INTERRUPTED = 130
"""What a command returns that Ctrl-C ended."""
