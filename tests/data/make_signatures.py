"""Records the parameters of PyTorch's documented functions: run in an environment with PyTorch.

`python -m tests.data.make_signatures` writes `torch_signatures.json`: per function, method of
Tensor and function of `nn.functional` the names of all parameters of its documented forms.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import torch

_SPACES = {
    "torch": torch, "Tensor": torch.Tensor, "functional": torch.nn.functional,
    "linalg": torch.linalg, "fft": torch.fft, "special": torch.special,
}  # fmt: skip


def documented(name: str, member: Any) -> list[str]:
    """The names in the forms that open the documentation, or of the Python function."""
    found: list[str] = []
    lines = (member.__doc__ or "").strip().split("\n")
    for line in lines:
        line = line.partition(" -> ")[0]
        before = r"\s*(?:\.\. function:: )?(?:Tensor\.|torch\.)?"
        form = re.match(rf"{before}{re.escape(name)}\((.*?)\)\s*(?:->.*)?$", line)
        if form:
            depth, text = 0, ""
            for letter in form.group(1) + ",":
                depth += (letter in "([") - (letter in ")]")
                if letter == "," and not depth:
                    one = re.match(r"\s*\*{0,2}(\w+)", text)
                    if one and one.group(1) not in found and text.strip() != "*":
                        found.append(one.group(1))
                    text = ""
                else:
                    text += letter
    if found or not inspect.isfunction(member):
        return found
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(member).parameters.values()
    return [one.name for one in parameters if one.kind not in kinds and one.name != "self"]


if __name__ == "__main__":
    recorded = {}
    for space, module in _SPACES.items():
        for name in sorted(vars(module) if space != "Tensor" else dir(module)):
            member = getattr(module, name, None)
            if name.startswith("_") or not callable(member) or isinstance(member, type):
                continue
            names = documented(name, member)
            if names:
                recorded[f"{space}.{name}"] = names
    text = json.dumps(recorded, indent=0, sort_keys=True)
    Path(__file__).with_name("torch_signatures.json").write_text(text + "\n")
