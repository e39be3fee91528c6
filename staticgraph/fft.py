"""Discrete Fourier transforms in NumPy's names, by its pocketfft; differentiable."""

from staticgraph.compiler.functions.fft import *
