"""What tensors, modules, optimizers and generators around a captured function say of themselves.

Every public name that gives a value of Python's is read in a function and changed between two of
its calls: the second answers as the eager function does, or is refused.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import nn

X = torch.ones(2)
Change = Callable[[Any], object]


class _Tagged(nn.Parameter):
    pass


def _hook(*given: object) -> None:
    pass


def _doubled(x: Any) -> None:
    with torch.no_grad():
        x.mul_(2)


def _stepped(optimizer: Any) -> None:
    for param in optimizer.param_groups[0]["params"]:
        param.grad = torch.ones_like(param.detach())
    optimizer.step()


TENSORS: dict[str, Callable[[], Any]] = {
    "parameter": lambda: nn.Parameter(torch.ones(3, 2)),
    "plain": lambda: torch.ones(3, 2),
    "made": lambda: 2 * torch.ones(3, 2, requires_grad=True),
    "view": lambda: torch.ones(4, 2)[1:],
}
OF_TENSORS: dict[str, Change] = {
    "grad": lambda x: setattr(x, "grad", torch.ones(3, 2)),
    "data": lambda x: setattr(x, "data", torch.zeros(5, 2)[1:4]),
    "dtype": lambda x: setattr(x, "data", torch.zeros(3, 2, dtype=torch.float64)),
    "shape": lambda x: setattr(x, "data", torch.zeros(3, 3)),
    "strides": lambda x: setattr(x, "data", torch.zeros(2, 3).t()),
    "values": _doubled,
    "hook": lambda x: x.register_hook(_hook),
    "retained": lambda x: x.retain_grad(),
    "frozen": lambda x: x.requires_grad_(False),
    "thawed": lambda x: x.requires_grad_(True),
    "history": lambda x: x.mul_(nn.Parameter(torch.ones(2))),
    "detached": lambda x: x.detach_(),
    "class": lambda x: setattr(x, "__class__", _Tagged),
    "attribute": lambda x: setattr(x, "tag", 3),
}
_RATES = torch.optim.lr_scheduler.StepLR
OBJECTS: dict[str, tuple[Callable[[], Any], Mapping[str, Change]]] = {
    "Linear": (
        lambda: nn.Linear(2, 2),
        {
            "eval": lambda m: m.eval(),
            "frozen": lambda m: m.requires_grad_(False),
            "no bias": lambda m: setattr(m, "bias", None),
            "size": lambda m: setattr(m, "out_features", 7),
            "buffer": lambda m: m.register_buffer("kept", torch.ones(2)),
            "hook": lambda m: m.register_forward_hook(_hook),
            "hook on gradients": lambda m: m.register_full_backward_hook(_hook),
            "hook before gradients": lambda m: m.register_full_backward_pre_hook(_hook),
            "attribute": lambda m: setattr(m, "tag", 3),
        },
    ),
    "SGD": (
        lambda: torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.5, momentum=0.9),
        {
            "rate": lambda o: o.param_groups[0].update(lr=0.25),
            "step": _stepped,
            "group": lambda o: o.add_param_group({"params": [nn.Parameter(torch.ones(1))]}),
            "default": lambda o: o.defaults.update(lr=3.0),
            "hook": lambda o: o.register_step_pre_hook(_hook),
        },
    ),
    "StepLR": (
        lambda: _RATES(torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.5), 1, 0.5),
        {
            "step": lambda s: (s.optimizer.step(), s.step()),
            "gamma": lambda s: setattr(s, "gamma", 0.125),
            "rate": lambda s: s.optimizer.param_groups[0].update(lr=0.25),
        },
    ),
    "Generator": (
        lambda: torch.Generator().manual_seed(3),
        {"draw": lambda g: torch.rand(2, generator=g), "seed": lambda g: g.manual_seed(9)},
    ),
}
_OWN = ("__dict__", "__len__", "_backward_hooks", "_backward_pre_hooks", "_forward_hooks")


def _number(value: Any) -> float:
    """A number that tells what was read from what else could be; 0.0 of tensors."""
    if isinstance(value, torch.Tensor | np.ndarray):
        return 0.0
    if isinstance(value, dict):
        return 3.0 * len(value) + sum(_number(one) for one in value.values())
    if isinstance(value, list | tuple):
        return 5.0 * len(value) + sum(_number(one) for one in value)
    if value is None or isinstance(value, bool | int | float | str | torch.dtype | torch.device):
        return float(zlib.crc32(repr(value).encode()) % 9973)
    return 7.0


def _reader(owner: Any, name: str) -> Callable[[Any], Any]:
    def read(x: Any) -> Any:
        value = getattr(owner, name)
        if callable(value) and not isinstance(value, torch.Tensor):
            value = value()
        return x + _number(value)

    return read


def _answer(function: Callable[[Any], Any]) -> Any:
    """What a function returns; the class of what it raises."""
    torch.manual_seed(0)
    try:
        return function(X).tolist()
    except Exception as error:
        return type(error)


def _names(kind: type) -> list[str]:
    found = [one for one in dir(kind) if not one.startswith("_") and not one.endswith("_")]
    return [*found, *(one for one in _OWN if hasattr(kind, one))]


def _changed(make: Callable[[], Any], name: str, change: Change) -> tuple[Any, Any]:
    """What a name says after a change, eagerly and in a function that was captured before it."""
    owner = make()
    read = _reader(owner, name)
    captured = sg.function(read)
    _answer(captured)
    change(owner)
    return _answer(read), _answer(captured)


def _says(make: Callable[[], Any], name: str, change: Change) -> bool:
    """Whether a change is seen eagerly by what reads a name."""
    owner = make()
    read = _reader(owner, name)
    before = _answer(read)
    if isinstance(before, type) or _answer(read) != before:
        return False
    try:
        change(owner)
    except Exception:
        return False
    return bool(_answer(read) != before)


def _check(make: Callable[[], Any], names: list[str], changes: Mapping[str, Change]) -> set[str]:
    """Check all names with all changes; those that were found to follow a change."""
    follow, wrong = set(), []
    for name in names:
        for label, change in changes.items():
            if not _says(make, name, change):
                continue
            after, captured = _changed(make, name, change)
            if captured is sg.CaptureError:
                continue
            if captured == after or (isinstance(captured, type) and isinstance(after, type)):
                follow.add(name)
            else:
                wrong.append((name, label, after, captured))
    assert not wrong
    return follow


@pytest.mark.slow
@pytest.mark.parametrize("kind", TENSORS)
def test_what_a_tensor_says_is_what_it_says_at_each_call(kind: str) -> None:
    follow = _check(TENSORS[kind], _names(nn.Parameter), OF_TENSORS)
    assert follow >= {"data_ptr", "storage_offset", "stride", "dtype", "shape", "__dict__"}
    assert ("retains_grad" in follow) is (kind == "made")
    assert ("_backward_hooks" in follow) is (kind in ("parameter", "made"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", OBJECTS)
def test_what_an_object_says_is_what_it_says_at_each_call(kind: str) -> None:
    make, changes = OBJECTS[kind]
    follow = _check(make, _names(type(make())), changes)
    assert follow or kind == "Generator"  # whose state is refused


def test_a_leaf_that_gets_a_history_has_no_grad_fn_to_capture() -> None:
    w = torch.ones(2)
    f = sg.function(lambda x: x if w.grad_fn is None and not w.output_nr else -x)
    assert f(X).tolist() == [1.0, 1.0]
    w.mul_(nn.Parameter(torch.ones(2)))
    with pytest.raises(sg.CaptureError, match=r"test_asked\.py:\d+: .*grad_fn asks the tape"):
        f(X)
    with pytest.raises(sg.CaptureError, match=r"test_asked\.py:\d+: .*output_nr asks the tape"):
        sg.function(lambda x: x * w.output_nr)(X)


def test_what_users_put_on_tensors_is_followed() -> None:
    layer = nn.Linear(2, 2)
    for param in layer.parameters():
        param.scale = 1.0

    def scaled(x: Any) -> Any:
        return x * sum(p.scale for p in layer.parameters() if not getattr(p, "frozen", False))

    f = sg.function(scaled)
    assert f(X).tolist() == [2.0, 2.0]
    layer.weight.scale = 5.0
    assert f(X).tolist() == [6.0, 6.0]
    layer.bias.frozen = True
    assert f(X).tolist() == [5.0, 5.0]
    del layer.bias.frozen
    assert f(X).tolist() == [6.0, 6.0]
    del layer.bias.scale
    with pytest.raises(AttributeError, match="no attribute 'scale'"):
        f(X)


def test_what_users_put_on_arguments_is_followed() -> None:
    w = nn.Parameter(torch.ones(2))
    w.scale = 2.0
    f = sg.function(lambda x, p: x * (p.scale if hasattr(p, "scale") else 7.0))
    assert f(X, w).tolist() == [2.0, 2.0]
    w.scale = 3.0
    assert f(X, w).tolist() == [3.0, 3.0]
    del w.scale
    assert f(X, w).tolist() == [7.0, 7.0]
    w.scale = [2.0]
    with pytest.raises(sg.CaptureError, match=r"test_asked\.py:\d+: .*'scale'.*of type list"):
        f(X, w)


def test_what_is_put_on_tensors_inside_stays_inside_or_is_refused() -> None:
    def tagged(x: Any, out: bool = False) -> Any:
        y = 2 * x
        y.tag = 3.0
        return y if out else y * y.tag

    assert sg.function(tagged)(X).tolist() == [6.0, 6.0]
    with pytest.raises(sg.CaptureError, match=r"returns a tensor on which it has put 'tag'"):
        sg.function(tagged)(X, out=True)

    def marks(x: Any) -> Any:
        x.tag = 3.0
        return x + 1

    with pytest.raises(sg.CaptureError, match=r"test_asked\.py:\d+: .*puts 'tag' on a tensor from"):
        sg.function(marks)(X)
    w = torch.ones(2)

    def counts(x: Any) -> Any:
        w.calls = 1
        return x + w

    with pytest.raises(sg.EffectError, match=r"test_asked\.py:\d+.*calls"):
        sg.function(counts)(X)


def test_what_is_put_on_tensors_is_copied_as_pytorch_copies_it() -> None:
    plain, param = torch.ones(2), nn.Parameter(torch.ones(2))
    plain.tag = param.tag = [3]
    assert copy.deepcopy(plain).tag == [3]
    assert copy.deepcopy(plain).tag is not plain.tag
    assert copy.copy(param).tag is param.tag
    assert not hasattr(copy.deepcopy(param), "tag")


@pytest.mark.parametrize("text", [repr, str])
def test_a_text_of_several_results_is_refused(text: Callable[[object], str]) -> None:
    with pytest.raises(sg.CaptureError, match="needs the values of a tensor"):
        sg.function(lambda x: x + len(text(torch.sort(x))))(X)


def test_the_factor_of_a_scaler_is_refused() -> None:
    scaler = torch.amp.GradScaler("cpu")
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    outside = r"test_asked\.py:\d+: .*factor of a GradScaler.*scaler\.update\(\) outside"
    for read in (
        lambda x: scaler.scale(x),
        lambda x: x * scaler.get_scale(),
        lambda x: (scaler.unscale_(optimizer), x)[1],
    ):
        with pytest.raises(sg.CaptureError, match=outside):
            sg.function(read)(X)


def test_a_step_with_a_closure_is_refused() -> None:
    w = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.LBFGS([w])

    def step(x: Any) -> Any:
        return optimizer.step(lambda: (w * x).sum())

    with pytest.raises(sg.CaptureError, match=r"test_asked\.py:\d+: .*call step\(closure\) outs"):
        sg.function(step)(X)


def test_a_series_and_a_table_are_compared() -> None:
    series, table = pd.Series([1.0, 2.0]), pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})

    def both(x: Any) -> Any:
        return x + torch.tensor(series.values + table["a"].to_numpy()).float()

    f = sg.function(both)
    for _ in range(3):
        assert f(X).tolist() == both(X).tolist()
        series[0] += 1
        table.loc[1, "a"] += 2


def test_a_scaler_that_does_not_scale_is_part_of_a_captured_step() -> None:
    w = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", enabled=False)

    @sg.function
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach() * scaler.get_scale()

    assert [step(X).item() for _ in range(3)] == [2.0, 1.0, 0.0]
    assert w.tolist() == [-0.5, -0.5]
