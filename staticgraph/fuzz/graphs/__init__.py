"""The campaign `graphs`: random graphs, compiled, interpreted, eager, and in plain NumPy."""

from staticgraph.fuzz.campaign import Campaign
from staticgraph.fuzz.graphs.check import check
from staticgraph.fuzz.graphs.generate import generate
from staticgraph.fuzz.graphs.program import mend
from staticgraph.fuzz.graphs.script import script
from staticgraph.fuzz.graphs.simplify import simplify

CAMPAIGN = Campaign(
    title="random graphs: compiled, interpreted, eager, and NumPy written again",
    generate=generate,
    check=check,
    script=script,
    mend=mend,
    simplify=simplify,
    modes=("compiled", "interpreted"),
    seconds=120.0,
)
