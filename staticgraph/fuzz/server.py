"""A worker, driven by lines of JSON: `python -m staticgraph.fuzz.server MODULE SECONDS BYTES IDLE`.

It answers each line that it reads, {"seed": n, "mode": name} or {"program": program}, with
{"failure": text or null, "memory": resident bytes, "reached": coverage}. One that
takes longer than SECONDS writes where it is to standard error, shortly before it is killed. BYTES
is the limit of its address space, or 0.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
import traceback
import warnings
from collections.abc import Mapping
from typing import Any

from staticgraph.fuzz import coverage
from staticgraph.fuzz.campaign import Campaign, load

EARLIER = 0.9  # of the seconds: when a hanging program says where it is
SHOWN = 8  # frames of an exception


def run(campaign: Campaign, order: Mapping[str, Any]) -> str | None:
    """What is wrong with the program of an order."""
    try:
        program = order.get("program")
        if program is None:
            program = {**campaign.generate(order["seed"]), "mode": order["mode"]}
        return campaign.check(program)
    except Exception as error:
        first = f"{type(error).__name__}: {error}"
        return first + "\n" + "".join(traceback.format_exception(error, limit=-SHOWN))


def resident() -> int:
    """The resident memory of this process, in bytes."""
    try:
        with open("/proc/self/statm") as pages:
            return int(pages.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: the peak, in bytes


def be_idle() -> None:
    """Run only when nothing else wants to, as far as the system can."""
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(19)


def main() -> None:
    """Keep standard output for the answers, whatever a program prints there."""
    module, seconds, most, idle = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if int(idle):
        be_idle()
    if int(most):
        resource.setrlimit(resource.RLIMIT_AS, (int(most), int(most)))
    faulthandler.enable()
    warnings.simplefilter("ignore")
    campaign = load(module)
    answers.write("{}\n")
    answers.flush()
    for line in sys.stdin:
        faulthandler.dump_traceback_later(float(seconds) * EARLIER)
        failure = run(campaign, json.loads(line))
        faulthandler.cancel_dump_traceback_later()
        answer = {"failure": failure, "memory": resident(), "reached": coverage.taken()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
