"""`compile`, `run` and `grad`: from expressions to values."""

from __future__ import annotations

import operator
import warnings
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from staticgraph.compiler.core.arrays import to_array
from staticgraph.compiler.core.dims import Dim, Size, Unknown, as_unknown, atoms
from staticgraph.compiler.core.errors import FeedError, GraphError, LintWarning, OptionError
from staticgraph.compiler.core.options import ON_NONFINITE, Options, budget_of, check_switches
from staticgraph.compiler.core.pytree import is_branch, leaves as tree_leaves, mapped, rebuilt
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import substituted, unify
from staticgraph.compiler.graph.collectives import in_turn
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.graph.effects import effects_of, with_effects
from staticgraph.compiler.graph.expression import (
    Expression,
    as_expression,
    at_line,
    constant,
    construct,
    user_line,
)
from staticgraph.compiler.graph.losses import losses_of
from staticgraph.compiler.graph.notes import Sibling, note
from staticgraph.compiler.graph.traversal import ancestors, between, fold
from staticgraph.compiler.inspect.lint.report import check_level, lint as look_for_slips
from staticgraph.compiler.ops import add, leaves
from staticgraph.compiler.ops.declare import common_dtype
from staticgraph.compiler.transforms.autodiff import gradients
from staticgraph.compiler.transforms.custom_rules import without_rules
from staticgraph.executables.executable import (
    Executable,
    do_before_first_call,
    executable_of,
    look_at_losses,
)
from staticgraph.leaves import READS, Counter, Variable

Updates = Mapping[Variable, Any] | Sequence[tuple[Variable, Any]]


def grad(
    output: Expression, wrt: Any, seed: Expression | None = None, on_disconnected: str = "error"
) -> Any:
    """The gradient of a scalar with respect to one expression or several, as expressions.

    Args:
        output: a floating-point scalar; of any shape if `seed`, its cotangent, is given.
        wrt: an expression, or a list or tuple of them (then a list is returned).
        on_disconnected: what there is for an element of `wrt` that the output does not depend on:
            "error", or "zero".

    Raises:
        GraphError: the output is no scalar, is not floating point, or does not depend on `wrt`.
    """
    zero = is_zero(on_disconnected)
    if isinstance(wrt, Expression):
        return gradients(output, [wrt], seed, disconnected=zero)[0]
    targets = list(wrt)
    found = gradients(output, targets, seed, disconnected=zero)
    if len(targets) > 1 and all(isinstance(one, Variable) for one in targets):
        together = Sibling(tuple(one.serial for one in found), tuple(targets))
        for one in found:
            note(one, together)
    return found


def is_zero(on_disconnected: object) -> bool:
    """Whether a gradient by what has no part in the output is zero, not an error."""
    if on_disconnected not in ("error", "zero"):
        raise OptionError(f"grad: on_disconnected is 'error' or 'zero', not {on_disconnected!r}")
    return on_disconnected == "zero"


def compile(
    inputs: Sequence[Expression],
    outputs: object,
    updates: Updates | None = None,
    givens: Mapping[Expression, object] | None = None,
    *,
    numerics: str = "strict",
    threads: int | None = None,
    disable: Collection[str] = (),
    fuse: bool = True,
    backend: str = "llvm",
    background: bool = False,
    debug: bool | Callable[..., None] = False,
    on_nonfinite: str | None = None,
    memory: float | None = None,
    memory_at: Mapping[str, int] | None = None,
    lint: str | None = "certain",
    checks: str | None = None,
    on_unused_input: str = "raise",
    name: str | None = None,
) -> Executable:
    """Compile a graph into a function of arrays.

    Args:
        inputs: placeholders, in the order of the function's arguments.
        outputs: an expression, or any nesting of lists, tuples, named tuples, dicts, dataclasses
            and None with expressions: the structure of the result.
        updates: the next value of variables; all are computed from the old values, and either all
            happen or none. The streams of `staticgraph.random` that are read advance by themselves.
        givens: expressions to be replaced by others (of the same type) before compiling.
        numerics: "strict", or "fast" for rewrites that may round differently, or "exact" for the
            bits of evaluation op by op: nothing is rewritten, + - * / and square roots are
            compiled, and what else rounds (sums, products of matrices, exp) is a call of NumPy.
        threads: how many threads a call may use, the BLAS included; None for `get_num_threads()`.
            Loops of little work use one; results do not depend on the number.
        disable: names of rewrites to leave out.
        fuse: False computes every node by itself, in memory of its own.
        backend: "llvm", or "numba": Numba lowers the kernel functions of `source`. It computes the
            same bits in the same time, and takes several times longer to compile; nothing of it is
            kept on disk.
        background: return at once, and compile in a thread. Until that is done, calls run op by op
            with NumPy: the results are equal up to rounding. `ready` says whether it is done, as it
            is at once if the kernel is in the cache; `wait(timeout)` waits, and so do `source`,
            `plan` and the like. Kernels for inputs that are not row-major are compiled in the
            background too. A process that ends, or forks, waits for a compilation that has
            begun.
        debug: True compiles nothing: calls run op by op with NumPy, an op that makes inf or nan out
            of finite operands warns (NonFiniteWarning; make it an error with
            `warnings.simplefilter("error", sg.NonFiniteWarning)`), and whatever an op raises, or
            warns of, names it and the line that made it. A function is called after each op with a
            `Step`: its `op`, `source` line, `operands` and `value`; a breakpoint for one line is
            `debug=lambda step: step.source.endswith("train.py:12") and breakpoint()`.
        on_nonfinite: what happens where an output or the new value of a variable is inf or nan;
            what is infinite on the way, such as a mask, is not looked at. The kernel checks what it
            has just written, in less than 5 % of its time (the smallest steps with Adam: 6 %), and
            stops before anything is updated;
            the call is then run again op by op to find the op and your line, see
            `Executable.replay`.
            "raise" raises NonFiniteError, and nothing is updated (arrays of `out` may have been
            written). "warn" gives a NonFiniteWarning, and "report" says nothing: the call goes on
            to its end, and so do later ones until `replay` has been asked. "report" keeps the
            inputs of the last call, so that `replay()` works after any call, which takes 0.4 µs
            more. None checks nothing.
            What in-place updates overwrite is kept until then: where there was a gradient, or
            else in memory of its own.
        memory: what a call may take beside its inputs, as `plan.peak_bytes` counts it: bytes, or a
            part of what it takes without (a float up to 1, such as 0.5). Values are not kept for
            the gradient but computed again, those that free most for their work, until it fits;
            results have the same bits. Refused, with the least that was found, if it cannot be met.
        memory_at: the unknown sizes for which that holds, by their names in `plan.sizes`; the
            kernel is for any.
        lint: what to do about what is most likely a slip: a gradient that is zero everywhere, a
            softmax over the batch, float64 in a graph of float32, ... "certain" warns where it
            cannot be meant (LintWarning, at your line), "warn" gives advice too, "error" raises
            both, "off" or None looks at nothing.
        checks: "int": a call in which integers overflow, are divided by 0, or are cast to a dtype
            that they do not fit, raises CheckError with the op and your line, and updates nothing.
            None: they wrap, as NumPy's do.
        on_unused_input: what to do about an input that nothing needs: "raise" an error, "warn"
            (LintWarning), or "ignore" it. It is fed, and checked, in any case.
        name: for messages.

    Returns:
        An executable for any sizes of the unknown axes; it cannot be modified. Inputs have the
        placeholders' dtypes, or such as NumPy casts to them safely and without loss, as float32 to
        float64. It is compiled for row-major inputs; one of a megabyte or more that is transposed,
        or a slice, is read in place by a kernel that the first call with such an input compiles.

    Raises:
        GraphError: an input is no placeholder, given twice, or not needed; an output depends on a
            placeholder that is not among the inputs; an update does not fit its variable.
        OptionError: an option has a value that it cannot have.
        LintError: with `lint="error"`; all findings are in the message.

    Example:
        >>> x = sg.placeholder("x", (None,), "float64")
        >>> f = sg.compile([x], [x * x, sg.grad(sg.sum(x * x), x)])
        >>> f(np.array([1.0, 2.0, 3.0]))
        [array([1., 4., 9.]), array([2., 4., 6.])]
    """
    check_switches(name, fuse=fuse, background=background)
    level = check_level(lint)
    title = name or "compiled function"
    if isinstance(inputs, Expression):
        raise GraphError(f"compile: the inputs are a list of placeholders, not {inputs!r} alone")
    flat, restructure = _flatten(outputs)
    pairs = _update_pairs(updates)
    if checks not in (None, "int"):
        raise OptionError(f"compile: checks is 'int' or None, not {checks!r}")
    losses = losses_of(flat, [new for _, new in pairs])
    pairs += _counts([*flat, *(new for _, new in pairs)], [variable for variable, _ in pairs])
    flat, pairs = _with_effects(title, inputs, flat, pairs, checks == "int")
    if givens:
        flat, pairs = _parted(_substitute([*flat, *(new for _, new in pairs)], givens), pairs)
    _check_inputs(title, list(inputs), [*flat, *(new for _, new in pairs)], on_unused_input)
    roots = without_rules([*flat, *(new for _, new in pairs)])
    flat, pairs = _parted(roots, pairs)
    definition = define(list(inputs), *_parted(in_turn(title, roots), pairs))
    if isinstance(disable, str):
        raise OptionError(f"compile: disable is a list of names of rewrites, not {disable!r} alone")
    if on_nonfinite is not None and on_nonfinite not in ON_NONFINITE:
        raise OptionError(
            f"compile: on_nonfinite is None or one of {ON_NONFINITE}, not {on_nonfinite!r}"
        )
    budget = budget_of(memory, memory_at)
    options = Options(numerics, frozenset(disable), fuse, backend, threads, on_nonfinite, *budget)
    made = executable_of(definition, restructure, title, options, background, debug)
    for variable, _ in pairs:
        variable.attrs["key"].changes = True
    if level != "off":
        roots = [*flat, *(new for _, new in pairs)]
        do_before_first_call(made, look_for_slips(level, definition, roots, READS))
        if pairs:
            look_at_losses(made, losses, tells=True)
    return made


def _with_effects(
    title: str,
    inputs: Sequence[Expression],
    outputs: list[Expression],
    updates: list[tuple[Expression, Expression]],
    checks_integers: bool,
) -> tuple[list[Expression], list[tuple[Expression, Expression]]]:
    """The outputs and updates, of which the first one waits for the prints and checks."""
    roots = [*outputs, *(new for _, new in updates)]
    effects = effects_of([one for one in inputs if isinstance(one, Expression)], roots)
    if checks_integers:
        from staticgraph.compiler.passes.integer_checks import integer_checks

        roots, effects = integer_checks(roots, effects)
    if not effects:
        return outputs, updates
    return _parted(with_effects(title, roots, effects), updates)


def _parted(
    roots: list[Expression], updates: list[tuple[Expression, Expression]]
) -> tuple[list[Expression], list[tuple[Expression, Expression]]]:
    """The outputs and the updates that some roots, made of those of a graph, are."""
    count = len(roots) - len(updates)
    variables = [variable for variable, _ in updates]
    return roots[:count], list(zip(variables, roots[count:], strict=True))


@record
class _Structured(Record):
    """Puts results into a tree."""

    tree: Any

    def __call__(self, results: list[Any]) -> Any:
        return rebuilt(self.tree, results)


@record
class _AsDict(Record):
    """Puts results under their keys."""

    keys: tuple[Any, ...]

    def __call__(self, results: list[Any]) -> dict[Any, Any]:
        return dict(zip(self.keys, results, strict=True))


def _flatten(outputs: object) -> tuple[list[Expression], Callable[[list[Any]], Any]]:
    """The outputs as a list, and what puts a list of results back into their structure."""
    if isinstance(outputs, Expression):
        return [outputs], operator.itemgetter(0)
    if isinstance(outputs, Mapping):
        flat = list(outputs.values())
        make: Callable[[list[Any]], Any] = _AsDict(tuple(outputs))
    elif isinstance(outputs, list | tuple) and type(outputs) in (list, tuple):
        flat, make = list(outputs), type(outputs)
    else:
        flat, make = tree_leaves(outputs), _Structured(mapped(_stripped, outputs))
        if not is_branch(outputs):
            raise GraphError(f"compile: the outputs {outputs!r} are no expressions")
    if any(map(_is_inner, flat)):
        flat, make = tree_leaves(outputs), _Structured(mapped(_stripped, outputs))
    for output in flat:
        if not isinstance(output, Expression):
            raise GraphError(f"compile: the output {output!r} is no expression")
    return flat, make


def _is_inner(output: object) -> bool:
    return output is None or is_branch(output)


def _stripped(_leaf: object) -> int:
    """What stands for an expression in the structure of results."""
    return 0


def _update_pairs(updates: Updates | None) -> list[tuple[Expression, Expression]]:
    given: Any = () if updates is None else updates
    items = list(given.items()) if isinstance(given, Mapping) else given
    if not isinstance(items, list | tuple) or any(
        not isinstance(one, list | tuple) or len(one) != 2 for one in items
    ):
        raise GraphError(f"compile: the updates {given!r:.80} are no pairs of variables and values")
    pairs: list[tuple[Expression, Expression]] = []
    for variable, new in items:
        if not isinstance(variable, Variable):
            place = f" ({variable.source})" if isinstance(variable, Expression) else ""
            raise GraphError(
                f"compile: the update of {variable!r}{place}: only variables are updated"
            )
        if any(variable is other for other, _ in pairs):
            raise GraphError(
                f"compile: variable {variable.name!r} is updated twice ({variable.source})"
            )
        value = _constant_like(new, variable)
        if value.type != variable.type:
            raise GraphError(
                f"compile: the update of variable {variable.name!r} is {value.type} "
                f"({value.source}), the variable {variable.type} ({variable.source})"
            )
        pairs.append((variable, value))
    return pairs


def _counts(
    roots: Sequence[Expression], updated: Sequence[Expression]
) -> list[tuple[Expression, Expression]]:
    """The updates of the counters that are read, and are not updated otherwise."""
    found = [one for one in ancestors(roots) if isinstance(one, Counter)]
    known = {one.serial for one in updated}
    return [(one, add(one, 1)) for one in found if one.serial not in known]


ON_UNUSED = ("raise", "warn", "ignore")


def _check_inputs(
    title: str, inputs: list[Expression], roots: Sequence[Expression], on_unused: str
) -> None:
    if on_unused not in ON_UNUSED:
        raise OptionError(f"compile: on_unused_input is one of {ON_UNUSED}, not {on_unused!r}")
    needed = {node.serial for node in ancestors(roots)}
    names: set[str | None] = set()
    for given in inputs:
        if not isinstance(given, Expression) or given.op is not leaves.placeholder:
            raise GraphError(f"{title}: the input {given!r} is no placeholder")
        if given.name in names:
            raise GraphError(f"{title}: two inputs are named {given.name!r}")
        names.add(given.name)
        if given.serial not in needed and not sizes_needed(given, roots):
            text = f"{title}: the output does not need the input {given.name!r} ({given.source})"
            if on_unused == "raise":
                raise GraphError(text)
            if on_unused == "warn":
                path, _, line = user_line().rpartition(":")
                warnings.warn_explicit(text, LintWarning, path, int(line))
    known = {given.serial for given in inputs}
    for node in ancestors(roots):
        if node.op is leaves.placeholder and node.serial not in known:
            raise GraphError(
                f"{title}: the output needs the placeholder {node.name!r} ({node.source}), "
                "which is not among the inputs"
            )
    _check_sizes(title, inputs, roots)


def _check_sizes(title: str, inputs: list[Expression], roots: Sequence[Expression]) -> None:
    given = {as_unknown(size) for node in inputs for size in node.shape}
    for node in ancestors([*inputs, *roots]):
        missing = atoms(_sizes_of(node)) - given
        if missing:
            raise GraphError(
                f"{title}: the size {min(map(str, missing))} of {node} ({node.source}) "
                "is not the size of an axis of any input"
            )


def sizes_needed(given: Expression, roots: Sequence[Expression]) -> bool:
    """Whether a placeholder that is not read gives the size of something that is computed."""
    mine = atoms(given.shape)
    return any(mine & atoms(_sizes_of(node)) for node in ancestors(roots))


def _sizes_of(node: Expression) -> list[Size]:
    """The sizes of an expression, and those that it has as attributes, in bodies too."""
    found = list(node.type.sizes)
    for value in node.attrs.values():
        found += [value] if isinstance(value, Dim) else getattr(value, "sizes", ())
    return found


def _substitute(
    roots: Sequence[Expression], givens: Mapping[Expression, object]
) -> list[Expression]:
    made: dict[int, Expression] = {}
    sizes: dict[Unknown, Size] = {}
    if not isinstance(givens, Mapping):
        raise GraphError(f"compile: the givens {givens!r:.80} are no dict")
    needed = {node.serial for node in ancestors(roots)}
    for old, new in givens.items():
        if not isinstance(old, Expression):
            raise GraphError(f"compile: givens replace {old!r}, which is no expression")
        if old.serial not in needed:
            raise GraphError(f"compile: givens replace {old} ({old.source}): no output needs it")
        value = _constant_like(new, old)
        if (value.dtype, value.ndim) != (old.dtype, old.ndim) or None in map(
            unify, old.shape, value.shape
        ):
            raise GraphError(
                f"compile: givens replace {old} ({old.source}) by {value} ({value.source}): "
                "not the same type"
            )
        made[old.serial] = value
        sizes |= {
            atom: size
            for atom, size in zip(map(as_unknown, old.shape), value.shape, strict=True)
            if atom is not None
        }
    for node in (*between(roots, made), *ancestors(list(made.values()))):
        if node.op is leaves.placeholder:  # gives its sizes still
            sizes = {atom: size for atom, size in sizes.items() if atom not in atoms(node.shape)}

    def remade(node: Expression, operands: tuple[Expression, ...]) -> Expression:
        attrs = {key: substituted(value, sizes) for key, value in node.attrs.items()}
        if attrs == node.attrs and all(map(operator.is_, operands, node.operands)):
            return node
        with at_line(node.source):
            result = construct(node.op, operands, attrs)
        result.name = node.name
        return result

    return fold(roots, made, remade)


def _constant_like(value: object, like: Expression) -> Expression:
    """`value` as an expression; Python numbers and lists take the dtype of `like`."""
    if isinstance(value, Expression):
        if value.weak and common_dtype(value, like) == like.dtype:
            return as_expression(add, value, like.dtype)
        return value
    try:
        return constant(to_array(value, like.dtype))
    except (OverflowError, TypeError, ValueError) as error:
        raise GraphError(f"compile: {value!r} for {like} ({like.source}): {error}") from None


_compiled: dict[int, Executable] = {}  # by the serial of the output; dropped with it


def run(output: Expression, feeds: Mapping[Expression, object] | None = None) -> Any:
    """The value of an expression; compiled on first use, then reused.

    Args:
        output: an expression (compile a list of outputs with `compile`).
        feeds: the value of each placeholder that the output needs.

    Raises:
        FeedError: a placeholder has no feed, or a feed is not needed.

    Example:
        >>> x = sg.placeholder("x", (None,), "float64")
        >>> sg.run(x * x, {x: np.array([1.0, 2.0, 3.0])})
        array([1., 4., 9.])
    """
    if not isinstance(output, Expression):
        raise OptionError(f"run: {output!r} is no expression")
    given = dict(feeds or {})
    needed = [node for node in ancestors([output]) if node.op is leaves.placeholder]
    by_serial = {_serial(node): value for node, value in given.items()}
    for node in needed:
        if node.serial not in by_serial:
            raise FeedError(f"run: missing feed {node.name!r}: {node.type} ({node.source})")
    for node in given:
        if not any(node is one for one in needed):
            raise FeedError(
                f"run: unknown feed {node!r} ({node.source}): {output} does not need it"
            )
    executable = _compiled.get(output.serial)
    if executable is None:
        executable = _compiled[output.serial] = compile(needed, output, name="run")
        weakref.finalize(output, _compiled.pop, output.serial, None)
    return executable(*(by_serial[node.serial] for node in needed))


def _serial(node: object) -> int:
    if not isinstance(node, Expression):
        raise FeedError(f"run: the feed {node!r} is no placeholder")
    return node.serial
