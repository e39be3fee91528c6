"""The campaign `calls`: whatever executables are given, they give what they must.

Programs are a few executables (`kinds.py`) and steps: calls with feeds and arrays for results of
every kind, copies, assignments, threads, forks, interrupts. Plain Python and NumPy (`world.py`) say
after each step what every result and variable is, or that an error comes and nothing has changed.
"""

from staticgraph.fuzz.calls.check import check
from staticgraph.fuzz.calls.generate import generate
from staticgraph.fuzz.calls.script import script
from staticgraph.fuzz.calls.simplify import simplify
from staticgraph.fuzz.campaign import Campaign

CAMPAIGN = Campaign(
    title="calls: feeds, out=, copies, threads, forks and interrupts, against plain Python",
    generate=generate,
    check=check,
    script=script,
    simplify=simplify,
    seconds=60.0,
)
