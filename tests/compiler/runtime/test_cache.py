"""The on-disk kernel cache: what a start with it loads, and entries that cannot be used."""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.llvm.machine import target_machine
from staticgraph.compiler.runtime.cache import common, host, key, loader, objects, settings, store
from staticgraph.compiler.runtime.cache.store import HEADER, Code, Store
from tests.paths import ROOT
from tests.project.rooms import imports_within

KEY = bytes(range(32))
CODE = Code(("kernel",), b"machine code")

PROGRAM = """
import sys
import numpy as np
import staticgraph as sg
from staticgraph.compiler.runtime.cache.loader import counts

rng = np.random.default_rng(0)
x, y = sg.placeholder("x", (None, 8)), sg.placeholder("y", (None,), "int64")
w = sg.variable(rng.normal(size=(8, 5)).astype("float32"), name="w")
loss = sg.cross_entropy(sg.tanh(x @ w), y)
train = sg.compile([x, y], loss, updates=sg.optim.SGD(lr=0.1).minimize(loss))
z = sg.placeholder("z", (None,), "float64")
value = sg.exp(sg.sin(z)).sum()
both = sg.compile([z], [value, sg.grad(value, z), sg.floor(z * 3) // 2, z % 0.3])
batch = rng.normal(size=(6, 8)).astype("float32"), rng.integers(0, 5, 6)
results = [*(train(*batch) for _ in range(3)), w.value, *both(rng.normal(size=100))]
print(b"".join(np.asarray(result).tobytes() for result in results).hex())
print("numba" in sys.modules, counts["compiled"], counts["loaded"])
"""

MEMORY = """
import gc, resource
import numpy as np
import staticgraph as sg

def compile_and_drop():
    x = sg.placeholder("x", (None,))
    value = (x * x + sg.sin(2 * x)).sum()
    sg.compile([x], [value, sg.grad(value, x)])(np.ones(3, "float32"))

def peak(graphs):
    for _ in range(graphs):
        compile_and_drop()
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before = peak(100)
print(peak(300) - before)
"""


def _python(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def _output(program: str) -> list[str]:
    process = _python(program)
    output, _ = process.communicate()
    assert process.returncode == 0
    return output.splitlines()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test alone."""
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.fixture
def counted() -> Iterator[Any]:
    before = loader.counts.copy()
    yield lambda: {name: loader.counts[name] - before[name] for name in ("compiled", "loaded")}


def _square() -> Any:
    x = sg.placeholder("x", (None,), "float64")
    return sg.compile([x], x * x)


def _check_square() -> None:
    values = np.arange(5.0)
    np.testing.assert_array_equal(_square()(values), values * values)


def _kernel_file(place: Path) -> Path:
    """The entry of `_square`, beside which there is that of the code that calls kernels."""
    symbol = b"step_0"
    (found,) = (path for path in place.iterdir() if symbol in path.read_bytes()[HEADER.size :])
    return found


@pytest.mark.slow
def test_processes_that_start_together_or_warm_agree_and_none_needs_numba(place: Path) -> None:
    processes = [_python(PROGRAM) for _ in range(2)]
    (one, counted), (other, others) = (p.communicate()[0].splitlines() for p in processes)
    assert one == other
    for numba, compiled, loaded in (counted.split(), others.split()):
        assert (numba, int(compiled) + int(loaded)) == ("False", 2)
    assert not [path for path in place.iterdir() if path.name.startswith(store.TEMPORARY)]
    assert _output(PROGRAM) == [one, "False 0 2"]


@pytest.mark.slow
def test_dropped_graphs_leave_no_memory_behind(place: Path) -> None:
    (growth,) = _output(MEMORY)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(growth) * unit <= 300 * 5000


@pytest.mark.slow
def test_a_kernel_is_freed_with_its_executable(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = []

    def load(code: Code) -> objects.Loaded:
        loaded = objects.load_object(code)
        owners.append(weakref.ref(loaded.owner))
        return loaded

    _square()  # loads the code that calls kernels, which stays
    for module in (common, loader):
        monkeypatch.setattr(module, "load_object", load)
    function = _square()
    entry = function.runner.native.call
    del function
    gc.collect()
    assert [owner() is None for owner in owners] == [False]
    del entry
    gc.collect()
    assert [owner() is None for owner in owners] == [True]


def test_the_second_compilation_loads(place: Path, counted: Any) -> None:
    _check_square()
    _check_square()
    assert counted() == {"compiled": 1, "loaded": 1}


def test_it_can_be_switched_off(place: Path, counted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE", "0")
    _check_square()
    _check_square()
    assert counted() == {"compiled": 2, "loaded": 0}
    assert not place.exists()


def test_a_place_that_cannot_be_made_is_done_without(
    tmp_path: Path, counted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path / "file" / "kernels"))
    _check_square()
    assert counted() == {"compiled": 1, "loaded": 0}


def _sealed(symbol: str, code: bytes) -> Any:
    """A file that is whole, with another content."""

    def change(content: bytes) -> bytes:
        found = HEADER.unpack_from(content)[2]
        payload = symbol.encode() + code
        digest = hashlib.blake2b(payload, digest_size=32).digest()
        return (
            HEADER.pack(store.MAGIC, store.FORMAT, found, digest, len(symbol), len(code)) + payload
        )

    return change


def _object(text: str) -> bytes:
    return bytes(target_machine().emit_object(llvm.parse_assembly(text)))


UNKNOWN_CALL = """
declare void @no_such_function()
define i32 @step_0() { call void @no_such_function() ret i32 0 }
"""

FORBIDDEN_CALL = UNKNOWN_CALL.replace("no_such_function", "abort")

DAMAGE = {
    "empty": lambda content: b"",
    "cut in the header": lambda content: content[:40],
    "cut in the code": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "another magic": lambda content: b"x" + content[1:],
    "another format": lambda content: content[:8] + b"\xff" + content[9:],
    "another key": lambda content: content[:12] + bytes(32) + content[44:],
    "another byte of code": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "impossible sizes": lambda content: content[:76] + b"\xff" * 8 + content[84:],
    "a name that is no text": lambda content: (
        _sealed("", b"\xff" * 9)(content)[:76] + b"\x09\0\0\0\0\0\0\0" + b"\xff" * 9
    ),
    "no object code": _sealed("step_0", b"no object code"),
    "half an object": lambda content: _sealed("step_0", content[HEADER.size + 200 : -100])(content),
    "ELF and nothing else": _sealed("step_0", b"\x7fELF\x02\x01" + b"\xff" * 90),
    "another symbol": lambda content: _sealed("other", _object("define i32 @kernel() {ret i32 0}"))(
        content
    ),
    "Mach-O and nothing else": _sealed("step_0", b"\xcf\xfa\xed\xfe" + b"\xff" * 90),
    "an unknown symbol": lambda content: _sealed("step_0", _object(UNKNOWN_CALL))(content),
    "a symbol of the C library that no kernel needs": lambda content: _sealed(
        "step_0", _object(FORBIDDEN_CALL)
    )(content),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_compiled_again_and_replaced(
    damage: str, place: Path, counted: Any
) -> None:
    _check_square()
    path = _kernel_file(place)
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[damage](whole))
    _check_square()
    assert counted() == {"compiled": 2, "loaded": 0}
    _check_square()
    assert counted() == {"compiled": 2, "loaded": 1}


SYMBOLS = """
target triple = "{triple}"
@shared = common global i64 0
@local = internal global i64 0
declare double @exp(double)
define double @kernel(double %x) {{
  store volatile i64 1, ptr @local
  store volatile i64 1, ptr @shared
  %y = call double @exp(double %x)
  ret double %y
}}
"""


@pytest.mark.parametrize("system", ["unknown-linux-gnu", "apple-darwin"])
def test_symbols_of_object_code(system: str) -> None:
    architecture = llvm.get_process_triple().partition("-")[0]
    triple = f"{architecture}-{system}"
    machine = llvm.Target.from_triple(triple).create_target_machine()
    code = machine.emit_object(llvm.parse_assembly(SYMBOLS.format(triple=triple)))
    assert objects.symbols_of(code) == ({"kernel", "shared"}, {"exp"})


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_what_is_no_file_is_not_read(kind: str, place: Path) -> None:
    _check_square()
    path = _kernel_file(place)
    whole = path.read_bytes()
    path.rename(place / "elsewhere")
    if kind == "link":
        path.symlink_to(place / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    cache = Store(place, 10**6)
    found = bytes.fromhex(path.stem)
    assert cache.get(found) is None
    assert cache.put(found, CODE) is (kind != "directory")
    assert cache.get(found) == (None if kind == "directory" else CODE)
    assert (place / "elsewhere").read_bytes() == whole


def test_entries_of_another_user_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Store(tmp_path, 10**6)
    cache.put(KEY, CODE)
    assert cache.get(KEY) == CODE
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache.get(KEY) is None


@pytest.mark.parametrize("reason", ["group can write", "all can write", "another user"])
def test_a_directory_that_others_control_is_not_used(
    reason: str, place: Path, counted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = {"group can write": 0o770, "all can write": 0o702}
    place.mkdir()
    place.chmod(modes.get(reason, 0o700))
    if reason == "another user":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="not used: it is not a directory of yours"):
        _check_square()
    _check_square()  # says so once
    assert counted() == {"compiled": 2, "loaded": 0}
    assert list(place.iterdir()) == []
    assert settings.state().startswith("not used")


def test_a_new_directory_is_private(place: Path) -> None:
    _check_square()
    assert place.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}


def test_the_key_is_that_of_the_code_and_its_surroundings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "def kernel(t):\n    # exp  <- 'one.py:3'\n    return 0  # done\n"
    mine = key.kernel_key(source)
    assert mine == key.kernel_key(source.replace("one.py:3", "two.py:9"))
    assert mine != key.kernel_key(source.replace("return 0", "return 1"))
    assert mine != key.common_key(source)
    with monkeypatch.context() as patch:
        patch.setenv("NUMBA_CPU_FEATURES", "-prefer-256-bit")
        assert key.kernel_key(source) != mine
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        (tmp_path / ".numba_config.yaml").write_text("opt: 1")
        assert key.kernel_key(source) != mine
    assert key.kernel_key(source) == mine


def test_each_option_that_changes_a_kernel_changes_the_key_of_its_launch_plan() -> None:
    others = [
        Options(numerics="fast"), Options(numerics="exact"), Options(disabled=frozenset(["merge"])),
        Options(fuse=False), Options(backend="numba"), Options(on_nonfinite="raise"),
    ]  # fmt: skip
    found = {key.launch_plan_key("graph", one) for one in (Options(), *others)}
    assert len(found) == 1 + len(others)
    # how many threads take part is no part of a kernel, nor is what a call does with its report
    assert key.launch_plan_key("graph", Options(threads=2)) in found
    assert key.launch_plan_key("graph", Options(on_nonfinite="warn")) in found
    assert key.launch_plan_key("another", Options()) not in found


@pytest.mark.parametrize(
    "changed",
    ["llvm/gemm.py", "llvm/vecmath/lane.py", "schedule/fuse.py", "version", "processor", "cpu"],
)
def test_the_key_changes_with_what_emits(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = key.kernel_key("source")
    for path in sorted(key.PACKAGE.rglob("*.py")):
        copy = tmp_path / path.relative_to(key.PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        copy.write_text(text + "\n" * path.as_posix().endswith(changed), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(key, "PACKAGE", tmp_path)
        if changed == "version":
            patch.setattr(host.llvmlite, "__version__", "0.0")
        elif changed == "processor":
            patch.setattr(host, "PROCESSOR", tmp_path / "modalias")
            host.PROCESSOR.write_text("cpu:type:another")
        elif changed == "cpu":
            patch.setattr(host, "PROCESSOR", tmp_path / "nothing")
            patch.setattr(llvm, "get_host_cpu_name", lambda: "another")
        key._toolchain.cache_clear()
        other = key.kernel_key("source")
    key._toolchain.cache_clear()
    assert other != mine
    assert key.kernel_key("source") == mine


@pytest.mark.slow
def test_what_small_ops_are_called_through_depends_on_the_rooms_of_its_key_alone() -> None:
    imports = imports_within(ROOT, "compiler")
    wanted = [one.removeprefix("staticgraph.") for one in (common.LOOPS, common.MACHINE)]
    reached: set[str] = set()
    while wanted:
        module = wanted.pop()
        if module not in reached:
            reached.add(module)
            wanted += imports[module]
    rooms = {module.split(".")[1] for module in reached - {"compiler"}}
    assert rooms <= set(common.ROOMS_OF_LOOPS)
    mine = key.common_key("code", common.ROOMS_OF_LOOPS)
    assert mine != key.common_key("code")


@pytest.mark.slow
def test_a_start_of_small_ops_imports_neither_graphs_nor_random_numbers(place: Path) -> None:
    program = """
import sys
import staticgraph.dynamic as torch

x = torch.ones(3)
before = set(sys.modules)  # with more than usual where coverage is measured
for _ in range(22_000):
    x + x
heavy = {"numpy.random", "staticgraph.compiler.graph.canonical", "hashlib", "json", "llvmlite.ir"}
print(type(torch.Tensor.__add__.__wrapped__).__name__, heavy & (set(sys.modules) - before))
"""
    _python(program).communicate()  # makes the code
    found, _ = _python(program).communicate()
    assert found.split() == ["builtin_function_or_method", "set()"]


def test_without_the_emitters_text_nothing_is_stored(
    place: Path, counted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(key, "PACKAGE", place)
        key._toolchain.cache_clear()
        _check_square()
    key._toolchain.cache_clear()
    assert counted() == {"compiled": 1, "loaded": 0}
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("size", ["-1", "nan", "inf", "much"])
def test_a_limit_that_is_no_size_is_an_error(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE_MB", size)
    with pytest.raises(OptionError, match=f"STATICGRAPH_CACHE_MB is '{size}', not a number from 0"):
        settings.limit()


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STATICGRAPH_CACHE_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/ada")
    assert settings.directory() == Path("/var/ada/staticgraph")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert settings.directory() == Path("/home/ada/.cache/staticgraph")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert settings.directory() == Path("/home/ada/Library/Caches/staticgraph")


def test_the_command_line_shows_and_clears_it(
    place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["cache", "info"]) == 0
    assert "state      in use, empty" in capsys.readouterr().out
    _check_square()
    size = sum(path.stat().st_size for path in place.iterdir())
    assert main(["cache", "info"]) == 0
    shown = capsys.readouterr().out
    assert f"directory  {place}" in shown
    assert f"entries    {len(list(place.iterdir()))}\n" in shown
    assert f"size       {size / 1e6:.2f} MB of at most 256 MB" in shown
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.startswith("removed ")
    assert list(place.iterdir()) == []
    monkeypatch.setenv("STATICGRAPH_CACHE", "0")
    assert main(["cache", "info"]) == 0
    assert "switched off by STATICGRAPH_CACHE=0" in capsys.readouterr().out
    monkeypatch.setenv("STATICGRAPH_CACHE_MB", "much")
    assert main(["cache", "info"]) == 2
    assert "STATICGRAPH_CACHE_MB" in capsys.readouterr().err


def test_the_package_is_a_command(place: Path) -> None:
    command = [sys.executable, "-m", "staticgraph", "cache", "info"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert f"directory  {place}" in run.stdout
