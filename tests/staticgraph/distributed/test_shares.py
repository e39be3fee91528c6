"""Which part of the data each rank has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import staticgraph as sg
import staticgraph.distributed as dist


class Squares:
    """A data set."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, place: int) -> int:
        if not 0 <= place < 10:
            raise IndexError(place)
        return place**2


@pytest.mark.parametrize(("count", "ranks"), [(10, 3), (2, 4), (0, 2), (7, 7)])
def test_shares_are_all_rows_in_order_and_as_equal_as_can_be(count: int, ranks: int) -> None:
    rows = np.arange(count)
    shares = dist.simulate(lambda: dist.share(rows), ranks)
    assert_array_equal(np.concatenate(shares), rows)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert all(share.base is rows for share in shares)


def test_a_data_set_is_read_where_it_is_asked() -> None:
    found = dist.simulate(lambda: dist.share(Squares()), 3)
    assert [list(one) for one in found] == [[0, 1, 4], [9, 16, 25], [36, 49, 64, 81]]
    assert found[1][-1] == 25
    assert found[2][1:3] == [49, 64]
    with pytest.raises(IndexError, match="item 3 of a share of 3"):
        found[0][3]
    assert dist.simulate(lambda: dist.share((1, 2, 3)), 2) == [(1,), (2, 3)]


@pytest.mark.parametrize(
    ("size", "drop_last", "steps"), [(4, True, 2), (4, False, 3), (20, True, 0)]
)
def test_batches_of_all_ranks_are_those_of_one(size: int, drop_last: bool, steps: int) -> None:
    x, y = np.arange(10), np.arange(10) * 2.0

    def run() -> Any:
        return [*dist.batches(x, y, size=size, seed=5, drop_last=drop_last)]

    alone, found = run(), dist.simulate(run, 3)
    assert [len(one) for one in found] == [steps] * 3
    for step, batch in enumerate(alone):
        for place in range(2):
            together = np.concatenate([one[step][place] for one in found])
            assert_array_equal(together, batch[place])
    if not drop_last:
        assert sorted(np.concatenate([batch[0] for batch in alone])) == list(x)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: dist.share(np.array(1.0)), sg.ShapeError, "share: an array without an axis"),
    (lambda: dist.share({"x": np.ones(2)}), sg.OptionError, "share: a dict has no rows"),
    (lambda: dist.share(3), sg.OptionError, "share: a int has no rows"),
    (lambda: dist.mean(np.ones(1), -1.0), sg.OptionError, "the weight is a number from 0, not -1"),
    (lambda: dist.mean(np.ones(1), np.nan), sg.OptionError, "is a number from 0, not nan"),
    (lambda: dist.average_gradients([np.ones(1)]), sg.OptionError, "a ndarray has no grad"),
    (lambda: dist.batches(np.ones(3), size=0), sg.OptionError, "the size is a positive int, not 0"),
    (lambda: dist.batches(size=1), sg.OptionError, "batches: there are no arrays"),
    (
        lambda: dist.batches(np.ones(3), np.ones(4), size=1),
        sg.ShapeError,
        r"the arrays have \[3, 4\] rows, not as many each",
    ),
    (lambda: dist.set_timeout(0), sg.OptionError, "a positive number of seconds, not 0"),
    (lambda: dist.set_bucket_bytes(1.5), sg.OptionError, "positive number of bytes, not 1.5"),  # type: ignore[arg-type]
    (lambda: dist.simulate(int, 0), sg.OptionError, "the number of ranks is a positive int, not 0"),
    (lambda: dist.ranks, AttributeError, "no attribute 'ranks'"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_what_cannot_be_is_refused(
    call: Callable[[], Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("seed", [None, 0])
def test_rows_of_tables_and_lists_are_taken_by_place(seed: int | None) -> None:
    """A table that was shuffled before has labels in another order."""
    array = np.arange(6)
    column = pd.Series(array * 10, index=array[::-1])
    table = pd.DataFrame({0: array, 1: -array}, index=array[::-1])

    def parts() -> Any:
        assert list(dist.share(column)) == list(dist.share(array) * 10)
        return list(dist.batches(array, column, table, (array * 2).tolist(), size=4, seed=seed))

    for found in dist.simulate(parts, size=2):
        for rows, values, frame, items in found:
            assert_array_equal(values, rows * 10)
            assert_array_equal(frame, np.stack([rows, -rows], 1))
            assert items == (rows * 2).tolist()
