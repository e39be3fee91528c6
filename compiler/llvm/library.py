"""Functions of scalars written in the emitted language, which kernels call.

Each has the type of its first argument, whatever Python would make of it: integers wrap. No branch
is taken where a division would trap.
"""

from __future__ import annotations

import ast
from functools import cache

from compiler.ir.parse import function_of
from compiler.ir.records import Function

SOURCE = '''
def floor_divide_i(a, b):
    """NumPy's floor division of integers: 0 by 0; the most negative number by -1 wraps."""
    divisor = select((b == 0) | (b == -1), 1, b)
    return select(b == 0, 0, select(b == -1, -a, a // divisor))


def floor_divide_u(a, b):
    """NumPy's floor division of unsigned integers: 0 by 0."""
    return select(b == 0, 0, a // select(b == 0, 1, b))


def remainder_i(a, b):
    """NumPy's remainder of integers: 0 by 0 and by -1, else with the sign of b."""
    none = (b == 0) | (b == -1)
    return select(none, 0, a % select(none, 1, b))


def remainder_u(a, b):
    """NumPy's remainder of unsigned integers: 0 by 0."""
    return select(b == 0, 0, a % select(b == 0, 1, b))


def fmod_i(a, b):
    """C's remainder of integers: 0 by 0 and by -1, else with the sign of a."""
    rest = remainder_i(a, b)
    return select((rest != 0) & ((rest < 0) != (a < 0)), rest - b, rest)


def gcd_i(a, b):
    """The greatest common divisor by Euclid's algorithm; 0 of zeros."""
    divisor = i64(a)
    rest = i64(b)
    while rest != 0:
        following = remainder_i(divisor, rest)
        divisor = rest
        rest = following
    return abs(divisor)


def lcm_i(a, b):
    """The least common multiple; 0 if either is 0. It wraps."""
    divisor = gcd_i(a, b)
    return (abs(i64(a)) // select(divisor == 0, 1, divisor)) * abs(i64(b))


def pow_i(base, exponent):
    """Integer power by squaring; wraps on overflow, 0 for a negative exponent but of 1 and -1."""
    result = i64(1)
    factor = i64(base)
    left = i64(exponent)
    if left < 0:
        odd = select(left & 1 == 0, 1, -1)
        return select(factor == 1, 1, select(factor == -1, odd, 0))
    while left > 0:
        result = result * select(left & 1 == 1, factor, 1)
        factor = factor * factor
        left = left >> 1
    return result


def sign_i(a):
    """-1, 0 or 1."""
    return i64(a > 0) - i64(a < 0)


def sign_f(a):
    """-1, 0 or 1; nan for nan."""
    one = type(a)(1)
    zero = type(a)(0)
    return select(a != a, a, select(a > zero, one, select(a < zero, -one, zero)))


def floor_divide_f(a, b):
    """NumPy's floor division of floats: exact where the quotient is, a / b where b is 0."""
    zero = type(a)(0)
    rest = remainder_f(a, b)
    quotient = (a - rest) / b
    whole = rint(quotient)  # a - rest is a multiple of b up to rounding
    whole = select(whole == zero, copysign(whole, a / b), whole)
    away = zero - select((a != zero) & ((a < zero) != (b < zero)), type(a)(1), zero)
    whole = select((abs(b) == inf) & (abs(a) < inf), away, whole)
    return select(b == zero, a / b, whole)


def part_start(at, parts, size, tile):
    """Where one of about equal parts of an axis starts, in whole tiles; its size after the last."""
    tiles = (size + tile - 1) // tile
    return min(at * tiles // parts * tile, size)
'''
NAMES = {
    **{
        name: name
        for name in (
            "floor_divide_f", "floor_divide_i", "floor_divide_u", "fmod_i", "gcd_i", "lcm_i",
            "part_start", "pow_i", "remainder_i", "remainder_u", "sign_f", "sign_i",
        )
    },
    "fmod_u": "remainder_u",
    "gcd_u": "gcd_i",
    "lcm_u": "lcm_i",
    "pow_u": "pow_i",
    "sign_u": "sign_i",
}  # fmt: skip
"""The function behind each name that emitted source may call."""
OUTSIDE_LOOPS = frozenset({"part_start"})
"""Functions that no loop calls: a kernel has one copy of each, which LLVM compiles once."""


@cache
def functions() -> dict[str, ast.FunctionDef]:
    """The syntax tree of each function."""
    trees = ast.parse(SOURCE).body
    return {tree.name: tree for tree in trees if isinstance(tree, ast.FunctionDef)}


@cache
def function(name: str) -> Function:
    """One of the functions."""
    return function_of(functions()[name])
