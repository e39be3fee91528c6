"""Files of what a graph becomes on its way to machine code, where STATICGRAPH_DUMP asks for them.

Each graph that is compiled has a folder of its own in STATICGRAPH_DUMP_DIR, named by the number of
the process and a count.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.settings import DUMP, DUMP_DIR
from staticgraph.compiler.graph.definition import Definition

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.kernel import Kernel

FORMS = ("ir", "source", "llvm", "asm")
wanted = DUMP.listed(FORMS)
"""The forms that are asked for."""
_counted = itertools.count()


def dump(name: str, graph: Definition, kernel: Kernel) -> Path:
    """Write the forms of a kernel; the folder that they are in.

    Raises:
        OptionError: the folder cannot be made.
    """
    from staticgraph.compiler.codegen.listing import listing
    from staticgraph.compiler.graph.definition import to_text
    from staticgraph.compiler.llvm.native import assembly

    folder = Path(DUMP_DIR.given or "staticgraph_dump") / f"{os.getpid()}-{next(_counted)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{DUMP_DIR.name}: {folder} cannot be made: {error.strerror}") from None
    texts = {"name.txt": f"{name}\n"}
    if "ir" in wanted:
        texts["graph.txt"] = to_text(graph)
    if "source" in wanted:
        texts["kernel.py"] = listing(kernel)
    if kernel.units and wanted & {"llvm", "asm"}:
        llvm, asm = assembly(kernel.units)
        texts |= {"kernel.ll": llvm} if "llvm" in wanted else {}
        texts |= {"kernel.s": asm} if "asm" in wanted else {}
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder
