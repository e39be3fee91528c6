"""Programs that cannot be captured: each is refused at its line."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from tests.dynamic.capture.test_capture import HERE, leaf, swallowing
from tests.strange import strange


def _into_an_array(x: Any) -> Any:
    out = np.zeros((3, 4), "float32")
    out[1:] = x[1:]
    return torch.from_numpy(out)


def _gives_memory(x: Any) -> Any:
    y = torch.zeros_like(x)
    y.data = x.data
    return y


def _branch_writes(x: Any) -> Any:
    y = x * 2

    def write(v: Any) -> Any:
        y.add_(1)
        return v

    return sg.cond(x.sum() > 0, write, lambda v: v * 2, x) + y


def _reshaped_and_written(x: Any) -> Any:
    y = x * 2
    flat = y.reshape(-1)
    flat += 1
    return y * 1


def _viewed_and_squeezed(x: Any) -> Any:
    y = (x * 2)[None]
    row = y[0]
    y.squeeze_(0)
    return y + row


VALUES, TAPE = "needs the values of a tensor", ".* asks the tape"
REFUSALS: dict[str, tuple[Callable[..., Any], str]] = {
    "if": (lambda x: x if x.sum() > 0 else x[0], "a branch on a value, which depends on x: a r"),
    "and": (lambda x: (x > 0).any() and x, "a branch on a value, which depends on x: a result is"),
    "float": (lambda x: x * float(x.sum()), VALUES),
    "int": (lambda x: x * int(x.sum()), VALUES),
    "tolist of many": (lambda x: x * x.repeat(9, 9).tolist()[0][0], VALUES),
    "item of a complex": (lambda x: x * (1j * x).sum().item(), VALUES),
    "round of item": (lambda x: x * round(x.sum().item()), VALUES),
    "power of item": (lambda x: x * 2.0 ** x.sum().item(), "power of a Python number whose value"),
    "root of item": (lambda x: x * x.sum().item() ** 0.5, "power of a Python number whose value"),
    "shape of what has views": (_viewed_and_squeezed, "changes the shape of a tensor in place"),
    "numpy": (lambda x: x * x.numpy(), VALUES),
    "asarray": (lambda x: x * np.asarray(x), VALUES),
    "math": (lambda x: x * math.sin(x.sum()), VALUES),
    "format": (lambda x: x * float(f"{x.sum():.2f}"), VALUES),
    "sorted": (lambda x: sorted(x.flatten())[0], "asks for more than 8 truth values in one call"),
    "mask": (lambda x: x[x > 0], "takes the elements where a mask holds"),
    "swallowed": (swallowing, VALUES),
    "generator": (
        lambda x: x + torch.empty(4).normal_(generator=np.random.default_rng(0)), "draws from a",
    ),
    "seed": (lambda x: x * (torch.manual_seed(0) is None), "draws from a generator of its own, or"),
    "out": (lambda x: torch.sum(x, 1, out=torch.zeros(3).double()), "writes to out=|changes"),
    "resize": (lambda x: (x * 2).resize_(2), "depends|needs|this asks|changes"),
    "written in a branch": (_branch_writes, "changes a tensor from outside"),
    "may be a copy": (_reshaped_and_written, "reads a tensor after another"),
    "expanded and written": (
        lambda x: (x[0] * 2).expand(3, 4).add_(1), "changes a view whose place",
    ),
    "grad": (lambda x: (x * 2).grad, "reads the gradient of a tensor that is no leaf"),
    "array": (_into_an_array, r"rather than arrays"),
    "text": (lambda x: f"{x.sum()}", r"sg\.check\(condition"),
    "memory of another": (_gives_memory, "gives a tensor the memory of another one"),
    "grad_fn": (lambda x: x * (x * 2).grad_fn, TAPE),
    "version": (lambda x: x * x._version, TAPE),
    "inference": (lambda x: x * torch.is_inference_mode_enabled(), "is_inference_mode_enabled"),
    "memory": (lambda x: x * x.is_contiguous(), "depends on how a tensor lies in memory"),
    "stride": (lambda x: x * x.stride(0), "depends on how a tensor lies in memory"),
    "no lowering": (strange, "strange has no form that can be compiled"),
}  # fmt: skip


AROUND = torch.tensor(3)
READINGS: dict[str, Callable[[], Any]] = {
    "float": lambda: float(AROUND),
    "bool": lambda: bool(AROUND),
    "index": lambda: [0, 1, 2, 3][AROUND],
    "numpy": lambda: AROUND.numpy(),
    "asarray": lambda: np.asarray(AROUND),
    "in": lambda: 3 in AROUND,
    "format": lambda: f"{AROUND}" == "3",
    "str": lambda: len(str(AROUND)),
    "deepcopy": lambda: copy.deepcopy(AROUND),
    "equal": lambda: torch.equal(AROUND, AROUND),
    "isin": lambda: torch.isin(AROUND, AROUND).sum(),
    "nonzero": lambda: len(torch.nonzero(AROUND)),
    "unique": lambda: len(torch.unique(AROUND)),
    "where": lambda: len(torch.where(AROUND)[0]),
}


@pytest.mark.parametrize("name", READINGS)
def test_values_of_a_tensor_around_are_refused_since_they_change(name: str) -> None:
    for written in (False, True):

        def program(x: Any, written: bool = written) -> Any:
            if written:
                AROUND.add_(1)
            return x * READINGS[name]()

        with pytest.raises(sg.CaptureError, match=HERE + f".*({VALUES})"):
            sg.function(program)(leaf(3, 4))
    assert AROUND.item() == 3


@pytest.mark.parametrize("name", REFUSALS)
def test_what_has_no_answer_is_refused_at_its_line(name: str) -> None:
    program, text = REFUSALS[name]
    with pytest.raises(sg.CaptureError, match=HERE + f".*({text})"):
        sg.function(program)(leaf(3, 4))


@pytest.mark.parametrize("name", ["bincount", "argwhere", "unique"])
def test_results_as_large_as_values_say_name_what_takes_a_size(name: str) -> None:
    f, x = getattr(torch, name), torch.tensor([1, 2, 2])
    option = "length" if name == "bincount" else "size"
    with pytest.raises(sg.CaptureError, match=rf"say how large.*: use sg\.{name}\(x, {option}=n\)"):
        sg.function(lambda x: f(x))(x)
    sized = sg.function(lambda x: getattr(sg, name)(x, **{option: 3}))(x)
    assert sized.shape[0] == 3


def test_what_is_set_where_a_mask_holds_has_no_axes_and_powers_two_operands() -> None:
    x = torch.ones(2, 3)
    for form in (call := lambda x: (x * 1).masked_fill_(x > 0, x), sg.function(call)):
        with pytest.raises(RuntimeError, match=r"0-dim.* got tensor with 2 dimension"):
            form(x)
    with pytest.raises(sg.StaticGraphError, match="power: takes 2 operands, got 1"):
        sg.function(lambda x: x.pow())(x)
