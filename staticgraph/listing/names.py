"""The public functions of JAX and PyTorch, by name: what both are compared with.

Of jax.numpy, jax.numpy.linalg and jax.scipy.special (JAX 0.10.2) all functions, and of torch
(2.13.0) those at the top and of nn.functional that are no internal ones: neither in-place forms,
nor kernels of backends, quantisation, sparse, complex and distributed tensors, devices and the
compiler.
"""

from __future__ import annotations


def _listed(names: str) -> list[str]:
    return names.split()


JAX_NUMPY = _listed(
    "abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis "
    "apply_over_axes arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax "
    "argmin argpartition argsort argwhere around array array_equal array_equiv array_repr "
    "array_split array_str asarray asin asinh astype atan atan2 atanh atleast_1d atleast_2d "
    "atleast_3d average bartlett bincount bitwise_and bitwise_count bitwise_invert "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman block "
    "broadcast_arrays broadcast_shapes broadcast_to can_cast cbrt ceil choose clip "
    "column_stack compress concat concatenate conj conjugate convolve copy copysign corrcoef "
    "correlate cos cosh count_nonzero cov cross cumprod cumsum cumulative_prod cumulative_sum "
    "deg2rad degrees delete diag diag_indices diag_indices_from diagflat diagonal diff "
    "digitize divide divmod dot dsplit dstack ediff1d einsum einsum_path empty empty_like "
    "equal exp exp2 expand_dims expm1 extract eye fabs fill_diagonal flatnonzero flip fliplr "
    "flipud float_power floor floor_divide fmax fmin fmod frexp from_dlpack frombuffer "
    "fromfile fromfunction fromiter frompyfunc fromstring full full_like gcd geomspace "
    "get_printoptions gradient greater greater_equal hamming hanning heaviside histogram "
    "histogram2d histogram_bin_edges histogramdd hsplit hstack hypot i0 identity imag indices "
    "inner insert interp intersect1d invert isclose iscomplex iscomplexobj isdtype isfinite "
    "isin isinf isnan isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_ "
    "kaiser kron lcm ldexp left_shift less less_equal lexsort linspace load log log10 log1p "
    "log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logspace "
    "mask_indices matmul matrix_transpose matvec max maximum mean median meshgrid min minimum "
    "mod modf moveaxis multiply nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax "
    "nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndim "
    "negative nextafter nonzero not_equal ones ones_like outer packbits pad partition "
    "percentile permute_dims piecewise place poly polyadd polyder polydiv polyfit polyint "
    "polymul polysub polyval positive pow power printoptions prod promote_types ptp put "
    "put_along_axis quantile rad2deg radians ravel ravel_multi_index real reciprocal "
    "remainder repeat reshape resize result_type right_shift rint roll rollaxis roots rot90 "
    "round save savez searchsorted select set_printoptions setdiff1d setxor1d shape sign "
    "signbit sin sinc sinh size sort sort_complex spacing split sqrt square squeeze stack std "
    "subtract sum swapaxes take take_along_axis tan tanh tensordot tile trace transpose "
    "trapezoid tri tril tril_indices tril_indices_from trim_zeros triu triu_indices "
    "triu_indices_from true_divide trunc union1d unique unique_all unique_counts "
    "unique_inverse unique_values unpackbits unravel_index unstack unwrap vander var vdot "
    "vecdot vecmat vectorize vsplit vstack where zeros zeros_like "
)
"""Of jax.numpy: 344."""

JAX_LINALG = _listed(
    "cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm "
    "matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd "
    "svdvals tensordot tensorinv tensorsolve trace vecdot vector_norm "
)
"""Of jax.numpy.linalg: 31."""

JAX_SPECIAL = _listed(
    "bernoulli bessel_jn beta betainc betaln boxcox boxcox1p comb dawsn digamma entr erf erfc "
    "erfcx erfinv exp1 expi expit expn factorial fresnel gamma gammainc gammaincc gammaln "
    "gammasgn hyp1f1 hyp2f1 i0 i0e i1 i1e kl_div log_ndtr log_softmax loggamma logit "
    "logsumexp multigammaln ndtr ndtri owens_t poch polygamma rel_entr sici softmax spence "
    "sph_harm_y wofz xlog1py xlogy zeta "
)
"""Of jax.scipy.special: 53."""

TORCH = _listed(
    "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint all allclose "
    "amax amin aminmax any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax "
    "argmin argsort argwhere as_strided as_tensor asarray asin asinh atan atan2 atanh "
    "atleast_1d atleast_2d atleast_3d baddbmm bernoulli bincount binomial bitwise_and "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor block_diag bmm "
    "broadcast_shapes broadcast_tensors broadcast_to bucketize can_cast cartesian_prod cat "
    "cdist ceil chain_matmul cholesky cholesky_inverse cholesky_solve chunk clamp clamp_max "
    "clamp_min clip clone column_stack combinations concat concatenate copysign corrcoef cos "
    "cosh count_nonzero cov cross cummax cummin cumprod cumsum cumulative_trapezoid deg2rad "
    "det detach diag diag_embed diagflat diagonal diff digamma dist div divide dot dsplit "
    "dstack einsum empty empty_like eq equal erf erfc erfinv exp exp2 expm1 eye fill fix "
    "flatten flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac frexp "
    "frobenius_norm from_numpy full full_like gather gcd ge geqrf ger gradient greater "
    "greater_equal gt hash_tensor heaviside histc histogram histogramdd hsplit hstack hypot "
    "i0 igamma igammac index_add index_fill index_put index_reduce index_select inner inverse "
    "is_anomaly_check_nan_enabled is_anomaly_enabled is_conj is_floating_point is_neg "
    "is_nonzero is_tensor isclose isfinite isin isinf isnan isneginf isposinf isreal kron "
    "kthvalue lcm ldexp le lerp less less_equal lgamma linspace log log10 log1p log2 "
    "log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or "
    "logical_xor logit logspace logsumexp lt lu lu_solve lu_unpack masked_fill masked_select "
    "matmul matrix_exp matrix_power max maximum mean median meshgrid min minimum mm mode "
    "moveaxis movedim msort mul multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian "
    "nanquantile nansum narrow ne neg negative nextafter nonzero nonzero_static norm normal "
    "not_equal numel ones ones_like orgqr ormqr outer pca_lowrank pdist permute pinverse "
    "poisson polygamma positive pow prod promote_types put qr quantile rad2deg rand rand_like "
    "randint randint_like randn randn_like randperm range ravel reciprocal remainder renorm "
    "repeat_interleave reshape result_type roll rot90 round row_stack rsqrt rsub scatter "
    "scatter_add scatter_reduce searchsorted select sgn sigmoid sign signbit sin sinc sinh "
    "slice_inverse slogdet softmax sort split split_with_sizes sqrt square squeeze stack std "
    "std_mean sub subtract sum svd svd_lowrank swapaxes swapdims t take take_along_dim tan "
    "tanh tensor tensor_split tensordot tile topk trace transpose trapezoid trapz "
    "triangular_solve tril tril_indices triu triu_indices true_divide trunc unbind unflatten "
    "unique unique_consecutive unsqueeze vander var var_mean vdot vsplit vstack where xlogy "
    "zeros zeros_like "
)
"""Of torch: 350."""
TORCH_FUNCTIONAL = _listed(
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
    "adaptive_max_pool2d adaptive_max_pool3d affine_grid alpha_dropout avg_pool1d avg_pool2d "
    "avg_pool3d batch_norm bilinear binary_cross_entropy binary_cross_entropy_with_logits "
    "celu channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy ctc_loss dropout "
    "dropout1d dropout2d dropout3d elu embedding embedding_bag feature_alpha_dropout fold "
    "fractional_max_pool2d fractional_max_pool3d gaussian_nll_loss gelu glu grid_sample "
    "group_norm gumbel_softmax hardshrink hardsigmoid hardswish hardtanh "
    "hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss layer_norm "
    "leaky_relu linear local_response_norm log_softmax logsigmoid lp_pool1d lp_pool2d "
    "lp_pool3d margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d "
    "max_unpool2d max_unpool3d mish mse_loss multi_head_attention_forward multi_margin_loss "
    "multilabel_margin_loss multilabel_soft_margin_loss nll_loss normalize one_hot pad "
    "pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu relu6 "
    "rms_norm rrelu scaled_dot_product_attention selu sigmoid silu smooth_l1_loss "
    "soft_margin_loss softmax softmin softplus softshrink softsign tanh tanhshrink threshold "
    "triplet_margin_loss triplet_margin_with_distance_loss unfold upsample upsample_bilinear "
    "upsample_nearest "
)
"""Of torch.nn.functional: 110."""
