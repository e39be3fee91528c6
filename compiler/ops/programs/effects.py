"""Ops with an effect: they show values, or stop the run.

All other ops are pure: equal ones are one, and what nothing reads is dropped. These take and give
a *token*, int64[depth], which nothing else gives: so each is computed once, in the order of the
tokens. Its elements, but for the first, count the iterations of the loops around.
"""

from __future__ import annotations

import string
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler.core.errors import CheckError, DTypeError, GraphError, OptionError
from staticgraph.compiler.core.lowering import Alias, Host
from staticgraph.compiler.core.messages import Fields, filled
from staticgraph.compiler.core.op import Op, register
from staticgraph.compiler.core.raised import Raised, error_of
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.core.user_text import UserText
from staticgraph.compiler.ops.batching import first_of_all


def user_text(name: str, text: object, count: int) -> UserText:
    """The text as an attribute; OptionError unless it is a format of so many values, or of none.

    Fields are `{}` or `{0}`, with a format such as `{:.3f}`: what else Python's formats can do,
    such as to look up attributes, they do not.
    """
    if not isinstance(text, str):
        raise OptionError(f"{name}: the text is a string, not {text!r:.80}")
    try:
        fields = _fields(text)
    except ValueError as error:
        raise OptionError(f"{name}: {text!r:.80} is no format: {error}") from None
    for field, spec in fields:
        if not (field == "" or field.isdigit()) or "{" in spec:
            raise OptionError(
                f"{name}: the field {{{field}}} of {text!r:.80}: a field is {{}} or {{0}}, with a "
                "format such as {:.3f}"
            )
    named = [int(field) for field, _ in fields if field]
    if named and len(named) < len(fields):
        raise OptionError(f"{name}: {text!r:.80} has fields with numbers, and without")
    if fields and (max(named) >= count if named else len(fields) != count):
        raise OptionError(f"{name}: {text!r:.80} has {len(fields)} fields for {count} values")
    return UserText(text)


def _fields(text: str) -> list[tuple[str, str]]:
    parsed = string.Formatter().parse(text)
    return [(field, spec or "") for _, field, spec, _ in parsed if field is not None]


def formatted(text: str, values: Sequence[Any]) -> str:
    """A text with its fields filled; without fields, the values follow it."""
    plain = [value[()] if isinstance(value, np.ndarray) else value for value in values]
    parts = []
    at = 0
    for literal, field, spec, _ in string.Formatter().parse(text):
        parts.append(literal)
        if field is not None:
            parts.append(_shown(plain[int(field) if field else at], spec or ""))
            at += 1
    if not at:
        parts += [f" {_shown(value, '')}" for value in plain]
    return "".join(parts)


def _shown(value: object, spec: str) -> str:
    if isinstance(value, np.ndarray):
        if spec:
            return np.array2string(value, formatter={"all": lambda one: _one(one, spec)})
        return np.array2string(value)
    return _one(value, spec)


def _one(value: object, spec: str) -> str:
    try:
        return format(value, spec) if spec else str(value)
    except (TypeError, ValueError):  # a format for numbers of another kind
        return str(value)


def _iteration(token: Any, batched: bool) -> str:
    """Where in loops, and of what, for a message."""
    counts = [str(int(count)) for count in token[1:]]
    loops = [f"iteration {', '.join(counts)}"] if counts else []
    said = [*loops, *(["all examples of vmap"] if batched else [])]
    return f" ({', '.join(said)})" if said else ""


_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)


@contextmanager
def quiet(when: bool = True) -> Iterator[None]:
    """Nothing is printed inside the block: a call is run again, or many times to be measured."""
    token = _is_quiet.set(when or _is_quiet.get())
    try:
        yield
    finally:
        _is_quiet.reset(token)


def is_quiet() -> bool:
    """Whether a call is run again, or to be measured."""
    return _is_quiet.get()


def _show(token: object, *values: object, text: UserText, batched: bool, place: int) -> Any:
    if _is_quiet.get():
        return np.array(token)
    sys.stdout.write(f"{formatted(text.text, values)}{_iteration(token, batched)}\n")
    return np.array(token)


def _require(
    token: object, holds: object, *values: object, text: UserText, batched: bool, place: int
) -> Any:
    held = np.asarray(holds)
    if held.dtype.kind != "b":
        raise _no_bool(f"{held.dtype}{list(held.shape)}")
    if not held.all():
        raise CheckError(f"check: {formatted(text.text, values)}{_iteration(token, batched)}")
    return np.array(token)


def _fail(
    token: object,
    holds: object,
    *values: object,
    error: Raised,
    expected: bool,
    batched: bool,
    place: int,
    drawn: int = 0,
    fields: Fields = (),
) -> Any:
    if not np.all(np.asarray(holds) == expected):
        made = error_of(filled(error, fields, [np.asarray(one) for one in values]))
        made.drawn = drawn  # type: ignore[attr-defined]
        raise made
    return np.array(token)


def _fail_type(
    token: TensorType, holds: TensorType, *values: TensorType, **attrs: object
) -> TensorType:
    return token


def _no_bool(found: object) -> DTypeError:
    return DTypeError(f"check: the condition is {found}, not bool: compare it with something")


def _show_type(token: TensorType, *values: object, text: UserText, **attrs: object) -> TensorType:
    user_text("print", text.text, len(values))
    return token


def _require_type(
    token: TensorType, holds: TensorType, *values: object, text: UserText, **attrs: object
) -> TensorType:
    user_text("check", text.text, len(values))
    if holds.dtype.kind != "b":
        raise _no_bool(holds)
    return token


def _refuse_batches(op: Op, *args: object) -> NoReturn:
    raise GraphError(
        f"vmap: {op.name} inside a loop, a branch or an eager vmap: it would be of each example: "
        f"{op.name} the results outside of it"
    )


print = register(
    Op(
        name="print",
        infer_type=_show_type,
        evaluate=_show,
        batching=_refuse_batches,
        lowering=Host(),
        complex="any",
        doc="The token; the values are written to stdout.",
    )
)

check = register(
    Op(
        name="check",
        infer_type=_require_type,
        evaluate=_require,
        batching=_refuse_batches,
        lowering=Host(),
        complex="any",
        doc="The token; CheckError unless the condition holds, of an array in all places.",
    )
)

fail = register(
    Op(
        name="fail",
        infer_type=_fail_type,
        evaluate=_fail,
        batching=_refuse_batches,
        lowering=Host(),
        doc="The token; an error of the user's unless the condition is `expected`, in all places.",
    )
)

EFFECTS = (print, check, fail)
"""The ops with an effect."""


def _first(x: object, *others: object) -> Any:
    return x


after = register(
    Op(
        name="after",
        infer_type=_first,
        evaluate=_first,
        vjp=(lambda g, o, x, *others: g,),
        saves=("",),
        batching=first_of_all,
        lowering=Alias(),
        exact=True,
        complex="any",
        doc="x, when the others have been computed.",
    )
)
