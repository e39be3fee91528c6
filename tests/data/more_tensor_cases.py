"""Expressions on further functions of tensors: see `tests.expressions`."""

_TIED = "torch.tensor([[1., 3., 3., 1.], [2., 2., 5., 2.]]).double()"
_NAN = "torch.tensor([[1., float('nan'), 3.], [0., 2., float('nan')], [5., 4., 6.]]).double()"
_INDEX = "torch.tensor([[0, 1, 1, 2], [2, 2, 0, 1]])"

VALUES = [
    # scattering that reduces
    *(
        f"torch.scatter_reduce(x34, 0, {_INDEX}, y24, '{how}', include_self={include})"
        for how in ("sum", "prod", "mean", "amax", "amin")
        for include in (True, False)
    ),
    "x34.scatter_reduce(1, torch.tensor([[0, 0, 1], [3, 3, 3], [1, 1, 0]]), y33, 'amax')",
    "torch.scatter_reduce(x4 * 0 + 1, 0, torch.tensor([0, 0, 1, 3]), y4 * 0 + 1, 'amax')",
    "torch.scatter_reduce(x4 * 0 + 1, 0, torch.tensor([0, 0, 1, 3]), y4 * 0 + 1, 'amin', "
    "include_self=False)",
    "torch.scatter_reduce(x3, 0, torch.tensor([0, 0, 1, 1, 1]), y5 * "
    "torch.tensor([1., 0., 0., 0., 1.]).double(), 'prod')",
    "torch.scatter_reduce(n4, 0, torch.tensor([0, 0, 1, 3]), n4, 'mean')",
    "torch.scatter_reduce(n4, 0, torch.tensor([0, 0, 1, 3]), n4, 'amax', include_self=False)",
    "(x34 * 1).scatter_reduce_(0, i24, y24, 'prod')",
    # running extrema, integrals
    "torch.cummax(x34, 1)", "x34.cummin(0)", f"torch.cummax({_TIED} * x24, 1)",
    f"torch.cummax({_NAN}, 1)", f"torch.cummin({_NAN}, 0)", f"torch.cummax({_TIED}, 1)",
    "torch.cummax(i34, 1)", "torch.cummax(x, 0)",
    "torch.trapezoid(x34)", "torch.trapezoid(x34, y4)", "torch.trapz(x34, dx=0.5, dim=0)",
    "torch.cumulative_trapezoid(x34, y34)",
    # order statistics
    "torch.quantile(x34, 0.3)", "torch.quantile(x34, 0.5, 1)", "x34.quantile(0.25, 0, True)",
    "torch.quantile(x34, torch.tensor([0., 0.4, 1.]).double(), 1)",
    "torch.quantile(x34, torch.tensor([0.1, 0.9]).double(), 0, keepdim=True)",
    "torch.quantile(x34, torch.tensor([0.1, 0.9]).double())",
    "torch.quantile(x34, torch.tensor([0.1, 0.9]).double(), keepdim=True)",
    *(
        f"torch.quantile(x35, 0.3, 1, interpolation='{how}')"
        for how in ("lower", "higher", "midpoint", "nearest")
    ),
    f"torch.quantile({_NAN}, 0.3, 1)", f"torch.nanquantile({_NAN}, 0.3, 1)",
    f"torch.nanquantile({_NAN} * x33, 0.75)",
    f"torch.nanmedian({_NAN})", f"torch.nanmedian({_NAN} * x33, 1)",
    "torch.nanmedian(x34, 0, True)",
    f"torch.mode({_TIED})", "torch.mode(i34)", "i35.mode(0, True)", f"torch.mode({_TIED} * 1, 0)",
    "torch.cov(x34)", "torch.cov(x34, correction=0)", "torch.cov(x4)",
    "torch.cov(x34, fweights=torch.tensor([1, 2, 1, 3]))", "torch.cov(x34, aweights=p4)",
    "torch.cov(x34, fweights=torch.tensor([1, 2, 1, 3]), aweights=k4.abs())",
    "torch.corrcoef(x34)",
    "torch.histc(k34, 5)", "torch.histc(k34, 4, -0.5, 0.5)",
    "torch.searchsorted(torch.tensor([1., 2., 2., 5.]), torch.tensor([[2., 0.], [5., 6.]]))",
    "torch.searchsorted(torch.tensor([1., 2., 2., 5.]), torch.tensor([2., 5.]), right=True)",
    "torch.searchsorted(torch.tensor([[1., 3.], [2., 4.]]), torch.tensor([[2.], [2.]]))",
    "torch.bucketize(k34, torch.tensor([-0.5, 0., 0.5]).double())",
    "torch.bucketize(torch.tensor([1, 2]), torch.tensor([1, 2]), right=True)",
    "torch.isin(n34, n4)", "torch.isin(n34, n4, invert=True)",
    # distances
    "torch.cdist(x34, y24)", "torch.cdist(x234, y254, p=1)", "torch.cdist(x34, y24, p=3)",
    "torch.cdist(x34 * 1.37, y24, float('inf'))", "torch.cdist(x34, x34)",
    "torch.cdist(x34, y24, 1.5)",
    "F.pdist(x34)", "F.pdist(x43, 1)", "torch.dist(x34, y4)", "torch.dist(x34, y34, 1)",
    "torch.cross(x34.t(), y43, 1)", "torch.linalg.cross(x23, y23)", "torch.cross(x3, y3, 0)",
    # places
    "torch.take(x34, i22)", "torch.put(x34, torch.tensor([0, 5, -1]), y3)",
    "torch.put(x34, torch.tensor([0, 5, 5]), y3, accumulate=True)",
    "torch.index_put(x34, (torch.tensor([0, 2]), torch.tensor([1, 1])), y2)",
    "torch.index_put(x34, (torch.tensor([0, 0]),), y4, accumulate=True)",
    "torch.select_scatter(x34, y3, 1, 2)", "torch.slice_scatter(x54, y24, 0, 1, 4, 2)",
    "torch.diagonal_scatter(x34, y3)", "torch.diagonal_scatter(x34, y2, -1)",
    "torch.diagonal_scatter(x34, y3, 1)",
    "torch.diagflat(x22)", "torch.diagflat(x3, -1)",
    "x5.unfold(0, 3, 1)", "x57.unfold(1, 3, 2)", "x57.unfold(0, 2, 3)",
    "torch.split_with_sizes(x54, [2, 3])", "torch.vsplit(x43, 2)", "torch.hsplit(x34, (1, 3))",
    "torch.concat((x34, y24))", "torch.row_stack((x3, y23))", "torch.atleast_3d(x34)",
    "torch.atleast_3d(x3)", "torch.combinations(x4)", "torch.combinations(x3, 2, True)",
    "torch.combinations(x4, 3)", "torch.vander(k3)", "torch.vander(k3, 4, increasing=True)",
    "torch.logspace(0, 2, 5)", "torch.logspace(0, 3, 4, base=2)",
    # in place
    "(x34 * 1).t_()", "(x34 * 1).transpose_(0, 1) * y43", "(x34 * 1).unsqueeze_(1)",
    "(x31 * 1).squeeze_()", "(x314 * 1).squeeze_(1).exp()", "(x234 * 1).swapaxes_(0, 2)",
    "(x34 * 1)[1:].t_() * y42", "(x34 * 1).put_(torch.tensor([0, 5]), y2)",
    "(x34 * 1).log2_().exp2_()", "(x34 * 1).frac_()", "(x34 * 1).hypot_(y4)",
    "(p34 * 1).xlogy_(p4)", "(x34 * 1).fill_diagonal_(2.)",
    "torch.exp_(x34 * 1)", "torch.sigmoid_(x34 * 1)", "torch.relu_(x34 * 1)", "torch.sin_(x34 * 1)",
    # elements
    "torch.copysign(x34, y4)", "torch.copysign(x34, -1.)", "torch.heaviside(k34, k4)",
    "torch.fmax(x34, y4)", "torch.fmin(x34, y4)", f"torch.fmax({_NAN}, x33)",
    "torch.sinc(x34)", "torch.sinc(x34 * 0)", "torch.erfc(x34)", "torch.signbit(k34)",
    "torch.isposinf(k34 / 0)", "torch.isneginf(k34 / 0)", "torch.isreal(k34)",
    "torch.float_power(x34.abs(), 3)", "torch.ldexp(x34, i34)", "torch.gcd(n34, i34 + 6)",
    "torch.lcm(i34 + 4, i34 + 6)", "torch.rsub(x34, y4)", "torch.threshold(x34, 0.1, 9.)",
    "torch.lgamma(p34)", "torch.arccosh(p34 + 1)", "torch.arcsinh(x34)", "torch.arctanh(x34)",
    "torch.absolute(x34)", "torch.fix(k34 * 4)",
]  # fmt: skip

ERRORS = [
    "torch.scatter_reduce(k34, 0, i24, n24, 'sum')",
    "torch.quantile(k34, 1.5)",
    "torch.quantile(k34, k22)",
    "torch.quantile(torch.zeros(0), 0.5)",
    "torch.quantile(k34, 0.5, interpolation='cubic')",
    "torch.cov(k234)",
    "torch.cdist(k34, k3)",
    "torch.cdist(k34, k35)",
    "F.pdist(k3)",
    "torch.searchsorted(k34, k34, side='middle')",
    "torch.searchsorted(k34, k24)",
    "k5.unfold(0, 6, 1)",
    "torch.quantile(k34, -0.5)",
    "torch.combinations(k34)",
    "x34.t_()",
    "x34[1:].transpose_(0, 1)",
    "k234.t_()",
]

TEXTS = [
    "torch.cummax(k3, 0)",
    "torch.cummin(k3, 0)",
    "torch.mode(k3)",
    "torch.nanmedian(k34, 0)",
    "torch.broadcast_shapes((2, 1), (3,))",
    "(x34 * 1).t_()._version",
]
