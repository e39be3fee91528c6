"""What is replaced on both sides: numbers are float64, loaders read in the same process."""

from __future__ import annotations

from typing import Any

import numpy as np


def install(torch: Any) -> None:
    """Replace it in `torch`, which is PyTorch or `dynamic`."""
    if torch.__name__ == "torch":
        torch.storage._dtype_to_storage_type_map()  # which is kept, of the true names
        torch.storage._storage_type_to_dtype_map()
    double = torch.float64
    torch.set_default_dtype(double)
    torch.set_default_dtype = lambda dtype: None
    from_numpy, tensor, as_tensor = torch.from_numpy, torch.tensor, torch.as_tensor

    def widened(make: Any) -> Any:
        def made(data: Any, *args: Any, **options: Any) -> Any:
            if isinstance(data, np.ndarray | np.generic) and data.dtype == np.float32:
                data = data.astype(np.float64)
            return make(data, *args, **options)

        return made

    torch.from_numpy, torch.tensor = widened(from_numpy), widened(tensor)
    torch.as_tensor = widened(as_tensor)
    zeros = torch.zeros

    def empty(*sizes: Any, memory_format: Any = None, pin_memory: bool = False, **o: Any) -> Any:
        return zeros(*sizes, **o)

    torch.empty = empty  # of which scripts print what is there
    torch.float32 = torch.float = double
    torch.FloatTensor = torch.DoubleTensor
    torch.Tensor.float = lambda self, **options: self.double()
    torch.nn.Module.float = torch.nn.Module.double
    torch.set_default_tensor_type = lambda kind: None
    _games()
    begin = torch.utils.data.DataLoader.__init__

    def loader(self: Any, dataset: Any, *args: Any, **options: Any) -> None:
        options.update(num_workers=0, pin_memory=False)
        for name in ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout"):
            options.pop(name, None)
        begin(self, dataset, *args[:4], **options)

    torch.utils.data.DataLoader.__init__ = loader


def _games() -> None:
    """Games of gymnasium begin the same on both sides."""
    try:
        from gymnasium.utils import seeding
    except ImportError:
        return
    start = seeding.np_random
    seeding.np_random = lambda seed=None: start(0 if seed is None else seed)
