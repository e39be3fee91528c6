"""Random numbers from explicit keys: the same in both paradigms, and in any number of threads.

A key is an int64. Each element of a result is computed of the key and its own position, so that
nothing has a state: what is drawn again from a key is the same again, and every draw takes a key of
its own, by `split` or `fold_in`, or from a `stream`. Keys and uniform numbers are bit for bit those
of JAX's default generator (Threefry 2x32-20).

What a function returns depends on its key: of an array, or an int, an array; of an expression an
expression, which is computed in the loop that reads it; of an eager tensor a tensor.
"""

from staticgraph.random.composed import (
    cauchy as cauchy,
    chisquare as chisquare,
    geometric as geometric,
    laplace as laplace,
    logistic as logistic,
    lognormal as lognormal,
    pareto as pareto,
    rademacher as rademacher,
    rayleigh as rayleigh,
    t as t,
    weibull_min as weibull_min,
)
from staticgraph.random.continuous import (
    beta as beta,
    exponential as exponential,
    gamma as gamma,
    gumbel as gumbel,
    normal as normal,
    truncated_normal as truncated_normal,
    uniform as uniform,
)
from staticgraph.random.discrete import (
    bernoulli as bernoulli,
    binomial as binomial,
    categorical as categorical,
    dropout as dropout,
    permutation as permutation,
    poisson as poisson,
    randint as randint,
)
from staticgraph.random.further import (
    ball as ball,
    double_sided_maxwell as double_sided_maxwell,
    f as f,
    generalized_normal as generalized_normal,
    loggamma as loggamma,
    maxwell as maxwell,
    multinomial as multinomial,
    orthogonal as orthogonal,
    triangular as triangular,
    wald as wald,
)
from staticgraph.random.keys import bits as bits, fold_in as fold_in, key as key, split as split
from staticgraph.random.several import (
    choice as choice,
    dirichlet as dirichlet,
    multivariate_normal as multivariate_normal,
)
from staticgraph.random.streams import Stream as Stream, stream as stream

__all__ = [
    "Stream", "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy",
    "chisquare", "choice", "dirichlet", "double_sided_maxwell", "dropout", "exponential", "f",
    "fold_in", "gamma", "generalized_normal", "geometric", "gumbel", "key", "laplace", "loggamma",
    "logistic", "lognormal", "maxwell", "multinomial", "multivariate_normal", "normal",
    "orthogonal", "pareto", "permutation", "poisson", "rademacher", "randint", "rayleigh", "split",
    "stream", "t", "triangular", "truncated_normal", "uniform", "wald", "weibull_min",
]  # fmt: skip
