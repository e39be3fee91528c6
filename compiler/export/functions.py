"""What exported kernels call: plain Python that Numba compiles, copied into the file as it stands.

A file gets the parts of `SOURCE`, and of `compiler.llvm.library`, that its kernels need. Numba
compiles what is decorated with `compiled`; with NUMBA_DISABLE_JIT=1 nothing is, and a debugger
steps through all of it. Maths is NumPy's and the C library's here: what the executable computes
with formulas of its own differs from it by units in the last place (docs/ulp.md).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache

from staticgraph.compiler.llvm import library

SOURCE = '''
compiled = njit(error_model="numpy")
reordered = njit(error_model="numpy", fastmath={"reassoc"})

boolean = np.bool_
u8 = np.uint8
u16 = np.uint16
u32 = np.uint32
u64 = np.uint64
i8 = np.int8
i16 = np.int16
i32 = np.int32
i64 = np.int64
f32 = np.float32
f64 = np.float64
inf = np.inf
nan = np.nan

acos = np.arccos
acosh = np.arccosh
asin = np.arcsin
asinh = np.arcsinh
atan = np.arctan
atan2 = np.arctan2
atanh = np.arctanh
ceil = np.ceil
copysign = np.copysign
cos = np.cos
cosh = np.cosh
exp = np.exp
exp2 = np.exp2
expm1 = np.expm1
fabs = np.fabs
floor = np.floor
fmod_f = np.fmod
hypot = np.hypot
isnan = np.isnan
log = np.log
log10 = np.log10
log1p = np.log1p
log2 = np.log2
pow_f = np.power
remainder_f = np.remainder
rint = np.rint
sin = np.sin
sinh = np.sinh
sqrt = np.sqrt
tan = np.tan
tanh = np.tanh
trunc = np.trunc


@compiled
def select(condition, yes, no):
    """`yes` where the condition holds, else `no`: both have been computed."""
    return yes if condition else no


@reordered
def fsum(a, b):
    """a + b of a sum that may be added in another order, so that it is vectorised."""
    return a + b


@reordered
def add_lost(total, x):
    """total, or nan where x is inf or nan."""
    return total + (x - x)


@reordered
def fprod(a, b):
    """a * b of a product that may be multiplied in another order."""
    return a * b


@compiled
def maximum(a, b):
    """The larger one; nan if either is."""
    return a if (a > b) | (a != a) else b


@compiled
def minimum(a, b):
    """The smaller one; nan if either is."""
    return a if (a < b) | (a != a) else b


@compiled
def float32_of_float16(half):
    """The float32 of the bits of a float16: exact."""
    bits = i64(half)
    shifted = (bits & 32767) << 13
    moved = np.uint32(shifted).view(np.float32) * f32(2.0**112)
    moved = i64(np.float32(moved).view(np.uint32))
    magnitude = moved if shifted < 0x0F800000 else shifted | 0x7F800000
    return np.uint32(((bits & 32768) << 16) | magnitude).view(np.float32)


@compiled
def float16_of_float32(value):
    """The bits of the nearest float16, of two the even one; inf from 65520 on."""
    bits = i64(np.float32(value).view(np.uint32))
    magnitude = bits & 0x7FFFFFFF
    if magnitude < 0x38800000:
        beside = np.uint32(magnitude).view(np.float32) + f32(0.5)
        found = i64(np.float32(beside).view(np.uint32)) - 0x3F000000
    else:
        found = (magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1)) >> 13
    if magnitude >= 0x477FF000:
        found = 0x7C00
    if magnitude > 0x7F800000:
        found = 0x7E00
    return u16(((bits >> 16) & 32768) | found)


@compiled
def float16_of_float64(value):
    """The same of a float64, by a float32 that is rounded to odd."""
    nearest = f32(value)
    bits = i64(np.float32(nearest).view(np.uint32))
    if f64(nearest) != value:
        bits = (bits - (abs(f64(nearest)) > abs(value))) | 1
    return float16_of_float32(np.uint32(bits).view(np.float32))


@compiled
def float32_of_bfloat16(half):
    """The float32 of which a bfloat16 is the upper half."""
    return np.uint32(i64(half) << 16).view(np.float32)


@compiled
def bfloat16_of_float32(value):
    """The bits of the nearest bfloat16, of two the even one."""
    bits = i64(np.float32(value).view(np.uint32))
    if bits & 0x7FFFFFFF > 0x7F800000:
        return u16((bits >> 16) | 64)
    return u16(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 65535)


@compiled
def uint64_of_float64(value):
    """A float cut to 64 bits without a sign; numbers below 0 wrap."""
    if value >= 2.0**63:
        return u64(i64(value - 2.0**63)) ^ u64(1 << 63)
    return u64(i64(value))


@compiled
def rsqrt(x):
    """1 / sqrt(x)."""
    return type(x)(1) / np.sqrt(x)


@compiled
def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow."""
    e = np.exp(-abs(x))
    small = e / (type(x)(1) + e)
    return small if x < 0 else type(x)(1) - small


@compiled
def softplus(x):
    """log(1 + exp(x)), without overflow."""
    above = x if (x > 0) | (x != x) else type(x)(0)
    return above + np.log1p(np.exp(-abs(x)))


@compiled
def logit(x):
    """log(x / (1 - x))."""
    return type(x)(np.log(f64(x)) - np.log1p(-f64(x)))


@compiled
def sinc(x):
    """sin(pi x) / (pi x), 1 at 0."""
    whole = np.rint(f64(x))
    sine = np.sin(math.pi * (f64(x) - whole))
    sine = sine if whole % 2 == 0 else -sine
    return type(x)(1) if x == 0 else type(x)(sine / (math.pi * f64(x)))


@compiled
def erf(x):
    """The error function."""
    return type(x)(math.erf(x))


@compiled
def erfc(x):
    """1 - erf(x), accurate where that is small."""
    return type(x)(math.erfc(x))


@compiled
def threefry(key, counter):
    """64 random bits of a key and a counter: Threefry 2x32-20 (Salmon et al., SC 2011)."""
    word = i64(4294967295)
    first, second = (key >> 32) & word, key & word
    third = first ^ second ^ 0x1BD11BDA
    left, right = (((counter >> 32) & word) + first) & word, ((counter & word) + second) & word
    for group in range(5):
        for count in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            left = (left + right) & word
            right = (((right << count) & word) | (right >> (32 - count))) ^ left
        first, second, third = second, third, first
        left, right = (left + first) & word, (right + second + (group + 1)) & word
    return (left << 32) | right


@compiled
def erfinv(x):
    """The inverse of erf, by Winitzki's approximation and Newton's method with Halley's term."""
    a = abs(f64(x))
    if not a < 1:
        return type(x)(np.copysign(inf, x)) if a == 1 else type(x)(nan)
    logarithm = np.log((1.0 - a) * (1.0 + a))
    half = 4.33 + 0.5 * logarithm
    found = np.sqrt(np.sqrt(half * half - 6.8 * logarithm) - half)
    for _ in range(4):
        missing = (math.erfc(found) - (1.0 - a)) if a > 0.5 else (a - math.erf(found))
        step = missing * (0.5 * math.sqrt(math.pi)) * np.exp(found * found)
        found = found + step / (1.0 - found * step)
    return type(x)(np.copysign(found, x))


@compiled
def lgamma(x):
    """log|gamma(x)|; inf at 0 and the negative integers."""
    if (x <= 0) & (x == np.floor(x)):
        return type(x)(inf)
    return type(x)(math.lgamma(x))


@compiled
def digamma(x):
    """The derivative of lgamma: -inf at 0, inf at -0, nan at the negative integers."""
    if x == 0:
        return -np.copysign(type(x)(inf), x)
    if (x < 0) & (x == np.floor(x)):
        return type(x)(nan)
    at = f64(x)
    total = 0.0
    if at < 0:
        total = -math.pi / np.tan(math.pi * (at - np.rint(at)))
        at = 1.0 - at
    while at < 10.0:
        total = total - 1.0 / at
        at = at + 1.0
    square = 1.0 / (at * at)
    tail = 1 / 252 - square * (1 / 240 - square * (1 / 132 - square * (691 / 32760 - square / 12)))
    tail = square * (1 / 12 - square * (1 / 120 - square * tail))
    return type(x)(total + np.log(at) - 0.5 / at - tail)


@compiled
def address(elements, first):
    """The elements from one on."""
    return elements[first:]


def matrix(elements, rows, columns, leading):
    """A matrix whose rows begin `leading` elements apart."""
    step = elements.itemsize
    return np.lib.stride_tricks.as_strided(elements, (rows, columns), (leading * step, step))


def product(left_turned, right_turned, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    """c = alpha a b + beta c for a (m, k), b (k, n) and c (m, n), by NumPy; a turned one is
    stored transposed."""
    left = matrix(a, k, m, lda).T if left_turned else matrix(a, m, k, lda)
    right = matrix(b, n, k, ldb).T if right_turned else matrix(b, k, n, ldb)
    result = matrix(c, m, n, ldc)
    found = alpha * np.matmul(left, right)
    result[...] = found if beta == 0 else found + beta * result


def gemm(left_turned, right_turned, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    """`product`, called from compiled code."""
    with objmode():
        product(left_turned, right_turned, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)


OF_PRODUCTS = "void(i8, i8, i8, i8, i8, {0}, {0}[::1], i8, {0}[::1], i8, {0}, {0}[::1], i8)"
gemm_f32 = njit(OF_PRODUCTS.format("f4"))(gemm)  # else one is compiled for each number
gemm_f64 = njit(OF_PRODUCTS.format("f8"))(gemm)


def parts(extent, work, least, grain, most):
    """In how many chunks a loop is cut: each adds by itself, in the order of the executable."""
    return max(1, min(most, extent // least, work // grain))


def sizes(name, array, ndim):
    """The sizes of an argument with so many axes."""
    if not isinstance(array, np.ndarray | np.generic):
        raise TypeError(f"{name}: a {type(array).__name__} given, a NumPy array expected")
    if np.ma.is_masked(array):
        raise TypeError(f"{name}: a masked array has elements without a value")
    if array.ndim != ndim:
        raise TypeError(f"{name}: {array.ndim} axes given, {ndim} expected")
    return array.shape


def agree(step, left, right):
    """Compare two sizes that a step takes for equal."""
    if left != right:
        raise ValueError(f"{step}: the sizes do not fit: {left} and {right} differ")


def flat(name, array, dtype, shape, written=False):
    """The elements of an argument in a row, after a look at its type."""
    sizes(name, array, len(shape))
    if array.dtype != dtype or array.shape != shape:
        given, wanted = (f"{np.dtype(one[0])}{list(one[1])}" for one in
                         ((array.dtype, array.shape), (dtype, shape)))
        raise TypeError(f"{name}: {given} given, {wanted} expected")
    if written and not (array.flags.c_contiguous and array.flags.writeable):
        raise TypeError(f"{name}: it is updated in place, and has to be contiguous and writable")
    elements = np.require(np.asarray(array), requirements="CW").reshape(-1)
    if elements.itemsize == 2 and elements.dtype.kind in "fV":  # floats that are stored only
        return elements.view(np.uint16)
    return elements.view(np.uint8) if dtype == np.bool_ else elements


def apart(written, read):
    """Look whether arrays that are updated in place share memory with others."""
    names = [*written, *read]
    for i, name in enumerate(written):
        for other in names[i + 1:]:
            if np.may_share_memory(written[name], (written | read)[other]):
                raise TypeError(f"{name}: it is updated in place, and shares memory with {other}")


def report(name, value, expected, spread):
    """Print a result and how far it is from the executable's; whether that is rounding alone.

    The spread is how far the executable's own result moved when its inputs were some units in
    the last place away.
    """
    print(f"{name} = {np.array2string(value, threshold=20)}  # {value.dtype}{list(value.shape)}")
    if value.dtype.kind != "f":
        close = np.array_equal(value, expected)
        print(f"    {'equal to' if close else 'DIFFERS from'} the executable's")
        return close
    finite = expected[np.isfinite(expected)]
    largest = np.abs(finite).max() if finite.size else 0.0
    bound = max(TOLERANCE[value.dtype.name] * largest, 4 * float(spread))
    with np.errstate(invalid="ignore"):
        distance = np.abs(value - expected)[np.isfinite(expected)].max() if finite.size else 0.0
    close = np.allclose(value, expected, 0, bound, equal_nan=True)
    if np.array_equal(value, expected, equal_nan=True):
        print("    equal to the executable's")
    else:
        print(f"    {'differs' if close else 'DIFFERS'} from the executable's by at most"
              f" {distance:.2g}, where the largest element is {largest:.2g} and rounding of the"
              f" inputs alone moves an element by {float(spread):.2g}")
    return close


TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-13}
'''


def definitions(names: Iterable[str]) -> str:
    """The source of the functions and numbers of some names, and of what they use in turn."""
    parts, defined = _parts()
    wanted: set[int] = set()
    left = {name for name in names if name in defined}
    while left:
        at = defined[left.pop()]
        if at not in wanted:
            wanted.add(at)
            left |= used_names(parts[at]) & defined.keys()
    return _joined([parts[at] for at in sorted(wanted)])


def used_names(source: str) -> set[str]:
    """The names that a piece of source reads."""
    return {
        node.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def all_names() -> frozenset[str]:
    """Every name that an exported file may define."""
    return frozenset(_parts()[1])


@cache
def _parts() -> tuple[list[str], dict[str, int]]:
    """Every definition in order, and where each name's is."""
    parts: list[str] = []
    defined: dict[str, int] = {}
    for source, decorator in ((SOURCE, ""), (library.SOURCE, "@compiled\n")):
        lines = source.splitlines()
        for node in ast.parse(source).body:
            first = node.lineno
            if isinstance(node, ast.FunctionDef):
                first = min([first, *(one.lineno for one in node.decorator_list)])
                name = node.name
            else:
                assert isinstance(node, ast.Assign)
                (target,) = node.targets
                assert isinstance(target, ast.Name)
                name = target.id
            defined[name] = len(parts)
            parts.append(decorator + "\n".join(lines[first - 1 : node.end_lineno]))
    for name, function in library.NAMES.items():
        if name != function:
            defined[name] = len(parts)
            parts.append(f"{name} = {function}")
    return parts, defined


def _joined(parts: list[str]) -> str:
    """Definitions below one another, functions apart by two empty lines."""
    text = ""
    previous_is_function = False
    for part in parts:
        is_function = part.startswith(("def ", "@"))
        if text:
            text += "\n\n\n" if is_function or previous_is_function else "\n"
        text += part
        previous_is_function = is_function
    return text
