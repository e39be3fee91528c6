"""Options of windows as tuples, for code that reads them so (torch.nn.modules.utils)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes n of one value, and a tuple of several."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """The elements from the last to the first, each n times: paddings as `pad` takes them."""
    return tuple(one for one in reversed(tuple(t)) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix, such as "module.", from the keys of a state dict that begin with it."""
    for key in [one for one in state_dict if one.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
