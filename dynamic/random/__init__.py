"""The generator that functions draw from where they are given none (torch.random)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from staticgraph.dynamic.tensors.random_numbers import (
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip


@contextmanager
def fork_rng(
    devices: Iterable[object] | None = None, enabled: bool = True, device_type: str = "cuda"
) -> Iterator[None]:
    """A block after which the generator is in the state that it had before; `devices` have none.

    Example:
        >>> with dynamic.random.fork_rng():
        ...     first = dynamic.rand(2)
        >>> bool((dynamic.rand(2) == first).all())
        True
    """
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)
