"""Devices: there is the CPU. Others can be named, as in PyTorch without a GPU, and not used."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, NoDeviceError

_KINDS = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class device:  # noqa: N801 - PyTorch's name
    """The name of a device: "cpu", "cuda:1", or ("cuda", 1).

    Tensors can be on the CPU only. As a context, the place of what factories make in a block.

    Attributes:
        type: the kind, such as "cpu".
        index: which of them, or None.

    Example:
        >>> dynamic.device("cpu")
        device(type='cpu')
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: object = "cpu", index: int | None = None) -> None:
        given: Any = type
        if isinstance(given, device):
            type, index = given.type, given.index
        if isinstance(type, int):
            raise AutogradError("Cannot access accelerator device when none is available.")
        if not isinstance(type, str):
            raise ArgumentError(
                f"device(): argument 'type' must be str, not {type.__class__.__name__}"
            )
        kind, colon, number = type.partition(":")
        if kind not in _KINDS:
            raise AutogradError(
                f"Expected one of {', '.join(_KINDS)} device type at start of device string: {kind}"
            )
        if colon:
            if index is not None:
                raise AutogradError(
                    "type (string) must not include an index because index was passed explicitly: "
                    f"{type}"
                )
            if not number.isdecimal():
                raise AutogradError(f"Invalid device string: '{type}'")
            index = int(number)
        self.type, self.index = kind, index

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, device)
        return same and (self.type, self.index) == (other.type, other.index)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        where = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{where})"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        check_device(self)
        return self

    def __exit__(
        self,
        kind: object,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing changes: there is one device."""


CPU = device("cpu")
_BUILT_FOR = {"cuda": "CUDA", "xpu": "XPU"}


def check_device(wanted: object) -> None:
    """Raise unless an argument `device` is None or the CPU.

    AssertionError for a GPU, as in PyTorch without one, RuntimeError for any other device.
    """
    if wanted is None or wanted is CPU:
        return
    kind = device(wanted).type
    if kind == "cpu":
        return
    if kind in _BUILT_FOR:
        raise NoDeviceError(
            f"Torch not compiled with {_BUILT_FOR[kind]} enabled: all tensors are on the CPU"
        )
    raise AutogradError(f"device: there is no {kind!r} here: all tensors are on the CPU")


def dtype_of_target(
    args: Sequence[object], dtype: object = None, device: object = None, **options: object
) -> Any:
    """The dtype that the arguments of `to` ask for: one, or that of a tensor; None without.

    AssertionError or RuntimeError for a device that is not the CPU; TypeError for an option that
    `to` has not.
    """
    unknown = options.keys() - {"non_blocking", "memory_format", "other"}
    if options.get("memory_format") is not None:
        check_format("to", options["memory_format"])
    if unknown:
        raise ArgumentError(f"to() got an unexpected keyword argument {min(unknown)!r}")
    for arg in (*args, options.get("other"), device):
        if isinstance(arg, Operand):
            dtype = arg.dtype
        elif isinstance(arg, str | _Device) or type(arg) is int:
            check_device(arg)
        elif arg is not None and not isinstance(arg, bool):
            dtype = arg
    return dtype


_Device = device


def set_default_device(device: object) -> None:
    """Set where factories put tensors: the CPU, or None for it; raises for any other device.

    Example:
        >>> dynamic.set_default_device("cpu")
    """
    check_device(device)


def get_default_device() -> device:
    """Where factories put tensors: the CPU.

    Example:
        >>> dynamic.get_default_device()
        device(type='cpu')
    """
    return CPU


class memory_format:  # noqa: N801 - PyTorch's name
    """How the axes of a tensor lie in memory; tensors are made in row-major order here.

    Example:
        >>> dynamic.ones(2).is_contiguous(memory_format=dynamic.contiguous_format)
        True
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format, preserve_format = (
    memory_format("contiguous_format"),
    memory_format("preserve_format"),
)
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")


def check_format(name: str, wanted: object) -> None:
    """Raise unless `memory_format` is one; all of them give row-major order, with equal values."""
    if wanted is not None and not isinstance(wanted, memory_format):
        raise ArgumentError(
            f"{name}(): argument 'memory_format' must be torch.memory_format, not "
            f"{wanted.__class__.__name__}"
        )


class layout:  # noqa: N801 - PyTorch's name
    """How a tensor is stored: with a step for each axis.

    Example:
        >>> dynamic.ones(2).layout
        torch.strided
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided, sparse_coo = layout("strided"), layout("sparse_coo")
