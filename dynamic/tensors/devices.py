"""Devices: there is the CPU, so that scripts that ask for a better one run unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.core.op import Operand
from dynamic.core.errors import ArgumentError, AutogradError


class device(str):  # noqa: N801 - PyTorch's name
    """A device: "cpu", with or without an index; RuntimeError for any other.

    A string, so that it can be passed wherever one can.
    """

    __slots__ = ()

    type = "cpu"
    index: int | None = None  # type: ignore[assignment]

    def __new__(cls, type: object = "cpu", index: int | None = None) -> device:
        """Check the name."""
        name = str(type)
        if name.partition(":")[0] != "cpu":
            raise AutogradError(f"device: there is no {name!r} here: all tensors are on the CPU")
        return super().__new__(cls, "cpu")

    def __repr__(self) -> str:
        return "device(type='cpu')"


_Device = device


def check_device(wanted: object) -> None:
    """RuntimeError unless an argument `device` is None or the CPU."""
    if wanted is not None:
        device(wanted)


def dtype_of_target(
    args: Sequence[object], dtype: object = None, device: object = None, **options: object
) -> Any:
    """The dtype that the arguments of `to` ask for: one, or that of a tensor; None without.

    RuntimeError for a device that is not the CPU; TypeError for an option that `to` has not.
    """
    unknown = options.keys() - {"non_blocking", "memory_format"}
    if options.get("memory_format") is not None:
        raise AutogradError(f"to: no memory_format {options['memory_format']!r} here")
    if unknown:
        raise ArgumentError(f"to() got an unexpected keyword argument {min(unknown)!r}")
    for arg in (*args, device):
        if isinstance(arg, Operand):
            dtype = arg.dtype
        elif isinstance(arg, str):
            _Device(arg)
        elif arg is not None and not isinstance(arg, bool):
            dtype = arg
    return dtype


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
