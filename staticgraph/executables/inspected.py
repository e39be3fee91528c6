"""What there is to see of an executable: graph, kernel, plan, times, and what went wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.graph.build import graph_of
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.runners.runner import Runner
from staticgraph.compiler.runtime.sizes import Feed, feeds_of
from staticgraph.leaves import Variable

if TYPE_CHECKING:
    import networkx as nx

    from staticgraph.compiler.codegen.kernel import Kernel
    from staticgraph.compiler.export.prompt import Lookup
    from staticgraph.compiler.export.stepping import Session
    from staticgraph.compiler.inspect.debug import Trace
    from staticgraph.compiler.inspect.explanation import Explanation
    from staticgraph.compiler.inspect.origins import Replay
    from staticgraph.compiler.inspect.plan import Plan
    from staticgraph.compiler.inspect.profile_table import Profile
    from staticgraph.draw import Drawing
    from staticgraph.view import Inputs, View


class Inspected:
    """An executable for those who look into it; `Executable` is what can be called as well.

    Attributes:
        definition: what it computes.
        restructure: what puts a list of results into the structure that was compiled.
        name: what messages call it.
        options: how it was compiled.
        runner: what runs calls.
    """

    __slots__ = ()

    definition: Definition
    restructure: Callable[[list[Any]], object]
    name: str
    options: Options
    runner: Runner

    def _settled(self) -> Runner:
        """What runs calls from now on."""
        raise NotImplementedError

    @property
    def feeds(self) -> tuple[Feed, ...]:
        """What a call must give, in order.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> [feed.name for feed in sg.compile([x], x * x).feeds]
            ['x']
        """
        return feeds_of(self.definition)

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The networkx DAG as it was defined, frozen.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> print(sg.compile([x], sg.exp(x) * sg.exp(x)).graph)
            MultiDiGraph with 3 nodes and 3 edges
        """
        return self._settled().graph

    @property
    def lowered(self) -> nx.MultiDiGraph[int]:
        """The networkx DAG after the passes, frozen: what the kernel computes.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> f = sg.compile([x], sg.exp(-(-x)))
            >>> len(f.graph), len(f.lowered)
            (4, 2)
        """
        return graph_of(self.runner.compiled("lowered").lowered)

    @property
    def kernel(self) -> Kernel:
        """What was known of the graph before it was compiled natively.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> len(sg.compile([x], x * x).kernel.units)
            1
        """
        return self.runner.compiled("kernel").kernel

    @property
    def source(self) -> str:
        """The kernel as Python, with the user's names, and of each statement its op and line.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> print(sg.compile([x], x * x).source)
            # A compiled graph: units, each a function of loops, and the kernel that calls them.
            ...
            def unit_0(x: p_f64, output_0: p_f64, first: i64, last: i64, chunk: i64) -> i64:
                for i0 in range(first, last):
                    x_1 = x[i0]                           # x  <- ...
                    v2 = x_1 * x_1                        # multiply  <- ...
            ...
        """
        from staticgraph.compiler.codegen.listing import listing

        return listing(self.runner.compiled("source").kernel)

    @property
    def plan(self) -> Plan:
        """The buffers, and the bytes that they take for given sizes.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> print(sg.compile([x], x * x).plan)
            slot  kind      holds                        lives
            b0    input     float64[x.0]                 outside of calls
            b1    output    float64[x.0]                 outside of calls
            1 groups of loops and products, in this order
            arena 0 bytes, in all 8192 bytes, x.0 = 1024
        """
        from staticgraph.compiler.inspect.plan import Plan

        kernel = self.runner.compiled("plan").kernel
        return Plan(kernel.memory, kernel.fusion)

    def explain(
        self, what: str | int | Expression | None = None, sizes: Mapping[str, int] | None = None
    ) -> Explanation:
        """What became of each op: what the passes did to it, where it runs, where its value lies.

        The passes run once more, and what they do, and why they do not fuse, is recorded as it
        happens. `print` shows it below your lines; it is iterable, and `op.of(kind)` gives facts.

        Args:
            what: a line, such as "train.py:41", with the gradients of its ops; the name of a value
                or an op; a node of `graph`; an expression; None for all.
            sizes: sizes that are unknown, as `plan` has them; without, 1024 stands for each.

        Raises:
            OptionError: there is nothing of that, or a size is missing.
            AttributeError: it runs op by op (`debug`), without a kernel.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> print(sg.compile([x], sg.log1p(sg.exp(x)), name="f").explain("log1p"))
            f: 3 ops as defined, 1 that run, in 1 group; memory and threads as with x.0 = 1024
            <BLANKLINE>
            ...
              log1p float64[x.0] -> softplus
                rewritten  log1p(exp(x)) -> softplus(x)  [log1p_of_exp]
                group      0
                memory     output 0
            <BLANKLINE>
            groups, in the order in which they run
              0      loops over (x.0): softplus (...); one thread at these sizes
        """
        from staticgraph.compiler.driver import lower
        from staticgraph.compiler.inspect.explain import explain

        self.runner.compiled("explain")
        return explain(
            self.definition, self.name, partial(lower, options=self.options), what, sizes
        )

    def profile(self, /, *args: object, **kwargs: object) -> Profile:
        """How long each step of the kernel takes on some inputs; `print` shows a table.

        Steps are fused ops; each is run by itself, in their order, for half a second in all, and
        what timing takes is subtracted. A loop or branch is a step too, and has the steps `inside`,
        timed for another half second. `nodes` divides a step among its ops, by an estimate. Bytes
        and flops are the least that each has to move and compute; `against_limits()` compares them
        with what the machine can do. Nothing is updated.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> [step.ops for step in sg.compile([x], x * x).profile(np.ones(8)).steps]
            [('multiply',)]
        """
        from staticgraph.compiler.inspect.profile import profile

        return profile(self.runner.compiled("profile"), args, kwargs)

    @property
    def variables(self) -> dict[str, Variable]:
        """The variables that it reads or updates by their names, in the order of the graph.

        Those without a name are called `variable 0`, ...; a number is put behind a name that came
        before.

        Example:
            >>> count = sg.variable(np.array([0.0]), "count")
            >>> sg.compile([], count, updates={count: count + 1}).variables
            {'count': <variable 'count': float64[1]>}
        """
        found: dict[str, Variable] = {}
        for node in self.definition.nodes:
            if node.op.name == "variable":
                name = node.name or f"variable {len(found)}"
                while name in found:
                    name = f"{name} ({len(found)})"
                found[name] = Variable(node.op, (), node.attrs, node.name, node.source)
        return found

    def step(
        self,
        /,
        *args: object,
        break_at: str | Sequence[str] | None = None,
        commands: Sequence[str] | None = None,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        update: bool = False,
        **kwargs: object,
    ) -> Any:
        """Run the kernel as plain Python under pdb, with your names and lines.

        What runs is the text of `source`, as `export` writes it, with a function per group of ops:
        loops over scalars, calls of NumPy for products and for what no loop computes. pdb's own
        commands step through it; docs/debugging.md shows a session.

        Args:
            break_at: where to stop: a line of yours, as the end of `file:line` (`"train.py:40"`,
                gradients of that line too), the name of an op or of a value, or a list of such.
                A stretch of statements from there is one stop. None stops at the first statement.
            commands: lines for pdb instead of typed ones; after the last one it runs to the end.
            stdin, stdout: files that pdb reads and writes instead of the terminal.
            update: whether variables get their new values, if it is run to the end; else they stay
                what they are.

        Returns:
            What a call returns, but for rounding; None if it was left with `quit`.

        Raises:
            OptionError: nothing in the kernel comes from `break_at`; the lines, ops or names that
                there are are listed.
            FeedError, DTypeError, ShapeError, OutOfRangeError: as a call does.
            NonFiniteError: with `update` and `on_nonfinite="raise"`; nothing is updated.
            AttributeError: it runs op by op (`debug`), without a kernel.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> f = sg.compile([x], sg.exp(x) + 1.0, name="f")
            >>> f.step(np.array([0.0]), break_at="exp", commands=["p x_1", "c"])
            > <kernel f>(...)unit_0()
            -> v2 = exp(x_1)                         # exp  <- ...
            (Pdb) p x_1
            np.float64(0.0)
            (Pdb) c
            array([2.])
        """
        from staticgraph.compiler.export.stepping import Session

        return self._stepped(args, kwargs, Session(break_at, commands, stdin, stdout, update))

    def _stepped(
        self,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        session: Session,
        names: tuple[Lookup, Lookup] | None = None,
    ) -> Any:
        """`step`, for who knows more names at the prompt: a function's, and those around it."""
        from staticgraph.compiler.export.stepping import step

        told = self.runner.compiled("step")
        found = step(told.unchecked(), args, kwargs, session, told, names)
        return None if found is None else self.restructure(found)

    def replay(self, /, *args: object, **kwargs: object) -> Replay:
        """Where inf and nan come from, in a call that is run again op by op; `print` tells it.

        Without arguments, what was found of the last call that `on_nonfinite` was told of: it was
        run again on its inputs and on the variables as they were before it; with "report", which
        keeps the inputs of the last call (the arrays themselves), that call if none was told of
        since. With arguments, a call with these inputs. Variables are then as they are now, after
        their updates. Nothing is updated. Both the graph as
        it was defined and the one that ran, after all rewrites, are run with NumPy, into the bodies
        of loops and branches, and a rewrite that stands between the two is named.

        Returns:
            A `Replay`: the outputs and updates that are not finite, and the `causes`, each with its
            op, `file:line` ("gradient of exp at file:line" for what a gradient computes), the
            ranges of its operands, the first place that is not finite, and in which iteration of
            which loop. `intermediate` has what was inf or nan on the way, such as a mask, and of
            which nothing came.

        Raises:
            OptionError: there are no arguments, and no call was found to be inf or nan.
            FeedError, DTypeError, ShapeError: the inputs do not fit.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> f = sg.compile([x], sg.sum(sg.log(x)), name="f", on_nonfinite="raise")
            >>> f(np.array([1.0, 0.0]))
            Traceback (most recent call last):
            ...
            staticgraph.NonFiniteError: f: not finite: output
              log = float64[2]: 1 not finite, the first is -inf at [1], of 0  (...)
                operand 0: float64[2] from 0 to 1
            >>> f.replay().first.op, f.replay(np.array([1.0, 2.0])).causes
            ('log', ())
        """
        runner = self._settled()
        if args or kwargs:
            return runner.replay(args, kwargs)
        lost = runner.lost
        if lost is not None and lost.last is not None and lost.is_looking:
            return runner.replay(*lost.last)
        found = None if lost is None else lost.asked()
        if found is not None:
            return found
        if self.feeds:
            raise OptionError(
                f"{self.name}: no call was inf or nan that compile(..., on_nonfinite=...) was told "
                "of: give replay the inputs of a call"
            )
        return runner.replay((), {})

    def trace(self, /, *args: object, **kwargs: Any) -> Trace:
        """Every intermediate value for some inputs, op by op with NumPy as in debug mode.

        Nothing is updated. `print(executable.trace(...))` lists each op with the type and range of
        its value and the line that it comes from; what gradients compute comes at last (`forward`
        and `gradient` have each alone). Ops in loops and branches are listed below the iteration,
        or branch, in which they ran.

        Args:
            rewrites: unless a placeholder has this name: False for the graph as it was defined,
                True for the one that runs, after all rewrites (none in debug mode).
            iterations: unless a placeholder has this name: of how many iterations of each loop the
                steps are kept; 3 if it is not given, None for all.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> print(sg.compile([x], sg.sin(x * x)).trace(np.array([3.0])))
            multiply(float64[1], float64[1]) = float64[1] [9.]  (...)
            sin(float64[1]) = float64[1] [0.412118]  (...)
        """
        from staticgraph.executables.traces import trace_of

        def ran() -> Definition:
            if self._settled().mode.debug:
                return self.definition
            return self.runner.compiled("trace").lowered

        return trace_of(self.definition, ran, self.name, args, kwargs)

    def draw(self, path: Any = None, **options: Any) -> Drawing:
        """Draw the graph as it was defined, to an SVG, PNG or PDF file if a path is given.

        Args:
            path: where to save; the suffix decides the format.
            options: `values`, `gradients`, `title` and `fold`, as `staticgraph.draw.draw` takes
                them; with `fold=0` each outermost scope is one box.

        Raises:
            MissingExtraError: matplotlib is not installed (the extra `draw`).

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> drawing = sg.compile([x], x * x).draw("square.svg", title="a square")
        """
        from staticgraph.draw import draw  # matplotlib is an extra, and slow to import

        return draw(self.graph, path, **options)

    def view(self, path: str | os.PathLike[str] | None = None, *, inputs: Inputs = None) -> View:
        """One page for a browser: your lines beside the graph beside the kernel, linked.

        The graph is shown before and after the passes, with the gradient and the updates in lanes
        of their own, and folded: scopes (`sg.scope`), lines, fused groups, loops and branches are
        boxes that open. The page is one file without anything to load. Nothing is updated.

        Args:
            path: of the file to write, `.html`; None for none: the result shows itself in
                notebooks, and has `save`.
            inputs: what a call takes, as a tuple or a dict by names: to show each value, its range
                and what is not finite, evaluated op by op with NumPy, and the time of each step.

        Raises:
            OptionError: the path has another suffix, or the inputs are neither.
            FeedError, DTypeError, ShapeError: the inputs do not fit.

        Example:
            >>> x = sg.placeholder("x", (None,), "float64")
            >>> page = sg.compile([x], x * x).view("square.html", inputs=(np.ones(3),))
        """
        from staticgraph.view import view_of

        return view_of(self.name, self.definition, self._settled(), path, inputs)

    def _repr_svg_(self) -> str | None:
        from staticgraph.draw.notebook import picture

        return picture(self)
