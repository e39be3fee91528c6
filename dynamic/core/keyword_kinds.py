"""Arguments by name, whose kinds are looked at before a function is called.

It costs no more than to ask which names there are; where arguments are by position, what reads them
refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core.argument_kinds import (
    kind_of,
    may_be_none,
    parameters_of,
    wrong_argument,
)
from staticgraph.dynamic.core.dtypes import DType
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError

FLAGS: frozenset[str] = frozenset({
    "accumulate", "align_corners", "assume_unique", "ceil_mode", "compute_uv",
    "count_include_pad", "density", "descending", "equal_nan", "force",
    "include_last_offset", "increasing", "invert", "keepdim", "largest", "left", "log_input",
    "log_target", "masked_grad", "non_blocking", "normalized", "out_int32", "periodic", "pivot",
    "replacement", "requires_grad", "return_counts", "return_inverse", "right",
    "scale_grad_by_freq", "some", "sorted", "sparse", "sparse_grad", "stable", "swap", "training",
    "transpose", "unitriangular", "upper", "use_input_stats", "with_replacement", "wrap",
})  # fmt: skip
"""Arguments that PyTorch takes as booleans alone, where others are asked for their truth."""
_NO_FLAG = frozenset({"align_corners", "masked_grad", "requires_grad", "stable"})
"""Those that may be None."""
_FLAGS_OF = {("poisson_nll_loss", "full"), ("asarray", "copy")}
_NO_FLAGS_OF = {
    ("rrelu", "upper"), ("rrelu_", "upper"), ("triplet_margin_with_distance_loss", "swap"),
}  # fmt: skip

_SURE: dict[str, frozenset[type]] = {
    "float": frozenset({float, int, np.float32, np.float64}),
    "Number": frozenset({float, int, complex, np.float32, np.float64}),
    "int": frozenset({int, np.int64}),
    "tuple of ints": frozenset({int, tuple, list, type(None), np.ndarray, range, np.int64}),
    "str": frozenset({str}),
    "torch.dtype": frozenset({DType, type}),
}
"""Per kind types whose values are of it: functions look into sequences themselves."""


def _is_flag(name: str, key: str) -> bool:
    return (key in FLAGS and (name, key) not in _NO_FLAGS_OF) or (name, key) in _FLAGS_OF


class Keywords(dict[str, frozenset[type] | None]):
    """By the name of an argument of a function the types that it surely takes; None for any."""

    def __init__(self, name: str, function: Callable[..., object], method: bool = False) -> None:
        self._name, self._function, self._method = name, function, method

    def __missing__(self, key: str) -> frozenset[type] | None:
        kind = kind_of(self._name, key)
        found: frozenset[type] | None
        own = next((one for one in parameters_of(self._function) if one.name == key), None)
        if _is_flag(self._name, key):
            found = frozenset({bool, np.bool_})
            optional = key in _NO_FLAG or (own is not None and own.default is None)
        else:
            found = None if kind is None else _SURE.get(kind[0])
            optional = own is None or may_be_none(self._name, own)
        if found is not None and optional:
            found |= {type(None)}
        self[key] = found
        return found

    def refuse(self, options: Mapping[str, object]) -> None:
        """TypeError for an argument of a wrong kind, which Python or NumPy would take for another.

        RuntimeError for a tensor whose truth PyTorch asks.
        """
        for key, value in options.items():
            kinds = self[key]
            if kinds is not None and type(value) not in kinds:
                self._refuse(key, value)

    def _refuse(self, key: str, value: object) -> None:
        if _is_flag(self._name, key):
            of_many = isinstance(value, Operand) and getattr(value, "ndim", 0) > 0
            wrong = AutogradError if of_many and key in _ASKED else ArgumentError
            raise wrong(
                f"{self._name}(): argument '{key}' must be bool, not {type(value).__name__}"
            )
        said = wrong_argument(self._name, self._function, (), {key: value}, self._method)
        if said is not None:
            raise said


_ASKED = frozenset({"return_counts", "return_inverse", "use_input_stats"})
"""Flags whose truth PyTorch's own Python code asks."""
