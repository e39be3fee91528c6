"""Complex numbers, as pairs of real ones, and loops, branches and marks."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from tests.derivatives.case import Case, M, between, normal

_ROW, _SQUARE = normal(5), normal(3, 3)


def _pair(z: Any) -> list[Any]:
    return [sg.real(z), sg.imag(z)]


def _turned(n: int, sign: int) -> tuple[Any, Any]:
    """Cosine and sine of the angles of a transform."""
    angles = [[2 * M.pi * i * j / n for j in range(n)] for i in range(n)]
    return (
        np.array([[M.cos(one) for one in row] for row in angles]),
        np.array([[sign * M.sin(one) for one in row] for row in angles]),
    )


def _dft(re: Any, im: Any) -> list[Any]:
    c, s = _turned(5, -1)
    return [c @ re - s @ im, c @ im + s @ re]


def _real_dft(x: Any) -> list[Any]:
    c, s = _turned(5, -1)
    return [(c @ x)[:3], (s @ x)[:3]]


def _real_inverse(re: Any, im: Any) -> Any:
    """Of three coefficients to five numbers: those that are left out are conjugates."""
    c, s = _turned(5, 1)
    whole_re = np.concatenate([re, re[:0:-1]])
    whole_im = np.concatenate([im[:1] * 0, im[1:], -im[:0:-1]])
    return (c @ whole_re - s @ whole_im) / 5


def _rebuilt(a: Any) -> list[Any]:
    values, vectors = sg.linalg.eig(a)
    return _pair((vectors * values**2) @ sg.linalg.inv(vectors))


def _scanned(x: Any, w: Any) -> Any:
    last, outs = sg.scan(lambda h, x: (sg.tanh(w @ h + x),) * 2, np.zeros(2), x)
    return [last, outs]


def _unrolled(x: Any, w: Any) -> list[Any]:
    h, outs = np.array([M.mpf(0)] * 2), []
    for one in x:
        h = np.tanh(w @ h + one)
        outs.append(h)
    return [h, np.stack(outs)]


def _newton(x: Any) -> Any:
    """Four steps to the square root."""
    return sg.while_loop(
        lambda c: c[0] < 4,
        lambda c: (c[0] + 1, (c[1] + x / c[1]) / 2),
        (0, x * 0 + 1.0),
        max_steps=5,
    )[1]


def _newton_exact(x: Any) -> Any:
    y = x * 0 + 1
    for _ in range(4):
        y = (y + x / y) / 2
    return y


def _chosen(x: Any) -> Any:
    return sg.cond(sg.sum(x) > 0, lambda x: sg.sin(x), lambda x: x * x * x, x)


def _chosen_exact(x: Any) -> Any:
    return np.sin(x) if np.sum(x) > 0 else x * x * x


OTHERS = [
    Case("complex", lambda a, b: _pair(sg.complex(a, b)), lambda a, b: [+a, +b], (_ROW, _ROW)),
    Case("conjugate", lambda a, b: _pair(sg.conj(sg.complex(a, b))), lambda a, b: [+a, -b],
        (_ROW, _ROW)),
    Case("real_part", lambda a, b: sg.real(sg.complex(a, b)), lambda a, b: +a, (_ROW, _ROW)),
    Case("imaginary_part", lambda a, b: sg.imag(sg.complex(a, b)), lambda a, b: +b, (_ROW, _ROW)),
    Case("view_as_complex", lambda x: _pair(sg.view_as_complex(x)),
        lambda x: [x[..., 0], x[..., 1]], (normal(3, 2),)),
    Case("view_as_real", lambda a, b: sg.view_as_real(sg.complex(a, b)),
        lambda a, b: np.stack([a, b], -1), (_ROW, _ROW)),
    Case("dft", lambda a, b: _pair(sg.fft.fft(sg.complex(a, b))), _dft, (_ROW, _ROW)),
    Case("real_dft", lambda a: _pair(sg.fft.rfft(a)), _real_dft, (_ROW,)),
    Case("real_inverse_dft", lambda a, b: sg.fft.irfft(sg.complex(a, b), 5), _real_inverse,
        (normal(3), normal(3))),
    Case("eig", _rebuilt, lambda a: [a @ a, a * 0], (_SQUARE,)),
    Case("scan", _scanned, _unrolled, (normal(3, 2), normal(2, 2))),
    Case("item", _scanned, _unrolled, (normal(3, 2), normal(2, 2))),
    Case("while_loop", _newton, _newton_exact, (between(0.5, 4, 3),)),
    Case("cond", _chosen, _chosen_exact, (normal(3),)),
    Case("checkpoint", lambda x: sg.checkpoint(lambda x: sg.sin(x) * x, x),
        lambda x: np.sin(x) * x, (normal(3),)),
]  # fmt: skip
