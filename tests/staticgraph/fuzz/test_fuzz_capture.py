"""The campaign `capture`: its programs, and planted defects that it finds and makes small."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core import refusals
from staticgraph.dynamic.capture.traced import Traced
from staticgraph.fuzz import server
from staticgraph.fuzz.capture import CAMPAIGN
from staticgraph.fuzz.capture.arguments import NAMES
from staticgraph.fuzz.capture.generate import _applied, _keep, _runs, _subject
from staticgraph.fuzz.capture.known import KNOWN
from staticgraph.fuzz.capture.program import source
from staticgraph.fuzz.capture.values import Values
from staticgraph.fuzz.shrink import Shrinker
from tests.combinations import some


def leaf(name: str, *shape: int) -> Any:
    values = [0.5 + i for i in range(int(dynamic.ones(shape).numel()))]
    return {"do": "leaf", "name": name, "shape": list(shape), "dtype": "float64",
            "values": values, "requires_grad": True}  # fmt: skip


def method(of: str, name: str, *args: Any, **more: Any) -> Any:
    return {"do": "method", "of": of, "args": list(args), "options": {}, "name": name, **more}


def program(*steps: Any, again: Any = None) -> Any:
    results = [step["name"] for step in steps if step["do"] != "leaf"]
    return {"steps": list(steps), "results": results, "again": again, "mode": "debug"}


def checked(one: Any) -> str | None:
    return server.run(CAMPAIGN, {"program": one})


@pytest.mark.parametrize("name", [name for name in NAMES if name.rpartition(".")[2] in KNOWN])
def test_what_guesses_do_not_find_is_said(name: str) -> None:
    """The arguments in `known` are taken, so that programs reach the name."""
    taken = 0
    for seed in range(4):
        g = Values(random.Random(seed))
        g.leaf()
        _keep(g)
        g.subject = _subject(g, name)
        given = KNOWN[name.rpartition(".")[2]](g)
        taken += _runs(g, _applied(g, name, given, {}))
    assert taken


@pytest.mark.slow
def test_programs_are_of_many_kinds() -> None:
    programs = [CAMPAIGN.generate(seed) for seed in range(150)]
    steps = [step for one in programs for step in one["steps"]]
    assert {step["do"] for step in steps} == {
        "leaf", "method", "function", "attribute", "get", "set", "augment",
    }  # fmt: skip
    assert all(any(key in step for step in steps) for key in ("if", "loop", "modes"))
    assert len({step.get("of") for step in steps}) > 150
    assert len(NAMES) > 900
    assert json.loads(json.dumps(programs)) == programs
    computing = [sum(step["do"] != "leaf" for step in one["steps"]) for one in programs]
    assert max(computing) == 7
    assert sum(not count for count in computing) < 10


def test_a_function_as_python() -> None:
    one = program(
        leaf("a", 2, 3),
        method("sin", "b", "$a"),
        method("mul", "c", "$b", 2.0, **{"if": ["$b", 0, ">", 2]}),
        method("add", "d", "$c", {"size": ["$a", 1]}, loop=["$c", 1], modes=["no_grad"]),
    )
    assert source(one) == (
        "def f(a):\n"
        "    b = a.sin()\n"
        "    c = b\n"
        "    if b.shape[0] > 2:\n"
        "        c = b.mul(2.0)\n"
        "    d = c\n"
        "    for _ in range(c.shape[1]):\n"
        "        with torch.no_grad():\n"
        "            d = d.add(a.shape[1])\n"
        "    return {'b': b, 'c': c, 'd': d}\n"
    )
    assert checked(one) is None
    assert CAMPAIGN.mend({**one, "steps": one["steps"][1:]}) is None
    mended = CAMPAIGN.mend({**one, "steps": [one["steps"][0], *one["steps"][2:]]})
    assert mended is None


SIN = program(
    leaf("a", 2, 3), leaf("e", 3), method("mul", "b", "$a", "$e"), method("sin", "c", "$b"),
    method("exp", "d", "$c", loop=["$c", 0]), again=[3, 4],
)  # fmt: skip


def _internal(_x: Any) -> Any:
    raise IndexError("list index out of range")


DEFECTS: dict[str, tuple[Any, str]] = {
    "values": (lambda x: x.cos(), "differs: result "),
    "shapes": (lambda x: x.unsqueeze(0), "differs: result "),
    "dtypes": (lambda x: x.float(), "differs: result "),
    "gradients": (lambda x: x.detach().cos() * 0 + x.sin().detach(), "differs: "),
    "errors": (_internal, "no refusal: IndexError: list index out of range"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", some(DEFECTS, 1))
def test_a_defect_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    defect, message = DEFECTS[name]
    assert checked(SIN) is None
    monkeypatch.setattr(Traced, "exp", defect)
    text = checked(SIN)
    assert text is not None
    assert text.startswith(message)
    small = Shrinker(CAMPAIGN, checked, text).shrink(SIN)
    of = [step["of"] for step in small["steps"] if step["do"] != "leaf"]
    assert of == ["exp"]
    assert small["again"] is None
    assert "captured = sg.function(f, debug=True)" in CAMPAIGN.script(small)


def test_a_refusal_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_x: Any) -> Any:
        raise sg.ShapeError("exp: it has no line")

    monkeypatch.setattr(Traced, "exp", refused)
    assert checked(SIN) is None  # a note names it
    monkeypatch.setattr(refusals, "place_of", lambda error: "?")
    assert str(checked(SIN)).startswith("no line: ")


def test_a_second_call_has_other_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    one = program(leaf("a", 3), method("exp", "b", "$a"), again=[3, 4])
    right = dynamic.exp
    monkeypatch.setattr(Traced, "exp", lambda x: (x * x).detach() if x.shape[0] == 4 else right(x))
    assert str(checked(one)).startswith("in the second call, differs: ")
