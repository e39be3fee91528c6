"""Orthogonal polynomials in PyTorch's names, and in SciPy's, whose degree comes first.

Degrees are integers, a number or an operand that broadcasts; a polynomial of a negative one is 0.
"""

from __future__ import annotations

from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.elementwise.orthogonal import orthogonal_polynomial

__all__ = [
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
    "chebyshev_polynomial_w", "eval_chebyt", "eval_chebyu", "eval_hermite", "eval_hermitenorm",
    "eval_laguerre", "eval_legendre", "eval_sh_chebyt", "eval_sh_chebyu", "eval_sh_legendre",
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w",
]  # fmt: skip


def chebyshev_polynomial_t(x: Value, n: Value) -> Value:
    """Chebyshev's polynomial of the first kind of degree n, cos(n acos(x)).

    Example:
        >>> sg.special.chebyshev_polynomial_t(np.array([0.5, 2.0]), 3)
        array([-1., 26.])
    """
    return orthogonal_polynomial(x, n, "chebyshev_t")


def chebyshev_polynomial_u(x: Value, n: Value) -> Value:
    """Chebyshev's polynomial of the second kind of degree n.

    Example:
        >>> sg.special.chebyshev_polynomial_u(np.array([0.5, 2.0]), 3)
        array([-1., 56.])
    """
    return orthogonal_polynomial(x, n, "chebyshev_u")


def chebyshev_polynomial_v(x: Value, n: Value) -> Value:
    """Chebyshev's polynomial of the third kind of degree n.

    Example:
        >>> sg.special.chebyshev_polynomial_v(np.array([0.5, 2.0]), 3)
        array([-1., 41.])
    """
    return orthogonal_polynomial(x, n, "chebyshev_v")


def chebyshev_polynomial_w(x: Value, n: Value) -> Value:
    """Chebyshev's polynomial of the fourth kind of degree n.

    Example:
        >>> sg.special.chebyshev_polynomial_w(np.array([0.5, 2.0]), 3)
        array([-1., 71.])
    """
    return orthogonal_polynomial(x, n, "chebyshev_w")


def hermite_polynomial_h(x: Value, n: Value) -> Value:
    """Hermite's polynomial of degree n, for the weight exp(-x**2).

    Example:
        >>> sg.special.hermite_polynomial_h(np.array([0.5, 2.0]), 3)
        array([-5., 40.])
    """
    return orthogonal_polynomial(x, n, "hermite_h")


def hermite_polynomial_he(x: Value, n: Value) -> Value:
    """Hermite's polynomial of degree n, for the weight exp(-x**2 / 2).

    Example:
        >>> sg.special.hermite_polynomial_he(np.array([0.5, 2.0]), 3)
        array([-1.375,  2.   ])
    """
    return orthogonal_polynomial(x, n, "hermite_he")


def laguerre_polynomial_l(x: Value, n: Value) -> Value:
    """Laguerre's polynomial of degree n.

    Example:
        >>> sg.special.laguerre_polynomial_l(np.array([0.5, 2.0]), 3)
        array([-0.14583333, -0.33333333])
    """
    return orthogonal_polynomial(x, n, "laguerre_l")


def legendre_polynomial_p(x: Value, n: Value) -> Value:
    """Legendre's polynomial of degree n.

    Example:
        >>> sg.special.legendre_polynomial_p(np.array([0.5, 2.0]), 3)
        array([-0.4375, 17.    ])
    """
    return orthogonal_polynomial(x, n, "legendre_p")


def shifted_chebyshev_polynomial_t(x: Value, n: Value) -> Value:
    """`chebyshev_polynomial_t` of 2 x - 1.

    Example:
        >>> sg.special.shifted_chebyshev_polynomial_t(np.array([0.5, 2.0]), 3)
        array([ 0., 99.])
    """
    return chebyshev_polynomial_t(x * 2 - 1, n)


def shifted_chebyshev_polynomial_u(x: Value, n: Value) -> Value:
    """`chebyshev_polynomial_u` of 2 x - 1.

    Example:
        >>> sg.special.shifted_chebyshev_polynomial_u(np.array([0.5, 2.0]), 3)
        array([  0., 204.])
    """
    return chebyshev_polynomial_u(x * 2 - 1, n)


def shifted_chebyshev_polynomial_v(x: Value, n: Value) -> Value:
    """`chebyshev_polynomial_v` of 2 x - 1.

    Example:
        >>> sg.special.shifted_chebyshev_polynomial_v(np.array([0.5, 2.0]), 3)
        array([  1., 169.])
    """
    return chebyshev_polynomial_v(x * 2 - 1, n)


def shifted_chebyshev_polynomial_w(x: Value, n: Value) -> Value:
    """`chebyshev_polynomial_w` of 2 x - 1.

    Example:
        >>> sg.special.shifted_chebyshev_polynomial_w(np.array([0.5, 2.0]), 3)
        array([ -1., 239.])
    """
    return chebyshev_polynomial_w(x * 2 - 1, n)


def eval_chebyt(n: Value, x: Value) -> Value:
    """`chebyshev_polynomial_t` of x.

    Example:
        >>> sg.special.eval_chebyt(3, np.array([0.5, 2.0]))
        array([-1., 26.])
    """
    return chebyshev_polynomial_t(x, n)


def eval_chebyu(n: Value, x: Value) -> Value:
    """`chebyshev_polynomial_u` of x.

    Example:
        >>> sg.special.eval_chebyu(3, np.array([0.5, 2.0]))
        array([-1., 56.])
    """
    return chebyshev_polynomial_u(x, n)


def eval_sh_chebyt(n: Value, x: Value) -> Value:
    """`shifted_chebyshev_polynomial_t` of x.

    Example:
        >>> sg.special.eval_sh_chebyt(3, np.array([0.5, 2.0]))
        array([ 0., 99.])
    """
    return shifted_chebyshev_polynomial_t(x, n)


def eval_sh_chebyu(n: Value, x: Value) -> Value:
    """`shifted_chebyshev_polynomial_u` of x.

    Example:
        >>> sg.special.eval_sh_chebyu(3, np.array([0.5, 2.0]))
        array([  0., 204.])
    """
    return shifted_chebyshev_polynomial_u(x, n)


def eval_hermite(n: Value, x: Value) -> Value:
    """`hermite_polynomial_h` of x.

    Example:
        >>> sg.special.eval_hermite(3, np.array([0.5, 2.0]))
        array([-5., 40.])
    """
    return hermite_polynomial_h(x, n)


def eval_hermitenorm(n: Value, x: Value) -> Value:
    """`hermite_polynomial_he` of x.

    Example:
        >>> sg.special.eval_hermitenorm(3, np.array([0.5, 2.0]))
        array([-1.375,  2.   ])
    """
    return hermite_polynomial_he(x, n)


def eval_laguerre(n: Value, x: Value) -> Value:
    """`laguerre_polynomial_l` of x.

    Example:
        >>> sg.special.eval_laguerre(3, np.array([0.5, 2.0]))
        array([-0.14583333, -0.33333333])
    """
    return laguerre_polynomial_l(x, n)


def eval_legendre(n: Value, x: Value) -> Value:
    """`legendre_polynomial_p` of x.

    Example:
        >>> sg.special.eval_legendre(3, np.array([0.5, 2.0]))
        array([-0.4375, 17.    ])
    """
    return legendre_polynomial_p(x, n)


def eval_sh_legendre(n: Value, x: Value) -> Value:
    """`legendre_polynomial_p` of 2 x - 1.

    Example:
        >>> sg.special.eval_sh_legendre(3, np.array([0.5, 2.0]))
        array([ 0., 63.])
    """
    return legendre_polynomial_p(x * 2 - 1, n)
