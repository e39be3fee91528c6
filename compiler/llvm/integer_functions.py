"""Functions of integers in the emitted language: a part of `compiler.llvm.library`."""

INTEGERS = '''
def floor_divide_i(a, b):
    """NumPy's floor division of integers: 0 by 0; the most negative number by -1 wraps."""
    divisor = select((b == 0) | (b == -1), 1, b)
    return select(b == 0, 0, select(b == -1, -a, a // divisor))


def floor_divide_u(a, b):
    """NumPy's floor division of unsigned integers: 0 by 0."""
    zero = type(a)(0)
    return select(b == zero, zero, type(a)(a // select(b == zero, type(a)(1), b)))


def remainder_i(a, b):
    """NumPy's remainder of integers: 0 by 0 and by -1, else with the sign of b."""
    none = (b == 0) | (b == -1)
    return select(none, 0, a % select(none, 1, b))


def remainder_u(a, b):
    """NumPy's remainder of unsigned integers: 0 by 0."""
    zero = type(a)(0)
    return select(b == zero, zero, type(a)(a % select(b == zero, type(a)(1), b)))


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


def gcd_u(a, b):
    """The greatest common divisor of unsigned integers."""
    divisor = u64(a)
    rest = u64(b)
    while rest != u64(0):
        following = remainder_u(divisor, rest)
        divisor = rest
        rest = following
    return divisor


def lcm_u(a, b):
    """The least common multiple of unsigned integers; 0 if either is 0. It wraps."""
    divisor = u64(gcd_u(a, b))
    return floor_divide_u(u64(a), divisor) * u64(b)


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


def pow_u(base, exponent):
    """Unsigned power by squaring; wraps on overflow."""
    result = u64(1)
    factor = u64(base)
    left = u64(exponent)
    while left != u64(0):
        result = result * select(left & u64(1) == u64(1), factor, u64(1))
        factor = factor * factor
        left = left >> u64(1)
    return result


def sign_u(a):
    """0 or 1."""
    return i64(a != type(a)(0))


def sign_i(a):
    """-1, 0 or 1."""
    return i64(a > 0) - i64(a < 0)
'''
