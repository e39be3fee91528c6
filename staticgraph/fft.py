"""Discrete Fourier transforms in NumPy's names, by its pocketfft; differentiable."""

from compiler.functions.fft import *
