"""Bounded loops in loops, of each example of `vmap`: the loops around carry what they report.

A check in the body of a loop is of all examples at once, and some of them may be done. So a loop
in the body of another one makes none: whether it would go on is a flag, which the outer one
carries, for each example as long as it goes on itself, and reports in turn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.effects import collecting, depth, keep
from staticgraph.compiler.transforms.effects import check_loop

_of_examples: ContextVar[bool] = ContextVar("examples of vmap", default=False)
_flags: ContextVar[list[tuple[Any, str]] | None] = ContextVar("overruns", default=None)


@contextmanager
def of_examples() -> Iterator[None]:
    """One example of vmap is traced in the block."""
    before, flags = _of_examples.set(True), _flags.set(None)
    try:
        yield
    finally:
        _flags.reset(flags)
        _of_examples.reset(before)


def is_of_examples() -> bool:
    """Whether one example of vmap is traced."""
    return _of_examples.get()


def report(goes_on: Any, text: str) -> None:
    """A bounded loop has ended: an error if it would go on, or a flag of the loop around it."""
    flags = _flags.get()
    if flags is None:
        check_loop(ops.logical_not(goes_on), text)
    else:
        flags.append((goes_on, text))


@contextmanager
def _inside(texts: list[str]) -> Iterator[list[Any]]:
    """What bounded loops report in the block, with `texts`."""
    found: list[tuple[Any, str]] = []
    flags: list[Any] = []
    token = _flags.set(found)
    try:
        yield flags
    finally:
        _flags.reset(token)
        flags += [flag for flag, _ in found]
        texts += [text for _, text in found if text not in texts]


def _any(flags: list[Any]) -> Any:
    found: Any = np.bool_(False)
    for flag in flags:
        found = ops.logical_or(found, flag)
    return found


def _without_flags(run: Callable[[list[str]], Any]) -> tuple[Any, list[str]]:
    """What a loop gives, and what loops in its body report: if they do, it is to be made again."""
    texts: list[str] = []
    with collecting(depth()) as effects:
        found = run(texts)
    if not texts:
        for effect in effects.effects:
            keep(effect)
    return found, texts


def scanned(
    scan: Callable[..., Any], step: Callable[..., Any], init: object, *rest: object
) -> tuple[Any, Any]:
    """`scan(step, init, *rest)`, whose step has no checks of bounded loops."""

    def plain(texts: list[str]) -> Any:
        @functools.wraps(step)
        def noting(carry: Any, x: Any) -> Any:
            with _inside(texts):
                return step(carry, x)

        return scan(noting, init, *rest)

    found, texts = _without_flags(plain)
    if not texts:
        carry, ys = found
        return carry, ys

    @functools.wraps(step)
    def flagged(state: Any, x: Any) -> Any:
        with _inside([]) as flags:
            carry, y = step(state[0], x)
        return (carry, ops.logical_or(state[1], _any(flags))), y

    (carry, flag), ys = scan(flagged, (init, np.bool_(False)), *rest)
    report(flag, "; ".join(texts))
    return carry, ys


def repeated(
    loop: Callable[..., Any], cond: Callable[..., Any], body: Callable[..., Any], init: object,
    *rest: object,
) -> Any:  # fmt: skip
    """`loop(cond, body, init, *rest)`, whose body has no checks of bounded loops."""

    def plain(texts: list[str]) -> Any:
        @functools.wraps(body)
        def noting(carry: Any) -> Any:
            with _inside(texts):
                return body(carry)

        return loop(cond, noting, init, *rest)

    found, texts = _without_flags(plain)
    if not texts:
        return found

    @functools.wraps(body)
    def flagged(state: Any) -> Any:
        with _inside([]) as flags:
            carry = body(state[0])
        return carry, ops.logical_or(state[1], _any(flags))

    carry, flag = loop(lambda state: cond(state[0]), flagged, (init, np.bool_(False)), *rest)
    report(flag, "; ".join(texts))
    return carry


def chosen(
    cond: Callable[..., Any], pred: object, branches: tuple[Callable[..., Any], ...], given: object
) -> Any:
    """`cond(pred, *branches, given)`, whose branches have no checks of bounded loops."""
    texts: list[str] = []

    def flagged(branch: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(branch)
        def run(*operands: Any) -> Any:
            with _inside(texts) as flags:
                found = branch(*operands)
            return found, _any(flags)

        return run

    found, flag = cond(pred, *map(flagged, branches), given)
    if texts:
        report(flag, "; ".join(texts))
    return found
