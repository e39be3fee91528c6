"""What ONNX calls an op: one row per op whose operands and value are those of an ONNX operator.

`save` writes the operator, `load` reads it as the op; what needs more than a name is in `forms.py`
(how an op is written) and in `operators/` (how an operator is read).
"""

from __future__ import annotations

FLOATS = {
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "log": "Log",
    "reciprocal": "Reciprocal",
    "round": "Round",
    "sigmoid": "Sigmoid",
    "sin": "Sin",
    "sinh": "Sinh",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}
"""Of floating-point numbers; rounding leaves integers what they are."""

NUMBERS = {
    "abs": "Abs",
    "add": "Add",
    "divide": "Div",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "less": "Less",
    "less_equal": "LessOrEqual",
    "matmul": "MatMul",
    "maximum": "Max",
    "minimum": "Min",
    "multiply": "Mul",
    "negative": "Neg",
    "power": "Pow",
    "relu": "Relu",
    "sign": "Sign",
    "subtract": "Sub",
}
"""Of numbers of any kind; bools are computed with as numbers, which ONNX does not."""

BOOLS = {
    "logical_and": "And",
    "logical_not": "Not",
    "logical_or": "Or",
    "logical_xor": "Xor",
}
"""Of bools; a number is one that is not zero."""

ANY = {
    "copy": "Identity",
    "equal": "Equal",
    "stop_gradient": "Identity",
    "where": "Where",
}
"""Of values of any dtype."""

BITS = {
    "bitwise_and": ("BitwiseAnd", "And"),
    "bitwise_or": ("BitwiseOr", "Or"),
    "bitwise_xor": ("BitwiseXor", "Xor"),
}
"""Of integers, and of bools."""

REDUCTIONS = {
    "max": "ReduceMax",
    "min": "ReduceMin",
    "prod": "ReduceProd",
    "sum": "ReduceSum",
    "any": "ReduceMax",
    "all": "ReduceMin",
}
"""Along axes."""

RANDOM = "it draws random numbers by Threefry, which ONNX has not"
SYSTEM = "ONNX has no operator for it"
FUNCTION = "ONNX has no operator for this special function"
EFFECT = "it has an effect, and ONNX models have none"
COMPLEX = "ONNX computes with no complex numbers"
RANKS = "it combines the arrays of ranks, and a model is run by one"

REFUSED = {
    **dict.fromkeys(
        (
            "cholesky", "cofactor", "eig", "eigh", "eigvalsh", "expm", "expm_frechet", "gcd", "inv",
            "lcm", "logabsdet", "pinv", "qr", "solve", "solve_triangular", "svd", "svdvals",
        ),
        SYSTEM,
    ),
    **dict.fromkeys(
        (
            "betainc", "digamma", "erfinv", "expn", "gamma_curve", "gamma_slope", "gammainc",
            "gammaincc", "hyp1f1", "hyp2f1", "lgamma", "orthogonal_polynomial",
        ),
        FUNCTION,
    ),
    **dict.fromkeys(
        (
            "below_attempt", "binomial_attempt", "exponential_float32", "exponential_float64",
            "gamma_attempt", "gumbel_float32", "gumbel_float64", "large_binomial_attempt",
            "large_poisson_attempt", "log_gamma_attempt", "normal_float32", "normal_float64",
            "poisson_attempt", "random_below", "random_binomial", "random_gamma",
            "random_log_gamma", "random_order", "random_places", "random_poisson",
            "random_truncated", "scaled_bits", "threefry", "truncated_attempt", "unit_float32",
            "unit_float64", "wide_attempt",
        ),
        RANDOM,
    ),
    **dict.fromkeys(("check", "fail", "print"), EFFECT),
    **dict.fromkeys(
        (
            "complex", "conjugate", "dft", "imaginary_part", "on_complex", "real_dft",
            "real_inverse_dft", "real_part", "view_as_complex", "view_as_real",
        ),
        COMPLEX,
    ),
    "as_strided": "it reads memory by strides, which ONNX has not",
}  # fmt: skip
"""The ops that no model can have, each with the reason."""
