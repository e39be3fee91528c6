"""The rooms of the three packages, in order, and what the sources import.

A room is a folder, or the files at a package's root. An import points to the same room or a lower
one, at the top of a file and inside functions alike; what a lower room needs of a higher one is
provided to it (`compiler/core/provided.py`). `test_rooms.py` enforces that.

`python -m tests.project.rooms` draws the rooms in docs/architecture.md, with what each imports.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.paths import ROOT

DOCUMENT = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: python -m tests.project.rooms -->\n", "<!-- end of rooms -->\n"


class Room(NamedTuple):
    """A room of a package.

    Attributes:
        name: that of its folder, or what the files at the root are called together.
        about: what is in it.
        modules: its folder and files, by their names in the package; "" is the package itself.
    """

    name: str
    about: str
    modules: tuple[str, ...]


def _room(name: str, about: str, *modules: str) -> Room:
    return Room(name, about, modules or (name,))


ROOMS: dict[str, tuple[Room, ...]] = {
    "compiler": (
        _room("core", "types, sizes, errors, the record of an op, options, settings"),
        _room("reference", "ops on plain arrays, with NumPy"),
        _room("ops", "the declarations: type, evaluation, gradient, lowering"),
        _room("functions", "functions in NumPy's names, composed of ops"),
        _room("array_api", "the functions of the array API standard, in its signatures"),
        _room("graph", "expressions, definitions, the networkx graph, files"),
        _room("transforms", "derivatives, batches, loops and branches"),
        _room("layers", "functions of layers and losses, composed of ops and loops"),
        _room("passes", "graph to graph"),
        _room("schedule", "fusion: what is computed together, and in which order"),
        _room("ir", "the loop IR: what kernels are, as records, and their text"),
        _room("codegen", "groups to loops, memory, the program"),
        _room("llvm", "loops to machine code, vector maths, the thread pool"),
        _room("runtime", "inputs, threads, the BLAS, the kernel cache"),
        _room("inspect", "interpreter, debugging, profiles, plans, explanations"),
        _room("export", "kernels as files that need NumPy and Numba only, and under pdb"),
        _room("viz", "layout of graphs, what is folded into boxes, SVG"),
        _room(
            "root", "`compile_graph`, and the runners of executables",
            "", "compile", "driver", "dump", "evaluation", "pipeline", "runners",
        ),
    ),
    "dynamic": (
        _room("core", "errors, warnings, dtypes, ops that only tensors have"),
        _room("kernels", "how ops on arrays are computed: with NumPy, or compiled"),
        _room("tape", "nodes, hooks, grad modes, the reverse pass"),
        _room(
            "tensors", "`Tensor`, its methods, views, in-place operations, factories", "tensors",
            "random",
        ),
        _room("fast_paths", "ops on small plain tensors, straight to NumPy"),
        _room("operations", "PyTorch's functions, composed of shared ops"),
        _room("func", "`grad`, `vjp`, `jvp`, `vmap` of functions: tracers"),
        _room("capture", "what stands for tensors in a function that is compiled"),
        _room("autograd", "`Function`, forward mode, gradient checks, functional"),
        _room("linalg", "`torch.linalg`"),
        _room("sparse", "`torch.sparse`: tensors of coordinates"),
        _room("nn", "modules and their functions"),
        _room("optim", "optimizers and schedulers"),
        _room(
            "utils", "checkpoints that recompute, data sets and loaders, profiles", "utils",
            "profiler",
        ),
        _room("distributions", "`torch.distributions`"),
        _room(
            "machine", "what scripts ask of GPUs and several processes, which are not here",
            "accelerator", "amp", "backends", "cuda", "distributed", "jit", "multiprocessing",
            "version",
        ),
        _room("xp", "the array API standard: arrays, and their namespace"),
        _room(
            "files", "tensors in files: safetensors, PyTorch's checkpoints, ONNX", "files", "hub",
            "onnx",
        ),
        _room(
            "functions", "functions of the main package that need layers or captures; drawings",
            "functions", "_C", "_utils", "ops", "overrides",
        ),
        _room(
            "root", "the public names, and `Tensor` assembled",
            "", "assembly", "fft", "handle", "special", "testing",
        ),
    ),
    "staticgraph": (
        _room(
            "leaves", "placeholders, variables, constants; optimizers, regions",
            "leaves", "creation", "fft", "linalg", "optim", "regions", "special",
        ),
        _room("draw", "drawings of graphs"),
        _room("view", "graphs as a page: lines, graph and kernel, linked"),
        _room("xp", "the array API standard of expressions"),
        _room("executables", "what `compile` returns, and how it is saved"),
        _room("compilation", "`compile`, `run`, `load`", "compilation", "loading"),
        _room("random", "keys, distributions, streams"),
        _room("nn", "functions of layers and losses, in PyTorch's names"),
        _room("tracing", "`function`: graphs from Python functions"),
        _room("transforms", "`grad`, `vjp`, `jvp`, `vmap` of expressions and functions"),
        _room("onnx", "graphs written as models of ONNX, and models read into both paradigms"),
        _room("user_ops", "`op`, `host_call`: functions of users as ops", "user_ops", "host_calls"),
        _room("sklearn", "estimators of scikit-learn"),
        _room("root", "the public names, most of them loaded when they are asked for", ""),
        _room("distributed", "ranks: several processes that train together, over MPI"),
        _room("compare", "the comparison with other frameworks"),
        _room("fuzz", "the campaigns of random programs"),
        _room("listing", "`ops`: every op, and NumPy's, JAX's and PyTorch's names beside ours"),
        _room("differences", "`diff`: both paradigms on the same inputs, value by value"),
        _room("commands", "the command line", "__main__"),
    ),
}  # fmt: skip
"""Per package its rooms, the lowest first."""

Imports = Mapping[str, set[str]]


def modules(root: Path, package: str) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    found = {}
    for path in sorted((root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def in_folder(name: str) -> str:
    """A dotted name as that of a file: `staticgraph.compiler` and `.dynamic` are folders beside."""
    below = name.removeprefix("staticgraph.")
    return below if below.partition(".")[0] in ("compiler", "dynamic") else name


@functools.cache
def imported(path: Path, *, types: bool = True) -> frozenset[str]:
    """The dotted names that a file imports, in functions too; with those for types alone or not."""
    found: set[str] = set()
    for node in _statements(ast.parse(path.read_text()).body, types):
        if isinstance(node, ast.Import):
            found |= {in_folder(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import in line {node.lineno}"
            found |= {in_folder(f"{node.module}.{alias.name}") for alias in node.names}
    return frozenset(found)


def _statements(body: Iterable[ast.AST], types: bool) -> Iterator[ast.AST]:
    """Statements and those within them; those that no run executes, for types alone, or not.

    Expressions, of which a file mostly consists, have no imports.
    """
    for node in body:
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types:
            yield from _statements(node.orelse, types)
            continue
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, field, ()), types)


@functools.cache
def imports_within(root: Path, package: str) -> dict[str, set[str]]:
    """Per module of a package the other modules of it that it imports, for types alone too.

    What a package's own `__init__` imports for types alone are the names that editors find there,
    of any room: they are imported when they are asked for.
    """
    known = modules(root, package)
    found = {}
    for name, path in known.items():
        targets = {
            one if one in known else one.rpartition(".")[0]
            for one in imported(path, types=name != package)
        }
        found[name] = {one for one in targets if one in known and one != name}
    return found


def room_of(module: str, rooms: tuple[Room, ...]) -> int | None:
    """The place of a module's room in the order; None if the module belongs to no room."""
    inside = module.partition(".")[2]
    first = inside.partition(".")[0]
    return next((i for i, room in enumerate(rooms) if first in room.modules), None)


def upward(imports: Imports, rooms: tuple[Room, ...]) -> list[str]:
    """The imports that point to a higher room."""
    return [
        f"{module} ({rooms[here].name}) imports {target} ({rooms[there].name})"
        for module, targets in imports.items()
        for target in sorted(targets)
        if (here := room_of(module, rooms)) is not None
        and (there := room_of(target, rooms)) is not None
        and here < there
    ]


def drawing() -> str:
    """A table for each package: its rooms, what is in them, and which others each imports."""
    return "\n".join(
        _table(package, rooms, imports_within(ROOT, package)) for package, rooms in ROOMS.items()
    )


def _table(package: str, rooms: tuple[Room, ...], imports: Imports) -> str:
    used: list[set[int]] = [set() for _ in rooms]
    for module, targets in imports.items():
        here = room_of(module, rooms)
        assert here is not None, f"{module} belongs to no room"
        used[here] |= {there for one in targets if (there := room_of(one, rooms)) is not None}
    rows = [f"| `{package}/` | what is in it | imports |", "|---|---|---|"]
    for i, room in enumerate(rooms):
        others = ", ".join(rooms[one].name for one in sorted(used[i] - {i}))
        rows.append(f"| {room.name} | {room.about} | {others} |")
    return "\n".join(rows) + "\n"


def drawn(document: str) -> str:
    """A document with the drawing in its place."""
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{drawing()}\n{END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(drawn(DOCUMENT.read_text()))
