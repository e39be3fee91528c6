"""DataParallel: several GPUs as one, of which there are none: the module itself computes."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.nn.module import Module


class DataParallel(Module):
    """A module under the name `module`, as scripts for several GPUs expect it; it computes here.

    `device_ids` and the other options are those of PyTorch, which ignores them without a GPU too.

    Example:
        >>> nn.DataParallel(nn.Linear(2, 3))(dynamic.ones(4, 2)).shape
        torch.Size([4, 3])
    """

    def __init__(
        self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module returns."""
        return self.module(*inputs, **kwargs)
