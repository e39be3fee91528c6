"""PyTorch's modes below the tape, which are not here: what scripts import says what to use."""

from __future__ import annotations

from typing import NoReturn

from staticgraph.dynamic.core.errors import RefusedError

__all__ = ["TorchDispatchMode"]


class TorchDispatchMode:
    """RuntimeError when it is entered: there is no dispatcher below the tape.

    Functions as they are called are seen by `torch.overrides.TorchFunctionMode`.

    Example:
        >>> from dynamic.utils._python_dispatch import TorchDispatchMode
        >>> try:
        ...     with TorchDispatchMode():
        ...         pass
        ... except RuntimeError as error:
        ...     print(str(error)[:17])
        TorchDispatchMode
    """

    def __enter__(self) -> NoReturn:
        raise RefusedError(
            "TorchDispatchMode: there is no dispatcher below the tape that could hand over ops; "
            "torch.overrides.TorchFunctionMode sees functions as they are called"
        )

    def __exit__(self, *exception: object) -> None:
        """Nothing was entered."""
