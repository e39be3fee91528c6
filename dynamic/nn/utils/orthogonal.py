"""The parametrization of weights by orthogonal (unitary) matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic import linalg
from staticgraph.dynamic.core.errors import MissingKernelError
from staticgraph.dynamic.linalg.householder import householder_product
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.utils import parametrize
from staticgraph.dynamic.operations.places import concat
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.drawn import randn

MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """Q of any matrix: its lower triangle is what counts."""

    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise OptionError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        """The matrix with orthonormal columns, or rows if it is wide."""
        rows, columns = X.shape[-2:]
        wide = rows < columns
        x = X.mT if wide else X
        if self.orthogonal_map == "householder":
            q = _by_reflections(x)
        else:
            q = _by_skew(x, self.orthogonal_map)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, value: Any) -> Any:
        """What the matrix is made of; of one that is not orthogonal the nearest that QR gives."""
        with no_grad():
            return self._origin(value)

    def _origin(self, value: Any) -> Any:
        if value.shape != self.shape:
            raise OptionError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {value.shape}."
            )
        rows, columns = value.shape[-2:]
        q = value.mT if rows < columns else value
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise MissingKernelError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            return _reflections_of(q, rows < columns)
        size, count = q.shape[-2:]
        if size != count:
            more = randn(*q.shape[:-2], size, size - count, dtype=q.dtype)
            q = _made_orthogonal(concat([q, more], -1))
        elif not _is_orthogonal(q):
            q = _made_orthogonal(q)
        self.base = q.clone()
        return -value._constant(_identity(value))


def _identity(x: Any) -> Any:
    eye = np.eye(*x.shape[-2:], dtype=x._array.dtype)
    return np.broadcast_to(eye, tuple(x.shape)).copy()


def _by_reflections(x: Any) -> Any:
    vectors = x.tril(-1)
    tau = 2.0 / (1.0 + (vectors * vectors).sum(-2))
    signs = x.detach().diagonal(0, -2, -1).to(x.dtype).trunc()
    return householder_product(vectors, tau) * signs.unsqueeze(-2)


def _by_skew(x: Any, name: str) -> Any:
    size, count = x.shape[-2:]
    lower = x.tril()
    if size != count:
        lower = concat([lower, lower.new_zeros(*x.shape[:-2], size, size - count)], -1)
    skew = lower - lower.mH
    if name == "matrix_exp":
        q = linalg.matrix_exp(skew)
    else:
        eye = skew._constant(_identity(skew))
        q = linalg.solve(eye - skew * 0.5, eye + skew * 0.5)
    return q if size == count else q[..., :count]


def _made_orthogonal(x: Any) -> Any:
    """The Q of a QR decomposition whose R has a positive diagonal."""
    q, r = linalg.qr(x)
    return q * r.diagonal(0, -2, -1).sgn().unsqueeze(-2)


def _is_orthogonal(q: Any) -> bool:
    array = q._array
    product = np.conj(np.swapaxes(array, -1, -2)) @ array
    bound = 10 * q.shape[-2] * np.finfo(array.dtype).eps
    return bool(np.allclose(product, np.eye(q.shape[-1]), rtol=0, atol=bound))


def _reflections_of(q: Any, wide: bool) -> Any:
    """The matrix of which `_by_reflections` makes the Q of this one's QR decomposition."""
    rest, columns = q._array.copy(), q.shape[-1]
    found = np.zeros_like(rest)
    for i in range(columns):
        v = rest[..., :, i].copy()
        v[..., :i] = 0
        lead = v[..., i].copy()
        down = np.where(lead < 0, 1.0, -1.0)  # away from it, so that nothing cancels
        flat = ~v[..., i + 1 :].any(-1)
        v[..., i] -= down * np.sqrt((v * v).sum(-1))
        v /= np.where(flat, 1, v[..., i])[..., None]
        v[flat] = 0
        tau = np.where(flat, 0, 2 / np.where(flat, 1, (v * v).sum(-1)))
        rest -= tau[..., None, None] * v[..., :, None] * (v[..., None, :] @ rest)
        v[..., i] = down  # the sign of R's diagonal, or its opposite where nothing is reflected
        found[..., :, i] = v
    made = q._constant(found)
    return made.mT.contiguous() if wide else made


def orthogonal(
    module: Any,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Any:
    """The module, whose weight is kept orthogonal (Lezcano-Casado, Martinez-Rubio 2019).

    Args:
        module: the module.
        name: its matrix, or batch of matrices.
        orthogonal_map: "matrix_exp", "cayley" or "householder"; the first one for square and
            complex matrices, else the last one.
        use_trivialization: begin at the weight as it is, by which what is learnt is multiplied.

    Raises:
        ValueError: there is no such map, or the weight is no matrix.

    Example:
        >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2))
        >>> dynamic.allclose(layer.weight @ layer.weight.T, dynamic.eye(2), atol=1e-6)
        True
    """
    weight = getattr(module, name, None)
    if weight is None or not hasattr(weight, "_array"):
        raise OptionError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise OptionError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise OptionError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    rule = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, rule, unsafe=True)
