"""Data sets, samplers and loaders: what PyTorch's give for the same arguments."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)


class Numbers(Dataset):
    def __init__(self, count=5, bad=None):
        self.count, self.bad = count, bad

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index == self.bad:
            raise ValueError(f"no item {index}")
        return index


class Counted(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter(range(5) if info is None else range(info.id, 5, info.num_workers))


def test_batches_are_in_order_and_the_last_one_is_shorter():
    assert [one.tolist() for one in DataLoader(Numbers(), 2)] == [[0, 1], [2, 3], [4]]
    assert len(DataLoader(Numbers(), 2)) == 3 and len(DataLoader(Numbers(), 2, drop_last=True)) == 2
    assert [one.tolist() for one in DataLoader(Counted(), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Numbers(), None)) == [0, 1, 2, 3, 4]
    chosen = DataLoader(Numbers(), batch_sampler=[[4, 0], [1]])
    assert [one.tolist() for one in chosen] == [[4, 0], [1]]


@pytest.mark.parametrize("context", ["fork", "thread"])
def test_workers_give_the_same_batches(context):
    options = {"num_workers": 2, "multiprocessing_context": context}
    assert [one.tolist() for one in DataLoader(Numbers(), 2, **options)] == [[0, 1], [2, 3], [4]]
    shares = [one.tolist() for one in DataLoader(Counted(), 2, **options)]
    assert shares == [[0, 2], [1, 3], [4]]
    kept = DataLoader(Numbers(), 2, persistent_workers=True, **options)
    assert [len(list(kept)) for _ in range(2)] == [3, 3]
    with pytest.raises(ValueError, match=r"(?s)^Caught ValueError in DataLoader worker.*no item 3"):
        list(DataLoader(Numbers(bad=3), **options))


def test_shuffled_batches_follow_the_seed():
    orders = []
    for seed in (0, 0, 1):
        source = torch.Generator().manual_seed(seed)
        loader = DataLoader(Numbers(20), 20, shuffle=True, generator=source)
        orders.append(next(iter(loader)).tolist())
    assert orders[0] == orders[1] != orders[2] and sorted(orders[2]) == list(range(20))


def test_samplers():
    assert len(list(RandomSampler(Numbers(), replacement=True, num_samples=40))) == 40
    assert sorted(SubsetRandomSampler([7, 3, 5])) == [3, 5, 7]
    assert set(WeightedRandomSampler([0.0, 1.0, 0.0], 9)) == {1}
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    shares = [list(DistributedSampler(Numbers(), 2, rank, shuffle=False)) for rank in (0, 1)]
    assert shares == [[0, 2, 4], [1, 3, 0]]


def test_parts_of_data_sets():
    parts = random_split(Numbers(10), [0.5, 0.3, 0.2], torch.Generator().manual_seed(1))
    assert [len(one) for one in parts] == [5, 3, 2]
    assert sorted(i for one in parts for i in one) == list(range(10))
    both = Numbers(2) + Numbers(3)
    assert isinstance(both, ConcatDataset) and [both[i] for i in (0, 2, -1)] == [0, 0, 2]
    rows = TensorDataset(torch.arange(6).reshape(3, 2), torch.arange(3))
    assert [one.tolist() for one in Subset(rows, [2])[0]] == [[4, 5], 2]


def test_batches_of_containers():
    Pair = namedtuple("Pair", "a b")
    made = default_collate([Pair({"x": 1.5}, "s"), Pair({"x": 2.5}, "t")])
    assert made.b == ["s", "t"] or made.b == ("s", "t")
    assert made.a["x"].tolist() == [1.5, 2.5] and made.a["x"].dtype == torch.float64
    assert default_collate([np.zeros(2), np.ones(2)]).tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert default_collate([True, False]).dtype == torch.bool
    assert [one.tolist() for one in default_collate([(1, 2), (3, 4)])] == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: DataLoader(Numbers(), num_workers=-1), "num_workers option should be non-neg"),
        (lambda: DataLoader(Numbers(), timeout=-1), "timeout option should be non-negative"),
        (lambda: DataLoader(Numbers(), prefetch_factor=2), "prefetch_factor option could only"),
        (lambda: DataLoader(Numbers(), persistent_workers=True), "persistent_workers option needs"),
        (lambda: DataLoader(Numbers(), shuffle=True, sampler=[1]), "sampler option is mutually"),
        (lambda: DataLoader(Numbers(), 3, batch_sampler=[[1]]), "batch_sampler option is mutually"),
        (lambda: DataLoader(Numbers(), None, drop_last=True), "batch_size=None option disables"),
        (lambda: DataLoader(Numbers(), 0), "batch_size should be a positive integer"),
        (lambda: DataLoader(Counted(), shuffle=True), "expected unspecified shuffle option"),
        (lambda: DataLoader([], shuffle=True), "num_samples should be a positive integer"),
        (lambda: random_split(Numbers(), [1, 2]), "Sum of input lengths does not equal"),
        (lambda: ConcatDataset([]), "datasets should not be an empty iterable"),
        (lambda: TensorDataset(torch.ones(2), torch.ones(3)), "Size mismatch between tensors"),
        (lambda: default_collate([object()]), "default_collate: batch must contain tensors"),
        (lambda: default_collate([(1, 2), (1,)]), "each element in list of batch should be of"),
        (lambda: Dataset()[0], "Subclasses of Dataset should implement __getitem__"),
        (lambda: DistributedSampler(Numbers()), "Requires distributed package to be available"),
        (lambda: DistributedSampler(Numbers(), 2, 2), "Invalid rank 2"),
        (lambda: setattr(DataLoader(Numbers()), "batch_size", 3), "should not be set after"),
    ],
)  # fmt: skip
def test_wrong_options(call, text):
    with pytest.raises(
        (ValueError, TypeError, RuntimeError, AssertionError, NotImplementedError), match=text
    ):
        call()
