"""NumPy's keywords of reductions, quantiles, joins and pads: its values in all three worlds."""

import numpy as np
import pytest

import dynamic
import staticgraph as sg

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 7))
X[1, :3] = np.nan
X[2] = np.nan
THERE = RNG.random((4, 7)) < 0.6
REDUCTIONS = [
    ("mean", {"dtype": "float32"}), ("mean", {}), ("std", {"ddof": 1}), ("var", {}),
    ("sum", {"initial": 2.0}), ("prod", {"initial": 2.0}), ("max", {"initial": -2.5}),
    ("min", {"initial": 2.5}), ("amax", {"initial": -2.5}), ("nansum", {"initial": 2.0}),
    ("nanprod", {"dtype": "float64"}), ("nanmean", {}), ("nanstd", {"ddof": 1}), ("nanvar", {}),
    ("nanstd", {"correction": 1}),
    ("nanmax", {"initial": -2.5}), ("nanmin", {"initial": 2.5}),
]  # fmt: skip


def worlds(function, arrays):
    """Of arrays, compiled for sizes that are unknown, and of tensors."""
    symbols = [
        sg.placeholder(f"x{i}", (None,) * np.ndim(one), one.dtype) for i, one in enumerate(arrays)
    ]
    yield function(*arrays)
    yield sg.compile(symbols, function(*symbols), lint="off")(*arrays)
    yield function(*map(dynamic.tensor, arrays)).numpy()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:Mean of empty")
@pytest.mark.parametrize(("name", "options"), REDUCTIONS)
def test_reductions_take_where(name, options):
    for axis in ({"axis": 1}, {"axis": 0, "keepdims": True}, {}):
        x = X if name.startswith("nan") else np.nan_to_num(X)
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x, where=THERE, **axis, **options)

        def ours(x, there, axis=axis):
            return getattr(sg, name)(x, where=there, **axis, **options)

        with np.errstate(all="ignore"):
            every = [*worlds(ours, (x, THERE))]
        for found in every:
            bound = 1e-6 if "dtype" in options else 1e-12
            np.testing.assert_allclose(found, expected, rtol=bound, atol=bound)
            assert found.dtype == expected.dtype


def test_a_variance_may_be_told_its_mean():
    x = np.nan_to_num(X)
    expected = np.var(x, axis=1)

    def ours(x):
        return sg.var(x, axis=1, mean=sg.mean(x, axis=1, keepdims=True))

    for found in worlds(ours, (x,)):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(sg.ShapeError, match=r"var: mean= broadcasts \(4, 7\) to \(2, 4, 7\)"):
        sg.var(x, axis=1, mean=np.zeros((2, 1, 1)))


def test_gradients_pass_what_counts():
    x, there = np.nan_to_num(X)[:2], THERE[:2]

    def spread(x):
        return sg.sum(sg.std(x, axis=1, where=there) * np.array([1.0, -2.0]))

    step = 1e-6 * RNG.normal(size=x.shape)
    quotient = (spread(x + step) - spread(x - step)) / 2
    found = sg.grad(spread)(x)
    assert abs((found * step).sum() - quotient) < 1e-6 * np.abs(step).sum()
    assert not found[~there].any()
    flat = sg.grad(lambda x: sg.std(x, where=there[0]))(np.ones(7))
    np.testing.assert_array_equal(flat, np.zeros(7))


@pytest.mark.parametrize("name", ["nanvar", "nanstd", "var", "std"])
def test_gradients_are_of_the_numbers_beside_nan(name):
    x = np.array([[1.0, np.nan, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0]])
    function = getattr(sg, name)

    def spread(x):
        options = {} if name.startswith("nan") else {"where": sg.logical_not(sg.isnan(x))}
        return sg.sum(function(x, axis=1, **options))

    expected = np.zeros((2, 4))
    expected[0, [0, 2]] = np.array([-1.0, 1.0]) * (2 / 3 if "var" in name else 1 / np.sqrt(6))
    t = dynamic.tensor(x, requires_grad=True)
    spread(t).backward()
    symbol = sg.placeholder("x", (None, None), "float64")
    compiled = sg.compile([symbol], sg.grad(spread(symbol), symbol))(x)
    for found in (sg.grad(spread)(x), compiled, t.grad.numpy()):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_moments_are_no_integers(name):
    with pytest.raises(sg.OptionError, match=f"{name}: dtype=int64 is not floating"):
        getattr(sg, name)(np.ones(3), dtype="int64")


METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "hazen", "weibull",
    "interpolated_inverted_cdf", "median_unbiased", "normal_unbiased",
)  # fmt: skip


def test_quantiles_by_all_of_numpys_methods():
    x, shares = np.nan_to_num(X), [0.0, 0.125, 0.3, 0.5, 0.77, 1.0]
    for method in METHODS:
        expected = np.quantile(x, shares, axis=1, method=method)
        found = sg.quantile(x, shares, axis=1, method=method)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
        with np.errstate(all="ignore"):
            expected = np.nanquantile(X[:2], shares, axis=1, method=method)
        found = sg.nanquantile(X[:2], shares, axis=1, method=method)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    symbol = sg.placeholder("x", (None, None), "float64")
    every = [sg.quantile(symbol, shares, axis=1, method=method) for method in METHODS]
    for method, found in zip(METHODS, sg.compile([symbol], every)(x), strict=True):
        expected = np.quantile(x, shares, axis=1, method=method)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_quantiles_take_weights():
    x, weights = np.nan_to_num(X), np.abs(RNG.normal(size=X.shape))
    weights[0, :3] = 0.0
    for axis, given in ((1, weights), (0, weights), (None, weights), (1, weights[1])):
        options = {"axis": axis, "method": "inverted_cdf"}
        expected = np.quantile(x, [0.0, 0.3, 1.0], weights=given, **options)

        def ours(x, given, options=options):
            return sg.quantile(x, np.array([0.0, 0.3, 1.0]), weights=given, **options)

        for found in worlds(ours, (x, given)):
            np.testing.assert_array_equal(found, expected)
    expected = np.nanpercentile(X[:2], 40, 1, weights=weights[:2], method="inverted_cdf")
    found = sg.nanpercentile(X[:2], 40, 1, weights=weights[:2], method="inverted_cdf")
    np.testing.assert_array_equal(found, expected)


def test_distinct_slices():
    x = RNG.integers(0, 2, (6, 2)).astype(float)
    for axis in (0, 1):
        expected = np.unique(x, True, True, True, axis)
        size = len(expected[1])
        symbol = sg.placeholder("x", (6, 2), "float64")
        found = sg.unique(symbol, True, True, True, axis, size=size)
        every = [sg.unique(x, True, True, True, axis, size=size)]
        every.append(sg.compile([symbol], list(found))(x))
        for several in every:
            for a, b in zip(several, expected, strict=True):
                np.testing.assert_array_equal(a, b)
    several = np.array([1.0, np.nan, 2.0, np.nan])
    found = sg.unique(several, equal_nan=False, size=4)
    np.testing.assert_array_equal(found, np.unique(several, equal_nan=False))
    one, other = np.array([3, 1, 2, 1]), np.array([2, 3, 5])
    found = sg.intersect1d(one, other, return_indices=True, size=2)
    for a, b in zip(found, np.intersect1d(one, other, return_indices=True), strict=True):
        np.testing.assert_array_equal(a, b)


def test_indices_outside_are_wrapped_or_clipped():
    index, values = np.array([7, -9, 1]), np.array([10.0, 20.0, 30.0])
    several = np.array([[7, -2], [1, 9]])
    for mode in ("wrap", "clip"):
        expected = np.arange(5.0)
        np.put(expected, index, values, mode=mode)
        for found in worlds(lambda x, m=mode: sg.put(x, index, values, mode=m), (np.arange(5.0),)):
            np.testing.assert_array_equal(found, expected)
        found = sg.ravel_multi_index(tuple(several), (3, 4), mode=mode)
        np.testing.assert_array_equal(found, np.ravel_multi_index(several, (3, 4), mode=mode))
    within = np.array([[1, 2], [3, 0]])
    found = sg.ravel_multi_index(tuple(within), (3, 4), order="F")
    np.testing.assert_array_equal(found, np.ravel_multi_index(within, (3, 4), order="F"))


def test_decompositions_take_numpys_keywords():
    x = np.nan_to_num(X)
    square = x[:, :4] + x[:, :4].T
    for options in ({"compute_uv": False}, {"compute_uv": False, "hermitian": True}):
        expected = np.linalg.svd(square, **options)
        for found in worlds(lambda a, o=options: sg.linalg.svd(a, **o), (square,)):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)
    u, s, vh = sg.linalg.svd(square, hermitian=True)
    np.testing.assert_allclose(u * s @ vh, square, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sg.linalg.pinv(x, 0.5), np.linalg.pinv(x, 0.5), atol=1e-12)
    for limit in (1.5, 0.0):
        assert sg.linalg.matrix_rank(x, limit) == np.linalg.matrix_rank(x, limit)


def test_a_fit_tells_how_good_it_is():
    places, values = np.arange(7.0), np.nan_to_num(X)[:2]
    for y in (values[0], values.T):
        for options in ({"full": True}, {"cov": True}, {"cov": "unscaled"}, {"w": places + 1}):
            expected, found = (
                np.polyfit(places, y, 2, **options),
                sg.polyfit(places, y, 2, **options),
            )
            expected, found = (
                one if isinstance(one, tuple) else (one,) for one in (expected, found)
            )
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


PADS = [
    ("constant", {"constant_values": ((1, 2), (3, -4))}), ("edge", {}), ("reflect", {}),
    ("reflect", {"reflect_type": "odd"}), ("symmetric", {}), ("symmetric", {"reflect_type": "odd"}),
    ("wrap", {}), ("linear_ramp", {"end_values": (2, -7)}), ("mean", {}),
    ("mean", {"stat_length": 2}), ("median", {}), ("maximum", {"stat_length": (3, 1)}),
    ("minimum", {}),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", pytest.param("int64", marks=pytest.mark.slow)])
def test_pads_in_all_of_numpys_modes(dtype):
    x = (RNG.normal(size=(3, 4)) * 10).astype(dtype)
    for width in (((1, 2), (0, 7)), 2, {-1: 3}):
        cases = PADS if width != 2 else PADS[2:4]
        expected = [np.pad(x, width, mode, **options) for mode, options in cases]

        def ours(x, width=width, cases=cases):
            return [sg.pad(x, width, mode, **options) for mode, options in cases]

        symbol = sg.placeholder("x", (None, None), dtype)
        tensors = [one.numpy() for one in ours(dynamic.tensor(x))]
        compiled = sg.compile([symbol], ours(symbol))(x)
        for name, found in (("arrays", ours(x)), ("tensors", tensors), ("compiled", compiled)):
            for case, one, wanted in zip(cases, found, expected, strict=True):
                np.testing.assert_allclose(one, wanted, rtol=1e-12, err_msg=f"{name} {case}")
                assert one.dtype == wanted.dtype


def test_pads_refuse_what_is_no_mode():
    with pytest.raises(sg.OptionError, match=r"pad: mode is one of constant, empty, edge, .* 'up'"):
        sg.pad(X, 1, "up")
    with pytest.raises(sg.OptionError, match="pad: reflect_type is 'even' or 'odd', not 'both'"):
        sg.pad(X, 1, "reflect", reflect_type="both")
    with pytest.raises(sg.OptionError, match="pad: stat_length is positive, not 0"):
        sg.pad(X, 1, "mean", stat_length=0)
    with pytest.raises(sg.ShapeError, match="pad: axis 1 has no element, of which mode 'edge'"):
        sg.pad(np.ones((2, 0)), 1, "edge")


def test_take_goes_round_or_ends():
    x, index = np.arange(12.0).reshape(3, 4), np.array([[-5, 9], [1, 3]])
    for mode in ("wrap", "clip"):
        for axis in (None, 0, 1):
            for found in worlds(lambda x, i: sg.take(x, i, axis, mode=mode), (x, index)):  # noqa: B023
                np.testing.assert_array_equal(found, np.take(x, index, axis, mode=mode))
    with pytest.raises(sg.OptionError, match="take: mode is 'raise', 'wrap' or 'clip', not 'up'"):
        sg.take(x, index, mode="up")


def test_numbers_between_tensors():
    low, high = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    for axis in (0, -1):
        for found in worlds(lambda a, b: sg.asarray(sg.linspace(a, b, 4, axis=axis)), (low, high)):  # noqa: B023
            if isinstance(found, np.ndarray):
                np.testing.assert_allclose(found, np.linspace(low, high, 4, axis=axis), rtol=1e-15)
    symbol = sg.placeholder("a", (None,), "float64")
    numbers, step = sg.linspace(symbol, high, 4, endpoint=False, retstep=True)
    found = sg.compile([symbol], [numbers, step, sg.geomspace(symbol, high, 5, axis=1)])(low)
    expected = np.linspace(low, high, 4, endpoint=False, retstep=True)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-15)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-15)
    np.testing.assert_allclose(found[2], np.geomspace(low, high, 5, axis=1), rtol=1e-14)


def test_joins_and_sums_of_a_dtype():
    one = np.array([1.5, 2.5])
    for join in (sg.concat, sg.concatenate, sg.stack, sg.hstack, sg.vstack):
        assert join([one, one], dtype="float32").dtype == "float32"
    for function in (sg.cumulative_sum, sg.cumulative_prod, sg.nancumsum, sg.nancumprod):
        assert function(one, dtype="float32").dtype == "float32"
    for function in (sg.trace, sg.cov, sg.corrcoef):
        found = function(X[[0, 3]][:, :2], dtype="float32")
        assert found.dtype == "float32"
        expected = getattr(np, function.__name__)(X[[0, 3]][:, :2])
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_place_in_order_is_refused_where_there_is_none():
    x = sg.placeholder("x", (None, None), "float64")
    for found in (sg.partition(x, 5), sg.argpartition(x, -5), sg.topk(x, 5)[0]):
        call = sg.compile([x], found)
        with pytest.raises(sg.ShapeError, match=r"axis 1 of .* go past 3 .*test_keywords"):
            call(np.ones((2, 3)))
    call = sg.compile([x], sg.partition(x, (1, -1), axis=0))
    given = np.array([[3.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(call(given), np.sort(given, 0))


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.0, 1.0, 0.5, np.inf, -np.inf])
def test_distances_by_every_norm(p):
    x, y = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]), np.array([[1.0, 5.0, 3.5]] * 2)
    expected = np.linalg.norm(x - y, p, axis=1) if p != 0.5 else None
    if expected is None:
        expected = np.sum(np.abs(x - y) ** p, axis=1) ** (1 / p)
    for found in worlds(lambda a, b: sg.nn.pairwise_distance(a, b, p=p, eps=0.0), (x, y)):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    slope = sg.grad(lambda a: sg.sum(sg.nn.pairwise_distance(a, a * 0, p=p, eps=0.0)))
    assert not slope(np.zeros((1, 3))).any()


def compared(calls, arrays, rtol):
    """Each function of a module and the arrays: in all three worlds, in one kernel, NumPy's."""
    expected = [call(np, *arrays) for call in calls]
    symbols = [
        sg.placeholder(f"x{i}", (None,) * one.ndim, one.dtype) for i, one in enumerate(arrays)
    ]
    compiled = sg.compile(symbols, [call(sg, *symbols) for call in calls], lint="off")(*arrays)
    tensors = [*map(dynamic.tensor, arrays)]
    for number, (call, wanted) in enumerate(zip(calls, expected, strict=True)):
        for found in (call(sg, *arrays), compiled[number], call(sg, *tensors).numpy()):
            np.testing.assert_allclose(found, wanted, rtol, err_msg=str(number))
            assert found.dtype == wanted.dtype


def test_sums_wrap_around_in_a_narrow_dtype():
    x = np.array([[100, 100, 3], [7, -90, -50]])
    calls = [
        lambda m, x, name=name, dtype=dtype: getattr(m, name)(x, axis=1, dtype=dtype)
        for name in ("sum", "prod", "cumsum", "cumprod")
        for dtype in ("int8", "uint16", "bool")
    ]
    calls.append(lambda m, x: m.sum(x, axis=0, dtype="int8", initial=100, where=x > 0))
    compared(calls, [x], 0)


def test_complex_numbers_are_conjugated_where_numpy_does():
    z = X[[0, 3]] + 1j * RNG.normal(size=(2, 7))
    z = np.concatenate([z, z[:1] * 1j + 0.5])
    weights = {"fweights": np.array([1, 2, 3, 1, 1, 2, 1]), "aweights": np.arange(1.0, 8)}
    calls = [
        lambda m, z: m.cov(z), lambda m, z: m.cov(z, ddof=2, **weights),
        lambda m, z: m.cov(z[0]), lambda m, z: m.corrcoef(z),
        *(lambda m, z, mode=mode: m.correlate(z[0], z[1, :3], mode) for mode in ("full", "same")),
        lambda m, z: m.correlate(z[0, :2], z[1], "valid"),
    ]  # fmt: skip
    compared(calls, [z], 1e-12)

    def total(re, im):
        return sg.sum(sg.imag(sg.cov(sg.complex(re, im))) * np.arange(9.0).reshape(3, 3))

    step = 1e-6 * RNG.normal(size=z.shape)
    quotient = (total(z.real + step, z.imag) - total(z.real - step, z.imag)) / 2
    slope = sg.grad(total)(z.real.copy(), z.imag.copy())
    assert abs(np.sum(slope * step) - quotient) < 1e-6 * abs(quotient)


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:Mean of empty")
def test_nan_is_left_out_of_complex_numbers():
    z = X + 1j * RNG.normal(size=X.shape)
    names = ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nancumsum")
    compared([lambda m, z, name=name: getattr(m, name)(z, axis=0) for name in names], [z], 1e-12)


def test_orders_axes_and_flat_places_are_numpys():
    x, h = np.nan_to_num(X), RNG.normal(size=(2, 3, 4))
    index, weights = np.array([5, 0, -1]), RNG.random((4, 2))
    calls = [
        lambda m, x, h: m.reshape(x, (7, 4), order="F"), lambda m, x, h: m.ravel(x, order="F"),
        lambda m, x, h: m.reshape(h, (-1, 2), order="F"), lambda m, x, h: m.ravel(h, "K"),
        lambda m, x, h: m.transpose(h, axes=(2, 0, 1)), lambda m, x, h: m.transpose(h, None),
        lambda m, x, h: m.take_along_axis(x, index, axis=None),
        lambda m, x, h: m.average(h, axis=(2, 0), weights=weights),
        lambda m, x, h: m.average(h, axis=1, weights=weights[:3, 0]),
    ]  # fmt: skip
    compared(calls, [x, h], 1e-14)
    assert sg.size(h, (0, -1)) == np.size(h, (0, -1)) == 8
    with pytest.raises(sg.OptionError, match="reshape: order='Z' is none of C, F and A"):
        sg.reshape(x, (7, 4), order="Z")
    with pytest.raises(sg.OptionError, match="histogram: bins='auto' is a rule by which values"):
        sg.histogram(x, bins="auto")


def test_diagonals_of_linalg_are_of_the_last_axes():
    h = RNG.normal(size=(2, 3, 4))
    calls = [
        lambda m, h: m.linalg.diagonal(h, offset=1), lambda m, h: m.linalg.trace(h, offset=-1),
        lambda m, h: m.linalg.trace(h, dtype="float32"),
        lambda m, h: m.trace(h), lambda m, h: m.diagonal(h),
    ]  # fmt: skip
    compared(calls, [h], 1e-6)


def test_keywords_that_there_are_not_are_refused_by_the_ops_name():
    x, out = np.array([0.5, 1.5]), np.empty(2)
    assert sg.sin(x, out=out) is out
    for function in (sg.frac, sg.cbrt, sg.reciprocal, sg.special.bessel_j0, sg.special.dawsn):
        name = function.name
        with pytest.raises(
            TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'out'"
        ):
            function(x, out=out)
    with pytest.raises(TypeError, match=r"softmax\(\) got an unexpected keyword argument 'dtype'"):
        sg.softmax(x, dtype="float32")
    found = dynamic.frac(dynamic.tensor(x), out=dynamic.tensor(out))
    np.testing.assert_array_equal(found.numpy(), [0.5, 0.5])
