"""The examples of functions element by element; `read` says what the lines are."""

from __future__ import annotations

EXAMPLES = """\
> xp.abs(xp.asarray([-2.0, 3.0]))
t tensor([2., 3.])
e array([2., 3.], dtype=float32)

> xp.acos(xp.asarray([0.0, 0.5]))
t tensor([1.5708, 1.0472])
r sg.run(_).round(4)
e array([1.5708, 1.0472], dtype=float32)

> xp.acosh(xp.asarray([1.5, 8.0]))
t tensor([0.9624, 2.7687])
r sg.run(_).round(4)
e array([0.9624, 2.7687], dtype=float32)

> xp.add(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 2.0]))
t tensor([ 7., 10.])
e array([ 7., 10.], dtype=float32)

> xp.asin(xp.asarray([0.0, 0.5]))
t tensor([0.0000, 0.5236])
r sg.run(_).round(4)
e array([0.    , 0.5236], dtype=float32)

> xp.asinh(xp.asarray([-2.0, 3.0]))
t tensor([-1.4436,  1.8184])
r sg.run(_).round(4)
e array([-1.4436,  1.8184], dtype=float32)

> xp.astype(xp.asarray([1.5, 2.0]), xp.int32)
t tensor([1, 2], dtype=torch.int32)
e array([1, 2], dtype=int32)

> xp.atan(xp.asarray([0.0, 0.5]))
t tensor([0.0000, 0.4636])
r sg.run(_).round(4)
e array([0.    , 0.4636], dtype=float32)

> xp.atan2(xp.asarray([1.0, 6.0]), xp.asarray([4.0, 2.0]))
t tensor([0.2450, 1.2490])
r sg.run(_).round(4)
e array([0.245, 1.249], dtype=float32)

> xp.atanh(xp.asarray([0.0, 0.5]))
t tensor([0.0000, 0.5493])
r sg.run(_).round(4)
e array([0.    , 0.5493], dtype=float32)

> xp.bitwise_and(xp.asarray([3, 5]), xp.asarray([1, 4]))
t tensor([1, 4])
e array([1, 4])

> xp.bitwise_invert(xp.asarray([3, 5]))
t tensor([-4, -6])
e array([-4, -6])

> xp.bitwise_left_shift(xp.asarray([4, 6]), 1)
t tensor([ 8, 12])
e array([ 8, 12])

> xp.bitwise_or(xp.asarray([3, 5]), xp.asarray([1, 4]))
t tensor([3, 5])
e array([3, 5])

> xp.bitwise_right_shift(xp.asarray([4, 6]), 1)
t tensor([2, 3])
e array([2, 3])

> xp.bitwise_xor(xp.asarray([3, 5]), xp.asarray([1, 4]))
t tensor([2, 1])
e array([2, 1])

> xp.ceil(xp.asarray([-1.5, 2.5, 0.2]))
t tensor([-1.,  3.,  1.])
e array([-1.,  3.,  1.], dtype=float32)

> xp.clip(xp.asarray([-2.0, 0.5, 3.0]), min=-1.0, max=1.0)
t tensor([-1.0000,  0.5000,  1.0000])
e array([-1. ,  0.5,  1. ], dtype=float32)

> xp.conj(xp.asarray([1.0 + 2.0j]))
t tensor([1.-2.j])
e array([1.-2.j], dtype=complex64)

> xp.copysign(xp.asarray([1.0, 6.0]), xp.asarray([-4.0, 2.0]))
t tensor([-1.,  6.])
e array([-1.,  6.], dtype=float32)

> xp.cos(xp.asarray([0.0, 0.5]))
t tensor([1.0000, 0.8776])
r sg.run(_).round(4)
e array([1.    , 0.8776], dtype=float32)

> xp.cosh(xp.asarray([0.0, 0.5]))
t tensor([1.0000, 1.1276])
r sg.run(_).round(4)
e array([1.    , 1.1276], dtype=float32)

> xp.divide(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 2.0]))
t tensor([0.7500, 4.0000])
e array([0.75, 4.  ], dtype=float32)

> xp.equal(xp.asarray([1.0, 2.0, 3.0]), 2.0)
t tensor([False,  True, False])
e array([False,  True, False])

> xp.exp(xp.asarray([0.0, 0.5]))
t tensor([1.0000, 1.6487])
r sg.run(_).round(4)
e array([1.    , 1.6487], dtype=float32)

> xp.expm1(xp.asarray([0.0, 0.5]))
t tensor([0.0000, 0.6487])
r sg.run(_).round(4)
e array([0.    , 0.6487], dtype=float32)

> xp.floor(xp.asarray([-1.5, 2.5, 0.2]))
t tensor([-2.,  2.,  0.])
e array([-2.,  2.,  0.], dtype=float32)

> xp.floor_divide(xp.asarray([-7, 7]), 3)
t tensor([-3,  2])
e array([-3,  2])

> xp.greater(xp.asarray([1.0, 2.0, 3.0]), 2.0)
t tensor([False, False,  True])
e array([False, False,  True])

> xp.greater_equal(xp.asarray([1.0, 2.0, 3.0]), 2.0)
t tensor([False,  True,  True])
e array([False,  True,  True])

> xp.hypot(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 2.0]))
t tensor([5.0000, 8.2462])
r sg.run(_).round(4)
e array([5.    , 8.2462], dtype=float32)

> xp.imag(xp.asarray([1.0 + 2.0j]))
t tensor([2.])
e array([2.], dtype=float32)

> xp.isfinite(xp.asarray([1.0, float("inf"), float("nan")]))
t tensor([ True, False, False])
e array([ True, False, False])

> xp.isinf(xp.asarray([1.0, float("inf"), float("nan")]))
t tensor([False,  True, False])
e array([False,  True, False])

> xp.isnan(xp.asarray([1.0, float("inf"), float("nan")]))
t tensor([False, False,  True])
e array([False, False,  True])

> xp.less(xp.asarray([1.0, 2.0, 3.0]), 2.0)
t tensor([ True, False, False])
e array([ True, False, False])

> xp.less_equal(xp.asarray([1.0, 2.0, 3.0]), 2.0)
t tensor([ True,  True, False])
e array([ True,  True, False])

> xp.log(xp.asarray([1.5, 8.0]))
t tensor([0.4055, 2.0794])
r sg.run(_).round(4)
e array([0.4055, 2.0794], dtype=float32)

> xp.log10(xp.asarray([1.5, 8.0]))
t tensor([0.1761, 0.9031])
r sg.run(_).round(4)
e array([0.1761, 0.9031], dtype=float32)

> xp.log1p(xp.asarray([1.5, 8.0]))
t tensor([0.9163, 2.1972])
r sg.run(_).round(4)
e array([0.9163, 2.1972], dtype=float32)

> xp.log2(xp.asarray([1.5, 8.0]))
t tensor([0.5850, 3.0000])
r sg.run(_).round(4)
e array([0.585, 3.   ], dtype=float32)

> xp.logaddexp(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 2.0]))
t tensor([4.3133, 8.0025])
r sg.run(_).round(4)
e array([4.3133, 8.0025], dtype=float32)

> xp.logical_and(xp.asarray([True, False]), xp.asarray([True, True]))
t tensor([ True, False])
e array([ True, False])

> xp.logical_not(xp.asarray([True, False]))
t tensor([False,  True])
e array([False,  True])

> xp.logical_or(xp.asarray([True, False]), xp.asarray([True, True]))
t tensor([True, True])
e array([ True,  True])

> xp.logical_xor(xp.asarray([True, False]), xp.asarray([True, True]))
t tensor([False,  True])
e array([False,  True])

> xp.maximum(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 2.0]))
t tensor([4., 8.])
e array([4., 8.], dtype=float32)

> xp.minimum(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 2.0]))
t tensor([3., 2.])
e array([3., 2.], dtype=float32)

> xp.multiply(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 2.0]))
t tensor([12., 16.])
e array([12., 16.], dtype=float32)

> xp.negative(xp.asarray([-2.0, 3.0]))
t tensor([ 2., -3.])
e array([ 2., -3.], dtype=float32)

> xp.nextafter(xp.asarray([1.0]), 2.0) - 1
t tensor([1.1921e-07])
e array([1.1920929e-07], dtype=float32)

> xp.not_equal(xp.asarray([1.0, 2.0, 3.0]), 2.0)
t tensor([ True, False,  True])
e array([ True, False,  True])

> xp.positive(xp.asarray([-2.0, 3.0]))
t tensor([-2.,  3.])
e array([-2.,  3.], dtype=float32)

> xp.pow(xp.asarray([3.0, 8.0]), 2)
t tensor([ 9., 64.])
e array([ 9., 64.], dtype=float32)

> xp.real(xp.asarray([1.0 + 2.0j]))
t tensor([1.])
e array([1.], dtype=float32)

> xp.reciprocal(xp.asarray([-2.0, 4.0]))
t tensor([-0.5000,  0.2500])
e array([-0.5 ,  0.25], dtype=float32)

> xp.remainder(xp.asarray([-7, 7]), 3)
t tensor([2, 1])
e array([2, 1])

> xp.round(xp.asarray([-1.5, 2.5, 0.2]))
t tensor([-2.,  2.,  0.])
e array([-2.,  2.,  0.], dtype=float32)

> xp.sign(xp.asarray([-2.0, 3.0]))
t tensor([-1.,  1.])
e array([-1.,  1.], dtype=float32)

> xp.signbit(xp.asarray([-2.0, 3.0]))
t tensor([ True, False])
e array([ True, False])

> xp.sin(xp.asarray([0.0, 0.5]))
t tensor([0.0000, 0.4794])
r sg.run(_).round(4)
e array([0.    , 0.4794], dtype=float32)

> xp.sinh(xp.asarray([0.0, 0.5]))
t tensor([0.0000, 0.5211])
r sg.run(_).round(4)
e array([0.    , 0.5211], dtype=float32)

> xp.sqrt(xp.asarray([1.5, 8.0]))
t tensor([1.2247, 2.8284])
r sg.run(_).round(4)
e array([1.2247, 2.8284], dtype=float32)

> xp.square(xp.asarray([-2.0, 3.0]))
t tensor([4., 9.])
e array([4., 9.], dtype=float32)

> xp.subtract(xp.asarray([3.0, 8.0]), xp.asarray([4.0, 2.0]))
t tensor([-1.,  6.])
e array([-1.,  6.], dtype=float32)

> xp.tan(xp.asarray([0.0, 0.5]))
t tensor([0.0000, 0.5463])
r sg.run(_).round(4)
e array([0.    , 0.5463], dtype=float32)

> xp.tanh(xp.asarray([0.0, 0.5]))
t tensor([0.0000, 0.4621])
r sg.run(_).round(4)
e array([0.    , 0.4621], dtype=float32)

> xp.trunc(xp.asarray([-1.5, 2.5, 0.2]))
t tensor([-1.,  2.,  0.])
e array([-1.,  2.,  0.], dtype=float32)

> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0)
t tensor([1, 0])
e array([1, 0])
"""
