"""The examples of sums, extremes, places, order and sets; `read` says what the lines are."""

from __future__ import annotations

EXAMPLES = """\
> xp.all(xp.asarray([True, False]))
t tensor(False)
e array(False)

> xp.any(xp.asarray([True, False]))
t tensor(True)
e array(True)

> xp.argmax(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), axis=1)
t tensor([1, 0])
e array([1, 0])

> xp.argmin(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), axis=1)
t tensor([0, 1])
e array([0, 1])

> xp.argsort(xp.asarray([3, 1, 2]), descending=True)
t tensor([0, 2, 1])
e array([0, 2, 1])

> xp.count_nonzero(xp.asarray([0, 1, 2]))
t tensor(2)
e array(2)

> xp.cumulative_prod(xp.asarray([1, 2, 3]))
t tensor([1, 2, 6])
e array([1, 2, 6])

> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
t tensor([0, 1, 3, 6])
e array([0, 1, 3, 6])

> xp.diff(xp.asarray([1, 4, 9]))
t tensor([3, 5])
e array([3, 5])

> xp.isin(xp.asarray([1, 2, 3]), xp.asarray([2, 5]))
t tensor([False,  True, False])
e array([False,  True, False])

> xp.max(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), axis=1)
t tensor([5., 3.])
e array([5., 3.], dtype=float32)

> xp.mean(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), axis=1)
t tensor([3.0000, 2.5000])
e array([3. , 2.5], dtype=float32)

> xp.min(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), axis=1)
t tensor([1., 2.])
e array([1., 2.], dtype=float32)

> xp.nonzero(xp.asarray([0, 1, 2]))
t (tensor([1, 2]),)
r _
e Traceback (most recent call last):
e     ...
e staticgraph.OptionError: nonzero: needs size=, ...

> xp.prod(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), axis=1)
t tensor([5., 6.])
e array([5., 6.], dtype=float32)

> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 4]))
t tensor([1, 2])
e array([1, 2])

> xp.sort(xp.asarray([3, 1, 2]), descending=True)
t tensor([3, 2, 1])
e array([3, 2, 1])

> xp.std(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), axis=1, correction=1)
t tensor([2.8284, 0.7071])
r sg.run(_).round(4)
e array([2.8284, 0.7071], dtype=float32)

> xp.sum(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), axis=1)
t tensor([6., 5.])
e array([6., 5.], dtype=float32)

> xp.take(xp.asarray([10, 20, 30]), xp.asarray([2, 0]))
t tensor([30, 10])
e array([30, 10])

> xp.take_along_axis(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), xp.asarray([[1], [0]]))
t tensor([[5.],
t         [3.]])
e array([[5.],
e        [3.]], dtype=float32)

> xp.unique_all(xp.asarray([3, 1, 3])).counts
t tensor([1, 2])
r _
e Traceback (most recent call last):
e     ...
e staticgraph.OptionError: unique_all: needs size=, ...

> xp.unique_counts(xp.asarray([3, 1, 3]))
t Counts(values=tensor([1, 3]), counts=tensor([1, 2]))
r _
e Traceback (most recent call last):
e     ...
e staticgraph.OptionError: unique_counts: needs size=, ...

> xp.unique_inverse(xp.asarray([3, 1, 3]))
t Inverse(values=tensor([1, 3]), inverse_indices=tensor([1, 0, 1]))
r _
e Traceback (most recent call last):
e     ...
e staticgraph.OptionError: unique_inverse: needs size=, ...

> xp.unique_values(xp.asarray([3, 1, 3]))
t tensor([1, 3])
r _
e Traceback (most recent call last):
e     ...
e staticgraph.OptionError: unique_values: needs size=, ...

> xp.var(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), axis=1, correction=1)
t tensor([8.0000, 0.5000])
e array([8. , 0.5], dtype=float32)
"""
