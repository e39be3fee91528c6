"""What scripts ask of GPUs, answered as by PyTorch on a machine without one (torch.cuda).

Example:
    >>> dynamic.device("cuda" if dynamic.cuda.is_available() else "cpu")
    device(type='cpu')
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from types import TracebackType
from typing import Any

from staticgraph.dynamic.core.errors import (
    AutogradError,
    DeviceMemoryError as OutOfMemoryError,
    NoDeviceError,
)

__all__ = [
    "Event", "OutOfMemoryError", "Stream", "amp", "current_device", "current_stream",
    "default_stream", "device", "device_count", "empty_cache", "get_arch_list",
    "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state",
    "get_rng_state_all", "init", "initial_seed", "ipc_collect", "is_available",
    "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached",
    "memory_reserved", "memory_stats", "memory_summary", "nvtx", "reset_max_memory_allocated",
    "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_rng_state",
    "set_rng_state_all", "stream", "synchronize", "utilization",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is a GPU: no.

    Example:
        >>> dynamic.cuda.is_available()
        False
    """
    return False


def is_initialized() -> bool:
    """Whether a GPU is in use: no.

    Example:
        >>> dynamic.cuda.is_initialized()
        False
    """
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes in bfloat16: there is none.

    Example:
        >>> dynamic.cuda.is_bf16_supported()
        False
    """
    return False


def device_count() -> int:
    """The number of GPUs: 0.

    Example:
        >>> dynamic.cuda.device_count()
        0
    """
    return 0


def get_arch_list() -> list[str]:
    """The kinds of GPUs that can be used: none.

    Example:
        >>> dynamic.cuda.get_arch_list()
        []
    """
    return []


def _nothing_to_do(name: str, *parameters: str) -> Callable[..., None]:
    def function(*args: object, **options: object) -> None:
        return None

    return _named(function, name, "Nothing to do: there is no GPU.", "")


def _no_bytes(name: str) -> Callable[..., int]:
    def function(device: object = None) -> int:
        return 0

    return _named(function, name, "Bytes of memory of GPUs: 0.", "\n    0")


def _refused(name: str) -> Callable[..., Any]:
    def function(*args: object, **options: object) -> Any:
        raise NoDeviceError("Torch not compiled with CUDA enabled: all tensors are on the CPU")

    shown = (
        "\n    Traceback (most recent call last):\n        ..."
        "\n    staticgraph.dynamic.core.errors.NoDeviceError: Torch not compiled ..."
    )
    return _named(function, name, "AssertionError, as in PyTorch without a GPU.", shown)


def _named(function: Any, name: str, doc: str, shown: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\nExample:\n    >>> dynamic.cuda.{name}(){shown}\n"
    return function


empty_cache, ipc_collect = _nothing_to_do("empty_cache"), _nothing_to_do("ipc_collect")
manual_seed, manual_seed_all = _nothing_to_do("manual_seed"), _nothing_to_do("manual_seed_all")
seed, seed_all = _nothing_to_do("seed"), _nothing_to_do("seed_all")
set_rng_state_all = _nothing_to_do("set_rng_state_all")
reset_peak_memory_stats = _nothing_to_do("reset_peak_memory_stats")
reset_max_memory_allocated = _nothing_to_do("reset_max_memory_allocated")
memory_allocated, memory_reserved = _no_bytes("memory_allocated"), _no_bytes("memory_reserved")
max_memory_allocated = _no_bytes("max_memory_allocated")
max_memory_reserved = _no_bytes("max_memory_reserved")
memory_cached, max_memory_cached = _no_bytes("memory_cached"), _no_bytes("max_memory_cached")
init, synchronize, current_device = (
    _refused(name) for name in ("init", "synchronize", "current_device")
)
set_device, get_device_name = _refused("set_device"), _refused("get_device_name")
get_device_capability = _refused("get_device_capability")
get_device_properties = _refused("get_device_properties")
mem_get_info, memory_summary = _refused("mem_get_info"), _refused("memory_summary")
current_stream, default_stream = _refused("current_stream"), _refused("default_stream")
get_rng_state, set_rng_state = _refused("get_rng_state"), _refused("set_rng_state")
initial_seed, utilization = _refused("initial_seed"), _refused("utilization")


def get_rng_state_all() -> list[Any]:
    """The states of the random numbers of all GPUs: none.

    Example:
        >>> dynamic.cuda.get_rng_state_all()
        []
    """
    return []


def memory_stats(device: object = None) -> dict[str, Any]:
    """What is known of the memory of GPUs: nothing.

    Example:
        >>> len(dynamic.cuda.memory_stats())
        0
    """
    return OrderedDict()


class Stream:
    """A queue of work for a GPU: RuntimeError, as there is none.

    Example:
        >>> dynamic.cuda.Stream()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: torch.cuda.Stream requires CUDA ...
    """

    def __init__(self, *args: object, **options: object) -> None:
        raise AutogradError("torch.cuda.Stream requires CUDA support: there is no GPU")


class Event:
    """A mark in the work of a GPU: RuntimeError, as there is none.

    Example:
        >>> dynamic.cuda.Event()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: torch.cuda.Event requires CUDA ...
    """

    def __init__(self, *args: object, **options: object) -> None:
        raise AutogradError("torch.cuda.Event requires CUDA support: there is no GPU")


class device:  # noqa: N801 - PyTorch's name
    """A block whose work a GPU does: None and negative numbers choose none, others raise.

    Example:
        >>> with dynamic.cuda.device(-1):
        ...     pass
    """

    def __init__(self, device: object) -> None:
        self.device = device

    def __enter__(self) -> None:
        if self.device is not None and not (isinstance(self.device, int) and self.device < 0):
            set_device(self.device)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to undo."""


class stream:  # noqa: N801 - PyTorch's name
    """A block whose work goes to a stream of a GPU; None is no stream.

    Example:
        >>> with dynamic.cuda.stream(None):
        ...     pass
    """

    def __init__(self, stream: object) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to undo."""


class nvtx:  # noqa: N801 - PyTorch's name
    """Marks for NVIDIA's profiler: RuntimeError, as there is no GPU.

    Example:
        >>> dynamic.cuda.nvtx.range_push("step")
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: NVTX functions not installed: there is no GPU
    """

    @staticmethod
    def range_push(message: str) -> None:
        """Begin a range."""
        raise AutogradError("NVTX functions not installed: there is no GPU")

    @staticmethod
    def range_pop() -> None:
        """End a range."""
        raise AutogradError("NVTX functions not installed: there is no GPU")


_TYPES = (
    "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "ByteTensor", "CharTensor",
    "ShortTensor", "IntTensor", "LongTensor", "BoolTensor",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """`amp` and `random`; a constructor of tensors on a GPU, which raises when it is called."""
    if name in ("amp", "random"):
        return import_module(f"staticgraph.dynamic.cuda.{name}")
    if name not in _TYPES:
        raise AttributeError(f"module 'dynamic.cuda' has no attribute {name!r}")

    def refuse(*args: object) -> Any:
        raise TypeError(
            f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled."
        )

    shown = (
        "\n    Traceback (most recent call last):\n        ...\n    TypeError: type torch.cuda..."
    )
    return _named(refuse, name, "TypeError: there is no GPU.", shown)
