"""The campaign `eager`: random programs on tensors, against PyTorch and a simulation of memory."""

from staticgraph.fuzz.campaign import Campaign
from staticgraph.fuzz.eager.check import check
from staticgraph.fuzz.eager.generate import generate
from staticgraph.fuzz.eager.program import mend
from staticgraph.fuzz.eager.script import script
from staticgraph.fuzz.eager.simplify import simplify

CAMPAIGN = Campaign(
    title="random programs on tensors: views, in-place ops, hooks, as PyTorch runs them",
    generate=generate,
    check=check,
    script=script,
    mend=mend,
    simplify=simplify,
    modes=("results", "names"),
    seconds=60.0,
)
