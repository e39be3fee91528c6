"""`print` and `check`: what shows values, or stops the run, wherever it runs."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.core.errors import CheckError, OptionError
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.pytree import leaves
from staticgraph.compiler.core.raised import raised
from staticgraph.compiler.core.user_text import UserText
from staticgraph.compiler.core.values import Tree, Value
from staticgraph.compiler.graph.effects import emit, is_collecting
from staticgraph.compiler.graph.expression import as_expression, is_symbolic, user_line
from staticgraph.compiler.ops.programs import effects
from staticgraph.compiler.ops.programs.effects import user_text


def print(text: str, *values: Value) -> Tree:  # noqa: A001
    """Print a text and values each time the graph runs; returns the values.

    In a compiled graph, a captured function, the body of a loop and a branch alike: the values
    are those of the call, prints and checks follow one another in the order in which they were
    written, each happens once, and none is dropped, also where nothing reads the result. In loops
    the line ends with the number of the iteration, in nested ones of all. Gradients pass.

    Outside of functions a print belongs to all graphs compiled afterwards that need everything it
    reads: all of the placeholders and variables from which its values are computed.

    Args:
        text: what comes first. With fields, `{}` or `{0}`, such as `{:.3f}`, they are filled with
            the values; else the values follow the text.
        values: arrays, tensors or expressions.

    Returns:
        The value, or a tuple of them if there are several, or None.

    Raises:
        OptionError: the text is no format of so many values, or one is a list of expressions.
        GraphError: nothing that is read belongs to a graph.

    Example:
        >>> f = sg.function(lambda x: sg.print("sum {:.1f}", sg.sum(x)) * 2)
        >>> f(np.array([1.0, 2.0]))
        sum 3.0
        array(6.)
    """
    _apply(effects.print, user_text("print", text, len(values)), values)
    return values[0] if len(values) == 1 else values or None


def check(condition: Value, message: str, *values: Value) -> None:
    """Raise CheckError with a message and your line unless a condition holds, when the graph
    runs: before any variable is updated.

    It is where `print` is: in a compiled graph, a captured function, a loop, a branch, or at
    once if all is known.

    Args:
        condition: a bool, or an array of them, which must all hold.
        message: what the error says; its fields `{}` or `{0}` are filled with the values, or, if
            it has none, the values follow it.
        values: arrays, tensors or expressions.

    Raises:
        CheckError: the condition does not hold.
        DTypeError: it is no bool.
        OptionError: the message is no format of so many values.
        GraphError: nothing that is read belongs to a graph.

    Example:
        >>> x = sg.placeholder("x", (None,), "float64")
        >>> sg.check(sg.all(x > 0), "x must be positive, its smallest is {}", sg.min(x))
        >>> f = sg.compile([x], sg.log(x))
        >>> f(np.array([1.0, -2.0]))
        Traceback (most recent call last):
        staticgraph.CheckError: check: x must be positive, its smallest is -2.0 (...)
    """
    _apply(effects.check, user_text("check", message, len(values)), (condition, *values))


def check_loop(condition: Value, message: str) -> None:
    """What a loop checks of itself: as `check`, but no graph without the loop has it."""
    _apply(effects.check, user_text("check", message, 0), (condition,), of_loop=True)


def raise_unless(condition: Value, error: Exception) -> None:
    """Raise an error itself unless a condition holds, when the graph runs, as `check` does."""
    if is_symbolic(condition):
        attribute = raised(error)
        assert attribute is not None
        attrs = {"error": attribute, "expected": True, "batched": False}
        emit(effects.fail, [as_expression(effects.fail, condition, None)], attrs)
    elif not np.all(condition):
        raise error


def _apply(op: Op, text: UserText, values: tuple[Value, ...], of_loop: bool = False) -> None:
    for value in values:
        if isinstance(value, tuple | list | dict) and any(map(is_symbolic, leaves(value))):
            raise OptionError(
                f"{op.name}: a {type(value).__name__} of expressions is no value: give each of "
                "them by itself"
            )
    attrs: Attrs = {"text": text, "batched": False}
    if is_collecting() or any(map(is_symbolic, values)):
        emit(op, [as_expression(op, value, None) for value in values], attrs, of_loop)
        return
    token = np.zeros(1, np.int64)
    try:
        op.bound((token, *map(_value, values)), {**attrs, "place": 0})
    except CheckError as error:
        raise CheckError(f"{error} ({user_line()})") from None


def _value(value: Value) -> Value:
    return value if hasattr(value, "dtype") else np.asarray(value)
