"""The functions of the Python array API standard (2025.12), in its signatures, of any operands.

They are what the ops and the functions in NumPy's names give, after the standard's promotion and
with its dtypes. Each frontend makes its namespace of them: `FUNCTIONS`, `LINALG` and `FFT` have
them by name.

Source:
    https://data-apis.org/array-api/2025.12
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from staticgraph.compiler.array_api import (
    arranging,
    elementwise,
    linear_algebra,
    reductions,
    searching,
    transforms,
)
from staticgraph.compiler.core.errors import OptionError

VERSION = "2025.12"
VERSIONS = ("2022.12", "2023.12", "2024.12", VERSION)
"""Those whose functions all are here: what is new in one was added to the last."""


def require_version(version: str | None) -> None:
    """OptionError for a version that the namespaces do not have."""
    if version not in (None, *VERSIONS):
        raise OptionError(
            f"__array_namespace__: no version {version!r} of the array API: "
            f"known are {', '.join(VERSIONS)}"
        )


Table: TypeAlias = Mapping[str, Callable[..., Any]]


def _public(*modules: Any) -> dict[str, Callable[..., Any]]:
    return {name: getattr(module, name) for module in modules for name in module.__all__}


FUNCTIONS: Table = (
    elementwise.FUNCTIONS
    | _public(elementwise, reductions, arranging, searching)
    | {name: linear_algebra.FUNCTIONS[name] for name in linear_algebra.IN_BOTH}
)
"""Those of the namespace itself, but for what makes arrays and tells of dtypes."""

LINALG: Table = linear_algebra.FUNCTIONS
"""Those of the extension `linalg`."""

FFT: Table = transforms.FUNCTIONS
"""Those of the extension `fft`, but for `fftfreq` and `rfftfreq`, which make arrays."""
