"""What runs a call again whose kinds of arguments, and surroundings, are those of one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import DTypeError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.tracing.calls import NUMBERS, Call
from staticgraph.tracing.checks import guarded
from staticgraph.tracing.guards import Guards, Read, kind_of, reads_of_kind
from staticgraph.tracing.modules import ModuleTensors
from staticgraph.tracing.words import with_words


def repeated(
    call: Call,
    kind: Any,
    count: int,
    tensors: ModuleTensors | None,
    known: object,
    otherwise: Callable[..., Any],
) -> Callable[..., Any]:
    """The function of `count` arrays or tensors that is `call` on them, with what it checks.

    Args:
        call: what served the call before.
        kind: the class of tensors that it is on, or None.
        tensors: those of the function's own modules, if it has any.
        known: a function whose code is compared already.
        otherwise: what runs a call that something has changed for.
    """
    reads = call.around.guards.reads
    run = call.direct(kind)
    if tensors is not None:
        reads = Guards([*reads, *tensors.reads()]).reads
    if call.around.kept.numbers:
        run = _with_kept(call, run, otherwise)
    with_own = tensors is not None or (call.effects is not None and bool(call.effects.lifted))
    if with_own:
        run = _with_tensors(call, kind, run, otherwise)
    if not call.steady:
        asked, others = _asked(call, count)
        reads = [*reads, *asked]
        if others or call.effects.recording is not None:
            run = _fitting(call, others, run, otherwise)
    lifted = () if call.effects is None else call.effects.lifted
    reads = [*reads, *_of_kinds([*call.own, *lifted], reads)]
    reads = [one for one in reads if one.kind != "code" or one.owner is not known]
    reads = with_words(reads, call.versions)
    own = [] if with_own else call.own
    return guarded(reads, count, run, otherwise, own) if reads else run


def _of_kinds(tensors: Sequence[object], reads: Sequence[Read]) -> list[Read]:
    """That operands of the surroundings are of the kinds that they were, unless that is read."""
    known = {id(one.owner) for one in reads if one.key is kind_of}
    others = [x for x in tensors if isinstance(x, Operand) and id(x) not in known]
    return [read for one in others for read in reads_of_kind(one, "a tensor", "?")]


def _with_tensors(
    call: Call, kind: Any, direct: Callable[..., Any], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """The call with tensors of modules and arrays behind its arguments; tensors may be others."""
    own = call.own

    def run(*args: object) -> Any:
        try:
            return call.run(None, [*args, *own]) if kind is None else direct(*args, *own)
        except (DTypeError, ShapeError):
            if call.effects is not None and call.effects.breaks:
                raise  # an optimizer may have made its step: not twice
            # a tensor got another dtype or shape, or the error comes again
            return otherwise(*args)

    return run


def _with_kept(
    call: Call, run: Callable[..., Any], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """The call with the numbers that it changes as they are, behind all else."""
    kept = call.around.kept
    kinds = [_kind_of(one) for one in kept.current()]

    def chosen(*args: object) -> Any:
        now = kept.current()
        if [_kind_of(one) for one in now] != kinds:
            return otherwise(*args)
        values = [np.asarray(x, NUMBERS[type(x)]) if type(x) in NUMBERS else x for x in now]
        return run(*args[: len(args) - len(values)], *values)

    return chosen


def _kind_of(value: Any) -> object:
    """The type of a number; the dtype and shape of a tensor."""
    return type(value) if type(value) in NUMBERS else (type(value), value.dtype, value.shape)


def _asked(call: Call, count: int) -> tuple[list[Read], frozenset[int]]:
    """What the function asked of tensors that are the same in each call, and the places of the
    other operands of which it asked something.
    """
    effects, kept = call.effects, len(call.around.kept.current())
    fixed = effects.fixed(call.own[: len(call.own) - kept], count)
    reads = [
        Read("state", fixed[i], question, answer, "what was asked of a tensor", "?")
        for (question, i), answer in effects.asked.items()
        if i in fixed
    ]
    return reads, frozenset(i for _, i in effects.asked if i not in fixed)


def _fitting(
    call: Call, places: frozenset[int], run: Callable[..., Any], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """The call, if what the function asked of operands in these places, and modes, holds for it."""
    fits, own = call.effects.fits_given, call.own

    def chosen(*args: object) -> Any:
        given = [*args, *own] if places else ()
        return run(*args) if fits(given, places) else otherwise(*args)

    return chosen
