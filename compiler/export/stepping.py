"""`step`: a kernel run as plain Python under pdb, with breakpoints at the user's lines."""

from __future__ import annotations

import pdb
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.source import mark_of, marked, place_of
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.export.assigned import Assigned, turns
from staticgraph.compiler.export.plain import LIBRARY, Plain, comes_from, plain
from staticgraph.compiler.export.prompt import Around, Locals, Lookup, Place, of_definition
from staticgraph.compiler.export.whereabouts import Whereabouts
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import LEAVES, Definition, Node
from staticgraph.compiler.graph.state import holding, write
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.runtime.arguments import as_inputs, in_order
from staticgraph.compiler.runtime.sizes import check_sizes, sizes_of

if TYPE_CHECKING:
    from staticgraph.compiler.inspect.kernel_runner import KernelRunner

_LINE = re.compile(r".*:\d+", re.DOTALL)
MOST = 12  # lines, ops or names that an error lists


@frozen
class Session:
    """How a kernel is stepped through: what `Executable.step` is given."""

    break_at: object = None
    commands: Sequence[str] | None = None
    stdin: TextIO | None = None
    stdout: TextIO | None = None
    update: bool = False


def step(
    runner: KernelRunner,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    session: Session,
    told: KernelRunner,
    names: tuple[Lookup, Lookup] | None = None,
) -> list[Array] | None:
    """The results of a kernel run under pdb; see `Executable.step`. None if it was left.

    Args:
        told: who is told of inf and nan before anything is updated.
        names: who knows the names of a function, and those around it; None for a graph that was
            not made of one.
    """
    commands, stdin = session.commands, session.stdin
    if commands is not None and (isinstance(commands, str) or stdin is not None):
        raise OptionError(
            f"step: commands is a list of lines for pdb, instead of stdin; not {commands!r:.80}"
        )
    given = in_order(runner.name, runner.feeds, args, dict(kwargs)) if kwargs else args
    inputs = [np.array(one, order="C") for one in as_inputs(runner.name, runner.feeds, given)]
    sizes = sizes_of(runner.feeds, inputs)
    check_sizes(runner.definition, sizes)
    if names is None:
        runner = runner.over(_with_marks(runner.definition))
    made = plain(runner, sizes)
    is_function = names is not None
    stops = _stops(made, runner.definition, runner.name, session.break_at, is_function)
    with holding(runner.states, changes=False):
        copies = [state.array.copy() for state in runner.states]
    around = _around(runner, made, inputs, copies, names)
    debugger = _Debugger(made, stops, session, around)
    with np.errstate(all="ignore"):
        found = debugger.runs(made.run, inputs, dict(zip(made.variables, copies, strict=True)))
    made.forget()  # but for a traceback
    if found is None:
        return None
    results = list(found) if isinstance(found, tuple) else [found]
    nodes = runner.definition.nodes
    changed = {nodes[variable].attrs["key"] for variable, _ in runner.definition.updates}
    if session.update and changed:
        new = {one: copy for one, copy in zip(runner.states, copies, strict=True) if one in changed}
        if told.lost is not None and not all(
            np.isfinite(one).all() for one in (*results, *new.values())
        ):
            told.lost.tell(lambda: told.replay(inputs, {}))
        with holding(list(new), changes=True):
            write(list(new), list(new.values()))
    return results


def _around(
    runner: KernelRunner,
    made: Plain,
    inputs: Sequence[Array],
    variables: Sequence[Array],
    names: tuple[Lookup, Lookup] | None,
) -> Around:
    """What names mean that a frame of the kernel does not have."""
    nodes = [node for _, node in runner.launch_plan.variables]
    known = [runner.definition.nodes[node].name for node in nodes]
    given = dict(zip(made.variables, variables, strict=True))
    given |= {name: one for name, one in zip(known, variables, strict=True) if name}
    given |= {feed.name: one for feed, one in zip(runner.feeds, inputs, strict=True)}
    before = {node: one.copy() for node, one in zip(nodes, variables, strict=True)}
    assigned = Assigned(runner.definition, made.comments, names is not None)
    graph = of_definition(runner.definition, assigned, [*map(np.copy, inputs)], before)
    own, *others = (graph,) if names is None else (names[0], graph, names[1])
    return Around(given, own, others, {*made.names.values(), *given})


def _with_marks(definition: Definition) -> Definition:
    """The same, with the last number of its turn as the mark of each node's source.

    What is in the body of a loop or branch has the number of that.
    """
    marks = {number: turn[-1] for turn in turns(definition) for number in turn}
    nodes = [_with_mark(node, marks.get(node.id, node.id), node.id) for node in definition.nodes]
    return replace(definition, nodes=tuple(nodes))


def _with_mark(node: Node, mark: int, inside: int) -> Node:
    attrs = {key: _body_with_mark(value, inside) for key, value in node.attrs.items()}
    return replace(node, attrs=attrs, source=marked(node.source, mark))


def _body_with_mark(value: Any, mark: int) -> Any:
    if not isinstance(value, Body):
        return value
    nodes = tuple([_with_mark(node, mark, mark) for node in value.definition.nodes])
    return Body(replace(value.definition, nodes=nodes))


def _stops(
    made: Plain, definition: Definition, name: str, break_at: object, is_function: bool
) -> list[int]:
    """The lines of the text to stop at: where a stretch of statements begins that is asked for.

    In a function's kernel the body of a branch reads what other lines have computed: it is not
    there that these are run.
    """
    wanted = [] if break_at is None else [break_at] if isinstance(break_at, str) else break_at
    if not isinstance(wanted, list | tuple) or not all(isinstance(one, str) for one in wanted):
        raise OptionError(
            f"step: break_at is 'file.py:12', an op, the name of a value, or a list of such; "
            f"not {break_at!r:.80}"
        )
    found: set[int] = set()
    for one in wanted:
        matching = _matching(made, definition, one)
        if is_function and _LINE.fullmatch(one):
            matching = ({one for one in every if not _is_read(made, one)} for every in matching)
        tried = (list(_beginnings(made, numbers)) for numbers in matching)
        stops = next(filter(None, tried), [])
        if not stops:
            raise _nowhere(made, name, one)
        found.update(stops)
    return sorted(found)


def _is_read(made: Plain, number: int) -> bool:
    """Whether a node is what a body reads of what is computed elsewhere."""
    node = made.nodes[number]
    return node.op is leaves.placeholder and not node.name and mark_of(node.source) is not None


def _matching(made: Plain, definition: Definition, wanted: str) -> Iterator[set[int]]:
    """The nodes of a kernel that are meant by a line, an op or the name of a value.

    What has been rewritten, such as a composite, and what a loop gives, is found by the line where
    it was written.
    """
    nodes = made.nodes
    if _LINE.fullmatch(wanted):
        yield {number for number, node in nodes.items() if comes_from(node, wanted)}
        return
    named = {number for number, name in made.names.items() if name == wanted}
    yield named | {number for number, node in nodes.items() if node.op.name == wanted}
    number = made.defined.get(wanted)
    defined = (
        node
        for node in definition.nodes
        if wanted in (node.op.name, node.name) or node.id == number
    )
    places = {node.source for node in defined}
    yield {number for number, node in nodes.items() if node.source in places}


def _beginnings(made: Plain, numbers: set[int]) -> Iterator[int]:
    """The first lines of the stretches that compute some nodes; what they read may be between.

    A line that is run again begins another.
    """
    inside, turn = False, None
    for at, (line, node, _) in enumerate(made.rows, start=1):
        is_leaf = node is not None and made.nodes[node].op in LEAVES
        if (is_leaf and node not in numbers) or (node is None and not line.endswith(":")):
            continue
        matches = node in numbers
        mark = None if node is None or is_leaf else mark_of(made.nodes[node].source)
        if matches and (not inside or (None not in (mark, turn) and mark != turn)):
            yield at
        turn = turn if matches and mark is None else mark
        inside = matches


def _nowhere(made: Plain, name: str, wanted: str) -> OptionError:
    """What is raised for a place that nothing in a kernel comes from."""
    computed = [row.node for row in made.rows if row.node is not None]
    if _LINE.fullmatch(wanted):
        what, known = "lines", [PurePath(place_of(made.nodes[one].source)).name for one in computed]
    else:
        what, known = "ops and names", [made.names.get(one, "") for one in computed]
        ops = (made.nodes[one].op for one in computed)
        known += [op.name for op in ops if op not in LEAVES]
    listed = sorted(filter(None, dict.fromkeys(known)), key=_by_number)
    more = [f"{len(listed) - MOST} more"] if len(listed) > MOST else []
    return OptionError(
        f"step: {name}: no statement of the kernel comes from {wanted!r:.80}; it was folded, or is "
        f"not there. The {what} are {', '.join([*listed[:MOST], *more])}"
    )


def _by_number(text: str) -> tuple[str, int]:
    head, _, number = text.rpartition(":")
    return (head, int(number)) if head and number.isdecimal() else (text, 0)


class _Echoed:
    """Lines as if somebody typed them: what is read is seen after the prompt."""

    def __init__(self, lines: Sequence[str], shown: TextIO) -> None:
        self._left = list(lines)[::-1]
        self._shown = shown

    def readline(self) -> str:
        """The next line; empty after the last one."""
        line = f"{self._left.pop()}\n" if self._left else ""
        self._shown.write(line or "\n")
        return line


class _Debugger(pdb.Pdb):
    """pdb over one text. It stops at lines that are given, or else at the first one."""

    def __init__(self, made: Plain, stops: Sequence[int], session: Session, around: Around) -> None:
        commands, stdin, stdout = session.commands, session.stdin, session.stdout
        self._around, self._whereabouts = around, Whereabouts(made)
        shown = sys.stdout if stdout is None else stdout
        is_typed = commands is None and stdin is None
        given: Any = stdin if commands is None else _Echoed(commands, shown)
        super().__init__(
            skip=[LIBRARY, "numpy", "numpy.*", "contextlib"],
            stdin=given,
            stdout=None if is_typed and stdout is None else shown,
            nosigint=True,
            readrc=is_typed,
        )
        self.use_rawinput = is_typed and stdout is None
        self._file = made.file
        self._stops = stops
        self._waits = bool(stops)
        self._goes_on = commands is not None

    def runs(
        self, function: Callable[..., Any], inputs: Sequence[object], named: Mapping[str, object]
    ) -> Any:
        """What the function returns; None if it was left."""
        before = sys.gettrace()
        for line in self._stops:
            self.set_break(self._file, line)
        try:
            return self.runcall(function, *inputs, **named)
        finally:
            self.clear_all_file_breaks(self._file)
            sys.settrace(before)

    def user_line(self, frame: Any) -> None:
        """Stop, but not at the first line if there are others to stop at."""
        if self._waits:
            self._waits = False
            if not self.break_here(frame):
                self.set_continue()
                return
        super().user_line(frame)

    @property
    def curframe_locals(self) -> dict[str, Any]:
        """What names mean at the prompt."""
        frame = self.curframe
        if frame is None:
            return {}
        lines = [at for one, at in self.stack if one.f_code.co_filename == self._file]
        if frame.f_code.co_filename != self._file or not lines:
            return Locals(frame, self._around, Place(None, {}))
        place = self._whereabouts.place(lines[-1], frame.f_lineno)
        return Locals(frame, self._around, place)

    @curframe_locals.setter
    def curframe_locals(self, value: object) -> None:
        """Nothing: what pdb keeps are the names of the frame alone."""

    def do_EOF(self, arg: str) -> Any:  # noqa: N802 - the name is that of pdb
        """After the last of the lines that were given as `commands`, run to the end."""
        if not self._goes_on:
            return super().do_EOF(arg)
        self.clear_all_file_breaks(self._file)
        self.set_continue()
        return True
