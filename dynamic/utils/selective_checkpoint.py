"""Checkpoints that keep what a policy says: PyTorch's names, which scripts import."""

from __future__ import annotations

import enum
from typing import NoReturn

from staticgraph.dynamic.core.errors import RefusedError

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What a policy says of an op.

    Example:
        >>> dynamic.utils.checkpoint.CheckpointPolicy.MUST_SAVE
        <CheckpointPolicy.MUST_SAVE: 0>
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """What a policy is called with, beside the op.

    Attributes:
        is_recompute: whether it is asked in the second run.

    Example:
        >>> checkpoint = dynamic.utils.checkpoint
        >>> checkpoint.SelectiveCheckpointContext(is_recompute=True).is_recompute
        True
    """

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


def create_selective_checkpoint_contexts(
    policy_fn_or_list: object, allow_cache_entry_mutation: bool = False
) -> NoReturn:
    """Refused with a RuntimeError that says what to use instead.

    A policy is asked about the ops of ATen that a dispatcher sees below the tape, and what it saves
    is not computed again. Here there is no such dispatcher: a second run computes all.

    Example:
        >>> from dynamic.utils.checkpoint import create_selective_checkpoint_contexts
        >>> try:
        ...     create_selective_checkpoint_contexts([])
        ... except RuntimeError as error:
        ...     print(str(error)[:36])
        create_selective_checkpoint_contexts
    """
    raise RefusedError(
        "create_selective_checkpoint_contexts: there are no ops of ATen that a policy could be "
        "asked about; call checkpoint(...) on the parts that may be computed again, and what is to "
        "be saved, such as products, outside of them"
    )
