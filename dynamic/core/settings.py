"""Settings of PyTorch's that scripts make: each is checked and read back; results depend on none.

All computation here is deterministic, and products of float32 matrices are as exact as NumPy's.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.dtypes import dtype_of_type, set_default_dtype
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError

_settings: dict[str, Any] = {
    "precision": "highest",
    "deterministic": 0,
    "always": False,
    "threads": 1,
}
_DETERMINISTIC = ("default", "warn", "error")


def set_float32_matmul_precision(precision: str) -> None:
    """Note "highest", "high" or "medium"; products are computed at the highest.

    Example:
        >>> dynamic.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise AutogradError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    _settings["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` noted.

    Example:
        >>> dynamic.get_float32_matmul_precision()
        'highest'
    """
    return str(_settings["precision"])


def _require_bool(function: str, name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ArgumentError(f"{function}: {name} is True or False, not {value!r}")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Note whether algorithms are to be deterministic, which all are.

    Example:
        >>> dynamic.use_deterministic_algorithms(True)
        >>> dynamic.are_deterministic_algorithms_enabled()
        True
        >>> dynamic.use_deterministic_algorithms(False)
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        _require_bool("use_deterministic_algorithms", name, value)
    _settings["deterministic"] = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` noted.

    Example:
        >>> dynamic.are_deterministic_algorithms_enabled()
        False
    """
    return bool(_settings["deterministic"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Note 0 or "default", 1 or "warn", 2 or "error".

    Example:
        >>> dynamic.set_deterministic_debug_mode("warn")
        >>> dynamic.get_deterministic_debug_mode()
        1
        >>> dynamic.set_deterministic_debug_mode(0)
    """
    if isinstance(debug_mode, str):
        if debug_mode not in _DETERMINISTIC:
            raise AutogradError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _DETERMINISTIC.index(debug_mode)
    if not isinstance(debug_mode, int):
        raise ArgumentError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if debug_mode not in (0, 1, 2):
        raise AutogradError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    _settings["deterministic"] = debug_mode


def get_deterministic_debug_mode() -> int:
    """What `set_deterministic_debug_mode` noted: 0, 1 or 2.

    Example:
        >>> dynamic.get_deterministic_debug_mode()
        0
    """
    return int(_settings["deterministic"])


def set_warn_always(b: bool) -> None:
    """Note whether warnings are to be repeated.

    Example:
        >>> dynamic.set_warn_always(False)
    """
    _require_bool("set_warn_always", "b", b)
    _settings["always"] = b


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` noted.

    Example:
        >>> dynamic.is_warn_always_enabled()
        False
    """
    return bool(_settings["always"])


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers can be taken for 0: no, they are computed with.

    Example:
        >>> dynamic.set_flush_denormal(True)
        False
    """
    return False


def set_num_interop_threads(n: int) -> None:
    """Note a number of threads between ops, of which there is one.

    Example:
        >>> dynamic.set_num_interop_threads(1)
    """
    if n < 1:
        raise AutogradError("set_num_interop_threads expects a positive integer")
    _settings["threads"] = n


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` noted.

    Example:
        >>> dynamic.get_num_interop_threads()
        1
    """
    return int(_settings["threads"])


def set_default_tensor_type(t: Any) -> None:
    """Set the dtype of new floats by a typed constructor, or its name "torch.DoubleTensor".

    Example:
        >>> dynamic.set_default_tensor_type("torch.DoubleTensor")
        >>> dynamic.ones(1).dtype
        torch.float64
        >>> dynamic.set_default_tensor_type(dynamic.FloatTensor)
    """
    found = dtype_of_type(t)
    if found is None:
        raise OptionError(f"invalid type: {t!r}")
    set_default_dtype(found)
