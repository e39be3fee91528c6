"""What a program that runs for long does beside computing, written in the emitted language.

Every few instructions, and after each chunk of a long loop, it looks at the clock. Soon it lets go
of the interpreter's lock, so that other threads of Python go on; in the main thread it takes it
back now and then for as long as it takes to see whether a signal came, such as that of Ctrl-C.
What the handler raises ends the program: nothing was updated yet, since from the first instruction
that changes a variable on nothing looks any more.

While a call is without the lock, its variables are held: their words say so, and whoever needs one
of them waits (`compiler.graph.state`). A fork waits for those that are changing variables.
"""

from __future__ import annotations

# Words of one call. SIGNALS and GUARDS are addresses, or 0; UNLOCKS is whether to begin unlocked.
LEFT, SEEN, NOW, THREAD, HELD, CHANGES, SIGNALS, GUARDS, UNLOCKS = 0, 1, 2, 4, 5, 6, 7, 8, 9
LENGTH = 10

# Words of the process, whose addresses `compiler.runtime.signals` fills in; those that threads
# write while others read them are in cache lines of their own.
SAVE, RESTORE, CHECK, IDENT, CLOCK, CLOCK_ID, YIELD, MAIN = range(8)
CHANGING, FORKING = 8, 16
ENSURE, RELEASE, CALL_OBJECT, DROP = range(24, 28)
PROCESS_LENGTH = 28

EVERY = 256  # instructions between looks at the clock: 2 to 10 µs where they are short
UNLOCK_AFTER = 100_000  # ns with the interpreter's lock, to which others may wait 5 ms to come back
SIGNALS_EVERY = 50_000_000  # ns
FOREVER = 1 << 62

INTERRUPTED, BUSY, REJECTED = -3, -2, -1
"""Statuses of a call: a handler of a signal raised; a variable is held; an input does not fit."""

SOURCE = f"""
def hold(watch):
    if watch[{GUARDS}] != 0:
        guards = pointer(watch[{GUARDS}])
        thread = call(pointer(watch[{SIGNALS}])[{IDENT}])
        for i in range(guards[0]):
            word = pointer(guards[1 + i])
            word[0] = thread
    watch[{HELD}] = 1
    return 0


def let_go(watch):
    if watch[{GUARDS}] != 0:
        guards = pointer(watch[{GUARDS}])
        for i in range(guards[0]):
            word = pointer(guards[1 + i])
            word[0] = 0
    watch[{HELD}] = 0
    return 0


def is_busy(guards):
    found = i64(0)
    for i in range(guards[0]):
        word = pointer(guards[1 + i])
        found = found | word[0] | word[1]
    return found


def unlock(watch):
    signals = pointer(watch[{SIGNALS}])
    held = hold(watch)
    watch[{THREAD}] = call(signals[{SAVE}])
    return 0


def look(watch):
    watch[{LEFT}] = {FOREVER}
    if (watch[{SIGNALS}] == 0) | (watch[{CHANGES}] != 0):
        return 0
    signals = pointer(watch[{SIGNALS}])
    if signals[{CLOCK}] == 0:
        return 0
    watch[{LEFT}] = {EVERY}
    read = call(signals[{CLOCK}], signals[{CLOCK_ID}], address(watch, {NOW}))
    now = watch[{NOW}] * 1000000000 + watch[{NOW + 1}]
    if watch[{SEEN}] == 0:
        watch[{SEEN}] = now
    if watch[{THREAD}] == 0:
        if now - watch[{SEEN}] >= {UNLOCK_AFTER}:
            unlocked = unlock(watch)
        return 0
    if now - watch[{SEEN}] < {SIGNALS_EVERY}:
        return 0
    watch[{SEEN}] = now
    if call(signals[{IDENT}]) != signals[{MAIN}]:
        return 0
    locked = call(signals[{RESTORE}], watch[{THREAD}])
    raised = call(signals[{CHECK}]) & 0x7FFFFFFF
    if raised != 0:
        watch[{THREAD}] = 0
        return {INTERRUPTED}
    watch[{THREAD}] = call(signals[{SAVE}])
    return 0


def begin_changes(watch):
    watch[{CHANGES}] = 1
    if watch[{THREAD}] == 0:
        return 0
    signals = pointer(watch[{SIGNALS}])
    changing = atomic_add(signals, {CHANGING}, 1)
    while atomic_load(signals, {FORKING}) != 0:
        changing = atomic_add(signals, {CHANGING}, -1)
        while atomic_load(signals, {FORKING}) != 0:
            yielded = call(signals[{YIELD}])
        changing = atomic_add(signals, {CHANGING}, 1)
    return 0


def finish(watch):
    if (watch[{CHANGES}] != 0) & (watch[{THREAD}] != 0):
        changing = atomic_add(pointer(watch[{SIGNALS}]), {CHANGING}, -1)
    if watch[{THREAD}] != 0:
        locked = call(pointer(watch[{SIGNALS}])[{RESTORE}], watch[{THREAD}])
    if watch[{HELD}] != 0:
        let = let_go(watch)
    return 0
"""
