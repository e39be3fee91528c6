"""Losses multiplied by a factor, so that gradients in narrow floats do not vanish (torch.amp).

Micikevicius et al. 2018: the factor falls where a gradient overflows, and that step is left out; it
grows after a number of steps without.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.devices import device as make_device
from staticgraph.dynamic.tensors.tensor import Tensor


class FactorError(OptionError, AssertionError):
    """A factor would not grow or fall, or is in use; PyTorch raises AssertionError."""


class GradScaler:
    """Scales losses, and takes the factor out of the gradients again before a step.

    `GradScaler("cpu")` scales; without a GPU `GradScaler()` and `GradScaler("cuda")` warn and
    do nothing, as PyTorch's.

    Example:
        >>> w = dynamic.tensor([1.0], requires_grad=True)
        >>> optimizer = dynamic.optim.SGD([w], lr=0.5)
        >>> scaler = dynamic.amp.GradScaler("cpu")
        >>> scaler.scale((3 * w).sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w
        tensor([-0.5000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and make_device(device).type != "cpu":
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            enabled = False
        if enabled and growth_factor <= 1:
            raise FactorError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1:
            raise FactorError("The backoff factor must be < 1.0.")
        self._enabled = enabled
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._unscaled: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
        self._stepped: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    def scale(self, outputs: Any) -> Any:
        """A loss, or a list or tuple of them, multiplied by the factor.

        CaptureError in a function that is captured, which would keep the factor of its trace.
        """
        if not self._enabled:
            return outputs
        _refuse_captured()
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, list | tuple):
            scaled = [self.scale(one) for one in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        raise OptionError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Take the factor out of the gradients of an optimizer's parameters, once before a step."""
        if not self._enabled:
            return
        _refuse_captured()
        if optimizer in self._unscaled:
            raise AutogradError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if optimizer in self._stepped:
            raise AutogradError("unscale_() is being called after step().")
        overflown = False
        for grad in _gradients(optimizer):
            overflown = overflown or not np.isfinite(grad._array).all()
            grad.mul_(1 / self._scale)
        self._unscaled[optimizer] = overflown

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()` with gradients without the factor; None, and no step, on overflow."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise AutogradError("Closure use is not currently supported if GradScaler is enabled.")
        if optimizer in self._stepped:
            raise AutogradError("step() has already been called since the last update().")
        if optimizer not in self._unscaled:
            self.unscale_(optimizer)
        self._stepped[optimizer] = True
        return None if self._unscaled[optimizer] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """The factor of the next loss: smaller after an overflow, greater after many steps."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._unscaled:
            raise AutogradError("No inf checks were recorded prior to update.")
        elif any(self._unscaled.values()):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale, self._growth_tracker = self._scale * self._growth_factor, 0
        self._unscaled.clear()
        self._stepped.clear()

    def __getstate__(self) -> dict[str, Any]:
        if self._unscaled or self._stepped:
            raise FactorError(
                "A GradScaler instance may only be pickled at the beginning of an iteration, or at "
                "the end after scaler.update()."
            )
        return {k: v for k, v in self.__dict__.items() if k not in ("_unscaled", "_stepped")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _unscaled=WeakKeyDictionary(), _stepped=WeakKeyDictionary())

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    def get_scale(self) -> float:
        """The factor; 1 if it does not scale."""
        if self._enabled:
            _refuse_captured()
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """By what the factor grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set by what the factor grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the factor is multiplied by after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps the factor grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The factor and how it changes; {} if it does not scale."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise AutogradError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


def _refuse_captured() -> None:
    """Refuse to read the factor in a function that is captured."""
    if paused and mode.capture is not None:
        refuse(
            "reads the factor of a GradScaler, which update() changes",
            "capture what computes the loss, and call scaler.scale(loss).backward(), "
            "scaler.step(optimizer) and scaler.update() outside",
        )


def _gradients(optimizer: Any) -> Iterator[Any]:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                yield parameter.grad.detach()
