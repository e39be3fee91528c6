"""Arguments of wrong kinds, for every function: PyTorch's class of errors, and no Python's words.

The calls are made from PyTorch's documented signatures (`tests.data.make_wrong_calls`), which
recorded how each ends there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.compiler.core.errors import StaticGraphError
from tests.combinations import some
from tests.data.make_wrong_calls import LETTERS, WRONG, calls, function_of, outcome
from tests.paths import TESTS

RECORDED = json.loads((TESTS / "data" / "wrong_calls.json").read_text())
HERE = [name for name in RECORDED if function_of(torch, name) is not None]
OF_PYTHON = re.compile(
    r"NoneType' object|has no attribute|ufunc|not subscriptable|not iterable|unsupported operand|"
    r"unhashable|not supported between|invalid literal|to unpack|numpy.dtypes|dtype\('|<lambda>"
)
"""What the interpreter and NumPy say of what their own code got."""
NOT_TAKEN = {
    "functional.adaptive_avg_pool2d": "PyTorch takes matrices, without channels",
    "functional.embedding_bag": "offsets beside rows of indices are taken if there are none",
    "functional.lp_pool1d": "a power is a number, not a tensor",
    "torch.chain_matmul": "a chain has two matrices",
    "torch.histogram": "bins are given",
    "torch.sparse_coo_tensor": "values are given",
    "torch.unravel_index": "a shape is a tuple",
}
"""Functions whose recorded call is refused here."""


def _kinds(error: Exception) -> set[str]:
    """The letters of an error's classes."""
    names = [one.__name__.lstrip("_") for one in type(error).__mro__]
    return {LETTERS[name] for name in names if name in LETTERS}


def _ends(name: str) -> Counter[str]:
    """How often the calls of a function end as in PyTorch, and how otherwise."""
    args, options, recorded = RECORDED[name]
    made, found = dict(calls(args, options)), Counter[str]()
    for where, letters in recorded.items():
        for call, letter, wrong in zip(made[where], letters, WRONG, strict=True):
            error = outcome(torch, name, *call)
            if error is None:
                found["as there" if letter == "." else "taken"] += 1
                continue
            text = f"{name}, argument {where}: {wrong}: {type(error).__name__}: {error}"
            assert not OF_PYTHON.search(str(error)), text
            assert isinstance(error, StaticGraphError) or "A" not in _kinds(error), text
            if letter in _kinds(error) or (letter in "AKS?" and "T" in _kinds(error)):
                found["as there"] += 1
            else:
                found["refused" if letter == "." else "another class"] += 1
    return found


@pytest.mark.parametrize("name", some([one for one in HERE if one not in NOT_TAKEN], 60))
def test_no_error_is_pythons_own(name: str) -> None:
    assert outcome(torch, name, RECORDED[name][0], {}) is None
    _ends(name)


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_what_is_not_taken_is_refused_in_words(name: str) -> None:
    error = outcome(torch, name, RECORDED[name][0], {})
    assert error is not None and not OF_PYTHON.search(str(error))


@pytest.mark.long
def test_nearly_all_errors_are_of_pytorchs_class() -> None:
    """Of about 24,000 calls; most that is taken beside PyTorch's are numbers for tensors."""
    total: Counter[str] = sum((_ends(one) for one in HERE if one not in NOT_TAKEN), Counter())
    assert total["as there"] > 20000
    assert total["another class"] < 0.009 * total["as there"], total
    assert total["taken"] < 0.065 * total["as there"], total
    assert total["refused"] < 50, total


def test_the_function_the_argument_and_what_was_got_are_named() -> None:
    x = torch.ones(2, 2)
    for call, text in (
        (lambda: x.expand_as(2.0), "expand_as(): argument 'other' (position 1) must be Tensor, "
         "not float"),
        (lambda: x.mv("a"), "mv(): argument 'vec' (position 1) must be Tensor, not str"),
        (lambda: x.max(dim=2.5), "max(): argument 'dim' must be tuple of ints, not float"),
        (lambda: torch.cat(iter([x])), "cat(): argument 'tensors' (position 1) must be tuple of "
         "Tensors, not list_iterator"),
        (lambda: torch.stack(5), "stack(): argument 'tensors' (position 1) must be tuple of "
         "Tensors, not int"),
        (lambda: torch.nn.functional.linear(x, 2.5), "linear(): argument 'weight' (position 2) "
         "must be Tensor, not float"),
        (lambda: torch.nn.functional.layer_norm(x, "a"), "layer_norm(): argument "
         "'normalized_shape' (position 2) must be tuple of ints, not str"),
        (lambda: x.narrow(0, [], 1), "narrow(): argument 'start' (position 2) must be Tensor or "
         "int, not list"),
        (lambda: x.roll([]), "roll: without dims one shift is taken, but got 0: []"),
        (lambda: x.rot90(1, [0]), "expected total rotation dims == 2, but got dims = 1: rot90 of "
         "[0]"),
        (lambda: x.add(x, alpha="a"), "argument 'alpha' must be Number, not str"),
        (lambda: torch.nn.functional.avg_pool2d(x[None], 2, padding=len), "avg_pool2d(): "
         "argument 'padding' (position 4) must be tuple of ints, not builtin_function_or_method"),
        (lambda: torch.pixel_unshuffle(x, 2), "pixel_unshuffle expects input to have at least 3 "
         "dimensions, but got input with 2 dimension(s)"),
        (lambda: torch.pixel_unshuffle(torch.ones(1, 2, 3), 2), "pixel_unshuffle expects width to "
         "be divisible by downscale_factor, but input.size(-1)=3 is not divisible by 2"),
        (lambda: x.copysign([]), "copysign(): argument 'other' (position 1) must be Tensor or "
         "Number, not list"),
        (lambda: torch.mean(x, dim=x), "mean(): argument 'dim' (position 2) must be tuple of "
         "ints, not Tensor"),
        (lambda: torch.gt(x, [1.0] * 3), "gt(): argument 'other' (position 2) must be Tensor or "
         "Number, not list"),
        (lambda: torch.cat([x], 1.5), "cat(): argument 'dim' (position 2) must be int, not float"),
        (lambda: torch.addmm(x, x, x, alpha=x), "addmm(): argument 'alpha' (position 5) "
         "must be Number, not Tensor"),
        (lambda: torch.ones(2, requires_grad=x), "argument 'requires_grad' must be bool, "
         "not Tensor"),
        (lambda: torch.rand(2, pin_memory="a"), "rand(): argument 'pin_memory' must be "
         "bool, not str"),
        (lambda: torch.from_dlpack(2), "from_dlpack(): argument 'ext_tensor' (position 1) must "
         "have __dlpack__, as tensors and arrays have, and not be int"),
    ):  # fmt: skip
        with pytest.raises((TypeError, RuntimeError), match=rf"^{re.escape(text)}$"):
            call()


@pytest.mark.parametrize(
    ("call", "kinds", "text"),
    [
        (lambda x: x.median(0, keepdim="a"), (TypeError,), "median(): argument 'keepdim' must be "
         "bool, not str"),
        (lambda x: torch.nn.functional.avg_pool2d(x[None], 1, ceil_mode=1), (TypeError,),
         "avg_pool2d(): argument 'ceil_mode' must be bool, not int"),
        (lambda x: torch.nn.functional.dropout(x, p=x), (RuntimeError,), "dropout(): argument 'p' "
         "(position 2) must be Number, not Tensor"),
        (lambda x: torch.nn.functional.max_pool2d(x[None], 1, return_indices=x), (RuntimeError,),
         "max_pool2d(): argument 'return_indices' (position 7) must be bool, not Tensor"),
        (lambda x: torch.conv2d(x[None, None], x[None, None], stride=-7),
         (RuntimeError, ValueError), "conv2d: stride is an int from 1, or two, not -7"),
        (lambda x: torch.fft.fft(x, n=-7), (RuntimeError, ValueError),
         "fft: an axis of 0 elements has no transform"),
        (lambda x: x.clone().uniform_(2.5, 1.0), (RuntimeError,),
         "uniform_ expects to return a [from, to) range, but found from=2.5 > to=1.0"),
        (lambda x: torch.nn.functional.elu(x, 2j), (RuntimeError, TypeError),
         "elu(): argument 'alpha' must be float, not complex"),
        (lambda x: torch.special.hermite_polynomial_h(x, 2j), (NotImplementedError, TypeError),
         "orthogonal_polynomial: degrees are integers, got complex128"),
        (lambda x: torch.softmax("a", 0), (TypeError,), "softmax(): argument 'input' (position 1) "
         "must be Tensor, not str"),
        (lambda x: torch.reshape("a", (1,)), (TypeError,), "reshape(): argument 1 must be a tensor "
         "or an array, not str"),
        (lambda x: torch.softmax(x, []), (TypeError, ValueError), "softmax: axis [] is not an int"),
        (lambda x: x.clone().eq_([]), (TypeError,), "eq_(): argument 'other' (position 1) must be "
         "Tensor or Number, not list"),
        (lambda x: x.permute({}), (TypeError,), "permute(): argument 'dims' must be tuple of ints, "
         "not dict"),
        (lambda x: x.sum(dtype=-7), (TypeError,), "to(): argument 'dtype' (position 2) must be "
         "torch.dtype, not int"),
        (lambda x: torch.index_select(x, 0, x[0]), (IndexError,), "index_select(): Expected dtype "
         "int32 or int64 for index: got Float"),
        (lambda x: torch.tensordot(x, x, "a"), (RuntimeError,), "tensordot expects dims to be int "
         "or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got dims=a"),
        (lambda x: x.masked_fill(x > 0, x[0]), (RuntimeError,), "masked_fill_ only supports a "
         "0-dimensional value tensor, but got tensor with 1 dimension(s)."),
        (lambda x: torch.hstack([]), (RuntimeError,), "concatenate: needs at least one tensor"),
    ],
)  # fmt: skip
def test_errors_of_values_flags_and_complex_numbers_are_of_pytorchs_class(
    call: Callable[[Any], object], kinds: tuple[type[Exception], ...], text: str
) -> None:
    with pytest.raises(kinds, match=rf"^{re.escape(text)}$") as caught:
        call(torch.ones(2, 2))
    assert all(isinstance(caught.value, kind) for kind in kinds)


def test_flags_are_booleans_of_pythons_or_numpys() -> None:
    x = torch.ones(2, 2)
    assert x.median(0, keepdim=np.bool_(True)).values.shape == (1, 2)
    assert torch.sort(x, stable=None).values.shape == (2, 2)
    assert torch.nn.functional.rrelu(x, lower=0.1, upper=0.3).shape == (2, 2)


def test_what_a_users_code_raises_below_a_call_is_left_as_it_is() -> None:
    x = torch.ones(2)
    with pytest.raises(AttributeError, match=r"^'float' object has no attribute 'nothing'$"):
        x.apply_(lambda value: value.nothing)


def test_asarray_copies_and_requires_grad_as_asked() -> None:
    x = torch.ones(2, requires_grad=True)
    assert torch.asarray(x) is x and not torch.asarray(x, requires_grad=False).requires_grad
    copied = torch.asarray(x, copy=True)
    assert copied.requires_grad and copied.data_ptr() != x.data_ptr()
    assert torch.asarray([1.0], requires_grad=True).is_leaf
    with pytest.raises(ValueError, match=r"asarray\(\): can't alias an arbitrary sequence"):
        torch.asarray([1.0], copy=False)
    assert torch.var(x.detach(), correction=None) == torch.var(x.detach())
