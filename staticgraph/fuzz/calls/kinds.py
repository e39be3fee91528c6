"""The graphs whose executables are called, and what NumPy makes of the same.

Values are small whole numbers, so that sums and products are exact in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import staticgraph as sg

Array = Any
Named = Mapping[str, Any]
Body = Callable[[Named, Named], tuple[Any, dict[str, Any]]]
"""From inputs and variables to outputs, in a structure, and the next values of variables."""


@dataclass(frozen=True, slots=True)
class Function:
    """One executable.

    Attributes:
        inputs: shape and dtype by name; sizes that are strings agree.
        graph: the body on expressions.
        model: the body on arrays, where that is not the same.
    """

    inputs: Mapping[str, tuple[tuple[int | str, ...], str]]
    graph: Body
    model: Body | None = None

    def computed(self, inputs: Named, variables: Named) -> tuple[Any, dict[str, Any]]:
        """The body on arrays."""
        outputs, updates = (self.model or self.graph)(inputs, variables)
        arrays = {name: np.array(value) for name, value in updates.items()}
        return mapped(np.array, outputs), arrays


@dataclass(frozen=True, slots=True)
class Kind:
    """Executables that share variables.

    Attributes:
        sizes: what an unknown size may be.
        options: of `compile`.
        traced: the Python function that `function` compiles, in place of `compile`.
    """

    functions: Mapping[str, Function]
    variables: Mapping[str, Array] = field(default_factory=dict)
    sizes: tuple[int, ...] = (0, 1, 2, 3, 7)
    options: Mapping[str, Any] = field(default_factory=dict)
    traced: Callable[..., Any] | None = None

    def built(self, options: Named) -> tuple[dict[str, Any], dict[str, Any]]:
        """The executables and the variables."""
        if self.traced is not None:
            (name,) = self.functions
            return {name: sg.function(self.traced, name=name, **options)}, {}
        variables = {name: sg.variable(value, name) for name, value in self.variables.items()}
        made: dict[str, Any] = {}
        for name, function in self.functions.items():
            inputs = {
                key: sg.placeholder(key, shape, dtype)
                for key, (shape, dtype) in function.inputs.items()
            }
            outputs, updates = function.graph(inputs, variables)
            pairs = [(variables[key], value) for key, value in updates.items()]
            made[name] = sg.compile(
                list(inputs.values()), outputs, pairs, name=name, **{**self.options, **options}
            )
        return made, variables


def mapped(change: Callable[[Any], object], outputs: object) -> Any:
    """The structure of outputs with each of them changed."""
    if isinstance(outputs, dict):
        return {key: change(one) for key, one in outputs.items()}
    if isinstance(outputs, list | tuple):
        return type(outputs)(change(one) for one in outputs)
    return change(outputs)


def flat(outputs: object) -> list[Any]:
    """The outputs in order."""
    if isinstance(outputs, dict):
        return list(outputs.values())
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]


def _scan(inputs: Named, variables: Named) -> Any:
    total, ys = sg.scan(lambda c, row: (c + row, c * row), variables["c"], inputs["xs"])
    return [total, ys], {"c": total}


def _scanned(inputs: Named, variables: Named) -> Any:
    carries = np.cumsum([variables["c"], *inputs["xs"]], 0)
    return [carries[-1], carries[:-1] * inputs["xs"]], {"c": carries[-1]}


def _loop(inputs: Named, variables: Named) -> Any:
    zero = np.zeros((), "float64")
    count = sg.while_loop(lambda v: v < inputs["n"], lambda v: v + 1.0, zero)
    return [count, variables["w"]], {"w": variables["w"] + 1.0, "t": variables["t"] + count}


def _looped(inputs: Named, variables: Named) -> Any:
    count = np.maximum(np.ceil(inputs["n"]), 0.0)
    return [count, variables["w"]], {"w": variables["w"] + 1.0, "t": variables["t"] + count}


def _counted(x: Named, v: Named) -> Any:
    return [x["x"] + v["w"], v["v"]], {"w": v["w"] + x["x"].sum(), "v": v["v"] + v["w"]}


def traced(x: Any, y: object) -> Any:
    """A function that depends on whether sizes broadcast."""
    return {"z": x * 2 - y, "s": (x + y).sum(0)}


VECTOR, SCALAR = (("n",), "float64"), ((), "float64")

KINDS: dict[str, Kind] = {
    "pure": Kind({
        "pure": Function(
            {"x": (("n", 3), "float32"), "y": (("n", 3), "float32")},
            lambda x, _: ([x["x"] * 2 - x["y"], (x["x"] + x["y"]).sum(axis=0)], {}),
        ),
    }),
    "identity": Kind({
        "same": Function(
            {"i": (("n",), "int64"), "k": ((), "int8"), "b": (("n", 2), "bool")},
            lambda x, _: ({"i": x["i"] * 2, "k": x["k"], "b": x["b"], "again": x["i"]}, {}),
        ),
    }),
    "update": Kind(
        {"step": Function({"x": VECTOR}, _counted)},
        {"w": np.float64(1), "v": np.arange(3.0)},
    ),
    "swap": Kind(
        {
            "swap": Function({"s": SCALAR}, lambda x, v: (
                (v["a"], v["b"] + x["s"]), {"a": v["b"], "b": v["a"] + x["s"]})),
        },
        {"a": np.arange(3.0), "b": np.ones(3)},
    ),
    "scan": Kind({"scan": Function({"xs": (("n", 2), "float64")}, _scan, _scanned)},
                 {"c": np.ones(2)}),
    "product": Kind(
        {
            "product": Function(
                {"a": (("m", "k"), "float32"), "b": (("k", "n"), "float32")},
                lambda x, _: (x["a"] @ x["b"], {}),
            ),
        },
        sizes=(0, 1, 3, 70, 130), options={"threads": 2},
    ),
    "layer": Kind(
        {
            "layer": Function({"x": (("n", 8), "float64")}, lambda x, v: (
                x["x"] @ v["W"] + v["b"], {"W": v["W"] + 1.0, "b": v["b"] - 1.0})),
        },
        {"W": np.ones((8, 8)), "b": np.zeros(8)}, sizes=(0, 1, 3, 40),
    ),
    "large": Kind(
        {
            "large": Function({"x": (("n", "m"), "float64")}, lambda x, v: (
                [x["x"] * 2.0 - 1.0, x["x"].sum(axis=0) + v["w"]], {"w": v["w"] + 1.0})),
        },
        {"w": np.float64(0)}, sizes=(1, 380, 400),
    ),
    "pair": Kind(
        {
            "train": Function({"x": VECTOR}, lambda x, v: (v["w"], {"w": v["w"] + x["x"].sum()})),
            "read": Function({"k": SCALAR}, lambda x, v: ({"r": v["w"] + x["k"]}, {})),
            "peek": Function({}, lambda _, v: ([v["w"], v["w"] * 2.0], {})),
        },
        {"w": np.float64(1)},
    ),
    "gather": Kind(
        {
            "gather": Function({"ids": (("n",), "int64")}, lambda x, v: (
                [v["t"][x["ids"]], v["t"]], {"t": v["t"] + 1.0})),
        },
        {"t": np.arange(5.0)},
    ),
    "loop": Kind({"loop": Function({"n": SCALAR}, _loop, _looped)},
                 {"w": np.float64(0), "t": np.float64(0)}),
    "function": Kind(
        {
            "traced": Function(
                {"x": (("n", 3), "float32"), "y": (("n", "m"), "float32")},
                lambda x, _: (traced(**x), {}),
            ),
        },
        sizes=(0, 1, 300, 3), traced=traced,
    ),
    "named": Kind({
        "named": Function(
            dict.fromkeys(("self", "out", "args", "a b"), VECTOR),
            lambda x, _: (x["self"] - x["out"] * 2 + x["args"] * 3 + x["a b"], {}),
        ),
    }),
}  # fmt: skip

WAYS: dict[str, Mapping[str, Any]] = {
    "compiled": {}, "unfused": {"fuse": False}, "debug": {"debug": True},
    "background": {"background": True}, "one thread": {"threads": 1},
    "copies of inputs": {"disable": ["view_inputs"]},
}  # fmt: skip
"""Options of `compile`."""
