"""A program as Python that a person can paste."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.graphs.program import Step, names
from staticgraph.fuzz.graphs.user import USER
from staticgraph.fuzz.graphs.values import array, laid_out
from staticgraph.fuzz.graphs.worlds import SIGNLESS

_CALLS = {"grad": "sg.grad({})", "hessian": "sg.hessian({})", "jacobian": "sg.jacobian({})",
          "vmap": "sg.vmap({})"}  # fmt: skip


def script(program: Program) -> str:
    """The graph, compiled and called on each case, and the same on eager tensors."""
    steps = program["steps"]
    writer = _Writer()
    writer.steps([step for step in steps if names(step)], "", program["seed"])
    outputs = [step["output"][1:] for step in steps if "output" in step]
    updates = [f"({s['update'][1:]}, {s['to'][1:]})" for s in steps if "update" in s]
    inputs = [step for step in steps if step.get("leaf") == "input"]
    named = ", ".join(step["name"] for step in inputs)
    lines = [
        "import numpy as np", "import staticgraph as sg", "from staticgraph.compiler import ops",
        "from staticgraph.compiler.core.pytree import leaves",
        *_imports(writer.lines), "",
        "nan, inf = np.nan, np.inf", "", *writer.lines, "",
        f"inputs, outputs, updates = [{named}], [{', '.join(outputs)}], [{', '.join(updates)}]",
        "f = sg.compile(inputs, outputs, updates)",
        "g = sg.compile(inputs, outputs, updates, debug=True)  # interpreted with NumPy",
    ]  # fmt: skip
    for case in program["cases"]:
        values = [laid_out(array(s, case["sizes"], program["seed"]), 0) for s in inputs]
        lines.append(f"# sizes {case['sizes']}, layout {case['layout']}")
        lines.append(f"arrays = [{', '.join(map(_array, values))}]")
        lines += ["print(f(*arrays))", "print(g(*arrays))"]
    return "\n".join(lines) + "\n"


def _imports(lines: Sequence[str]) -> list[str]:
    """What only some scripts need."""
    found = {"SIGNLESS": "worlds", "USER": "user"}
    return [
        f"from staticgraph.fuzz.graphs.{module} import {name}"
        for name, module in found.items()
        if any(f"{name}[" in line for line in lines)
    ]


def _array(value: Array) -> str:
    if value.size > 200:
        return f"np.ones({value.shape}, {value.dtype.name!r})"
    text = repr(value.tolist())
    return f"np.array({text}, {value.dtype.name!r}).reshape({value.shape})"


class _Writer:
    """Steps as lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._functions = 0

    def steps(self, steps: Sequence[Step], indent: str, seed: int) -> None:
        """Append the lines of steps."""
        for step in steps:
            left = ", ".join(names(step)) + ("," if isinstance(step["name"], list) else "")
            self.lines.append(f"{indent}{left} = {self._right(step, indent, seed)}")

    def _right(self, step: Step, indent: str, seed: int) -> str:
        if "leaf" in step:
            return _leaf(step, seed)
        if "gradients" in step:
            wrt = ", ".join(self._text(one, indent) for one in step["wrt"])
            return f"sg.grad({self._text(step['gradients'], indent)}, [{wrt}])"
        args = [self._text(one, indent) for one in step["args"]]
        options = [f"{k}={self._text(v, indent)}" for k, v in step.get("options", {}).items()]
        return _call(step, args, options)

    def _text(self, given: object, indent: str) -> str:
        if isinstance(given, str):
            return given[1:] if given.startswith("$") else repr(given)
        if isinstance(given, list):
            return f"[{', '.join(self._text(one, indent) for one in given)}]"
        if not isinstance(given, dict):
            return repr(given)
        ((form, parts),) = given.items()
        if form == "body":
            return self._function(parts, indent)
        if form == "size":
            return f"{parts[0][1:]}.shape[{parts[1]}]"
        if form == "ellipsis":
            return "..."
        if form == "float":
            return f"float({parts!r})"
        texts = [self._text(one, indent) for one in parts]
        if form == "slice":
            return f"slice({', '.join(texts)})"
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def _function(self, body: Any, indent: str) -> str:
        self._functions += 1
        name = f"f{self._functions}"
        self.lines.append(f"{indent}def {name}(*args):")
        inside = indent + "    "
        self.lines.append(f"{inside}{', '.join(body['params'])}, = leaves(args)")
        self.steps(body["steps"], inside, 0)
        self.lines.append(f"{inside}return {self._text(body['returns'], inside)}")
        return name


def _leaf(step: Step, seed: int) -> str:
    if step["leaf"] == "input":
        shape = f"({', '.join(map(repr, step['shape']))}{',' if len(step['shape']) == 1 else ''})"
        return f"sg.placeholder({step['name']!r}, {shape}, {step['dtype']!r})"
    value = _array(array(step, {}, seed))
    if step["leaf"] == "constant":
        return f"sg.constant({value})"
    return f"sg.variable({value}, {step['name']!r})"


def _call(step: Step, args: list[str], options: list[str]) -> str:
    op = step["op"]
    several = isinstance(step["name"], list)
    if op == "getitem":
        return f"{args[0]}[{args[1]}]"
    if op == "size_of":
        return f"sg.zeros((), {args[2]}) + {args[0]}.shape[{args[1]}]"
    if op in _CALLS:
        return f"{_CALLS[op].format(args[0])}({', '.join(args[1:])})"
    if op == "repeated":
        step_ = f"lambda c: [c[0] + 1, *{args[1]}(*c[1:])]"
        first = f"[np.zeros((), 'int64'), *{args[2]}]"
        return f"sg.while_loop(lambda c: c[0] < sg.minimum({args[0]}, 4), {step_}, {first})[1:]"
    if op == "jvp":
        return f"sg.jvp({args[0]}, ({args[1]},), ({args[2]},))"
    if op in USER:
        return f"USER[{op!r}]({', '.join(args + options)})"
    if op in SIGNLESS:
        return f"SIGNLESS[{op!r}]({', '.join(args + options)})"
    known = op in ops.PUBLIC or op in ("scan", "cond", "checkpoint", "arange", "zeros")
    module = "sg" if known else "sg.linalg" if op in ops.LINALG else "ops"
    text = f"{module}.{op}({', '.join(args + options)})"
    return f"leaves({text})" if several else text
