"""Random numbers of blocks of bits in the emitted language: a part of `compiler.llvm.library`."""

from __future__ import annotations

_STEPS = range(16)
"""Of an inversion that all elements take, so that none branches."""
_POISSON_STEPS = "".join(
    f"    count = count + select(left > chance, 1.0, 0.0)\n"
    f"    left = left - chance\n"
    f"    chance = chance * (rate * {1 / (j + 1)!r})\n"
    for j in _STEPS
)
_BINOMIAL_STEPS = "".join(
    f"    count = count + select((left > share) & (n > {j}.0), 1.0, 0.0)\n"
    f"    left = left - share\n"
    f"    share = share * (odds * (n - {j}.0) * {1 / (j + 1)!r})\n"
    for j in _STEPS
)
RANDOM_NUMBERS = (
    '''
def below_attempt(span, key, counter):
    """An integer from 0 to before `span` where the first block is surely none too many, else -1.

    The upper half of the product of block and span (Lemire, Fast random integer generation in an
    interval, ACM TOMACS 29(1), 2019); 0 where there is no such integer.
    """
    bits = threefry(key, counter)
    width = select(span > 0, span, 0)
    low = bits * width
    return select(u64(low) >= u64(width), upper_product(bits, width), -1)


def wide_attempt(span, key, counter):
    """The integer that `random_below` finds, if one of the first three blocks is none too many."""
    width = select(span > 0, span, 1)
    many = u64(remainder_u(u64(0) - u64(width), u64(width)))
    bits = threefry(key, counter)
    second = threefry(key, counter ^ 17592186044416)
    third = threefry(key, counter ^ 35184372088832)
    second = select(u64(second * width) < many, third, second)
    bits = select(u64(bits * width) < many, second, bits)
    return select(u64(bits * width) < many, -1, upper_product(bits, width))


def random_below(attempt, span, key, counter):
    """The integer of which there was an attempt, of blocks until one is none too many."""
    found = attempt
    if found < 0:
        width = select(span > 0, span, 1)
        many = u64(remainder_u(u64(0) - u64(width), u64(width)))
        number = i64(0)
        bits = threefry(key, counter)
        while u64(bits * width) < many:
            number = number + 1
            bits = threefry(key, counter ^ (number << 44))
        found = upper_product(bits, width)
    return found


def upper_product(bits, span):
    """The upper half of the product of 64 bits and a number from 0 to before 2**63."""
    lower = bits & 4294967295
    upper = (bits >> 32) & 4294967295
    middle = upper * (span & 4294967295) + (((lower * (span & 4294967295)) >> 32) & 4294967295)
    other = lower * (span >> 32) + (middle & 4294967295)
    return upper * (span >> 32) + ((middle >> 32) & 4294967295) + (other >> 32)


def gamma_attempt(a, key, counter):
    """A gamma number, if the first attempt is accepted without a logarithm, or else -1.

    By Marsaglia and Tsang's method, of 52 bits for the normal number and 12 for the uniform one:
    accepted at once if 1 - u is above x^4 / 108 d, where x < 0 above that over the root. Of a = 1
    it is the exponential number of the block.
    """
    shape = f64(a)
    d = select(shape < 1.0, shape + 1.0, shape) - 0.3333333333333333
    bits = threefry(key, counter)
    odd = ((bits >> 11) & 9007199254740990) | 1
    x = 1.4142135623730951 * f64(erfinv(type(a)(f64(odd) * 2.220446049250313e-16 - 1.0)))
    root = 1.0 + x / sqrt(9.0 * d)
    found = d * (root * root * root)
    rest = f64(4095 - (bits & 4095)) * 0.000244140625
    if shape < 1.0:
        found = found * exp(gamma_power(shape, key, counter))
    least = select(shape >= 0.0, (x * x) * (x * x) / (108.0 * d), inf)
    found = select(rest * minimum(root, 1.0) > least, found, -1.0)
    if shape == 1.0:
        found = -log1p(-(f64((bits >> 12) & 4503599627370495) * 2.220446049250313e-16))
    return type(a)(found)


def random_gamma(attempt, a, key, counter):
    """The gamma number of which there was an attempt."""
    found = f64(attempt)
    if not found >= 0.0:
        shape = f64(a)
        found = raised_gamma(shape, key, counter)
        if shape < 1.0:
            found = found * exp(gamma_power(shape, key, counter))
    return type(attempt)(found)


def log_gamma_attempt(a, key, counter):
    """The logarithm of a gamma number, or else 1e30, as `gamma_attempt`."""
    shape = f64(a)
    d = select(shape < 1.0, shape + 1.0, shape) - 0.3333333333333333
    bits = threefry(key, counter)
    odd = ((bits >> 11) & 9007199254740990) | 1
    x = 1.4142135623730951 * f64(erfinv(type(a)(f64(odd) * 2.220446049250313e-16 - 1.0)))
    root = 1.0 + x / sqrt(9.0 * d)
    found = log(d * (root * root * root))
    rest = f64(4095 - (bits & 4095)) * 0.000244140625
    if shape < 1.0:
        found = found + gamma_power(shape, key, counter)
    least = select(shape >= 0.0, (x * x) * (x * x) / (108.0 * d), inf)
    found = select(rest * minimum(root, 1.0) > least, found, 1e30)
    if shape == 1.0:
        u = f64((bits >> 12) & 4503599627370495) * 2.220446049250313e-16
        found = log(-log1p(-maximum(u, 1.1102230246251565e-16)))
    return type(a)(found)


def random_log_gamma(attempt, a, key, counter):
    """The logarithm of the gamma number of which there was an attempt."""
    found = f64(attempt)
    if not found < 1e29:
        shape = f64(a)
        found = log(raised_gamma(shape, key, counter))
        if shape < 1.0:
            found = found + gamma_power(shape, key, counter)
    return type(attempt)(found)


def raised_gamma(a, key, counter):
    """A gamma number, of a + 1 where a < 1; attempts differ in bits that no counter has."""
    d = select(a < 1.0, a + 1.0, a) - 0.3333333333333333
    c = 1.0 / sqrt(9.0 * d)
    found = select(a < inf, select(a >= 0.0, -1.0, nan), a)
    attempt = i64(0)
    while found < 0.0:
        bits = threefry(key, counter ^ (attempt << 44))
        odd = ((bits >> 11) & 9007199254740990) | 1
        x = 1.4142135623730951 * erfinv(f64(odd) * 2.220446049250313e-16 - 1.0)
        root = 1.0 + c * x
        if root > 0.0:
            cube = root * root * root
            u = f64((bits & 4095) + 1) * 0.000244140625
            if u < 1.0 - 0.0331 * (x * x) * (x * x):
                found = d * cube
            else:
                bits = threefry(key, counter ^ ((-1 - attempt) << 44))
                odd = ((bits >> 11) & 9007199254740990) | 1
                u = u - f64(odd) * 2.710505431213761e-20
                if log(u) < 0.5 * x * x + d - d * cube + d * log(cube):
                    found = d * cube
        attempt = attempt + 1
    return found


def gamma_power(a, key, counter):
    """The logarithm of what makes a gamma number of one of a + 1."""
    bits = threefry(key, counter ^ 4611686018427387904)
    odd = ((bits >> 11) & 9007199254740990) | 1
    return log(f64(odd) * 1.1102230246251565e-16) / abs(a)


def poisson_attempt(rate, key, counter):
    """A Poisson number of a rate below 10 that few steps of an inversion give, else -1."""
    odd = ((threefry(key, counter) >> 11) & 9007199254740990) | 1
    left = f64(odd) * 1.1102230246251565e-16
    chance = exp(-rate)
    count = 0.0
'''
    + _POISSON_STEPS
    + '''    return select((rate >= 0.0) & (rate < 10.0) & (left <= chance), count, -1.0)


def large_poisson_attempt(attempt, rate, key, counter):
    """A Poisson number of a rate from 10 on, if the first candidate is accepted; else -1.

    What there was an attempt of stays. By transformed rejection: of a block 40 bits make the
    candidate, and 24 accept it.
    """
    bits = threefry(key, counter)
    mean = f64(rate)
    k = poisson_candidate(mean, bits)
    height = poisson_height(mean, bits)
    accepted = (k >= 0.0) & (height <= poisson_chance(maximum(k, 0.0), mean))
    accepted = accepted | (poisson_is_sure(mean, bits) > 0.0)
    found = select(accepted, k, -1.0)
    return type(attempt)(select((mean >= 10.0) & (mean < 1e18), found, f64(attempt)))


def random_poisson(attempt, rate, key, counter):
    """The Poisson number of which there was an attempt; -1 where there is none."""
    found = attempt
    if (found < 0.0) & (rate >= 0.0) & (rate < 10.0):
        odd = ((threefry(key, counter) >> 11) & 9007199254740990) | 1
        u = f64(odd) * 1.1102230246251565e-16
        chance = exp(-rate)
        found = 0.0
        while (u > chance) & (found < 100.0):
            u = u - chance
            found = found + 1.0
            chance = chance * (rate / found)
    if (rate >= 10.0) & (rate < 1e18):
        number = i64(1)
        while found < 0.0:
            bits = threefry(key, counter ^ (number << 44))
            k = poisson_candidate(rate, bits)
            if poisson_is_sure(rate, bits) > 0.0:
                found = k
            else:
                height = poisson_height(rate, bits)
                if k >= 0.0:
                    if rate < 1e6:
                        if height <= chance_of_poisson(k, rate):
                            found = k
                    else:
                        if height <= chance_of_large_poisson(k, rate):
                            found = k
            number = number + 1
    return found


def poisson_candidate(rate, bits):
    """The Poisson number that a block proposes, of rates from 10 on."""
    b = 0.931 + 2.53 * sqrt(rate)
    u = f64(((bits >> 23) & 2199023255550) | 1) * 4.547473508864641e-13 - 0.5
    return floor((2.0 * (0.02483 * b - 0.059) / (0.5 - abs(u)) + b) * u + rate + 0.43)


def poisson_is_sure(rate, bits):
    """1 if what a block proposes is accepted at any chance of it, else 0."""
    b = 0.931 + 2.53 * sqrt(rate)
    u = f64(((bits >> 23) & 2199023255550) | 1) * 4.547473508864641e-13 - 0.5
    v = f64(((bits & 16777215) << 1) | 1) * 2.9802322387695312e-08
    return select((abs(u) <= 0.43) & (v <= 0.9277 - 3.6224 / (b - 2.0)), 1.0, 0.0)


def poisson_height(rate, bits):
    """The logarithm of the chance from which what a block proposes is accepted; inf for none."""
    b = 0.931 + 2.53 * sqrt(rate)
    u = f64(((bits >> 23) & 2199023255550) | 1) * 4.547473508864641e-13 - 0.5
    v = f64(((bits & 16777215) << 1) | 1) * 2.9802322387695312e-08
    rest = 0.5 - abs(u)
    slope = (0.02483 * b - 0.059) / (rest * rest) + b
    height = log(v * (1.1239 + 1.1328 / (b - 3.4)) / slope)
    return select((rest < 0.013) & (v > rest), inf, height)


def poisson_chance(k, rate):
    """The logarithm of the probability of k."""
    return select(rate < 1e6, chance_of_poisson(k, rate), chance_of_large_poisson(k, rate))


def chance_of_poisson(k, rate):
    """The logarithm of the probability of k where the rate is not large."""
    return k * log(rate) - rate - lgamma(k + 1.0)


def chance_of_large_poisson(k, rate):
    """The logarithm of the probability of k, of large rates, without terms that are larger yet."""
    return -deviance(k, rate) - 0.5 * log(6.283185307179586 * k) - 0.08333333333333333 / k


def deviance(k, mean):
    """k log(k / mean) - k + mean, without cancellation."""
    x = (k - mean) / mean
    return mean * ((1.0 + x) * log1p(x) - x)


def binomial_chance(k, n, p):
    """The logarithm of the probability of k, but for a term of n and p."""
    return select(n < 1e6, chance_of_binomial(k, n, p), chance_of_large_binomial(k, n, p))


def chance_of_binomial(k, n, p):
    """The logarithm of the probability of k, but for a term of n and p, where n is not large."""
    return k * log(p / (1.0 - p)) - lgamma(k + 1.0) - lgamma(n - k + 1.0)


def chance_of_large_binomial(k, n, p):
    """The same where n is large."""
    rest = n - k
    failures = -deviance(rest, n * (1.0 - p)) - 0.5 * log(rest) - 0.08333333333333333 / rest
    return failures - deviance(k, n * p) - 0.5 * log(k) - 0.08333333333333333 / k


def binomial_attempt(n, p, key, counter):
    """A binomial number of a mean below 10 that few steps of an inversion give, else -1.

    Of p above 1/2 the failures are drawn.
    """
    odd = ((threefry(key, counter) >> 11) & 9007199254740990) | 1
    left = f64(odd) * 1.1102230246251565e-16
    chance = select(p > 0.5, 1.0 - p, p)
    odds = chance / (1.0 - chance)
    share = exp(n * log1p(-chance))
    count = 0.0
'''
    + _BINOMIAL_STEPS
    + '''    usual = (n >= 0.0) & (n < 1e15) & (chance >= 0.0) & (n * chance < 10.0)
    found = select(usual & ((left <= share) | (n <= 16.0)), count, -1.0)
    return select((p > 0.5) & (found >= 0.0), n - found, found)


def large_binomial_attempt(attempt, n, p, key, counter):
    """A binomial number of a mean from 10 on, if the first candidate is accepted; else -1.

    What there was an attempt of stays. Bits are used as by `large_poisson_attempt`; of p above
    1/2 the failures are drawn.
    """
    bits = threefry(key, counter)
    trials = f64(n)
    chance = select(f64(p) > 0.5, 1.0 - f64(p), f64(p))
    k = binomial_candidate(trials, chance, bits)
    there = (k >= 0.0) & (k <= trials)
    most = binomial_chance(floor((trials + 1.0) * chance), trials, chance)
    share = binomial_chance(minimum(maximum(k, 0.0), trials), trials, chance) - most
    accepted = binomial_height(trials, chance, bits) <= share
    accepted = accepted | (binomial_is_sure(trials, chance, bits) > 0.0)
    found = select(there & accepted, select(f64(p) > 0.5, trials - k, k), -1.0)
    usual = (trials < 1e15) & (chance >= 0.0) & (trials * chance >= 10.0)
    return type(attempt)(select(usual, found, f64(attempt)))


def binomial_candidate(n, p, bits):
    """The binomial number that a block proposes, of means from 10 on."""
    b = 1.15 + 2.53 * sqrt(n * p * (1.0 - p))
    u = f64(((bits >> 23) & 2199023255550) | 1) * 4.547473508864641e-13 - 0.5
    a = -0.0873 + 0.0248 * b + 0.01 * p
    return floor((2.0 * a / (0.5 - abs(u)) + b) * u + n * p + 0.5)


def binomial_is_sure(n, p, bits):
    """1 if what a block proposes is accepted at any chance of it, else 0."""
    b = 1.15 + 2.53 * sqrt(n * p * (1.0 - p))
    u = f64(((bits >> 23) & 2199023255550) | 1) * 4.547473508864641e-13 - 0.5
    v = f64(((bits & 16777215) << 1) | 1) * 2.9802322387695312e-08
    return select((abs(u) <= 0.43) & (v <= 0.92 - 4.2 / b), 1.0, 0.0)


def binomial_height(n, p, bits):
    """The logarithm of the part of the largest chance from which it is accepted."""
    spread = sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    u = f64(((bits >> 23) & 2199023255550) | 1) * 4.547473508864641e-13 - 0.5
    v = f64(((bits & 16777215) << 1) | 1) * 2.9802322387695312e-08
    rest = 0.5 - abs(u)
    slope = (-0.0873 + 0.0248 * b + 0.01 * p) / (rest * rest) + b
    return log(v * ((2.83 + 5.1 / b) * spread) / slope)


def random_binomial(attempt, n, p, key, counter):
    """The binomial number of which there was an attempt; -1 where there is none."""
    found = attempt
    if (attempt < 0.0) & (n >= 0.0) & (n < 1e15) & (p >= 0.0) & (p <= 1.0):
        chance = select(p > 0.5, 1.0 - p, p)
        odds = chance / (1.0 - chance)
        if n * chance < 10.0:
            odd = ((threefry(key, counter) >> 11) & 9007199254740990) | 1
            u = f64(odd) * 1.1102230246251565e-16
            share = exp(n * log1p(-chance))
            found = 0.0
            while (u > share) & (found < 110.0) & (found < n):
                u = u - share
                share = share * (odds * (n - found) / (found + 1.0))
                found = found + 1.0
        else:
            most = floor((n + 1.0) * chance)
            number = i64(1)
            while found < 0.0:
                bits = threefry(key, counter ^ (number << 44))
                k = binomial_candidate(n, chance, bits)
                if (k >= 0.0) & (k <= n):
                    if binomial_is_sure(n, chance, bits) > 0.0:
                        found = k
                    else:
                        height = binomial_height(n, chance, bits)
                        if n < 1e6:
                            height = height + chance_of_binomial(most, n, chance)
                            if height <= chance_of_binomial(k, n, chance):
                                found = k
                        else:
                            height = height + chance_of_large_binomial(most, n, chance)
                            if height <= chance_of_large_binomial(k, n, chance):
                                found = k
                number = number + 1
        found = select(p > 0.5, n - found, found)
    return found


def truncated_attempt(lower, upper, key, counter):
    """A normal number between bounds by the error function; 0 where they are far on one side."""
    low = f64(lower)
    high = f64(upper)
    start = erf(low * 0.7071067811865476)
    bits = threefry(key, counter)
    odd = ((bits >> 11) & 9007199254740990) | 1
    u = f64(odd) * 1.1102230246251565e-16
    p = start + u * (erf(high * 0.7071067811865476) - start)
    found = minimum(maximum(1.4142135623730951 * erfinv(p), low), high)
    return type(lower)(select((low > 1.0) | (high < -1.0), 0.0, found))


def random_truncated(attempt, lower, upper, key, counter):
    """The normal number of which there was an attempt, far out by rejection.

    Marsaglia, Generating a variable from the tail of the normal distribution, Technometrics 6(1),
    1964: roots of exponential numbers, which are cut off at the other bound.
    """
    found = f64(attempt)
    low = f64(lower)
    high = f64(upper)
    if (low > 1.0) | (high < -1.0):
        sign = select(low > 1.0, 1.0, -1.0)
        near = select(low > 1.0, low, -high)
        far = select(low > 1.0, high, -low)
        reach = -expm1(0.5 * (near - far) * (near + far))
        attempt_number = i64(0)
        found = select(near < far, -1.0, near)
        while found < 0.0:
            bits = threefry(key, counter ^ (attempt_number << 44))
            odd = ((bits >> 11) & 9007199254740990) | 1
            beyond = -log1p(-reach * (f64(odd) * 1.1102230246251565e-16))
            # the root of near^2 + 2 beyond, less near, without the square
            more = 2.0 * beyond / (near * (1.0 + sqrt(1.0 + 2.0 * beyond / near / near)))
            bits = threefry(key, counter ^ ((-1 - attempt_number) << 44))
            odd = ((bits >> 11) & 9007199254740990) | 1
            if f64(odd) * 1.1102230246251565e-16 * (near + more) <= near:
                found = minimum(near + more, far)
            attempt_number = attempt_number + 1
        found = sign * found
    return type(attempt)(found)
'''
)
