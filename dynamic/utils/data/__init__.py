"""Data sets, the order in which they are read, and batches of them (torch.utils.data)."""

from __future__ import annotations

from staticgraph.dynamic.utils.data.collate import default_collate, default_convert
from staticgraph.dynamic.utils.data.dataloader import DataLoader
from staticgraph.dynamic.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from staticgraph.dynamic.utils.data.distributed import DistributedSampler
from staticgraph.dynamic.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from staticgraph.dynamic.utils.data.worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler",
    "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "WorkerInfo",
    "default_collate", "default_convert", "get_worker_info", "random_split",
]  # fmt: skip
