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
    """Root of the project's errors."""


@_public
class ShapeError(StaticGraphError, ValueError):
    """Ranks or sizes of the operands do not fit the op."""


class AxisError(ShapeError, IndexError):
    """An operand has no such axis."""


@_public
class DTypeError(StaticGraphError, TypeError):
    """The dtypes of the operands do not fit the op."""


class DifferingError(StaticGraphError):
    """What a loop or a branch goes by differs between the examples of a batch.

    Attributes:
        any: whether it holds for any of them.
    """

    any = False


class ComplexError(DTypeError, NotImplementedError):
    """An op of real numbers is given complex ones."""


@_public
class GraphError(StaticGraphError, ValueError):
    """The graph is not what the call needs: unused inputs, no gradient, damaged records."""


class NoDerivativeError(GraphError, NotImplementedError):
    """An op has no derivative by an operand that one is asked for."""


@_public
class CaptureError(GraphError):
    """A captured function needs what is not there before it runs: values, memory, or the tape."""


@_public
class EffectError(CaptureError):
    """A captured function does what a graph would not repeat: it prints, counts, draws numbers."""

    changes: Sequence[object] = ()
    """What it changed, as guards know it."""


@_public
class OutputError(GraphError, TypeError):
    """What a function returns is not what a transform of it needs."""


@_public
class FeedError(StaticGraphError, ValueError):
    """A call's inputs do not fit the executable's placeholders."""


@_public
class FormatError(StaticGraphError, ValueError):
    """A file is damaged, or does not hold what it should."""


@_public
class OptionError(StaticGraphError, ValueError):
    """An option or an attribute of an op has a value that it cannot have."""


@_public
class OutOfRangeError(StaticGraphError, IndexError, RuntimeError):
    """An index operand points outside the axis that it indexes.

    PyTorch raises IndexError of some functions, and RuntimeError of others, such as gather.
    """


@_public
class LinAlgError(StaticGraphError, RuntimeError, _LinAlgError):
    """A matrix is singular, or not positive definite; PyTorch raises RuntimeError."""


@_public
class CompileError(StaticGraphError, RuntimeError):
    """Compiling in the background failed; the cause is attached."""


@_public
class DistributedError(StaticGraphError, RuntimeError):
    """Ranks are out of step, one of them has not come, or there is no way to reach them."""


@_public
class NonFiniteWarning(RuntimeWarning):
    """An op made inf or nan: in debug mode, or in a call with `on_nonfinite="warn"`."""


@_public
class NonFiniteError(StaticGraphError, FloatingPointError):
    """An output or update of a call is inf or nan; `report` says where that comes from."""

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message, report)
        self.report = report

    def __str__(self) -> str:
        return str(self.args[0])


@_public
class LintError(GraphError):
    """With `lint="error"`: a graph has what is most likely a slip."""


@_public
class LintWarning(UserWarning):
    """A graph has what is most likely a slip: the message names the rule, the op and the line."""


@_public
class CheckError(StaticGraphError, ValueError):
    """A `sg.check` does not hold; nothing was updated.

    Attributes:
        source: the user's line of the check, once it is known.
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
