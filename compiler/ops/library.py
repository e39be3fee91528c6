"""Every op and composite that both paradigms share: `compiler.ops` has the names of this module."""

from staticgraph.compiler.core.op import all_ops as _all_ops
from staticgraph.compiler.ops import (
    public as _public,
    public_linalg as _public_linalg,
    public_special as _public_special,
)
from staticgraph.compiler.ops.attending import (
    attention as attention,
    attention_cotangents as attention_cotangents,
    attention_gradients as attention_gradients,
)
from staticgraph.compiler.ops.elementwise.airy import airy_ai_slope as airy_ai_slope
from staticgraph.compiler.ops.elementwise.arithmetic import (
    absolute as absolute,
    copy as copy,
    round as round,
)
from staticgraph.compiler.ops.elementwise.bessel_waves import spherical_j1 as spherical_j1
from staticgraph.compiler.ops.elementwise.complex_numbers import (
    conjugate as conjugate,
    imaginary_part as imaginary_part,
    make_complex as make_complex,
    real_part as real_part,
)
from staticgraph.compiler.ops.elementwise.complex_steps import on_complex as on_complex
from staticgraph.compiler.ops.elementwise.exponential_integrals import (
    dawsn_slope as dawsn_slope,
)
from staticgraph.compiler.ops.elementwise.oscillating_integrals import (
    fresnel_cosine_slope as fresnel_cosine_slope,
    fresnel_sine_slope as fresnel_sine_slope,
)
from staticgraph.compiler.ops.elementwise.rounding import rounded as rounded
from staticgraph.compiler.ops.elementwise.special import log_odds as log_odds
from staticgraph.compiler.ops.fourier import (
    dft as dft,
    real_dft as real_dft,
    real_inverse_dft as real_inverse_dft,
)
from staticgraph.compiler.ops.indexing.getting import getitem as getitem
from staticgraph.compiler.ops.indexing.scatter_reductions import (
    along_extremum as along_extremum,
    along_prod as along_prod,
)
from staticgraph.compiler.ops.indexing.take import (
    along_add as along_add,
    as_strided as as_strided,
    take_add as take_add,
)
from staticgraph.compiler.ops.leaves import (
    constant as constant,
    iota as iota,
    placeholder as placeholder,
    size_of as size_of,
    variable as variable,
)
from staticgraph.compiler.ops.linalg.decompositions import (
    eigh_factors as eigh_factors,
    qr_factors as qr_factors,
    svd_factors as svd_factors,
)
from staticgraph.compiler.ops.linalg.eigenvalues import eig_factors as eig_factors
from staticgraph.compiler.ops.linalg.exponentials import expm_frechet as expm_frechet
from staticgraph.compiler.ops.linalg.products import gemm as gemm
from staticgraph.compiler.ops.linalg.systems import (
    cholesky_factor as cholesky_factor,
    cofactor as cofactor,
    logabsdet as logabsdet,
    signdet as signdet,
    solve_matrices as solve_matrices,
)
from staticgraph.compiler.ops.losses import binary_cross_entropy as binary_cross_entropy
from staticgraph.compiler.ops.nn import clamp as clamp
from staticgraph.compiler.ops.programs.control import (
    cond as cond,
    item as item,
    scan as scan,
    while_loop as while_loop,
)
from staticgraph.compiler.ops.programs.effects import (
    after as after,
    check as check,
    fail as fail,
    print as print,
)
from staticgraph.compiler.ops.programs.regions import (
    checkpoint as checkpoint,
    recompute as recompute,
)
from staticgraph.compiler.ops.public import *
from staticgraph.compiler.ops.public_linalg import *
from staticgraph.compiler.ops.public_special import *
from staticgraph.compiler.ops.random import (
    below_attempt as below_attempt,
    binomial_attempt as binomial_attempt,
    exponential_float32 as exponential_float32,
    exponential_float64 as exponential_float64,
    gamma_attempt as gamma_attempt,
    gamma_curve as gamma_curve,
    gamma_slope as gamma_slope,
    gumbel_float32 as gumbel_float32,
    gumbel_float64 as gumbel_float64,
    large_binomial_attempt as large_binomial_attempt,
    large_poisson_attempt as large_poisson_attempt,
    log_gamma_attempt as log_gamma_attempt,
    normal_float32 as normal_float32,
    normal_float64 as normal_float64,
    poisson_attempt as poisson_attempt,
    random_below as random_below,
    random_binomial as random_binomial,
    random_gamma as random_gamma,
    random_log_gamma as random_log_gamma,
    random_order as random_order,
    random_places as random_places,
    random_poisson as random_poisson,
    random_truncated as random_truncated,
    scaled_bits as scaled_bits,
    threefry as threefry,
    truncated_attempt as truncated_attempt,
    unit_float32 as unit_float32,
    unit_float64 as unit_float64,
    wide_attempt as wide_attempt,
)
from staticgraph.compiler.ops.reductions.cumulative import extremum_positions as extremum_positions
from staticgraph.compiler.ops.reductions.last_places import last_positions as last_positions
from staticgraph.compiler.ops.reductions.sorting import first_places as first_places
from staticgraph.compiler.ops.shapes.slicing import embed as embed, strided_slice as strided_slice
from staticgraph.compiler.ops.windows.windows import overlap_add as overlap_add

true_divide = divide

PUBLIC = tuple(name for name in vars(_public) if not name.startswith("_"))
"""The names that both frontends export; the others are for the compiler."""

LINALG = tuple(name for name in vars(_public_linalg) if not name.startswith("_"))
"""The names of staticgraph.linalg."""

SPECIAL = tuple(name for name in vars(_public_special) if not name.startswith("_"))
"""The names that staticgraph.special alone has."""

LIBRARY = frozenset(op.name for op in _all_ops())
"""The names of the ops that the modules above declare, and nobody else."""
