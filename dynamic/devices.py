"""Devices: there is the CPU, so that scripts that ask for a better one run unchanged."""

from __future__ import annotations

from typing import Any

from dynamic.errors import AutogradError


class device(str):  # noqa: N801 - PyTorch's name
    """A device: "cpu", with or without an index; RuntimeError for any other.

    A string, so that it can be passed wherever one can.
    """

    __slots__ = ()

    type = "cpu"
    index: int | None = None  # type: ignore[assignment]

    def __new__(cls, type: Any = "cpu", index: int | None = None) -> device:
        """Check the name."""
        name = str(type)
        if name.partition(":")[0] != "cpu":
            raise AutogradError(f"device: there is no {name!r} here: all tensors are on the CPU")
        return super().__new__(cls, "cpu")

    def __repr__(self) -> str:
        return "device(type='cpu')"


class cuda:  # noqa: N801 - PyTorch's name
    """What scripts ask of GPUs: there are none."""

    @staticmethod
    def is_available() -> bool:
        """Whether there is a GPU: no."""
        return False

    @staticmethod
    def device_count() -> int:
        """The number of GPUs: 0."""
        return 0

    @staticmethod
    def manual_seed_all(seed: int) -> None:
        """Seed all GPUs: nothing to do."""
