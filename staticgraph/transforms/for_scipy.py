"""An executable as SciPy calls functions: of one vector of float64, with its derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from staticgraph.compilation import compile
from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import (
    DTypeError,
    FeedError,
    MissingExtraError,
    OptionError,
    OutputError,
    ShapeError,
)
from staticgraph.compiler.graph.expression import Expression, again, constant
from staticgraph.compiler.graph.traversal import fold_records
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.transforms.autodiff import pullback, pushforward
from staticgraph.executables.executable import Executable
from staticgraph.leaves import Variable, placeholder
from staticgraph.transforms.derivatives import jacobian_rows
from staticgraph.transforms.forward import jacobian_columns

Vector = NDArray[np.float64]


class _Part(NamedTuple):
    """A parameter: where it is in the vector."""

    key: Any
    """What it is called: an input's name, or a Variable."""
    leaf: Expression
    """The placeholder that stands for it."""
    value: NDArray[Any]
    """Where it starts."""
    begin: int
    end: int


class ScipyFunctions:
    """What SciPy's solvers ask of a function: values and derivatives at vectors of float64.

    Made by `Executable.scipy`. The parameters lie in the vector one behind another, each row-major.
    Of a number: `fun`, `jac` (the gradient), `value_and_grad` (both, for `jac=True`), `hess`,
    `hessp`. Of a vector, such as residuals or constraints: `fun`, `jac` (the matrix). Derivatives
    are compiled when they are first asked for; what was computed last is kept, so that `fun` and
    `jac` at the same place are one call.

    Attributes:
        x0: the vector to start from.
    """

    x0: Vector

    def __init__(self, executable: Executable, start: object, data: Mapping[str, object]) -> None:
        self._name = executable.name
        self._options = executable.options
        self._out, inputs, self._parts = _taken(executable, start, data)
        taken = {id(part.leaf) for part in self._parts}
        rest = [one for one in inputs if id(one) not in taken]
        missing = [str(one.name) for one in rest if one.name not in data]
        unknown = sorted(set(data) - {one.name for one in rest})
        if missing or unknown:
            of = ", ".join(map(repr, missing or unknown))
            raise FeedError(
                f"{self._name}: scipy: {of}: " + ("no value is given" if missing else "no input")
            )
        self._rest, self._data = rest, [data[str(one.name)] for one in rest]
        self.x0 = self.pack({part.key: part.value for part in self._parts})
        self._last: tuple[Vector, Any, Any] | None = None

    def pack(self, values: Mapping[Any, object]) -> Vector:
        """The vector of values of all parameters, by what they are called.

        Raises:
            FeedError: a parameter is missing, or there is another.
            ShapeError: a value has another shape than at the start.
        """
        if {*values} != {part.key for part in self._parts}:
            known = ", ".join(_called(part.key) for part in self._parts)
            given = ", ".join(map(_called, values))
            raise FeedError(f"{self._name}: scipy: the parameters are {known}, not {given}")
        found = [np.asarray(values[part.key], np.float64) for part in self._parts]
        for part, value in zip(self._parts, found, strict=True):
            if value.shape != part.value.shape:
                raise ShapeError(
                    f"{self._name}: scipy: {_called(part.key)} has the shape {value.shape}, not "
                    f"{part.value.shape}"
                )
        return np.concatenate([value.ravel() for value in found] or [np.empty(0)])

    def unpack(self, x: object) -> dict[Any, NDArray[Any]]:
        """The parameters of a vector, such as of `result.x`, by what they are called."""
        x = self._vector("unpack", x)
        return {
            part.key: x[part.begin : part.end].reshape(part.value.shape).astype(part.leaf.dtype)
            for part in self._parts
        }

    def assign(self, x: object) -> None:
        """Give the parameters that are Variables their values in a vector."""
        for key, value in self.unpack(x).items():
            if isinstance(key, Variable):
                key.value = value

    def fun(self, x: object) -> Any:
        """The value at x: a float, or a vector."""
        if self._out.ndim:
            return np.asarray(self._call(self._value, self._vector("fun", x)), np.float64)
        return self.value_and_grad(x)[0]

    __call__ = fun

    def jac(self, x: object) -> Vector:
        """The gradient at x, (n,), or the Jacobian, (m, n)."""
        if not self._out.ndim:
            return self.value_and_grad(x)[1]
        blocks = self._call(self._jacobian, self._vector("jac", x))
        rows = len(blocks[0])
        return np.concatenate([np.reshape(one, (rows, -1)) for one in blocks], 1, dtype=np.float64)

    def value_and_grad(self, x: object) -> tuple[float, Vector]:
        """Both at x: what `scipy.optimize.minimize(..., jac=True)` takes.

        Raises:
            OutputError: the value is no number.
        """
        x = self._vector("value_and_grad", x)
        last = self._last
        if last is None or not np.array_equal(last[0], x):
            value, *gradients = self._call(self._with_gradient, x)
            last = self._last = x.copy(), float(value), self._joined(gradients)
        return last[1], last[2].copy()

    def hessp(self, x: object, direction: object) -> Vector:
        """The product of the Hessian at x and a direction.

        Raises:
            OutputError: the value is no number.
        """
        x, direction = self._vector("hessp", x), self._vector("hessp", direction)
        return self._joined(self._call(self._moved_gradient, x, direction))

    def hess(self, x: object) -> Vector:
        """The Hessian at x, (n, n), one direction after another."""
        n = len(self.x0)
        return np.array([self.hessp(x, row) for row in np.eye(n)]).reshape(n, n)

    def operator(self, x: object) -> Any:
        """The derivative at x as a `scipy.sparse.linalg.LinearOperator`, without a matrix.

        Of a number the Hessian; of a vector the Jacobian, with `matvec` by forward mode and
        `rmatvec` by reverse mode, which `scipy.optimize.least_squares(jac=...)` takes.
        """
        try:
            from scipy.sparse.linalg import LinearOperator
        except ImportError:
            raise MissingExtraError(f"{self._name}: scipy: operator needs SciPy") from None
        x = self._vector("operator", x).copy()
        n = len(self.x0)
        if not self._out.ndim:
            return LinearOperator(
                (n, n), matvec=lambda v: self.hessp(x, v), rmatvec=lambda v: self.hessp(x, v),
                dtype=np.float64,
            )  # fmt: skip
        return LinearOperator(
            (len(self.fun(x)), n),
            matvec=lambda v: np.asarray(
                self._call(self._forward, x, self._vector("matvec", v)), np.float64
            ),
            rmatvec=lambda u: self._joined(
                self._call(self._reverse, x, more=[np.ravel(u).astype(self._out.dtype)])
            ),
            dtype=np.float64,
        )

    def low_level(self, kind: str = "numbers") -> Any:
        """The value as a `scipy.LowLevelCallable`, which SciPy calls without the interpreter.

        It is of the parameters' sizes, which are float64; a call with another number of them gives
        nan. The data are those of now, variables are read at each call. It keeps what it needs in
        memory, and serves one thread at a time, as those that have the interpreter's lock.

        Args:
            kind: "numbers" is for `scipy.integrate.quad`, `dblquad`, `nquad`: the parameters are
                their variables of integration, then their `args`; "window" is for
                `scipy.ndimage.generic_filter`: the parameter is the window, a vector.

        Raises:
            OutputError: the value is no number.
            OptionError: a parameter is not of float64, or a step is a function of Python's.

        Example:
            >>> from scipy.integrate import quad
            >>> x, a = (sg.placeholder(name, (), "float64") for name in "xa")
            >>> f = sg.compile([x, a], sg.exp(-a * x * x)).scipy({"x": 0.0, "a": 1.0})
            >>> round(quad(f.low_level(), -8.0, 8.0, args=(2.0,))[0], 12)
            1.253314137316
        """
        if self._out.ndim:
            raise OutputError(f"{self._name}: scipy: low_level: the value is {self._out.type}")
        for part in self._parts:
            if part.leaf.dtype != np.float64:
                raise OptionError(
                    f"{self._name}: scipy: low_level: {_called(part.key)} is of {part.leaf.dtype}, "
                    "not of float64"
                )
        from staticgraph.transforms.low_level import low_level

        values = [*(part.value for part in self._parts), *self._data]
        made = self._compiled(ops.astype(self._out, "float64"))
        return low_level(made, values, len(self._parts), kind)

    def _vector(self, name: str, x: object) -> Vector:
        if np.iscomplexobj(np.asarray(x)):
            raise DTypeError(f"{self._name}: scipy: {name}: a vector of real numbers, not complex")
        found = np.asarray(x, np.float64).ravel()
        if len(found) != len(self.x0):
            raise ShapeError(
                f"{self._name}: scipy: {name}: a vector of {len(found)} elements, where the "
                f"parameters have {len(self.x0)}"
            )
        return found

    def _split(self, x: Vector) -> list[NDArray[Any]]:
        return [
            np.asarray(x[part.begin : part.end].reshape(part.value.shape), part.leaf.dtype)
            for part in self._parts
        ]

    def _joined(self, parts: Sequence[Any]) -> Vector:
        return np.concatenate([np.ravel(one) for one in parts], dtype=np.float64)

    def _call(self, run: Executable, *vectors: Vector, more: Sequence[object] = ()) -> Any:
        split = [part for one in vectors for part in self._split(one)]
        return run(*split, *self._data, *more)

    def _compiled(
        self,
        outputs: object,
        directions: Sequence[Expression] = (),
        more: Sequence[Expression] = (),
    ) -> Executable:
        options = self._options
        return compile(
            [*(part.leaf for part in self._parts), *directions, *self._rest, *more],
            outputs, numerics=options.numerics, threads=options.threads,
            disable=options.disabled, fuse=options.fuse, backend=options.backend,
            on_unused_input="ignore", name=self._name,
        )  # fmt: skip

    @property
    def _leaves(self) -> list[Expression]:
        return [part.leaf for part in self._parts]

    def _gradients(self) -> list[Expression]:
        if self._out.ndim:
            raise OutputError(
                f"{self._name}: scipy: the value is {self._out.type}, no number: it has a Jacobian "
                "(jac, operator) and no gradient"
            )
        return self._pulled(constant(np.ones((), self._out.dtype)))

    def _pulled(self, seed: Expression) -> list[Expression]:
        return pullback([self._out], self._leaves, [seed])

    def _directions(self) -> list[Expression]:
        return [
            placeholder(f"direction_{place}", leaf.shape, leaf.dtype)
            for place, leaf in enumerate(self._leaves)
        ]

    @cached_property
    def _value(self) -> Executable:
        return self._compiled(self._out)

    @cached_property
    def _with_gradient(self) -> Executable:
        return self._compiled([self._out, *self._gradients()])

    @cached_property
    def _moved_gradient(self) -> Executable:
        directions = self._directions()
        return self._compiled(pushforward(self._gradients(), self._leaves, directions), directions)

    @cached_property
    def _forward(self) -> Executable:
        directions = self._directions()
        return self._compiled(pushforward([self._out], self._leaves, directions)[0], directions)

    @cached_property
    def _reverse(self) -> Executable:
        seed = placeholder("cotangent", self._out.shape, self._out.dtype)
        return self._compiled(self._pulled(seed), more=[seed])

    @cached_property
    def _jacobian(self) -> Executable:
        wide = isinstance(self._out.shape[0], int) and self._out.shape[0] < len(self.x0)
        if wide:
            return self._compiled(jacobian_rows(self._out, self._leaves))
        places = range(len(self._leaves))
        return self._compiled([jacobian_columns([self._out], self._leaves, i)[0] for i in places])


def _called(key: Any) -> str:
    return str(key) if isinstance(key, Variable) else repr(key)


def _taken(
    executable: Executable, start: object, data: Mapping[str, object]
) -> tuple[Expression, list[Expression], list[_Part]]:
    """The output of an executable, its inputs, and the parameters."""
    definition, name = executable.definition, executable.name
    if definition.updates:
        raise OptionError(
            f"{name}: scipy: it updates variables, or draws random numbers of a stream: compile "
            "the value alone"
        )
    if len(definition.outputs) != 1:
        raise OutputError(f"{name}: scipy: {len(definition.outputs)} outputs, where it takes one")
    starts = _starts(executable, start, data)
    states = {id(key.state): key for key in starts if isinstance(key, Variable)}
    known: dict[int, Expression] = {}
    for node in definition.nodes:
        key = states.get(id(node.attrs.get("key"))) if node.op is leaves.variable else None
        if key is not None:
            known[node.id] = placeholder(f"variable_{len(known)}", key.shape, key.dtype)
    nodes = fold_records(definition.nodes, again, known)
    inputs = [nodes[place] for place in definition.inputs]
    by_key: dict[Any, Expression] = {str(one.name): one for one in inputs}
    by_key |= {
        states[id(node.attrs["key"])]: known[node.id]
        for node in definition.nodes
        if node.id in known
    }
    out = nodes[definition.outputs[0]]
    if out.dtype.kind != "f" or out.ndim > 1:
        raise OutputError(
            f"{name}: scipy: the output is {out.type}, where it takes a number, or a vector, of "
            "floats"
        )
    return out, inputs, _parts(name, by_key, starts)


def _starts(executable: Executable, start: object, data: Mapping[str, object]) -> dict[Any, Any]:
    """Where each parameter starts, by what it is called."""
    if isinstance(start, Mapping):
        return dict(start)
    if isinstance(start, Variable):
        start = [start]
    if isinstance(start, list | tuple) and start and isinstance(start[0], Variable):
        return {one: one.value for one in start}
    nodes = executable.definition.nodes
    free = [
        str(nodes[place].name)
        for place in executable.definition.inputs
        if nodes[place].name not in data
    ]
    if len(free) != 1:
        raise OptionError(
            f"{executable.name}: scipy: the start is an array for one parameter, or a dict of "
            f"those of several, or Variables; the inputs without a value are {free}"
        )
    return {free[0]: start}


def _parts(name: str, leaf_of: Mapping[Any, Expression], starts: Mapping[Any, Any]) -> list[_Part]:
    parts: list[_Part] = []
    for key, value in starts.items():
        leaf = leaf_of.get(key)
        if leaf is None:
            raise FeedError(f"{name}: scipy: {_called(key)} is no input and no variable of it")
        if leaf.dtype.kind != "f":
            raise OptionError(f"{name}: scipy: {_called(key)} is of {leaf.dtype}, not of floats")
        array = np.asarray(value, leaf.dtype)
        fits = len(array.shape) == leaf.ndim and all(
            not isinstance(size, int) or size == found
            for size, found in zip(leaf.shape, array.shape, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"{name}: scipy: {_called(key)} is {leaf.type}, and starts with {array.shape}"
            )
        begin = parts[-1].end if parts else 0
        parts.append(_Part(key, leaf, array, begin, begin + array.size))
    if not parts:
        raise OptionError(f"{name}: scipy: there are no parameters")
    return parts
