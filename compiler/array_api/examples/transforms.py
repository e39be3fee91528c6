"""The examples of Fourier transforms; `read` says what the lines are."""

from __future__ import annotations

EXAMPLES = """\
> xp.fft.fft(xp.asarray([1.0, 2.0, 1.0, 0.0]))
t tensor([4.+0.j, 0.-2.j, 0.+0.j, 0.+2.j])
e array([4.+0.j, 0.-2.j, 0.+0.j, 0.+2.j], dtype=complex64)

> xp.fft.fftfreq(4, d=0.5)
t tensor([ 0.0000,  0.5000, -1.0000, -0.5000])
e array([ 0. ,  0.5, -1. , -0.5], dtype=float32)

> xp.fft.fftn(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
t tensor([[10.+0.j, -2.+0.j],
t         [-4.+0.j,  0.+0.j]])
e array([[10.+0.j, -2.+0.j],
e        [-4.+0.j,  0.+0.j]], dtype=complex64)

> xp.fft.fftshift(xp.asarray([0, 1, 2]))
t tensor([2, 0, 1])
e array([2, 0, 1])

> xp.fft.hfft(xp.asarray([4.0, 2.0, 0.0]))
t tensor([8., 4., 0., 4.])
e array([8., 4., 0., 4.], dtype=float32)

> xp.fft.ifft(xp.asarray([1.0, 2.0, 1.0, 0.0]))
t tensor([1.+0.0000j, 0.+0.5000j, 0.+0.0000j, 0.-0.5000j])
e array([1.+0.j , 0.+0.5j, 0.+0.j , 0.-0.5j], dtype=complex64)

> xp.fft.ifftn(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
t tensor([[ 2.5000+0.j, -0.5000+0.j],
t         [-1.0000+0.j,  0.0000+0.j]])
e array([[ 2.5+0.j, -0.5+0.j],
e        [-1. +0.j,  0. +0.j]], dtype=complex64)

> xp.fft.ifftshift(xp.asarray([0, 1, 2]))
t tensor([1, 2, 0])
e array([1, 2, 0])

> xp.fft.ihfft(xp.asarray([1.0, 2.0, 1.0, 0.0]))
t tensor([1.-0.0000j, 0.+0.5000j, 0.-0.0000j])
e array([1.-0.j , 0.+0.5j, 0.-0.j ], dtype=complex64)

> xp.fft.irfft(xp.asarray([4.0, 2.0, 0.0]))
t tensor([2., 1., 0., 1.])
e array([2., 1., 0., 1.], dtype=float32)

> xp.fft.irfftn(xp.asarray([[4.0, 2.0], [0.0, 2.0]]))
t tensor([[2., 0.],
t         [1., 1.]])
e array([[2., 0.],
e        [1., 1.]], dtype=float32)

> xp.fft.rfft(xp.asarray([1.0, 2.0, 1.0, 0.0]))
t tensor([4.+0.j, 0.-2.j, 0.+0.j])
e array([4.+0.j, 0.-2.j, 0.+0.j], dtype=complex64)

> xp.fft.rfftfreq(4, d=0.5)
t tensor([0.0000, 0.5000, 1.0000])
e array([0. , 0.5, 1. ], dtype=float32)

> xp.fft.rfftn(xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
t tensor([[10.+0.j, -2.+0.j],
t         [-4.+0.j,  0.+0.j]])
e array([[10.+0.j, -2.+0.j],
e        [-4.+0.j,  0.+0.j]], dtype=complex64)
"""
