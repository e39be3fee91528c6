"""`function`: a Python function on arrays or tensors, traced and compiled when it is called."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np

from staticgraph.compiler.core.default_dtype import BLOCKS, OF_PROCESS, get_default_dtype
from staticgraph.compiler.core.errors import CaptureError, EffectError, FeedError, OptionError
from staticgraph.compiler.core.op import Operand, standing
from staticgraph.compiler.core.pickling import name_in_module
from staticgraph.compiler.core.provided import narrow_dtype
from staticgraph.compiler.core.pytree import mapped
from staticgraph.compiler.graph.expression import Expression, closed, handle_among
from staticgraph.tracing.calls import (
    NUMBERS,
    Call,
    Captured,
    Shapes,
    Signature,
    aliases,
    filled,
    given_in,
)
from staticgraph.tracing.explained import Explanation, Retraces, guard_cost
from staticgraph.tracing.inspected import InspectedFunction
from staticgraph.tracing.kept import kept_of
from staticgraph.tracing.kinds import (
    identity,
    is_array,
    is_tensor,
    kind_of_operand,
    kinds_of,
    same_static,
    settings_of,
)
from staticgraph.tracing.known_sizes import Needs
from staticgraph.tracing.live import Known, LiveArrays
from staticgraph.tracing.modules import ModuleTensors, is_module
from staticgraph.tracing.reads import Surroundings
from staticgraph.tracing.repeated import repeated
from staticgraph.tracing.signature import (
    Arguments,
    Static,
    Structure,
    parts,
    take_apart,
)
from staticgraph.tracing.tracing import FreeVariableError

_OPTIONS = frozenset((
    "numerics", "threads", "disable", "fuse", "backend", "background", "debug", "lint", "checks",
    "memory", "on_nonfinite",
))  # fmt: skip

KEPT = 8
"""The surroundings of which traces are kept at the same time, per structure of the arguments."""

REMEMBERED = 4096
"""Kinds of calls (types and shapes of the arguments) whose trace is found at once."""


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
        options: as `compile` takes them. With `memory`, that of each of its graphs, it is compiled
            for each combination of sizes.

    The result takes ndarrays, and returns new ndarrays; sizes and numbers that `f` returns are
    those of Python, also where each call has others. With eager tensors, it returns what `f` does,
    and is one node of the tape whose reverse pass is compiled, to any order of
    differentiation. An array from outside that `f` returns is that array.
    With expressions it is `f` itself, so that compiled functions may call each other.

    Sizes are unknown when `f` is traced, unless declared, so that a trace serves any. Where the
    function has to know them it is traced again, with as few known as will do: those that it
    needs as numbers (`x.shape[-1] ** 0.5`); those that are 1, because they broadcast; those that
    are equal as equal; all. Python numbers given by position
    are arrays, which take the dtype of what they meet; by keyword, and everything else that is
    no array, they are static: part of the key, and hashable.

    A branch on a value (`if x.sum() > 0:`, `and`, `max(a, b)`) becomes a `cond`, of which only the
    side that is taken is computed: f is called once for each way through it. Both sides have to
    give the same structure, dtypes and shapes.

    What f reads beside its arguments (what it has closed over, globals, attributes, arrays,
    defaults) is checked at each call, and where it changed f is traced again; `explain` says why.
    On tensors, tensors and modules among that are operands, read at each call.

    Raises:
        OptionError: a static argument has no hash, what f returns is no array, or `shapes` do not
            fit the arguments.
        CaptureError: f needs values before it runs, or the sides of a branch do not agree; the
            message has the line.
        EffectError: f does what a graph would not repeat: it prints, counts, draws random numbers,
            or changes what is not its own.

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


def _takes_keywords(f: Any) -> bool:
    """Whether a function has `**kwargs`, or does not say what it has."""
    try:
        called = f.forward if is_module(f) else f
        found = inspect.signature(called, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(one.kind is inspect.Parameter.VAR_KEYWORD for one in found)


class Function(InspectedFunction):
    """A function compiled when it is called; made by `function`.

    Attributes:
        made_by: the transform that made it of another function, and its arguments; or None.

    Example:
        >>> f = sg.function(lambda x: x * x)
        >>> f(np.array([2.0, 3.0])), f
        (array([4., 9.]), <function <lambda>, compiled>)
    """

    made_by: tuple[Callable[..., object], tuple[object, ...]] | None = None

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
        self._root: Any = f if isinstance(f, FunctionType) else _name_of
        self._code = self._root.__code__
        self._ordered = _takes_keywords(f)
        self._shapes = shapes
        self._options = options
        self._known: dict[Any, Callable[..., Any]] = {}
        self._calls: dict[Any, Call] = {}
        self._signatures: dict[Any, Signature] = {}
        self._needs: dict[Structure, Needs] = {}
        self._around: dict[Any, list[Surroundings]] = {}
        self._known_arrays = Known()
        tells = options.get("lint", "certain") not in ("off", None)
        self._retraces = Retraces(name, KEPT, tells)
        self._tensors: dict[tuple[int, ...], ModuleTensors] = {}

    def __repr__(self) -> str:
        return f"<function {self.name}, compiled>"

    def __call__(self, /, *args: Any, **kwargs: object) -> Any:
        """The value of the function; compiled first if need be."""
        if not kwargs:
            try:
                if len(args) == 1:  # as `kinds_of` has them, which would take 0.1 to 0.2 us more
                    (x,) = args
                    run = self._known.get((type(x), x.dtype, x.shape))
                elif len(args) == 2:
                    x, y = args
                    run = self._known.get((type(x), x.dtype, x.shape, type(y), y.dtype, y.shape))
                elif len(args) == 3:
                    x, y, z = args
                    run = self._known.get(
                        (type(x), x.dtype, x.shape, type(y), y.dtype, y.shape,
                         type(z), z.dtype, z.shape)
                    )  # fmt: skip
                else:
                    run = self._known.get(kinds_of(args))
            except (AttributeError, LookupError, TypeError):  # what classes of dicts raise, too
                run = None
            if run is not None and self._root.__code__ is self._code and not BLOCKS:
                return run(*args)
        return self._call(args, kwargs)

    def __copy__(self) -> Function:
        made = _copied(self._f, self._shapes, self.name, self._options, self._own)
        made.made_by = self.made_by
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self.made_by is not None:
            transform, given = self.made_by
            return transform(*copy.deepcopy(given, memo))
        f, own = copy.deepcopy((self._f, self._own), memo)
        # what a plain function has closed over is not copied with it
        modules = self._own if f is self._f else own
        return _copied(f, self._shapes, self.name, self._options, modules)

    def __reduce__(self) -> Any:
        name = name_in_module(self)
        if name is not None:
            return name
        if self.made_by is not None:
            return self.made_by
        return _copied, (self._f, self._shapes, self.name, self._options, self._own)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """The function as a method."""
        return self if instance is None else functools.partial(self, instance)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._root.__code__ is not self._code:
            self._known.clear()
            self._code = self._root.__code__
        found = take_apart(self.name, args, kwargs, self._ordered)
        first = next((x for x in found.arrays if isinstance(x, Operand)), None)
        handle = handle_among(found.arrays)
        if handle is not None:
            return mapped(lambda leaf: closed(leaf, handle), self._f(*args, **kwargs))
        if isinstance(first, Expression):
            return self._f(*args, **kwargs)
        if first is not None and first._standing() is not first:
            # a part of what is captured, of tensors around that: their values may change
            args, kwargs = mapped(standing, (args, kwargs))
            return self._f(*args, **kwargs)
        kind = None if first is None else type(first)
        try:
            call, operands = self._find(found)
        except FreeVariableError:
            # a part of the graph of what it reads: composed with that, on arrays as constants
            return self._f(*args, **kwargs)
        if call.hands_back:
            return filled(call.run(kind, operands), given_in(args, kwargs), call.same)
        if found.modules:
            return call.run(kind, operands)
        around = call.around
        special = around.compares_identity or kwargs or call.given_numbers or BLOCKS
        if not special and all(map(is_array, args)):
            tensors = self._tensors[tuple(map(id, self._own))] if self._own else None
            again = repeated(call, kind, len(args), tensors, self._root, self._again)
            _remember(self._known, kinds_of(args), again)
        return call.run(kind, operands)

    def _again(self, *args: object) -> Any:
        """A call for which something has changed."""
        return self._call(args, {})

    def explain(self) -> Explanation:
        """What was traced, what is checked at each call, and why it was traced again.

        Example:
            >>> rate = [0.5]
            >>> f = sg.function(lambda x: x * rate[0], name="scaled")
            >>> f(np.ones(1)), rate.append(1), f(np.ones(1))
            (array([0.5]), None, array([0.5]))
            >>> len(f.explain().retraces)
            1
        """
        return Explanation(
            self.name,
            tuple([(one.around, tuple(one.traces())) for one in self._signatures.values()]),
            tuple(self._retraces.last),
            self._retraces.count,
            guard_cost([one.around for one in self._signatures.values()]),
        )

    def _find(self, found: Arguments) -> tuple[Call, list[Any]]:
        """What serves a call, and its operands: arrays, then tensors of modules."""
        around = self._surroundings(found)
        call, operands = self._serving(found, around)
        for i in call.numbers:
            operands[i] = self._number(operands[i])
        if call.compiled.trace.casts:
            call.compiled.trace.check_numbers(operands)
        call.own = operands[len(found.arrays) :]
        return call, operands

    def _serving(self, found: Arguments, around: Surroundings) -> tuple[Call, list[Any]]:
        """What serves a call: with as few constants as the function can be traced with."""
        live = around.live
        while around.live.arrays:
            with suppress(Exception):  # with the arrays as constants it is raised again
                return self._keeping(found, around)
            if not self._want_elements(around):
                around.keep_constant(map(id, around.live.arrays))
        try:
            served = self._keeping(found, around)
        except CaptureError as error:
            if not (error.hands_out and around.lift_small()):
                raise
            return self._keeping(found, around)
        self._known_arrays.failed(live, around.live)
        return served

    def _want_elements(self, around: Surroundings) -> bool:
        """Whether single elements of arrays can be guards instead of whole arrays: from now on."""
        if around.elements.wanted or not around.elements.asked:
            return False
        around.elements.wanted = True
        self._known_arrays.read_elements()
        around.keep_constant(())
        return True

    def _keeping(self, found: Arguments, around: Surroundings) -> tuple[Call, list[Any]]:
        """What serves a call, of a function that may change numbers and lists around it."""
        before, first = around.kept, None
        while True:
            try:
                return self._served(found, around)
            except EffectError as error:
                first = error if first is None else first
                kept = None
                if around.on_tensors and error.changes:
                    kept = kept_of(around.kept, error.changes, around.guards.reads)
                if kept is None or len(kept.changed) == len(around.kept.changed):
                    around.keep(before)
                    raise first from None
                around.keep(kept)
            except Exception as error:
                if first is None:
                    raise
                around.keep(before)
                raise first from error

    def _served(self, found: Arguments, around: Surroundings) -> tuple[Call, list[Any]]:
        """What serves a call, given what the function can read, and the operands."""
        modules = [*self._own, *found.modules]
        tensors, state = self._tensors_of(modules) if modules else (None, [])
        held = [] if tensors is None else tensors.current()
        operands = [*found.arrays, *held, *around.live.arrays, *around.kept.current()]
        first_live = len(found.arrays) + len(held)
        key = (
            id(around),
            id(around.live),
            id(around.kept),
            found.structure,
            tuple(map(id, modules)),
            tuple(map(identity, state)),
            tuple(aliases(found.arrays)) if around.compares_identity else None,
            tuple([kind_of_operand(x) for x in operands]),
        )
        call = self._calls.get(key)
        if call is None or not call.compiled.trace.fits(operands):
            call = self._new_call(found, modules, tensors, key, operands, around)
            call.around = around
            constants = self._known_arrays.traced(around.live, call.compiled.trace, first_live)
            if constants:
                self._drop(around.live)
                if not self._want_elements(around):
                    around.keep_constant(constants)
                return self._served(found, around)
            if call.effects is not None:
                reads = [one.owner for one in around.guards.reads]
                call.effects.check_arrays([x for x in reads if type(x) is np.ndarray], operands)
            _remember(self._calls, key, call)
        return call, operands

    def _number(self, value: object) -> Any:
        """A Python number as an array; FeedError for an int of more than 64 bits."""
        try:
            return np.asarray(value, NUMBERS[type(value)])
        except OverflowError:
            raise FeedError(f"{self.name}: the number {value} is out of bounds for int64") from None

    def _surroundings(self, found: Arguments) -> Surroundings:
        """What the function can read beside arrays, as it is: known already, or followed now."""
        on_tensors = bool(self._own or found.modules) or any(map(is_tensor, found.arrays))
        dtypes = get_default_dtype(), narrow_dtype() if on_tensors and BLOCKS else None
        key = on_tensors, found.structure, tuple(map(id, found.modules)), dtypes
        args, kwargs = found.structure
        leaves = [*parts(args), *parts(kwargs)]
        statics = [one.value for one in leaves if isinstance(one, Static)]
        kept = self._around.get(key)
        if kept is None:
            if len(self._around) >= REMEMBERED:
                self._around.clear()
            kept = self._around[key] = []
        for one in kept:
            same = one.kept.holds() and all(map(same_static, one.statics, statics))
            if same and (one.guards.hold() or one.exchanged()):
                return one
        own = [*self._own, *found.modules]
        settings = [OF_PROCESS, *settings_of([*found.arrays, *own])]
        around = Surroundings([self._f, *own, *statics], on_tensors, own, statics, settings)
        around.elements.wanted = self._known_arrays.elements
        if kept:
            before = kept[0].guards
            self._retraces.add(before.changes())
            self._known_arrays.changed(self._retraces.last[-1].changes, before.reads)
        constant = self._known_arrays.constants(around.live)
        if constant or around.elements.wanted:
            around.keep_constant(constant)
        if len(kept) >= KEPT:
            self._forget(kept.pop())
        kept.insert(0, around)
        return around

    def _forget(self, around: Surroundings) -> None:
        """Drop what was traced with these surroundings."""
        self._known.clear()
        for table in (self._calls, self._signatures):
            for key in [key for key in table if key[0] == id(around)]:
                del table[key]

    def _drop(self, live: LiveArrays) -> None:
        """Drop what was traced with arrays as operands that have to be constants."""
        for table in (self._calls, self._signatures):
            for key in [key for key in table if key[1] == id(live)]:
                del table[key]

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
        around: Surroundings,
    ) -> Call:
        *rest, kinds = key
        count = len(found.arrays)  # of the tensors of modules all sizes are known
        ranks = (*rest, tuple([(*kind[:2], len(kind)) for kind in kinds[:count]]), kinds[count:])
        signature = self._signatures.get(ranks)
        if signature is None:
            captured = Captured(self.name, self._f, self._shapes, self._options)
            needs = self._needs.get(found.structure) or Needs()
            _remember(self._needs, found.structure, needs)
            signature = Signature(
                captured, found, modules, tensors, operands, around,
                needs, self._retraces.add_sizes,
            )  # fmt: skip
            self._signatures[ranks] = signature
        return signature.call(operands)


def _remember(table: dict[Any, Any], key: object, call: object) -> None:
    if len(table) >= REMEMBERED:
        table.clear()
    table[key] = call
