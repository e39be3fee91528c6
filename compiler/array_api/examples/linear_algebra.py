"""The examples of linear algebra; `read` says what the lines are."""

from __future__ import annotations

EXAMPLES = """\
> xp.linalg.cholesky(xp.asarray([[4.0, 2.0], [2.0, 5.0]]))
t tensor([[2., 0.],
t         [1., 2.]])
e array([[2., 0.],
e        [1., 2.]], dtype=float32)

> xp.linalg.cross(xp.asarray([1.0, 0.0, 0.0]), xp.asarray([0.0, 1.0, 0.0]))
t tensor([0., 0., 1.])
e array([0., 0., 1.], dtype=float32)

> xp.linalg.det(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
t tensor(8.)
e array(8., dtype=float32)

> xp.linalg.diagonal(xp.asarray([[1.0, 5.0], [3.0, 2.0]]))
t tensor([1., 2.])
e array([1., 2.], dtype=float32)

> xp.linalg.eig(xp.asarray([[2.0, 0.0], [0.0, 4.0]])).eigenvalues
t tensor([2.+0.j, 4.+0.j])
e array([2.+0.j, 4.+0.j], dtype=complex64)

> xp.linalg.eigh(xp.asarray([[2.0, 0.0], [0.0, 4.0]])).eigenvalues
t tensor([2., 4.])
e array([2., 4.], dtype=float32)

> xp.linalg.eigvals(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
t tensor([2.+0.j, 4.+0.j])
e array([2.+0.j, 4.+0.j], dtype=complex64)

> xp.linalg.eigvalsh(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
t tensor([2., 4.])
e array([2., 4.], dtype=float32)

> xp.linalg.inv(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
t tensor([[0.5000, 0.0000],
t         [0.0000, 0.2500]])
e array([[0.5 , 0.  ],
e        [0.  , 0.25]], dtype=float32)

> xp.linalg.matmul(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), xp.asarray([1.0, 2.0]))
t tensor([11.,  7.])
e array([11.,  7.], dtype=float32)

> xp.linalg.matrix_norm(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
t tensor(5.)
e array(5., dtype=float32)

> xp.linalg.matrix_power(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), 3)
t tensor([[ 8.,  0.],
t         [ 0., 64.]])
e array([[ 8.,  0.],
e        [ 0., 64.]], dtype=float32)

> xp.linalg.matrix_rank(xp.asarray([[1.0, 2.0], [2.0, 4.0]]))
t tensor(1)
e array(1)

> xp.linalg.matrix_transpose(xp.asarray([[1.0, 5.0], [3.0, 2.0]]))
t tensor([[1., 3.],
t         [5., 2.]])
e array([[1., 3.],
e        [5., 2.]], dtype=float32)

> xp.linalg.outer(xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0]))
t tensor([[3., 4.],
t         [6., 8.]])
e array([[3., 4.],
e        [6., 8.]], dtype=float32)

> xp.linalg.pinv(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
t tensor([[0.5000, 0.0000],
t         [0.0000, 0.2500]])
e array([[0.5 , 0.  ],
e        [0.  , 0.25]], dtype=float32)

> xp.linalg.qr(xp.asarray([[2.0, 0.0], [0.0, 4.0]])).R.shape
t torch.Size([2, 2])
r _
e (2, 2)

> xp.linalg.slogdet(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
t SlogDet(sign=tensor(1.), logabsdet=tensor(2.0794))
r sg.compile([], _)()
e SlogDet(sign=array(1., dtype=float32), logabsdet=array(2.0794415, dtype=float32))

> xp.linalg.solve(xp.asarray([[2.0, 0.0], [0.0, 4.0]]), xp.asarray([2.0, 8.0]))
t tensor([1., 2.])
e array([1., 2.], dtype=float32)

> xp.linalg.svd(xp.asarray([[2.0, 0.0], [0.0, 4.0]])).S
t tensor([4., 2.])
e array([4., 2.], dtype=float32)

> xp.linalg.svdvals(xp.asarray([[2.0, 0.0], [0.0, 4.0]]))
t tensor([4., 2.])
e array([4., 2.], dtype=float32)

> xp.linalg.tensordot(xp.asarray([1.0, 2.0]), xp.asarray([[3.0], [4.0]]), axes=1)
t tensor([11.])
e array([11.], dtype=float32)

> xp.linalg.trace(xp.asarray([[1.0, 5.0], [3.0, 2.0]]))
t tensor(3.)
e array(3., dtype=float32)

> xp.linalg.vecdot(xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0]))
t tensor(11.)
e array(11., dtype=float32)

> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
t tensor(5.)
e array(5., dtype=float32)

> xp.matmul(xp.asarray([[1.0, 5.0], [3.0, 2.0]]), xp.asarray([1.0, 2.0]))
t tensor([11.,  7.])
e array([11.,  7.], dtype=float32)

> xp.matrix_transpose(xp.asarray([[1.0, 5.0], [3.0, 2.0]]))
t tensor([[1., 3.],
t         [5., 2.]])
e array([[1., 3.],
e        [5., 2.]], dtype=float32)

> xp.tensordot(xp.asarray([1.0, 2.0]), xp.asarray([[3.0], [4.0]]), axes=1)
t tensor([11.])
e array([11.], dtype=float32)

> xp.vecdot(xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0]))
t tensor(11.)
e array(11., dtype=float32)
"""
