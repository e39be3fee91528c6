"""Modules as functions of their parameters: functional_call and stack_module_state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.operations.functions import stack
from staticgraph.dynamic.tensors.tensor import Tensor


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: object,
    args: object = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The module called with other parameters and buffers, by their dotted names.

    Args:
        module: an `nn.Module`; its own parameters stand in for those that are not given.
        parameter_and_buffer_dicts: a dict, or several without a name in common.
        args: the positional arguments: a tuple, or one that is no tuple.
        kwargs: the keyword arguments.
        tie_weights: whether parameters that the module shares under several names are all
            replaced where one of them is given.
        strict: whether every parameter and buffer must be given, and nothing else.

    Example:
        >>> linear = nn.Linear(1, 1, bias=False)
        >>> dynamic.func.functional_call(
        ...     linear, {"weight": dynamic.tensor([[3.0]])}, dynamic.ones(1, 1)
        ... ).tolist()
        [[3.0]]
    """
    given = _merged(parameter_and_buffer_dicts)
    slots = _slots(module)
    if strict:
        _check_names(module, given, slots)
    if tie_weights:
        given = _tied(given, slots)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(slots, given):
        return module(*positional, **(kwargs or {}))


def _merged(dicts: object) -> dict[str, Any]:
    if isinstance(dicts, dict):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(isinstance(one, dict) for one in dicts):
        raise OptionError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    names = [name for one in dicts for name in one]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise OptionError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: value for one in dicts for name, value in one.items()}


_Slots = dict[str, tuple[dict[str, Any], str]]


def _slots(module: object) -> _Slots:
    """Where the tensors of a module are: per dotted name a table and the name in it."""
    found: _Slots = {}
    for prefix, part in _modules(module, ""):
        for table in (part._parameters, part._buffers):
            for name in table:
                found[prefix + name] = (table, name)
    return found


def _modules(module: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    yield prefix, module
    for name, child in module._modules.items():
        if child is not None:
            yield from _modules(child, f"{prefix}{name}.")


def _check_names(module: object, given: dict[str, Any], slots: _Slots) -> None:
    missing = [name for name in slots if name not in given]
    unexpected = [name for name in given if name not in slots]
    lines = []
    if unexpected:
        lines.append(f"\tUnexpected key(s): {', '.join(map(repr, unexpected))}.")
    if missing:
        lines.append(f"\tMissing key(s): {', '.join(map(repr, missing))}.")
    if lines:
        raise AutogradError(
            "\n".join([f"Error(s) in reparametrizing for {type(module).__name__}:", *lines])
        )


def _tied(given: dict[str, Any], slots: _Slots) -> dict[str, Any]:
    """`given`, with the other names of the tensors that have several."""
    owners = {name: table[key] for name, (table, key) in slots.items()}
    result = dict(given)
    for name, value in given.items():
        owner = owners.get(name)
        for other, tensor in owners.items():
            if owner is not None and tensor is owner and other not in given:
                result[other] = value
    return result


@contextmanager
def _replaced(slots: _Slots, given: dict[str, Any]) -> Iterator[None]:
    before = []
    try:
        for name, value in given.items():
            if name in slots:
                table, key = slots[name]
                before.append((table, key, table[key]))
                table[key] = value
        yield
    finally:
        for table, key, value in reversed(before):
            table[key] = value


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of modules of one class, stacked along a new first axis.

    The parameters are leaves that require grad if those of the modules do.

    Example:
        >>> parameters, buffers = dynamic.func.stack_module_state(
        ...     [nn.Linear(2, 3), nn.Linear(2, 3)]
        ... )
        >>> parameters["weight"].shape
        torch.Size([2, 3, 2])
    """
    if not models:
        raise AutogradError("stack_module_state: Expected at least one model, got 0.")
    if any(model.training != models[0].training for model in models):
        raise AutogradError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(model) is not type(models[0]) for model in models):
        raise AutogradError("stack_module_state: Expected all models to be of the same class.")
    parameters = _stacked([dict(model.named_parameters()) for model in models])
    buffers = _stacked([dict(model.named_buffers()) for model in models])
    return parameters, buffers


def _stacked(states: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
    result = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        whole = stack([tensor.detach() for tensor in tensors])
        needs = [tensor.requires_grad for tensor in tensors]
        if any(needs) and not all(needs):
            raise AutogradError(f"Expected {name} from each model to have the same .requires_grad")
        result[name] = whole.requires_grad_(needs[0])
    return result
