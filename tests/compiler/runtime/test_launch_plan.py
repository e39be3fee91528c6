"""Starts from the kernel cache: the same results without a pass, and the same graph to look at."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.compile import compile_graph
from staticgraph.compiler.core.dims import Unknown, atoms
from staticgraph.compiler.core.errors import FeedError, GraphError, OutOfRangeError, ShapeError
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.graph.definition import define, to_text
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.runtime.cache.loader import counts
from staticgraph.fuzz.graphs.case import cases_of
from tests.combinations import some
from tests.compiler.transforms.test_control_values import symbolic
from tests.graphs import DEFINITIONS, random_graph
from tests.loops import PROGRAMS
from tests.paths import ROOT

NAME = re.compile("  # '.*'$", re.MULTILINE)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test alone."""
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.fixture
def launch_plans() -> Iterator[Any]:
    """How many launch plans were loaded since."""
    before = counts["launch_plans"]
    yield lambda: counts["launch_plans"] - before


def compiled(inputs: Sequence[Expression], outputs: Sequence[Expression], **options: Any) -> Any:
    return compile_graph(define(inputs, outputs), list, "test", Options(**options))


def same_bits(left: Sequence[Any], right: Sequence[Any]) -> None:
    for one, other in zip(left, right, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()


def same_looks(cold: Any, warm: Any) -> None:
    """What is made again when somebody looks is what was made before."""
    assert NAME.sub("", to_text(warm.runner.lowered)) == NAME.sub("", to_text(cold.runner.lowered))
    assert warm.source == cold.source
    if len(set(map(str, unknowns(cold)))) == len(unknowns(cold)):  # else it cannot be shown
        assert str(warm.plan) == str(cold.plan)


def unknowns(executable: Any) -> set[Unknown]:
    return atoms([size for slot in executable.kernel.memory.slots for size in slot.shape])


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(8), 1))
@pytest.mark.parametrize("options", [{}, {"fuse": False}, {"numerics": "fast"}], ids=str)
def test_random_graphs_are_bitwise_the_same(
    seed: int, options: dict[str, Any], launch_plans: Any
) -> None:
    found = []
    for graph in (random_graph(seed), random_graph(seed)):
        run = sg.compile(graph.inputs, graph.outputs, graph.updates, lint="off", **options)
        results = []
        for case in cases_of(graph):
            try:
                results += run(*(case.arrays[leaf.name] for leaf in graph.inputs))
            except sg.StaticGraphError as error:
                results.append(np.array(type(error).__name__))
        results += [variable.value for variable in graph.variables]
        found.append((run, results))
    assert launch_plans() == 1
    (cold, expected), (warm, values) = found
    same_bits(expected, values)
    same_looks(cold, warm)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(PROGRAMS, 2))
def test_loops_and_branches_are_bitwise_the_same(name: str, launch_plans: Any) -> None:
    found = []
    for _ in range(2):
        output, feeds = symbolic(PROGRAMS[name])
        run = sg.compile(list(feeds), [output, *sg.grad(output, list(feeds))])
        found.append((run, run(*feeds.values())))
    assert launch_plans() == 1
    (cold, expected), (warm, values) = found
    same_bits(expected, values)
    same_looks(cold, warm)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(DEFINITIONS, 3))
def test_each_process_has_its_own_variables(name: str, launch_plans: Any) -> None:
    found = []
    for _ in range(2):
        inputs, outputs, updates = DEFINITIONS[name]()
        run = sg.compile(inputs, outputs, updates)
        values = [
            np.ones([size if isinstance(size, int) else 3 for size in one.shape], one.dtype)
            for one in inputs
        ]
        run(*values)
        found.append((run, [*run(*values), *(one.value for one in run.variables.values())]))
    assert launch_plans() == 1
    (cold, expected), (warm, values) = found
    same_bits(expected, values)
    same_looks(cold, warm)
    for one, other in zip(cold.variables.values(), warm.variables.values(), strict=True):
        assert one.state is not other.state


def step(name: str, first: float = 0.5) -> tuple[Any, Any]:
    x = sg.placeholder(name, (None, 3))
    w = sg.variable(np.full(3, first, "float32"), f"w of {name}")
    loss = sg.mean((x @ w - 2 * sg.constant([1.0, 2.0, 3.0]).sum()) ** 2)
    return sg.compile([x], loss, {w: w - 0.1 * sg.grad(loss, w)}, name=f"step of {name}"), w


def test_values_of_variables_are_no_part_of_an_launch_plan(launch_plans: Any) -> None:
    x = np.ones((4, 3), "float32")
    (cold, v), (warm, w) = step("x"), step("x", -1.5)
    assert launch_plans() == 1
    assert cold(x) == (1.5 - 12) ** 2
    assert warm(x) == (-4.5 - 12) ** 2
    assert not np.array_equal(v.value, w.value)


def test_names_and_lines_are_those_of_this_process(launch_plans: Any) -> None:
    step("x")
    warm, _ = step("z")
    assert launch_plans() == 1
    assert repr(warm) == "<executable step of z(z: float32[z.0, 3])>"
    assert list(warm.variables) == ["w of z"]
    assert warm.plan.sizes == ("z.0",)
    with pytest.raises(FeedError, match=r"step of z: missing feed 'z': float32\[z\.0, 3\]"):
        warm()
    with pytest.raises(ShapeError, match=r"feed 'z': axis 1 of \[2, 4\] is 4, not 3"):
        warm(np.ones((2, 4), "float32"))


def test_an_index_out_of_range_is_told_with_the_line_of_this_process(launch_plans: Any) -> None:
    runs = []
    for name in ("one", "other"):
        table = sg.placeholder("table", (name, 2))
        index = sg.placeholder("index", (None,), "int64")
        rows = sg.take(table, index, axis=0) if name == "one" else table[index]
        runs.append(sg.compile([table, index], rows))
    assert launch_plans() == 1
    with pytest.raises(OutOfRangeError, match=r"index 5 .* size 3, of float32\[other, 2\]") as told:
        runs[1](np.ones((3, 2), "float32"), np.array([0, 5]))
    line = sys._getframe().f_code.co_firstlineno
    number = int(str(told.value).rpartition(":")[2].rstrip(")"))
    assert line < number < line + 8


def test_sizes_that_do_not_fit_are_told_in_the_words_of_the_user(launch_plans: Any) -> None:
    for name in ("x", "z"):
        a, b = sg.placeholder(name, (None,)), sg.placeholder("b", (None,))
        run = sg.compile([a, b], a + b)
    assert launch_plans() == 1
    with pytest.raises(ShapeError, match=r"add: .*\(.*test_launch_plan\.py:\d+\)"):
        run(np.ones(3, "float32"), np.ones(4, "float32"))
    with pytest.raises(ShapeError, match=r"add: z\.0 = 3 and b\.0 = 1 differ"):
        run(np.ones(3, "float32"), np.ones(1, "float32"))


def test_a_profile_and_a_trace_after_a_start_from_the_cache(
    launch_plans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("staticgraph.compiler.inspect.profile.SECONDS", 0.01)
    x = np.ones((4, 3), "float32")
    cold, warm = (step("x")[0] for _ in range(2))
    assert launch_plans() == 1
    assert [one.ops for one in warm.profile(x).steps] == [one.ops for one in cold.profile(x).steps]
    assert len(warm.trace(x).steps) == len(cold.trace(x).steps)


def test_a_kernel_that_is_not_the_one_that_runs_is_not_shown() -> None:
    step("x")
    warm, _ = step("x")
    warm.runner.options = Options(fuse=False)
    with pytest.raises(GraphError, match="step of x: the kernel cache has another kernel"):
        warm.source  # noqa: B018


def test_nothing_is_read_or_written_without_a_cache(
    place: Path, launch_plans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE", "0")
    for _ in range(2):
        step("x")[0](np.ones((4, 3), "float32"))
    assert launch_plans() == 0
    assert not place.exists()


def test_numba_compiles_anew(launch_plans: Any) -> None:
    x = sg.placeholder("x", (None,), "float64")
    for _ in range(2):
        run = sg.compile([x], x * 3, backend="numba")
        np.testing.assert_array_equal(run(np.arange(3.0)), [0, 3, 6])
    assert launch_plans() == 0


WARM = """
import sys
import numpy as np
import staticgraph as sg
from staticgraph.compiler.runtime.cache.loader import counts

x, i = sg.placeholder("x", (None, 8)), sg.placeholder("i", (None,), "int64")
w = sg.variable(np.ones((8, 5), "float32"), name="w")
scale = sg.constant(np.linspace(1, 2, 5, dtype="float32"))
loss = sg.cross_entropy(sg.softmax(x @ w * scale) * (sg.constant(3.0) / 7), i)
train = sg.compile([x, i], loss, updates=sg.optim.Adam(lr=0.1).minimize(loss))
pair = sg.function(lambda a, b: (a + b, a.sum()))
z = sg.placeholder("z", (None, 3))
state, _ = sg.scan(lambda h, x: (sg.tanh(h + x), None), sg.zeros(3), z)
loop = sg.compile([z], [state, sg.grad(state.sum(), z)])
for n in (3, 7):
    batch = np.arange(8 * n, dtype="float32").reshape(n, 8) / 50, np.arange(n) % 5
    results = [train(*batch), *pair(*[batch[0]] * 2), *loop(batch[0][:, :3])]
    print([one.tobytes().hex() for one in results])
print(w.value.tobytes().hex())
print(counts["launch_plans"])
print([name for name in sys.argv[1:] if name in sys.modules])
print(train.source + str(train.plan))
"""
LATER = (
    "networkx", "numba", "staticgraph.compiler.driver", "staticgraph.compiler.passes",
    "staticgraph.compiler.codegen.kernel", "staticgraph.compiler.llvm.lower.translate",
    "staticgraph.compiler.llvm.products.driver",
)  # fmt: skip


LARGE = """
import sys
import dynamic
from hashlib import sha256

x = dynamic.arange(200_000, dtype=dynamic.float32).reshape(2, 100_000).requires_grad_()
y = dynamic.softmax(x / 100_000, 1)
y.square().sum().backward()
from staticgraph.compiler.runtime.cache.loader import counts
print(*[sha256(one.numpy().tobytes()).hexdigest() for one in (y.detach(), x.grad)])
print(counts["compiled"], counts["loaded"] - counts["launch_plans"], counts["launch_plans"])
print([name for name in sys.argv[1:] if name in sys.modules])
"""


def _lines(seed: int, program: str = WARM) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "DYNAMIC_COMPILE_LARGE_OPS": "1"}
    command = [sys.executable, "-c", program, *LATER]
    run = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT, env=environment
    )
    return run.stdout.splitlines()


@pytest.mark.slow
def test_a_warm_start_loads_nothing_that_compiles() -> None:
    cold, warm = (_lines(seed) for seed in (1, 2))
    assert warm[:3] == cold[:3]
    assert (cold[3], warm[3]) == ("0", "3")
    assert cold[4] != "[]"
    assert warm[4] == "[]"
    assert warm[5:] == cold[5:]  # made again when it was looked at


@pytest.mark.slow
def test_large_eager_ops_load_nothing_that_compiles() -> None:
    cold, warm = (_lines(seed, LARGE) for seed in (1, 2))
    assert warm[0] == cold[0]
    compiled, loaded, launch_plans = map(int, cold[1].split())
    assert compiled > 0
    again = [*map(int, warm[1].split())]  # what copies in threads is loaded without a plan
    assert again[0] == 0
    assert sum(again) == compiled + loaded + launch_plans
    assert warm[2:] == ["[]"]
