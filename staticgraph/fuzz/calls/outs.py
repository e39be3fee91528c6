"""Arrays for results: those that fit, with memory around them that has to stay, and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.calls.feeds import Fed, backwards, locked, mapped_file, steps, unaligned

MARGIN = 64  # bytes before and after an array
FITS, UNFIT = "fits", "unfit"


@dataclass(slots=True)
class Outs:
    """What a call gets as `out`.

    Attributes:
        value: the argument.
        arrays: the same, flat.
        verdict: FITS or UNFIT.
    """

    value: Any
    arrays: list[Any]
    verdict: str = FITS
    _memory: list[tuple[Array, Array]] = field(default_factory=list)
    _before: list[bytes | None] = field(default_factory=list)

    def changed(self) -> bool:
        """Whether an element is another than before."""
        return [_elements(one) for one in self.arrays] != self._before

    def overrun(self) -> bool:
        """Whether memory beside the arrays is another than before."""
        return any((one[:MARGIN] != 7).any() or (one[-MARGIN:] != 7).any()
                   for one, _ in self._memory)  # fmt: skip


def _elements(one: object) -> bytes | None:
    return one.tobytes() if isinstance(one, np.ndarray) else None


def outs(form: str, at: int, like: Sequence[Array], fed: Sequence[Fed], kept: Array | None) -> Outs:
    """Arrays for results like these; `form` may be about the one at `at`, or the whole."""
    memory = [_guarded(one) for one in like]
    arrays: list[Any] = [array for _, array in memory]
    at = at % len(arrays)
    given = [one.value for one in fed if isinstance(one.value, np.ndarray)]
    if form in _CHANGED:
        arrays[at] = _CHANGED[form](arrays[at])
    elif form == "input" and given:
        arrays[at] = given[0]
    elif form == "part of an input" and given:
        arrays[at] = _inside(given[0], like[at])
    elif form == "twice":
        arrays[at] = arrays[0] if at else arrays[-1]
    elif form == "kept" and kept is not None:
        arrays[at] = kept
    elif form == "fewer":
        del arrays[at]
    elif form == "more":
        arrays.insert(at, np.zeros(3))
    single = form == "single" and len(arrays) == 1
    value = arrays[0] if single else tuple(arrays) if form == "tuple" else arrays
    if form in _NONE:
        value = _NONE[form]
    made = Outs(value, arrays, UNFIT if form in _NONE else _verdict(arrays, like, fed), memory)
    made._before = [_elements(one) for one in arrays]
    return made


def _guarded(like: Array) -> tuple[Array, Array]:
    """Memory full of 7, and an array in it."""
    memory = np.full(like.nbytes + 2 * MARGIN, 7, np.uint8)
    inner = memory[MARGIN : MARGIN + like.nbytes]
    return memory, inner.view(like.dtype).reshape(like.shape)


def _inside(given: Array, like: Array) -> Array:
    """An array like another one in the memory of a given one, if it has as much."""
    whole = given.base if isinstance(given.base, np.ndarray) else given
    is_memory = type(whole) is np.ndarray and whole.flags.c_contiguous and not whole.dtype.hasobject
    if not is_memory or whole.nbytes < like.nbytes:
        return given
    return whole.reshape(-1).view(np.uint8)[: like.nbytes].view(like.dtype).reshape(like.shape)


def _verdict(arrays: Sequence[object], like: Sequence[Array], fed: Sequence[Fed]) -> str:
    if len(arrays) != len(like):
        return UNFIT
    for i, (one, wanted) in enumerate(zip(arrays, like, strict=True)):
        if type(one) is not np.ndarray or (one.dtype, one.shape) != (wanted.dtype, wanted.shape):
            return UNFIT
        flags = one.flags
        if not (flags.c_contiguous and flags.aligned and flags.writeable):
            return UNFIT
        if any(np.may_share_memory(one, other) for other in arrays[:i]):
            return UNFIT
        for given in fed:  # whose gaps the array may be in
            if isinstance(given.value, np.ndarray) and np.shares_memory(one, given.value):
                return UNFIT
    return FITS


_CHANGED: dict[str, Callable[[Array], Any]] = {
    "dtype": lambda array: array.astype("float32" if array.dtype == "float64" else "float64"),
    "signed": lambda array: array.view(f"u{array.itemsize}"),
    "shape": lambda array: np.zeros((*array.shape, 2), array.dtype),
    "size": lambda array: np.zeros([size + 1 for size in array.shape] or [1], array.dtype),
    "transposed": lambda array: array.T.copy().T,
    "backwards": backwards,
    "steps": steps,
    "read-only": locked,
    "mapped": lambda array: mapped_file(array, "w+"),
    "swapped": lambda array: array.astype(array.dtype.newbyteorder()),
    "unaligned": unaligned,
    "masked": np.ma.array,
    "broadcast": lambda array: np.broadcast_to(array, array.shape),
    "none": lambda array: None,
    "list": lambda array: array.tolist(),
    "scalar": lambda array: array.dtype.type(0),
}
_NONE: dict[str, Any] = {"number": 3, "dict": {}, "text": "out", "holder": object()}

RIGHT = ("right", "tuple", "single", "kept")
WRONG = (*_CHANGED, *_NONE, "input", "part of an input", "twice", "fewer", "more")
