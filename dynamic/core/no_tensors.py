"""What functions of tensors say of something else: TypeErrors in their own name, as PyTorch's.

Nothing is looked at before a function fails, so that calls with tensors are as fast as without.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from inspect import CO_VARARGS
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.overrides import OverriddenError, answer, asking
from staticgraph.compiler.core.passing import passed, passing
from staticgraph.compiler.core.whose_code import is_of_library, is_own
from staticgraph.dynamic.core.argument_kinds import wrong_argument
from staticgraph.dynamic.core.errors import (
    ArgumentError,
    ComplexArgumentError,
    RefusedError,
    has_pytorchs_class,
    in_pytorchs_class,
)
from staticgraph.dynamic.core.keyword_kinds import Keywords
from staticgraph.dynamic.core.named_operands import NUMPYS, in_pytorchs_words
from staticgraph.dynamic.core.older_forms import in_newer_form


def refuse(name: str, value: object, argument: str = "input") -> NoReturn:
    """TypeError for a first argument that is no tensor, or no sequence of tensors."""
    if argument == "tensors" and isinstance(value, list | tuple):
        place, found = next((i, one) for i, one in enumerate(value) if not _is_tensor(one))
        raise ArgumentError(
            f"{name}(): expected Tensor as element {place} in argument 0, but got "
            f"{type(found).__name__}"
        ) from None
    wanted = "tuple of Tensors" if argument == "tensors" else "Tensor"
    raise ArgumentError(
        f"{name}(): argument '{argument}' (position 1) must be {wanted}, not {type(value).__name__}"
    ) from None


def _is_tensor(value: object) -> bool:
    return isinstance(value, Operand)


def refuse_others(
    name: str,
    function: Callable[..., object],
    args: Sequence[object],
    options: Mapping[str, object],
    error: Exception,
) -> None:
    """TypeError where a function failed because its first argument is no tensor."""
    argument = next(iter(inspect.signature(function).parameters), "input")
    argument = argument if argument in ("tensors", "input") else "input"
    value = args[0] if args else options.get(argument)
    if _is_tensor(value) or (isinstance(value, list | tuple) and all(map(_is_tensor, value))):
        return
    if isinstance(error, StaticGraphError) and isinstance(error, TypeError) and name in str(error):
        return
    unusable = value is None or isinstance(value, str)
    bare = isinstance(error, AttributeError | TypeError)
    if unusable or (bare and isinstance(value, list | tuple | np.ndarray)):
        refuse(name, value, argument)


_NUMPYS = frozenset(NUMPYS)


def of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which says in its own name that its first argument must be a tensor."""
    name = function.__name__
    keywords = Keywords(name, function)

    @functools.wraps(function)
    def named(*args: object, **options: object) -> Any:
        if passing and (said := passed(named, args, options)) is not None:
            return said[0]
        if options and not _NUMPYS.isdisjoint(options):
            options = in_pytorchs_words(function, options)
        try:
            if options:
                keywords.refuse(options)
            return function(*args, **options)
        except Exception as error:
            if (found := answer(named, args, options)) is not None:
                return found[0]
            if (newer := in_newer_form(name, args, options)) is not None:
                return named(*newer[0], **newer[1])
            if isinstance(error, OverriddenError):
                raise
            if args or options:
                refuse_kinds(name, function, args, options, error)
                refuse_others(name, function, args, options, error)
                refuse_combination(name, args, options, error)
            raise

    return asking(named)


def of_kinds(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """`function`, which says in its own name, or another, which argument is of a wrong kind."""
    name = name or function.__name__
    keywords = Keywords(name, function)

    @functools.wraps(function)
    def named(*args: object, **options: object) -> Any:
        if passing and (said := passed(named, args, options)) is not None:
            return said[0]
        try:
            if options:
                keywords.refuse(options)
            return function(*args, **options)
        except Exception as error:
            if (found := answer(named, args, options)) is not None:
                return found[0]
            if (newer := in_newer_form(name, args, options)) is not None:
                return named(*newer[0], **newer[1])
            if isinstance(error, OverriddenError):
                raise
            refuse_kinds(name, function, args, options, error)
            refuse_combination(name, args, options, error)
            raise

    return asking(named)


def refuse_kinds(
    name: str,
    function: Callable[..., object],
    args: Sequence[object],
    options: Mapping[str, object],
    error: Exception,
    method: bool = False,
) -> None:
    """TypeError where a call failed and an argument is of another kind than PyTorch takes.

    An error that says so already, in this package's words, is left as it is.
    """
    if isinstance(error, TypeError) and _NO_REAL.search(str(error)):
        raise ComplexArgumentError(str(error)) from None
    if isinstance(error, TypeError) and _says_so(name, str(error)):
        return
    if isinstance(error, TypeError) and "got an unexpected keyword argument" in str(error):
        return  # there is no such argument, of whatever kind
    said = wrong_argument(name, function, args, options, method)
    if said is not None:
        try:
            raise said from None
        finally:
            del said  # or it would keep this frame, and the operands, until a collection
    if isinstance(error, StaticGraphError) and _NO_NUMBER.match(str(error)):
        shown = args[1:] if method else args
        tensors = any(map(_is_tensor, (*shown[1 - method :], *options.values())))
        if tensors and _is_ours(error.__traceback__, 1):
            raise ArgumentError(_combination(name, shown, options)) from None
    refuse_values(name, error)


def refuse_options(name: str, options: Mapping[str, object]) -> None:
    """TypeError for keywords that a constructor does not take."""
    if options:
        raise ArgumentError(f"{name}() takes no keyword arguments, but got {[*options]}")


def refuse_values(name: str, error: Exception) -> None:
    """RuntimeError, as PyTorch's, for values that the shared library or NumPy refused.

    What this package itself raises has PyTorch's class already.
    """
    if type(error) is ValueError and _is_ours(error.__traceback__):
        raise RefusedError(f"{name}(): {error}") from None
    file = _files(error.__traceback__)[-1:]
    if file and is_of_library(file[0]) and has_pytorchs_class(error):
        raise in_pytorchs_class(error) from None


def _says_so(name: str, text: str) -> bool:
    """Whether a text names a function and what it got."""
    own = re.search(rf"\b{re.escape(name.rstrip('_'))}_?\b", text)
    return own is not None and ("must be" in text or "expected Tensor as element" in text)


def refuse_combination(
    name: str, args: Sequence[object], options: Mapping[str, object], error: Exception
) -> None:
    """TypeError with the kinds of all arguments, where Python's words are of this package's code.

    What a user's own code raises, below a call, is left as it is.
    """
    if isinstance(error, StaticGraphError) or not isinstance(error, _BARE):
        return
    own = re.match(r"(\w+\.)+(\w+\(\).*)", str(error))
    if own and isinstance(error, TypeError):  # of a method of a class that Tensor inherits from
        raise ArgumentError(own.group(2)) from None
    if re.match(r"[\w.<>]+\(\)", str(error)) or not _is_ours(error.__traceback__):
        return
    raise ArgumentError(_combination(name, args, options)) from error


def _combination(name: str, args: Sequence[object], options: Mapping[str, object]) -> str:
    given = [_kind(one) for one in args] + [f"{key}={_kind(one)}" for key, one in options.items()]
    return f"{name}() received an invalid combination of arguments - got ({', '.join(given)})"


_NO_REAL = re.compile(r"must be (float|Number), not complex")
_NO_NUMBER = re.compile(
    r"Boolean value of Tensor with|only one element tensors can be|a Tensor with \d+ elements can"
)
"""What a tensor says where it is taken for a number."""


_NUMPY = (str(Path(np.__file__).parent), "numpy/", "numpy\\")  # what is built says the latter
_BARE = (AttributeError, TypeError, KeyError)


def _is_ours(traceback: TracebackType | None, behind: int = 0) -> bool:
    """Whether an error was raised in a file of this project, or in NumPy.

    `behind`: of how many calls further out it is asked.
    """
    files = _files(traceback)
    file = files[-1 - behind] if len(files) > behind else ""
    return is_own(file) or file.startswith(_NUMPY)


def _files(traceback: TracebackType | None) -> list[str]:
    files = []
    while traceback is not None:
        files.append(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    return files


def _kind(value: object) -> str:
    if isinstance(value, list | tuple):
        kinds = ", ".join(type(one).__name__ for one in value[:4])
        return f"{type(value).__name__} of ({kinds}{', ...' * (len(value) > 4)})"
    return type(value).__name__


def as_checked(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of tensors, which says in its own name which argument is of a wrong kind."""
    keywords = Keywords(name, method, True)

    @functools.wraps(method)
    def named(self: object, *args: object, **options: object) -> Any:
        try:
            if options:
                keywords.refuse(options)
            return method(self, *args, **options)
        except Exception as error:
            given = (self, *args)
            if (found := answer(getattr(type(self), name, named), given, options)) is not None:
                return found[0]
            if (newer := in_newer_form(name, given, options)) is not None:
                return named(*newer[0], **newer[1])
            if isinstance(error, OverriddenError):
                raise
            refuse_kinds(name, method, (self, *args), options, error, True)
            refuse_combination(name, args, options, error)
            raise

    vars(named)["_checks"] = True
    return asking(named)


def check(kind: type, name: str) -> None:
    """Let a class have a method checked, if it is a function with operands."""
    member = next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), None)
    if name[0] == "_" or not isinstance(member, FunctionType) or hasattr(member, "_checks"):
        return
    if _has_operands(member):
        setattr(kind, name, as_checked(name, member))


def _has_operands(method: Any) -> bool:
    while hasattr(method, "__wrapped__"):
        method = method.__wrapped__
    code = getattr(method, "__code__", None)
    if code is None:
        return True
    return code.co_argcount + code.co_kwonlyargcount > 1 or bool(code.co_flags & CO_VARARGS)
