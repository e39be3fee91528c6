"""The campaign `capture`: the same function eagerly, and captured by `sg.function`.

A program is a function of tensors, whose steps apply anything public of `dynamic`. The captured one
has the same results, gradients and effects, or a refusal that names the line.
"""

from staticgraph.fuzz.campaign import Campaign
from staticgraph.fuzz.capture.arguments import APART, NAMES
from staticgraph.fuzz.capture.check import OUTCOMES, check
from staticgraph.fuzz.capture.generate import generate
from staticgraph.fuzz.capture.program import mend, script
from staticgraph.fuzz.capture.simplify import simplify
from staticgraph.fuzz.coverage import report

CAMPAIGN = Campaign(
    title="functions of tensors, eagerly and captured: the same, or refused at a line",
    generate=generate,
    check=check,
    script=script,
    mend=mend,
    simplify=simplify,
    modes=("compiled", "debug"),
    seconds=60.0,
    coverage=lambda coverage: report(coverage, NAMES, OUTCOMES, APART),
)
