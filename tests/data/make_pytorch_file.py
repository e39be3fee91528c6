"""Write pytorch.pt with PyTorch, where it is installed: python tests/data/make_pytorch_file.py."""

from collections import OrderedDict
from pathlib import Path

import torch

base = torch.arange(12.0).reshape(3, 4)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
with torch.no_grad():
    for one in model.parameters():
        one.copy_(torch.arange(one.numel()).reshape(one.shape) / 8)
optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
model(torch.ones(4, 3).cumsum(0)).sum().backward()
optimizer.step()
kinds = "float16 bfloat16 float64 int8 int16 int32 int64 uint8 bool complex64 complex128 uint16"
torch.save(
    {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "views": [base, base.T, base[1:, ::2], base.expand(2, 3, 4)],
        "kinds": [torch.tensor([0, 1, 3]).to(getattr(torch, kind)) for kind in kinds.split()],
        "parameter": torch.nn.Parameter(torch.tensor([2.5])),
        "shapes": [torch.tensor(3.0), torch.empty(0, 3)],
        "plain": ["é", -1, 2**70, 1e300, None, True, (1, [2]), {1: "a"}, {3}, torch.float32],
        "size": torch.Size([2, 3]),
        "ordered": OrderedDict(b=1, a=2),
    },
    Path(__file__).parent / "pytorch.pt",
)
