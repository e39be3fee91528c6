"""Record PyTorch's values and gradients of all shared ops, for the tests to compare with.

Needs torch (made with 2.13.0, CPU) and NumPy, which no test does. In the project's root:

    python -m tests.data.make_op_fixtures

writes tests/data/op_values.npz: the calls of `tests.samples` and of `op_cases.EDGES`, in float64
and in float32; with names of ops behind it only their records, and all others are kept.
`torch_ops.TORCH` says what each op is in PyTorch, `samples.WITHOUT` which have nothing.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.data.op_cases import (
    DIFFERENT,
    EDGES,
    INTEGERS_CAST,
    INTEGERS_REFUSED,
    SECOND,
    Case,
    Twice,
    Writer,
    recorded,
    signless,
    weights,
)
from tests.data.torch_ops import TORCH, TWICE
from tests.sampled.sample import Sample
from tests.samples import SAMPLES, WITHOUT

HERE = Path(__file__).parent


def _lifted(value: Any, leaves: list[Any]) -> Any:
    if isinstance(value, np.ndarray):
        tensor = torch.tensor(value)
        if tensor.is_floating_point():
            leaves.append(tensor.requires_grad_())
        return tensor
    if isinstance(value, tuple | list):
        return type(value)(_lifted(one, leaves) for one in value)
    return value


def _single(value: Any) -> Any:
    """float64 as float32."""
    if isinstance(value, np.ndarray):
        return value.astype(np.float32) if value.dtype == np.float64 else value
    if isinstance(value, tuple | list):
        return type(value)(map(_single, value))
    return value


def _floating(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_floating, value))
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _run(name: str, args: Any, options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The results, and the gradients of their weighted sum by the floating arguments."""
    function = getattr(torch, name[6:]) if name.startswith("torch.") else TORCH[name]
    leaves: list[Any] = []
    outcome = function(*_lifted(args, leaves), **options)
    results = [outcome] if isinstance(outcome, torch.Tensor) else list(outcome)
    results = signless(name, results, args[0])
    found = [np.array(one.detach().numpy()) for one in results]
    pairs = [
        (one, torch.tensor(weights(value, i)))
        for i, (one, value) in enumerate(zip(results, found, strict=True))
        if one.requires_grad
    ]
    if pairs:
        torch.autograd.backward(*zip(*pairs, strict=True))
    return found, [None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]


def _second(name: str, args: Any, options: dict[str, Any]) -> list[Any] | None:
    """The gradients of a weighted sum of the gradients; None where there are none."""
    function = getattr(torch, name[6:]) if name.startswith("torch.") else TWICE[name]
    leaves: list[Any] = []
    outcome = function(*_lifted(args, leaves), **options)
    results = [outcome] if isinstance(outcome, torch.Tensor) else list(outcome)
    results = signless(name, results, args[0])
    if not all(one.requires_grad for one in results):
        return None
    cotangents = [torch.tensor(weights(one.detach().numpy(), i)) for i, one in enumerate(results)]
    first = torch.autograd.grad(results, leaves, cotangents, create_graph=True, allow_unused=True)
    parts = [
        (one * torch.tensor(weights(one.detach().numpy(), 7 + i))).sum()
        for i, one in enumerate(first)
        if one is not None and one.requires_grad
    ]
    if not parts:
        return None
    found = torch.autograd.grad(sum(parts), leaves, materialize_grads=True)
    return [one.numpy(force=True) for one in found]


def main(names: Sequence[str]) -> None:
    """Run all calls, or those of the named ops, and write the file; other records are kept."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    path = HERE / "op_values.npz"
    writer, cases, twice = Writer(), [], []
    known = recorded(path) if names else ([], [])
    for name in [*SAMPLES, *(name for name in EDGES if name not in SAMPLES)]:
        if names and name not in names:
            cases += [writer.fields(one) for one in known[0] if one.name == name]
            twice += [writer.fields(one) for one in known[1] if one.name == name]
        elif name not in WITHOUT:
            cases += _once(name, writer)
            for sample in _twice(name):
                found = _second(name, sample.args, sample.options)
                if found is not None:
                    twice.append(writer.fields(Twice(name, sample.args, sample.options, found)))
    writer.write({"once": cases, "twice": twice}, path)


def _once(name: str, writer: Writer) -> Iterator[list[Any]]:
    """The calls of an op with their gradients."""
    for sample in (*SAMPLES.get(name, ()), *EDGES.get(name, ())):
        floating = _floating(sample.args)
        if not floating and name in INTEGERS_REFUSED | INTEGERS_CAST:
            continue
        for args in (sample.args, _single(sample.args)) if floating else (sample.args,):
            yield writer.fields(_recorded(name, Sample(args, sample.options)))
    for sample, dtypes, reason in DIFFERENT.get(name, ()):
        for dtype in dtypes:
            args = sample.args if dtype == "float64" else _single(sample.args)
            yield writer.fields(_recorded(name, Sample(args, sample.options), reason))


def _twice(name: str) -> list[Sample]:
    """The calls that are differentiated twice: where the second derivative is not 0."""
    samples = [one for one in SAMPLES.get(name, ()) if one.order > 1 and _floating(one.args)]
    if name == "layer_norm":  # with a bias and no weight PyTorch's second pass fails
        samples = [one for one in samples if type(None) not in map(type, one.args)]
    return [*samples, *SECOND.get(name, ())]


def _recorded(name: str, sample: Sample, differs: str = "") -> Case:
    try:
        results, gradients = _run(name, sample.args, sample.options)
    except Exception as error:
        raise RuntimeError(f"{name}: {sample}") from error
    return Case(name, sample.args, sample.options, results, gradients, differs)


if __name__ == "__main__":
    main(sys.argv[1:])
