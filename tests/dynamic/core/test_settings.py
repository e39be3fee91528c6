"""Settings of PyTorch's that scripts make: read back, and refused where PyTorch refuses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dynamic as torch


def test_settings_are_read_back() -> None:
    assert not torch.are_deterministic_algorithms_enabled()
    try:
        torch.use_deterministic_algorithms(True, warn_only=True)
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.get_deterministic_debug_mode() == 1
        torch.set_deterministic_debug_mode("error")
        assert torch.get_deterministic_debug_mode() == 2
        torch.set_warn_always(True)
        assert torch.is_warn_always_enabled()
        torch.set_float32_matmul_precision("high")
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_warn_always(False)
        torch.set_float32_matmul_precision("highest")
    assert torch.get_deterministic_debug_mode() == 0


@pytest.mark.parametrize(
    ("made", "kind", "message"),
    [
        (lambda: torch.use_deterministic_algorithms(1), TypeError, "mode is True or False, not 1"),
        (
            lambda: torch.use_deterministic_algorithms(True, warn_only="no"),
            TypeError, "warn_only is True or False, not 'no'",
        ),
        (lambda: torch.set_warn_always(None), TypeError, "b is True or False, not None"),
        (lambda: torch.set_deterministic_debug_mode("loud"), RuntimeError, "but got loud"),
        (lambda: torch.set_deterministic_debug_mode(3), RuntimeError, "but got 3"),
        (lambda: torch.set_deterministic_debug_mode(0.5), TypeError, "must be str or int"),
        (lambda: torch.set_float32_matmul_precision("most"), RuntimeError, "most is not one of"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused_and_change_nothing(
    made: Callable[[], Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        made()
    assert torch.get_deterministic_debug_mode() == 0
    assert not torch.is_warn_always_enabled()
