"""What the eager engine knows and the op library does not: counted, each with its reason."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dynamic
import dynamic.autograd.captured_function  # loaded when a capture needs it
import staticgraph as sg
import staticgraph.dynamic.core.composed_ops  # which functions of nn load
from staticgraph.compiler.core.op import Op, is_registered

_MEMORY = "about memory, which an expression has none of: a graph has what it expands to, or x"
_NAME = "a registered op under the name of PyTorch's node; a graph has the registered one"
_PATTERN = "one node of PyTorch's for what is several ops; a graph has these"
_PLACE = "where a view lies in the memory of its base, which is known eagerly alone"
UNREGISTERED = {
    **dict.fromkeys(
        ("clone", "contiguous", "copy", "fill", "fill_of_tensor", "zero", "fill_where", "select"),
        _MEMORY,
    ),
    **dict.fromkeys(
        (
            "transpose_2d", "swap", "squeeze_dim", "sum_dim", "mean_dim", "prod_dim",
            "index_select", "masked_fill", "bmm", "add_bias", "nll_loss", "gathered",
            "max_pooled", "avg_pooled", "avg_shares",
        ),
        _NAME,
    ),
    **dict.fromkeys(
        (
            "picked", "mirrored", "mirrored_lines", "_tril", "_triu", "_diagonal_planes",
            "_addcdiv", "lerp_by_number", "distances", "largest_at", "smallest_at",
            "hardswish", "logsigmoid", "glu", "smooth_l1_loss", "huber_loss",
        ),
        _PATTERN,
    ),
    "gradient_to": "in graphs alone, where a value is not what is differentiated: what is "
    "overwritten while nothing is recorded",
    **dict.fromkeys(
        ("_select_scatter", "_slice_scatter", "_diagonal_scatter"),
        "one node of PyTorch's for a copy whose view is overwritten; a graph has that",
    ),
    **dict.fromkeys(("as_strided", "_recorded", "diagonal", "unfold"), _PLACE),
    "place": "the adjoint of `select`, whose key is one of a view; a graph has `embed`",
    **dict.fromkeys(
        ("scaled_back",),
        "the value of another op with the gradient that PyTorch has; a graph has that op",
    ),
    "tied": "the gradient of relu's gradient on the tape: 0, but asked for",
    "norm": "vector_norm of order 2 by the older name; a graph has the sum and the root",
    "stack": "a graph has concatenate",
    "roll": "a graph has a gather",
    "gru_gates": "one node on the tape for what are a dozen small ops; a graph has these",
    "var_mean": "one node for both on the tape; a graph has the variance and the mean",
}  # fmt: skip
"""The ops that `dynamic` declares beside the library, by the name of the variable."""
BY_HAND = {
    "_Normalised": "batch normalisation in one sweep of plain arrays; in ops elsewhere",
    "_Sweep": "a recurrent layer in one sweep of plain arrays; in ops elsewhere",
    "Custom": "a function whose rules are a user's, by custom_vjp or custom_jvp",
    "_Dispatched": "an op as a class says that it is, differentiated by the op's rules",
    "UndefinedGrad": "the identity, through which gradcheck sends no gradient",
    "_Elimination": "triangles that elimination found, whose rows it had to compare",
    "BackwardHookFunction": "the identity, at which the hooks of a module are called",
}
"""The Functions with which `dynamic` computes."""

_DATA = "the size of the result depends on the values"
X, K, B = np.arange(6.0).reshape(2, 3), np.array([1, 0, 1]), np.eye(2, 3, dtype=bool)
REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "unique": (lambda x: x.unique(), (X,), _DATA),
    "unique_consecutive": (lambda x: x.unique_consecutive(), (X,), _DATA),
    "nonzero": (lambda x: x.nonzero(), (X,), _DATA),
    "argwhere": (lambda x: x.argwhere(), (X,), _DATA),
    "masked_select": (lambda x, b: x.masked_select(b), (X, B), _DATA),
    "bincount": (lambda i: i.bincount(), (K,), _DATA),
    "repeat_interleave": (lambda x, i: x[0].repeat_interleave(i), (X, K), _DATA),
    "assignment by a mask": (
        lambda x, b: (x * 1).index_put_((b,), x[0, :2]), (X, B),
        "takes the elements where a mask holds",
    ),
}  # fmt: skip
"""What a captured function cannot contain, with the reason."""


def _declared() -> Iterator[tuple[str, Op]]:
    for name, module in list(sys.modules.items()):
        if name.startswith("staticgraph.dynamic.") and module is not None:
            for key, value in vars(module).items():
                if isinstance(value, Op) and not is_registered(value):
                    yield key, value


def test_every_op_of_the_eager_engine_is_registered_or_has_a_reason_not_to_be() -> None:
    found = {id(op): key for key, op in _declared()}
    names = {key for key, op in _declared() if found[id(op)] == key}
    assert names | set(found.values()) == UNREGISTERED.keys()
    # the others are refused where a function is captured
    assert {key for key, op in _declared() if op.expand is None} == {
        "place", "as_strided", "_recorded", "diagonal", "unfold", "_select_scatter",
        "_slice_scatter", "_diagonal_scatter", "var_mean",
    }  # fmt: skip


def _below(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def test_nothing_else_is_computed_by_hand() -> None:
    for later in ("distributions", "linalg.triangles"):  # parts that are loaded when asked for
        import_module(f"staticgraph.dynamic.{later}")
    own = {one.__name__ for one in _below(dynamic.autograd.Function)
           if getattr(one, "__module__", "").startswith("staticgraph.dynamic.")
           and one is not dynamic.autograd.function.InplaceFunction}  # fmt: skip
    assert own == BY_HAND.keys()


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_form_in_a_graph_is_refused_at_the_users_line(name: str) -> None:
    function, arrays, reason = REFUSED[name]
    said = reason if name == "assignment by a mask" else "needs the values of a"
    tensors = [dynamic.tensor(one) for one in arrays]
    function(*tensors)
    with pytest.raises(sg.CaptureError, match=rf"test_registered\.py.*{said}"):
        sg.function(function)(*tensors)
