"""Campaigns: random programs, each way of running them against the others, for hours.

`staticgraph fuzz CAMPAIGN --seeds A:B` is the way in (`staticgraph.fuzz.command`). Only the command
line imports this package.

A campaign (`campaign.py`) is a module with a constant `CAMPAIGN` and a line in `campaigns.py`. Its
programs are plain data, made from a seed. Programs run in processes of their own (`server.py`,
driven by `process.py`), so that a crash or a hang is a failure like any other; what fails is made
small (`shrink.py`) and kept (`failures.py`, `state.py`). `session.py` is a run of the command.
"""
