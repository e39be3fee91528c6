"""`autocast`: products in narrow floats, and what needs more in float32, as PyTorch's on CPUs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from staticgraph.dynamic.core.dtypes import DTYPES, DType, bfloat16, float16
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.grad_mode import decorated, mode
from staticgraph.dynamic.tensors.devices import device as make_device
from staticgraph.dynamic.tensors.narrowing import casting, in_dtype


class autocast:  # noqa: N801 - PyTorch's name
    """A block, or a decorated function, whose products are computed in `dtype`.

    For "cpu", where it is bfloat16 unless told otherwise: operands of `@`, `mm`, `linear`,
    convolutions and the like are cast to it, those of losses and other functions that need it to
    float32; float64 stays. Gradients have the dtypes of what they are of. For "cuda" it warns and
    changes nothing, as PyTorch's without a GPU.

    Example:
        >>> with dynamic.autocast("cpu", dtype=dynamic.bfloat16):
        ...     (dynamic.ones(2, 2) @ dynamic.ones(2)).dtype
        torch.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ArgumentError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = make_device(device_type).type
        default = bfloat16 if self.device == "cpu" else float16
        if not isinstance(dtype, DType | None):
            raise ArgumentError(
                f"autocast(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
            )
        self.fast_dtype: DType = default if dtype is None else dtype
        self.enabled = bool(enabled)
        self._blocks: list[Any] = []
        if not enabled:
            return
        if self.device == "cuda":
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            self.enabled = False
        elif self.device != "cpu":
            raise AutogradError(f"autocast: there is no {self.device!r} here")
        elif self.fast_dtype not in (bfloat16, float16):
            warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
            self.enabled = False

    def __enter__(self) -> autocast:
        """Cast from here on; a block that is not enabled ends that of "cpu" around it."""
        block = self._block()
        block.__enter__()
        self._blocks.append(block)
        return self

    def __exit__(self, *exception: Any) -> None:
        """Cast as around the block again."""
        self._blocks.pop().__exit__(None, None, None)

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        """`function`, each call of which runs in a block of its own, in whatever thread."""
        return decorated(function, self._block)

    def _block(self) -> AbstractContextManager[None]:
        wanted = self.fast_dtype.dtype if self.enabled else None
        return casting(wanted if self.device == "cpu" else mode.autocast)


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` can be asked for on a device: on the CPU.

    Example:
        >>> dynamic.amp.is_autocast_available("cpu"), dynamic.amp.is_autocast_available("cuda")
        (True, False)
    """
    return make_device(device_type).type == "cpu"


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether products are computed in narrow floats on a device: "cuda" unless told otherwise.

    Example:
        >>> with dynamic.autocast("cpu"):
        ...     dynamic.is_autocast_enabled(), dynamic.is_autocast_enabled("cpu")
        (False, True)
    """
    return (
        device_type is not None
        and make_device(device_type).type == "cpu"
        and mode.autocast is not None
    )


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that `autocast` casts to on a device: in a block its own.

    Example:
        >>> dynamic.get_autocast_dtype("cpu")
        torch.bfloat16
    """
    if make_device(device_type).type != "cpu":
        return float16
    return bfloat16 if mode.autocast is None else DTYPES[mode.autocast]


def custom_fwd(fwd: Any = None, *, device_type: str = "cpu", cast_inputs: Any = None) -> Any:
    """A decorator of the forward of a Function: its operands in a dtype, if `autocast` is on.

    Inside, nothing is cast then; without `cast_inputs` all is as outside.

    Example:
        >>> dynamic.amp.custom_fwd(device_type="cpu")(abs)(-2)
        2
    """
    if fwd is None:
        return lambda found: custom_fwd(found, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **options: Any) -> Any:
        _note(args, mode.autocast)
        if cast_inputs is None or mode.autocast is None:
            return fwd(*args, **options)
        _note(args, None)
        with casting(None):
            return fwd(*in_dtype(args, cast_inputs.dtype), **options)

    return forward


def _note(args: Sequence[Any], dtype: Any) -> None:
    """Note in the context of a Function, its first operand, what its forward casts to."""
    if args and hasattr(args[0], "__dict__"):
        args[0]._autocast = dtype


def custom_bwd(bwd: Any = None, *, device_type: str = "cpu") -> Any:
    """A decorator of the backward of a Function: it casts what its forward did.

    Example:
        >>> dynamic.amp.custom_bwd(device_type="cpu")(abs)(-2)
        2
    """
    if bwd is None:
        return lambda found: custom_bwd(found, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **options: Any) -> Any:
        with casting(getattr(args[0], "_autocast", None) if args else None):
            return bwd(*args, **options)

    return backward
