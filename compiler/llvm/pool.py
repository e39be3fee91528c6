"""The threads that share the chunks of a loop: machine code, written in the emitted language.

One loop is shared at a time: whoever finds the pool busy does all chunks alone, in order, with the
same results. A ticket names the loop (its generation) and the next chunk; taking a chunk is one
compare-and-exchange, so a thread that wakes up late takes nothing of a later loop. What a loop is
is read before its ticket, and written only when the ticket of the loop before has been closed: so
what goes with a ticket is never that of the next loop. Waiting threads yield for a short time, for
the next loop mostly comes soon, and then sleep.

Whoever shares a loop looks after each of its chunks whether a signal has come. If it is to stop, it
closes the ticket, counts the chunks that nobody has taken as done, and waits for the others.

Products of matrices are shared in the same way, so the BLAS is told to use one thread as long as a
kernel runs that calls it, and then as many as before: its own threads would compete with these, and
where its sums are divided would depend on their number.

Those threads wait for work for a tenth of a second after a product of NumPy's, and take half of a
core from a thread of the pool meanwhile. So as long as they are awake, which the processor time of
the last of them tells, a loop is shared with them instead, and those of the pool sleep
(`compiler.runtime.borrowing`). What keeps them awake may be our own loops: for a while in every ten
seconds none are borrowed, after which only NumPy's products can have kept them so.

`compiler.runtime.threads` makes the pool's memory and the threads.
"""

from __future__ import annotations

SYMBOL = "staticgraph_work"
BORROWED_SYMBOL = "staticgraph_borrowed"

# Words of the pool; those that threads write are in cache lines of their own.
GENERATION, TICKET, DONE, SLEEPERS, BUSY, STATUS = 0, 8, 16, 24, 32, 40
CHUNKS, STEP, TABLE, OPERANDS, EXTENT, THREADS, WORKERS, LIMIT = 48, 49, 50, 51, 52, 53, 54, 55
LOCK, UNLOCK, WAIT, BROADCAST, YIELD = 56, 57, 58, 59, 60
BLAS_SET, BLAS_GET, BLAS_USERS, BLAS_THREADS = 61, 62, 63, 96
WANTED = 97  # whether anything has asked for threads: from then on, as many wait as are set
MUTEX, CONDITION = 64, 80
# Of the BLAS's threads: what has them call a function, that function, a record for each of them,
# how many there are; the clock of one, when it was looked at, what it showed, and what follows.
BORROW, BORROWED, RECORDS, LENT, CLOCK, THEIRS, CHECKED, SPENT = range(98, 106)
AWAKE, UNTIL, TIME, WATCH, STOPPED, LOOKS, CALLED = 106, 107, 108, 110, 111, 112, 113
LENGTH = 120
RECORD = 2  # words: the pool, and the number of the thread

SPINS = 4000  # yields before a thread sleeps: some 2 ms, for waking it takes up to 0.2
PATIENCE = 300  # before the last chunks of others are waited for with yields
MONOTONIC = 1  # the clock of clock_gettime
RECENT = 1_000_000  # nanoseconds that what was seen of the BLAS's threads holds
SELDOM = 8  # loops, after which it is looked whether they have woken: clocks take up to 2 µs
CERTAIN = 50_000_000  # after which who was awake need not be: they wait for twice as long at least
GLANCE = 50_000  # how long is looked then, at most
BUSY_AFTER = 1_000_000  # until which they begin, unless another thread's product has them
SPAN, REST = 10_000_000_000, 200_000_000  # how long they are borrowed, and then not
TAG = 0x7FFFFFFF  # the bits of a generation that a ticket holds

SOURCE = f"""
def quiet_blas(pool):
    locked = call(pool[{LOCK}], address(pool, {MUTEX}))
    if pool[{BLAS_USERS}] == 0:
        pool[{BLAS_THREADS}] = call(pool[{BLAS_GET}]) & {TAG}
        if pool[{BLAS_THREADS}] != 1:
            done = call(pool[{BLAS_SET}], 1)
    pool[{BLAS_USERS}] = pool[{BLAS_USERS}] + 1
    unlocked = call(pool[{UNLOCK}], address(pool, {MUTEX}))
    return 0


def wake_blas(pool):
    locked = call(pool[{LOCK}], address(pool, {MUTEX}))
    pool[{BLAS_USERS}] = pool[{BLAS_USERS}] - 1
    if (pool[{BLAS_USERS}] == 0) & (pool[{BLAS_THREADS}] != 1):
        done = call(pool[{BLAS_SET}], pool[{BLAS_THREADS}])
    unlocked = call(pool[{UNLOCK}], address(pool, {MUTEX}))
    return 0


def close(pool, chunks):
    while 1 == 1:
        ticket = atomic_load(pool, {TICKET})
        chunk = ticket & {TAG}
        if chunk >= chunks:
            return 0
        if exchange(pool, {TICKET}, ticket, ticket - chunk + {TAG}):
            added = atomic_add(pool, {DONE}, chunks - chunk)
            return 0


def take_chunks(pool, watch, watches):
    generation = atomic_load(pool, {GENERATION}) & {TAG}
    chunks = atomic_load(pool, {CHUNKS})
    step = atomic_load(pool, {STEP})
    table = pointer(atomic_load(pool, {TABLE}))
    operands = pointer(atomic_load(pool, {OPERANDS}))
    extent = atomic_load(pool, {EXTENT})
    while 1 == 1:
        ticket = atomic_load(pool, {TICKET})
        chunk = ticket & {TAG}
        if (ticket >> 32 != generation) | (chunk >= chunks):
            return 0
        if exchange(pool, {TICKET}, ticket, ticket + 1):
            first = chunk * extent // chunks
            last = (chunk + 1) * extent // chunks
            status = call(step, table, operands, first, last, chunk)
            if status != 0:
                atomic_store(pool, {STATUS}, status)
            added = atomic_add(pool, {DONE}, 1)
            if watches != 0:
                stopped = look(watch)
                if stopped != 0:
                    closed = close(pool, chunks)
                    return stopped


def work(pool, number):
    seen = atomic_load(pool, {GENERATION})
    spins = i64(0)
    while 1 == 1:
        while (atomic_load(pool, {GENERATION}) == seen) & (spins < {SPINS}):
            pause()
            yielded = call(pool[{YIELD}])
            spins += 1
        if atomic_load(pool, {GENERATION}) == seen:
            mutex = address(pool, {MUTEX})
            locked = call(pool[{LOCK}], mutex)
            added = atomic_add(pool, {SLEEPERS}, 1)
            while atomic_load(pool, {GENERATION}) == seen:
                woken = call(pool[{WAIT}], address(pool, {CONDITION}), mutex)
            added = atomic_add(pool, {SLEEPERS}, -1)
            unlocked = call(pool[{UNLOCK}], mutex)
            spins = i64(0)
        seen = atomic_load(pool, {GENERATION})
        if number < atomic_load(pool, {THREADS}):
            taken = take_chunks(pool, pool, 0)
            spins = i64(0)


def clock(pool, which):
    failed = call(pool[{CLOCK}], which, address(pool, {TIME})) & {TAG}
    if failed != 0:
        return 0
    return pool[{TIME}] * 1000000000 + pool[{TIME + 1}]


def are_awake(pool):
    if pool[{AWAKE}] == 0:
        pool[{LOOKS}] = pool[{LOOKS}] + 1
        if pool[{LOOKS}] % {SELDOM} != 0:
            return 0
    now = clock(pool, {MONOTONIC})
    pool[{CALLED}] = now
    passed = now - pool[{CHECKED}]
    if passed < {RECENT}:
        return pool[{AWAKE}]
    spent = clock(pool, pool[{THEIRS}])
    if spent == 0:  # they have ended
        pool[{BORROW}] = 0
        return 0
    ran = spent - pool[{SPENT}]
    pool[{CHECKED}] = now
    pool[{SPENT}] = spent
    if (ran > 0) & (passed > {CERTAIN}):
        ran = i64(0)
        while (ran == 0) & (clock(pool, {MONOTONIC}) - now < {GLANCE}):
            ran = clock(pool, pool[{THEIRS}]) - spent
    if (ran > 0) & (now > pool[{UNTIL}] + {REST}):
        pool[{UNTIL}] = now + {SPAN}
    pool[{AWAKE}] = select((ran > 0) & (now < pool[{UNTIL}]), 1, 0)
    return pool[{AWAKE}]


def borrowed(record):
    pool = pointer(record[0])
    if record[1] == 0:  # who called, once the others have something to do
        now = clock(pool, {MONOTONIC})
        if now - pool[{CALLED}] > {BUSY_AFTER}:
            pool[{UNTIL}] = now
            pool[{AWAKE}] = 0
        pool[{STOPPED}] = take_chunks(pool, pointer(pool[{WATCH}]), 1)
    else:
        taken = take_chunks(pool, pool, 0)
    return 0


def alone(program, t, watch):
    chunks = t[program[3]]
    extent = t[program[4]]
    for chunk in range(chunks):
        first = chunk * extent // chunks
        last = (chunk + 1) * extent // chunks
        status = call(program[2], t, offset(program, 6), first, last, chunk)
        if status != 0:
            return status
        if chunks > 1:
            status = look(watch)
            if status != 0:
                return status
    return 0


def share(program, t, watch):
    chunks = t[program[3]]
    if (chunks == 1) | (t[program[5]] == 0):
        return alone(program, t, watch)
    pool = pointer(t[program[5]])
    threads = t[program[5] + 1]
    threads = select(threads == 0, pool[{LIMIT}], threads)
    if (pool[{WORKERS}] == 0) | (threads == 1):
        return alone(program, t, watch)
    if exchange(pool, {BUSY}, 0, 1) == 0:
        return alone(program, t, watch)
    borrows = i64(0)
    if (pool[{BORROW}] != 0) & (pool[{LENT}] >= threads):
        borrows = are_awake(pool)
    generation = atomic_load(pool, {GENERATION}) + 1
    atomic_store(pool, {TICKET}, ((generation & {TAG}) << 32) + {TAG})
    atomic_store(pool, {CHUNKS}, chunks)
    atomic_store(pool, {STEP}, program[2])
    atomic_store(pool, {TABLE}, address(t, 0))
    atomic_store(pool, {OPERANDS}, address(program, 6))
    atomic_store(pool, {EXTENT}, t[program[4]])
    atomic_store(pool, {THREADS}, select(borrows == 0, threads, 1))
    atomic_store(pool, {STATUS}, 0)
    atomic_store(pool, {DONE}, 0)
    atomic_store(pool, {TICKET}, (generation & {TAG}) << 32)
    atomic_store(pool, {GENERATION}, generation)
    stopped = i64(0)
    if borrows != 0:
        pool[{WATCH}] = address(watch, 0)
        called = call(pool[{BORROW}], threads, pool[{BORROWED}], pool[{RECORDS}], {8 * RECORD})
        stopped = pool[{STOPPED}]
    else:
        if atomic_load(pool, {SLEEPERS}) > 0:
            mutex = address(pool, {MUTEX})
            locked = call(pool[{LOCK}], mutex)
            woken = call(pool[{BROADCAST}], address(pool, {CONDITION}))
            unlocked = call(pool[{UNLOCK}], mutex)
        stopped = take_chunks(pool, watch, 1)
    spins = i64(0)
    while atomic_load(pool, {DONE}) < chunks:
        pause()
        spins += 1
        if spins > {PATIENCE}:
            yielded = call(pool[{YIELD}])
    if spins > {PATIENCE}:  # another thread was held up: see what by
        pool[{LOOKS}] = {SELDOM} - 1
    status = atomic_load(pool, {STATUS})
    atomic_store(pool, {BUSY}, 0)
    if stopped != 0:
        return stopped
    if status != 0:  # the same index is reported however many threads there were
        return alone(program, t, watch)
    return 0
"""
