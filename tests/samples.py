"""Sample inputs of every op and public function: the one table that the generic tests run over.

A sample is what a user writes: the arguments of the public function, arrays where tensors go.
Those of a subject are in `tests/sampled/`.
"""

from __future__ import annotations

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.raised import raised
from staticgraph.compiler.core.user_text import UserText
from tests.sampled import indexing, matrices, nn, pointwise, reductions, shapes
from tests.sampled.sample import Sample, call
from tests.values import bools, integers, positive, seed, spread

seed(6000)
NO = raised(ValueError("no", 3))

SAMPLES: dict[str, list[Sample]] = {
    **pointwise.SAMPLES, **reductions.SAMPLES, **matrices.SAMPLES, **nn.SAMPLES, **shapes.SAMPLES,
    **indexing.SAMPLES,
    "checkpoint": [call(spread(2, 3), region=0), call(spread(), region=3)],
    "recompute": [call(spread(2, 3), integers(4)), call(spread()), call(bools(3), order=0)],
    "after": [call(spread(2, 3), integers(4)), call(spread()), call(bools(3), order=0)],
    "print": [
        call(integers(1), spread(2), text=UserText("a {}"), batched=False, place=0, order=0),
        call(integers(2), text=UserText("here"), batched=True, place=3, order=0),
    ],
    "check": [
        call(integers(1), bools(2) | True, text=UserText("a"), batched=False, place=0, order=0),
        call(integers(3), bools() | True, text=UserText("b"), batched=True, place=1, order=0),
    ],
    "fail": [
        call(integers(1), bools() | True, error=NO, expected=True, batched=False, place=0, order=0),
        call(integers(), bools() & False, error=NO, expected=False, batched=True, place=1, order=0),
    ],
    "threefry": [
        call(integers(3), integers(3), order=0),
        call(integers(2, 1, low=-9), integers(12), order=0),
    ],
    **{
        name: [
            call(np.array([-(1 << 62), -1, 0, 1 << 40, (1 << 63) - 1]), order=0),
            call(integers(2, 3), order=0),
        ]
        for name in (
            "unit_float32", "unit_float64", "random_order", "normal_float32", "normal_float64",
            "exponential_float32", "exponential_float64", "gumbel_float32", "gumbel_float64",
        )
    },
    "scaled_bits": [
        call(np.array([-(1 << 62), -1, (1 << 63) - 1]), integers(3, low=1), order=0),
        call(integers(2, 1), integers(3, low=1), order=0),
    ],
    "below_attempt": [
        call(np.array([7, 1 << 40, 1 << 62, 0]), integers(), integers(4), order=0),
        call(integers(3, low=1), integers(3), integers(2, 1), order=0),
    ],
    "wide_attempt": [
        call(np.array([7, 1 << 62, 3 << 61, 0]), integers(), integers(4), order=0),
        call(integers(3, low=1), integers(3), integers(2, 1), order=0),
    ],
    "random_below": [
        call(np.array([5, -1, -1, -1]), np.array([7, 1 << 40, (1 << 63) - 1, 0]), integers(),
             integers(4), order=0),
        call(np.array(-1), integers(3, low=1), integers(3), integers(2, 1), order=0),
    ],
    **{
        name: [
            call(positive(5, 2) * 10, integers(), integers(5, 2), order=0),
            call(positive(3), integers(3), integers(2, 1), order=0),
        ]
        for name in ("gamma_attempt", "log_gamma_attempt", "poisson_attempt")
    },
    **{
        name: [
            call(np.array([1.5, rejected, 0.5]), positive(2, 3), integers(), integers(3), order=0),
            call(np.array([rejected]), positive(3), integers(3), integers(2, 1), order=0),
        ]
        for name, rejected in (
            ("random_gamma", -1.0), ("random_log_gamma", 1e30), ("random_poisson", -1.0)
        )
    },
    "binomial_attempt": [
        call(np.array([3.0, 50.0, 1e6]), np.array([0.3, 0.9, 0.5]), integers(2, 1), 3, order=0),
        call(np.array([40.0]), positive(3) / 9, integers(3), integers(), order=0),
    ],
    "large_poisson_attempt": [
        call(np.array([3.0, -1.0]), np.array([9.0, 70.0]), integers(2, 1), 3, order=0),
        call(np.array(-1.0), positive(3) * 30, integers(3), integers(2, 1), order=0),
    ],
    "large_binomial_attempt": [
        call(np.array([3.0, -1.0]), np.array([9.0, 70.0]), np.array([0.3, 0.6]), integers(2, 1), 3,
             order=0),
        call(np.array(-1.0), np.array([400.0]), positive(3) / 9, integers(3), 7, order=0),
    ],
    "random_binomial": [
        call(np.full(3, -1.0), np.array([3.0, 50.0, 1e6]), np.array([0.3, 0.9, 0.5]),
             integers(2, 1), 3, order=0),
        call(np.array(2.0), np.array([40.0]), positive(3) / 9, integers(3), integers(), order=0),
    ],
    "random_places": [
        call(integers(7, low=0, high=9), order=0),
        call(np.array([[5, 4, 3], [0, 0, 0], [9, 0, 8]]), order=0),
    ],
    "truncated_attempt": [
        call(np.array([-2.0, 0.5, 3.0]), np.array([0.5, 2.5, 9.0]), integers(2, 1), 3, order=0),
        call(np.array([-1.0]), positive(3), integers(3), integers(), order=0),
    ],
    "random_truncated": [
        call(np.array([0.3, 0.0]), np.array([-2.0, 3.0]), np.array([0.5, 9.0]), 7, 3, order=0),
        call(np.zeros(1), np.array([-9.0, 2.0]), np.array([-4.0, 3.0]), integers(2, 1), 3, order=0),
    ],
    **{
        name: [
            call(positive(3, 4), positive(4), order=0), call(positive(), positive(2, 1), order=0),
        ]
        for name in ("gamma_slope", "gamma_curve")
    },
}  # fmt: skip


OF_COMPLEX = frozenset((
    "complex", "conjugate", "dft", "eig", "eigvals", "imaginary_part", "on_complex",
    "real_dft", "real_part", "real_inverse_dft", "view_as_complex", "view_as_real",
))  # fmt: skip
"""Ops of complex operands or results: tests/compiler/complex_numbers has samples of them."""


WITHOUT = {
    **dict.fromkeys(OF_COMPLEX - {"eigvals"}, "tests/compiler/complex_numbers compares it"),
    **dict.fromkeys(
        (
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "bitwise_not",
            "bitwise_count",
            "left_shift",
            "right_shift",
        ),
        "exact, and NumPy's: the generic tests compare it with NumPy",
    ),
    **dict.fromkeys(
        (
            "i0",
            "i0e",
            "i1",
            "i1e",
            "erfinv",
            "ndtri",
            "gammainc",
            "gammaincc",
            "betainc",
            "cbrt",
            "airy_ai",
            "cosine_integral",
            "dawsn",
            "exp1",
            "expi",
            "expn",
            "fresnel_cosine",
            "fresnel_sine",
            "hyp1f1",
            "hyp2f1",
            "owens_t",
            "sine_integral",
            "spence",
            "bessel_j0",
            "bessel_j1",
            "bessel_y0",
            "bessel_y1",
            "modified_bessel_k0",
            "modified_bessel_k1",
            "orthogonal_polynomial",
            "scaled_modified_bessel_k0",
            "scaled_modified_bessel_k1",
            "spherical_bessel_j0",
        ),
        "test_special.py compares it with mpmath",
    ),
    "sparsemax": "not in PyTorch; test_rows.py compares it with bisection",
    **dict.fromkeys(
        (
            "wide_attempt",
            "below_attempt",
            "binomial_attempt",
            "exponential_float32",
            "exponential_float64",
            "gamma_attempt",
            "gamma_curve",
            "gamma_slope",
            "gumbel_float32",
            "gumbel_float64",
            "large_binomial_attempt",
            "large_poisson_attempt",
            "log_gamma_attempt",
            "normal_float32",
            "normal_float64",
            "poisson_attempt",
            "random_below",
            "random_binomial",
            "random_gamma",
            "random_log_gamma",
            "random_order",
            "random_places",
            "random_poisson",
            "random_truncated",
            "scaled_bits",
            "threefry",
            "truncated_attempt",
            "unit_float32",
            "unit_float64",
        ),
        "PyTorch's numbers are others; tests/staticgraph/random compares them",
    ),
    **dict.fromkeys(
        ("dawsn_slope", "fresnel_cosine_slope", "fresnel_sine_slope"),
        "a slope; test_integrals.py compares it with mpmath",
    ),
    "airy_ai_slope": "the slope of airy_ai; test_special.py compares it with mpmath",
    "spherical_j1": "the slope of spherical_bessel_j0; test_special.py compares it with mpmath",
    "placeholder": "a leaf of a graph: it has no value of its own",
    "variable": "a leaf of a graph: it has no value of its own",
    "constant": "a leaf of a graph; the same as torch.tensor, without a gradient",
    "iota": "torch.arange, without operands: there is no gradient",
    "size_of": "a size as a value, without operands: there is no gradient",
    "as_strided": "made by the compiler of inputs, whose views no two elements share a place of",
    "gemm": "made by the compiler of matmul and add, which are compared",
    "cofactor": "the slope of det, which is compared",
    "log_odds": "logit without its option, which is compared",
    "first_places": "a part of topk, which is compared",
    "recompute": "x: a mark of the compiler's",
    "after": "x: a mark of the compiler's",
    "print": "a step with an effect: PyTorch has Python's",
    "check": "a step with an effect: PyTorch has Python's assert",
    "fail": "a step with an effect: PyTorch has Python's raise",
    "checkpoint": "x: a mark of the compiler's",
    "overlap_add": "the adjoint of sliding_windows, which is compared with torch's as_strided; "
    "torch has it for two axes and one stride only (fold)",
    "scan": "a loop of a graph; torch runs loops in Python",
    "while_loop": "a loop of a graph; torch runs loops in Python",
    "cond": "a branch of a graph; torch runs branches in Python",
    "item": "a part of the value of a loop or a branch",
}
"""The ops without a counterpart in PyTorch, each with the reason."""


def elementwise(arity: int) -> tuple[str, ...]:
    """The public ops of so many floating operands, element by element, without attributes."""
    return tuple(
        name
        for name in ops.PUBLIC
        if isinstance(op := getattr(ops, name), Op)
        and op.elementwise
        and op.bind is None
        and name not in OF_COMPLEX
        and len(SAMPLES[name][0].args) == arity
        and SAMPLES[name][0].args[0].dtype.kind == "f"
    )
