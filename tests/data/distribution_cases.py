"""Distributions that are compared with PyTorch's: expressions of `D` and `t`, a float64 tensor."""

from __future__ import annotations

CASES: dict[str, tuple[str, ...]] = {
    "D.Normal(t([0.5, -1]), t([1, 2.5]))": ("[0.3, 1.7]", "[-2, 4]"),
    "D.Laplace(t([0.5, -1]), t([1, 2.5]))": ("[0.3, 1.7]", "[-2, 4]"),
    "D.Cauchy(t([0.5, -1]), t([1, 2.5]))": ("[0.3, 1.7]", "[-2, 4]"),
    "D.Gumbel(t([0.5, -1]), t([1, 2.5]))": ("[0.3, 1.7]", "[-2, 4]"),
    "D.StudentT(t([3.0, 7]), t([0.5, -1]), t([1, 2.5]))": ("[0.3, 1.7]", "[-2, 4]"),
    "D.HalfNormal(t([1, 2.5]))": ("[0.3, 1.7]",),
    "D.HalfCauchy(t([1, 2.5]))": ("[0.3, 1.7]",),
    "D.Uniform(t([0.0, -1]), t([1, 2.5]))": ("[0.3, 1.7]", "[0.5, -0.5]"),
    "D.Exponential(t([1, 2.5]))": ("[0.3, 1.7]",),
    "D.Gamma(t([0.7, 2.5]), t([1.5, 3]))": ("[0.3, 1.7]",),
    "D.Chi2(t([1, 5.0]))": ("[0.3, 1.7]",),
    "D.InverseGamma(t([0.7, 3.5]), t([1.5, 3]))": ("[0.3, 1.7]",),
    "D.Weibull(t([1, 2.5]), t([0.7, 2]))": ("[0.3, 1.7]",),
    "D.Pareto(t([1, 0.5]), t([3.0, 2.5]))": ("[1.3, 1.7]",),
    "D.FisherSnedecor(t([3.0, 5]), t([6.0, 9]))": ("[1.3, 1.7]",),
    "D.Beta(t([0.5, 2]), t([1.5, 3]))": ("[0.3, 0.7]",),
    "D.Dirichlet(t([[0.5, 2, 1.5], [3, 1, 1]]))": ("[[0.3, 0.5, 0.2], [0.1, 0.2, 0.7]]",),
    "D.Bernoulli(t([0.3, 0.8]))": ("[1, 0]", "[0, 0]"),
    "D.Bernoulli(logits=t([0.3, -4]))": ("[1, 0]", "[0, 0]"),
    "D.Geometric(t([0.3, 0.8]))": ("[3, 0]",),
    "D.Binomial(5, t([0.3, 0.8]))": ("[3, 0]", "[5, 5]"),
    "D.NegativeBinomial(t([5, 2.5]), t([0.3, 0.8]))": ("[3, 0]",),
    "D.Poisson(t([0.3, 5]))": ("[3, 0]",),
    "D.Categorical(t([[1.0, 2, 3], [0, 1, 1]]))": ("[2, 1]",),
    "D.Categorical(logits=t([[1.0, 2, 3], [0, 1, 1]]))": ("[2, 1]",),
    "D.OneHotCategorical(t([[1.0, 2, 3], [0.5, 1, 1]]))": ("[[0, 1, 0], [1, 0, 0]]",),
    "D.Multinomial(4, t([1.0, 2, 3]))": ("[1, 2, 1]",),
    "D.MultivariateNormal(t([0.5, -1]), t([[2, 0.3], [0.3, 1]]))": ("[0.3, 1.7]",),
    "D.MultivariateNormal(t([0.5, -1]), precision_matrix=t([[2, 0.3], [0.3, 1]]))": ("[0.3, 1]",),
    "D.MultivariateNormal(t([0.5, -1]), scale_tril=t([[2.0, 0], [0.3, 1]]))": ("[0.3, 1.7]",),
    "D.LowRankMultivariateNormal(t([0.5, -1, 2]), t([[1.0], [2], [-1]]), t([0.5, 1, 2]))": (
        "[0.3, 1.7, 1]",
    ),
    "D.Wishart(t(4.5), t([[2, 0.3], [0.3, 1]]))": ("[[3.0, 0.5], [0.5, 2]]",),
    "D.Wishart(t([3.0, 5]), scale_tril=t([[2.0, 0], [0.3, 1]]))": ("[[3.0, 0.5], [0.5, 2]]",),
    "D.LKJCholesky(3, t([0.5, 2.5]))": ("[[1.0, 0, 0], [0.6, 0.8, 0], [0, 0.6, 0.8]]",),
    "D.ContinuousBernoulli(t([0.3, 0.8, 0.5005]))": ("[0.2, 0.7, 0.4]",),
    "D.ContinuousBernoulli(logits=t([0.3, -4, 0.001]))": ("[0.2, 0.7, 0.4]",),
    "D.VonMises(t([0.5, -1]), t([0.7, 20]))": ("[0.3, -1.7]",),
    "D.GeneralizedPareto(t([0.5, -1, 0]), t([1, 2.5, 2]), t([0.3, -0.2, 0]))": ("[0.9, 1, 0.5]",),
    "D.Independent(D.Normal(t([0.5, -1]), t([1, 2.5])), 1)": ("[0.3, 1.7]",),
    "D.LogNormal(t([0.5, -1]), t([1, 0.5]))": ("[0.3, 1.7]",),
    "D.LogisticNormal(t([0.5, -1]), t([1, 0.5]))": ("[0.3, 0.5, 0.2]",),
    "D.Kumaraswamy(t([0.5, 2]), t([1.5, 3]))": ("[0.3, 0.7]",),
    (
        "D.MixtureSameFamily(D.Categorical(t([1, 3.0])), "
        "D.Normal(t([0.5, -1]), t([1, 2.5])))"
    ): ("0.3",),
    "D.RelaxedBernoulli(t(0.5), t([0.3, 0.8]))": ("[0.3, 0.7]",),
    "D.RelaxedOneHotCategorical(t(0.5), t([0.3, 0.6, 0.1]))": ("[0.3, 0.5, 0.2]",),
    (
        "D.TransformedDistribution(D.Normal(t(0.5), t(2)), [D.AffineTransform(1.0, "
        "-2.0), D.TanhTransform()])"
    ): ("0.4",),
    (
        "D.TransformedDistribution(D.Normal(t([0.5, 1]), 1.0), "
        "[D.SigmoidTransform(), D.PowerTransform(t(2))])"
    ): ("[0.4, 0.1]",),
    "D.TransformedDistribution(D.Normal(t([0.5, 1]), 1.0), D.SoftplusTransform())": ("[0.4, 3]",),
    (
        "D.TransformedDistribution(D.Normal(t([0.5, "
        "1]), 1.0), D.StickBreakingTransform())"
    ): ("[0.4, 0.5, 0.1]",),
}  # fmt: skip
"""Per distribution the values at which densities are taken."""

PAIRS = (
    ("D.Normal(t([0.5, -1]), t([1, 2.5]))", "D.Normal(t([0.0, 1]), t([2, 0.5]))"),
    ("D.LogNormal(t(0.5), t(1))", "D.LogNormal(t(0), t(2))"),
    ("D.HalfNormal(t(0.5))", "D.HalfNormal(t(2))"),
    ("D.Laplace(t([0.5, -1]), t([1, 2.5]))", "D.Laplace(t([0.0, 1]), t([2, 0.5]))"),
    ("D.Cauchy(t([0.5, -1]), t([1, 2.5]))", "D.Cauchy(t([0.0, 1]), t([2, 0.5]))"),
    ("D.Uniform(t([0.5, -1]), t([1, 2.5]))", "D.Uniform(t([0.0, 1]), t([2, 3]))"),
    ("D.Uniform(t([0.5, -1]), t([1, 2.5]))", "D.Normal(t([0.0, 1]), t([2, 3]))"),
    ("D.Bernoulli(t([0.3, 0.8]))", "D.Bernoulli(t([0.6, 0.1]))"),
    ("D.Binomial(5, t([0.3, 0.8]))", "D.Binomial(5, t([0.6, 0.1]))"),
    ("D.Geometric(t([0.3, 0.8]))", "D.Geometric(t([0.6, 0.1]))"),
    ("D.Poisson(t([0.3, 5]))", "D.Poisson(t([1, 2]))"),
    ("D.Categorical(t([1.0, 2, 3]))", "D.Categorical(t([1, 1, 1]))"),
    ("D.OneHotCategorical(t([1.0, 2, 3]))", "D.OneHotCategorical(t([1, 1, 1]))"),
    ("D.Exponential(t(0.3))", "D.Exponential(t(2))"),
    ("D.Gamma(t(0.3), t(1))", "D.Gamma(t(2), t(3))"),
    ("D.Beta(t(0.3), t(1))", "D.Beta(t(2), t(3))"),
    ("D.Dirichlet(t([0.3, 2, 1]))", "D.Dirichlet(t([1, 0.5, 2]))"),
    ("D.Pareto(t([1, 0.5]), t([3.0, 2.5]))", "D.Pareto(t([0.5, 1]), t([3.0, 2]))"),
    (
        "D.MultivariateNormal(t([0.5, -1]), t([[2, 0.3], [0.3, 1]]))",
        "D.MultivariateNormal(t([0.0, 1]), t([[1, -0.2], [-0.2, 3]]))",
    ),
    (
        "D.Independent(D.Normal(t([0.5, -1]), t([1, 2.5])), 1)",
        "D.Independent(D.Normal(t([0.0, 1]), t([2, 0.5])), 1)",
    ),
)
"""Pairs whose divergence is compared."""

ASKED = ("mean", "mode", "variance", "stddev", "entropy()", "perplexity()")


def computed(D: object, t: object) -> dict[str, object]:
    """Everything that is asked, as lists; the name of the error for what there is not."""
    space = {"D": D, "t": t}
    asked = [f"{one}.{what}" for one in CASES for what in ASKED]
    for one, places in CASES.items():
        for place in places:
            value = f"t({place})"
            asked += [f"{one}.log_prob({value})", f"{one}.cdf({value})"]
        asked.append(f"{one}.expand((3, *{one}.batch_shape)).log_prob(t({places[0]}))")
        asked.append(f"{one}.icdf(t(0.3))")
    asked += [f"D.kl_divergence({p}, {q})" for p, q in PAIRS]
    found: dict[str, object] = {}
    for expression in asked:
        try:
            found[expression] = eval(expression, space).tolist()
        except (NotImplementedError, AttributeError) as error:
            found[expression] = type(error).__name__ and "refused"
    return found
