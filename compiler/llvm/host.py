"""Host steps in the emitted language: a call of a Python object in the middle of a program.

A table has two words for a step: the address of the object (`compiler.runtime.host`), and that of
the words of the process. The program may be without the interpreter's lock; what the object raises
stays set in the thread's state, where whoever called the program finds it.
"""

from __future__ import annotations

from staticgraph.compiler.llvm import watch

SOURCE = f"""
def host(t, at):
    process = pointer(t[at + 1])
    state = call(process[{watch.ENSURE}], 0)  # which takes nothing
    result = call(process[{watch.CALL_OBJECT}], t[at])
    if result != 0:
        dropped = call(process[{watch.DROP}], result)
    released = call(process[{watch.RELEASE}], state)
    return select(result == 0, {watch.INTERRUPTED}, 0)
"""
