"""Functions that PyTorch once had: RuntimeErrors that name what has taken their place, as there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from staticgraph.dynamic.core.errors import AutogradError

INSTEAD = {
    "eig": "torch.linalg.eig, whose eigenvalues are complex",
    "lstsq": "torch.linalg.lstsq, which takes A before B",
    "matrix_rank": "torch.linalg.matrix_rank",
    "solve": "torch.linalg.solve, which takes A before B",
    "symeig": "torch.linalg.eigh, or torch.linalg.eigvalsh for the eigenvalues alone",
}
"""By the name of a function what to use."""


def _removed(name: str) -> Callable[..., NoReturn]:
    def function(*args: object, **options: object) -> NoReturn:
        raise AutogradError(f"torch.{name} was removed from PyTorch: use {INSTEAD[name]}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"RuntimeError: use {INSTEAD[name]}.\n\nExample:\n    >>> try:\n"
        f"    ...     dynamic.{name}(dynamic.ones(2, 2))\n    ... except RuntimeError as error:\n"
        f"    ...     print(str(error)[:{len(name) + 18}])\n    torch.{name} was removed\n"
    )
    return function


eig, lstsq, matrix_rank, solve, symeig = map(_removed, INSTEAD)
