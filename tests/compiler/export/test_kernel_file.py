"""Exported kernels: one file that NumPy and Numba run alone, and plain Python too."""

from __future__ import annotations

import ast
import copy
import os
import pdb
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.scalar import CONSTRUCTORS
from staticgraph.compiler.export import functions
from staticgraph.compiler.export.functions import used_names
from staticgraph.compiler.graph.expression import at_line
from staticgraph.compiler.llvm import library, vecmath
from tests.combinations import some
from tests.workloads import KERNELS, compiled

pytestmark = pytest.mark.slow

SEED = 5
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
for name in ("staticgraph", "compiler", "dynamic", "networkx", "scipy"):
    try:
        __import__(name)
    except ImportError:
        continue
    sys.exit(f"{name} can be imported")
import numpy as np
with np.load(sys.argv[3]) as saved:
    given = {name: saved[name] for name in saved.files}
variables = {name[1:]: array for name, array in given.items() if name[0] == "="}
sys.path.insert(0, sys.argv[2])
from kernel import run
results = run(*(given[name] for name in sorted(given) if name[0] == "-"), **variables)
results = results if isinstance(results, tuple) else (results,)
np.savez(sys.argv[4], **{str(i): one for i, one in enumerate(results)}, **variables)
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with NumPy, Numba and llvmlite, and nothing else."""
    place = tmp_path_factory.mktemp("packages")
    for module in (np, numba, llvmlite):
        assert module.__file__ is not None
        package = Path(module.__file__).parent
        libraries = package.with_name(f"{package.name}.libs")
        for one in (package, libraries) if libraries.exists() else (package,):
            (place / one.name).symlink_to(one)
    return place


def _python(*arguments: str | Path, plain: bool = False) -> subprocess.CompletedProcess[str]:
    """A Python that sees no packages but those it is told of; without Numba's compiler if plain."""
    flag = {"NUMBA_DISABLE_JIT": "1"} if plain else {}
    environment = {key: value for key, value in os.environ.items() if key[:6] != "PYTHON"} | flag
    return subprocess.run(
        [sys.executable, "-S", "-s", "-P", *map(str, arguments)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip


def _run_alone(
    executable: sg.Executable,
    inputs: Sequence[Any],
    folder: Path,
    packages: Path,
    plain: bool = False,
) -> tuple[list[Any], dict[str, Any]]:
    """The results of an exported kernel in a process of its own, and its variables afterwards."""
    executable.export(folder / "kernel.py")
    given = {f"-{i:03}": array for i, array in enumerate(inputs)}
    given |= {f"={name}": np.array(one.value) for name, one in executable.variables.items()}
    np.savez(folder / "given.npz", allow_pickle=False, **given)
    files = (folder / one for one in ("given.npz", "found.npz"))
    done = _python("-c", RUN, packages, folder, *files, plain=plain)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "found.npz") as saved:
        found = {name: saved[name] for name in saved.files}
    results = [found.pop(str(i)) for i in range(len(found) - len(executable.variables))]
    return results, found


def _compare(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if expected.dtype.kind == "f":  # a few units of the largest element: sums in another order
        units = 64 * np.finfo(expected.dtype).eps * np.abs(expected).max(initial=0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=units)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", some(sorted(KERNELS, key="seed".__ne__), 1))
def test_workloads_run_with_numpy_and_numba_alone(
    name: str, tmp_path: Path, packages: Path
) -> None:
    executable, inputs = compiled(name)
    results, variables = _run_alone(executable, inputs, tmp_path, packages)
    for found, expected in zip(results, executable(*inputs), strict=True):
        _compare(found, expected)
    assert variables.keys() == executable.variables.keys()
    for key, one in executable.variables.items():
        _compare(variables[key], one.value)


@pytest.mark.parametrize("name", some(["mlp_small", "seed"], 1))
def test_plain_python_computes_the_same(name: str, tmp_path: Path, packages: Path) -> None:
    executable, inputs = compiled(name)
    results, variables = _run_alone(executable, inputs, tmp_path, packages, plain=True)
    for found, expected in zip(results, executable(*inputs), strict=True):
        _compare(found, expected)
    for key, one in executable.variables.items():
        _compare(variables[key], one.value)


def _loops() -> tuple[sg.Executable, list[Any]]:
    """Loops, branches, host steps, indices, bools and sizes that are not known."""
    x = sg.placeholder("x", (None, 4), "float64")
    i = sg.placeholder("i", (None,), "int64")
    last, states = sg.scan(lambda h, row: (h * 0.5 + row, h.sum()), sg.constant(np.zeros(4)), x)
    doubled = sg.while_loop(lambda v: v < 100.0, lambda v: v * 2.0, sg.abs(x[0, 0]) + 1.0)
    either = sg.cond(doubled > 150.0, lambda v: v + 1.0, lambda v: v - 1.0, doubled)
    gradient = sg.grad(states.sum() + last.sum(), [x])
    table = sg.constant(np.arange(80.0).reshape(4, 20))
    outputs = [
        last, states, doubled, either, *gradient, sg.cumsum(x, 1), sg.sort(x, axis=0), x > 0,
        sg.take(x, i, axis=0), x @ table, sg.softmax(x), sg.argmax(x, axis=-1), sg.lgamma(x),
    ]  # fmt: skip
    rng = np.random.default_rng(SEED)
    return sg.compile([x, i], outputs), [rng.normal(size=(6, 4)), np.array([5, 0, -6])]


@pytest.mark.parametrize("plain", some([False, True], 1))
def test_loops_branches_and_host_steps(plain: bool, tmp_path: Path, packages: Path) -> None:
    executable, inputs = _loops()
    results, _ = _run_alone(executable, inputs, tmp_path, packages, plain)
    for found, expected in zip(results, executable(*inputs), strict=True):
        _compare(found, expected)


def test_a_file_takes_the_sizes_that_the_executable_takes(tmp_path: Path) -> None:
    x, y = sg.placeholder("x", (None, None)), sg.placeholder("y", (None,))
    executable = sg.compile([x, y], (x * y).sum(axis=0))
    executable.export(tmp_path / "kernel.py")
    run = runpy.run_path(str(tmp_path / "kernel.py"))["run"]
    for shape in ((2, 3), (7, 1), (0, 4)):
        one, other = np.ones(shape, "float32"), np.arange(shape[1], dtype="float32")
        np.testing.assert_array_equal(run(one, other), executable(one, other))
    with pytest.raises(TypeError, match=r"y: float32\[4\] given, float32\[3\] expected"):
        run(np.ones((2, 3), "float32"), np.ones(4, "float32"))
    with pytest.raises(TypeError, match=r"x: float64\[2, 3\] given, float32\[2, 3\] expected"):
        run(np.ones((2, 3)), np.ones(3, "float32"))
    with pytest.raises(TypeError, match="x: 1 axes given, 2 expected"):
        run(np.ones(3, "float32"), np.ones(3, "float32"))


def test_running_the_file_compares_with_the_executable(tmp_path: Path) -> None:
    w = sg.variable(np.arange(3.0), name="w")
    x = sg.placeholder("x", (None, 3), "float64")
    loss = ((x * w) ** 2).sum()
    train = sg.compile([x], {"loss": loss}, updates=sg.optim.SGD(lr=0.1).minimize(loss))
    before = w.value.copy()
    train.export(tmp_path / "kernel.py", np.ones((2, 3)))
    np.testing.assert_array_equal(w.value, before)  # nothing is updated
    arguments = [sys.executable, "-I", "kernel.py"]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "output_0 = [10.]" in done.stdout or "output_0 = 10." in done.stdout
    assert "w = [ 0.   0.6 -0.8]" in done.stdout or "w = [0. " in done.stdout
    saved = tmp_path / "kernel_inputs.npz"
    with np.load(saved) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["expected.w"] = arrays["expected.w"] + 1e-9
    np.savez(saved, allow_pickle=False, **arrays)
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "DIFFERS from the executable's by at most 1e-09" in done.stdout


def test_the_comparison_allows_what_rounding_of_the_inputs_does(tmp_path: Path) -> None:
    x, rate = sg.placeholder("x", (3,), "float64"), sg.variable(np.ones(3), name="rate")
    executable = sg.compile([x], [sg.sin(x * 1e6), x * rate], updates=[(rate, rate * 0.5)])
    executable.export(tmp_path / "kernel.py", np.array([1.0, 0.5, -2.0]))
    np.testing.assert_array_equal(rate.value, 1.0)
    saved = tmp_path / "kernel_inputs.npz"
    with np.load(saved) as file:
        arrays = {name: file[name] for name in file.files}
    eps = np.finfo(np.float64).eps
    assert eps < arrays["spread.output_1"] < 20 * eps
    assert 1e6 * eps < arrays["spread.output_0"] < 1e7 * eps
    expected = arrays["expected.output_0"]
    for times, code in ((2.0, 0), (10.0, 1)):
        arrays["expected.output_0"] = expected + times * arrays["spread.output_0"]
        np.savez(saved, allow_pickle=False, **arrays)
        with pytest.raises(SystemExit) as done:
            runpy.run_path(str(tmp_path / "kernel.py"), run_name="__main__")
        assert done.value.code == code


def test_inputs_whose_neighbours_fail_are_exported(tmp_path: Path) -> None:
    x, rows = sg.placeholder("x", (3,), "float64"), sg.variable(np.arange(2.0), name="rows")
    executable = sg.compile([x], rows[sg.astype(x, "int64")])
    executable.export(tmp_path / "kernel.py", np.full(3, np.nextafter(2.0, 0.0)))
    with np.load(tmp_path / "kernel_inputs.npz") as file:
        assert file["spread.output_0"] == 0.0


def test_names_are_the_users_where_they_can_be(tmp_path: Path) -> None:
    names = [
        "image", "np", "a b", "x'); import os #", "class", "unit_0", "run", "v1", "été", "?",
        "layer1.weight", "n" * 1000, "a\nb", "input", "print",
    ]  # fmt: skip
    leaves = [sg.placeholder(name, (3,), "float64") for name in names]
    total: Any = leaves[0]
    for leaf in leaves[1:]:
        total = total * 2.0 + leaf
    executable = sg.compile(leaves, total)
    arrays = [np.random.default_rng(i).normal(size=3) for i in range(len(names))]
    executable.export(tmp_path / "kernel.py", *arrays)
    text = (tmp_path / "kernel.py").read_text()
    assert text.isascii()
    assert "import os" not in ast.unparse(ast.parse(text))  # but in an escaped comment
    assert (
        "def run(image, np_, a_b, x_import_os, class_, unit_0_, run_, v1, t, input_9, "
        f"layer1_weight, {'n' * 40}, a_b_, input_, print_):"
    ) in text
    assert "image_1 = image[0]" in text
    found = runpy.run_path(str(tmp_path / "kernel.py"))["run"](*arrays)
    np.testing.assert_array_equal(found, executable(*arrays))


HOSTILE = [
    'x"""\nimport os\nos.abort()\n', "w = 1\r\nraise SystemExit", "a\u2028raise", "\\", "exp",
    "select", "compiled", "njit", "SAVED", "first", "b0", "v1", "i0", "n0", "matmul_5", "saved",
    "output_0",
]  # fmt: skip


@pytest.mark.parametrize("plain", some([True, False], 1))
def test_names_and_files_of_any_text_change_no_bit(
    plain: bool, tmp_path: Path, packages: Path
) -> None:
    """The same file under other names gives the same bits, under Numba and plain Python."""
    found = []
    for i, names in enumerate(([f"name{i}" for i in range(len(HOSTILE))], HOSTILE)):
        leaves = []
        for name in names:
            with at_line(f"{name}:1" if i else "plain.py:1"):
                leaves.append(sg.placeholder(name, (None, 4), "float32"))
        with at_line(f"{names[0]}{names[2]}:7"):
            total: Any = sum((sg.exp(leaf * 0.5) for leaf in leaves[1:]), leaves[0])
            total = 0.01 * total
            h = sg.softmax(total @ sg.constant(np.eye(4, dtype="f4")))
            outputs = [h, sg.grad(sg.exp(total).sum(), leaves[3]), h.sum()]
        inputs = [
            np.random.default_rng(k).normal(size=(3, 4)).astype("f4") for k in range(len(names))
        ]
        folder = tmp_path / str(i)
        folder.mkdir()
        executable = sg.compile(leaves, outputs)
        results, _ = _run_alone(executable, inputs[: len(names)], folder, packages, plain)
        text = (folder / "kernel.py").read_bytes()
        assert text.isascii()
        assert "os" not in used_names(text.decode())
        found.append(results)
        for one, expected in zip(results, executable(*inputs), strict=True):
            _compare(one, expected)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_index_out_of_range_names_the_op_and_the_line(tmp_path: Path) -> None:
    x, i = sg.placeholder("x", (None,)), sg.placeholder("i", (None,), "int64")
    sg.compile([x, i], sg.take(x, i)).export(tmp_path / "kernel.py")
    run = runpy.run_path(str(tmp_path / "kernel.py"))["run"]
    with pytest.raises(IndexError, match=r"take  <- .*test_kernel_file.py:\d+: no index 7"):
        run(np.zeros(3, "float32"), np.array([0, 7]))


def test_a_step_that_needs_the_library_is_refused(tmp_path: Path) -> None:
    x = sg.placeholder("x", (None, None), "float64")
    executable = sg.compile([x], sg.linalg.inv(x))
    with pytest.raises(sg.OptionError, match=r"export: inv is a step .*test_kernel_file.py:\d+\)"):
        executable.export(tmp_path / "kernel.py")
    assert not list(tmp_path.iterdir())


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    x = sg.placeholder("x", (3,))
    executable = sg.compile([x], x + 1)
    for name in ("kernel", "kernel.txt", "a kernel.py"):
        with pytest.raises(sg.OptionError, match="export: the name of a Python module expected"):
            executable.export(tmp_path / name)
    with pytest.raises(sg.DTypeError):
        executable.export(tmp_path / "kernel.py", np.zeros(3))
    with pytest.raises(sg.FeedError):
        executable.export(tmp_path / "kernel.py", np.zeros(3, "f4"), np.zeros(3, "f4"))
    with pytest.raises(AttributeError, match="without a kernel"):
        sg.compile([x], x + 1, debug=True).export(tmp_path / "kernel.py")
    assert not list(tmp_path.iterdir())


def test_executables_of_every_kind_are_exported(tmp_path: Path) -> None:
    x = sg.placeholder("x", (3,))
    given = np.arange(3, dtype="float32")
    for i, options in enumerate(({"background": True}, {"backend": "numba"}, {"fuse": False})):
        executable = sg.compile([x], x * 2 + 1, **options)
        for one in (executable, copy.copy(executable)):
            one.export(tmp_path / f"kernel_{i}.py", given)
            run = runpy.run_path(str(tmp_path / f"kernel_{i}.py"))["run"]
            np.testing.assert_array_equal(run(given), given * 2 + 1)


def test_a_debugger_stops_in_the_kernel_function(tmp_path: Path) -> None:
    x = sg.placeholder("x", (3,))
    sg.compile([x], sg.tanh(x) * 2).export(tmp_path / "kernel.py", np.ones(3, "float32"))
    lines = (tmp_path / "kernel.py").read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("def unit_0")) + 2
    done = subprocess.run(
        [sys.executable, "-m", pdb.__name__, "-c", f"b kernel.py:{first}", "-c", "c",
         "-c", "p float(x[0])", "-c", "q", "kernel.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert "\n1.0\n" in done.stdout, done.stdout + done.stderr


def test_every_function_that_kernels_call_has_a_definition() -> None:
    found = functions.all_names()
    called = {name for name in vecmath.FORMULAS if name not in ("fma", "fmod", "pow", "remainder")}
    called |= {"fmod_f", "pow_f", "remainder_f", *library.NAMES, *CONSTRUCTORS.values()}
    called |= {"select", "fsum", "fprod", "address", "gemm_f32", "gemm_f64", "inf", "nan"}
    assert called | {"add_lost"} <= found


def test_definitions_bring_what_they_use() -> None:
    text = functions.definitions({"pow_u", "lcm_u"})
    namespace: dict[str, Any] = {}
    exec("import math\nimport numpy as np\nfrom numba import njit\n" + text, namespace)
    assert namespace["pow_u"](3, 4) == 81
    assert namespace["lcm_u"](4, 6) == 12
    assert "sigmoid" not in namespace


@pytest.mark.parametrize("dtype", some(["float32", "float64"], 1))
def test_maths_is_that_of_the_ops(dtype: str, tmp_path: Path) -> None:
    x = sg.placeholder("x", (None,), dtype)
    ops = [
        sg.rsqrt, sg.sigmoid, sg.softplus, sg.logit, sg.sinc, sg.erf, sg.erfc, sg.lgamma,
        sg.digamma, sg.exp2, sg.log1p, sg.sign, sg.asinh,
    ]  # fmt: skip
    executable = sg.compile([x], [op(x) for op in ops])
    executable.export(tmp_path / "kernel.py")
    run = runpy.run_path(str(tmp_path / "kernel.py"))["run"]
    edges = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, np.inf, -np.inf, np.nan, 0.3, -0.3, 1.5, -2.5, 30.0]
    given = np.array(edges, dtype)
    for op, found, expected in zip(ops, run(given), executable(given), strict=True):
        relative = 1e-5 if dtype == "float32" else 2e-13
        np.testing.assert_allclose(found, expected, relative, err_msg=op.name)
