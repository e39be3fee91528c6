"""The examples of what makes and moves arrays; `read` says what the lines are."""

from __future__ import annotations

EXAMPLES = """\
> xp.arange(1, 7, 2)
t tensor([1, 3, 5])
e array([1, 3, 5])

> xp.asarray([[1, 2], [3, 4]], dtype=xp.float64)
t tensor([[1., 2.],
t         [3., 4.]], dtype=torch.float64)
e array([[1., 2.],
e        [3., 4.]])

> xp.broadcast_arrays(xp.asarray([1, 2]), xp.asarray([[3], [4]]))
t (tensor([[1, 2],
t         [1, 2]]), tensor([[3, 3],
t         [4, 4]]))
r sg.compile([], _)()
e (array([[1, 2],
e        [1, 2]]), array([[3, 3],
e        [4, 4]]))

> xp.broadcast_shapes((2, 1), (3,))
t (2, 3)
r _
e (2, 3)

> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
t tensor([[1, 2],
t         [1, 2]])
e array([[1, 2],
e        [1, 2]])

> xp.concat([xp.asarray([1, 2]), xp.asarray([3, 4])])
t tensor([1, 2, 3, 4])
e array([1, 2, 3, 4])

> xp.empty((2, 3)).shape
t torch.Size([2, 3])
r _
e (2, 3)

> xp.empty_like(xp.asarray([1.0, 2.0])).shape
t torch.Size([2])
r _
e (2,)

> xp.expand_dims(xp.asarray([1, 2]), axis=1)
t tensor([[1],
t         [2]])
e array([[1],
e        [2]])

> xp.eye(2, k=1)
t tensor([[0., 1.],
t         [0., 0.]])
e array([[0., 1.],
e        [0., 0.]], dtype=float32)

> xp.flip(xp.asarray([1, 2, 3]))
t tensor([3, 2, 1])
e array([3, 2, 1])

> xp.from_dlpack(np.array([1.0, 2.0]))
t tensor([1., 2.], dtype=torch.float64)

> xp.full((2,), 7)
t tensor([7, 7])
e array([7, 7])

> xp.full_like(xp.asarray([1.0, 2.0]), 7)
t tensor([7., 7.])
e array([7., 7.], dtype=float32)

> xp.linspace(0, 1, 5)
t tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
e array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)

> xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3, 4]))
t (tensor([[1, 2],
t         [1, 2]]), tensor([[3, 3],
t         [4, 4]]))
r sg.compile([], _)()
e (array([[1, 2],
e        [1, 2]]), array([[3, 3],
e        [4, 4]]))

> xp.moveaxis(xp.asarray([[1, 2], [3, 4]]), 0, 1)
t tensor([[1, 3],
t         [2, 4]])
e array([[1, 3],
e        [2, 4]])

> xp.ones((2,))
t tensor([1., 1.])
e array([1., 1.], dtype=float32)

> xp.ones_like(xp.asarray([1.0, 2.0]))
t tensor([1., 1.])
e array([1., 1.], dtype=float32)

> xp.permute_dims(xp.asarray([[1, 2], [3, 4]]), (1, 0))
t tensor([[1, 3],
t         [2, 4]])
e array([[1, 3],
e        [2, 4]])

> xp.repeat(xp.asarray([1, 2]), 2)
t tensor([1, 1, 2, 2])
e array([1, 1, 2, 2])

> xp.reshape(xp.asarray([1, 2, 3, 4]), (2, 2))
t tensor([[1, 2],
t         [3, 4]])
e array([[1, 2],
e        [3, 4]])

> xp.roll(xp.asarray([1, 2, 3]), 1)
t tensor([3, 1, 2])
e array([3, 1, 2])

> xp.squeeze(xp.asarray([[1, 2]]), axis=0)
t tensor([1, 2])
e array([1, 2])

> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])])
t tensor([[1, 2],
t         [3, 4]])
e array([[1, 2],
e        [3, 4]])

> xp.tile(xp.asarray([1, 2]), (2,))
t tensor([1, 2, 1, 2])
e array([1, 2, 1, 2])

> xp.tril(xp.asarray([[1, 2], [3, 4]]))
t tensor([[1, 0],
t         [3, 4]])
e array([[1, 0],
e        [3, 4]])

> xp.triu(xp.asarray([[1, 2], [3, 4]]))
t tensor([[1, 2],
t         [0, 4]])
e array([[1, 2],
e        [0, 4]])

> xp.unstack(xp.asarray([[1, 2], [3, 4]]))
t (tensor([1, 2]), tensor([3, 4]))
r sg.compile([], _)()
e (array([1, 2]), array([3, 4]))

> xp.zeros((2,))
t tensor([0., 0.])
e array([0., 0.], dtype=float32)

> xp.zeros_like(xp.asarray([1.0, 2.0]))
t tensor([0., 0.])
e array([0., 0.], dtype=float32)
"""
