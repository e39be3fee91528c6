"""Host steps in an exported file: the op's own function of arrays, where NumPy is all it needs."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.core.dims import Dim, Unknown
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import op_named
from staticgraph.compiler.core.scalars import ScalarFunction
from staticgraph.compiler.ir.sizes import size_expression
from staticgraph.compiler.ir.text import INDENT, factor
from staticgraph.compiler.ops.programs.collectives import STEPS
from staticgraph.compiler.ops.programs.user_ops import called_by

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.bytecode import HostCall
    from staticgraph.compiler.inspect.kernel_runner import KernelRunner


def host_name(call: HostCall) -> str:
    """A name for one host step."""
    return f"{_host(call)}_{call.at}"


def host_names(call: HostCall) -> tuple[str, str]:
    """The names that a file may have for one host step: of its function, and its own."""
    return _host(call), host_name(call)


def _host(call: HostCall) -> str:
    """A name for the function of a host step."""
    return f"host_{re.sub(r'[^A-Za-z0-9_]', '_', call.op)}"


class NotNumpyError(Exception):
    """Something that a function uses is none of NumPy's, and no function of such alone."""


class Hosts:
    """The functions of the host steps of an executable.

    Attributes:
        calls: by the step's entry of the table the text of a call, in which {} is the operands.
        functions: the source of what they call.

    Raises:
        OptionError: a step needs more than NumPy; with its op and the user's line.
    """

    def __init__(self, runner: KernelRunner, labels: dict[Unknown, str]) -> None:
        self.labels = labels
        self.calls: dict[int, str] = {}
        sources: dict[str, str] = {}
        for call in runner.launch_plan.hosts:
            name = _host(call)
            try:
                if op_named(call.op) in STEPS:
                    raise NotNumpyError("it combines the arrays of ranks")
                sources.setdefault(name, _source(name, called_by(op_named(call.op))))
                self.calls[call.at] = f"{name}({self._arguments(call)})"
            except NotNumpyError as error:
                _, node = runner.kernel.located(call.node)
                raise OptionError(
                    f"export: {call.op} is a step that a file with NumPy and Numba alone cannot "
                    f"do: {error} ({node.source})"
                ) from None
        self.functions = list(sources.values())

    def _arguments(self, call: HostCall) -> str:
        return ", ".join(["{}", *(f"{name}={self._value(one)}" for name, one in call.attrs)])

    def _value(self, value: Any) -> str:
        if isinstance(value, Dim):
            return factor(size_expression(value, self.labels))
        if isinstance(value, tuple):
            return f"({''.join(f'{self._value(one)}, ' for one in value)})"
        return _constant(value)


def _source(name: str, function: Callable[..., Any]) -> str:
    """Source that gives a function a name: it stands inside another one, with what it uses."""
    lines = [f"def {name}(*operands, **attributes):"]
    lines += [f'{INDENT}"""The NumPy function of `{name.removeprefix("host_")}`."""']
    if function.__module__.startswith("staticgraph.compiler."):
        # ours wrap what gives the same in NumPy alone
        function = inspect.unwrap(function)
    text, inner = _definition(function, set(), decorated=True)
    lines += [INDENT + line if line else "" for line in text]
    lines += ["", f"{INDENT}return {inner}(*operands, **attributes)"]
    return "\n".join(lines)


def scalar_source(scalar: ScalarFunction) -> str:
    """Source that defines a user's function of numbers, compiled.

    Raises:
        NotNumpyError: it uses more than NumPy and `math`.
    """
    text, inner = _definition(scalar.function, set(), decorated=True)
    lines = [f"def make_{scalar.symbol}():", *(INDENT + line if line else "" for line in text)]
    lines += ["", f"{INDENT}return compiled({inner})", "", ""]
    return "\n".join([*lines, f"{scalar.symbol} = make_{scalar.symbol}()"])


def _definition(
    function: object, known: set[str], decorated: bool = False
) -> tuple[list[str], str]:
    """The lines that define a Python function, after those of what it uses; and its name.

    Those of its decorators are left out if it may be `decorated`, as an op of the user's is.
    """
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        raise NotNumpyError(
            f"{getattr(function, '__name__', function)!s:.80} has no source of its own"
        )
    source = textwrap.dedent(inspect.getsource(function))
    (tree,) = ast.parse(source).body
    if not isinstance(tree, ast.FunctionDef) or (tree.decorator_list and not decorated):
        raise NotNumpyError(f"{function.__name__} is not plain")
    source = "\n".join(source.split("\n")[tree.lineno - 1 :])
    lines: list[str] = []
    for used, value in _uses(function, tree):
        if used in known:
            continue
        known.add(used)
        if isinstance(value, FunctionType):
            inner, called = _definition(value, known)
            lines += [*inner, ""] + ([f"{used} = {called}"] if called != used else [])
        else:
            lines.append(f"{used} = {_constant(value)}")
    return [*lines, "", *source.rstrip("\n").split("\n")], function.__name__


def _uses(function: FunctionType, tree: ast.FunctionDef) -> Iterator[tuple[str, Any]]:
    """The names from outside that a function uses, and what they are, but for NumPy itself."""
    closed = inspect.getclosurevars(function)
    outside = {**closed.globals, **closed.nonlocals}
    parts = [part for statement in tree.body for part in ast.walk(statement)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    own = {part.id for part in parts if isinstance(part, ast.Name) and _is_target(part)}
    own |= {part.arg for part in ast.walk(tree) if isinstance(part, ast.arg)}
    for name in sorted(names - own - set(vars(builtins))):
        if name not in outside:
            raise NotNumpyError(f"{function.__name__} uses {name}")
        if outside[name] is not np and outside[name] is not math:
            yield name, outside[name]


def _is_target(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _constant(value: Any) -> str:
    """An expression of what NumPy gives by name, or of a literal."""
    if value is None or isinstance(value, bool | int | str):
        return ascii(value)
    if isinstance(value, float) and np.isfinite(value):
        return repr(value)
    if isinstance(value, np.integer):
        return f"np.{value.dtype.name}({int(value)})"
    if isinstance(value, np.dtype):
        return f'np.dtype("{value.name}")'
    name = getattr(value, "__name__", "")
    for module, text in ((np, "np"), (np.linalg, "np.linalg")):
        if name.isidentifier() and getattr(module, name, None) is value:
            return f"{text}.{name}"
    raise NotNumpyError(f"it needs a {type(value).__name__}, which is none of NumPy's")
