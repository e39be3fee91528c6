"""What the measurements ran on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from staticgraph.compare.records import Machine

PACKAGES = ("numpy", "numba", "llvmlite", "networkx")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def this_machine() -> Machine:
    """The machine that this process runs on; what the system does not tell is left out."""
    import staticgraph

    versions = {"python": platform.python_version(), "staticgraph": staticgraph.__version__}
    return Machine(
        processor=_processor(),
        cores=available_cores(),
        caches=_caches(),
        memory=_memory(),
        system=platform.platform(),
        versions=versions | {name: metadata.version(name) for name in PACKAGES},
    )


def available_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string")
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = {name.strip(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    name = found.get("model name", platform.machine())
    model = [f"{key} {found[key]}" for key in ("cpu family", "model", "stepping") if key in found]
    return f"{name} ({', '.join(model)})" if model else name


def _sysctl(name: str) -> str:
    done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=False)
    return done.stdout.strip() or platform.machine()


def _caches() -> dict[str, str]:
    found = {}
    for place in sorted(CACHES.glob("index*")):
        level, kind, size = ((place / key).read_text().strip() for key in ("level", "type", "size"))
        found[f"L{level} {kind.lower()}"] = size
    return found


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
