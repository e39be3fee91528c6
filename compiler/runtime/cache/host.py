"""What code depends on of the machine and of LLVM: told without LLVM where that is possible.

Importing LLVM takes longer than a start from the cache has.
"""

from __future__ import annotations

import os
from pathlib import Path

import llvmlite
from llvmlite.utils import get_library_name

from staticgraph.compiler.core import fork

PROCESSOR = Path("/sys/devices/system/cpu/modalias")
"""Where Linux tells vendor, family, model and every feature, by the numbers of its version."""


def description() -> list[str]:
    """The parts of a text that differs wherever LLVM would make other code.

    Raises:
        OSError: LLVM's library is not where llvmlite looks for it.
    """
    folder = os.path.dirname(llvmlite.__file__)
    library = os.stat(os.path.join(folder, "binding", get_library_name()))
    about = [llvmlite.__version__, f"{library.st_size} {library.st_mtime_ns}"]
    try:
        return [*about, os.uname().machine, os.uname().release, PROCESSOR.read_text()]
    except (OSError, AttributeError):  # another system than Linux
        return [*about, *_by_llvm()]


def _by_llvm() -> list[str]:
    with fork.importing():
        import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return [llvm.get_process_triple(), llvm.get_host_cpu_name(), str(features)]
