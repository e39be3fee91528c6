"""The campaign `calls`: programs are of many kinds, and planted defects are noticed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.fuzz import server
from staticgraph.fuzz.calls import CAMPAIGN, feeds, kinds, outs, together
from staticgraph.fuzz.calls.generate import generate
from staticgraph.fuzz.calls.simplify import simplify

SIZES = {"n": 3, "m": 2, "k": 2}
DTYPES = ("bool", "int8", "int64", "float32", "float64")


def feed(form: str = "plain", **more: Any) -> Any:
    return {"form": form, "seed": 5, "sizes": SIZES, **more}


def call(form: str = "plain", **more: Any) -> Any:
    step = {"do": "call", "group": 0, "function": 0, "feeds": [feed(form)], "by": "position"}
    return {**step, **more}


def program(kind: str, *steps: Any, way: str = "compiled") -> Any:
    return {"kind": kind, "way": way, "steps": list(steps)}


def checked(kind: str, *steps: Any, way: str = "compiled") -> str | None:
    return server.run(CAMPAIGN, {"program": program(kind, *steps, way=way)})


INTERRUPT = {"do": "interrupt", "call": call(), "line": 3}


def test_programs_are_of_many_kinds() -> None:
    programs = [generate(seed) for seed in range(400)]
    assert {one["kind"] for one in programs} == set(kinds.KINDS)
    assert {one["way"] for one in programs} == set(kinds.WAYS)
    steps = [step for one in programs for step in one["steps"]]
    deeds = {"call", "assign", "copy", "drop", "look", "threads", "fork", "interrupt"}
    assert {step["do"] for step in steps} == deeds
    forms = {one["form"] for step in steps if step["do"] == "call" for one in step["feeds"]}
    assert forms == {"kept", *feeds.FITTING, *feeds.UNFIT}
    assert {step["out"][0] for step in steps if "out" in step} == {*outs.RIGHT, *outs.WRONG}
    assert json.loads(json.dumps(programs)) == programs


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", [form for form in feeds.FITTING if form != "broadcast"])
def test_a_feed_that_fits_means_its_array(form: str, dtype: str) -> None:
    for shape in ((3, 2), (4,), ()):
        array = feeds.values(shape, dtype, 1)
        made = feeds.fed(form, array)
        np.testing.assert_array_equal(made.meaning, array, strict=True)
        assert not made.changed()


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds.KINDS)
@pytest.mark.parametrize("way", kinds.WAYS)
def test_every_graph_is_right(kind: str, way: str) -> None:
    copied = {"do": "copy", "group": 0, "function": 0, "all": True, "how": "deepcopy"}
    steps = [call(by="name", function=i) for i in range(3)]
    assert (
        checked(kind, *steps, copied, *steps, *(call(group=1) for _ in range(2)), way=way) is None
    )


def planted(monkeypatch: pytest.MonkeyPatch, defect: Callable[..., Any]) -> None:
    """Executables are called through a defect, which gets them and the arguments."""

    class Planted:
        def __init__(self, one: Any) -> None:
            self.one = one

        def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
            return defect(self.one, args, kwargs)

        def __deepcopy__(self, memo: Any) -> Any:
            return self

        @property
        def variables(self) -> Any:
            return self.one.variables

    built = kinds.Kind.built

    def made(kind: Any, options: Any) -> Any:
        executables, variables = built(kind, options)
        return {name: Planted(one) for name, one in executables.items()}, variables

    monkeypatch.setattr(kinds.Kind, "built", made)


def _wrong_value(one: Any, args: Any, kwargs: Any) -> Any:
    return kinds.mapped(lambda array: array + array.dtype.type(1), one(*args, **kwargs))


def _internal(one: Any, args: Any, kwargs: Any) -> Any:
    try:
        return one(*args, **kwargs)
    except sg.DTypeError:
        raise IndexError("list index out of range") from None


def _input_changed(one: Any, args: Any, kwargs: Any) -> Any:
    result = one(*args, **kwargs)
    args[0][...] = 0
    return result


def _out_before_error(one: Any, args: Any, kwargs: Any) -> Any:
    kwargs["out"][0][...] = 0
    return one(*args, **kwargs)


def _beside_out(one: Any, args: Any, kwargs: Any) -> Any:
    result = one(*args, **kwargs)
    memory = result[0].base
    memory[-1] = 0
    return result


def _nothing_refused(one: Any, args: Any, kwargs: Any) -> Any:
    return one(*[np.zeros(3) for _ in args])


def _without_name(one: Any, args: Any, kwargs: Any) -> Any:
    raise sg.FeedError("it does not fit")


def _update_lost(one: Any, args: Any, kwargs: Any) -> Any:
    before = {variable: variable.value for variable in one.variables.values()}
    result = one(*args, **kwargs)
    for variable, value in before.items():
        variable.value = value
    return result


def _alias(one: Any, args: Any, kwargs: Any) -> Any:
    return {**one(*args, **kwargs), "again": args[0]}


def _half(one: Any, args: Any, kwargs: Any) -> Any:
    try:
        return one(*args, **kwargs)
    except KeyboardInterrupt:
        one.variables["w"].value = 77.0
        raise


_parent = os.getpid()


def _hang(one: Any, args: Any, kwargs: Any) -> Any:
    if os.getpid() != _parent:
        time.sleep(together.PATIENCE * 100)
    return one(*args, **kwargs)


FORK = {"do": "fork", "group": 0, "busy": False, "steps": [call()]}
COPY = {"do": "copy", "group": 0, "function": 0, "all": True, "how": "deepcopy"}
THREADS = {"do": "threads", "group": 0, "threads": [[call(), call()], [call()]]}
LATE = {**INTERRUPT, "line": 12, "call": call("list")}
DEFECTS: dict[str, tuple[Any, str, tuple[Any, ...], str]] = {
    "values": (_wrong_value, "pure", (call(),), "a result is wrong"),
    "errors": (_internal, "pure", (call("none"),), "a call raises IndexError"),
    "inputs": (_input_changed, "pure", (call(),), "an input was changed"),
    "refused": (_out_before_error, "pure", (call("none", out=["right", 0]),),
                "a refused call has written to out"),
    "beside": (_beside_out, "pure", (call(out=["right", 0]),),
               "memory beside an array of out was changed"),
    "anything": (_nothing_refused, "update", (call("none"),), "a call that must be refused is not"),
    "names": (_without_name, "update", (call("none"),), "an error names no feed"),
    "picky": (_without_name, "update", (call(),), "a call that fits is refused"),
    "updates": (_update_lost, "update", (call(),), "the variable 'w' is wrong"),
    "memory": (_alias, "identity", (call(),), "a result shares memory with an input"),
    "copies": (lambda one, args, kwargs: one(*args, **kwargs), "update",
               (COPY, call(), call(group=1)), "the variable 'w' is wrong"),
    "threads": (_update_lost, "update", (THREADS,), "no order of calls of threads gives"),
    "forks": (_hang, "update", (FORK,), "a forked child hangs"),
    "children": (_wrong_value, "update", (FORK,), "in a forked child, a result is wrong"),
    "interrupts": (_half, "update", (call(), LATE), "variables are half updated"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("defect", "kind", "steps", "message"), DEFECTS.values(), ids=DEFECTS)
def test_a_defect_is_noticed(
    monkeypatch: pytest.MonkeyPatch, defect: Any, kind: str, steps: Any, message: str
) -> None:
    if defect.__name__ != "<lambda>":
        assert checked(kind, *steps) is None
    monkeypatch.setattr(together, "PATIENCE", 0.3)
    planted(monkeypatch, defect)
    assert str(checked(kind, *steps)).startswith(message)


def test_what_is_written_where_something_is_read_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = call(out=["input", 0])
    assert checked("update", step) is None
    monkeypatch.setattr("staticgraph.compiler.runtime.arguments._share_memory", lambda *_: False)
    noticed = checked("update", step)  # the kernel's entry refuses it as well
    assert noticed is not None
    assert noticed.startswith("a call raises GraphError")


def test_an_assignment_of_anything_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [{"do": "assign", "group": 0, "variable": 0, "form": form, "seed": 1}
             for form in ("plain", "masked")]  # fmt: skip
    assert checked("swap", *steps) is None
    monkeypatch.setattr("staticgraph.compiler.graph.state.to_array", np.asarray)
    assert checked("swap", *steps) == "a value that must be refused is not"


def test_simplifications() -> None:
    made = program("update", call("steps", out=["fewer", 1]), FORK, INTERRUPT, way="debug")
    simpler = list(simplify(made))
    assert {one["way"] for one in simpler} == {"debug", "compiled"}
    steps = [one["steps"] for one in simpler]
    assert [call("steps"), FORK, INTERRUPT] in steps
    assert [call(out=["fewer", 1]), FORK, INTERRUPT] in steps
    assert [made["steps"][0], {**FORK, "steps": []}, INTERRUPT] in steps
    assert [*made["steps"][:2], {**INTERRUPT, "line": 0}] in steps
    assert made not in simpler
