"""`autocast`, which chooses narrow floats on GPUs: without one it warns, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.dynamic.core.dtypes import DType, bfloat16, float16
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.grad_mode import decorated
from staticgraph.dynamic.tensors.devices import device as make_device


class autocast:  # noqa: N801 - PyTorch's name
    """A block, or a decorated function, that computes in the dtypes of its operands.

    For "cuda" it warns and changes nothing, as PyTorch's without a GPU. For "cpu", where PyTorch
    would compute products in bfloat16, it warns too: they are computed as exactly as outside.

    Example:
        >>> with dynamic.autocast("cpu", dtype=dynamic.bfloat16):
        ...     (dynamic.ones(2, 2) @ dynamic.ones(2)).dtype
        torch.float32
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
        self.fast_dtype: DType = default if dtype is None else dtype
        self.enabled = bool(enabled)
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
        else:
            warn(
                f"autocast('cpu'): products stay in the dtype of their operands here, where "
                f"PyTorch computes them in {self.fast_dtype}: more exact, and of another dtype"
            )

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing to undo."""

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        """`function`, run in such a block."""
        return decorated(function, lambda: self)


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` can be asked for on a device: on the CPU.

    Example:
        >>> dynamic.amp.is_autocast_available("cpu"), dynamic.amp.is_autocast_available("cuda")
        (True, False)
    """
    return make_device(device_type).type == "cpu"


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether products are computed in narrow floats: no.

    Example:
        >>> dynamic.is_autocast_enabled()
        False
    """
    return False


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that `autocast` has for a device if none is given.

    Example:
        >>> dynamic.get_autocast_dtype("cpu")
        torch.bfloat16
    """
    return bfloat16 if make_device(device_type).type == "cpu" else float16


def custom_fwd(fwd: Any = None, *, device_type: str = "cpu", cast_inputs: Any = None) -> Any:
    """A decorator of the forward of a Function: it runs as it is.

    Example:
        >>> dynamic.amp.custom_fwd(device_type="cpu")(abs)(-2)
        2
    """
    if fwd is None:
        return lambda found: custom_fwd(found, device_type=device_type, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(bwd: Any = None, *, device_type: str = "cpu") -> Any:
    """A decorator of the backward of a Function: it runs as it is.

    Example:
        >>> dynamic.amp.custom_bwd(device_type="cpu")(abs)(-2)
        2
    """
    return bwd if bwd is not None else lambda found: found
