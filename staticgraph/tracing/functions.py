"""`function`: a Python function on arrays or tensors, traced and compiled when it is called."""

from __future__ import annotations

import copy
import functools
import inspect
import operator
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.core.errors import DTypeError, FeedError, OptionError, ShapeError
from compiler.core.op import Operand
from compiler.core.pytree import mapped
from compiler.core.types import DType, as_dtype
from compiler.graph.expression import Expression, closed, handle_among
from staticgraph.executables.executable import Executable
from staticgraph.tracing.compiled import Compiled
from staticgraph.tracing.modules import ModuleTensors, is_module
from staticgraph.tracing.signature import (
    Arguments,
    arguments_of,
    assembler,
    leaf_names,
    take_apart,
)
from staticgraph.tracing.tracing import Leaf, Trace, Traces, declared_axes

if TYPE_CHECKING:
    from staticgraph.view import View

_OPTIONS = frozenset((
    "numerics", "threads", "disable", "fuse", "backend", "background", "debug", "lint", "checks",
    "on_nonfinite",
))  # fmt: skip

_OF_STEP = frozenset({"break_at", "commands", "stdin", "stdout"})

REMEMBERED = 4096
"""Kinds of calls (types and shapes of the arguments) whose trace is found at once."""

_NUMBERS: dict[type, DType] = {
    bool: np.dtype(np.bool_), int: np.dtype(np.int64), float: np.dtype(np.float64)
}  # fmt: skip

Shapes = Mapping[str, Sequence[int | str | None]]


def function(
    f: Callable[..., object],
    *,
    shapes: Shapes | None = None,
    name: str | None = None,
    **options: object,
) -> Function:
    """A compiled form of a function, traced once per structure, dtypes and ranks.

    Args:
        f: takes arrays in any nesting of tuples, lists and dicts, and returns such; written in
            ops of either package. Or a module of an eager engine, or a function with modules
            among its arguments: their parameters and buffers are operands, read at each call.
        shapes: what is known of the arrays' sizes: per name of an argument (`"x"`, or `"x[0]"`
            within one) a shape as `placeholder` takes it.
        name: for messages; that of `f` if None.
        options: as `compile` takes them.

    The result takes ndarrays, and returns new ndarrays; with eager tensors, it returns tensors,
    and is one node of the tape whose reverse pass is compiled, to any order of differentiation.
    With expressions it is `f` itself, so that compiled functions may call each other.

    Sizes are unknown when `f` is traced, unless declared, so that a trace serves any. Where the
    function has to know them it is traced again, with as few known as will do: those that are 1,
    because they broadcast; those that are equal as equal; all. Python numbers given by position
    are arrays, which take the dtype of what they meet; by keyword, and everything else that is
    no array, they are static: part of the key, and hashable. What f reads beside its arguments
    is read when it is traced.

    Raises:
        OptionError: a static argument has no hash, what f returns is no array, or `shapes` do not
            fit the arguments.

    Example:
        >>> f = sg.function(lambda x: x / sg.sum(x))
        >>> f(np.array([1.0, 3.0]))
        array([0.25, 0.75])
    """
    if not callable(f):
        raise OptionError(f"function: {f!r} cannot be called")
    if name is not None and not isinstance(name, str):
        raise OptionError(f"function: the name is a string, not {name!r}")
    for option in options.keys() - _OPTIONS:
        raise OptionError(f"function: no option {option!r}: known are {sorted(_OPTIONS)}")
    if shapes is not None and not isinstance(shapes, Mapping):
        raise OptionError(f"function: the shapes are a dict by names, not {shapes!r:.80}")
    return Function(f, dict(shapes or {}), name or _name_of(f), options)


def _copied(
    f: Callable[..., object],
    shapes: Shapes,
    name: str,
    options: Mapping[str, object],
    own: list[Any],
) -> Function:
    """A function that has not been traced yet; its modules are `own`."""
    made = Function(f, shapes, name, options)
    made._own = list(own)
    return made


def _name_of(f: object) -> str:
    return getattr(f, "__name__", None) or type(f).__name__


def _modules_of(f: object) -> list[Any]:
    """The module that a function is, or is a method of; none, or one."""
    if isinstance(f, Function):
        return f._own
    owner = f if is_module(f) else getattr(f, "__self__", None)
    return [owner] if is_module(owner) else []


def _parameters(f: Any) -> list[str]:
    """The names of the positional parameters, as far as there are any."""
    called = f.forward if is_module(f) and hasattr(f, "forward") else f
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in signature.parameters.values() if one.kind in kinds]


class Function:
    """A function compiled when it is called; made by `function`."""

    def __init__(
        self,
        f: Callable[..., object],
        shapes: Shapes,
        name: str,
        options: Mapping[str, object],
        of: Callable[..., object] | None = None,
    ) -> None:
        """`of` is the function that `f` was made of: its module is that of `f`."""
        functools.update_wrapper(self, f, updated=())
        self.name = name
        self._f = f
        self._own = _modules_of(f if of is None else of)
        self._shapes = shapes
        self._options = options
        self._known: dict[Any, Callable[..., Any]] = {}
        self._calls: dict[Any, _Call] = {}
        self._signatures: dict[Any, _Signature] = {}
        self._tensors: dict[tuple[int, ...], ModuleTensors] = {}

    def __repr__(self) -> str:
        return f"<function {self.name}, compiled>"

    def __call__(self, /, *args: Any, **kwargs: object) -> Any:
        """The value of the function; compiled first if need be."""
        if not kwargs:
            try:
                run = self._known.get(tuple([(type(x), x.dtype, x.shape) for x in args]))
            except (AttributeError, TypeError):
                run = None
            if run is not None:
                return run(*args)
        return self._call(args, kwargs)

    def __copy__(self) -> Function:
        return _copied(self._f, self._shapes, self.name, self._options, self._own)

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        f, own = copy.deepcopy((self._f, self._own), memo)
        # what a plain function has closed over is not copied with it
        modules = self._own if f is self._f else own
        return _copied(f, self._shapes, self.name, self._options, modules)

    def __reduce__(self) -> Any:
        name = str(getattr(self, "__qualname__", ""))
        found: Any = sys.modules.get(str(self.__module__))
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name  # it decorates: its module has it in the place of the function
        return _copied, (self._f, self._shapes, self.name, self._options, self._own)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The function as a method."""
        return self if instance is None else functools.partial(self, instance)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = take_apart(self.name, args, kwargs)
        first = next((x for x in found.arrays if isinstance(x, Operand)), None)
        handle = handle_among(found.arrays)
        if handle is not None:
            return mapped(lambda leaf: closed(leaf, handle), self._f(*args, **kwargs))
        if isinstance(first, Expression):
            return self._f(*args, **kwargs)
        kind = None if first is None else type(first)
        call, operands, state = self._find(found)
        if found.modules:
            return call.run(kind, operands)
        if call.steady and not kwargs and not call.numbers and all(map(_is_array, args)):
            run = call.direct(kind)
            if self._own:
                tensors = self._tensors[tuple(map(id, self._own))]
                run = functools.partial(self._with_own, call, kind, tensors, state)
            _remember(self._known, tuple([(type(x), x.dtype, x.shape) for x in args]), run)
        return call.run(kind, operands)

    def _with_own(
        self,
        call: _Call,
        kind: object,
        tensors: ModuleTensors,
        state: object,
        *args: object,
    ) -> Any:
        """A call with arrays that are known already, if the module is as it was."""
        own = tensors.current()
        if tensors.state() == state and all(map(operator.is_, own, call.own)):
            try:
                return call.run(kind, [*args, *own])
            except (DTypeError, ShapeError):
                pass  # a tensor got another dtype or shape, or the error comes again
        return self._call(args, {})

    def executable(self, /, *args: object, **kwargs: object) -> Executable:
        """The executable that a call with these arguments runs: its graph, source and plan.

        Example:
            >>> f = sg.function(lambda x: x / sg.sum(x), name="share")
            >>> f.executable(np.array([1.0, 3.0]))
            <executable share(x: float64[x.0])>
        """
        return self.captured(*args, **kwargs)[0].part.executable

    @property
    def plain(self) -> Callable[..., Any]:
        """The function that was given.

        Example:
            >>> f = sg.function(abs)
            >>> f.plain is abs
            True
        """
        return self._f

    def captured(self, /, *args: object, **kwargs: object) -> tuple[Compiled, list[Any]]:
        """What serves a call with these arguments, and its operands, one per input of the trace:
        arrays and tensors, then the tensors of modules, of the surroundings, and random numbers.

        Example:
            >>> f = sg.function(lambda x: x / sg.sum(x), name="share")
            >>> compiled, operands = f.captured(np.array([1.0, 3.0]))
            >>> print(compiled.trace, len(operands))
            share(float64[x.0]) -> float64[x.0] 1
        """
        call, operands, _ = self._find(take_apart(self.name, args, kwargs))
        if call.effects is not None:
            operands = call.effects.operands(operands)
        return call.compiled, operands

    def view(self, path: str | os.PathLike[str] | None = None, *, inputs: Sequence[object]) -> View:
        """A page about what a call with these arguments runs: see `Executable.view`.

        Example:
            >>> f = sg.function(lambda x: x / sg.sum(x), name="share")
            >>> page = f.view("share.html", inputs=(np.array([1.0, 3.0]),))
        """
        call, operands, _ = self._find(take_apart(self.name, tuple(inputs), {}))
        tensor = next((x for x in operands if isinstance(x, Operand)), None)
        arrays = operands if tensor is None else list(tensor.arrays(operands))
        part = call.compiled.part
        needed = range(len(arrays)) if part.used is None else part.used
        return part.executable.view(path, inputs=tuple([arrays[i] for i in needed]))

    def step(self, /, *args: object, **kwargs: Any) -> Any:
        """Run the kernel of a call as plain Python under pdb: see `Executable.step`.

        Args:
            args, kwargs: those of a call; and `break_at`, `commands`, `stdin` and `stdout`, which
                are not the function's here.

        Returns:
            What the call returns, but for rounding, tensors without a history; None if it was left.

        Example:
            >>> f = sg.function(lambda x: x / sg.sum(x), name="share")
            >>> f.step(np.array([1.0, 3.0]), commands=["continue"])
            > <kernel share>(...)run()
            -> n0, = sizes("x", x, 1)
            (Pdb) continue
            array([0.25, 0.75])
        """
        options = {name: kwargs.pop(name) for name in _OF_STEP & kwargs.keys()}
        call, operands, _ = self._find(take_apart(self.name, args, kwargs))
        if call.effects is not None:
            operands = call.effects.operands(operands)
        tensor = next((x for x in operands if isinstance(x, Operand)), None)
        arrays = operands if tensor is None else tensor.arrays(operands)
        part = call.compiled.part
        found = part.executable.step(*part.needed(arrays), **options)
        if found is None:
            return None
        results = [found] if call.compiled.single else found
        return call.assemble(results if tensor is None else list(map(tensor.constant, results)))

    @property
    def traces(self) -> list[Trace]:
        """What was traced so far: more than one of a kind where sizes have to be known.

        Example:
            >>> f = sg.function(lambda x: x / sg.sum(x))
            >>> f(np.array([1.0, 3.0])), f(np.array([1.0, 1.0, 2.0]))
            (array([0.25, 0.75]), array([0.25, 0.25, 0.5 ]))
            >>> len(f.traces)
            1
        """
        return [trace for one in self._signatures.values() for trace in one.traces()]

    def _find(self, found: Arguments) -> tuple[_Call, list[Any], Any]:
        """What serves a call, its operands (arrays, then tensors of modules), and the state."""
        modules = [*self._own, *found.modules]
        tensors, state = self._tensors_of(modules) if modules else (None, [])
        operands = found.arrays if tensors is None else [*found.arrays, *tensors.current()]
        key = (
            found.structure,
            tuple(map(id, modules)),
            tuple(map(_identity, state)),
            tuple([_kind(x) for x in operands]),
        )
        call = self._calls.get(key)
        if call is None or not (call.steady or call.compiled.trace.fits(operands)):
            call = self._new_call(found, modules, tensors, key, operands)
            _remember(self._calls, key, call)
        for i in call.numbers:
            operands[i] = self._number(operands[i])
        if call.compiled.trace.casts:
            call.compiled.trace.check_numbers(operands)
        if tensors is not None:
            call.own = operands[len(found.arrays) :]
        return call, operands, state

    def _number(self, value: object) -> Any:
        """A Python number as an array; FeedError for an int of more than 64 bits."""
        try:
            return np.asarray(value, _NUMBERS[type(value)])
        except OverflowError:
            raise FeedError(f"{self.name}: the number {value} is out of bounds for int64") from None

    def _tensors_of(self, modules: Sequence[object]) -> tuple[ModuleTensors, list[Any]]:
        key = tuple(map(id, modules))
        tensors = self._tensors.get(key)
        if tensors is None or tensors.state() != tensors.made_for:
            tensors = self._tensors[key] = ModuleTensors(modules)
        return tensors, tensors.made_for

    def _new_call(
        self,
        found: Arguments,
        modules: list[Any],
        tensors: ModuleTensors | None,
        key: Any,
        operands: Sequence[object],
    ) -> _Call:
        *rest, kinds = key
        count = len(found.arrays)  # of the tensors of modules all sizes are known
        ranks = (*rest, tuple([(*kind[:2], len(kind)) for kind in kinds[:count]]), kinds[count:])
        signature = self._signatures.get(ranks)
        if signature is None:
            signature = _Signature(self, found, modules, tensors, operands)
            self._signatures[ranks] = signature
        return signature.call(operands)


def _is_array(x: object) -> bool:
    return type(x) is np.ndarray or isinstance(x, Operand)


def _kind(x: Any) -> tuple[Any, ...]:
    """The type of a Python number; the type, dtype and sizes of an array."""
    return (type(x),) if isinstance(x, bool | int | float) else (type(x), x.dtype, *x.shape)


def _identity(x: object) -> Any:
    return x if isinstance(x, bool | int) else id(x)


def _remember(table: dict[Any, Any], key: object, call: object) -> None:
    if len(table) >= REMEMBERED:
        table.clear()
    table[key] = call


class _Call:
    """What a call of known types and shapes runs."""

    __slots__ = ("assemble", "compiled", "effects", "numbers", "own", "steady")

    def __init__(self, compiled: Compiled, numbers: tuple[int, ...]) -> None:
        self.compiled = compiled
        self.numbers = numbers
        self.own: list[Any] = []
        self.effects = compiled.trace.effects
        self.steady = self.effects is None or not self.effects.asks
        self.assemble = assembler(compiled.trace.structure)

    def run(self, kind: Any, operands: Sequence[object]) -> Any:
        """The result on operands, as tensors of an eager engine if `kind` is that of one."""
        if kind is not None:
            return self._on_tensors(kind, operands)
        tensor: Any = next((x for x in operands if isinstance(x, Operand)), None)
        if tensor is None:
            return self.on_arrays(*operands)
        if self.effects is not None:
            kind = type(tensor)
            return self.assemble(tensor.arrays(kind.perform(self.compiled, self.effects, operands)))
        return self.on_arrays(*tensor.arrays(operands))

    def _on_tensors(self, kind: Any, operands: Sequence[object]) -> Any:
        """The result as tensors."""
        if self.effects is None:
            return self.assemble(kind.call(self.compiled, operands))
        return self.assemble(kind.perform(self.compiled, self.effects, operands))

    def on_arrays(self, *arrays: object) -> Any:
        """The result on arrays, as arrays."""
        results = self.compiled.part(arrays)
        return results if self.compiled.single else self.assemble(results)

    def direct(self, kind: Any) -> Callable[..., Any]:
        """What runs the call with the least around it: if it can, the executable itself."""
        if kind is not None:
            if self.effects is not None:
                return lambda *operands: self._on_tensors(kind, operands)
            return lambda *operands: self.assemble(kind.call(self.compiled, operands))
        part = self.compiled.part
        return part.executable if self.compiled.single and part.used is None else self.on_arrays


class _Signature:
    """The traces of a function for arguments of one structure, dtypes and ranks, compiled."""

    def __init__(
        self,
        function: Function,
        found: Arguments,
        modules: list[Any],
        tensors: ModuleTensors | None,
        operands: Sequence[Any],
    ) -> None:
        self._held = (modules, tensors)  # their identities are keys
        self._numbers = tuple(i for i, x in enumerate(operands) if type(x) in (bool, int, float))
        names = _unique(leaf_names(found.structure, _parameters(function._f)))
        count = len(names)
        own = [] if tensors is None else tensors.names
        kind = next((type(x) for x in operands if isinstance(x, Operand)), None)
        leaves = [
            Leaf(
                name,
                _dtype_of(x, name),
                i in self._numbers or (kind is not None and isinstance(x, np.generic)),
                _kind_of(x, kind, bool(modules)),
                i >= count,
            )
            for i, (name, x) in enumerate(zip(_unique([*names, *own]), operands, strict=True))
        ]  # fmt: skip
        for name in function._shapes.keys() - set(names):
            raise OptionError(
                f"{function.name}: no array is named {name!r}, which is declared: {names}"
            )
        declared = [
            declared_axes(function.name, leaf.name, function._shapes.get(leaf.name), np.ndim(x))
            if i < count
            else tuple(x.shape)
            for i, (leaf, x) in enumerate(zip(leaves, operands, strict=True))
        ]
        self._traces = Traces(
            function.name,
            _on_leaves(function, found, tensors),
            leaves,
            declared,
            functools.partial(Compiled, options=function._options),
        )

    def traces(self) -> list[Trace]:
        """The traces, in the order in which they were made."""
        return [compiled.trace for compiled in self._traces.kept()]

    def call(self, operands: Sequence[Any]) -> _Call:
        """What serves operands of these shapes."""
        shapes = [() if i in self._numbers else tuple(x.shape) for i, x in enumerate(operands)]
        return _Call(self._traces.fitting(shapes, operands), self._numbers)


def _kind_of(x: object, kind: object, on_tensors: bool) -> Any:
    """The class of tensors whose methods an argument has where `kind` is that of the tensors.

    An array beside tensors stays one, unless it goes into a module, whose code is about tensors.
    """
    if isinstance(x, Operand):
        return type(x)
    return None if isinstance(x, np.ndarray) and not on_tensors else kind


def _dtype_of(x: Any, name: str) -> DType:
    if type(x) in _NUMBERS:
        return _NUMBERS[type(x)]
    return as_dtype(np.dtype(x.dtype).newbyteorder("="), name)


def _on_leaves(
    function: Function, found: Arguments, tensors: ModuleTensors | None
) -> Callable[[list[Any]], Any]:
    """The function of a list of expressions, or what stands for them, one per operand."""
    structure, count, others = found.structure, len(found.arrays), list(found.modules)

    def on_leaves(inputs: list[Any]) -> Any:
        args, kwargs = arguments_of(structure, iter(inputs[:count]), others)
        if tensors is None:
            return function._f(*args, **kwargs)
        with tensors.replaced(inputs[count:]):
            return function._f(*args, **kwargs)

    return on_leaves


def _unique(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that came before."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result
