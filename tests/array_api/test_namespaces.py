"""The array API standard's functions, of tensors and of expressions, against NumPy's own.

NumPy's namespace keeps to the standard. The public suite, `make array-api`, has the rest.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.array_api import FFT, FUNCTIONS, LINALG, reductions
from staticgraph.compiler.core.errors import StaticGraphError

xp: Any = dynamic.xp
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(3, 4)) + 3
V, W = RNG.normal(size=5), RNG.integers(-4, 5, (4, 6))
S = RNG.normal(size=(2, 3, 3)) + 4 * np.eye(3)
P = S @ S.swapaxes(-1, -2)
C = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))

CASES: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "clip": lambda m, a: m.clip(a(X), -0.5, a(Y)),
    "floor_divide": lambda m, a: m.floor_divide(a(X), a(Y)),
    "where": lambda m, a: m.where(a(X > 0), a(X), a(np.float32(2))),
    "astype": lambda m, a: m.astype(a(X), m.complex64),
    "sum of bytes": lambda m, a: m.sum(a(W.astype("uint8")), axis=0, keepdims=True),
    "sum": lambda m, a: m.sum(a(X), axis=(0, 2)),
    "prod": lambda m, a: m.prod(a(W.astype("int8")), axis=1),
    "mean": lambda m, a: m.mean(a(C), axis=1),
    "std": lambda m, a: m.std(a(X), axis=(0, -1), correction=1.5),
    "var": lambda m, a: m.var(a(X), keepdims=True),
    "max": lambda m, a: m.max(a(X), axis=(0, 1)),
    "min": lambda m, a: m.min(a(W), axis=1),
    "all": lambda m, a: m.all(a(W), axis=1),
    "any": lambda m, a: m.any(a(X * 0)),
    "cumulative_sum": lambda m, a: m.cumulative_sum(a(W), axis=1, include_initial=True),
    "cumulative_prod": lambda m, a: m.cumulative_prod(a(V), dtype=m.float64),
    "diff": lambda m, a: m.diff(a(W), axis=0, n=2, append=a(W[:1])),
    "concat": lambda m, a: m.concat([a(X), a(Y[None]), a(W[:1, None, :4])], axis=None),
    "stack": lambda m, a: m.stack([a(Y), a(C)], axis=-1),
    "expand_dims": lambda m, a: m.expand_dims(a(X), axis=(0, 2)),
    "flip": lambda m, a: m.flip(a(X), axis=(0, 2)),
    "meshgrid": lambda m, a: m.meshgrid(a(V), a(W[0]), indexing="ij")[1],
    "moveaxis": lambda m, a: m.moveaxis(a(X), (0, 1), (2, 0)),
    "permute_dims": lambda m, a: m.permute_dims(a(X), (2, 0, 1)),
    "repeat": lambda m, a: m.repeat(a(Y), 2, axis=1),
    "reshape": lambda m, a: m.reshape(a(X), (4, -1), copy=True),
    "roll": lambda m, a: m.roll(a(X), (1, -2), axis=(0, 2)),
    "squeeze": lambda m, a: m.squeeze(a(X[:, :1]), axis=1),
    "tile": lambda m, a: m.tile(a(Y), (2, 1, 2)),
    "tril": lambda m, a: m.tril(a(Y), k=-1),
    "triu": lambda m, a: m.triu(a(X), k=1),
    "unstack": lambda m, a: m.unstack(a(X), axis=1)[2],
    "broadcast_arrays": lambda m, a: m.broadcast_arrays(a(X), a(Y))[1],
    "broadcast_to": lambda m, a: m.broadcast_to(a(Y), (2, 3, 4)),
    "argmax": lambda m, a: m.argmax(a(X), axis=1, keepdims=True),
    "argmin": lambda m, a: m.argmin(a(X)),
    "argsort": lambda m, a: m.argsort(a(W), axis=0, stable=True),
    "sort": lambda m, a: m.sort(a(X), axis=1),
    "count_nonzero": lambda m, a: m.count_nonzero(a(W), axis=1),
    "searchsorted": lambda m, a: m.searchsorted(a(np.sort(V)), a(W), side="right"),
    "isin": lambda m, a: m.isin(a(W), a(np.array([1, 3])), invert=True),
    "take": lambda m, a: m.take(a(X), a(np.array([2, 0])), axis=1),
    "take_along_axis": lambda m, a: m.take_along_axis(a(Y), a(np.argsort(Y, 0)), axis=0),
    "matmul": lambda m, a: m.matmul(a(X.astype("float32")), a(Y.T)),
    "tensordot": lambda m, a: m.tensordot(a(X), a(Y), axes=((1, 2), (0, 1))),
    "vecdot": lambda m, a: m.vecdot(a(C), a(Y), axis=0),
    "matrix_transpose": lambda m, a: m.matrix_transpose(a(X)),
    "cholesky": lambda m, a: m.linalg.cholesky(a(P), upper=True),
    "cross": lambda m, a: m.linalg.cross(a(X), a(X + 1), axis=1),
    "diagonal": lambda m, a: m.linalg.diagonal(a(X), offset=1),
    "trace": lambda m, a: m.linalg.trace(a(W.astype("int16")), offset=-1),
    "matrix_norm": lambda m, a: m.linalg.matrix_norm(a(X), ord="nuc", keepdims=True),
    "matrix_power": lambda m, a: m.linalg.matrix_power(a(S), -2),
    "matrix_rank": lambda m, a: m.linalg.matrix_rank(a(np.ones((2, 3, 4))), rtol=0.1),
    "outer": lambda m, a: m.linalg.outer(a(V), a(W[0])),
    "pinv": lambda m, a: m.linalg.pinv(a(X), rtol=a(np.array([0.3, 0.9]))),
    "solve": lambda m, a: m.linalg.solve(a(S), a(np.ones(3, "float32"))),
    "svdvals": lambda m, a: m.linalg.svdvals(a(X)),
    "vector_norm": lambda m, a: m.linalg.vector_norm(a(X), axis=(0, 2), ord=3),
    "det": lambda m, a: m.linalg.det(a(S)),
    "slogdet": lambda m, a: m.linalg.slogdet(a(S)).logabsdet,
    "qr": lambda m, a: m.linalg.qr(a(Y), mode="complete").R,
    "svd": lambda m, a: m.linalg.svd(a(Y), full_matrices=False).S,
    "eigh": lambda m, a: m.linalg.eigh(a(P)).eigenvalues,
    "fft": lambda m, a: m.fft.fft(a(X), n=3, axis=1, norm="ortho"),
    "rfftn": lambda m, a: m.fft.rfftn(a(X), s=(2, 3), axes=(0, 2)),
    "irfft": lambda m, a: m.fft.irfft(a(C), n=5),
    "fftshift": lambda m, a: m.fft.fftshift(a(X), axes=2),
    "fftfreq": lambda m, a: m.astype(m.fft.fftfreq(5, d=0.5), m.float32),
    "rfftfreq": lambda m, a: m.astype(m.fft.rfftfreq(5, d=0.5), m.float32),
    "full": lambda m, a: m.full((2,), 3) + m.full_like(a(W[0, :2]), 2),
    "ones": lambda m, a: m.ones((2, 3), dtype=m.int8) + m.ones_like(a(X[0, :2, :3])),
    "zeros": lambda m, a: m.zeros(3, dtype=m.float64) * m.empty_like(a(X[0, :, 0])),
    "arange": lambda m, a: m.arange(1, 7, 2),
    "linspace": lambda m, a: m.linspace(0, 1, 5, dtype=m.float64, endpoint=False),
    "eye": lambda m, a: m.eye(3, 4, k=1, dtype=m.float64),
    "asarray": lambda m, a: m.asarray(a(W), dtype=m.float64, copy=True),
}


def compared(name: str, found: Any, wanted: Any) -> None:
    """Check values, shape and dtype."""
    array = np.asarray(found)
    assert (array.shape, array.dtype) == (np.shape(wanted), wanted.dtype), name
    bound = 1e-5 if wanted.dtype.char in "fF" else 1e-9
    np.testing.assert_allclose(array, wanted, bound, bound, err_msg=name)


def test_functions_of_tensors_and_expressions_are_numpys() -> None:
    assert {name for name in CASES if name in FUNCTIONS or name in LINALG or name in FFT} > {
        name for name in reductions.__all__ if name != "broadcast_shapes"
    }
    for name, case in CASES.items():
        wanted = np.asarray(case(np, np.asarray))
        compared(name, case(xp, xp.asarray), wanted)
        outputs = case(sg.xp, sg.constant)
        compared(name, sg.compile([], outputs, debug=True)(), wanted)


def test_elementwise_functions_promote_as_the_standard_has_it() -> None:
    kinds = ["int8", "uint8", "uint16", "int32", "uint64", "float32", "float64", "complex64"]
    for first, second in itertools.product(kinds, kinds):
        if {np.dtype(first).kind, np.dtype(second).kind} in ({"i", "f"}, {"u", "f"}, {"i", "u"}):
            continue  # what the standard leaves open
        a, b = np.ones((2,), first), np.array(3, second)
        for x, y in ((a, b), (b, a)):
            found = xp.asarray(x) + xp.asarray(y)
            assert isinstance(found, xp.Array)
            compared(
                f"{x.dtype} + {y.dtype}",
                found,
                np.asarray(x + y).astype(np.result_type(a.dtype, b.dtype)),
            )
    assert (dynamic.tensor([1.0]) + xp.asarray(1.0, dtype=xp.float64)).dtype == xp.float64
    assert (2 - xp.asarray([1], dtype=xp.uint8)).dtype == xp.uint8
    assert (xp.asarray([1.0]) * 2j).dtype == xp.complex64
    assert (dynamic.tensor([1.0]) + dynamic.tensor(1.0, dtype=xp.float64)).dtype == xp.float32


def test_operators_in_place_and_items() -> None:
    x, array = xp.asarray(W.copy()), W.copy()
    for key in (np.s_[::-1], np.s_[..., ::-2], np.s_[None, 1, 4:0:-2], np.s_[2:2:-1], 1):
        compared(str(key), x[key], array[key])
        x[key], array[key] = array[key] * 2, array[key] * 2
        compared(str(key), x, array)
        x[key], array[key] = 7, 7
        compared(str(key), x, array)
    before = x
    x += 1
    x *= xp.asarray(2, dtype=xp.int8)
    assert x is before
    compared("in place", x, (array + 1) * 2)
    compared("~", ~x, ~np.asarray(x))
    assert (x.size, str(x.device), x.to_device("cpu") is x, len(list(x))) == (24, "cpu", True, 4)
    compared("T", x.T, np.asarray(x).T)
    compared("mT", xp.asarray(X).mT, X.swapaxes(1, 2))
    infinite = xp.floor_divide(xp.asarray([np.inf, 1.0, -7.0]), xp.asarray([2.0, -np.inf, 2.0]))
    assert repr(infinite.tolist()) == "[inf, -0.0, -4.0]"


def test_numbers_of_numpy_are_numbers() -> None:
    x, array = xp.asarray([1.0, 2.0], dtype=xp.float32), np.array([1.0, 2.0], np.float32)
    for number in (np.int64(3), np.float64(3), np.float32(3), np.uint8(3)):
        plain = number.item()
        compared("times", x * number, array * plain)
        compared("over", number / x, plain / array)
        compared("function", xp.multiply(x, number), array * plain)
        compared("less", x < number, array < plain)
    x += np.float64(1)
    compared("in place", x, array + 1)
    with pytest.raises(TypeError, match="unsupported operand"):
        x + np.datetime64("2020-01-01")


def test_what_depends_on_values() -> None:
    x = xp.asarray([[2.0, np.nan], [2.0, 1.0]])
    x.requires_grad_()
    found = xp.unique_all(x)
    assert found.values.tolist()[:2] == [1.0, 2.0]
    assert [one.tolist() for one in found[1:]] == [[3, 0, 1], [[1, 2], [1, 0]], [1, 2, 1]]
    found.values[:2].sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert xp.unique_counts(x).counts.tolist() == [1, 2, 1]
    assert xp.unique_inverse(x).inverse_indices.shape == (2, 2)
    assert xp.unique_values(xp.asarray([3, 1, 3])).tolist() == [1, 3]
    assert [one.tolist() for one in xp.nonzero(xp.asarray([[0, 1], [1, 0]]))] == [[0, 1], [1, 0]]


def test_gradients_and_captured_functions() -> None:
    def energy(x: Any) -> Any:
        m = x.__array_namespace__()
        wide = m.asarray(2.0, dtype=m.float64)
        return m.sum(m.sin(x[::-1]) * wide / (1 + x.T[0, 0]) ** 2)

    array = np.arange(6, dtype="float32").reshape(2, 3)
    x = xp.asarray(array)
    x.requires_grad_()
    energy(x).backward()
    inner = 2 * np.cos(array) / (1 + array[0, 0]) ** 2
    inner[0, 0] -= (4 * np.sin(array) / (1 + array[0, 0]) ** 3).sum()
    np.testing.assert_allclose(x.grad.numpy(), inner, 1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.LintWarning)  # of the float64, which is the point
        captured = sg.function(energy)
        y = xp.asarray(array).requires_grad_()
        value = captured(y)
    value.backward()
    assert value.dtype == xp.float64
    np.testing.assert_allclose(y.grad.numpy(), inner, 1e-5)
    np.testing.assert_allclose(value.item(), energy(x).item(), 1e-6)


def test_what_is_asked_of_dtypes() -> None:
    for m in (xp, sg.xp):
        info = m.__array_namespace_info__()
        assert m.finfo(m.complex64).dtype == m.float32
        assert m.iinfo(m.asarray([1], dtype=m.int8)).max == 127
        assert m.isdtype(m.uint8, ("bool", "unsigned integer"))
        assert m.can_cast(m.int8, m.asarray([1]).dtype)
        assert m.result_type(m.float32, m.asarray([1.0], dtype=m.complex64), 1) == m.complex64
        assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
        assert len(info.dtypes()) == 13
        assert info.default_dtypes(device="cpu")["complex floating"] == m.complex64
        assert info.default_device() in info.devices()
        assert info.capabilities()["data-dependent shapes"] is (m is xp)
        assert m.asarray([1.0]).__array_namespace__(api_version="2024.12") is m


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: xp.asarray([1], copy=False), "asarray: list needs a copy"),
    (lambda: xp.asarray(xp.ones(1), copy=False, dtype=xp.int8), "float32 as torch.int8 needs a"),
    (lambda: sg.xp.asarray([1.0], copy=False), "a constant is a copy, and copy=False of list"),
    (lambda: sg.xp.zeros(1, device="gpu"), "full: there is the device 'cpu' alone, not 'gpu'"),
    (lambda: xp.asarray([1]).__iadd__(xp.asarray(1.0)), "add: torch.float.* cannot be written"),
    (lambda: xp.ones(1).__imul__(xp.ones((2, 1))), r"multiply: \[2, 1\] cannot be .* into \[1\]"),
    (lambda: xp.ones(1).T, "T: a matrix has 2 axes, not 1"),
    (lambda: xp.ones(1).mT, "mT: matrices have 2 axes or more, not 1"),
    (lambda: xp.ones(1).to_device("cpu", stream=1), "the CPU has no streams, and 1 was given"),
    (lambda: xp.fft.fftfreq(3, dtype=xp.int8), "fftfreq: frequencies are floating, not torch.int8"),
    (lambda: xp.add(1, 2), "an operand must be an array, not only int, int"),
    (lambda: xp.where(xp.ones(1) > 0, 1, 2), "where: one of the two must be an array"),
    (lambda: xp.astype(xp.ones(1) * 1j, xp.int8), "complex64 cannot become torch.int8"),
    (lambda: xp.squeeze(xp.ones((1, 2)), axis=1), "squeeze: axis 1 has size 2, not 1"),
    (lambda: xp.nonzero(xp.asarray(1)), "nonzero: an array without axes has no places"),
    (lambda: xp.take(xp.ones((2, 2)), xp.asarray([0])), "take: an axis must be named of 2"),
    (lambda: xp.linalg.cross(xp.ones(2), xp.ones(3)), r"cross: .* has sizes \[2, 3\], not 3"),
    (lambda: xp.result_type(1, 2.0), "at least one argument must be an array or a dtype"),
    (lambda: xp.__array_namespace_info__().dtypes(kind="odd"), "dtypes: no kind 'odd': known are"),
    (lambda: xp.__array_namespace_info__().dtypes(device="gpu"), "'cpu'.* alone, not 'gpu'"),
    (lambda: xp.ones(1).__array_namespace__(api_version="1999.1"), "no version '1999.1'"),
    (lambda: sg.xp.unique_values(sg.constant([1.0])), "unique_values: needs size="),
    (lambda: sg.xp.nonzero(sg.constant([1.0])), "nonzero: needs size="),
]


def test_what_is_refused() -> None:
    for wrong, message in WRONG:
        with pytest.raises(StaticGraphError, match=message):
            wrong()
    with pytest.raises(TypeError, match="unsupported operand"):
        xp.ones(1) + "a"
    with pytest.raises(TypeError, match="unsupported operand"):
        x = xp.ones(1)
        x += "a"


def of_complex(function: str, z: Any) -> list[Any]:
    """By both namespaces."""
    e = sg.placeholder("e", (None,), "complex128")
    eager, symbolic = getattr(xp, function), getattr(sg.xp, function)
    return [np.asarray(eager(xp.asarray(z))), sg.compile([e], symbolic(e))(z)]


def test_complex_expm1_at_the_edges_is_as_exp() -> None:
    parts = [0.0, 1.0, -2.0, 1e-20, np.inf, -np.inf, np.nan]
    z = np.array([complex(a, b) for a in [*parts, -0.0] for b in [*parts, -0.0]])
    with np.errstate(invalid="ignore"):
        wanted = np.where(np.isfinite(z) & (z != 0), np.expm1(z), np.exp(z) - 1)
    for found in of_complex("expm1", z):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
        for part, other in ((found.real, wanted.real), (found.imag, wanted.imag)):
            known = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(part)[known], np.signbit(other)[known])


def test_complex_tanh_at_infinity_has_a_zero_of_the_sign_of_the_imaginary_part() -> None:
    heights = [1.0, 2.0, -2.0, 0.0, -0.0]
    for found in of_complex("tanh", np.array([complex(-np.inf, one) for one in heights])):
        np.testing.assert_array_equal(found.real, -1)
        np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(heights))
    z = RNG.normal(size=5) + 1j * np.array(heights)
    for found in of_complex("tanh", z):
        np.testing.assert_allclose(found, np.tanh(z), rtol=1e-13)


def test_masks_of_no_elements_fit_any_axis() -> None:
    x = xp.asarray(Y)
    for shape in ((0,), (0, 4), (3, 0), (0, 0)):
        mask = xp.zeros(shape, dtype=xp.bool)
        assert x[mask].shape == (0, *Y.shape[len(shape) :])
        x[mask] = 7
    compared("unchanged", x, Y)
    for shape in ((0, 5), (2, 0), (0, 4, 1)):
        with pytest.raises(IndexError):
            x[xp.zeros(shape, dtype=xp.bool)]
    with pytest.raises(IndexError):
        dynamic.ones(3)[dynamic.zeros(0, dtype=dynamic.bool)]  # PyTorch's


def test_arange_in_the_other_direction_is_empty() -> None:
    assert xp.arange(1, 0).shape == xp.arange(0, 5, -1).shape == xp.arange(2.5, 1, 2).shape == (0,)
    assert xp.arange(1, 0, dtype=xp.uint8).dtype == xp.uint8
    for first, last, step in ((1.0, 0, 1), (1, 0.0, 1), (1, 0, 1.0)):
        assert xp.arange(first, last, step).dtype == xp.float32
    assert xp.arange(0.0, step=2).dtype == xp.float32
    compared("arange", xp.arange(np.int64(5), 1, -2), np.arange(5, 1, -2))
