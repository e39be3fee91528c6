"""What threads share, and methods that are bound to what changes."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np

from .trap import trap


@trap()
def the_identity_of_a_thread(t: Any) -> Any:
    main = threading.get_ident()
    f = t.capture(lambda x: x * (2.0 if threading.get_ident() == main else 1.0))
    yield f(t.x)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(f(t.x)))
    thread.start()
    thread.join()
    yield found[0]


@trap()
def whether_it_is_the_main_thread(t: Any) -> Any:
    f = t.capture(
        lambda x: x * (2.0 if threading.main_thread().ident == threading.get_ident() else 1.0)
    )
    yield f(t.x)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(f(t.x)))
    thread.start()
    thread.join()
    yield found[0]


@trap()
def how_many_threads_there_are(t: Any) -> Any:
    f = t.capture(lambda x: x * len(threading.enumerate()))
    yield f(t.x)
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        yield f(t.x)
    finally:
        done.set()
        thread.join()


@trap()
def an_event_is_set(t: Any) -> Any:
    event = threading.Event()
    f = t.capture(lambda x: x * (2.0 if event.is_set() else 1.0))
    yield f(t.x)
    event.set()
    yield f(t.x)


@trap()
def whether_a_lock_is_taken(t: Any) -> Any:
    lock = threading.Lock()
    f = t.capture(lambda x: x * (2.0 if lock.locked() else 1.0))
    yield f(t.x)
    with lock:
        y = f(t.x)
    yield y


@trap()
def a_semaphore(t: Any) -> Any:
    one = threading.Semaphore(3)

    def f(x: Any) -> Any:
        return x * (2.0 if one.acquire(blocking=False) else 1.0)

    g = t.capture(f)
    yield [g(t.x) for _ in range(5)]


@trap()
def a_counter_of_itertools(t: Any) -> Any:
    numbers = itertools.count(2)
    f = t.capture(lambda x: x * next(numbers))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_bound_method_of_an_iterator(t: Any) -> Any:
    after = itertools.count(2).__next__
    f = t.capture(lambda x: x * after())
    yield f(t.x)
    yield f(t.x)


@trap()
def a_bound_method_of_a_generator(t: Any) -> Any:
    send = (i for i in [1.0, 2.0, 3.0]).__next__
    f = t.capture(lambda x: x * send())
    yield f(t.x)
    yield f(t.x)


@trap()
def a_bound_method_of_a_list(t: Any) -> Any:
    numbers = [1.0, 2.0, 3.0]
    pop = numbers.pop
    f = t.capture(lambda x: x * pop())
    yield f(t.x)
    yield f(t.x)


@trap()
def a_bound_getter_of_a_dict(t: Any) -> Any:
    numbers = {"k": 2.0}
    get = numbers.get
    f = t.capture(lambda x: x * get("k"))
    yield f(t.x)
    numbers["k"] = 3.0
    yield f(t.x)


@trap()
def a_bound_method_of_an_array(t: Any) -> Any:
    numbers = np.array([1.0, 2.0])
    total = numbers.sum
    f = t.capture(lambda x: x * float(total()))
    yield f(t.x)
    numbers[0] = 5.0
    yield f(t.x)
