"""Totals, counters and histories that a step of tensors keeps from call to call."""

from __future__ import annotations

import math
from typing import Any

from .trap import TENSORS, trap

STEPS = 0


def _calls(f: Any, x: Any, state: Any) -> Any:
    for k in range(1, 4):
        yield f(x * k), state()


@trap(*TENSORS)
def a_list_that_is_read_as_well(t: Any) -> Any:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x.sum().item())
        return x * len(seen)

    yield from _calls(t.capture(f), t.x, lambda: list(seen))


@trap(*TENSORS)
def a_counter_that_decides(t: Any) -> Any:
    state = {"n": 0}

    def f(x: Any) -> Any:
        state["n"] += 1
        return x * 10 if state["n"] % 2 == 0 else x

    yield from _calls(t.capture(f), t.x, lambda: state["n"])


@trap(*TENSORS)
def an_average_that_is_used(t: Any) -> Any:
    state = {"n": 0, "mean": 0.0}

    def f(x: Any) -> Any:
        state["n"] += x.shape[0]
        state["mean"] = 0.9 * state["mean"] + 0.1 * x.sum().item()
        return x * state["mean"]

    yield from _calls(t.capture(f), t.x, lambda: dict(state))


@trap(*TENSORS)
def tensors_in_a_history(t: Any) -> Any:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        y = x * 2
        kept.append((y.detach(), {"largest": y.max().item()}))
        return x.sum()

    yield from _calls(t.capture(f), t.x, lambda: list(kept))


@trap(*TENSORS)
def a_result_in_a_history(t: Any) -> Any:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        y = x * 2
        kept.append(y)
        return y

    f = t.capture(f)
    y = f(t.x)
    y.add_(1.0)
    yield y, kept[0]


@trap(*TENSORS)
def an_argument_in_a_history(t: Any) -> Any:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x)
        return x * 2

    g, x = t.capture(f), t.x
    yield g(x)
    x.add_(1.0)
    yield kept[0]


@trap(*TENSORS)
def a_counter_as_a_size(t: Any) -> Any:
    state = {"n": 0}

    def f(x: Any) -> Any:
        state["n"] += 1
        return x.repeat(state["n"])

    yield from _calls(t.capture(f), t.x, lambda: state["n"])


@trap(*TENSORS)
def a_counter_in_a_text(t: Any) -> Any:
    state = {"n": 0}

    def f(x: Any) -> Any:
        state["n"] += 1
        return x * len(str(state["n"]))

    yield from _calls(t.capture(f), t.x, lambda: state["n"])


@trap(*TENSORS)
def a_counter_before_an_error(t: Any) -> Any:
    state = {"n": 0}

    def f(x: Any) -> Any:
        state["n"] += 1
        if x.sum() > 3:
            raise ValueError("large")
        return x * 1

    g = t.capture(f)
    yield g(t.x), state["n"]
    try:
        g(t.x * 2)
    except ValueError:
        yield "an error", state["n"]


@trap(*TENSORS)
def a_history_on_one_side(t: Any) -> Any:
    seen: list[Any] = []
    state = {"n": 0}

    def f(x: Any) -> Any:
        if x.sum() > 3:
            state["n"] += 1
            seen.append(x.max().item())
        return x * 1

    yield from _calls(t.capture(f), t.x, lambda: (state["n"], list(seen)))


@trap(*TENSORS)
def a_total_becomes_a_tensor(t: Any) -> Any:
    state = {"total": 0.0}

    def f(x: Any) -> Any:
        state["total"] = state["total"] + x.sum()
        return x * 1

    yield from _calls(t.capture(f), t.x, lambda: state["total"])


@trap(*TENSORS)
def a_total_is_added_to_in_place(t: Any) -> Any:
    state = {"total": 0.0}

    def f(x: Any) -> Any:
        state["total"] += x.sum()
        return x * 1

    yield from _calls(t.capture(f), t.x, lambda: state["total"] * 1)


@trap(*TENSORS)
def what_was_there_before_is_kept_elsewhere(t: Any) -> Any:
    state = {"now": 1, "before": 0.0}

    def f(x: Any) -> Any:
        before = state["now"]
        state["now"] = before + 1
        state["before"] = before * 2.0
        return x * before

    yield from _calls(t.capture(f), t.x, lambda: dict(state))


@trap(*TENSORS)
def a_global_counts(t: Any) -> Any:
    globals()["STEPS"] = 0

    def f(x: Any) -> Any:
        global STEPS  # noqa: PLW0603
        STEPS += 1
        return x / STEPS

    yield from _calls(t.capture(f), t.x, lambda: STEPS)


@trap(*TENSORS)
def a_slot_counts(t: Any) -> Any:
    class Counter:
        __slots__ = ("n",)

    counter = Counter()
    counter.n = 0

    def f(x: Any) -> Any:
        counter.n += 1
        return x * counter.n

    yield from _calls(t.capture(f), t.x, lambda: counter.n)


@trap(*TENSORS)
def a_history_is_exchanged(t: Any) -> Any:
    history: dict[str, Any] = {"loss": []}

    def f(x: Any) -> Any:
        history["loss"].append(x.sum().item())
        return x * 1

    f = t.capture(f)
    yield f(t.x), history["loss"]
    history["loss"] = []
    yield f(t.x), history["loss"]
    yield f(t.x * 2), history["loss"]


@trap(*TENSORS)
def a_counter_is_set_outside(t: Any) -> Any:
    state: dict[str, Any] = {"n": 0}

    def f(x: Any) -> Any:
        state["n"] += 1
        return x * state["n"]

    f = t.capture(f)
    for start in (0, 5, 2.5, 7):
        state["n"] = start
        yield f(t.x), state["n"]


@trap(*TENSORS)
def the_least_so_far(t: Any) -> Any:
    best = math.inf

    def f(x: Any) -> Any:
        nonlocal best
        loss = x.sum().item()
        if loss < best:
            best = loss
        return x - best

    f = t.capture(f)
    for k in (3, 1, 2):
        yield f(t.x * k), best


@trap(*TENSORS)
def a_number_of_a_call_by_two_names(t: Any) -> Any:
    def f(x: Any, k: float) -> Any:
        before = k
        k += 1
        total = x.sum().item()
        also = total
        total *= 3
        return x * before + also

    yield t.capture(f)(t.x, 2.0)
