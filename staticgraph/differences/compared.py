"""What is compared: a graph with its inputs, and both ways to get its results.

A function is captured as `staticgraph.function` captures it, with tensors as arguments, so that
its methods mean what they mean eagerly. An executable is compared with the graph that it was
compiled of.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph import dynamic
from staticgraph.compiler.core.arrays import row_major
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import CaptureError, OptionError, StaticGraphError
from staticgraph.compiler.core.pytree import leaves, mapped
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.state import holding
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops import leaves as leaf_ops
from staticgraph.compiler.runtime.arguments import as_inputs, in_order
from staticgraph.compiler.runtime.sizes import check_sizes, sizes_of
from staticgraph.compiler.transforms.autodiff import pullback
from staticgraph.differences.steps import Stepping, as_array, names_of, without_text
from staticgraph.dynamic.tensors.random_numbers import generator
from staticgraph.executables.executable import Executable
from staticgraph.leaves import placeholder
from staticgraph.tracing.calls import Call
from staticgraph.tracing.functions import Function, function
from staticgraph.tracing.tracing import Trace


@frozen
class Compared:
    """A graph, its inputs, and how it is run in both paradigms.

    Attributes:
        name: of the function.
        inputs: the leaves with their values: placeholders and variables.
        outputs: the results with what they are called.
        options: how it is compiled.
        eager: the results of the function itself, run eagerly; None of an executable, whose
            graph is all that there is.
        compiled: the results of an executable as it is; None of a function, which is compiled.
        stepping: of a function that changes something beside its results, runs of it.
    """

    name: str
    inputs: Mapping[Expression, Array]
    outputs: tuple[tuple[str, Expression], ...]
    options: Mapping[str, object]
    eager: Callable[[], list[Array]] | None
    compiled: Callable[[], list[Array]] | None
    stepping: Stepping | None = None

    @property
    def placeholders(self) -> list[Expression]:
        """The inputs but for variables."""
        return [one for one in self.inputs if one.op is leaf_ops.placeholder]


def compared_of(
    f: object, args: tuple[object, ...], kwargs: dict[str, Any], gradient: bool
) -> Compared:
    """What is compared of a function or an executable on some arguments.

    Raises:
        CaptureError: the function runs eagerly, but no graph can be made of it.
        OptionError: it is no function, or the gradient of an executable is asked for.
    """
    if isinstance(f, Executable):
        if gradient:
            raise OptionError(
                f"diff: {f.name} is compiled: its gradients are compared if they are among its "
                "outputs, or if it updates variables by them"
            )
        return _of_executable(f, args, kwargs)
    if not callable(f):
        hint = ": np.diff has differences along an axis" if hasattr(f, "dtype") else ""
        raise OptionError(f"diff: {f!r:.80} is neither a function nor an executable{hint}")
    return _of_function(f, args, kwargs, gradient)


def _of_executable(f: Executable, args: Sequence[object], kwargs: dict[str, Any]) -> Compared:
    given = in_order(f.name, f.feeds, args, kwargs) if kwargs else args
    arrays = list(map(row_major, as_inputs(f.name, f.feeds, given)))
    definition = f.definition
    check_sizes(definition, sizes_of(f.feeds, arrays))
    made = definition.expressions()
    inputs = dict(zip([made[i] for i in definition.inputs], arrays, strict=True))
    variables = [node for node in made if node.op is leaf_ops.variable]
    with holding([one.attrs["key"] for one in variables], changes=False):
        inputs |= {one: one.attrs["key"].array.copy() for one in variables}
    outputs = [(f"output {i}", made[node]) for i, node in enumerate(definition.outputs)]
    for variable, new in definition.updates:
        outputs.append((f"update of {made[variable].name or 'a variable'}", made[new]))

    def compiled() -> list[Array]:
        own = copy.copy(f)  # its variables are its own
        results = [np.asarray(one) for one in leaves(own(*arrays))]
        states = [own.definition.nodes[node].attrs["key"] for node, _ in own.definition.updates]
        return [*results, *(state.array for state in states)]

    chosen = f.options
    options = {
        "numerics": chosen.numerics, "disable": chosen.disabled, "fuse": chosen.fuse,
        "backend": chosen.backend, "threads": chosen.threads,
    }  # fmt: skip
    return Compared(f.name, inputs, tuple(outputs), options, None, compiled)


def _of_function(
    f: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, Any], gradient: bool
) -> Compared:
    fast = f if isinstance(f, Function) else function(f)
    plain = fast.plain
    given, named = _on_tensors((args, kwargs), gradient)
    call, own = _captured(fast, given, named)
    compiled, trace = call.compiled, call.compiled.trace
    if trace.effects is not None and (trace.effects.steps or trace.effects.draws):
        if gradient:
            raise OptionError(
                f"diff: {trace.name} changes a tensor or draws random numbers{_line(trace)}: what "
                "its backward() computes is among its values, so leave gradient out"
            )
        return _of_step(call, own, lambda: list(map(as_array, leaves(plain(*given, **named)))))
    operands = compiled.complete(own)
    with dynamic.set_grad_enabled(gradient):
        first = plain(*given, **named)
    made = trace.definition.expressions()
    placeholders = [made[i] for i in trace.definition.inputs]
    values = leaves(first)
    outputs = [made[i] for i in trace.definition.outputs[: len(values)]]  # then come the effects'
    found = [(f"output {i}", one) for i, one in enumerate(outputs)]
    seeds = _seeds(trace.name, outputs, values) if gradient else []
    floating = [one for one, *_ in seeds]
    read = {node.serial for node in ancestors(floating)}
    wrt = [
        i
        for i, (one, operand) in enumerate(zip(placeholders, operands, strict=True))
        if one.serial in read and getattr(operand, "requires_grad", False)
    ]
    if gradient and not wrt:
        raise OptionError(f"diff: {trace.name}: no output depends on a floating-point input")
    slopes = pullback(floating, [placeholders[i] for i in wrt], [seed for _, seed, *_ in seeds])
    found += [(f"gradient by {placeholders[i].name}", x) for i, x in zip(wrt, slopes, strict=True)]
    arrays = [row_major(as_array(one)) for one in operands]

    def eager() -> list[Array]:
        results = list(map(as_array, values))
        if wrt:
            tensors = [operands[i] for i in wrt]
            taken = dynamic.autograd.grad(
                [values[i] for _, _, i, _ in seeds if values[i].requires_grad],
                tensors,
                [dynamic.tensor(x) for _, _, i, x in seeds if values[i].requires_grad],
                allow_unused=True,
            )
            for i, slope in zip(wrt, taken, strict=True):
                results.append(np.zeros_like(arrays[i]) if slope is None else as_array(slope))
        return results

    inputs = dict(zip(placeholders, arrays, strict=True))
    inputs |= {seed: array for _, seed, _, array in seeds}
    variables = [node for node in made if node.op is leaf_ops.variable]
    inputs |= {one: one.attrs["key"].array.copy() for one in variables}
    options = {key: one for key, one in compiled.options.items() if key not in _OTHER_WAYS}
    return Compared(trace.name, inputs, tuple(found), options, eager, None)


def _of_step(call: Call, own: list[Any], run: Callable[[], list[Array]]) -> Compared:
    """What is compared of a function that changes its state, or draws random numbers."""
    compiled, trace = call.compiled, call.compiled.trace
    stream = generator().bit_generator
    before = stream.state
    operands = compiled.complete(own)  # which draws the numbers that the call will
    stream.state = before
    made = trace.definition.expressions()
    placeholders = [made[i] for i in trace.definition.inputs]
    outputs = [made[i] for i in trace.definition.outputs]
    reads = [(one.name, one.now()) for one in call.around.guards.reads]
    names = names_of(operands, [str(one.name) for one in placeholders], reads)
    graph = placeholders, outputs
    named = dict(zip(names, operands, strict=True))
    stepping = Stepping(run, compiled, own, named, call.around.kept, graph)
    inputs = {
        one: row_major(as_array(value)) for one, value in zip(placeholders, operands, strict=True)
    }
    variables = [node for node in made if node.op is leaf_ops.variable]
    inputs |= {one: one.attrs["key"].array.copy() for one in variables}
    found = [(f"output {i}", outputs[i]) for i in range(trace.effects.results)]
    options = {key: one for key, one in compiled.options.items() if key not in _OTHER_WAYS}
    return Compared(trace.name, inputs, tuple(found), options, None, None, stepping)


def _line(trace: Trace) -> str:
    """Where a function changes something first, as far as that is known."""
    lines = [one for one in trace.effects.changed.values() if one]
    return f" at {without_text(lines[0])}" if lines else ""


_OTHER_WAYS = frozenset({"background", "debug"})
"""Options that say when and whether something is compiled, not how."""


def _on_tensors(tree: Any, gradient: bool) -> Any:
    """Arguments in which arrays are tensors of their own, to differentiate by if `gradient`."""

    def lifted(one: Any) -> Any:
        if isinstance(one, np.ndarray | np.generic):
            one = dynamic.tensor(one)
        elif isinstance(one, dynamic.Tensor):
            one = one.detach().clone()
        else:
            return one
        return one.requires_grad_(gradient and is_inexact(one.dtype))

    return mapped(lifted, tree)


def _captured(
    fast: Function, args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Call, list[Any]]:
    try:
        return fast._call_of(tuple(args), dict(kwargs))
    except StaticGraphError:
        raise
    except Exception as error:
        fast.plain(*args, **kwargs)  # what it raises is its own
        raise CaptureError(
            f"diff: {fast.name} runs eagerly, but no graph can be made of it: "
            f"{type(error).__name__}: {error}"
        ) from error


def _seeds(name: str, outputs: Sequence[Expression], values: Sequence[Any]) -> list[Any]:
    """Per floating output its cotangent: 1 of a scalar, else numbers between 0.5 and 1.5.

    With 1 for each element the gradient of a softmax, say, would be nothing but rounding.
    """
    rng = np.random.default_rng(0)
    found: list[Any] = []
    for i, (one, value) in enumerate(zip(outputs, values, strict=True)):
        if is_inexact(one.dtype):
            array = rng.uniform(0.5, 1.5, value.shape) if value.ndim else np.ones(())
            seed = placeholder(f"cotangent {i} of {name}", one.shape, one.dtype)
            found.append((one, seed, i, array.astype(one.dtype)))
    if not found:
        raise OptionError(f"diff: {name}: no output is a floating-point array to differentiate")
    return found
