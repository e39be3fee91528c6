"""Runs programs on tensors: those of `dynamic`, or of PyTorch in a process of its own.

`python machine.py` answers each line of JSON that it reads, a program, with what PyTorch makes of
it. It runs in PyTorch's environment, and so imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import math
import os
import sys
import traceback
import warnings
from typing import Any

FLAGS = ("_version", "requires_grad", "is_leaf", "retains_grad")
METHODS = ("is_inference", "_is_view", "is_contiguous")


class UnboundError(Exception):
    """A step reads a name that an earlier one did not bind."""


class Machine:
    """The tensors of one program.

    Attributes:
        torch: the library, `torch` or `dynamic`.
        values: the tensor of each name that is bound.
        log: what hooks have seen, in order.
    """

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.values: dict[str, Any] = {}
        self.log: list[Any] = []
        self.handles: dict[str, Any] = {}

    def run(self, program: dict[str, Any]) -> dict[str, Any]:
        """What the steps give, and the state of every tensor after the last."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            steps = [self._try(step) for step in program["steps"]]
            return {"steps": steps, "values": self._states(), "hooks": self.log}

    def _try(self, step: dict[str, Any]) -> Any:
        try:
            with contextlib.ExitStack() as modes:
                for mode in step.get("modes", ()):
                    modes.enter_context(getattr(self.torch, mode)())
                return self._bind(step, self._do(step))
        except UnboundError:
            return {"unbound": True}
        except Exception as error:
            return described(error)

    def _do(self, step: dict[str, Any]) -> Any:
        args = [self.decoded(one) for one in step.get("args", ())]
        options = {name: self.decoded(one) for name, one in step.get("options", {}).items()}
        match step["do"]:
            case "leaf":
                return self._leaf(step)
            case "method":
                return getattr(args[0], step["of"])(*args[1:], **options)
            case "function":
                found = self.torch
                for name in step["of"].split("."):
                    found = getattr(found, name)
                return found(*args, **options)
            case "get":
                return args[0][args[1]]
            case "set":
                args[0][args[1]] = args[2]
            case "attribute":
                return getattr(args[0], step["of"])
            case "assign":
                setattr(args[0], step["of"], args[1])
            case "augment":
                return _augmented(step["of"], *args)
            case "hook":
                self._hook(step, args[0])
            case "remove":
                if step["of"] not in self.handles:
                    raise UnboundError
                self.handles[step["of"]].remove()
            case "delete":
                del self.values[step["args"][0][1:]]
            case "look":
                return json.dumps(self._flags(args[0]))
        return None

    def _leaf(self, step: dict[str, Any]) -> Any:
        dtype = getattr(self.torch, step["dtype"])
        if 0 in step["shape"]:
            found = self.torch.zeros(step["shape"], dtype=dtype)
        else:
            found = self.torch.tensor(nested(step["values"], step["shape"]), dtype=dtype)
        return found.requires_grad_() if step["requires_grad"] else found

    def _hook(self, step: dict[str, Any], tensor: Any) -> None:
        label, scale = step["label"], step["scale"]

        def before(grad: Any) -> Any:
            self.log.append([label, elements(grad)])
            return None if scale is None else grad * scale

        def after(leaf: Any) -> None:
            self.log.append([label, None if leaf.grad is None else elements(leaf.grad)])
            if scale is not None:
                leaf.grad = None

        self.handles[label] = getattr(tensor, step["of"])(
            before if step["of"] == "register_hook" else after
        )

    def _bind(self, step: dict[str, Any], result: Any) -> Any:
        if "item" in step:
            result = result[step["item"]]
        name = step.get("name")
        if isinstance(name, list):
            for one, value in zip(name, result, strict=True):
                if value is not None:
                    self.values[one] = value
            return [value is None for value in result]
        if isinstance(result, self.torch.Tensor):
            if name is not None:
                self.values[name] = result
            return None
        return plain(result)

    def decoded(self, given: Any) -> Any:
        """An argument with tensors in place of what stands for them."""
        if isinstance(given, str) and given.startswith("$"):
            if given[1:] not in self.values:
                raise UnboundError
            return self.values[given[1:]]
        if isinstance(given, list):
            return [self.decoded(one) for one in given]
        if not isinstance(given, dict):
            return given
        ((form, parts),) = given.items()
        match form:
            case "slice":
                return slice(*parts)
            case "tuple":
                return tuple(self.decoded(one) for one in parts)
            case "ellipsis":
                return Ellipsis
            case "dtype":
                return getattr(self.torch, parts)
            case "tensor":
                return self.torch.tensor(parts[0], dtype=getattr(self.torch, parts[1]))
        raise ValueError(f"no argument: {given}")

    def _states(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        names: dict[int, str] = {}
        for name, tensor in self.values.items():
            first = names.setdefault(id(tensor), name)
            found[name] = {"same": first} if first != name else self._state(tensor)
        return found

    def _state(self, tensor: Any) -> dict[str, Any]:
        return {
            **self._flags(tensor),
            "elements": attempted(lambda: elements(tensor)),
            "grad": attempted(lambda: None if tensor.grad is None else elements(tensor.grad)),
            "grad requires grad": attempted(
                lambda: None if tensor.grad is None else tensor.grad.requires_grad
            ),
        }

    def _flags(self, tensor: Any) -> dict[str, Any]:
        found = {name: attempted(lambda name=name: getattr(tensor, name)) for name in FLAGS}
        found |= {name: attempted(lambda name=name: getattr(tensor, name)()) for name in METHODS}
        found["grad_fn"] = attempted(lambda: tensor.grad_fn and tensor.grad_fn.name())
        found["base"] = attempted(lambda: self._base(tensor))
        return found

    def _base(self, tensor: Any) -> Any:
        base = tensor._base
        if base is None:
            return None
        return next((name for name, one in self.values.items() if one is base), "another")


def _augmented(operator: str, target: object, value: Any) -> Any:
    match operator:
        case "+=":
            target += value
        case "-=":
            target -= value
        case "*=":
            target *= value
        case "/=":
            target /= value
    return target


def attempted(read: Any) -> Any:
    """What is read, or the class of the error."""
    try:
        return read()
    except Exception as error:
        return {"error": builtin(error)}


def builtin(error: Exception) -> list[str]:
    """The classes of an error that Python itself has."""
    known = [one.__name__ for one in type(error).__mro__ if one.__module__ == "builtins"]
    return known[: known.index("Exception")]


def described(error: Exception) -> dict[str, Any]:
    """An error; `ours` is whether a `raise` of the library, or of C++, made it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    planned = line.startswith("raise") or frame.filename == __file__
    return {"error": builtin(error), "text": str(error)[:300], "planned": planned,
            "place": f"{os.path.basename(frame.filename)} {frame.name}"}  # fmt: skip


def elements(tensor: Any) -> dict[str, Any]:
    """Shape, dtype and values."""
    tensor = tensor.detach().clone()  # what stands for zeros in PyTorch has no memory
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {
        "shape": list(tensor.shape),
        "dtype": dtype,
        "values": plain(tensor.reshape(-1).tolist()),
    }


def plain(value: object) -> Any:
    """A value as JSON has it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return type(value).__name__


def nested(values: list[Any], shape: list[int]) -> Any:
    """A flat list as nested ones."""
    if not shape:
        return values[0]
    size = len(values) // shape[0]
    return [nested(values[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


def main() -> None:
    """Answer until standard input ends."""
    import torch  # type: ignore[import-not-found,unused-ignore]

    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(Machine(torch).run(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
