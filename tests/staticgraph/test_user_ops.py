"""`sg.op`: what it refuses, and that ops of users are saved, exported, copied and cached."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import FormatError, GraphError, OptionError
from staticgraph.compiler.runtime.cache.loader import counts


@sg.op
def halved(x: float) -> float:
    return 0.5 * x if x > 0 else x


@sg.op(like=0)
def centred(x: Any) -> Any:
    return x - np.mean(x)


def _executable() -> Any:
    x = sg.placeholder("x", (None,), "float64")
    return sg.compile([x], [halved(x), centred(x)])


def test_files_copies_and_exported_kernels(tmp_path: Path) -> None:
    made, array = _executable(), np.array([3.0, -1.0, 4.0])
    expected = [[1.5, -1, 2], [1, -3, 2]]
    assert [one.tolist() for one in made(array)] == expected
    sg.save(made, tmp_path / "made.sg")
    assert [one.tolist() for one in sg.load(tmp_path / "made.sg")(array)] == expected
    assert [one.tolist() for one in pickle.loads(pickle.dumps(made))(array)] == expected
    assert pickle.loads(pickle.dumps(halved)) is halved
    made.export(tmp_path / "kernel.py", array)
    ran = subprocess.run(
        [sys.executable, tmp_path / "kernel.py"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.count("equal to the executable's") == 2


def test_a_file_whose_op_is_not_declared_says_what_to_import(tmp_path: Path) -> None:
    sg.save(_executable(), tmp_path / "made.sg")
    script = f"import staticgraph as sg; sg.load({str(tmp_path / 'made.sg')!r})"
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert f"FormatError: {tmp_path / 'made.sg'}" in ran.stderr
    assert f"no op is named '{__name__}.halved': import {__name__} before" in ran.stderr


@pytest.mark.slow
def test_another_process_imports_what_declares_the_ops_of_a_pickle(tmp_path: Path) -> None:
    (tmp_path / "own_losses.py").write_text(
        "import staticgraph as sg\n@sg.op\ndef doubled(x):\n    return 2 * x\n"
    )
    (tmp_path / "script.py").write_text(
        textwrap.dedent("""
        import multiprocessing, pickle, subprocess, sys
        import numpy as np, own_losses, staticgraph as sg

        @sg.op
        def tripled(x):
            return 3 * x

        def called(executable):
            return executable(np.ones(2)).tolist()

        if __name__ == "__main__":
            x = sg.placeholder("x", (None,), "float64")
            both = sg.compile([x], own_losses.doubled(x) + tripled(x))
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.apply(called, (both,)))
            read = [sys.executable, "-c", "import pickle, sys; pickle.load(sys.stdin.buffer)"]
            ran = subprocess.run(read, input=pickle.dumps(both), stderr=subprocess.PIPE)
            print(ran.stderr.decode())
        """)
    )
    ran = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert ran.stdout.startswith("[5.0, 5.0]\n")
    assert "GraphError: no op is named '__main__.tripled': import what declares it" in ran.stdout


def test_a_kernel_of_other_code_is_another_kernel() -> None:
    """What a function closes over is part of the key, and equal code is found again."""
    x = sg.placeholder("x", (None,), "float64")

    def results(factor: float) -> Any:
        @sg.op
        def times(x: float) -> float:
            return factor * x + 0.125

        return sg.compile([x], times(x))(np.ones(1)).tolist()

    assert results(2.0) == [2.125]
    assert results(3.0) == [3.125]
    before = counts["compiled"]
    assert results(2.0) == [2.125]
    assert counts["compiled"] == before


def test_arguments_that_do_not_fit_are_refused() -> None:
    def function(x: Any) -> Any:
        return x

    for given, options, message in (
        (3, {}, "op: 3 is no function"),
        (function, {"kind": "loop"}, "kind is one of elementwise, array, host, not 'loop'"),
        (function, {"kind": "host"}, "declares one of result=, results= and like="),
        (function, {"like": 0, "dtype": "float32"}, "declares one of result=, results= and like="),
        (
            function,
            {"kind": "elementwise", "like": 0},
            "has the shape of its operands: give dtype=",
        ),
        (lambda *xs: xs, {"name": "of.any"}, "the operands are named one by one, not"),
        (lambda: 1, {"name": "of.none"}, "it takes 0 operands, where an op has 1 to 14"),
        (
            lambda x, *, n: x,
            {"name": "of.key"},
            "an elementwise op has operands only, nothing by k",
        ),
        (lambda x: x, {}, "'.*<lambda>' is no name of an op: give name="),
        (max, {"name": "of.max"}, "has no signature: wrap it in a function"),
        (dict.get, {"name": "of.get"}, "is no function in Python: wrap it in one"),
    ):
        with pytest.raises(OptionError, match=message):
            sg.op(given, **options)  # type: ignore[call-overload]
    with pytest.raises(GraphError, match=r"already declared, by halved of .*: give name="):
        sg.op(function, name=halved.record.name)


def test_a_message_names_the_op_that_a_file_lacks() -> None:
    x = sg.placeholder("x", (), "float64")
    first = textwrap.dedent(
        """
        def again(x):
            return x
        """
    )
    made = []
    for _ in range(2):
        module: dict[str, Any] = {"__name__": "notebook"}
        exec(first, module)
        made.append(sg.op(module["again"]))
    with pytest.raises(
        FormatError, match=r"notebook\.again is saved by its name, and was declared an"
    ):
        sg.save(sg.compile([x], made[0](x)), "nowhere.sg")


def test_what_a_rule_reads_is_checked_where_the_tape_asks_for_the_gradient() -> None:
    factor = [3.0]

    @sg.op(name="test_user_ops.scaled")
    def scaled(x: float) -> float:
        return x

    @scaled.vjp
    def _(g: Any, out: Any, x: Any) -> Any:
        return g * factor[0]

    captured = sg.function(lambda x: scaled(x) + 1)
    for factor[0] in (3.0, 4.0):
        x = dynamic.tensor([1.0], requires_grad=True)
        captured(x).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [factor[0]]
