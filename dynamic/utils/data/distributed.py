"""The part of a data set that one of several processes reads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.drawn import randperm
from staticgraph.dynamic.tensors.random_numbers import Generator
from staticgraph.dynamic.utils.data.sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index from `rank` on, in an order that all of them share.

    The order is drawn from `seed` and the epoch, which `set_epoch` sets. Where the data set cannot
    be shared out evenly the first indices come twice, or with `drop_last` the last ones never.

    Example:
        >>> list(
        ...     dynamic.utils.data.DistributedSampler(
        ...         range(4), num_replicas=2, rank=1, shuffle=False
        ...     )
        ... )
        [1, 3]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise AutogradError(
                "Requires distributed package to be available: give num_replicas and rank"
            )
        if not 0 <= rank < num_replicas:
            raise OptionError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            source = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(len(indices), generator=source).tolist()
        if not self.drop_last:
            missing = self.total_size - len(indices)
            indices += (indices * math.ceil(missing / max(len(indices), 1)))[:missing]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, on which the order depends."""
        self.epoch = epoch
