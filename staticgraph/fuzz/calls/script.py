"""A program as Python that shows the failure."""

from __future__ import annotations

import pprint

from staticgraph.fuzz.campaign import Program


def script(program: Program) -> str:
    """The steps, run by the campaign itself: where each of them is, is plain to see in a debugger.

    `kinds.py` says what the executables are, `feeds.py` and `outs.py` what the forms are.
    """
    steps = pprint.pformat(program["steps"], width=96, sort_dicts=False)
    return (
        "from staticgraph.fuzz.calls.check import do\n"
        "from staticgraph.fuzz.calls.world import first\n\n"
        f"world = first({{'kind': {program['kind']!r}, 'way': {program['way']!r}}})\n"
        f"steps = {steps}\n"
        "for step in steps:\n"
        "    print(step)\n"
        "    do(world, step)\n"
        "    world.check()\n"
    )
