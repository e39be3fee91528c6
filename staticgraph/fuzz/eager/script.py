"""A program as Python that a person can paste, for either library."""

from __future__ import annotations

from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.eager.machine import nested
from staticgraph.fuzz.eager.program import Step, names


def script(program: Program) -> str:
    """The steps as statements; `torch` is the library that is imported under this name."""
    lines = ["import dynamic as torch  # or PyTorch: import torch", ""]
    bound: dict[str, None] = {}
    for step in program["steps"]:
        guarded = (
            f"try:\n{indented(statement(step))}\nexcept Exception as error:\n    print(repr(error))"
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


def indented(lines: str) -> str:
    """Lines further to the right."""
    return "\n".join("    " + line for line in lines.splitlines())


def statement(step: Step) -> str:
    """A step, within the modes that it runs in."""
    line = expression(step)
    if "item" in step:
        line += f"[{step['item']}]"
    bound = names(step)
    if bound:
        line = f"{', '.join(bound)}{',' if isinstance(step['name'], list) else ''} = {line}"
    for mode in reversed(step.get("modes", ())):
        line = f"with torch.{mode}():\n" + indented(line)
    return line


def expression(step: Step) -> str:
    """What a step evaluates, without the name that it binds."""
    args = [text(one) for one in step.get("args", ())]
    options = [f"{name}={text(one)}" for name, one in step.get("options", {}).items()]
    match step["do"]:
        case "leaf":
            return leaf(step)
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


def leaf(step: Step) -> str:
    """The tensor that a step makes."""
    dtype = f"dtype=torch.{step['dtype']}, requires_grad={step['requires_grad']}"
    if 0 in step["shape"]:
        return f"torch.zeros({step['shape']}, {dtype})"
    return f"torch.tensor({nested(step['values'], step['shape'])}, {dtype})"


def text(given: object) -> str:
    """An argument."""
    if isinstance(given, str):
        return given[1:] if given.startswith("$") else repr(given)
    if isinstance(given, list):
        return f"[{', '.join(map(text, given))}]"
    if not isinstance(given, dict):
        return repr(given)
    ((form, parts),) = given.items()
    match form:
        case "slice":
            return f"slice({', '.join(map(repr, parts))})"
        case "tuple":
            return f"({', '.join(map(text, parts))}{',' if len(parts) == 1 else ''})"
        case "dtype":
            return f"torch.{parts}"
        case "size":
            return f"{text(parts[0])}.shape[{parts[1]}]"
        case "copy":
            return f"{text(parts[0])}.clone()"
        case "tensor":
            return f"torch.tensor({parts[0]}, dtype=torch.{parts[1]})"
    return "..."
