"""Every error that the project raises on purpose, under one root."""

from collections.abc import Sequence
from typing import TypeVar

from numpy.linalg import LinAlgError as _LinAlgError

_Kind = TypeVar("_Kind", bound=type[BaseException])


def _public(kind: _Kind) -> _Kind:
    """Name a class as users find it, which is what a traceback says."""
    kind.__module__ = "staticgraph"
    return kind


@_public
class StaticGraphError(Exception):
    """Root of the project's errors.

    Example:
        >>> try:
        ...     sg.ones(2) + sg.ones(3)
        ... except sg.StaticGraphError as error:
        ...     print(type(error).__name__)
        ShapeError
    """

    needs: frozenset[object] = frozenset()
    """The unknown sizes (`dims.Unknown`) that would have to be numbers, if it is for that."""


@_public
class ShapeError(StaticGraphError, ValueError):
    """Ranks or sizes of the operands do not fit the op.

    Example:
        >>> sg.matmul(sg.placeholder("x", (2, 3)), np.ones((2, 3), "float32"))
        Traceback (most recent call last):
            ...
        staticgraph.ShapeError: matmul: float32[2, 3] @ float32[2, 3]: last axis 3 != 2
    """


class AxisError(ShapeError, IndexError):
    """An operand has no such axis."""


class AxisKindError(ShapeError, TypeError):
    """What should be an axis is no int."""


@_public
class DTypeError(StaticGraphError, TypeError):
    """The dtypes of the operands do not fit the op.

    Example:
        >>> sg.bitwise_and(sg.ones(2), sg.ones(2))
        Traceback (most recent call last):
            ...
        staticgraph.DTypeError: bitwise_and: float32[2] has no bits to compute with: cast it ...
    """


class DifferingError(StaticGraphError):
    """What a loop or a branch goes by differs between the examples of a batch.

    Attributes:
        any: whether it holds for any of them; None where that is computed later.
    """

    any: bool | None = False


class ComplexError(DTypeError, NotImplementedError):
    """An op of real numbers is given complex ones."""


@_public
class GraphError(StaticGraphError, ValueError):
    """The graph is not what the call needs: unused inputs, no gradient, damaged records.

    Example:
        >>> x = sg.placeholder("x", (3,))
        >>> sg.compile([x, sg.placeholder("y")], x + 1)
        Traceback (most recent call last):
            ...
        staticgraph.GraphError: compiled function: the output does not need the input 'y' (...)
    """


class NoDerivativeError(GraphError, NotImplementedError):
    """An op has no derivative by an operand that one is asked for."""


@_public
class CaptureError(GraphError):
    """A captured function needs what is not there before it runs: values, memory, or the tape.

    Example:
        >>> sg.function(lambda x: float(x))(np.ones(()))
        Traceback (most recent call last):
            ...
        staticgraph.CaptureError: ...: <placeholder 'x': float64[]> has no value before it ...
    """

    hands_out: bool = False
    """Whether one side of a branch on a value returns an array from outside."""


@_public
class EffectError(CaptureError):
    """A captured function does what a graph would not repeat: it prints, counts, draws numbers.

    Example:
        >>> sg.function(lambda x: print(x))(np.ones(2))
        Traceback (most recent call last):
            ...
        staticgraph.EffectError: ...: prints when it is traced, and not at each call: write ...
    """

    changes: Sequence[object] = ()
    """What it changed, as guards know it."""


@_public
class OutputError(GraphError, TypeError):
    """What a function returns is not what a transform of it needs.

    Example:
        >>> sg.grad(lambda x: x * 2)(np.ones(3))
        Traceback (most recent call last):
            ...
        staticgraph.OutputError: grad: the function returns float64[3] (...), no scalar: reduce ...
    """


@_public
class FeedError(StaticGraphError, ValueError):
    """A call's inputs do not fit the executable's placeholders.

    Example:
        >>> x = sg.placeholder("x", (3,))
        >>> sg.compile([x], x + 1)()
        Traceback (most recent call last):
            ...
        staticgraph.FeedError: compiled function: missing feed 'x': float32[3] (...)
    """


@_public
class FormatError(StaticGraphError, ValueError):
    """A file is damaged, or does not hold what it should.

    Example:
        >>> with open("damaged.sg", "wb") as file:
        ...     _ = file.write(b"no graph")
        >>> sg.load("damaged.sg")
        Traceback (most recent call last):
            ...
        staticgraph.FormatError: damaged.sg: not a file that save wrote, or a part of one: File ...
    """


@_public
class OptionError(StaticGraphError, ValueError):
    """An option or an attribute of an op has a value that it cannot have.

    Example:
        >>> x = sg.placeholder("x", (3,))
        >>> sg.compile([x], x + 1, numerics="sloppy")
        Traceback (most recent call last):
            ...
        staticgraph.OptionError: compile: numerics is one of ('strict', 'fast', 'exact'), not ...
    """


@_public
class OutOfRangeError(StaticGraphError, IndexError, RuntimeError):
    """An index operand points outside the axis that it indexes.

    PyTorch raises IndexError of some functions, and RuntimeError of others, such as gather.

    Example:
        >>> sg.take(np.ones(3), np.array([5]))
        Traceback (most recent call last):
            ...
        staticgraph.OutOfRangeError: take: index 5 is out of range for an axis of size 3
    """


@_public
class LinAlgError(StaticGraphError, RuntimeError, _LinAlgError):
    """A matrix is singular, or not positive definite; PyTorch raises RuntimeError.

    Example:
        >>> sg.linalg.cholesky(-np.eye(2))
        Traceback (most recent call last):
            ...
        staticgraph.LinAlgError: cholesky: the matrix float64[2, 2] is not positive definite
    """


@_public
class CompileError(StaticGraphError, RuntimeError):
    """Compiling in the background failed; the cause is attached.

    Example:
        >>> isinstance(sg.CompileError("no room"), RuntimeError)
        True
    """


@_public
class DistributedError(StaticGraphError, RuntimeError):
    """Ranks are out of step, one of them has not come, or there is no way to reach them.

    Example:
        >>> isinstance(sg.DistributedError("rank 1 has ended"), RuntimeError)
        True
    """


@_public
class NonFiniteWarning(RuntimeWarning):
    """An op made inf or nan: in debug mode, or in a call with `on_nonfinite="warn"`.

    Example:
        >>> import warnings
        >>> x = sg.placeholder("x", (2,), "float64")
        >>> f = sg.compile([x], sg.log(x), on_nonfinite="warn")
        >>> with warnings.catch_warnings(record=True) as found:
        ...     warnings.simplefilter("always")
        ...     _ = f(np.array([1.0, 0.0]))
        >>> [one.category.__name__ for one in found]
        ['NonFiniteWarning']
    """


@_public
class NonFiniteError(StaticGraphError, FloatingPointError):
    """An output or update of a call is inf or nan; `report` says where that comes from.

    Example:
        >>> x = sg.placeholder("x", (2,), "float64")
        >>> f = sg.compile([x], sg.log(x), on_nonfinite="raise")
        >>> f(np.array([1.0, 0.0]))
        Traceback (most recent call last):
            ...
        staticgraph.NonFiniteError: compiled function: not finite: output...
    """

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message, report)
        self.report = report

    def __str__(self) -> str:
        return str(self.args[0])


@_public
class LintError(GraphError):
    """With `lint="error"`: a graph has what is most likely a slip.

    Example:
        >>> w = sg.variable(np.ones(2), name="w")
        >>> loss = sg.sum(sg.round(w))
        >>> updates = sg.optim.SGD(lr=0.1).minimize(loss)
        >>> sg.compile([], loss, updates=updates, lint="error")
        Traceback (most recent call last):
            ...
        staticgraph.LintError: the gradient of sum float64[] by variable 'w' float64[2] is zero ...
    """


@_public
class LintWarning(UserWarning):
    """A graph has what is most likely a slip: the message names the rule, the op and the line.

    Example:
        >>> import warnings
        >>> w = sg.variable(np.ones(2), name="w")
        >>> loss = sg.sum(sg.round(w))
        >>> with warnings.catch_warnings(record=True) as found:
        ...     warnings.simplefilter("always")
        ...     _ = sg.compile([], loss, updates=sg.optim.SGD(lr=0.1).minimize(loss))
        >>> [one.category.__name__ for one in found]
        ['LintWarning']
    """


@_public
class CheckError(StaticGraphError, ValueError):
    """A `sg.check` does not hold; nothing was updated.

    Attributes:
        source: the user's line of the check, once it is known.

    Example:
        >>> x = sg.placeholder("x", (None,))
        >>> sg.check(sg.all(x > 0), "x is {}", x)
        >>> f = sg.compile([x], x + 1)
        >>> f(np.array([-1.0], "float32"))
        Traceback (most recent call last):
            ...
        staticgraph.CheckError: check: x is [-1.] (...)
    """

    source = ""


def located(error: StaticGraphError, source: str, message: str) -> StaticGraphError:
    """What an op raised, with a message that names its line.

    A check in a loop has its own line, and not those of the loops around it. The message of what
    the user raises is the user's: the line is a note.
    """
    if hasattr(error, "is_of_user"):
        made_again = type(error)(*error.args)
        made_again.is_of_user = True  # type: ignore[attr-defined]
        made_again.drawn = getattr(error, "drawn", 0)  # type: ignore[attr-defined]
        made_again.add_note(f"in a captured function, at {source}")
        return made_again
    if not isinstance(error, CheckError):
        return type(error)(message)
    made = CheckError(str(error) if error.source else f"{error} ({source})")
    made.source = error.source or source
    return made


class MissingExtraError(StaticGraphError, ImportError):
    """A package that only an extra of the distribution installs is missing."""
