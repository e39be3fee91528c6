"""A program as Python that a person can paste, for either library."""

from __future__ import annotations

from typing import Any

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager.machine import nested
from staticgraph.fuzz.eager.program import Step, names


def script(program: Program) -> str:
    """The steps as statements; `torch` is the library that is imported under this name."""
    lines = ["import dynamic as torch  # or PyTorch: import torch", ""]
    bound: dict[str, None] = {}
    for step in program["steps"]:
        statement = _statement(step)
        for mode in reversed(step.get("modes", ())):
            statement = f"with torch.{mode}():\n" + _indented(statement)
        guarded = (
            f"try:\n{_indented(statement)}\nexcept Exception as error:\n    print(repr(error))"
        )
        lines += guarded.splitlines()
        bound.update(dict.fromkeys(names(step)))
    lines += [
        f"for name in {' '.join(bound)!r}.split():",
        "    x = globals().get(name)",
        "    if x is not None:",
        "        print(name, x, x._version, x.grad)",
    ]
    return "\n".join(lines) + "\n"


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def _statement(step: Step) -> str:
    text = _expression(step)
    if "item" in step:
        text += f"[{step['item']}]"
    bound = names(step)
    return (
        f"{', '.join(bound)}{',' if isinstance(step['name'], list) else ''} = {text}"
        if bound
        else text
    )


def _expression(step: Step) -> str:
    args = [_text(one) for one in step.get("args", ())]
    options = [f"{name}={_text(one)}" for name, one in step.get("options", {}).items()]
    match step["do"]:
        case "leaf":
            return _leaf(step)
        case "method":
            return f"{args[0]}.{step['of']}({', '.join(args[1:] + options)})"
        case "function":
            return f"torch.{step['of']}({', '.join(args + options)})"
        case "get":
            return f"{args[0]}[{args[1]}]"
        case "set":
            return f"{args[0]}[{args[1]}] = {args[2]}"
        case "attribute":
            return f"{args[0]}.{step['of']}"
        case "assign":
            return f"{args[0]}.{step['of']} = {args[1]}"
        case "augment":
            return f"{args[0]} {step['of']} {args[1]}"
        case "hook":
            return f"{step['label']} = {args[0]}.{step['of']}({_hook(step)})"
        case "remove":
            return f"{step['of']}.remove()"
        case "delete":
            return f"del {args[0]}"
    return f"print({args[0]})"


def _hook(step: Step) -> str:
    label, scale = step["label"], step["scale"]
    if step["of"] == "register_hook":
        value = "None" if scale is None else f"g * {scale}"
        return f"lambda g: (print({label!r}, g), {value})[1]"
    reset = "" if scale is None else ", setattr(x, 'grad', None)"
    return f"lambda x: (print({label!r}, x.grad){reset}, None)[-1]"


def _leaf(step: Step) -> str:
    dtype = f"dtype=torch.{step['dtype']}, requires_grad={step['requires_grad']}"
    if 0 in step["shape"]:
        return f"torch.zeros({step['shape']}, {dtype})"
    return f"torch.tensor({nested(step['values'], step['shape'])}, {dtype})"


def _text(given: Any) -> str:
    if isinstance(given, str):
        return given[1:] if given.startswith("$") else repr(given)
    if isinstance(given, list):
        return f"[{', '.join(map(_text, given))}]"
    if not isinstance(given, dict):
        return repr(given)
    ((form, parts),) = given.items()
    match form:
        case "slice":
            return f"slice({', '.join(map(repr, parts))})"
        case "tuple":
            return f"({', '.join(map(_text, parts))}{',' if len(parts) == 1 else ''})"
        case "dtype":
            return f"torch.{parts}"
        case "tensor":
            return f"torch.tensor({parts[0]}, dtype=torch.{parts[1]})"
    return "..."
